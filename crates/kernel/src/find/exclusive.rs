//! "Only" one may, and another may too: *only registered customers can buy* and *guests can buy*.

use super::Source;
use super::pairs::{Pairs, Statements};
use super::statement::{Keys, Statement, all_in, content_key, count_in, sorted};
use crate::rules::{Class, Matcher, RuleSet};
use crate::text::token::key_of;

const BY: u64 = key_of(b"by");
const TO: u64 = key_of(b"to");
/// The most words that name an actor.
const ACTOR_WORDS: usize = 5;

/// Who alone may do what.
struct Claim {
    actor: Keys,
    act: Keys,
}

pub(super) fn find(rules: &'static RuleSet, statements: &Statements<'_, '_>, out: &mut Pairs) {
    for rule in rules.of_matcher(Matcher::Exclusive) {
        for (number, statement) in statements.all.iter().enumerate() {
            if statement.classes & Class::ONLY == 0 {
                continue;
            }
            let Some(claim) = read_claim(&statements.sources[statement.source], statement) else {
                continue;
            };
            let found = statements
                .candidates(number, &claim.act)
                .find(|(_, other)| {
                    let source = &statements.sources[other.source];
                    is_other_actor(source, statement, &claim, other)
                });
            if let Some((other, _)) = found {
                out.add(statements, rule, number, other);
            }
        }
    }
}

fn content_keys(source: &Source<'_>, tokens: &[usize]) -> Keys {
    let keys = tokens.iter().filter_map(|&i| content_key(source, i));
    sorted(keys.collect())
}

/// Reads *only X can do Y*, *Y can only be done by X* and *X only can do Y*.
fn read_claim(source: &Source<'_>, statement: &Statement) -> Option<Claim> {
    let body = &statement.body;
    let only = body
        .iter()
        .position(|&i| source.classes[i] & Class::ONLY != 0)?;
    let content = |tokens: &[usize]| content_keys(source, tokens);
    let verb = body.iter().position(|&i| Some(i) == statement.verb)?;
    let (actor, act) = if only < verb && verb - only <= ACTOR_WORDS + 1 {
        let before = if content(&body[..only]).is_empty() {
            &body[only + 1..verb]
        } else {
            &body[..verb]
        };
        (content(before), content(&body[verb + 1..]))
    } else {
        let by = body
            .iter()
            .position(|&i| source.text.tokens[i].key == BY)
            .filter(|by| *by > only)?;
        let to = body.len().min(by + 1 + ACTOR_WORDS);
        (content(&body[by + 1..to]), content(&body[..by]))
    };
    (!actor.is_empty() && act.len() >= 2).then_some(Claim { actor, act })
}

/// Whether the other statement lets someone else do all of it.
fn is_other_actor(source: &Source<'_>, one: &Statement, claim: &Claim, other: &Statement) -> bool {
    if other.classes & (Class::ONLY | Class::EXCEPTION) != 0
        || !other.denials.is_empty()
        || !all_in(&other.condition, &one.keys)
        || !all_in(&claim.act, &other.keys)
    {
        return false;
    }
    let actor = actor_of(source, other, &claim.act);
    !actor.is_empty() && count_in(&actor, &claim.actor) == 0 && count_in(&actor, &claim.act) == 0
}

/// Returns who acts: the subject of a permission, who is allowed to, or who it is done by.
fn actor_of(source: &Source<'_>, statement: &Statement, act: &Keys) -> Keys {
    let body = &statement.body;
    let does = |i: usize| content_key(source, i).is_some_and(|key| act.binary_search(&key).is_ok());
    if let Some(by) = body
        .iter()
        .position(|&i| source.text.tokens[i].key == BY && i > 0 && does(i - 1))
    {
        return content_keys(source, &body[by + 1..body.len().min(by + 1 + ACTOR_WORDS)]);
    }
    let lets = body
        .iter()
        .position(|&i| source.classes[i] & Class::PERMISSION != 0);
    let subject = statement.subject.clone();
    match lets {
        Some(lets) if subject.is_empty() => {
            let rest = &body[lets + 1..];
            let verb = rest.iter().position(|&i| {
                source.text.tokens[i].key == TO || source.classes[i] & Class::VERB != 0
            });
            let to = verb.unwrap_or(2).min(ACTOR_WORDS);
            content_keys(source, &rest[..to.min(rest.len())])
        }
        Some(_) => subject,
        None => Vec::new(),
    }
}

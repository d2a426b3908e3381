//! What fills one place of two sentences that are otherwise the same: *in PDF format* and *in DOCX format*, *A over B*
//! and *B over A*, *only at the inn* and *at the market*.

use super::Source;
use super::pairs::Statements;
use super::statement::{Keys, Statement, content_key, sorted};
use crate::rules::{Class, RuleSet, Words};
use crate::text::token::{TokenKind, key_of};

/// A statement with its source.
type Of<'a, 't> = (&'a Source<'t>, &'a Statement);

/// The most words in a place.
const PLACE: usize = 3;
/// The fewest other words with content.
const LEAST: usize = 2;
const IS: [u64; 3] = [key_of(b"is"), key_of(b"are"), key_of(b"be")];
const INTO: [u64; 6] = [
    key_of(b"in"),
    key_of(b"by"),
    key_of(b"as"),
    key_of(b"from"),
    key_of(b"of"),
    key_of(b"under"),
];
const USE: u64 = key_of(b"use");
/// The classes of words that let both hold.
const LOOSE: u32 = Class::PERMISSION
    | Class::NEGATION
    | Class::NO
    | Class::EXCEPTION
    | Class::SOME
    | Class::PLURAL
    | Class::LIMITS;

/// The words and numbers of a statement, in order.
fn sequence((source, statement): Of<'_, '_>) -> Vec<usize> {
    let words = statement.whole.iter().copied();
    words
        .filter(|&i| source.text.tokens[i].kind != TokenKind::Sign)
        .collect()
}

/// Whether both say the same of one thing, but for what fills one place that only one thing can fill.
pub(super) fn is_clash(rules: &RuleSet, [one, other]: [Of<'_, '_>; 2]) -> bool {
    if (one.1.order | other.1.order) & LOOSE != 0 {
        return false;
    }
    let (a, b) = (sequence(one), sequence(other));
    let same = |i: usize, j: usize| one.0.canonical[i] == other.0.canonical[j];
    let before = a.iter().zip(&b).take_while(|(i, j)| same(**i, **j)).count();
    let (mine, theirs) = (&a[before..], &b[before..]);
    let back = mine.iter().rev().zip(theirs.iter().rev());
    let after = back.take_while(|(i, j)| same(**i, **j)).count();
    let fills = |source: &Source<'_>, place: &[usize]| {
        let is_plain = |i: usize| {
            let token = source.text.tokens[i];
            let classes = Class::VERB | Class::RELATIVE | Class::CONDITION;
            token.kind == TokenKind::Word
                && !rules.lexicon.is_of_quantity(token.key)
                && source.classes[i] & classes == 0
        };
        (1..=PLACE).contains(&place.len())
            && place.iter().all(|&i| is_plain(i))
            && place.iter().any(|&i| content_key(source, i).is_some())
    };
    if !fills(one.0, &mine[..mine.len() - after])
        || !fills(other.0, &theirs[..theirs.len() - after])
    {
        return false;
    }
    let (lead, rest) = (&a[..before], &mine[mine.len() - after..]);
    let shared = lead.iter().chain(rest);
    let content = shared.filter(|&&i| content_key(one.0, i).is_some()).count();
    // The word that leads to the place: *in*, *is the*.
    let is_article = |i: usize| one.0.classes[i] & Class::ARTICLE != 0;
    let Some(last) = lead.iter().rposition(|&i| !is_article(i)) else {
        return false;
    };
    let key = one.0.text.tokens[lead[last]].key;
    let has_article = last + 1 < before;
    let has_verb = one.1.verb.is_some_and(|verb| lead.contains(&verb));
    let names = |i: &usize| one.0.classes[*i] & Class::ATTRIBUTE != 0;
    let is_named = lead.iter().any(names) || rest.first().is_some_and(names);
    content >= LEAST
        && (has_verb && INTO.contains(&key)
            || has_verb && IS.contains(&key) && (has_article || is_named)
            || key == USE && last == 0 && after > 0)
}

/// Whether the same words are in another order around a word that puts one before the other.
pub(super) fn is_swapped(orders: &[Words], [one, other]: [Of<'_, '_>; 2]) -> bool {
    let content = |it: Of<'_, '_>| -> Vec<u64> {
        let words = sequence(it);
        words.iter().filter_map(|&i| content_key(it.0, i)).collect()
    };
    let order = |it: Of<'_, '_>| {
        let keys = it.1.whole.iter().map(|&i| it.0.text.tokens[i].key);
        let mut keys = keys.filter(|key| orders.iter().any(|words| words.has(*key)));
        keys.next()
    };
    let (a, b) = (content(one), content(other));
    a != b
        && a.len() >= LEAST
        && sorted(a) == sorted(b)
        && order(one).is_some()
        && order(one) == order(other)
}

/// What *only* is about: what follows it, or what precedes it at the end of a clause.
fn focus(source: &Source<'_>, statement: &Statement) -> Keys {
    let whole = &statement.whole;
    let is_only = |i: &usize| source.classes[*i] & Class::ONLY != 0;
    let Some(only) = whole.iter().position(is_only) else {
        return Keys::new();
    };
    let ends = |i: usize| {
        source.text.tokens[i].kind == TokenKind::Sign
            || source.classes[i] & (Class::VERB | Class::BREAK) != 0
    };
    let read = |tokens: &mut dyn Iterator<Item = usize>| {
        let mut keys = Keys::new();
        for i in tokens {
            if ends(i) && !keys.is_empty() {
                break;
            }
            keys.extend(content_key(source, i));
        }
        keys
    };
    let mut keys = read(&mut whole[only + 1..].iter().copied());
    if keys.is_empty() {
        let before = whole[..only].iter().rev().copied();
        keys = read(&mut before.take(PLACE));
        keys.truncate(1);
    }
    sorted(keys)
}

/// Whether one says that only this holds, and the other that something else does.
pub(super) fn is_only_other(
    statements: &Statements<'_, '_>,
    one: &Statement,
    other: &Statement,
) -> bool {
    let blocking = Class::EXCEPTION | Class::NEGATION | Class::NO | Class::CONDITION;
    if one.order & Class::ONLY == 0
        || one.order & blocking != 0
        || other.order & (blocking | Class::ONLY) != 0
    {
        return false;
    }
    let focus = focus(&statements.sources[one.source], one);
    let rest = one.content.iter().filter(|key| !focus.contains(key));
    let rest: Vec<u64> = rest.copied().collect();
    let has = |key: &u64| other.content.binary_search(key).is_ok();
    let others = other.content.iter().filter(|key| !rest.contains(key));
    let others = others.count();
    !focus.is_empty()
        && rest.len() >= LEAST
        && rest.iter().all(has)
        && !focus.iter().any(has)
        && (1..=PLACE).contains(&others)
}

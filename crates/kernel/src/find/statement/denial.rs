//! What a statement denies.

use super::{Denial, Statement, content_key, sorted};
use crate::find::Source;
use crate::rules::Class;
use crate::text::token::key_of;

const ORDERS: [u64; 3] = [key_of(b"never"), key_of(b"not"), key_of(b"don't")];
const AT: u64 = key_of(b"at");
const WAY: u64 = key_of(b"way");
const ANY: u64 = key_of(b"any");
const ALL: u64 = key_of(b"all");
const TO: u64 = key_of(b"to");

/// Collects denials. *not* and *never* deny up to the end of the clause; *no* and *without* up to
/// the next verb or preposition; *nothing* or *nobody* as the subject, and *no* before the verb,
/// deny everything.
pub(super) fn read_denials(source: &Source<'_>, body: &[usize], statement: &mut Statement) {
    let class = |i: usize| source.classes[i];
    let universal = body
        .iter()
        .any(|&i| class(i) & Class::UNIVERSAL != 0 || is_at_all(source, i));
    for (at, &i) in body.iter().enumerate() {
        let denies = class(i) & (Class::NEGATION | Class::NO | Class::PREVENTS) != 0;
        // A denial about only some ("tests that do not set it") does not count.
        let relative = body[at.saturating_sub(3)..at]
            .iter()
            .any(|&j| class(j) & Class::RELATIVE != 0);
        if !denies || relative {
            continue;
        }
        let noun_only = class(i) & Class::NO != 0 && statement.verb.is_some_and(|verb| verb < i);
        // *Never log secrets, keys or names*: an order denies all that it names.
        let is_order =
            at <= 1 && ORDERS.contains(&source.text.tokens[i].key) && statement.subject.is_empty();
        let mut keys = Vec::new();
        for &j in &body[at + 1..] {
            let broken = class(j) & Class::BREAK != 0 && !is_order
                || class(j) & Class::CONTRAST != 0
                || matches!(source.text.word(j), "(" | ")" | "—" | "–" | ":")
                || source.text.word(j) == "," && !is_order;
            // *Need not to know*: what is denied follows.
            if broken && keys.is_empty() && source.text.tokens[j].key == TO {
                continue;
            }
            if broken
                || noun_only
                    && !keys.is_empty()
                    && class(j) & (Class::VERB | Class::STOP) != 0
                    && class(j) & Class::ARTICLE == 0
            {
                break;
            }
            keys.extend(content_key(source, j));
        }
        // *Tabs are forbidden*, *tabs are not supported*: the subject is denied.
        if keys.is_empty() && body.len() <= at + 3 {
            keys.clone_from(&statement.subject);
        }
        if !keys.is_empty() {
            statement.denials.push(Denial {
                keys: sorted(keys),
                is_universal: universal || class(i) & Class::UNIVERSAL != 0,
                is_hindrance: class(i) & (Class::NEGATION | Class::NO) == 0,
            });
        }
    }
}

/// Whether the words allow no exception: *at all*, *in any way*.
fn is_at_all(source: &Source<'_>, i: usize) -> bool {
    let key = |i: usize| source.text.tokens[i].key;
    i > 0 && (key(i) == ALL && key(i - 1) == AT || key(i) == WAY && key(i - 1) == ANY)
}

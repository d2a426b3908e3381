//! Opposite words about one subject: *required* and *optional*, *newest first* and *oldest first*.

use super::pairs::{Pairs, Statements};
use super::statement::{Statement, count_in};
use crate::rules::{Class, Matcher, RuleSet};
use crate::text::token::key_of;

pub(super) fn find(rules: &'static RuleSet, statements: &Statements<'_, '_>, out: &mut Pairs) {
    for rule in rules.of_matcher(Matcher::Opposite) {
        let sides = read_sides(rules, &rule.words.list);
        for (number, statement) in statements.all.iter().enumerate() {
            for (word, opposite) in sides
                .iter()
                .filter(|(word, _)| statement.keys.binary_search(word).is_ok())
            {
                let found = statements
                    .with_word(number, *opposite)
                    .find(|(_, other)| opposes(statement, *word, other, *opposite));
                if let Some((other, _)) = found {
                    out.add(statements, rule, number, other);
                }
            }
        }
    }
}

/// Parses pairs such as `required/optional` into the keys of both words.
pub(super) fn read_sides(rules: &RuleSet, words: &[String]) -> Vec<(u64, u64)> {
    let canonical = |word: &str| rules.lexicon.look_up(word, key_of(word.as_bytes())).1;
    words
        .iter()
        .filter_map(|pair| pair.split_once('/'))
        .map(|(one, other)| (canonical(one), canonical(other)))
        .collect()
}

/// Whether two statements differ in the opposite words and little else.
fn opposes(one: &Statement, word: u64, other: &Statement, opposite: u64) -> bool {
    let blocking = Class::PERMISSION | Class::EXCEPTION;
    if (one.classes | other.classes) & blocking != 0
        || !one.denials.is_empty()
        || !other.denials.is_empty()
        || one.keys.binary_search(&opposite).is_ok()
        || other.keys.binary_search(&word).is_ok()
    {
        return false;
    }
    let rest = |keys: &[u64]| -> Vec<u64> {
        keys.iter()
            .copied()
            .filter(|key| *key != word && *key != opposite)
            .collect()
    };
    let (mine, theirs) = (rest(&one.keys), rest(&other.keys));
    let shared = count_in(&mine, &theirs);
    let fewer = mine.len().min(theirs.len());
    let (my_subject, their_subject) = (rest(&one.subject), rest(&other.subject));
    let same_subject = my_subject == their_subject && !my_subject.is_empty();
    let same_case = one.condition == other.condition;
    same_case
        && fewer > 0
        && (mine == theirs
            || same_subject && shared * 2 >= fewer
            || shared >= 3 && shared * 4 >= fewer * 3)
}

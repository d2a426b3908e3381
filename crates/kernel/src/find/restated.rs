//! A constraint that repeats another with one thing changed: the mistake of documents that were edited in two places.
//!
//! One of two statements has all words of the other but for what changed, and what changed cannot both hold: one denies
//! what the other says, they name opposite words or two values of one slot, or they put two things in opposite orders.

use super::pairs::{Pairs, Statements};
use super::statement::{Statement, count_in};
use crate::rules::{Class, Matcher, Rule, RuleSet};
use crate::text::token::key_of;

pub(super) fn find(rules: &'static RuleSet, statements: &Statements<'_, '_>, out: &mut Pairs) {
    for rule in rules.of_matcher(Matcher::Restated) {
        let opposites = super::opposite::read_sides(rules, &rule.words.list);
        let comparison = Comparison {
            rules,
            rule,
            opposites: &opposites,
            statements,
        };
        for number in 0..statements.all.len() {
            let one = &statements.all[number];
            let found = statements
                .near(number)
                .find(|(_, other)| comparison.contradict(one, other));
            if let Some((other, _)) = found {
                out.add(statements, comparison.rule, number, other);
            }
        }
    }
}

struct Comparison<'a, 's, 't> {
    rules: &'static RuleSet,
    rule: &'static Rule,
    opposites: &'a [(u64, u64)],
    statements: &'a Statements<'s, 't>,
}

/// Words that leave something free, and words that demand it.
const MAY: [u64; 1] = [key_of(b"may")];
const MUST: [u64; 2] = [key_of(b"shall"), key_of(b"must")];

/// The fewest points of [`Statements::shared`] for a restatement.
const ENOUGH: f64 = 1.3;

impl Comparison<'_, '_, '_> {
    /// Whether `one` restates `other`, or a part of it, with one thing changed.
    fn contradict(&self, one: &Statement, other: &Statement) -> bool {
        if super::slots::is_only_other(self.statements, one, other) {
            return true;
        }
        if one.order & !other.order & Class::LIMITS != 0
            || (one.order ^ other.order) & Class::ONLY != 0
            || self.is_excepted(one, other)
        {
            return false;
        }
        let changed = missing(&one.content, &other.content);
        let common = one.content.len() - changed.len();
        if common < 2 || self.statements.shared(one, other, |_| false) < ENOUGH {
            return false;
        }
        let is_universal = |it: &Statement| it.denials.iter().any(|denial| denial.is_universal);
        // What applies in another case says nothing about this one.
        let is_case_of_its_own = |this: &Statement, that: &Statement| {
            this.condition.len() > count_in(&this.condition, &that.content) && !is_universal(that)
        };
        if is_case_of_its_own(one, other) || is_case_of_its_own(other, one) {
            return false;
        }
        let may_miss = match common {
            0..=3 => 0,
            4..=6 => 1,
            _ => 2,
        };
        let (mine, theirs) = (denies_alone(one, other), denies_alone(other, one));
        if changed.len() <= may_miss && mine != theirs {
            return true;
        }
        let pair = [one, other].map(|it| (&self.statements.sources[it.source], it));
        !mine
            && !theirs
            && (super::slots::is_clash(self.rules, pair)
                || super::slots::is_swapped(&self.rule.groups, pair)
                || self.has_opposites(&changed, one, other)
                || changed.is_empty() && self.is_left_free(one, other)
                || changed.len() <= may_miss
                    && (is_reordered(one, other) || is_only_some(one, other)))
    }

    /// Whether both say the same, and one demands what the other leaves free: *may* and *shall*.
    fn is_left_free(&self, one: &Statement, other: &Statement) -> bool {
        let says = |it: &Statement, words: &[u64]| {
            let tokens = &self.statements.sources[it.source].text.tokens;
            it.whole.iter().any(|&i| words.contains(&tokens[i].key))
        };
        let (free, demand) = (|it| says(it, &MAY), |it| says(it, &MUST));
        one.content == other.content
            && (free(one) && !demand(one) && demand(other) && !free(other)
                || free(other) && !demand(other) && demand(one) && !free(one))
    }

    /// Whether one of the two makes an exception that the other does not make.
    fn is_excepted(&self, one: &Statement, other: &Statement) -> bool {
        let excepts = |it: &Statement| {
            let text = &self.statements.sources[it.source].text;
            let mut patterns = self.rule.unless_sentence.iter();
            patterns.any(|pattern| pattern.find_in(text, it.sentence).is_some())
        };
        excepts(one) || excepts(other) && one.order & Class::ALWAYS == 0
    }

    /// Whether one of the changed words has an opposite, or another value of its slot, in the other statement, and little
    /// else has changed.
    fn has_opposites(&self, changed: &[u64], one: &Statement, other: &Statement) -> bool {
        let (mine, theirs) = (
            missing(&one.words, &other.words),
            missing(&other.words, &one.words),
        );
        let slot = |key: u64| self.rules.lexicon.slot(key);
        mine.iter().any(|&word| {
            let others = changed.iter().filter(|key| **key != word).count();
            others == 0
                && (self.opposites.iter().any(|&(a, b)| {
                    a == word && theirs.contains(&b) || b == word && theirs.contains(&a)
                }) || is_privative(one, other, word, &theirs)
                    || slot(word).is_some_and(|own| theirs.iter().any(|&it| slot(it) == Some(own))))
        })
    }
}

/// Whether one statement denies words of the other that the other does not deny.
fn denies_alone(one: &Statement, other: &Statement) -> bool {
    let denials = one.denials.iter().filter(|denial| !denial.is_hindrance);
    denials.into_iter().any(|denial| {
        let common = count_in(&denial.keys, &other.content);
        let is_matched = other.denials.iter().any(|theirs| {
            let both = count_in(&denial.keys, &theirs.keys);
            both * 2 >= denial.keys.len().min(theirs.keys.len())
        });
        common > 0 && common * 2 >= denial.keys.len().min(other.content.len()) && !is_matched
    })
}

/// Whether the other statement has the word without, or with, a prefix that denies: *paid*, *unpaid*.
fn is_privative(one: &Statement, other: &Statement, word: u64, theirs: &[u64]) -> bool {
    let without = |&(own, base): &(u64, u64)| own == word && theirs.contains(&base);
    let with = |&(own, base): &(u64, u64)| base == word && theirs.contains(&own);
    one.privatives.iter().any(without) || other.privatives.iter().any(with)
}

/// Whether one speaks of all and the other of some.
fn is_only_some(one: &Statement, other: &Statement) -> bool {
    let all = |it: &Statement| it.order & Class::ALL != 0;
    let some = |it: &Statement| it.order & Class::SOME != 0;
    all(one) && some(other) && !all(other) || all(other) && some(one) && !all(one)
}

/// Whether one says *before* and the other *after*.
fn is_reordered(one: &Statement, other: &Statement) -> bool {
    let order = |it: &Statement| it.order & (Class::EARLIER | Class::LATER);
    let (mine, theirs) = (order(one), order(other));
    mine != 0 && theirs != 0 && mine & theirs == 0 && count_in(&one.condition, &other.condition) > 0
}

/// The keys of `some` that are not in `of`.
fn missing(some: &[u64], of: &[u64]) -> Vec<u64> {
    let missing = some.iter().filter(|key| of.binary_search(key).is_err());
    missing.copied().collect()
}

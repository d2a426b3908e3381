//! Bounds on one quantity that exclude each other: *at most 25 seconds* and *at least 40 seconds*.

use super::pairs::{Pairs, Statements};
use super::quantity::{Quantity, Side, read_quantities};
use super::statement::{Statement, count_in};
use crate::rules::{Class, Matcher, RuleSet};

pub(super) fn find(rules: &'static RuleSet, statements: &Statements<'_, '_>, out: &mut Pairs) {
    let quantities: Vec<Vec<Quantity>> = statements
        .all
        .iter()
        .map(|it| read_quantities(rules, &statements.sources[it.source], it))
        .collect();
    for rule in rules.of_matcher(Matcher::Bound) {
        for (number, statement) in statements.all.iter().enumerate() {
            if quantities[number].is_empty() {
                continue;
            }
            let found = statements.near(number).find(|(other, with)| {
                let pairs = quantities[number]
                    .iter()
                    .flat_map(|a| quantities[*other].iter().map(move |b| (*a, *b)));
                let mut differing = pairs.filter(|(a, b)| a.differs(*b));
                differing.any(|(a, b)| is_one_quantity(statements, statement, with, a, b))
            });
            if let Some((other, _)) = found {
                out.add(statements, rule, number, other);
            }
        }
    }
}

/// How much two statements must have in common to be about one thing: a word that no other constraint has counts one.
const ENOUGH: f64 = 1.6;
/// Enough if they differ only in what they bound, or say little else.
const LITTLE: f64 = 0.8;

/// Whether two statements are about the same quantity in the same case.
fn is_one_quantity(
    statements: &Statements<'_, '_>,
    one: &Statement,
    other: &Statement,
    a: Quantity,
    b: Quantity,
) -> bool {
    let several = a.is_one_of_several(b);
    let shared = statements.shared(one, other, |key| {
        !several && (a.of.names(key) || b.of.names(key))
    });
    let own = |this: &Statement, that: &Statement| {
        let own = this.content.iter().filter(|key| {
            that.content.binary_search(key).is_err() && !a.of.names(**key) && !b.of.names(**key)
        });
        own.count()
    };
    let (mine, theirs) = (own(one, other), own(other, one));
    let is_restated = mine.min(theirs) == 0 || mine + theirs <= 2;
    let classes = one.classes | other.classes;
    if classes & Class::EXCEPTION != 0 && !is_restated || classes & Class::LIMITS != 0 {
        return false;
    }
    let outside = |case: &[u64], of: &Statement| case.len() - count_in(case, &of.content);
    if outside(&one.condition, other) > 0 && outside(&other.condition, one) > 0 {
        return false;
    }
    // Each has a subject of its own: *a pallet weighs*, *a box weighs*.
    let has_own_subject = |this: &Statement, that: &Statement| {
        let mut subject = this.subject.iter().filter(|key| !a.of.names(**key));
        subject.any(|key| that.content.binary_search(key).is_err())
    };
    let are_apart = has_own_subject(one, other) && has_own_subject(other, one);
    if !a.excludes(b) {
        // Two upper bounds can both hold, but nobody writes both.
        return a.side == b.side
            && a.side != Side::Plain
            && !are_apart
            && (is_restated && shared >= ENOUGH || shared >= LITTLE && mine.min(theirs) <= 1);
    }
    let plain = a.side == Side::Plain && b.side == Side::Plain;
    let fewer = mine.min(theirs);
    match (are_apart, plain) {
        (true, true) => shared >= ENOUGH && fewer <= 1,
        (true, false) => shared >= 2.0 * ENOUGH || shared >= ENOUGH && fewer <= 1,
        (false, true) => {
            shared >= ENOUGH && fewer <= 2
                || shared >= 2.0 * ENOUGH
                || shared >= LITTLE && fewer == 0
        }
        (false, false) => shared >= ENOUGH || shared >= LITTLE && fewer <= 1,
    }
}

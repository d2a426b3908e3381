//! One statement denies what another about the same subject says.

use super::pairs::{Pairs, Statements};
use super::statement::{Denial, Statement, all_in, count_in};
use crate::rules::{Class, Matcher, RuleSet};

/// The fewest shared words of denial, subject and condition for a finding.
const LEAST_SHARED: usize = 3;

pub(super) fn find(rules: &'static RuleSet, statements: &Statements<'_, '_>, out: &mut Pairs) {
    for rule in rules.of_matcher(Matcher::Denied) {
        for (number, statement) in statements.all.iter().enumerate() {
            for denial in &statement.denials {
                let mut others = statements.candidates(number, &denial.keys);
                if let Some((other, _)) = others.find(|(_, it)| denies(statement, denial, it)) {
                    out.add(statements, rule, number, other);
                }
            }
        }
    }
}

/// Whether `other` asserts what `one` denies: it has all denied words (of five or more, one may be
/// missing) and denies nothing, the subjects agree, and neither applies to a case that the other
/// does not mention.
fn denies(one: &Statement, denial: &Denial, other: &Statement) -> bool {
    if (one.classes | other.classes) & (Class::EXCEPTION | Class::ONLY) != 0
        || !other.denials.is_empty()
    {
        return false;
    }
    let covered = count_in(&denial.keys, &other.keys);
    let may_miss = usize::from(denial.keys.len() >= 5);
    if covered + may_miss < denial.keys.len()
        || count_in(&denial.keys, &other.predicate) == 0
        || !same_case(one, denial, other)
    {
        return false;
    }
    if are_different(&one.subject, &other.subject) {
        return false;
    }
    // Three or more words that are both denied and asserted are about one thing, whoever does it.
    if denial.keys.len() >= LEAST_SHARED && covered == denial.keys.len() {
        return true;
    }
    if other.verb.is_none() || (one.classes | other.classes) & Class::LIMITS != 0 {
        return false;
    }
    let outside: Vec<u64> = one
        .subject
        .iter()
        .copied()
        .filter(|key| denial.keys.binary_search(key).is_err())
        .collect();
    let subject = count_in(&outside, &other.keys);
    if subject < outside.len() || !all_in(&other.subject, &one.keys) && !denial.is_universal {
        return false;
    }
    covered + subject + count_in(&one.condition, &other.condition) >= LEAST_SHARED
        || covered + subject >= 2 && (!outside.is_empty() || denial.is_universal)
}

/// Whether two subjects share a word but differ in others: *badges for speakers*, *badges for
/// exhibitors*.
fn are_different(one: &[u64], other: &[u64]) -> bool {
    let shared = count_in(one, other);
    shared > 0 && shared < one.len() && shared < other.len()
}

/// Whether both apply to the same case. A universal denial, or an assertion of all, applies to
/// every case.
fn same_case(one: &Statement, denial: &Denial, other: &Statement) -> bool {
    let inside = |condition: &[u64], of: &Statement| {
        condition.iter().all(|key| {
            of.condition.binary_search(key).is_ok() || of.keys.binary_search(key).is_ok()
        })
    };
    let always = other.classes & Class::ALWAYS != 0;
    (always || inside(&one.condition, other))
        && (denial.is_universal || inside(&other.condition, one))
}

//! How two statements relate: what they share, what keeps them apart, and whether their conditions let them meet.

use super::naming::{WITH, contrast_key};
use super::statement::Statement;
use crate::text::lex::fnv;
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Size of the intersection of two sorted lists.
pub(super) fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                n += 1;
                i += 1;
                j += 1;
            }
        }
    }
    n
}

/// The days of the week that a statement names, one bit each.
fn days_of(s: &Statement) -> u8 {
    static DAYS: OnceLock<Vec<(u64, u8)>> = OnceLock::new();
    let days = DAYS.get_or_init(|| {
        let names = [
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
        ];
        let each = names.iter().enumerate().map(|(n, day)| (*day, 1 << n));
        let groups = [("weekday", 0b001_1111), ("weekend", 0b110_0000)];
        each.chain(groups)
            .map(|(w, bits)| (fnv(stem(w)), bits))
            .collect()
    });
    let named = |(key, bits): &(u64, u8)| {
        if s.content.binary_search(key).is_ok() {
            *bits
        } else {
            0
        }
    };
    days.iter().map(named).fold(0, |sum, bits| sum | bits)
}

/// `list` without the keys in `drop`, sorted.
pub(super) fn without(list: &[u64], drop: &[u64]) -> Vec<u64> {
    list.iter().copied().filter(|k| !drop.contains(k)).collect()
}

impl Statement {
    /// Two points for a shared telling word, one for a shared general word.
    pub fn shared_weight(&self, other: &Statement, ignore: &[u64]) -> usize {
        let (mut i, mut j, mut weight) = (0, 0, 0);
        while i < self.content.len() && j < other.content.len() {
            match self.content[i].cmp(&other.content[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    let key = self.content[i];
                    if !ignore.contains(&key) {
                        weight += if self.generic.contains(&key) { 1 } else { 2 };
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        weight
    }

    /// Both are about the same noun.
    pub fn same_subject(&self, other: &Statement) -> bool {
        match (self.head, other.head) {
            (Some(a), Some(b)) => a == b,
            _ => self.subject.is_some() && self.subject == other.subject,
        }
    }

    /// The subject of one is what the other does: `the import runs`, `prices are imported`.
    pub fn same_act(&self, other: &Statement) -> bool {
        let noun = |a: &Statement, b: &Statement| !a.owned && a.head.is_some() && a.head == b.act;
        noun(self, other) || noun(other, self)
    }

    /// Both do the same to the same noun.
    pub fn same_subject_and_act(&self, other: &Statement) -> bool {
        self.same_subject(other) && self.act.is_some() && self.act == other.act
    }

    /// Like [`Self::shared_weight`], and at least 2 where both are about the same noun, however general it is.
    pub fn subject_weight(&self, other: &Statement, ignore: &[u64]) -> usize {
        let weight = self.shared_weight(other, ignore);
        if self.same_subject(other) {
            weight.max(2)
        } else {
            weight
        }
    }

    /// Share of the shorter statement's words (without `ignore`) that the other has too, in percent.
    pub fn coverage(&self, other: &Statement, ignore: &[u64]) -> usize {
        let a = without(&self.content, ignore);
        let b = without(&other.content, ignore);
        let least = a.len().min(b.len());
        let nothing_else = if self.same_subject(other) { 100 } else { 0 };
        (common(&a, &b) * 100)
            .checked_div(least)
            .unwrap_or(nothing_else)
    }

    /// Both unconditional, or both under the same condition.
    pub fn same_condition(&self, other: &Statement) -> bool {
        if !self.conditional && !other.conditional {
            return true;
        }
        // `Missing answers are …`, twice.
        if self.limited && other.limited && !self.limit.is_empty() && self.limit == other.limit {
            return self.condition == other.condition;
        }
        if self.conditional != other.conditional
            || self.condition.is_empty()
            || other.condition.is_empty()
        {
            return false;
        }
        let both = common(&self.condition, &other.condition);
        both * 10 >= self.condition.len().max(other.condition.len()) * 7
    }

    /// About different people or different environments: `read-only for gardeners`, `agronomists can write`.
    pub fn apart(&self, other: &Statement) -> bool {
        let differ = |a: &[u64], b: &[u64]| !a.is_empty() && !b.is_empty() && common(a, b) == 0;
        differ(&self.persons, &other.persons)
            || differ(&self.scopes, &other.scopes)
            || differ(&self.labels, &other.labels)
            || self.apart_in_name(other)
    }

    /// Different requests, paths, headings, or the same noun with different words before it: `internal calls`,
    /// `external calls`.
    pub fn apart_in_name(&self, other: &Statement) -> bool {
        self.apart_in_name_beside(other, &[])
    }

    /// Like [`Self::apart_in_name`], where `with X` and `without X` of the given words do not count.
    pub fn apart_in_name_beside(&self, other: &Statement, ignore: &[u64]) -> bool {
        let differ = |a: &[u64], b: &[u64]| !a.is_empty() && !b.is_empty() && common(a, b) == 0;
        if differ(&self.methods, &other.methods) || differ(&self.paths, &other.paths) {
            return true;
        }
        // `with a date`, `without a date`
        let counterpart = |c: &(u64, bool)| {
            other.contrasts.contains(&(c.0, !c.1))
                && !ignore.iter().any(|k| contrast_key(*k, WITH) == c.0)
        };
        if self.contrasts.iter().any(counterpart) {
            return true;
        }
        // `On the public page …`, `In the warden's list …`
        let rest = |a: &[u64], b: &[u64]| a.iter().any(|k| !b.contains(k));
        if rest(&self.fronted, &other.fronted) && rest(&other.fronted, &self.fronted) {
            return true;
        }
        // Two headings, each with a word of its own.
        if rest(&self.heading, &other.heading) && rest(&other.heading, &self.heading) {
            return true;
        }
        // `backups of the secrets` are not the secrets.
        let derived = |a: &Statement, b: &Statement| {
            !a.partitive
                && a.owned
                && a.head.is_some_and(|h| b.content.binary_search(&h).is_err())
                && !a.of.is_empty()
                && b.head.is_some_and(|h| a.of.contains(&h))
        };
        if derived(self, other) || derived(other, self) {
            return true;
        }
        // `the main pump`, `the spare pump`
        let twin = self.head.is_some()
            && self.head == other.head
            && self.phrase.iter().any(|k| !other.phrase.contains(k))
            && other.phrase.iter().any(|k| !self.phrase.contains(k));
        if twin {
            return true;
        }
        // `reviewed, except typo fixes`, `typo fixes go live`: what the exception names.
        let left_out = |a: &Statement, b: &Statement| {
            !a.except.is_empty()
                && (b.head.is_some_and(|h| a.except.contains(&h))
                    || common(&a.except, &b.content) * 2 > a.except.len())
        };
        if left_out(self, other) || left_out(other, self) {
            return true;
        }
        // `uploads by singers`, `uploads by the librarian`
        let beside = self.head.is_some()
            && self.head == other.head
            && self.post.0 != 0
            && self.post.0 == other.post.0
            && rest(&self.post.1, &other.post.1)
            && rest(&other.post.1, &self.post.1);
        if beside {
            return true;
        }
        // `photos of adults`, `photos of minors`: one noun, narrowed in two ways.
        let foreign = |a: &Statement, b: &Statement| {
            a.narrow
                .iter()
                .any(|k| b.content.binary_search(k).is_err() && !b.narrow.contains(k))
        };
        // `Every vessel is on the list, whatever its size`
        let whole = |a: &Statement| {
            let all = a.head.is_some_and(|h| a.quantified.contains(&h));
            all && a.unexcepted && !a.negative && !a.narrowed
        };
        if self.head.is_some()
            && self.head == other.head
            && !whole(self)
            && !whole(other)
            && foreign(self, other)
            && foreign(other, self)
        {
            return true;
        }
        // `in the beta build`, `in the release build`
        let elsewhere = |p: &(u64, u64)| {
            other.places.iter().any(|q| q.0 == p.0 && q.1 != p.1) && !other.places.contains(p)
        };
        if self.places.iter().any(elsewhere) {
            return true;
        }
        if self.is_elsewhere(other) || other.is_elsewhere(self) {
            return true;
        }
        let own = |a: &Statement, b: &Statement| {
            !a.phrase.is_empty() && a.phrase.iter().any(|k| b.content.binary_search(k).is_err())
        };
        common(&self.phrase, &other.phrase) >= 1 && own(self, other) && own(other, self)
    }

    /// Holds in a case that the other does not name, and that one says how, not in every case: `never start while a
    /// button is pressed`, `always start with the slow ramp`.
    pub fn is_case_beside(&self, other: &Statement) -> bool {
        !self.condition.is_empty()
            && common(&self.condition, &other.content) == 0
            && common(&other.content, &self.content) < other.content.len()
    }

    /// Who does it to whom is the other way round: `the server never calls the device`, `the device calls the server`.
    pub fn is_reverse_of(&self, other: &Statement) -> bool {
        let stands = |h: Option<u64>, st: &Statement| {
            h.is_some_and(|h| st.content.binary_search(&h).is_ok())
        };
        let (mine, theirs) = (self.head.or(self.subject), other.head.or(other.subject));
        mine != theirs
            && !self.passive
            && !other.passive
            && stands(mine, other)
            && stands(theirs, self)
            && !mine.is_some_and(|h| other.quantified.contains(&h))
    }

    /// `on the public page`, `the internal page shows`
    pub fn is_elsewhere(&self, other: &Statement) -> bool {
        let host =
            |p: &(u64, u64)| Some(p.0) == other.head && other.content.binary_search(&p.1).is_err();
        other.phrase.len() > 1 && self.places.iter().any(host)
    }

    /// About some of the things that the other speaks of: `a bike in repair`, `a bike`.
    pub fn is_part_of(&self, other: &Statement) -> bool {
        self.head
            .is_some_and(|h| other.content.binary_search(&h).is_ok())
            && !self.owned
            && !self.post.1.is_empty()
            && common(&self.post.1, &other.content) == 0
    }

    /// One holds before something and the other after it.
    pub fn apart_in_time(&self, other: &Statement) -> bool {
        let counterpart = |c: &(u64, bool)| other.phases.contains(&(c.0, !c.1));
        self.phases.iter().any(counterpart)
    }

    /// Each names days of the week, and not the same ones.
    pub fn apart_in_days(&self, other: &Statement) -> bool {
        let (a, b) = (days_of(self), days_of(other));
        a != 0 && b != 0 && a & b == 0
    }

    /// The subject of each is foreign to the other.
    pub fn foreign(&self, other: &Statement) -> bool {
        let strange = |a: &Statement, b: &Statement| {
            a.head.is_some_and(|h| b.content.binary_search(&h).is_err())
        };
        strange(self, other) && strange(other, self) && common(&self.of, &other.of) == 0
    }

    /// Conditions do not keep the two apart: the same ones, or one statement leaves no exception.
    pub fn may_meet(&self, other: &Statement) -> bool {
        // `After the rain …` and `while it rains …` are two cases.
        let within = |a: &Statement, b: &Statement| {
            a.limited
                && !a.limit.is_empty()
                && common(&a.limit, &b.content) == a.limit.len()
                && !(a.phased && !b.triggered && common(&a.limit, &b.condition) > 0)
        };
        if self.complement != other.complement {
            return false;
        }
        // `After an emergency stop …`, `when the emergency stop is released`: one case.
        let case = |a: &Statement, b: &Statement| {
            let both = common(&a.condition, &b.content);
            both >= 2 && both * 3 >= a.condition.len() * 2 && !b.conditional
        };
        self.same_condition(other)
            || case(self, other)
            || case(other, self)
            || within(self, other)
            || within(other, self)
            || self.emphatic && (!self.conditional || self.unexcepted && self.condition.is_empty())
            || other.emphatic
                && (!other.conditional || other.unexcepted && other.condition.is_empty())
    }

    /// About different people.
    pub fn apart_in_people(&self, other: &Statement) -> bool {
        !self.persons.is_empty()
            && !other.persons.is_empty()
            && common(&self.persons, &other.persons) == 0
    }
}

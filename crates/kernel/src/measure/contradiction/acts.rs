//! What is done to a thing: `readings are taken`, `readings are sent`. Two acts have two times.
//!
//! Verbs of one class are one act for this purpose; light verbs (*is done, happens, goes*) name none.

use super::statement::Statement;
use super::synonym::canonical;
use crate::text::lex::fnv;
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Classes of verbs; the first names none.
const CLASSES: &[&str] = &[
    "make do happen run go get be have put come work perform carry occur need require must last stay remain set keep hold handle bring give ready \
     execute process treat",
    "send transmit deliver pass hand forward reach arrive post mail upload push dispatch transfer receive notify inform report tell announce go leave \
     alert raise warn remind issue email publish return answer reply respond collect gather bundle batch provide buffer queue defer postpone delay withhold",
    "appear show display publish see list visible view present offer",
    "update refresh change synchronise sync reload renew adjust fetch load pull import poll query read ask measure sample scan record register collect take draw",
    "begin start launch open finish end complete close stop",
    "answer reply respond return confirm acknowledge wait block",
    "create generate compute calculate produce write build prepare draw print finish complete",
    "use redeem accept valid consume spend",
    "delete erase purge wipe remove discard drop destroy expire lapse store save retain archive",
    "try retry repeat attempt redeem reuse",
    "back backup copy mirror replicate",
];

/// (stem, bits of its classes), sorted; bit 0 is light.
fn table() -> &'static [(u64, u16)] {
    static TABLE: OnceLock<Vec<(u64, u16)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut list: Vec<(u64, u16)> = CLASSES
            .iter()
            .enumerate()
            .flat_map(|(n, words)| {
                words
                    .split_ascii_whitespace()
                    .map(move |w| (canonical(fnv(stem(w))), 1 << n))
            })
            .collect();
        list.sort_unstable();
        let mut out: Vec<(u64, u16)> = Vec::with_capacity(list.len());
        for (key, bit) in list {
            match out.last_mut() {
                Some(last) if last.0 == key => last.1 |= bit,
                _ => out.push((key, bit)),
            }
        }
        out
    })
}

fn classes(key: u64) -> u16 {
    table()
        .binary_search_by(|e| e.0.cmp(&key))
        .map_or(0, |at| table()[at].1)
}

/// The two statements do different things, and share no more than their subject.
pub(super) fn different_acts(s: &Statement, o: &Statement) -> bool {
    let (Some(a), Some(b)) = (s.act, o.act) else {
        return false;
    };
    let (x, y) = (classes(a), classes(b));
    a != b
        && x & y == 0
        && (x | y) & 1 == 0
        && !s.same_act(o)
        && (o.content.binary_search(&a).is_err() || s.content.binary_search(&b).is_err())
        && s.shared_weight(o, &[a, b]) < 4
}

/// It runs, takes or lasts: nothing is done to another thing.
pub(super) fn has_plain_act(s: &Statement) -> bool {
    s.act
        .is_none_or(|a| classes(a) & 1 != 0 || a == fnv(stem("take")))
}

/// A verb of ending.
pub(super) fn is_end(act: u64) -> bool {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| {
        let words = ["stop", "end", "finish", "close"];
        words.iter().map(|w| canonical(fnv(stem(w)))).collect()
    });
    keys.contains(&act)
}

/// Both do the same kind of thing.
pub(super) fn alike_acts(s: &Statement, o: &Statement) -> bool {
    match (s.act, o.act) {
        (Some(a), Some(b)) => a == b || classes(a) & classes(b) & !1 != 0,
        _ => false,
    }
}

/// One is about a thing named after the other's subject: `prices`, `price statistics`.
pub(super) fn compound(s: &Statement, o: &Statement) -> bool {
    let of = |a: &Statement, b: &Statement| {
        let (Some(head), Some(other)) = (a.head, b.head) else {
            return false;
        };
        head != other
            && b.phrase.contains(&head)
            && !b.generic.contains(&other)
            && a.content.binary_search(&other).is_err()
    };
    of(s, o) || of(o, s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_verbs_that_send_are_one_and_light_verbs_are_none() {
        let key = |w: &str| canonical(fnv(stem(w)));
        assert_ne!(classes(key("sent")) & classes(key("delivered")), 0);
        assert_eq!(classes(key("happens")) & 1, 1);
        assert_eq!(classes(key("uploaded")) & classes(key("deleted")), 0);
    }
}

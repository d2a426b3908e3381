//! Words that say the same in a requirement: two statements about storing and keeping speak of one act.

use crate::text::lex::fnv;
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Groups of verbs and nouns; the first word stands for all.
const GROUPS: &[&str] = &[
    "keep store save retain hold preserve storage",
    "delete erase purge wipe remove",
    "contain include show display appear visible see",
    "send transmit deliver dispatch",
    "change alter modify edit touch amend adjust revise correct",
    "finish complete",
    "begin start launch run",
    "permit allow",
    "photo picture image",
    "weight mass weigh",
    "cancel revoke withdraw",
    "customer client shopper buyer",
    "mail e-mail email",
    "mobile phone smartphone",
    "employee staff colleague",
    "log protocol",
    "price cost",
    "link hyperlink",
    "order purchase",
    "notify inform tell",
    "answer reply respond response",
    "login sign-in signin",
    "calculate compute calculation",
    "sound audio",
    "share pass disclose",
    "close shut",
    "ad ads advert advertisement",
    "update refresh",
    "car vehicle",
    "member membership",
    "remind reminder",
    "pay payment",
    "measure measurement",
    "announce announcement",
    "convert conversion",
    "translate translation",
    "alarm alert",
    "supervise supervisor supervision",
    "sell sale",
    "unused remaining leftover",
    "respect honour honor obey heed",
];

/// Open addressing by the key: the key of a word and the one that stands for it, 0 where empty. A quarter full at most.
fn build() -> Vec<(u64, u64)> {
    let size = (4 * GROUPS
        .iter()
        .map(|group| group.split(' ').count())
        .sum::<usize>())
    .next_power_of_two();
    let mut slots = vec![(0, 0); size];
    for group in GROUPS {
        let first = group.split(' ').next().unwrap_or_default();
        for word in group.split(' ') {
            let key = fnv(stem(word));
            let mut at = key as usize & (size - 1);
            // The first group that has a word keeps it.
            while slots[at].0 != 0 && slots[at].0 != key {
                at = (at + 1) & (size - 1);
            }
            if slots[at].0 == 0 {
                slots[at] = (key, fnv(stem(first)));
            }
        }
    }
    slots
}

/// The key that stands for all words of a group.
pub(super) fn canonical(key: u64) -> u64 {
    static TABLE: OnceLock<Vec<(u64, u64)>> = OnceLock::new();
    let table = TABLE.get_or_init(build);
    let mask = table.len() - 1;
    let mut at = key as usize & mask;
    loop {
        match table[at] {
            (0, _) => return key,
            (own, to) if own == key => return to,
            _ => at = (at + 1) & mask,
        }
    }
}

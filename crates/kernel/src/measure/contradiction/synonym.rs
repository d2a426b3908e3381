//! Words that say the same in a requirement: two statements about storing and keeping speak of one act.

use crate::text::keyed::Keyed;
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

/// The key that stands for all words of a group; of a word in several groups, that of the first.
pub(super) fn canonical(key: u64) -> u64 {
    static TABLE: OnceLock<Keyed<u64>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let pairs = GROUPS.iter().flat_map(|group| {
            let first = group.split(' ').next().unwrap_or_default();
            let to = fnv(stem(first));
            group.split(' ').map(move |word| (fnv(stem(word)), to))
        });
        Keyed::new(pairs.collect())
    });
    table.find(key).copied().unwrap_or(key)
}

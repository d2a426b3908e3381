//! A kind of thing ruled out here, a thing of that kind used there: `without any external crates`, `use clap`.
//!
//! The members of a kind are the other side of its family (`lexicon/phrases`); here are the nouns that name the kind,
//! so that every way to deny one of them counts, not only the phrases somebody thought of.

use super::super::Source;
use crate::lexicon::{class, families};
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Family, and the nouns that name what its first side rules out.
const KINDS: &[(&str, &str)] = &[
    (
        "outside dependencies",
        "dependency library crate package gem framework module third-party",
    ),
    ("network access", "network internet connection connectivity"),
    ("storage", "database persistence"),
    ("state", "state"),
    ("JavaScript", "javascript js"),
    ("where it runs", "cloud"),
    (
        "accounts",
        "login account registration sign-up authentication signup",
    ),
    ("licences of parts", "gpl agpl copyleft lgpl"),
    ("tracking", "tracking analytics telemetry tracker"),
    ("pictures", "picture image photo"),
    ("paper", "paper printout"),
    ("cash", "cash"),
    ("wires", "wireless radio bluetooth wi-fi wifi"),
    ("sound", "sound noise beep loudspeaker"),
    ("mail", "mail e-mail email"),
    ("the processor", "gpu cuda"),
    ("interruption", "downtime interruption outage"),
    ("food", "meat"),
    ("personal data", "personal"),
];

/// (stem of the noun, family), sorted.
fn table() -> &'static [(u64, u16)] {
    static TABLE: OnceLock<Vec<(u64, u16)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut out = Vec::new();
        for (name, nouns) in KINDS {
            let at = families().iter().position(|f| f.name == *name);
            for noun in nouns.split(' ') {
                out.extend(at.map(|at| (fnv(stem(noun)), at as u16)));
            }
        }
        out.sort_unstable();
        out
    })
}

/// The kinds that a sentence rules out: family, and the tokens from the negation to the noun.
pub(super) fn denied_kinds(source: &Source<'_>, range: (usize, usize)) -> Vec<(u16, usize, usize)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut out = Vec::new();
    // `Cookies must not be set`, `paper is not used`: the kind before its denial.
    let first = (range.0..(range.0 + 4).min(range.1)).find(|&i| !t.is(i, class::STOP));
    if let Some(noun) = first {
        let denial = (noun + 1..(noun + 5).min(range.1)).find(|&k| t.is(k, class::NEG));
        let used = |k: usize| any_of!(lexed.word(k), "used" "allowed" "permitted" "accepted" "sent" "set" "installed" "available" "wanted" "needed" "involved" "linked");
        if let Some(k) = denial
            && (any_of!(lexed.word(k), "forbidden" "prohibited" "banned" "disallowed")
                || (k + 1..(k + 4).min(range.1)).any(used))
        {
            let key = lexed.tokens[noun].key;
            let from = table().partition_point(|e| e.0 < key);
            for e in table()[from..].iter().take_while(|e| e.0 == key) {
                out.push((e.1, noun, k + 1));
            }
        }
    }
    for i in range.0..range.1 {
        let word = lexed.word(i);
        let zero = any_of!(word, "zero" "free") && i + 1 < range.1;
        if lexed.tokens[i].quoted || !(zero || t.is(i, class::NEG)) {
            continue;
        }
        // A denied verb must be one of use; `no` and `without` deny the noun itself.
        let deep = any_of!(word, "not" "never" "cannot" "don't" "doesn't" "nothing" "nobody");
        if deep
            && !any_of!(lexed.word(i + 1), "use" "need" "require" "depend" "rely" "uses" "needs" "be" "have" "contain" "want" "list" "include" "import" "link" "pull" "install" "add" "allow" "tolerate")
        {
            continue;
        }
        // `Without Wi-Fi readings are kept`: a case.
        if word == "without" && i == range.0 && range.1 > i + 5 {
            continue;
        }
        for k in i + 1..(i + 6).min(range.1) {
            if lexed.tokens[k].kind != TokenKind::Word
                || any_of!(lexed.word(k), "new" "additional" "further" "more" "extra" "longer" "client-side" "is" "are" "for" "other" "between" "to" "can" "may" "will")
            {
                break;
            }
            // `No image is published from a branch`: the act is denied.
            if any_of!(lexed.word(k + 1), "is" "are" "may" "must" "can" "will")
                && !(k + 2..(k + 5).min(range.1)).any(|v| any_of!(lexed.word(v), "used" "allowed" "permitted" "needed" "required" "involved" "wanted" "accepted" "linked" "available" "set" "kept" "stored" "end" "asked"))
            {
                break;
            }
            let key = lexed.tokens[k].key;
            let from = table().partition_point(|e| e.0 < key);
            for e in table()[from..].iter().take_while(|e| e.0 == key) {
                out.push((e.1, i, k + 1));
            }
        }
    }
    out
}

//! A kind of thing ruled out here, a thing of that kind used there: `without any external crates`, `use clap`.
//!
//! The members of a kind are the other side of its family (`lexicon/phrases`); here are the nouns that name the kind,
//! so that every way to deny one of them counts, not only the phrases somebody thought of.

use super::super::Source;
use super::cues::topics;
use super::grammar::{is_boundary, is_preposition};
use super::topics::tech::NOUNS;
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
    ("where it runs", "cloud saas hyperscaler"),
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

/// A noun of one or two words, and the family or topic it names.
struct Noun {
    key: u64,
    /// The word behind it, 0 where none.
    next: u64,
    family: u16,
}

/// Sorted by the first word.
fn table() -> &'static [Noun] {
    static TABLE: OnceLock<Vec<Noun>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let number = |name: &str| {
            let family = families().iter().position(|f| f.name == name);
            let topic = || {
                let at = topics().iter().position(|t| t.name == name);
                at.map(|at| families().len() + at)
            };
            family.or_else(topic)
        };
        let mut out = Vec::new();
        let single = KINDS.iter().map(|(name, nouns)| (name, nouns, ' '));
        let double = NOUNS.iter().map(|(name, nouns)| (name, nouns, '|'));
        for (name, nouns, sign) in single.chain(double) {
            let at = number(name);
            for noun in nouns.split(sign) {
                let mut words = noun.split(' ').map(|w| fnv(stem(w)));
                let (key, next) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
                out.extend(at.map(|at| Noun {
                    key,
                    next,
                    family: at as u16,
                }));
            }
        }
        out.sort_by_key(|noun| (noun.key, noun.family, noun.next));
        out
    })
}

/// The families that the noun at `i` names, and behind which token it ends.
fn nouns_at(source: &Source<'_>, i: usize) -> impl Iterator<Item = (u16, usize)> {
    let tokens = &source.tagged.lexed.tokens;
    let key = tokens[i].key;
    let next = tokens.get(i + 1).map_or(0, |t| t.key);
    let from = table().partition_point(|e| e.key < key);
    table()[from..]
        .iter()
        .take_while(move |e| e.key == key)
        .filter(move |e| e.next == 0 || e.next == next)
        .map(move |e| (e.family, i + 1 + usize::from(e.next != 0)))
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
            out.extend(nouns_at(source, noun).map(|(family, _)| (family, noun, k + 1)));
        }
    }
    out.extend(denied_far(source, range));
    for i in range.0..range.1 {
        let word = lexed.word(i);
        let zero = any_of!(word, "zero" "free") && i + 1 < range.1;
        if lexed.tokens[i].quoted || !(zero || t.is(i, class::NEG)) {
            continue;
        }
        // A denied verb must be one of use; `no` and `without` deny the noun itself.
        let deep = any_of!(word, "not" "never" "cannot" "don't" "doesn't" "nothing" "nobody");
        if deep && !is_using(lexed.word(i + 1)) {
            continue;
        }
        // `No needs a photo`: an answer.
        if word == "no" && i == range.0 && super::denial::is_said_of(lexed.word(i + 1)) {
            continue;
        }
        // `Without Wi-Fi readings are kept`: a case.
        if word == "without" && i == range.0 && range.1 > i + 5 {
            continue;
        }
        for k in i + 1..(i + 6).min(range.1) {
            // `With no matches the screen reads …`
            let another = lexed.word(k) == "the" && !is_preposition(lexed.word(k - 1));
            if lexed.tokens[k].kind != TokenKind::Word
                || another
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
            out.extend(nouns_at(source, k).map(|(family, end)| (family, i, end)));
        }
    }
    out
}

/// Verbs of using a thing or having it in.
fn is_using(word: &str) -> bool {
    any_of!(word, "use" "need" "require" "depend" "rely" "uses" "needs" "have" "contain" "want" "list" "include" "import" "link" "pull" "install" "add" "allow" "tolerate" "set" "send" "sends" "show" "shows" "print" "make" "take" "play" "run" "call" "ask" "accept" "create" "allocate" "be")
}

/// A class denied at some distance: `No data may be placed with a cloud provider`, `is never written in a container`,
/// `floating point is not used anywhere`, `free of macros`.
fn denied_far(source: &Source<'_>, range: (usize, usize)) -> Vec<(u16, usize, usize)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut out = Vec::new();
    let ends = |i: usize| {
        is_boundary(source, i)
            || any_of!(lexed.word(i), "until" "before" "after" "than" "except" "other" "apart" "besides" "and")
    };
    for i in range.0..range.1 {
        if lexed.tokens[i].quoted || lexed.tokens[i].kind != TokenKind::Word {
            continue;
        }
        let word = lexed.word(i);
        let opens = i == range.0 && any_of!(word, "no" "nothing" "none" "nobody" "never");
        let denies = any_of!(word, "not" "never" "nothing" "cannot" "nowhere" "mustn't" "don't" "doesn't")
            || any_of!(word, "avoid" "avoids" "avoided" "forgo" "lacks" "lack" "bans" "forbids" "prohibits" "renounces")
            || any_of!(word, "free" "instead" "rid" "away" "abstain" "refrain")
                && any_of!(lexed.word(i + 1), "of" "from");
        if opens || denies {
            // `No container may run as root`: the subject of a denied act is not denied.
            let verb = (i + 1..range.1).find(|&k| {
                t.is(k, class::MODAL)
                    || any_of!(lexed.word(k), "is" "are" "may" "can" "must" "has" "have")
            });
            let from = match opens && word == "no" {
                true => match verb {
                    Some(verb) => verb + 1,
                    None => continue,
                },
                false => i + 1,
            };
            for k in from..(from + 9).min(range.1) {
                if ends(k) {
                    break;
                }
                // `the container`: one that there is.
                let before = lexed.word(k - 1);
                let certain = any_of!(before, "the" "this" "its" "our" "their" "that" "these" "your" "his" "her" "same" "new" "own" "in-app")
                    || k > from
                        && any_of!(lexed.word(k.saturating_sub(2)), "the" "this" "its" "our" "their");
                let open = opens
                    || t.is(k - 1, class::UNIVERSAL)
                    || any_of!(before, "a" "an" "any" "in" "on" "from" "to" "with" "via" "by" "through" "into" "as" "under" "of" "use" "foreign" "external");
                // `never delete a photo`: what is done to it is denied.
                let done = any_of!(word, "not" "never" "cannot")
                    && (i + 1..k).any(|v| any_of!(lexed.word(v), "a" "an" "any"))
                    && !(i + 1..k)
                        .any(|v| is_preposition(lexed.word(v)) || is_using(lexed.word(v)));
                if lexed.tokens[k].kind == TokenKind::Word && open && !certain && !done {
                    out.extend(nouns_at(source, k).map(|(family, end)| (family, i, end)));
                }
            }
        }
        // `… is not used anywhere`, `… are ruled out`
        let closes = any_of!(word, "forbidden" "prohibited" "banned" "disallowed" "taboo" "disabled" "excluded" "unavailable" "undesirable" "unwanted" "avoided")
            || word == "ruled" && lexed.word(i + 1) == "out"
            || word == "off" && any_of!(lexed.word(i + 1), "limits" "the")
            || word == "out" && lexed.word(i + 1) == "of" && lexed.word(i + 3) == "question"
            || word == "not"
                && (i + 1..(i + 4).min(range.1)).any(|k| any_of!(lexed.word(k), "used" "allowed" "permitted" "accepted" "available" "wanted" "option" "needed" "involved" "installed" "supported" "tolerated" "acceptable"));
        let negated = closes
            && word != "not"
            && (i.saturating_sub(2).max(range.0)..i)
                .any(|k| t.is(k, class::NEG) && lexed.word(k) != "forbidden");
        if closes && !negated {
            // The noun right before the verb.
            let subject = (i.saturating_sub(6).max(range.0)..i)
                .rev()
                .take_while(|&k| !ends(k) || k == i);
            for k in subject {
                let certain = k > range.0
                    && any_of!(lexed.word(k - 1), "the" "this" "its" "our" "their" "new" "of");
                if !certain {
                    out.extend(nouns_at(source, k).map(|(family, _)| (family, k, i + 1)));
                }
            }
        }
    }
    out
}

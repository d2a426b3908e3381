//! What the recognisers of the elements see in one text.
//!
//! Each signal is generous: one hint is enough. What a word list cannot know is recognised by shape: people by the
//! endings of agent nouns, failure handling by a state before a colon and what follows from it behind.

use super::product::{CODE_ENDINGS, is_ambiguous, is_coined, is_product};
use crate::lexicon::{Cue, Tagged, class, is_listed};
use crate::text::lex::{Lexed, TokenKind};

/// Signals of one text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// A product is named.
    pub technology: bool,
    /// Points for data: two are enough.
    pub data: u32,
    /// People or programs that use the result.
    pub users: bool,
    /// What happens when something goes wrong.
    pub failure: bool,
    /// A result is named.
    pub output: bool,
    /// A number tells when it is good.
    pub measure: bool,
    /// Names something concrete.
    pub concrete: bool,
    /// Words of the text.
    pub words: usize,
}

/// A file name: a dot between letters with a short ending, or a path.
pub(super) fn is_file_name(lexed: &Lexed<'_>, i: usize) -> bool {
    let word = lexed.word(i);
    let Some((base, ending)) = word.rsplit_once('.') else {
        return false;
    };
    !base.is_empty()
        && (1..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic())
        && !any_of!(word, "e.g" "i.e" "a.m" "p.m")
}

fn is_person(t: &Tagged<'_>, i: usize) -> bool {
    let c = t.classes[i];
    if c & class::THING != 0 {
        // `installers` found through the thing `installer` is a word for people.
        let word = t.lexed.word(i);
        return word.len() > 6 && word.ends_with("ers") && !is_listed(word);
    }
    if c & class::PERSON != 0 {
        return true;
    }
    // Plurals of agent nouns nobody listed: beekeepers, wholesalers, hydrologists.
    let word = t.lexed.word(i);
    c == 0
        && word.len() > 6
        && word.is_ascii()
        && (word.ends_with("ists")
            || word.ends_with("tors")
            || word.ends_with("yees")
            || word.ends_with("folk")
            || word.ends_with("folks")
            || word.ends_with("ians")
            || word.ends_with("eers")
            || word.ends_with("ers")
            || word.ends_with("keepers")
            || word.ends_with("ologist"))
}

pub(super) fn read_signals(t: &Tagged<'_>) -> Signals {
    let lexed = &t.lexed;
    let mut s = Signals::default();
    let mut data_words: Vec<u64> = Vec::new();
    for &(from, to) in &lexed.sentences {
        let (mut commas, mut negated, mut conditional) = (0u32, false, false);
        for i in from..to {
            let token = lexed.tokens[i];
            match token.kind {
                TokenKind::Symbol => {
                    let raw = lexed.raw(i);
                    if raw == "," {
                        commas += 1;
                    }
                    if raw == "/"
                        && token.spaced
                        && lexed
                            .tokens
                            .get(i + 1)
                            .is_some_and(|n| !n.spaced && n.kind == TokenKind::Word)
                    {
                        s.data += 2;
                        s.concrete = true;
                    }
                    continue;
                }
                TokenKind::Number => {
                    s.concrete = true;
                    let failing_code = any_of!(lexed.word(i),
                        "400" "401" "403" "404" "409" "410" "413" "422" "429" "500" "502" "503"
                        "504");
                    s.failure |= failing_code;
                    s.measure |= t.is(
                        i + 1,
                        class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT,
                    ) || lexed.is_symbol(i + 1, "%");
                    if t.is(i + 1, class::DATA | class::SIZE_UNIT) || t.is(i + 2, class::DATA) {
                        s.data += 1;
                    }
                    continue;
                }
                TokenKind::Word => s.words += 1,
            }
            let c = t.classes[i];
            let word = lexed.word(i);
            negated |= c & class::NEG != 0;
            conditional |= c & class::CONDITION != 0
                || any_of!(word, "that" "which" "who" "otherwise" "where" "else");
            if is_product(t, i, i == from)
                || CODE_ENDINGS
                    .iter()
                    .any(|e| word.ends_with(e) && word.len() > e.len())
                || is_coined(t, i, i == from)
            {
                s.technology = true;
                s.concrete = true;
            }
            if is_file_name(lexed, i) || word.contains('_') {
                s.data += 2;
                s.concrete = true;
                s.output = true;
            }
            if c & class::FORMAT != 0 {
                s.data += 2;
                s.concrete = true;
                s.output = true;
            }
            if c & class::DATABASE != 0 && !is_ambiguous(word) {
                s.data += 1;
            }
            if c & class::DATA != 0 && !data_words.contains(&token.key) && data_words.len() < 8 {
                data_words.push(token.key);
                s.data += 1;
            }
            s.users |= is_person(t, i) || is_consumer(t, i);
            s.failure |= word == "out" && lexed.word(i + 1) == "of" && i <= from + 1;
            s.failure |= any_of!(word, "if" "otherwise" "excluded")
                || word == "left" && lexed.word(i + 1) == "out"
                || word.len() > 5 && (word.ends_with("error") || word.ends_with("exception"));
            s.failure |= c & class::FAILURE != 0 && !is_quiet_failure(t, i);
            s.output |= c & class::OUTPUT != 0;
        }
        s.failure |= negated && conditional
            || is_lacking_subject(t, from, to)
            || is_case_line(t, from, to)
            || is_odd_case(t, from, to, conditional);
        if commas >= 2 {
            s.data += 1;
        }
    }
    s.measure |= (0..lexed.tokens.len()).any(|i| is_checked(lexed, i));
    s.measure |= t.hits.iter().any(|h| {
        matches!(h.cue, Cue::Upper | Cue::Lower)
            && (h.to..(h.to + 3).min(lexed.tokens.len()))
                .any(|k| lexed.tokens[k].kind == TokenKind::Number)
    });
    s
}

/// `Records without an operator are left out`: the subject lacks something, and the sentence says what happens.
fn is_lacking_subject(t: &Tagged<'_>, from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    let told = (from..to).any(
        |i| any_of!(lexed.word(i), "logged" "mailed" "listed" "counts" "means" "shown" "reported"),
    );
    if lexed.word(from) == "no" && told {
        return true;
    }
    if lexed.word(from) == "without" && to - from >= 6 {
        return true;
    }
    let Some(lack) = (from..to.min(from + 7)).find(|&i| lexed.word(i) == "without") else {
        return false;
    };
    (lack + 2..to).any(|i| {
        let word = lexed.word(i);
        any_of!(word, "is" "are" "gets" "get" "has" "stays")
            || word.len() > 3
                && word.ends_with('s')
                && !word.ends_with("ss")
                && t.is(
                    i,
                    class::OUTPUT | class::FAILURE | class::USE_VERB | class::CHANGE,
                )
    })
}

/// `no warnings`, `0 errors`: a measure, not what happens on failure.
fn is_quiet_failure(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let prev = if i > 0 { lexed.word(i - 1) } else { "" };
    match lexed.word(i) {
        "warning" | "warnings" | "error" | "errors" => {
            any_of!(prev, "no" "without" "zero" "0")
        }
        "down" => any_of!(prev,
            "drop" "break" "slow" "scroll" "write" "speed" "narrow" "slows" "cut" "top" "shuts"),
        "exit" => {
            !lexed.word(i + 1).starts_with("code")
                && lexed
                    .tokens
                    .get(i + 1)
                    .is_none_or(|n| n.kind != TokenKind::Number)
        }
        "blank" | "silent" | "dead" | "lost" | "duplicate" | "drop" | "repeat" | "restore"
        | "offline" | "alert" | "alarm" | "alerts" | "alarms" | "timed" | "locked" | "blocked"
        | "repeats" => {
            !(t.any(t.lexed.sentence_of(i), class::CONDITION | class::NEG)
                || (t.lexed.sentence_of(i).0..t.lexed.sentence_of(i).1).any(|k| {
                    any_of!(lexed.word(k),
                        "that" "which" "is" "are" "after" "from" "to" "twice" "for")
                }))
        }
        _ => false,
    }
}

/// A program that uses the result: `used by the gate software`, `the storefront calls it`.
fn is_consumer(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let word = lexed.word(i);
    let next = lexed.word(i + 1);
    match word {
        "used" | "called" | "consumed" | "scraped" | "polled" | "queried" | "invoked"
        | "imported" | "triggered" | "started" | "run" | "read" | "reads" | "loaded" | "opened" => {
            matches!(next, "by" | "from")
                && !any_of!(lexed.word(i + 2), "hand" "cron" "systemd" "default" "a" "disk")
        }
        "call" | "calls" | "use" | "uses" | "query" | "queries" | "poll" | "polls" => {
            next == "it" || next == "this"
        }
        "links" | "imports" | "consumes" | "loads" | "embeds" => matches!(next, "the" | "it"),
        "we" | "i" => any_of!(next, "use" "run" "read" "call" "open" "see"),
        "caller" | "callers" | "consumer" | "consumers" | "who" | "whoever" | "yourself"
        | "myself" | "ourselves" => true,
        _ => false,
    }
}

/// `checked with axe`, `verified by the officer`, `accepted when`: somebody or something tells when it is good.
fn is_checked(lexed: &Lexed<'_>, i: usize) -> bool {
    any_of!(lexed.word(i), "checked" "verified" "validated" "accepted" "measured" "tested" "passes" "judged" "approved")
        && any_of!(lexed.word(i + 1), "with" "by" "when" "against" "in" "all" "the")
}

/// States in which nothing works as it should.
const ODD: &[&str] = &[
    "aborted",
    "absent",
    "bad",
    "below",
    "black",
    "busy",
    "closed",
    "cut",
    "dead",
    "dirty",
    "disagree",
    "disconnected",
    "doubt",
    "dropped",
    "empty",
    "exceeded",
    "exhausted",
    "expired",
    "flat",
    "freeze",
    "freezes",
    "frozen",
    "full",
    "garbled",
    "gone",
    "hangs",
    "illegible",
    "interrupted",
    "jammed",
    "late",
    "lost",
    "low",
    "missing",
    "none",
    "off",
    "offline",
    "out",
    "overdue",
    "overloaded",
    "refused",
    "saturated",
    "silent",
    "slow",
    "sold",
    "stale",
    "stuck",
    "too",
    "twice",
    "unanswered",
    "unclear",
    "under",
    "unplugged",
    "unreadable",
    "vanished",
    "wrong",
    "zero",
];

fn is_odd(t: &Tagged<'_>, i: usize) -> bool {
    let word = t.lexed.word(i);
    t.is(i, class::FAILURE | class::NEG)
        || ODD.binary_search(&word).is_ok()
        || word.len() > 6
            && (word.starts_with("un") || word.starts_with("dis"))
            && word.ends_with("ed")
}

/// `Camera unplugged: last picture in grey`, `Paper out => the light blinks`: a state and what follows from it.
pub(super) fn is_case_line(t: &Tagged<'_>, from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    let mark = (from + 1..to)
        .take(9)
        .find(|&i| matches!(lexed.raw(i), ":" | "=>" | "->" | "→"));
    let Some(mark) = mark else { return false };
    let state = (from..mark).any(|i| is_odd(t, i))
        || (from..mark).any(|i| lexed.tokens[i].kind == TokenKind::Number)
            && (from..mark)
                .any(|i| any_of!(lexed.word(i), "reads" "shows" "answers" "returns" "is" "gives"));
    state && to - mark > 2
}

/// A condition about a state in which nothing works, or an answer in capitals under a condition.
fn is_odd_case(t: &Tagged<'_>, from: usize, to: usize, conditional: bool) -> bool {
    let lexed = &t.lexed;
    conditional
        && (from..to).any(|i| {
            let raw = lexed.raw(i);
            ODD.binary_search(&lexed.word(i)).is_ok() && !any_of!(lexed.word(i), "under" "below" "out" "off" "too" "none" "low" "closed" "zero" "twice" "cut")
                || raw.contains('_') && raw.len() > 5 && raw.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::tag;

    #[test]
    fn odd_states_are_sorted() {
        assert!(ODD.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn failure_state_before_a_colon_is_seen() {
        assert!(read_signals(&tag("Paper out: the button light blinks")).failure);
        assert!(!read_signals(&tag("Fields: name, birth date, consent")).failure);
    }
}

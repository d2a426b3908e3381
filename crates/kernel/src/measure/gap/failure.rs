//! What happens when something goes wrong: failure words, conditions with a denial, a state and what follows from it.

use crate::lexicon::{Tagged, class};
use crate::measure::grammar::has_finite;
use crate::text::lex::TokenKind;

/// `An empty file keeps the old prices`, `a country we do not ship to shows the form`, `below 30 answers no chart is
/// drawn`: a clause begins with the odd case and goes on with what happens then.
pub(super) fn is_odd_subject(t: &Tagged<'_>, from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    let begins = |i: usize| i == from || any_of!(lexed.raw(i - 1), "," ":" ";");
    (from..to).filter(|&i| begins(i)).any(|i| match lexed.word(i) {
        "a" | "an" => {
            let odd = is_odd(t, i + 1) && !any_of!(lexed.word(i + 1), "too" "low" "late" "overdue" "closed" "under" "below");
            let denied = (i + 2..to.min(i + 8)).find(|&k| t.is(k, class::NEG) && lexed.word(k) != "cannot");
            let long = (i + 2..to.min(i + 4)).any(|k| {
                any_of!(lexed.word(k), "wider" "larger" "longer" "bigger") && lexed.word(k + 1) == "than"
            });
            let other = long
                || (i + 2..to.min(i + 7)).any(|k| any_of!(lexed.word(k), "another" "other" "wrong"));
            (odd || other || denied.is_some_and(|k| !t.is(k - 1, class::MODAL))) && has_finite(t, (i + 2, to))
        }
        "no" => (i + 2..to).any(|k| {
            any_of!(lexed.word(k), "shows" "raises" "closes" "stops" "sounds" "turns" "sets" "switches" "triggers" "starts" "restarts" "resets" "pauses" "blinks" "lights" "keeps" "sends")
        }),
        // `On a full disk …`
        "on" | "with" | "after" | "during" => {
            any_of!(lexed.word(i + 1), "a" "an") && is_odd(t, i + 2) && has_finite(t, (i + 3, to))
        }
        "below" | "under" | "fewer" => t.any((i + 1, to), class::NEG),
        // `Less than 11 hours between two shifts turns the cell red`
        "less" | "more" => {
            lexed.word(i + 1) == "than"
                && (i + 3..to).any(|k| {
                    any_of!(lexed.word(k), "turns" "shows" "stops" "raises" "marks" "blocks" "warns" "ends" "refused" "rejected" "gives")
                })
        }
        // `Empty fields leave out their line`
        "empty" | "garbled" | "unreadable" | "illegible" | "interrupted" | "unanswered" | "doubled" | "negative" | "conflicting" => {
            lexed.word(i + 1).ends_with('s') && to >= i + 4
        }
        // `Tables wider than the page become images`
        _ => {
            any_of!(lexed.word(i + 1), "wider" "larger" "longer" "bigger")
                && lexed.word(i + 2) == "than"
                && has_finite(t, (i + 4, to))
                // `Pages under 60 % confidence go to the manual tray`
                || any_of!(lexed.word(i + 1), "under" "below")
                    && lexed.tokens.get(i + 2).is_some_and(|n| n.kind == TokenKind::Number)
                    && has_finite(t, (i + 4, to))
                    // `Targets below 30 degrees are never scheduled` is a rule of the plan.
                    && !t.any((i + 3, to), class::NEG)
        }
    })
}

/// `Records without an operator are left out`: the subject lacks something, and the sentence says what happens.
pub(super) fn is_lacking_subject(t: &Tagged<'_>, from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    // `Lines with another number of fields than 6 go to bad.log`
    let odd = (from + 1..to.min(from + 4)).any(|i| {
        any_of!(lexed.word(i), "with" "of" "in")
            && (any_of!(lexed.word(i + 1), "another" "wrong" "other" "bad" "fewer" "broken")
                || any_of!(lexed.word(i + 1), "the" "a" "an")
                    && any_of!(lexed.word(i + 2), "wrong" "bad" "broken" "different"))
    });
    if odd && has_finite(t, (from + 3, to)) {
        return true;
    }
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
        any_of!(word,
            "is" "are" "cannot" "gets" "get" "has" "stays" "go" "stay" "count" "come" "become" "appear" "move" "keep" "have" "land" "end" "show" "print"
            "fall" "use")
            || word.len() > 3
                && word.ends_with('s')
                && !word.ends_with("ss")
                && t.is(
                    i,
                    class::OUTPUT | class::FAILURE | class::USE_VERB | class::CHANGE,
                )
    })
}

/// A message in quotation marks that tells somebody that something is wrong: `"This date does not exist"`.
pub(super) fn has_message(t: &Tagged<'_>) -> bool {
    let lexed = &t.lexed;
    (0..lexed.tokens.len()).any(|i| {
        lexed.tokens[i].quoted
            && any_of!(lexed.word(i),
                "not" "cannot" "no" "can't" "please" "error" "wrong" "sorry" "invalid" "failed" "unknown" "missing" "again"
                "unavailable" "closed" "full")
    })
}

/// `no warnings`, `0 errors`: a measure, not what happens on failure.
pub(super) fn is_quiet_failure(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let prev = if i > 0 { lexed.word(i - 1) } else { "" };
    match lexed.word(i) {
        "warning" | "warnings" | "error" | "errors" => {
            any_of!(prev, "no" "without" "zero" "0")
        }
        "down" => any_of!(prev,
            "drop" "break" "slow" "scroll" "write" "speed" "narrow" "slows" "cut" "top" "shuts"),
        // `without a break`, `emergency phone` as a field
        "break" | "breaks" => any_of!(prev, "a" "the" "lunch" "coffee" "tea" "every"),
        "emergency" => {
            any_of!(lexed.word(i + 1), "phone" "contact" "contacts" "number" "exit" "exits" "call" "calls" "service")
        }
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

/// States in which nothing works as it should.
const ODD: &[&str] = &[
    "aborted",
    "absent",
    "away",
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
    "unreachable",
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
pub(in crate::measure) fn is_case_line(t: &Tagged<'_>, from: usize, to: usize) -> bool {
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
pub(super) fn is_odd_case(t: &Tagged<'_>, from: usize, to: usize, conditional: bool) -> bool {
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
    use super::ODD;

    #[test]
    fn odd_states_are_sorted() {
        assert!(ODD.windows(2).all(|w| w[0] < w[1]));
    }
}

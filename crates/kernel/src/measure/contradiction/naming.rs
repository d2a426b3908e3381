//! What a statement is about by name: requests, paths, headings, the noun phrase of its subject.

use super::super::Source;
use super::super::signals::is_case_line;
use super::statement::{Statement, is_filler};
use super::synonym::canonical;
use crate::lexicon::{Cue, class};
use crate::text::lex::{TokenKind, fnv};

/// Words that tell that a statement has no exception.
fn is_emphatic(word: &str) -> bool {
    any_of!(word, "all" "always" "each" "every" "everybody" "everyone" "exclusively" "never" "no" "nobody" "none" "nothing" "only" "throughout" "whenever")
}

/// Fills the names of a statement.
pub(super) fn read_names(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let bytes = lexed.text.as_bytes();
    let auxiliary = |i: usize| {
        t.is(i, class::MODAL)
            || any_of!(lexed.word(i), "is" "are" "was" "were" "has" "have" "does" "do" "gets" "get" "stays" "stay" "remains" "remain"
                "allows" "contains" "holds" "costs" "sends" "keeps" "stores" "shows" "runs" "works" "uses" "gives")
    };
    for i in range.0..range.1 {
        let token = lexed.tokens[i];
        if token.upper && any_of!(lexed.raw(i), "GET" "POST" "PUT" "PATCH" "DELETE" "HEAD") {
            s.methods.push(token.key);
        }
        // `/v1/raw`: from the slash to the next blank. `tests/`: a word before a slash and a blank.
        if lexed.raw(i) == "/"
            && token.spaced
            && bytes.get(token.end).is_some_and(u8::is_ascii_alphabetic)
        {
            let rest = &lexed.text[token.start..];
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            s.paths
                .push(fnv(rest[..end].trim_end_matches([',', '.', ':', ';', ')'])));
        } else if lexed.raw(i) == "/"
            && !token.spaced
            && i > range.0
            && lexed.tokens[i - 1].spaced
            && bytes.get(token.end).is_none_or(|b| b.is_ascii_whitespace())
        {
            s.paths.push(lexed.tokens[i - 1].key);
        }
        if token.kind == TokenKind::Word && token.coded && is_file_name(lexed.word(i)) {
            s.paths.push(token.key);
        }
        s.emphatic |= !token.quoted
            && is_emphatic(lexed.word(i))
            && !(i > range.0
                && lexed.word(i - 1) == "of"
                && any_of!(lexed.word(i), "everybody" "everyone"))
            // `for 5 seconds each`
            && !(lexed.word(i) == "each"
                && (i + 1 >= range.1 || lexed.tokens[i + 1].kind == TokenKind::Symbol))
            && (lexed.word(i) != "only"
                || !any_of!(lexed.word(i + 1), "if" "when" "after" "on" "for" "during"));
        s.emphatic |= lexed.word(i) == "even"
            && any_of!(lexed.word(i + 1), "if" "when" "after" "with" "without" "for");
        s.emphatic |= any_of!(lexed.word(i), "around" "day" "at" "under" "in")
            && any_of!(lexed.word(i + 1), "the" "and" "all" "any" "no" "every")
            && any_of!(lexed.word(i + 2), "clock" "night" "times" "circumstances" "circumstance" "other" "case" "time" "moment" "stage");
    }
    read_contrasts(source, range, s);
    read_quantifiers(source, range, s);
    read_landmarks(source, range, s);
    s.measured = t
        .hits_in(range)
        .iter()
        .any(|h| matches!(h.cue, Cue::Upper | Cue::Lower | Cue::Takes));
    // A heading before a fragment.
    if let Some(colon) = (range.0 + 1..range.1)
        .take(5)
        .find(|&i| lexed.is_symbol(i, ":"))
    {
        let comma = (colon..range.1)
            .find(|&i| lexed.is_symbol(i, ","))
            .unwrap_or(range.1);
        let fragment =
            !(colon..comma).any(auxiliary) || (range.0 + 1..colon).any(|i| lexed.tokens[i].upper);
        if fragment {
            s.heading = telling(source, range.0, colon);
        }
    }
    // `nothing below minimum: no mail`
    let lacking = any_of!(lexed.word(range.0), "nothing" "no" "none" "nobody" "without" "neither")
        && (range.0 + 1..range.1)
            .take(8)
            .find(|&i| any_of!(lexed.raw(i), ":" "->" "→" "=>"))
            .is_some_and(|colon| !(range.0..colon).any(auxiliary));
    let case = lacking || is_case_line(t, range.0, range.1);
    // The noun phrase of the subject.
    let verb = (range.0..range.1)
        .take(8)
        .take_while(|&i| {
            i == range.0
                || !(t.is(i, class::CONDITION)
                    || lexed.is_symbol(i, ",") && lexed.word(i + 1) == "which")
        })
        .find(|&i| auxiliary(i))
        .or(s.finite);
    s.clocked = (range.0..range.1)
        .any(|i| lexed.tokens[i].kind == TokenKind::Number && lexed.word(i).contains(':'));
    let holds = |words: &[&str]| (range.0..range.1).any(|i| words.contains(&lexed.word(i)));
    s.triggered = holds(&["when", "once", "whenever"])
        && !holds(&["if", "unless", "except", "only", "without", "no", "not"]);
    s.timed = (range.0 + 1..range.1).any(|i| {
        t.is(i, class::TIME_UNIT)
            && (lexed.tokens[i - 1].kind == TokenKind::Number
                || t.is(i - 1, class::NUMERAL)
                || any_of!(lexed.word(i - 1), "a" "an"))
    });
    s.act = s.finite.and_then(|verb| {
        // `Tickets go out`: that is what they do.
        if any_of!(lexed.word(verb), "go" "goes") && any_of!(lexed.word(verb + 1), "out" "to") {
            return Some(fnv("go"));
        }
        let auxiliary = |i: usize| {
            t.is(
                i,
                class::STOP | class::MODAL | class::NEG | class::UNIVERSAL,
            )
        };
        let aside = |i: usize| {
            t.is(i, class::NUMERAL)
                || lexed.word(i).ends_with("ly")
                || any_of!(lexed.word(i), "once" "again" "at")
        };
        let at = (verb..(verb + 5).min(range.1)).find(|&i| !auxiliary(i) && !aside(i))?;
        // `takes place` names no act.
        let named = lexed.tokens[at].kind == TokenKind::Word
            && lexed.word(at + 1) != "place"
            && !is_filler(lexed.word(at));
        named.then(|| canonical(lexed.tokens[at].key))
    });
    // `The fan is off below 40 degrees`
    let switches = || {
        (range.0..range.1).any(|i| {
            any_of!(lexed.word(i), "on" "off" "opens" "open" "closes" "closed" "starts" "stops" "start" "stop" "runs")
        }) && !(range.0..range.1).any(|i| t.is(i, class::CONDITION))
    };
    s.at_number = (range.0..range.1).any(|i| {
        (lexed.word(i) == "at"
            || any_of!(lexed.word(i), "above" "below" "over" "under") && switches())
            && lexed
                .tokens
                .get(i + 1)
                .is_some_and(|n| n.kind == TokenKind::Number)
    });
    s.verb_at = s.finite.unwrap_or(range.0);
    s.past = s
        .finite
        .is_some_and(|v| any_of!(lexed.word(v), "was" "were"));
    s.passive = s.finite.is_some_and(|v| {
        (v..(v + 3).min(range.1)).any(|i| any_of!(lexed.word(i), "is" "are" "be" "was" "were" "been" "stays" "stay" "remains" "remain"))
    });
    if let Some(verb) = verb {
        s.verb_at = verb;
        // The subject ends at its first preposition or relative clause; two subjects are none.
        // `tickets marked as spam`: the participle narrows the noun before it.
        let participle = |i: usize| {
            i > range.0
                && (lexed.word(i).ends_with("ed")
                    || any_of!(lexed.word(i), "taken" "cast" "sent" "made" "written" "given" "bought" "sold" "held" "kept" "left"))
                && lexed.tokens[i - 1].kind == TokenKind::Word
                && !t.is(i - 1, class::STOP | class::UNIVERSAL | class::NEG)
                && super::grammar::is_preposition(lexed.word(i + 1))
        };
        let of = (range.0..verb)
            .find(|&i| {
                super::grammar::is_preposition(lexed.word(i))
                    || participle(i)
                    || any_of!(lexed.word(i), "than" "whose" "that" "which" "who" "above" "below" "between" "older" "longer" "outside" "inside" "per" "about" "against" "across" "among")
            })
            .unwrap_or(verb);
        let list = (range.0..of).any(|i| {
            lexed.tokens[i].kind == TokenKind::Symbol
                || t.is(i, class::CONDITION)
                || any_of!(lexed.word(i), "and" "or")
        }) || (of..verb).any(|i| lexed.is_symbol(i, ","));
        let fronted = super::grammar::is_preposition(lexed.word(range.0));
        if !list && !fronted {
            s.phrase = telling(source, range.0, of);
            s.of = if any_of!(lexed.word(of), "of" "in" "on") {
                telling(source, of, verb)
            } else {
                Vec::new()
            };
            s.owned = lexed.word(of) == "of";
            s.partitive = any_of!(lexed.word(of + 1), "each" "every" "all")
                || (range.0..of).any(|i| {
                any_of!(lexed.word(i), "entry" "entries" "row" "rows" "line" "lines" "item" "items" "page" "pages" "part" "parts" "record" "records" "element" "field" "fields" "member" "members" "each" "all" "one" "every" "copy" "copies" "version" "versions" "account" "role" "token" "rights")
            });
            s.head = (range.0..of)
                .rev()
                .find(|&i| {
                    lexed.tokens[i].kind == TokenKind::Word
                        && !t.is(
                            i,
                            class::STOP | class::NEG | class::UNIVERSAL | class::NUMERAL,
                        )
                })
                .map(|i| canonical(lexed.tokens[i].key));
        }
        // `No more than 60 pots fit`: the amount, no case.
        let bound = |i: usize| {
            lexed.word(i) == "than"
                && i >= range.0 + 2
                && any_of!(lexed.word(i - 2), "no" "not" "never")
        };
        s.limited = (range.0 + 1..verb).any(|i| {
            any_of!(lexed.word(i), "without" "than" "that" "which" "who" "whose") && !bound(i)
                || lexed.word(i) == "not" && i > range.0 + 1
                || any_of!(lexed.word(i), "marked" "flagged" "tagged" "labelled" "classified" "declared" "requested")
                    && super::grammar::is_preposition(lexed.word(i + 1))
        });
        s.narrowed = (range.0 + 1..verb).any(|i| {
            any_of!(lexed.word(i), "without" "than" "that" "which" "who" "whose" "with" "from" "outside" "after" "before" "under" "over" "above" "below")
        });
    } else {
        let noun = range.0 + usize::from(t.is(range.0, class::STOP | class::UNIVERSAL));
        s.limited = any_of!(lexed.word(noun + 1), "without" "whose" "that");
        s.narrowed = s.limited;
    }
    if s.limited
        && let Some(verb) = verb
    {
        let from = (range.0 + 1..verb)
            .find(|&i| any_of!(lexed.word(i), "without" "than" "that" "which" "who" "whose"));
        s.limit = from.map_or_else(Vec::new, |from| telling(source, from, verb));
    }
    // `Without database for 2 minutes the display shows …`
    s.limited |= lexed.word(range.0) == "without" && s.finite.is_some_and(|v| v > range.0 + 1);
    // `Within a date …`: a second step.
    s.limited |= any_of!(lexed.word(range.0), "within" "among")
        && any_of!(lexed.word(range.0 + 1), "a" "an" "each" "every" "one" "the");
    s.limited |= case
        || any_of!(lexed.word(range.0), "with" "without")
            && any_of!(lexed.word(range.0 + 1), "a" "an" "any" "no");
}

/// `index.json`
fn is_file_name(word: &str) -> bool {
    let ends = |(_, end): (&str, &str)| any_of!(end, "json" "jsonl" "csv" "xml" "yaml" "yml" "toml" "txt" "log" "md" "pdf" "html" "conf" "ini" "db" "sqlite" "png" "jpg" "svg" "zip" "gz" "bin" "parquet" "xlsx" "docx" "py" "rs" "sh" "sql");
    word.rsplit_once('.').is_some_and(ends)
}

/// `in the membership database`: the database.
fn read_landmarks(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for i in range.0..range.1 {
        // `in rehearsal mode`
        if lexed.word(i) == "in" && lexed.word(i + 2) == "mode" {
            s.places.push((
                canonical(lexed.tokens[i + 2].key),
                canonical(lexed.tokens[i + 1].key),
            ));
        }
        let date = lexed.word(i + 1) == "date";
        let out_of = lexed.word(i) == "of" && i > range.0 && lexed.word(i - 1) == "out";
        if date || !out_of && !any_of!(lexed.word(i), "in" "on" "from" "to" "into" "at" "onto") {
            continue;
        }
        let mut head: Option<usize> = None;
        for k in i + 1..(i + 9).min(range.1) {
            let plain = lexed.tokens[k].kind == TokenKind::Word && !lexed.tokens[k].quoted;
            if !plain || t.is(k, class::CONDITION | class::TIME_UNIT) {
                break;
            }
            // `into the header of the originals`: both.
            if lexed.word(k) == "of" && head.is_some() {
                s.landmarks
                    .extend(head.take().map(|k| canonical(lexed.tokens[k].key)));
                continue;
            }
            if t.is(k, class::STOP | class::UNIVERSAL) {
                if head.is_some() {
                    break;
                }
            } else {
                head = Some(k);
            }
        }
        let head = head.filter(|&k| !any_of!(lexed.word(k), "way" "case" "time" "place" "order" "addition" "general" "advance"));
        s.landmarks
            .extend(head.map(|k| canonical(lexed.tokens[k].key)));
    }
    s.landmarks.sort_unstable();
    s.landmarks.dedup();
}

/// `every patient`, `all of the orders`; `always`, `without exception`.
fn read_quantifiers(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for i in range.0..range.1 {
        let word = lexed.word(i);
        let denied = |from: usize| (range.0..from).any(|k| t.is(k, class::NEG));
        s.unexcepted |= word == "ever" && denied(i)
            || any_of!(word, "circumstances" "circumstance" "case" "time")
                && i > range.0
                && (lexed.word(i - 1) == "no" || lexed.word(i - 1) == "any" && denied(i));
        s.emphatic |= word == "ever" && denied(i);
        s.unexcepted |= any_of!(word, "whatever" "regardless" "irrespective")
            || word == "matter" && i > range.0 && lexed.word(i - 1) == "no";
        // `those of everybody`: whose they are, not who does it.
        let whose = i > range.0 && lexed.word(i - 1) == "of";
        s.unexcepted |= any_of!(word, "always" "never" "everything" "nothing" "nobody" "everyone" "everybody" "anyone" "anybody")
            && !whose
            || any_of!(word, "without" "no")
                && any_of!(lexed.word(i + 1), "exception" "exceptions");
        if any_of!(word, "all" "every" "each" "any" "no" "none") {
            let nouns = (i + 1..(i + 4).min(range.1))
                .take_while(|&k| lexed.tokens[k].kind != TokenKind::Symbol)
                .filter(|&k| !t.is(k, class::STOP | class::TIME_UNIT | class::NUMERAL));
            s.quantified
                .extend(nouns.map(|k| canonical(lexed.tokens[k].key)));
        }
    }
    s.quantified.sort_unstable();
}

/// The axis of `with` and `without`.
pub(super) const WITH: u64 = 3;

/// The key of a case that a word tells from its counterpart on an axis.
pub(super) fn contrast_key(word: u64, axis: u64) -> u64 {
    word.wrapping_mul(31).wrapping_add(axis)
}

/// Words that tell two cases apart, when what follows them is the same.
fn side_of(word: &str) -> Option<(u64, bool)> {
    Some(match word {
        "before" | "until" => (1, true),
        "after" | "from" | "since" => (1, false),
        "over" | "above" | "exceeds" | "exceeding" => (2, true),
        "under" | "below" => (2, false),
        "with" => (WITH, true),
        "without" => (WITH, false),
        "inside" | "within" => (4, true),
        "outside" | "between" => (4, false),
        "on" | "during" => (5, true),
        _ => return None,
    })
}

/// Modifiers that tell two things of one name apart: `the old database`, `the new database`.
fn modifier_side(word: &str) -> Option<(u64, bool)> {
    Some(match word {
        "old" => (100, true),
        "new" => (100, false),
        "open" => (101, true),
        "closed" => (101, false),
        "internal" => (102, true),
        "external" => (102, false),
        "incoming" => (103, true),
        "outgoing" => (103, false),
        "inbound" => (104, true),
        "outbound" => (104, false),
        "public" => (105, true),
        "private" => (105, false),
        "left" => (106, true),
        "right" => (106, false),
        "front" => (107, true),
        "back" => (107, false),
        "rear" => (108, false),
        "free" => (109, true),
        "paid" => (109, false),
        "known" => (110, true),
        "unknown" => (110, false),
        "valid" => (111, true),
        "invalid" => (111, false),
        "active" => (112, true),
        "inactive" => (112, false),
        "upper" => (113, true),
        "lower" => (113, false),
        "indoor" => (114, true),
        "outdoor" => (114, false),
        "large" => (115, true),
        "small" => (115, false),
        "local" => (116, true),
        "remote" => (116, false),
        "primary" => (117, true),
        "secondary" => (117, false),
        "current" => (118, true),
        "previous" => (118, false),
        "approved" => (119, true),
        "rejected" => (119, false),
        "domestic" => (120, true),
        "foreign" => (120, false),
        "registered" => (121, true),
        "anonymous" => (121, false),
        "full" => (122, true),
        "empty" => (122, false),
        "hot" => (123, true),
        "cold" => (123, false),
        "early" => (124, true),
        "late" => (124, false),
        "young" => (125, true),
        "same" => (126, true),
        "different" | "differing" => (126, false),
        _ => return None,
    })
}

fn read_contrasts(source: &Source<'_>, range: (usize, usize), s: &mut Statement) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for i in range.0..range.1 {
        if i == range.0 && lexed.word(i) == "first" || i == range.0 + 1 && lexed.word(i) == "first"
        {
            s.contrasts.push((7, true));
        }
        if i <= range.0 + 1
            && any_of!(lexed.word(i), "further" "later" "subsequent" "additional" "following" "other" "remaining" "second" "third" "last")
        {
            s.contrasts.push((7, false));
        }
        if let Some((axis, side)) = modifier_side(lexed.word(i))
            && lexed
                .tokens
                .get(i + 1)
                .is_some_and(|n| n.kind == TokenKind::Word)
            && i + 1 < range.1
            && !t.is(i + 1, class::STOP | class::NEG)
            // `in upper case`
            && !any_of!(lexed.word(i + 1), "case" "letters")
        {
            let key = canonical(lexed.tokens[i + 1].key);
            s.contrasts.push((contrast_key(key, axis), side));
        }
        // `moving in`, `moving out`
        if any_of!(lexed.word(i + 1), "in" "out")
            && i + 1 < range.1
            && lexed.word(i).ends_with("ing")
        {
            let key = contrast_key(canonical(lexed.tokens[i].key), 131);
            s.contrasts.push((key, lexed.word(i + 1) == "in"));
        }
        // `with private insurance`, `with statutory insurance`
        if any_of!(lexed.word(i), "with" "of" "from" "for")
            && i + 2 < range.1
            && (i + 1..i + 3).all(|k| {
                lexed.tokens[k].kind == TokenKind::Word
                    && !t.is(
                        k,
                        class::STOP | class::NEG | class::UNIVERSAL | class::NUMERAL,
                    )
            })
            && s.finite.is_none_or(|v| i < v)
        {
            s.places.push((
                canonical(lexed.tokens[i + 2].key),
                canonical(lexed.tokens[i + 1].key),
            ));
        }
        // `at night`, `by day`; `in summer`, `in winter`
        let before = lexed.word(i.saturating_sub(1));
        match lexed.word(i) {
            "night" if before == "and" => {}
            "night" | "nights" | "overnight" => s.contrasts.push((7, true)),
            "daytime" => s.contrasts.push((7, false)),
            "day"
                if before == "by" || before == "the" && i > 1 && lexed.word(i - 2) == "during" =>
            {
                s.contrasts.push((7, false));
            }
            "success" if any_of!(before, "on" "of") => s.contrasts.push((9, true)),
            "failure" | "error" if any_of!(before, "on" "of" "an") => s.contrasts.push((9, false)),
            "summer" => s.contrasts.push((8, true)),
            "winter" => s.contrasts.push((8, false)),
            _ => {}
        }
        // `while the oven is on`, `while the oven is off`
        if any_of!(lexed.word(i), "on" "off")
            && i > range.0 + 2
            && any_of!(lexed.word(i - 1), "is" "are")
            && (range.0..i).any(|k| t.is(k, class::CONDITION))
        {
            let key = contrast_key(canonical(lexed.tokens[i - 2].key), 130);
            s.contrasts.push((key, lexed.word(i) == "on"));
        }
        if any_of!(lexed.word(i), "in" "on" "at" "for" "from" "during" "to" "into")
            && any_of!(lexed.word(i + 1), "the" "a" "an" "our" "their" "its")
            && i + 3 < range.1
            && !t.is(i + 2, class::STOP)
            && !t.is(i + 3, class::STOP | class::MODAL)
            && lexed.tokens[i + 2].kind == TokenKind::Word
            && lexed.tokens[i + 3].kind == TokenKind::Word
        {
            s.places.push((
                canonical(lexed.tokens[i + 3].key),
                canonical(lexed.tokens[i + 2].key),
            ));
        }
        let upto = lexed.word(i) == "up" && lexed.word(i + 1) == "to";
        let Some((axis, side)) = side_of(lexed.word(i)).or(upto.then_some((2, false))) else {
            continue;
        };
        // `from 100 euros on` is a size, no time.
        let sized = lexed.word(i) == "from"
            && lexed
                .tokens
                .get(i + 1)
                .is_some_and(|n| n.kind == TokenKind::Number || t.is(i + 1, class::NUMERAL))
            && !t.is(i + 2, class::TIME_UNIT)
            && !lexed.word(i + 1).contains(':');
        let (axis, side) = if sized { (2, true) } else { (axis, side) };
        // `shown in whole kilograms, without decimals`: part of what is said, no case.
        if axis == WITH
            && i > range.0
            && lexed.is_symbol(i - 1, ",")
            && s.finite.is_some_and(|v| v < i)
        {
            continue;
        }
        let what = (i + 1..(i + 4).min(range.1)).find(|&k| {
            lexed.tokens[k].kind == TokenKind::Number
                || lexed.tokens[k].kind == TokenKind::Word && !t.is(k, class::STOP)
                || lexed.raw(k) == "May"
                || t.is(k, class::NUMERAL) && axis == 2
        });
        // `shown without decimals`: behind the verb it says how, not which.
        let says = axis == 3 && s.finite.is_some_and(|v| v < i);
        if axis == 3
            && let Some(k) = what
        {
            // Two ways to say how do not tell two things apart; one of them and one that says which do.
            let pair = if says == side { 34 } else { 35 };
            let key = contrast_key(canonical(lexed.tokens[k].key), pair);
            s.contrasts.push((key, side));
        }
        if let Some(k) = what.filter(|_| !says) {
            let key = contrast_key(canonical(lexed.tokens[k].key), axis);
            if axis == 1 {
                s.phases.push((key, side));
            } else {
                s.contrasts.push((key, side));
            }
        }
    }
}

/// Keys of the telling words of `from..to`, sorted.
pub(super) fn telling(source: &Source<'_>, from: usize, to: usize) -> Vec<u64> {
    let t = &source.tagged;
    let mut keys: Vec<u64> = (from..to)
        .filter(|&i| {
            t.lexed.tokens[i].kind == TokenKind::Word
                && !t.is(
                    i,
                    class::STOP | class::NEG | class::UNIVERSAL | class::NUMERAL,
                )
                && !is_filler(t.lexed.word(i))
        })
        .map(|i| canonical(t.lexed.tokens[i].key))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

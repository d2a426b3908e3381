//! Outcomes that exclude each other: what a program prints and returns, who wins a conflict, whether letters of two
//! cases are one, one address for two listeners, reading methods only and a writing one.

use super::super::Source;
use super::relation::common;
use super::statement::Statement;
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// One claim of an outcome.
struct Claim {
    kind: Kind,
    statement: u32,
    /// What is claimed: a side, or the key of a name.
    value: u64,
    at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Silence,
    ExitCode,
    Winner,
    LetterCase,
    Address,
    Methods,
}

/// Finds outcomes that exclude each other.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Claim> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        let source = &sources[s.source];
        let mut add = |kind: Kind, found: Option<(u64, usize)>| {
            all.extend(found.map(|(value, at)| Claim {
                kind,
                statement: n as u32,
                value,
                at,
            }));
        };
        add(Kind::Silence, read_silence(source, s));
        add(Kind::ExitCode, read_exit(source, s));
        add(Kind::Winner, read_winner(source, s));
        add(Kind::LetterCase, read_case(source, s));
        add(Kind::Address, read_address(source, s));
        add(Kind::Methods, read_methods(source, s));
    }
    all.sort_by_key(|c| (c.kind, c.statement));
    for (i, a) in all.iter().enumerate() {
        let others = all[i + 1..].iter().take_while(|b| b.kind == a.kind);
        for b in others.take(CANDIDATES) {
            let (x, y) = (a.statement as usize, b.statement as usize);
            if statements[x].source == statements[y].source || pairs.has(x, y) {
                continue;
            }
            if let Some(topic) = clash(sources, (&statements[x], a), (&statements[y], b)) {
                pairs.add(x, y, topic);
            }
        }
    }
}

fn clash(
    sources: &[Source<'_>],
    (s, a): (&Statement, &Claim),
    (o, b): (&Statement, &Claim),
) -> Option<&'static str> {
    let (p, q) = (&sources[s.source], &sources[o.source]);
    match a.kind {
        Kind::Silence => {
            // Said of the run that goes well, or of the same case.
            let free = |source: &Source<'_>, st: &Statement| {
                !st.conditional || mentions(source, st, GOOD) || st.emphatic
            };
            let bad = |source: &Source<'_>, st: &Statement| mentions(source, st, BAD);
            let meets =
                free(p, s) && free(q, o) || s.same_condition(o) || s.shared_weight(o, &[]) >= 6;
            let meets = meets && bad(p, s) == bad(q, o);
            (a.value != b.value && meets && !s.apart(o)).then_some("what it prints")
        }
        Kind::ExitCode => (a.value != b.value && !s.apart_in_name(o)).then_some("the exit code"),
        Kind::Winner => {
            let other = |st: &Statement, key: u64| st.content.binary_search(&key).is_ok();
            // Both name the same rivals, or each is about any conflict.
            let same = other(s, b.value)
                || other(o, a.value)
                || s.shared_weight(o, &[]) >= 2
                || bare_conflict(p, s) && bare_conflict(q, o);
            (a.value != b.value && same && !s.apart_in_people(o)).then_some("who wins")
        }
        Kind::LetterCase => {
            let named = s.shared_weight(o, &[]) >= 2 || s.head.is_none() || o.head.is_none();
            // A claim by example names the things of the other.
            let shown = a.at != 0 || b.at != 0;
            let foreign = s.foreign(o) && s.shared_weight(o, &[]) < 2 && !shown;
            (a.value != b.value && !foreign && (named || shown) && !s.apart(o) && s.may_meet(o))
                .then_some("whether the case of letters counts")
        }
        Kind::Address => {
            let same = a.value == b.value && !s.same_subject(o) && !s.conditional && !o.conditional;
            let apart = s.scopes != o.scopes
                || !s.labels.is_empty()
                    && !o.labels.is_empty()
                    && common(&s.labels, &o.labels) == 0;
            (same && !apart && s.head.is_some() && o.head.is_some())
                .then_some("one address for two")
        }
        Kind::Methods => {
            let paths =
                !s.paths.is_empty() && !o.paths.is_empty() && common(&s.paths, &o.paths) == 0;
            let narrow = a.value == 0 && !s.paths.is_empty() || b.value == 0 && !o.paths.is_empty();
            (a.value != b.value && !(paths && narrow) && !s.apart_in_people(o) && s.may_meet(o))
                .then_some("write access")
        }
    }
}

const GOOD: &[&str] = &[
    "well",
    "success",
    "successful",
    "successfully",
    "succeeds",
    "fine",
    "ok",
    "normal",
    "normally",
    "order",
    "passes",
    "good",
    "right",
    "smoothly",
    "nothing",
];
const BAD: &[&str] = &[
    "error",
    "errors",
    "failure",
    "failures",
    "fails",
    "failed",
    "wrong",
    "warning",
    "warnings",
    "invalid",
    "broken",
    "missing",
    "verbose",
    "--verbose",
    "debug",
    "problem",
    "problems",
    "crash",
];

fn mentions(source: &Source<'_>, s: &Statement, list: &[&str]) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| list.contains(&lexed.word(i)))
}

/// Prints nothing (0), or something (1).
fn read_silence(source: &Source<'_>, s: &Statement) -> Option<(u64, usize)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let prints = |i: usize| any_of!(lexed.word(i), "prints" "print" "printed" "outputs" "output" "writes" "says" "reports" "displays" "emits" "echoes");
    let screen =
        |i: usize| any_of!(lexed.word(i), "stdout" "stderr" "console" "terminal" "screen" "output");
    let program = (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "it" "tool" "script" "program" "command" "linter" "stdout" "stderr" "console" "terminal" "run" "cli" "checker" "job" "compiler" "line" "states")
    });
    for i in s.range.0..s.range.1 {
        if lexed.tokens[i].quoted {
            continue;
        }
        let word = lexed.word(i);
        let near = |from: usize, to: usize| (from.max(s.range.0)..to.min(s.range.1)).any(screen);
        let silent = any_of!(word, "prints" "print" "outputs" "says" "emits" "writes" "reports")
            && (lexed.word(i + 1) == "nothing"
                || lexed.word(i + 1) == "no"
                    && any_of!(lexed.word(i + 2), "output" "message" "messages" "line" "lines"))
            && (word != "writes" && word != "reports" || near(i, i + 6))
            || any_of!(word, "silent" "silently" "quiet" "mute")
                && i > s.range.0
                && any_of!(lexed.word(i - 1), "is" "stays" "remains" "completely" "be" "stay" "runs" "entirely")
            || any_of!(word, "no" "without" "not")
                && (i + 1..(i + 4).min(s.range.1))
                    .any(|k| any_of!(lexed.word(k), "output" "stdout" "printed" "print"))
                && !(i + 1..s.range.1)
                    .any(|k| any_of!(lexed.word(k), "file" "files" "directory" "folder"))
            || word == "nothing" && (i + 1..(i + 4).min(s.range.1)).any(prints) && near(i, i + 8)
            || screen(i)
                && word != "screen"
                && (i + 1..(i + 4).min(s.range.1)).any(|k| any_of!(lexed.word(k), "empty"));
        if silent && program {
            return Some((0, i));
        }
        if t.is(i, class::NEG) {
            return None;
        }
        let loud = any_of!(word, "prints" "print" "echoes" "outputs")
            || any_of!(word, "writes" "printed" "reports" "shows") && near(i, i + 7);
        let modal =
            i > s.range.0 && any_of!(lexed.word(i - 1), "to" "and" "may" "can" "users" "staff");
        if loud && program && !(modal && word == "print") {
            return Some((1, i));
        }
    }
    None
}

/// Ends with 0 always (0), or with another code (1).
fn read_exit(source: &Source<'_>, s: &Statement) -> Option<(u64, usize)> {
    let lexed = &source.tagged.lexed;
    let at = (s.range.0..s.range.1).find(|&i| {
        any_of!(lexed.word(i), "exit" "exits" "ends" "end" "returns" "return" "terminates" "status" "exit-code" "finishes")
    })?;
    let exits = (s.range.0..s.range.1)
        .any(|i| any_of!(lexed.word(i), "exit" "exits" "exit-code" "code" "status" "ends" "end" "terminates" "finishes"));
    let number = (at..(at + 7).min(s.range.1)).find(|&i| {
        lexed.tokens[i].kind == TokenKind::Number
            || any_of!(lexed.word(i), "zero" "non-zero" "nonzero" "one" "two")
    })?;
    if !exits {
        return None;
    }
    let near = lexed.word(number);
    if any_of!(near, "0" "zero") {
        let always = (s.range.0..s.range.1).any(|i| {
            any_of!(lexed.word(i), "always" "every" "any" "whatever" "even" "regardless" "never" "all" "only")
        });
        let excepted = (s.range.0..s.range.1)
            .any(|i| any_of!(lexed.word(i), "if" "unless" "except" "when" "success" "otherwise"));
        return (always && !excepted).then_some((0, number));
    }
    let code = any_of!(near, "non-zero" "nonzero")
        || near.parse::<u32>().is_ok_and(|n| (1..256).contains(&n));
    let word = lexed.word(number - 1);
    let coded = any_of!(word, "code" "status" "with" "exit" "exits" "returns" "a" "return");
    let unit = source
        .tagged
        .is(number + 1, class::TIME_UNIT | class::SIZE_UNIT);
    let explicit = (s.range.0..s.range.1)
        .any(|i| any_of!(lexed.word(i), "exit" "exits" "exit-code" "status"))
        || any_of!(near, "non-zero" "nonzero");
    (code && coded && explicit && !unit && !source.tagged.any(s.range, class::NEG))
        .then_some((1, number))
}

/// A conflict is spoken of, and who wins it: the key of the winner.
fn read_winner(source: &Source<'_>, s: &Statement) -> Option<(u64, usize)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let verb = (s.range.0 + 1..s.range.1).find(|&i| {
        any_of!(lexed.word(i), "wins" "win" "prevails" "prevail" "precedence" "overrides" "beats" "authoritative" "decides" "leading" "preferred" "trumps" "outranks")
            || any_of!(lexed.word(i), "taken" "kept" "used" "counts" "applies" "valid" "right" "holds" "master") && in_conflict(source, s)
    })?;
    if (s.range.0..verb).any(|i| t.is(i, class::NEG)) {
        return None;
    }
    let names = |i: &usize| {
        lexed.tokens[*i].kind == TokenKind::Word
            && !t.is(
                *i,
                class::STOP
                    | class::UNIVERSAL
                    | class::GENERIC
                    | class::MODAL
                    | class::CONDITION
                    | class::NUMERAL,
            )
            && !any_of!(lexed.word(*i), "version" "value" "values" "copy" "one" "entry" "record" "state" "address" "takes" "take" "change" "edit" "conflict" "case" "difference" "always" "data" "setting" "amount" "write" "has" "figure")
    };
    // The clause of the verb: behind the last comma.
    let from = (s.range.0..verb)
        .rev()
        .find(|&i| lexed.raw(i) == ",")
        .map_or(s.range.0, |i| i + 1);
    let from = (from..verb)
        .rev()
        .find(|&i| any_of!(lexed.word(i), "conflict" "difference" "differ" "both" "disagree" "doubt" "clash"))
        .map_or(from, |i| i + 1);
    let named = (from..verb).rev().find(names)?;
    Some((canonical(lexed.tokens[named].key), named))
}

/// Speaks of two values that differ.
fn in_conflict(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "conflict" "conflicts" "differ" "differs" "difference" "differences" "disagree" "both" "contradict" "clash" "doubt" "mismatch" "discrepancy" "deviate" "conflicting" "collision")
    })
}

/// Says nothing more than that there is a conflict.
fn bare_conflict(source: &Source<'_>, s: &Statement) -> bool {
    in_conflict(source, s) && s.content.len() <= 6
}

/// Letters of two cases are one (0) or two (1); the place is that of an example.
fn read_case(source: &Source<'_>, s: &Statement) -> Option<(u64, usize)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let has = |list: &[&str]| (s.range.0..s.range.1).any(|i| list.contains(&lexed.word(i)));
    let denied = (s.range.0..s.range.1).any(|i| t.is(i, class::NEG));
    if has(&["case-sensitive", "case-sensitively"]) {
        return Some((u64::from(!denied), 0));
    }
    if has(&["case-insensitive", "case-insensitively", "case-blind"]) {
        return Some((u64::from(denied), 0));
    }
    // `Maria` and `maria`
    let mut example = 0;
    for i in s.range.0..s.range.1 {
        if lexed.tokens[i].kind != TokenKind::Word || lexed.word(i).len() < 2 {
            continue;
        }
        // Two spellings with `and` between them.
        let pair = !t.is(i, class::STOP)
            && (i + 2..(i + 7).min(s.range.1)).any(|k| {
                lexed.word(k) == lexed.word(i)
                    && lexed.raw(k) != lexed.raw(i)
                    && (i + 1..k).any(|m| any_of!(lexed.raw(m), "and" "or" "," "/" "as" "to"))
            });
        if pair {
            example = i.max(1);
        }
    }
    let letters = (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "case" "uppercase" "lowercase" "upper-case" "lower-case")
            || any_of!(lexed.word(i), "upper" "capital" "small" "capitals" "lower" "capitalisation" "capitalization")
    });
    if example == 0 && !letters {
        return None;
    }
    let same = has(&[
        "same",
        "equal",
        "identical",
        "one",
        "equivalent",
        "ignored",
        "ignoring",
        "regardless",
        "regard",
        "irrelevant",
        "folded",
    ]);
    let two = has(&[
        "different",
        "two",
        "distinct",
        "differ",
        "distinguish",
        "distinguishes",
        "distinguished",
        "separate",
        "matters",
        "matter",
        "respected",
        "tells",
    ]);
    let counts = has(&["between", "and", "case"]);
    match (same, two) {
        (true, false) if example != 0 || counts => {
            Some((u64::from(denied && !has(&["without", "no"])), example))
        }
        (false, true) if example != 0 || counts => Some((u64::from(!denied), example)),
        _ => None,
    }
}

/// `listens on 127.0.0.1:8000`: the key of the address.
fn read_address(source: &Source<'_>, s: &Statement) -> Option<(u64, usize)> {
    let lexed = &source.tagged.lexed;
    let listens = (s.range.0..s.range.1).find(|&i| {
        any_of!(lexed.word(i), "listens" "listen" "bound" "binds" "bind" "served" "serves" "occupies" "runs" "has" "gets" "uses" "address" "listening" "reachable" "available")
    })?;
    let at = (listens + 1..s.range.1).find(|&i| {
        let text = lexed.word(i);
        let dotted = text.bytes().filter(|b| *b == b'.').count() == 3
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b'.' || b == b':');
        dotted
            || lexed.tokens[i].kind == TokenKind::Number
                && i > s.range.0
                && lexed.word(i - 1) == "port"
    })?;
    // The port behind the address.
    let mut key = lexed.tokens[at].key;
    if lexed.raw(at + 1) == ":" && !lexed.tokens[at + 1].spaced && at + 2 < s.range.1 {
        key ^= lexed.tokens[at + 2].key.rotate_left(7);
    }
    let client = (s.range.0..at).any(|i| any_of!(lexed.word(i), "connects" "connect" "forwards" "sends" "behind" "proxy" "asks" "via" "calls"));
    (!client && !source.tagged.any(s.range, class::NEG)).then_some((key, at))
}

/// Reading methods only (0), or a method that writes (1).
fn read_methods(source: &Source<'_>, s: &Statement) -> Option<(u64, usize)> {
    let lexed = &source.tagged.lexed;
    let writes = (s.range.0..s.range.1)
        .find(|&i| any_of!(lexed.raw(i), "PUT" "POST" "PATCH" "DELETE") && !lexed.tokens[i].quoted);
    let reads = (s.range.0..s.range.1).find(|&i| any_of!(lexed.raw(i), "GET" "HEAD"));
    let only = (s.range.0..s.range.1)
        .any(|i| any_of!(lexed.word(i), "only" "exclusively" "solely" "nothing" "read-only"));
    let interface = (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "api" "interface" "endpoint" "service" "requests" "methods" "method")
    });
    match (reads, writes) {
        (Some(at), None) if only && interface => Some((0, at)),
        (None, Some(at))
            if !source.tagged.any(s.range, class::NEG) && !only && !search(source, s) =>
        {
            Some((1, at))
        }
        _ => None,
    }
}

/// A request that only asks, whatever its method.
fn search(source: &Source<'_>, s: &Statement) -> bool {
    mentions(
        source,
        s,
        &[
            "search", "query", "login", "answers", "405", "refused", "rejected",
        ],
    )
}

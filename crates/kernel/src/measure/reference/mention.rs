//! Used or only mentioned: a text can speak *about* `TODO`, `to be confirmed` or `???` without leaving anything open.
//!
//! A marker is mentioned in an enumeration of its kind (`TODO, DOING and DONE`; `booked, to be confirmed or free`), behind
//! a word that introduces a text (`contains`, `labelled`, `such as`), and as the subject of a rule (`TBD means …`).
//! A marker right behind a label (`Budget: TBD`) is always used.

use crate::lexicon::class;
use crate::measure::Source;

/// Words beside `TODO`, `XXX` that make it a name.
pub(super) const NAMED: &[&str] = &[
    "and",
    "annotation",
    "annotations",
    "api",
    "app",
    "application",
    "applications",
    "apps",
    "board",
    "bot",
    "card",
    "cards",
    "column",
    "comment",
    "comments",
    "count",
    "counts",
    "entries",
    "entry",
    "field",
    "file",
    "item",
    "items",
    "keyword",
    "keywords",
    "lines",
    "list",
    "lists",
    "manager",
    "marker",
    "markers",
    "never",
    "note",
    "notes",
    "or",
    "page",
    "section",
    "service",
    "state",
    "status",
    "tag",
    "tags",
    "task",
    "tasks",
    "tracker",
    "view",
];

/// Words that introduce a text by what it says.
const INTRODUCES: &[&str] = &[
    "begin",
    "beginning",
    "begins",
    "called",
    "contain",
    "containing",
    "contains",
    "equal",
    "equals",
    "finds",
    "grep",
    "labeled",
    "labelled",
    "like",
    "literal",
    "marked",
    "marks",
    "named",
    "read",
    "reads",
    "say",
    "says",
    "spelled",
    "start",
    "starting",
    "starts",
    "such",
    "tagged",
    "whose",
];

fn joins(source: &Source<'_>, k: usize) -> bool {
    let lexed = &source.tagged.lexed;
    any_of!(lexed.raw(k), "," "/" "|") || any_of!(lexed.word(k), "or" "and")
}

/// Whether the tokens `from..to` are mentioned.
pub(in crate::measure) fn is_mentioned(source: &Source<'_>, from: usize, to: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (start, end) = lexed.sentence_of(from);
    let labelled = from > start && matches!(lexed.raw(from - 1), ":" | "=" | "(");
    // `(TODO|FIXME)`: one of a pattern; `values such as KEY=changeme`: an example.
    let pattern = |k: usize| lexed.raw(k) == "|" && !lexed.tokens[k].spaced;
    let example = labelled
        && !lexed.tokens[from].spaced
        && (start.max(from.saturating_sub(5))..from).any(|k| {
            lexed.word(k) == "such" && lexed.word(k + 1) == "as"
                || any_of!(lexed.word(k), "contains" "contain" "example" "examples" "sample")
        });
    if to < end && pattern(to) || from > start && pattern(from - 1) || example {
        return true;
    }
    let named = from > start
        && any_of!(lexed.word(from - 1),
            "state" "states" "status" "string" "strings" "value" "values" "word" "words" "prefix" "suffix" "code" "codes" "operator" "operators" "mark"
            "marks" "sign" "signs" "symbol" "character" "characters");
    if named
        || (start.max(from.saturating_sub(4))..from)
            .any(|k| INTRODUCES.binary_search(&lexed.word(k)).is_ok())
    {
        return !labelled || to < end && joins(source, to);
    }
    // `shown as XXXX XXXX XXXX 1234`
    let shown = |k: usize| {
        any_of!(lexed.word(k), "shown" "printed" "displayed" "masked" "appear" "appears" "written" "stored" "formatted" "show")
            && lexed.word(k + 1) == "as"
    };
    if (start.max(from.saturating_sub(8))..from).any(shown) {
        return true;
    }
    // `rows with XXX as code`
    if to < end
        && lexed.word(to) == "as"
        && from > start
        && any_of!(lexed.word(from - 1), "with" "of" "has" "have" "give" "gives" "treat" "treats")
    {
        return true;
    }
    // `a cell with TBD in the column voice`
    if to + 2 < end
        && lexed.word(to) == "in"
        && from > start
        && any_of!(lexed.word(from - 1), "with" "of" "has" "have" "contain")
        && (to + 1..end.min(to + 4))
            .any(|k| any_of!(lexed.word(k), "column" "field" "cell" "title" "subject"))
    {
        return true;
    }
    // `KEY=CHANGEME on purpose`
    if to + 1 < end && lexed.word(to) == "on" && lexed.word(to + 1) == "purpose" {
        return true;
    }
    if labelled {
        return false;
    }
    is_enumerated(source, from, to) || is_ruled(source, from, to)
}

/// Whether a word of doubt is a value that people give: listed among others, or the subject of a rule.
pub(in crate::measure) fn is_given_value(source: &Source<'_>, at: usize) -> bool {
    let labelled = at > 0 && matches!(source.tagged.lexed.raw(at - 1), ":" | "=" | "(");
    !labelled && (is_enumerated(source, at, at + 1) || is_ruled(source, at, at + 1))
}

/// In a list with others of its kind.
fn is_enumerated(source: &Source<'_>, from: usize, to: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (start, end) = lexed.sentence_of(from);
    let code = |k: usize| {
        let raw = lexed.raw(k);
        raw.len() >= 2
            && raw
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-')
            && raw.bytes().any(|b| b.is_ascii_uppercase())
            && !source.tagged.is(k, class::TECH | class::FORMAT)
            || raw.starts_with("??")
            || any_of!(lexed.word(k), "todo" "fixme" "tbd" "tba" "tbc" "xxx" "hack" "doing" "done" "open" "n" "none" "blank" "empty")
    };
    // `XXX (no currency) and XTS (for tests)`: a bracket explains each.
    let to = if lexed.raw(to) == "(" {
        let close = (to..end).find(|&k| lexed.raw(k) == ")");
        close.map_or(to, |close| close + 1)
    } else {
        to
    };
    let after = to + 1 < end && joins(source, to) && code(to + 1);
    let before = from >= start + 2
        && joins(source, from - 1)
        && (code(from - 2)
            || lexed.word(from - 2) == "a" && from >= 3 && lexed.raw(from - 3) == "/");
    if after || before {
        return true;
    }
    // `one of the states booked, to be confirmed and waiting`: the list has a name for its kind.
    let beside = from > start && joins(source, from - 1) || to < end && joins(source, to);
    beside
        && (start..from).any(|k| {
            any_of!(lexed.word(k), "states" "state" "status" "values" "answers" "options" "columns" "labels" "stages")
                || lexed.word(k) == "one" && lexed.word(k + 1) == "of"
        })
}

/// The subject of a rule: `TBD in the column away means …`, `maybe counts as half`, `to be confirmed lasts 48 hours`.
fn is_ruled(source: &Source<'_>, from: usize, to: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let (start, end) = lexed.sentence_of(from);
    // `[TBD] is the tag of the desk`
    let bracketed = from > start && lexed.raw(from - 1) == "[" && lexed.raw(to) == "]";
    let (from, to) = if bracketed {
        (from - 1, to + 1)
    } else {
        (from, to)
    };
    let begins = from == start
        || any_of!(lexed.raw(from - 1), "," ";" ".")
        || any_of!(lexed.word(from - 1), "and" "or" "a" "an" "the" "each" "every")
        || from >= start + 2
            && any_of!(lexed.word(from - 2), "a" "an" "the" "each" "every" "crate" "value" "word");
    // `the ?? are digits that still move`
    if from > start
        && lexed.word(from - 1) == "the"
        && any_of!(lexed.word(to), "is" "are" "stand" "mean")
    {
        return true;
    }
    // `??? in the search box lists all`
    if from == start
        && lexed.raw(from).starts_with("??")
        && crate::measure::grammar::has_finite(&source.tagged, (to, end))
    {
        return true;
    }
    begins
        && (to..end.min(to + 4)).any(|k| {
            any_of!(lexed.word(k), "means" "counts" "count" "lasts" "becomes" "stands" "turns" "blocks" "expires" "appears" "never" "moves" "ends" "stays" "remains")
                || any_of!(lexed.word(k), "is" "are" "gets")
                    && any_of!(lexed.word(k + 1), "the" "a" "an" "shown" "entered" "treated" "kept" "printed" "counted" "stored" "read" "drawn" "handled" "allowed")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(NAMED.windows(2).all(|w| w[0] < w[1]));
        assert!(INTRODUCES.windows(2).all(|w| w[0] < w[1]));
    }
}

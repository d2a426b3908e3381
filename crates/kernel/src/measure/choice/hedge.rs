//! Hedges: `maybe`, `not sure`, `your call`, `if time allows`, `could`, `might`, `would`, `depends`.
//!
//! A hedge is open where the author speaks of what is to be built. It is not open as a value that people give (`yes, no
//! or maybe`), as the name of a type, under a condition, in a relative clause, or about the properties of data.

use crate::lexicon::class;
use crate::measure::grammar::{has_finite, is_conditional};
use crate::measure::reference::mention::is_given_value;
use crate::measure::{Origin, Source};
use crate::text::lex::TokenKind;

pub(super) fn is_open(source: &Source<'_>, range: (usize, usize), from: usize, to: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let word = lexed.word(from);
    let prev = if from > range.0 {
        lexed.word(from - 1)
    } else {
        ""
    };
    let next = lexed.word(to);
    let single = to == from + 1;
    if (from..to).any(|i| is_answer_value(source, i))
        || single
            && any_of!(word, "maybe" "undecided" "unsure" "unclear" "perhaps" "probably" "possibly")
            && is_given_value(source, from)
        || single && is_parameter_value(source, from)
        || is_attribute(source, range, from, to)
        || is_last_value(source, range, from, to)
        || word == "whatever" && is_regardless(source, range, to)
        || lexed.raw(to) == "{"
    {
        return false;
    }
    // `Members who are not sure choose "undecided"`
    if from >= range.0 + 2
        && any_of!(lexed.word(from - 2), "who" "that")
        && any_of!(prev, "are" "is")
        && any_of!(word, "not" "unsure" "undecided")
    {
        return false;
    }
    // `No new indexes on the table Journal`
    if word == "on"
        && lexed.word(to - 1) == "table"
        && lexed
            .tokens
            .get(to)
            .is_some_and(|n| n.kind == TokenKind::Word)
    {
        return false;
    }
    // `Where possible matches are found, both are listed`
    if word == "where"
        && lexed.word(from + 1) == "possible"
        && any_of!(lexed.word(to + 1), "are" "is" "were")
    {
        return false;
    }
    match word {
        "can't" | "cannot" | "can" if any_of!(lexed.word(from + 1), "decide" "not") => {
            any_of!(prev, "" "we" "i" "still" "," "and" "just")
        }
        // `Maybe<T>`
        "maybe" if lexed.raw(to) == "<" && !lexed.tokens[to].spaced => false,
        // `The assistant picks one, whichever fits`: a rule for somebody.
        "whichever" | "whatever"
            if t.any((range.0, from), class::PERSON) && has_finite(t, (range.0, from)) =>
        {
            false
        }
        "maybe" => {
            // The type of functional languages: capital letter inside a sentence, before a type or a word for it.
            let capital = lexed.tokens[from].upper && from > range.0;
            let type_follows = lexed
                .tokens
                .get(to)
                .is_some_and(|n| n.upper && n.kind == TokenKind::Word)
                && !t.is(to, class::FORMAT | class::TECH)
                || any_of!(next, "type" "monad" "value" "values" "t" "a");
            if lexed.tokens[from].upper && names_type(source) {
                return false;
            }
            !(lexed.tokens[from].upper
                && (capital || type_follows)
                && (type_follows
                    || any_of!(prev, "a" "the" "or" "of" "and" "return" "returns" "returning")))
        }
        "likely" if single => {
            // `the three most likely species`
            let counted = |i: usize| {
                any_of!(lexed.word(i), "the" "a" "an" "of")
                    || t.is(i, class::NUMERAL)
                    || lexed.tokens[i].kind == TokenKind::Number
            };
            !any_of!(prev, "more" "less" "the" "as" "equally")
                && !(range.0.max(from.saturating_sub(3))..from).any(counted)
        }
        "probably" | "perhaps" | "possibly" => {
            word != "possibly"
                || !matches!(prev, "cannot" | "not" | "can't") && !is_conditional(t, range, from)
        }
        "unclear" | "unsure" if single => {
            // `the sheet Unclear`; `passages the tool is unsure of`: about a thing, not about us; `??? (unclear)` explains.
            let named = lexed.tokens[from].upper && from > range.0;
            let thing = any_of!(next, "of" "about")
                && any_of!(prev, "is" "are")
                && !any_of!(lexed.word(from.wrapping_sub(2)), "we" "i" "it" "still");
            let explains = (range.0..from)
                .rev()
                .find(|&i| lexed.is_symbol(i, "("))
                .is_some_and(|i| i > range.0 && lexed.tokens[i - 1].kind == TokenKind::Symbol);
            !(named
                || thing
                || explains
                || is_conditional(t, range, from)
                || matches!(prev, "an" | "any"))
        }
        "preferably" | "ideally" => true,
        "feel" => true,
        "if" if any_of!(lexed.word(from + 1), "needed" "necessary" "desired" "wanted") => false,
        "as" if matches!(lexed.word(from + 1), "needed" | "necessary" | "appropriate") => false,
        "where" | "if" if lexed.word(from + 1) == "possible" => true,
        "if" if matches!(lexed.word(from + 1), "you") => {
            !matches!(next, "to") && source.origin != Origin::Goal
        }
        "or" if any_of!(lexed.word(from + 1),
            "even" "so" "similar" "equivalent" "both" "neither" "rather") =>
        {
            // `0 or both flags` is fine when a condition governs it.
            !is_conditional(t, range, from)
        }
        // `rows without name and/or address are listed` is a statement.
        "and" => !has_finite(t, range) && !is_conditional(t, range, from),
        "to" => source_is_label(source, from),
        "can" if lexed.word(from + 1) == "also" => false,
        // `the chief can reassign any of them`: all of them, not a choice of ours.
        "any" if lexed.word(from + 1) == "of" => {
            from == range.0
                || lexed.tokens[from - 1].kind == TokenKind::Symbol
                || any_of!(next, "is" "are" "would" "will" "works" "does")
        }
        "recommend" => source.origin != Origin::Goal,
        "any" => !is_conditional(t, range, from) && !any_of!(prev, "not" "without" "if" "touch"),
        "more" if lexed.word(from + 1) == "or" => false,
        "some" if lexed.word(from + 1) == "kind" || lexed.word(from + 1) == "sort" => true,
        "don't" | "do" | "dont"
            if matches!(lexed.word(from + 1), "know" | "care")
                || lexed.word(from + 2) == "know"
                || lexed.word(from + 2) == "care" =>
        {
            // `users who do not know the code`: about users, not about us.
            any_of!(prev, "" "we" "i" "yet" "," "and" "really" "-" "–" ":" "(" "just")
        }
        "not" if matches!(lexed.word(from + 1), "decided" | "settled") => {
            !is_conditional(t, range, from)
                && !t.any(range, class::FAILURE)
                && !crate::measure::grammar::has_relative(t, from)
        }
        "under" if lexed.word(from + 1) == "discussion" => {
            !matches!(prev, "" | "documents" | "proposals")
        }
        "you" if any_of!(lexed.word(from + 1), "choose" "pick" "decide" "can" "may") => {
            !is_conditional(t, range, from) && !relative_you(source, range, from)
        }
        "being" => !is_conditional(t, range, from),
        "no" if lexed.word(from + 1) == "decision" => !is_conditional(t, range, from),
        "pick" | "choose" => from == range.0 || lexed.tokens[from - 1].kind == TokenKind::Symbol,
        "flexible" => true,
        "would" => {
            !is_conditional(t, range, from)
                || any_of!(lexed.word(from + 2), "nice" "great" "good" "cool")
        }
        "something" => !is_conditional(t, range, from),
        "alternatively" => true,
        _ => true,
    }
}

/// `?state=pending,undecided`: a value in an address or a setting, here or elsewhere in the text.
fn is_parameter_value(source: &Source<'_>, at: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let word = lexed.word(at);
    (1..lexed.tokens.len().min(400)).any(|i| {
        !lexed.tokens[i].spaced
            && lexed.word(i) == word
            && any_of!(lexed.raw(i - 1), "," "=" "/" "|" "_")
    })
}

/// `undecided voters`, `open questions come first`, `an unclear mark is …`: the hedge describes a noun of a statement.
fn is_attribute(source: &Source<'_>, range: (usize, usize), from: usize, to: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let noun = |i: usize| {
        lexed
            .tokens
            .get(i)
            .is_some_and(|n| n.kind == TokenKind::Word)
            && t.classes[i] & (class::STOP | class::MODAL | class::NEG | class::CONDITION) == 0
            && i < range.1
    };
    match lexed.word(from) {
        "undecided" | "unclear" | "unsure" => noun(to) && has_finite(t, (to, range.1)),
        "open" if any_of!(lexed.word(from + 1), "question" "point") => {
            from > range.0
                && any_of!(lexed.word(from - 1), "an" "each" "every" "the" "no" "any")
                && (from - 1 == range.0 || any_of!(lexed.word(from.wrapping_sub(2)), "is" "are" ""))
                && to < range.1
                && any_of!(lexed.word(to), "until" "when" "if" "that" "which" "is" "gets" "in" "of" "with" "has")
                || is_conditional(t, range, from)
        }
        _ => false,
    }
}

/// `all vents close, whatever the temperature`: in every case; `whatever the budget allows` is open.
fn is_regardless(source: &Source<'_>, range: (usize, usize), noun: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let end = (noun..range.1)
        .find(|&i| lexed.tokens[i].kind == TokenKind::Symbol || t.is(i, class::CONDITION))
        .unwrap_or(range.1);
    let is = |i: usize| any_of!(lexed.word(i), "is" "are" "was" "were" "says" "may");
    let narrowed = (noun + 1..end).any(|i| any_of!(lexed.word(i), "of" "in" "on" "at" "or" "and"));
    let plain = match end - noun {
        0 => false,
        1 => true,
        2 => is(noun + 1) || !lexed.word(noun + 1).ends_with('s'),
        _ => narrowed || is(end - 1),
    };
    lexed.word(noun - 1) == "the" && plain && !t.any((noun, end), class::PERSON)
}

/// `Plot wish is north, south or no preference`: the last of the values that the sentence lists.
fn is_last_value(source: &Source<'_>, range: (usize, usize), from: usize, to: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let closes = to >= range.1 || lexed.tokens[to].kind == TokenKind::Symbol;
    from > range.0 + 2
        && closes
        && any_of!(lexed.word(from - 1), "or" "and")
        && any_of!(lexed.word(from), "no" "unknown" "undecided" "maybe" "unsure" "don't" "not" "open")
        && (range.0..from).any(|i| any_of!(lexed.word(i), "is" "are" "be"))
        && (range.0..from).any(|i| lexed.raw(i) == ",")
}

/// `yes, no, maybe and undecided`: values that people give, here or earlier in the text.
fn is_answer_value(source: &Source<'_>, at: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let word = lexed.word(at);
    let joins = |k: usize| any_of!(lexed.raw(k), "," "/" "|") || any_of!(lexed.word(k), "or" "and");
    let listed = |i: usize| {
        let (from, to) = lexed.sentence_of(i);
        let beside = i > from && joins(i - 1) || i + 1 < to && joins(i + 1);
        let values = (from..to).any(|k| {
            k != i && any_of!(lexed.word(k), "yes" "no" "never" "answers" "options" "states" "values" "unknown" "certain" "confirmed" "probable")
                && (k > from && joins(k - 1) || k + 1 < to && joins(k + 1) || any_of!(lexed.word(k + 1), "are" "is" ":"))
        });
        beside && values
    };
    (0..lexed.tokens.len())
        .take(400)
        .any(|i| lexed.word(i) == word && listed(i))
        && (listed(at) || lexed.tokens[at].upper)
}

/// The text uses `Maybe` as a type somewhere: inside a sentence, before another capital or behind an arrow.
fn names_type(source: &Source<'_>) -> bool {
    let lexed = &source.tagged.lexed;
    (1..lexed.tokens.len().min(400)).any(|i| {
        lexed.raw(i) == "Maybe"
            && (any_of!(lexed.raw(i - 1), "->" "::" ":" "<" "(")
                && lexed
                    .tokens
                    .get(i + 1)
                    .is_some_and(|n| n.upper || n.kind == TokenKind::Symbol)
                || lexed.tokens.get(i + 1).is_some_and(|n| n.upper)
                    && !any_of!(lexed.raw(i - 1), "." ";" "\n" "!" "?"))
    })
}

fn relative_you(source: &Source<'_>, range: (usize, usize), from: usize) -> bool {
    (range.0..from).any(|i| matches!(source.tagged.lexed.word(i), "where" | "which" | "that"))
}

/// `to discuss` behind a label or at the end: open; `a room to discuss the plan`: not.
fn source_is_label(source: &Source<'_>, from: usize) -> bool {
    let lexed = &source.tagged.lexed;
    from == 0
        || any_of!(lexed.raw(from - 1), ":" "," "-" "–" "(")
        || matches!(lexed.word(from - 1), "is" | "are" | "still")
}

/// `could also be OMERO` is open; `could not be read`, `a row that might be empty` and `names might contain` are not.
pub(super) fn is_open_might(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let next = lexed.word(at + 1);
    // `Dr. Will Could is listed`: a name.
    if at > range.0 && lexed.tokens[at].upper && lexed.tokens[at - 1].upper {
        return false;
    }
    if any_of!(next, "not" "n't" "have" "otherwise" "no") || is_conditional(t, range, at) {
        return false;
    }
    let relative = (range.0.max(at.saturating_sub(5))..at).any(|i| {
        any_of!(lexed.word(i),
            "that" "which" "who" "what" "whatever" "anything" "everything" "nothing" "so")
    });
    if relative {
        return false;
    }
    // A request: `Could you add …?`
    if at == range.0
        && any_of!(next, "you" "we" "someone" "somebody" "anyone")
        && source.origin == Origin::Goal
    {
        return false;
    }
    let verb = if any_of!(next, "also" "well" "just" "even" "still" "then" "perhaps" "instead") {
        at + 2
    } else {
        at + 1
    };
    let has_or = (range.0..range.1).any(|i| lexed.word(i) == "or");
    if lexed.word(at) == "would" {
        // What the author would like is a wish; `would like to` in a goal is politeness.
        let polite = any_of!(next, "like" "want") || source.origin == Origin::Goal;
        return !polite
            && (any_of!(lexed.word(verb), "make" "help" "suit" "prefer" "fit" "save" "add" "allow" "work" "do")
                || lexed.word(verb) == "be"
                    && (verb + 1..verb + 3).any(|i| {
                        any_of!(lexed.word(i), "nicer" "better" "easier" "helpful" "useful" "handy" "welcome" "preferable" "desirable" "ideal" "cheaper" "simpler")
                    }));
    }
    // `It might take up to 10 minutes`
    if any_of!(lexed.word(verb), "take" "last")
        && (verb + 1..range.1.min(verb + 4))
            .any(|i| lexed.tokens[i].kind == TokenKind::Number || t.is(i, class::NUMERAL))
        && !has_or
    {
        return false;
    }
    let subject_is_us =
        at > range.0 && any_of!(lexed.word(at - 1), "we" "it" "this" "that" "i" "one" "you");
    let property = t.is(verb, class::PROPERTY_VERB)
        && !(lexed.word(verb) == "be" && (has_or || verb == at + 2 || subject_is_us));
    let handled = (at..range.1).any(|i| {
        matches!(lexed.raw(i), ":" | "→" | "->") || matches!(lexed.word(i), "then" | "so")
    }) || t.any((at, range.1), class::FAILURE);
    if is_explained_later(source, range) {
        return false;
    }
    if has_or && !handled || subject_is_us || verb == at + 2 {
        return true;
    }
    if lexed.word(verb) == "be" && !handled {
        return true;
    }
    !property && !handled
}

/// `Samples could be stored or returned; the letter explains each outcome`: the possibilities are what it is about.
fn is_explained_later(source: &Source<'_>, range: (usize, usize)) -> bool {
    let lexed = &source.tagged.lexed;
    let next = lexed.sentence_of(range.1);
    next.0 == range.1
        && (next.0..next.1).any(|i| any_of!(lexed.word(i), "each" "both" "all"))
        && (next.0..next.1).any(|i| any_of!(lexed.word(i), "explains" "covers" "handles" "lists" "shows" "says" "describes" "tells"))
}

/// `depends` at the end or on people's minds; not `depends on libqt6` or `the price depends on weight`.
pub(super) fn is_open_depends(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let next = lexed.word(at + 1);
    if next != "on" && next != "upon" {
        return at + 1 >= range.1 || lexed.tokens[at + 1].kind == TokenKind::Symbol;
    }
    let on = lexed.word(at + 2);
    let clause_start = at == range.0
        || any_of!(lexed.raw(at - 1), "," "-" "–" ":" "(")
        || any_of!(lexed.word(at - 1), "it" "this" "that" "all" "really");
    let wonder = any_of!(on, "what" "how" "whether" "who" "which" "when" "where");
    let mind = (at + 2..range.1).any(|i| {
        any_of!(lexed.word(i),
            "budget" "mood" "money" "cost" "costs" "effort" "taste" "feedback" "decision" "board"
            "committee" "boss" "outcome" "opinion" "interest" "demand" "capacity" "funding"
            "management")
    });
    let has_or = (range.0..at).any(|i| lexed.word(i) == "or")
        || lexed.word(at) == "depends"
            && (range.0..at).any(|i| matches!(lexed.word(i), "vs" | "versus"));
    let package = at > range.0
        && (lexed.word(at - 1) == "package"
            || any_of!(lexed.word(at - 1), "module" "library" "crate" "build"));
    // `Hz or kHz, depending on the value`: the data decides.
    let data = lexed.word(at) == "depending"
        && (at + 2..range.1.min(at + 6)).any(|i| {
            any_of!(lexed.word(i),
                "value" "values" "size" "unit" "language" "locale" "setting" "settings" "flag" "option" "status" "state" "type" "mode"
                "field" "column" "result" "length" "day" "season" "month" "role" "sign" "header" "parameter" "argument")
        });
    !package
        && (mind || !data)
        && (wonder && clause_start
            || mind && (clause_start || has_or)
            || has_or && clause_start
            || wonder && has_or)
}

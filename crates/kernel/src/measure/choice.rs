//! Open choices (H): the author has named alternatives or doubts and not decided.
//!
//! Hedges (`maybe`, `not sure`, `your call`, `if time allows`) are open wherever they stand outside quotes. `could`,
//! `might`, `depends`, `either`, `vs`, `or` and question marks are open only in sentences that leave something to the
//! reader; complete statements (`exit 0 or 1`, `could not be created`, `depends on libqt6`) are not.

use super::{Finding, FindingKind, MAX_PER_TEXT, Source, clip};
use crate::lexicon::{Cue, class};
use crate::text::lex::TokenKind;

/// Adds the open choices of a text; sentences that follow each other are one choice (`LaTeX? Word? Typst?`).
pub(super) fn find_choices(source: &Source<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    let mut last: Option<usize> = None;
    let first = out.len();
    for (at, &range) in t.lexed.sentences.iter().enumerate() {
        if out.len() - first >= MAX_PER_TEXT {
            break;
        }
        let Some(token) = open_choice(source, range) else {
            continue;
        };
        let sentence = source.sentence_place(token);
        let mut options = options_of(source, range);
        if at > 0
            && last == Some(at - 1)
            && let Some(previous) = out.last_mut()
            && let Some(place) = previous.places.first_mut()
        {
            place.end = sentence.end;
            place.quote = clip(t.lexed.text, place.start, place.end, place.start);
            previous.sentence = Some(place.clone());
            previous.options.append(&mut options);
            previous
                .options
                .sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            previous.options.dedup();
        } else {
            out.push(Finding {
                kind: FindingKind::Choice,
                places: vec![sentence.clone()],
                sentence: Some(sentence),
                element: None,
                topic: None,
                options,
            });
        }
        last = Some(at);
    }
}

/// The token that makes the sentence an open choice.
fn open_choice(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for hit in t.hits_in(range) {
        if lexed.tokens[hit.from].quoted {
            continue;
        }
        let open = match hit.cue {
            Cue::Open => is_open(source, range, hit.from, hit.to),
            Cue::Might => is_open_might(source, range, hit.from),
            Cue::Depends => is_open_depends(source, range, hit.from),
            Cue::Either => is_open_either(source, range, hit.from),
            // `VS Code` is a product.
            Cue::Versus => !lexed.tokens[hit.from].upper && is_open_versus(source, range),
            _ => false,
        };
        if open {
            return Some(hit.from);
        }
    }
    open_question(source, range)
        .or_else(|| open_or(source, range))
        .or_else(|| open_comment(source, range))
        .or_else(|| open_attitude(source, range))
        .or_else(|| open_unless(source, range))
}

/// A list of alternatives and then a word about it: `A, B or C - we can imagine all three`.
/// `Made with R, unless Excel is enough`: the other way is left open.
fn open_unless(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let lexed = &source.tagged.lexed;
    let unless =
        (range.0..range.1).find(|&i| lexed.word(i) == "unless" && !lexed.tokens[i].quoted)?;
    let judged = (unless..range.1).any(|i| {
        any_of!(lexed.word(i), "enough" "better" "easier" "cheaper" "simpler" "suffices" "nicer" "objects" "disagrees")
    });
    judged.then_some(unless)
}

/// Alternatives without a verb, and then an attitude instead of a decision: `A or B - the family is torn`.
fn open_attitude(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let or = (range.0 + 1..range.1).find(|&i| lexed.word(i) == "or" && !lexed.tokens[i].quoted)?;
    let cut = (or + 1..range.1).find(|&i| {
        any_of!(lexed.raw(i), "," "-" "–" "—" "(" ":")
            && (lexed.tokens[i].spaced || matches!(lexed.raw(i), "," | ":"))
    })?;
    let verb = |i: usize| {
        t.is(i, class::MODAL | class::NEG | class::CONDITION)
            || any_of!(lexed.word(i), "is" "are" "was" "has" "have" "gives" "returns" "shows" "makes" "ends" "gets" "that" "which" "who" "goes" "go" "exit" "otherwise")
    };
    let fragment = !(range.0..cut).any(verb);
    let attitude = (cut + 1..range.1).any(|i| {
        any_of!(lexed.word(i), "we" "our" "us" "i" "not" "nobody" "undecided" "open" "advice" "mind" "matter" "important" "prefer" "preference" "care" "fine" "ok" "okay" "both" "either" "depends" "discuss" "discussed" "whatever" "whichever" "maybe" "decide" "decided" "torn" "unsure" "help")
    });
    // `daily or at 100 MB, whichever comes first` is a rule.
    let rule = (cut + 1..range.1).any(|i| {
        matches!(
            lexed.word(i),
            "first" | "comes" | "last" | "larger" | "smaller" | "earlier" | "later"
        )
    });
    (fragment && attitude && !rule).then_some(or)
}

fn open_comment(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let lexed = &source.tagged.lexed;
    let dash = (range.0 + 1..range.1).find(|&i| {
        any_of!(lexed.raw(i), "-" "–" "—" ":" "--")
            && (lexed.tokens[i].spaced || lexed.raw(i) == ":")
            && !lexed.tokens[i].quoted
    })?;
    let listed = (range.0..dash)
        .filter(|&i| matches!(lexed.raw(i), "," | "/") || lexed.word(i) == "or")
        .count()
        >= 1;
    let speaks = any_of!(lexed.word(dash + 1),
        "we" "i" "you" "your" "still" "both" "any" "either" "whichever" "whatever" "all");
    let verb = any_of!(lexed.word(dash + 2),
        "can" "could" "are" "have" "go" "would" "like" "think" "haven't" "choose" "decide" "call"
        "choice" "open" "fine" "work" "of" "want" "need" "take");
    (listed && speaks && verb).then_some(dash)
}

fn is_conditional(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    (range.0..at).any(|i| {
        !t.lexed.tokens[i].quoted
            && any_of!(t.lexed.word(i),
                "if" "when" "whenever" "unless" "whether" "case" "where" "until" "while")
    })
}

fn is_open(source: &Source<'_>, range: (usize, usize), from: usize, to: usize) -> bool {
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
    if (from..to).any(|i| is_answer_value(source, i)) || lexed.raw(to) == "{" {
        return false;
    }
    match word {
        "can't" | "cannot" | "can" if any_of!(lexed.word(from + 1), "decide" "not") => {
            any_of!(prev, "" "we" "i" "still" "," "and" "just")
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
            !any_of!(prev, "most" "more" "less" "the")
                || (prev == "most"
                    && from >= 2
                    && lexed.word(from - 2) != "the"
                    && from > range.0 + 1
                    && !lexed.word(from - 2).is_empty())
        }
        "probably" | "perhaps" | "possibly" => {
            word != "possibly"
                || !matches!(prev, "cannot" | "not" | "can't")
                    && !is_conditional(source, range, from)
        }
        "unclear" | "unsure" if single => {
            !is_conditional(source, range, from) && !matches!(prev, "an" | "any")
        }
        "preferably" | "ideally" => true,
        "feel" => true,
        "if" if any_of!(lexed.word(from + 1), "needed" "necessary" "desired" "wanted") => false,
        "as" if matches!(lexed.word(from + 1), "needed" | "necessary" | "appropriate") => false,
        "where" | "if" if lexed.word(from + 1) == "possible" => true,
        "if" if matches!(lexed.word(from + 1), "you") => {
            !matches!(next, "to") && source.origin != super::Origin::Goal
        }
        "or" if any_of!(lexed.word(from + 1),
            "even" "so" "similar" "equivalent" "both" "neither" "rather") =>
        {
            // `0 or both flags` is fine when a condition governs it.
            !is_conditional(source, range, from)
        }
        "and" => true,
        "to" => source_is_label(source, from),
        "can" if lexed.word(from + 1) == "also" => false,
        // `the chief can reassign any of them`: all of them, not a choice of ours.
        "any" if lexed.word(from + 1) == "of" => {
            from == range.0
                || lexed.tokens[from - 1].kind == TokenKind::Symbol
                || any_of!(next, "is" "are" "would" "will" "works" "does")
        }
        "recommend" => source.origin != super::Origin::Goal,
        "any" => {
            !is_conditional(source, range, from) && !any_of!(prev, "not" "without" "if" "touch")
        }
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
            !is_conditional(source, range, from) && !t.any(range, class::FAILURE)
        }
        "under" if lexed.word(from + 1) == "discussion" => {
            !matches!(prev, "" | "documents" | "proposals")
        }
        "you" if any_of!(lexed.word(from + 1), "choose" "pick" "decide" "can" "may") => {
            !is_conditional(source, range, from) && !relative_you(source, range, from)
        }
        "being" => !is_conditional(source, range, from),
        "no" if lexed.word(from + 1) == "decision" => !is_conditional(source, range, from),
        "pick" | "choose" => from == range.0 || lexed.tokens[from - 1].kind == TokenKind::Symbol,
        "flexible" => true,
        "would" => {
            !is_conditional(source, range, from)
                || any_of!(lexed.word(from + 2), "nice" "great" "good" "cool")
        }
        "something" => !is_conditional(source, range, from),
        "alternatively" => true,
        _ => true,
    }
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
fn is_open_might(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let next = lexed.word(at + 1);
    if any_of!(next, "not" "n't" "have" "otherwise" "no") || is_conditional(source, range, at) {
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
        && source.origin == super::Origin::Goal
    {
        return false;
    }
    let verb = if any_of!(next, "also" "well" "just" "even" "still" "then" "perhaps" "instead") {
        at + 2
    } else {
        at + 1
    };
    let has_or = (range.0..range.1).any(|i| lexed.word(i) == "or");
    let subject_is_us =
        at > range.0 && any_of!(lexed.word(at - 1), "we" "it" "this" "that" "i" "one" "you");
    let property = t.is(verb, class::PROPERTY_VERB)
        && !(lexed.word(verb) == "be" && (has_or || verb == at + 2 || subject_is_us));
    let handled = (at..range.1).any(|i| {
        matches!(lexed.raw(i), ":" | "→" | "->") || matches!(lexed.word(i), "then" | "so")
    }) || t.any((at, range.1), class::FAILURE);
    if has_or && !handled || subject_is_us || verb == at + 2 {
        return true;
    }
    if lexed.word(verb) == "be" && !handled {
        return true;
    }
    !property && !handled
}

/// `depends` at the end or on people's minds; not `depends on libqt6` or `the price depends on weight`.
fn is_open_depends(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
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
    !package
        && (wonder && clause_start
            || mind && (clause_start || has_or)
            || has_or && clause_start
            || wonder && has_or)
}

/// `Either a NAS or S3`, `use either X or Y`; not `is either json or text`.
fn is_open_either(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let Some(or) = (at..range.1).find(|&i| lexed.word(i) == "or") else {
        return false;
    };
    if is_conditional(source, range, at)
        || any_of!(lexed.word(at + 1), "side" "case" "of" "way" "end" "party" "direction")
    {
        return false;
    }
    let prev = if at > range.0 { lexed.word(at - 1) } else { "" };
    // Two products cannot both be what the thing is made of.
    let products = products_both_sides(source, at + 1, or, range.1);
    if at == range.0 || lexed.tokens[at - 1].kind == TokenKind::Symbol && prev != "," {
        return !has_finite_verb(source, or + 1, range.1);
    }
    match prev {
        "is" | "are" | "be" | "was" | "being" | "as" | "returns" | "return" | "contains"
        | "equals" | "holds" | "has" | "have" | "accepts" | "takes" | "of" => products,
        "use" | "using" | "with" | "in" | "on" | "via" | "by" | "through" | "to" | "from"
        | "need" | "want" | "take" | "for" | "into" | "go" => {
            products
                || !t.any((range.0, at), class::UNIVERSAL) && !t.any((range.0, at), class::PERSON)
        }
        _ => products,
    }
}

/// A finite verb behind the alternatives makes them the subject of a complete statement: `… ends the workers`.
fn has_finite_verb(source: &Source<'_>, from: usize, to: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    (from + 1..to).any(|i| {
        let word = lexed.word(i);
        let next = lexed.word(i + 1);
        any_of!(word, "is" "are" "has" "have" "can" "may" "must" "will" "shall" "does")
            || word.len() > 3
                && word.ends_with('s')
                && !word.ends_with("'s")
                && !word.ends_with("ss")
                && any_of!(next, "the" "a" "an" "its" "all" "with" "it" "them" "this")
                && !t.is(i - 1, class::STOP)
    })
}

/// Both sides of `or` begin with a product name.
fn products_both_sides(source: &Source<'_>, left: usize, or: usize, end: usize) -> bool {
    let t = &source.tagged;
    let product = class::LIBRARY | class::DATABASE | class::CLOUD | class::LANGUAGE;
    let l = (left.max(or.saturating_sub(3))..or)
        .any(|i| t.is(i, product) && t.lexed.word(i) != "access");
    let r = (or + 1..(or + 4).min(end)).any(|i| t.is(i, product) && t.lexed.word(i) != "access");
    l && r
}

/// `Monorepo vs multirepo` as a heading of its own, or with a doubt.
fn is_open_versus(source: &Source<'_>, range: (usize, usize)) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let shown = (range.0..range.1).any(|i| {
        any_of!(lexed.word(i),
            "plot" "plots" "chart" "compare" "compares" "comparison" "table" "diagram" "curve"
            "graph" "predicted" "actual" "match" "game" "test" "tests")
    });
    !shown && range.1 - range.0 <= 14
}

/// A sentence that ends in a question mark.
fn open_question(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mark = (range.0..range.1).rev().find(|&i| {
        let tok = lexed.tokens[i];
        !tok.quoted && tok.kind == TokenKind::Symbol && lexed.raw(i).starts_with('?') && {
            let after = lexed.text[tok.end..].chars().next();
            // `lib??.dat` is a pattern of file names.
            let attached = lexed.text[tok.end..]
                .chars()
                .nth(1)
                .is_some_and(char::is_alphanumeric);
            after.is_none_or(|c| {
                c.is_whitespace() || matches!(c, ')' | ',' | ';' | '.') && !attached
            })
        }
    })?;
    let before = lexed.text[..lexed.tokens[mark].start]
        .chars()
        .next_back()
        .unwrap_or(' ');
    if !(before.is_alphanumeric() || matches!(before, ')' | ']' | '"' | '\'' | '”' | '+' | '#')) {
        return None;
    }
    // A search pattern or a route, not a sentence: `report?`, `/suggest?`.
    let words = (range.0..mark)
        .filter(|&i| lexed.tokens[i].kind == TokenKind::Word)
        .count();
    if words == 0 {
        return None;
    }
    let first = lexed.word(range.0);
    let second = lexed.word(range.0 + 1);
    let request = any_of!(first, "can" "could" "would" "will" "please" "may")
        && any_of!(second, "you" "we" "i" "someone" "somebody" "anyone" "please" "the")
        || first == "would" && second == "you";
    let chooses = (range.0..mark).any(|i| lexed.word(i) == "or") && products_any(source, range);
    if source.origin == super::Origin::Goal && (request && !chooses || is_task(source, range)) {
        return None;
    }
    Some(mark)
}

/// `Why does it start twice? Find the cause and fix it`: the question is the task.
fn is_task(source: &Source<'_>, range: (usize, usize)) -> bool {
    let t = &source.tagged;
    let asks = any_of!(t.lexed.word(range.0), "why" "what" "where" "how" "which" "who" "when" "does" "is" "are" "do");
    let verbs = class::FIX | class::ANALYSE | class::DESCRIBE | class::BUILD | class::CHANGE;
    asks && range.1 < t.lexed.tokens.len() && t.is(range.1, verbs)
}

fn products_any(source: &Source<'_>, range: (usize, usize)) -> bool {
    let t = &source.tagged;
    (range.0..range.1)
        .any(|i| t.lexed.word(i) == "or" && products_both_sides(source, range.0, i, range.1))
}

/// Bare `or`: several in a row, a fragment of alternatives, or two products for one job.
fn open_or(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let ors: Vec<usize> = (range.0..range.1)
        .filter(|&i| {
            lexed.word(i) == "or"
                && !lexed.tokens[i].quoted
                && lexed.tokens[i].kind == TokenKind::Word
        })
        .collect();
    let first = *ors.first()?;
    let conditional = t.any((range.0, range.1), class::CONDITION)
        || (range.0..range.1).any(|i| {
            any_of!(lexed.word(i),
                "whether" "that" "who" "which" "without" "no" "not" "any" "every" "each" "can"
                "may" "never" "than" "exit" "returns" "accepts" "reads" "supports" "by" "earlier"
                "later" "more" "less" "fewer" "either" "older" "newer" "higher" "lower" "all"
                "only" "has" "is" "are" "must" "contains" "opens")
        });
    let counted = |i: usize| {
        i > 0
            && (t.is(i - 1, class::NUMERAL) || lexed.word(i - 1) == "none")
            && t.is(i + 1, class::NUMERAL)
    };
    let has_digits_only = |i: usize| {
        i > 0
            && lexed.tokens[i - 1].kind == TokenKind::Number
            && lexed
                .tokens
                .get(i + 1)
                .is_some_and(|n| n.kind == TokenKind::Number)
    };
    if ors.iter().all(|&i| has_digits_only(i) || counted(i)) {
        return None;
    }
    // `Passengers choose single or return`: their choice, not ours.
    let theirs = t.any((range.0, first), class::PERSON);
    if ors.len() >= 2 && !conditional && !theirs {
        return Some(first);
    }
    // Two products for one job: `Kafka or RabbitMQ`. Formats and platforms are often both supported.
    let supported = (range.0..range.1).any(|i| {
        any_of!(lexed.word(i),
            "reads" "supports" "accepts" "opens" "input" "both" "import" "imports" "from" "any"
            "browsers" "works" "if" "when" "unless" "no" "not" "without" "never" "files")
    });
    ors.iter()
        .copied()
        .find(|&i| !supported && products_both_sides(source, range.0, i, range.1))
}

/// The alternatives a sentence lists: the words around `or`, `vs` and the separators.
fn options_of(source: &Source<'_>, range: (usize, usize)) -> Vec<String> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let is_sep = |i: usize| {
        !lexed.tokens[i].quoted
            && (any_of!(lexed.word(i), "or" "vs" "versus" "alternatively")
                || matches!(lexed.raw(i), "/" if lexed.tokens[i].spaced))
    };
    let Some(first) = (range.0..range.1).find(|&i| is_sep(i)) else {
        return Vec::new();
    };
    let is_stop = |i: usize| {
        any_of!(lexed.raw(i), ":" "?" ";" "." "(" ")" "–")
            || (lexed.raw(i) == "-" && lexed.tokens[i].spaced)
    };
    // Walk left to where the list of alternatives begins: a colon, a verb or a preposition.
    let mut from = first;
    while from > range.0 {
        let p = from - 1;
        if is_stop(p)
            || t.is(p, class::USE_VERB | class::MODAL)
            || any_of!(lexed.word(p),
                "either" "be" "is" "are" "with" "in" "by" "as" "on" "for" "from" "to" "maybe"
                "perhaps" "probably" "possibly" "keep" "through" "via")
        {
            break;
        }
        from = p;
    }
    let mut to = first + 1;
    while to < range.1 && !is_stop(to) {
        to += 1;
    }
    let mut out: Vec<String> = Vec::new();
    let mut start = from;
    for i in from..=to {
        let cut = i == to || is_sep(i) || lexed.raw(i) == ",";
        if !cut {
            continue;
        }
        let mut a = start;
        let mut b = i;
        while a < b
            && any_of!(lexed.word(a),
                "either" "or" "maybe" "perhaps" "possibly" "probably" "just" "even" "and"
                "rather" ",")
        {
            a += 1;
        }
        while b > a && matches!(lexed.raw(b - 1), "," | "?") {
            b -= 1;
        }
        let hedge = (a..b).any(|k| {
            any_of!(lexed.word(k),
                "not" "depends" "depending" "we" "you" "it" "whatever" "undecided" "sure" "both"
                "neither" "still" "whichever" "if" "which" "i" "that")
        });
        if a < b && b - a <= 8 && !hedge {
            let (s, e) = lexed.span((a, b));
            let option = lexed.text[s..e].trim().to_owned();
            if !option.is_empty() && !out.contains(&option) {
                out.push(option);
            }
        }
        start = i + 1;
    }
    if out.len() < 2 || out.len() > 6 {
        return Vec::new();
    }
    out.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    out
}

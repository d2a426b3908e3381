//! Alternatives: `either … or`, `A vs B`, `A or B or C`, `A or B - we have no preference`.
//!
//! Alternatives are open where no verb makes them a statement (`a wrong key or no key is answered with 401`), where two
//! products stand for one job, or where an attitude follows instead of a decision.

use crate::lexicon::class;
use crate::measure::Source;
use crate::measure::grammar::{has_finite, is_conditional, is_finite};
use crate::text::lex::TokenKind;

/// `Made with R, unless Excel is enough`: the other way is left open.
pub(super) fn open_unless(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let lexed = &source.tagged.lexed;
    let unless =
        (range.0..range.1).find(|&i| lexed.word(i) == "unless" && !lexed.tokens[i].quoted)?;
    let judged = (unless..range.1).any(|i| {
        any_of!(lexed.word(i), "enough" "better" "easier" "cheaper" "simpler" "suffices" "nicer" "objects" "disagrees")
    });
    judged.then_some(unless)
}

/// `Subtitles in Turkish if we find someone`, `English texts if the funding is enough`: wanted only if means are there.
pub(super) fn open_if(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let at = (range.0 + 1..range.1).find(|&i| lexed.word(i) == "if" && !lexed.tokens[i].quoted)?;
    let means = (at + 1..range.1.min(at + 9)).any(|i| {
        any_of!(lexed.word(i),
            "affordable" "funding" "funds" "budget" "money" "someone" "somebody" "volunteers" "capacity" "sponsor" "sponsors"
            "cheap" "funded")
    });
    (means && !has_finite(t, (range.0, at)) && !t.any((range.0, at), class::NEG)).then_some(at)
}

/// Alternatives without a verb, and then an attitude instead of a decision: `A or B - the family is torn`.
pub(super) fn open_attitude(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let or = (range.0 + 1..range.1).find(|&i| lexed.word(i) == "or" && !lexed.tokens[i].quoted)?;
    let cut = (or + 1..range.1).find(|&i| is_break(source, i))?;
    let verb = |i: usize| {
        t.is(i, class::NEG | class::CONDITION)
            || is_finite(t, i)
            || any_of!(lexed.word(i), "that" "which" "who" "exit" "otherwise")
    };
    let fragment = !(range.0..cut).any(verb);
    let attitude = (cut + 1..range.1).any(|i| {
        any_of!(lexed.word(i), "we" "our" "us" "i" "nobody" "conceivable" "thinkable" "imaginable" "undecided" "open" "advice" "mind" "matter" "important" "prefer" "preference" "care" "fine" "ok" "okay" "both" "either" "depends" "discuss" "discussed" "whatever" "whichever" "maybe" "decide" "decided" "torn" "unsure" "help")
    });
    // `daily or at 100 MB, whichever comes first` is a rule.
    let rule = (cut + 1..range.1).any(|i| {
        matches!(
            lexed.word(i),
            "first" | "comes" | "last" | "larger" | "smaller" | "earlier" | "later"
        )
    });
    // `Stars or a pet that grows, the teachers are split on this`
    let torn = (cut + 1..range.1).any(|i| {
        any_of!(lexed.word(i), "split" "torn" "divided" "disagree" "disagrees" "argue" "arguing" "unsure" "undecided")
            && i > 0
            && any_of!(lexed.word(i - 1), "are" "is" "still" "we" "people" "they")
    });
    (fragment && attitude && !rule || torn).then_some(or)
}

/// A list of alternatives and then a word about it: `A, B or C - we can imagine all three`.
pub(super) fn open_comment(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
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

/// A comma, a colon, a bracket, or a dash with blanks around it.
fn is_break(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    match lexed.raw(i) {
        "," | ":" | "(" => true,
        "-" | "–" | "—" | "--" => {
            lexed.tokens[i].spaced && lexed.tokens.get(i + 1).is_some_and(|n| n.spaced)
        }
        _ => false,
    }
}

/// `Stars from 1 to 5, or thumbs`: a fragment without a verb whose last words, behind a comma, are another way.
pub(super) fn open_fragment(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let or = (range.0 + 2..range.1)
        .find(|&i| lexed.word(i) == "or" && lexed.raw(i - 1) == "," && !lexed.tokens[i].quoted)?;
    // `A, B, or C` closes a list; one comma alone opens an afterthought.
    let commas = (range.0..or).filter(|&i| lexed.raw(i) == ",").count();
    let spoken = t.any(range, class::CONDITION | class::NEG | class::UNIVERSAL)
        || has_finite(t, range)
        || (range.0..range.1).any(|i| any_of!(lexed.word(i), "that" "which" "who" "whichever" "exit" "than" "newer" "later" "more" "less"));
    // `Rounds to the next 5 cents, or up for guests`: it begins with its verb.
    let first = lexed.word(range.0);
    let spoken = spoken
        || first.len() > 3
            && first.ends_with('s')
            && !first.ends_with("ss")
            && any_of!(lexed.word(range.0 + 1), "to" "the" "a" "an" "it" "its" "all" "every");
    (commas == 1 && !spoken && range.1 - or <= 8).then_some(or)
}

/// `Either a NAS or S3`, `use either X or Y`; not `is either json or text`.
pub(super) fn is_open_either(source: &Source<'_>, range: (usize, usize), at: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let Some(or) = (at..range.1).find(|&i| lexed.word(i) == "or") else {
        return false;
    };
    if is_conditional(t, range, at)
        || any_of!(lexed.word(at + 1), "side" "case" "of" "way" "end" "party" "direction")
    {
        return false;
    }
    if is_chosen_at_run(source, (or, range.1)) {
        return false;
    }
    let prev = if at > range.0 { lexed.word(at - 1) } else { "" };
    // Two products cannot both be what the thing is made of.
    let products = products_both_sides(source, at + 1, or, range.1);
    // `RELAY_TLS (either on or off)`: the values of a setting.
    if prev == "(" && at >= range.0 + 2 && !products {
        let name = lexed.raw(at - 2);
        if name.contains('_') || name.starts_with("--") {
            return false;
        }
    }
    if at == range.0 || lexed.tokens[at - 1].kind == TokenKind::Symbol && prev != "," {
        return !has_finite(t, (or + 2, range.1));
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

/// `either CSV or XLSX as the accountant chooses`, `or PDF, selected by a flag`: chosen each time, by somebody else.
fn is_chosen_at_run(source: &Source<'_>, (from, to): (usize, usize)) -> bool {
    let lexed = &source.tagged.lexed;
    (from + 1..to).any(|i| {
        let before = lexed.word(i - 1);
        match lexed.word(i) {
            "chooses" | "selects" | "picks" | "prefers" | "wants" | "sets" | "configures"
            | "asked" => !any_of!(before, "we" "you" "i" "who" "whoever" "nobody"),
            "selected" | "chosen" | "configured" | "switched" | "set" => {
                any_of!(lexed.word(i + 1), "by" "in" "with" "at" "per" "through" "via" "from")
                    && !any_of!(before, "be" "not" "yet")
            }
            "selectable" | "configurable" | "switchable" => true,
            _ => false,
        }
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
pub(super) fn is_open_versus(source: &Source<'_>, range: (usize, usize)) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let shown = (range.0..range.1).any(|i| {
        any_of!(lexed.word(i),
            "plot" "plots" "chart" "compare" "compares" "comparison" "table" "diagram" "curve"
            "graph" "predicted" "actual" "match" "game" "test" "tests")
    });
    !shown && range.1 - range.0 <= 14
}

pub(super) fn products_any(source: &Source<'_>, range: (usize, usize)) -> bool {
    let t = &source.tagged;
    (range.0..range.1)
        .any(|i| t.lexed.word(i) == "or" && products_both_sides(source, range.0, i, range.1))
}

/// Bare `or`: several in a row, a fragment of alternatives, or two products for one job.
pub(super) fn open_or(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
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
    if is_chosen_at_run(source, (first, range.1)) {
        return None;
    }
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
    if ors.len() >= 2 && !conditional && !theirs && !has_finite(t, (first + 1, range.1)) {
        return Some(first);
    }
    // `Hosting: cloud or on-premise`
    let label = lexed.raw(range.0 + 1) == ":"
        && any_of!(lexed.word(range.0),
            "hosting" "database" "framework" "provider" "licence" "license" "frontend" "backend" "deployment" "architecture");
    if label && !conditional && !has_finite(t, (range.0 + 2, range.1)) {
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

//! The answers that an open choice offers by itself.

use crate::lexicon::class;
use crate::measure::Source;

/// The alternatives a sentence lists: the words around `or`, `vs` and the separators.
pub(super) fn options_of(source: &Source<'_>, range: (usize, usize)) -> Vec<String> {
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

//! The little grammar the detectors share: which word is the verb of a statement, and what a cue says about the noun
//! before it.
//!
//! There is no parser. A verb is recognised by a short list, by its class, or by its ending together with the word that
//! follows. That is enough to tell `Tickets still open after 3 days move to the top` (a rule about tickets) from `The
//! budget is still open` (a gap of the author).

use crate::lexicon::{Tagged, class};
use crate::text::lex::TokenKind;

const VERBS: u64 = class::BUILD
    | class::CHANGE
    | class::FIX
    | class::MIGRATE
    | class::OPERATE
    | class::USE_VERB
    | class::IMPROVE;

/// Whether token `i` is the finite verb of a statement.
pub(super) fn is_finite(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let Some(token) = lexed.tokens.get(i) else {
        return false;
    };
    if token.kind != TokenKind::Word || token.quoted {
        return false;
    }
    let word = lexed.word(i);
    if any_of!(word,
        "is" "are" "was" "were" "has" "have" "gets" "get" "does" "do" "goes" "go" "stays" "stay" "becomes" "become"
        "turns" "lasts" "counts" "count" "means" "keeps" "ends" "comes" "come" "shows" "appears" "appear" "gives" "give"
        "makes" "needs" "moves" "starts" "returns" "leads" "closes" "remains" "remain" "belongs" "belong" "applies")
        || t.is(i, class::MODAL)
    {
        return true;
    }
    if i == 0 || lexed.tokens[i - 1].kind == TokenKind::Symbol {
        return false;
    }
    let prev = lexed.word(i - 1);
    if prev.ends_with("'s")
        || any_of!(prev,
        "to" "the" "a" "an" "of" "for" "by" "with" "and" "or" "each" "every" "in" "on" "at" "as" "from" "per" "no" "one"
        "its" "their" "our" "your" "this" "that")
    {
        return false;
    }
    let next = lexed.word(i + 1);
    let object = any_of!(next,
        "the" "a" "an" "its" "all" "it" "them" "this" "their" "his" "her" "one" "to" "into" "up" "back" "out" "off" "no" "at"
        "as" "in" "on" "with" "for" "and");
    object
        && (t.is(i, VERBS)
            || word.len() > 3
                && word.ends_with('s')
                && !word.ends_with("'s")
                && !word.ends_with("ss")
                && any_of!(next, "the" "a" "an" "its" "all" "it" "them" "this" "one" "with" "back" "out" "off")
                && !t.is(i - 1, class::STOP))
}

/// Whether the token range has a finite verb.
pub(super) fn has_finite(t: &Tagged<'_>, range: (usize, usize)) -> bool {
    (range.0..range.1).any(|i| is_finite(t, i))
}

/// Whether the words `from..to` describe the noun before them in a sentence that goes on to say something else about
/// it: `a file still being written is left alone`, `tickets awaiting approval keep their place`.
pub(super) fn describes_noun(t: &Tagged<'_>, from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    let (start, end) = lexed.sentence_of(from);
    let breaks = |i: usize| any_of!(lexed.raw(i), "," ";" ":" "(" "=" "-" "–" "—" "." "\n");
    let clause = (start..from)
        .rev()
        .find(|&i| breaks(i) && !lexed.tokens[i].quoted)
        .map_or(start, |i| i + 1);
    if clause >= from || (clause..from).any(|i| is_finite(t, i)) {
        return false;
    }
    let indefinite = any_of!(lexed.word(clause), "a" "an" "each" "every" "any" "all" "no");
    indefinite || has_finite(t, (to, end))
}

/// Whether a condition or a relative pronoun stands before `at` in its sentence.
pub(super) fn is_conditional(t: &Tagged<'_>, range: (usize, usize), at: usize) -> bool {
    (range.0..at).any(|i| {
        !t.lexed.tokens[i].quoted
            && any_of!(t.lexed.word(i),
                "if" "when" "whenever" "unless" "whether" "case" "where" "until" "while")
    })
}

/// Whether a relative pronoun stands among the six words before `at`.
pub(super) fn has_relative(t: &Tagged<'_>, at: usize) -> bool {
    let from = t.lexed.sentence_of(at).0;
    (from.max(at.saturating_sub(6))..at)
        .any(|k| any_of!(t.lexed.word(k), "that" "which" "who" "whose" "without"))
}

//! What the recognisers of the elements see in one text: `data`, `users`, `failure` and `product` have one each.
//!
//! Each signal is generous: one hint is enough. What a word list cannot know is recognised by shape: people by the
//! endings of agent nouns, failure handling by a state before a colon and what follows from it behind.

use super::data::read_data;
pub(in crate::measure) use super::failure::is_case_line;
use super::failure::{
    has_message, is_lacking_subject, is_odd_case, is_odd_subject, is_quiet_failure,
};
use super::product::{is_coined, is_product, is_source_file};
use super::users::{is_consumer, is_person};
use crate::lexicon::{Cue, Tagged, class};
use crate::measure::is_decision;
use crate::text::lex::{Lexed, TokenKind};

/// Signals of one text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// A product is named.
    pub technology: bool,
    /// Points for data; `data::ENOUGH` are enough.
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
    if !lexed.tokens.get(i).is_some_and(|token| token.coded) {
        return false;
    }
    let word = lexed.word(i);
    let Some((base, ending)) = word.rsplit_once('.') else {
        return false;
    };
    !base.is_empty()
        && (1..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic())
        && !any_of!(word, "e.g" "i.e" "a.m" "p.m" "asp.net" "ml.net" "ado.net" "vb.net" "socket.io" "next.js" "node.js" "vue.js" "nuxt.js" "express.js" "three.js" "d3.js" "deck.gl" "booking.com" "draw.io")
}

/// Reads all signals of a text.
pub(super) fn read_signals(t: &Tagged<'_>) -> Signals {
    let lexed = &t.lexed;
    let mut s = Signals {
        data: read_data(t),
        ..Signals::default()
    };
    // A decision quotes what was asked about; that is no message to anybody.
    let quoted = !is_decision(lexed.text) && lexed.tokens.iter().any(|token| token.quoted);
    for &(from, to) in &lexed.sentences {
        let (mut negated, mut conditional) = (false, false);
        let fields = fields_from(t, from, to);
        for i in from..to {
            let token = lexed.tokens[i];
            let c = t.classes[i];
            let word = lexed.word(i);
            match token.kind {
                TokenKind::Symbol => {
                    s.concrete |= token.spaced && lexed.raw(i) == "/";
                    continue;
                }
                TokenKind::Number => {
                    s.concrete = true;
                    s.failure |= any_of!(word,
                        "400" "401" "403" "404" "409" "410" "413" "422" "429" "500" "502" "503" "504");
                    s.measure |= t.is(
                        i + 1,
                        class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT,
                    ) || lexed.is_symbol(i + 1, "%");
                    continue;
                }
                TokenKind::Word => s.words += 1,
            }
            negated |= c & class::NEG != 0;
            conditional |= c & class::CONDITION != 0
                && !(word == "once" && i > 0 && lexed.word(i - 1) == "at")
                || any_of!(word, "that" "which" "who" "what" "otherwise" "where" "else");
            if !s.technology
                && (is_product(t, i, i == from)
                    || token.coded && is_source_file(word)
                    || is_coined(t, i, i == from))
            {
                s.technology = true;
                s.concrete = true;
            }
            let is_known = s.concrete && s.output;
            if !is_known
                && (c & class::FORMAT != 0
                    || token.coded && (word.contains('_') || is_file_name(lexed, i)))
            {
                s.concrete = true;
                s.output = true;
            }
            s.users = s.users || i < fields && is_person(t, i) || is_consumer(t, i);
            s.failure = s.failure
                || any_of!(word, "if" "otherwise" "excluded")
                || word == "out" && lexed.word(i + 1) == "of" && i <= from + 1
                || word == "left" && lexed.word(i + 1) == "out"
                || word == "nothing" && i > 0 && any_of!(lexed.word(i - 1), "does" "do" "changes")
                || word == "nothing" && any_of!(lexed.word(i + 1), "happens")
                // `Overlaps turn red`
                || any_of!(word, "turn" "turns") && any_of!(lexed.word(i + 1), "red" "yellow" "grey" "gray" "orange")
                || word.len() > 5 && (word.ends_with("error") || word.ends_with("exception"))
                || c & class::FAILURE != 0 && !is_quiet_failure(t, i);
            s.output |= c & class::OUTPUT != 0;
        }
        s.failure = s.failure
            || quoted && has_message(t)
            || negated && conditional
            || is_lacking_subject(t, from, to)
            || is_odd_subject(t, from, to)
            || is_case_line(t, from, to)
            || is_odd_case(t, from, to, conditional);
    }
    // Tests tell when a change is good.
    s.measure = s.measure
        || lexed.tokens.len() > 2
            && (0..lexed.tokens.len()).any(|i| any_of!(lexed.word(i), "tests" "test-suite"))
        || (0..lexed.tokens.len()).any(|i| is_checked(lexed, i));
    s.measure |= t.hits.iter().any(|h| {
        matches!(h.cue, Cue::Upper | Cue::Lower)
            && (h.to..(h.to + 3).min(lexed.tokens.len()))
                .any(|k| lexed.tokens[k].kind == TokenKind::Number)
    });
    s
}

/// Where the list of fields of a sentence begins: `A match has home, guest, period and points` names no guests.
fn fields_from(t: &Tagged<'_>, from: usize, to: usize) -> usize {
    let lexed = &t.lexed;
    let Some(has) = (from + 1..to).find(|&i| any_of!(lexed.word(i), "has" "holds")) else {
        return to;
    };
    let commas = (has..to).filter(|&i| lexed.raw(i) == ",").count();
    if commas >= 2 { has } else { to }
}

/// `checked with axe`, `verified by the officer`, `accepted when`: somebody or something tells when it is good.
fn is_checked(lexed: &Lexed<'_>, i: usize) -> bool {
    any_of!(lexed.word(i), "checked" "verified" "validated" "accepted" "measured" "tested" "passes" "judged" "approved")
        && any_of!(lexed.word(i + 1), "with" "by" "when" "against" "in" "all" "the")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::tag;
    use crate::text::lex::Lowered;

    #[test]
    fn failure_state_before_a_colon_is_seen() {
        let fails = |text: &str| read_signals(&tag(&Lowered::new(text))).failure;
        assert!(fails("Paper out: the button light blinks"));
        assert!(!fails("Fields: name, birth date, consent"));
    }
}

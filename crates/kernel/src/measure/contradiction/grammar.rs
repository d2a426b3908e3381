//! A little grammar: where the verb of a sentence stands, and what ends a phrase.

use super::super::Source;
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Verbs that stand without an auxiliary and are seldom nouns.
const VERBS: &str = "accept allow appear apply approve arrive ask become begin belong borrow buy calculate carry \
    choose close collect come compute confirm connect contain cost count cover create decline \
    delete deliver deny discard download drive drop edit enter exceed exist expire expose feed \
    fly follow forward generate get give go handle happen hear hold ignore include inform join \
    keep know lapse learn leave lend lie listen live lock look meet move need notify open \
    overtake overwrite pay play produces provide publish purge read receive refuse reject \
    remain remember remind remove replace reply require respond restart resume retain return \
    run save see select sell send serve show shut skip sleep speak start stay stop store take think \
    transmit travel vanish disappear treat unload unlock use wait warn wash wear work write";

/// Stems of [`VERBS`], sorted.
fn verb_stems() -> &'static [u64] {
    static STEMS: OnceLock<Vec<u64>> = OnceLock::new();
    STEMS.get_or_init(|| {
        let mut out: Vec<u64> = VERBS
            .split_ascii_whitespace()
            .map(|w| fnv(stem(w)))
            .collect();
        out.sort_unstable();
        out
    })
}

/// A verb that is seldom a noun.
pub(super) fn is_verb(key: u64) -> bool {
    verb_stems().binary_search(&key).is_ok()
}

/// Where the verb begins: the first auxiliary or common finite verb behind a noun.
pub(super) fn verb_of(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    // A condition behind the subject has a verb of its own.
    let stems = verb_stems();
    let open = |i: &usize| {
        *i == range.0 + 1
            || !any_of!(lexed.word(*i), "if" "when" "while" "unless" "because" "until")
    };
    let certain = (range.0 + 1..range.1).take_while(open).find(|&i| {
        // The verb of a relative clause is not the verb of the sentence.
        if any_of!(lexed.word(i - 1), "who" "that" "which" "whose") {
            return false;
        }
        t.is(i, class::MODAL)
            || any_of!(lexed.word(i), "is" "are" "was" "were" "has" "have" "do" "does" "cannot" "never")
            || stems.binary_search(&lexed.tokens[i].key).is_ok()
                && !lexed.word(i).ends_with("ed")
                && !lexed.word(i).ends_with("ing")
                && lexed.tokens[i - 1].kind == TokenKind::Word
                && !any_of!(lexed.word(i - 1), "the" "a" "an" "of" "in" "to" "for" "by" "only" "all" "every" "each" "no")
    });
    // Nouns in other sentences: `the search answers in 300 ms`.
    certain.or_else(|| {
        (range.0 + 1..range.1).take_while(open).find(|&i| {
            any_of!(lexed.word(i),
                "answers" "updates" "imports" "exports" "reports" "requests" "displays" "prints" "loads" "checks" "tests"
                "sounds" "caches" "sorts" "lists" "logs" "counts" "records" "beeps" "rings" "expects" "uploads" "stops"
                "measures" "ends" "finishes" "lasts" "waits" "hand" "upload" "order" "book" "change" "sign" "print" "register"
                "submit" "vote" "report" "check" "scan" "add" "fill" "pick" "rate" "export" "import" "orders" "signs"
                "changes" "hands" "picks" "adds" "votes" "registers" "submits")
                && lexed.tokens[i - 1].kind == TokenKind::Word
                && !t.is(i - 1, class::STOP | class::UNIVERSAL | class::NUMERAL)
                && i + 1 < range.1
        })
    })
}

/// A word that leads a noun phrase of its own.
pub(super) fn is_preposition(word: &str) -> bool {
    any_of!(word, "of" "in" "on" "at" "by" "to" "from" "for" "with" "as" "via" "over" "into" "through" "within" "before" "after" "during" "until" "under" "without")
}

/// The end of a phrase: a sign or a conjunction that opens another clause.
pub(super) fn is_boundary(source: &Source<'_>, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    lexed.tokens[i].kind == TokenKind::Symbol && !matches!(lexed.raw(i), "'" | "/" | "°" | "%")
        || any_of!(lexed.word(i), "but" "unless" "if" "when" "while" "because" "so" "which" "who" "that")
}

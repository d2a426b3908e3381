//! A little grammar: where the verb of a sentence stands, and what ends a phrase.

use super::super::Source;
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Finite verbs that stand without an auxiliary and are seldom nouns; sorted.
const VERBS: &[&str] = &[
    "accept", "accepts", "allow", "allows", "appear", "appears", "applies", "apply", "ask", "asks",
    "become", "becomes", "begins", "belong", "belongs", "carries", "carry", "close", "closes",
    "come", "comes", "contain", "contains", "cost", "costs", "count", "counts", "cover", "covers",
    "create", "creates", "delete", "deletes", "deliver", "delivers", "download", "edit", "edits",
    "exist", "exists", "expire", "expires", "follow", "follows", "get", "gets", "give", "gives",
    "go", "goes", "happen", "happens", "hold", "holds", "include", "includes", "keep", "keeps",
    "lapse", "lapses", "leave", "leaves", "lie", "lies", "live", "lives", "move", "moves", "need",
    "needs", "open", "opens", "pay", "pays", "read", "reads", "receive", "receives", "remain",
    "remains", "require", "requires", "return", "returns", "run", "runs", "see", "sees", "send",
    "sends", "serve", "serves", "show", "shows", "sleep", "sleeps", "start", "starts", "stay",
    "stays", "stop", "stops", "store", "stores", "take", "takes", "use", "uses", "wait", "waits",
    "wear", "wears", "work", "works", "write", "writes",
];

/// Where the verb begins: the first auxiliary or common finite verb behind a noun.
pub(super) fn verb_of(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    (range.0 + 1..range.1).find(|&i| {
        // The verb of a relative clause is not the verb of the sentence.
        if any_of!(lexed.word(i - 1), "who" "that" "which" "whose") {
            return false;
        }
        t.is(i, class::MODAL)
            || any_of!(lexed.word(i), "is" "are" "was" "were" "has" "have" "do" "does" "cannot" "never")
            || VERBS.binary_search(&lexed.word(i)).is_ok()
                && lexed.tokens[i - 1].kind == TokenKind::Word
                && !any_of!(lexed.word(i - 1), "the" "a" "an" "of" "in" "to" "for" "by" "only" "all" "every" "each" "no")
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

#[cfg(test)]
mod tests {
    use super::VERBS;

    #[test]
    fn verbs_are_sorted() {
        assert!(VERBS.windows(2).all(|w| w[0] < w[1]));
    }
}

//! Questions: a sentence that ends in a question mark.

use super::alternative::products_any;
use crate::lexicon::class;
use crate::measure::grammar::is_finite;
use crate::measure::{Origin, Source};
use crate::text::lex::TokenKind;

/// A sentence that ends in a question mark.
pub(super) fn open_question(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
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
    // `InfluxDB / TimescaleDB ?`: a blank before the mark, as some people write.
    let spaced = mark > range.0
        && before == ' '
        && mark + 1 == range.1
        && lexed.tokens[mark - 1].kind == TokenKind::Word
        && (range.0..mark).any(|i| lexed.raw(i) == "/" || lexed.word(i) == "or");
    if !(spaced
        || before.is_alphanumeric()
        || matches!(before, ')' | ']' | '"' | '\'' | '”' | '+' | '#'))
    {
        return None;
    }
    // `Ctrl+?` is a key; `C++?` is a question.
    if before == '+' && !lexed.text[..lexed.tokens[mark].start].ends_with("++") {
        return None;
    }
    // `Item? stays where the slot can be empty`, `init? returns nil`: a name of code, and what it does.
    if !lexed.tokens[mark].spaced
        && lexed.tokens.get(mark + 1).is_some_and(|n| !n.upper)
        && is_finite(t, mark + 1)
    {
        return None;
    }
    // `Shall the app warn? Yes: …`: asked and answered.
    let next = lexed.word(range.1);
    if mark + 1 == range.1
        && any_of!(next, "yes" "no")
        && any_of!(lexed.raw(range.1 + 1), ":" "," "." "-" "–")
    {
        return None;
    }
    if is_optional_type(source, mark) {
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
    if source.origin == Origin::Goal && (request && !chooses || is_task(source, range)) {
        return None;
    }
    Some(mark)
}

/// `String?`, `List<Bike>?`: a type that may be empty, in several languages.
fn is_optional_type(source: &Source<'_>, mark: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let attached = !lexed.tokens[mark].spaced;
    if !attached || mark < 2 {
        return false;
    }
    // `get(key: K): V?`, `val next: Stop?`
    let declared = lexed.raw(mark - 2) == ":"
        && mark >= 3
        && (lexed.raw(mark - 3) == ")"
            || mark >= 4 && any_of!(lexed.word(mark - 4), "val" "var" "let" "(" ","));
    declared
        || any_of!(lexed.raw(mark - 1),
            "String" "Int" "Int32" "Int64" "Double" "Float" "Bool" "Boolean" "Long" "Date" "Data" "URL" "UUID" "Any" "Decimal"
            "DateTime" "List" "Map" "Set" ">" "]" "string" "int" "double" "bool" "decimal" "long" "num" "Instant" "LocalDate")
}

/// `Why does it start twice? Find the cause and fix it`: the question is the task.
fn is_task(source: &Source<'_>, range: (usize, usize)) -> bool {
    let t = &source.tagged;
    let asks = any_of!(t.lexed.word(range.0), "why" "what" "where" "how" "which" "who" "when" "does" "is" "are" "do");
    let verbs = class::FIX | class::ANALYSE | class::DESCRIBE | class::BUILD | class::CHANGE;
    // `Find out which method keeps most - does covering help?`
    let inquires = t.is(range.0, class::ANALYSE)
        || t.lexed.word(range.0) == "find" && t.lexed.word(range.0 + 1) == "out";
    inquires || asks && range.1 < t.lexed.tokens.len() && t.is(range.1, verbs)
}

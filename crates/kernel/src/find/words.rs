//! Markers, masks and phrases: words in place of a value, or that put it off.

use super::bracket::KnownNames;
use super::{Finding, MAX_PER_TEXT, Source, is_lifted};
use crate::rules::{Matcher, Rule, RuleSet};
use crate::text::token::{Sentence, TokenKind};

pub(super) fn find(
    rules: &'static RuleSet,
    source: &Source<'_>,
    known: &KnownNames,
    out: &mut Vec<Finding>,
) {
    let markers: Vec<&Rule> = rules.of_matcher(Matcher::Marker).collect();
    for sentence in &source.text.sentences {
        if out.len() >= MAX_PER_TEXT {
            return;
        }
        for at in sentence.from..sentence.to {
            let token = source.text.tokens[at];
            if token.quoted {
                continue;
            }
            for rule in &markers {
                if is_marker(rule, source, at)
                    && !is_group_of_masks(rule, source, at)
                    && !is_lifted(rule, source, *sentence, at, at + 1)
                {
                    out.push(source.finding(rule, *sentence, at, at + 1));
                    break;
                }
            }
            for (number, pattern) in rules.index.find(token.key).into_iter().flatten() {
                let rule = &rules.rules[usize::from(*number)];
                let pattern = &rule.patterns[usize::from(*pattern)];
                if let Some(end) = pattern.match_at(&source.text, *sentence, at)
                    && super::is_in_place(rule, pattern, source, *sentence, (at, end))
                {
                    let found = match_rule(rule, source, known, *sentence, at, end);
                    out.extend(found);
                }
            }
        }
    }
}

fn match_rule(
    rule: &'static Rule,
    source: &Source<'_>,
    known: &KnownNames,
    sentence: Sentence,
    at: usize,
    end: usize,
) -> Option<Finding> {
    let (at, end) = match rule.matcher {
        Matcher::Phrase => (at, end),
        Matcher::Mask => {
            let mask = (at..end).find(|i| rule.words.lists(source.text.word(*i)))?;
            if known.is_letter_used_again(source.text.word(mask)) {
                return None;
            }
            (mask, mask + 1)
        }
        // `choice` handles hedges and alternatives, which need their sentence.
        _ => return None,
    };
    let quoted = source.text.tokens[at..end].iter().all(|token| token.quoted);
    if quoted || is_lifted(rule, source, sentence, at, end) {
        return None;
    }
    Some(source.finding(rule, sentence, at, end))
}

/// Whether the mask is part of a number's format: `XXXX XXXX 1234`.
fn is_group_of_masks(rule: &Rule, source: &Source<'_>, at: usize) -> bool {
    let is_part = |i: usize| {
        i < source.text.tokens.len()
            && (source.text.tokens[i].kind == TokenKind::Number || is_marker(rule, source, i))
            && rule.words.lists("XXX")
    };
    is_part(at + 1)
        || at > 0 && is_part(at - 1) && source.text.tokens[at - 1].kind != TokenKind::Number
}

/// Whether the token, or a part of it between dots or hyphens, is one of the rule's words.
fn is_marker(rule: &Rule, source: &Source<'_>, at: usize) -> bool {
    let token = source.text.tokens[at];
    let word = source.text.word(at);
    if token.kind == TokenKind::Sign {
        return word.len() >= 2
            && rule
                .words
                .list
                .iter()
                .any(|known| is_sign_run(source, at, known));
    }
    let plain = word.bytes().all(|b| b.is_ascii_lowercase());
    if plain && !word.starts_with("xx") {
        return rule.words.has(token.key) && rule.words.lists(word);
    }
    rule.words
        .list
        .iter()
        .any(|known| is_written_as(word, known))
}

/// Whether the token is a run of signs at least as long as the word. Question marks in a name or an
/// expression are a pattern or an operator.
fn is_sign_run(source: &Source<'_>, at: usize, known: &str) -> bool {
    let (text, word) = (&source.text, source.text.word(at));
    if !word.starts_with(known) {
        return false;
    }
    let spaced = text.tokens[at].spaced
        || at > 0
            && matches!(
                text.word(at - 1),
                ":" | "=" | "(" | "$" | "€" | "<" | ">" | "~"
            );
    let next = text.tokens.get(at + 1);
    match word.len() {
        2 => spaced && next.is_none_or(|next| next.spaced && next.kind == TokenKind::Word),
        _ => spaced && next.is_none_or(|next| next.spaced || next.kind == TokenKind::Sign),
    }
}

/// Whether a word is written like a known one. `YOUR_*` and `*_HERE` match names that begin or end
/// so; `XXX` matches three or more of the letter. Masks of several groups, and parts of a file
/// name, are a format.
fn is_written_as(word: &str, known: &str) -> bool {
    let shouts = |known: &str| {
        known.bytes().any(|b| b.is_ascii_lowercase())
            || !word.bytes().any(|b| b.is_ascii_lowercase())
    };
    if let Some(begin) = known.strip_suffix('*') {
        return word.len() > begin.len() && word.starts_with(begin) && shouts(begin);
    }
    if let Some(end) = known.strip_prefix('*') {
        return word.len() > end.len() && word.ends_with(end) && shouts(end);
    }
    if word == known {
        return true;
    }
    let first = known.as_bytes()[0];
    let repeats = known.len() >= 2 && known.bytes().all(|b| b == first);
    let is_run =
        |part: &str| repeats && part.len() >= known.len() && part.bytes().all(|b| b == first);
    if word.len() <= known.len() || !word.contains(known) {
        return false;
    }
    let is_mask = |part: &&str| {
        part.len() > 1
            && part
                .bytes()
                .all(|b| b == part.as_bytes()[0] && b.is_ascii_alphabetic())
    };
    let parts = || word.split(['.', '-']);
    let format = repeats
        && (parts().filter(is_mask).count() > 1
            || parts()
                .next_back()
                .is_some_and(|last| word.contains('.') && last.len() <= 4 && !is_run(last)));
    !format && parts().any(|part| part == known || is_run(part))
}

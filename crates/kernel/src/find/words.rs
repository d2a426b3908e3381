//! Markers, masks and phrases: words that stand where a value belongs, or that put it off.

use super::{Finding, MAX_PER_TEXT, Source, is_lifted};
use crate::rules::{Matcher, Rule, RuleSet};
use crate::text::token::{Sentence, TokenKind};

pub(super) fn find(rules: &'static RuleSet, source: &Source<'_>, all: &[Source<'_>], out: &mut Vec<Finding>) {
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
                if is_marker(rule, source, at) && !is_lifted(rule, source, *sentence, at, at + 1) && !is_lifted_by_intent(rule, all) {
                    out.push(source.finding(rule, *sentence, at, at + 1));
                    break;
                }
            }
            for (number, pattern) in rules.index.find(token.key).into_iter().flatten() {
                let rule = &rules.rules[usize::from(*number)];
                if let Some(end) = rule.patterns[usize::from(*pattern)].match_at(&source.text, *sentence, at) {
                    let found = match_rule(rule, source, all, *sentence, at, end);
                    out.extend(found);
                }
            }
        }
    }
}

fn match_rule(rule: &'static Rule, source: &Source<'_>, all: &[Source<'_>], sentence: Sentence, at: usize, end: usize) -> Option<Finding> {
    let (at, end) = match rule.matcher {
        Matcher::Phrase => (at, end),
        Matcher::Mask => {
            let mask = (at..end).find(|i| rule.words.iter().any(|word| word == source.text.word(*i)))?;
            if is_used_elsewhere(source, all, mask) {
                return None;
            }
            (mask, mask + 1)
        }
        // Hedges and alternatives are read with their sentence, in `choice`.
        _ => return None,
    };
    let quoted = source.text.tokens[at..end].iter().all(|token| token.quoted);
    if quoted || is_lifted(rule, source, sentence, at, end) || is_lifted_by_intent(rule, all) {
        return None;
    }
    Some(source.finding(rule, sentence, at, end))
}

fn is_lifted_by_intent(rule: &Rule, all: &[Source<'_>]) -> bool {
    !rule.unless_intent.is_empty()
        && all.iter().any(|source| source.text.tokens.iter().any(|token| rule.unless_intent.contains(&token.key)))
}

/// A letter that occurs again is a name that the text gives meaning to.
fn is_used_elsewhere(source: &Source<'_>, all: &[Source<'_>], mask: usize) -> bool {
    let word = source.text.word(mask);
    let key = source.text.tokens[mask].key;
    let uses = all.iter().map(|other| {
        let tokens = other.text.tokens.iter();
        tokens.filter(|token| token.key == key && &other.text.raw[token.span()] == word).count()
    });
    word.len() == 1 && uses.sum::<usize>() > 1
}

/// Whether the token, or a part of it between dots, slashes or hyphens, is one of the rule's words as written. `YOUR_*` and
/// `*_HERE` stand for names that begin or end so. A run of signs is at least as long as the word.
fn is_marker(rule: &Rule, source: &Source<'_>, at: usize) -> bool {
    let token = source.text.tokens[at];
    let word = source.text.word(at);
    if token.kind == TokenKind::Sign {
        let next_spaced = source.text.tokens.get(at + 1).is_none_or(|next| next.spaced || next.kind == TokenKind::Sign);
        return word.len() >= 2
            && rule.words.iter().any(|known| {
                known.len() <= word.len() && word.starts_with(known.as_str()) && (word.len() > 2 || token.spaced && next_spaced)
            });
    }
    if !word.bytes().any(|b| b.is_ascii_uppercase() || b == b'x') {
        return false;
    }
    rule.words.iter().any(|known| match (known.strip_suffix('*'), known.strip_prefix('*')) {
        (Some(begin), _) => word.len() > begin.len() && word.starts_with(begin),
        (_, Some(end)) => word.len() > end.len() && word.ends_with(end) && word.bytes().any(|b| b == b'_'),
        _ => word == known || word.len() > known.len() && word.contains(known.as_str()) && word.split(['.', '-']).any(|part| part == known),
    })
}

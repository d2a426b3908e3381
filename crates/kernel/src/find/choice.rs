//! Open choices: hedges, alternatives, questions. A finding is about the whole sentence.

use super::{Finding, MAX_PER_TEXT, Origin, Source, is_lifted};
use crate::rules::{Class, Matcher, Rule, RuleSet, Severity};
use crate::text::token::{Sentence, TokenKind, key_of};

const OR: u64 = key_of(b"or");
const EITHER: u64 = key_of(b"either");
/// The most words in an option.
const OPTION_WORDS: usize = 8;

pub(super) fn find(rules: &'static RuleSet, source: &Source<'_>, out: &mut Vec<Finding>) {
    for sentence in &source.text.sentences {
        if out.len() >= MAX_PER_TEXT {
            return;
        }
        find_hedge(rules, source, *sentence, out);
        for rule in rules.of_matcher(Matcher::Question) {
            find_question(rule, source, *sentence, out);
        }
    }
}

fn find_hedge(
    rules: &'static RuleSet,
    source: &Source<'_>,
    sentence: Sentence,
    out: &mut Vec<Finding>,
) {
    let mut best: Option<(&'static Rule, usize, Vec<String>)> = None;
    for at in sentence.from..sentence.to {
        let token = source.text.tokens[at];
        let decided = best
            .as_ref()
            .is_some_and(|(rule, ..)| rule.severity == Severity::Ask);
        if token.quoted || decided {
            continue;
        }
        if token.key == OR {
            for rule in rules.of_matcher(Matcher::Alternative) {
                if let Some(options) = alternatives(rule, source, sentence, at) {
                    consider(&mut best, rule, at, options);
                }
            }
        }
        for (number, pattern) in rules.index.find(token.key).into_iter().flatten() {
            let rule = &rules.rules[usize::from(*number)];
            let pattern = &rule.patterns[usize::from(*pattern)];
            let Some(end) = pattern.match_at(&source.text, sentence, at) else {
                continue;
            };
            if rule.matcher == Matcher::Hedge
                && super::is_in_place(rule, pattern, source, sentence, (at, end))
                && !is_name(source, sentence, at)
                && !is_lifted(rule, source, sentence, at, end)
            {
                consider(&mut best, rule, at, either_options(source, sentence));
            }
        }
    }
    if let Some((rule, at, options)) = best {
        let mut finding = source.finding(rule, sentence, sentence.from, sentence.to);
        finding.sentence = source.around(sentence, at);
        finding.options = options;
        out.push(finding);
    }
}

/// Whether a word is a name, by a capital inside the sentence: the type `Maybe`.
fn is_name(source: &Source<'_>, sentence: Sentence, at: usize) -> bool {
    let word = source.text.word(at).as_bytes();
    let begins = (sentence.from..at).all(|i| source.text.tokens[i].kind == TokenKind::Sign)
        || source.text.is_sign(at - 1, ':');
    !begins && word.len() > 1 && word[0].is_ascii_uppercase() && word[1].is_ascii_lowercase()
}

/// Prefers a rule that asks to one that only notes; else keeps the first.
fn consider(
    best: &mut Option<(&'static Rule, usize, Vec<String>)>,
    rule: &'static Rule,
    at: usize,
    options: Vec<String>,
) {
    if best
        .as_ref()
        .is_none_or(|(known, ..)| rule.severity < known.severity)
    {
        *best = Some((rule, at, options));
    }
}

/// Returns the names around an `or` that are in one of the rule's groups. The clause must end after
/// the last of them, nothing may be permitted, denied or conditional, and one of the rule's
/// patterns must lead up to them.
fn alternatives(
    rule: &'static Rule,
    source: &Source<'_>,
    sentence: Sentence,
    at: usize,
) -> Option<Vec<String>> {
    let text = &source.text;
    at.checked_sub(sentence.from + 1)?;
    let group_of = |i: usize| {
        rule.groups
            .iter()
            .position(|group| group.has(text.tokens[i].key))
    };
    let is_article = |i: usize| {
        source
            .classes
            .get(i)
            .is_some_and(|class| class & Class::STOP != 0)
    };
    let right = if is_article(at + 1) { at + 2 } else { at + 1 };
    if right >= sentence.to || text.tokens[right].quoted {
        return None;
    }
    let (left_group, right_group) = (group_of(at - 1)?, group_of(right)?);
    let ends = text
        .tokens
        .get(right + 1)
        .is_none_or(|next| next.kind == TokenKind::Sign)
        || right + 1 >= sentence.to;
    if left_group != right_group || !ends || is_lifted(rule, source, sentence, at - 1, right + 1) {
        return None;
    }
    let blocking = Class::PERMISSION | Class::CONDITION | Class::NEGATION | Class::EXCEPTION;
    if source.has_class(sentence, blocking) {
        return None;
    }
    let mut options = vec![text.word(right).to_owned(), text.word(at - 1).to_owned()];
    let mut before = at - 1;
    while before >= sentence.from + 2
        && text.is_sign(before - 1, ',')
        && group_of(before - 2) == Some(left_group)
    {
        before -= 2;
        options.push(text.word(before).to_owned());
    }
    let led = rule.patterns.is_empty()
        || rule.patterns.iter().any(|pattern| {
            (sentence.from..before).any(|from| {
                pattern
                    .match_at(text, sentence, from)
                    .is_some_and(|end| end == before)
            })
        });
    led.then(|| tidy(options))
}

/// Returns the options of `either A or B`, or of `A or B or C` after a label, if all are short.
fn either_options(source: &Source<'_>, sentence: Sentence) -> Vec<String> {
    let text = &source.text;
    let start = (sentence.from..sentence.to)
        .find(|&i| text.tokens[i].key == EITHER)
        .map(|i| i + 1)
        .or_else(|| {
            (sentence.from..sentence.to)
                .find(|&i| text.is_sign(i, ':'))
                .map(|i| i + 1)
        });
    let Some(start) = start else {
        return Vec::new();
    };
    let end = (start..sentence.to)
        .find(|&i| matches!(text.word(i), ";" | "." | "," | "(" | "?" | "-" | "–"))
        .unwrap_or(sentence.to);
    let mut options = Vec::new();
    let mut from = start;
    for at in start..=end {
        if at == end || text.tokens[at].key == OR {
            let hedged = source
                .classes
                .get(from)
                .is_some_and(|class| class & Class::PERMISSION != 0);
            if at == from || at - from > OPTION_WORDS || hedged {
                return Vec::new();
            }
            let (start, end) = text.span(from, at);
            options.push(text.raw[start..end].to_owned());
            from = at + 1;
        }
    }
    tidy(options)
}

/// Sorts options and removes duplicates; returns none if fewer than two are left.
fn tidy(mut options: Vec<String>) -> Vec<String> {
    options.sort();
    options.dedup();
    if options.len() < 2 {
        options.clear();
    }
    options
}

/// Finds a constraint that is a question. A goal may be a polite request.
fn find_question(
    rule: &'static Rule,
    source: &Source<'_>,
    sentence: Sentence,
    out: &mut Vec<Finding>,
) {
    let text = &source.text;
    let last = sentence.to - 1;
    let asks = source.origin != Origin::Goal
        && text.is_sign(last, '?')
        && text.word(last).len() == 1
        && !text.tokens[last].quoted
        && sentence.to - sentence.from > 1;
    if asks && !is_lifted(rule, source, sentence, sentence.from, sentence.to) {
        let mut finding = source.finding(rule, sentence, sentence.from, sentence.to);
        finding.options = either_options(source, sentence);
        out.push(finding);
    }
}

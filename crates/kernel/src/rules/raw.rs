//! The shape of the data files, and how they become rules. An unknown member or an unknown name is a fault.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::pattern::Pattern;
use super::profile::{Element, Profile};
use super::{Kind, Matcher, Rule, RuleSet, Severity, keys_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Named lists of words that patterns refer to as `@name`.
    #[serde(default)]
    sets: BTreeMap<String, String>,
    #[serde(default)]
    rule: Vec<RawRule>,
    #[serde(default)]
    element: Vec<RawElement>,
    #[serde(default)]
    profile: Vec<RawProfile>,
    words: Option<super::lexicon::RawWords>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: String,
    kind: String,
    severity: String,
    matcher: String,
    title: String,
    message: String,
    reason: String,
    advice: String,
    explanation: String,
    flags: Vec<String>,
    passes: Vec<String>,
    #[serde(default)]
    fills: bool,
    /// The sign that opens the brackets of a bracket rule.
    bracket: Option<char>,
    #[serde(default)]
    words: String,
    #[serde(default)]
    patterns: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    unless_sentence: Vec<String>,
    #[serde(default)]
    unless_intent: String,
    #[serde(default)]
    groups: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawElement {
    name: String,
    question: String,
    words: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    name: String,
    about: String,
    requires: Vec<String>,
    /// Asked only where goal and constraints have fewer words than this; always where it is left out.
    below_words: Option<usize>,
}

/// Adds what stands in one file.
pub(super) fn read_file(set: &mut RuleSet, text: &str) -> Result<(), String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    for raw in file.rule {
        let id = raw.id.clone();
        let rule = make_rule(raw, &file.sets).map_err(|fault| format!("{id}: {fault}"))?;
        if set.rules.iter().any(|known| known.id == rule.id) {
            return Err(format!("{id}: there are two of it"));
        }
        set.rules.push(rule);
    }
    for raw in file.element {
        set.elements
            .push(Element::new(raw.name, raw.question, &raw.words));
    }
    for raw in file.profile {
        let requires = raw.requires.iter().map(|name| {
            let found = set
                .elements
                .iter()
                .position(|element| element.name == *name);
            found.ok_or_else(|| format!("profile {}: no element is called {name}", raw.name))
        });
        let requires = requires.collect::<Result<Vec<_>, _>>()?;
        set.profiles.push(Profile {
            name: raw.name,
            about: raw.about,
            requires,
            below_words: raw.below_words,
        });
    }
    if let Some(words) = file.words {
        set.lexicon.read(&words)?;
    }
    Ok(())
}

fn make_rule(raw: RawRule, sets: &BTreeMap<String, String>) -> Result<Rule, String> {
    let kind = Kind::parse(&raw.kind).ok_or_else(|| format!("no kind is called {}", raw.kind))?;
    let severity = [Severity::Ask, Severity::Note, Severity::Off]
        .into_iter()
        .find(|severity| severity.name() == raw.severity)
        .ok_or_else(|| format!("no severity is called {}", raw.severity))?;
    let matcher = Matcher::parse(&raw.matcher)
        .ok_or_else(|| format!("no matcher is called {}", raw.matcher))?;
    if raw.flags.len() < 2 || raw.passes.len() < 2 {
        return Err("it needs two texts that it flags and two that it does not".to_owned());
    }
    let patterns = |list: &[String]| -> Result<Vec<Pattern>, String> {
        list.iter().map(|text| Pattern::parse(text, sets)).collect()
    };
    Ok(Rule {
        kind,
        severity,
        matcher,
        patterns: patterns(&raw.patterns)?,
        unless: patterns(&raw.unless)?,
        unless_sentence: patterns(&raw.unless_sentence)?,
        unless_intent: keys_of(&raw.unless_intent),
        groups: raw.groups.iter().map(|group| keys_of(group)).collect(),
        keys: sorted(keys_of(&raw.words)),
        words: raw.words.split_whitespace().map(str::to_owned).collect(),
        id: raw.id,
        title: raw.title,
        message: raw.message,
        reason: raw.reason,
        advice: raw.advice,
        explanation: raw.explanation.trim().to_owned(),
        flags: raw.flags,
        passes: raw.passes,
        fills: raw.fills,
        bracket: raw.bracket,
    })
}

fn sorted(mut keys: Vec<u64>) -> Vec<u64> {
    keys.sort_unstable();
    keys
}

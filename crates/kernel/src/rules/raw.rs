//! The format of the data files. An unknown member or name is a fault.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::profile::{Element, Profile};
use super::{Rule, RuleSet, Words};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Named lists of words that patterns refer to as `@name`.
    #[serde(default)]
    sets: BTreeMap<String, Words>,
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    element: Vec<Element>,
    #[serde(default)]
    profile: Vec<RawProfile>,
    words: Option<super::lexicon::RawWords>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    name: String,
    about: String,
    requires: Vec<String>,
    below_words: Option<usize>,
    #[serde(default)]
    essential: Vec<String>,
}

/// Adds the content of one file.
pub(super) fn read_file(set: &mut RuleSet, text: &str) -> Result<(), String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    for mut rule in file.rule {
        prepare(&mut rule, &file.sets).map_err(|fault| format!("{}: {fault}", rule.id))?;
        if set.rules.iter().any(|known| known.id == rule.id) {
            return Err(format!("{}: duplicate id", rule.id));
        }
        set.rules.push(rule);
    }
    set.elements.extend(file.element);
    for raw in file.profile {
        let elements = &set.elements;
        let indexes = |names: &[String]| -> Result<Vec<usize>, String> {
            let index = |name: &String| {
                let found = elements.iter().position(|element| element.name == *name);
                found.ok_or_else(|| format!("profile {}: no element is called {name}", raw.name))
            };
            names.iter().map(index).collect()
        };
        let (requires, essential) = (indexes(&raw.requires)?, indexes(&raw.essential)?);
        set.profiles.push(Profile {
            name: raw.name,
            about: raw.about,
            requires,
            below_words: raw.below_words,
            essential,
        });
    }
    if let Some(words) = file.words {
        set.lexicon.read(&words)?;
    }
    Ok(())
}

/// Checks a rule, and fills in the sets that its patterns refer to.
fn prepare(rule: &mut Rule, sets: &BTreeMap<String, Words>) -> Result<(), String> {
    if rule.flags.len() < 2 || rule.passes.len() < 2 {
        return Err("it needs two texts that it flags and two that it does not".to_owned());
    }
    rule.explanation = rule.explanation.trim().to_owned();
    let lists = [
        &mut rule.patterns,
        &mut rule.unless,
        &mut rule.unless_sentence,
    ];
    lists
        .into_iter()
        .flatten()
        .try_for_each(|pattern| pattern.fill_in(sets))
}

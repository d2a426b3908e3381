//! Which of the six replay rules of document 004 each rule of a run bundle belongs to.
//!
//! A replay reports by those six. Each rule of [`RULES`](super::rules::RULES) has its row here; a test compares both.

use super::layout::{MANIFEST, RUN_INPUT, RUN_OUTPUT};

/// How many replay rules there are.
pub const COUNT: usize = 6;
/// The replay rule that every file has its listed hash.
const FILES: usize = 4;

/// Where the findings of one rule are reported.
pub struct ReplayRule {
    /// The rule of the run bundle.
    pub id: &'static str,
    /// The replay rule that a finding violates, if its file is not in `by_file`; from 1.
    number: usize,
    /// The replay rule that a finding in this file violates.
    by_file: &'static [(&'static str, usize)],
    /// Whether the replay rule is unchecked if this rule could not be run.
    decides: bool,
}

impl ReplayRule {
    fn violated(&self, file: Option<&str>) -> usize {
        let own = self.by_file.iter().find(|(name, _)| file == Some(name));
        own.map_or(self.number, |(_, number)| *number) - 1
    }

    /// The index of the replay rule that is unchecked if this rule could not be run, from 0.
    pub fn unchecked(&self) -> Option<usize> {
        self.decides.then_some(self.number - 1)
    }
}

/// The row of a rule of run bundles.
pub fn replay_rule(id: &str) -> Option<&'static ReplayRule> {
    REPLAY_RULES.iter().find(|row| row.id == id)
}

/// The index of the replay rule that a finding violates, from 0. The rules of a redacted copy compare what it
/// shows with its commitment, as the list of hashes does for a whole bundle.
pub fn violated(id: &str, file: Option<&str>) -> usize {
    replay_rule(id).map_or(FILES - 1, |row| row.violated(file))
}

const fn row(id: &'static str, number: usize) -> ReplayRule {
    ReplayRule {
        id,
        number,
        by_file: &[],
        decides: false,
    }
}

impl ReplayRule {
    const fn deciding(mut self) -> Self {
        self.decides = true;
        self
    }

    const fn by_file(mut self, by_file: &'static [(&'static str, usize)]) -> Self {
        self.by_file = by_file;
        self
    }
}

/// What is wrong with the input or the output belongs to the rule about that.
const DOCUMENTS: &[(&str, usize)] = &[(RUN_INPUT, 2), (RUN_OUTPUT, 3)];

/// In the order of the rules.
pub static REPLAY_RULES: [ReplayRule; 21] = [
    row("RB1", 1),
    // Unlisted files, wrong hashes, an incomplete index, what is stored as what was read: the fourth.
    row("RB2", FILES),
    row("RB3", 2).deciding(),
    row("RB4", 3).deciding(),
    row("RB5", FILES).deciding(),
    row("RB6", 5).deciding(),
    row("RB7", FILES),
    row("RB8", 3).by_file(&[(RUN_INPUT, 2)]),
    row("RB9", 5).deciding(),
    row("RB10", 6).deciding(),
    row("RB11", FILES),
    row("RB12", FILES),
    row("RB13", FILES).by_file(DOCUMENTS),
    row("RB14", FILES),
    row("RB15", 6).by_file(&[(MANIFEST, 5), (RUN_INPUT, 2), (RUN_OUTPUT, 3)]),
    row("RB16", 6),
    row("RB17", FILES),
    row("RB18", FILES).by_file(DOCUMENTS),
    row("RB19", FILES),
    row("RB20", FILES),
    row("RB21", FILES),
];

#[cfg(test)]
mod tests {
    use super::super::rules::RULES;
    use super::*;

    #[test]
    fn every_rule_has_its_replay_rule() {
        let rules: Vec<&str> = RULES.iter().map(|rule| rule.info.id).collect();
        let rows: Vec<&str> = REPLAY_RULES.iter().map(|row| row.id).collect();
        assert_eq!(rows, rules);
        for row in &REPLAY_RULES {
            let mut numbers = row.by_file.iter().map(|(_, number)| *number);
            assert!((1..=COUNT).contains(&row.number), "{}", row.id);
            assert!(
                numbers.all(|number| (1..=COUNT).contains(&number)),
                "{}",
                row.id
            );
        }
    }

    #[test]
    fn rule_whose_section_names_a_replay_rule_belongs_to_that() {
        for rule in &RULES {
            let Some((_, named)) = rule.info.section.split_once("replay rule ") else {
                continue;
            };
            let named: usize = named[..1].parse().unwrap();
            let row = replay_rule(rule.info.id).unwrap();
            assert_eq!(row.number, named, "{}", row.id);
        }
    }

    #[test]
    fn finding_in_the_input_violates_the_rule_about_the_input() {
        assert_eq!(violated("RB8", Some(RUN_INPUT)), 1);
        assert_eq!(violated("RB8", Some(RUN_OUTPUT)), 2);
        assert_eq!(violated("RB15", Some(MANIFEST)), 4);
        assert_eq!(violated("RB15", None), 5);
        assert_eq!(violated("RB13", Some("ARTIFACT_INDEX.json")), 3);
        assert_eq!(violated("RD1", Some(RUN_INPUT)), 3);
    }
}

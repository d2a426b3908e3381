//! What a rule found wrong.

use std::cmp::Ordering;

use crate::canon::compare_utf16;

/// One violation: which rule, where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule_id: &'static str,
    /// The place, in the form the format uses: a file's name, a JSON path, an id.
    pub path: Option<String>,
    /// What is wrong, for people, with expected and actual where there are such.
    pub message: String,
    /// Expected and actual again, for renderers that set them apart.
    pub difference: Option<Difference>,
}

/// What should be and what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What the document asks for or the record declares.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

impl Finding {
    /// What is wrong, without the values that differ where those are kept beside it.
    pub fn what(&self) -> &str {
        match self.difference {
            Some(_) => self.message.split(": expected ").next().unwrap_or_default(),
            None => &self.message,
        }
    }
}

/// By rule, then path (none first), then message; each by UTF-16 code units (002 §6.2).
impl Ord for Finding {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_path = || match (&self.path, &other.path) {
            (Some(a), Some(b)) => compare_utf16(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        compare_utf16(self.rule_id, other.rule_id)
            .then_with(by_path)
            .then_with(|| compare_utf16(&self.message, &other.message))
    }
}

impl PartialOrd for Finding {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a rule puts what it finds; stamps each finding with the rule's id.
#[derive(Debug)]
pub struct Findings {
    rule_id: &'static str,
    found: Vec<Finding>,
}

impl Findings {
    pub(super) fn of_rule(rule_id: &'static str) -> Self {
        Self {
            rule_id,
            found: Vec::new(),
        }
    }

    /// Adds a finding at `path`.
    pub fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.push(Some(path.into()), message.into(), None);
    }

    /// Adds a finding that has no place of its own.
    pub fn add_without_path(&mut self, message: impl Into<String>) {
        self.push(None, message.into(), None);
    }

    /// Adds a finding at `path`, if there is one.
    pub fn add_at(&mut self, path: Option<String>, message: impl Into<String>) {
        self.push(path, message.into(), None);
    }

    /// Adds a finding about something that is not what it should be.
    pub fn add_difference(
        &mut self,
        path: impl Into<String>,
        what: &str,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        let difference = Difference {
            expected: expected.into(),
            actual: actual.into(),
        };
        let message = format!(
            "{what}: expected `{}`, actual `{}`",
            difference.expected, difference.actual
        );
        self.push(Some(path.into()), message, Some(difference));
    }

    /// Whether nothing was found so far.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.found
    }

    fn push(&mut self, path: Option<String>, message: String, difference: Option<Difference>) {
        self.found.push(Finding {
            rule_id: self.rule_id,
            path,
            message,
            difference,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_order_by_rule_path_message_in_utf16() {
        let finding = |rule_id, path: Option<&str>, message: &str| Finding {
            rule_id,
            path: path.map(str::to_owned),
            message: message.to_owned(),
            difference: None,
        };
        let ordered = [
            finding("PK1", Some("z"), "a"),
            finding("PK10", None, "a"),
            finding("PK2", None, "a"),
            finding("PK2", None, "b"),
            finding("PK2", Some("a"), "a"),
            finding("PK2", Some("\u{1f600}"), "a"),
            finding("PK2", Some("\u{e000}"), "a"),
        ];
        assert!(ordered.is_sorted());
    }
}

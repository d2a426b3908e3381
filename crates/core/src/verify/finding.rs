//! What a rule found wrong.

use std::cmp::Ordering;

use super::place::Place;
use crate::canon::compare_utf16;

/// One violation: which rule, where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule_id: &'static str,
    /// Where it is.
    pub place: Place,
    /// What is wrong, for people, with expected and actual where there are such.
    pub message: String,
    /// The parts of the message, where it is about something that is not what it should be.
    pub difference: Option<Difference>,
}

/// What should be and what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub subject: String,
    /// What the document asks for or the record declares.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

impl Finding {
    /// A finding about a unit as a whole.
    pub fn about_whole(rule_id: &'static str, message: impl Into<String>) -> Self {
        Self {
            rule_id,
            place: Place::whole(),
            message: message.into(),
            difference: None,
        }
    }

    /// The place as the format's document names it.
    pub fn path(&self) -> Option<&str> {
        self.place.label()
    }

    /// What is wrong, without the values that differ where those are kept beside it.
    pub fn headline(&self) -> &str {
        match &self.difference {
            Some(difference) => &difference.subject,
            None => &self.message,
        }
    }
}

/// By rule, then path (none first), then message; each by UTF-16 code units (002 §6.2).
impl Ord for Finding {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_path = || match (self.path(), other.path()) {
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
    names_files: bool,
    found: Vec<Finding>,
}

impl Findings {
    pub(super) fn of_rule(rule_id: &'static str, names_files: bool) -> Self {
        Self {
            rule_id,
            names_files,
            found: Vec::new(),
        }
    }

    /// Adds a finding at `place`.
    pub fn add(&mut self, place: impl Into<Place>, message: impl Into<String>) {
        self.push(place.into(), message.into(), None);
    }

    /// Adds a finding about the whole.
    pub fn add_without_path(&mut self, message: impl Into<String>) {
        self.push(Place::whole(), message.into(), None);
    }

    /// Adds a finding at `place`, about the whole where there is none.
    pub fn add_at(&mut self, place: Option<impl Into<Place>>, message: impl Into<String>) {
        let place = place.map_or_else(Place::whole, Into::into);
        self.push(place, message.into(), None);
    }

    /// Adds a finding about something that is not what it should be.
    pub fn add_difference(
        &mut self,
        place: impl Into<Place>,
        subject: &str,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        let difference = Difference {
            subject: subject.to_owned(),
            expected: expected.into(),
            actual: actual.into(),
        };
        let message = format!(
            "{subject}: expected `{}`, actual `{}`",
            difference.expected, difference.actual
        );
        self.push(place.into(), message, Some(difference));
    }

    /// Whether nothing was found so far.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.found
    }

    fn push(&mut self, place: Place, message: String, difference: Option<Difference>) {
        self.found.push(Finding {
            rule_id: self.rule_id,
            place: if self.names_files {
                place.as_file()
            } else {
                place
            },
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
            place: path.map_or_else(Place::whole, Place::named),
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

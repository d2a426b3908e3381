//! What a rule found wrong.

use std::cmp::Ordering;

use super::place::{Place, cut_text};
use crate::canon::compare_utf16;
use crate::limits::{FINDING_TEXT, FINDING_TEXT_A_RULE, FINDINGS_A_RULE};

/// One violation: which rule, where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The id of the rule that found it.
    pub rule_id: &'static str,
    /// Where it is: a file, a place in it, or the whole.
    pub place: Place,
    /// What is wrong, for people, with expected and actual value if there are any.
    pub message: String,
    /// The parts of the message, if it is about a value that is not the expected one.
    pub difference: Option<Difference>,
}

/// An expected and an actual value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What was compared.
    pub subject: String,
    /// What the document asks for or the record declares.
    pub expected: String,
    /// The value that was found.
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

    /// What is wrong, without the values that differ if [`Finding::difference`] has them.
    pub fn headline(&self) -> &str {
        match &self.difference {
            Some(difference) => &difference.subject,
            None => &self.message,
        }
    }

    /// The bytes of all its texts.
    fn text_bytes(&self) -> usize {
        let difference = self.difference.as_ref();
        let values = difference.map_or(0, |values| values.expected.len() + values.actual.len());
        self.place.text_bytes() + self.message.len() + values
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

/// Collects what a rule finds and marks each finding with the rule's id.
///
/// Keeps the first ones, up to the bounds of [`crate::limits`], and counts the others, so that the
/// size of a report is bounded. The verdict does not depend on their number.
#[derive(Debug)]
pub struct Findings {
    rule_id: &'static str,
    names_files: bool,
    found: Vec<Finding>,
    /// The bytes of text of those kept.
    kept_text: usize,
    not_kept: u64,
    /// Whether a comparison was not made.
    is_incomplete: bool,
}

impl Findings {
    pub(super) fn of_rule(rule_id: &'static str, names_files: bool) -> Self {
        Self {
            rule_id,
            names_files,
            found: Vec::new(),
            kept_text: 0,
            not_kept: 0,
            is_incomplete: false,
        }
    }

    /// Passes on what a comparison needs. If that is missing or mistyped, the comparison cannot be
    /// made, and a rule that finds nothing else was not run: it never counts as passed.
    ///
    /// Only for what is required: another rule, of the same level or a lower one, reports its absence.
    pub fn need<T>(&mut self, operand: Option<T>) -> Option<T> {
        self.is_incomplete |= operand.is_none();
        operand
    }

    /// Whether a comparison was not made, because something that it needs is not there.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Adds a finding at `place`.
    pub fn add(&mut self, place: impl Into<Place>, message: impl Into<String>) {
        self.push(place.into(), message.into(), None);
    }

    /// Adds a finding about the whole unit.
    pub fn add_without_path(&mut self, message: impl Into<String>) {
        self.push(Place::whole(), message.into(), None);
    }

    /// Adds a finding at `place`; about the whole unit if that is `None`.
    pub fn add_at(&mut self, place: Option<impl Into<Place>>, message: impl Into<String>) {
        let place = place.map_or_else(Place::whole, Into::into);
        self.push(place, message.into(), None);
    }

    /// Adds a finding about a value that is not the expected one.
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

    /// Whether nothing has been found so far.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the kept findings and, if some were not kept, one that says how many there are.
    pub(super) fn into_vec(mut self) -> Vec<Finding> {
        if self.not_kept > 0 {
            let listed = self.found.len() as u64;
            let message = format!(
                "{} findings of this rule; {listed} are listed: the limit is \
                 {FINDINGS_A_RULE} findings and {FINDING_TEXT_A_RULE} bytes of text per rule",
                listed + self.not_kept
            );
            self.found.push(Finding::about_whole(self.rule_id, message));
        }
        self.found
    }

    fn push(&mut self, place: Place, message: String, difference: Option<Difference>) {
        if self.found.len() == FINDINGS_A_RULE || self.kept_text > FINDING_TEXT_A_RULE {
            self.not_kept += 1;
            return;
        }
        let place = if self.names_files {
            place.named_as_file()
        } else {
            place
        };
        let finding = Finding {
            rule_id: self.rule_id,
            place: place.cut_to(FINDING_TEXT),
            message: cut(message),
            difference: difference.map(|difference| Difference {
                subject: cut(difference.subject),
                expected: cut(difference.expected),
                actual: cut(difference.actual),
            }),
        };
        self.kept_text += finding.text_bytes();
        self.found.push(finding);
    }
}

fn cut(text: String) -> String {
    cut_text(text, FINDING_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_beyond_the_limit_are_counted_and_reported() {
        let mut findings = Findings::of_rule("PK1", false);
        for at in 0..FINDINGS_A_RULE + 700 {
            findings.add(format!("[{at}]"), "wrong");
        }
        let found = findings.into_vec();
        assert_eq!(found.len(), FINDINGS_A_RULE + 1);
        assert_eq!(found[FINDINGS_A_RULE - 1].path(), Some("[999]"));
        let last = &found[FINDINGS_A_RULE];
        assert_eq!((last.rule_id, last.path()), ("PK1", None));
        assert!(
            last.message
                .starts_with("1700 findings of this rule; 1000 are listed")
        );
    }

    #[test]
    fn findings_at_the_limit_are_all_listed() {
        let mut findings = Findings::of_rule("PK1", false);
        (0..FINDINGS_A_RULE).for_each(|_| findings.add_without_path("wrong"));
        assert_eq!(findings.into_vec().len(), FINDINGS_A_RULE);
    }

    #[test]
    fn findings_that_quote_long_texts_are_cut_and_bounded_together() {
        let long = "é".repeat(FINDING_TEXT);
        let mut findings = Findings::of_rule("PK1", false);
        for _ in 0..500 {
            findings.add_difference(&*long, "another", &*long, &*long);
        }
        let found = findings.into_vec();
        let first = &found[0];
        assert!(first.path().is_some_and(|path| path.ends_with("é…")));
        let most = FINDING_TEXT + "…".len();
        assert!(found.iter().all(|finding| finding.text_bytes() <= 4 * most));
        let kept: usize = found.iter().map(Finding::text_bytes).sum();
        assert!(kept <= FINDING_TEXT_A_RULE + 5 * most, "{kept}");
        assert!(
            found
                .last()
                .is_some_and(|last| last.message.starts_with("500 findings"))
        );
    }

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

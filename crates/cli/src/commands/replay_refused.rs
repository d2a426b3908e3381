//! The answer about something that is not valid, and so is not replayed.

use std::fmt::Write as _;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::{Finding, Report, one_line, render_human, violations_json};

use crate::error::CliError;
use crate::{ui, verdict};

/// What is wrong with something that was to be replayed, or was needed for a replay.
pub(super) struct Refused<'a> {
    /// What its rules say.
    pub(super) report: &'a Report,
    /// What is wrong with the archive that it is in.
    pub(super) wrapping: &'a [Finding],
    /// For a job bundle: the lowest check of document 001 that failed.
    pub(super) check: Option<u32>,
}

impl Refused<'_> {
    /// Prints the verdict; for programs the findings go to standard error as well.
    pub(super) fn print(&self, shown: &str, json: bool) -> Result<(), CliError> {
        let title = self.report.format().title();
        let mut text = format!(
            "{}: NOT REPLAYABLE: the {title} is not valid\n",
            one_line(shown)
        );
        // Writing into a string cannot fail.
        for finding in self.wrapping {
            let _ = writeln!(text, "{}", verdict::finding_line(finding));
        }
        if !self.report.is_valid() {
            // Its first line only says that it is not valid.
            let found = render_human(self.report, shown);
            text.push_str(found.split_once('\n').map_or("", |(_, rest)| rest));
        }
        if !json {
            return ui::print_text(&text);
        }
        let findings = [self.report.findings(), self.wrapping].concat();
        let mut answer = Value::object([("verdict", "NOT REPLAYABLE")]);
        answer.insert("ok", false);
        answer.insert("violations", violations_json(&findings));
        if let Some(check) = self.check {
            answer.insert("check", check);
        }
        ui::tell(&text);
        ui::print_asked_json(&answer, Dialect::Kernel)
    }
}

//! Derives a context bundle again: its intent goes through the kernel, and the whole results are
//! compared by their canonical hash.

use std::fmt::Write as _;
use std::path::Path;

use runseal_core::canon::{
    Dialect, Document, Node, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use runseal_core::verify::{Outcome, one_line};
use runseal_fs::input::read_file;
use runseal_kernel::{Bundle, Refusal, transform};

use crate::error::{CliError, Named};
use crate::intent_input::{internal, read_intent};
use crate::ui;

/// The result of comparing a replay with the original.
#[derive(Default)]
pub(super) struct Comparison {
    /// What is the same.
    pub(super) same: Vec<String>,
    /// What came out differently.
    pub(super) differences: Vec<String>,
    /// What could not be compared, with the reason.
    pub(super) notes: Vec<String>,
    /// Whether the proposal was executed again.
    pub(super) was_executed: bool,
}

/// Derives the context bundle in the file `path` again from its intent, and compares the two.
pub fn replay_bundle(path: &Path, intent: &Path, json: bool) -> Result<Outcome, CliError> {
    let bytes = read_file(path, ReadOptions::default().limits.max_bytes)?;
    let document = parse(&bytes, path)?;
    let mut comparison = Comparison::default();
    compare_bundle(&mut comparison, document.root(), &make(intent)?, path)?;
    print(&comparison, path, json)
}

pub(super) fn parse<'a>(bytes: &'a [u8], path: &Path) -> Result<Document<'a>, CliError> {
    parse_document(bytes, &ReadOptions::default()).named(path.display())
}

/// The bundle that the kernel derives from an intent now, or its refusal.
pub(super) fn make(intent: &Path) -> Result<Result<Bundle, Refusal>, CliError> {
    match read_intent(intent)? {
        Ok(intent) => Ok(Ok(transform(&intent).map_err(|error| internal(&error))?)),
        Err(refusal) => Ok(Err(refusal)),
    }
}

pub(super) fn compare_bundle(
    comparison: &mut Comparison,
    sealed: Node<'_>,
    made: &Result<Bundle, Refusal>,
    path: &Path,
) -> Result<(), CliError> {
    let no_form = |error| CliError::within(error, path.display().to_string());
    let sealed_hash = canonical_digest(sealed, Dialect::Kernel).map_err(no_form)?;
    let bundle = match made {
        Ok(bundle) => bundle,
        Err(refusal) => {
            comparison.add("the outcome", "a bundle", &refusal.to_string());
            return Ok(());
        }
    };
    let made_hash = bundle.compute_hash().map_err(no_form)?;
    comparison.add(
        "the bundle's hash",
        &sealed_hash.to_string(),
        &made_hash.to_string(),
    );
    if sealed_hash == made_hash {
        return Ok(());
    }
    // Name the members that differ, so that a person knows where to look.
    let bytes_of = |node: Node<'_>| canonical_bytes(node, Dialect::Kernel).ok();
    for (key, value) in sealed.members() {
        let again = key.as_str().and_then(|key| bundle.value().get(&key));
        let again = again.and_then(|value| canonical_bytes(value, Dialect::Kernel).ok());
        if bytes_of(value) != again {
            comparison
                .differences
                .push(format!("member `{}` differs", key.to_lossy()));
        }
    }
    Ok(())
}

impl Comparison {
    pub(super) fn add(&mut self, what: &str, sealed: &str, now: &str) {
        if sealed == now {
            self.same.push(format!("{what}: {now}"));
        } else {
            self.differences
                .push(format!("{what}: sealed `{sealed}`, now `{now}`"));
        }
    }
}

pub(super) fn print(comparison: &Comparison, path: &Path, json: bool) -> Result<Outcome, CliError> {
    let is_same = comparison.differences.is_empty();
    // What was only derived again does not count as executed again.
    let verdict = match (is_same, comparison.was_executed) {
        (false, _) => "DIVERGED",
        (true, true) => "REPRODUCED",
        (true, false) => "RE-DERIVED",
    };
    if json {
        let list = |lines: &[String]| Value::array(lines.iter().map(String::as_str));
        let mut answer = Value::object([("verdict", verdict)]);
        answer.insert("same", list(&comparison.same));
        answer.insert("differences", list(&comparison.differences));
        answer.insert("notes", list(&comparison.notes));
        answer.insert("executed", comparison.was_executed);
        ui::print_json(&answer, Dialect::Kernel)?;
    } else {
        let mut text = format!("{}: {verdict}\n", one_line(&path.display().to_string()));
        // Writing into a string cannot fail.
        for line in &comparison.same {
            let _ = writeln!(text, "  same {}", one_line(line));
        }
        for line in &comparison.differences {
            let _ = writeln!(text, "  different: {}", one_line(line));
        }
        for line in &comparison.notes {
            let _ = writeln!(text, "  note: {}", one_line(line));
        }
        ui::print_text(&text)?;
    }
    Ok(if is_same {
        Outcome::Valid
    } else {
        Outcome::Invalid
    })
}

//! Actions that only check: validations, and the tests of a proposal.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::ContentHash;
use runseal_core::path::SafePath;
use runseal_kernel::proposal::{Test, TestKind, split_validation};
use runseal_sandbox::SandboxError;

use super::{Executor, LARGEST_FILE, Status, Step, TestOutcome, violation};

impl Executor<'_> {
    /// Runs a validation.
    pub(super) fn do_validate(&self, target: &str) -> Step {
        let (what, path) = split_validation(target);
        let Ok(path) = SafePath::parse(path) else {
            return Step::failed(violation("the path leaves the work folder"));
        };
        let content = match self.tree.read(&path, LARGEST_FILE) {
            Ok(content) => content,
            Err(error) => return Step::failed(format!("cannot be read: {}", error.kind())),
        };
        let fault = match (what, &content) {
            ("absent", None) => None,
            ("absent", Some(_)) => Some("the file exists"),
            (_, None) => Some("the file does not exist"),
            ("utf8", Some(bytes)) if str::from_utf8(bytes).is_err() => Some("not UTF-8"),
            ("json", Some(bytes)) if parse_document(bytes, &ReadOptions::default()).is_err() => {
                Some("not JSON")
            }
            _ => None,
        };
        let sha256 = content.map(|bytes| ContentHash::of(&bytes));
        match fault {
            None => Step {
                sha256,
                ..Step::of(Status::Success)
            },
            Some(fault) => Step {
                sha256,
                ..Step::failed(fault)
            },
        }
    }

    /// Runs the test of the proposal that a test action names.
    pub(super) fn do_named_test(&mut self, id: &str) -> Result<Step, SandboxError> {
        let proposal = self.proposal;
        let Some(test) = proposal.tests.iter().find(|test| test.id == id) else {
            return Ok(Step::failed("the proposal has no such test"));
        };
        let seen = self.do_test(test)?;
        let step = seen.step.unwrap_or_else(|| Step::of(Status::Success));
        if seen.passed {
            return Ok(Step {
                status: Status::Success,
                ..step
            });
        }
        let error = format!("the test did not pass: {}", seen.actual);
        Ok(Step {
            status: Status::Failure,
            error: Some(error),
            ..step
        })
    }

    pub(super) fn do_test(&mut self, test: &Test) -> Result<TestOutcome, SandboxError> {
        if test.kind == TestKind::CommandSuccess {
            let step = self.do_command(&test.target)?;
            let actual = match (step.exit_code, &step.error) {
                (Some(code), _) => code.to_string(),
                (None, Some(error)) => error.clone(),
                (None, None) => step.status.name().to_owned(),
            };
            let is_clean =
                matches!(step.status, Status::Success | Status::Failure) && step.error.is_none();
            let passed = is_clean && actual == test.expected;
            return Ok(TestOutcome {
                passed,
                actual,
                step: Some(step),
            });
        }
        let content = SafePath::parse(&test.target)
            .map_err(|_| "the path leaves the work folder".to_owned())
            .and_then(|path| {
                let read = self.tree.read(&path, LARGEST_FILE);
                read.map_err(|error| format!("cannot be read: {}", error.kind()))
            });
        let (passed, actual) = match (test.kind, content) {
            (_, Err(error)) => (false, error),
            (TestKind::FileExists, Ok(content)) => {
                let actual = content.is_some().to_string();
                (actual == test.expected, actual)
            }
            (_, Ok(None)) => (false, "missing".to_owned()),
            (TestKind::ContentMatch, Ok(Some(content))) => {
                let is_same = content == test.expected.as_bytes();
                (is_same, ContentHash::of(&content).to_string())
            }
            (_, Ok(Some(content))) => {
                let actual = ContentHash::of(&content).to_string();
                // An external producer may write the hash without a prefix.
                let is_same = actual == test.expected
                    || actual.strip_prefix("sha256:") == Some(test.expected.as_str());
                (is_same, actual)
            }
        };
        Ok(TestOutcome {
            passed,
            actual,
            step: None,
        })
    }
}

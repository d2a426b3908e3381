//! The executor: runs actions in order, then tests, in the sandbox; produces evidence of each.
//!
//! The harness writes files itself, through descriptors; commands run in the sandbox. An action
//! that violates the policy fails with `POLICY_VIOLATION: PL6: …`. After a required action has
//! failed, the following actions are skipped; tests still run, so that the evidence shows what
//! exists.

mod checks;
mod commands;

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use runseal_core::digest::{ContentHash, Hasher};
use runseal_core::formats::policy::Policy;
use runseal_core::path::SafePath;
use runseal_kernel::proposal::{Action, ActionKind, Proposal};
use runseal_sandbox::{Enforcement, Sandbox, SandboxError};

use super::contents::Contents;
use super::model::ModelServer;
use super::worktree::WorkTree;
use runseal_fs::models::ModelSession;

/// The result of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Success,
    Failure,
    Skipped,
    Timeout,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Skipped => "skipped",
            Self::Timeout => "timeout",
        }
    }
}

/// What one action or command did.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) status: Status,
    pub(super) exit_code: Option<u8>,
    pub(super) sha256: Option<ContentHash>,
    pub(super) stdout: Option<ContentHash>,
    pub(super) stderr: Option<ContentHash>,
    pub(super) error: Option<String>,
}

impl Step {
    fn of(status: Status) -> Self {
        Self {
            status,
            exit_code: None,
            sha256: None,
            stdout: None,
            stderr: None,
            error: None,
        }
    }

    fn failed(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::of(Status::Failure)
        }
    }
}

/// The result of a test.
#[derive(Debug, Clone)]
pub(super) struct TestOutcome {
    pub(super) passed: bool,
    pub(super) actual: String,
    pub(super) step: Option<Step>,
}

/// A file that exists at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputFile {
    pub(super) path: String,
    pub(super) sha256: ContentHash,
    pub(super) bytes: u64,
}

/// Everything that an execution did.
pub(super) struct Executed {
    pub(super) actions: Vec<Step>,
    pub(super) tests: Vec<TestOutcome>,
    pub(super) commands: Vec<String>,
    pub(super) stdout: ContentHash,
    pub(super) stderr: ContentHash,
    pub(super) outputs: Vec<OutputFile>,
    pub(super) truncated: bool,
    pub(super) timed_out: bool,
    pub(super) out_of_memory: bool,
    pub(super) signal: Option<i32>,
    /// What enforced the limits on its commands; `None` if no command ran.
    pub(super) enforcement: Option<Enforcement>,
    /// The output of its commands, and the files it left.
    pub(super) contents: Contents,
}

/// The largest output file that is examined; the policy's total is smaller.
pub(super) const LARGEST_FILE: u64 = 1 << 30;

pub(super) struct Executor<'a> {
    proposal: &'a Proposal,
    pub(super) policy: &'a Policy,
    sandbox: &'a Sandbox,
    surroundings: Surroundings<'a>,
    pub(super) tree: WorkTree,
    deadline: Instant,
    /// Files and bytes so far, as far as the harness wrote or counted them.
    pub(super) usage: (u64, u64),
    stdout: Hasher,
    stderr: Hasher,
    commands: Vec<String>,
    truncated: bool,
    timed_out: bool,
    out_of_memory: bool,
    signal: Option<i32>,
    enforcement: Option<Enforcement>,
    pub(super) contents: Contents,
}

/// What commands find around them in addition to the sandbox.
#[derive(Clone, Copy, Default)]
pub(super) struct Surroundings<'a> {
    /// Answers model calls on the model socket.
    pub(super) model: Option<&'a ModelServer>,
    /// Answers model calls over HTTP.
    pub(super) session: Option<&'a Arc<dyn ModelSession>>,
    /// The caller's PATH, searched for programs that the policy names and the sandbox's PATH does
    /// not have.
    pub(super) programs: Option<&'a OsStr>,
}

/// Executes a verified proposal.
pub(super) fn execute(
    proposal: &Proposal,
    policy: &Policy,
    sandbox: &Sandbox,
    surroundings: Surroundings<'_>,
) -> Result<Executed, SandboxError> {
    let tree =
        WorkTree::new(&policy.allowed_write_roots).map_err(|source| SandboxError::System {
            what: "make a work folder",
            source,
        })?;
    let mut executor = Executor {
        proposal,
        policy,
        sandbox,
        surroundings,
        tree,
        deadline: Instant::now() + Duration::from_millis(policy.timeout_ms),
        usage: (0, 0),
        stdout: Hasher::new(),
        stderr: Hasher::new(),
        commands: Vec::new(),
        truncated: false,
        timed_out: false,
        out_of_memory: false,
        signal: None,
        enforcement: None,
        contents: Contents::default(),
    };
    let mut actions = Vec::with_capacity(proposal.actions.len());
    let mut has_failed = false;
    for action in &proposal.actions {
        let step = if has_failed {
            Step::of(Status::Skipped)
        } else {
            executor.do_action(action)?
        };
        has_failed |= action.required && matches!(step.status, Status::Failure | Status::Timeout);
        actions.push(step);
    }
    let mut tests = Vec::with_capacity(proposal.tests.len());
    for test in &proposal.tests {
        tests.push(executor.do_test(test)?);
    }
    let outputs = match executor.collect() {
        Ok(outputs) => outputs,
        Err(error) => {
            // It is unknown which files exist. If no action has failed yet, the last one is to
            // blame.
            let is_fine = |step: &Step| matches!(step.status, Status::Success | Status::Skipped);
            if actions.iter().all(is_fine)
                && let Some(step) = actions.last_mut()
            {
                step.status = Status::Failure;
                step.error = Some(error);
            }
            Vec::new()
        }
    };
    Ok(Executed {
        actions,
        tests,
        commands: executor.commands,
        stdout: executor.stdout.finish().into(),
        stderr: executor.stderr.finish().into(),
        outputs,
        truncated: executor.truncated,
        timed_out: executor.timed_out,
        out_of_memory: executor.out_of_memory,
        signal: executor.signal,
        enforcement: executor.enforcement,
        contents: executor.contents,
    })
}

impl Executor<'_> {
    fn do_action(&mut self, action: &Action) -> Result<Step, SandboxError> {
        Ok(match action.kind {
            ActionKind::CreateFile | ActionKind::ModifyFile | ActionKind::DeleteFile => {
                self.do_file(action)
            }
            ActionKind::ExecuteCommand => self.do_command(&action.target)?,
            ActionKind::Validate => self.do_validate(&action.target),
            ActionKind::Test => self.do_named_test(&action.target)?,
        })
    }

    fn do_file(&mut self, action: &Action) -> Step {
        let Ok(path) = SafePath::parse(&action.target) else {
            return Step::failed(violation("the path leaves the work folder"));
        };
        let content = action.content.as_deref().unwrap_or_default().as_bytes();
        let done = match action.kind {
            ActionKind::CreateFile => self.tree.create(&path, content),
            ActionKind::ModifyFile => self.tree.modify(&path, content),
            _ => self.tree.delete(&path),
        };
        if let Err(error) = done {
            return Step::failed(match error.kind() {
                std::io::ErrorKind::AlreadyExists => "the file exists already".to_owned(),
                std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
                kind => format!("the file cannot be written: {kind}"),
            });
        }
        if action.kind == ActionKind::DeleteFile {
            return Step::of(Status::Success);
        }
        let hash = ContentHash::of(content);
        let expected = action.expected_hash.as_deref();
        if expected.is_some_and(|expected| expected != hash.to_string()) {
            return Step {
                sha256: Some(hash),
                ..Step::failed("the content does not have the expected hash")
            };
        }
        // Counting everything after every file would be slow for long plans.
        self.usage.0 += u64::from(action.kind == ActionKind::CreateFile);
        self.usage.1 += content.len() as u64;
        if let Err(error) = self.check_usage() {
            return Step {
                sha256: Some(hash),
                ..Step::failed(error)
            };
        }
        Step {
            sha256: Some(hash),
            ..Step::of(Status::Success)
        }
    }
}

pub(super) fn violation(what: &str) -> String {
    format!("POLICY_VIOLATION: PL6: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::canon::{ReadOptions, Value, parse_document};
    use runseal_core::formats::policy::Profile;

    fn short() -> Policy {
        Policy {
            timeout_ms: 400,
            ..Profile::named("dev").unwrap().to_policy()
        }
    }

    fn proposal(commands: &[&str]) -> Proposal {
        let text = r#"{"id":"bundle_0123456789abcdef","status":"complete","outputs":[]}"#;
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let commands = Value::array(commands.iter().copied());
        let extras = Value::object([("commands", commands)]);
        runseal_kernel::proposal::generate_proposal(document.root(), Some(&extras)).unwrap()
    }

    #[test]
    fn command_beyond_the_time_limit_times_out_and_the_rest_is_skipped() {
        let Some(sandbox) = runseal_testkit::isolation::sandbox() else {
            return;
        };
        let proposal = proposal(&["sleep 30", "true"]);
        let done = execute(&proposal, &short(), &sandbox, Surroundings::default()).unwrap();
        let statuses: Vec<Status> = done.actions.iter().map(|step| step.status).collect();
        assert_eq!(statuses, [Status::Timeout, Status::Skipped]);
        assert_eq!(done.actions[0].exit_code, Some(124));
        assert!(done.timed_out && !done.out_of_memory);
    }
}

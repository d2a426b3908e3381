//! The records of a run: run.json, evidence.json, runner.json and the ledger's entry.

use std::collections::BTreeSet;

use runseal_core::canon::{Value, compare_utf16};
use runseal_core::digest::ContentHash;
use runseal_core::formats::evidence::{CONTENTS, PROPOSAL};
use runseal_core::formats::pack::derive_sandbox_id;
use runseal_core::formats::policy::Policy;
use runseal_core::formats::run::{ResultKind, SCHEMA_VERSION, refusal_text};
use runseal_core::formats::run_bundle::layout::RunId;
use runseal_core::timestamp::format_utc;
use runseal_kernel::kernel_version;
use runseal_kernel::proposal::{ActionKind, Proposal};
use runseal_sandbox::{Enforcement, Enforcer, FIXED_ENVIRONMENT, Isolation, Limits};

use super::execute::{Executed, Status, Step};

/// When something began and ended, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) started: i64,
    pub(super) completed: i64,
}

fn time(milliseconds: i64) -> String {
    format_utc(milliseconds).unwrap_or_else(|| "1970-01-01T00:00:00.000Z".to_owned())
}

fn hash_or_null(hash: Option<ContentHash>) -> Value {
    Value::from(hash.map(|hash| hash.to_string()))
}

/// evidence.json.
pub(super) fn make_evidence(proposal: &Proposal, done: &Executed, times: Times) -> Value {
    let actions = proposal
        .actions
        .iter()
        .zip(&done.actions)
        .map(|(action, step)| {
            let mut result = Value::object([
                ("action_id", Value::from(action.id.as_str())),
                ("path", Value::from(action.target.as_str())),
                ("action", Value::from(action.kind.evidence_name())),
                ("sha256", hash_or_null(step.sha256)),
                ("exit_code", Value::from(step.exit_code)),
                ("status", Value::from(step.status.name())),
                ("required", Value::from(action.required)),
            ]);
            // A test that runs a command has output too.
            if action.kind == ActionKind::ExecuteCommand || step.stdout.is_some() {
                result.insert("stdout_sha256", hash_or_null(step.stdout));
                result.insert("stderr_sha256", hash_or_null(step.stderr));
            }
            if let Some(error) = &step.error {
                result.insert("error", error.as_str());
            }
            result
        });
    let tests = proposal.tests.iter().zip(&done.tests).map(|(test, seen)| {
        let step = seen.step.as_ref();
        let code = step.and_then(|step| step.exit_code);
        Value::object([
            ("test_id", Value::from(test.id.as_str())),
            ("passed", Value::from(seen.passed)),
            ("required", Value::from(test.required)),
            ("exit_code", Value::from(code)),
            (
                "stdout_sha256",
                hash_or_null(step.and_then(|step| step.stdout)),
            ),
            (
                "stderr_sha256",
                hash_or_null(step.and_then(|step| step.stderr)),
            ),
            ("actual", Value::from(seen.actual.as_str())),
        ])
    });
    let duration = times.completed - times.started;
    Value::object([
        ("proposal_id", Value::from(proposal.id.as_str())),
        ("proposal_hash", Value::from(proposal.hash().to_string())),
        ("action_results", Value::Array(actions.collect())),
        ("test_results", Value::Array(tests.collect())),
        ("status", Value::from(evidence_status(done))),
        ("started_at", Value::from(time(times.started))),
        ("completed_at", Value::from(time(times.completed))),
        ("total_duration_ms", Value::from(duration)),
        (
            "executor_id",
            Value::from(concat!("runseal-", env!("CARGO_PKG_VERSION"))),
        ),
        ("working_dir", Value::from("sandbox")),
        (PROPOSAL, proposal.value().clone()),
        (
            CONTENTS,
            done.contents.to_value(&named_contents(proposal, done)),
        ),
    ])
}

/// The contents that evidence and run refer to by hash: all output, and the files that exist at the
/// end; without those that the plan itself writes, which are in patch.json.
fn named_contents(proposal: &Proposal, done: &Executed) -> BTreeSet<ContentHash> {
    let tests = done.tests.iter().filter_map(|test| test.step.as_ref());
    let steps = done.actions.iter().chain(tests);
    let printed = steps.flat_map(|step| [step.stdout, step.stderr]).flatten();
    let files = done.outputs.iter().map(|output| output.sha256);
    let mut named: BTreeSet<ContentHash> = printed.chain(files).collect();
    for action in &proposal.actions {
        if let (true, Some(content)) = (action.kind.is_file_operation(), &action.content) {
            named.remove(&ContentHash::of(content.as_bytes()));
        }
    }
    named
}

fn evidence_status(done: &Executed) -> &'static str {
    let is_fine = |step: &Step| {
        matches!(step.status, Status::Success | Status::Skipped)
            && step.exit_code.is_none_or(|code| code == 0)
    };
    if done.actions.iter().all(is_fine) && done.tests.iter().all(|seen| seen.passed) {
        "complete"
    } else if done
        .actions
        .iter()
        .any(|step| step.status == Status::Success)
    {
        "partial"
    } else {
        "failed"
    }
}

/// The exit code of an execution: 0 if everything required succeeded, else that of the first
/// required command that failed, 124 after a timeout, or 1.
pub(super) fn exit_code(proposal: &Proposal, done: &Executed) -> u8 {
    let failed = |step: &Step| matches!(step.status, Status::Failure | Status::Timeout);
    for (action, step) in proposal.actions.iter().zip(&done.actions) {
        if action.required && failed(step) {
            return match (step.status, step.exit_code) {
                (Status::Timeout, _) => 124,
                (_, Some(code)) if code != 0 => code,
                _ => 1,
            };
        }
    }
    let is_missed = proposal
        .tests
        .iter()
        .zip(&done.tests)
        .any(|(test, seen)| test.required && !seen.passed);
    u8::from(is_missed)
}

/// The member `execution` of run.json.
pub(super) fn make_execution(proposal: &Proposal, policy: &Policy, done: &Executed) -> Value {
    let outputs = done.outputs.iter().map(|output| {
        Value::object([
            ("path", Value::from(output.path.as_str())),
            ("sha256", Value::from(output.sha256.to_string())),
            ("size_bytes", Value::from(output.bytes)),
        ])
    });
    let total: u64 = done.outputs.iter().map(|output| output.bytes).sum();
    let sandbox_id = derive_sandbox_id(policy.name, &proposal.hash().to_string());
    Value::object([
        ("sandbox_id", Value::from(sandbox_id)),
        (
            "cmd",
            Value::array(done.commands.iter().map(String::as_str)),
        ),
        ("exit_code", Value::from(exit_code(proposal, done))),
        ("stdout_sha256", Value::from(done.stdout.to_string())),
        ("stderr_sha256", Value::from(done.stderr.to_string())),
        ("outputs", Value::Array(outputs.collect())),
        ("total_output_bytes", Value::from(total)),
        ("output_truncated", Value::from(done.truncated)),
    ])
}

/// The input for run.json.
pub(super) struct RunRecord<'a> {
    pub(super) run_id: &'a RunId,
    pub(super) times: Times,
    pub(super) policy: &'a Policy,
    pub(super) intent_path: &'a str,
    pub(super) intent_hash: ContentHash,
    pub(super) bundle: Option<(&'a str, ContentHash)>,
    pub(super) kind: ResultKind,
    pub(super) questions: &'a [String],
    pub(super) refusal: Option<&'a str>,
    pub(super) execution: Option<Value>,
    pub(super) accepted: bool,
    pub(super) reasons: &'a [String],
    pub(super) model_mode: &'static str,
}

/// run.json.
pub(super) fn make_run(record: &RunRecord<'_>) -> Value {
    let bundle = record.bundle.map(|(id, hash)| {
        Value::object([
            ("bundle_id", Value::from(id)),
            ("sha256", Value::from(hash.to_string())),
        ])
    });
    let mut run = Value::object([
        ("run_schema_version", Value::from(SCHEMA_VERSION)),
        ("run_id", Value::from(record.run_id.as_str())),
        ("started_at", Value::from(time(record.times.started))),
        ("completed_at", Value::from(time(record.times.completed))),
        ("kernel_version", Value::from(kernel_version())),
        ("policy", record.policy.to_value()),
        (
            "intent",
            Value::object([
                ("path", Value::from(record.intent_path)),
                ("sha256", Value::from(record.intent_hash.to_string())),
            ]),
        ),
        ("bundle", Value::from(bundle)),
        ("kernel_result_kind", Value::from(record.kind.name())),
        ("execution", Value::from(record.execution.clone())),
        ("model_mode", Value::from(record.model_mode)),
    ]);
    let reasons = record.reasons.iter().map(String::as_str);
    let mut decision = Value::object([
        ("accepted", Value::from(record.accepted)),
        ("reasons", Value::array(reasons)),
        ("validated_by_kernel", Value::from(true)),
    ]);
    if record.kind == ResultKind::Clarify {
        let questions = record.questions.iter().map(String::as_str);
        run.insert("clarify_questions", Value::array(questions));
    }
    if let Some(refusal) = record.refusal {
        run.insert("refuse_reason", refusal);
        decision.insert("reason", refusal_text(refusal));
    }
    run.insert("decision", decision);
    run
}

/// The ledger's entry.
pub(super) fn make_entry(record: &RunRecord<'_>) -> Value {
    let bundle = record.bundle.map(|(_, hash)| hash);
    Value::object([
        ("run_id", Value::from(record.run_id.as_str())),
        ("timestamp", Value::from(time(record.times.completed))),
        ("intent_sha256", Value::from(record.intent_hash.to_string())),
        ("bundle_sha256", hash_or_null(bundle)),
        ("result_kind", Value::from(record.kind.name())),
        ("accepted", Value::from(record.accepted)),
        ("mode", Value::from(record.model_mode)),
        ("policy", Value::from(record.policy.name)),
        // In a pack the line is the only one; a ledger with earlier lines sets this itself.
        ("previous", Value::Null),
    ])
}

/// Further input for runner.json, beyond that for the run.
pub(super) struct RunnerFacts {
    pub(super) isolation: Isolation,
    pub(super) node_version: String,
    pub(super) npm_version: String,
    pub(super) exit_code: u8,
    pub(super) signal: Option<i32>,
    pub(super) out_of_memory: bool,
    pub(super) timed_out: bool,
    /// What enforced the limits on the commands; `None` if no command ran.
    pub(super) enforcement: Option<Enforcement>,
}

/// The limits that the kernel itself did not enforce.
fn watched_limits(enforcement: Enforcement) -> Vec<&'static str> {
    let mut watched = Vec::new();
    if enforcement.memory < Enforcer::Kernel {
        watched.push("memory of all processes together was measured every 20 ms");
    }
    if enforcement.work_folder < Enforcer::Kernel {
        watched.push("the size of the work folder was measured every 20 ms");
    }
    watched
}

/// runner.json.
pub(super) fn make_runner(record: &RunRecord<'_>, facts: &RunnerFacts) -> Value {
    let is_isolated = facts.isolation == Isolation::Full;
    let policy = record.policy;
    let sorted = |list: &[String]| {
        let mut list: Vec<&str> = list.iter().map(String::as_str).collect();
        list.sort_by(|a, b| compare_utf16(a, b));
        Value::array(list)
    };
    let started = time(record.times.started);
    let digits: String = started
        .chars()
        .filter(char::is_ascii_digit)
        .take(14)
        .collect();
    let (date, clock) = digits.split_at_checked(8).unwrap_or(("00000000", "000000"));
    let tail = ContentHash::of(record.run_id.as_str().as_bytes())
        .digest()
        .hex_prefix(8);
    let mut limits = Value::object([
        ("timeout_ms", policy.timeout_ms),
        ("max_output_files", policy.max_output_files),
        ("max_total_output_bytes", policy.max_total_output_bytes),
    ]);
    let mut warnings: Vec<&str> = Vec::new();
    if is_isolated {
        limits.insert("max_memory_bytes", Limits::default().memory_bytes);
        warnings.extend(facts.enforcement.into_iter().flat_map(watched_limits));
    } else {
        warnings.push("no isolation: commands ran with the rights of the caller");
    }
    let mut exit = Value::object([
        ("code", Value::from(facts.exit_code)),
        ("oom_killed", Value::from(facts.out_of_memory)),
        ("timeout_killed", Value::from(facts.timed_out)),
    ]);
    if let Some(signal) = facts.signal {
        exit.insert("signal", signal_name(signal));
    }
    let (backend, level) = if is_isolated {
        ("process", "strict")
    } else {
        ("none", "none")
    };
    let env: Vec<&str> = FIXED_ENVIRONMENT.iter().map(|(name, _)| *name).collect();
    Value::object([
        ("runner_schema_version", Value::from("1.0.0")),
        (
            "runner_id",
            Value::from(format!("runner_{date}_{clock}_{tail}")),
        ),
        ("runner_version", Value::from(env!("CARGO_PKG_VERSION"))),
        (
            "platform",
            Value::object([
                ("os", os_name()),
                ("arch", arch_name()),
                ("node_version", facts.node_version.as_str()),
                ("npm_version", facts.npm_version.as_str()),
            ]),
        ),
        (
            "sandbox",
            Value::object([
                ("backend", Value::from(backend)),
                ("isolation_level", Value::from(level)),
                ("network_blocked", Value::from(is_isolated)),
                ("filesystem_readonly", Value::from(is_isolated)),
            ]),
        ),
        ("limits", limits),
        (
            "commands",
            Value::object([
                ("allowlist", sorted(&policy.allowed_commands)),
                ("blocklist", sorted(&[])),
                ("shell", Value::from("/bin/sh")),
            ]),
        ),
        ("write_roots", sorted(&policy.allowed_write_roots)),
        (
            "context",
            Value::object([
                ("working_dir", Value::from(".")),
                ("env_allowlist", Value::array(env)),
                ("locale", Value::from("C.UTF-8")),
                ("timezone", Value::from("UTC")),
            ]),
        ),
        (
            "timing",
            Value::object([
                ("started_at", Value::from(started)),
                ("completed_at", Value::from(time(record.times.completed))),
                (
                    "duration_ms",
                    Value::from(record.times.completed - record.times.started),
                ),
            ]),
        ),
        ("exit", exit),
        ("warnings", Value::array(warnings)),
    ])
}

fn os_name() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        _ => "linux",
    }
}

fn arch_name() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86" => "ia32",
        _ => "x64",
    }
}

fn signal_name(signal: i32) -> String {
    let known = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
        (31, "SIGSYS"),
    ];
    let name = known.iter().find(|(number, _)| *number == signal);
    name.map_or_else(|| format!("SIG{signal}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_not_enforced_by_the_kernel_are_warned_of() {
        let warnings = |memory, work_folder| {
            watched_limits(Enforcement {
                memory,
                work_folder,
            })
            .len()
        };
        assert_eq!(warnings(Enforcer::Kernel, Enforcer::Kernel), 0);
        assert_eq!(warnings(Enforcer::Watcher, Enforcer::Kernel), 1);
        assert_eq!(warnings(Enforcer::Watcher, Enforcer::Watcher), 2);
    }
}

//! runner.json: the machine and sandbox of a run, RN1-RN12.
//!
//! Paths in findings are bare dotted paths, absent for top-level fields. A missing object silences
//! only the rules that need it.

mod checks;

use crate::canon::{Dialect, Kind, Node, ObjectWriter};
use crate::digest::{ContentHash, Hasher};
use crate::formats::Format;
use crate::formats::definition::{DocumentFormat, Identity, ProofScope, infos};
use crate::verify::{Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};
use checks::{
    check_canonical, check_commands, check_context, check_exit, check_limits, check_names,
    check_platform, check_sandbox, check_schema, check_timing, check_version, check_write_roots,
    needs, needs_object,
};

/// The known version.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// Required parts (`write_roots` is a list).
const PARTS: [(&str, Kind); 8] = [
    ("platform", Kind::Object),
    ("sandbox", Kind::Object),
    ("limits", Kind::Object),
    ("commands", Kind::Object),
    ("write_roots", Kind::Array),
    ("context", Kind::Object),
    ("timing", Kind::Object),
    ("exit", Kind::Object),
];

/// Members that the hash covers; `timing`, `ephemeral` and unknown ones are left out (RN11).
const CORE: [&str; 11] = [
    "commands",
    "context",
    "exit",
    "limits",
    "platform",
    "runner_id",
    "runner_schema_version",
    "runner_version",
    "sandbox",
    "warnings",
    "write_roots",
];

/// A runner record as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct RunnerView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
}

/// Names the runner record as the subject of its rules.
pub struct Runner;

impl Subject for Runner {
    type View<'a> = RunnerView<'a>;
    const FORMAT: Format = Format::Runner;
}

/// Verifies a runner record.
pub fn verify_runner(view: &RunnerView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

/// The hash of a runner record: over the canonical bytes of its core, with the LF (RN11).
pub fn compute_runner_hash(root: Node<'_>) -> Option<ContentHash> {
    let mut core = ObjectWriter::begin(Hasher::new(), Dialect::Kernel).ok()?;
    for field in CORE {
        if let Some(node) = root.get(field) {
            core.member(field, node).ok()?;
        }
    }
    let mut hasher = core.end().ok()?;
    hasher.update(b"\n");
    Some(hasher.finish().into())
}

const fn info(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Runner,
        title,
        section: "002 §3.1 runner.json",
        level: Level::Document,
        explanation,
    }
}

/// The rules of a runner record.
pub static RULES: [Rule<Runner>; 12] = [
    Rule {
        info: info(
            "SCHEMA",
            "the parts are there",
            "The document is an object with platform, sandbox, limits, commands, write_roots, \
             context, timing and exit; lists are lists of strings; phases are objects with name, \
             started_at and duration_ms; warnings, if given, are sorted strings.",
        ),
        gate: |_| Gate::Ready,
        check: check_schema,
    },
    Rule {
        info: info(
            "RN1",
            "the version is known",
            "runner_schema_version is 1.0.0.",
        ),
        gate: needs_object,
        check: check_version,
    },
    Rule {
        info: info(
            "RN2",
            "the runner is named",
            "runner_id is runner_YYYYMMDD_HHMMSS_ and lower-case letters or digits; \
             runner_version is not empty.",
        ),
        gate: needs_object,
        check: check_names,
    },
    Rule {
        info: info(
            "RN3",
            "the platform is described",
            "os is linux, darwin or win32; arch x64, arm64 or ia32; node_version begins with v; \
             npm_version is a string.",
        ),
        gate: |view| needs(view, "platform"),
        check: check_platform,
    },
    Rule {
        info: info(
            "RN4",
            "the sandbox is described",
            "backend is process, container, vm or none; isolation_level strict, standard or none, \
             and none only with backend none; network_blocked and filesystem_readonly are \
             booleans.",
        ),
        gate: |view| needs(view, "sandbox"),
        check: check_sandbox,
    },
    Rule {
        info: info(
            "RN5",
            "limits are within bounds",
            "timeout_ms is 1000 to 600000, max_output_files 1 to 10000, max_total_output_bytes \
             1024 to 1073741824; max_memory_bytes and max_cpu_seconds are positive if given.",
        ),
        gate: |view| needs(view, "limits"),
        check: check_limits,
    },
    Rule {
        info: info(
            "RN6",
            "commands are listed",
            "allowlist and blocklist are sorted and have nothing in common; shell is not empty.",
        ),
        gate: |view| needs(view, "commands"),
        check: check_commands,
    },
    Rule {
        info: info(
            "RN7",
            "write roots are safe",
            "write_roots is sorted; every one is relative and contains no `..`.",
        ),
        gate: |view| needs(view, "write_roots"),
        check: check_write_roots,
    },
    Rule {
        info: info(
            "RN8",
            "the context leaks nothing",
            "working_dir is `.`; env_allowlist is sorted and has no name that begins with SSH_, \
             NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_; locale and timezone are strings.",
        ),
        gate: |view| needs(view, "context"),
        check: check_context,
    },
    Rule {
        info: info(
            "RN9",
            "times agree",
            "started_at and completed_at are ISO 8601 UTC, in order; duration_ms is within 1 ms \
             of their difference; phases are sorted by started_at.",
        ),
        gate: |view| needs(view, "timing"),
        check: check_timing,
    },
    Rule {
        info: info(
            "RN10",
            "the exit is described",
            "code is an integer from 0 to 255; signal is upper case if given; oom_killed and \
             timeout_killed are booleans.",
        ),
        gate: |view| needs(view, "exit"),
        check: check_exit,
    },
    Rule {
        info: info(
            "RN12",
            "the record has a canonical form",
            "The whole record, ephemeral included, can be written canonically; a number beyond \
             the range of a double cannot.",
        ),
        gate: needs_object,
        check: check_canonical,
    },
];

/// The definition of the runner record format.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::Runner,
    proves: ProofScope {
        shows: &["That the record is complete and its times and limits are consistent."],
        does_not: &["That it happened: it is its maker's word."],
    },
    rules: || infos(&RULES),
    members: &[
        "runner_schema_version",
        "runner_id",
        "runner_version",
        "write_roots",
        "platform",
    ],
    file_name: "runner.json",
    judge: |root, level| verify_runner(&RunnerView { root }, level),
    identify: |root| Identity::of_members(root, &["runner_id"]),
};

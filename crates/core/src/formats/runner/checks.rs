//! The checks of a runner record, one function per rule.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{PARTS, RunnerView, SCHEMA_VERSION};
use crate::canon::{Dialect, JsonPath, Kind, Node, canonical_digest};
use crate::formats::policy::BOUNDS;
use crate::formats::shape::{
    Member, find_misfits, is_filled_text, is_flag, is_number, is_text, is_word, member, optional,
    text_is,
};
use crate::path::has_drive_prefix;
use crate::timestamp::parse_utc;
use crate::verify::{Findings, Gate, Place};

/// The place labelled as reports name it: the path without `$`.
fn place(path: JsonPath) -> Place {
    let label = path.to_string();
    Place::named(label.trim_start_matches("$.")).at(path)
}

/// Prefixes of variables that may contain keys.
const SECRET_PREFIXES: [&str; 6] = ["SSH_", "NPM_", "GIT_", "AWS_", "OPENAI_", "ANTHROPIC_"];

pub(super) fn needs_object(view: &RunnerView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is not an object"),
    }
}

pub(super) fn needs(view: &RunnerView<'_>, part: &str) -> Gate {
    if part_of(view, part).is_some() {
        Gate::Ready
    } else {
        Gate::NotRun("the part of the record it looks at is missing")
    }
}

fn part_of<'a>(view: &RunnerView<'a>, part: &str) -> Option<Node<'a>> {
    let (_, kind) = PARTS.iter().find(|(name, _)| *name == part)?;
    view.root.get(part).filter(|node| node.kind() == *kind)
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

fn strings<'a>(list: Node<'a>) -> Vec<Cow<'a, str>> {
    list.items()
        .filter_map(|item| item.as_lossy_str())
        .collect()
}

fn is_sorted(list: Node<'_>) -> bool {
    let strings = list.items().filter(Node::is_string);
    strings.is_sorted_by(|a, b| a.compare_utf16(b).is_le())
}

pub(super) fn check_schema(view: &RunnerView<'_>, findings: &mut Findings) {
    if view.root.kind() != Kind::Object {
        let found = view.root.kind().with_article();
        findings.add_without_path(format!("a runner record is an object, not {found}"));
        return;
    }
    for (name, kind) in PARTS {
        if part_of(view, name).is_none() {
            findings.add_without_path(format!("`{name}` is not {}", kind.with_article()));
        }
    }
    if let Some(roots) = part_of(view, "write_roots") {
        check_strings(roots, &JsonPath::ROOT.then("write_roots"), findings);
    }
    for (part, name) in [
        ("commands", "allowlist"),
        ("commands", "blocklist"),
        ("context", "env_allowlist"),
    ] {
        let Some(part_node) = part_of(view, part) else {
            continue;
        };
        let path = JsonPath::ROOT.then(part).then(name);
        match part_node.get(name) {
            Some(list) if list.kind() == Kind::Array => check_strings(list, &path, findings),
            _ => findings.add(place(path), format!("`{name}` is not a list")),
        }
    }
    if let Some(warnings) = view.root.get("warnings") {
        let is_list = warnings.kind() == Kind::Array;
        let all_strings = warnings.items().all(|item| item.is_string());
        if !is_list || !all_strings || !is_sorted(warnings) {
            findings.add(
                place(JsonPath::ROOT.then("warnings")),
                "warnings is not a sorted list of strings",
            );
        }
    }
    check_phase_fields(view, findings);
}

fn check_strings(list: Node<'_>, path: &JsonPath, findings: &mut Findings) {
    for (at, item) in list.items().enumerate() {
        if !item.is_string() {
            let found = item.kind().with_article();
            findings.add(place(path.then(at)), format!("{found} is not a string"));
        }
    }
}

fn check_phase_fields(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(phases) = part_of(view, "timing").and_then(|timing| timing.get("phases")) else {
        return;
    };
    if phases.kind() != Kind::Array {
        findings.add(
            place(JsonPath::ROOT.then("timing").then("phases")),
            "phases is not a list",
        );
        return;
    }
    for (at, phase) in phases.items().enumerate() {
        let path = JsonPath::ROOT.then("timing").then("phases").then(at);
        if phase.kind() != Kind::Object {
            findings.add(place(path), "a phase is an object");
            continue;
        }
        for (field, kind) in [
            ("name", Kind::String),
            ("started_at", Kind::String),
            ("duration_ms", Kind::Number),
        ] {
            match phase.get(field) {
                None => findings.add(place(path.then(field)), format!("`{field}` is missing")),
                // RN9 reports an invalid time.
                Some(node) if node.kind() != kind && field != "started_at" => findings.add(
                    place(path.then(field)),
                    format!("`{field}` is not {}", kind.with_article()),
                ),
                Some(_) => {}
            }
        }
    }
}

pub(super) fn check_version(view: &RunnerView<'_>, findings: &mut Findings) {
    if text(view.root, "runner_schema_version").as_deref() != Some(SCHEMA_VERSION) {
        findings.add_without_path(format!("`runner_schema_version` is not {SCHEMA_VERSION}"));
    }
}

fn is_runner_id(id: &str) -> bool {
    let all = |text: &str, count: usize, of: fn(&u8) -> bool| {
        text.len() == count && text.as_bytes().iter().all(of)
    };
    let parts: Vec<&str> = id.split('_').collect();
    let [runner, date, time, tail] = parts.as_slice() else {
        return false;
    };
    let is_tail = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    *runner == "runner"
        && all(date, 8, u8::is_ascii_digit)
        && all(time, 6, u8::is_ascii_digit)
        && !tail.is_empty()
        && tail.as_bytes().iter().all(is_tail)
}

pub(super) fn check_names(view: &RunnerView<'_>, findings: &mut Findings) {
    if !text(view.root, "runner_id").is_some_and(|id| is_runner_id(&id)) {
        findings
            .add_without_path("`runner_id` is not runner_YYYYMMDD_HHMMSS_ and letters or digits");
    }
    if text(view.root, "runner_version").is_none_or(|version| version.is_empty()) {
        findings.add_without_path("`runner_version` is not a string, or empty");
    }
}

/// Adds a finding for each member of a part that does not fit its table.
fn check_members(
    view: &RunnerView<'_>,
    part: &'static str,
    members: &[Member],
    findings: &mut Findings,
) {
    let Some(node) = part_of(view, part) else {
        return;
    };
    for misfit in find_misfits(node, members) {
        let path = JsonPath::ROOT.then(part).then(misfit.name);
        findings.add(place(path), misfit.fault);
    }
}

const PLATFORM: [Member; 4] = [
    member(
        "os",
        |node| is_word(node, &["linux", "darwin", "win32"]),
        "`os` is not one of linux, darwin, win32",
    ),
    member(
        "arch",
        |node| is_word(node, &["x64", "arm64", "ia32"]),
        "`arch` is not one of x64, arm64, ia32",
    ),
    member(
        "node_version",
        |node| text_is(node, |version| version.starts_with('v')),
        "the version does not begin with v",
    ),
    member("npm_version", is_text, "the version is not a string"),
];

pub(super) fn check_platform(view: &RunnerView<'_>, findings: &mut Findings) {
    check_members(view, "platform", &PLATFORM, findings);
}

const SANDBOX: [Member; 4] = [
    member(
        "backend",
        |node| is_word(node, &["process", "container", "vm", "none"]),
        "`backend` is not one of process, container, vm, none",
    ),
    member(
        "isolation_level",
        |node| is_word(node, &["strict", "standard", "none"]),
        "`isolation_level` is not one of strict, standard, none",
    ),
    member(
        "network_blocked",
        is_flag,
        "`network_blocked` is not a boolean",
    ),
    member(
        "filesystem_readonly",
        is_flag,
        "`filesystem_readonly` is not a boolean",
    ),
];

pub(super) fn check_sandbox(view: &RunnerView<'_>, findings: &mut Findings) {
    check_members(view, "sandbox", &SANDBOX, findings);
    let sandbox = part_of(view, "sandbox");
    let word = |name: &str| sandbox.and_then(|node| node.get(name)?.as_lossy_str());
    let both = word("isolation_level").zip(word("backend"));
    if both.is_some_and(|(level, backend)| level == "none" && backend != "none") {
        findings.add(
            place(JsonPath::ROOT.then("sandbox")),
            "isolation_level none needs backend none",
        );
    }
}

pub(super) fn check_limits(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(limits) = part_of(view, "limits") else {
        return;
    };
    let number = |name: &str| Some(limits.get(name)?.as_number()?.to_f64());
    for (name, least, most) in BOUNDS {
        if !number(name).is_some_and(|value| (least..=most).contains(&value)) {
            findings.add(
                place(JsonPath::ROOT.then("limits").then(name)),
                format!("`{name}` is not {least} to {most}"),
            );
        }
    }
    for name in ["max_memory_bytes", "max_cpu_seconds"] {
        if limits.get(name).is_some() && !number(name).is_some_and(|value| value > 0.0) {
            findings.add(
                place(JsonPath::ROOT.then("limits").then(name)),
                format!("`{name}` is not positive"),
            );
        }
    }
}

const SHELL: [Member; 1] = [member(
    "shell",
    is_filled_text,
    "`shell` is not a string, or empty",
)];

pub(super) fn check_commands(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(commands) = part_of(view, "commands") else {
        return;
    };
    for name in ["allowlist", "blocklist"] {
        if commands.get(name).is_some_and(|list| !is_sorted(list)) {
            findings.add(
                place(JsonPath::ROOT.then("commands").then(name)),
                "the list is not sorted",
            );
        }
    }
    let list = |name: &str| commands.get(name).map(strings).unwrap_or_default();
    let blocked: BTreeSet<_> = list("blocklist").into_iter().collect();
    let allowed = list("allowlist");
    if let Some(both) = allowed.iter().find(|name| blocked.contains(*name)) {
        findings.add(
            place(JsonPath::ROOT.then("commands")),
            format!("`{both}` is both allowed and blocked"),
        );
    }
    check_members(view, "commands", &SHELL, findings);
}

pub(super) fn check_write_roots(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(roots) = part_of(view, "write_roots") else {
        return;
    };
    if !is_sorted(roots) {
        findings.add(
            place(JsonPath::ROOT.then("write_roots")),
            "the list is not sorted",
        );
    }
    for (at, root) in roots.items().enumerate() {
        let Some(root) = root.as_lossy_str() else {
            continue;
        };
        let path = JsonPath::ROOT.then("write_roots").then(at);
        if root.starts_with('/') || has_drive_prefix(&root) {
            findings.add(place(path.clone()), format!("`{root}` is not relative"));
        }
        if root.contains("..") {
            findings.add(place(path), format!("`{root}` contains `..`"));
        }
    }
}

const CONTEXT: [Member; 3] = [
    member(
        "working_dir",
        |node| is_word(node, &["."]),
        "`working_dir` is not `.`",
    ),
    member("locale", is_text, "`locale` is not a string"),
    member("timezone", is_text, "`timezone` is not a string"),
];

pub(super) fn check_context(view: &RunnerView<'_>, findings: &mut Findings) {
    check_members(view, "context", &CONTEXT, findings);
    let Some(list) = part_of(view, "context").and_then(|context| context.get("env_allowlist"))
    else {
        return;
    };
    let path = JsonPath::ROOT.then("context").then("env_allowlist");
    if !is_sorted(list) {
        findings.add(place(path.clone()), "the list is not sorted");
    }
    for (at, name) in list.items().enumerate() {
        let name = name.as_lossy_str().unwrap_or_default();
        if SECRET_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            findings.add(
                place(path.then(at)),
                format!("`{name}` may contain a secret"),
            );
        }
    }
}

const TIMING: [Member; 3] = [
    member("started_at", is_time, "not a time in ISO 8601 UTC"),
    member("completed_at", is_time, "not a time in ISO 8601 UTC"),
    member("duration_ms", is_number, "`duration_ms` is not a number"),
];

fn is_time(node: Option<Node<'_>>) -> bool {
    text_is(node, |time| parse_utc(time).is_some())
}

pub(super) fn check_timing(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(timing) = part_of(view, "timing") else {
        return;
    };
    let time = |node: Node<'_>, name: &str| parse_utc(&text(node, name)?);
    let (started, completed) = (time(timing, "started_at"), time(timing, "completed_at"));
    check_members(view, "timing", &TIMING, findings);
    let duration = timing.get("duration_ms").and_then(|node| node.as_number());
    if let (Some(started), Some(completed)) = (started, completed) {
        if completed < started {
            findings.add(
                place(JsonPath::ROOT.then("timing")),
                "completed_at is before started_at",
            );
        }
        let difference = (completed - started) as f64;
        if let Some(duration) = duration
            && (duration.to_f64() - difference).abs() > 1.0
        {
            findings.add_difference(
                place(JsonPath::ROOT.then("timing").then("duration_ms")),
                "duration_ms is not the difference of the times",
                duration.text(),
                difference.to_string(),
            );
        }
    }
    let phases = timing.get("phases").map(|phases| phases.items());
    let mut before = None;
    for (at, phase) in phases.into_iter().flatten().enumerate() {
        if phase.get("started_at").is_none() {
            continue;
        }
        let Some(time) = time(phase, "started_at") else {
            let phase = JsonPath::ROOT.then("timing").then("phases").then(at);
            findings.add(
                place(phase.then("started_at")),
                "not a time in ISO 8601 UTC",
            );
            continue;
        };
        if before.is_some_and(|before| time < before) {
            findings.add(
                place(JsonPath::ROOT.then("timing").then("phases")),
                format!("phase {at} begins before the one before it"),
            );
        }
        before = Some(time);
    }
}

const EXIT: [Member; 4] = [
    member(
        "code",
        is_exit_code,
        "`code` is not an integer from 0 to 255",
    ),
    optional(
        "signal",
        |node| text_is(node, |signal| signal.to_uppercase() == signal),
        "`signal` is not text in upper case",
    ),
    member("oom_killed", is_flag, "`oom_killed` is not a boolean"),
    member(
        "timeout_killed",
        is_flag,
        "`timeout_killed` is not a boolean",
    ),
];

fn is_exit_code(node: Option<Node<'_>>) -> bool {
    let code = node.and_then(|node| node.as_number()?.to_exact_i64());
    code.is_some_and(|code| (0..=255).contains(&code))
}

pub(super) fn check_exit(view: &RunnerView<'_>, findings: &mut Findings) {
    check_members(view, "exit", &EXIT, findings);
}

pub(super) fn check_canonical(view: &RunnerView<'_>, findings: &mut Findings) {
    if canonical_digest(view.root, Dialect::Kernel).is_err() {
        findings.add_without_path("the record has no canonical form");
    }
}

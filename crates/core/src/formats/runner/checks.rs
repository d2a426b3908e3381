//! The checks of a runner record, one function a rule.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{PARTS, RunnerView, SCHEMA_VERSION};
use crate::canon::{Dialect, JsonPath, Kind, Node, canonical_bytes};
use crate::formats::policy::BOUNDS;
use crate::path::has_drive_prefix;
use crate::timestamp::parse_utc;
use crate::verify::{Findings, Gate, Place};

/// The place under the name that the record's reports give it: the path without `$`.
fn place(path: JsonPath) -> Place {
    let label = path.to_string();
    Place::named(label.trim_start_matches("$.")).at(path)
}

const SECRET_PREFIXES: [&str; 6] = ["SSH_", "NPM_", "GIT_", "AWS_", "OPENAI_", "ANTHROPIC_"];
pub(super) fn needs_object(view: &RunnerView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is no object"),
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
    let strings: Vec<Node<'_>> = list.items().filter(Node::is_string).collect();
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
            findings.add(place(path.then(at)), format!("{found} is no string"));
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
                // A time that is no time is RN9's.
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
        findings.add_without_path("`runner_version` is no string, or empty");
    }
}

fn check_choice(node: Node<'_>, part: &str, name: &str, known: &[&str], findings: &mut Findings) {
    if !text(node, name).is_some_and(|found| known.contains(&&*found)) {
        findings.add(
            place(JsonPath::ROOT.then(part).then(name)),
            format!("`{name}` is not one of {}", known.join(", ")),
        );
    }
}

fn check_booleans(node: Node<'_>, part: &str, names: [&str; 2], findings: &mut Findings) {
    for name in names {
        if node.get(name).and_then(|node| node.as_bool()).is_none() {
            findings.add(
                place(JsonPath::ROOT.then(part).then(name)),
                format!("`{name}` is no boolean"),
            );
        }
    }
}

pub(super) fn check_platform(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(platform) = part_of(view, "platform") else {
        return;
    };
    check_choice(
        platform,
        "platform",
        "os",
        &["linux", "darwin", "win32"],
        findings,
    );
    check_choice(
        platform,
        "platform",
        "arch",
        &["x64", "arm64", "ia32"],
        findings,
    );
    if !text(platform, "node_version").is_some_and(|version| version.starts_with('v')) {
        findings.add(
            place(JsonPath::ROOT.then("platform").then("node_version")),
            "the version does not begin with v",
        );
    }
    if text(platform, "npm_version").is_none() {
        findings.add(
            place(JsonPath::ROOT.then("platform").then("npm_version")),
            "the version is no string",
        );
    }
}

pub(super) fn check_sandbox(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(sandbox) = part_of(view, "sandbox") else {
        return;
    };
    let backends = ["process", "container", "vm", "none"];
    check_choice(sandbox, "sandbox", "backend", &backends, findings);
    let levels = ["strict", "standard", "none"];
    check_choice(sandbox, "sandbox", "isolation_level", &levels, findings);
    let is_none = |name: &str| text(sandbox, name).as_deref() == Some("none");
    if is_none("isolation_level") && !is_none("backend") {
        findings.add(
            place(JsonPath::ROOT.then("sandbox")),
            "isolation_level none needs backend none",
        );
    }
    let booleans = ["network_blocked", "filesystem_readonly"];
    check_booleans(sandbox, "sandbox", booleans, findings);
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
    if text(commands, "shell").is_none_or(|shell| shell.is_empty()) {
        findings.add(
            place(JsonPath::ROOT.then("commands").then("shell")),
            "`shell` is no string, or empty",
        );
    }
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
            findings.add(place(path), format!("`{root}` holds `..`"));
        }
    }
}

pub(super) fn check_context(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(context) = part_of(view, "context") else {
        return;
    };
    if text(context, "working_dir").as_deref() != Some(".") {
        findings.add(
            place(JsonPath::ROOT.then("context").then("working_dir")),
            "`working_dir` is not `.`",
        );
    }
    if let Some(list) = context.get("env_allowlist") {
        if !is_sorted(list) {
            findings.add(
                place(JsonPath::ROOT.then("context").then("env_allowlist")),
                "the list is not sorted",
            );
        }
        for (at, name) in list.items().enumerate() {
            let name = name.as_lossy_str().unwrap_or_default();
            if SECRET_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
            {
                findings.add(
                    place(
                        JsonPath::ROOT
                            .then("context")
                            .then("env_allowlist")
                            .then(at),
                    ),
                    format!("`{name}` may hold a secret"),
                );
            }
        }
    }
    for name in ["locale", "timezone"] {
        if text(context, name).is_none() {
            findings.add(
                place(JsonPath::ROOT.then("context").then(name)),
                format!("`{name}` is no string"),
            );
        }
    }
}

pub(super) fn check_timing(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(timing) = part_of(view, "timing") else {
        return;
    };
    let time = |node: Node<'_>, name: &str| parse_utc(&text(node, name)?);
    let (started, completed) = (time(timing, "started_at"), time(timing, "completed_at"));
    for (name, found) in [("started_at", started), ("completed_at", completed)] {
        if found.is_none() {
            findings.add(
                place(JsonPath::ROOT.then("timing").then(name)),
                "not a time in ISO 8601 UTC",
            );
        }
    }
    let duration = timing.get("duration_ms").and_then(|node| node.as_number());
    if duration.is_none() {
        findings.add(
            place(JsonPath::ROOT.then("timing").then("duration_ms")),
            "`duration_ms` is no number",
        );
    }
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
                "the times are another number of milliseconds apart",
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

pub(super) fn check_exit(view: &RunnerView<'_>, findings: &mut Findings) {
    let Some(exit) = part_of(view, "exit") else {
        return;
    };
    let code = exit.get("code").and_then(|node| node.as_number());
    if !code.is_some_and(|code| {
        code.to_exact_i64()
            .is_some_and(|code| (0..=255).contains(&code))
    }) {
        findings.add(
            place(JsonPath::ROOT.then("exit").then("code")),
            "`code` is no integer from 0 to 255",
        );
    }
    if exit.get("signal").is_some() {
        let signal = text(exit, "signal");
        if signal.is_none_or(|signal| signal.to_uppercase() != *signal) {
            findings.add(
                place(JsonPath::ROOT.then("exit").then("signal")),
                "`signal` is no text in upper case",
            );
        }
    }
    check_booleans(exit, "exit", ["oom_killed", "timeout_killed"], findings);
}

pub(super) fn check_canonical(view: &RunnerView<'_>, findings: &mut Findings) {
    if canonical_bytes(view.root, Dialect::Kernel).is_err() {
        findings.add_without_path("the record has no canonical form");
    }
}

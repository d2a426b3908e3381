//! RB15: what a run's documents state twice, or what follows from the rest of the bundle, must
//! agree.
//!
//! Whoever changes a bundle and fixes its sums and hashes must change every place that says the
//! same; a forgotten place shows here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Doc, EntryFact, FileFact, RunBundleView};
use super::layout::{MANIFEST, RUN_ENVIRONMENT, RUN_INPUT, RUN_META, RUN_OUTPUT};
use super::reading::{RunKind, is_marker};
use super::recorded::{
    ENGINE_LIST, INPUT_LISTS, NEVER_SEEN, PARAMETER_PREFIX, parse_gaps, parse_listed_files,
};
use super::redactable::REDACTABLE;
use super::rules_recorded::is_recorded_view;
use crate::canon::{Dialect, Kind, Node, canonical_bytes};
use crate::digest::{Digest, Hasher};
use crate::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use crate::path::SafePath;
use crate::verify::{Findings, Gate};

/// Applies to recorded commands, to declared runs, and to any run that says what it used of its
/// machine.
pub(super) fn has_repetitions(view: &RunBundleView<'_>) -> Gate {
    let has = |doc: &Doc<'_>| !matches!(doc, Doc::Absent);
    let is_redactable = has(&view.redaction) || has(&view.redaction_salt);
    let states = view.environment.root().is_some()
        || is_recorded_view(view)
        || is_declared_view(view)
        || is_redactable;
    if states {
        Gate::Ready
    } else {
        Gate::NotApplicable("the bundle says nothing twice that other rules do not compare")
    }
}

fn is_declared_view(view: &RunBundleView<'_>) -> bool {
    view.kind() == RunKind::Declared
}

pub(super) fn check_agreement(view: &RunBundleView<'_>, findings: &mut Findings) {
    if is_recorded_view(view) {
        check_command(view, findings);
        check_ending(view, findings);
        check_variables(view, findings);
        check_gaps(view, findings);
    } else if is_declared_view(view) {
        check_declared_run(view, findings);
    }
    check_machine(view, findings);
    check_executable(view, findings);
    check_commitment(view, findings);
}

/// Checks that the commitment of a redactable bundle covers the files of the bundle.
fn check_commitment(view: &RunBundleView<'_>, findings: &mut Findings) {
    let (commitment, salt) = match (view.redaction, view.redaction_salt) {
        (Doc::Absent, Doc::Absent) => return,
        // RB5 reports what is broken.
        (Doc::Broken(_), _) | (_, Doc::Broken(_)) => return,
        (Doc::Absent, Doc::Read(_)) => {
            return findings.add(REDACTION_SALT, "there is no REDACTION.json");
        }
        (Doc::Read(commitment), salt) => (commitment.to_value(), salt.root()),
    };
    let salt = salt.map(|salt| salt.to_value());
    let salt = salt.as_ref().and_then(|salt| salt.get("salt"));
    let files = view.facts.entries.iter().filter_map(|(path, entry)| {
        let EntryFact::File(file) = entry else {
            return None;
        };
        let size = match file {
            FileFact::Bytes { bytes, .. } => Some(*bytes),
            _ => None,
        };
        Some((path, size))
    });
    for fault in REDACTABLE.find_faults(&commitment, salt, files) {
        findings.add(REDACTION, fault);
    }
}

/// Checks that the manifest has the command of the input.
fn check_command(view: &RunBundleView<'_>, findings: &mut Findings) {
    let (Some(manifest), Some(input)) = (view.manifest.root(), view.input.root()) else {
        return;
    };
    let said = manifest.get("execution").and_then(|it| it.get("command"));
    let argv = input.get("argv");
    let execution = manifest.get("execution");
    if view.hides(said)
        || view.hides(argv)
        || execution.is_some_and(|it| said.is_none() && view.hides(Some(it)))
    {
        return;
    }
    let is_list = |node: &Node<'_>| node.kind() == Kind::Array;
    if findings.need(argv.filter(is_list)).is_none() {
        return;
    }
    if shown(said) != shown(argv) {
        findings.add_difference(
            MANIFEST,
            "execution.command is not the argv of RUN_INPUT.json",
            shown(argv),
            shown(said),
        );
    }
}

/// A value as its JCS text; `nothing` if there is none.
fn shown(node: Option<Node<'_>>) -> String {
    let bytes = node.and_then(|node| canonical_bytes(node, Dialect::Jcs).ok());
    bytes.map_or_else(
        || "nothing".to_owned(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// Checks that a command ended with an exit status or by a signal, and failed unless the status is
/// 0 and nobody interrupted it.
fn check_ending(view: &RunBundleView<'_>, findings: &mut Findings) {
    let Some(output) = view.output.root() else {
        return;
    };
    // Every copy shows them (RD5).
    if ["exit_status", "signal", "failed", "interrupted"]
        .into_iter()
        .any(|name| view.hides(output.get(name)))
    {
        return;
    }
    let is_there = |name: &str| output.get(name).is_some_and(|node| !node.is_null());
    let (status, signal) = (is_there("exit_status"), is_there("signal"));
    if status == signal {
        let fault = if status {
            "it has both an exit_status and a signal"
        } else {
            "it has neither an exit_status nor a signal"
        };
        findings.add(RUN_OUTPUT, fault);
        return;
    }
    let code = output.get("exit_status").and_then(|node| node.as_number());
    let is_interrupted = is_there("interrupted");
    let has_failed = is_interrupted || code.and_then(|code| code.to_exact_i64()) != Some(0);
    let said = output.get("failed").and_then(|node| node.as_bool());
    if said != Some(has_failed) {
        let wanted = if has_failed { "true" } else { "false" };
        let what = if is_interrupted {
            "`failed` in a run that was interrupted".to_owned()
        } else if status {
            format!(
                "`failed` in a run with exit_status {}",
                shown(output.get("exit_status"))
            )
        } else {
            format!(
                "`failed` in a run that was ended by signal {}",
                shown(output.get("signal"))
            )
        };
        findings.add_difference(RUN_OUTPUT, &what, wanted, shown(output.get("failed")));
    }
}

/// Checks that a recording names what it never sees, and that the gaps mention weaker isolation.
fn check_gaps(view: &RunBundleView<'_>, findings: &mut Findings) {
    let Some(environment) = view.environment.root() else {
        return;
    };
    if view.hides(environment.get("observation")) || view.hides(environment.get("sandbox")) {
        return;
    }
    let gaps = parse_gaps(environment);
    let has = |kind: &str| gaps.iter().any(|gap| gap.kind == kind);
    let level = environment
        .get("sandbox")
        .and_then(|sandbox| sandbox.get("level")?.as_str());
    let is_weaker = level.is_some_and(|level| level != "namespaces");
    for (kind, is_needed) in [(NEVER_SEEN, true), ("sandbox", is_weaker)] {
        if is_needed && !has(kind) {
            let fault = format!("`observation.gaps` has no gap of the kind `{kind}`");
            findings.add(RUN_ENVIRONMENT, fault);
        }
    }
}

/// Checks that the parameters and variables that were given are those that the command had.
fn check_variables(view: &RunBundleView<'_>, findings: &mut Findings) {
    let Some(input) = view.input.root() else {
        return;
    };
    let (said, named) = (input.get("environment"), input.get("parameters"));
    let given = texts(said);
    let parameters = texts(named);
    // Withheld as a whole, or under this name.
    let hides = |object: Option<Node<'_>>, name: &str| {
        view.hides(object.filter(|object| is_marker(*object)))
            || view.hides(object.and_then(|object| object.get(name)))
    };
    for variable in given.keys() {
        let name = variable.strip_prefix(PARAMETER_PREFIX);
        if name.is_some_and(|name| hides(named, name)) {
            continue;
        }
        if name.is_some_and(|name| !parameters.contains_key(name)) {
            let variable = variable.escape_debug();
            let fault = format!("`environment` has `{variable}`, which is not in `parameters`");
            findings.add(RUN_INPUT, fault);
        }
    }
    for (name, value) in parameters {
        let variable = format!("{PARAMETER_PREFIX}{name}");
        if hides(said, &variable) {
            continue;
        }
        check_same(
            (RUN_INPUT, "environment"),
            &variable,
            &value,
            given.get(&variable),
            findings,
        );
    }
    let Some(environment) = view.environment.root() else {
        return;
    };
    let variables = environment.get("variables");
    let had = texts(variables);
    for (name, value) in given.iter().filter(|(name, _)| !hides(variables, name)) {
        let place = (RUN_ENVIRONMENT, "variables");
        check_same(place, name, value, had.get(name), findings);
    }
    for (member, variable) in [("locale", "LC_ALL"), ("timezone", "TZ")] {
        let said = environment.get(member).and_then(|node| node.as_str());
        if hides(variables, variable) {
            continue;
        }
        let wanted = had.get(variable).map_or("", String::as_str);
        if let Some(said) = said.filter(|said| *said != *wanted) {
            let what = format!("`{member}` is not the variable {variable}");
            findings.add_difference(RUN_ENVIRONMENT, &what, wanted, said);
        }
    }
}

fn check_same(
    (document, member): (&str, &str),
    name: &str,
    wanted: &str,
    found: Option<&String>,
    findings: &mut Findings,
) {
    if found.map(String::as_str) != Some(wanted) {
        let what = format!(
            "`{}` in `{member}` is not what was given",
            name.escape_debug()
        );
        let found = found.map_or("nothing", String::as_str);
        findings.add_difference(document, &what, wanted, found);
    }
}

/// The members of an object that are strings.
fn texts(node: Option<Node<'_>>) -> BTreeMap<String, String> {
    let members = node.into_iter().flat_map(|node| node.members());
    let text = |node: Node<'_>| node.as_lossy_str().map(Cow::into_owned);
    members
        .filter_map(|(name, node)| Some((name.to_lossy().into_owned(), text(node)?)))
        .collect()
}

/// Checks a declared run: the files of its input are those of the environment, and it failed if it
/// has an error.
fn check_declared_run(view: &RunBundleView<'_>, findings: &mut Findings) {
    if let Some(output) = view.output.root() {
        let is_declared = output.get("declared").and_then(|node| node.as_bool());
        if is_declared != Some(true) {
            let what = "`declared` in a run that its own program described";
            findings.add_difference(RUN_OUTPUT, what, "true", shown(output.get("declared")));
        }
        let has_error = output.get("error").is_some_and(|node| !node.is_null());
        let said = output.get("failed").and_then(|node| node.as_bool());
        let is_shown = !view.hides(output.get("error")) && !view.hides(output.get("failed"));
        if is_shown && said != Some(has_error) {
            let what = "`failed` does not agree with `error`";
            let found = shown(output.get("failed"));
            findings.add_difference(RUN_OUTPUT, what, has_error.to_string(), found);
        }
    }
    let (Some(input), Some(environment)) = (view.input.root(), view.environment.root()) else {
        return;
    };
    let level = environment
        .get("observation")
        .and_then(|it| it.get("level"));
    let is_shown = !view.hides(environment.get("observation"));
    if is_shown && level.and_then(|level| level.as_str()).as_deref() != Some("declared") {
        let what = "`observation.level` in a run that its own program described";
        findings.add_difference(RUN_ENVIRONMENT, what, "\"declared\"", shown(level));
    }
    let listed = |root: Node<'_>, name: &str| -> BTreeSet<(String, String, u64)> {
        let files = parse_listed_files(root, name).into_iter();
        files
            .map(|file| (file.path, file.sha256.to_string(), file.bytes))
            .collect()
    };
    if view.hides(input.get("files")) || view.hides(environment.get(ENGINE_LIST)) {
        return;
    }
    let (named, stored) = (listed(input, "files"), listed(environment, ENGINE_LIST));
    for (path, ..) in named.symmetric_difference(&stored) {
        let path = path.escape_debug();
        findings.add(
            RUN_INPUT,
            format!("`{path}` is not the same file in `files` and in `{ENGINE_LIST}` of {RUN_ENVIRONMENT}"),
        );
    }
}

/// Checks that no file of the machine is listed twice.
fn check_machine(view: &RunBundleView<'_>, findings: &mut Findings) {
    let files = view.environment.root().and_then(|root| root.get("files"));
    let mut seen = BTreeSet::new();
    for file in files.into_iter().flat_map(|list| list.items()) {
        let path = file.get("path").and_then(|path| path.as_str());
        if let Some(path) = path
            && let Some(twice) = seen.replace(path)
        {
            let twice = twice.escape_debug();
            findings.add(
                RUN_ENVIRONMENT,
                format!("duplicate path `{twice}` in `files`"),
            );
        }
    }
}

/// Checks that `engine_executable_sha256` is the hash over the files of the command, as far as the
/// bundle lists them.
fn check_executable(view: &RunBundleView<'_>, findings: &mut Findings) {
    let (Some(meta), Some(environment)) = (view.meta.root(), view.environment.root()) else {
        return;
    };
    let declared = meta.get("engine_executable_sha256");
    let Some(declared) = declared.and_then(|node| Digest::parse_hex(&node.as_str()?).ok()) else {
        return;
    };
    let documents = [view.manifest, view.input, view.environment];
    if documents.iter().any(|document| view.hides(document.root())) {
        return;
    }
    let Some(command) = Executable::read(view, environment) else {
        return;
    };
    if !command.has_hash(declared) {
        let what = "engine_executable_sha256 does not cover the files of the command that the bundle lists";
        findings.add(RUN_META, what);
    }
}

/// The files that a command names, as the bundle lists them.
struct Executable {
    /// A line for each argument that is a file of the folder.
    lines: BTreeSet<String>,
    /// The program's name if it was found on PATH, and the digests of what it may have been: the
    /// name may be a link, and the lists have the files that links lead to.
    on_path: Option<(String, BTreeSet<Digest>)>,
}

impl Executable {
    /// Returns `None` if the bundle does not list everything that the hash may cover.
    fn read(view: &RunBundleView<'_>, environment: Node<'_>) -> Option<Self> {
        let is_recorded = is_recorded_view(view);
        let (command, own) = if is_recorded {
            let input = view.input.root()?;
            let lists = INPUT_LISTS.into_iter();
            let files = lists.flat_map(|name| parse_listed_files(input, name));
            (input.get("argv")?, files.collect())
        } else {
            let execution = view.manifest.root()?.get("execution")?;
            let files = parse_listed_files(environment, ENGINE_LIST);
            (execution.get("command")?, files)
        };
        let own: BTreeMap<String, Digest> =
            own.into_iter().map(|it| (it.path, it.sha256)).collect();
        let observation = environment.get("observation");
        let level = observation.and_then(|observation| observation.get("level")?.as_str());
        let is_observed = level.as_deref() == Some("observed");
        let mut found = Self {
            lines: BTreeSet::new(),
            on_path: None,
        };
        for (at, element) in command.as_array()?.enumerate() {
            let element = element.as_str()?;
            let path = element.strip_prefix("./").unwrap_or(&element);
            let listed = SafePath::parse(path).ok().and_then(|_| own.get(path));
            let is_bare = at == 0 && !element.contains('/');
            match listed {
                // A file of the same name in the folder of a recorded command is not what ran.
                Some(digest) if !is_bare || !is_recorded => {
                    found.lines.insert(format!("{digest}  {path}\n"));
                }
                _ if is_bare => {
                    let machine = machine_digests(environment)?;
                    let digests = machine.into_iter().chain(own.values().copied());
                    found.on_path = Some((element.into_owned(), digests.collect()));
                    if !is_observed || is_in_unlisted_place(environment) {
                        return None;
                    }
                }
                // For a recorded command, only what was read is listed; an argument may name a file
                // that was not read.
                _ if is_recorded && may_name_a_file(path) => return None,
                _ => {}
            }
        }
        Some(found)
    }

    /// Whether `declared` is the hash over these files.
    fn has_hash(&self, declared: Digest) -> bool {
        let over = |lines: &BTreeSet<String>| {
            let mut hasher = Hasher::new();
            lines.iter().for_each(|line| hasher.update(line.as_bytes()));
            hasher.finish()
        };
        let on_path = self.on_path.iter();
        let mut programs =
            on_path.flat_map(|(name, digests)| digests.iter().map(move |it| (it, name)));
        // If the program was not found when the run was sealed, there is no line for it.
        over(&self.lines) == declared
            || programs.any(|(digest, name)| {
                let mut lines = self.lines.clone();
                lines.insert(format!("{digest}  {name}\n"));
                over(&lines) == declared
            })
    }
}

/// The digests of the machine's files; `None` if one is missing, which RB16 reports.
fn machine_digests(environment: Node<'_>) -> Option<BTreeSet<Digest>> {
    let files = environment.get("files");
    let files = files.filter(|files| files.kind() == Kind::Array)?;
    let digest = |file: Node<'_>| Digest::parse_hex(&file.get("sha256")?.as_str()?).ok();
    files.items().map(digest).collect()
}

/// Whether the program is in a place whose files are not listed: with a weaker sandbox, a command
/// can be started from there.
fn is_in_unlisted_place(environment: Node<'_>) -> bool {
    let program = environment.get("program").and_then(|node| node.as_str());
    let tops = ["/tmp/", "/dev/", "/proc/"];
    program.is_some_and(|program| tops.iter().any(|top| program.starts_with(top)))
}

/// Whether an argument may name a file of the folder. An argument that begins like an option, or
/// contains characters of a program's text, does not.
fn may_name_a_file(path: &str) -> bool {
    let is_program_text = |c: char| c.is_whitespace() || "\"'`$&|;<>(){}*?".contains(c);
    SafePath::parse(path).is_ok() && !path.starts_with('-') && !path.contains(is_program_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_program_texts_are_not_file_names() {
        for path in ["data.csv", "a/b", "alpha=1", "7"] {
            assert!(may_name_a_file(path), "{path}");
        }
        for path in [
            "-c",
            "--flag=x",
            "sort in > out",
            "print(3)",
            "/etc/hosts",
            "../x",
            "",
        ] {
            assert!(!may_name_a_file(path), "{path}");
        }
    }
}

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
    ENGINE_LIST, INPUT_LISTS, ListedFile, NEVER_SEEN, PARAMETER_PREFIX, parse_whole_list,
};
use super::redactable::REDACTABLE;
use super::rules_recorded::is_recorded_view;
use crate::canon::{Dialect, Key, Kind, Node, canonical_bytes};
use crate::digest::{Digest, Hasher};
use crate::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use crate::formats::shape::is_text_list;
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
    let is_command = |node: &Node<'_>| is_text_list(Some(*node));
    if findings.need(argv.filter(is_command)).is_none() {
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
    // RB18 asks for all of them, each null or an integer.
    let ended = ["exit_status", "signal"].map(|name| number_or_null(output.get(name)?));
    let interrupted = match output.get("interrupted") {
        None => Some(false),
        Some(node) => number_or_null(node).map(|number| number.is_some()),
    };
    let both = findings.need(ended[0].zip(ended[1]));
    let (Some((status, signal)), Some(is_interrupted)) = (both, findings.need(interrupted)) else {
        return;
    };
    if status.is_some() == signal.is_some() {
        let fault = if status.is_some() {
            "it has both an exit_status and a signal"
        } else {
            "it has neither an exit_status nor a signal"
        };
        findings.add(RUN_OUTPUT, fault);
        return;
    }
    let has_failed = is_interrupted || status != Some(0.0);
    let said = findings.need(output.get("failed").and_then(|node| node.as_bool()));
    if said.is_some_and(|said| said != has_failed) {
        let wanted = if has_failed { "true" } else { "false" };
        let what = if is_interrupted {
            "`failed` in a run that was interrupted".to_owned()
        } else if status.is_some() {
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

/// An integer, or the `None` inside for null; `None` if it is neither.
fn number_or_null(node: Node<'_>) -> Option<Option<f64>> {
    if node.is_null() {
        return Some(None);
    }
    let number = node.as_number()?.to_f64();
    (number.fract() == 0.0).then_some(Some(number))
}

/// Checks that a recording names what it never sees, and that the gaps mention weaker isolation.
fn check_gaps(view: &RunBundleView<'_>, findings: &mut Findings) {
    let Some(environment) = view.environment.root() else {
        return;
    };
    if view.hides(environment.get("observation")) || view.hides(environment.get("sandbox")) {
        return;
    }
    let gaps = environment
        .get("observation")
        .and_then(|it| it.get("gaps")?.as_array());
    let kind = |gap: Node<'_>| Some(gap.get("kind")?.as_lossy_str()?.into_owned());
    let kinds = gaps.and_then(|gaps| gaps.map(kind).collect::<Option<BTreeSet<String>>>());
    let Some(kinds) = findings.need(kinds) else {
        return;
    };
    let level = environment
        .get("sandbox")
        .and_then(|sandbox| sandbox.get("level")?.as_str());
    let is_weaker = findings
        .need(level)
        .is_some_and(|level| level != "namespaces");
    for (kind, is_needed) in [(NEVER_SEEN, true), ("sandbox", is_weaker)] {
        if is_needed && !kinds.contains(kind) {
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
    // Withheld as a whole, or under this name.
    let hides = |object: Option<Node<'_>>, name: &str| {
        view.hides(object.filter(|object| is_marker(*object)))
            || view.hides(object.and_then(|object| object.get(name)))
    };
    let given = findings.need(members_of(said));
    if let Some((given, parameters)) = given.as_ref().zip(findings.need(members_of(named))) {
        let variables = given
            .keys()
            .filter_map(|name| name.strip_prefix(PARAMETER_PREFIX));
        let variables = variables.filter(|name| !hides(named, name));
        for name in variables.filter(|name| !parameters.contains_key(*name)) {
            let name = name.escape_debug();
            let fault = format!(
                "`environment` has `{PARAMETER_PREFIX}{name}`, but `parameters` has no `{name}`"
            );
            findings.add(RUN_INPUT, fault);
        }
        for (name, value) in &parameters {
            let variable = format!("{PARAMETER_PREFIX}{name}");
            if !hides(said, &variable) && !hides(named, name) {
                let place = (RUN_INPUT, "environment");
                check_same(place, &variable, *value, given.get(&variable), findings);
            }
        }
    }
    let Some(environment) = view.environment.root() else {
        return;
    };
    let variables = environment.get("variables");
    let Some(had) = findings.need(members_of(variables)) else {
        return;
    };
    for (name, value) in given.iter().flatten() {
        if !hides(variables, name) && !hides(said, name) {
            let place = (RUN_ENVIRONMENT, "variables");
            check_same(place, name, *value, had.get(name), findings);
        }
    }
    for (member, variable) in [("locale", "LC_ALL"), ("timezone", "TZ")] {
        if hides(variables, variable) || view.hides(environment.get(member)) {
            continue;
        }
        let said = environment.get(member).and_then(|node| node.as_lossy_str());
        // A command without the variable has the empty one.
        let wanted = match had.get(variable) {
            None => Some(Cow::Borrowed("")),
            Some(node) => node.as_lossy_str(),
        };
        let both = findings.need(said.zip(wanted));
        if let Some((said, wanted)) = both.filter(|(said, wanted)| said != wanted) {
            let what = format!("`{member}` is not the variable {variable}");
            findings.add_difference(RUN_ENVIRONMENT, &what, wanted, said);
        }
    }
}

/// Checks that a text was given and found under this name; a value that is no text is not compared.
fn check_same(
    (document, member): (&str, &str),
    name: &str,
    wanted: Node<'_>,
    found: Option<&Node<'_>>,
    findings: &mut Findings,
) {
    let found_text = match found {
        None => Some(None),
        Some(node) => node.as_lossy_str().map(Some),
    };
    let Some((wanted, found)) = findings.need(wanted.as_lossy_str().zip(found_text)) else {
        return;
    };
    if found.as_ref() != Some(&wanted) {
        let what = format!(
            "`{}` in `{member}` is not what was given",
            name.escape_debug()
        );
        let found = found.unwrap_or(Cow::Borrowed("nothing"));
        findings.add_difference(document, &what, wanted, found);
    }
}

/// The members of an object by name; `None` if it is not an object.
fn members_of(node: Option<Node<'_>>) -> Option<BTreeMap<String, Node<'_>>> {
    let object = node.filter(|node| node.kind() == Kind::Object)?;
    let member = |(name, node): (Key<'_>, _)| (name.to_lossy().into_owned(), node);
    Some(object.members().map(member).collect())
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
        // No other rule asks for it.
        if is_shown && said != Some(has_error) {
            let what = "`failed` does not agree with `error`";
            let found = shown(output.get("failed"));
            findings.add_difference(RUN_OUTPUT, what, has_error.to_string(), found);
        }
    }
    let environment = view.environment.root();
    let observation = environment.and_then(|root| root.get("observation"));
    if environment.is_some() && !view.hides(observation) {
        let level = observation.and_then(|it| it.get("level")?.as_lossy_str());
        if findings
            .need(level)
            .is_some_and(|level| level != "declared")
        {
            let what = "`observation.level` in a run that its own program described";
            let level = observation.and_then(|it| it.get("level"));
            findings.add_difference(RUN_ENVIRONMENT, what, "\"declared\"", shown(level));
        }
    }
    let Some(input) = view.input.root() else {
        return;
    };
    if view.hides(input.get("files")) {
        return;
    }
    // No other rule asks for this list.
    let Some(named) = parse_whole_list(input.get("files")) else {
        findings.add(
            RUN_INPUT,
            "`files` is not a list of `path`, `sha256` and `bytes`",
        );
        return;
    };
    let Some(environment) = environment.filter(|root| !view.hides(root.get(ENGINE_LIST))) else {
        return;
    };
    let Some(stored) = findings.need(parse_whole_list(environment.get(ENGINE_LIST))) else {
        return;
    };
    let told = |files: Vec<ListedFile>| -> BTreeSet<(String, String, u64)> {
        let files = files.into_iter();
        files
            .map(|file| (file.path, file.sha256.to_string(), file.bytes))
            .collect()
    };
    let (named, stored) = (told(named), told(stored));
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
            let lists = INPUT_LISTS.map(|name| parse_whole_list(input.get(name)));
            let [files, inputs] = lists;
            (input.get("argv")?, [files?, inputs?].concat())
        } else {
            let execution = view.manifest.root()?.get("execution")?;
            let files = match environment.get(ENGINE_LIST) {
                None => Vec::new(),
                list => parse_whole_list(list)?,
            };
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
    let tops = ["/tmp/", "/dev/", "/proc/"];
    environment.get("program").is_some_and(|program| {
        let program = program.as_lossy_str();
        program.is_none_or(|program| tops.iter().any(|top| program.starts_with(top)))
    })
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

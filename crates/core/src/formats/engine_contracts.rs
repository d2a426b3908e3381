//! An engine's contracts (document 004, Definition + Contracts), EN1-EN8: what must be right before
//! an engine is run at all.
//!
//! Paths in findings are names of contracts; JSON Pointers are in the messages. Whatever must be
//! looked up in the engine's folder, compiled or parsed elsewhere is passed in as facts.

use super::definition::{
    Claim, Coverage, FolderNames, FormatDefinition, Identity, Judgement, Judging, ProofScope,
    ReadName, infos,
};
use super::run_bundle::facts::Doc;
use super::run_bundle::has_trace;
use super::run_bundle::layout::{CONTRACTS, COUPLING_RULES, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA};
use super::run_bundle::outputs::find_changed_integers;
use super::run_bundle::rules::coupling_faults;
use crate::canon::{Kind, Node};
use crate::formats::Format;
use crate::path::SafePath;
use crate::source::{Source, SourceError};
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// An engine's contracts as the rules see them.
#[derive(Debug, Clone, Copy)]
pub struct EngineView<'a> {
    /// Why a contract cannot be used, in the order of [`CONTRACTS`]; `None` if it was found.
    pub missing: &'a [Option<String>; 5],
    /// ENGINE_MANIFEST.json
    pub manifest: Doc<'a>,
    /// INPUT_SCHEMA.json
    pub input_schema: Doc<'a>,
    /// OUTPUT_SCHEMA.json
    pub output_schema: Doc<'a>,
    /// COUPLING_RULES.json
    pub coupling: Doc<'a>,
    /// Why each schema is invalid, input first.
    pub schema_faults: [Option<&'a str>; 2],
    /// Why the command's program cannot be started, if that is known.
    pub program_fault: Option<&'a str>,
    /// What is wrong with `compatibility.replay_versions`.
    pub version_faults: &'a [String],
}

/// Names an engine as the subject of its rules.
pub struct Engine;

impl Subject for Engine {
    type View<'a> = EngineView<'a>;
    const FORMAT: Format = Format::Engine;
    const NAMES_FILES: bool = true;
}

/// Checks an engine's contracts.
pub fn verify_engine(view: &EngineView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

/// The member of ENGINE_MANIFEST.json, and the member of that, which may say where a contract is.
pub const fn pointing_member(contract: &str) -> Option<(&'static str, &'static str)> {
    match contract.as_bytes() {
        b"INPUT_SCHEMA.json" => Some(("io", "input_schema_file")),
        b"OUTPUT_SCHEMA.json" => Some(("io", "output_schema_file")),
        b"COUPLING_RULES.json" => Some(("io", "coupling_rules_file")),
        b"SEALING_SPEC.md" => Some(("sealing", "sealing_spec_file")),
        _ => None,
    }
}

/// The limits that a manifest may set in `execution.limits`.
const LIMIT_NAMES: [&str; 8] = [
    "artifact_bytes",
    "artifact_files",
    "memory_bytes",
    "processes",
    "stderr_bytes",
    "stdout_bytes",
    "timeout_ms",
    "timeout_seconds",
];

/// The command of a manifest, if it is a list of strings that can be run.
pub fn parse_command(manifest: Node<'_>) -> Option<Vec<String>> {
    let command = manifest.get("execution")?.get("command")?;
    let text = |node: Node<'_>| Some(node.as_str()?.into_owned()).filter(|t| !t.contains('\0'));
    let command: Option<Vec<String>> = command.as_array()?.map(text).collect();
    command.filter(|command| command.first().is_some_and(|program| !program.is_empty()))
}

const fn info(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Engine,
        title,
        section,
        level: Level::Document,
        explanation,
    }
}

/// The rules of an engine's contracts.
pub static RULES: [Rule<Engine>; 8] = [
    Rule {
        info: info(
            "EN1",
            "004 Definition + Contracts",
            "all five contracts are there",
            "ENGINE_MANIFEST.json, INPUT_SCHEMA.json, OUTPUT_SCHEMA.json, COUPLING_RULES.json and \
             SEALING_SPEC.md are regular files in the engine's root, or where the manifest's \
             members io.input_schema_file, io.output_schema_file, io.coupling_rules_file and \
             sealing.sealing_spec_file point, or in MANIFEST/ or SEALING/. No link is followed and \
             no pointer may leave the engine's folder.",
        ),
        gate: |_| Gate::Ready,
        check: check_present,
    },
    Rule {
        info: info(
            "EN2",
            "004 Sealing Rules",
            "the JSON contracts can be sealed",
            "Each is strict JSON with a JCS form that changes no integer; manifest and coupling \
             rules are objects.",
        ),
        gate: |_| Gate::Ready,
        check: check_sealable,
    },
    Rule {
        info: info(
            "EN3",
            "004 RUN_META.json",
            "the engine says what it is",
            "engine_code and engine_version at the top of ENGINE_MANIFEST.json are texts; the code \
             names a folder in other engines' bundles, so it is a single safe path segment.",
        ),
        gate: needs_manifest,
        check: check_identity,
    },
    Rule {
        info: info(
            "EN4",
            "rulings, Run bundle",
            "the engine says how it is run",
            "execution.command is a list of texts that begins with a program: a path in the \
             engine's folder that exists, or a name in the sandbox's PATH.",
        ),
        gate: needs_manifest,
        check: check_command,
    },
    Rule {
        info: info(
            "EN5",
            "004 RUN_INPUT.json, RUN_OUTPUT.json",
            "both schemas are schemas",
            "INPUT_SCHEMA.json and OUTPUT_SCHEMA.json are valid for the draft they declare (4, 6, \
             7, 2019-09 or 2020-12; 2020-12 if they declare none) and refer to nothing outside \
             themselves: nothing is ever fetched.",
        ),
        gate: |_| Gate::Ready,
        check: check_schemas,
    },
    Rule {
        info: info(
            "EN6",
            "004 COUPLING_RULES.json",
            "coupling goes through the orchestrator only",
            "COUPLING_RULES.json says delivery_model \"CORE_ONLY\", core_mediated_coupling true, \
             direct_engine_to_engine_calls false, and lists nothing but engines whose artifacts it takes, \
             as codes or as {\"engine_code\",\"via\":\"CORE_ONLY\"}.",
        ),
        gate: |view| match view.coupling {
            Doc::Read(_) => Gate::Ready,
            _ => Gate::NotRun("there are no coupling rules"),
        },
        check: check_coupling,
    },
    Rule {
        info: info(
            "EN7",
            "004 Replay Rules, rule 6",
            "replay versions are requirements",
            "compatibility.replay_versions, if given, is a list of version requirements \
             in Cargo's syntax, such as \"^1.2\" or \">=1.0, <3\".",
        ),
        gate: needs_manifest,
        check: check_versions,
    },
    Rule {
        info: info(
            "EN8",
            "docs/engines.md",
            "limits are positive",
            "execution.limits, if given, is an object; timeout_seconds, timeout_ms, \
             memory_bytes, processes, stdout_bytes, stderr_bytes, artifact_bytes and \
             artifact_files in it are positive integers. They can only tighten what the policy \
             allows. Members with other names are left to other orchestrators.",
        ),
        gate: needs_manifest,
        check: check_limits,
    },
];

fn needs_manifest(view: &EngineView<'_>) -> Gate {
    match view.manifest {
        Doc::Read(_) => Gate::Ready,
        _ => Gate::NotRun("there is no manifest"),
    }
}

fn check_present(view: &EngineView<'_>, findings: &mut Findings) {
    for (name, missing) in CONTRACTS.iter().zip(view.missing) {
        if let Some(reason) = missing {
            findings.add(*name, reason);
        }
    }
}

fn check_sealable(view: &EngineView<'_>, findings: &mut Findings) {
    let documents = [
        (&view.manifest, MANIFEST, true),
        (&view.input_schema, INPUT_SCHEMA, false),
        (&view.output_schema, OUTPUT_SCHEMA, false),
        (&view.coupling, COUPLING_RULES, true),
    ];
    for (doc, name, is_object) in documents {
        match doc {
            Doc::Absent => {}
            Doc::Broken(reason) => {
                findings.add(name, format!("not JSON with a canonical form: {reason}"))
            }
            Doc::Read(root) => {
                if is_object && root.kind() != Kind::Object {
                    let found = root.kind().with_article();
                    findings.add(name, format!("the document is {found}, not an object"));
                }
                for pointer in find_changed_integers(&root.to_value()) {
                    let what = "JCS would change this integer; write it as a text";
                    findings.add(name, format!("{pointer}: {what}"));
                }
            }
        }
    }
}

fn check_identity(view: &EngineView<'_>, findings: &mut Findings) {
    let Some(manifest) = view.manifest.root() else {
        return;
    };
    for name in ["engine_code", "engine_version"] {
        let text = manifest.get(name).and_then(|node| node.as_str());
        match text.as_deref() {
            None | Some("") => {
                findings.add(MANIFEST, format!("/{name}: it is missing or not a text"))
            }
            Some(code) if name == "engine_code" => {
                if code.contains('/') || SafePath::parse(code).is_err() {
                    let shown = code.escape_debug();
                    findings.add(MANIFEST, format!("/{name}: `{shown}` cannot name a folder"));
                }
            }
            Some(_) => {}
        }
    }
}

fn check_command(view: &EngineView<'_>, findings: &mut Findings) {
    let command = view.manifest.root().and_then(parse_command);
    if command.is_none() {
        let message = "/execution/command: it is missing, empty, or not a list of texts";
        findings.add(MANIFEST, message);
    }
    if let Some(fault) = view.program_fault {
        findings.add(MANIFEST, format!("/execution/command: {fault}"));
    }
}

fn check_schemas(view: &EngineView<'_>, findings: &mut Findings) {
    for (name, fault) in [INPUT_SCHEMA, OUTPUT_SCHEMA].iter().zip(view.schema_faults) {
        if let Some(reason) = fault {
            findings.add(*name, reason);
        }
    }
    let forbidden = view.input_schema.root().and_then(|schema| {
        schema
            .get("properties")?
            .get("context")?
            .get("x_forbidden_fields")
    });
    if let Some(list) = forbidden
        && (list.as_array().is_none() || !list.items().all(|name| name.is_string()))
    {
        let place = "/properties/context/x_forbidden_fields";
        findings.add(INPUT_SCHEMA, format!("{place}: it is not a list of texts"));
    }
}

fn check_coupling(view: &EngineView<'_>, findings: &mut Findings) {
    let Some(rules) = view.coupling.root() else {
        return;
    };
    for fault in coupling_faults(rules) {
        findings.add(COUPLING_RULES, fault);
    }
}

fn check_versions(view: &EngineView<'_>, findings: &mut Findings) {
    for fault in view.version_faults {
        findings.add(MANIFEST, format!("/compatibility/replay_versions: {fault}"));
    }
}

fn check_limits(view: &EngineView<'_>, findings: &mut Findings) {
    let limits = view
        .manifest
        .root()
        .and_then(|manifest| manifest.get("execution")?.get("limits"));
    let Some(limits) = limits else {
        return;
    };
    if limits.kind() != Kind::Object {
        findings.add(MANIFEST, "/execution/limits: it is not an object");
    }
    for (name, value) in limits.members() {
        let name = name.to_lossy();
        let value = value.as_number().and_then(|n| n.to_exact_i64());
        if LIMIT_NAMES.contains(&&*name) && value.is_none_or(|value| value <= 0) {
            let message = format!("/execution/limits/{name}: it is not a positive integer");
            findings.add(MANIFEST, message);
        }
    }
}

/// The definition of the engine format.
pub static DEFINITION: EngineFormat = EngineFormat;

/// An engine: a folder with five contracts.
pub struct EngineFormat;

impl FormatDefinition for EngineFormat {
    fn format(&self) -> Format {
        Format::Engine
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &["That its contracts are complete and consistent."],
            does_not: &["That the program does what its contracts say."],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn recognizes_name(&self, name: &str) -> bool {
        matches!(name, MANIFEST | "MANIFEST" | "SEALING")
    }

    fn covers(&self) -> Coverage {
        Coverage::Named {
            files: None,
            folders: &[],
        }
    }

    fn claims(&self, names: &FolderNames, _: ReadName<'_>) -> Claim {
        let has_folders = names.has_folder("MANIFEST") && names.has_folder("SEALING");
        if (names.has(MANIFEST) || has_folders) && !has_trace(names) {
            Claim::Strong
        } else {
            Claim::No
        }
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        let report = match judging.tools.judge_engine(source) {
            Ok(report) => report.asked_at(judging.level),
            Err(error) => return Some(Err(error)),
        };
        let identity = Identity {
            caveats: vec![
                "no hash covers its files: what a run was made with is in the run's bundle"
                    .to_owned(),
            ],
            ..Identity::default()
        };
        Some(Ok(Judgement { report, identity }))
    }
}

//! What redaction needs to know about run bundles.

use std::collections::BTreeMap;

use super::layout::{ARTIFACT_INDEX, MANIFEST, MODEL_IO, RUN_META, RUN_OUTPUT, SUMS};
use super::reading::{RunEnding, RunReading};
use crate::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use crate::formats::Format;
use crate::formats::definition::Ended;
use crate::formats::model_io;
use crate::formats::redacted::derivations::{Derivation, How};
use crate::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use crate::formats::redacted::redactable::{Keeping, Redactable, RuleNeeds};

/// The run bundle as redaction knows it.
pub static REDACTABLE: Redactable = Redactable {
    format: Format::RunBundle,
    keeping: Keeping::Files(&[SUMS, ARTIFACT_INDEX, REDACTION, REDACTION_SALT]),
    stays: &[
        (
            RUN_META,
            &[
                "/run_id",
                "/engine_code",
                "/engine_version",
                "/sealed_at",
                "/canonicalization",
                "/hash_algo",
                "/core_orchestrator_version",
            ],
        ),
        (
            "RUN_OUTPUT.json",
            &[
                "/engine/engine_code",
                "/engine/engine_version",
                "/semantics",
                "/declared",
                "/exit_status",
                "/failed",
                "/signal",
                "/interrupted",
            ],
        ),
        ("ENGINE_MANIFEST.json", &["/engine_code", "/engine_version"]),
    ],
    ids: &[(RUN_META, "/run_id")],
    // Large bodies of models' answers are named by their digests.
    hides_name: |path| path.starts_with("model_io.bodies/"),
    needs: &[
        RuleNeeds {
            rules: &[
                "RB1", "RB2", "RB3", "RB4", "RB5", "RB11", "RB12", "RB19", "RB20",
            ],
            files: &[],
        },
        RuleNeeds {
            rules: &["RB14"],
            files: &[MODEL_IO, "model_io.bodies/", "RUN_INPUT.json#/model_io"],
        },
        RuleNeeds {
            rules: &["RB6"],
            files: &[
                "ENGINE_MANIFEST.json",
                "INPUT_SCHEMA.json",
                "OUTPUT_SCHEMA.json",
                "COUPLING_RULES.json",
                "SEALING_SPEC.md",
                RUN_META,
            ],
        },
        RuleNeeds {
            rules: &["RB7"],
            files: &["RUN_INPUT.json", "RUN_OUTPUT.json"],
        },
    ],
    bound: |_, _| Vec::new(),
    derivations: &[DERIVATIONS, model_io::DERIVATIONS],
    reads: &super::shown::READ,
    judge_shown: super::shown::judge_shown,
    outcome,
};

/// The outcome, read as for a whole bundle.
fn outcome(documents: &BTreeMap<&str, &Value>) -> Ended {
    let read = || {
        let text = |name: &str| canonical_bytes(*documents.get(name)?, Dialect::Jcs).ok();
        let (manifest, output) = (text(MANIFEST), text(RUN_OUTPUT)?);
        let options = ReadOptions::default();
        let manifest = manifest.as_ref();
        let manifest = manifest.and_then(|manifest| parse_document(manifest, &options).ok());
        let output = parse_document(&output, &options).ok()?;
        let reading = RunReading::new(|name| match name {
            MANIFEST => manifest.as_ref().map(|manifest| manifest.root()),
            RUN_OUTPUT => Some(output.root()),
            _ => None,
        });
        Some(reading.ending().ended())
    };
    read().unwrap_or_else(|| RunEnding::Unknown.ended())
}

/// What our programs write about a run in more than one place.
const DERIVATIONS: &[Derivation] = &[
    // What a recorded command was given, and where that is repeated.
    Derivation {
        of: &["RUN_INPUT.json#/argv"],
        how: How::Same,
        told: &["ENGINE_MANIFEST.json#/execution/command"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/argv/{i}"],
        how: How::Same,
        told: &["ENGINE_MANIFEST.json#/execution/command/{i}"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/argv/0"],
        how: How::Repeated,
        told: &[
            "RUN_ENVIRONMENT.json#/program",
            "RUN_ENVIRONMENT.json#/became",
        ],
    },
    Derivation {
        of: &["RUN_INPUT.json#/parameters/{n}"],
        how: How::Same,
        told: &[
            "RUN_INPUT.json#/environment/RUNSEAL_PARAM_{n}",
            "RUN_ENVIRONMENT.json#/variables/RUNSEAL_PARAM_{n}",
        ],
    },
    Derivation {
        of: &["RUN_INPUT.json#/environment/{n}"],
        how: How::Same,
        told: &["RUN_ENVIRONMENT.json#/variables/{n}"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/parameters"],
        how: How::Named,
        told: &["RUN_INPUT.json#/environment"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/environment"],
        how: How::Named,
        told: &["RUN_ENVIRONMENT.json#/variables"],
    },
    // The schema of a recorded command's input names the parameters that it was given.
    Derivation {
        of: &["RUN_INPUT.json#/parameters"],
        how: How::Named,
        told: &["INPUT_SCHEMA.json#/properties/parameters"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/fixed_time"],
        how: How::Same,
        told: &[
            "RUN_ENVIRONMENT.json#/variables/SOURCE_DATE_EPOCH",
            "RUN_ENVIRONMENT.json#/variables/FAKETIME",
        ],
    },
    Derivation {
        of: &["RUN_ENVIRONMENT.json#/variables/LC_ALL"],
        how: How::Same,
        told: &["RUN_ENVIRONMENT.json#/locale"],
    },
    Derivation {
        of: &["RUN_ENVIRONMENT.json#/variables/TZ"],
        how: How::Same,
        told: &["RUN_ENVIRONMENT.json#/timezone"],
    },
    // A document and its exact bytes.
    Derivation {
        of: &["{f}"],
        how: How::Repeated,
        told: &["exact/{f}.bytes"],
    },
    Derivation {
        of: &["exact/{f}.bytes"],
        how: How::Repeated,
        told: &["{f}"],
    },
    // Lists of files: entries with the place where the bytes are.
    Derivation {
        of: &["{f}"],
        how: How::Digest,
        told: &[
            "RUN_INPUT.json#/files/*[stored={f}]/sha256",
            "RUN_INPUT.json#/inputs/*[stored={f}]/sha256",
            "RUN_INPUT.json#/stdin[stored={f}]/sha256",
            "RUN_INPUT.json#/model_io[stored={f}]/sha256",
            "RUN_OUTPUT.json#/outputs/*[stored={f}]/sha256",
            "RUN_OUTPUT.json#/stdout[stored={f}]/sha256",
            "RUN_OUTPUT.json#/stderr[stored={f}]/sha256",
            "RUN_ENVIRONMENT.json#/engine_files/*[stored={f}]/sha256",
            "RUN_ENVIRONMENT.json#/terminal/recording[stored={f}]/sha256",
            "RUN_META.json#/contracts_hashes/{f}",
        ],
    },
    Derivation {
        of: &["{f}"],
        how: How::Size,
        told: &[
            "RUN_INPUT.json#/files/*[stored={f}]/bytes",
            "RUN_INPUT.json#/inputs/*[stored={f}]/bytes",
            "RUN_INPUT.json#/stdin[stored={f}]/bytes",
            "RUN_INPUT.json#/model_io[stored={f}]/bytes",
            "RUN_OUTPUT.json#/outputs/*[stored={f}]/bytes",
            "RUN_OUTPUT.json#/stdout[stored={f}]/bytes",
            "RUN_OUTPUT.json#/stderr[stored={f}]/bytes",
            "RUN_ENVIRONMENT.json#/engine_files/*[stored={f}]/bytes",
            "RUN_ENVIRONMENT.json#/terminal/recording[stored={f}]/bytes",
        ],
    },
    // What was shown on a terminal, without times and with them.
    Derivation {
        of: &["logs/stdout.txt"],
        how: How::Repeated,
        told: &["logs/terminal.cast"],
    },
    Derivation {
        of: &["logs/stderr.txt"],
        how: How::Repeated,
        told: &["logs/terminal.cast"],
    },
    Derivation {
        of: &["logs/terminal.cast"],
        how: How::Repeated,
        told: &["logs/stdout.txt", "logs/stderr.txt"],
    },
    // The same files in listings of folders, and in the lists of a declared run.
    Derivation {
        of: &[
            "RUN_INPUT.json#/files/*[path={p}]/sha256",
            "RUN_INPUT.json#/inputs/*[path={p}]/sha256",
            "RUN_OUTPUT.json#/outputs/*[path={p}]/sha256",
            "RUN_ENVIRONMENT.json#/engine_files/*[path={p}]/sha256",
            "RUN_INPUT.json#/files/*[path={p}]/bytes",
            "RUN_INPUT.json#/inputs/*[path={p}]/bytes",
            "RUN_OUTPUT.json#/outputs/*[path={p}]/bytes",
            "RUN_ENVIRONMENT.json#/engine_files/*[path={p}]/bytes",
            "RUN_ENVIRONMENT.json#/listed/*[path={p}]/entries/*[name={p}]/bytes",
            "RUN_ENVIRONMENT.json#/present/*[path={p}]/bytes",
        ],
        how: How::Size,
        told: &[
            "RUN_ENVIRONMENT.json#/listed/*[path={p}]/entries/*[name={p}]/bytes",
            "RUN_ENVIRONMENT.json#/present/*[path={p}]/bytes",
            "RUN_INPUT.json#/files/*[path={p}]/bytes",
            "RUN_INPUT.json#/inputs/*[path={p}]/bytes",
        ],
    },
    // Names of files and folders. Those of files in the bundle remain visible.
    Derivation {
        of: &["RUN_INPUT.json#/files/*[path={p}]/path"],
        how: How::Same,
        told: &[
            "RUN_INPUT.json#/inputs/*[path={p}]/path",
            "RUN_INPUT.json#/links/*[path={p}]/path",
            "RUN_OUTPUT.json#/outputs/*[path={p}]/path",
            "RUN_OUTPUT.json#/deleted/*[={p}]",
            "RUN_OUTPUT.json#/folders/*[={p}]",
            "RUN_OUTPUT.json#/not_kept/*[={p}]",
            "RUN_ENVIRONMENT.json#/listed/*[path={p}]/entries/*[name={p}]/name",
            "RUN_ENVIRONMENT.json#/present/*[path={p}]/path",
            "RUN_ENVIRONMENT.json#/engine_files/*[path={p}]/path",
        ],
    },
    Derivation {
        of: &["RUN_ENVIRONMENT.json#/program[={p}]"],
        how: How::Same,
        told: &[
            "RUN_ENVIRONMENT.json#/became[={p}]",
            "RUN_ENVIRONMENT.json#/files/*[path={p}]/path",
        ],
    },
    // The digest of the command covers lines of digests and names of its files.
    Derivation {
        of: &[
            "RUN_INPUT.json#/argv",
            "ENGINE_MANIFEST.json#/execution/command",
            "engine/{f}",
            "inputs/{f}",
            "exact/engine/{f}",
            "exact/inputs/{f}",
        ],
        how: How::Digest,
        told: &["RUN_META.json#/engine_executable_sha256"],
    },
    Derivation {
        of: &["RUN_INPUT.json"],
        how: How::Digest,
        told: &["RUN_OUTPUT.json#/inputs_hash"],
    },
    Derivation {
        of: &["RUN_OUTPUT.json"],
        how: How::Digest,
        told: &["RUN_OUTPUT.json#/outputs_hash"],
    },
    // Lists that are sorted by what is withheld of them.
    Derivation {
        of: &["RUN_INPUT.json#/files/*/path"],
        how: How::Sorted,
        told: &["RUN_INPUT.json#/files"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/inputs/*/path"],
        how: How::Sorted,
        told: &["RUN_INPUT.json#/inputs"],
    },
    Derivation {
        of: &["RUN_INPUT.json#/links/*/path"],
        how: How::Sorted,
        told: &["RUN_INPUT.json#/links"],
    },
    Derivation {
        of: &["RUN_OUTPUT.json#/outputs/*/path"],
        how: How::Sorted,
        told: &["RUN_OUTPUT.json#/outputs"],
    },
    Derivation {
        of: &["RUN_OUTPUT.json#/deleted/*"],
        how: How::Sorted,
        told: &["RUN_OUTPUT.json#/deleted"],
    },
    Derivation {
        of: &["RUN_OUTPUT.json#/folders/*"],
        how: How::Sorted,
        told: &["RUN_OUTPUT.json#/folders"],
    },
    Derivation {
        of: &["RUN_OUTPUT.json#/not_kept/*"],
        how: How::Sorted,
        told: &["RUN_OUTPUT.json#/not_kept"],
    },
    Derivation {
        of: &["RUN_CONTEXT_STRIPPED.json#/stripped/*"],
        how: How::Sorted,
        told: &["RUN_CONTEXT_STRIPPED.json#/stripped"],
    },
    Derivation {
        of: &["RUN_ENVIRONMENT.json#/present/*/path"],
        how: How::Sorted,
        told: &["RUN_ENVIRONMENT.json#/present"],
    },
    Derivation {
        of: &[
            "RUN_ENVIRONMENT.json#/listed/*/path",
            "RUN_ENVIRONMENT.json#/listed/*/entries/*/name",
        ],
        how: How::Sorted,
        told: &["RUN_ENVIRONMENT.json#/listed"],
    },
    Derivation {
        of: &["RUN_ENVIRONMENT.json#/files/*/path"],
        how: How::Sorted,
        told: &["RUN_ENVIRONMENT.json#/files"],
    },
    Derivation {
        of: &["RUN_ENVIRONMENT.json#/engine_files/*/path"],
        how: How::Sorted,
        told: &["RUN_ENVIRONMENT.json#/engine_files"],
    },
    // A metric is the last value of its series.
    Derivation {
        of: &["RUN_OUTPUT.json#/series/{m}"],
        how: How::Computed,
        told: &["RUN_OUTPUT.json#/metrics/{m}"],
    },
    Derivation {
        of: &["RUN_OUTPUT.json#/metrics/{m}"],
        how: How::Repeated,
        told: &["RUN_OUTPUT.json#/series/{m}"],
    },
];

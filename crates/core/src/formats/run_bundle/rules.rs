//! The rules of run bundles. Their checks are in the modules `rules_*`.

use super::facts::{Doc, RunBundleView};
pub use super::rules_documents::{allowed_engines, coupling_faults};
use super::{
    rules_agreement as agreement, rules_documents as documents, rules_environment as environment,
    rules_files as files, rules_meta as meta, rules_models as models, rules_recorded as recorded,
    rules_shape as shape,
};
use crate::formats::Format;
use crate::verify::{Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// Names the run bundle as the subject of its rules.
pub struct RunBundle;

impl Subject for RunBundle {
    type View<'a> = RunBundleView<'a>;
    const FORMAT: Format = Format::RunBundle;
    const NAMES_FILES: bool = true;
}

/// Verifies a run bundle.
pub fn verify_run_bundle(view: &RunBundleView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

const fn info(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::RunBundle,
        title,
        section,
        level: Level::Document,
        explanation,
    }
}

/// The rules of a run bundle.
pub static RULES: [Rule<RunBundle>; 21] = [
    Rule {
        info: info(
            "RB1",
            "004 Directory Layout; replay rule 1",
            "every required file is there",
            "The five contracts, RUN_INPUT.json, RUN_OUTPUT.json, ARTIFACT_INDEX.json, \
             SHA256SUMS.txt and RUN_META.json are regular files. A link, folder, pipe or device \
             in place of one counts as missing and is never opened.",
        ),
        gate: |_| Gate::Ready,
        check: files::check_required,
    },
    Rule {
        info: info(
            "RB2",
            "004 SHA256SUMS.txt",
            "no file is unlisted or unsafe",
            "Every regular file except SHA256SUMS.txt has a line in it. Links, pipes and devices, and \
             names that could be read as another place (`..`, a leading `/`, a backslash, a \
             control character), do not belong in a bundle.",
        ),
        gate: |_| Gate::Ready,
        check: files::check_unlisted,
    },
    Rule {
        info: info(
            "RB3",
            "004 RUN_INPUT.json; replay rule 2",
            "the input satisfies its schema",
            "RUN_INPUT.json is valid against INPUT_SCHEMA.json, which is a schema of draft 4, 6, \
             7, 2019-09 or 2020-12 (2020-12 if it does not say) and refers to nothing outside \
             itself. `format` is not asserted. Each violation is reported with its JSON Pointer.",
        ),
        gate: |view| needs_both(&view.input, &view.input_schema),
        check: documents::check_input_schema,
    },
    Rule {
        info: info(
            "RB4",
            "004 RUN_OUTPUT.json; replay rule 3",
            "the output satisfies its schema and says what it must",
            "RUN_OUTPUT.json is valid against OUTPUT_SCHEMA.json, as RB3 demands for the input, and \
             has inputs_hash, outputs_hash, engine.engine_code, engine.engine_version and \
             semantics: RAW_TRUTH, CORRELATION_ONLY or DETERMINISTIC_TRANSFORM, unless the schema \
             has its own enum.",
        ),
        gate: |view| needs_both(&view.output, &view.output_schema),
        check: documents::check_output_schema,
    },
    Rule {
        info: info(
            "RB5",
            "004 SHA256SUMS.txt, ARTIFACT_INDEX.json; replay rule 4",
            "every file has its listed hash",
            "Each file has the SHA-256 that SHA256SUMS.txt and ARTIFACT_INDEX.json give: over its \
             JCS bytes if its name ends in `.json`, over its bytes otherwise. A listed file is \
             there. A line is 64 lower-case hex digits, two spaces, a path and LF; no path appears \
             twice. A JSON file that no other rule reads has a JCS form.",
        ),
        gate: |_| Gate::Ready,
        check: files::check_hashes,
    },
    Rule {
        info: info(
            "RB6",
            "004 RUN_META.json; replay rule 5",
            "the contracts are those of the run",
            "contracts_hashes in RUN_META.json gives the SHA-256 of each of the five contracts in \
             the bundle.",
        ),
        gate: |view| match view
            .meta
            .root()
            .and_then(|meta| meta.get("contracts_hashes"))
        {
            Some(_) => Gate::Ready,
            None => Gate::NotRun("there are no contracts_hashes"),
        },
        check: meta::check_contract_hashes,
    },
    Rule {
        info: info(
            "RB7",
            "004 RUN_OUTPUT.json",
            "inputs_hash and outputs_hash are right",
            "inputs_hash is the SHA-256 over the JCS bytes of RUN_INPUT.json; outputs_hash over \
             those of RUN_OUTPUT.json without that member, or of its member `outputs` if \
             ENGINE_MANIFEST.json says `\"sealing\":{\"outputs_hash_scope\":\"payload\"}`. Both \
             are 64 lower-case hex digits.",
        ),
        gate: |view| needs(&view.output, "there is no output"),
        check: documents::check_declared_hashes,
    },
    Rule {
        info: info(
            "RB8",
            "004 Sealing Rules",
            "no forbidden key is left",
            "Names of people, their rights and their payments (the list is in docs/engines.md), \
             and what INPUT_SCHEMA.json adds at properties.context.x_forbidden_fields, are \
             nowhere below `context` in RUN_INPUT.json, and nowhere at all in RUN_OUTPUT.json and \
             in the JSON files of artifacts/. ASCII letter case does not matter. The artifacts of \
             a recorded command are its user's own files and are not checked.",
        ),
        gate: |_| Gate::Ready,
        check: documents::check_forbidden,
    },
    Rule {
        info: info(
            "RB9",
            "004 COUPLING_RULES.json",
            "coupling goes through the orchestrator only",
            "COUPLING_RULES.json says delivery_model \"CORE_ONLY\", core_mediated_coupling true \
             and direct_engine_to_engine_calls false, and lists nothing but engines in \
             allowed_inputs_from_other_engines. Artifacts from other engines are from engines \
             listed in allowed_inputs_from_other_engines, and INPUT_ARTIFACT_INDEX.json and the \
             input_artifact_index of input and output are the same list, which names every file \
             of upstream/.",
        ),
        gate: |_| Gate::Ready,
        check: documents::check_coupling,
    },
    Rule {
        info: info(
            "RB10",
            "004 RUN_META.json",
            "RUN_META is complete and agrees with the rest",
            "run_id, engine_code, engine_version, sealed_at (UTC, YYYY-MM-DDTHH:MM:SSZ), \
             canonicalization JCS_RFC8785, hash_algo sha256, core_orchestrator_version and \
             contracts_hashes with all five contracts are there. Engine code and version are the \
             same in RUN_META.json, ENGINE_MANIFEST.json and RUN_OUTPUT.json. A manifest has \
             engine_code RECORDED_COMMAND and `\"execution\":{\"recorded\":true}` together, or \
             neither.",
        ),
        gate: |view| match view.manifest {
            Doc::Broken(_) => Gate::Ready,
            _ => needs(&view.meta, "there is no RUN_META.json"),
        },
        check: meta::check_meta,
    },
    Rule {
        info: info(
            "RB11",
            "004 ARTIFACT_INDEX.json",
            "the index is complete",
            "ARTIFACT_INDEX.json is {\"artifacts\":[…]} or a bare list; every entry has \
             artifact_name, relative_path, sha256, content_type and a known role, which are \
             those of its path as far as the format knows the place; no path appears twice; every file of \
             SHA256SUMS.txt except the index itself has an entry.",
        ),
        gate: |view| match (view.listed, view.index_fault) {
            (None, None) => Gate::NotRun("there is no index"),
            _ => Gate::Ready,
        },
        check: files::check_index,
    },
    Rule {
        info: RuleInfo {
            level: Level::Form,
            ..info(
                "RB12",
                "004 Sealing Rules",
                "everything is stored canonically",
                "Every JSON file is stored as exactly its JCS bytes, so that coreutils alone can \
                 check the bundle, and the lists are sorted by path, INPUT_ARTIFACT_INDEX.json by its three members, by code point.",
            )
        },
        gate: |_| Gate::Ready,
        check: files::check_stored_canonically,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB13",
                "docs/formats/run-bundle.md, What was read and written",
                "what was read and written is what is stored",
                "Each file that RUN_INPUT.json and RUN_OUTPUT.json of a recorded command, or \
                 RUN_ENVIRONMENT.json of an engine's run, lists with the place of its bytes is \
                 stored there with the hash and the size that the list gives, and the place is \
                 that of its path; no list has a path twice or a path that leads elsewhere. Nothing \
                 else is in engine/, inputs/, logs/ and exact/, nor in the artifacts/ of a \
                 recorded command, whether there are lists or not. A JSON file that is stored as its JCS has the value of \
                 its exact bytes in exact/, and these do not stand there without it.",
            )
        },
        gate: recorded::has_lists,
        check: recorded::check_listed_files,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB14",
                "docs/formats/run-bundle.md, What models were asked",
                "the recording of model calls is valid",
                "model_io.json of a recorded command is a valid recording of model calls (rules MI1 \
                 to MI17), RUN_INPUT.json lists it, and model_io.bodies/ has the bodies that it \
                 names and nothing else.",
            )
        },
        gate: models::has_calls,
        check: models::check_calls,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB15",
                "docs/formats/run-bundle.md, What is stated twice",
                "what a run states twice agrees",
                "For a recorded command: execution.command of the manifest is argv; there is an \
                 exit_status or a signal, and `failed` says whether the status is not 0; parameters \
                 are the variables RUNSEAL_PARAM_* that were given, and these are those that \
                 RUN_ENVIRONMENT.json has, in which `locale` is LC_ALL and `timezone` is TZ; the gaps \
                 name what no recording sees, and a sandbox without namespaces. For a run \
                 that its own program described: RUN_OUTPUT.json and the level of observation say \
                 `declared`, `files` and engine_files are the same, and it failed if it has an `error`. For \
                 every run with RUN_ENVIRONMENT.json: no file of the machine is listed twice, and \
                 engine_executable_sha256 covers the files of the command, if the bundle lists \
                 everything that it can cover. For a redactable run: REDACTION.json is a commitment that covers \
                 the files of the bundle, each as its kind, and REDACTION_SALT.json has a salt.",
            )
        },
        gate: agreement::has_repetitions,
        check: agreement::check_agreement,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB16",
                "docs/formats/run-bundle.md, RUN_ENVIRONMENT.json",
                "the environment has its members",
                "RUN_ENVIRONMENT.json, if present, has the members that its page lists, each \
                 of its type; further members are allowed.",
            )
        },
        gate: environment::has_environment,
        check: environment::check_shape,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB17",
                "docs/formats/run-bundle.md, Sealing",
                "the hashes cover every integer",
                "A JSON file that is not stored as its JCS bytes has no integer that is another one \
                 in JCS, which has only doubles: beyond 2^53, neighbouring integers have the same hash.",
            )
        },
        gate: |_| Gate::Ready,
        check: files::check_covered_integers,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB18",
                "docs/formats/run-bundle.md, What was read and written",
                "input and output of a recorded command have their members",
                "RUN_INPUT.json and RUN_OUTPUT.json of a recorded command have the members that the \
                 page lists, each of its type, and no others, whatever the schemas in the bundle \
                 allow: a replay compares these members.",
            )
        },
        gate: shape::is_recorded,
        check: shape::check_members,
    },
    Rule {
        info: RuleInfo {
            level: Level::Form,
            ..info(
                "RB19",
                "docs/formats/run-bundle.md, Files",
                "every file is in a known place",
                "Each file is at a place that the format has for this kind of run. A file elsewhere \
                 is never shown as an input, an output or a log, and a replay reports it as unused.",
            )
        },
        gate: |_| Gate::Ready,
        check: files::check_places,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB20",
                "docs/formats/run-bundle.md, Files",
                "no folder is empty",
                "Every folder contains a file. The sums list files, so the name of an empty folder could be \
                 added to a sealed bundle. Folders that a command left empty are listed in \
                 RUN_OUTPUT.json.",
            )
        },
        gate: |_| Gate::Ready,
        check: files::check_folders,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "RB21",
                "004 Directory Layout",
                "the folder has the name of its run",
                "A bundle whose path, as it is given or found, is a folder directly in one named RUN_BUNDLE \
                 has run_id as its name. Elsewhere a bundle may have any name.",
            )
        },
        gate: meta::has_name,
        check: meta::check_name,
    },
];

fn needs(doc: &Doc<'_>, because: &'static str) -> Gate {
    match doc {
        Doc::Absent => Gate::NotRun(because),
        _ => Gate::Ready,
    }
}

fn needs_both(document: &Doc<'_>, schema: &Doc<'_>) -> Gate {
    match (document, schema) {
        (Doc::Broken(_), _) | (_, Doc::Broken(_)) => Gate::Ready,
        (Doc::Absent, _) => Gate::NotRun("the document is missing"),
        (_, Doc::Absent) => Gate::NotRun("the schema is missing"),
        (Doc::Read(_), Doc::Read(_)) => Gate::Ready,
    }
}

//! The rules of packs.

use super::{
    Pack, PackView, agreement, companions, completeness, contents, included, proposal, sealed,
    structure,
};
use crate::formats::{Format, policy, run};
use crate::source::EntryKind;
use crate::verify::{Gate, Level, Rule, RuleInfo};

const fn info(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Pack,
        title,
        section,
        level: Level::Document,
        explanation,
    }
}

const fn integrity(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Pack,
        title,
        section: "002 §3.1, companion texts",
        level: Level::Integrity,
        explanation,
    }
}

const fn form(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        level: Level::Form,
        ..integrity(id, title, explanation)
    }
}

/// Whether a file can be read. Another rule reports an entry that is not a regular file.
fn needs(view: &PackView<'_>, name: &str) -> Gate {
    match view.kind_of(name) {
        Some(EntryKind::File) => Gate::Ready,
        Some(_) => Gate::NotApplicable("the entry of that name is not a regular file"),
        None => Gate::NotApplicable("there is no such file"),
    }
}

fn always(_: &PackView<'_>) -> Gate {
    Gate::Ready
}

fn needs_run(view: &PackView<'_>) -> Gate {
    needs(view, "run.json")
}

fn needs_policy(view: &PackView<'_>) -> Gate {
    needs(view, "policy.json")
}

fn needs_evidence(view: &PackView<'_>) -> Gate {
    needs(view, "evidence.json")
}

fn needs_ledger(view: &PackView<'_>) -> Gate {
    needs(view, "ledger.jsonl")
}

/// The rules of a pack.
pub static RULES: [Rule<Pack>; 39] = [
    Rule {
        info: info(
            "PK1",
            "002 §8 PK1",
            "the required files are there",
            "run.json, and bundle.json unless the run says REFUSE, are there as regular files.",
        ),
        gate: always,
        check: structure::check_required,
    },
    Rule {
        info: info(
            "PK2",
            "002 §8 PK2, §3.2",
            "there are no other files",
            "Only run.json, bundle.json, patch.json, evidence.json, ledger.jsonl, policy.json, \
             model_io.json, runner.json and meta.json; no patch and no evidence if the kernel \
             asked questions, and no bundle either if it refused.",
        ),
        gate: always,
        check: structure::check_known,
    },
    Rule {
        info: info(
            "PK3",
            "002 §8 PK3, §4.2",
            "run.json has its fields",
            "run.json is an object with every field that all outcomes have, each of its type: \
             run_schema_version is 1.N.N, the outcome is known, the bundle reference fits it, the \
             intent has a hash and a relative path, the decision says whether it accepts and why.",
        ),
        gate: needs_run,
        check: contents::check_run,
    },
    Rule {
        info: info(
            "PK4",
            "002 §8 PK4, §4.3",
            "bundle.json is a valid context bundle",
            "Everything that `runseal bundle verify` finds in bundle.json is a finding of the \
             pack.",
        ),
        gate: |view| needs(view, "bundle.json"),
        check: contents::check_bundle,
    },
    Rule {
        info: info(
            "PK5",
            "002 §8 PK5, §4.1",
            "run.json names this bundle",
            "bundle.sha256 in run.json is sha256: and the canonical hash of bundle.json. A \
             difference means that one of the two was changed after the run.",
        ),
        gate: needs_run,
        check: contents::check_bundle_hash,
    },
    Rule {
        info: info(
            "PK6",
            "002 §8 PK6, §5.1",
            "there are no symbolic links",
            "A link could lead to another file tomorrow; it is reported and never followed.",
        ),
        gate: always,
        check: structure::check_links,
    },
    Rule {
        info: info(
            "PK7",
            "002 §8 PK7, §5.2, §5.3",
            "no path climbs",
            "The pack's path as given has no `..`, no `.` segment inside and no `//`; no name in \
             the pack contains a backslash.",
        ),
        gate: always,
        check: structure::check_traversal,
    },
    Rule {
        info: info(
            "PK8",
            "002 §8 PK8, §4.4-4.6",
            "the optional files are valid",
            "patch.json, model_io.json and runner.json pass their own rules up to the level that is \
             checked; evidence.json and policy.json have their fields, each of its type; proposal \
             hashes are well formed; policy.json is the policy in run.json; meta.json is JSON.",
        ),
        gate: always,
        check: contents::check_optional,
    },
    Rule {
        info: info(
            "PK9",
            "002 §8 PK9",
            "the ledger consists of entries",
            "Every line of ledger.jsonl that is not blank is a JSON object with run_id, \
             timestamp, intent_sha256, result_kind, mode and policy, all texts, and accepted, a \
             boolean.",
        ),
        gate: needs_ledger,
        check: contents::check_ledger,
    },
    Rule {
        info: info(
            "PK10",
            "002 §8 PK10, §6.2",
            "findings are sorted",
            "Findings come out by rule, path and message. This is about the verifier and cannot \
             fail for a pack.",
        ),
        gate: |_| Gate::NotApplicable("it is about the verifier: all findings have one order"),
        check: |_, _| {},
    },
    Rule {
        info: info(
            "PK11",
            "002 §8 PK11",
            "meta.json is ignored",
            "meta.json may be any JSON and changes no verdict. This is about the verifier and \
             cannot fail for a pack.",
        ),
        gate: |_| Gate::NotApplicable("it is about the verifier: meta.json is parsed only"),
        check: |_, _| {},
    },
    Rule {
        info: info(
            "PK12",
            "002 §8 PK12",
            "there are regular files only",
            "No folders, pipes, sockets or devices.",
        ),
        gate: always,
        check: structure::check_regular,
    },
    Rule {
        info: integrity(
            "PK13",
            "the records agree with each other",
            "bundle_id and kernel_version in run.json are the bundle's; the ledger's entry of this \
             run has run.json's values; patch and evidence name the same proposal; no required \
             action or test failed if the run was accepted or has exit code 0; results have the \
             hash of the patch's content, the action id of their content, and their files and \
             commands are the run's; the runner's exit, network and write roots fit the run and \
             its policy.",
        ),
        gate: needs_run,
        check: agreement::check_agreement,
    },
    Rule {
        info: integrity(
            "PK14",
            "the files are those that run.json lists",
            "If run.json has `files` and `self_hash`, every other file except meta.json is listed \
             with the hash of its bytes, and self_hash is the canonical hash of run.json without \
             that member. Packs of other producers need have neither. If it has `redaction`, that is \
             a commitment that covers the files of the pack, each as its kind, and a salt.",
        ),
        gate: sealed::needs_list,
        check: sealed::check_cover,
    },
    Rule {
        info: integrity(
            "PK15",
            "the records repeat each other in full",
            "In a pack that lists its files, and with --strict in any: the ledger has this run's \
             entry alone, every operation of the patch has its result, and the runner's limits \
             and times are the run's. If the files are listed, also: the commands are those of \
             the evidence, sandbox_id is that of policy and proposal, the runner's lists are the \
             policy's, and the decision is the one its reasons support.",
        ),
        gate: completeness::needs_completeness,
        check: completeness::check_completeness,
    },
    Rule {
        info: integrity(
            "PK16",
            "what was written and printed is in the pack",
            "If evidence.json has `contents`: every file that an action wrote or that exists at \
             the end, and all that commands printed, is in `contents` or, if the plan wrote it, in \
             patch.json; nothing else is; and the concatenated output of the commands, \
             up to 64 MiB, has the hashes of run.json. What was too long to be included is marked as \
             omitted.",
        ),
        gate: included::needs_contents,
        check: included::check_included,
    },
    Rule {
        info: integrity(
            "PK17",
            "the proposal is that of this bundle",
            "If evidence.json includes the proposal that was executed: it is a valid proposal whose \
             source_bundle_id and source_bundle_hash are those of bundle.json, proposal_id is its \
             id, the operations of the patch are its files, and in a pack that lists its files a run \
             that needs approval is accepted only with a reason that records the approval.",
        ),
        gate: proposal::has_proposal,
        check: proposal::check_proposal,
    },
    Rule {
        info: integrity(
            "RS1",
            "the run's version is known",
            "run_schema_version is 1.0.0.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_version),
    },
    Rule {
        info: integrity(
            "RS2",
            "the outcome is one of three",
            "kernel_result_kind is BUNDLE, CLARIFY or REFUSE.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_outcome),
    },
    Rule {
        info: integrity(
            "RS3",
            "the run has the fields of its outcome",
            "Every field has its type; bundle, clarify_questions, refuse_reason and execution are \
             present or absent as the outcome says; decision.reason of a refusal, if given, is \
             refuse_reason, with or without its code; an execution is complete, its outputs sorted \
             and their sizes added up right.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_table),
    },
    Rule {
        info: integrity(
            "RS4",
            "the run's hashes are well formed",
            "intent.sha256 and bundle.sha256 are hashes, bundle_id is not empty.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_hashes),
    },
    Rule {
        info: integrity(
            "RS5",
            "the policy is the named profile",
            "policy in run.json is strict, default or dev, word for word; or it has `custom` true \
             and every value that it changes or keeps, and nothing else.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_policy),
    },
    Rule {
        info: integrity(
            "RS6",
            "the run leaks nothing of the host",
            "intent.path is relative and does not climb, with `/` or with a backslash; neither the \
             run nor its execution has sandbox_path or model_io_path.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_leaks),
    },
    Rule {
        info: form(
            "RS7",
            "run.json is stored canonically",
            "The bytes are the canonical form, with or without a final line feed.",
        ),
        gate: needs_run,
        check: companions::check_run_form,
    },
    Rule {
        info: integrity(
            "RS8",
            "the decision agrees with what happened",
            "accepted is false unless there is a bundle, and implies exit code 0 if something \
             was executed; validated_by_kernel is true.",
        ),
        gate: needs_run,
        check: |view, findings| companions::check_run(view, findings, run::check_decision),
    },
    Rule {
        info: integrity(
            "PL1",
            "the policy's name is known",
            "name is strict, default or dev.",
        ),
        gate: needs_policy,
        check: |view, findings| {
            companions::check_policy(view, findings, companions::find_name_faults)
        },
    },
    Rule {
        info: integrity(
            "PL2",
            "the policy is complete",
            "All seven fields are there, each of its type.",
        ),
        gate: needs_policy,
        check: |view, findings| companions::check_policy(view, findings, policy::find_shape_faults),
    },
    Rule {
        info: integrity(
            "PL3",
            "the policy is within bounds",
            "timeout_ms is 1000 to 600000, max_output_files 1 to 10000, max_total_output_bytes \
             1024 to 1073741824.",
        ),
        gate: needs_policy,
        check: |view, findings| companions::check_policy(view, findings, policy::find_bound_faults),
    },
    Rule {
        info: integrity(
            "EV1",
            "evidence is about the patch's proposal",
            "proposal_hash is a hash and, if there is a patch, its source_proposal_hash.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV1"),
    },
    Rule {
        info: integrity(
            "EV2",
            "results of actions are well formed",
            "As `runseal evidence verify` checks it.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV2"),
    },
    Rule {
        info: integrity(
            "EV3",
            "results of tests are well formed",
            "As `runseal evidence verify` checks it.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV3"),
    },
    Rule {
        info: integrity(
            "EV4",
            "the evidence's status agrees with its results",
            "As `runseal evidence verify` checks it.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV4"),
    },
    Rule {
        info: integrity(
            "EV5",
            "the evidence has a hash",
            "As `runseal evidence verify` checks it.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV5"),
    },
    Rule {
        info: integrity(
            "EV6",
            "the evidence's contents have their hashes",
            "As `runseal evidence verify --strict` checks it.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV6"),
    },
    Rule {
        info: integrity(
            "EV7",
            "the evidence's proposal is the one that was executed",
            "As `runseal evidence verify --strict` checks it.",
        ),
        gate: needs_evidence,
        check: |view, findings| companions::check_evidence(view, findings, "EV7"),
    },
    Rule {
        info: integrity(
            "LD1",
            "every line of the ledger is a whole entry",
            "As `runseal ledger verify` checks it.",
        ),
        gate: needs_ledger,
        check: |view, findings| companions::check_ledger(view, findings, "LD1"),
    },
    Rule {
        info: integrity(
            "LD2",
            "the ledger's times never decrease",
            "As `runseal ledger verify` checks it.",
        ),
        gate: needs_ledger,
        check: |view, findings| companions::check_ledger(view, findings, "LD2"),
    },
    Rule {
        info: integrity(
            "LD3",
            "a run appears once in the ledger",
            "As `runseal ledger verify` checks it.",
        ),
        gate: needs_ledger,
        check: |view, findings| companions::check_ledger(view, findings, "LD3"),
    },
    Rule {
        info: integrity(
            "LD4",
            "the ledger's hashes are well formed",
            "As `runseal ledger verify` checks it.",
        ),
        gate: needs_ledger,
        check: |view, findings| companions::check_ledger(view, findings, "LD4"),
    },
];

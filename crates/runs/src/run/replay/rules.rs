//! The document's replay rules: which of them a bundle's report violates, and whether the given
//! engine is the one that was sealed.

use std::collections::BTreeSet;

use runseal_core::canon::Node;
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    CONTRACTS, ENGINE_FOLDER, MANIFEST, RUN_ENVIRONMENT, RUN_META,
};
use runseal_core::formats::run_bundle::pointer;
use runseal_core::formats::run_bundle::recorded::{ENGINE_LIST, parse_listed_files};
use runseal_core::formats::run_bundle::replay_rules::{self, replay_rule, violated};
use runseal_core::path::SafePath;
use runseal_core::source::Source;
use runseal_core::verify::{Report, RuleState};
use runseal_sandbox::SandboxError;

use super::{Replay, ReplayOptions};
use crate::record::machine::compare_machine;
use crate::run::command::{compute_executable, find_bare_program, permits_version};
use crate::run::contracts::Engine;
use crate::run::seal::SealError;
use crate::run::verify::VerifiedRun;

/// Which replay rule each finding of the verifier violates.
pub(super) fn rules_of_report(report: &Report) -> [Vec<String>; replay_rules::COUNT] {
    let mut rules: [Vec<String>; replay_rules::COUNT] = Default::default();
    for finding in report.findings() {
        let place = finding.path().unwrap_or_default();
        let told = format!("{} {place}: {}", finding.rule_id, finding.message);
        rules[violated(finding.rule_id, finding.path())].push(told);
    }
    rules
}

/// The indexes of the replay rules that could not be checked, because what they need is missing.
pub(super) fn unchecked_of_report(report: &Report) -> BTreeSet<usize> {
    let not_run = report
        .results()
        .iter()
        .filter(|result| result.required && matches!(result.state, RuleState::NotRun(_)));
    not_run
        .filter_map(|result| replay_rule(result.rule.id)?.unchecked())
        .collect()
}

/// Checks rules 5 and 6 for the given engine.
pub(super) fn check_engine(
    run: &VerifiedRun<'_>,
    engine: &Engine,
    options: ReplayOptions<'_>,
    replay: &mut Replay,
) -> Result<(), SealError> {
    let environment = run.document(RUN_ENVIRONMENT);
    let environment = environment.as_ref().map(|document| document.root());
    match environment {
        Some(environment) => {
            // An engine sees the system's folders and nothing else of the host.
            let check = compare_machine(environment, options.cancel)
                .map_err(|_| SealError::Sandbox(SandboxError::Cancelled))?;
            replay.notes.extend(check.describe_not_looked_at());
            replay.environment = Some(check);
        }
        None => replay.add_no_environment(
            "there is no RUN_ENVIRONMENT.json: what the engine read, its interpreter and libraries \
             cannot be compared",
            options.same_environment,
        ),
    }
    let rules = &mut replay.rules;
    let meta = run.document(RUN_META);
    let meta = meta.as_ref().map(|document| document.root());
    let text = |name: &str| Some(meta?.get(name)?.as_str()?.into_owned());
    let differ = |what: &str, sealed: &str, here: &str| {
        format!("{what} is `{here}` here, `{sealed}` was sealed")
    };
    let code = text("engine_code").unwrap_or_default();
    if code != engine.code() {
        rules[5].push(differ("engine_code", &code, engine.code()));
    }
    let version = text("engine_version").unwrap_or_default();
    let same_version = version == engine.version();
    let permitted = !same_version
        && run
            .document(MANIFEST)
            .is_some_and(|manifest| permits_version(manifest.root(), engine.version()));
    if !same_version && !permitted {
        let difference = differ("engine_version", &version, engine.version());
        let hint = "the sealed compatibility.replay_versions does not permit it";
        rules[5].push(format!("{difference}; {hint}"));
    }
    if same_version && let Some(sealed) = text("engine_executable_sha256") {
        let program = find_bare_program(engine.source(), engine.command());
        let here = compute_executable(
            engine.source(),
            engine.command(),
            &program.as_deref().into(),
        )?;
        let here = here.to_string();
        // If every file is listed, each is compared, including the program among the machine's.
        if here != sealed && environment.is_none() {
            rules[5].push(differ("engine_executable_sha256", &sealed, &here));
        }
    }
    if same_version && let Some(environment) = environment {
        rules[5].extend(compare_engine_files(environment, engine));
    }
    let hashes = engine.contract_hashes();
    let recorded = meta.and_then(|meta| meta.get("contracts_hashes"));
    for name in CONTRACTS {
        // A permitted version has a different manifest, but nothing else may differ.
        if name == MANIFEST && permitted {
            continue;
        }
        let place = pointer::member("/contracts_hashes", name);
        if run.withholding().hides(RUN_META, &place) {
            replay.notes.push(format!(
                "the hash of {name} is withheld, so it was not compared"
            ));
            continue;
        }
        let sealed = recorded.and_then(|hashes| hashes.get(name)?.as_str());
        let sealed = sealed.unwrap_or_default();
        let here = hashes.get(name).map(Digest::to_string).unwrap_or_default();
        if *sealed != *here {
            rules[4].push(differ(name, &sealed, &here));
        }
    }
    Ok(())
}

/// Which files that the run read in the engine's folder differ here.
fn compare_engine_files(environment: Node<'_>, engine: &Engine) -> Vec<String> {
    let mut faults = Vec::new();
    for file in parse_listed_files(environment, ENGINE_LIST) {
        let shown = file.path.escape_debug();
        let path = SafePath::parse(&file.path).ok();
        let digest = path.and_then(|path| {
            let reader = engine.source().open(&path).ok()?;
            Some(runseal_core::source::ContentFact::read(reader).ok()?.sha256)
        });
        match digest {
            Some(digest) if digest == file.sha256 => {}
            Some(digest) => faults.push(format!(
                "{ENGINE_FOLDER}/{shown} is another file here: expected sha256 {}, actual {digest}",
                file.sha256
            )),
            None => faults.push(format!(
                "{ENGINE_FOLDER}/{shown} was sealed and is not here"
            )),
        }
    }
    faults
}

//! The steps of the demo, in order.

use runseal_runs::programs::find_program;

use super::files::{change_one_byte, copy};
use super::shell::{CommandOutput, Shell, heading, say};
use super::sign;
use crate::error::CliError;
use crate::ui;

/// Something that the demo made, and where to tamper with it.
struct DemoEvidence {
    name: &'static str,
    title: &'static str,
    /// The file to change, relative to what was made; empty if that is itself a file.
    file: String,
    /// The text after which a byte is changed.
    behind: &'static str,
}

pub(super) fn walk_through(shell: &mut Shell) -> Result<(), CliError> {
    let shown = shell.folder().display().to_string();
    ui::print_line(&format!(
        "runseal makes evidence that others can check offline. This is in {shown}"
    ))?;
    let mut made = Vec::new();
    make_context_bundle(shell, &mut made)?;
    make_pack(shell, &mut made)?;
    make_job_bundle(shell, &mut made)?;
    make_run_bundle(shell, &mut made)?;
    verify_all(shell)?;
    tamper(shell, &made)?;
    sign::sign_and_forge(shell)?;
    show(shell)?;
    heading("What to try next")?;
    for line in [
        format!("cd {shown}"),
        "runseal verify good                         # everything again, at any time, offline"
            .to_owned(),
        "runseal verify tampered/job --format json   # the same answer for programs".to_owned(),
        "runseal diff good/job tampered/job          # what exactly was changed".to_owned(),
        "runseal trust explain trust.toml forged     # which line of the policy refuses it, and why"
            .to_owned(),
        "runseal inspect good/pack                   # what is in it".to_owned(),
        "tar -czf pack.tar.gz good/pack && runseal verify pack.tar.gz   # archives too".to_owned(),
        "xdg-open report.html                        # a page for people who do not use terminals"
            .to_owned(),
        "runseal rules JB4                           # what a rule means".to_owned(),
    ] {
        ui::print_line(&format!("  {line}"))?;
    }
    Ok(())
}

fn make_context_bundle(shell: &Shell, made: &mut Vec<DemoEvidence>) -> Result<(), CliError> {
    heading("1. Context bundle: from a goal to what has to be done, with nothing left open")?;
    make_folder(shell, "good")?;
    shell.expect("transform intent.json -o good/bundle.json", 0)?;
    shell.expect(
        "bundle verify good/bundle.json --strict --intent intent.json",
        0,
    )?;
    say("valid, and the intent gives the same hash again")?;
    let vague = shell.expect("transform vague.json --result", 1)?;
    let kind = vague.member("kernel_result_kind").unwrap_or_default();
    say(&format!(
        "an intent with gaps is not guessed at: {kind}, with questions"
    ))?;
    shell.expect(
        "proposal generate good/bundle.json -o good/proposal.json",
        0,
    )?;
    say("the actions and acceptance tests that the bundle asks for")?;
    made.push(DemoEvidence {
        name: "bundle.json",
        title: "context bundle",
        file: String::new(),
        behind: "\"goal\":\"",
    });
    made.push(DemoEvidence {
        name: "proposal.json",
        title: "proposal",
        file: String::new(),
        behind: "\"content\":\"",
    });
    Ok(())
}

fn make_folder(shell: &Shell, name: &str) -> Result<(), CliError> {
    std::fs::create_dir_all(shell.path(name))
        .map_err(|error| CliError::internal(format!("`{name}` could not be made: {error}")))
}

fn make_pack(shell: &Shell, made: &mut Vec<DemoEvidence>) -> Result<(), CliError> {
    heading("2. Pack: a run in the sandbox, handed over with its evidence")?;
    // The example's command needs node; without it, run an intent that has no commands.
    let intent = match find_program("node") {
        Some(_) => "work.json",
        None => "intent.json",
    };
    let ran = shell.run(&format!(
        "run {intent} --mode execute-sandbox --pack good/pack --ledger good/ledger.jsonl"
    ))?;
    if ran.code == Some(0) {
        let outputs = ran
            .member("execution.total_output_bytes")
            .unwrap_or_default();
        say(&format!(
            "accepted: executed without network, {outputs} bytes written, every test passed"
        ))?;
        replay_pack(shell, intent)?;
    } else if let Some(reasons) = ran.member("decision.reasons") {
        say(&format!(
            "executed without network, not accepted: {reasons}"
        ))?;
        replay_pack(shell, intent)?;
    } else {
        not_run(&ran, "the run was not executed")?;
        shell.expect(
            "run intent.json --pack good/pack --ledger good/ledger.jsonl",
            0,
        )?;
        say("planned instead, and exported without an execution")?;
    }
    made.push(DemoEvidence {
        name: "pack",
        title: "pack",
        file: "bundle.json".to_owned(),
        behind: "\"goal\":\"",
    });
    Ok(())
}

fn replay_pack(shell: &Shell, intent: &str) -> Result<(), CliError> {
    let line = format!("replay good/pack --intent {intent} --format json");
    let verdict = shell.expect(&line, 0)?.member("verdict");
    say(&format!(
        "executed again from the pack and compared: {}",
        verdict.unwrap_or_default()
    ))
}

fn not_run(ran: &CommandOutput, what: &str) -> Result<(), CliError> {
    say(&format!("NOT RUN: {what}, because: {}", ran.first_line()))
}

fn make_job_bundle(shell: &Shell, made: &mut Vec<DemoEvidence>) -> Result<(), CliError> {
    heading("3. Job bundle: exactly what a job read, and a receipt that it can be read again")?;
    shell.expect("job init", 0)?;
    shell.expect("job index handbook", 0)?;
    let posted = shell.expect("job post plan.json", 0)?;
    let job = posted.member("job_id").unwrap_or_default();
    shell.expect("job work", 0)?;
    let built = shell.expect(&format!("job build demo {job} -o good/job"), 0)?;
    let count = built.member("artifact_count").unwrap_or_default();
    say(&format!(
        "{count} slices, without the handbook and without the store"
    ))?;
    shell.expect("keygen -o demo.key", 0)?;
    let replayed = shell.expect(
        "job replay good/job --receipt good/receipt.json --key demo.key",
        0,
    )?;
    let outcome = replayed.member("outcome").unwrap_or_default();
    say(&format!(
        "replayed from the bundle alone: {outcome}, signed"
    ))?;
    let artifact = std::fs::read_dir(shell.path("good/job/artifacts"))
        .ok()
        .and_then(|entries| entries.flatten().map(|entry| entry.file_name()).min())
        .map(|name| format!("artifacts/{}", name.to_string_lossy()));
    made.push(DemoEvidence {
        name: "job",
        title: "job bundle",
        file: artifact.unwrap_or_else(|| "bundle.json".to_owned()),
        behind: "",
    });
    made.push(DemoEvidence {
        name: "receipt.json",
        title: "receipt",
        file: String::new(),
        behind: "\"plan_hash\":\"",
    });
    Ok(())
}

fn make_run_bundle(shell: &Shell, made: &mut Vec<DemoEvidence>) -> Result<(), CliError> {
    heading("4. Run bundle: an engine's run, sealed with its contracts")?;
    let checked = shell.run("engine check engine")?;
    if checked.member("violations.0.rule_id").as_deref() == Some("EN4") {
        // The engine is a `sh` script, and a system that is one static program has no `sh`.
        let fault = checked.member("violations.0.message").unwrap_or_default();
        return say(&format!("NOT RUN: the engine, because: {fault}"));
    }
    let ran = shell.run("engine run engine input.json --out good/runs --run-id first")?;
    if ran.code != Some(0) {
        return not_run(&ran, "the engine");
    }
    let hash = ran.member("outputs_hash").unwrap_or_default();
    say(&format!("sealed; outputs_hash {hash}"))?;
    shell.expect("replay good/runs/first --engine engine", 0)?;
    say("run again from the sealed input: the same bytes")?;
    shell.expect(
        "record --out good/runs --run-id recorded -- sort handbook/prices.md",
        0,
    )?;
    shell.expect("replay good/runs/recorded", 0)?;
    say("any command, sealed with what it read and printed, and replayed from its bundle alone")?;
    made.push(DemoEvidence {
        name: "runs/first",
        title: "run bundle",
        file: "RUN_OUTPUT.json".to_owned(),
        behind: "\"semantics\":\"",
    });
    Ok(())
}

fn verify_all(shell: &Shell) -> Result<(), CliError> {
    heading("5. One verify for everything")?;
    let ran = shell.expect("verify good --strict", 0)?;
    for line in ran.text().lines() {
        say(line)?;
    }
    Ok(())
}

fn tamper(shell: &Shell, made: &[DemoEvidence]) -> Result<(), CliError> {
    heading("6. One byte changed in a copy of each")?;
    for one in made {
        let (from, to) = (
            format!("good/{}", one.name),
            format!("tampered/{}", one.name),
        );
        let target = match one.file.as_str() {
            "" => shell.path(&to),
            file => shell.path(&to).join(file),
        };
        let changed = copy(&shell.path(&from), &shell.path(&to))
            .and_then(|()| change_one_byte(&target, one.behind));
        let (at, old, new) = changed
            .map_err(|error| CliError::internal(format!("`{to}` could not be changed: {error}")))?;
        let ran = shell.expect(&format!("verify --strict --format json {to}"), 1)?;
        let rules = rules_of(&ran);
        let file = if one.file.is_empty() {
            one.name
        } else {
            &one.file
        };
        say(&format!(
            "caught: the {} with byte {at} of {file} changed from `{old}` to `{new}` breaks {rules}",
            one.title
        ))?;
    }
    Ok(())
}

/// The ids of the rules that a verdict names, each once.
fn rules_of(ran: &CommandOutput) -> String {
    let text = ran.text();
    let mut rules: Vec<&str> = text
        .split("\"rule_id\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules.join(", ")
}

fn show(shell: &Shell) -> Result<(), CliError> {
    heading("8. For people")?;
    shell.expect("report good/pack -o report.html", 0)?;
    say("one page: verdict, pictures, every rule; it fetches nothing")?;
    let ran = shell.run("diff good/job tampered/job")?;
    for line in ran.text().lines().take(12) {
        say(line)?;
    }
    Ok(())
}

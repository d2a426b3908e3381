//! What others wrote is never printed as it is: no command lets a hidden character through, neither to people nor in JSON.

use std::fs;

use crate::forge_support::Forged;
use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::hidden::is_hidden;

/// Turns the text around, isolates, ends the line, begins a control sequence, deletes.
const ODD: &str = "\u{202e}DERUCES\u{2066}\u{2028}\u{9b}2J\u{7f}\u{85}";

fn odd_run() -> Option<Forged> {
    let forged = Forged::recorded(&["sh", "-c", "echo ok; echo made >kept.txt"])?;
    let odd = format!("{ODD}\n");
    forged.write("logs/stdout.txt", &odd);
    forged.edit("RUN_OUTPUT.json", |output| {
        let mut stdout = output.get("stdout").unwrap().clone();
        stdout.insert("bytes", odd.len() as u64);
        stdout.insert("sha256", Digest::of(odd.as_bytes()).to_string());
        output.insert("stdout", stdout);
        // The name of a file, of a folder and of something that was deleted.
        let name = "\u{202e}txt.\u{2066}\u{feff}";
        let mut kept = output.get("outputs").unwrap().clone();
        if let Value::Array(kept) = &mut kept {
            kept[0].insert("path", name);
            kept[0].insert("stored", format!("artifacts/{name}"));
        }
        output.insert("outputs", kept);
        output.insert("deleted", Value::array([ODD]));
        output.insert("folders", Value::array([ODD]));
    });
    fs::rename(
        forged.path("artifacts/kept.txt"),
        forged.path("artifacts/\u{202e}txt.\u{2066}\u{feff}"),
    )
    .unwrap();
    forged.edit("RUN_INPUT.json", |input| {
        input.insert("parameters", Value::object([(ODD, ODD)]));
        let mut variables = input.get("environment").unwrap().clone();
        variables.insert(&format!("RUNSEAL_PARAM_{ODD}"), ODD);
        input.insert("environment", variables);
    });
    forged.edit("RUN_ENVIRONMENT.json", |environment| {
        let mut variables = environment.get("variables").unwrap().clone();
        variables.insert(&format!("RUNSEAL_PARAM_{ODD}"), ODD);
        environment.insert("variables", variables);
        let mut observation = environment.get("observation").unwrap().clone();
        let gap = Value::object([("kind", "secret"), ("detail", ODD)]);
        let Some(Value::Array(mut gaps)) = observation.get("gaps").cloned() else {
            return;
        };
        gaps.push(gap);
        observation.insert("gaps", Value::Array(gaps));
        environment.insert("observation", observation);
    });
    forged.open_schemas();
    forged.write(&format!("x/{}", "\u{202e}gnp.nosaer\u{2067}"), "x");
    forged.seal();
    Some(forged)
}

#[test]
fn hidden_characters_of_a_bundle_reach_no_output() {
    let Some(forged) = odd_run() else {
        return;
    };
    assert_eq!(forged.broken_rules(""), [""; 0]);
    let plain = forged.bench.path("plain");
    runseal_testkit::folders::copy_folder(&forged.bench.path("RUN_BUNDLE/r"), &plain);
    let place = "--store c.db";
    assert_eq!(forged.run(&format!("catalog add x {place}")).code, Some(0));
    assert_eq!(
        forged.run(&format!("catalog add plain {place}")).code,
        Some(0)
    );
    let listed = forged.run(&format!("catalog list --format json {place}"));
    let digests: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_once(r#""digest":""#)?.1.get(..64))
        .collect();
    let [one, other] = digests[..] else {
        unreachable!("{}", listed.stdout);
    };
    let mut commands: Vec<String> = [
        "verify x",
        "verify x --strict",
        "verify x --strict --format json",
        "verify x --strict --format sarif",
        "verify x --strict --format junit",
        "inspect x",
        "inspect x --format json",
        "replay x",
        "replay x --format json",
        "diff x plain",
        "diff plain x --format json",
        "report x -q -o -",
        "export otel x",
        "lint x",
        "replay x/RUN_INPUT.json",
    ]
    .map(str::to_owned)
    .into();
    for format in ["human", "json", "csv"] {
        commands.push(format!("catalog list --format {format} {place}"));
        commands.push(format!("catalog show {one} --format {format} {place}"));
        commands.push(format!("catalog show {other} --format {format} {place}"));
        commands.push(format!(
            "catalog compare {one} {other} --format {format} {place}"
        ));
    }
    commands.push(format!("catalog export --format csv {place}"));
    commands.push(format!("catalog export --format json {place}"));
    for command in &commands {
        let ran = forged.run(command);
        for (what, text) in [("output", &ran.stdout), ("error", &ran.stderr)] {
            let lines = text.replace("\r\n", "\n");
            let hidden: Vec<char> = lines.chars().filter(|c| is_hidden(*c)).collect();
            assert!(
                hidden.is_empty(),
                "{command}: {what} has {hidden:?}:\n{lines}"
            );
        }
    }
    // The value is the same to whoever reads the JSON.
    let shown = forged.run("replay x --format json").stdout;
    assert!(
        shown.contains(r"\u202eDERUCES\u2066\u2028\u009b2J\u007f\u0085"),
        "{shown}"
    );
}

#[test]
fn documents_are_printed_as_they_are_hashed() {
    let Some(forged) = odd_run() else {
        return;
    };
    let text = format!("\"{ODD}\"");
    let printed = forged.bench.run_with(&["canon", "--dialect", "jcs"], &text);
    assert_eq!(printed.stdout, text);
}

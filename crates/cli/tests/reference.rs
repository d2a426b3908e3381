//! The reference verifier in Python (vectors/reference): it agrees with runseal on every vector and on mutants, and the
//! blocks of Python on the pages say what they say.
//!
//! Every change is tried on 3,000 mutants, a third of them for each level. `RUNSEAL_MUTANTS=20000` makes as many and compares
//! each at all three levels, `RUNSEAL_MUTANTS=every` takes each member of each vector away in turn, `mistyped` gives each
//! another type; `RUNSEAL_SEED` is for other ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use runseal_testkit::project_root;
use runseal_testkit::skip::need_program;
use serde_json::Value;

const LEVELS: [&[&str]; 3] = [&["--lenient"], &[], &["--strict"]];

/// Rules that the reference verifier does not ask, as its README says.
const NOT_ASKED: [&str; 3] = ["BS2", "RC5", "RD7"];

/// Formats that it does not verify.
const NOT_JUDGED: [&str; 4] = ["archive", "bag", "checksums", "engine"];

type Verdict = BTreeSet<(String, Option<String>)>;

fn python(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("python3")
        .args(arguments)
        .current_dir(project_root())
        .env("PYTHONPATH", "vectors/reference")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let ran = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(error.is_empty(), "{arguments:?}: {error}");
    String::from_utf8(ran.stdout).unwrap()
}

fn verdict_of(result: &Value) -> Verdict {
    let violations = result["violations"].as_array().into_iter().flatten();
    let text = |violation: &Value, name: &str| violation[name].as_str().map(str::to_owned);
    violations
        .filter_map(|violation| Some((text(violation, "rule_id")?, text(violation, "path"))))
        .filter(|(rule, _)| !NOT_ASKED.contains(&rule.as_str()))
        .collect()
}

/// What runseal says of everything below these paths: format and verdict by path.
fn judged_by_runseal(paths: &[&Path], level: &[&str]) -> Vec<(String, String, Verdict)> {
    let ran = Command::new(env!("CARGO_BIN_EXE_runseal"))
        .args(["verify", "--format", "json"])
        .args(level)
        .args(paths)
        .current_dir(project_root())
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let results = answer["results"].as_array().unwrap().iter();
    let text = |result: &Value, name: &str| result[name].as_str().unwrap().to_owned();
    results
        .map(|result| {
            (
                text(result, "path"),
                text(result, "format"),
                verdict_of(result),
            )
        })
        .collect()
}

/// The same by the reference verifier, of these paths.
fn judged_by_reference(paths: &[String], level: &[&str]) -> Vec<(String, Verdict)> {
    let arguments = [&["vectors/reference/verify.py", "--lines"], level].concat();
    let answers = python(&arguments, &paths.join("\n"));
    let answers: Vec<_> = answers
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            let format = answer["format"].as_str().unwrap_or_default().to_owned();
            (format, verdict_of(&answer))
        })
        .collect();
    assert_eq!(answers.len(), paths.len());
    answers
}

/// How two verdicts differ, for people.
fn difference(path: &str, level: &[&str], ours: &Verdict, theirs: &Verdict) -> String {
    let mut text = format!("{path} {}:", level.join(" "));
    for (rule, place) in ours.difference(theirs) {
        let _ = write!(
            text,
            " runseal alone {rule} {};",
            place.as_deref().unwrap_or("-")
        );
    }
    for (rule, place) in theirs.difference(ours) {
        let _ = write!(
            text,
            " reference alone {rule} {};",
            place.as_deref().unwrap_or("-")
        );
    }
    text
}

#[test]
fn reference_verifier_agrees_on_every_vector_at_three_levels() {
    if !need_program("python3") {
        return;
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for level in LEVELS {
        let ours: Vec<_> = judged_by_runseal(&[Path::new("vectors")], level)
            .into_iter()
            .filter(|(path, format, _)| {
                !NOT_JUDGED.contains(&format.as_str()) && !path.starts_with("vectors/archive/")
            })
            .collect();
        let paths: Vec<String> = ours.iter().map(|(path, ..)| path.clone()).collect();
        let theirs = judged_by_reference(&paths, level);
        for ((path, format, ours), (other, theirs)) in ours.iter().zip(theirs) {
            if *format != other {
                wrong.push(format!("{path}: {format}, or {other}"));
            } else if *ours != theirs {
                wrong.push(difference(path, level, ours, &theirs));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 1_200, "{count} verdicts");
}

/// The one path of a mutant: the file if it is one document, else the folder.
fn unit_in(mutant: &Path) -> PathBuf {
    let names: Vec<PathBuf> = fs::read_dir(mutant)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    match names.as_slice() {
        [one] if one.file_stem().is_some_and(|stem| stem == "input") => one.clone(),
        _ => mutant.to_owned(),
    }
}

#[test]
fn reference_verifier_agrees_on_mutants() {
    if !need_program("python3") {
        return;
    }
    let variable = |name: &str| std::env::var(name).ok();
    let seed = variable("RUNSEAL_SEED").map_or(1, |text| text.parse::<usize>().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let (mut compared, mut made) = (0, 0);
    match variable("RUNSEAL_MUTANTS") {
        // Quick enough for every change: a third of the mutants for each level.
        None => {
            for (at, level) in LEVELS.into_iter().enumerate() {
                let target = folder.path().join(format!("level-{at}"));
                let mutants = make_mutants(&target, "1000", seed * LEVELS.len() + at);
                compared += compare_mutants(&target, &mutants, level, &mut wrong);
                made += mutants.len();
            }
        }
        Some(count) => {
            let target = folder.path().join("mutants");
            let mutants = make_mutants(&target, &count, seed);
            for level in LEVELS {
                compared += compare_mutants(&target, &mutants, level, &mut wrong);
                made += mutants.len();
            }
        }
    }
    if !wrong.is_empty() {
        // For whoever looks into it.
        println!("kept: {}", folder.keep().display());
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared * 100 > made * 96, "{compared} of {made}");
}

/// Makes as many mutants as `count` says, or one for each member (`every`, `mistyped`).
fn make_mutants(target: &Path, count: &str, seed: usize) -> Vec<PathBuf> {
    let path = target.to_str().unwrap();
    python(&["vectors/mutate.py", path, count, &seed.to_string()], "");
    let entries = fs::read_dir(target).unwrap();
    let mut mutants: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    mutants.sort();
    mutants
}

/// Compares both verifiers on each mutant, and returns how many that were.
fn compare_mutants(
    target: &Path,
    mutants: &[PathBuf],
    level: &[&str],
    wrong: &mut Vec<String>,
) -> usize {
    let mut ours: BTreeMap<String, Vec<(String, Verdict)>> = BTreeMap::new();
    // A survey has limits of its own.
    for some in mutants.chunks(500) {
        let some: Vec<&Path> = some.iter().map(PathBuf::as_path).collect();
        for (path, format, verdict) in judged_by_runseal(&some, level) {
            let below = Path::new(&path).strip_prefix(target).unwrap();
            let mutant = below.iter().next().unwrap().to_string_lossy().into_owned();
            ours.entry(mutant).or_default().push((format, verdict));
        }
    }
    let units = mutants.iter().map(|mutant| unit_in(mutant));
    let units: Vec<String> = units
        .map(|unit| unit.to_str().unwrap().to_owned())
        .collect();
    let mut compared = 0;
    for ((mutant, unit), (format, theirs)) in mutants
        .iter()
        .zip(&units)
        .zip(judged_by_reference(&units, level))
    {
        let name = mutant.file_name().unwrap().to_string_lossy();
        // What lost its marks is taken for something else, or for nothing.
        match ours.get(&*name).map(Vec::as_slice) {
            Some([(of, ours)]) if *of == format => {
                compared += 1;
                if *ours != theirs {
                    wrong.push(difference(unit, level, ours, &theirs));
                }
            }
            _ => {}
        }
    }
    compared
}

/// The Markdown files below a folder.
fn pages_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages_below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

#[test]
fn python_on_pages_prints_what_the_pages_show() {
    if !need_program("python3") {
        return;
    }
    let mut pages = Vec::new();
    pages_below(&project_root().join("docs"), &mut pages);
    pages.sort();
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let blocks = text.split("\n```python\n").skip(1);
        let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap());
        let blocks: Vec<&str> = blocks.filter(|block| block.contains(">>> ")).collect();
        if blocks.is_empty() {
            continue;
        }
        count += blocks.len();
        let examples = folder.path().join(page.file_name().unwrap());
        fs::write(&examples, blocks.join("\n\n") + "\n").unwrap();
        let said = python(&["-m", "doctest", examples.to_str().unwrap()], "");
        assert!(said.is_empty(), "{}: {said}", page.display());
    }
    assert!(count >= 13, "{count} blocks");
}

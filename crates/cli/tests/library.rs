//! The library gives the answers of the command, byte for byte, on every vector.

use std::fs;
use std::path::{Path, PathBuf};

use runseal::{Level, Verify};
use runseal_testkit::cli::Bench;
use runseal_testkit::{folders_in, project_root};

/// What can be verified in the vectors: for each case, its input.
fn cases() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for format in folders_in(&project_root().join("vectors")) {
        for case in folders_in(&format) {
            let entries = fs::read_dir(&case).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            found.extend(paths.filter(|path| {
                path.file_stem()
                    .is_some_and(|stem| stem.to_string_lossy().starts_with("input"))
            }));
        }
    }
    found.sort();
    found
}

fn answers(bench: &Bench, path: &Path, flags: &[&str]) -> (String, Option<i32>) {
    let shown = path.to_str().unwrap();
    let mut arguments = vec!["verify", shown, "--format", "json"];
    arguments.extend(flags);
    let ran = bench.run(&arguments);
    (ran.stdout, ran.code)
}

#[test]
fn library_answers_as_the_command_does() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let cases = cases();
    assert!(cases.len() > 300, "{} cases", cases.len());
    for path in &cases {
        let library = Verify::new().paths(&[path]);
        let (stdout, code) = answers(&bench, path, &[]);
        assert_eq!(
            library.to_json().unwrap() + "\n",
            stdout,
            "{}",
            path.display()
        );
        assert_eq!(Some(i32::from(library.exit_code())), code);
    }
    for (level, flag) in [(Level::Form, "--strict"), (Level::Document, "--lenient")] {
        for path in cases.iter().step_by(10) {
            let library = Verify::new().level(level).paths(&[path]);
            let (stdout, code) = answers(&bench, path, &[flag]);
            assert_eq!(
                library.to_json().unwrap() + "\n",
                stdout,
                "{}",
                path.display()
            );
            assert_eq!(Some(i32::from(library.exit_code())), code);
        }
    }
    println!("{} cases, byte for byte", cases.len());
}

#[test]
fn library_shows_and_compares_as_the_command_does() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let mut runs = Vec::new();
    for root in ["2", "3"] {
        let mut run = runseal::Recorder::begin_as("ROOT", "1.0", &[]).unwrap();
        run.param("of", root).unwrap();
        let sealed = run.seal(folder.path()).unwrap();
        runs.push(sealed.path().to_str().unwrap().to_owned());
    }
    let [a, b] = <[String; 2]>::try_from(runs).unwrap();
    let inspected = runseal::inspect(&a).unwrap();
    let ran = bench.run(&["inspect", &a, "--format", "json"]);
    assert_eq!(inspected.to_json().unwrap() + "\n", ran.stdout);
    assert_eq!(inspected.to_string(), bench.run(&["inspect", &a]).stdout);
    let compared = runseal::diff(&a, &b).unwrap();
    assert!(!compared.is_same());
    let ran = bench.run(&["diff", &a, &b, "--format", "json"]);
    assert_eq!(compared.to_json().unwrap() + "\n", ran.stdout);
    let replayed = runseal::replay(&a, &runseal::ReplayOptions::new()).unwrap();
    let ran = bench.run(&["replay", &a, "--format", "json"]);
    assert_eq!(replayed.to_json().unwrap() + "\n", ran.stdout);
    assert_eq!(ran.code, Some(1));
}

//! What a recorded bundle says of itself: an id that no other has, and the program that ran and
//! not another one of its name.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::record_support::Project;
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;

/// A clock that is stopped, so that every default id would be the same.
const NOW: (&str, &str) = ("SOURCE_DATE_EPOCH", "1700000000");

fn run_id_of(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let document = parse_document(ran.stdout.as_bytes(), &ReadOptions::default()).unwrap();
    let id = document.root().get("run_id").unwrap();
    id.as_str().unwrap().into_owned()
}

#[test]
fn identical_recordings_of_one_second_get_ids_of_their_own() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let record = |arguments: &[&str]| {
        let all = [&["record", "--format", "json"], arguments, &["--", "true"]].concat();
        let mut command = project.command(&all);
        command.env(NOW.0, NOW.1);
        command
    };
    let one_by_one: Vec<String> = (0..3)
        .map(|_| run_id_of(&record(&[]).output().unwrap().into()))
        .collect();
    let base = one_by_one[0].clone();
    assert!(base.starts_with("run_20231114T221320Z_"), "{base}");
    assert_eq!(
        one_by_one,
        [base.clone(), format!("{base}_2"), format!("{base}_3")]
    );
    // At the same time too.
    let running: Vec<_> = (0..6)
        .map(|_| {
            let mut command = record(&[]);
            command.stdout(std::process::Stdio::piped());
            command.stderr(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let together: BTreeSet<String> = running
        .into_iter()
        .map(|child| run_id_of(&child.wait_with_output().unwrap().into()))
        .collect();
    assert_eq!(together.len(), 6, "{together:?}");
    assert!(together.iter().all(|id| !one_by_one.contains(id)));
    let verified = project.run(&["verify", "--strict", "RUN_BUNDLE"]);
    assert_eq!(
        verified.code,
        Some(0),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
    let names: BTreeSet<String> = fs::read_dir(project.path("RUN_BUNDLE"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let all: BTreeSet<String> = together.into_iter().chain(one_by_one).collect();
    assert_eq!(names, all, "nothing but the bundles");
    // An id that somebody chose is never another one.
    let ran = Ran::from(record(&["--run-id", &base]).output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("EXISTS: "), "{}", ran.stderr);
    assert_eq!(
        fs::read_dir(project.path("RUN_BUNDLE")).unwrap().count(),
        all.len()
    );
}

fn tool(project: &Project, folder: &str, mode: u32) -> (String, String) {
    let text = format!("#!/bin/sh\necho the one in {folder}\n");
    let place = project.write(&format!("../{folder}/bin/tool"), &text);
    fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
    let place = place.canonicalize().unwrap();
    let above = place.parent().unwrap().to_str().unwrap();
    (above.to_owned(), text)
}

/// The program that the bundle names, and the digest of its command.
fn claimed(project: &Project, run_id: &str) -> (String, String) {
    let member = |file: &str, name: &str| {
        let bytes = fs::read(project.bundle(run_id).join(file)).unwrap();
        let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
        let value = document.root().get(name).unwrap();
        value.as_str().unwrap().into_owned()
    };
    (
        member("RUN_ENVIRONMENT.json", "program"),
        member("RUN_META.json", "engine_executable_sha256"),
    )
}

#[test]
fn program_that_ran_is_named_and_not_another_one_of_its_name() {
    if !need_isolation() {
        return;
    }
    let Some(project) = Project::of_ordinary_user() else {
        return;
    };
    // The first can be executed by root alone: the kernel passes over it, as a shell does.
    let (closed, _) = tool(&project, "closed", 0o744);
    let (one, text_one) = tool(&project, "one", 0o755);
    let (two, text_two) = tool(&project, "two", 0o755);
    // Nor is a file of the folder that has the program's name.
    project.write("tool", "data\n");
    for (at, (path, place, text)) in [
        (format!("{one}:{two}"), &one, &text_one),
        (format!("{two}:{one}"), &two, &text_two),
        (format!("{closed}:{two}:{one}"), &two, &text_two),
    ]
    .iter()
    .enumerate()
    {
        for level in ["namespaces", "landlock", "none"] {
            let run_id = format!("r{at}-{level}");
            let ran = project
                .command(&[
                    "record",
                    "--sandbox",
                    level,
                    "--run-id",
                    &run_id,
                    "--",
                    "tool",
                    "tool",
                ])
                .env("PATH", format!("{path}:/usr/bin:/bin"))
                .output()
                .unwrap();
            let ran = Ran::from(ran);
            assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
            let printed = fs::read_to_string(project.bundle(&run_id).join("logs/stdout.txt"));
            let folder = place.rsplit('/').nth(1).unwrap();
            assert_eq!(printed.unwrap(), format!("the one in {folder}\n"));
            let lines = [
                format!("{}  tool\n", Digest::of(text.as_bytes())),
                format!("{}  tool\n", Digest::of(b"data\n")),
            ];
            let lines: BTreeSet<String> = lines.into_iter().collect();
            let lines: String = lines.into_iter().collect();
            assert_eq!(
                claimed(&project, &run_id),
                (
                    format!("{place}/tool"),
                    Digest::of(lines.as_bytes()).to_string()
                ),
                "{path} {level}"
            );
        }
    }
    // The one that was passed over was not sealed as if it had run.
    let environment =
        fs::read_to_string(project.bundle("r2-namespaces").join("RUN_ENVIRONMENT.json"));
    let environment = environment.unwrap();
    assert!(environment.contains(&format!("\"path\":\"{two}/tool\"")));
    assert!(
        !environment.contains(&format!("\"path\":\"{closed}/tool\"")),
        "{environment}"
    );
}

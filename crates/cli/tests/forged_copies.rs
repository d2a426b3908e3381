//! Redacted copies whose commitments are all right and whose statements are not: a copy that withholds little or
//! nothing says no more than a whole bundle could.

use std::collections::BTreeMap;
use std::fs;

use crate::forge_support::Forged;
use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::{Seed, commit_bytes, commit_value, marker};
use runseal_core::formats::redacted::documents::{
    CommittedFile, FileKind, Opening, Redacted, Redaction, Withheld,
};
use runseal_testkit::folders::files_of;
use runseal_testkit::forging::read_json;

const COMMAND: &[&str] = &["sh", "-c", "echo measured 3; echo a,b >out.csv"];
const LISTS: [&str; 5] = [
    "SHA256SUMS.txt",
    "ARTIFACT_INDEX.json",
    "REDACTION.json",
    "REDACTION_SALT.json",
    "REDACTED.json",
];

/// What a forger changes, in words, and how.
type Edit = (&'static str, fn(&Forged));

/// Commits to everything in the folder, as a forger who has the seed does, and withholds one member of some documents.
fn seal_copy(forged: &Forged, format: &str, hidden: &[(&str, &str)]) {
    for name in LISTS {
        let _ = fs::remove_file(forged.path(name));
    }
    let seed = Seed::from_bytes([7; 32]);
    let mut files = Vec::new();
    let mut openings = BTreeMap::new();
    let mut withheld = Vec::new();
    for (path, bytes) in files_of(&forged.path("")) {
        let path = path.strip_prefix(forged.path("")).unwrap_or(&path);
        let path = path.to_str().unwrap().to_owned();
        let key = seed.file_key(&path);
        let mut opening = Opening::Whole(key.clone());
        let (kind, commitment, values) = if path.ends_with(".json") {
            let mut value = read_json(&forged.path(&path));
            let (commitment, values) = commit_value(&value, &key).unwrap();
            let names: Vec<&str> = hidden
                .iter()
                .filter(|(file, _)| *file == path)
                .map(|(_, name)| *name)
                .collect();
            if let (Value::Object(members), false) = (&value, names.is_empty()) {
                let mut opened = BTreeMap::new();
                let mut shown = members.clone();
                for (name, member) in members.iter() {
                    let own = key.member(name);
                    let is_hidden = name.as_str().is_some_and(|name| names.contains(&name));
                    let how = match is_hidden {
                        true => {
                            let commitment = commit_value(member, &own).unwrap().0;
                            *shown.get_mut(name).unwrap() = marker(&commitment);
                            Opening::Withheld
                        }
                        false => Opening::Whole(own),
                    };
                    opened.insert(name.clone(), how);
                }
                opening = Opening::Members(key.salt(), opened);
                withheld.extend(names.iter().map(|name| Withheld {
                    path: path.clone(),
                    pointer: Some(format!("/{name}")),
                    reason: "personal".to_owned(),
                }));
                value = Value::Object(shown);
            }
            forged.put(&path, &value);
            (FileKind::Json, commitment, values)
        } else if path.ends_with(".jsonl") {
            let value = FileKind::Lines.read(&bytes).unwrap();
            let (commitment, values) = commit_value(&value, &key).unwrap();
            (FileKind::Lines, commitment, values)
        } else {
            let commitment = commit_bytes(&Digest::of(&bytes), &key.salt());
            (FileKind::Bytes, commitment, 1)
        };
        openings.insert(path.clone(), opening);
        files.push(CommittedFile {
            path,
            kind,
            values,
            commitment,
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    withheld.sort();
    let redaction = Redaction {
        format: format.to_owned(),
        files,
    };
    forged.put("REDACTION.json", &redaction.to_value().unwrap());
    forged.put("REDACTED.json", &Redacted { withheld, openings }.to_value());
}

fn seal_run(forged: &Forged) {
    seal_copy(forged, "run-bundle", &[("RUN_ENVIRONMENT.json", "kernel")]);
}

fn assert_refused(forged: &Forged, what: &str) {
    assert_eq!(forged.broken_rules(""), ["RD7"], "{what}");
    let inspected = forged.run("inspect x").stdout;
    assert!(inspected.contains("Not intact"), "{what}: {inspected}");
    let replayed = forged.run("replay x");
    assert!(!replayed.stdout.contains("REPRODUCED"), "{what}");
}

#[test]
fn copy_that_contradicts_nothing_is_intact_and_says_what_was_not_judged() {
    let Some(forged) = Forged::recorded(COMMAND) else {
        return;
    };
    seal_run(&forged);
    assert_eq!(forged.broken_rules(" --strict"), [""; 0]);
    for text in [forged.run("inspect x").stdout, forged.page()] {
        assert!(
            !text.contains("every rule that was asked for holds"),
            "{text}"
        );
        assert!(!text.contains("every rule holds"), "{text}");
        assert!(text.contains("could not be judged"), "{text}");
    }
}

#[test]
fn copy_whose_files_are_not_those_that_it_lists_is_refused() {
    let edits: [Edit; 7] = [
        ("other standard output", |forged| {
            forged.write("logs/stdout.txt", "measured 9\n");
        }),
        ("other artifact", |forged| {
            forged.write("artifacts/out.csv", "accuracy\n0.99\n");
        }),
        ("unlisted artifact", |forged| {
            forged.write("artifacts/more.csv", "accuracy\n0.99\n");
        }),
        ("unlisted log", |forged| {
            forged.write("logs/other.txt", "measured 9\n");
        }),
        ("standard output without a place", |forged| {
            forged.write("logs/stdout.txt", "measured 9\n");
            forged.edit("RUN_OUTPUT.json", |output| {
                let Value::Object(members) = output else {
                    return;
                };
                let stdout = members.get_mut(&"stdout".into()).unwrap();
                if let Value::Object(stdout) = stdout {
                    stdout.retain(|name, _| name.as_str() != Some("stored"));
                }
            });
        }),
        ("missing artifact", |forged| {
            fs::remove_file(forged.path("artifacts/out.csv")).unwrap();
            fs::remove_dir(forged.path("artifacts")).unwrap();
        }),
        ("other contract", |forged| {
            forged.write("SEALING_SPEC.md", "# none\n");
        }),
    ];
    let Some(_) = Forged::recorded(COMMAND) else {
        return;
    };
    for (what, edit) in edits {
        let forged = Forged::recorded(COMMAND).unwrap();
        edit(&forged);
        seal_run(&forged);
        assert_refused(&forged, what);
    }
}

#[test]
fn copy_whose_statements_contradict_each_other_is_refused() {
    let edits: [Edit; 9] = [
        ("other command in the manifest", |forged| {
            forged.edit("ENGINE_MANIFEST.json", |manifest| {
                let command = Value::array(["python3", "train.py"]);
                let execution = [("command", command), ("recorded", Value::Bool(true))];
                manifest.insert("execution", Value::object(execution));
            });
        }),
        ("parameter that the command did not have", |forged| {
            forged.edit("RUN_INPUT.json", |input| {
                input.insert("parameters", Value::object([("lr", "0.001")]));
            });
        }),
        ("status of a failure beside success", |forged| {
            forged.edit("RUN_OUTPUT.json", |output| {
                output.insert("exit_status", 3_u64)
            });
        }),
        ("status as a text", |forged| {
            forged.edit("RUN_OUTPUT.json", |output| {
                output.insert("exit_status", "0")
            });
        }),
        ("member that nothing compares", |forged| {
            forged.edit("RUN_OUTPUT.json", |output| {
                output.insert("metrics", Value::object([("accuracy", "0.99")]));
            });
        }),
        ("output of another engine", |forged| {
            forged.edit("RUN_OUTPUT.json", |output| {
                let engine = [("engine_code", "TRAINER"), ("engine_version", "1.0.0")];
                output.insert("engine", Value::object(engine));
            });
        }),
        ("no output", |forged| {
            fs::remove_file(forged.path("RUN_OUTPUT.json")).unwrap();
        }),
        ("no manifest", |forged| {
            fs::remove_file(forged.path("ENGINE_MANIFEST.json")).unwrap();
        }),
        ("no schema", |forged| {
            fs::remove_file(forged.path("OUTPUT_SCHEMA.json")).unwrap();
        }),
    ];
    let Some(_) = Forged::recorded(COMMAND) else {
        return;
    };
    for (what, edit) in edits {
        let forged = Forged::recorded(COMMAND).unwrap();
        edit(&forged);
        seal_run(&forged);
        assert_refused(&forged, what);
    }
}

#[test]
fn files_whose_list_is_withheld_are_not_shown_as_results() {
    let Some(forged) = Forged::recorded(COMMAND) else {
        return;
    };
    seal_copy(
        &forged,
        "run-bundle",
        &[
            ("RUN_OUTPUT.json", "outputs"),
            ("RUN_OUTPUT.json", "stdout"),
            ("RUN_OUTPUT.json", "outputs_hash"),
        ],
    );
    assert_eq!(forged.broken_rules(""), [""; 0]);
    let replayed = forged.run("replay x").stdout;
    assert!(
        replayed.contains("not part of the run: artifacts/out.csv"),
        "{replayed}"
    );
    let inspected = forged.run("inspect x").stdout;
    let (came_out, _) = inspected.split_once("All artifacts").unwrap();
    assert!(!came_out.contains("artifacts/out.csv"), "{inspected}");
}

/// The pack of the demo without what its commitment leaves out.
fn pack() -> Option<Forged> {
    let forged = Forged::of_pack()?;
    forged.edit("run.json", |run| {
        if let Value::Object(members) = run {
            let left_out = ["redaction", "files", "self_hash"];
            members.retain(|name, _| !name.as_str().is_some_and(|name| left_out.contains(&name)));
        }
    });
    Some(forged)
}

fn edit_member(forged: &Forged, member: &str, edit: impl FnOnce(&mut Value)) {
    forged.edit("run.json", |run| {
        let mut value = run.get(member).unwrap().clone();
        edit(&mut value);
        run.insert(member, value);
    });
}

#[test]
fn copy_of_a_pack_whose_decision_is_contradicted_is_refused() {
    let edits: [Edit; 4] = [
        ("failed execution", |forged| {
            edit_member(forged, "execution", |it| it.insert("exit_code", 7_u64));
        }),
        ("decision as a text", |forged| {
            edit_member(forged, "decision", |it| it.insert("accepted", "true"));
        }),
        ("no decision", |forged| {
            edit_member(forged, "decision", |it| {
                if let Value::Object(members) = it {
                    members.retain(|name, _| name.as_str() != Some("accepted"));
                }
            });
        }),
        ("accepted question", |forged| {
            forged.edit("run.json", |run| {
                run.insert("kernel_result_kind", "CLARIFY")
            });
        }),
    ];
    let Some(honest) = pack() else {
        return;
    };
    seal_copy(&honest, "pack", &[]);
    assert_eq!(honest.broken_rules(" --strict"), [""; 0]);
    for (what, edit) in edits {
        let forged = pack().unwrap();
        edit(&forged);
        seal_copy(&forged, "pack", &[]);
        assert_eq!(forged.broken_rules(""), ["RD7"], "{what}");
    }
}

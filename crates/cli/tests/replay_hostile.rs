//! What a stranger's bundle or a cloned folder cannot do to whoever replays it or records in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::record_support::Project;
use crate::record_support::forged::Forged;
use runseal_core::digest::Digest;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;
use serde_json::json;

const KEY: &str = "PRIVATE-KEY-OF-THE-CALLER";

/// A project beside which the caller keeps a private key; as root and as an ordinary user where that is possible.
fn projects() -> Vec<(Project, PathBuf)> {
    let all = [Some(Project::new()), Project::of_ordinary_user()];
    all.into_iter()
        .flatten()
        .map(|project| {
            let secrets = project.write("../home/.ssh/id", KEY);
            let home = secrets.parent().unwrap().parent().unwrap().to_owned();
            for folder in [&home, secrets.parent().unwrap()] {
                fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
                project.give(folder);
            }
            fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).unwrap();
            project.give(&secrets);
            let home = home.canonicalize().unwrap();
            (project, home)
        })
        .collect()
}

/// Forges the bundle of a harmless recording.
fn forge(project: &Project, name: &str, change: impl FnOnce(&Forged)) -> Forged {
    if !project.bundle("honest").exists() {
        project.record_sh("honest", "echo hi");
    }
    let forged = Forged::copy(&project.bundle("honest"), &project.path(name));
    change(&forged);
    forged.reseal();
    let verified = project.run(&["verify", forged.path()]);
    assert_eq!(verified.code, Some(0), "{name}: {}", verified.stdout);
    forged
}

/// The level `namespaces` is the default; the other one is the weaker that still isolates.
const LEVELS: [&str; 2] = ["namespaces", "landlock"];

fn replay_at(project: &Project, bundle: &Forged, level: &str) -> Ran {
    project.run(&[
        "replay",
        bundle.path(),
        "--sandbox",
        level,
        "--timeout",
        "20",
    ])
}

#[test]
fn bundle_that_leads_to_a_private_key_does_not_have_it_shown() {
    if !need_isolation() {
        return;
    }
    for (project, home) in projects() {
        let key = home.join(".ssh/id");
        let show = format!("cat {} bin/python", key.display());
        let prepare = |forged: &Forged, path: &str| {
            forged.set_command(&["sh", "-c", &show]);
            forged.add_file("pyvenv.cfg", &format!("home = {}\n", home.display()), "644");
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                let folder = environment["folder"].as_str().unwrap().to_owned();
                let path = path.replace('@', &folder);
                environment["variables"]["PATH"] = json!(path);
            });
        };
        let link = |forged: &Forged, target: &Path| {
            forged.edit("RUN_INPUT.json", |input| {
                input["links"] = json!([{"path": "bin/python", "target": target}]);
            });
        };
        let in_home = format!("/usr/bin:/bin:{}:{0}/.ssh:@/bin", home.display());
        let bundles = [
            forge(&project, "link-to-a-folder", |forged| {
                prepare(forged, "/usr/bin:/bin:@/bin");
                link(forged, &home);
            }),
            forge(&project, "link-to-the-key", |forged| {
                prepare(forged, "@/bin:/usr/bin:/bin");
                link(forged, &key);
            }),
            forge(&project, "interpreter", |forged| {
                prepare(forged, "/usr/bin:/bin:@/bin");
                let line = format!("#!{}\n", key.display());
                forged.add_file("bin/python", &line, "755");
            }),
            forge(&project, "recorded-path", |forged| {
                prepare(forged, &in_home);
            }),
            forge(&project, "folder-above-the-key", |forged| {
                prepare(forged, "/usr/bin:/bin");
                forged.edit("RUN_ENVIRONMENT.json", |environment| {
                    environment["folder"] = json!(home.join("project"));
                });
            }),
        ];
        for bundle in &bundles {
            for level in LEVELS {
                let ran = replay_at(&project, bundle, level);
                let told = format!("{}{}", ran.stdout, ran.stderr);
                assert!(!told.contains(KEY), "{} at {level}: {told}", bundle.path());
                assert_ne!(ran.code, Some(0), "{} at {level}: {told}", bundle.path());
            }
        }
    }
}

#[test]
fn recording_in_a_cloned_folder_seals_nothing_from_outside_it() {
    if !need_isolation() {
        return;
    }
    for (project, home) in projects() {
        let key = home.join(".ssh/id");
        project.write("pyvenv.cfg", "home = /x\n");
        let tool = project.write(
            "bin/tool",
            format!("#!/bin/sh\ncat {} link > out; true\n", key.display()),
        );
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&home, project.path("bin/python")).unwrap();
        symlink(&key, project.path("link")).unwrap();
        for level in LEVELS {
            let arguments = ["record", "--sandbox", level, "--run-id", level];
            let ran = project.run(&[&arguments[..], &["--", "./bin/tool"]].concat());
            assert_eq!(ran.code, Some(0), "{level}: {}", ran.stderr);
            let output = fs::read_to_string(project.bundle(level).join("artifacts/out"));
            assert!(!output.unwrap().contains(KEY), "{level}");
        }
    }
}

#[test]
fn replay_shows_no_folder_of_the_callers_path() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let tool = project.write("../mytools/sh", "#!/bin/sh\necho mine\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let tools = tool.parent().unwrap().canonicalize().unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let run = |arguments: &[&str]| -> Ran {
        let mut command = project.command(arguments);
        command.env("HOME", tools.parent().unwrap());
        command.env("PATH", &path).output().unwrap().into()
    };
    let recorded = run(&["record", "--run-id", "own", "--", "sh"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let log = project.bundle("own").join("logs/stdout.txt");
    assert_eq!(fs::read_to_string(log).unwrap(), "mine\n");
    let replayed = run(&["replay", "RUN_BUNDLE/own", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(answer["verdict"], "REPRODUCED", "{}", replayed.stdout);
    // Nothing of the replayer's PATH, with which or without which the bundle's program runs.
    assert_eq!(answer["shown"], json!([]));
    fs::write(&tool, "#!/bin/sh\necho theirs\n").unwrap();
    for replayed in [
        run(&["replay", "RUN_BUNDLE/own"]),
        project.run(&["replay", "RUN_BUNDLE/own"]),
    ] {
        assert_eq!(replayed.code, Some(0), "{}", replayed.stdout);
    }
}

#[test]
fn files_of_the_machine_that_a_bundle_names_are_opened_only_where_the_command_sees_them() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let pipe = project.path("../pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let secret = project.write("../secret", "pin 4821");
    let places = [
        PathBuf::from("/dev/zero"),
        pipe,
        secret,
        "/proc/self/environ".into(),
        "/usr/../dev/zero".into(),
        "/usr/bin/no-such-file".into(),
    ];
    let forged = forge(&project, "names-files", |forged| {
        forged.set_command(&["sh", "-c", "echo hi"]);
        forged.edit("RUN_ENVIRONMENT.json", |environment| {
            let file = |path: &PathBuf| {
                json!({"path": path, "bytes": 1, "executed": false, "sha256": "0".repeat(64)})
            };
            environment["files"] = places.iter().map(file).collect();
        });
    });
    let ran = project.run(&["replay", forged.path(), "--timeout", "20"]);
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!told.contains(&Digest::of(b"pin 4821").to_string()));
    assert!(told.contains("5 files were not compared"), "{told}");
    assert!(
        told.contains("`/usr/bin/no-such-file` is not here"),
        "{told}"
    );
    let strict = project.run(&["replay", forged.path(), "--same-environment"]);
    assert!(
        strict.stdout.contains("NOT REPLAYABLE"),
        "{}",
        strict.stdout
    );
}

#[test]
fn few_names_that_ask_for_many_folders_are_refused_before_any_is_made() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let deep = |at: usize| format!("{at}/{}", vec!["a"; 100].join("/"));
    let many = forge(&project, "many", |forged| {
        forged.edit("RUN_ENVIRONMENT.json", |environment| {
            let folder = |at| json!({"folder": true, "path": deep(at)});
            environment["present"] = (0..400).map(folder).collect();
        });
    });
    let ran = project.run(&["replay", many.path()]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("too many folders"), "{}", ran.stdout);
}

#[test]
fn few_links_that_ask_for_many_folders_are_refused_before_any_is_made() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let deep = |at: usize| format!("{at}/{}/link", vec!["a"; 100].join("/"));
    let many = forge(&project, "links", |forged| {
        forged.edit("RUN_INPUT.json", |input| {
            let link = |at| json!({"path": deep(at), "target": "x"});
            input["links"] = (0..400).map(link).collect();
        });
    });
    let ran = project.run(&["replay", many.path()]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("too many folders"), "{}", ran.stdout);
}

#[test]
fn relative_entry_of_the_callers_path_is_not_taken_from_where_the_bundle_says() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let secret = project.write("../private/secret", "pin 4821");
    let private = secret.parent().unwrap().canonicalize().unwrap();
    for (name, folder) in [
        ("climbing", private.join("x/..")),
        ("plain", private.join("x")),
    ] {
        let forged = forge(&project, name, |forged| {
            forged.set_command(&["sh", "-c", "echo hi"]);
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                environment["folder"] = json!(folder);
                environment["files"] = json!([{"path": private.join("secret"), "bytes": 8,
                    "executed": false, "sha256": "0".repeat(64)}]);
            });
        });
        for path in ["/usr/bin:/bin:.", "/usr/bin:/bin:..", ":/usr/bin:/bin"] {
            let mut command = project.command(&["replay", forged.path()]);
            let ran: Ran = command.env("PATH", path).output().unwrap().into();
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(
                !told.contains(&Digest::of(b"pin 4821").to_string()),
                "{told}"
            );
            assert!(!told.contains("shown to the command"), "{told}");
        }
    }
}

#[test]
fn file_that_is_only_listed_takes_no_room_at_any_level() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let large = forge(&project, "large", |forged| {
        forged.set_command(&[
            "sh",
            "-c",
            "wc -c < big; dd if=/dev/zero of=more bs=1M count=1500 2>&1 | grep -c copied",
        ]);
        forged.edit("RUN_ENVIRONMENT.json", |environment| {
            environment["present"] = json!([{"path": "big", "bytes": 1_u64 << 40}]);
        });
    });
    for level in LEVELS {
        // What is listed does not raise what may be written either.
        let ran = replay_at(&project, &large, level);
        assert_ne!(ran.code, Some(0), "{level}: {}", ran.stdout);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            told.contains("--disk") || told.contains("DIVERGED"),
            "{level}: {told}"
        );
    }
}

#[test]
fn standard_input_that_changes_after_it_was_verified_is_not_used() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in", "real input\n");
    project.record("read", &["--stdin", "in", "--", "cat"]);
    let forged = Forged::copy(&project.bundle("read"), &project.path("forged"));
    forged.put("stdin.bin", "claimed input\n");
    forged.edit("RUN_INPUT.json", |input| {
        let stdin = &mut input["stdin"];
        stdin["bytes"] = json!(14);
        stdin["sha256"] = json!(Digest::of(b"claimed input\n").to_string());
    });
    forged.reseal();
    let other = project.write("../other", "real input\n");
    let place = project.path("forged/stdin.bin");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let here = rustix::fs::CWD;
                rustix::fs::renameat_with(here, &place, here, &other, flags).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for _ in 0..20 {
            let ran = project.run(&["replay", forged.path()]);
            assert!(!ran.stdout.contains(": REPRODUCED"), "{}", ran.stdout);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn folder_that_is_compared_is_not_left_by_a_name_in_the_bundle() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let secret = project.write("../secret", "pin 4821");
    symlink(&secret, project.path("linked")).unwrap();
    symlink(secret.parent().unwrap(), project.path("folder")).unwrap();
    for name in ["linked", "folder/secret"] {
        let forged = forge(&project, &format!("forged-{}", name.len()), |forged| {
            forged.set_command(&["sh", "-c", "echo hi"]);
            forged.add_file(name, "other", "644");
        });
        let ran = project.run(&["replay", forged.path(), "--engine", "."]);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert_ne!(ran.code, Some(0), "{name}: {told}");
        assert!(
            !told.contains(&Digest::of(b"pin 4821").to_string()),
            "{told}"
        );
    }
}

/// Forges a run of `script` that left a file of this content.
fn forge_output(project: &Project, name: &str, script: &str, content: &str) -> Forged {
    forge(project, name, |forged| {
        forged.set_command(&["sh", "-c", script]);
        forged.put("artifacts/result", content);
        forged.edit("RUN_OUTPUT.json", |output| {
            output["outputs"] = json!([{"path": "result", "stored": "artifacts/result", "mode": "644",
                "bytes": content.len(), "sha256": Digest::of(content.as_bytes()).to_string()}]);
        });
    })
}

#[test]
fn link_or_pipe_where_a_file_was_sealed_diverges_whatever_the_file_holds() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let contents = ["no file", "a symbolic link", "a named pipe", ""];
    for (at, content) in contents.into_iter().enumerate() {
        for (kind, script) in [
            ("a symbolic link", "echo hi; ln -s /nowhere result"),
            ("a named pipe", "echo hi; mkfifo result"),
        ] {
            let name = format!("{at}-{}", kind.len());
            let ran = project.run(&[
                "replay",
                forge_output(&project, &name, script, content).path(),
            ]);
            assert_eq!(ran.code, Some(1), "{kind} {content}: {}", ran.stdout);
            assert!(ran.stdout.contains(kind), "{kind}: {}", ran.stdout);
        }
    }
}

/// Says that the command read an input outside its folder.
fn add_input(forged: &Forged, path: &Path, bytes: &str, mode: &str) {
    let stored = format!("inputs/{}", path.file_name().unwrap().to_str().unwrap());
    forged.put(&stored, bytes);
    forged.edit("RUN_INPUT.json", |input| {
        input["inputs"] = json!([{"path": path, "stored": stored, "mode": mode,
            "bytes": bytes.len(), "sha256": Digest::of(bytes.as_bytes()).to_string()}]);
    });
}

#[test]
fn input_in_a_folder_of_the_callers_path_is_the_bundles() {
    if !need_isolation() {
        return;
    }
    let both = [Some(Project::new()), Project::of_ordinary_user()];
    for project in both.into_iter().flatten() {
        let there = project.write("../tools/bin/data", "of the host");
        let tools = there.parent().unwrap().canonicalize().unwrap();
        let path = format!("{}:/usr/bin:/bin", tools.display());
        let folder = project.path("").canonicalize().unwrap();
        let replay = |place: &Path, level: &str| -> Ran {
            let name = Digest::of(format!("{level}{}", place.display()).as_bytes()).to_string();
            let forged = forge(&project, &name, |forged| {
                forged.set_command(&["cat", place.to_str().unwrap()]);
                forged.put("logs/stdout.txt", "of the host");
                forged.edit("RUN_OUTPUT.json", |output| {
                    output["stdout"]["bytes"] = json!(11);
                    output["stdout"]["sha256"] = json!(Digest::of(b"of the host").to_string());
                });
                add_input(forged, place, "of the bundle", "644");
            });
            let mut command = project.command(&["replay", forged.path(), "--sandbox", level]);
            command.env("PATH", &path).output().unwrap().into()
        };
        for place in [tools.join("data"), tools.join("more")] {
            let read = replay(&place, "namespaces");
            assert!(read.stdout.contains("DIVERGED"), "{read:?}");
            assert!(read.stdout.contains("+of the bundle"), "{read:?}");
        }
        // Nothing can be put at another place there.
        let ran = replay(&tools.join("data"), "landlock");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains("NOT REPLAYABLE"), "{ran:?}");
        let named = format!("`{}` of the bundle", tools.join("data").display());
        assert!(ran.stdout.contains(&named), "{ran:?}");
        // The folder of the command covers what would lie in it.
        let ran = replay(&folder.join("honest"), "namespaces");
        assert!(!ran.stdout.contains("+of the bundle"), "{ran:?}");
    }
}

#[test]
fn patterns_of_a_bundle_that_no_recorder_writes_are_not_replayable() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let deep = format!("{}a{}", "{".repeat(200_000), "}".repeat(200_000));
    for (name, pattern) in [("deep", deep.as_str()), ("open", "{a")] {
        let forged = forge(&project, name, |forged| {
            forged.set_keep(&[pattern]);
            forged.edit("RUN_OUTPUT.json", |output| output["not_kept"] = json!([]));
        });
        let ran = project.run(&["replay", forged.path()]);
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.stderr);
        assert!(
            ran.stdout.contains("RUN_INPUT.json /keep"),
            "{name}: {}",
            ran.stdout
        );
    }
    let ran = project.run(&["record", "--keep", &"{".repeat(100), "--", "true"]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("`--keep`"), "{ran:?}");
}

#[test]
fn names_that_were_not_kept_are_compared_as_far_as_their_list_goes() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let many = |count: usize| (10_000..10_000 + count).map(|at| format!("x{at}"));
    let forge = |name: &str, script: &str| {
        forge(&project, name, |forged| {
            forged.set_command(&["sh", "-c", script]);
            forged.set_keep(&["kept"]);
            forged.edit("RUN_OUTPUT.json", |output| {
                output["not_kept"] = many(10_000).collect();
            });
        })
    };
    let other = forge("other", "echo hi; echo > r");
    let ran = project.run(&["replay", other.path()]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("DIVERGED"), "{}", ran.stdout);
    // One more than the list has room for.
    let same = forge(
        "same",
        "echo hi; i=10000; while [ $i -le 20000 ]; do : > x$i; i=$((i+1)); done",
    );
    let ran = project.run(&["replay", same.path(), "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let told = answer["not_compared"][0].as_str().unwrap();
    assert!(told.contains("of the others nothing"), "{told}");
    let shown = project.run(&["replay", same.path()]).stdout;
    assert!(
        shown.contains("REPRODUCED as far as it is shown"),
        "{shown}"
    );
    assert!(!shown.contains("their names were compared, not"), "{shown}");
}

#[test]
fn same_environment_is_refused_where_the_list_leaves_out_what_the_command_uses() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let honest = forge(&project, "same", |_| {});
    let strict = |forged: &Forged| project.run(&["replay", forged.path(), "--same-environment"]);
    let ran = strict(&honest);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let all = honest.load("RUN_ENVIRONMENT.json")["files"].clone();
    let all = all.as_array().unwrap();
    assert!(!all.is_empty());
    for left_out in 0..=all.len() {
        let mut files = all.clone();
        match files.get(left_out) {
            Some(_) => drop(files.remove(left_out)),
            None => files.clear(),
        }
        let forged = forge(&project, &format!("without-{left_out}"), |forged| {
            forged.edit("RUN_ENVIRONMENT.json", |it| it["files"] = json!(files));
            forged.set_command(&["sh", "-c", "echo hi"]);
        });
        let ran = strict(&forged);
        assert_eq!(ran.code, Some(1), "{left_out}: {}", ran.stdout);
        assert!(ran.stdout.contains("does not list it"), "{}", ran.stdout);
        let lax = project.run(&["replay", forged.path()]);
        assert_eq!(lax.code, Some(0), "{}", lax.stdout);
    }
}

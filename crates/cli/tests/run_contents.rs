//! What a run leaves behind for its reader: contents in the pack, policies from files, a replay that
//! executes, and answers for people.

use std::process::Command;

use runseal_core::digest::ContentHash;
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use runseal_testkit::skip::{need_isolation, need_program, need_python};
use serde_json::{Value, json};

const EXECUTE: [&str; 4] = ["run", "intent.json", "--mode", "execute-sandbox"];

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

/// The clear example with work added.
fn write_intent(bench: &Bench, proposal: &Value) {
    let text = std::fs::read(project_root().join("examples/intents/clear.json")).unwrap();
    let mut intent: Value = serde_json::from_slice(&text).unwrap();
    intent["context"] = json!({ "proposal": proposal });
    bench.write("intent.json", intent.to_string());
}

fn run(bench: &Bench, proposal: &Value, more: &[&str]) -> Ran {
    write_intent(bench, proposal);
    bench.run(&[&EXECUTE[..], more].concat())
}

fn read_json(bench: &Bench, name: &str) -> Value {
    serde_json::from_str(&bench.read(name)).unwrap()
}

fn assert_valid(bench: &Bench, pack: &str) {
    for arguments in [
        vec!["pack", "verify", pack],
        vec!["pack", "verify", pack, "--strict"],
        vec!["verify", pack],
    ] {
        let verified = bench.run(&arguments);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
}

#[test]
fn pack_holds_what_commands_printed_and_left_by_its_hash() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let work = json!({
        "commands": [
            "echo said; echo complained >&2; printf '\\377\\000' > raw.bin; echo made > made.txt",
            "printf 'and more'"
        ],
        "tests": [{"type": "command_success", "target": "cat made.txt"}]
    });
    let ran = run(&bench, &work, &["--policy", "dev", "--pack", "p"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_valid(&bench, "p");
    let evidence = read_json(&bench, "p/evidence.json");
    let contents = evidence["contents"].as_object().unwrap();
    let text = |hash: &Value| contents[hash.as_str().unwrap()]["text"].clone();
    let results = evidence["action_results"].as_array().unwrap();
    let printed: Vec<_> = results
        .iter()
        .filter(|r| r["action"] == "execute")
        .collect();
    assert_eq!(text(&printed[0]["stdout_sha256"]), "said\n");
    assert_eq!(text(&printed[0]["stderr_sha256"]), "complained\n");
    assert_eq!(text(&printed[1]["stdout_sha256"]), "and more");
    let outputs = read_json(&bench, "p/run.json")["execution"]["outputs"].clone();
    for output in outputs.as_array().unwrap() {
        let entry = &contents.get(output["sha256"].as_str().unwrap());
        match output["path"].as_str().unwrap() {
            "made.txt" => assert_eq!(entry.unwrap()["text"], "made\n"),
            "raw.bin" => assert_eq!(entry.unwrap()["base64"], "/wA="),
            // What the plan wrote is in patch.json.
            _ => assert!(entry.is_none(), "{output}"),
        }
    }
    assert_eq!(evidence["proposal"]["id"], evidence["proposal_id"]);
    let reported = bench.run(&["report", "p", "-o", "page.html"]);
    assert_eq!(reported.code, Some(0), "{reported:?}");
    let page = bench.read("page.html");
    for shown in ["complained", "and more", "2 bytes that are not text"] {
        assert!(page.contains(shown), "the page does not show {shown}");
    }

    // Exchanged for other content with its own right hash, and sealed again by the forger.
    let mut forged = evidence.clone();
    let hash = printed[0]["stdout_sha256"].as_str().unwrap();
    forged["contents"][hash] = json!({"size_bytes": 6, "text": "other\n"});
    bench.write("p/evidence.json", forged.to_string());
    let mut run = read_json(&bench, "p/run.json");
    run.as_object_mut().unwrap().remove("files");
    run.as_object_mut().unwrap().remove("self_hash");
    bench.write("p/run.json", run.to_string());
    let verified = bench.run(&["verify", "p", "--format", "json"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("\"EV6\""), "{verified:?}");
    let document = bench.run(&["pack", "verify", "p"]);
    assert_eq!(document.code, Some(0), "the document asks for no contents");
}

#[test]
fn pack_of_a_run_whose_files_cannot_be_listed_is_still_valid() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    // Two files would be the output `dist/x`; what was read of them before is not an output.
    let clash = "mkdir dist; echo a > a; echo b > dist/x; echo c > ../dist/x; echo said";
    let ran = run(
        &bench,
        &json!({"commands": [clash]}),
        &["--policy", "dev", "--pack", "p"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("two files would be the output"),
        "{ran:?}"
    );
    assert_valid(&bench, "p");
    let evidence = read_json(&bench, "p/evidence.json");
    let texts = evidence["contents"].to_string();
    assert!(
        texts.contains("said\\n") && !texts.contains("a\\n"),
        "{texts}"
    );
}

#[test]
fn failed_command_shows_the_end_of_its_standard_error() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let work = json!({"commands": ["seq 1 100 >&2; echo '\u{1b}[31mno such thing' >&2; exit 3"]});
    let ran = run(&bench, &work, &["--policy", "dev", "--pack", "p"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("    | 100\n"), "{ran:?}");
    assert!(ran.stderr.contains("no such thing"), "{ran:?}");
    assert!(!ran.stderr.contains("    | 80\n"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    serde_json::from_str::<Value>(&ran.stdout).unwrap();
    assert_valid(&bench, "p");
    let human = run(&bench, &work, &["--policy", "dev", "--format", "human"]);
    assert!(
        human.stdout.contains("intent.json: NOT ACCEPTED"),
        "{human:?}"
    );
    assert!(human.stdout.contains("  FAILED   run seq"), "{human:?}");
    assert!(human.stdout.contains("exit code 3"), "{human:?}");
    assert!(human.stdout.contains("    | 100\n"), "{human:?}");
}

#[test]
fn run_on_a_terminal_is_for_people_and_elsewhere_json() {
    let (_folder, bench) = bench();
    write_intent(&bench, &json!({}));
    let piped = bench.run(&["run", "intent.json"]);
    serde_json::from_str::<Value>(&piped.stdout).unwrap();
    let asked = bench.run(&["run", "intent.json", "--format", "human"]);
    assert!(
        asked.stdout.starts_with("intent.json: ACCEPTED (run_"),
        "{asked:?}"
    );
    bench.write("question.json", r#"{"goal":"Do the [TBD] thing"}"#);
    let asked = bench.run(&["run", "question.json", "--format", "human"]);
    assert!(asked.stdout.contains("QUESTIONS ARE OPEN"), "{asked:?}");
    assert!(asked.stdout.contains("  question "), "{asked:?}");
    if !need_program("/usr/bin/script") {
        return;
    }
    let command = format!("{} run intent.json", env!("CARGO_BIN_EXE_runseal"));
    let on_terminal = Command::new("/usr/bin/script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&on_terminal.stdout).into_owned();
    assert!(shown.contains("intent.json: ACCEPTED"), "{shown}");
}

#[test]
fn policy_file_names_programs_and_limits_and_is_shown_resolved() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let work = json!({
        "files": [{"path": "make.py", "content": "open('made.txt', 'w').write('made')\n"}],
        "commands": ["python3 make.py"],
        "tests": [{"type": "content_match", "target": "made.txt", "expected": "made"}]
    });
    let refused = run(&bench, &work, &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stdout
            .contains("`python3` is not among allowed_commands"),
        "{refused:?}"
    );
    if !need_python() {
        return;
    }
    bench.write(
        "policy.toml",
        "name = \"strict\"\nallowed_commands = [\"python3\", \"git\"]\ntimeout_ms = 20000\n",
    );
    let ran = run(&bench, &work, &["--policy", "policy.toml", "--pack", "p"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_valid(&bench, "p");
    let policy = read_json(&bench, "p/policy.json");
    assert_eq!(
        policy,
        json!({"name": "strict", "custom": true, "allow_network": false, "timeout_ms": 20000,
               "max_output_files": 200, "max_total_output_bytes": 10485760,
               "allowed_commands": ["python3", "git"],
               "allowed_write_roots": ["out", "dist", "build"],
               "allowed_model_modes": ["none"], "allowed_models": []})
    );
    assert_eq!(read_json(&bench, "p/run.json")["policy"], policy);
    // The pack's own policy is a policy file too.
    let again = run(&bench, &work, &["--policy", "p/policy.json", "--pack", "q"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(read_json(&bench, "q/policy.json"), policy);
    let named = run(&bench, &work, &["--allow", "python3", "--pack", "r"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert_valid(&bench, "r");
    let commands = read_json(&bench, "r/policy.json")["allowed_commands"].clone();
    assert_eq!(commands, json!(["node", "npm", "npx", "python3"]));
}

#[test]
fn programs_that_are_named_are_found_on_the_callers_path_too_and_others_are_not() {
    let has_all = ["python3", "git", "make", "cargo"]
        .iter()
        .all(|name| need_program(name));
    if !need_isolation() || !has_all {
        return;
    }
    let (folder, bench) = bench();
    // A program of somebody's own, beside one that nobody names.
    let tools = folder.path().join("tools/bin");
    for name in ["mine", "other"] {
        let place = bench.write(&format!("tools/bin/{name}"), "#!/bin/sh\necho ours\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place, mode).unwrap();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let entries = std::env::split_paths(&path).chain([tools]);
    let path = std::env::join_paths(entries).unwrap();
    let run = |commands: &[&str], more: &[&str]| -> Ran {
        write_intent(
            &bench,
            &json!({
                "files": [{"path": "Makefile", "content": "all:\n\techo made > made.txt\n"}],
                "commands": commands,
                "tests": [{"type": "file_exists", "target": "made.txt"}]
            }),
        );
        let mut command = bench.command(&[&EXECUTE[..], more].concat());
        command.env("PATH", &path).output().unwrap().into()
    };
    let allowed = ["python3", "git", "make", "cargo", "mine"];
    let allow: Vec<&str> = allowed.iter().flat_map(|name| ["--allow", name]).collect();
    let commands = [
        "make all",
        "python3 -V",
        "git --version",
        "cargo --version",
        "mine",
    ];
    let ran = run(&commands, &[&allow[..], &["--pack", "p"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_valid(&bench, "p");
    let replayed = bench.command(&["replay", "p"]).env("PATH", &path).output();
    let replayed = Ran::from(replayed.unwrap());
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    // What is beside a program that is named is still not to be started.
    let ran = run(&["make all", "other"], &allow);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("`other` is not among allowed_commands"),
        "{ran:?}"
    );
}

#[test]
fn policy_with_a_write_root_of_its_own_lets_commands_write_there_and_nowhere_else() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    bench.write(
        "policy.toml",
        "allowed_commands = [\"touch\"]\nallowed_write_roots = [\"out\", \"reports\"]\n",
    );
    let policy = ["--policy", "policy.toml", "--pack", "p"];
    let ran = run(
        &bench,
        &json!({"commands": ["touch ../reports/a.txt"]}),
        &policy,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_valid(&bench, "p");
    let outputs = read_json(&bench, "p/run.json")["execution"]["outputs"].to_string();
    assert!(outputs.contains("\"reports/a.txt\""), "{outputs}");
    for elsewhere in [
        "touch ../dist/a.txt",
        "touch ../a.txt",
        "touch ../other/a.txt",
    ] {
        let ran = run(&bench, &json!({"commands": [elsewhere]}), &policy[..2]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
    }
}

#[test]
fn invalid_policy_is_refused_with_its_member() {
    let (_folder, bench) = bench();
    write_intent(&bench, &json!({}));
    for (name, text, wanted) in [
        ("a.toml", "allow_network = true\n", "`allow_network`"),
        ("b.toml", "timeout_ms = 1\n", "1000 to 600000"),
        (
            "c.toml",
            "alowed_commands = []\n",
            "`alowed_commands` is not a member",
        ),
        (
            "d.json",
            "{\"name\":\"lax\"}",
            "`name` is not strict, default or dev",
        ),
        ("e.toml", "= 1\n", "line 1"),
    ] {
        bench.write(name, text);
        let ran = bench.run(&["run", "intent.json", "--policy", name]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.starts_with("RUN_E003: "), "{ran:?}");
        assert!(ran.stderr.contains(wanted), "{ran:?}");
        assert_eq!(ran.stdout, "");
    }
    let missing = bench.run(&["run", "intent.json", "--policy", "none.toml"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.stderr.starts_with("RUN_E001: "), "{missing:?}");
    let path = bench.run(&["run", "intent.json", "--allow", "/bin/sh"]);
    assert_eq!(path.code, Some(64), "{path:?}");
}

#[test]
fn policy_with_model_modes_allows_them_and_no_other_model() {
    let (_folder, bench) = bench();
    write_intent(&bench, &json!({}));
    let recording = json!({"model_io_schema_version": "1.0.0", "adapter_id": "a", "model_id": "large",
        "mode": "record", "interactions": []});
    bench.write("m.json", recording.to_string());
    bench.write(
        "policy.toml",
        "allowed_model_modes = [\"none\", \"replay\"]\nallowed_models = [\"small\"]\n",
    );
    let mut arguments = vec!["run", "intent.json", "--policy", "policy.toml"];
    let record = [
        "--model-mode",
        "record",
        "--model-io",
        "n.json",
        "--model-cmd",
        "cat",
    ];
    let ran = bench.run(&[&arguments[..], &record].concat());
    assert!(
        ran.stderr.contains("PL4: policy default does not allow"),
        "{ran:?}"
    );
    if !need_isolation() {
        return;
    }
    arguments.extend([
        "--mode",
        "execute-sandbox",
        "--model-mode",
        "replay",
        "--model-io",
        "m.json",
    ]);
    let ran = bench.run(&arguments);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("PL4: model `large` is not among"),
        "{ran:?}"
    );
}

#[test]
fn replay_of_a_pack_executes_it_again_and_compares() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let work = json!({
        "commands": ["echo made > made.txt; echo said"],
        "tests": [{"type": "content_match", "target": "made.txt", "expected": "made\n"}]
    });
    let ran = run(&bench, &work, &["--policy", "dev", "--pack", "p"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let alone = bench.run(&["replay", "p"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.stdout.starts_with("p: REPRODUCED\n"), "{alone:?}");
    assert!(
        alone
            .stdout
            .contains("note: the bundle was not derived again"),
        "{alone:?}"
    );
    let with_intent = bench.run(&["replay", "p", "--intent", "intent.json", "--format", "json"]);
    assert_eq!(with_intent.code, Some(0), "{with_intent:?}");
    let answer: Value = serde_json::from_str(&with_intent.stdout).unwrap();
    assert_eq!(
        (&answer["verdict"], &answer["executed"]),
        (&json!("REPRODUCED"), &json!(true))
    );
    assert_eq!(answer["differences"], json!([]));

    // What depends on anything but the plan shows, with the line where it parts.
    let chance =
        json!({"commands": ["echo same; head -c 16 /dev/urandom | od -An -tx1 | tee made.txt"]});
    let ran = run(&bench, &chance, &["--policy", "dev", "--pack", "q"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let diverged = bench.run(&["replay", "q"]);
    assert_eq!(diverged.code, Some(1), "{diverged:?}");
    assert!(diverged.stdout.starts_with("q: DIVERGED\n"), "{diverged:?}");
    assert!(
        diverged.stdout.contains("standard output: line 2: sealed"),
        "{diverged:?}"
    );
    assert!(
        diverged
            .stdout
            .contains("the file `made.txt`: line 1: sealed"),
        "{diverged:?}"
    );

    // A pack that was changed is not replayed at all.
    bench.write(
        "p/evidence.json",
        bench.read("p/evidence.json").replace("said", "sung"),
    );
    let changed = bench.run(&["replay", "p"]);
    assert_eq!(changed.code, Some(1), "{changed:?}");
    let told = "p: NOT REPLAYABLE: the pack is not valid\n";
    assert!(changed.stdout.starts_with(told), "{changed:?}");
    assert!(changed.stdout.contains("  EV7 "), "{changed:?}");
}

#[test]
fn replay_of_a_pack_without_its_proposal_takes_it_from_the_intent_or_a_file() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let work = json!({"commands": ["echo made > made.txt"]});
    let ran = run(&bench, &work, &["--policy", "dev", "--pack", "p"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // As another producer writes it: no list of files, no proposal, no contents.
    let mut evidence = read_json(&bench, "p/evidence.json");
    let proposal = evidence["proposal"].take();
    let members = evidence.as_object_mut().unwrap();
    members.remove("proposal");
    members.remove("contents");
    bench.write("p/evidence.json", evidence.to_string());
    let mut record = read_json(&bench, "p/run.json");
    record.as_object_mut().unwrap().remove("files");
    record.as_object_mut().unwrap().remove("self_hash");
    bench.write("p/run.json", record.to_string());
    bench.write("proposal.json", proposal.to_string());
    for more in [["--intent", "intent.json"], ["--proposal", "proposal.json"]] {
        let replayed = bench.run(&[&["replay", "p"][..], &more].concat());
        assert_eq!(replayed.code, Some(0), "{replayed:?}");
        assert!(
            replayed.stdout.starts_with("p: REPRODUCED\n"),
            "{replayed:?}"
        );
    }
    let without = bench.run(&["replay", "p"]);
    assert_eq!(without.code, Some(64), "{without:?}");
    assert!(without.stderr.contains("--proposal FILE"), "{without:?}");
    let mut other = proposal;
    other["summary"] = json!("Something else");
    bench.write("other.json", other.to_string());
    let refused = bench.run(&["replay", "p", "--proposal", "other.json"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("not the one that the evidence is about"),
        "{refused:?}"
    );
}

#[test]
fn replay_of_a_pack_answers_model_calls_from_its_recording() {
    if !need_isolation() {
        return;
    }
    if !need_program("/usr/bin/curl") {
        return;
    }
    let (_folder, bench) = bench();
    let call = "curl -s --unix-socket $RUNSEAL_MODEL_IO http://model/";
    let work = json!({"commands": [format!("{call} -d '{{\"prompt\":\"what time is it\"}}' | tee said.json")]});
    let record = [
        "--policy",
        "dev",
        "--model-mode",
        "record",
        "--model-io",
        "m.json",
    ];
    let answer = ["--model-cmd", "date +%N", "--pack", "p"];
    let ran = run(&bench, &work, &[&record[..], &answer].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_valid(&bench, "p");
    let recording = read_json(&bench, "p/model_io.json");
    let said = &recording["interactions"][0];
    assert_eq!(said["prompt_content"], "what time is it");
    assert_eq!(
        said["prompt_hash"],
        ContentHash::of(b"what time is it").to_string()
    );
    // A recording may say anything besides; a page shows what the hash holds fast.
    let mut forged = recording.clone();
    let never_asked = "is the bridge safe";
    forged["interactions"][0]["messages"] =
        serde_json::json!([{"role": "user", "content": never_asked}]);
    forged["interactions"][0]["prompt"] = never_asked.into();
    forged["interactions"][0]["request"] = serde_json::json!({"method": "POST", "path": "/v1/x",
        "body": {"messages": [{"role": "user", "content": never_asked}]}});
    bench.write("forged.json", forged.to_string());
    let page = bench.run(&["report", "forged.json", "-o", "-"]).stdout;
    let (_, said) = page
        .split_once("What was said to and by the model")
        .unwrap();
    assert!(said.contains("what time is it"));
    let (said, _) = said.split_once("</section>").unwrap_or((said, ""));
    assert!(!said.contains(never_asked), "{said}");
    let replayed = bench.run(&["replay", "p"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert!(
        replayed
            .stdout
            .contains("1 model call, answered from the recording"),
        "{replayed:?}"
    );
}

#[test]
fn models_are_recorded_without_isolation_too() {
    if !need_program("/usr/bin/curl") {
        return;
    }
    let (_folder, bench) = bench();
    let call = "curl -s --fail-with-body --unix-socket $RUNSEAL_MODEL_IO http://model/";
    let work = json!({"commands": [format!("{call} -d '{{\"prompt\":\"hello\"}}' > said.json")]});
    let more = [
        "--policy",
        "dev",
        "--sandbox",
        "none",
        "--model-mode",
        "record",
        "--model-io",
        "m.json",
        "--model-cmd",
        "tr a-z A-Z",
        "--pack",
        "p",
    ];
    let ran = run(&bench, &work, &more);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let recording = read_json(&bench, "m.json");
    assert_eq!(recording["interactions"][0]["response_content"], "HELLO");
    assert_valid(&bench, "p");
}

#[test]
fn decision_names_the_acceptance_tests_that_count() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let reasons = |work: &Value| {
        let ran = run(&bench, work, &["--policy", "dev"]);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        (ran.code, answer["decision"]["reasons"].to_string())
    };
    let tested = json!({"commands": ["echo made > made.txt"],
        "tests": [{"type": "file_exists", "target": "made.txt"}]});
    let (code, told) = reasons(&tested);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("accept: acceptance tests of the outcome passed: test_"),
        "{told}"
    );
    assert!(told.contains("(`made.txt`)"), "{told}");
    let (code, told) = reasons(&json!({"commands": ["echo made > made.txt"]}));
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("accept: no acceptance test of the outcome was named"),
        "{told}"
    );
    let failed = json!({"commands": ["echo made > made.txt"],
        "tests": [{"type": "content_match", "target": "made.txt", "expected": "other"}]});
    let (code, told) = reasons(&failed);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("reject: test test_"), "{told}");
    // The bundle's own text, once more under another name; and that nothing else is there.
    write_intent(&bench, &json!({}));
    let made = bench.run(&["transform", "intent.json", "-o", "bundle.json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let restated = read_json(&bench, "bundle.json")["outputs"][0]["content"].clone();
    let goal = read_json(&bench, "intent.json")["goal"]
        .as_str()
        .unwrap()
        .to_owned();
    for restating in [
        json!({}),
        json!({"files": [{"path": "copy.md", "content": restated}]}),
        json!({"commands": [{"command": "absent:nothing.txt", "type": "validate"}]}),
        json!({"tests": [{"type": "file_exists", "target": "nothing.txt", "expected": "false"}]}),
        json!({"files": [{"path": "x.md", "content": format!("# {goal}\n\n")}],
               "tests": [{"type": "file_exists", "target": "x.md"}]}),
        json!({"commands": [format!("echo \"{goal}\"")]}),
        json!({"commands": [format!("echo \"{goal}\" > x.md")],
               "tests": [{"type": "file_exists", "target": "x.md"}]}),
        json!({"commands": ["true"]}),
    ] {
        let (code, told) = reasons(&restating);
        assert_eq!(code, Some(1), "{restating}: {told}");
        assert!(told.contains("review: nothing was required but"), "{told}");
    }
}

//! `--proxy`: a command in the sandbox asks models through the proxy and reaches nothing else; its bundle
//! holds what was said, and is replayed from that.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::proxy_support::{Answer, Seen, Service, Upstream, chunked, folder, recording, whole};
use crate::schema_support::check_recording;
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::skip::{need_isolation, need_python};
use serde_json::{Value, json};

const KEY: &str = "sk-proj-Zz0123456789abcdefghijKLMNOPQRST";
const OTHER: &str = "sk-proj-Yy9876543210zyxwvutsrqPONMLKJIHG";
const JSON: &str = "content-type: application/json\r\n";

/// Asks twice, once as a stream, and writes down what it heard; then tries what it may not.
const AGENT: &str = r#"
import json, os, socket, sys, urllib.request

def ask(base, path, body, headers):
    request = urllib.request.Request(base + path, json.dumps(body).encode(),
                                     {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()

openai, anthropic = os.environ["OPENAI_BASE_URL"], os.environ["ANTHROPIC_BASE_URL"]
bearer = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
question = open("question.txt").read().strip()
said = ask(openai, "/chat/completions", {"model": "m-1", "messages": [{"role": "user", "content": question}]}, bearer)
answer = json.loads(said)["choices"][0]["message"]["content"]
stream = ask(anthropic, "/v1/messages", {"model": "m-2", "stream": True, "messages": [{"role": "user", "content": answer}]},
             {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"})
with open("answer.txt", "w") as file:
    file.write(answer + "\n" + stream)
for host, port in [("127.0.0.1", int(sys.argv[1])), ("1.1.1.1", 443)]:
    try:
        socket.create_connection((host, port), 2)
        print("reached", host)
    except OSError:
        print("refused")
"#;

/// A model that says back what it was asked.
fn answer(request: &Seen) -> Answer {
    match request.path.as_str() {
        "/v1/chat/completions" => {
            let asked: Value = serde_json::from_slice(&request.body).unwrap();
            let content = format!(
                "you said {}",
                asked["messages"][0]["content"].as_str().unwrap()
            );
            let body = json!({"id": "c", "model": "m-1", "choices": [{"index": 0,
                "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]});
            whole("200 OK", JSON, &body.to_string())
        }
        "/v1/messages" => chunked(
            "content-type: text/event-stream\r\n",
            &[
                b"event: ping\ndata: {\"type\":\"ping\"}\n\n",
                b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            ],
            true,
        ),
        "/v1/large" => whole(
            "200 OK",
            "content-type: text/plain\r\n",
            &"x".repeat(1_500_000),
        ),
        _ => whole("404 Not Found", "", "nothing here"),
    }
}

/// Whether a command can be isolated here, and Python is there to be one.
fn can_run() -> bool {
    need_python() && need_isolation()
}

fn run(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command(arguments);
    command
        .env("OPENAI_API_KEY", KEY)
        .env("ANTHROPIC_API_KEY", format!("{KEY}2"));
    command.output().unwrap().into()
}

/// A folder with the agent in it.
fn project() -> (tempfile::TempDir, Bench) {
    let (folder, bench) = folder();
    bench.write("agent.py", AGENT);
    bench.write("question.txt", "why\n");
    (folder, bench)
}

fn record(bench: &Bench, upstream: &Upstream, more: &[&str]) -> Ran {
    let port = upstream.url.rsplit(':').next().unwrap();
    let arguments = [
        "record",
        "--run-id",
        "one",
        "--proxy",
        "--upstream",
        &upstream.url,
    ];
    let command = ["--", "python3", "agent.py", port];
    run(bench, &[&arguments[..], more, &command].concat())
}

/// Every file below `folder`.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Makes what is sealed writable again, for whoever forges it.
fn unlock(folder: &Path) {
    let status = Command::new("chmod")
        .args(["-R", "u+w"])
        .arg(folder)
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn recorded_agent_asks_through_the_proxy_alone_and_is_replayed_without_a_model() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = project();
    let upstream = Upstream::start(answer);
    let ran = record(&bench, &upstream, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The keys went to the upstream, and to nobody else.
    let heads = upstream.seen.lock().unwrap().join("\n");
    assert!(
        heads.contains(&format!("authorization: Bearer {KEY}\r\n")),
        "{heads}"
    );
    assert!(heads.contains(&format!("x-api-key: {KEY}2\r\n")), "{heads}");
    assert_eq!(upstream.seen.lock().unwrap().len(), 2);
    let bundle = bench.path("RUN_BUNDLE/one");
    for file in files_below(&bundle) {
        let bytes = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("Zz0123456789"), "{}", file.display());
    }
    assert_eq!(
        bench.read("RUN_BUNDLE/one/logs/stdout.txt"),
        "refused\nrefused\n"
    );
    // What it tried past the proxy is listed, what it asked through it is not.
    let environment: Value =
        serde_json::from_str(&bench.read("RUN_BUNDLE/one/RUN_ENVIRONMENT.json")).unwrap();
    let gaps = environment["observation"]["gaps"].to_string();
    assert!(
        gaps.contains("asked for IPv4 1.1.1.1:443 and was refused"),
        "{gaps}"
    );
    assert!(!gaps.contains("127.0.0.1:4100"), "{gaps}");
    let made = recording(&bundle.join("model_io.json"));
    check_recording(&made);
    assert_eq!(made["model_id"], "m-1");
    assert_eq!(made["interactions"][0]["reading"]["text"], "you said why");
    let header = json!(["authorization", "Bearer runseal-keeps-the-key"]);
    let headers = made["interactions"][0]["request"]["headers"]
        .as_array()
        .unwrap();
    assert!(headers.contains(&header), "{headers:?}");
    for arguments in [["verify", "RUN_BUNDLE/one"], ["model-io", "verify"]] {
        let more = match arguments[0] {
            "verify" => "--strict",
            _ => "RUN_BUNDLE/one/model_io.json",
        };
        let verdict = bench.run(&[&arguments[..], &[more]].concat());
        assert_eq!(verdict.code, Some(0), "{verdict:?}");
    }
    drop(upstream);
    for arguments in [
        &["replay", "RUN_BUNDLE/one"][..],
        &["replay", "RUN_BUNDLE/one", "--times", "2"],
    ] {
        let again = bench.run(arguments);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(again.stdout.contains("REPRODUCED"), "{again:?}");
    }
    // The library opens no sockets, and says who does.
    let options = runseal::ReplayOptions::new();
    let error = runseal::replay(bench.path("RUN_BUNDLE/one"), &options).unwrap_err();
    assert_eq!(error.code(), "MODELS");
    assert!(error.to_string().contains("`runseal replay`"), "{error}");
}

#[test]
fn recorded_calls_that_somebody_changed_do_not_verify() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = project();
    let upstream = Upstream::start(answer);
    assert_eq!(record(&bench, &upstream, &[]).code, Some(0));
    unlock(&bench.path("RUN_BUNDLE"));
    let bundle = bench.path("RUN_BUNDLE/one");
    let sound = std::fs::read(bundle.join("model_io.json")).unwrap();
    let forge = |edit: &dyn Fn(&mut Value)| -> String {
        let mut value: Value = serde_json::from_slice(&sound).unwrap();
        edit(&mut value);
        std::fs::write(bundle.join("model_io.json"), value.to_string()).unwrap();
        let verdict = bench.run(&["verify", "RUN_BUNDLE/one"]);
        assert_eq!(verdict.code, Some(1), "{verdict:?}");
        verdict.stdout
    };
    let request = forge(&|value| {
        value["interactions"][0]["request"]["body"]["messages"][0]["content"] = json!("what for");
    });
    assert!(
        request.contains("RB14") && request.contains("MI13"),
        "{request}"
    );
    let response = forge(&|value| value["interactions"][0]["response_content"] = json!("{}"));
    assert!(
        response.contains("RB14") && response.contains("MI7"),
        "{response}"
    );
    let reading = forge(&|value| value["interactions"][0]["reading"]["text"] = json!("yes"));
    assert!(
        reading.contains("RB14") && reading.contains("MI16"),
        "{reading}"
    );
    std::fs::remove_file(bundle.join("model_io.json")).unwrap();
    let missing = bench.run(&["verify", "RUN_BUNDLE/one"]);
    assert!(missing.stdout.contains("RB14"), "{missing:?}");
    // Without its recording, or with another one, it is not replayed either.
    assert_eq!(bench.run(&["replay", "RUN_BUNDLE/one"]).code, Some(1));
}

#[test]
fn replayed_agent_that_asks_something_else_diverges_and_the_difference_is_shown() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = folder();
    // What it asks depends on something that a bundle does not hold fast.
    bench.write(
        "agent.py",
        "import json, os, time, urllib.request, urllib.error\n\
         body = json.dumps({'messages': [{'role': 'user', 'content': str(time.time_ns())}]}).encode()\n\
         request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body)\n\
         try:\n    print(urllib.request.urlopen(request).status)\n\
         except urllib.error.HTTPError as error:\n    print(error.read().decode())\n",
    );
    let upstream = Upstream::start(answer);
    let ran = record(&bench, &upstream, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let again = bench.run(&["replay", "RUN_BUNDLE/one"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    for told in ["DIVERGED", "model_io.json", "/body/messages/0/content"] {
        assert!(again.stdout.contains(told), "{told}: {again:?}");
    }
}

#[test]
fn replayed_agent_that_asks_less_often_diverges() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = folder();
    // How often it asks depends on whether somebody answers from a recording.
    bench.write(
        "agent.py",
        "import json, os, time, urllib.request\n\
         for n in range(2 if time.time_ns() < int(open('until').read()) else 1):\n    \
         body = json.dumps({'messages': [{'role': 'user', 'content': str(n)}]}).encode()\n    \
         urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body).read()\n",
    );
    let until = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let until = until.duration_since(std::time::UNIX_EPOCH).unwrap();
    bench.write("until", until.as_nanos().to_string());
    let upstream = Upstream::start(answer);
    let ran = record(&bench, &upstream, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let made = recording(&bench.path("RUN_BUNDLE/one/model_io.json"));
    assert_eq!(made["interactions"].as_array().unwrap().len(), 2);
    std::thread::sleep(std::time::Duration::from_secs(5));
    let again = bench.run(&["replay", "RUN_BUNDLE/one"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    for told in ["DIVERGED", "2 calls", "1 call"] {
        assert!(again.stdout.contains(told), "{told}: {again:?}");
    }
}

/// Prints what the model said, and writes it down.
const REPEATS: &str = "import os, urllib.request\n\
    said = urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/say', b'{}').read().decode()\n\
    print(said)\n\
    open('w.txt', 'w').write(said)\n";

#[test]
fn secret_that_a_model_said_is_in_no_file_of_a_bundle_or_pack() {
    if !can_run() {
        return;
    }
    for (said, kind) in [
        (format!(r#"{{"c":"{OTHER}"}}"#), "openai-key"),
        (r#"{"password":"opaque 8b0e71"}"#.to_owned(), "named-secret"),
    ] {
        let upstream = Upstream::start(move |_| whole("200 OK", JSON, &said));
        let (_folder, bench) = folder();
        bench.write("agent.py", REPEATS);
        let ran = record(&bench, &upstream, &[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let told = format!("holds a secret of kind `{kind}`");
        assert!(ran.stderr.contains(&told), "{ran:?}");
        assert!(ran.stderr.contains("\nhint: nothing was kept"), "{ran:?}");
        assert!(!bench.path("RUN_BUNDLE").exists());
        let proposal = json!({"files": [{"path": "agent.py", "content": REPEATS}],
            "commands": ["python3 agent.py"]});
        let ran = try_proposal(&bench, &upstream, &proposal);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(&told), "{ran:?}");
        assert!(!bench.path("p").exists());
    }
}

#[test]
fn recorded_bundle_holds_bodies_that_are_too_large_for_a_document() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = folder();
    bench.write(
        "agent.py",
        "import os, urllib.request\n\
         body = b'{\"file\":\"' + b'y' * 1200000 + b'\"}'\n\
         request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/large', body)\n\
         print(len(urllib.request.urlopen(request).read()))\n",
    );
    let upstream = Upstream::start(answer);
    let ran = record(&bench, &upstream, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    drop(upstream);
    let bodies = bench.path("RUN_BUNDLE/one/model_io.bodies");
    assert_eq!(files_below(&bodies).len(), 2);
    let verdict = bench.run(&["verify", "RUN_BUNDLE/one", "--strict"]);
    assert_eq!(verdict.code, Some(0), "{verdict:?}");
    let again = bench.run(&["replay", "RUN_BUNDLE/one"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    // One that nobody names has no business there.
    unlock(&bench.path("RUN_BUNDLE"));
    std::fs::write(bodies.join("0".repeat(64)), "x").unwrap();
    let verdict = bench.run(&["verify", "RUN_BUNDLE/one"]);
    assert!(verdict.stdout.contains("RB14"), "{verdict:?}");
}

#[test]
fn replay_forked_at_a_call_asks_the_upstream_from_there_on_and_names_its_parent() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = project();
    let upstream = Upstream::start(answer);
    assert_eq!(record(&bench, &upstream, &[]).code, Some(0));
    drop(upstream);
    let other = Upstream::start(|request| match request.path.as_str() {
        "/v1/messages" => whole("200 OK", JSON, r#"{"other":"answer"}"#),
        _ => whole("500 Internal Server Error", "", "this was recorded"),
    });
    let arguments = [
        "replay",
        "RUN_BUNDLE/one",
        "--fork-at",
        "1",
        "--fork-out",
        "fork.json",
    ];
    let forked = run(
        &bench,
        &[&arguments[..], &["--upstream", &other.url]].concat(),
    );
    // It went another way, which is what a fork is for.
    assert_eq!(forked.code, Some(1), "{forked:?}");
    let told = "FORKED at call 1: 1 answered from the recording, 1 live; fork.json";
    assert!(forked.stdout.contains(told), "{forked:?}");
    let beyond = [
        "replay",
        "RUN_BUNDLE/one",
        "--fork-at",
        "99",
        "--fork-out",
        "x",
    ];
    let beyond = run(&bench, &beyond);
    assert_eq!(beyond.code, Some(1), "{beyond:?}");
    let told = "MODELS: the recorded calls of models cannot be answered: it has 2 calls, so it cannot be forked at call 99\n";
    assert!(beyond.stderr.starts_with(told), "{beyond:?}");
    let again = run(&bench, &arguments);
    assert_eq!(again.code, Some(64), "{again:?}");
    assert!(
        again.stderr.contains("`fork.json` exists already"),
        "{again:?}"
    );
    // If all answers were live nothing was reproduced, though everything is as it was.
    let same = Upstream::start(answer);
    let live = [
        "--fork-at",
        "0",
        "--fork-out",
        "live.json",
        "--format",
        "json",
    ];
    let arguments = ["replay", "RUN_BUNDLE/one", "--upstream", &same.url];
    let forked = run(&bench, &[&arguments[..], &live].concat());
    assert_eq!(forked.code, Some(1), "{forked:?}");
    let told: Value = serde_json::from_str(&forked.stdout).unwrap();
    assert_eq!(told["runs"][0]["divergences"], json!([]), "{told}");
    assert_eq!(
        (&told["verdict"], &told["ok"]),
        (&json!("FORKED"), &json!(false))
    );
    assert_eq!(told["fork"]["live"], 2, "{told}");
    let faults = crate::schema_support::Schemas::load().faults("replay-answer", &told);
    assert_eq!(faults, Vec::<String>::new());
    let made = recording(&bench.path("fork.json"));
    check_recording(&made);
    assert_eq!(made["fork"]["at"], 1);
    assert_eq!(
        made["interactions"][1]["response_content"],
        r#"{"other":"answer"}"#
    );
    let verdict = bench.run(&["verify", "fork.json"]);
    assert_eq!(verdict.code, Some(0), "{verdict:?}");
    let parted = bench.run(&["diff", "RUN_BUNDLE/one/model_io.json", "fork.json"]);
    let told = "the recordings are the same for one call and part here";
    assert!(parted.stdout.contains(told), "{parted:?}");
}

/// Runs an intent with this proposal in the sandbox, models behind the proxy, into the pack `p`.
fn run_proposal(bench: &Bench, upstream: &Upstream, proposal: &Value) {
    let ran = try_proposal(bench, upstream, proposal);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn try_proposal(bench: &Bench, upstream: &Upstream, proposal: &Value) -> Ran {
    let clear = runseal_testkit::project_root().join("examples/intents/clear.json");
    let mut intent: Value = serde_json::from_slice(&std::fs::read(clear).unwrap()).unwrap();
    intent["context"] = json!({ "proposal": proposal });
    bench.write("intent.json", intent.to_string());
    let arguments = [
        "run",
        "intent.json",
        "--mode",
        "execute-sandbox",
        "--policy",
        "dev",
    ];
    let more = ["--proxy", "--upstream", &upstream.url, "--pack", "p"];
    run(bench, &[&arguments[..], &more].concat())
}

#[test]
fn run_with_the_proxy_puts_the_calls_into_the_pack_and_replays_them() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let port = upstream.url.rsplit(':').next().unwrap();
    let proposal = json!({
        "files": [{"path": "agent.py", "content": AGENT}, {"path": "question.txt", "content": "why\n"}],
        "commands": [format!("python3 agent.py {port}")],
        "tests": [{"type": "command_success", "target": "grep -q 'you said why' answer.txt"}]
    });
    run_proposal(&bench, &upstream, &proposal);
    let made = recording(&bench.path("p/model_io.json"));
    check_recording(&made);
    assert_eq!(made["interactions"].as_array().unwrap().len(), 2);
    for arguments in [&["verify", "p"][..], &["pack", "verify", "p", "--strict"]] {
        let verdict = bench.run(arguments);
        assert_eq!(verdict.code, Some(0), "{verdict:?}");
    }
    drop(upstream);
    let again = bench.run(&["replay", "p"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("every call to a model"), "{again:?}");
    // A policy that names models, and another one that does not let anybody ask.
    bench.write("one.toml", "name = \"dev\"\nallowed_models = [\"m-9\"]\n");
    let upstream = Upstream::start(answer);
    let run_under = |policy: &str, more: &[&str]| {
        let arguments = [
            "run",
            "intent.json",
            "--mode",
            "execute-sandbox",
            "--policy",
            policy,
            "--proxy",
            "--upstream",
            &upstream.url,
        ];
        run(&bench, &[&arguments[..], more].concat())
    };
    let refused = run_under("one.toml", &["--pack", "q"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(upstream.seen.lock().unwrap().is_empty());
    let made = recording(&bench.path("q/model_io.json"));
    check_recording(&made);
    assert_eq!(made["interactions"][0]["response"]["end"], "refused");
    assert_eq!(made["interactions"][0]["response"]["status"], 403);
    let verdict = bench.run(&["pack", "verify", "q", "--strict"]);
    assert_eq!(verdict.code, Some(0), "{verdict:?}");
    let refused = run_under("strict", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("PL4"), "{refused:?}");
}

/// Asks for a long answer with a long question.
const LONG: &str = r#"
import os, urllib.request
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/large", b"why " * 400000, {"content-type": "text/plain"})
with urllib.request.urlopen(request) as answer:
    print(len(answer.read()))
"#;

#[test]
fn run_with_the_proxy_holds_long_requests_and_answers_in_the_pack() {
    if !can_run() {
        return;
    }
    let (folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let proposal = json!({
        "files": [{"path": "agent.py", "content": LONG}],
        "commands": ["python3 agent.py"],
        "tests": [{"type": "command_success", "target": "grep -q urllib agent.py"}]
    });
    run_proposal(&bench, &upstream, &proposal);
    drop(upstream);
    let made = recording(&bench.path("p/model_io.json"));
    check_recording(&made);
    let held = made["bodies"].as_object().unwrap();
    let lengths: Vec<usize> = held
        .values()
        .map(|body| body["text"].as_str().unwrap().len())
        .collect();
    assert_eq!(lengths.iter().sum::<usize>(), 1_600_000 + 1_500_000);
    for arguments in [
        &["verify", "p"][..],
        &["pack", "verify", "p", "--strict"],
        &["model-io", "verify", "--strict", "p/model_io.json"],
        &["replay", "p"],
    ] {
        let verdict = bench.run(arguments);
        assert_eq!(verdict.code, Some(0), "{arguments:?}: {verdict:?}");
    }
    // One with more in it does not belong to a pack: what else it names is files again.
    let upstream = Upstream::start(answer);
    let recorded = ["proxy", "replay", "--recording", "p/model_io.json"];
    let fork = [
        "--on-miss",
        "record",
        "--out",
        "more.json",
        "--upstream",
        &upstream.url,
    ];
    let proxy = Service::runseal(folder.path(), &[&recorded[..], &fork].concat());
    crate::proxy_support::post(proxy.address(), "/v1/other", "{}");
    proxy.finish();
    let verdict = bench.run(&["verify", "more.json"]);
    assert_eq!(verdict.code, Some(0), "{verdict:?}");
    assert!(bench.path("more.bodies").is_dir());
    let text = bench
        .read("p/model_io.json")
        .replacen("why why", "why not", 1);
    bench.write("p/model_io.json", &text);
    let verdict = bench.run(&["pack", "verify", "p"]);
    assert_eq!(
        verdict.code,
        Some(0),
        "the document demands nothing of it: {verdict:?}"
    );
    let verdict = bench.run(&["verify", "p"]);
    assert_eq!(verdict.code, Some(1), "{verdict:?}");
    assert!(verdict.stdout.contains("MI15"), "{verdict:?}");
}

#[test]
fn record_with_options_that_do_not_go_together_is_refused() {
    let (_folder, bench) = folder();
    for (arguments, told) in [
        (
            vec!["record", "--redact", "x", "--", "true"],
            "go with --proxy",
        ),
        (
            vec!["record", "--proxy", "--times", "2", "--", "true"],
            "--times and --proxy",
        ),
        (
            vec!["record", "--proxy", "--upstream", "ftp://x", "--", "true"],
            "neither http nor https",
        ),
        (
            vec![
                "replay",
                "x",
                "--fork-at",
                "1",
                "--fork-out",
                "f",
                "--upstream",
                "ftp://x",
            ],
            "neither http nor https",
        ),
        (
            vec!["run", "i.json", "--proxy", "--model-mode", "replay"],
            "--model-mode is left out",
        ),
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(64), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn run_that_is_not_sealed_leaves_what_models_answered() {
    if !can_run() {
        return;
    }
    let (_folder, bench) = folder();
    let temporary = tempfile::tempdir().unwrap();
    bench.write("agent.py", format!("{REPEATS}raise SystemExit(3)\n"));
    let upstream = Upstream::start(|_| whole("200 OK", JSON, "{}"));
    let arguments = ["record", "--proxy", "--upstream", &upstream.url, "--"];
    let command = ["python3", "agent.py"];
    let mut command = bench.command(&[&arguments[..], &command].concat());
    let ran: Ran = command
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("what models answered is kept in "),
        "{ran:?}"
    );
    let kept = files_below(temporary.path());
    assert_eq!(kept.len(), 1, "{kept:?}");
    let made = recording(&kept[0]);
    check_recording(&made);
    assert_eq!(made["interactions"].as_array().unwrap().len(), 1);
}

//! The recording proxy where things go wrong: models that must not be asked, addresses that are taken,
//! upstreams that do not answer, disks that are full.

use crate::proxy_support::{
    Seen, Service, Upstream, ask, folder, json_of, post, record_arguments, recording, whole,
};
use crate::schema_support::{compile, faults};
use runseal_testkit::project_root;
use serde_json::{Value, json};

fn answer(_: &Seen) -> Vec<Vec<u8>> {
    let body = r#"{"model":"small","choices":[{"index":0,"message":{"role":"assistant","content":"yes"}}]}"#;
    whole("200 OK", "content-type: application/json\r\n", body)
}

fn status_of(answer: &[u8]) -> &str {
    std::str::from_utf8(&answer[9..12]).unwrap()
}

#[test]
fn proxy_refuses_models_that_are_not_allowed_and_never_asks_for_them() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let allowed = ["--allow-model", "small", "--allow-model", "tiny"];
    let proxy = Service::record_with(folder.path(), "r.json", &upstream.url, &allowed);
    let chat = "/v1/chat/completions";
    let allowed = post(proxy.address(), chat, r#"{"model":"small","messages":[]}"#);
    assert_eq!(status_of(&allowed), "200");
    // As OpenAI's API says it.
    let refused = post(proxy.address(), chat, r#"{"model":"large","messages":[]}"#);
    assert_eq!(status_of(&refused), "403");
    let error = json_of(&refused)["error"].clone();
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(error["param"], "model");
    assert_eq!(error["code"], "model_not_allowed");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("`large`") && message.contains("small, tiny"),
        "{message}"
    );
    // As Anthropic's does.
    let messages = ask(
        proxy.address(),
        "POST",
        "/v1/messages",
        "Content-Type: application/json\r\nanthropic-version: 2023-06-01\r\n",
        r#"{"model":"large","max_tokens":1,"messages":[]}"#,
    );
    assert_eq!(status_of(&messages), "403");
    let told = json_of(&messages);
    assert_eq!(told["type"], "error");
    assert_eq!(told["error"]["type"], "permission_error");
    // Whoever does not say which, or says it twice, could mean any.
    for (path, body) in [
        ("/v1/batches", r#"{"input_file_id":"f"}"#),
        (chat, r#"{"model":"small","model":"large","messages":[]}"#),
        (chat, r#"{"model":["small"],"messages":[]}"#),
        ("/v1/files", "purpose=batch"),
    ] {
        assert_eq!(
            status_of(&post(proxy.address(), path, body)),
            "403",
            "{path} {body}"
        );
    }
    let listed = ask(proxy.address(), "GET", "/v1/models", "", "");
    assert_eq!(status_of(&listed), "200");
    assert_eq!(
        upstream.seen.lock().unwrap().len(),
        2,
        "the allowed one and the list"
    );
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("was refused"), "{told}");
    let made = recording(&bench.path("r.json"));
    let ends: Vec<&Value> = made["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interaction| &interaction["response"]["end"])
        .collect();
    assert_eq!(json!(ends)[1], "refused");
    assert_eq!(ends.iter().filter(|end| **end == "refused").count(), 6);
    assert_eq!(made["interactions"][1]["response"]["status"], 403);
    assert_eq!(made["interactions"][1]["request"]["body"]["model"], "large");
    let verified = bench.run(&["verify", "r.json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let schema = compile("recording", &bench.run(&["schema", "recording"]).stdout);
    assert_eq!(faults(&schema, &made), Vec::<String>::new());
    // A replay refuses as it was refused.
    let proxy = Service::replay(folder.path(), "r.json");
    let again = post(proxy.address(), chat, r#"{"model":"large","messages":[]}"#);
    assert_eq!(again, refused);
    let (code, _) = proxy.stop();
    assert_eq!(code, Some(0));
}

#[test]
fn proxy_on_a_full_disk_stops_asking_and_what_was_answered_can_be_finished() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(|_: &Seen| {
        let body = json!({"text": "word ".repeat(20_000)}).to_string();
        whole("200 OK", "content-type: application/json\r\n", &body)
    });
    let arguments = record_arguments("r.json", &upstream.url);
    // Room for two answers and a half.
    let proxy = Service::runseal_within(folder.path(), 500, &arguments);
    let ask = || post(proxy.address(), "/v1/chat/completions", r#"{"model":"m"}"#);
    let answers: Vec<_> = (0..4).map(|_| ask()).collect();
    assert!(answers[0].len() > 100_000 && answers[1].len() > 100_000);
    assert!(
        answers[2].len() < answers[0].len(),
        "it was not written, so it is not whole"
    );
    assert_eq!(status_of(&answers[3]), "507");
    assert_eq!(json_of(&answers[3])["error"]["code"], "WRITE");
    assert_eq!(upstream.seen.lock().unwrap().len(), 3);
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("WRITE: "), "{told}");
    assert!(told.contains("runseal proxy finish --recording"), "{told}");
    assert!(!bench.path("r.json").exists());
    let finished = bench.run(&["proxy", "finish", "--recording", "r.json"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let made = recording(&bench.path("r.json"));
    let ends: Vec<&Value> = made["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interaction| &interaction["response"]["end"])
        .collect();
    assert_eq!(ends[..2], [&json!("complete"), &json!("complete")]);
    assert!(!ends[2..].contains(&&json!("complete")), "{ends:?}");
    let verified = bench.run(&["verify", "r.json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn proxy_says_what_is_wrong_with_addresses_and_recordings() {
    let (_folder, bench) = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    bench.write("cut.json", r#"{"adapter_id":"http-proxy","interactions":["#);
    bench.write("empty.json", "");
    for (arguments, code, told) in [
        (
            vec!["record", "--recording", "a.json", "--listen", &address],
            1,
            "Address already in use",
        ),
        (
            vec!["record", "--recording", "a.json", "--listen", "127.0.0.1"],
            1,
            "invalid socket address",
        ),
        (
            vec![
                "record",
                "--recording",
                "a.json",
                "--upstream",
                "localhost:8000",
            ],
            64,
            "it has no scheme",
        ),
        (
            vec![
                "record",
                "--recording",
                "a.json",
                "--upstream",
                "http://bob:Hunter2@localhost:8000",
            ],
            64,
            "a name or password in it would not be sent",
        ),
        (
            vec!["record", "--recording", "a.json", "--allow-model", ""],
            64,
            "--allow-model",
        ),
        (
            vec!["replay", "--recording", "cut.json"],
            1,
            "expected, line 1 column 44",
        ),
        (
            vec!["replay", "--recording", "empty.json"],
            1,
            "the text is empty",
        ),
        (
            vec!["replay", "--recording", "cut.json", "--fork-at", "1"],
            64,
            "--out",
        ),
        (
            vec!["finish", "--recording", "a.json"],
            1,
            "there is no journal",
        ),
        (
            vec!["record", "--recording", "nodir/a.json"],
            1,
            "hint: create its folder first",
        ),
        (
            vec!["record", "--recording", "a.json", "--redact", "nofile"],
            1,
            "hint: `--redact` names a file",
        ),
    ] {
        let ran = bench.run(&[&["proxy"], &arguments[..]].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("\nhint: "), "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("Hunter2"), "{ran:?}");
        assert!(!bench.path("a.json.journal").exists(), "{arguments:?}");
    }
}

#[test]
fn recording_that_declares_a_member_volatile_is_shown_without_it() {
    let (_folder, bench) = folder();
    let honest = project_root().join("vectors/model-io/ok-proxy/input.json");
    let mut forged = recording(&honest);
    assert_eq!(forged["capture"]["volatile"], json!(["/seed"]));
    forged["interactions"][0]["request"]["body"]["seed"] = json!("what was really asked");
    bench.write("forged.json", forged.to_string());
    // What is volatile is not part of what is asked, and what is shown says so.
    let told = "`/seed` of requests to models is not compared";
    let verified = bench.run(&["verify", "forged.json"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.stdout.contains(told), "{verified:?}");
    let inspected = bench.run(&["inspect", "forged.json"]);
    assert!(inspected.stdout.contains(told), "{inspected:?}");
    assert!(!inspected.stdout.contains("really asked"), "{inspected:?}");
    // What is asked cannot be declared so.
    forged["capture"]["volatile"] = json!(["/messages"]);
    bench.write("forged.json", forged.to_string());
    for arguments in [
        &["verify", "forged.json"][..],
        &["proxy", "replay", "--recording", "forged.json"],
    ] {
        let refused = bench.run(arguments);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(said.contains("covers what is asked"), "{refused:?}");
    }
}

#[test]
fn recording_whose_request_has_no_canonical_form_is_not_intact_whatever_hash_it_states() {
    let (_folder, bench) = folder();
    let honest = project_root().join("vectors/model-io/ok-proxy/input.json");
    let mut forged = recording(&honest);
    forged["interactions"][0]["request"]["body"] = json!({"a": "HUGE", "asked": "anything"});
    let nothing = runseal_core::digest::Digest::of(b"");
    forged["interactions"][0]["prompt_hash"] = json!(format!("sha256:{nothing}"));
    // A number beyond the doubles: it is JSON, and no canonical text has it.
    let text = forged.to_string().replace("\"HUGE\"", "1e999");
    bench.write("forged.json", text);
    let verified = bench.run(&["verify", "forged.json"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("MI13"), "{verified:?}");
    let replayed = bench.run(&["proxy", "replay", "--recording", "forged.json"]);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(replayed.stderr.contains("RECORDING"), "{replayed:?}");
}

#[test]
fn server_that_leaves_before_its_client_is_a_gap_of_the_recording() {
    let (_folder, bench) = folder();
    let arguments = ["mcp", "record", "--recording", "r.json", "--"];
    let server = ["sh", "-c", "read line; echo '{}'; exit 3"];
    let mut command = bench.command(&[&arguments[..], &server].concat());
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The client stays: its side of the pipe is open until the recorder has ended.
    let mut client = child.stdin.take().unwrap();
    std::io::Write::write_all(
        &mut client,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n",
    )
    .unwrap();
    assert!(child.wait().unwrap().success());
    drop(client);
    let gaps = recording(&bench.path("r.json"))["capture"]["gaps"].to_string();
    assert!(
        gaps.contains("left before its client did: exit status: 3"),
        "{gaps}"
    );
    assert!(gaps.contains("(x)"), "{gaps}");
}

#[test]
fn proxy_recording_that_is_still_being_made_is_told_apart_from_one_left_behind() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(answer);
    let proxy = Service::record(folder.path(), "m.json", &upstream.url);
    for command in ["finish", "replay"] {
        let ran = bench.run(&["proxy", command, "--recording", "m.json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for told in ["it is still being recorded", "hint: end the recorder first"] {
            assert!(ran.stderr.contains(told), "{ran:?}");
        }
    }
    proxy.finish();
}

#[test]
fn proxy_whose_input_closes_at_once_ends_and_one_that_nobody_holds_goes_on() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let (folder, _bench) = folder();
    let upstream = Upstream::start(answer);
    let start = |recording: &str, input: Stdio| {
        Command::new(env!("CARGO_BIN_EXE_runseal"))
            .args(record_arguments(recording, &upstream.url))
            .current_dir(folder.path())
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut child = start("m.json", Stdio::piped());
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    drop(child.stdin.take());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if std::time::Instant::now() > deadline => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("it never ends");
            }
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    assert_eq!(code, Some(0));
    assert!(folder.path().join("m.json").exists());
    // A pipe without a writer from the first does not say that it is over.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    let mut child = start("n.json", reader.into());
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

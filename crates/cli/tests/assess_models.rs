//! `assess` with a model: both APIs, what is recorded of them, long lists, and how asking goes on after a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use runseal_testkit::cli::Ran;
use serde_json::{Value, json};

use crate::assess_support::{INTENT, KEY, assess, chat, message, ok, run_with, scripted, words};
use crate::proxy_support::{Upstream, folder, recording};

#[test]
fn assess_with_openai_records_without_the_key_and_replays_the_same_bytes() {
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let (server, bodies) = scripted(vec![ok(&chat(&words(), "stop"))]);
    let ran = assess(
        &bench,
        &server,
        &["--model-io", "io.json", "-o", "assessed.json"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("“scans are free”, which the intent does not contain; left out"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("left out, since a rule"), "{ran:?}");
    assert!(
        ran.stderr
            .contains("1 more to ask, on the word of openai gpt-5"),
        "{ran:?}"
    );
    let assessed: Value = serde_json::from_str(&bench.read("assessed.json")).unwrap();
    let findings = assessed["context"]["findings"].as_array().unwrap();
    assert_eq!(
        (findings.len(), &findings[0]["message"]),
        (1, &json!("For how long are scans kept?"))
    );
    let asked = run_with(&bench, &["transform", "assessed.json"], &[]);
    assert!(
        asked.stderr.contains("For how long are scans kept?"),
        "{asked:?}"
    );
    // The request: the real key went to the server, which is asked below its address.
    let head = server.seen.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    assert!(
        head.contains(&format!("authorization: Bearer {KEY}\r\n")),
        "{head}"
    );
    let body = bodies.lock().unwrap()[0].clone();
    assert_eq!(body["model"], "gpt-5");
    assert!(
        body["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("pair by pair")
    );
    let given: Value =
        serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(
        given["constraints"][1],
        json!({"n": 2, "text": "Every reader can open any scan for ten years"})
    );
    assert_eq!(body.as_object().unwrap().len(), 2);
    // The recording: it verifies, has no key, and answers in place of the server.
    let verified = run_with(&bench, &["model-io", "verify", "io.json", "--strict"], &[]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(!bench.read("io.json").contains(KEY));
    drop(server);
    let replay = [
        "assess",
        "intent.json",
        "--replay",
        "io.json",
        "-o",
        "again.json",
    ];
    let again = run_with(&bench, &replay, &[]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(bench.read("again.json"), bench.read("assessed.json"));
    bench.write("intent.json", INTENT.replace("a month", "a week"));
    let miss = run_with(&bench, &replay[..4], &[]);
    assert_eq!((miss.code, miss.stdout.as_str()), (Some(1), ""), "{miss:?}");
    assert!(miss.stderr.starts_with("MODEL_IO_MISS: "), "{miss:?}");
    // No recording is overwritten, and nobody is asked before that is known.
    let (server, bodies) = scripted(vec![ok(&chat(&words(), "stop"))]);
    let exists = assess(&bench, &server, &["--model-io", "io.json"]);
    assert_eq!(exists.code, Some(2), "{exists:?}");
    assert!(exists.stderr.starts_with("EXISTS: "), "{exists:?}");
    assert_eq!(bodies.lock().unwrap().len(), 0);
}

#[test]
fn assess_with_anthropic_speaks_its_messages() {
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let fenced = format!("```json\n{}\n```", words());
    let (server, bodies) = scripted(vec![ok(&message(&fenced, "end_turn"))]);
    let line = [
        "assess",
        "intent.json",
        "--provider",
        "anthropic",
        "--model",
        "claude-x",
        "--model-io",
        "io.json",
    ];
    let variables = [
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", server.url.as_str()),
        ("OPENAI_API_KEY", "another-key-0000"),
    ];
    let ran = run_with(&bench, &line, &variables);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("For how long are scans kept?"),
        "{ran:?}"
    );
    let head = server.seen.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST /v1/messages "), "{head}");
    assert!(
        head.contains(&format!("x-api-key: {KEY}\r\n"))
            && head.contains("anthropic-version: 2023-06-01"),
        "{head}"
    );
    assert!(!head.contains("another-key"), "{head}");
    let body = bodies.lock().unwrap()[0].clone();
    assert_eq!(
        (&body["model"], &body["max_tokens"]),
        (&json!("claude-x"), &json!(8192))
    );
    assert!(body["system"].as_str().unwrap().contains("pair by pair"));
    let again = run_with(
        &bench,
        &["assess", "intent.json", "--replay", "io.json"],
        &[],
    );
    assert_eq!(
        (again.code, &again.stdout),
        (Some(0), &ran.stdout),
        "{again:?}"
    );
}

#[test]
fn assess_without_a_place_for_the_recording_keeps_it_and_says_where() {
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let (server, _) = scripted(vec![ok(&chat(&words(), "stop"))]);
    let ran = assess(&bench, &server, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, place) = ran.stderr.split_once("1 interaction recorded in ").unwrap();
    let place = place.lines().next().unwrap().split(';').next().unwrap();
    assert_eq!(
        recording(place.as_ref())["interactions"][0]["reading"]["model"],
        "gpt-5-2025-08-07"
    );
}

/// A list whose constraints have no word in common.
fn long_intent(count: usize) -> String {
    let letters = |at: usize| -> String {
        format!("{at:03}")
            .bytes()
            .map(|digit| char::from(digit - b'0' + b'a'))
            .collect()
    };
    let mut constraints: Vec<String> = (0..count)
        .map(|at| format!("Q{0}x W{0}x", letters(at)))
        .collect();
    constraints[1] = "The vault is opened by the treasurer alone".to_owned();
    constraints[count - 2] = "Each member may open vaults".to_owned();
    json!({"goal": "Run it", "constraints": constraints, "context": {"profile": "none"}})
        .to_string()
}

#[test]
fn assess_of_a_long_list_asks_in_parts_and_goes_on_where_it_failed() {
    let (_folder, bench) = folder();
    bench.write("intent.json", long_intent(130));
    let pair = json!({"findings": [{"kind": "contradiction", "pair": [2, 129], "message": "Who opens the vault?",
        "quotes": ["The vault is opened by the treasurer alone", "Each member may open vaults"]}]});
    let (none, found) = (
        ok(&chat("{\"findings\":[]}", "stop")),
        ok(&chat(&pair.to_string(), "stop")),
    );
    let prose = ok(&chat("Let me think.", "stop"));
    // 130 constraints are four blocks, three pairs of neighbours, and one more question about what shares a rare word.
    let (server, bodies) = scripted(vec![none.clone(), prose, none.clone()]);
    let failed = assess(
        &bench,
        &server,
        &["--model-io", "io.json", "-o", "out.json"],
    );
    assert_eq!(
        (failed.code, bodies.lock().unwrap().len()),
        (Some(1), 2),
        "{failed:?}"
    );
    assert!(failed.stderr.contains("MODEL_ANSWER: "), "{failed:?}");
    assert!(!bench.path("out.json").exists());
    // The first answer is not asked for again, the one that could not be read is.
    let (server, bodies) = scripted(vec![none.clone(), none, found]);
    let more = ["--replay", "io.json", "-o", "out.json"];
    let ran = assess(&bench, &server, &more);
    assert_eq!(
        (ran.code, bodies.lock().unwrap().len()),
        (Some(0), 3),
        "{ran:?}"
    );
    assert!(bench.read("out.json").contains("Who opens the vault?"));
    let shown = bodies.lock().unwrap()[2]["messages"][1]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["constraints"].as_array().unwrap().len(), 2, "{shown}");
    assert!(
        ran.stderr
            .contains("pairs of constraints were not looked at: they are more than 40 apart"),
        "{ran:?}"
    );
    let again = run_with(
        &bench,
        &["assess", "intent.json", "--replay", "io.json"],
        &[],
    );
    assert_eq!(
        (again.code, again.stdout),
        (Some(0), bench.read("out.json")),
        "{}",
        again.stderr
    );
    // Too few questions are an error before any is asked.
    let (server, bodies) = scripted(vec![ok("{}")]);
    let few = assess(&bench, &server, &["--requests", "2"]);
    assert_eq!(
        (few.code, bodies.lock().unwrap().len()),
        (Some(64), 0),
        "{few:?}"
    );
    assert!(
        few.stderr
            .contains("the list takes 3 questions, and --requests allows 2"),
        "{few:?}"
    );
}

#[test]
fn assess_that_is_interrupted_keeps_its_recording() {
    let (_folder, bench) = folder();
    bench.write("intent.json", long_intent(130));
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = Upstream::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => ok(&chat("{\"findings\":[]}", "stop")),
        _ => {
            std::thread::sleep(Duration::from_secs(30));
            Vec::new()
        }
    });
    let url = format!("{}/v1", server.url);
    let mut command = bench.command(&[
        "assess",
        "intent.json",
        "--provider",
        "openai",
        "--base-url",
        &url,
        "--model-io",
        "io.json",
    ]);
    let child = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while asked.load(Ordering::SeqCst) < 2 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(
        !recording(&bench.path("io.json"))["interactions"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

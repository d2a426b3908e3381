//! `assess` and `lint` with a model: a local server plays both APIs with answers in the form in which they were recorded,
//! and fails in every way in which a server can.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runseal_testkit::cli::{Bench, Ran};
use serde_json::{Value, json};

use crate::proxy_support::{Answer, Seen, Upstream, folder, recording, whole};

const KEY: &str = "test-key-4f1c9b7e02d85a63";
const INTENT: &str = r#"{"goal":"Run the archive","constraints":["Scans are thrown away after a month","Every reader can open any scan for ten years","Rates are cached for one hour","Rates are never cached"],"context":{"profile":"none"}}"#;

/// What a model says about [`INTENT`]: a pair that rules cannot find, one that they find too, and one that it made up.
fn words() -> String {
    json!({"findings": [
        {"kind": "contradiction", "pair": [1, 2], "message": "For how long are scans kept?",
         "quotes": ["thrown away after a month", "Every reader can open any scan for ten years"]},
        {"kind": "contradiction", "pair": [3, 4], "message": "Are rates cached?",
         "quotes": ["Rates are cached for one hour", "Rates are never cached"]},
        {"kind": "contradiction", "pair": [1, 4], "message": "Which?", "quotes": ["scans are free", "Rates"]},
    ]})
    .to_string()
}

fn chat(text: &str, reason: &str) -> String {
    json!({
        "id": "chatcmpl-DxQ2bJm6GJ1yQfXk1vYI3mS0Zr7wq", "object": "chat.completion", "created": 1794821412,
        "model": "gpt-5-2025-08-07", "service_tier": "default", "system_fingerprint": null,
        "choices": [{"index": 0, "finish_reason": reason, "logprobs": null,
            "message": {"role": "assistant", "content": text, "refusal": null, "annotations": []}}],
        "usage": {"prompt_tokens": 912, "completion_tokens": 148, "total_tokens": 1060}
    })
    .to_string()
}

fn message(text: &str, reason: &str) -> String {
    json!({
        "id": "msg_01JmYc3Vb5d2Wf5p7mPj9kTq", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": text}], "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 1004, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 151}
    })
    .to_string()
}

const JSON: &str = "content-type: application/json\r\n";

fn ok(body: &str) -> Answer {
    whole("200 OK", JSON, body)
}

/// A server that gives one answer after the other, the last one again and again; and the requests that it got.
fn scripted(answers: Vec<Answer>) -> (Upstream, Arc<Mutex<Vec<Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let (kept, next) = (Arc::clone(&bodies), AtomicUsize::new(0));
    let server = Upstream::start_with(Duration::ZERO, move |seen: &Seen| {
        kept.lock()
            .unwrap()
            .push(serde_json::from_slice(&seen.body).unwrap());
        let at = next.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        answers[at].clone()
    });
    (server, bodies)
}

fn run_with(bench: &Bench, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = bench.command(arguments);
    command
        .env("TMPDIR", bench.path("tmp"))
        .envs(variables.iter().copied());
    std::fs::create_dir_all(bench.path("tmp")).unwrap();
    command
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap()
        .into()
}

/// `assess` with OpenAI's API at `server`.
fn assess(bench: &Bench, server: &Upstream, more: &[&str]) -> Ran {
    let url = format!("{}/v1", server.url);
    let fixed = [
        "assess",
        "intent.json",
        "--provider",
        "openai",
        "--base-url",
        &url,
    ];
    run_with(bench, &[&fixed, more].concat(), &[("OPENAI_API_KEY", KEY)])
}

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

#[test]
fn assess_that_fails_says_why_and_keeps_what_was_answered() {
    let error = |kind: &str, code: Value, text: &str| {
        json!({"error": {"message": text, "type": kind, "param": null, "code": code}}).to_string()
    };
    let long = "z".repeat(5000);
    let quota = error(
        "insufficient_quota",
        json!("insufficient_quota"),
        "You exceeded your current quota",
    );
    let cases: Vec<(&str, Answer, &str)> = vec![
        (
            "refused key",
            whole(
                "401 Unauthorized",
                JSON,
                &error(
                    "invalid_request_error",
                    json!("invalid_api_key"),
                    "Incorrect API key provided",
                ),
            ),
            "MODEL_KEY: openai does not accept the key (status 401): Incorrect API key provided",
        ),
        (
            "unknown model",
            whole(
                "404 Not Found",
                JSON,
                &error(
                    "invalid_request_error",
                    json!("model_not_found"),
                    "The model does not exist",
                ),
            ),
            "MODEL_NOT_FOUND: there is no such address or model (status 404): The model does not exist",
        ),
        (
            "refused request",
            whole(
                "400 Bad Request",
                JSON,
                &error("invalid_request_error", Value::Null, "too many tokens"),
            ),
            "MODEL_REFUSED: the server refused the request (status 400): too many tokens",
        ),
        (
            "no quota",
            whole("429 Too Many Requests", JSON, &quota),
            "MODEL_REFUSED: the server refused the request (status 429): You exceeded",
        ),
        (
            "longer wait than is of use",
            whole(
                "429 Too Many Requests",
                &format!("retry-after: 3600\r\n{JSON}"),
                "{}",
            ),
            "MODEL_BUSY: the server cannot answer now (status 429, asked 1 times)",
        ),
        (
            "truncated",
            ok(&chat(&words()[..100], "length")),
            "MODEL_TRUNCATED: ",
        ),
        (
            "prose",
            ok(&chat("I see no contradictions here.", "stop")),
            "MODEL_ANSWER: the model's answer cannot be read: it is not JSON",
        ),
        (
            "another form",
            ok(&chat("{\"answer\":[]}", "stop")),
            "MODEL_ANSWER: the model's answer cannot be read: the answer has no member `findings`",
        ),
        (
            "no text",
            ok(&chat("", "content_filter")),
            "MODEL_ANSWER: the model's answer cannot be read: it has no text, and the model stopped because of `content_filter`",
        ),
        (
            "no API",
            whole(
                "200 OK",
                "content-type: text/html\r\n",
                "<html>welcome</html>",
            ),
            "MODEL_ANSWER: the model's answer cannot be read: it is not an answer of this API",
        ),
        (
            "everything made up",
            ok(&chat(
                r#"{"findings":[{"kind":"gap","quotes":["nobody"],"message":"m"}]}"#,
                "stop",
            )),
            "ASSESSOR_QUOTE: ",
        ),
        (
            "a long error",
            whole("418 Teapot", JSON, &error("x", Value::Null, &long)),
            "MODEL_REFUSED: the server refused the request (status 418): zzz",
        ),
    ];
    for (name, answer, message) in cases {
        let (_folder, bench) = folder();
        bench.write("intent.json", INTENT);
        let (server, bodies) = scripted(vec![answer]);
        let ran = assess(
            &bench,
            &server,
            &["--model-io", "io.json", "-o", "out.json"],
        );
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{name}: {ran:?}"
        );
        assert!(ran.stderr.contains(message), "{name}: {ran:?}");
        assert!(ran.stderr.len() < 2000, "{name}: {}", ran.stderr.len());
        assert!(!bench.path("out.json").exists(), "{name}");
        assert_eq!(bodies.lock().unwrap().len(), 1, "{name}");
        // What arrived is in the recording, which says the same again.
        assert_eq!(
            recording(&bench.path("io.json"))["interactions"]
                .as_array()
                .unwrap()
                .len(),
            1,
            "{name}"
        );
        let verified = run_with(&bench, &["model-io", "verify", "io.json", "--strict"], &[]);
        assert_eq!(verified.code, Some(0), "{name}: {verified:?}");
        let again = run_with(
            &bench,
            &["assess", "intent.json", "--replay", "io.json"],
            &[],
        );
        assert_eq!(again.code, Some(1), "{name}: {again:?}");
        let code = message.split(':').next().unwrap();
        assert!(again.stderr.contains(code), "{name}: {again:?}");
    }
}

#[test]
fn assess_asks_a_busy_server_again_a_few_times() {
    let busy = |status: &str| {
        whole(
            status,
            &format!("retry-after: 0\r\n{JSON}"),
            r#"{"error":{"message":"Slow down"}}"#,
        )
    };
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let answers = vec![
        busy("429 Too Many Requests"),
        busy("529 Overloaded"),
        ok(&chat(&words(), "stop")),
    ];
    let (server, bodies) = scripted(answers);
    let ran = assess(&bench, &server, &["--model-io", "io.json"]);
    assert_eq!(
        (ran.code, bodies.lock().unwrap().len()),
        (Some(0), 3),
        "{ran:?}"
    );
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
    let (server, bodies) = scripted(vec![busy("503 Service Unavailable")]);
    let ran = assess(&bench, &server, &[]);
    assert_eq!(
        (ran.code, bodies.lock().unwrap().len()),
        (Some(1), 4),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains(
            "MODEL_BUSY: the server cannot answer now (status 503, asked 4 times): Slow down"
        ),
        "{ran:?}"
    );
}

#[test]
fn assess_needs_a_key_a_server_and_an_answer_in_time() {
    let (_folder, bench) = folder();
    bench.write("intent.json", INTENT);
    let line = ["assess", "intent.json", "--provider", "openai"];
    let ran = run_with(&bench, &line, &[]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(
        ran.stderr
            .starts_with("NO_KEY: openai needs a key, and OPENAI_API_KEY is not set"),
        "{ran:?}"
    );
    let ran = run_with(
        &bench,
        &line,
        &[
            ("OPENAI_API_KEY", "a\u{1}b"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.starts_with("MODEL_KEY: "), "{ran:?}");
    // Nobody listens there any more. A server of one's own needs no key.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}/v1");
    let ran = run_with(&bench, &[&line[..], &["--base-url", &url]].concat(), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("MODEL_UNREACHABLE: the upstream cannot be reached"),
        "{ran:?}"
    );
    for bad in ["ftp://x", "nonsense", "http://a@b/v1"] {
        let ran = run_with(
            &bench,
            &[&line[..], &["--base-url", bad]].concat(),
            &[("OPENAI_API_KEY", KEY)],
        );
        assert_eq!(ran.code, Some(64), "{bad}: {ran:?}");
    }
    let slow = Upstream::start(|_| {
        std::thread::sleep(Duration::from_secs(20));
        Vec::new()
    });
    let begun = Instant::now();
    let ran = assess(&bench, &slow, &["--timeout", "1", "--model-io", "io.json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains("MODEL_TIMEOUT: the model did not answer within 1 seconds"),
        "{ran:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(bench.path("io.json").exists());
    for wrong in [
        vec!["--with", "true"],
        vec!["--model-io", "-"],
        vec!["--requests", "0"],
    ] {
        let ran = run_with(
            &bench,
            &[&line[..], &wrong].concat(),
            &[("OPENAI_API_KEY", KEY)],
        );
        assert_eq!(ran.code, Some(64), "{wrong:?} {ran:?}");
    }
    let ran = run_with(
        &bench,
        &["assess", "intent.json", "--model", "m", "--with", "true"],
        &[],
    );
    assert_eq!(ran.code, Some(64), "{ran:?}");
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

#[test]
fn lint_with_a_model_says_what_is_a_rules_word_and_what_a_models() {
    let (_folder, bench) = folder();
    bench.write("needs.md", "# Run the archive\n\n- Scans are thrown away after a month\n- Every reader can open any scan for ten years\n- Rates are cached for one hour\n- Rates are never cached\n");
    let (server, _) = scripted(vec![ok(&chat(&words(), "stop"))]);
    let url = format!("{}/v1", server.url);
    let line = [
        "lint",
        "needs.md",
        "--provider",
        "openai",
        "--base-url",
        &url,
        "--model-io",
        "io.json",
    ];
    let ran = run_with(&bench, &line, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in [
        "needs.md: line 3: ask KA01 (an assessor's word)\n",
        "needs.md: line 5: ask KC01\n",
        "For how long are scans kept?",
        "openai gpt-5 found 1 more",
        "by rules, 1 on an assessor's word)",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let replay = ["lint", "needs.md", "--replay", "io.json", "--format"];
    let ran = run_with(&bench, &[&replay[..], &["json"]].concat(), &[]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let by = |rule: &str| {
        let findings = answer["findings"].as_array().unwrap();
        findings.iter().find(|it| it["rule_id"] == rule).unwrap()["by"].clone()
    };
    assert_eq!((by("KA01"), by("KC01")), (json!("assessor"), json!("rule")));
    let asked = &answer["assessed"][0];
    assert_eq!(
        (&asked["by"], &asked["findings"], &asked["repeated"]),
        (&json!("openai gpt-5"), &json!(1), &json!(1))
    );
    assert_eq!(
        (
            &asked["pairs"],
            &asked["pairs_not_seen"],
            &asked["answered"]
        ),
        (&json!(6), &json!(0), &json!(true))
    );
    let ran = run_with(&bench, &[&replay[..], &["sarif"]].concat(), &[]);
    let sarif: Value = serde_json::from_str(&ran.stdout).unwrap();
    let run = &sarif["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let by = if result["ruleId"] == "KA01" {
            "assessor"
        } else {
            "rule"
        };
        assert_eq!(result["properties"]["by"], by);
    }
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn lint_whose_assessor_fails_shows_the_rules_and_is_no_verdict() {
    let (_folder, bench) = folder();
    let text = "Build the archive of the club\n\nThe editors of the club upload Markdown files to the server and see the pages at once.\n\nA file that cannot be read is listed with the reason.\n";
    bench.write("clean.txt", text);
    assert_eq!(run_with(&bench, &["lint", "clean.txt"], &[]).code, Some(0));
    let line = ["lint", "clean.txt", "--with", "exit 3", "--format"];
    let ran = run_with(&bench, &[&line[..], &["human"]].concat(), &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("ASSESSOR: the assessor failed"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("GAVE NO ANSWER that could be used; only the rules have looked"),
        "{ran:?}"
    );
    let ran = run_with(&bench, &[&line[..], &["json"]].concat(), &[]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&answer["ok"], &answer["assessed"][0]["error"]["code"]),
        (&json!(false), &json!("ASSESSOR"))
    );
    let ran = run_with(&bench, &[&line[..], &["sarif"]].concat(), &[]);
    let sarif: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        sarif["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
    // A command that answers is heard, for every list, and what it said can be played back.
    bench.write(
        "other.md",
        "# Run it\n\n- Rates are fresh\n- Rates are a day old\n",
    );
    bench.write("said.json", r#"[{"kind":"contradiction","quotes":["Rates are fresh","Rates are a day old"],"message":"Which?"}]"#);
    let command = "if grep -q 'day old'; then cat said.json; else echo '[]'; fi";
    let line = [
        "lint",
        "clean.txt",
        "other.md",
        "--with",
        command,
        "--model-io",
        "io.json",
    ];
    let ran = run_with(&bench, &line, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout
            .contains("other.md: line 3: ask KA01 (an assessor's word)"),
        "{ran:?}"
    );
    let again = run_with(
        &bench,
        &["lint", "clean.txt", "other.md", "--replay", "io.json"],
        &[],
    );
    assert!(
        again.stdout.contains("other.md: line 3: ask KA01"),
        "{again:?}"
    );
    for wrong in [
        &["--model-io", "x.json"][..],
        &["--with", "true", "--model-io", "-"],
    ] {
        let ran = run_with(&bench, &[&["lint", "clean.txt"], wrong].concat(), &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(64), ""), "{ran:?}");
    }
}

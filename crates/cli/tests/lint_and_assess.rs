//! `lint` on intents, Markdown and text; `assess` with assessors that answer, fail, hang and lie, and with a real server.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use runseal_core::canon::{Node, ReadOptions, parse_document};
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use runseal_testkit::skip::need_program;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

const MARKDOWN: &str = "# Build the booking page of the boat house\n\n\
    The members of the club use it in the browser; a failed booking shows the reason.\n\n\
    - Boats have a name, seats and a state, kept in a table\n\
    - Phone of the boat warden: TBD\n\
    - Data is stored in SQLite or Redis\n\
    - Exchange rates are cached for one hour\n\
    - Exchange rates are never cached\n\
    - Prints name, phone etc. on the page\n";

fn text(node: Node<'_>, name: &str) -> String {
    node.get(name)
        .and_then(|member| member.as_str().map(|text| text.into_owned()))
        .unwrap_or_default()
}

#[test]
fn lint_markdown_names_rule_line_quote_reason_and_advice() {
    let (_folder, bench) = bench();
    bench.write("needs.md", MARKDOWN);
    let ran = bench.run(&["lint", "needs.md"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran:?}");
    for part in [
        "needs.md: line 6: ask KP01",
        "needs.md: line 7: ask KH04",
        "needs.md: line 8: ask KC01",
        "needs.md: line 10: note KP10",
        "“Phone of the boat warden: TBD” leaves “TBD” open",
        "  why: ",
        "  do:  ",
        "3 to ask, 2 to note, 0 accepted",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("TODO list"), "{ran:?}");
    let explained = bench.run(&["lint", "needs.md", "--explain"]);
    assert!(
        explained
            .stdout
            .contains("KC01 One constraint denies what another one says"),
        "{explained:?}"
    );
}

#[test]
fn lint_json_has_the_promised_members() {
    let (_folder, bench) = bench();
    bench.write(
        "intent.json",
        r#"{"goal":"Build it","constraints":["The last one is fine","Ask [insert name] first"],"context":{"profile":"none",
            "accepted":[{"rule":"KP01","quote":"gone","reason":"was there once"}]}}"#,
    );
    let ran = bench.run(&["lint", "intent.json", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = parse_document(ran.stdout.as_bytes(), &ReadOptions::default()).unwrap();
    let root = document.root();
    assert_eq!(root.get("ok").unwrap().as_bool(), Some(false));
    let findings: Vec<_> = root.get("findings").unwrap().items().collect();
    let [finding] = findings.as_slice() else {
        panic!("{ran:?}")
    };
    let members =
        ["rule_id", "kind", "severity", "quote", "place"].map(|name| text(*finding, name));
    assert_eq!(
        members,
        [
            "KP04",
            "placeholder",
            "ask",
            "[insert name]",
            "constraints[1]"
        ]
    );
    assert!(text(*finding, "message").contains("[insert name]"));
    assert_eq!(root.get("unused_waivers").unwrap().items().count(), 1);
    let human = bench.run(&["lint", "intent.json"]);
    assert!(
        human
            .stdout
            .contains("the waiver of KP01 for “gone” fits nothing"),
        "{human:?}"
    );
}

#[test]
fn lint_sarif_has_rules_results_and_lines() {
    let (_folder, bench) = bench();
    bench.write("my needs.md", MARKDOWN);
    let ran = bench.run(&["lint", "my needs.md", "--format", "sarif"]);
    let document = parse_document(ran.stdout.as_bytes(), &ReadOptions::default()).unwrap();
    let root = document.root();
    assert_eq!(text(root, "version"), "2.1.0");
    let run = root.get("runs").unwrap().items().next().unwrap();
    let driver = run.get("tool").unwrap().get("driver").unwrap();
    let rules: Vec<String> = driver
        .get("rules")
        .unwrap()
        .items()
        .map(|rule| text(rule, "id"))
        .collect();
    assert_eq!(rules, ["KC01", "KG02", "KH04", "KP01", "KP10"]);
    let results: Vec<_> = run.get("results").unwrap().items().collect();
    assert_eq!(results.len(), 5);
    for result in results {
        let index = result
            .get("ruleIndex")
            .unwrap()
            .as_number()
            .unwrap()
            .to_exact_i64()
            .unwrap() as usize;
        assert_eq!(rules[index], text(result, "ruleId"));
        let level = if ["KG02", "KP10"].contains(&rules[index].as_str()) {
            "note"
        } else {
            "error"
        };
        assert_eq!(text(result, "level"), level);
        let place = result
            .get("locations")
            .unwrap()
            .items()
            .next()
            .unwrap()
            .get("physicalLocation")
            .unwrap();
        assert_eq!(
            text(place.get("artifactLocation").unwrap(), "uri"),
            "my%20needs.md"
        );
        assert!(place.get("region").unwrap().get("startLine").is_some());
    }
}

#[test]
fn intent_that_is_too_large_is_refused_before_it_is_measured() {
    let (_folder, bench) = bench();
    let constraint = "The service stores every reading within 30 seconds. ".repeat(200_000);
    bench.write(
        "large.json",
        format!(r#"{{"goal":"Store readings","constraints":["{constraint}"]}}"#),
    );
    bench.write("large.md", &constraint);
    for arguments in [
        ["lint", "large.json"],
        ["lint", "large.md"],
        ["transform", "large.json"],
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?} {}", ran.stderr);
        assert!(ran.stderr.contains("TOO_LARGE"), "{}", ran.stderr);
        assert!(ran.stderr.contains("8388608"), "{}", ran.stderr);
    }
}

#[test]
fn lint_exits_say_whether_something_is_to_ask_or_unreadable() {
    let (_folder, bench) = bench();
    bench.write("good.txt", "Build the archive of the club\n\nThe editors of the club upload Markdown files to the server and see the pages at once.\n\nA file that cannot be read is listed with the reason.\n");
    bench.write("open.md", MARKDOWN);
    bench.write("empty.md", " \n");
    bench.write("bad.json", "{\"goal\":");
    bench.write("refused.json", "{\"goal\":\" \"}");
    bench.write("binary.md", [0xff, 0xfe, 0x00]);
    let code = |paths: &[&str]| bench.run(&[&["lint"], paths].concat()).code;
    assert_eq!(code(&["good.txt"]), Some(0));
    assert_eq!(code(&["good.txt", "open.md"]), Some(1));
    for bad in [
        "empty.md",
        "bad.json",
        "refused.json",
        "binary.md",
        "missing.md",
    ] {
        assert_eq!(code(&["good.txt", bad, "open.md"]), Some(2), "{bad}");
    }
    let ran = bench.run_with(&["lint", "-"], MARKDOWN);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // Nothing that could be taken for a verdict is said of what was not read.
    assert_eq!(bench.run(&["lint", "missing.md"]).stdout, "");
    let some = bench.run(&["lint", "good.txt", "missing.md"]).stdout;
    assert!(some.ends_with(" accepted; 1 NOT READ\n"), "{some}");
}

const INTENT: &str = r#"{"goal":"Build it","constraints":["Rates are fresh","Rates are a day old"],"context":{"profile":"none"}}"#;

fn finding(quotes: &str) -> String {
    format!(
        r#"{{"findings":[{{"kind":"contradiction","quotes":{quotes},"message":"Which one?"}}]}}"#
    )
}

#[test]
fn assess_findings_become_questions_and_replay_is_the_same_byte_for_byte() {
    let (_folder, bench) = bench();
    bench.write("intent.json", INTENT);
    bench.write(
        "answer.json",
        finding(r#"["Rates are fresh","Rates are a day old"]"#),
    );
    let ran = bench.run(&[
        "assess",
        "intent.json",
        "--with",
        "cat > seen.json; cat answer.json",
        "-o",
        "assessed.json",
        "--model-io",
        "io.json",
    ]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(
        bench
            .read("seen.json")
            .starts_with("{\"constraints\":[\"Rates are a day old\"")
    );
    assert_eq!(
        bench
            .run(&["model-io", "verify", "io.json", "--strict"])
            .code,
        Some(0)
    );
    let asked = bench.run(&["transform", "assessed.json"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(
        asked
            .stderr
            .contains("“Rates are fresh” and “Rates are a day old”: Which one?"),
        "{asked:?}"
    );
    assert_eq!(
        asked.stdout,
        bench.run(&["transform", "assessed.json"]).stdout
    );
    // Standard output has room for one of the two.
    let command = "cat > seen.json; cat answer.json";
    let assess = ["assess", "intent.json", "--with", command];
    let both = bench.run(&[&assess[..], &["--model-io", "-"]].concat());
    assert_eq!(
        (both.code, both.stdout.as_str()),
        (Some(64), ""),
        "{both:?}"
    );
    let exchange = bench.run(&[&assess[..], &["--model-io", "-", "-o", "printed.json"]].concat());
    assert_eq!(exchange.code, Some(0), "{exchange:?}");
    assert_eq!(exchange.stdout, bench.read("io.json"));
    assert_eq!(bench.read("printed.json"), bench.read("assessed.json"));
    let again = bench.run(&[
        "assess",
        "intent.json",
        "--replay",
        "io.json",
        "-o",
        "again.json",
    ]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(bench.read("again.json"), bench.read("assessed.json"));
    bench.write("other.json", INTENT.replace("fresh", "new"));
    let miss = bench.run(&[
        "assess",
        "other.json",
        "--replay",
        "io.json",
        "-o",
        "miss.json",
    ]);
    assert_eq!(miss.code, Some(1), "{miss:?}");
    assert!(miss.stderr.starts_with("MODEL_IO_MISS: "), "{miss:?}");
    assert!(!bench.path("miss.json").exists());
}

#[test]
fn assess_that_fails_hangs_lies_or_babbles_changes_nothing() {
    let (_folder, bench) = bench();
    bench.write("intent.json", INTENT);
    bench.write(
        "lie.json",
        finding(r#"["Rates are fresh","Rates are free"]"#),
    );
    bench.write(
        "bad.json",
        r#"{"findings":[{"kind":"bug","quotes":["Rates"],"message":"m"}]}"#,
    );
    for (command, message) in [
        (
            "echo broken >&2; exit 3",
            "ASSESSOR: the assessor failed (exit status: 3): broken",
        ),
        ("no-such-command-here", "ASSESSOR: the assessor failed"),
        (
            "sleep 60",
            "ASSESSOR: the assessor did not answer within 1 seconds",
        ),
        (
            "sleep 60 & echo '[]'",
            "ASSESSOR: the assessor did not answer within 1 seconds",
        ),
        ("echo hello", "ASSESSOR_ANSWER: the answer is not JSON"),
        ("true", "ASSESSOR_ANSWER: the answer is not JSON"),
        (
            "printf '\\377'",
            "ASSESSOR: the assessor's answer is not UTF-8",
        ),
        (
            "echo '{}'",
            "ASSESSOR_ANSWER: the answer has no member `findings`",
        ),
        ("echo 7", "ASSESSOR_ANSWER: the answer must be a list"),
        ("cat bad.json", "ASSESSOR_ANSWER: findings[0].kind is `bug`"),
        ("cat lie.json", "ASSESSOR_QUOTE: "),
    ] {
        let ran = bench.run(&[
            "assess",
            "intent.json",
            "--with",
            command,
            "--timeout",
            "1",
            "-o",
            "out.json",
            "--model-io",
            "io.json",
        ]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(1), ""),
            "{command}: {ran:?}"
        );
        assert!(ran.stderr.starts_with(message), "{command}: {ran:?}");
        assert!(!bench.path("out.json").exists(), "{command}");
        // What was answered is recorded, whether or not it can be read: it may have been paid for.
        let is_answered = message.starts_with("ASSESSOR_");
        assert_eq!(bench.path("io.json").exists(), is_answered, "{command}");
        let _ = std::fs::remove_file(bench.path("io.json"));
    }
    assert!(
        bench
            .run(&["assess", "intent.json", "--with", "cat lie.json"])
            .stderr
            .contains("“Rates are free”")
    );
    assert_eq!(
        bench
            .run(&["assess", "missing.json", "--with", "true"])
            .code,
        Some(2)
    );
    assert_eq!(bench.run(&["assess", "intent.json"]).code, Some(64));
}

#[test]
fn assess_keeps_what_is_in_the_intent_beside_what_is_not() {
    let (_folder, bench) = bench();
    bench.write("intent.json", INTENT);
    bench.write(
        "mixed.json",
        r#"[{"kind":"choice","quotes":["Rates are fresh"],"message":"How fresh?"},{"kind":"gap","quotes":["Nobody"],"message":"Who?"}]"#,
    );
    let ran = bench.run(&["assess", "intent.json", "--with", "cat mixed.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("How fresh?") && !ran.stdout.contains("Who?"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("findings[1] quotes “Nobody”"),
        "{ran:?}"
    );
}

/// A server that answers one chat request with `content`, and gives the request that it got.
fn serve_once(content: &'static str) -> (u16, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")
                    .map(|n| n.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        let body = format!(
            "{{\"choices\":[{{\"message\":{{\"role\":\"assistant\",\"content\":{}}}}}]}}",
            json_text(content)
        );
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let _ = sender.send(String::from_utf8_lossy(&request).into_owned());
    });
    (port, receiver)
}

fn json_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[test]
fn assess_with_the_example_asks_a_real_server() {
    if !need_program("python3") {
        return;
    }
    let (_folder, bench) = bench();
    bench.write("intent.json", INTENT);
    let script = project_root().join("examples/assessors/openai.py");
    let (port, request) = serve_once(
        r#"{"findings":[{"kind":"choice","quotes":["Rates are fresh"],"message":"How fresh?"}]}"#,
    );
    let command = format!(
        "OPENAI_BASE_URL=http://127.0.0.1:{port}/v1 OPENAI_API_KEY=sk-test OPENAI_MODEL=local python3 '{}'",
        script.display()
    );
    let ran = bench.run(&[
        "assess",
        "intent.json",
        "--with",
        &command,
        "--model-io",
        "io.json",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("\"findings\":[{\"kind\":\"choice\",\"message\":\"How fresh?\""),
        "{ran:?}"
    );
    let request = request.recv().unwrap();
    assert!(
        request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("Bearer sk-test")
            && request.contains("\"model\": \"local\"")
            && request.contains("Rates are a day old"),
        "{request}"
    );
    // Keys on the command line are not part of the record.
    assert!(!bench.read("io.json").contains("sk-test"));
    // A server that is not there is a failure of the assessor.
    let ran = bench.run(&[
        "assess",
        "intent.json",
        "--with",
        &command,
        "-o",
        "out.json",
    ]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("the server did not answer"), "{ran:?}");
    assert!(!bench.path("out.json").exists());
}

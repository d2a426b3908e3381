//! A thousand secrets of twenty kinds go through the proxy, and none of them is on disk afterwards.

use std::fmt::Write as _;
use std::path::Path;

use crate::proxy_support::{
    Answer, Seen, Service, Upstream, ask, chunked, json_of, recording, whole,
};
use runseal_testkit::cli::Bench;

const JSON: &str = "content-type: application/json\r\n";
const EVENTS: &str = "content-type: text/event-stream\r\n";
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn word(&mut self, length: usize, letters: &[u8]) -> String {
        let mut word: String = (0..length)
            .map(|_| char::from(letters[self.next(letters.len())]))
            .collect();
        // Some kinds differ from words by a digit.
        word.replace_range(3..4, "7");
        word
    }
}

/// How a secret of each kind is written where it comes up, `{}` being the secret.
fn kinds() -> Vec<(&'static str, usize, &'static [u8], &'static str)> {
    const HEX: &[u8] = b"0123456789abcdef";
    vec![
        ("sk-proj-", 40, LETTERS, "{}"),
        ("sk-", 44, LETTERS, "the key {} is mine"),
        ("sk-ant-api03-", 40, LETTERS, "{}"),
        ("sk-or-v1-", 40, HEX, "{}"),
        ("ghp_", 36, LETTERS, "git clone https://x:{}@github.com/a/b"),
        ("github_pat_", 50, LETTERS, "{}"),
        ("glpat-", 20, LETTERS, "token {}."),
        ("xoxb-", 40, LETTERS, "{}"),
        ("sk_live_", 24, LETTERS, "{}"),
        ("AKIA", 16, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "{}"),
        ("AIza", 35, LETTERS, "{}"),
        ("hf_", 34, LETTERS, "{}"),
        ("npm_", 36, LETTERS, "//registry/:_authToken={}"),
        ("SG.", 60, LETTERS, "{}"),
        (
            "AGE-SECRET-KEY-1",
            58,
            b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
            "{}",
        ),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", 60, LETTERS, "{}"),
        ("hvs.", 90, LETTERS, "{}"),
        ("pw", 18, LETTERS, "postgres://admin:{}@db.example/x"),
        ("", 24, LETTERS, "password={}"),
        (
            "MII",
            200,
            LETTERS,
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        ),
    ]
}

/// Gives back what it was told, in the way that the path says.
fn echo(request: &Seen) -> Answer {
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let say = body["say"].as_str().unwrap_or_default().to_owned();
    let path = request.path.split('?').next().unwrap_or_default();
    match path {
        "/json" => whole(
            "200 OK",
            JSON,
            &serde_json::json!({"result": say}).to_string(),
        ),
        // Bytes of five, whatever they are.
        "/pieces" => {
            let text = format!("data: {}\n\n", serde_json::json!({"result": say}));
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(5).collect();
            chunked(EVENTS, &pieces, true)
        }
        "/plain" => {
            let text = format!("before {say} after");
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(7).collect();
            chunked("content-type: text/plain\r\n", &pieces, true)
        }
        // As models do: a few characters an event.
        "/v1/chat/completions" => deltas(
            &say,
            |piece| serde_json::json!({"choices": [{"index": 0, "delta": {"content": piece}}]}),
        ),
        "/v1/messages" => deltas(&say, |piece| {
            serde_json::json!({"type": "content_block_delta", "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": piece}})
        }),
        "/base64" => {
            let encoded = base64(say.as_bytes());
            whole(
                "200 OK",
                JSON,
                &serde_json::json!({"file": encoded}).to_string(),
            )
        }
        "/escaped" => {
            let mut text = String::from("{\"result\":\"");
            for unit in say.encode_utf16() {
                let _ = write!(text, "\\u{unit:04x}");
            }
            text.push_str("\"}");
            whole("200 OK", JSON, &text)
        }
        _ => whole(
            "200 OK",
            &format!("set-cookie: session={say}; Path=/\r\n"),
            "ok",
        ),
    }
}

fn deltas(say: &str, event: impl Fn(&str) -> serde_json::Value) -> Answer {
    let letters: Vec<char> = say.chars().collect();
    let events: Vec<String> = letters
        .chunks(4)
        .map(|piece| format!("data: {}\n\n", event(&piece.iter().collect::<String>())))
        .collect();
    let pieces: Vec<&[u8]> = events.iter().map(String::as_bytes).collect();
    chunked(EVENTS, &pieces, true)
}

fn base64(bytes: &[u8]) -> String {
    runseal_trust::encoding::encode_base64(bytes)
}

fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// A secret in plain, base64 and URL form.
fn spellings(secret: &str) -> Vec<String> {
    let mut spellings = vec![secret.to_owned()];
    for shift in 0..3 {
        let padded = format!("{}{secret}", "\0".repeat(shift));
        let encoded = base64(padded.as_bytes());
        // What does not depend on the text before or after it.
        let stable = &encoded[[0, 2, 3][shift]..padded.len() * 8 / 6];
        spellings.push(stable.to_owned());
        spellings.push(stable.replace('+', "-").replace('/', "_"));
    }
    let encoded = percent(secret);
    spellings.push(encoded.to_lowercase());
    spellings.push(encoded);
    spellings
}

/// Every file below `folder` that has one of `patterns`, with the match; `grep` looks.
fn search(folder: &Path, patterns: &Path) -> String {
    let found = std::process::Command::new("grep")
        .args(["-r", "-o", "-a", "-F", "-f"])
        .arg(patterns)
        .arg(folder)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    // 0 is found, 1 is nothing found; anything else is not having looked.
    assert!(matches!(found.status.code(), Some(0 | 1)), "{found:?}");
    String::from_utf8_lossy(&found.stdout).into_owned()
}

#[test]
fn proxy_secrets_of_twenty_kinds_are_nowhere_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start_with(std::time::Duration::ZERO, echo);
    let arguments = ["proxy", "record", "--recording", "r.json", "--upstream"];
    let proxy = Service::runseal(folder.path(), &[&arguments[..], &[&upstream.url]].concat());
    let mut numbers = Numbers(18);
    let mut planted = Vec::new();
    let ways = [
        "/json",
        "/pieces",
        "/plain",
        "/v1/chat/completions",
        "/v1/messages",
        "/base64",
        "/escaped",
    ];
    for round in 0..50 {
        for (at, (prefix, length, letters, context)) in kinds().into_iter().enumerate() {
            let secret = format!("{prefix}{}", numbers.word(length, letters));
            let say = context.replace("{}", &secret);
            let way = ways[(round + at) % ways.len()];
            let headers = "Content-Type: application/json\r\n";
            match round % 5 {
                // In a header of the request, and given back.
                0 => {
                    let named = ["Authorization: Bearer", "X-Api-Key:", "Cookie: a=b; s="][at % 3];
                    let headers = format!("{headers}{named} {secret}\r\n");
                    let body = serde_json::json!({"say": say}).to_string();
                    ask(proxy.address(), "POST", way, &headers, &body);
                }
                // In the address, as addresses write it.
                1 => {
                    let path = format!("{way}?q={}", percent(&say));
                    let body = serde_json::json!({"say": say}).to_string();
                    ask(proxy.address(), "POST", &path, headers, &body);
                }
                // In the result of a tool, which is JSON in a string.
                2 => {
                    let result = serde_json::json!({"output": say}).to_string();
                    let body = serde_json::json!({"messages": [{"role": "tool", "content": result}], "say": say});
                    ask(proxy.address(), "POST", way, headers, &body.to_string());
                }
                // In base64 within the request.
                3 => {
                    let file = base64(format!("some {say} text").as_bytes());
                    let body = serde_json::json!({"file": file, "say": say}).to_string();
                    ask(proxy.address(), "POST", way, headers, &body);
                }
                _ => {
                    let body = serde_json::json!({"say": say}).to_string();
                    ask(proxy.address(), "POST", way, headers, &body);
                }
            }
            planted.push((secret, way));
        }
    }
    assert_eq!(planted.len(), 1000);
    let elsewhere = tempfile::tempdir().unwrap();
    let patterns = elsewhere.path().join("patterns");
    let spelled: Vec<String> = planted
        .iter()
        .flat_map(|(secret, ..)| spellings(secret))
        .collect();
    std::fs::write(&patterns, spelled.join("\n")).unwrap();
    // The looking is tried: it finds every planted secret in a file that has it.
    let known = elsewhere.path().join("known");
    std::fs::create_dir(&known).unwrap();
    std::fs::write(known.join("file"), spelled.join("\n")).unwrap();
    assert!(search(&known, &patterns).lines().count() >= spelled.len());
    assert_eq!(search(folder.path(), &patterns), "", "in the journal");
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(search(folder.path(), &patterns), "", "in the recording");
    let made = recording(&folder.path().join("r.json"));
    let counted: u64 = made["capture"]["redacted"]
        .as_object()
        .unwrap()
        .values()
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert!(counted >= 1000, "{counted}");
    assert!(told.contains("secrets replaced"), "{told}");
    println!("{counted} replaced");

    // The same secrets, or others of their kind, find their recording.
    let proxy = Service::runseal(folder.path(), &["proxy", "replay", "--recording", "r.json"]);
    let (secret, way) = &planted[kinds().len() * 4];
    let body = serde_json::json!({"say": secret}).to_string();
    let again = ask(
        proxy.address(),
        "POST",
        way,
        "Content-Type: application/json\r\n",
        &body,
    );
    assert!(
        again.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&again)
    );
    assert_eq!(proxy.stop().0, Some(0));
}

#[test]
fn proxy_secret_learned_too_late_fails_the_run_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(crate::proxy_support::RUNSEAL, folder.path());
    let upstream =
        Upstream::start(|_| whole("200 OK", JSON, r#"{"note":"opaque/value:0815-4711-xyz"}"#));
    let run = |more: &[&str]| {
        let proxy = Service::record_with(folder.path(), "r.json", &upstream.url, more);
        ask(proxy.address(), "POST", "/login", "", "{}");
        let bearer = "Authorization: Bearer opaque/value:0815-4711-xyz\r\n";
        ask(proxy.address(), "POST", "/use", bearer, "{}");
        proxy.stop()
    };
    let (code, told) = run(&[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.starts_with("SECRET: a known secret of kind `authorization`"),
        "{told}"
    );
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    // With a pattern of one's own it is recorded.
    bench.write("patterns.txt", "# ours\nopaque = \"note\":\"([^\"]+)\"\n");
    let (code, told) = run(&["--redact", "patterns.txt"]);
    assert_eq!(code, Some(0), "{told}");
    let made = recording(&bench.path("r.json"));
    let note = made["interactions"][0]["response_content"]
        .as_str()
        .unwrap();
    assert!(note.starts_with("{\"note\":\"[redacted:opaque:"), "{note}");
    // In both answers and the header: the same placeholder wherever the value is.
    let header = made["interactions"][1]["request"]["headers"].to_string();
    let digits = note.split(':').nth(3).unwrap().get(..16).unwrap();
    assert!(header.contains(digits), "{header} {note}");
}

#[test]
fn proxy_answer_without_secrets_is_kept_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    // Words that look a little like secrets and are none.
    let text = r#"{"a":"task-scheduling-with-very-long-names","b":"max_tokens","token":" Hello","c":"https://example.org/a:b@c","password":{"type":"string"},"d":"ask-me-anything-about-rust-please","skills":"sk-","e":"a-b_c"}"#;
    let upstream = Upstream::start(move |_| whole("200 OK", JSON, text));
    let arguments = [
        "proxy",
        "record",
        "--recording",
        "r.json",
        "--upstream",
        &upstream.url,
    ];
    let proxy = Service::runseal(folder.path(), &arguments);
    let seen = json_of(&ask(proxy.address(), "POST", "/x", "", "{}"));
    assert_eq!(proxy.stop().0, Some(0));
    let made = recording(&folder.path().join("r.json"));
    assert_eq!(made["interactions"][0]["response_content"], text);
    assert_eq!(seen["skills"], "sk-");
    assert_eq!(made["capture"]["redacted"], serde_json::json!({}));
}

/// Encodings that are put on top of each other, by their names.
fn encoded(name: &str, text: &str) -> String {
    let bytes = text.bytes();
    let percent = |kept: &[u8]| -> String {
        let write = |byte: u8| match byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(write).collect()
    };
    match name {
        "base64" => base64(text.as_bytes()),
        "basic" => base64(format!("somebody:{text}").as_bytes()),
        "hex" => bytes.map(|byte| format!("{byte:02x}")).collect(),
        "percent" => percent(b""),
        "path" => percent(b"/"),
        "json" => serde_json::json!(text).to_string(),
        "unicode" => bytes.map(|byte| format!("\\u{byte:04x}")).collect(),
        "html" => bytes.map(|byte| format!("&#x{byte:x};")).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn secret_of_a_variable_is_replaced_in_encodings_of_encodings_wherever_it_comes_up() {
    let opaque = "Zq8t/Lm2\"Xr5wYb9nKc4d";
    let names = [
        "base64", "basic", "hex", "percent", "path", "json", "unicode", "html",
    ];
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start_with(std::time::Duration::ZERO, echo);
    let arguments = crate::proxy_support::record_arguments("r.json", &upstream.url);
    let variables = [("MY_API_KEY", opaque)];
    let proxy = Service::runseal_with(folder.path(), &arguments, &variables);
    let paths = ["/json", "/pieces", "/plain", "/v1/chat/completions"];
    let mut forms = Vec::new();
    for inner in names {
        for outer in names {
            let form = encoded(outer, &encoded(inner, opaque));
            let said = serde_json::json!({"say": format!("take {form} now")}).to_string();
            let path = paths[forms.len() % paths.len()];
            ask(proxy.address(), "POST", path, JSON, &said);
            forms.push((outer, inner, form));
        }
    }
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(0), "{told}");
    let made = recording(&folder.path().join("r.json"));
    let calls = made["interactions"].as_array().unwrap();
    assert_eq!(calls.len(), forms.len());
    for (call, (outer, inner, form)) in calls.iter().zip(&forms) {
        let shown = format!("{outer} of {inner}: {call}");
        // The replaced part is the secret's, and what was around it stays.
        let said = call["request"]["body"]["say"].as_str().unwrap();
        assert!(
            said.starts_with("take ") && said.ends_with(" now"),
            "{shown}"
        );
        for text in [said, call["response_content"].as_str().unwrap()] {
            assert!(text.contains("[redacted:env-my-api-key:"), "{shown}");
            let middle = &form[form.len() / 3..form.len() * 2 / 3];
            assert!(!text.contains(middle), "{shown}");
        }
    }
}

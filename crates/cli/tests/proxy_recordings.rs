//! What becomes of recordings: killed in the making, forked, with bodies too large for a document.

use crate::proxy_support::{Service, Upstream, chunked, folder, json_of, post, recording, whole};
use crate::schema_support::check_recording;
use runseal_testkit::cli::Bench;

const JSON: &str = "content-type: application/json\r\n";

/// `diff` says at which call two recordings part, and how.
fn check_parting(bench: &Bench, one: &str, other: &str) {
    let human = bench.run(&["diff", one, other]);
    assert_eq!(human.code, Some(1), "{}", human.stderr);
    let told = "the recordings are the same for 2 calls and part here";
    assert!(human.stdout.starts_with("calls (1)\n"), "{}", human.stdout);
    assert!(human.stdout.contains(told), "{}", human.stdout);
    let json = bench.run(&["diff", one, other, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let first = &json["differences"][0];
    assert_eq!(first["topic"], "calls");
    assert_eq!(first["pointer"], "/interactions/2");
    let lines = first["lines"].as_str().unwrap();
    assert!(
        lines.contains("the same was asked and answered otherwise"),
        "{lines}"
    );
    assert!(
        lines.contains("the second was forked from sha256:"),
        "{lines}"
    );
    assert_eq!(bench.run(&["diff", one, one]).code, Some(0));
}

#[test]
fn proxy_record_killed_keeps_what_was_answered_and_verifies_as_broken_off() {
    let (folder, bench) = folder();
    let upstream = Upstream::start(|request| match request.path.as_str() {
        "/endless" => {
            let event = b"data: {\"tick\":\"a little text\"}\n\n";
            chunked(
                "content-type: text/event-stream\r\n",
                &[&event[..]; 20_000],
                true,
            )
        }
        _ => whole("200 OK", JSON, r#"{"say":"Grüße"}"#),
    });
    let proxy = Service::record(folder.path(), "r.json", &upstream.url);
    let address = proxy.address().to_owned();
    for _ in 0..5 {
        post(&address, "/v1/chat/completions", r#"{"model":"m-1"}"#);
    }
    let streaming = {
        let address = address.clone();
        std::thread::spawn(move || post(&address, "/endless", "{}"))
    };
    // While it is being made, nobody takes it for one that was left behind.
    let early = bench.run(&["proxy", "finish", "--recording", "r.json"]);
    assert_eq!(early.code, Some(1));
    assert!(
        early.stderr.contains("still being recorded"),
        "{}",
        early.stderr
    );
    while !std::fs::read_to_string(bench.path("r.json.journal"))
        .unwrap()
        .contains("tick")
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    proxy.kill();
    let partly = streaming.join().unwrap();
    assert!(partly.len() > 100);
    // A half line, as a machine that stops in the middle of a write leaves it.
    let mut journal = std::fs::read(bench.path("r.json.journal")).unwrap();
    journal.extend_from_slice(b"{\"t\":\"data\",\"x\":5,\"te");
    std::fs::write(bench.path("r.json.journal"), journal).unwrap();

    let verdict = bench.run(&["verify", "."]);
    let told = "`runseal proxy finish --recording ./r.json` does";
    assert!(verdict.stderr.contains(told), "{verdict:?}");
    let finished = bench.run(&["proxy", "finish", "--recording", "r.json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let verdict = bench.run(&["model-io", "verify", "r.json", "--strict"]);
    assert_eq!(verdict.code, Some(0), "{}", verdict.stdout);
    let made = recording(&bench.path("r.json"));
    assert_eq!(made["interactions"].as_array().unwrap().len(), 6);
    for at in 0..5 {
        assert_eq!(made["interactions"][at]["response"]["end"], "complete");
    }
    assert_eq!(made["interactions"][5]["response"]["end"], "unfinished");
    let gaps = made["capture"]["gaps"].to_string();
    assert!(gaps.contains("the recording was broken off"), "{gaps}");
    assert!(
        gaps.contains("interaction 5 (POST /endless) was not over"),
        "{gaps}"
    );

    let proxy = Service::replay(folder.path(), "r.json");
    let answered = post(
        proxy.address(),
        "/v1/chat/completions",
        r#"{"model":"m-1"}"#,
    );
    assert!(String::from_utf8_lossy(&answered).contains("Grüße"));
    proxy.finish();
    let nothing = bench.run(&["proxy", "finish", "--recording", "r.json"]);
    assert_eq!(nothing.code, Some(1), "{}", nothing.stderr);
}

#[test]
fn proxy_fork_goes_live_at_the_given_call_and_names_its_parent() {
    let (folder, bench) = folder();
    let said = |word: &'static str| {
        Upstream::start(move |request| {
            let asked = String::from_utf8_lossy(&request.body).into_owned();
            whole(
                "200 OK",
                JSON,
                &serde_json::json!({"by": word, "to": asked}).to_string(),
            )
        })
    };
    let (one, other) = (said("one"), said("other"));
    let proxy = Service::record(folder.path(), "parent.json", &one.url);
    let who = |address: &str, n: u32| -> String {
        let answered = post(address, "/v1/responses", &format!(r#"{{"n":{n}}}"#));
        json_of(&answered)["by"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    for n in 0..4 {
        assert_eq!(who(proxy.address(), n), "one");
    }
    proxy.finish();
    let verdict = bench.run(&["model-io", "verify", "parent.json"]);
    let parent: serde_json::Value = serde_json::from_str(&verdict.stdout).unwrap();

    let fork = [
        "proxy",
        "replay",
        "--recording",
        "parent.json",
        "--fork-at",
        "2",
        "--out",
        "fork.json",
        "--upstream",
    ];
    let proxy = Service::runseal(folder.path(), &[&fork[..], &[&other.url]].concat());
    let answers: Vec<String> = (0..4).map(|n| who(proxy.address(), n)).collect();
    assert_eq!(answers, ["one", "one", "other", "other"]);
    proxy.finish();
    assert_eq!(
        bench
            .run(&["model-io", "verify", "fork.json", "--strict"])
            .code,
        Some(0)
    );
    let made = recording(&bench.path("fork.json"));
    check_recording(&made);
    assert_eq!(made["fork"]["at"], 2);
    assert_eq!(
        made["fork"]["parent_model_io_hash"],
        parent["model_io_hash"]
    );
    assert_eq!(made["interactions"].as_array().unwrap().len(), 4);
    let mut forged = made.clone();
    forged["fork"]["parent_sha256"] = "0".repeat(64).into();
    bench.write("forged.json", forged.to_string());
    let verdict = bench.run(&["verify", "forged.json"]);
    assert_eq!(verdict.code, Some(1), "{verdict:?}");
    assert!(verdict.stdout.contains("MI17"), "{verdict:?}");
    let beyond = [
        "proxy",
        "replay",
        "--recording",
        "parent.json",
        "--out",
        "b.json",
    ];
    let beyond = bench.run(&[&beyond[..], &["--fork-at", "5"]].concat());
    assert_eq!(beyond.code, Some(64), "{beyond:?}");
    assert!(beyond.stderr.contains("it has 4 calls"), "{beyond:?}");
    check_parting(&bench, "parent.json", "fork.json");
    // A fork is a recording like any other.
    let proxy = Service::replay(folder.path(), "fork.json");
    let answers: Vec<String> = (0..4).map(|n| who(proxy.address(), n)).collect();
    assert_eq!(answers, ["one", "one", "other", "other"]);
    proxy.finish();

    // What is missing can be asked for and kept.
    let more = [
        "proxy",
        "replay",
        "--recording",
        "parent.json",
        "--on-miss",
        "record",
        "--upstream",
    ];
    let proxy = Service::runseal(folder.path(), &[&more[..], &[&other.url]].concat());
    assert_eq!(
        (who(proxy.address(), 7), who(proxy.address(), 1)),
        ("other".to_owned(), "one".to_owned())
    );
    proxy.finish();
    let proxy = Service::replay(folder.path(), "parent.json");
    assert_eq!(
        (who(proxy.address(), 7), who(proxy.address(), 0)),
        ("other".to_owned(), "one".to_owned())
    );
    proxy.finish();
}

#[test]
fn proxy_keeps_large_and_tampered_bodies_apart() {
    let (folder, bench) = folder();
    let large = "x".repeat(1_500_000);
    let body = large.clone();
    let upstream = Upstream::start(move |_| whole("200 OK", "content-type: text/plain\r\n", &body));
    let proxy = Service::record(folder.path(), "r.json", &upstream.url);
    let asked = format!(r#"{{"image":"{}"}}"#, "y".repeat(1_200_000));
    post(proxy.address(), "/v1/responses", &asked);
    proxy.finish();
    assert_eq!(
        bench
            .run(&["model-io", "verify", "r.json", "--strict"])
            .code,
        Some(0)
    );
    let made = recording(&bench.path("r.json"));
    check_recording(&made);
    let file = &made["interactions"][0]["response"]["body_file"];
    let path = bench.path(file["path"].as_str().unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), large.as_bytes());
    let proxy = Service::replay(folder.path(), "r.json");
    let answered = post(proxy.address(), "/v1/responses", &asked);
    assert!(answered.ends_with(large.as_bytes()));
    proxy.finish();

    let mut bytes = large.into_bytes();
    bytes[7] = b'z';
    std::fs::write(&path, bytes).unwrap();
    let verdict = bench.run(&["verify", "r.json"]);
    assert_eq!(verdict.code, Some(1), "{}", verdict.stdout);
    assert!(verdict.stdout.contains("MI15"), "{}", verdict.stdout);
    let refused = bench.run(&["proxy", "replay", "--recording", "r.json"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("has another hash"),
        "{}",
        refused.stderr
    );
}

//! Requests of somebody other than the client that a proxy was started for: other programs of the machine,
//! web pages, and names that lead to its address. They are refused, not forwarded and not recorded.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::proxy_support::{Answer, Seen, Service, Upstream, ask, folder, post, recording, whole};
use runseal_testkit::skip::{need_python, need_root};
use serde_json::{Value, json};

const KEY: &str = "sk-proj-Zz0123456789abcdefghijKLMNOPQRST";
const STAND_IN: &str = "runseal-keeps-the-key";

/// Asks with its key in the header that the arguments name, and says its key to the model; before that it
/// waits until somebody else has tried.
const AGENT: &str = r#"
import json, os, sys, time, urllib.request
place = sys.argv[1]
key, base = os.environ["OPENAI_API_KEY"], os.environ["OPENAI_BASE_URL"]
if place:
    with open(place + "/address.part", "w") as file:
        file.write(base)
    os.rename(place + "/address.part", place + "/address")
    while not os.path.exists(place + "/tried"):
        time.sleep(0.02)
for headers, query in [({"authorization": "Bearer " + key}, ""), ({"x-api-key": key}, ""),
                       ({"api-key": key}, ""), ({}, "?key=" + key)]:
    body = json.dumps({"model": "m", "said": "my key is " + key + " ok"}).encode()
    request = urllib.request.Request(base + "/ask" + query, body, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        print(answer.read().decode())
"#;

/// Says back what it was asked.
fn answer(request: &Seen) -> Answer {
    let said = String::from_utf8_lossy(&request.body).into_owned();
    whole("200 OK", "content-type: application/json\r\n", &said)
}

/// Sends bytes as they are and gives what came back.
fn send(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Requests of strangers to the proxy at `address`, each with what gives it away.
fn of_strangers(address: &str) -> Vec<(&'static str, String)> {
    let port = address.rsplit(':').next().unwrap();
    let with = |target: &str, host: &str, more: &str| {
        format!(
            "POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 2\r\n\
             Content-Type: application/json\r\n{more}\r\n{{}}"
        )
    };
    let own = |more: &str| with("/v1/ask", address, more);
    vec![
        ("HOST", with("/v1/ask", &format!("evil.example:{port}"), "")),
        ("HOST", with("/v1/ask", "127.0.0.1", "")),
        ("HOST", with("/v1/ask", &format!("x@{address}"), "")),
        ("HOST", own(&format!("Host: evil.example:{port}\r\n"))),
        ("ORIGIN", own("Origin: https://evil.example\r\n")),
        ("ORIGIN", own("Origin: null\r\n")),
        ("ORIGIN", own("Origin: http://localhost:8080\r\n")),
        ("ORIGIN", own("Sec-Fetch-Site: cross-site\r\n")),
        ("TARGET", with("http://evil.example/v1/ask", address, "")),
    ]
}

fn assert_refused(answer: &str, code: &str) {
    assert!(answer.starts_with("HTTP/1.1 403"), "{code}: {answer}");
    let code = format!("\"code\":\"{code}\"");
    assert!(answer.contains(&code), "{code}: {answer}");
}

#[test]
fn recorded_command_is_the_only_client_of_its_proxy_on_a_shared_loopback() {
    if !need_python() {
        return;
    }
    let (folder, bench) = folder();
    let meeting = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(answer);
    bench.write("agent.py", AGENT);
    let place = meeting.path().to_str().unwrap().to_owned();
    let address_file = meeting.path().join("address");
    let tries = std::thread::spawn(move || {
        while !address_file.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let base = std::fs::read_to_string(&address_file).unwrap();
        let address = base.strip_prefix("http://").unwrap().replace("/v1", "");
        let mut answers: Vec<(&str, String)> = of_strangers(&address)
            .into_iter()
            .map(|(code, request)| (code, send(&address, &request)))
            .collect();
        let guessed = format!("runseal-{}", "0".repeat(48));
        for (target, shown) in [
            ("/v1/ask", String::new()),
            ("/v1/ask", format!("Authorization: Bearer {STAND_IN}\r\n")),
            ("/v1/ask", format!("X-Api-Key: {STAND_IN}\r\n")),
            ("/v1/ask", format!("Authorization: Bearer {guessed}\r\n")),
            ("/v1/ask", "Authorization: Bearer \r\n".to_owned()),
            ("/v1/ask?key=x", String::new()),
        ] {
            let answer = ask(&address, "POST", target, &shown, "{}");
            answers.push(("KEY", String::from_utf8_lossy(&answer).into_owned()));
        }
        std::fs::write(address_file.with_file_name("tried"), "").unwrap();
        answers
    });
    let arguments = ["record", "--sandbox", "none", "--run-id", "one", "--proxy"];
    let upstream_arguments = ["--upstream", &upstream.url];
    let command = ["--", "/usr/bin/python3", "agent.py", &place];
    let mut command = bench.command(&[&arguments[..], &upstream_arguments, &command].concat());
    let ran = command.env("OPENAI_API_KEY", KEY).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{told}");
    for (code, answer) in tries.join().unwrap() {
        assert_refused(&answer, code);
    }
    assert!(told.contains("warning: 15 requests were refused"), "{told}");
    // The key went up with the command's own requests, and the token did not.
    let heads = upstream.seen.lock().unwrap().clone();
    assert_eq!(heads.len(), 4, "{heads:?}");
    assert!(heads[0].contains(&format!("Bearer {KEY}\r\n")), "{heads:?}");
    assert!(heads[3].contains(&format!("?key={STAND_IN} ")), "{heads:?}");
    // What is recorded does not depend on the token: the constant is everywhere.
    let made = recording(&bench.path("RUN_BUNDLE/one/model_io.json"));
    let calls = made["interactions"].as_array().unwrap();
    assert_eq!(calls.len(), 4, "{made}");
    for call in calls {
        let said = format!("my key is {STAND_IN} ok");
        assert_eq!(call["request"]["body"]["said"], said, "{call}");
    }
    let header = json!(["authorization", format!("Bearer {STAND_IN}")]);
    let headers = calls[0]["request"]["headers"].as_array().unwrap();
    assert!(headers.contains(&header), "{headers:?}");
    let environment = bench.read("RUN_BUNDLE/one/RUN_ENVIRONMENT.json");
    let environment: Value = serde_json::from_str(&environment).unwrap();
    assert_eq!(environment["variables"]["OPENAI_API_KEY"], STAND_IN);
    drop(folder);
}

#[test]
fn replayed_command_on_a_shared_loopback_finds_its_answers_with_a_token_of_its_own() {
    if !need_python() {
        return;
    }
    let (_folder, bench) = folder();
    let upstream = Upstream::start(answer);
    bench.write("agent.py", AGENT);
    let arguments = ["record", "--sandbox", "none", "--run-id", "one", "--proxy"];
    let more = [
        "--upstream",
        &upstream.url,
        "--",
        "/usr/bin/python3",
        "agent.py",
        "",
    ];
    let ran = bench.run(&[&arguments[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    drop(upstream);
    let again = bench.run(&["replay", "--sandbox", "none", "RUN_BUNDLE/one"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("REPRODUCED"), "{again:?}");
}

/// Asks over IPv4, with a socket of IPv4 and with one of IPv6, and prints what came back.
const OTHER_USER: &str = r#"
import socket, sys
port = int(sys.argv[1])
for family, host in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")]:
    try:
        stream = socket.socket(family)
        stream.connect((host, port))
        stream.sendall(b"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}" % port)
        print(stream.makefile("rb").read())
    except OSError:
        print(b"")
"#;

#[test]
fn other_user_of_the_machine_gets_no_answer_from_any_listener() {
    if !need_python() || !need_root() {
        return;
    }
    let (folder, _bench) = folder();
    let upstream = Upstream::start(answer);
    let recorder = Service::record(folder.path(), "r.json", &upstream.url);
    let ask_as_nobody = |service: &Service| {
        let port = service.address().rsplit(':').next().unwrap();
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", OTHER_USER, port]);
        let ran = command.uid(65534).gid(65534).current_dir("/").output();
        String::from_utf8(ran.unwrap().stdout).unwrap()
    };
    let nothing = "b''\nb''\n";
    assert_eq!(ask_as_nobody(&recorder), nothing);
    let own = post(recorder.address(), "/v1/ask", "{}");
    assert!(own.starts_with(b"HTTP/1.1 200"), "{}", own.escape_ascii());
    assert_eq!(recorder.stop().0, Some(0));
    assert_eq!(upstream.seen.lock().unwrap().len(), 1);
    let replayer = Service::replay(folder.path(), "r.json");
    assert_eq!(ask_as_nobody(&replayer), nothing);
    let own = post(replayer.address(), "/v1/ask", "{}");
    assert!(own.starts_with(b"HTTP/1.1 200"), "{}", own.escape_ascii());
    replayer.stop();
}

#[test]
fn every_listener_refuses_pages_foreign_hosts_and_foreign_targets() {
    let (folder, _bench) = folder();
    let upstream = Upstream::start(answer);
    let record = |name: &str| Service::record(folder.path(), name, &upstream.url);
    let proxy = record("r.json");
    post(proxy.address(), "/v1/ask", "{}");
    proxy.finish();
    let mcp = [
        "mcp",
        "record",
        "--recording",
        "m.json",
        "--listen",
        "127.0.0.1:0",
    ];
    let record_mcp = [&mcp[..], &["--upstream", &upstream.url]].concat();
    let tools = Service::runseal(folder.path(), &record_mcp);
    post(tools.address(), "/mcp", "{}");
    tools.finish();
    let asked = upstream.seen.lock().unwrap().len();
    assert_eq!(asked, 2);
    let replay_mcp = [
        "mcp",
        "replay",
        "--recording",
        "m.json",
        "--listen",
        "127.0.0.1:0",
    ];
    let record_mcp = record_mcp
        .iter()
        .map(|word| word.replace("m.json", "n.json"));
    let record_mcp: Vec<String> = record_mcp.collect();
    let record_mcp: Vec<&str> = record_mcp.iter().map(String::as_str).collect();
    for service in [
        record("s.json"),
        Service::replay(folder.path(), "r.json"),
        Service::runseal(folder.path(), &record_mcp),
        Service::runseal(folder.path(), &replay_mcp),
    ] {
        let requests = of_strangers(service.address());
        for (code, request) in &requests {
            assert_refused(&send(service.address(), request), code);
        }
        let (code, told) = service.stop();
        assert_eq!(code, Some(0), "{told}");
        let warning = format!("warning: {} requests were refused", requests.len());
        assert!(told.contains(&warning), "{told}");
    }
    assert_eq!(upstream.seen.lock().unwrap().len(), asked);
    for name in ["s.json", "n.json"] {
        let made = recording(&folder.path().join(name));
        assert_eq!(made["interactions"], json!([]), "{name}");
    }
}

#[test]
fn request_that_leads_away_from_the_upstream_s_path_is_refused_and_recorded_as_such() {
    let (folder, _bench) = folder();
    let upstream = Upstream::start(answer);
    let below = format!("{}/api/v1", upstream.url);
    let proxy = Service::record(folder.path(), "r.json", &below);
    for target in [
        "/../admin",
        "/x/%2e%2e/%2e%2e/admin",
        "/x/%252e%252e/admin",
        "/x%2f..%2f..%2f..%2fadmin",
        "/x/..%5c..%5cadmin",
        "//evil.example/x",
        "/..;x=y/admin",
    ] {
        let answer = ask(proxy.address(), "POST", target, "", "{}");
        assert_refused(&String::from_utf8_lossy(&answer), "TARGET");
    }
    let answer = post(proxy.address(), "/models/org%2Fname", "{}");
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    // Two lengths: the request is framed anew, and nothing is left to be read as another one.
    let address = proxy.address();
    let smuggled = format!(
        "POST /a HTTP/1.1\r\nHost: {address}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\
         Connection: close\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: {address}\r\n\r\n"
    );
    send(address, &smuggled);
    proxy.finish();
    let heads = upstream.seen.lock().unwrap().clone();
    let targets: Vec<&str> = heads
        .iter()
        .filter_map(|head| head.lines().next())
        .collect();
    let expected = "POST /api/v1/models/org%2Fname HTTP/1.1";
    assert_eq!(targets.first(), Some(&expected), "{targets:?}");
    assert!(
        targets.iter().all(|target| target.contains(" /api/v1/")),
        "{targets:?}"
    );
    let made = recording(&folder.path().join("r.json"));
    let ends = made["interactions"].as_array().unwrap().iter();
    let refused = ends.filter(|call| call["response"]["end"] == "refused");
    assert_eq!(refused.count(), 7);
}

#[test]
fn key_that_the_upstream_repeats_compressed_does_not_reach_the_command() {
    if !need_python() {
        return;
    }
    let (_folder, bench) = folder();
    let upstream =
        Upstream::start(|request| whole("200 OK", "content-encoding: gzip\r\n", &request.head));
    bench.write(
        "agent.py",
        "import os, urllib.error, urllib.request\n\
         request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/ask', b'{}',\n    \
         {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']})\n\
         try:\n    urllib.request.urlopen(request)\n\
         except urllib.error.HTTPError as error:\n    print(error.code, error.read().decode())\n",
    );
    let arguments = ["record", "--sandbox", "none", "--run-id", "one", "--proxy"];
    let more = [
        "--upstream",
        &upstream.url,
        "--",
        "/usr/bin/python3",
        "agent.py",
    ];
    let mut command = bench.command(&[&arguments[..], &more].concat());
    let ran = command.env("OPENAI_API_KEY", KEY).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{told}");
    let printed = bench.read("RUN_BUNDLE/one/logs/stdout.txt");
    assert!(
        printed.starts_with("502 ") && printed.contains("ENCODING"),
        "{printed}"
    );
    assert!(upstream.seen.lock().unwrap()[0].contains(KEY));
}

#[test]
fn key_that_the_upstream_repeats_does_not_reach_the_command() {
    if !need_python() {
        return;
    }
    let (_folder, bench) = folder();
    let upstream = Upstream::start(|request| {
        let header = format!("x-seen: {KEY}!\r\n");
        let pieces: Vec<&[u8]> = request.head.as_bytes().chunks(7).collect();
        crate::proxy_support::chunked(&header, &pieces, true)
    });
    bench.write(
        "agent.py",
        "import os, urllib.request\n\
         request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/ask', b'{}',\n    \
         {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']})\n\
         answer = urllib.request.urlopen(request)\n\
         print(answer.headers['x-seen'], answer.read().decode())\n",
    );
    let arguments = ["record", "--sandbox", "none", "--run-id", "one", "--proxy"];
    let more = [
        "--upstream",
        &upstream.url,
        "--",
        "/usr/bin/python3",
        "agent.py",
    ];
    let mut command = bench.command(&[&arguments[..], &more].concat());
    let ran = command.env("OPENAI_API_KEY", KEY).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{told}");
    let printed = bench.read("RUN_BUNDLE/one/logs/stdout.txt");
    let cover = "*".repeat(KEY.len());
    assert!(printed.starts_with(&format!("{cover}! ")), "{printed}");
    assert!(printed.contains(&format!("Bearer {cover}")), "{printed}");
    assert!(!printed.contains("Zz0123456789"), "{printed}");
    assert!(upstream.seen.lock().unwrap()[0].contains(KEY));
}

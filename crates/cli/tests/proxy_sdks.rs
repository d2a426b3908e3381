//! Unmodified SDKs through the proxy: recorded against aimock and MCP servers, then replayed with nobody
//! behind it. What the client's socket got and what the SDK made of it must be the same.
//!
//! `.ci/agent-tools` installs the SDKs; where they are missing the tests say `SKIPPED:`, unless CI=true,
//! where that is a failure.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::proxy_support::{
    Aimock, RUNSEAL, Service, Tap, free_port, recording, script, tools, wait_for_port,
};
use runseal_testkit::cli::Bench;

/// Runs a client to its end; gives the lines it printed.
fn client(tools: &Path, name: &str, url: &str) -> Vec<String> {
    let program = match name.ends_with(".py") {
        true => tools.join("venv/bin/python"),
        false => "node".into(),
    };
    let output = Command::new(program)
        .arg(script(name))
        .env("AGENT_TOOLS", tools)
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("ANTHROPIC_BASE_URL", url)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {told}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// What came back without the empty chunk that ends a chunked answer: SDKs hang up at `[DONE]`, before or
/// after it comes.
fn without_ends(answers: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(answers.len());
    for byte in answers {
        kept.push(*byte);
        if kept.ends_with(b"\r\n0\r\n\r\n") {
            kept.truncate(kept.len() - 5);
        }
    }
    kept
}

/// Records `name` against aimock and replays it; gives the cells it went through.
fn record_and_replay(tools: &Path, upstream: &str, name: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(RUNSEAL, folder.path());
    let arguments = [
        "proxy",
        "record",
        "--recording",
        "r.json",
        "--upstream",
        upstream,
    ];
    let proxy = Service::runseal(folder.path(), &arguments);
    let tap = Tap::start(proxy.address());
    let seen = client(tools, name, &tap.url);
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(0), "{name}: {told}");
    let recorded = without_ends(&tap.answers.lock().unwrap());
    let verdict = bench.run(&["model-io", "verify", "r.json", "--strict"]);
    assert_eq!(verdict.code, Some(0), "{name}: {}", verdict.stdout);
    let text = std::fs::read_to_string(bench.path("r.json")).unwrap();
    let faults = crate::schema_support::Schemas::load()
        .faults("recording", &recording(&bench.path("r.json")));
    assert_eq!(faults, Vec::<String>::new(), "{name}");
    assert!(
        !text.contains("planted0123456789"),
        "{name}: the key is in the recording"
    );

    // Nobody is behind the proxy now.
    let strict = ["proxy", "replay", "--recording", "r.json", "--strict-order"];
    let proxy = Service::runseal(folder.path(), &strict);
    let tap = Tap::start(proxy.address());
    let again = client(tools, name, &tap.url);
    let (code, told) = proxy.stop();
    assert_eq!(code, Some(0), "{name}: {told}");
    assert!(
        told.contains(" 0 of its interactions not asked for"),
        "{name}: {told}"
    );
    let replayed = without_ends(&tap.answers.lock().unwrap());
    assert_eq!(seen, again, "{name}");
    assert_eq!(
        String::from_utf8_lossy(&recorded),
        String::from_utf8_lossy(&replayed),
        "{name}"
    );
    assert_eq!(recorded, replayed, "{name}");
    assert!(recorded.len() > 1000, "{name}");
    let cells = seen.iter().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["cell"].as_str().unwrap().to_owned()
    });
    cells.collect()
}

#[test]
fn proxy_sdks_see_the_same_bytes_recorded_and_replayed() {
    let Some(tools) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixtures = folder.path().join("fixtures");
    std::fs::create_dir(&fixtures).unwrap();
    std::fs::copy(script("fixtures.json"), fixtures.join("fixtures.json")).unwrap();
    let aimock = Aimock::start(&tools, folder.path(), &fixtures);
    let mut matrix = 0;
    for name in [
        "openai_client.py",
        "openai_client.mjs",
        "anthropic_client.py",
        "anthropic_client.mjs",
    ] {
        let cells = record_and_replay(&tools, &aimock.url, name);
        for kind in ["plain", "tools", "error"] {
            for way in ["whole", "stream"] {
                assert!(
                    cells.contains(&format!("{kind} {way}")),
                    "{name}: {cells:?}"
                );
                matrix += 1;
            }
        }
        println!("{name}: {} cells the same, byte for byte", cells.len());
    }
    assert_eq!(matrix, 24);
}

/// Runs the MCP client; gives what it printed.
fn mcp_client(tools: &Path, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(tools.join("venv/bin/python"))
        .arg(script("mcp_client.py"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn mcp_over_standard_input_is_replayed_without_the_server_in_both_eras() {
    let Some(tools) = tools() else { return };
    let python = tools.join("venv/bin/python");
    let own = [
        python.to_str().unwrap().to_owned(),
        script("mcp_server.py").display().to_string(),
    ];
    let everything = [
        tools
            .join("node_modules/.bin/mcp-server-everything")
            .display()
            .to_string(),
        "stdio".to_owned(),
    ];
    for (mode, server, version) in [
        ("legacy", &own, "2025-11-25"),
        ("2026-07-28", &own, "2026-07-28"),
        ("auto", &everything, "2025-11-25"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(RUNSEAL, folder.path());
        let direct = mcp_client(&tools, folder.path(), &[mode, &server[0], &server[1]]);
        let record = [
            mode,
            RUNSEAL,
            "mcp",
            "record",
            "--recording",
            "r.json",
            "--",
            &server[0],
            &server[1],
        ];
        let seen = mcp_client(&tools, folder.path(), &record);
        assert_eq!(direct, seen, "{mode}");
        assert!(seen.contains(version), "{seen}");
        let verdict = bench.run(&["model-io", "verify", "r.json", "--strict"]);
        assert_eq!(verdict.code, Some(0), "{mode}: {}", verdict.stdout);
        let replay = [mode, RUNSEAL, "mcp", "replay", "--recording", "r.json"];
        let again = mcp_client(&tools, folder.path(), &replay);
        assert_eq!(seen, again, "{mode}");
        let made = recording(&bench.path("r.json"));
        let faults = crate::schema_support::Schemas::load().faults("recording", &made);
        assert_eq!(faults, Vec::<String>::new(), "{mode}");
        assert!(made["interactions"].as_array().unwrap().len() > 5, "{mode}");
        println!("{mode}: {} lines the same", seen.lines().count());
    }
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn http_server(tools: &Path, name: &str) -> (Server, String) {
    let port = free_port();
    let mut command = match name {
        "own" => {
            let mut command = Command::new(tools.join("venv/bin/python"));
            command.arg(script("mcp_server.py")).arg(port.to_string());
            command
        }
        _ => {
            let mut command = Command::new(tools.join("node_modules/.bin/mcp-server-everything"));
            command.arg("streamableHttp").env("PORT", port.to_string());
            command
        }
    };
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_port(port);
    (Server(child), format!("http://127.0.0.1:{port}"))
}

#[test]
fn mcp_over_http_is_replayed_without_the_server_in_both_eras() {
    let Some(tools) = tools() else { return };
    for (mode, server, version) in [
        ("legacy", "own", "2025-11-25"),
        ("2026-07-28", "own", "2026-07-28"),
        ("auto", "everything", "2025-11-25"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(RUNSEAL, folder.path());
        let (running, url) = http_server(&tools, server);
        let direct = mcp_client(&tools, folder.path(), &[mode, &format!("{url}/mcp")]);
        let record = [
            "mcp",
            "record",
            "--recording",
            "r.json",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &url,
        ];
        let proxy = Service::runseal(folder.path(), &record);
        let seen = mcp_client(
            &tools,
            folder.path(),
            &[mode, &format!("{}/mcp", proxy.url)],
        );
        let (code, told) = proxy.stop();
        assert_eq!(code, Some(0), "{mode}: {told}");
        assert_eq!(direct, seen, "{mode}");
        assert!(seen.contains(version), "{seen}");
        drop(running);
        let verdict = bench.run(&["model-io", "verify", "r.json", "--strict"]);
        assert_eq!(verdict.code, Some(0), "{mode}: {}", verdict.stdout);
        let replay = [
            "mcp",
            "replay",
            "--recording",
            "r.json",
            "--listen",
            "127.0.0.1:0",
        ];
        let proxy = Service::runseal(folder.path(), &replay);
        let again = mcp_client(
            &tools,
            folder.path(),
            &[mode, &format!("{}/mcp", proxy.url)],
        );
        let (code, told) = proxy.stop();
        assert_eq!(seen, again, "{mode}: {told}");
        assert_eq!(code, Some(0), "{mode}: {told}");
        println!("{mode}: {} lines the same", seen.lines().count());
    }
}

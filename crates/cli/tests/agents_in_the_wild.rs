//! The agents of examples/agents: recorded against a model server and a tool server, signed, and run again
//! with neither of them there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code"
)]

mod proxy_support;

use std::path::Path;
use std::process::{Command, Stdio};

use proxy_support::{Aimock, RUNSEAL, Service, recording, tools};
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

const QUESTION: &str = "How many apples and pears are there?";

/// Runs an agent with the tool server given; gives what it printed.
fn agent(tools: &Path, folder: &Path, name: &str, url: &str, server: &[&str]) -> String {
    let examples = project_root().join("examples/agents");
    let program = match name.ends_with(".py") {
        true => tools.join("venv/bin/python"),
        false => "node".into(),
    };
    let output = Command::new(program)
        .arg(examples.join(name))
        .args([QUESTION, "--"])
        .args(server)
        .current_dir(folder)
        .env("AGENT_TOOLS", tools)
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("OPENAI_API_KEY", "none-needed-here")
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "none-needed-here")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn agents_are_recorded_signed_and_run_again_without_model_and_tools() {
    let Some(tools) = tools() else { return };
    let folder = tempfile::tempdir().unwrap();
    let examples = project_root().join("examples/agents");
    let aimock = Aimock::start(&tools, folder.path(), &examples.join("model"));
    for name in ["python/agent.py", "node/agent.mjs"] {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(RUNSEAL, folder.path());
        let arguments = [
            "proxy",
            "record",
            "--recording",
            "model_io.json",
            "--upstream",
            &aimock.url,
        ];
        let proxy = Service::runseal(folder.path(), &arguments);
        let python = tools.join("venv/bin/python").display().to_string();
        let server = examples.join("tools.py").display().to_string();
        let record = [
            RUNSEAL,
            "mcp",
            "record",
            "--recording",
            "tools.json",
            "--",
            &python,
            &server,
        ];
        let seen = agent(&tools, folder.path(), name, &proxy.url, &record);
        let (code, told) = proxy.stop();
        assert_eq!(code, Some(0), "{told}");
        assert!(
            seen.ends_with("There are 17 apples and pears together.\n"),
            "{seen}"
        );
        assert!(
            seen.contains("-> 12\n") && seen.contains("-> 5\n"),
            "{seen}"
        );
        let made = recording(&bench.path("model_io.json"));
        let calls = &made["interactions"][0]["reading"]["tool_calls"];
        assert_eq!(calls[1]["name"], "stock", "{calls}");
        assert_eq!(
            bench.run(&["verify", "model_io.json", "tools.json"]).code,
            Some(0)
        );
        assert_eq!(bench.run(&["keygen", "-o", "key.pem"]).code, Some(0));
        for file in ["model_io.json", "tools.json"] {
            let signed = bench.run(&["sign", file, "--key", "key.pem"]);
            assert_eq!(signed.code, Some(0), "{}", signed.stderr);
        }

        let proxy = Service::runseal(
            folder.path(),
            &["proxy", "replay", "--recording", "model_io.json"],
        );
        let replay = [RUNSEAL, "mcp", "replay", "--recording", "tools.json"];
        let again = agent(&tools, folder.path(), name, &proxy.url, &replay);
        let (code, told) = proxy.stop();
        assert_eq!(code, Some(0), "{told}");
        assert_eq!(seen, again, "{name}");
        let spans = bench.run(&["export", "otel", "tools.json"]);
        assert!(
            spans.stdout.contains("execute_tool stock"),
            "{}",
            spans.stdout
        );
    }
}

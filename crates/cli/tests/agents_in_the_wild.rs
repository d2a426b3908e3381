//! The agents of examples/agents: recorded against a model server and a tool server, signed, and run again
//! with neither of them there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::proxy_support::{Aimock, RUNSEAL, Service, recording, tools};
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

#[test]
fn agents_run_in_the_sandbox_reach_the_model_alone_and_are_replayed_from_their_bundle() {
    let Some(tools) = tools() else { return };
    if runseal_testkit::isolation::sandbox().is_none() {
        return;
    }
    let tools = tools.canonicalize().unwrap();
    let examples = project_root().join("examples/agents");
    let outside = tempfile::tempdir().unwrap();
    for name in ["python/agent.py", "node/agent.mjs"] {
        let aimock = Aimock::start(&tools, outside.path(), &examples.join("model"));
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(RUNSEAL, folder.path());
        bench.write(name, std::fs::read(examples.join(name)).unwrap());
        bench.write(
            "tools.py",
            std::fs::read(examples.join("tools.py")).unwrap(),
        );
        let python = tools.join("venv/bin/python").display().to_string();
        let program = match name.ends_with(".py") {
            true => python.as_str(),
            false => "node",
        };
        let given = format!("AGENT_TOOLS={}", tools.display());
        let modules = tools.join("node_modules").display().to_string();
        let arguments = [
            "record",
            "--run-id",
            "one",
            "--env",
            &given,
            "--input",
            &modules,
            "--proxy",
            "--upstream",
            &aimock.url,
            "--",
            program,
            name,
            QUESTION,
            "--",
            &python,
            "tools.py",
        ];
        let mut command = bench.command(&arguments);
        // As in a shell where the environment of the tool server is active.
        let path = format!("{}:/usr/bin:/bin", tools.join("venv/bin").display());
        command.env("PATH", &path);
        // The key is for the upstream; the agent gets to see a stand-in.
        command.env("OPENAI_API_KEY", "sk-proj-0123456789abcdefghij0123");
        command.env("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdefghij0123");
        let ran = runseal_testkit::cli::Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        drop(aimock);
        let said = bench.read("RUN_BUNDLE/one/logs/stdout.txt");
        let last = "There are 17 apples and pears together.\n";
        assert!(said.ends_with(last), "{name}: {said}");
        let verdict = bench.run(&["verify", "RUN_BUNDLE/one", "--strict"]);
        assert_eq!(verdict.code, Some(0), "{name}: {verdict:?}");
        let mut again = bench.command(&["replay", "RUN_BUNDLE/one"]);
        let again = again.env("PATH", &path).output().unwrap();
        let again = runseal_testkit::cli::Ran::from(again);
        assert_eq!(again.code, Some(0), "{name}: {again:?}");
    }
}

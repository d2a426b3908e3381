//! What other systems run of us: the scripts of the GitHub action, the GitLab job, the pre-commit hook.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use runseal_testkit::project_root;

/// A command with our program on PATH, in `folder`.
fn with_runseal(program: impl AsRef<Path>, folder: &Path) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_runseal")).parent().unwrap();
    let mut path = ours.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = Command::new(program.as_ref());
    command.current_dir(folder).env("PATH", path);
    command
}

fn vector(name: &str) -> PathBuf {
    fs::canonicalize(project_root().join("vectors").join(name).join("input.json")).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the action's verifying step; gives how it ended, its outputs and its summary.
fn verify_step(folder: &Path, variables: &[(&str, &str)]) -> (Output, String, String) {
    let (outputs, summary) = (folder.join("outputs"), folder.join("summary"));
    fs::write(&outputs, "").unwrap();
    fs::write(&summary, "").unwrap();
    let ran = with_runseal(project_root().join("integrations/github/verify"), folder)
        .envs(variables.iter().copied())
        .env("GITHUB_OUTPUT", &outputs)
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    (ran, read(&outputs), read(&summary))
}

#[test]
fn action_verifies_and_leaves_sarif_and_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = folder.path().join("evidence");
    fs::create_dir(&evidence).unwrap();
    fs::copy(
        vector("context-bundle/ok-complete"),
        evidence.join("good.json"),
    )
    .unwrap();
    let (ran, outputs, summary) = verify_step(folder.path(), &[("RUNSEAL_PATHS", "evidence")]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stdout));
    assert!(outputs.contains("ok=true"), "{outputs}");
    assert!(summary.contains("Everything holds."), "{summary}");

    fs::copy(
        vector("context-bundle/bs20-content-changed"),
        evidence.join("bad.json"),
    )
    .unwrap();
    let (ran, outputs, summary) = verify_step(folder.path(), &[("RUNSEAL_PATHS", "evidence")]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(outputs.contains("ok=false"), "{outputs}");
    assert!(summary.contains("BS20"), "{summary}");
    let sarif = outputs
        .lines()
        .find_map(|line| line.strip_prefix("sarif="))
        .unwrap();
    let sarif: serde_json::Value = serde_json::from_slice(&fs::read(sarif).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert!(!results.is_empty());
}

#[test]
fn action_fails_where_nothing_is_found_or_asked() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let (ran, outputs, _) = verify_step(folder.path(), &[("RUNSEAL_PATHS", "empty")]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(outputs.contains("ok=false"), "{outputs}");
    let (ran, _, _) = verify_step(folder.path(), &[("RUNSEAL_PATHS", "  \n ")]);
    assert_eq!(ran.status.code(), Some(64));

    // What stands in a path is never run, nor taken for an option.
    let (ran, _, _) = verify_step(
        folder.path(),
        &[("RUNSEAL_PATHS", "$(touch${IFS}made) --lenient")],
    );
    assert_eq!(ran.status.code(), Some(2));
    assert!(!folder.path().join("made").exists());
}

#[test]
fn action_demands_signatures_where_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        vector("context-bundle/ok-complete"),
        folder.path().join("good.json"),
    )
    .unwrap();
    let asked = [
        ("RUNSEAL_PATHS", "good.json"),
        ("RUNSEAL_REQUIRE_SIGNED", "true"),
    ];
    let (ran, _, summary) = verify_step(folder.path(), &asked);
    assert_eq!(ran.status.code(), Some(1), "{summary}");
}

#[test]
fn action_installs_only_what_has_the_digest() {
    let folder = tempfile::tempdir().unwrap();
    let releases = folder.path().join("releases/v9.9.9");
    let name = "runseal-9.9.9-x86_64-linux";
    let program = folder.path().join(name).join("bin/runseal");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::create_dir_all(&releases).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_runseal"), &program).unwrap();
    let archive = releases.join(format!("{name}.tar.gz"));
    let packed = Command::new("tar")
        .arg("-czf")
        .args([archive.as_path(), Path::new(name)])
        .current_dir(folder.path())
        .status();
    assert!(packed.unwrap().success());
    let digest = runseal::digest(&fs::read(&archive).unwrap());
    let install = |version: &str, sha256: &str| {
        let paths = folder.path().join("paths");
        fs::write(&paths, "").unwrap();
        let ran = with_runseal(
            project_root().join("integrations/github/install"),
            folder.path(),
        )
        .env("RUNSEAL_VERSION", version)
        .env("RUNSEAL_SHA256", sha256)
        .env(
            "RUNSEAL_RELEASES",
            format!("file://{}", folder.path().join("releases").display()),
        )
        .env("GITHUB_PATH", &paths)
        .output()
        .unwrap();
        (ran, fs::read_to_string(paths).unwrap())
    };
    let (ran, paths) = install("9.9.9", &digest);
    assert_eq!(
        ran.status.code(),
        Some(0),
        "{}{}",
        text(&ran.stdout),
        text(&ran.stderr)
    );
    assert!(Path::new(paths.trim()).join("runseal").exists());
    let (ran, paths) = install("9.9.9", &"0".repeat(64));
    assert_eq!((ran.status.code(), paths.as_str()), (Some(1), ""));
    for (version, sha256) in [
        ("9.9.9", ""),
        ("../../x", digest.as_str()),
        ("latest", &digest),
    ] {
        let (ran, paths) = install(version, sha256);
        assert_eq!(
            (ran.status.code(), paths.as_str()),
            (Some(64), ""),
            "{version}"
        );
    }
}

#[test]
fn gitlab_job_ends_as_the_verifier_does() {
    let template =
        fs::read_to_string(project_root().join("integrations/gitlab/verify.yml")).unwrap();
    let script = template.split("  script:\n").nth(1).unwrap();
    let script = script.split("  artifacts:").next().unwrap();
    let lines = script
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let script = lines.collect::<Vec<_>>().join("\n");
    let folder = tempfile::tempdir().unwrap();
    let run = |paths: &str| {
        let ran = with_runseal("sh", folder.path())
            .args(["-ec", &script])
            .env("RUNSEAL_PATHS", paths)
            .env("RUNSEAL_OPTIONS", "")
            .output()
            .unwrap();
        ran.status.code()
    };
    fs::copy(
        vector("context-bundle/ok-complete"),
        folder.path().join("good.json"),
    )
    .unwrap();
    assert_eq!(run("good.json"), Some(0));
    fs::copy(
        vector("context-bundle/bs20-content-changed"),
        folder.path().join("bad.json"),
    )
    .unwrap();
    assert_eq!(run("good.json bad.json"), Some(1));
    let junit = fs::read_to_string(folder.path().join("runseal.xml")).unwrap();
    assert!(junit.contains("<failure"), "{junit}");
    assert_eq!(run("nothing"), Some(2));
}

#[test]
fn pre_commit_hook_runs_the_verifier_over_the_repository() {
    let hooks = fs::read_to_string(project_root().join(".pre-commit-hooks.yaml")).unwrap();
    let entries = hooks
        .lines()
        .filter_map(|line| line.strip_prefix("  entry: "));
    let entries: Vec<_> = entries.collect();
    assert_eq!(entries, ["runseal verify .", "runseal lint"]);
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        vector("context-bundle/ok-complete"),
        folder.path().join("bundle.json"),
    )
    .unwrap();
    let ran = with_runseal("sh", folder.path())
        .args(["-c", entries[0]])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stdout));
}

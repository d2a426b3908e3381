//! What other systems run of us: the scripts of the GitHub action, the GitLab job, the pre-commit hook.

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

    // A command in a path is never run, nor taken for an option.
    let (ran, _, _) = verify_step(
        folder.path(),
        &[("RUNSEAL_PATHS", "$(touch${IFS}made) --lenient")],
    );
    assert_eq!(ran.status.code(), Some(2));
    assert!(!folder.path().join("made").exists());
}

#[test]
fn action_summary_stays_within_what_the_runner_shows() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = folder.path().join("evidence");
    // Findings of a file each, with names of files that make their lines long.
    let name = "é".repeat(120);
    let deep = (0..15).fold(evidence, |folder, _| folder.join(&name));
    fs::create_dir_all(&deep).unwrap();
    for at in 0..150 {
        fs::write(deep.join(format!("{at}.json")), "{\"bundle_version\":").unwrap();
    }
    let (ran, _, summary) = verify_step(folder.path(), &[("RUNSEAL_PATHS", "evidence")]);
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).len() > 1 << 19);
    let block = summary.lines().filter(|line| line.starts_with("    "));
    let longest = block.map(|line| line.chars().count()).max().unwrap();
    assert_eq!(longest, 4 + 1000 + 1, "{longest}");
    assert!(summary.len() < 1 << 20, "{}", summary.len());
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
fn action_takes_no_demand_that_is_misspelt() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        vector("context-bundle/ok-complete"),
        folder.path().join("good.json"),
    )
    .unwrap();
    let paths = ("RUNSEAL_PATHS", "good.json");
    for (name, value) in [
        ("RUNSEAL_STRICT", "True"),
        ("RUNSEAL_STRICT", "1"),
        ("RUNSEAL_REQUIRE_SIGNED", "yes"),
        ("RUNSEAL_UPLOAD_SARIF", "on"),
        ("RUNSEAL_SIGNER", "ssh-ed25519 AAAA"),
        ("RUNSEAL_SHA256", "00"),
    ] {
        let (ran, outputs, _) = verify_step(folder.path(), &[paths, (name, value)]);
        assert_eq!(
            (ran.status.code(), outputs.as_str()),
            (Some(64), ""),
            "{name}={value}"
        );
    }
    for value in ["", "false"] {
        let (ran, _, _) = verify_step(folder.path(), &[paths, ("RUNSEAL_STRICT", value)]);
        assert_eq!(ran.status.code(), Some(0), "{value}");
    }
    let (ran, _, _) = verify_step(folder.path(), &[paths, ("PATH", "/usr/bin:/bin")]);
    assert_eq!(ran.status.code(), Some(127));
    assert!(text(&ran.stdout).contains("runseal is not on PATH"));
}

#[test]
fn action_lets_no_file_name_speak_to_the_runner() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["##[error]hello", "::error::hello", "::stop-commands::x"];
    for name in names {
        let evidence = folder.path().join("evidence").join(name);
        fs::create_dir_all(&evidence).unwrap();
        fs::copy(
            vector("context-bundle/bs20-content-changed"),
            evidence.join("bad.json"),
        )
        .unwrap();
    }
    let asked = [("RUNSEAL_PATHS", "evidence no::error::where")];
    let (ran, _, _) = verify_step(folder.path(), &asked);
    let printed = text(&ran.stdout);
    assert_eq!(text(&ran.stderr), "");
    let (begin, rest) = printed.split_once('\n').unwrap();
    let token = begin.strip_prefix("::stop-commands::").unwrap();
    assert_eq!(token.len(), 32, "{token}");
    let (told, after) = rest.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(names.iter().all(|name| told.contains(name)), "{told}");
    assert_eq!(
        after,
        "::error::Something could not be read, or nothing was found.\n"
    );
    let (again, _, _) = verify_step(folder.path(), &asked);
    assert!(
        !text(&again.stdout).contains(token),
        "the token is not random"
    );
}

/// A folder of releases with one release of the program under test: `v9.9.9`, packed as releases are.
struct Releases {
    folder: tempfile::TempDir,
    digest: String,
}

const ARCHIVE: &str = "runseal-9.9.9-x86_64-linux";
const EVIDENCE: &str = "runseal-9.9.9-release";

impl Releases {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(ARCHIVE).join("bin/runseal");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::create_dir_all(folder.path().join("releases/v9.9.9")).unwrap();
        runseal_testkit::folders::copy_program(env!("CARGO_BIN_EXE_runseal"), &program);
        let mut releases = Self {
            folder,
            digest: String::new(),
        };
        let archive = releases.pack(ARCHIVE);
        releases.digest = runseal::digest(&fs::read(archive).unwrap());
        releases
    }

    /// Packs the folder `name` into the release.
    fn pack(&self, name: &str) -> PathBuf {
        let archive = self.published(&format!("{name}.tar.gz"));
        // The program under test is large; how well it is packed does not matter.
        let packed = Command::new("tar")
            .args(["--use-compress-program", "gzip -1", "-cf"])
            .args([archive.as_path(), Path::new(name)])
            .current_dir(self.folder.path())
            .status();
        assert!(packed.unwrap().success());
        archive
    }

    fn published(&self, name: &str) -> PathBuf {
        self.folder.path().join("releases/v9.9.9").join(name)
    }

    /// Seals and signs what the release is made of, as `.ci/release` does; gives the signer's public key.
    fn sign(&self) -> String {
        let digest = &self.digest;
        fs::write(
            self.published("SHA256SUMS"),
            format!("{digest}  {ARCHIVE}.tar.gz\n"),
        )
        .unwrap();
        let key = self.folder.path().join("key");
        let made = with_runseal("ssh-keygen", self.folder.path())
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "releases", "-f"])
            .arg(&key)
            .status();
        assert!(made.unwrap().success());
        let sealed = with_runseal(
            project_root().join("packages/release/evidence"),
            &project_root(),
        )
        .arg(env!("CARGO_BIN_EXE_runseal"))
        .arg(self.folder.path().join("releases/v9.9.9"))
        .arg(&key)
        .args(["9.9.9", &"0".repeat(40)])
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .unwrap();
        let told = format!("{}{}", text(&sealed.stdout), text(&sealed.stderr));
        assert!(sealed.status.success(), "{told}");
        let public = fs::read_to_string(key.with_extension("pub")).unwrap();
        public.trim().to_owned()
    }

    /// Runs the action's installing step; gives how it ended and what it put on PATH.
    fn install(&self, version: &str, sha256: &str, signer: &str) -> (Output, String) {
        let paths = self.folder.path().join("paths");
        fs::write(&paths, "").unwrap();
        let script = project_root().join("integrations/github/install");
        let releases = self.folder.path().join("releases");
        let ran = with_runseal(script, self.folder.path())
            .env("RUNSEAL_VERSION", version)
            .env("RUNSEAL_SHA256", sha256)
            .env("RUNSEAL_SIGNER", signer)
            .env("RUNSEAL_RELEASES", format!("file://{}", releases.display()))
            .env("GITHUB_PATH", &paths)
            .output()
            .unwrap();
        (ran, fs::read_to_string(paths).unwrap())
    }
}

#[test]
fn action_installs_only_what_has_the_digest() {
    let releases = Releases::new();
    let digest = releases.digest.as_str();
    let (ran, paths) = releases.install("9.9.9", digest, "");
    let told = format!("{}{}", text(&ran.stdout), text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{told}");
    assert!(Path::new(paths.trim()).join("runseal").exists());
    let (ran, paths) = releases.install("9.9.9", &"0".repeat(64), "");
    assert_eq!((ran.status.code(), paths.as_str()), (Some(1), ""));
    for (version, sha256, signer) in [
        ("9.9.9", "", ""),
        ("../../x", digest, ""),
        ("latest", digest, ""),
        (
            "9.9.9",
            digest,
            "ssh-ed25519 AAAA\nrelease ssh-ed25519 BBBB",
        ),
    ] {
        let (ran, paths) = releases.install(version, sha256, signer);
        let ended = (ran.status.code(), paths.as_str());
        assert_eq!(ended, (Some(64), ""), "{version} {signer}");
    }
}

#[test]
fn action_installs_only_what_the_named_key_signed() {
    let releases = Releases::new();
    let digest = releases.digest.as_str();
    let refused = |signer: &str| {
        let (ran, paths) = releases.install("9.9.9", digest, signer);
        assert_eq!((ran.status.code(), paths.as_str()), (Some(1), ""));
        assert!(text(&ran.stdout).contains("::error::"), "{ran:?}");
    };
    let stranger =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKqr6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq";
    refused(stranger);
    let signer = releases.sign();
    let (ran, paths) = releases.install("9.9.9", digest, &signer);
    let told = format!("{}{}", text(&ran.stdout), text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0), "{told}");
    assert!(!paths.is_empty());
    refused(stranger);

    // A list of the release that the signed one does not name.
    let unpacked = Command::new("tar")
        .arg("-xzf")
        .arg(releases.published(&format!("{EVIDENCE}.tar.gz")))
        .current_dir(releases.folder.path())
        .status();
    assert!(unpacked.unwrap().success());
    let list = releases
        .folder
        .path()
        .join(EVIDENCE)
        .join("artifacts/SHA256SUMS");
    let mut longer = fs::read(&list).unwrap();
    longer.extend_from_slice(b"\n");
    fs::remove_file(&list).unwrap();
    fs::write(&list, longer).unwrap();
    releases.pack(EVIDENCE);
    refused(&signer);

    // Evidence without that list.
    fs::remove_file(&list).unwrap();
    releases.pack(EVIDENCE);
    refused(&signer);
}

#[test]
fn release_evidence_verifies_with_the_policy_that_names_its_key() {
    let releases = Releases::new();
    let signer = releases.sign();
    let folder = releases.folder.path();
    let policy = format!(
        "runseal-trust = 1\nversion = 1\n\n[[signer]]\nname = \"releases\"\nkey = \"{signer}\"\n\n\
         [[rule]]\nname = \"releases\"\nformats = [\"run-bundle\"]\nsigners = [\"releases\"]\n"
    );
    fs::write(folder.join("policy.toml"), policy).unwrap();
    let verify = || {
        let ran = with_runseal(env!("CARGO_BIN_EXE_runseal"), folder)
            .args(["verify", "--trust", "policy.toml"])
            .arg(releases.published(&format!("{EVIDENCE}.tar.gz")))
            .output()
            .unwrap();
        (ran.status.code(), text(&ran.stdout))
    };
    let (code, told) = verify();
    assert_eq!(code, Some(0), "{told}");
    for form in ["intoto.jsonl", "minisig", "sig"] {
        let signature = releases.published(&format!("{EVIDENCE}.tar.gz.{form}"));
        fs::remove_file(signature).unwrap();
    }
    assert_eq!(verify().0, Some(1));
}

#[test]
fn release_is_compiled_without_its_key_and_has_the_notes_of_its_version() {
    let workflow = project_root().join(".github/workflows/release.yml");
    let workflow = fs::read_to_string(workflow).unwrap();
    let with_key = workflow
        .split("      - ")
        .filter(|step| step.contains("RELEASE_KEY"));
    let with_key: Vec<_> = with_key.collect();
    assert_eq!(with_key.len(), 1);
    assert!(!with_key[0].contains(".ci/"), "{}", with_key[0]);

    let notes = |version: &str| {
        let script = project_root().join("packages/release/notes");
        Command::new(script).arg(version).output().unwrap()
    };
    let this = notes(env!("CARGO_PKG_VERSION"));
    let told = text(&this.stdout);
    assert!(this.status.success() && told.contains("\n### "), "{told}");
    assert!(!told.contains("\n## "), "{told}");
    assert!(!notes("9.9.9").status.success());
}

/// The lines that GitLab's runner hands to one shell.
fn gitlab_script() -> String {
    let template =
        fs::read_to_string(project_root().join("integrations/gitlab/verify.yml")).unwrap();
    let (_, before) = template.split_once("    - |\n").unwrap();
    let (before, script) = before.split_once("  script:\n").unwrap();
    let (script, _) = script.split_once("  artifacts:").unwrap();
    let lines = script
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    format!("{before}{}", lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn gitlab_job_ends_as_the_verifier_does() {
    let script = gitlab_script();
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
fn gitlab_job_installs_only_what_has_the_digest() {
    let releases = Releases::new();
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        vector("context-bundle/ok-complete"),
        folder.path().join("good.json"),
    )
    .unwrap();
    let archive = releases.published(&format!("{ARCHIVE}.tar.gz"));
    let run = |sha256: &str| {
        // Nothing but the system's programs is on PATH, so what runs is what was installed.
        let ran = Command::new("sh")
            .args(["-ec", &gitlab_script()])
            .current_dir(folder.path())
            .env("PATH", "/usr/bin:/bin")
            .env("RUNSEAL_ARCHIVE", format!("file://{}", archive.display()))
            .env("RUNSEAL_SHA256", sha256)
            .env("RUNSEAL_PATHS", "good.json")
            .env("RUNSEAL_OPTIONS", "")
            .output()
            .unwrap();
        ran.status.code()
    };
    assert_eq!(run(&releases.digest), Some(0));
    assert_eq!(run(&"0".repeat(64)), Some(1));
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
    let run = || {
        let ran = with_runseal("sh", folder.path())
            .args(["-c", entries[0]])
            .output()
            .unwrap();
        (ran.status.code(), text(&ran.stdout))
    };
    assert_eq!(run().0, Some(0), "{}", run().1);

    // It runs whatever is committed: any file may be part of a bundle.
    let (_, hook) = hooks.split_once("- id: runseal-verify\n").unwrap();
    let (hook, _) = hook.split_once("- id: ").unwrap();
    assert!(hook.contains("  always_run: true\n"), "{hook}");
    assert!(hook.contains("  pass_filenames: false\n"), "{hook}");
    assert!(!hook.contains("  files: "), "{hook}");
    let bundle = project_root().join("vectors/run-bundle/ok-recorded/input");
    runseal_testkit::folders::copy_folder(&bundle, &folder.path().join("run"));
    assert_eq!(run().0, Some(0), "{}", run().1);
    let artifacts = fs::read_dir(folder.path().join("run/artifacts")).unwrap();
    let artifact = artifacts
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_file())
        .unwrap();
    fs::write(&artifact, "changed").unwrap();
    assert_eq!(run().0, Some(1), "{}", run().1);
    fs::remove_file(&artifact).unwrap();
    assert_eq!(run().0, Some(1), "{}", run().1);

    // File names come behind the arguments, and one that begins with `-` is a file name.
    let (_, hook) = hooks.split_once("- id: runseal-lint\n").unwrap();
    assert!(hook.contains("  args: [--]\n"), "{hook}");
    fs::create_dir(folder.path().join("-x")).unwrap();
    let intent = project_root().join("examples/intents/clear.json");
    fs::copy(intent, folder.path().join("-x/intent.json")).unwrap();
    let linted = with_runseal("sh", folder.path())
        .args(["-c", &format!("{} -- -x/intent.json", entries[1])])
        .output()
        .unwrap();
    assert_eq!(linted.status.code(), Some(0), "{linted:?}");
}

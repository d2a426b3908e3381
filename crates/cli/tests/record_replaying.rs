//! What a replay of a recorded command is given and what it says: limits, secrets, programs of the
//! folder, what a listing cannot show again, and bundles that do not hold.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::record_support::Project;
use runseal_testkit::cli::Ran;
use runseal_testkit::project_root;
use runseal_testkit::skip::need_isolation;

fn replay(project: &Project, run_id: &str, more: &[&str]) -> Ran {
    let bundle = format!("RUN_BUNDLE/{run_id}");
    project.run(&[&["replay", bundle.as_str()], more].concat())
}

fn environment(project: &Project, run_id: &str) -> String {
    fs::read_to_string(project.bundle(run_id).join("RUN_ENVIRONMENT.json")).unwrap()
}

#[test]
fn bundle_that_breaks_an_integrity_rule_is_not_replayable() {
    let project = Project::new();
    let vectors = project_root().join("vectors/run-bundle");
    let mut tried = 0;
    for case in fs::read_dir(vectors).unwrap() {
        let case = case.unwrap();
        let name = case.file_name().into_string().unwrap();
        if !["rb13-", "rb14-", "rb15-", "rb16-"]
            .iter()
            .any(|rule| name.starts_with(rule))
        {
            continue;
        }
        let input = case.path().join("input");
        let ran = project.run(&["replay", input.to_str().unwrap()]);
        assert_eq!(ran.code, Some(1), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("NOT REPLAYABLE"), "{name}: {ran:?}");
        let rule = name[..4].to_uppercase();
        assert!(ran.stdout.contains(&rule), "{name}: {ran:?}");
        tried += 1;
    }
    assert!(tried >= 20, "{tried}");
}

#[test]
fn failed_run_that_says_it_did_not_fail_is_shown_as_failed() {
    let project = Project::new();
    let vectors = project_root().join("vectors/run-bundle");
    for case in [
        "rb15-failed-and-says-it-did-not",
        "rb15-did-not-fail-and-says-it-did",
    ] {
        let input = vectors.join(case).join("input");
        let input = input.to_str().unwrap();
        let whole = project.run(&["verify", input]);
        assert_eq!(whole.code, Some(1), "{case}: {whole:?}");
        // At the document level nothing is wrong with it, and it is still one that failed.
        let document = project.run(&["verify", "--lenient", input]);
        assert_eq!(document.code, Some(0), "{case}: {document:?}");
        assert!(document.stdout.contains("failed"), "{case}: {document:?}");
    }
}

#[test]
fn limits_of_a_replay_are_the_given_ones_and_reaching_one_is_not_a_divergence() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("large", "head -c 3000000 /dev/zero > big");
    let ran = replay(&project, "large", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Sizes are written as for `record`, and a week is not too long.
    let ran = replay(&project, "large", &["--disk", "4M", "--timeout", "604800"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    project.record_sh("slow", "sleep 2; echo done");
    let ran = replay(&project, "slow", &["--timeout", "1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("ran longer than 1 s"), "{said}");
    assert!(said.contains("nothing was compared"), "{said}");
    assert!(said.contains("`--timeout` gives it more time"), "{said}");
    assert!(!said.contains("DIVERGED"), "{said}");
    let ran = replay(&project, "large", &["--artifact-bytes", "1M"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("`--disk 3000000` lets it write as much"),
        "{ran:?}"
    );
}

#[test]
fn secret_is_given_again_and_never_shown() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let run = |value: &str, arguments: &[&str]| -> Ran {
        let mut command = project.command(arguments);
        command.env("TOKEN", value).env("OTHER", "unused-value");
        command.output().unwrap().into()
    };
    // A literal value would be found in the command itself, and nothing would be sealed.
    let script = "printf %s \"$TOKEN\" | sha256sum; case $TOKEN in wrong*) echo \"$TOKEN\";; esac";
    let recorded = run(
        "right-value",
        &[
            "record", "--run-id", "one", "--secret", "TOKEN", "--", "sh", "-c", script,
        ],
    );
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let without = run("right-value", &["replay", "RUN_BUNDLE/one"]);
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stdout.contains("`--secret NAME`"), "{without:?}");
    let with = run(
        "right-value",
        &["replay", "RUN_BUNDLE/one", "--secret", "TOKEN"],
    );
    assert_eq!(with.code, Some(0), "{with:?}");
    let wrong = run(
        "wrong-value",
        &["replay", "RUN_BUNDLE/one", "--secret", "TOKEN"],
    );
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(!wrong.stdout.contains("wrong-value"), "{wrong:?}");
    assert!(wrong.stdout.contains("[secret TOKEN]"), "{wrong:?}");
    let why = "the value of `TOKEN` may be another than the recorded one";
    assert!(wrong.stdout.contains(why), "{wrong:?}");
    let other = run(
        "right-value",
        &[
            "replay",
            "RUN_BUNDLE/one",
            "--secret",
            "TOKEN",
            "--secret",
            "OTHER",
        ],
    );
    assert!(other.stdout.contains("had no secret `OTHER`"), "{other:?}");
}

#[test]
fn secret_of_several_lines_is_shown_nowhere_in_any_spelling() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let run = |value: &str, arguments: &[&str]| -> Ran {
        let mut command = project.command(arguments);
        command.env("KEY_FILE", value).output().unwrap().into()
    };
    let lines = [
        "-----BEGIN KEY-----",
        "AAAAsecretAAAA/+",
        "-----END KEY-----",
    ];
    let key = lines.join("\n");
    for (name, script) in [
        ("plain", "echo \"$KEY_FILE\""),
        ("numbered", "echo \"$KEY_FILE\" | cat -n"),
        ("one", "echo \"x$KEY_FILE\" | sed -n 2p"),
        ("base64", "printf %s \"$PAD$KEY_FILE\" | base64 -w 20"),
        ("hex", "printf %s \"$KEY_FILE\" | od -An -tx1"),
        ("name", "echo x > \"$(echo \"$KEY_FILE\" | sed -n 3p)\""),
    ] {
        let script = format!("case $KEY_FILE in none) ;; *) {script};; esac");
        let arguments = [
            "record", "--run-id", name, "--secret", "KEY_FILE", "--env", "PAD=x",
        ];
        let recorded = run(
            "none",
            &[&arguments[..], &["--", "sh", "-c", &script]].concat(),
        );
        assert_eq!(recorded.code, Some(0), "{name}: {recorded:?}");
        let bundle = format!("RUN_BUNDLE/{name}");
        let page = format!("{name}.html");
        for more in [["--report", &page], ["--format", "json"]] {
            let arguments = ["replay", &bundle, "--secret", "KEY_FILE"];
            let ran = run(&key, &[&arguments[..], &more].concat());
            assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(told.contains("[secret KEY_FILE]"), "{name}: {told}");
            let page = fs::read_to_string(project.path(&page)).unwrap();
            for spelling in [
                "AAAAsecret",
                "END KEY",
                "QUFBc2Vj",
                "FBQUFzZWNy",
                "BQUFBc2Vj",
                "73 65 63",
            ] {
                assert!(!told.contains(spelling), "{name}: {told}");
                assert!(!page.contains(spelling), "{name}: {spelling}");
            }
        }
    }
}

#[test]
fn folder_of_given_files_is_searched_through_no_link_and_for_fitting_sizes_only() {
    if !need_isolation() {
        return;
    }
    let both = [Some(Project::new()), Project::of_ordinary_user()];
    for project in both.into_iter().flatten() {
        let data = project.write("data", "0123456789");
        let arguments = ["--reference-above", "5", "--", "cat", "data"];
        project.record("large", &arguments);
        let kept = project.write("../kept/data", "0123456789");
        fs::remove_file(data).unwrap();
        fs::create_dir(project.path("../given")).unwrap();
        let given = project.path("../given").canonicalize().unwrap();
        symlink(&kept, given.join("file")).unwrap();
        symlink(kept.parent().unwrap(), given.join("folder")).unwrap();
        let closed = project.write("../given/closed", "of another size");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let replay =
            |given: &Path| replay(&project, "large", &["--input", given.to_str().unwrap()]);
        let ran = replay(&given);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.stdout.contains("give it with `--input PATH`"),
            "{ran:?}"
        );
        // Whoever names a link means what it leads to.
        for name in ["file", "folder"] {
            let ran = replay(&given.join(name));
            assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        }
    }
}

#[test]
fn program_of_the_folder_on_the_path_is_the_one_of_the_copy() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let tool = project.write("bin/tool", "#!/bin/sh\ncat \"${0%/*}/data.txt\"\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    project.write("bin/data.txt", "its own data\n");
    for level in ["landlock", "none"] {
        let run = |arguments: &[&str]| -> Ran {
            let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
            project
                .command(arguments)
                .env("PATH", path)
                .output()
                .unwrap()
                .into()
        };
        let recorded = run(&[
            "record",
            "--sandbox",
            level,
            "--run-id",
            level,
            "--",
            "tool",
        ]);
        assert_eq!(recorded.code, Some(0), "{level}: {recorded:?}");
        assert!(project.bundle(level).join("engine/bin/data.txt").is_file());
        let verified = run(&["verify", &format!("RUN_BUNDLE/{level}")]);
        assert_eq!(verified.code, Some(0), "{level}: {verified:?}");
        // The program is found in the bundle, whatever became of the folder.
        fs::rename(project.path("bin"), project.path("away")).unwrap();
        let bundle = format!("RUN_BUNDLE/{level}");
        let again = run(&["replay", &bundle, "--sandbox", level]);
        fs::rename(project.path("away"), project.path("bin")).unwrap();
        assert_eq!(again.code, Some(0), "{level}: {again:?}");
    }
}

#[test]
fn stack_limit_is_the_callers_and_other_answers_of_the_kernel_are_named() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let command = project.command(&["record", "--run-id", "one", "--", "sh", "-c", "ulimit -s"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -S -s 2048; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(project.path(""))
        .env("PATH", "/usr/bin:/bin");
    let ran: Ran = limited.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let printed = fs::read_to_string(project.bundle("one").join("logs/stdout.txt")).unwrap();
    assert_eq!(printed, "2048\n");
    let said = environment(&project, "one");
    assert!(
        said.contains("what the kernel answers about itself"),
        "{said}"
    );
}

#[test]
fn names_that_a_replay_cannot_show_are_gaps() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("folder/back\\slash", "x");
    project.write("folder/plain", "x");
    let made = Command::new("mkfifo")
        .arg(project.path("folder/pipe"))
        .status();
    assert!(made.unwrap().success());
    project.record_sh("listed", "ls folder");
    let said = environment(&project, "listed");
    assert!(
        said.contains("a replay cannot show all of its names"),
        "{said}"
    );
    assert!(said.contains("the named pipe `pipe`"), "{said}");
    assert!(said.contains("slash"), "{said}");
    project.record_sh("looked", "test -p folder/pipe && echo pipe");
    let said = environment(&project, "looked");
    let told = "a replay does not have the named pipe `folder/pipe`";
    assert!(said.contains(told), "{said}");
    project.record_sh("outside", "ls /usr > /dev/null");
    let said = environment(&project, "outside");
    let told = "the names in them are not kept: /usr";
    assert!(said.contains(told), "{said}");
}

#[test]
fn temporary_files_do_not_change_the_bundle() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let mut sums = Vec::new();
    for out in ["a", "b"] {
        // Not by mktemp, which asks for random numbers once in twenty times, which the replay says.
        let script = "f=/tmp/at.$(date +%N); echo x > \"$f\"; cat \"$f\"";
        let mut command = project.command(&[
            "record", "--out", out, "--run-id", "one", "--", "sh", "-c", script,
        ]);
        let ran: Ran = command
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let environment = project.path(out).join("one/RUN_ENVIRONMENT.json");
        let environment = fs::read_to_string(environment).unwrap();
        // How long it took differs, and nothing else.
        let (before, after) = environment.split_once(r#","usage":{"#).unwrap();
        let after = after.split_once('}').unwrap().1;
        let all = fs::read_to_string(project.path(out).join("one/SHA256SUMS.txt")).unwrap();
        let is_same = |line: &&str| {
            !line.ends_with("  RUN_ENVIRONMENT.json") && !line.ends_with("  ARTIFACT_INDEX.json")
        };
        let lines: Vec<&str> = all.lines().filter(is_same).collect();
        sums.push((lines.join("\n"), format!("{before}{after}")));
    }
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn hints_name_what_is_missing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = project.write("plain", "echo hello\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = project.run(&["record", "--", "./plain"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("#!/bin/sh"), "{ran:?}");
}

#[test]
fn engine_is_not_made_of_the_current_folder() {
    let project = Project::new();
    for name in [".", project.path("").to_str().unwrap()] {
        let ran = project.run(&["engine", "init", name, "--lang", "sh"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("is the current folder"), "{ran:?}");
    }
    assert!(
        Path::new(&project.path(""))
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
    let ran = project.run(&["engine", "init", "my engine", "--lang", "sh"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("engine run 'my engine' 'my engine/input.json'"),
        "{ran:?}"
    );
}

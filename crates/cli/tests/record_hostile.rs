//! What a cloned folder, or somebody who changes it meanwhile, cannot have `record` seal.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::record_support::{Project, list};
use runseal_core::digest::Digest;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::{need_isolation, need_root, skip};

const KEY: &str = "PRIVATE-KEY-OF-THE-CALLER";
const LEVELS: [&str; 2] = ["namespaces", "landlock"];

/// A project beside which the caller keeps a private key, to whose folder the link `d` of the project
/// leads; as root and as an ordinary user where that is possible.
fn projects() -> Vec<Project> {
    let all = [Some(Project::new()), Project::of_ordinary_user()];
    let all: Vec<Project> = all.into_iter().flatten().collect();
    for project in &all {
        let key = project.write("../home/.ssh/id", KEY);
        for (path, mode) in [(key.parent().unwrap(), 0o700), (&key, 0o600)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            project.give(path);
        }
        symlink("../home", project.path("d")).unwrap();
        let moved = project.write("x", "hi");
        project.give(&moved);
    }
    // What is as new as the run may be the command's own.
    std::thread::sleep(std::time::Duration::from_millis(50));
    all
}

/// Everything in a bundle.
fn content(bundle: &Path) -> String {
    let files = list(bundle).into_iter().map(|name| {
        let path = bundle.join(&name);
        let bytes = fs::read(path).unwrap_or_default();
        format!("{name}\n{}\n", String::from_utf8_lossy(&bytes))
    });
    files.collect()
}

fn record_at(project: &Project, level: &str, name: &str, script: &str) -> Option<PathBuf> {
    let run_id = format!("{name}-{level}");
    let arguments = ["record", "--sandbox", level, "--run-id", &run_id];
    let ran = project.run(&[&arguments[..], &["--", "sh", "-c", script]].concat());
    let bundle = project.bundle(&run_id);
    assert_eq!(
        ran.code == Some(0),
        bundle.exists(),
        "{name} at {level}: {}",
        ran.stderr
    );
    bundle.exists().then_some(bundle)
}

#[test]
fn files_behind_a_link_of_the_folder_are_not_sealed_whatever_the_command_tries() {
    if !need_isolation() {
        return;
    }
    let tries = [
        ("rename", "mv x d/.ssh/id 2>/dev/null; true"),
        ("link", "ln -f x d/.ssh/id 2>/dev/null; true"),
        ("write", "echo >> d/.ssh/id 2>/dev/null; true"),
        (
            "instead",
            "rm d; mkdir -p d/.ssh; echo own > d/.ssh/id; cat d/.ssh/id; rm -r d; ln -s ../home d",
        ),
        (
            "kept",
            "rm d; mkdir -p d/.ssh; printf PRIVATE-KEY > y; mv y d/.ssh/id; cat d/.ssh/id; ls d/.ssh",
        ),
        (
            "folder",
            "rm d; mkdir -p d/.ssh; mv d/.ssh d/other; mv d/other d/.ssh; ls -R d; rm -r d; ln -s ../home d",
        ),
        (
            "python",
            "mkdir -p __pycache__; cat d/__pycache__/id.pyc 2>/dev/null; true",
        ),
    ];
    for project in projects() {
        for level in LEVELS {
            for (name, script) in tries {
                let Some(bundle) = record_at(&project, level, name, script) else {
                    panic!("{name} at {level} is not sealed");
                };
                assert!(!content(&bundle).contains(KEY), "{name} at {level}");
                assert!(!bundle.join("engine/d").exists(), "{name} at {level}");
            }
        }
    }
}

#[test]
fn names_and_sizes_behind_a_link_of_the_folder_are_not_sealed() {
    if !need_isolation() {
        return;
    }
    let script = "rm d; mkdir -p d/.ssh; ls d/.ssh; test -e d/.ssh/id; touch d/.ssh/id; stat d/.ssh/id >&2; \
                  rm -r d; ln -s ../home d";
    for project in projects() {
        for level in LEVELS {
            let bundle = record_at(&project, level, "names", script).unwrap();
            let environment = fs::read(bundle.join("RUN_ENVIRONMENT.json")).unwrap();
            let environment: serde_json::Value = serde_json::from_slice(&environment).unwrap();
            for what in ["listed", "present"] {
                let told = environment[what].to_string();
                assert!(!told.contains(".ssh"), "{level}: {told}");
            }
        }
    }
}

#[test]
fn file_reached_over_a_link_within_the_folder_is_sealed_where_it_is() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        let own = project.write("sub/own", "own");
        project.give(&own);
        symlink("sub", project.path("inner")).unwrap();
        for level in LEVELS {
            let bundle = record_at(&project, level, "inner", "cat inner/own").unwrap();
            let sealed = fs::read_to_string(bundle.join("engine/sub/own")).unwrap();
            assert_eq!(sealed, "own", "{level}");
        }
    }
}

#[test]
fn folder_that_is_swapped_for_a_link_meanwhile_does_not_choose_what_is_sealed() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        for level in LEVELS {
            let own = project.write("sub/id", "x".repeat(KEY.len()));
            project.give(&own);
            let key = project.path("../home/.ssh/id");
            // The same size and time of change as the file that the command reads.
            let modified = fs::metadata(&key).unwrap().modified().unwrap();
            let file = fs::File::options().write(true).open(&own).unwrap();
            file.set_modified(modified).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            let script = "cat sub/id; sleep 2";
            let run_id = format!("swapped-{level}");
            let arguments = ["record", "--sandbox", level, "--run-id", &run_id];
            let arguments = [&arguments[..], &["--", "sh", "-c", script]].concat();
            let mut command = project.command(&arguments);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut said = [0; 1];
            // What the command prints is passed on at once.
            let mut told = child.stderr.take().unwrap();
            told.read_exact(&mut said).unwrap();
            assert_eq!(said, *b"x");
            fs::rename(project.path("sub"), project.path(level)).unwrap();
            symlink("../home/.ssh", project.path("sub")).unwrap();
            std::io::copy(&mut told, &mut std::io::sink()).unwrap();
            child.wait().unwrap();
            let bundle = project.bundle(&run_id);
            assert!(
                !bundle.exists() || !content(&bundle).contains(KEY),
                "{level}"
            );
            fs::remove_file(project.path("sub")).unwrap();
        }
    }
}

#[test]
fn file_of_the_machine_that_was_not_shown_is_not_hashed() {
    if !need_isolation() {
        return;
    }
    let Ok(outside) = tempfile::tempdir_in("/var/tmp") else {
        skip("nothing can be written to /var/tmp");
        return;
    };
    let secret = outside.path().join("pin");
    fs::write(&secret, "pin 4821").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let digest = Digest::of(b"pin 4821").to_string();
    for project in projects() {
        project.give(outside.path());
        project.give(&secret);
        let script = format!("cat {} 2>/dev/null; true", secret.display());
        for level in LEVELS {
            let bundle = record_at(&project, level, "hashed", &script).unwrap();
            let sealed = content(&bundle);
            assert!(!sealed.contains(&digest), "{level}");
        }
        // Without isolation nothing kept the command from it.
        let bundle = record_at(&project, "none", "hashed", &script).unwrap();
        assert!(content(&bundle).contains(&digest));
    }
}

#[test]
fn root_seals_of_another_users_folder_only_what_that_user_may_read() {
    if !need_isolation() || !need_root() {
        return;
    }
    const OTHER: Option<u32> = Some(12345);
    let project = Project::new();
    let set = |name: &str, mode: u32, owner: Option<u32>| {
        let path = project.path(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&path, owner, owner).unwrap();
    };
    for name in ["of-root", "closed/of-root"] {
        project.write(name, KEY);
    }
    for name in ["own", "public"] {
        project.write(name, name);
    }
    set("", 0o755, OTHER);
    set("of-root", 0o600, None);
    set("closed/of-root", 0o644, None);
    set("closed", 0o700, None);
    set("own", 0o600, OTHER);
    set("public", 0o644, None);
    std::thread::sleep(std::time::Duration::from_millis(50));
    for level in LEVELS {
        let script = "cat own public; cat of-root closed/of-root; ls closed; true";
        let bundle = record_at(&project, level, "others", script).unwrap();
        assert!(!content(&bundle).contains(KEY), "{level}");
        for name in ["own", "public"] {
            let sealed = fs::read_to_string(bundle.join("engine").join(name)).unwrap();
            assert_eq!(sealed, name, "{level}");
        }
    }
}

/// Runs the program in the project, at whose folder `data` something else is mounted that nobody outside sees;
/// nothing where that cannot be done.
fn run_with_mount(project: &Project, mounted: &Path, arguments: &[&str]) -> Option<Ran> {
    let script = "mount --bind \"$1\" data || exit 99; shift; exec \"$@\"";
    let done = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .arg(mounted)
        .arg(env!("CARGO_BIN_EXE_runseal"))
        .args(arguments)
        .current_dir(project.path(""))
        .output()
        .unwrap();
    let ran = Ran::from(done);
    if ran.code == Some(99) || ran.stderr.contains("unshare failed") {
        skip("nothing can be mounted here");
        return None;
    }
    Some(ran)
}

#[test]
fn what_is_mounted_below_the_folder_is_neither_sealed_nor_changed() {
    if !need_isolation() || !need_root() {
        return;
    }
    let scripts = [
        ("removed", "rmdir data"),
        ("made-anew", "rmdir data && mkdir data"),
        ("written", "mkdir -p data; echo x > data/new"),
        ("replaced", "rmdir data; echo x > data"),
        ("read", "ls -A data; cat data/key data/d/x; true"),
    ];
    for level in LEVELS {
        let project = Project::new();
        let key = project.write("../other/key", KEY);
        project.write("../other/d/x", KEY);
        fs::create_dir(project.path("data")).unwrap();
        let other = key.parent().unwrap();
        let before = list(other);
        for (name, script) in scripts {
            for more in [&[][..], &["--apply"]] {
                let run_id = format!("{name}-{}", more.len());
                let start = ["record", "--sandbox", level, "--run-id", &run_id];
                let command = ["--", "sh", "-c", script];
                let all = [&start[..], more, &command].concat();
                let Some(ran) = run_with_mount(&project, other, &all) else {
                    return;
                };
                let bundle = project.bundle(&run_id);
                if bundle.exists() {
                    assert!(!content(&bundle).contains(KEY), "{name} at {level}");
                }
                assert_eq!(list(other), before, "{name} at {level}: {}", ran.stderr);
                if level == "namespaces" && !more.is_empty() && name != "read" {
                    let told = "another file system";
                    assert!(ran.stderr.contains(told), "{name}: {}", ran.stderr);
                }
            }
        }
        assert_eq!(fs::read_to_string(&key).unwrap(), KEY);
    }
}

#[test]
fn file_of_holes_is_not_sealed_unless_its_hash_is_enough() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let file = fs::File::create(project.path("big")).unwrap();
    file.set_len(65 << 20).unwrap();
    let record = |more: &[&str]| {
        let command = ["--run-id", "one", "--", "head", "-c", "1", "big"];
        project.run(&[&["record"], more, &command].concat())
    };
    let ran = record(&[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("`--reference-above 64M`"), "{ran:?}");
    assert!(!project.bundle("one").exists());
    let ran = record(&["--reference-above", "64M"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

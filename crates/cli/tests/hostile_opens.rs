//! Which files the program opens when a stranger's bundle names others: every open of ours is traced, and one outside the
//! places that belong to the work is a failure, whether it succeeds or not.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::record_support::Project;
use crate::record_support::forged::Forged;
use runseal_testkit::skip::{need_isolation, need_program};
use serde_json::{Value, json};

/// What the program may open wherever it runs: libraries, the kernel's own files, the list of users.
const ALLOWED: [&str; 26] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    // The devices that every sandbox has.
    "/dev/full",
    "/dev/pts",
    "/dev/tty",
    "/dev/null",
    "/dev/random",
    "/dev/shm",
    "/dev/urandom",
    "/dev/zero",
    "/etc/alternatives",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    // The layer over the command's folder, which has a file system of its own.
    "/upper",
];

/// Runs the program and gives every path that it opened, or tried to, until it became another program.
fn traced(project: &Project, arguments: &[&str]) -> BTreeSet<PathBuf> {
    let trace = project.path("../trace");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-qq", "-y", "-s", "4096", "-o"])
        .arg(&trace)
        .args(["-e", "trace=open,openat,openat2,creat,execve,execveat"]);
    let plain = project.command(arguments);
    traced
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(project.path(""))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", project.path("../tmp"));
    let ran = traced.output().unwrap();
    assert_ne!(ran.status.code(), None, "{arguments:?}");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.contains("execve("), "nothing was traced: {text}");
    opened_by_us(&text, &project.path(""))
}

fn opened_by_us(trace: &str, working: &Path) -> BTreeSet<PathBuf> {
    let mut others = BTreeSet::new();
    let mut has_begun = false;
    let mut opened = BTreeSet::new();
    for line in trace.lines() {
        let Some((pid, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if call.starts_with("execve") {
            // `env` becomes the program; whatever is executed later is the command.
            let program = call.split('"').nth(1).unwrap_or_default();
            if has_begun {
                others.insert(pid.to_owned());
            }
            has_begun |= program.ends_with("/runseal");
            continue;
        }
        if !has_begun || others.contains(pid) {
            continue;
        }
        opened.extend(path_of(call, working));
    }
    opened
}

/// The path in `openat(5</folder>, "name", …`.
fn path_of(call: &str, working: &Path) -> Option<PathBuf> {
    let (_, arguments) = call.split_once('(')?;
    let (before, rest) = arguments.split_once('"')?;
    let (name, _) = rest.split_once('"')?;
    let folder = match before.split_once('<') {
        Some((_, folder)) => PathBuf::from(folder.split_once('>')?.0),
        None => working.to_owned(),
    };
    let mut plain = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Bundles that name files of the caller in every way that a bundle can name a file.
/// The first ones are valid, so that a replay goes as far as it can.
fn hostile_bundles(project: &Project, secret: &Path) -> Vec<Forged> {
    project.write("a", "a");
    project.record_sh("honest", "cat a > b; echo hi");
    let folder = secret.parent().unwrap();
    let make = |name: &str, change: &dyn Fn(&Forged)| {
        let forged = Forged::copy(&project.bundle("honest"), &project.path(name));
        change(&forged);
        forged.reseal();
        forged
    };
    let names = [
        secret.to_str().unwrap().to_owned(),
        "../../home/secret".to_owned(),
        "engine/../../../home/secret".to_owned(),
        format!("/usr/..{}", secret.display()),
    ];
    let mut bundles = vec![
        make("machine", &|forged| {
            forged.set_command(&["sh", "-c", "cat a > b; echo hi"]);
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                let file = |path: &String| {
                    json!({"path": path, "bytes": 6, "executed": true, "sha256": "0".repeat(64)})
                };
                environment["files"] = names.iter().map(file).collect();
                environment["program"] = json!(secret);
                environment["became"] = json!(secret);
                environment["variables"]["PATH"] = json!(folder);
            });
        }),
        make("links", &|forged| {
            forged.set_command(&["bin/tool"]);
            forged.edit("RUN_INPUT.json", |input| {
                input["links"] = json!([{"path": "bin", "target": folder}, {"path": "b", "target": secret},
                    {"path": "bin/tool", "target": secret}]);
            });
        }),
        make("program", &|forged| {
            forged.set_command(&[secret.to_str().unwrap()]);
        }),
    ];
    for bundle in &bundles {
        let verified = project.run(&["verify", bundle.path()]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    }
    for (at, name) in names.iter().enumerate() {
        let change = |document: &'static str, change: fn(&mut Value, &str)| {
            let name = name.clone();
            move |forged: &Forged| forged.edit(document, |value| change(value, &name))
        };
        let stored = change("RUN_INPUT.json", |input, name| {
            input["files"][0]["stored"] = json!(name);
        });
        bundles.push(make(&format!("stored-{at}"), &stored));
        let path = change("RUN_INPUT.json", |input, name| {
            input["files"][0]["path"] = json!(name);
        });
        bundles.push(make(&format!("path-{at}"), &path));
        let output = change("RUN_OUTPUT.json", |output, name| {
            output["outputs"][0]["path"] = json!(name);
            output["outputs"][0]["stored"] = json!(name);
        });
        bundles.push(make(&format!("output-{at}"), &output));
        let present = change("RUN_ENVIRONMENT.json", |environment, name| {
            environment["present"] = json!([{"path": name, "bytes": 1}]);
            environment["listed"] =
                json!([{"path": "..", "entries": [{"name": name, "bytes": 1}]}]);
        });
        bundles.push(make(&format!("present-{at}"), &present));
    }
    let linked = Forged::copy(&project.bundle("honest"), &project.path("linked"));
    fs::remove_file(project.path("linked/artifacts/b")).unwrap();
    symlink(secret, project.path("linked/artifacts/b")).unwrap();
    bundles.push(linked);
    bundles
}

/// Folders that are shown as a whole, and so opened themselves; what is in them is not.
const FOLDERS: [&str; 2] = ["/etc", "/var/tmp"];

/// Folders that a replay lists with all folders below them, and opens no file of.
const LISTED: [&str; 2] = ["/etc", "/usr/local"];

#[test]
fn bundle_that_names_files_of_the_caller_has_none_of_them_opened() {
    if !need_isolation() || !need_program("strace") {
        return;
    }
    let project = Project::new();
    let secret = project.write("../home/secret", "secret");
    fs::create_dir(project.path("../tmp")).unwrap();
    let bundles = hostile_bundles(&project, &secret.canonicalize().unwrap());
    let top = project.path("..").canonicalize().unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_runseal"));
    let mut allowed: Vec<PathBuf> = ALLOWED.iter().map(PathBuf::from).collect();
    allowed.extend(["project", "tmp"].map(|name| top.join(name)));
    allowed.extend(program.parent().map(Path::to_owned));
    let mut seen = 0;
    for bundle in &bundles {
        let path = bundle.path();
        let commands: [&[&str]; 8] = [
            &["verify", path],
            &["inspect", path],
            &["report", path, "-o", "page.html"],
            &["diff", "RUN_BUNDLE/honest", path],
            &["catalog", "add", path, "--store", "catalog.db"],
            &["push", path, "oci-layout:layout:here"],
            &["pull", "oci-layout:layout:here", "-o", "pulled"],
            &["replay", path, "--timeout", "20"],
        ];
        for command in commands {
            let _ = fs::remove_file(project.path("page.html"));
            let _ = fs::remove_dir_all(project.path("pulled"));
            let opened = traced(&project, command);
            seen += opened.len();
            let wrong: Vec<&PathBuf> = opened
                .iter()
                .filter(|path| !allowed.iter().any(|allowed| path.starts_with(allowed)))
                .filter(|path| !FOLDERS.iter().any(|folder| *path == Path::new(folder)))
                // A replay lists these whatever a bundle says, to hide what is not everybody's.
                .filter(|path| !(LISTED.iter().any(|top| path.starts_with(top)) && path.is_dir()))
                .filter(|path| **path != top.join("home"))
                // Looking for the folders above one's own.
                .filter(|path| !top.starts_with(path))
                .collect();
            assert!(wrong.is_empty(), "{command:?} opened {wrong:?}");
        }
    }
    assert!(seen > 5000, "only {seen} opens were seen");
}

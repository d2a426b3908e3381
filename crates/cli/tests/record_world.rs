//! What a recorded command sees of its user's machine: the same as in the shell, no secrets, and no limit as a result.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use runseal_testkit::cli::Ran;
use runseal_testkit::skip::{need_isolation, need_python};

use crate::record_support::Project;

/// The projects to try: of whoever runs the tests and, if that is root, of an ordinary user.
fn projects() -> Vec<Project> {
    let mut all = vec![Project::new()];
    all.extend(Project::of_ordinary_user());
    all
}

fn home(project: &Project) -> std::path::PathBuf {
    project.path("").parent().unwrap().to_owned()
}

/// Writes a file of the home folder.
fn put(project: &Project, name: &str, text: &str) {
    let path = home(project).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    for path in path.ancestors().take_while(|it| *it != home(project)) {
        project.give(path);
    }
}

fn in_home(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command(&[&["record", "--format", "human"], arguments].concat());
    command.env("HOME", home(project));
    command
}

fn run(command: &mut Command) -> Ran {
    command.output().unwrap().into()
}

#[test]
fn program_of_any_folder_on_the_path_is_the_one_that_runs() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        put(&project, "mytools/date", "#!/bin/sh\necho mine\n");
        let tool = home(&project).join("mytools/date");
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", home(&project).join("mytools").display());
        let ran = run(in_home(&project, &["--", "date"]).env("PATH", path));
        assert_eq!(
            (ran.stdout.as_str(), ran.code),
            ("mine\n", Some(0)),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn locale_time_zone_and_settings_are_those_of_the_shell() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        put(&project, ".config/x/settings", "mine\n");
        let script = "cat ~/.config/x/settings || echo fallback; echo $LC_ALL $TZ $LEFT; umask; echo x > ~/.made";
        let mut command = in_home(&project, &["--", "sh", "-c", script]);
        command
            .env("LC_ALL", "C")
            .env("TZ", "Asia/Tokyo")
            .env("LEFT", "x");
        let ran = run(&mut command);
        assert!(
            ran.stdout.starts_with("mine\nC Asia/Tokyo\n"),
            "{}",
            ran.stdout
        );
        assert!(ran.stderr.contains("did not get: LEFT"), "{}", ran.stderr);
        assert!(ran.stderr.contains("not kept: ~/.made"), "{}", ran.stderr);
        assert!(!home(&project).join(".made").exists());
    }
}

#[test]
fn key_is_seen_by_no_way_in_a_hostile_folder() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        for level in ["namespaces", "landlock"] {
            put(&project, ".ssh/id_rsa", "PRIVATE KEY\n");
            let key = home(&project).join(".ssh/id_rsa");
            project.write(
                "pyvenv.cfg",
                format!("home = {}\n", key.parent().unwrap().display()),
            );
            project.write("bin/tool", format!("#!{}\n", key.display()));
            let tool = project.path("bin/tool");
            fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
            let _ = fs::remove_file(project.path("bin/python"));
            symlink(&key, project.path("bin/python")).unwrap();
            let script = format!(
                "cat bin/python ../.ssh/id_rsa {key} /proc/self/root{key}; ./bin/tool; cp bin/python out; true",
                key = key.display()
            );
            let arguments = ["--sandbox", level, "--", "sh", "-c", &script];
            let ran = run(&mut in_home(&project, &arguments));
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("PRIVATE KEY"), "{level}: {said}");
        }
    }
}

#[test]
fn limit_is_reported_by_name_and_is_not_a_result() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for (option, value, script, told) in [
        (
            "--disk",
            "8M",
            "head -c 64M /dev/zero > big; sleep 5",
            "--disk",
        ),
        (
            "--disk",
            "8M",
            "head -c 64M /dev/zero > /tmp/big; sleep 5",
            "--disk",
        ),
        (
            "--processes",
            "5",
            "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait",
            "--processes",
        ),
        ("--timeout", "1", "sleep 9", "--timeout"),
    ] {
        let ran = run(&mut in_home(
            &project,
            &[option, value, "--", "sh", "-c", script],
        ));
        assert_eq!(ran.code, Some(1), "{script}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("`{told}`")), "{}", ran.stderr);
        assert!(!project.path("RUN_BUNDLE").exists());
    }
    let kept = [
        "--keep-failed",
        "--timeout",
        "1",
        "--",
        "sh",
        "-c",
        "echo so far > out; sleep 9",
    ];
    let ran = run(&mut in_home(&project, &kept));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("stopped before its end"),
        "{}",
        ran.stderr
    );
}

#[test]
fn network_beyond_is_named_and_loopback_works() {
    if !need_isolation() || !need_python() {
        return;
    }
    let script = "\
import http.server, threading, urllib.request, socket, multiprocessing, os
s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f'http://127.0.0.1:{s.server_port}/').status)
a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))
u = socket.socket(socket.AF_UNIX); u.bind('own'); u.listen(); socket.socket(socket.AF_UNIX).connect('own')
os.unlink('own'); os.memfd_create('x')
with multiprocessing.Manager() as m: print(m.list([1]))
try: socket.getaddrinfo('example.invalid', 80)
except OSError: print('no name')
";
    for project in projects() {
        project.write("net.py", script);
        let ran = run(&mut in_home(
            &project,
            &["--", "/usr/bin/python3", "net.py"],
        ));
        assert_eq!(ran.stdout, "200\nb'x'\n[1]\nno name\n", "{}", ran.stderr);
        let has_servers =
            fs::read_to_string("/etc/resolv.conf").is_ok_and(|it| it.contains("nameserver"));
        assert!(
            !has_servers || ran.stderr.contains("a name lookup"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn world_is_shown_and_hides_what_is_named() {
    let project = Project::new();
    put(&project, "own/file", "x\n");
    let own = home(&project).join("own");
    let own = own.to_str().unwrap();
    let ran = run(&mut in_home(&project, &["--show-world", "--hide", own]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in ["~/.ssh", own, "loopback", "PATH="] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let chosen = [
        "--show-world",
        "--env",
        "MINE=1",
        "--param",
        "alpha=2",
        "--secret",
        "KEY",
        "--memory",
        "1G",
        "--processes",
        "77",
        "--timeout",
        "99",
        "--sandbox",
        "landlock",
        "--fixed-time",
        "5",
    ];
    let ran = run(in_home(&project, &chosen)
        .env("KEY", "hunter2-hunter2")
        .env("OTHER", "x"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in [
        "MINE=1\n",
        "RUNSEAL_PARAM_alpha=2\n",
        "KEY: given",
        "memory: 1073741824 bytes",
        "processes and threads: 77",
        "time: 99 s",
        "SOURCE_DATE_EPOCH=5",
        "/dev/urandom",
        "level landlock",
        "left out: OTHER",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    let mut command = project.command(&["record"]);
    command.args(chosen).env("HOME", home(&project));
    let ran = run(command
        .args(["--format", "json"])
        .env("KEY", "hunter2-hunter2"));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(value["limits"]["memory_bytes"], 1 << 30);
    assert_eq!(value["limits"].get("disk_bytes"), None);
    assert_eq!(value["variables"]["RUNSEAL_PARAM_alpha"], "2");
    assert_eq!(value["variables"]["KEY"], serde_json::Value::Null);
    assert_eq!(value["sandbox"]["level"], "landlock");
    if need_isolation() {
        project.record("r", &["--processes", "77", "--", "true"]);
        let bundle = project.read("RUN_BUNDLE/r/RUN_ENVIRONMENT.json");
        let bundle: serde_json::Value = serde_json::from_str(&bundle).unwrap();
        assert_eq!(bundle["world"]["limits"]["processes"], 77);
        assert_eq!(bundle["world"]["limits"]["seconds"], 3600);
        assert_eq!(bundle["world"]["devices"], value["devices"]);
        let script = "ls ../own 2>&1; true";
        let ran = run(&mut in_home(
            &project,
            &["--hide", own, "--", "sh", "-c", script],
        ));
        assert!(
            ran.stdout.contains("No such file"),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn device_is_there_for_whoever_names_it_and_a_replay_asks_for_it() {
    let has_it = fs::metadata("/dev/fuse").is_ok_and(|it| it.permissions().mode() & 0o006 == 0o006);
    if !need_isolation() || !has_it {
        return;
    }
    let script = "test -c /dev/fuse && (: 3<>/dev/fuse) 2>/dev/null && echo opened || echo none";
    for project in projects() {
        for level in ["namespaces", "landlock"] {
            let record = |name: &str, device: &[&str]| {
                let given = ["--sandbox", level, "--run-id", name];
                let command = ["--", "sh", "-c", script];
                run(&mut in_home(&project, &[&given, device, &command].concat()))
            };
            let [without, with] = [format!("{level}-0"), format!("{level}-1")];
            let ran = record(&without, &[]);
            assert_eq!(ran.stdout, "none\n", "{level}: {}", ran.stderr);
            let ran = record(&with, &["--device", "/dev/fuse"]);
            assert_eq!(ran.stdout, "opened\n", "{level}: {}", ran.stderr);
            let bundle = format!("RUN_BUNDLE/{with}");
            let environment = project.read(&format!("{bundle}/RUN_ENVIRONMENT.json"));
            assert!(
                environment.contains("could use the device `/dev/fuse`"),
                "{environment}"
            );
            let replay = |device: &[&str]| {
                let asked = ["replay", &bundle, "--sandbox", level];
                run(&mut project.command(&[&asked, device].concat()))
            };
            let ran = replay(&[]);
            assert!(ran.stdout.contains("NOT REPLAYABLE"), "{level}: {ran:?}");
            assert!(ran.stdout.contains("`/dev/fuse`"), "{level}: {ran:?}");
            let ran = replay(&["--device", "/dev/fuse"]);
            assert_eq!(ran.code, Some(0), "{level}: {ran:?}");
        }
        for refused in ["/dev/vda", "/dev/mem", "/etc/passwd", "/dev/stdin"] {
            let ran = run(&mut in_home(&project, &["--device", refused, "--", "true"]));
            assert_eq!(ran.code, Some(2), "{refused}: {ran:?}");
            assert!(ran.stderr.starts_with("DEVICE"), "{refused}: {ran:?}");
        }
    }
}

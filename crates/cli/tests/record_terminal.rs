//! Standard streams of a recorded command: a terminal stays one, input is passed on, interrupts come through.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;
use runseal_testkit::terminal::{On, OnTerminal};
use rustix::process::{Pid, Signal, kill_process};

use crate::record_support::Project;

const LEVELS: [&str; 3] = ["namespaces", "landlock", "none"];

fn start(project: &Project, arguments: &[&str]) -> OnTerminal {
    OnTerminal::start(
        &project.command(&[&["record"], arguments].concat()),
        On::ALL,
    )
}

/// What one of the bundle's files holds.
fn sealed(project: &Project, run_id: &str, name: &str) -> String {
    project.read(&format!("RUN_BUNDLE/{run_id}/{name}"))
}

fn projects() -> Vec<Project> {
    if !need_isolation() {
        return Vec::new();
    }
    let ordinary = Project::of_ordinary_user();
    std::iter::once(Project::new()).chain(ordinary).collect()
}

#[test]
fn terminal_stays_a_terminal_at_every_level() {
    let script = "stty size; test -t 0 && test -t 1 && test -t 2 && echo three; echo $TERM; \
                  echo own > /dev/tty; echo err >&2; tty | sed s/[0-9]*$//";
    let shown = "30 100\r\nthree\r\nxterm\r\nown\r\nerr\r\n/dev/pts/\r\n";
    for project in projects() {
        for level in LEVELS {
            let terminal = start(
                &project,
                &[
                    "--sandbox",
                    level,
                    "--run-id",
                    level,
                    "--",
                    "sh",
                    "-c",
                    script,
                ],
            );
            let (text, code) = terminal.finish();
            assert_eq!(code, Some(0), "{level}: {text}");
            assert!(text.starts_with(shown), "{level}: {text:?}");
            assert_eq!(sealed(&project, level, "logs/stdout.txt"), shown);
            assert_eq!(sealed(&project, level, "logs/stderr.txt"), "");
            let cast = sealed(&project, level, "logs/terminal.cast");
            assert!(
                cast.starts_with(
                    "{\"env\":{\"TERM\":\"xterm\"},\"height\":30,\"version\":2,\"width\":100}\n"
                ),
                "{cast}"
            );
            // Nobody has a terminal now.
            let replayed = project.replay(level, &["--sandbox", level]);
            assert_eq!(replayed.code, Some(0), "{level}: {}", replayed.stdout);
            assert!(
                !replayed.stdout.contains("terminal.cast"),
                "{}",
                replayed.stdout
            );
            let verified = project.run(&["verify", "--strict", &format!("RUN_BUNDLE/{level}")]);
            assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        }
    }
}

#[test]
fn terminal_recording_that_was_changed_is_found() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let (text, code) = start(&project, &["--run-id", "one", "--", "echo", "x"]).finish();
    assert_eq!(code, Some(0), "{text}");
    let first = sealed(&project, "one", "RUN_OUTPUT.json");
    let (_, code) = start(&project, &["--run-id", "two", "--", "echo", "x"]).finish();
    assert_eq!(code, Some(0));
    // Times differ, results do not.
    assert_eq!(sealed(&project, "two", "RUN_OUTPUT.json"), first);
    let cast = project.path("RUN_BUNDLE/one/logs/terminal.cast");
    fs::remove_file(&cast).unwrap();
    fs::write(&cast, "{}").unwrap();
    let verified = project.run(&["verify", "RUN_BUNDLE/one"]);
    assert_eq!(verified.code, Some(1), "{}", verified.stdout);
    assert!(verified.stdout.contains("RB13"), "{}", verified.stdout);
}

#[test]
fn keys_size_and_modes_are_passed_on_and_nothing_typed_is_kept() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "stty -echo; printf 'secret? '; read word; stty echo; echo; \
                  trap 'stty size' WINCH; echo resize; \
                  i=0; while [ $i -lt 20 ]; do sleep 0.1; i=$((i+1)); done";
    let mut terminal = start(&project, &["--run-id", "one", "--", "bash", "-c", script]);
    let before = terminal.settings();
    terminal.wait_for("secret? ");
    terminal.type_keys(b"hunter2\r");
    terminal.wait_for("resize");
    terminal.resize(70, 20);
    terminal.wait_for("20 70");
    let modes = before.local_modes;
    let (text, code) = {
        let after = terminal.settings();
        assert_ne!(after.local_modes, modes, "keys are passed on as they are");
        terminal.finish()
    };
    assert_eq!(code, Some(0), "{text}");
    let found = Command::new("grep")
        .args(["-r", "hunter2"])
        .arg(project.path("RUN_BUNDLE/one"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    let environment = sealed(&project, "one", "RUN_ENVIRONMENT.json");
    for told in [
        r#""kind":"terminal-input""#,
        r#""kind":"terminal-size""#,
        r#""columns":100"#,
    ] {
        assert!(environment.contains(told), "{told}: {environment}");
    }
    assert!(sealed(&project, "one", "logs/terminal.cast").contains(",\"r\",\"70x20\"]"));
    let replayed = project.replay("one", &[]);
    assert_eq!(replayed.code, Some(1), "{}", replayed.stdout);
    assert!(
        replayed.stdout.contains("NOT REPLAYABLE"),
        "{}",
        replayed.stdout
    );
    assert!(
        replayed.stdout.contains("typed on the terminal"),
        "{}",
        replayed.stdout
    );
}

#[test]
fn keys_that_nobody_reads_do_not_keep_a_run_from_being_replayed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let mut terminal = start(
        &project,
        &[
            "--run-id",
            "one",
            "--",
            "sh",
            "-c",
            "stty -echo; echo on; sleep 1",
        ],
    );
    terminal.wait_for("on");
    terminal.type_keys(b"abc\rx");
    let (text, code) = terminal.finish();
    assert_eq!(code, Some(0), "{text}");
    assert!(!sealed(&project, "one", "RUN_ENVIRONMENT.json").contains("terminal-input"));
    project.assert_reproduced("one");
}

#[test]
fn own_terminal_is_as_it_was_however_a_run_ends() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let runseal = project.command(&[]);
    let runseal = runseal
        .get_args()
        .nth(1)
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    // The last one is ended by the fourth signal, before its command is gone.
    let script = format!(
        "stty -a > before; {runseal} record -- sh -c 'stty raw -echo; exit 3'; stty -a > failed; \
         {runseal} record -- no-such-program; stty -a > absent; \
         {runseal} record --timeout 1 -- sleep 60; stty -a > limit; \
         (sleep 1; pkill -INT -x -P $$ runseal; for i in 1 2 3 4 5 6; do pkill -HUP -x -P $$ runseal; done) & \
         {runseal} record -- sh -c 'trap \"\" INT TERM HUP; sleep 5; sleep 5'; stty -a > killed; echo done"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(project.path(""));
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let (text, _) = OnTerminal::start(&command, On::ALL).finish();
    assert!(text.contains("done"), "{text}");
    for name in ["failed", "absent", "limit", "killed"] {
        assert_eq!(project.read(name), project.read("before"), "{name}: {text}");
    }
}

#[test]
fn streams_other_than_a_terminal_stay_what_they_are() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "for i in 0 1 2; do test -t $i && echo $i is >&2; done; echo out; echo err >&2";
    let command = project.command(&["record", "--run-id", "out", "--", "sh", "-c", script]);
    let on = On {
        stdout: false,
        ..On::ALL
    };
    let (text, code) = OnTerminal::start(&command, on).finish();
    assert_eq!(code, Some(0), "{text}");
    // The answer is alone on standard output; lines go back to the first column on the terminal.
    assert!(project.read("stdout.txt").starts_with('{'));
    assert!(
        text.contains("err\r\n") && text.contains("out\r\n"),
        "{text:?}"
    );
    assert_eq!(sealed(&project, "out", "logs/stdout.txt"), "out\n");
    assert_eq!(
        sealed(&project, "out", "logs/stderr.txt"),
        "0 is\r\n2 is\r\nerr\r\n"
    );
    project.assert_reproduced("out");

    let command = project.command(&[
        "record",
        "--run-id",
        "in",
        "--",
        "sh",
        "-c",
        "read x; echo got $x; test -t 1",
    ]);
    let on = On {
        stdout: false,
        stderr: false,
        ..On::ALL
    };
    let mut terminal = OnTerminal::start(&command, on);
    thread::sleep(Duration::from_millis(500));
    terminal.type_keys(b"word\r");
    let (text, code) = terminal.finish();
    assert_eq!(
        (text.as_str(), code),
        ("word\r\n", Some(1)),
        "only the echo is shown"
    );
    assert!(project.read("stderr.txt").contains("got word\n"));
}

#[test]
fn interrupt_comes_through_and_nothing_is_sealed_unless_asked_for() {
    for project in projects() {
        for level in LEVELS {
            let arguments = ["--sandbox", level, "--", "sh", "-c", "echo on; sleep 60"];
            let mut terminal = start(&project, &arguments);
            terminal.wait_for("on");
            terminal.type_keys(b"\x03");
            let (text, code) = terminal.finish();
            assert_eq!(code, Some(130), "{level}: {text}");
            assert!(text.contains("nothing was sealed"), "{level}: {text}");
            assert!(text.contains("--keep-failed"), "{level}: {text}");
            assert!(!project.path("RUN_BUNDLE").exists(), "{level}");
        }
    }
}

#[test]
fn interrupted_run_is_sealed_as_one_with_what_it_had_written() {
    for project in projects() {
        for level in LEVELS {
            let script = "trap 'echo caught; exit 0' INT; echo part > part.txt; echo on; while :; do sleep 0.05; done";
            let kept = ["--keep-failed", "--sandbox", level, "--run-id", level, "--"];
            let arguments = [&kept[..], &["sh", "-c", script]].concat();
            let mut terminal = start(&project, &arguments);
            terminal.wait_for("on");
            terminal.type_keys(b"\x03");
            let (text, code) = terminal.finish();
            assert_eq!(code, Some(130), "{level}: {text}");
            assert!(
                text.contains("sealed as an INTERRUPTED run"),
                "{level}: {text}"
            );
            assert_eq!(sealed(&project, level, "artifacts/part.txt"), "part\n");
            let output = sealed(&project, level, "RUN_OUTPUT.json");
            for told in [
                r#""exit_status":0"#,
                r#""failed":true"#,
                r#""interrupted":2"#,
            ] {
                assert!(output.contains(told), "{told}: {output}");
            }
            let bundle = format!("RUN_BUNDLE/{level}");
            let verified = project.run(&["verify", &bundle]);
            assert_eq!(verified.code, Some(0), "{}", verified.stdout);
            assert!(
                verified.stdout.contains("(run bundle, interrupted)"),
                "{}",
                verified.stdout
            );
            let inspected = project.run(&["inspect", &bundle]);
            assert!(
                inspected.stdout.contains("Interrupted by signal 2"),
                "{}",
                inspected.stdout
            );
            let replayed = project.replay(level, &["--sandbox", level]);
            assert_eq!(replayed.code, Some(1), "{}", replayed.stdout);
            assert!(
                replayed.stdout.contains("interrupted the recorded run"),
                "{}",
                replayed.stdout
            );
            // Whoever says that it succeeded is found out.
            let path = project.path(&format!("{bundle}/RUN_OUTPUT.json"));
            fs::remove_file(&path).unwrap();
            fs::write(
                &path,
                output.replace(r#""failed":true"#, r#""failed":false"#),
            )
            .unwrap();
            let verified = project.run(&["verify", &bundle]);
            assert!(verified.stdout.contains("RB15"), "{}", verified.stdout);
        }
    }
}

#[test]
fn command_that_ignores_interrupts_is_ended_and_one_that_is_typed_at_is_not() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let stubborn = "trap '' INT TERM; echo on; sleep 60; sleep 60";
    let mut terminal = start(
        &project,
        &[
            "--keep-failed",
            "--run-id",
            "one",
            "--",
            "sh",
            "-c",
            stubborn,
        ],
    );
    terminal.wait_for("on");
    for _ in 0..3 {
        terminal.type_keys(b"\x03");
        thread::sleep(Duration::from_millis(200));
    }
    let (text, code) = terminal.finish();
    assert_eq!(code, Some(130), "{text}");
    assert!(sealed(&project, "one", "RUN_OUTPUT.json").contains(r#""signal":9"#));

    let asking = "trap 'echo caught' INT; while read line; do echo got $line; test $line = end && exit 0; done; exit 7";
    let mut terminal = start(&project, &["--run-id", "two", "--", "bash", "-c", asking]);
    thread::sleep(Duration::from_millis(500));
    terminal.type_keys(b"\x03");
    terminal.wait_for("caught");
    // Longer than anything that ignores it would have.
    terminal.type_keys(b"one\r");
    thread::sleep(Duration::from_millis(5500));
    terminal.type_keys(b"end\r");
    let (text, code) = terminal.finish();
    assert_eq!(code, Some(0), "{text}");
    assert!(!sealed(&project, "two", "RUN_OUTPUT.json").contains("interrupted"));
}

/// Starts a recording without a terminal.
fn start_plainly(project: &Project, arguments: &[&str], stdin: Stdio) -> Child {
    let mut command = project.command(&[&["record", "--keep-failed"], arguments].concat());
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn signals_are_passed_on_without_a_terminal_too() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for level in LEVELS {
        for (name, signal, number) in [
            ("INT", Signal::INT, 2),
            ("TERM", Signal::TERM, 15),
            ("HUP", Signal::HUP, 1),
        ] {
            let run_id = format!("{level}-{name}");
            let script =
                format!("trap 'echo caught; exit 4' {name}; echo on; while :; do sleep 0.05; done");
            let arguments = [
                "--sandbox",
                level,
                "--run-id",
                &run_id,
                "--",
                "sh",
                "-c",
                &script,
            ];
            let child = start_plainly(&project, &arguments, Stdio::null());
            thread::sleep(Duration::from_millis(1500));
            kill_process(Pid::from_child(&child), signal).unwrap();
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(130), "{run_id}: {}", ran.stderr);
            assert!(
                ran.stdout.contains("\"interrupted\":true"),
                "{}",
                ran.stdout
            );
            assert_eq!(sealed(&project, &run_id, "logs/stdout.txt"), "on\ncaught\n");
            let told = r#""exit_status":4,"failed":true"#;
            let output = sealed(&project, &run_id, "RUN_OUTPUT.json");
            assert!(output.contains(told), "{output}");
            assert!(
                output.contains(&format!("\"interrupted\":{number}")),
                "{output}"
            );
        }
    }
}

#[test]
fn pipe_on_standard_input_is_passed_on_sealed_and_replayed() {
    for project in projects() {
        for level in LEVELS {
            let script = "test -p /dev/stdin && echo pipe; sort -r; cat /dev/stdin";
            let arguments = [
                "--sandbox",
                level,
                "--run-id",
                level,
                "--",
                "sh",
                "-c",
                script,
            ];
            let mut child = start_plainly(&project, &arguments, Stdio::piped());
            let mut input = child.stdin.take().unwrap();
            for line in ["1\n", "2\n", "3\n"] {
                input.write_all(line.as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(50));
            }
            drop(input);
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(0), "{level}: {}", ran.stderr);
            assert_eq!(
                sealed(&project, level, "logs/stdout.txt"),
                "pipe\n3\n2\n1\n",
                "{level}"
            );
            assert_eq!(sealed(&project, level, "stdin.bin"), "1\n2\n3\n");
            let replayed = project.replay(level, &["--sandbox", level]);
            assert_eq!(replayed.code, Some(0), "{level}: {}", replayed.stdout);
        }
    }
}

#[test]
fn input_without_end_is_sealed_as_far_as_it_was_taken() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let stdin = Stdio::from(yes.stdout.take().unwrap());
    let child = start_plainly(
        &project,
        &["--run-id", "one", "--", "head", "-c", "6"],
        stdin,
    );
    let ran = Ran::from(child.wait_with_output().unwrap());
    let _ = yes.kill();
    let _ = yes.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(sealed(&project, "one", "stdin.bin"), "y\ny\ny\n");
    project.assert_reproduced("one");
}

#[test]
fn input_beyond_its_bound_stops_the_run_and_is_reported() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("large", vec![b'x'; 3 << 20]);
    let arguments = ["--stdin-bytes", "1M", "--", "sh", "-c", "wc -c; true"];
    let mut cat = Command::new("cat")
        .arg(project.path("large"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut command = project.command(&[&["record"], &arguments[..]].concat());
    command.stdin(cat.stdout.take().unwrap());
    let ran = Ran::from(command.output().unwrap());
    // It holds the end of the pipe that nobody reads any more.
    drop(command);
    drop(cat.wait());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for told in [
        "read more than 1048576 bytes of standard input",
        "--stdin-bytes",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let file = || Stdio::from(fs::File::open(project.path("large")).unwrap());
    let child = start_plainly(&project, &arguments, file());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("standard input has more than 1048576 bytes"),
        "{}",
        ran.stderr
    );
    assert!(!project.path("RUN_BUNDLE").exists());
    let child = start_plainly(
        &project,
        &["--run-id", "all", "--stdin-bytes", "4M", "--", "wc", "-c"],
        file(),
    );
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(sealed(&project, "all", "logs/stdout.txt"), "3145728\n");
    project.assert_reproduced("all");
}

#[test]
fn nothing_on_standard_input_is_the_null_device() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("one", "readlink /proc/self/fd/0; cat");
    assert_eq!(sealed(&project, "one", "logs/stdout.txt"), "/dev/null\n");
    assert!(!project.path("RUN_BUNDLE/one/stdin.bin").exists());
    project.assert_reproduced("one");
}

#[test]
fn terminal_that_is_flooded_still_takes_an_interrupt() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let mut terminal = start(&project, &["--", "sh", "-c", "sleep 30 & yes"]);
    terminal.wait_for("y\r\n");
    terminal.type_keys(b"\x03");
    let (text, code) = terminal.finish();
    assert_eq!(
        code,
        Some(130),
        "{}",
        &text[text.len().saturating_sub(300)..]
    );
}

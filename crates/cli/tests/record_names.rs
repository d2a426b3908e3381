//! A file counts by what it is, not by the name that it is read or written under: renamed and swapped files,
//! results that hold what they held before, and the names that a process has for its own files.

use std::fs;

use crate::record_support::Project;
use runseal_testkit::skip::need_isolation;

/// Records a script at a level; the replay at the same level has to give the same.
fn assert_reproduces(project: &Project, run_id: &str, level: &str, script: &str) {
    project.record(run_id, &["--sandbox", level, "--", "sh", "-c", script]);
    let bundle = format!("RUN_BUNDLE/{run_id}");
    let ran = project.run(&["replay", &bundle, "--sandbox", level]);
    assert_eq!(
        ran.code,
        Some(0),
        "{level}: {script}: {}{}",
        ran.stdout,
        ran.stderr
    );
}

const LEVELS: [&str; 2] = ["namespaces", "landlock"];

#[test]
fn renamed_files_are_inputs() {
    if !need_isolation() {
        return;
    }
    for level in LEVELS {
        let project = Project::new();
        for name in ["data.txt", "log", "log.1", "b", "d/a", "d/e/f"] {
            project.write(name, format!("this is {name}\n"));
        }
        std::os::unix::fs::symlink("data.txt", project.path("link")).unwrap();
        let exchange = "python3 -c \"
import ctypes, sys
libc = ctypes.CDLL(None)
sys.exit(libc.renameat2(-100, b'log', -100, b'b', 2))\"; cat log b";
        for (at, (script, sealed)) in [
            ("mv data.txt x; cat x > out; mv x data.txt", "data.txt"),
            ("mv log.1 log.2; mv log log.1; echo new > log", "log.1"),
            ("mv log.1 log.2; mv log log.1; echo new > log", "log"),
            ("mv log t; mv b log; mv t b", "log"),
            ("mv log t; mv b log; mv t b", "b"),
            (exchange, "b"),
            ("mv d g; cat g/a; mv g d", "d/a"),
            ("mv d g; cat g/e/f > out; mv g d", "d/e/f"),
            ("mv link x; cat x; mv x link", "data.txt"),
        ]
        .into_iter()
        .enumerate()
        {
            let run_id = format!("r{at}");
            assert_reproduces(&project, &run_id, level, script);
            let place = project.bundle(&run_id).join("engine").join(sealed);
            let text = fs::read_to_string(place).unwrap();
            assert_eq!(text, format!("this is {sealed}\n"), "{level}: {script}");
        }
        // What a command makes, renames and reads is not an input, nor is what it replaces by that.
        project.write("out/s", "old\n");
        let script = "echo new > out/tmp; mv out/tmp out/s; cat out/s";
        assert_reproduces(&project, "own", level, script);
        assert!(!project.bundle("own").join("engine/out").exists());
        assert!(project.bundle("own").join("artifacts/out/s").exists());
    }
}

#[test]
fn result_that_was_there_with_the_same_content_reproduces() {
    if !need_isolation() {
        return;
    }
    for level in LEVELS {
        let project = Project::new();
        project.write("in.txt", "b\na\n");
        for (at, script) in [
            "rm -rf out; mkdir out; sort in.txt > out/s",
            "rm -f out/s; sort in.txt > out/s",
            "sort in.txt > out/tmp; mv out/tmp out/s",
            "sort in.txt > out/tmp; mv -n out/tmp out/s; rm -f out/tmp",
            "sort in.txt > tmp; rm out/s; ln tmp out/s; rm tmp",
            "sort in.txt > out/s",
        ]
        .iter()
        .enumerate()
        {
            project.write("out/s", "a\nb\n");
            let run_id = format!("r{at}");
            assert_reproduces(&project, &run_id, level, script);
            let sealed = project.bundle(&run_id).join("engine/out/s");
            assert_eq!(fs::read_to_string(sealed).unwrap(), "a\nb\n", "{script}");
        }
    }
    // The summary names it, since it is not an artifact.
    let project = Project::new();
    project.write("in.txt", "a\n");
    project.write("out", "a\n");
    let ran = project.run(&[
        "record",
        "--format",
        "human",
        "--",
        "sh",
        "-c",
        "sort in.txt > out",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = "same     1 file opened for writing, and left as before\n           out\n";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn file_read_through_a_link_of_its_process_is_an_input() {
    if !need_isolation() {
        return;
    }
    for level in LEVELS {
        let project = Project::new();
        project.write("data.txt", "data\n");
        project.write("run.sh", "#!/bin/sh\necho ran\n");
        project.write(
            "place.py",
            "import os, sys\n\
             place = os.open(sys.argv[1], os.O_PATH)\n\
             if sys.argv[2] == 'run':\n    os.set_inheritable(place, True)\n    os.execv(f'/proc/self/fd/{place}', ['x'])\n\
             print(open(sys.argv[2].format(place)).read())\n",
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(project.path("run.sh"), mode).unwrap();
        for (at, (script, sealed)) in [
            ("python3 place.py data.txt /dev/fd/{}", "data.txt"),
            ("python3 place.py data.txt /proc/self/fd/{}", "data.txt"),
            ("python3 place.py . /proc/self/fd/{}/data.txt", "data.txt"),
            ("cat /proc/self/cwd/data.txt", "data.txt"),
            ("cat /proc/thread-self/cwd/data.txt", "data.txt"),
            ("cat /proc/$$/cwd/data.txt", "data.txt"),
            ("cat \"/proc/self/root$PWD/data.txt\"", "data.txt"),
            ("python3 place.py run.sh run", "run.sh"),
        ]
        .into_iter()
        .enumerate()
        {
            let run_id = format!("r{at}");
            assert_reproduces(&project, &run_id, level, script);
            let place = project.bundle(&run_id).join("engine").join(sealed);
            assert!(place.exists(), "{level}: {script}");
            let environment = project.read(&format!("RUN_BUNDLE/{run_id}/RUN_ENVIRONMENT.json"));
            for false_gap in ["/proc/self/cwd", "/proc/self/root", "/self/fd"] {
                assert!(!environment.contains(false_gap), "{script}: {environment}");
            }
        }
    }
}

//! What the command opens and runs is seen; what cannot be seen is said.

use std::path::Path;

use runseal_sandbox::{FirstUse, Gap, Isolation, Observe, ObservedKind};
use runseal_testkit::skip::need_python;

use crate::project::{Project, levels, text};

#[test]
fn files_read_written_and_executed_are_seen() {
    for sandbox in levels() {
        let project = Project::new();
        let script =
            "cat link.txt > copy.txt; cd sub; cat inner.txt ../data.txt >/dev/null; ls . >/dev/null
            cat copy-not-there 2>/dev/null; sh ../script.sh 2>/dev/null; echo x >> inner.txt";
        let recorded = project.shell(&sandbox, script);
        let level = sandbox.isolation();
        let observation = recorded.observation.as_ref().unwrap();
        assert!(observation.is_there(), "{level} {:?}", observation.gaps);
        let data = project.seen(&recorded, "data.txt").unwrap();
        assert_eq!((data.is_read, data.is_written), (true, false), "{level}");
        assert_eq!((data.kind, data.bytes), (ObservedKind::File, 5), "{level}");
        assert_eq!(data.also_as, [project.path().join("link.txt")], "{level}");
        let copy = project.seen(&recorded, "copy.txt").unwrap();
        assert_eq!(
            (copy.first, copy.kind),
            (FirstUse::Write, ObservedKind::New)
        );
        let inner = project.seen(&recorded, "sub/inner.txt").unwrap();
        assert_eq!((inner.is_read, inner.is_written), (true, true));
        assert_eq!(inner.first, FirstUse::Read);
        assert!(project.seen(&recorded, "script.sh").unwrap().is_read);
        assert!(project.seen(&recorded, "sub/copy-not-there").is_none());
        let listed = project.seen(&recorded, "sub").unwrap();
        assert_eq!((listed.kind, listed.is_read), (ObservedKind::Folder, true));
        let executed = |name: &str| {
            let file = |path: &Path| path.to_string_lossy().contains(name);
            let mut files = observation.files.iter();
            files.any(|file_seen| file_seen.is_executed && file(&file_seen.path))
        };
        for program in ["bin/cat", "bin/ls", "ld-linux", "bin/dash"] {
            assert!(executed(program), "{level}: {program}");
        }
        let count = |gap: &Gap| matches!(gap, Gap::Unresolved { .. });
        assert!(
            !observation.gaps.iter().any(count),
            "{level} {:?}",
            observation.gaps
        );
    }
}

#[test]
fn script_with_its_own_interpreter_names_both() {
    for sandbox in levels() {
        let project = Project::new();
        let tool = project.path().join("tool");
        std::fs::write(&tool, "#!/usr/bin/env sh\necho ran\n").unwrap();
        crate::project::open_up(&tool);
        let recorded = project.shell(&sandbox, "./tool");
        assert_eq!(
            recorded.outcome.stdout.bytes,
            b"ran\n",
            "{}",
            text(&recorded)
        );
        assert!(project.seen(&recorded, "tool").unwrap().is_executed);
        let files = &recorded.observation.as_ref().unwrap().files;
        let env = files.iter().find(|file| file.path.ends_with("bin/env"));
        assert!(env.is_some_and(|file| file.is_executed));
    }
}

#[test]
fn link_that_moves_is_followed_each_time() {
    for sandbox in levels() {
        let project = Project::new();
        let script = "ln -sf data.txt x; cat x; ln -sf sub/inner.txt x; cat x";
        let recorded = project.shell(&sandbox, script);
        assert_eq!(recorded.outcome.stdout.bytes, b"data\ninner\n");
        assert!(project.seen(&recorded, "data.txt").unwrap().is_read);
        assert!(project.seen(&recorded, "sub/inner.txt").unwrap().is_read);
    }
}

#[test]
fn file_that_gets_another_name_is_read_and_the_name_is_noted() {
    for sandbox in levels() {
        let project = Project::new();
        let script =
            "mv data.txt x; cat x; mv x data.txt; ln script.sh hard; mv link.txt l; mv l link.txt";
        let recorded = project.shell(&sandbox, script);
        let level = sandbox.isolation();
        assert_eq!(recorded.outcome.stdout.bytes, b"data\n", "{level}");
        let data = project.seen(&recorded, "data.txt").unwrap();
        assert!(data.is_read && data.is_renamed, "{level}");
        assert_eq!((data.kind, data.bytes), (ObservedKind::File, 5), "{level}");
        assert!(data.needs_original, "{level}");
        let script = project.seen(&recorded, "script.sh").unwrap();
        assert!(script.is_read && !script.is_renamed, "{level}");
        let observation = recorded.observation.as_ref().unwrap();
        let names = ["data.txt", "hard", "l", "link.txt", "x"];
        let names = names.map(|name| project.path().join(name));
        assert_eq!(observation.given_names, names, "{level}");
        let link = project.path().join("link.txt");
        assert!(observation.looks.contains(&link), "{level}");
    }
}

#[test]
fn file_behind_a_link_of_a_process_is_seen_by_its_name() {
    let script = "
import os
place = os.open('data.txt', os.O_PATH)
print(open(f'/dev/fd/{place}').read() + open('/proc/self/cwd/sub/inner.txt').read(), end='')
print(open(f'/proc/{os.getpid()}/cwd/script.sh').read(), end='')
os.set_inheritable(os.open('tool', os.O_PATH), True)
os.execv('/proc/self/fd/4', ['tool'])
";
    if !need_python() {
        return;
    }
    for sandbox in levels() {
        let project = Project::new();
        std::fs::write(project.path().join("a.py"), script).unwrap();
        let tool = project.path().join("tool");
        std::fs::write(&tool, "#!/bin/sh\necho ran\n").unwrap();
        crate::project::open_up(&tool);
        let recorded = sandbox
            .record(&project.spec(&["/usr/bin/python3", "a.py"]))
            .unwrap();
        let level = sandbox.isolation();
        assert!(recorded.outcome.success(), "{level} {}", text(&recorded));
        for name in ["data.txt", "sub/inner.txt", "script.sh"] {
            let seen = project.seen(&recorded, name);
            assert!(seen.is_some_and(|seen| seen.is_read), "{level}: {name}");
        }
        assert!(project.seen(&recorded, "tool").unwrap().is_executed);
        let files = &recorded.observation.as_ref().unwrap().files;
        let is_left = |path: &Path| path.starts_with("/proc") || path.starts_with("/dev/fd");
        let left: Vec<_> = files.iter().filter(|file| is_left(&file.path)).collect();
        assert!(left.is_empty(), "{level}: {left:?}");
    }
}

#[test]
fn randomness_threads_and_network_are_noted() {
    let script = "
import os, socket, threading
os.getrandom(16)
thread = threading.Thread(target=print, args=('in a thread',)); thread.start(); thread.join()
try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).connect(('127.0.0.1', 9))
except OSError as error:
    print(type(error).__name__)
";
    if !need_python() {
        return;
    }
    for sandbox in levels() {
        let project = Project::new();
        std::fs::write(project.path().join("a.py"), script).unwrap();
        // Debian's own: others lie in places that this test does not show.
        let recorded = sandbox
            .record(&project.spec(&["/usr/bin/python3", "a.py"]))
            .unwrap();
        let level = sandbox.isolation();
        assert!(recorded.outcome.success(), "{level} {}", text(&recorded));
        let observation = recorded.observation.as_ref().unwrap();
        let is_python = |path: &Path| path.to_string_lossy().contains("python3");
        assert!(observation.randomness.keys().any(|path| is_python(path)));
        assert_eq!(observation.threads.values().sum::<u64>(), 1, "{level}");
        let attempt = &observation.network[0];
        assert!(is_python(&attempt.program));
        assert_eq!(attempt.is_refused, level != Isolation::None);
        assert!(attempt.target.starts_with("IPv4"), "{}", attempt.target);
        assert!(project.seen(&recorded, "a.py").unwrap().is_read);
    }
}

#[test]
fn more_paths_than_are_kept_are_a_gap() {
    for sandbox in levels() {
        let project = Project::new();
        let mut spec = project.spec(&["cat", "data.txt", "script.sh", "sub/inner.txt"]);
        spec.observe = Some(Observe {
            most_files: 2,
            ..Observe::default()
        });
        let recorded = sandbox.record(&spec).unwrap();
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let observation = recorded.observation.unwrap();
        assert_eq!(observation.files.len(), 2);
        let is_it = |gap: &Gap| matches!(gap, Gap::TooManyFiles { not_kept } if *not_kept > 0);
        assert!(observation.gaps.iter().any(is_it));
    }
}

#[test]
fn copy_at_another_path_is_a_gap_and_paths_are_those_of_the_folder() {
    for sandbox in levels() {
        let project = Project::new();
        let recorded = project.shell(&sandbox, "cat data.txt");
        let is_it = |gap: &Gap| matches!(gap, Gap::CopiedFolder { .. });
        let has_gap = recorded
            .observation
            .as_ref()
            .unwrap()
            .gaps
            .iter()
            .any(is_it);
        assert_eq!(has_gap, sandbox.isolation() != Isolation::Full);
        assert!(project.seen(&recorded, "data.txt").is_some());
    }
}

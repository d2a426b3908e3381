//! A layered folder shows everything, takes every change, and stays as it is.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use runseal_sandbox::{Changed, Ending, Isolation, LayerKind, Limit, SandboxError, SpecError};
use runseal_testkit::skip::{need_python, need_root};

use crate::project::{Project, change, levels, short, text};

#[test]
fn changes_are_found_and_the_real_folder_stays() {
    for sandbox in levels() {
        let project = Project::new();
        let before = project.content();
        let script = "set -e; pwd; cat data.txt sub/inner.txt
            echo new > out.txt; mkdir -p made/deep; echo x > made/deep/file
            echo more >> data.txt; rm sub/inner.txt; ln -s /etc/passwd out-link";
        let recorded = project.shell(&sandbox, script);
        assert!(
            recorded.outcome.success(),
            "{} {}",
            sandbox.isolation(),
            text(&recorded)
        );
        assert_eq!(project.content(), before);
        let layer = recorded.layer.as_ref().unwrap();
        let expected = [
            "file data.txt",
            "folder made",
            "folder made/deep",
            "file made/deep/file",
            "link out-link",
            "file out.txt",
            "deleted sub/inner.txt",
        ];
        assert_eq!(short(layer), expected, "{}", sandbox.isolation());
        let mut content = String::new();
        let file = layer.open(OsStr::new("data.txt"));
        file.unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "data\nmore\n");
        assert!(change(layer, "data.txt").unwrap().existed);
        assert!(!change(layer, "out.txt").unwrap().existed);
        assert!(layer.open(OsStr::new("out-link")).is_err());
        assert!(layer.open(OsStr::new("../data.txt")).is_err());
        let shown_at = String::from_utf8_lossy(&recorded.outcome.stdout.bytes)
            .lines()
            .next()
            .unwrap()
            .to_owned();
        assert_eq!(layer.shown_at().to_str(), Some(shown_at.as_str()));
        if sandbox.isolation() == Isolation::Full {
            assert_eq!(layer.shown_at(), project.path());
            assert_eq!(layer.kind(), LayerKind::Overlay);
        } else {
            assert_eq!(layer.kind(), LayerKind::Copy);
        }
        drop(recorded);
        let left = std::fs::read_dir(project.store()).unwrap().count();
        assert_eq!(left, 0, "{}", sandbox.isolation());
    }
}

#[test]
fn changing_nothing_is_not_a_change() {
    for sandbox in levels() {
        let project = Project::new();
        let script =
            "touch data.txt; exec 3<>data.txt; chmod 755 sub; cp -p script.sh s; mv s script.sh";
        let recorded = project.shell(&sandbox, script);
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let layer = recorded.layer.unwrap();
        assert_eq!(
            short(&layer),
            Vec::<String>::new(),
            "{}",
            sandbox.isolation()
        );
    }
}

#[test]
fn folder_removed_and_made_anew_lists_what_it_lost() {
    for sandbox in levels() {
        let project = Project::new();
        let script =
            "rm -r sub && mkdir sub && echo 1 > sub/other && rm -r sub/other && echo 2 > sub/last";
        let recorded = project.shell(&sandbox, script);
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let layer = recorded.layer.unwrap();
        let expected = ["deleted sub/inner.txt", "file sub/last"];
        assert_eq!(short(&layer), expected, "{}", sandbox.isolation());
    }
}

#[test]
fn odd_things_are_reported_and_never_opened() {
    for sandbox in levels() {
        let project = Project::new();
        let script =
            "mkfifo pipe; printf x > \"$(printf 'bad\\377name')\"; printf x > \"$(printf 'a\\nb')\"
            ln -s loop loop; mkdir closed; echo x > closed/file; chmod 000 closed/file closed";
        let recorded = project.shell(&sandbox, script);
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let layer = recorded.layer.unwrap();
        assert_eq!(change(&layer, "pipe").unwrap().now, Changed::Pipe);
        assert!(layer.open(OsStr::new("pipe")).is_err());
        let odd = OsStr::from_bytes(b"bad\xffname");
        let found = layer.changes().iter().find(|change| change.path == odd);
        assert!(found.unwrap().fault.is_some());
        assert!(change(&layer, "a\nb").unwrap().fault.is_some());
        assert!(change(&layer, "loop").unwrap().fault.is_some());
        let mut content = String::new();
        let file = layer.open(OsStr::new("closed/file"));
        file.unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "x\n", "{}", sandbox.isolation());
    }
}

#[test]
fn links_out_of_the_folder_lead_nowhere_that_can_be_written() {
    for sandbox in levels() {
        // Without isolation nothing keeps the command from what its user may do.
        if sandbox.isolation() == Isolation::None {
            continue;
        }
        let project = Project::new();
        let outside = tempfile::tempdir().unwrap();
        crate::project::open_up(outside.path());
        let victim = outside.path().join("victim");
        std::fs::write(&victim, "before").unwrap();
        std::os::unix::fs::symlink(&victim, project.path().join("way-out")).unwrap();
        let real = project.path().join("data.txt");
        let script = format!(
            "echo after > way-out; echo after > {}; echo after > {}; true",
            victim.display(),
            project.path().join("../data-beside").display(),
        );
        let recorded = project.shell(&sandbox, &script);
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "before");
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "data\n");
        let beside = project.path().parent().unwrap().join("data-beside");
        assert!(!beside.exists(), "{}", sandbox.isolation());
    }
}

#[test]
fn absolute_path_of_the_folder_is_the_layer_or_closed() {
    for sandbox in levels() {
        if sandbox.isolation() == Isolation::None {
            continue;
        }
        let project = Project::new();
        let before = project.content();
        let script = format!("cd /; echo x > {}/data.txt; true", project.path().display());
        let recorded = project.shell(&sandbox, &script);
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        assert_eq!(project.content(), before, "{}", sandbox.isolation());
    }
}

#[test]
fn ten_gigabytes_are_stopped_and_nothing_is_kept() {
    for sandbox in levels() {
        if sandbox.isolation() == Isolation::None {
            continue;
        }
        let project = Project::new();
        let mut spec = project.spec(&[
            "sh",
            "-c",
            "for i in $(seq 200); do head -c 50m /dev/zero > big$i || exit 3; done",
        ]);
        spec.limits.work_bytes = 64 << 20;
        let recorded = sandbox.record(&spec).unwrap();
        assert_eq!(
            recorded.outcome.limit(),
            Some(Limit::WorkBytes),
            "{} {}",
            sandbox.isolation(),
            text(&recorded)
        );
        assert!(recorded.layer.is_none());
        assert_eq!(std::fs::read_dir(project.store()).unwrap().count(), 0);
    }
}

#[test]
fn temporary_files_beyond_their_limit_are_not_kept_at_any_level() {
    let bytes = "for i in 1 2 3 4; do head -c 3000000 /dev/zero > $TMPDIR/$i || exit 7; done";
    let files = "i=0; while [ $i -lt 5000 ]; do : > $TMPDIR/$i || exit 7; i=$((i+1)); done";
    for sandbox in levels() {
        for script in [bytes, files] {
            let project = Project::new();
            let mut spec = project.spec(&["sh", "-c", script]);
            spec.limits.tmp_bytes = 4 << 20;
            let ending = sandbox.record(&spec).unwrap().outcome.ending;
            match sandbox.isolation() {
                // A file system of its own is full.
                Isolation::Full => assert_ne!(ending, Ending::Exited(0), "{script}"),
                Isolation::Landlock => {
                    assert_eq!(ending, Ending::Stopped(Limit::Temporary), "{script}");
                }
                Isolation::None => {}
            }
        }
    }
}

#[test]
fn attribute_that_the_command_gives_a_folder_deletes_nothing_in_it() {
    if !need_python() {
        return;
    }
    for sandbox in levels() {
        let project = Project::new();
        let script = "/usr/bin/python3 -c 'import os
for name in (\"user.overlay.opaque\", \"trusted.overlay.opaque\"):
    try: os.setxattr(\"sub\", name, b\"y\")
    except OSError as error: print(error)'
            cat sub/inner.txt; touch sub";
        let recorded = project.shell(&sandbox, script);
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let layer = recorded.layer.as_ref().unwrap();
        assert!(
            change(layer, "sub/inner.txt").is_none(),
            "{} {}",
            sandbox.isolation(),
            text(&recorded)
        );
    }
}

#[test]
fn large_limits_put_the_layer_on_disk() {
    let Some(sandbox) = runseal_testkit::isolation::sandbox() else {
        return;
    };
    let project = Project::new();
    let mut spec = project.spec(&[
        "sh",
        "-c",
        "echo x > new; rm data.txt; rm -r sub; mkdir sub",
    ]);
    spec.limits.work_bytes = 4 << 30;
    let recorded = sandbox.record(&spec).unwrap();
    assert!(recorded.outcome.success(), "{}", text(&recorded));
    let layer = recorded.layer.as_ref().unwrap();
    let expected = ["deleted data.txt", "file new", "deleted sub/inner.txt"];
    assert_eq!(short(layer), expected);
    drop(recorded);
    assert_eq!(std::fs::read_dir(project.store()).unwrap().count(), 0);
}

#[test]
fn further_inputs_are_shown_where_they_are_and_cannot_be_changed() {
    for sandbox in levels() {
        if sandbox.isolation() == Isolation::None {
            continue;
        }
        let project = Project::new();
        let more = tempfile::tempdir().unwrap();
        crate::project::open_up(more.path());
        let more = more.path().canonicalize().unwrap();
        std::fs::write(more.join("input"), "input\n").unwrap();
        let script = format!(
            "cat {0}/input; echo x > {0}/input; echo x > {0}/new; true",
            more.display()
        );
        let mut spec = project.spec(&["sh", "-c", &script]);
        spec.view.show(more.clone());
        let recorded = sandbox.record(&spec).unwrap();
        assert_eq!(
            recorded.outcome.stdout.bytes,
            b"input\n",
            "{}",
            text(&recorded)
        );
        assert_eq!(
            std::fs::read_to_string(more.join("input")).unwrap(),
            "input\n"
        );
        assert!(!more.join("new").exists());
        let seen = recorded.observation.unwrap();
        let found = seen
            .files
            .iter()
            .find(|file| file.path == more.join("input"));
        assert!(found.unwrap().is_read);
    }
}

#[test]
fn places_of_the_sandbox_cannot_be_layered() {
    for sandbox in levels() {
        for place in ["/", "/usr/lib", "/etc", "/proc/self", "/dev", "/tmp"] {
            let project = Project::new();
            let mut spec = project.spec(&["true"]);
            spec.layered.as_mut().unwrap().folder = place.into();
            let answer = sandbox.record(&spec);
            assert!(
                matches!(answer, Err(SandboxError::Spec(SpecError::Place { .. }))),
                "{place}: {answer:?}"
            );
        }
    }
}

#[test]
fn command_that_removes_everything_removes_nothing_real() {
    for sandbox in levels() {
        let project = Project::new();
        let before = project.content();
        let recorded = project.shell(&sandbox, "rm -rf ./* .[!.]*; ls -A");
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        assert_eq!(recorded.outcome.stdout.bytes, b"");
        assert_eq!(project.content(), before);
        let expected = [
            "deleted data.txt",
            "deleted link.txt",
            "deleted script.sh",
            "deleted sub",
        ];
        assert_eq!(short(&recorded.layer.unwrap()), expected);
    }
}

#[test]
fn devices_cannot_be_made_and_sockets_are_reported() {
    for sandbox in levels() {
        if sandbox.isolation() == Isolation::None || !need_python() {
            continue;
        }
        let project = Project::new();
        let script = "import os, socket, stat
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try:
        os.mknod('device', kind | 0o666, os.makedev(1, 3))
    except OSError as error:
        print(type(error).__name__)
socket.socket(socket.AF_UNIX).bind('socket')
";
        let mut spec = project.spec(&["/usr/bin/python3", "-c", script]);
        spec.unix_sockets = true;
        let recorded = sandbox.record(&spec).unwrap();
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let printed = String::from_utf8_lossy(&recorded.outcome.stdout.bytes);
        assert_eq!(printed, "PermissionError\nPermissionError\n");
        let layer = recorded.layer.unwrap();
        assert_eq!(short(&layer), ["socket socket"]);
        assert!(layer.changes()[0].fault.is_some());
        assert!(layer.open(OsStr::new("socket")).is_err());
    }
}

#[test]
fn files_that_only_their_owner_may_read_and_tools_below_closed_folders_work() {
    use std::os::unix::fs::PermissionsExt;
    let Some(sandbox) = runseal_testkit::isolation::sandbox() else {
        return;
    };
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let project = Project::new();
    set_mode(&project.path().join("data.txt"), 0o600);
    set_mode(&project.path().join("sub"), 0o700);
    // As an interpreter below a home folder that is closed to others.
    let home = tempfile::tempdir().unwrap();
    let tools = home.path().canonicalize().unwrap().join("versions/1.2");
    std::fs::create_dir_all(tools.join("bin")).unwrap();
    std::os::unix::fs::symlink("1.2", tools.parent().unwrap().join("current")).unwrap();
    let tool = tools.join("bin/tool");
    std::fs::write(
        &tool,
        "#!/bin/sh\ncat data.txt sub/inner.txt; echo more >> data.txt\n",
    )
    .unwrap();
    set_mode(&tool, 0o700);
    set_mode(home.path(), 0o700);
    let mut spec = project.spec(&["tool"]);
    let current = tools.parent().unwrap().join("current");
    spec.view.show(current.clone());
    let path = format!("{}/bin:/usr/bin:/bin", current.display());
    spec.env.insert("PATH".into(), path);
    let recorded = sandbox.record(&spec).unwrap();
    assert_eq!(
        recorded.outcome.stdout.bytes,
        b"data\ninner\n",
        "{}",
        text(&recorded)
    );
    let layer = recorded.layer.as_ref().unwrap();
    assert_eq!(short(layer), ["file data.txt"]);
    let seen = recorded.observation.as_ref().unwrap();
    let found = seen.files.iter().find(|file| file.path == tool).unwrap();
    assert!(found.is_executed);
    assert_eq!(found.also_as, [current.join("bin/tool")]);
}

#[test]
fn folder_of_another_user_is_the_commands_own_for_root() {
    let Some(sandbox) = runseal_testkit::isolation::sandbox() else {
        return;
    };
    if !need_root() {
        return;
    }
    let project = Project::new();
    let names = ["", "data.txt", "sub", "sub/inner.txt", "script.sh"];
    for name in names {
        std::os::unix::fs::chown(project.path().join(name), Some(4321), Some(4321)).unwrap();
    }
    let recorded = project.shell(
        &sandbox,
        "echo x >> data.txt && mkdir new && rm sub/inner.txt",
    );
    assert!(recorded.outcome.success(), "{}", text(&recorded));
    let expected = ["file data.txt", "folder new", "deleted sub/inner.txt"];
    assert_eq!(short(&recorded.layer.unwrap()), expected);
}

#[test]
fn layer_has_no_name_inside() {
    let Some(sandbox) = runseal_testkit::isolation::sandbox() else {
        return;
    };
    let project = Project::new();
    // The only mount of the folder is the overlay; its parts are mounted nowhere.
    let script = "ls -A / | grep -c -e '^\\.layer' -e '^\\.lower'; grep -c ' - overlay ' /proc/self/mountinfo
        grep -c -e '/.layer ' -e '/.lower ' /proc/self/mountinfo";
    let recorded = project.shell(&sandbox, script);
    assert_eq!(
        recorded.outcome.stdout.bytes,
        b"0\n1\n0\n",
        "{}",
        text(&recorded)
    );
}

#[test]
fn place_that_is_not_there_is_not_shown() {
    for sandbox in levels() {
        let project = Project::new();
        let mut spec = project.spec(&["ls", "/srv/not-there"]);
        spec.view.show("/srv/not-there");
        let recorded = sandbox.record(&spec).unwrap();
        assert!(!recorded.outcome.success());
    }
}

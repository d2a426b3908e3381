//! Files of a run bundle given back: what was sealed from outside the folder, with links, rights and times.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use runseal_testkit::skip::need_isolation;

use crate::record_support::Project;

fn put(path: &Path, text: &str, mode: u32, seconds: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let file = fs::File::open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
        .unwrap();
}

fn look(path: &Path) -> (String, u32, u64) {
    let found = fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let modified = found.modified().unwrap();
    (
        fs::read_to_string(path).unwrap(),
        found.permissions().mode() & 0o777,
        modified.duration_since(UNIX_EPOCH).unwrap().as_secs(),
    )
}

#[test]
fn extract_gives_a_tool_from_outside_the_folder_with_links_rights_and_times() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let home = project.path("").parent().unwrap().canonicalize().unwrap();
    let tool = home.join("venv");
    let program = "#!/bin/sh\ncat \"${0%/*}/../lib/a\" \"${0%/*}/../lib/b\" ../rc in\n";
    put(&tool.join("bin/tool-1"), program, 0o755, 1_000_000_001);
    // Files of one content are kept once in the bundle.
    put(&tool.join("lib/a"), "same\n", 0o644, 1_000_000_002);
    put(&tool.join("lib/b"), "same\n", 0o600, 1_000_000_003);
    put(
        &tool.join("lib/c.json"),
        "{ \"b\": 1,  \"a\": 2 }\n",
        0o644,
        1_000_000_004,
    );
    put(&home.join("rc"), "rc\n", 0o640, 1_000_000_005);
    put(&project.path("in"), "in\n", 0o604, 1_000_000_006);
    symlink("tool-1", tool.join("bin/tool")).unwrap();
    symlink(&tool, home.join("current")).unwrap();
    let run = home.join("current/bin/tool");
    let script = format!(
        "{} > out; cat ../venv/lib/c.json > c.json; ln -s out made; ln -s /etc/passwd leads-out; chmod +x out",
        run.display()
    );
    let ran = project
        .command(&["record", "--run-id", "r", "--", "sh", "-c", &script])
        .env("HOME", &home)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    for (option, folder) in [("--inputs", ""), ("--all", "engine/")] {
        let ran = project.run(&["extract", "RUN_BUNDLE/r", option, "-o", &option[2..]]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let out = project.path(&option[2..]);
        let outside = |path: &str| {
            let below = home.join(path);
            out.join("environment")
                .join(below.strip_prefix("/").unwrap())
        };
        for (path, of) in [
            ("venv/bin/tool-1", (program, 0o755, 1_000_000_001)),
            ("venv/lib/a", ("same\n", 0o644, 1_000_000_002)),
            ("venv/lib/b", ("same\n", 0o600, 1_000_000_003)),
            (
                "venv/lib/c.json",
                ("{ \"b\": 1,  \"a\": 2 }\n", 0o644, 1_000_000_004),
            ),
            ("rc", ("rc\n", 0o640, 1_000_000_005)),
        ] {
            let (text, mode, seconds) = look(&outside(path));
            assert_eq!((&*text, mode, seconds), of, "{option} {path}");
        }
        let (text, mode, seconds) = look(&out.join(folder).join("in"));
        assert_eq!((&*text, mode, seconds), ("in\n", 0o604, 1_000_000_006));
        assert_eq!(
            fs::read_link(outside("venv/bin/tool")).unwrap(),
            Path::new("tool-1")
        );
        // An absolute link leads to the same place in the new folder.
        assert_eq!(
            fs::canonicalize(outside("current/bin/tool")).unwrap(),
            fs::canonicalize(outside("venv/bin/tool-1")).unwrap()
        );
    }
    let made = fs::read_link(project.path("all/artifacts/made")).unwrap();
    assert_eq!(made, Path::new("out"));
    // The host's own file is never reached from there.
    let leads_out = project.path("all/artifacts/leads-out");
    assert!(fs::symlink_metadata(&leads_out).unwrap().is_symlink());
    assert!(fs::read(&leads_out).is_err());
    let ran = project.run(&["extract", "RUN_BUNDLE/r", "-o", "outputs"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("a symbolic link is left out"),
        "{}",
        ran.stderr
    );
    assert_eq!(project.read("outputs/made"), project.read("outputs/out"));
    assert!(!project.path("outputs/environment").exists());
}

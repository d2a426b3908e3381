//! What somebody else prepared on the same machine, or sent along in an archive: links, pipes and folders
//! at the places that commands write to, and a look into their temporary folders.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use runseal_testkit::cli::Bench;
use runseal_testkit::skip::skip_even_in_ci;
use rustix::fs::{CWD, FileType, Mode, mknodat};

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

/// A document that verifies and can be signed.
fn document(bench: &Bench) {
    let root = runseal_testkit::project_root();
    let intent = fs::read(root.join("examples/intents/clear.json")).unwrap();
    bench.write("intent.json", intent);
    let made = bench.run(&["transform", "intent.json", "-o", "bundle.json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let key = bench.run(&["keygen", "-o", "key.pem", "--public"]);
    assert_eq!(key.code, Some(0), "{key:?}");
}

#[test]
fn output_that_is_a_link_is_refused_and_its_target_stays() {
    let (_folder, bench) = bench();
    document(&bench);
    let victim = bench.write("netrc", "password hunter2\n");
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
    let before = (fs::read(&victim).unwrap(), mode(&victim));
    let outputs: [(&str, &[&str]); 7] = [
        (
            "bundle.json.intoto.jsonl",
            &["sign", "bundle.json", "--key", "key.pem"],
        ),
        (
            "report.html",
            &["report", "bundle.json", "-o", "report.html"],
        ),
        ("run.json", &["transform", "intent.json", "-o", "run.json"]),
        (
            "ledger.jsonl",
            &["run", "intent.json", "--ledger", "ledger.jsonl"],
        ),
        ("jobs.db", &["job", "init", "--store", "jobs.db"]),
        (
            "runs.db",
            &["catalog", "add", "bundle.json", "--store", "runs.db"],
        ),
        ("other.pem", &["keygen", "-o", "other.pem"]),
    ];
    for (name, arguments) in outputs {
        symlink(&victim, bench.path(name)).unwrap();
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert_eq!(
            (fs::read(&victim).unwrap(), mode(&victim)),
            before,
            "{name}"
        );
        assert!(bench.path(name).is_symlink(), "{name}");
        fs::remove_file(bench.path(name)).unwrap();
        let dangling = bench.path("appears");
        symlink(&dangling, bench.path(name)).unwrap();
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(!dangling.exists(), "{name}");
        fs::remove_file(bench.path(name)).unwrap();
    }
}

#[test]
fn signature_file_keeps_its_mode_and_is_not_a_pipe() {
    let (_folder, bench) = bench();
    document(&bench);
    let sign = ["sign", "bundle.json", "--key", "key.pem"];
    assert_eq!(bench.run(&sign).code, Some(0));
    let beside = bench.path("bundle.json.intoto.jsonl");
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(bench.run(&sign).code, Some(0));
    assert_eq!(mode(&beside), 0o600);
    assert_eq!(fs::read_to_string(&beside).unwrap().lines().count(), 2);
    fs::remove_file(&beside).unwrap();
    mknodat(CWD, &beside, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_eq!(bench.run(&sign).code, Some(2));
}

#[test]
fn output_to_the_shells_own_descriptor_is_written_there() {
    let (_folder, bench) = bench();
    document(&bench);
    let said = bench.run(&["transform", "intent.json", "-o", "/dev/stdout"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(bench.read("bundle.json").trim_end()));
}

#[test]
fn temporary_folders_are_closed_to_others_whatever_the_umask() {
    if runseal_testkit::isolation::sandbox().is_none() {
        return;
    }
    let (_folder, bench) = bench();
    let temporary = bench.path("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).unwrap();
    bench.write("work/data.txt", "text");
    // At this level the command works in a copy, and sees where that lies.
    let script = format!(
        "umask 000; TMPDIR={} exec \"$0\" record --sandbox landlock -- \
         sh -c 'stat -c %a ..; stat -c %a $TMPDIR'",
        temporary.display()
    );
    let ran = std::process::Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_runseal")])
        .current_dir(bench.path("work"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    if told.contains("Landlock") {
        skip_even_in_ci(&told);
        return;
    }
    // For root the command's own group may pass.
    let closed = match rustix::process::geteuid().is_root() {
        true => "710",
        false => "700",
    };
    let all = format!("{said}{told}");
    assert!(all.contains(&format!("{closed}\n700\n")), "{all}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn temporary_folder_whose_names_others_can_change_is_refused() {
    let (_folder, bench) = bench();
    let temporary = bench.path("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::create_dir(temporary.join("inner")).unwrap();
    for mode in [0o777, 0o770] {
        fs::set_permissions(&temporary, fs::Permissions::from_mode(mode)).unwrap();
        for place in [temporary.clone(), temporary.join("inner")] {
            let ran = bench.command(&["demo"]).env("TMPDIR", &place).output();
            let ran = ran.unwrap();
            let told = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(2), "{told}");
            assert!(told.contains("TMPDIR"), "{told}");
        }
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
        assert_eq!(fs::read_dir(temporary.join("inner")).unwrap().count(), 0);
    }
}

#[test]
fn evidence_behind_blanks_or_an_unfinished_name_is_reported() {
    let (_folder, bench) = bench();
    document(&bench);
    let text = bench.read("bundle.json");
    for (name, content, code) in [
        ("tree/notes", format!("{}{text}", " ".repeat(9000)), 0),
        ("tree/.runseal-notes", text.clone(), 0),
        ("tree/.runseal-x/bundle.json", text.clone(), 2),
    ] {
        bench.write(name, content);
        let said = bench.run(&["verify", "tree", "--format", "json"]);
        assert_eq!(said.code, Some(code), "{name}: {said:?}");
        let top = name.split('/').nth(1).unwrap();
        assert!(said.stdout.contains(top), "{name}: {said:?}");
        let signed = bench.run(&["verify", "tree", "--require-signed"]);
        assert_ne!(signed.code, Some(0), "{name}: {signed:?}");
        fs::remove_dir_all(bench.path("tree")).unwrap();
    }
}

/// Any user but root.
const STRANGER: u32 = 12345;

/// Gives `path` to another user; `false` where only root could.
fn give_away(path: &Path) -> bool {
    std::os::unix::fs::chown(path, Some(STRANGER), Some(STRANGER)).is_ok()
}

#[test]
fn store_of_another_user_in_a_folder_above_is_passed_over() {
    let (_folder, bench) = bench();
    document(&bench);
    fs::create_dir(bench.path("mine")).unwrap();
    fs::copy(bench.path("bundle.json"), bench.path("mine/private.json")).unwrap();
    let added = bench.run(&["catalog", "add", "bundle.json"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert_eq!(bench.run(&["job", "init"]).code, Some(0));
    let below = Bench::new(env!("CARGO_BIN_EXE_runseal"), bench.path("mine"));
    // One's own is found from below.
    let listed = below.run(&["catalog", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert_eq!(below.run(&["queue", "status"]).code, Some(0));

    for name in [".runseal/catalog.db", ".runseal/jobs.db"] {
        if !give_away(&bench.path(name)) {
            return;
        }
    }
    let before = fs::read(bench.path(".runseal/catalog.db")).unwrap();
    let listed = below.run(&["catalog", "list"]);
    assert_ne!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stderr.contains("is passed over"), "{listed:?}");
    for command in [&["queue", "status"][..], &["work"], &["job", "status"]] {
        let ran = below.run(command);
        assert_ne!(ran.code, Some(0), "{command:?} {ran:?}");
        assert!(ran.stderr.contains("is passed over"), "{command:?} {ran:?}");
    }
    let added = below.run(&["catalog", "add", "private.json"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(bench.path("mine/.runseal/catalog.db").is_file());
    assert_eq!(fs::read(bench.path(".runseal/catalog.db")).unwrap(), before);
}

#[test]
fn store_in_another_users_folder_is_used_only_where_it_is_named() {
    let (_folder, bench) = bench();
    document(&bench);
    assert_eq!(bench.run(&["job", "init"]).code, Some(0));
    assert_eq!(bench.run(&["catalog", "add", "bundle.json"]).code, Some(0));
    let top = bench.path(".");
    let [runseal, jobs] = [".runseal", ".runseal/jobs.db"].map(|name| bench.path(name));
    let own = fs::metadata(&top).unwrap().uid();
    for place in [&top, &runseal, &jobs] {
        if !give_away(place) {
            return;
        }
        for command in [&["queue", "status"][..], &["job", "init"], &["work"]] {
            let ran = bench.run(command);
            assert_eq!(ran.code, Some(2), "{command:?} {ran:?}");
            assert!(ran.stderr.contains("belongs to another user"), "{ran:?}");
            assert!(ran.stderr.contains("--store .runseal/jobs.db"), "{ran:?}");
        }
        let named = bench.run(&["queue", "status", "--store", ".runseal/jobs.db"]);
        assert_eq!(named.code, Some(0), "{named:?}");
        std::os::unix::fs::chown(place, Some(own), None).unwrap();
    }
    assert_eq!(bench.run(&["queue", "status"]).code, Some(0));
}

#[test]
fn link_at_the_default_folder_of_bundles_is_refused() {
    let (_folder, bench) = bench();
    fs::create_dir(bench.path("elsewhere")).unwrap();
    fs::create_dir(bench.path("clone")).unwrap();
    symlink("../elsewhere", bench.path("clone/RUN_BUNDLE")).unwrap();
    let clone = Bench::new(env!("CARGO_BIN_EXE_runseal"), bench.path("clone"));
    let ran = clone.run(&["record", "--run-id", "x", "--", "true"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--out ./RUN_BUNDLE"), "{ran:?}");
    assert_eq!(fs::read_dir(bench.path("elsewhere")).unwrap().count(), 0);
}

//! Replay touches nothing outside the bundle: it runs where there is nothing else to touch.

#![cfg(target_os = "linux")]
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use runseal_sandbox::{Mount, Spec};
use runseal_testkit::cli::Bench;
use runseal_testkit::isolation::sandbox;

#[test]
fn replay_in_a_sandbox_with_only_the_bundle_gives_the_same_receipt() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    bench.write("docs/a.txt", "one\ntwo\nthree\n");
    bench.write(
        "plan.json",
        r#"{"run_id":"r","idempotency_key":"k","steps":[
        {"op":"READ_SECTION","refs":{"section_id":"docs/a.txt"},"constraints":{"slice":"lines[0:1]"}},
        {"op":"READ_SECTION","refs":{"section_id":"docs/a.txt"},"constraints":{"slice":"tail(6)"}}]}"#,
    );
    for command in [
        &["job", "init"][..],
        &["job", "index", "docs"],
        &["job", "post", "plan.json"],
    ] {
        assert_eq!(bench.run(command).code, Some(0));
    }
    assert_eq!(bench.run(&["job", "work"]).code, Some(0));
    let status = bench.run(&["job", "status"]).stdout;
    let job = status
        .split("\"job_id\":\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(
        bench.run(&["job", "build", "r", &job, "-o", "bundle"]).code,
        Some(0)
    );
    let outside = bench.run(&["job", "replay", "bundle"]);
    assert_eq!(outside.code, Some(0));
    fs::remove_dir_all(bench.path(".runseal")).unwrap();
    fs::remove_dir_all(bench.path("docs")).unwrap();

    runseal_testkit::folders::copy_program(env!("CARGO_BIN_EXE_runseal"), bench.path("runseal"));
    fs::set_permissions(bench.path("runseal"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(bench.path("work")).unwrap();
    let inside = |command: &[&str]| {
        let mut spec = Spec::new(command.iter().copied(), bench.path("work"));
        for name in ["runseal", "bundle"] {
            let mount = Mount {
                host: bench.path(name),
                inside: format!("/{name}").into(),
            };
            spec.mounts.push(mount);
        }
        sandbox.run(&spec).unwrap()
    };
    let seen = inside(&[
        "sh",
        "-c",
        "ls /work; ls -d /root /home /etc/passwd /var 2>&1",
    ]);
    let seen = String::from_utf8_lossy(&seen.stdout.bytes).into_owned();
    assert!(
        !seen.contains("docs") && !seen.contains(".runseal"),
        "{seen}"
    );
    let replayed = inside(&["/runseal", "job", "replay", "/bundle"]);
    let said = String::from_utf8_lossy(&replayed.stderr.bytes).into_owned();
    assert_eq!(replayed.exit_code(), Some(0), "{said}");
    assert_eq!(
        String::from_utf8_lossy(&replayed.stdout.bytes),
        outside.stdout
    );
    assert_eq!(
        fs::read_dir(bench.path("work")).unwrap().count(),
        0,
        "nothing was written"
    );
}

//! The same suite for the other kind of caller: root's tests run it again as an ordinary user.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::arena::{arena, open_up};
use runseal_testkit::skip::need_root;

#[test]
fn every_attack_fails_for_an_ordinary_user_too() {
    if arena().is_none() {
        return;
    }
    if !need_root() {
        return;
    }
    // Where the user may read it: the build folder need not be.
    let folder = tempfile::tempdir().unwrap();
    open_up(folder.path(), 0o777);
    let program = folder.path().join("attacks");
    runseal_testkit::folders::copy_test_program(&program);
    open_up(&program, 0o755);
    let output = Command::new(&program)
        .args(["--skip", "as_user::"])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path())
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(printed.contains("test result: ok."), "{printed}");
}

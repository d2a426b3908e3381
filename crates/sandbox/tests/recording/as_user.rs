//! The same suite for the other kind of caller: root's tests run it again as an ordinary user.

use runseal_testkit::skip::need_root;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[test]
fn everything_holds_for_an_ordinary_user_too() {
    if !need_root() {
        return;
    }
    // Where the user may read it: the build folder need not be.
    let folder = tempfile::tempdir().unwrap();
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(folder.path(), 0o777);
    let program = folder.path().join("recording");
    runseal_testkit::folders::copy_test_program(&program);
    set_mode(&program, 0o755);
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

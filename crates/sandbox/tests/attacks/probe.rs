//! What the answer to "is there isolation?" must not depend on.

use std::process::Command;

use runseal_sandbox::Sandbox;

use crate::arena::arena;

/// Run again by the test below, in another environment; on its own it also has to hold.
#[test]
fn probe_twice_gives_one_answer() {
    let answers = [Sandbox::probe().is_ok(), Sandbox::probe().is_ok()];
    assert_eq!(answers, [is_expected(), is_expected()]);
}

/// Whether isolation must be there: said by whoever found that it is.
fn is_expected() -> bool {
    std::env::var_os(EXPECTED).is_some() || arena().is_some()
}

const EXPECTED: &str = "RUNSEAL_TEST_EXPECTS_ISOLATION";

#[test]
fn probe_without_a_usable_temporary_folder_succeeds() {
    if arena().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for temporary in [folder.path().join("gone"), file] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "probe::probe_twice_gives_one_answer"])
            .env("TMPDIR", &temporary)
            .env(EXPECTED, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && printed.contains("1 passed"),
            "{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

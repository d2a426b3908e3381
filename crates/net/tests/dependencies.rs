//! The verifier opens no sockets: its crates depend neither on this one nor on any networking library.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

use std::process::Command;

/// Returns the packages that `package` is built from, according to `cargo tree`.
fn dependencies(package: &str, more: &[&str]) -> Vec<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--package",
        ])
        .arg(package)
        .args(more)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

const NETWORKED: [&str; 7] = [
    "runseal-net",
    "tokio",
    "hyper",
    "hyper-util",
    "hyper-rustls",
    "rustls",
    "mio",
];

#[test]
fn verifier_crates_do_not_depend_on_the_network() {
    for package in [
        "runseal-core",
        "runseal-archive",
        "runseal-kernel",
        "runseal-trust",
        "runseal-report",
        "runseal-sandbox",
        "runseal-fs",
        "runseal-redact",
        "runseal-secrets",
        "runseal-store",
        "runseal-runs",
        "runseal-harness",
    ] {
        let found = dependencies(package, &[]);
        assert!(
            found.iter().any(|name| name == package),
            "{package}: {found:?}"
        );
        for name in NETWORKED {
            assert!(
                !found.iter().any(|other| other == name),
                "{package} depends on {name}"
            );
        }
    }
}

#[test]
fn networked_crates_do_not_build_the_sandbox_the_kernel_or_sqlite() {
    for package in ["runseal-net", "runseal-remote", "runseal-postgres"] {
        let found = dependencies(package, &[]);
        for name in ["runseal-sandbox", "runseal-kernel", "rusqlite"] {
            assert!(
                !found.iter().any(|other| other == name),
                "{package} depends on {name}"
            );
        }
    }
}

#[test]
fn cli_without_default_features_does_not_depend_on_the_network() {
    let without = dependencies("runseal-cli", &["--no-default-features"]);
    for name in NETWORKED {
        assert!(
            !without.iter().any(|other| other == name),
            "it depends on {name}"
        );
    }
    // Check the search itself: with the feature, all are found.
    let with = dependencies("runseal-cli", &[]);
    for name in NETWORKED {
        assert!(
            with.iter().any(|other| other == name),
            "{name} was not found"
        );
    }
}

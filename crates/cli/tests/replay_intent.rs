//! Replaying context bundles and packs from their intents.

#![allow(clippy::unwrap_used, reason = "test code")]

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let intent = project_root().join("examples/intents/clear.json");
    bench.write("intent.json", std::fs::read(intent).unwrap());
    bench.write("other.json", r#"{"goal":"Something else"}"#);
    bench.write("refused.json", r#"{"goal":""}"#);
    (folder, bench)
}

#[test]
fn replay_context_bundle_from_its_intent_is_derived_again_and_from_another_is_not() {
    let (_folder, bench) = bench();
    assert_eq!(
        bench
            .run(&["transform", "intent.json", "-o", "b.json"])
            .code,
        Some(0)
    );
    let same = bench.run(&["replay", "b.json", "--intent", "intent.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.starts_with("b.json: RE-DERIVED\n"), "{same:?}");
    let other = bench.run(&[
        "replay",
        "b.json",
        "--intent",
        "other.json",
        "--format",
        "json",
    ]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.stdout.contains(r#""verdict":"DIVERGED""#),
        "{other:?}"
    );
    assert!(
        other.stdout.contains("member `source_intent_hash` differs"),
        "{other:?}"
    );
    let without = bench.run(&["replay", "b.json"]);
    assert_eq!(without.code, Some(64));
    assert!(without.stderr.contains("--intent FILE"), "{without:?}");
}

#[test]
fn replay_pack_from_its_intent_compares_intent_hash_and_bundle() {
    let (_folder, bench) = bench();
    let made = bench.run(&[
        "run",
        "intent.json",
        "--mode",
        "plan-only",
        "--pack",
        "pack",
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let same = bench.run(&["replay", "pack", "--intent", "intent.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert_eq!(same.stdout.matches("  same ").count(), 2, "{same:?}");
    assert!(same.stdout.starts_with("pack: RE-DERIVED\n"), "{same:?}");
    assert!(
        same.stdout.contains("note: the run executed nothing"),
        "{same:?}"
    );
    let alone = bench.run(&["replay", "pack"]);
    assert_eq!(alone.code, Some(64), "{alone:?}");
    let other = bench.run(&["replay", "pack", "--intent", "other.json"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.stdout.contains("different: the intent's hash"),
        "{other:?}"
    );
    assert!(
        other.stdout.contains("different: the bundle's hash"),
        "{other:?}"
    );
}

#[test]
fn replay_refused_pack_compares_the_reason() {
    let (_folder, bench) = bench();
    bench.run(&[
        "run",
        "refused.json",
        "--mode",
        "plan-only",
        "--pack",
        "pack",
    ]);
    let same = bench.run(&["replay", "pack", "--intent", "refused.json"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let other = bench.run(&["replay", "pack", "--intent", "intent.json"]);
    assert_eq!(other.code, Some(1), "{other:?}");
}

//! The laws of signatures, time stamps, policies, logs and replays, on seeds with a few bytes changed: a short fuzz run on
//! stable Rust, the same on every machine.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use runseal_laws::targets::TARGETS;

const NAMES: [&str; 5] = ["envelope", "policy", "proof", "replay", "timestamp"];

/// The function of a target, and a seed for it.
type Seed = (fn(&[u8]), Vec<u8>);

/// Every seed.
static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut seeds = Vec::new();
    for (target, check) in TARGETS {
        if !NAMES.contains(&target) {
            continue;
        }
        let mut files: Vec<_> = fs::read_dir(fuzz.join(target))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        seeds.extend(files.iter().map(|file| (check, fs::read(file).unwrap())));
    }
    seeds
});

/// One change: where, to what, and how.
fn change() -> impl Strategy<Value = (prop::sample::Index, u8, u8)> {
    (any::<prop::sample::Index>(), any::<u8>(), 0..5_u8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000),
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20_261_118),
        ..ProptestConfig::default()
    })]

    #[test]
    fn laws_hold_for_seeds_with_a_few_bytes_changed(
        seed in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let (check, bytes) = &SEEDS[seed.index(SEEDS.len())];
        let mut bytes = bytes.clone();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len().max(1));
            match how {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, byte),
                _ => bytes.extend_from_within(at..),
            }
        }
        check(&bytes);
    }
}

#[test]
fn unchanged_seeds_have_their_expected_states() {
    use runseal_core::verify::authenticity::SignedState;
    use runseal_laws::trust;
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let read = |name: &str| fs::read(fuzz.join(name)).unwrap();
    assert_eq!(read("envelope/honest"), trust::honest_envelope().to_line());
    for (name, expected) in [
        ("envelope/honest", SignedState::Signed),
        ("envelope/sigstore", SignedState::Signed),
        ("envelope/ssh", SignedState::Signed),
        ("envelope/minisign", SignedState::Signed),
        ("envelope/broken", SignedState::Broken),
        ("envelope/stranger", SignedState::Broken),
        ("envelope/other-type", SignedState::Broken),
    ] {
        assert_eq!(trust::state_of(&read(name)), Some(expected), "{name}");
    }
    for name in ["token", "answer", "sha512", "rsa"] {
        let token = read(&format!("timestamp/{name}"));
        assert!(trust::is_believed(&token), "{name}");
    }
    for name in ["over-other-data", "many-certificates", "flipped"] {
        let token = read(&format!("timestamp/{name}"));
        assert!(!trust::is_believed(&token), "{name}");
    }
}

//! The laws of reading archives, on archives made by hand and on random changes of them.

use std::sync::LazyLock;

use crate::hostile::{Case, hostile, unusual};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use runseal_archive::Container;
use runseal_laws::archives::{check_archive, check_gzip, check_zstd_decoders};

fn container(case: &Case) -> Container {
    Container::of_file_name(&format!("x.{}", case.ending)).unwrap()
}

fn check(case: &Case, bytes: &[u8]) {
    let container = container(case);
    check_archive(container, bytes);
    match container {
        Container::TarGz => check_gzip(bytes),
        Container::TarZst => check_zstd_decoders(bytes),
        Container::Tar | Container::Zip => {}
    }
}

static SEEDS: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let cases = unusual().into_iter().chain(hostile());
    cases.filter(|case| case.bytes.len() < 10_000).collect()
});

#[test]
fn archives_made_by_hand_keep_the_laws() {
    for case in unusual().into_iter().chain(hostile()) {
        check(&case, &case.bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(14),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn changed_archives_keep_the_laws(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let case = which.get(&SEEDS);
        let mut bytes = case.bytes.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        check(case, &bytes);
    }

    #[test]
    fn any_bytes_keep_the_laws(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        for ending in ["tar", "zip", "tar.gz", "tar.zst"] {
            let case = Case { name: String::new(), ending, bytes: Vec::new() };
            let magic: &[u8] = match ending {
                "tar.gz" => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
                "tar.zst" => &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x50],
                _ => &[],
            };
            check(&case, &[magic, &bytes].concat());
        }
    }
}

//! The kept seeds of the fuzz targets keep the laws.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use runseal_laws::targets::TARGETS;

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn seeds_of_every_target_keep_the_laws() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (target, check) in TARGETS {
        let folder = fuzz.join("seeds").join(target);
        let seeds = names_in(&folder);
        assert!(seeds.len() >= 10, "{target}: {} seeds", seeds.len());
        for seed in seeds {
            // Shown if a law breaks.
            println!("{target}/{seed}");
            check(&fs::read(folder.join(seed)).unwrap());
        }
    }
}

#[test]
fn targets_seeds_and_fuzz_targets_have_the_same_names() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let listed: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names_in(&fuzz.join("seeds")), listed);
    let files = names_in(&fuzz.join("fuzz_targets"));
    let files = files.iter().map(|name| name.strip_suffix(".rs").unwrap());
    assert_eq!(files.map(str::to_owned).collect::<BTreeSet<_>>(), listed);
}

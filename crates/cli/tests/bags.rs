//! BagIt bags: the conformance suite of the Library of Congress, archives of bags, and what `bagit.py` says
//! of our vectors.
//!
//! The suite is not part of this repository. It is taken from the folder that `RUNSEAL_BAGIT_SUITE` names, or
//! from `../shared/bagit-conformance-suite`; no package of a registry has it, so a run without it says so, in CI too.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::neighbour_support::{bench, run, tools, vectors, verdict};
use runseal_testkit::skip::skip_even_in_ci;
use runseal_testkit::{folders_in, project_root};

fn suite() -> Option<PathBuf> {
    let named = std::env::var_os("RUNSEAL_BAGIT_SUITE").map(PathBuf::from);
    let beside = project_root().join("../shared/bagit-conformance-suite");
    let found = named.or_else(|| beside.is_dir().then_some(beside));
    if found.is_none() {
        skip_even_in_ci("no bagit-conformance-suite; RUNSEAL_BAGIT_SUITE names its folder");
    }
    found
}

#[test]
fn conformance_suite_every_bag_has_the_verdict_it_must_have() {
    let Some(suite) = suite() else { return };
    let (_folder, bench) = bench();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for version in folders_in(&suite) {
        let name = version.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with('v') {
            continue;
        }
        for category in folders_in(&version) {
            let kind = category.file_name().unwrap().to_string_lossy().into_owned();
            for bag in folders_in(&category) {
                let (code, rules) = verdict(&bench, &bag, &[]);
                let (strict, _) = verdict(&bench, &bag, &["--strict"]);
                let fits = match kind.as_str() {
                    "valid" => code == 0,
                    // What should be warned of is a matter of form here.
                    "warning" => strict == 1,
                    _ => code == 1,
                };
                let count = counts.entry(kind.clone()).or_default();
                count.0 += usize::from(fits);
                count.1 += 1;
                if !fits {
                    wrong.push(format!("{}: {code} {strict} {rules:?}", bag.display()));
                }
            }
        }
    }
    println!("bagit-conformance-suite: {counts:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let total = |kind: &str| counts.get(kind).map_or(0, |count| count.1);
    let judged = total("valid") + total("invalid") + total("linux-only");
    assert!(judged >= 48, "{counts:?}");
}

#[test]
fn bag_in_an_archive_has_the_findings_of_its_folder() {
    let (folder, bench) = bench();
    for case in folders_in(&vectors("bag")) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let input = case.join("input");
        let expected = verdict(&bench, &input, &[]);
        let archive = folder.path().join(format!("{name}.tar.gz"));
        let packed = Command::new("tar")
            .arg("-czf")
            .arg(&archive)
            .arg("-C")
            .arg(&case)
            .arg("input")
            .status();
        assert!(packed.unwrap().success());
        assert_eq!(verdict(&bench, &archive, &[]), expected, "{name}");
        let bytes = fs::read(&archive).unwrap();
        let piped = bench.run_with(&["verify", "-"], &bytes);
        assert_eq!(piped.code, Some(expected.0), "{name} {}", piped.stderr);
    }
}

#[test]
fn bag_in_an_archive_with_a_large_file_is_hashed_with_what_its_manifest_names() {
    let (folder, bench) = bench();
    let large = "0123456789abcdef".repeat(200_000);
    let bag = folder.path().join("bag");
    fs::create_dir_all(bag.join("data")).unwrap();
    fs::write(bag.join("data/large"), &large).unwrap();
    let declared = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
    fs::write(bag.join("bagit.txt"), declared).unwrap();
    let sum = Command::new("sha512sum")
        .arg("data/large")
        .current_dir(&bag)
        .output()
        .unwrap();
    fs::write(bag.join("manifest-sha512.txt"), &sum.stdout).unwrap();
    let pack = |name: &str| {
        let packed = Command::new("tar")
            .args(["-czf", name, "bag"])
            .current_dir(folder.path())
            .status();
        assert!(packed.unwrap().success());
        folder.path().join(name)
    };
    let whole = pack("whole.tar.gz");
    assert_eq!(verdict(&bench, &whole, &[]), (0, vec![]));
    // A stream goes by once: what was not hashed then is not said to hold.
    let piped = bench.run_with(
        &["verify", "--format", "json", "-"],
        fs::read(&whole).unwrap(),
    );
    assert_eq!(piped.code, Some(2), "{}", piped.stdout);
    assert!(
        piped.stdout.contains("save the archive to a file"),
        "{}",
        piped.stdout
    );
    fs::write(bag.join("data/large"), large.replacen('0', "1", 1)).unwrap();
    let changed = pack("changed.tar.gz");
    assert_eq!(verdict(&bench, &changed, &[]), (1, vec!["BI11".to_owned()]));
}

#[test]
fn bag_with_weak_checksums_is_reported_as_such() {
    let (_folder, bench) = bench();
    let weak = vectors("bag").join("outside-md5-only/input");
    let ran = bench.run(&["verify", weak.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(
        ran.stdout
            .contains("note: its checksums are MD5 or SHA-1 only"),
        "{}",
        ran.stdout
    );
    let shown = bench.run(&["inspect", weak.to_str().unwrap()]).stdout;
    assert!(
        shown.contains("MD5 or SHA-1 only") && shown.contains("Example"),
        "{shown}"
    );
    let page = bench.run(&["report", weak.to_str().unwrap(), "-o", "page.html"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    assert!(bench.read("page.html").contains("MD5 or SHA-1 only"));
}

#[test]
fn bag_needs_no_network_and_visits_no_address() {
    // The address is of a port that nobody listens on: a visit would be an error or a delay, not a finding.
    let (folder, bench) = bench();
    let holey = vectors("bag").join("bi5-not-fetched/input");
    let copy = folder.path().join("bag");
    runseal_testkit::folders::copy_folder(&holey, &copy);
    let ran = bench.run(&["verify", "--format", "json", "bag"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("nothing is fetched while verifying"),
        "{}",
        ran.stdout
    );
    assert!(!copy.join("data/readings.csv").exists());
}

/// Our vectors that bagit.py 1.9 judges otherwise, and what RFC 8493 says there.
const KNOWN: [(&str, &str); 6] = [
    (
        "bi1-blank-before-the-colon",
        "invalid in the conformance suite",
    ),
    ("bi13-fetched-size", "§2.2.3: the size is that of the file"),
    (
        "bi3-function-unknown",
        "§3: every checksum in every manifest is verified",
    ),
    (
        "bi6-one-manifest-knows-less",
        "§3: every manifest lists every file",
    ),
    (
        "bi8-fetch-of-an-unlisted-file",
        "§2.2.3: every fetched file is in every manifest",
    ),
    ("ok-percent-in-a-name", "§2.1.3: `%` is written `%25`"),
];

#[test]
fn bagit_py_judges_our_vectors_as_we_do() {
    let Some(tools) = tools() else { return };
    let (folder, bench) = bench();
    let mut different = Vec::new();
    for case in folders_in(&vectors("bag")) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let input = case.join("input");
        let (code, rules) = verdict(&bench, &input, &[]);
        let python = tools.join("python");
        let script = tools.join("bagit.py");
        let arguments = [
            script.to_str().unwrap(),
            "--validate",
            input.to_str().unwrap(),
        ];
        let (theirs, said) = run(&python, &arguments, folder.path());
        let is_known = KNOWN.iter().any(|(known, _)| *known == name);
        if ((code == 0) == (theirs == 0)) == is_known {
            different.push(format!(
                "{name}: we {code} {rules:?}, bagit.py {theirs}: {said}"
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

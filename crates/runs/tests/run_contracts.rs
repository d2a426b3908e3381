//! Engines' contracts: where they are found and what is wrong with them.

use std::collections::BTreeSet;
use std::fs;

use crate::run_support::{Bench, COUPLING, MANIFEST, set};

#[test]
fn contracts_each_missing_one_is_named() {
    for name in [
        "ENGINE_MANIFEST.json",
        "INPUT_SCHEMA.json",
        "OUTPUT_SCHEMA.json",
        "COUPLING_RULES.json",
        "SEALING_SPEC.md",
    ] {
        let bench = Bench::new();
        fs::remove_file(bench.path("engine").join(name)).unwrap();
        assert_eq!(bench.contract_faults(), set(&[("EN1", name)]));
    }
}

#[test]
fn contracts_are_found_where_the_manifest_points_and_in_the_two_folders() {
    let bench = Bench::new();
    let move_to = |from: &str, to: &str| {
        let text = fs::read(bench.path("engine").join(from)).unwrap();
        fs::remove_file(bench.path("engine").join(from)).unwrap();
        bench.write(&format!("engine/{to}"), text);
    };
    move_to("INPUT_SCHEMA.json", "a/in.json");
    move_to("OUTPUT_SCHEMA.json", "out.json");
    move_to("COUPLING_RULES.json", "MANIFEST/COUPLING_RULES.json");
    move_to("SEALING_SPEC.md", "SEALING/SEALING_SPEC.md");
    let pointing = MANIFEST.replace(
        "\"execution\"",
        "\"io\":{\"input_schema_file\":\"./a/in.json\",\"output_schema_file\":\"out.json\"},\"execution\"",
    );
    fs::remove_file(bench.path("engine/ENGINE_MANIFEST.json")).unwrap();
    bench.write("engine/MANIFEST/ENGINE_MANIFEST.json", &pointing);
    assert_eq!(bench.contract_faults(), set(&[]));
    // The root comes first.
    bench.write("engine/INPUT_SCHEMA.json", "{");
    assert_eq!(
        bench.contract_faults(),
        set(&[("EN2", "INPUT_SCHEMA.json")])
    );
}

#[test]
fn contracts_pointer_or_link_out_of_the_folder_is_refused() {
    let bench = Bench::new();
    bench.write("secret.json", "{}");
    fs::remove_file(bench.path("engine/INPUT_SCHEMA.json")).unwrap();
    let pointing = MANIFEST.replace(
        "\"execution\"",
        "\"io\":{\"input_schema_file\":\"../secret.json\"},\"execution\"",
    );
    bench.write("engine/ENGINE_MANIFEST.json", &pointing);
    assert_eq!(
        bench.contract_faults(),
        set(&[("EN1", "INPUT_SCHEMA.json")])
    );
    bench.write("engine/ENGINE_MANIFEST.json", MANIFEST);
    std::os::unix::fs::symlink("../secret.json", bench.path("engine/INPUT_SCHEMA.json")).unwrap();
    assert_eq!(
        bench.contract_faults(),
        set(&[("EN1", "INPUT_SCHEMA.json")])
    );
}

#[test]
fn contracts_each_broken_one_has_its_finding() {
    let manifest = "ENGINE_MANIFEST.json";
    let coupling = "COUPLING_RULES.json";
    for (name, text, rule) in [
        (manifest, "{".to_owned(), "EN2"),
        (manifest, "[]".to_owned(), "EN2"),
        (manifest, MANIFEST.replace("\"ECHO\"", "5"), "EN3"),
        (manifest, MANIFEST.replace("\"ECHO\"", "\"a/b\""), "EN3"),
        (manifest, MANIFEST.replace("\"ECHO\"", "\"..\""), "EN3"),
        (manifest, MANIFEST.replace("\"1.2.0\"", "\"\""), "EN3"),
        (
            manifest,
            MANIFEST.replace("[\"sh\",\"engine.sh\"]", "[]"),
            "EN4",
        ),
        (
            manifest,
            MANIFEST.replace("[\"sh\",\"engine.sh\"]", "\"sh\""),
            "EN4",
        ),
        (
            manifest,
            MANIFEST.replace("\"sh\"", "\"no-such-program\""),
            "EN4",
        ),
        (manifest, MANIFEST.replace("\"sh\"", "\"bin/none\""), "EN4"),
        (
            manifest,
            MANIFEST.replace(
                "\"execution\":{",
                "\"execution\":{\"limits\":{\"timeout_seconds\":0},",
            ),
            "EN8",
        ),
        (
            manifest,
            MANIFEST.replace(
                "\"execution\":{",
                "\"execution\":{\"limits\":{\"memory_bytes\":\"2\"},",
            ),
            "EN8",
        ),
        (
            manifest,
            MANIFEST.replace(
                "\"execution\"",
                "\"compatibility\":{\"replay_versions\":[\"one\"]},\"execution\"",
            ),
            "EN7",
        ),
        (
            manifest,
            MANIFEST.replace("\"execution\"", "\"n\":9007199254740993,\"execution\""),
            "EN2",
        ),
        (
            "INPUT_SCHEMA.json",
            "{\"type\":\"strin\"}".to_owned(),
            "EN5",
        ),
        (
            "INPUT_SCHEMA.json",
            "{\"$ref\":\"https://example.com/x\"}".to_owned(),
            "EN5",
        ),
        (
            "INPUT_SCHEMA.json",
            "{\"properties\":{\"context\":{\"x_forbidden_fields\":\"x\"}}}".to_owned(),
            "EN5",
        ),
        ("OUTPUT_SCHEMA.json", "5".to_owned(), "EN5"),
        ("OUTPUT_SCHEMA.json", "1e400".to_owned(), "EN2"),
        (coupling, "{}".to_owned(), "EN6"),
        (coupling, COUPLING.replace("CORE_ONLY", "DIRECT"), "EN6"),
        (coupling, COUPLING.replace("[\"ECHO\"]", "\"ECHO\""), "EN6"),
        (
            coupling,
            COUPLING.replace(
                "[\"ECHO\"]",
                "[{\"engine_code\":\"ECHO\",\"via\":\"DIRECT\"}]",
            ),
            "EN6",
        ),
    ] {
        let bench = Bench::new();
        bench.write(&format!("engine/{name}"), &text);
        let found: BTreeSet<_> = bench.contract_faults();
        assert!(
            found.contains(&(rule.to_owned(), name.to_owned())),
            "{text}: {found:?}"
        );
        assert!(
            found.iter().all(|(_, path)| path == name),
            "{text}: {found:?}"
        );
    }
}

//! Every pack of the conformance data, made on disk by its recipe.

use std::collections::BTreeSet;
use std::path::Path;

use runseal_core::canon::{Dialect, Node, Value, canonical_bytes};
use runseal_core::formats::pack::{PackFiles, PackView, render_verdict, verify_pack};
use runseal_core::verify::Level;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_testkit::{conformance, for_each_line, text};

#[test]
fn conformance_packs_have_the_expected_findings() {
    let Some(folder) = conformance() else { return };
    let kernel = folder.join("kernel");
    let count = for_each_line(&kernel.join("packs.jsonl"), |case| {
        let name = text(case, "name").unwrap();
        let place = tempfile::tempdir().unwrap();
        let pack = crate::pack_recipe::prepare(case, &kernel.join("packs"), place.path());
        check_case(&name, case.get("expect").unwrap(), &pack);
    });
    assert!(count > 200, "{count} packs");
    println!("{count} packs");
}

fn check_case(name: &str, expect: Node<'_>, pack: &Path) {
    let exit = expect
        .get("exit")
        .unwrap()
        .as_number()
        .unwrap()
        .to_exact_i64()
        .unwrap();
    let source = match DirectorySource::open(pack, RootLink::Refuse) {
        Ok(source) => source,
        Err(error) => {
            assert_eq!(exit, 2, "{name}: {error}");
            return;
        }
    };
    assert_ne!(exit, 2, "{name}");
    let path = "pack";
    let files = PackFiles::read(&source).unwrap();
    let view = PackView::new(path, &files, Level::Document);
    let report = verify_pack(&view);
    let expected: BTreeSet<(String, Option<String>)> = expect
        .get("violations")
        .unwrap()
        .items()
        .map(|pair| {
            let mut parts = pair.items().map(|part| part.as_str().map(String::from));
            (parts.next().unwrap().unwrap(), parts.next().unwrap())
        })
        .collect();
    let found: BTreeSet<(String, Option<String>)> = report
        .findings()
        .iter()
        .map(|finding| {
            (
                finding.rule_id.to_owned(),
                finding.path().map(str::to_owned),
            )
        })
        .collect();
    assert_eq!(found, expected, "{name}");
    if exit == 0 {
        assert!(report.is_valid(), "{name}");
        let verdict = render_verdict(&view, &report);
        for field in ["files_verified", "reference_checks"] {
            let form = |value: &Value| canonical_bytes(value, Dialect::Kernel).unwrap();
            let wanted = expect.get(field).unwrap().to_value();
            assert_eq!(
                form(verdict.get(field).unwrap()),
                form(&wanted),
                "{name} {field}"
            );
        }
    }
}

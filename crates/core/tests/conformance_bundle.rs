//! Every case of `kernel/bundle.jsonl`: verdict, exit class and the set of (rule, path).

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::verify::Level;
use runseal_testkit::check_document_cases;

#[test]
fn bundle_conformance_cases_have_expected_verdicts() {
    check_document_cases("bundle", |bytes, _| {
        let document = parse_document(bytes, &ReadOptions::default()).ok()?;
        let view = BundleView {
            root: document.root(),
            transformed: None,
        };
        Some(verify_bundle(&view, Level::Document))
    });
}

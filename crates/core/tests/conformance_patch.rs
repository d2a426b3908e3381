//! Every patch set of the conformance data.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::patch::{MAX_TOTAL_BYTES, PatchView, verify_patch};
use runseal_core::verify::Level;
use runseal_testkit::check_document_cases;

#[test]
fn patch_cases_have_expected_findings() {
    check_document_cases("patch", |text, case| {
        let document = parse_document(text, &ReadOptions::default()).ok()?;
        let limit = case
            .get("options")
            .and_then(|options| {
                options
                    .get("max_total_bytes")?
                    .as_number()?
                    .as_integer()?
                    .to_u64()
            })
            .unwrap_or(MAX_TOTAL_BYTES);
        let view = PatchView {
            root: document.root(),
            max_total_bytes: limit,
        };
        Some(verify_patch(&view, Level::Document))
    });
}

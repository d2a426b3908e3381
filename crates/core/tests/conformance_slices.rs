//! The slices of the conformance data.

use runseal_core::formats::job_bundle::slice::parse_slice;
use runseal_testkit::{conformance, for_each_line, text};

#[test]
fn slice_cases_have_expected_texts() {
    let Some(folder) = conformance() else { return };
    let count = for_each_line(&folder.join("jobbundle/slices.jsonl"), |case| {
        let (content, slice) = (text(case, "content").unwrap(), text(case, "slice").unwrap());
        let cut = parse_slice(&slice).and_then(|parsed| parsed.apply(&content).map(str::to_owned));
        assert_eq!(
            cut.as_ref().ok(),
            text(case, "result").as_ref(),
            "{content:?} {slice:?}"
        );
        assert_eq!(
            cut.is_err(),
            !case.get("error").unwrap().is_null(),
            "{content:?} {slice:?}"
        );
    });
    assert!(count > 150);
}

use super::*;
use crate::canon::{Dialect, canonical_bytes};
use crate::formats::definition::Identity;
use crate::verify::authenticity::Authenticity;
use crate::verify::{Difference, Finding, Place};

fn survey() -> Survey {
    let finding = |path: &str, difference: Option<Difference>| Finding {
        rule_id: "JB4",
        place: Place::file(path),
        message: "the SHA-256 is not the declared one: expected `aa`, actual `bb`".to_owned(),
        difference,
    };
    let difference = Difference {
        subject: "the SHA-256 is not the declared one".to_owned(),
        expected: "aa".to_owned(),
        actual: "bb".to_owned(),
    };
    let invalid = UnitResult {
        path: "runs/<b> & c\u{1}".to_owned(),
        raw_path: None,
        format: Some(Format::JobBundle),
        verdict: Verdict::Invalid {
            findings: vec![finding("artifacts/x.txt", Some(difference))],
            not_run: vec![],
        },
        identity: Identity::default(),
    };
    let valid = UnitResult {
        path: "runs/a".to_owned(),
        raw_path: None,
        format: Some(Format::Patch),
        verdict: Verdict::Valid,
        identity: Identity::default(),
    };
    let lost = UnitResult::not_checked("runs/c", None, "no permission");
    Survey::new(Level::Integrity, vec![lost, invalid, valid], 3)
}

fn json(value: &Value) -> String {
    String::from_utf8(canonical_bytes(value, Dialect::Kernel).unwrap()).unwrap()
}

#[test]
fn survey_json_has_the_promised_shape() {
    assert_eq!(
        json(&render_survey_json(&survey())),
        r#"{"checked":2,"invalid":1,"level":"integrity","not_checked":1,"ok":false,"passed_over":3,"results":[{"format":"job-bundle","ok":false,"path":"runs/<b> & c\u0001","violations":[{"message":"the SHA-256 is not the declared one: expected `aa`, actual `bb`","path":"artifacts/x.txt","rule_id":"JB4"}]},{"format":"patch","ok":true,"path":"runs/a","violations":[]},{"format":"unknown","ok":false,"path":"runs/c","violations":[{"message":"no permission","rule_id":"IO"}]}],"unchecked":["form"]}"#
    );
}

#[test]
fn survey_sarif_names_rule_file_and_place() {
    let sarif = json(&render_survey_sarif(&survey(), None));
    for wanted in [
        r#""ruleId":"job-bundle/JB4","ruleIndex":0"#,
        r#""uri":"runs/%3Cb%3E%20%26%20c%01/artifacts/x.txt""#,
        r#""executionSuccessful":false"#,
        r#""version":"2.1.0""#,
    ] {
        assert!(sarif.contains(wanted), "{wanted}\n{sarif}");
    }
}

#[test]
fn survey_sarif_paths_are_relative_to_the_current_folder_or_whole_uris() {
    let results = ["/work/runs/a", "/other/b c", "runs/c"]
        .map(|path| UnitResult::invalid(path, None, NO_FORMAT, "what"));
    let survey = Survey::new(Level::Integrity, results.to_vec(), 0);
    let sarif = json(&render_survey_sarif(&survey, Some("/work")));
    for uri in ["runs/a", "file:///other/b%20c", "runs/c"] {
        assert!(
            sarif.contains(&format!("\"uri\":\"{uri}\"")),
            "{uri}\n{sarif}"
        );
    }
    let sarif = json(&render_survey_sarif(&survey, None));
    assert!(sarif.contains("\"uri\":\"file:///work/runs/a\""), "{sarif}");
}

#[test]
fn survey_sarif_encodes_the_bytes_of_a_name_that_is_not_utf8() {
    let result = UnitResult {
        raw_path: Some(b"in/x\xff".as_slice().into()),
        ..UnitResult::invalid("in/x\u{fffd}", None, "FORMAT", "what")
    };
    let survey = Survey::new(Level::Integrity, vec![result], 0);
    let sarif = json(&render_survey_sarif(&survey, None));
    assert!(sarif.contains("\"uri\":\"in/x%FF\""), "{sarif}");
}

#[test]
fn survey_below_integrity_level_is_not_called_intact() {
    let valid = UnitResult {
        path: "runs/a".to_owned(),
        raw_path: None,
        format: Some(Format::Patch),
        verdict: Verdict::Valid,
        identity: Identity::default(),
    };
    for (level, intact) in [(Level::Document, "null"), (Level::Integrity, "true")] {
        let found = [("runs/a".to_owned(), Authenticity::unsigned())];
        let survey = Survey::new(level, vec![valid.clone()], 0)
            .with_authenticity(found.into(), Default::default());
        let sarif = json(&render_survey_sarif(&survey, None));
        assert!(sarif.contains(&format!("\"intact\":{intact}")), "{sarif}");
        assert!(
            sarif.contains(&format!("\"level\":\"{}\"", level.name())),
            "{sarif}"
        );
        let junit = render_survey_junit(&survey);
        let property = format!("<property name=\"level\" value=\"{}\"/>", level.name());
        assert!(junit.contains(&property), "{junit}");
    }
}

#[test]
fn survey_junit_escapes_markup_and_control_characters() {
    let xml = render_survey_junit(&survey());
    for wanted in [
        "<testsuites name=\"runseal verify\" tests=\"3\" failures=\"1\" errors=\"1\">",
        "name=\"runs/&lt;b&gt; &amp; c\u{fffd}\"",
        "<error type=\"IO\" message=\"no permission\"/>",
        "<testcase classname=\"patch\" name=\"runs/a\"/>",
    ] {
        assert!(xml.contains(wanted), "{wanted}\n{xml}");
    }
}

#[test]
fn survey_findings_beyond_the_limit_are_reported_in_every_answer() {
    let more = FINDINGS_A_SURVEY + 3;
    let results =
        (0..more).map(|at| UnitResult::invalid(format!("{at:06}"), None, "FORMAT", "what"));
    let survey = Survey::new(Level::Document, results.collect(), 0);
    let note = "3 more findings not listed: the limit is 20000";
    let answer = render_survey_json(&survey);
    assert_eq!(answer.get("unlisted_violations"), Some(&Value::from(3)));
    let sarif = json(&render_survey_sarif(&survey, None));
    assert!(sarif.contains(note));
    assert_eq!(sarif.matches("\"ruleId\"").count(), FINDINGS_A_SURVEY);
    let junit = render_survey_junit(&survey);
    assert_eq!(
        junit.matches("<failure ").count(),
        more,
        "none looks like a success"
    );
    assert_eq!(junit.matches("type=\"LIMIT\"").count(), 3);
}

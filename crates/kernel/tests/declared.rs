//! What an intent declares in its context: profile, waivers and findings of assessors.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_kernel::assess::{parse_assessment, with_findings};
use runseal_kernel::measure::measure;
use runseal_kernel::rules::Kind;
use runseal_kernel::{Intent, ResultKind, answer_round, parse_intent, transform};

fn read(text: &str) -> Result<Intent, String> {
    let document = parse_document(text.as_bytes(), &ReadOptions::INTENT).unwrap();
    parse_intent(&document).map_err(|refusal| refusal.to_string())
}

const OPEN: &str = r#""goal":"Build it","constraints":["Names longer than N characters are cut","The rest works as discussed."]"#;

#[test]
fn malformed_context_is_refused_with_the_place() {
    for (context, message) in [
        (r#""accepted":{}"#, "context.accepted must be a list"),
        (r#""accepted":[1]"#, "context.accepted[0] must be an object"),
        (
            r#""accepted":[{"rule":"KP01","quote":"x"}]"#,
            "context.accepted[0].reason is missing",
        ),
        (
            r#""accepted":[{"rule":1,"quote":"x","reason":"y"}]"#,
            "context.accepted[0].rule must be a string",
        ),
        (
            r#""accepted":[{"rule":"KP01","quote":" ","reason":"y"}]"#,
            "context.accepted[0].quote must not be blank",
        ),
        (r#""findings":"x""#, "context.findings must be a list"),
        (
            r#""findings":[{"kind":"bug","quotes":["x"],"message":"m"}]"#,
            "context.findings[0].kind is `bug`",
        ),
        (
            r#""findings":[{"kind":"gap","quotes":"x","message":"m"}]"#,
            "context.findings[0].quotes must be a list of strings",
        ),
        (
            r#""findings":[{"kind":"gap","quotes":[],"message":"m"}]"#,
            "context.findings[0].quotes must hold",
        ),
        (
            r#""findings":[{"kind":"gap","quotes":["a",2],"message":"m"}]"#,
            "context.findings[0].quotes[1] must be a string",
        ),
        (
            r#""findings":[{"kind":"contradiction","quotes":["a"],"message":"m"}]"#,
            "context.findings[0].quotes of a contradiction",
        ),
        (
            r#""findings":[{"kind":"gap","quotes":["x"]}]"#,
            "context.findings[0].message is missing",
        ),
        (r#""profile":7"#, "context.profile must be"),
        (
            r#""profile":"secret""#,
            "context.profile is `secret`, which is not one of default, complete, none",
        ),
        (
            r#""profile":["users","colour"]"#,
            "context.profile[1] is `colour`, which is not one of users",
        ),
    ] {
        let error = read(&format!("{{\"goal\":\"x\",\"context\":{{{context}}}}}")).unwrap_err();
        assert!(
            error.starts_with(&format!("INVALID_INTENT: {message}")),
            "{context}: {error}"
        );
    }
}

#[test]
fn waiver_silences_its_finding_and_is_sealed_and_shown() {
    let plain = read(&format!("{{{OPEN},\"context\":{{\"profile\":\"none\"}}}}")).unwrap();
    let questions = transform(&plain).unwrap().questions.len();
    assert_eq!(questions, 2);
    let waived = read(&format!(
        "{{{OPEN},\"context\":{{\"profile\":\"none\",\"accepted\":[{{\"rule\":\"KP03\",\"quote\":\"than N characters\",\
         \"reason\":\"N is set by the layout\"}},{{\"rule\":\"KC01\",\"quote\":\"nowhere\",\"reason\":\"old\"}}]}}}}"
    ))
    .unwrap();
    let bundle = transform(&waived).unwrap();
    assert_eq!(bundle.questions.len(), questions - 1);
    assert_ne!(plain.hash(), waived.hash());
    assert!(
        bundle.outputs[0]
            .content
            .contains("KP03 “N”: N is set by the layout")
    );
    let measured = measure(waived.goal(), waived.constraints(), waived.declared());
    assert_eq!(measured.waived.len(), 1);
    assert_eq!(measured.unused_waivers, [1]);
}

#[test]
fn profile_decides_what_is_asked_for() {
    let long = r#""goal":"Describe the workflow","constraints":["The first step is done with care and attention by everybody involved in it","The second step follows on the first one at once and ends with a short pause for tea","Nothing else happens on that day"]"#;
    let asked = |context: &str| {
        let bundle =
            transform(&read(&format!("{{{long},\"context\":{{{context}}}}}")).unwrap()).unwrap();
        bundle
            .questions
            .iter()
            .map(|question| question.text.clone())
            .collect::<Vec<_>>()
    };
    // It names nothing that is essential; with its users it does.
    assert_eq!(asked("").len(), 1, "{:?}", asked(""));
    let named = long.replace("everybody", "every reader");
    let named = transform(&read(&format!("{{{named}}}")).unwrap()).unwrap();
    assert!(named.questions.is_empty(), "{:?}", named.questions);
    assert!(asked(r#""profile":"none""#).is_empty());
    let complete = asked(r#""profile":"complete""#);
    assert!(
        complete.len() == 1 && complete[0].contains("technology"),
        "{complete:?}"
    );
    let own = asked(r#""profile":["technology"]"#);
    assert!(
        own.len() == 1 && own[0].starts_with("The intent does not name: technology."),
        "{own:?}"
    );
}

#[test]
fn gap_is_one_question_and_its_answer_closes_it() {
    let intent = read(r#"{"goal":"Build a website for my bakery"}"#).unwrap();
    let bundle = transform(&intent).unwrap();
    assert_eq!(bundle.questions.len(), 1);
    let answered = answer_round(&intent, &[(&bundle.questions[0], "nothing special")]).unwrap();
    assert_eq!(transform(&answered).unwrap().kind(), ResultKind::Bundle);
}

#[test]
fn assessed_findings_count_if_the_intent_has_their_quotes() {
    let intent = read(&format!(
        "{{{OPEN},\"context\":{{\"profile\":\"none\",\"x\":[1]}}}}"
    ))
    .unwrap();
    let answer = r#"{"findings":[{"kind":"C","quotes":["Names longer than N","works as discussed."],"message":"Do they agree?"},
                     {"kind":"gap","quotes":["no such words"],"message":"made up"}]}"#;
    let document = parse_document(answer.as_bytes(), &ReadOptions::TEXT).unwrap();
    let assessment = parse_assessment(&document.root().to_value(), &intent).unwrap();
    assert_eq!(assessment.counted.len(), 1);
    assert_eq!(assessment.invented, [(1, "no such words".to_owned())]);
    let assessed = with_findings(&intent, &assessment.counted).unwrap();
    assert_eq!(
        with_findings(&assessed, &assessment.counted).unwrap(),
        assessed
    );
    let bundle = transform(&assessed).unwrap();
    let question = bundle
        .questions
        .iter()
        .find(|question| question.text.contains("Do they agree?"))
        .unwrap();
    assert_eq!(
        question.finding.as_ref().unwrap().kind(),
        Kind::Contradiction
    );
    assert_eq!(question.options.len(), 3);
    // The same intent makes the same bundle: the assessor is not asked again.
    assert_eq!(
        bundle.compute_hash().unwrap(),
        transform(&assessed).unwrap().compute_hash().unwrap()
    );
}

#[test]
fn stale_assessed_findings_are_reported_and_ask_nothing() {
    let text = r#"{"goal":"Build it","context":{"profile":"none","findings":[{"kind":"gap","quotes":["Ship it"],"message":"Who?"}]}}"#;
    let intent = read(text).unwrap();
    assert!(transform(&intent).unwrap().questions.is_empty());
    assert_eq!(
        measure(intent.goal(), intent.constraints(), intent.declared()).stale,
        [0]
    );
}

#[test]
fn given_position_is_the_first_index_of_a_constraint() {
    let intent = read(r#"{"goal":"x","constraints":["b"," ","a","b"]}"#).unwrap();
    assert_eq!(intent.constraints(), ["a", "b"]);
    assert_eq!((intent.given_position(0), intent.given_position(1)), (2, 0));
}

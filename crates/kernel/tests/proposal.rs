//! Proposals made from bundles pass the rules of proposals in strict mode.

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::patch::{MAX_TOTAL_BYTES, PatchView, verify_patch};
use runseal_core::formats::proposal::{ProposalView, SourceBundle, verify_proposal};
use runseal_core::verify::Level;
use runseal_kernel::proposal::{Proposal, generate_proposal, make_patch};
use runseal_kernel::{parse_intent, transform};

const INTENT: &str = r#"{"goal":"Write a reading list for the garden club",
  "constraints":["The list is written for the members of the garden club",
    "The list has 12 titles","The list is a Markdown file named list.md",
    "The list is done when every title has an author and a year",
    "A title that cannot be found is left out"],
  "context":{"proposal":{
    "files":[{"path":"a.txt","content":"A\n"},{"path":"context/b.md","content":"B","op":"modify"},
             {"path":"old.txt","op":"delete"}],
    "commands":["node make.js","node make.js",{"command":"json:a.json","type":"validate"},
                {"command":"test_1","type":"test","required":false}],
    "tests":[{"type":"file_exists","target":"a.txt"},
             {"type":"command_success","target":"node check.js"},
             {"type":"content_match","target":"a.txt","expected":"A\n"}]}}}"#;

fn proposal_of(intent: &str) -> Result<(Value, Proposal), String> {
    let document = parse_document(intent.as_bytes(), &ReadOptions::default()).unwrap();
    let intent = parse_intent(&document).unwrap();
    let bundle = transform(&intent).unwrap();
    let bytes = canonical_bytes(bundle.value(), Dialect::Kernel).unwrap();
    let parsed = parse_document(&bytes, &ReadOptions::default()).unwrap();
    let proposal = generate_proposal(parsed.root(), intent.context().get("proposal"))
        .map_err(|error| error.to_string())?;
    Ok((bundle.value().clone(), proposal))
}

#[test]
fn generated_proposal_passes_its_rules_in_strict_mode() {
    let (bundle, proposal) = proposal_of(INTENT).unwrap();
    let bytes = canonical_bytes(proposal.value(), Dialect::Kernel).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    let hash = runseal_core::canon::canonical_digest(&bundle, Dialect::Kernel).unwrap();
    let source = SourceBundle {
        id: bundle.get("id").unwrap().as_str().unwrap().to_owned(),
        hash: hash.into(),
    };
    let view = ProposalView::new(document.root(), Some(&source));
    let report = verify_proposal(&view, Level::Form);
    assert_eq!(report.findings(), []);
    assert!(report.is_valid());
    // All six types of actions and all four of tests occur.
    let mut kinds: Vec<_> = proposal.actions.iter().map(|action| action.kind).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 6);
    let mut kinds: Vec<_> = proposal.tests.iter().map(|test| test.kind).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 4);
}

#[test]
fn patch_of_a_proposal_passes_its_rules_in_strict_mode() {
    let (_, proposal) = proposal_of(INTENT).unwrap();
    let bytes = canonical_bytes(&make_patch(&proposal), Dialect::Kernel).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    let view = PatchView {
        root: document.root(),
        max_total_bytes: MAX_TOTAL_BYTES,
    };
    let report = verify_patch(&view, Level::Form);
    assert_eq!(report.findings(), []);
}

#[test]
fn proposal_of_the_same_intent_is_the_same() {
    let (first, second) = (
        proposal_of(INTENT).unwrap().1,
        proposal_of(INTENT).unwrap().1,
    );
    assert_eq!(first.hash(), second.hash());
    assert_eq!(first.value(), second.value());
}

#[test]
fn malformed_extras_error_names_the_place() {
    for (extras, place) in [
        (r#"[]"#, "context.proposal.: "),
        (r#"{"file":[]}"#, "context.proposal.file: "),
        (r#"{"files":{}}"#, "context.proposal.files: "),
        (
            r#"{"files":[{"path":"a//b","content":""}]}"#,
            "context.proposal.files[0].path: ",
        ),
        (
            r#"{"files":[{"path":"x"}]}"#,
            "context.proposal.files[0].content: ",
        ),
        (
            r#"{"files":[{"path":"x","content":"","op":"link"}]}"#,
            "context.proposal.files[0].op: ",
        ),
        (r#"{"commands":[1]}"#, "context.proposal.commands[0]: "),
        (r#"{"commands":[" "]}"#, "context.proposal.commands[0]: "),
        (
            r#"{"tests":[{"type":"magic","target":"x"}]}"#,
            "context.proposal.tests[0].type: ",
        ),
        (
            r#"{"tests":[{"type":"hash_match","target":"x"}]}"#,
            "context.proposal.tests[0].expected: ",
        ),
    ] {
        let intent =
            format!(r#"{{"goal":"g","constraints":[],"context":{{"proposal":{extras}}}}}"#);
        let error = proposal_of(&intent).unwrap_err();
        assert!(error.starts_with(place), "{error}");
    }
    // One that leaves the folder is refused before there is a proposal.
    let intent = br#"{"goal":"g","constraints":[],"context":{"proposal":{"files":[{"path":"/x","content":""}]}}}"#;
    let document = parse_document(intent, &ReadOptions::INTENT).unwrap();
    assert_eq!(parse_intent(&document).unwrap_err().code(), "INVALID_PATH");
}

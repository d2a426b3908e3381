//! Policies that are read, and policies that are refused with their line.
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_trust::check::KnownSigners;
use runseal_trust::keys::{PrivateKey, Signer as _, ssh};
use runseal_trust::policy::{
    Place, Policy, Question, decide, from_receipt_policy, parse_allowed_signers,
};
use runseal_trust::statement::Target;

fn key(seed: u8) -> String {
    let key = PrivateKey::from_ed25519_seed(&[seed; 32]).unwrap();
    ssh::format_public_line(key.public_key())
}

fn good() -> String {
    format!(
        "runseal-trust = 1\nversion = 4\nname = \"team\"\n\n[[signer]]\nname = \"ada\"\nkey = \"{}\"\n\n\
         [[signer]]\nname = \"ci\"\nidentity = \"https://github.com/acme/*\"\nissuer = \"https://token.example\"\n\n\
         [[rule]]\nname = \"releases\"\nformats = [\"run-bundle\"]\nengines = [\"acme.*\"]\n\
         outcomes = [\"accepted\"]\npaths = [\"prod/**\"]\nsigners = [\"ada\", \"ci\"]\nthreshold = 2\n",
        key(1)
    )
}

#[test]
fn policy_is_read_with_its_lines() {
    let policy = Policy::parse(&good()).unwrap();
    assert_eq!((policy.version, policy.name.as_deref()), (4, Some("team")));
    assert_eq!(policy.signer("ada").unwrap().line, 6);
    assert_eq!(
        (
            policy.rules[0].line,
            policy.rules[0].requirements[0].threshold
        ),
        (14, 2)
    );
}

#[test]
fn faulty_policy_error_names_the_line() {
    for (from, to, line, said) in [
        (
            "threshold = 2",
            "threshold = 3",
            21,
            "cannot reach a threshold of 3",
        ),
        ("threshold = 2", "threshold = 0", 21, "would trust anything"),
        (
            "threshold = 2",
            "treshold = 2",
            21,
            "unknown field `treshold`",
        ),
        (
            "name = \"team\"",
            "nam = \"team\"",
            3,
            "unknown field `nam`",
        ),
        (
            "runseal-trust = 1",
            "runseal-trust = 2",
            1,
            "expected `runseal-trust = 1`",
        ),
        ("version = 4", "version = 0", 2, "versions start at 1"),
        ("version = 4", "version = -1", 2, "invalid value"),
        (
            "\"ada\", \"ci\"",
            "\"ada\", \"eve\"",
            20,
            "`eve` is not a signer",
        ),
        (
            "\"ada\", \"ci\"",
            "\"ada\", \"ada\"",
            20,
            "duplicate signer `ada`",
        ),
        (
            "\"run-bundle\"",
            "\"run_bundle\"",
            16,
            "`run_bundle` is not a format",
        ),
        (
            "issuer = \"https://token.example\"",
            "",
            10,
            "must be given together",
        ),
        ("ssh-ed25519 AAAA", "ssh-ed25519 BAAA", 7, "damaged"),
        (
            "name = \"ci\"",
            "name = \"ada\"",
            10,
            "duplicate signer `ada`",
        ),
        (
            "name = \"ci\"",
            "name = \"\"",
            10,
            "a name must be one line of text",
        ),
        (
            "[[rule]]",
            "from = 2026-01-01T00:00:00+02:00\n[[rule]]",
            14,
            "in UTC",
        ),
        ("[[rule]]", "[[rule", 14, ""),
    ] {
        let text = good().replace(from, to);
        assert_ne!(text, good(), "{from}");
        let error = Policy::parse(&text).unwrap_err();
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.fault.contains(said), "{to}: {error}");
    }
}

#[test]
fn rule_decides_only_what_its_selectors_match() {
    let policy = Policy::parse(&good()).unwrap();
    let question = Question {
        format: "run-bundle".to_owned(),
        original: None,
        engine: Some("acme.pricing".to_owned()),
        outcome: Some("accepted".to_owned()),
        is_outcome_unknown: false,
        place: Place::below("prod/eu/run_1"),
        is_intact: true,
        now: 0,
    };
    let target = Target::of_file("run_1", "SHA256SUMS.txt", Vec::new());
    let reason = |question: &Question| decide(&policy, question, &target, &[]);
    assert_eq!(
        reason(&question).reason,
        "0 of 2 needed signatures: it is unsigned"
    );
    for change in [
        |q: &mut Question| q.format = "pack".to_owned(),
        |q: &mut Question| q.engine = Some("other".to_owned()),
        |q: &mut Question| q.engine = None,
        |q: &mut Question| q.outcome = Some("rejected".to_owned()),
        |q: &mut Question| q.place = Place::below("test/run_1"),
    ] {
        let mut changed = question.clone();
        change(&mut changed);
        let decision = reason(&changed);
        assert_eq!(decision.reason, "no rule of the policy applies to this");
        assert!(
            decision.steps[0].text.contains("does not apply"),
            "{:?}",
            decision.steps
        );
    }
}

#[test]
fn copy_that_does_not_say_how_its_run_ended_passes_no_rule_for_outcomes_by() {
    let lax = "\n[[rule]]\nname = \"lax\"\nsigners = [\"ada\"]\n";
    let policy = Policy::parse(&format!("{}{lax}", good())).unwrap();
    let mut target = Target::of_file("run_1", "REDACTED.json", Vec::new());
    let mut question = Question {
        format: "redacted-bundle".to_owned(),
        original: Some("run-bundle".to_owned()),
        engine: Some("acme.pricing".to_owned()),
        place: Place::below("prod/eu/run_1"),
        is_intact: true,
        ..Question::default()
    };
    let list = || Some(("REDACTED.json".to_owned(), Digest::of(b"")));
    for (withheld, is_outcome_unknown, rule) in
        [(list(), false, Some("rule `lax`")), (list(), true, None)]
    {
        target.withheld = withheld;
        question.is_outcome_unknown = is_outcome_unknown;
        let decision = decide(&policy, &question, &target, &[]);
        assert_eq!(decision.rule.as_deref(), rule, "{}", decision.reason);
    }
}

#[test]
fn allowed_signers_of_ssh_are_read() {
    let text = format!(
        "# people\nada@example.com namespaces=\"git,runseal\",valid-after=\"20260101Z\",valid-before=\"20270101\" {}\n\
         \"bob@example.com,b@example.com\" {} bob's laptop\ncay@example.com namespaces=\"git\" {}\n",
        key(1),
        key(2),
        key(3)
    );
    let signers = parse_allowed_signers(&text, 1).unwrap();
    let names: Vec<_> = signers.iter().map(|signer| signer.name.as_str()).collect();
    assert_eq!(
        names,
        ["ada@example.com", "bob@example.com"],
        "cay signs for git alone"
    );
    assert_eq!(signers[0].from, Some(1_767_225_600_000));
    assert_eq!(signers[0].until, Some(1_798_761_600_000));
    let excluded = format!("eve namespaces=\"!runseal,*\" {}\n", key(4));
    assert_eq!(parse_allowed_signers(&excluded, 1).unwrap(), []);
    for (line, said) in [
        (
            format!("ada cert-authority {}", key(1)),
            "certificate authorities",
        ),
        (format!("ada verify-required {}", key(1)), "unknown option"),
        (key(1), "expected"),
        (
            format!("ada valid-after=\"soon\" {}", key(1)),
            "is not a time",
        ),
        (format!("!ada,* {}", key(1)), "`!ada` is a pattern"),
        (format!("*@example.com {}", key(1)), "is a pattern"),
        (format!("ada,b?b {}", key(1)), "`b?b` is a pattern"),
        (format!("ada, {}", key(1)), "is a pattern"),
        (
            format!("ada namespaces=runseal {}", key(1)),
            "expected `namespaces=",
        ),
        (
            format!("ada namespaces {}", key(1)),
            "expected `namespaces=",
        ),
        (
            format!("ada namespaces=\"git\",namespaces=\"runseal\" {}", key(1)),
            "duplicate option `namespaces`",
        ),
        (
            format!("ada namespaces=\"runseal\", {}", key(1)),
            "unknown option ``",
        ),
        (
            format!(
                "ada valid-after=\"20270101Z\",valid-before=\"20260101Z\" {}",
                key(1)
            ),
            "is not before",
        ),
    ] {
        let error = parse_allowed_signers(&line, 7).unwrap_err();
        assert_eq!(error.line, 7);
        assert!(error.fault.contains(said), "{error}");
    }
}

#[test]
fn receipts_policy_converts_to_a_policy() {
    let hex = |seed: u8| {
        let key = PrivateKey::from_ed25519_seed(&[seed; 32]).unwrap();
        runseal_trust::encoding::encode_hex(key.public_key().point())
    };
    let entry = |id: &str, seed: u8, enabled: bool| {
        format!(
            r#"{{"validator_id":"{id}","public_key":"{}","schemes":["ed25519"],"scope":["RECEIPT"],"enabled":{enabled}}}"#,
            hex(seed)
        )
    };
    let text = format!(
        r#"{{"policy_version":"1.0.0","allow":[{},{}]}}"#,
        entry("val \\\" one", 1, true),
        entry("gone", 2, false)
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    let policy = Policy::parse(&from_receipt_policy(document.root()).unwrap()).unwrap();
    let names: Vec<_> = policy
        .signers
        .iter()
        .map(|signer| signer.name.as_str())
        .collect();
    assert_eq!(names, ["val \" one"]);
    assert_eq!(policy.rules[0].formats, ["receipt"]);
    assert_eq!(KnownSigners::default().keys, None);
}

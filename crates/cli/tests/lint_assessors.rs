//! `lint` with a model or a command: what a rule finds and what an assessor says are kept apart.

use serde_json::{Value, json};

use crate::assess_support::{chat, ok, run_with, scripted, words};
use crate::proxy_support::folder;

#[test]
fn lint_with_a_model_says_what_is_a_rules_word_and_what_a_models() {
    let (_folder, bench) = folder();
    bench.write("needs.md", "# Run the archive\n\n- Scans are thrown away after a month\n- Every reader can open any scan for ten years\n- Rates are cached for one hour\n- Rates are never cached\n");
    let (server, _) = scripted(vec![ok(&chat(&words(), "stop"))]);
    let url = format!("{}/v1", server.url);
    let line = [
        "lint",
        "needs.md",
        "--provider",
        "openai",
        "--base-url",
        &url,
        "--model-io",
        "io.json",
    ];
    let ran = run_with(&bench, &line, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in [
        "needs.md: line 3: ask KA01 (an assessor's word)\n",
        "needs.md: line 5: ask KC01\n",
        "For how long are scans kept?",
        "openai gpt-5 found 1 more",
        "by rules, 1 on an assessor's word)",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let replay = ["lint", "needs.md", "--replay", "io.json", "--format"];
    let ran = run_with(&bench, &[&replay[..], &["json"]].concat(), &[]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let by = |rule: &str| {
        let findings = answer["findings"].as_array().unwrap();
        findings.iter().find(|it| it["rule_id"] == rule).unwrap()["by"].clone()
    };
    assert_eq!((by("KA01"), by("KC01")), (json!("assessor"), json!("rule")));
    let asked = &answer["assessed"][0];
    assert_eq!(
        (&asked["by"], &asked["findings"], &asked["repeated"]),
        (&json!("openai gpt-5"), &json!(1), &json!(1))
    );
    assert_eq!(
        (
            &asked["pairs"],
            &asked["pairs_not_seen"],
            &asked["answered"]
        ),
        (&json!(6), &json!(0), &json!(true))
    );
    let ran = run_with(&bench, &[&replay[..], &["sarif"]].concat(), &[]);
    let sarif: Value = serde_json::from_str(&ran.stdout).unwrap();
    let run = &sarif["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let by = if result["ruleId"] == "KA01" {
            "assessor"
        } else {
            "rule"
        };
        assert_eq!(result["properties"]["by"], by);
    }
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn lint_whose_assessor_fails_shows_the_rules_and_is_no_verdict() {
    let (_folder, bench) = folder();
    let text = "Build the archive of the club\n\nThe editors of the club upload Markdown files to the server and see the pages at once.\n\nA file that cannot be read is listed with the reason.\n";
    bench.write("clean.txt", text);
    assert_eq!(run_with(&bench, &["lint", "clean.txt"], &[]).code, Some(0));
    let line = ["lint", "clean.txt", "--with", "exit 3", "--format"];
    let ran = run_with(&bench, &[&line[..], &["human"]].concat(), &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("ASSESSOR: the assessor failed"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("GAVE NO ANSWER that could be used; only the rules have looked"),
        "{ran:?}"
    );
    let ran = run_with(&bench, &[&line[..], &["json"]].concat(), &[]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&answer["ok"], &answer["assessed"][0]["error"]["code"]),
        (&json!(false), &json!("ASSESSOR"))
    );
    let ran = run_with(&bench, &[&line[..], &["sarif"]].concat(), &[]);
    let sarif: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        sarif["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
    // A command that answers is heard, for every list, and what it said can be played back.
    bench.write(
        "other.md",
        "# Run it\n\n- Rates are fresh\n- Rates are a day old\n",
    );
    bench.write("said.json", r#"[{"kind":"contradiction","quotes":["Rates are fresh","Rates are a day old"],"message":"Which?"}]"#);
    let command = "if grep -q 'day old'; then cat said.json; else echo '[]'; fi";
    let line = [
        "lint",
        "clean.txt",
        "other.md",
        "--with",
        command,
        "--model-io",
        "io.json",
    ];
    let ran = run_with(&bench, &line, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout
            .contains("other.md: line 3: ask KA01 (an assessor's word)"),
        "{ran:?}"
    );
    let again = run_with(
        &bench,
        &["lint", "clean.txt", "other.md", "--replay", "io.json"],
        &[],
    );
    assert!(
        again.stdout.contains("other.md: line 3: ask KA01"),
        "{again:?}"
    );
    for wrong in [
        &["--model-io", "x.json"][..],
        &["--with", "true", "--model-io", "-"],
    ] {
        let ran = run_with(&bench, &[&["lint", "clean.txt"], wrong].concat(), &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(64), ""), "{ran:?}");
    }
}

//! What `sign --predicate` says in other people's words: SLSA provenance and the proposed
//! ai-agent-action. Their shape is checked here, and by in-toto's own types where `.ci/trust-tools`
//! has installed them.

use std::fs;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use runseal_trust::action::check_written_action;
use runseal_trust::dsse::Envelope;
use runseal_trust::keys::PublicKey;
use runseal_trust::statement::Statement;

use crate::signing_support::{ask_script, bench, keygen, ok, sealed, trust_ada, trust_python};

fn payload(bench: &Bench) -> Vec<u8> {
    let line = fs::read(bench.path("out/r1.intoto.jsonl")).unwrap();
    Envelope::parse(line.trim_ascii()).unwrap().payload
}

fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    let step = |value: &'a Value, name: &str| value.get(name).unwrap_or_else(|| panic!("{path}"));
    path.split('.').fold(value, step)
}

fn members(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => members.keys().map(|key| key.as_str().unwrap()).collect(),
        other => panic!("{other:?}"),
    }
}

/// Whether in-toto's own types accept a statement; true with a message where they are missing.
fn in_toto_accepts(statement: &[u8]) -> bool {
    let Some(python) = trust_python("in-toto-attestation") else {
        return true;
    };
    let script = (project_root(), "statement_validate.py");
    ask_script(&python, (&script.0, script.1), &[], statement).is_some()
}

/// The signature is one like any other to whoever knows the key and names the predicate; these predicates
/// bring no key.
fn is_trusted(bench: &Bench, predicate: &str) {
    trust_ada(bench, "key.pub");
    let verify = ["verify", "out/r1", "--trust", "trust.toml"];
    let ran = bench.run(&verify);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let reason = "which is not among the `predicates` of the rule";
    assert!(ran.stdout.contains(reason), "{}", ran.stdout);
    let policy = fs::read_to_string(bench.path("trust.toml")).unwrap();
    let named = format!("\n[[rule]]\npredicates = [\"{predicate}\"]\n");
    bench.write("trust.toml", policy.replace("\n[[rule]]\n", &named));
    let said = ok(bench.run(&verify));
    assert!(said.contains("over SHA256SUMS.txt"), "{said}");
    assert!(!said.contains("not a valid ai-agent-action"), "{said}");
}

#[test]
fn slsa_provenance_has_the_members_of_its_specification() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "key", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "key", "--predicate", "slsa"]));
    let payload = payload(&bench);
    let statement = Statement::parse(&payload).unwrap();
    assert_eq!(statement.predicate_type, "https://slsa.dev/provenance/v1");
    let sums = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
    assert_eq!(
        statement.subjects[0].digest["sha256"],
        Digest::of(&sums).to_string()
    );
    let predicate = &statement.predicate;
    assert_eq!(members(predicate), ["buildDefinition", "runDetails"]);
    let definition = at(predicate, "buildDefinition");
    assert_eq!(
        members(definition),
        ["buildType", "externalParameters", "resolvedDependencies"]
    );
    let parameters = at(definition, "externalParameters");
    assert_eq!(
        members(parameters),
        ["engine_code", "engine_version", "inputs_hash"]
    );
    let input = fs::read(bench.path("out/r1/RUN_INPUT.json")).unwrap();
    let hash = Digest::of(&input).to_string();
    assert_eq!(at(parameters, "inputs_hash").as_str(), Some(&*hash));
    let Value::Array(dependencies) = at(definition, "resolvedDependencies") else {
        panic!("a list");
    };
    let of_input = dependencies
        .iter()
        .find(|entry| at(entry, "name").as_str() == Some("RUN_INPUT.json"));
    assert_eq!(
        at(of_input.unwrap(), "digest.sha256").as_str(),
        Some(&*hash)
    );
    let details = at(predicate, "runDetails");
    assert_eq!(members(details), ["builder", "metadata"]);
    assert_eq!(at(details, "metadata.invocationId").as_str(), Some("r1"));
    assert_eq!(
        at(details, "metadata.finishedOn").as_str(),
        Some("2023-11-14T22:13:20Z")
    );
    assert!(in_toto_accepts(&payload));
    // The check can fail.
    let text = String::from_utf8(payload).unwrap();
    let broken = text.replace("buildType", "buildKind");
    let is_installed = !in_toto_accepts(b"{}");
    assert!(!is_installed || !in_toto_accepts(broken.as_bytes()));
    is_trusted(&bench, "https://slsa.dev/provenance/v1");
}

#[test]
fn agent_action_binds_input_and_output_and_its_chain_to_the_signature() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "key", "ed25519", "pem");
    let arguments = [
        "sign",
        "out/r1",
        "--key",
        "key",
        "--predicate",
        "agent-action",
        "--duration-ms",
        "412",
        "--as",
        "svc:ada",
    ];
    ok(bench.run(&arguments));
    let payload = payload(&bench);
    check_written_action(&payload).unwrap();
    assert!(in_toto_accepts(&payload));
    let statement = Statement::parse(&payload).unwrap();
    let predicate = &statement.predicate;
    for (path, file) in [
        ("request", "RUN_INPUT.json"),
        ("response", "RUN_OUTPUT.json"),
    ] {
        let bytes = fs::read(bench.path(&format!("out/r1/{file}"))).unwrap();
        let said = at(predicate, &format!("contentDigest.{path}.sha256"));
        assert_eq!(said.as_str(), Some(&*Digest::of(&bytes).to_string()));
    }
    // The chain's only record: its hash is the subject, and the key signed its tuple.
    let record = at(predicate, "record");
    let line = canonical_bytes(record, Dialect::Jcs).unwrap();
    assert_eq!(
        statement.subjects[0].digest["sha256"],
        Digest::of(&line).to_string()
    );
    let order = "id type timestamp method toolName namespace upstream principal durationMs success \
        errorCode errorClass previousHash contentDigestRequest contentDigestResponse \
        attestorVersion configHash";
    let tuple = order.split_whitespace().map(|name| {
        let value = record.get(name).cloned().unwrap_or(Value::Null);
        Value::array([Value::from(name), value])
    });
    let tuple = canonical_bytes(&Value::array(tuple), Dialect::Jcs).unwrap();
    let hex = at(record, "attestation").as_str().unwrap();
    let signature: Vec<u8> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let key = fs::read_to_string(bench.path("key.pub")).unwrap();
    assert!(PublicKey::parse(&key).unwrap().verifies(&tuple, &signature));
    is_trusted(
        &bench,
        "https://in-toto.io/attestation/ai-agent-action/v0.1",
    );
    // A record that was changed in the statement is reported, whoever signed it.
    let text = String::from_utf8(payload).unwrap();
    let changed = text.replace("\"durationMs\":412", "\"durationMs\":4");
    assert_ne!(changed, text);
    assert!(check_written_action(changed.as_bytes()).is_err());
}

#[test]
fn run_that_failed_is_signed_as_one_and_policies_and_demands_know_it() {
    let (_folder, bench) = bench();
    keygen(&bench, "key", "ed25519", "pem");
    let record = "record --sandbox none --out out --run-id r1 --keep-failed -- sh -c";
    let mut arguments: Vec<&str> = record.split(' ').collect();
    arguments.push("exit 3");
    assert_eq!(bench.run(&arguments).code, Some(1));
    let sign = "sign out/r1 --key key --predicate agent-action --duration-ms 5";
    ok(bench.run(&sign.split(' ').collect::<Vec<_>>()));
    let statement = Statement::parse(&payload(&bench)).unwrap();
    for path in ["action.success", "record.success"] {
        let success = at(&statement.predicate, path);
        assert_eq!(success, &Value::from(false), "{path}");
    }
    fs::remove_file(bench.path("out/r1.intoto.jsonl")).unwrap();
    ok(bench.run(&["sign", "out/r1", "--key", "key"]));
    let statement = Statement::parse(&payload(&bench)).unwrap();
    let outcome = at(&statement.predicate, "outcome");
    assert_eq!(outcome.as_str(), Some("failed"));
    // The first rule that fits decides, and failed runs have one of their own.
    trust_ada(&bench, "key.pub");
    let policy = fs::read_to_string(bench.path("trust.toml")).unwrap();
    let strict = "[[rule]]\nname = \"failures\"\noutcomes = [\"failed\"]\nsigners = [\"ada\"]\n\
         threshold = 1\nmeanings = [\"approver\"]\n\n[[rule]]";
    bench.write(
        "trust.toml",
        policy.replace("\n[[rule]]", &format!("\n{strict}")),
    );
    let said = bench.run(&["verify", "out/r1", "--trust", "trust.toml"]);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    // Beside an accepted pack it is not an accepted run either.
    let demand = ["verify", "out/r1", "--require-accepted"];
    let said = bench.run(&demand);
    assert!(
        said.stdout.contains("this one is: failed"),
        "{}",
        said.stdout
    );
}

#[test]
fn agent_action_that_cannot_be_stated_is_refused_and_nothing_is_written() {
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "key", "ed25519", "pem");
    keygen(&bench, "curve", "ecdsa-p256", "pem");
    bench.write("policy.json", "{}");
    let cases: [(&[&str], &str, i32); 3] = [
        (&["out/r1", "--key", "key"], "states a duration", 64),
        (
            &["out/r1", "--key", "curve", "--duration-ms", "1"],
            "ed25519",
            2,
        ),
        (
            &[
                "out/r1",
                "--key",
                "key",
                "--duration-ms",
                "9007199254740992",
            ],
            "2^53",
            2,
        ),
    ];
    for (more, message, code) in cases {
        let mut arguments = vec!["sign", "--predicate", "agent-action"];
        arguments.extend(more);
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert!(!bench.path("out/r1.intoto.jsonl").exists());
    }
}

//! Every answer that programs read has a schema, and real answers have no member that their schema leaves out.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::schema_support::{Schemas, texts};
use runseal_testkit::cli::Bench;
use runseal_testkit::skip::need_isolation;
use runseal_testkit::{folders_in, project_root};
use serde_json::Value;

/// Runs commands in one folder and compares what they print with schemas.
struct Checker {
    schemas: Schemas,
    _folder: tempfile::TempDir,
    bench: Bench,
}

impl Checker {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
        Self {
            schemas: Schemas::load(),
            _folder: folder,
            bench,
        }
    }

    /// Runs a command that is expected to end with `code`; gives its standard output.
    fn run(&self, line: &str, code: i32) -> String {
        let words: Vec<_> = line.split(' ').collect();
        let ran = self.bench.run(&words);
        assert_eq!(ran.code, Some(code), "{line}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// The same, and its answer passes the schema.
    fn answers(&self, schema: &str, line: &str, code: i32) -> Value {
        let printed = self.run(line, code);
        let value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{line}: {printed}"));
        self.check(schema, &value, line);
        value
    }

    fn check(&self, schema: &str, value: &Value, place: &str) {
        let faults = self.schemas.faults(schema, value);
        assert_eq!(faults, Vec::<String>::new(), "{place}: {value}");
        let text = texts().remove(schema).unwrap();
        let described: Value = serde_json::from_str(&text).unwrap();
        let known = members_of(&described);
        let left_out = left_out(value, &known);
        assert!(
            left_out.is_empty(),
            "{place}: {schema} leaves out {left_out:?}"
        );
    }
}

/// Members of a value, at any level, that are not among the known ones. What another schema describes, and what
/// has names of its own, is passed over.
fn left_out(value: &Value, known: &BTreeSet<String>) -> BTreeSet<String> {
    const OTHERS: [&str; 7] = [
        "report", "bundle", "value", "tasks", "copied", "params", "metrics",
    ];
    let mut names = BTreeSet::new();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if !known.contains(name) {
                    names.insert(name.clone());
                }
                if !OTHERS.contains(&name.as_str()) {
                    names.extend(left_out(member, known));
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                names.extend(left_out(item, known));
            }
        }
        _ => {}
    }
    names
}

/// Names of every member that a schema describes, at any level.
fn members_of(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                if let (true, Value::Object(described)) = (name == "properties", member) {
                    names.extend(described.keys().cloned());
                }
                names.extend(members_of(member));
            }
        }
        Value::Array(items) => {
            for item in items {
                names.extend(members_of(item));
            }
        }
        _ => {}
    }
    names
}

#[test]
fn answers_of_checking_and_signing_pass_their_schemas() {
    let checker = Checker::new();
    checker.run("demo --out demo", 0);
    checker.answers(
        "summary-answer",
        "bundle summarize demo/good/bundle.json",
        0,
    );
    checker.answers("transform-answer", "transform demo/intent.json --result", 0);
    checker.answers("transform-answer", "transform demo/vague.json --result", 1);
    checker.bench.write("refused.json", "{\"goal\":\"\"}");
    checker.answers("transform-answer", "transform refused.json --result", 1);
    checker.answers("rules-answer", "rules --format json", 0);
    checker.answers("keygen-answer", "keygen -o key.pem --public", 0);
    checker.answers("keygen-answer", "keygen -o p256.pem --type ecdsa-p256", 0);
    checker.run("sign demo/good/job --key key.pem", 0);
    checker.run("trust init trust.toml", 0);
    checker.run("trust add trust.toml ada --key key.pem.pub --accept", 0);
    checker.answers("trust-answer", "trust check trust.toml", 0);
    let explain = "trust explain trust.toml demo/good/job --format json";
    checker.answers("trust-answer", explain, 0);
    let explain = "trust explain trust.toml demo/tampered/job --format json";
    checker.answers("trust-answer", explain, 1);
    checker.answers(
        "verify-answer",
        "verify demo --trust trust.toml --format json",
        1,
    );
    let replay = "replay demo/good/bundle.json --intent demo/intent.json --format json";
    checker.answers("replay-answer", replay, 0);
    checker.answers("receipt", "job replay demo/good/job", 0);
    checker.answers("receipt", "replay demo/good/job --format json", 0);
    for refused in [
        "demo/tampered/job",
        "demo/tampered/pack",
        "demo/good/runs/first --engine demo/handbook",
    ] {
        let replay = format!("replay {refused} --format json");
        checker.answers("replay-answer", &replay, 1);
    }
}

#[test]
fn verdicts_of_single_formats_pass_their_schema_on_the_vectors() {
    let checker = Checker::new();
    let vectors = project_root().join("vectors");
    let mut count = 0;
    for (command, folder) in [
        ("bundle", "context-bundle"),
        ("proposal", "proposal"),
        ("patch", "patch"),
        ("model-io", "model-io"),
        ("runner", "runner"),
        ("evidence", "evidence"),
        ("ledger", "ledger"),
        ("receipt", "receipt"),
    ] {
        for case in folders_in(&vectors.join(folder)) {
            let input = case.join("input.json");
            let input = match input.is_file() {
                true => input,
                false => case.join("input.jsonl"),
            };
            let ran = checker
                .bench
                .run(&[command, "verify", input.to_str().unwrap()]);
            // What is not JSON gets no answer.
            if let Ok(value) = serde_json::from_str(&ran.stdout) {
                checker.check("verdict-answer", &value, input.to_str().unwrap());
                count += 1;
            }
        }
    }
    assert!(count > 80, "{count} verdicts");
    let signed = vectors.join("receipt/ok-signed/input.json");
    let mut policies = folders_in(&vectors.join("trust-policy")).into_iter();
    let policy = policies
        .find(|case| {
            case.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("ok-")
        })
        .unwrap()
        .join("input.json");
    let line = format!(
        "receipt verify {} --trust {}",
        signed.display(),
        policy.display()
    );
    checker.answers("verdict-answer", &line, 0);
}

#[test]
fn answers_of_logs_pass_their_schema() {
    let checker = Checker::new();
    checker.run("demo --out demo", 0);
    checker.run("keygen -o key.pem --public", 0);
    checker.run("sign demo/good/job --key key.pem", 0);
    let made = checker.run("log init log --origin example.org/log --key key.pem", 0);
    let vkey = made.lines().last().unwrap();
    checker.answers(
        "log-answer",
        "log append log demo/good/job demo/good/pack --key key.pem",
        0,
    );
    checker.run("log prove log demo/good/job -o job.tlog-proof", 0);
    let verify = "log verify job.tlog-proof";
    let keyed = format!("{verify} demo/good/job --log-key {vkey}");
    checker.answers("log-answer", &keyed, 0);
    checker.answers("log-answer", &format!("{verify} demo/good/job"), 1);
    checker.answers("log-answer", &format!("{verify} demo/good/pack"), 1);
    checker.answers("log-answer", "log audit log", 0);
    checker.answers("log-answer", "log audit log --have demo/good/job", 1);
}

#[test]
fn answers_of_jobs_and_queues_pass_their_schemas() {
    let checker = Checker::new();
    checker.run("demo --out demo", 0);
    checker
        .bench
        .write("text.md", "# One\n\nfirst\n\n# Two\n\nsecond\n");
    checker.run("job init", 0);
    checker.answers("job-answer", "job index text.md", 0);
    checker.answers(
        "job-answer",
        "job symbol add @one text.md#One --slice head(5)",
        0,
    );
    checker.answers("job-answer", "job symbol show @one", 0);
    checker.answers("job-answer", "job symbol list", 0);
    let plan = r#"{"run_id":"r","idempotency_key":"1","steps":[{"op":"READ_SYMBOL","refs":{"symbol_id":"@one"}}]}"#;
    checker.bench.write("plan.json", plan);
    let posted = checker.answers("job-answer", "job post plan.json", 0);
    checker.answers("job-answer", "job work", 0);
    checker.answers("job-answer", "job status", 0);
    let job = posted["job_id"].as_str().unwrap();
    checker.answers("job-answer", &format!("job build r {job} -o job"), 0);
    checker.answers("verdict-answer", "job verify job", 0);
    checker.run("job init --store other.db", 0);
    checker.answers(
        "job-answer",
        "job copy --from .runseal/jobs.db --to other.db",
        0,
    );
    checker.answers("job-answer", "job symbol remove @one", 0);
    checker.answers("queue-answer", "queue verify job demo/tampered/job", 0);
    checker.answers("queue-answer", "queue status --format json", 0);
    checker.answers("queue-answer", "work", 1);
    let results = checker.run("queue results --format json", 1);
    assert_eq!(results.lines().count(), 2, "{results}");
    for line in results.lines() {
        let result: Value = serde_json::from_str(line).unwrap();
        checker.check("queue-answer", &result, "queue results");
        checker.check("verify-answer", &result["report"], "the report of a result");
    }
}

#[test]
fn answers_of_recording_replaying_and_redacting_pass_their_schemas() {
    if !need_isolation() {
        return;
    }
    let checker = Checker::new();
    checker.bench.write("numbers.txt", "3\n1\n");
    let record = "record --redactable --run-id one -- sort numbers.txt";
    checker.answers("sealed-answer", record, 0);
    let record = "record --keep-failed --run-id two -- cat missing.txt";
    checker.answers("sealed-answer", record, 1);
    checker.run("record --run-id clock -- date +%N", 0);
    checker.answers("replay-answer", "replay RUN_BUNDLE/one --format json", 0);
    checker.answers("replay-answer", "replay RUN_BUNDLE/two --format json", 0);
    checker.answers("replay-answer", "replay RUN_BUNDLE/clock --format json", 1);
    let replay = "replay RUN_BUNDLE/clock --format json --compare stdout=abs:1e9 --compare x=skip";
    checker.answers("replay-answer", replay, 0);
    checker.answers("extract-answer", "extract RUN_BUNDLE/one --all -o given", 0);
    let drop = "redact RUN_BUNDLE/one --drop engine/numbers.txt";
    checker.answers("redact-answer", &format!("{drop} --plan"), 0);
    checker.answers("redact-answer", &format!("{drop} -o copy"), 0);
    checker.answers("replay-answer", "replay copy --format json", 1);
    checker.answers("verify-answer", "verify copy --format json", 0);
    checker.answers("inspect-answer", "inspect copy --format json", 0);
    checker.run(
        "redact RUN_BUNDLE/one --disclose engine/numbers.txt -o open.json",
        0,
    );
    let disclosed = serde_json::from_str(&checker.bench.read("open.json")).unwrap();
    checker.check("disclosure", &disclosed, "open.json");
    checker.answers("redact-answer", "unredact copy --with open.json -o more", 0);
    let salt = serde_json::from_str(&checker.bench.read("RUN_BUNDLE/one/REDACTION_SALT.json"));
    checker.check("redaction-salt", &salt.unwrap(), "REDACTION_SALT.json");
    checker.run("engine init adder --lang sh", 0);
    let run = "engine run adder adder/input.json --out RUN_BUNDLE --run-id";
    checker.answers("sealed-answer", &format!("{run} three"), 0);
    checker.bench.write("bad.json", "{}");
    let run = "engine run adder bad.json --out RUN_BUNDLE --run-id four";
    checker.answers("sealed-answer", run, 1);
}

#[test]
fn first_line_of_a_proxy_passes_its_schema() {
    let checker = Checker::new();
    let line = "proxy record --recording model_io.json --listen 127.0.0.1:0";
    let words: Vec<_> = line.split(' ').collect();
    let mut child = checker
        .bench
        .command(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    printed.read_line(&mut first).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let said = serde_json::from_str(&first).unwrap_or_else(|_| panic!("{first}"));
    checker.check("listening-answer", &said, line);
}

#[test]
fn answer_of_lint_with_an_assessor_passes_its_schema() {
    let checker = Checker::new();
    let intent = r#"{"goal":"Store listings","constraints":["Listings are stored somewhere"]}"#;
    checker.bench.write("intent.json", intent);
    for said in [
        r#"[{"kind":"choice","quotes":["somewhere"],"message":"Where?"},{"kind":"gap","quotes":["nobody"],"message":"Who?"}]"#,
        "nothing",
    ] {
        checker.bench.write("said.json", said);
        let line = [
            "lint",
            "intent.json",
            "--with",
            "cat said.json",
            "--format",
            "json",
        ];
        let ran = checker.bench.run(&line);
        let value: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(value["assessed"].as_array().unwrap().len(), 1, "{value}");
        checker.check("lint-answer", &value, said);
    }
}

#[test]
fn answer_of_an_assessor_that_its_schema_passes_is_taken() {
    let checker = Checker::new();
    let intent = r#"{"goal":"Store listings","constraints":["Listings are stored somewhere"]}"#;
    checker.bench.write("intent.json", intent);
    let said = r#"{"findings":[{"kind":"choice","quotes":["stored somewhere"],"message":"Where?","options":["disk","server"]}]}"#;
    checker.bench.write("said.json", said);
    let value = serde_json::from_str(said).unwrap();
    checker.check("assessor-answer", &value, "said.json");
    let ran = checker
        .bench
        .run(&["assess", "intent.json", "--with", "cat said.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Where?"), "{}", ran.stdout);
}

#[test]
fn policy_that_its_schema_refuses_is_refused() {
    let checker = Checker::new();
    let bench = &checker.bench;
    bench.write("intent.json", r#"{"goal":"Write a note","constraints":[]}"#);
    for (text, is_good) in [
        (
            r#"{"name":"dev","allowed_commands":["sh"],"timeout_ms":5000}"#,
            true,
        ),
        (r#"{"timeout_ms":10}"#, false),
        (r#"{"name":"none"}"#, false),
        (r#"{"timeouts":5000}"#, false),
        (r#"{"allow_network":true}"#, false),
    ] {
        bench.write("policy.json", text);
        let value = serde_json::from_str(text).unwrap();
        let passes = checker.schemas.faults("policy-file", &value).is_empty();
        let line = [
            "run",
            "intent.json",
            "--mode",
            "plan-only",
            "--policy",
            "policy.json",
        ];
        let ran = bench.run(&line);
        let is_read = ran.code != Some(2);
        assert_eq!(
            (passes, is_read),
            (is_good, is_good),
            "{text}: {}",
            ran.stderr
        );
    }
}

#[test]
fn schemas_of_answers_are_all_compared_with_real_ones() {
    let tests = ["answer_schemas.rs", "object_storage.rs", "schemas.rs"];
    let folder = project_root().join("crates/cli/tests");
    let read = |name: &&str| fs::read_to_string(folder.join(name)).unwrap();
    let tests: String = tests.iter().map(read).collect();
    for name in texts().into_keys().filter(|name| name.ends_with("-answer")) {
        let tried = tests.contains(&format!("\"{name}\""));
        assert!(tried, "no real answer is compared with `{name}`");
    }
}

#[test]
fn answers_of_the_catalogue_pass_their_schema() {
    let checker = Checker::new();
    checker.run("demo --out demo", 0);
    let run = project_root().join("vectors/run-bundle/ok-sealed/input");
    let run = run.display();
    checker.answers("catalog-answer", &format!("catalog add demo/good {run}"), 0);
    let refused = checker.answers("catalog-answer", "catalog add demo/tampered/job", 1);
    assert!(
        !refused["refused"].as_array().unwrap().is_empty(),
        "{refused}"
    );
    let mut digests = Vec::new();
    for line in [
        "catalog list --format json",
        "catalog list --format json --where format=run-bundle",
        "catalog search run --format json",
    ] {
        let printed = checker.run(line, 0);
        for entry in printed.lines() {
            let entry: Value = serde_json::from_str(entry).unwrap();
            checker.check("catalog-answer", &entry, line);
            digests.push(entry["digest"].as_str().unwrap().to_owned());
        }
    }
    digests.sort();
    digests.dedup();
    assert!(digests.len() > 2, "{digests:?}");
    let [one, two] = [&digests[0], &digests[1]];
    checker.answers(
        "catalog-answer",
        &format!("catalog show {one} --format json"),
        0,
    );
    let compare = format!("catalog compare {one} {two} --format json");
    checker.answers("catalog-answer", &compare, 0);
    checker.answers("catalog-answer", &format!("catalog tag {one} --add x"), 0);
    checker.answers("catalog-answer", "catalog remove x", 0);
    checker.answers("catalog-answer", "catalog export --format json", 0);
    checker.answers("catalog-answer", &format!("catalog rebuild {run}"), 0);
}

//! A job from index to replay through the binary, and what becomes of bad input.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn json(ran: &Ran) -> Value {
    parse_document(ran.stdout.as_bytes(), &ReadOptions::default())
        .unwrap()
        .root()
        .to_value()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).unwrap().as_str().unwrap().to_owned()
}

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

const PLAN: &str = r#"{"run_id":"r","intent":"i","idempotency_key":"k","steps":[
    {"op":"READ_SECTION","refs":{"section_id":"docs/a.md"},"constraints":{"slice":"lines[0:2]"}},
    {"op":"READ_SECTION","refs":{"section_id":"docs/a.md#Second"},"constraints":{"slice":"head(9)"}},
    {"op":"READ_SYMBOL","refs":{"symbol_id":"@b"}}]}"#;

/// A store with an indexed tree and a posted plan; gives the job's id.
fn posted(bench: &Bench) -> String {
    bench.write("docs/a.md", "# First\n\none é\n\n## Second\n\ntwo\n");
    bench.write("docs/b.txt", "x\r\ny\r\nz");
    ok(bench.run(&["job", "init"]));
    ok(bench.run(&["job", "index", "docs"]));
    ok(bench.run(&[
        "job",
        "symbol",
        "add",
        "@b",
        "docs/b.txt",
        "--slice",
        "tail(3)",
    ]));
    bench.write("plan.json", PLAN);
    text(
        &json(&ok(bench.run(&["job", "post", "plan.json"]))),
        "job_id",
    )
}

/// A built bundle in `out`.
fn built(bench: &Bench) -> String {
    let job = posted(bench);
    ok(bench.run(&["job", "work"]));
    ok(bench.run(&["job", "build", "r", &job, "-o", "out"]));
    job
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn example_plan_over_the_own_docs_replays_without_store_or_sources() {
    let (_folder, bench) = bench();
    copy(&project_root().join("docs"), &bench.path("docs"));
    copy(&project_root().join("examples"), &bench.path("examples"));
    ok(bench.run(&["job", "init"]));
    ok(bench.run(&["job", "index", "docs"]));
    let posted = json(&ok(bench.run(&[
        "job",
        "post",
        "examples/jobs/read-the-docs.json",
    ])));
    ok(bench.run(&["job", "work", "--workers", "4"]));
    let job = text(&posted, "job_id");
    ok(bench.run(&[
        "job",
        "build",
        &text(&posted, "run_id"),
        &job,
        "-o",
        "out/bundle",
    ]));
    ok(bench.run(&["job", "verify", "out/bundle", "--strict"]));
    fs::rename(bench.path("out/bundle"), bench.path("elsewhere")).unwrap();
    for gone in [".runseal", "docs", "examples", "out"] {
        fs::remove_dir_all(bench.path(gone)).unwrap();
    }
    let replayed = ok(bench.run(&["job", "replay", "elsewhere", "--receipt", "receipt.json"]));
    assert_eq!(text(&json(&replayed), "outcome"), "SUCCESS");
    assert_eq!(bench.read("receipt.json"), replayed.stdout);
    ok(bench.run(&["receipt", "verify", "receipt.json"]));

    let artifact = fs::read_dir(bench.path("elsewhere/artifacts"))
        .unwrap()
        .next()
        .unwrap();
    let artifact = artifact.unwrap().path();
    let mut bytes = fs::read(&artifact).unwrap();
    bytes[0] ^= 1;
    fs::write(&artifact, bytes).unwrap();
    let name = format!(
        "artifacts/{}",
        artifact.file_name().unwrap().to_str().unwrap()
    );
    for command in ["verify", "replay"] {
        let found = bench.run(&["job", command, "elsewhere"]);
        assert_eq!(found.code, Some(1));
        assert!(
            found.stdout.starts_with("{\"check\":4,\"ok\":false,"),
            "{}",
            found.stdout
        );
        assert!(found.stdout.contains(&name), "{}", found.stdout);
    }
}

#[test]
fn bundle_built_twice_or_by_other_workers_is_the_same_bytes() {
    let (_folder, first) = bench();
    let (_other, second) = bench();
    let job = built(&first);
    assert_eq!(posted(&second), job);
    ok(second.run(&[
        "job",
        "work",
        "--workers",
        "8",
        "--worker-id",
        "somebody-else",
    ]));
    ok(second.run(&["job", "build", "r", &job, "-o", "out"]));
    assert_eq!(
        first.read("out/bundle.json"),
        second.read("out/bundle.json")
    );
    let again = first.run(&["job", "build", "r", &job, "-o", "out"]);
    assert_eq!(again.code, Some(2), "a target that is taken stays");
    assert!(again.stderr.starts_with("TAKEN: "), "{}", again.stderr);
    fs::create_dir(first.path("empty")).unwrap();
    ok(first.run(&["job", "build", "r", &job, "-o", "empty"]));
    assert_eq!(
        first.read("empty/bundle.json"),
        first.read("out/bundle.json")
    );
}

#[test]
fn gates_of_a_job_that_is_not_done_name_the_steps() {
    let (_folder, bench) = bench();
    let job = posted(&bench);
    let refused = bench.run(&["job", "build", "r", &job, "-o", "out"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(
        refused
            .stderr
            .matches("expected COMMITTED, actual PENDING")
            .count(),
        3
    );
    assert!(!bench.path("out").exists());
    for (run, job) in [("r", "job_0"), ("other", job.as_str())] {
        let refused = bench.run(&["job", "build", run, job, "-o", "out"]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("has no job"), "{}", refused.stderr);
    }
    let unknown = bench.run(&["job", "status", "nobody"]);
    assert_eq!(unknown.code, Some(1));
}

#[test]
fn source_changed_after_indexing_fails_the_step_with_both_hashes() {
    let (_folder, bench) = bench();
    let job = posted(&bench);
    bench.write("docs/b.txt", "x\ny\nZ");
    let worked = bench.run(&["job", "work"]);
    assert_eq!(worked.code, Some(1));
    assert_eq!(worked.stdout, "{\"committed\":3,\"failed\":1}\n");
    let status = ok(bench.run(&["job", "status", "r", &job])).stdout;
    assert!(
        status.contains("SOURCE_CHANGED") && status.contains("expected sha256"),
        "{status}"
    );
    let refused = bench.run(&["job", "build", "r", &job, "-o", "out"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.starts_with("UNBUNDLED: step `step_"),
        "{}",
        refused.stderr
    );
}

#[test]
fn plans_that_cannot_be_posted_exit_1_and_name_the_field() {
    let (_folder, bench) = bench();
    posted(&bench);
    let step = |op: &str, refs: &str, slice: &str| {
        format!(
            r#"{{"run_id":"q","idempotency_key":"k","steps":[{{"op":"{op}","refs":{refs},
            "constraints":{{"slice":"{slice}"}}}}]}}"#
        )
    };
    let file = r#"{"section_id":"docs/a.md"}"#;
    for (plan, place) in [
        ("not json".to_owned(), "line 1"),
        ("{}".to_owned(), "$.run_id"),
        (step("WRITE", file, "head(1)"), "$.steps[0].op"),
        (
            step("READ_SECTION", file, "all"),
            "$.steps[0].constraints.slice",
        ),
        (
            step("READ_SECTION", file, "lines[2:1]"),
            "$.steps[0].constraints.slice",
        ),
        (
            step("READ_SECTION", file, ""),
            "$.steps[0].constraints.slice",
        ),
        (
            step(
                "READ_SECTION",
                r#"{"section_id":"docs/none.md"}"#,
                "head(1)",
            ),
            "refs.section_id",
        ),
        (
            step("READ_SYMBOL", r#"{"symbol_id":"@none"}"#, "head(1)"),
            "refs.symbol_id",
        ),
    ] {
        bench.write("bad.json", &plan);
        let refused = bench.run(&["job", "post", "bad.json"]);
        assert_eq!(refused.code, Some(1), "{plan}: {refused:?}");
        assert!(refused.stderr.contains(place), "{plan}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    // Of very many faults the first are shown.
    let faults = vec!["{}"; 500].join(",");
    bench.write(
        "bad.json",
        format!(
            r#"{{"run_id":"r","idempotency_key":"k","source":"s","intent":"i","steps":[{faults}]}}"#
        ),
    );
    let refused = bench.run(&["job", "post", "bad.json"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.lines().count() < 30, "{}", refused.stderr);
    assert!(refused.stderr.contains("more faults"), "{}", refused.stderr);
    let unreadable = bench.run(&["job", "post", "absent.json"]);
    assert_eq!(unreadable.code, Some(2));
    let no_store = bench.run(&["job", "post", "plan.json", "--store", "absent.db"]);
    assert_eq!(no_store.code, Some(2));
}

#[test]
fn plan_posted_again_is_the_same_job_even_where_its_files_changed() {
    let (_folder, bench) = bench();
    let job = posted(&bench);
    bench.write("docs/a.md", "# Other\n");
    ok(bench.run(&["job", "index", "docs"]));
    ok(bench.run(&["job", "symbol", "remove", "@b"]));
    let again = ok(bench.run(&["job", "post", "plan.json"]));
    assert_eq!(text(&json(&again), "job_id"), job);
    assert_eq!(again.stderr, "");
    bench.write("plan.json", PLAN.replace("head(9)", "head(8)"));
    let differs = ok(bench.run(&["job", "post", "plan.json"]));
    assert_eq!(differs.stdout, again.stdout);
    assert!(differs.stderr.starts_with("note: "), "{}", differs.stderr);
}

#[test]
fn slice_that_ends_in_blank_lines_is_built_as_it_is() {
    let (_folder, bench) = bench();
    bench.write("docs/a.md", "one\n\n\n\ntwo\n");
    ok(bench.run(&["job", "init"]));
    ok(bench.run(&["job", "index", "docs"]));
    bench.write(
        "plan.json",
        r#"{"run_id":"r","intent":"i","idempotency_key":"k","steps":[{"op":"READ_SECTION",
            "refs":{"section_id":"docs/a.md"},"constraints":{"slice":"lines[0:4]"}}]}"#,
    );
    let posted = json(&ok(bench.run(&["job", "post", "plan.json"])));
    let job = text(&posted, "job_id");
    ok(bench.run(&["job", "work"]));
    ok(bench.run(&["job", "build", "r", &job, "-o", "out"]));
    let artifacts = runseal_testkit::folders::files_of(&bench.path("out/artifacts"));
    assert_eq!(artifacts[0].1, b"one\n\n\n");
    ok(bench.run(&["verify", "out"]));
    let strict = bench.run(&["verify", "out", "--strict"]);
    assert_eq!(strict.code, Some(1), "{strict:?}");
    assert!(strict.stdout.contains("JB6"), "{strict:?}");
}

#[test]
fn slice_out_of_range_is_a_failed_step_that_cannot_be_built() {
    let (_folder, bench) = bench();
    posted(&bench);
    bench.write(
        "long.json",
        r#"{"run_id":"long","idempotency_key":"k","steps":[{"op":"READ_SECTION",
        "refs":{"section_id":"docs/a.md"},"constraints":{"slice":"lines[0:999]"}}]}"#,
    );
    let job = text(
        &json(&ok(bench.run(&["job", "post", "long.json"]))),
        "job_id",
    );
    assert_eq!(bench.run(&["job", "work", "--run", "long"]).code, Some(1));
    let refused = bench.run(&["job", "build", "long", &job, "-o", "out"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("ends at line 999, but the text has 8"),
        "{}",
        refused.stderr
    );
}

#[test]
fn index_second_run_reads_only_what_changed_and_forgets_what_is_gone() {
    let (_folder, bench) = bench();
    bench.write(".gitignore", "ignored.txt\n");
    bench.write("docs/a.md", "# A\n");
    bench.write("docs/ignored.txt", "no\n");
    bench.write("docs/binary", b"\xff\xfe");
    bench.write("docs/b.txt", "b\n");
    symlink("b.txt", bench.path("docs/link.txt")).unwrap();
    ok(bench.run(&["job", "init"]));
    let first = ok(bench.run(&["job", "index", "docs"]));
    assert!(
        first.stdout.starts_with("{\"changed\":2,\"files\":2,"),
        "{}",
        first.stdout
    );
    assert!(
        first.stderr.starts_with("skipped docs/binary: "),
        "{}",
        first.stderr
    );
    let same = ok(bench.run(&["job", "index", "docs"]));
    assert_eq!(
        same.stdout,
        first.stdout.replace("\"changed\":2", "\"changed\":0")
    );
    fs::remove_file(bench.path("docs/b.txt")).unwrap();
    bench.write("docs/a.md", "# A\nmore\n");
    let third = ok(bench.run(&["job", "index", "docs"]));
    assert!(
        third.stdout.starts_with("{\"changed\":2,\"files\":1,"),
        "{}",
        third.stdout
    );
    let outside = bench.run(&["job", "index", "/etc/hostname"]);
    assert_eq!(outside.code, Some(2));
}

#[test]
fn symbols_are_added_shown_and_removed() {
    let (_folder, bench) = bench();
    posted(&bench);
    let shown = json(&ok(bench.run(&["job", "symbol", "show", "@b"])));
    assert_eq!(text(&shown, "default_slice"), "tail(3)");
    assert_eq!(
        bench.run(&["job", "symbol", "add", "b", "docs/b.txt"]).code,
        Some(64)
    );
    assert_eq!(
        bench.run(&["job", "symbol", "add", "@c", "docs/none"]).code,
        Some(1)
    );
    assert_eq!(
        bench
            .run(&["job", "symbol", "add", "@c", "docs/b.txt", "--slice", "ALL"])
            .code,
        Some(1)
    );
    ok(bench.run(&["job", "symbol", "remove", "@b"]));
    assert_eq!(bench.run(&["job", "symbol", "remove", "@b"]).code, Some(1));
    assert_eq!(
        ok(bench.run(&["job", "symbol", "list"])).stdout,
        "{\"symbols\":[]}\n"
    );
}

#[test]
fn chain_of_receipts_is_signed_ordered_attested_and_trusted() {
    let (_folder, bench) = bench();
    built(&bench);
    let public = text(
        &json(&ok(bench.run(&["keygen", "-o", "key.pem"]))),
        "public_key",
    );
    assert_eq!(
        bench.run(&["keygen", "-o", "key.pem"]).code,
        Some(2),
        "never overwritten"
    );
    let replay = |extra: &[&str]| {
        let base = [
            "job",
            "replay",
            "out",
            "--key",
            "key.pem",
            "--validator-id",
            "me",
        ];
        ok(bench.run(&[&base[..], extra].concat()))
    };
    replay(&["--receipt", "1.json"]);
    replay(&["--receipt", "2.json", "--previous", "1.json"]);
    replay(&["--receipt", "3.json", "--previous", "2.json"]);
    let files = ["receipt", "verify", "3.json", "1.json", "2.json"];
    let root = text(&json(&ok(bench.run(&files))), "merkle_root");
    let fork = bench.run(&["receipt", "verify", "1.json", "3.json"]);
    assert_eq!(fork.code, Some(1));
    ok(bench.run(&[
        "receipt",
        "attest",
        "1.json",
        "2.json",
        "3.json",
        "--key",
        "key.pem",
        "--validator-id",
        "me",
        "-o",
        "merkle.json",
    ]));
    assert!(bench.read("merkle.json").contains(&root));
    let policy = |enabled: bool, id: &str| {
        format!(
            r#"{{"policy_version":"1.0.0","allow":[{{"validator_id":"{id}","public_key":"{public}",
            "schemes":["ed25519"],"scope":["RECEIPT","MERKLE"],"enabled":{enabled}}}]}}"#
        )
    };
    let verify = |extra: &[&str]| {
        let trust = ["--merkle", "merkle.json", "--trust", "policy.json"];
        bench.run(&[&files[..], &trust[..], extra].concat()).code
    };
    bench.write("policy.json", policy(true, "me"));
    assert_eq!(verify(&["--strict-identity"]), Some(0));
    bench.write("policy.json", policy(true, "you"));
    assert_eq!(verify(&["--strict-trust"]), Some(0));
    assert_eq!(verify(&["--strict-identity"]), Some(1));
    bench.write("policy.json", policy(false, "me"));
    assert_eq!(verify(&["--strict-trust"]), Some(1));
    assert_eq!(
        verify(&[]),
        Some(0),
        "a policy without a strict flag changes no verdict"
    );
    // But it says who signed and what the policy thinks of it.
    let other = public.replace(|c: char| c.is_ascii_digit(), "a");
    bench.write("policy.json", policy(true, "me").replace(&public, &other));
    let told = bench.run(&[&files[..], &["--trust", "policy.json"]].concat());
    assert_eq!(told.code, Some(0), "{told:?}");
    let line = format!(
        "note: $[0].attestation: signed by key {public}, which calls itself `me`: the key is not in \
         the policy"
    );
    assert!(told.stderr.contains(&line), "{}", told.stderr);
    for member in [
        format!("\"public_key\":\"{public}\""),
        "\"reason\":\"the key is not in the policy\"".to_owned(),
        "\"trusted\":false".to_owned(),
        "\"validator_id\":\"me\"".to_owned(),
    ] {
        assert!(told.stdout.contains(&member), "{member}: {}", told.stdout);
    }
    bench.write("policy.json", policy(true, "me"));
    let trusted = bench.run(&[&files[..], &["--trust", "policy.json"]].concat());
    assert!(trusted.stdout.contains("\"trusted\":true"));
    assert!(!trusted.stdout.contains("\"trusted\":false"));
    bench.write("policy.json", "{}");
    assert_eq!(verify(&[]), Some(2));
    assert_eq!(
        bench
            .run(&["receipt", "verify", "1.json", "--strict-trust"])
            .code,
        Some(1)
    );
    let broken = bench.read("2.json").replace("SUCCESS", "FAILURE");
    bench.write("2.json", broken);
    assert_eq!(bench.run(&files).code, Some(1));
    assert_eq!(
        bench
            .run(&["job", "replay", "out", "--previous", "2.json"])
            .code,
        Some(2),
        "a broken receipt is not followed"
    );
}

#[test]
fn job_replay_says_what_it_cannot_use() {
    let (_folder, bench) = bench();
    built(&bench);
    for option in ["--validator-id", "--build-id"] {
        let ran = bench.run(&["job", "replay", "out", option, "x"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(64), ""), "{ran:?}");
        assert!(ran.stderr.contains("part of a signature"), "{ran:?}");
    }
    let plain = ok(bench.run(&["job", "replay", "out"])).stdout;
    let printed = ok(bench.run(&["job", "replay", "out", "--receipt", "-"]));
    assert_eq!(printed.stdout, plain);
    assert!(!bench.path("-").exists());
    for (previous, told) in [
        (
            "[]",
            "the previous receipt is not sound: expected an object",
        ),
        (
            "{\"receipt_hash\":7}",
            "the previous receipt is not sound: ",
        ),
    ] {
        bench.write("previous.json", previous);
        let ran = bench.run(&["job", "replay", "out", "--previous", "previous.json"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.starts_with(&format!("PREVIOUS: {told}")),
            "{ran:?}"
        );
        assert!(!ran.stderr.contains("sound: ."), "{ran:?}");
    }
    fs::create_dir(bench.path("keys")).unwrap();
    let ran = bench.run(&["job", "replay", "out", "--key", "keys"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.starts_with("NOT_A_FILE: "), "{ran:?}");
}

#[test]
fn bundles_damaged_in_one_way_each_give_the_right_check() {
    let (_folder, bench) = bench();
    built(&bench);
    let first = fs::read_dir(bench.path("out/artifacts"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    type Damage<'d> = &'d dyn Fn(&Path);
    let artifact = |bundle: &Path| bundle.join("artifacts").join(&name);
    let manifest = |bundle: &Path| bundle.join("bundle.json");
    let edit = |bundle: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(manifest(bundle)).unwrap();
        assert!(text.contains(from));
        fs::write(manifest(bundle), text.replacen(from, to, 1)).unwrap();
    };
    let cases: [(&str, i32, u32, Damage<'_>); 12] = [
        ("missing artifact", 1, 4, &|b| {
            fs::remove_file(artifact(b)).unwrap()
        }),
        ("longer artifact", 1, 4, &|b| {
            let text = fs::read_to_string(artifact(b)).unwrap();
            fs::write(artifact(b), text + "more\n").unwrap();
        }),
        ("CRLF artifact", 1, 4, &|b| {
            let text = fs::read_to_string(artifact(b)).unwrap();
            fs::write(artifact(b), text.replace('\n', "\r\n")).unwrap();
        }),
        ("linked artifact", 1, 10, &|b| {
            fs::rename(artifact(b), b.join("kept")).unwrap();
            symlink("../kept", artifact(b)).unwrap();
        }),
        ("folder for artifact", 1, 4, &|b| {
            fs::remove_file(artifact(b)).unwrap();
            fs::create_dir(artifact(b)).unwrap();
        }),
        ("pipe for artifact", 1, 4, &|b| {
            fs::remove_file(artifact(b)).unwrap();
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            let fifo = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, artifact(b), fifo, mode, 0).unwrap();
        }),
        ("linked folder", 1, 10, &|b| {
            fs::rename(b.join("artifacts"), b.with_extension("kept")).unwrap();
            symlink(b.with_extension("kept"), b.join("artifacts")).unwrap();
        }),
        ("not UTF-8", 2, 1, &|b| {
            fs::write(manifest(b), b"\xff").unwrap()
        }),
        ("duplicate key", 2, 1, &|b| {
            edit(b, "{\"artifacts\"", "{\"run_id\":\"r\",\"artifacts\"")
        }),
        ("forbidden field", 1, 8, &|b| {
            edit(b, "{\"artifacts\"", "{\"os\":\"x\",\"artifacts\"")
        }),
        ("absolute path", 1, 8, &|b| {
            edit(b, "\"artifacts/", "\"/artifacts/")
        }),
        ("manifest of 1 GB", 2, 1, &|b| {
            fs::File::create(manifest(b))
                .unwrap()
                .set_len(1 << 30)
                .unwrap();
        }),
    ];
    for (at, (what, exit, check, damage)) in cases.iter().enumerate() {
        let bundle = bench.path(&format!("case-{at}"));
        copy(&bench.path("out"), &bundle);
        damage(&bundle);
        let found = bench.run(&["job", "verify", bundle.to_str().unwrap()]);
        assert_eq!(found.code, Some(*exit), "{what}: {found:?}");
        let told = format!("{{\"check\":{check},\"ok\":false,");
        assert!(found.stdout.starts_with(&told), "{what}: {}", found.stdout);
    }
}

#[test]
fn private_key_that_others_can_read_is_warned_about() {
    use std::os::unix::fs::PermissionsExt;

    let (_folder, bench) = bench();
    built(&bench);
    ok(bench.run(&["keygen", "-o", "key.pem"]));
    let replay = |receipt: &str| {
        bench.run(&[
            "job",
            "replay",
            "out",
            "--key",
            "key.pem",
            "--receipt",
            receipt,
        ])
    };
    assert_eq!(ok(replay("1.json")).stderr, "");
    let mode = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(bench.path("key.pem"), permissions).unwrap();
    };
    mode(0o644);
    let warned = ok(replay("2.json")).stderr;
    assert!(warned.starts_with("warning: the private key `key.pem`"));
    assert!(warned.contains("everybody") && warned.contains("0644"));
    mode(0o640);
    assert!(ok(replay("3.json")).stderr.contains("its group"));
}

#[test]
fn keygen_to_standard_output_prints_the_key_and_makes_no_file() {
    let (_folder, bench) = bench();
    let ran = ok(bench.run(&["keygen", "-o", "-", "--format", "hex"]));
    assert_eq!(ran.stdout.trim_end().len(), 64);
    assert!(ran.stderr.starts_with("public_key: "), "{}", ran.stderr);
    assert!(!bench.path("-").exists());
    let pem = ok(bench.run(&["keygen", "-o", "-"])).stdout;
    bench.write("key.pem", pem);
    assert!(bench.read("key.pem").starts_with("-----BEGIN PRIVATE KEY"));
}

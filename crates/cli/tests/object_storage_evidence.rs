//! What goes to object storage and comes back is evidence: one thing, verified at the level that was
//! asked for, with its signatures; and it can be queued there.

use std::fs;

use runseal_testkit::folders::copy_folder;
use runseal_testkit::object_storage::{Kind, SECRET, servers};
use runseal_testkit::project_root;

use crate::object_storage_support::{Remote, answering, files_below};
use crate::signing_support::{bench, ok};

#[test]
fn run_that_does_not_verify_is_neither_pushed_nor_pulled() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("one", b"content"), ("two", b"another")]);
        remote.seal("r2", &[]);
        let refused = remote.run(&["push", "out", &remote.at("p/both")]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("contains 2 units"), "{refused:?}");
        remote.push("r1");
        // A manifest whose contents are all there, and changed places.
        let script = "import json\nk=a[1]\nm=json.loads(s.get_object(Bucket=a[0],Key=k)['Body'].read())\n\
                      f=[x for x in m['files'] if x['path'].startswith('artifacts/')]\n\
                      f[0]['sha256'],f[1]['sha256']=f[1]['sha256'],f[0]['sha256']\n\
                      b=json.dumps(m,separators=(',',':'),sort_keys=True)\n\
                      s.put_object(Bucket=a[0],Key=k,Body=b.encode())";
        server.python(script, &[&remote.bucket, "p/runs/r1.manifest.json"]);
        let refused = remote.run(&["verify", &remote.at("p/r1")]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let before = files_below(&bench.path("."));
        let refused = remote.run(&["pull", &remote.at("p/r1"), "-o", "back"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.starts_with("NOT_VALID: "), "{refused:?}");
        assert_eq!(files_below(&bench.path(".")), before);
        // What only the strictest level minds is pushed and pulled at the others.
        let loose = project_root().join("vectors/job-bundle/jb12-laid-out/input");
        copy_folder(&loose, &bench.path("laid-out"));
        let loose = remote.at("p/loose");
        let refused = remote.run(&["push", "laid-out", &loose, "--strict"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        ok(remote.run(&["push", "laid-out", &loose]));
        let refused = remote.run(&["pull", &loose, "--strict"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(!bench.path("loose").exists());
        ok(remote.run(&["pull", &loose]));
    }
}

#[test]
fn name_that_is_taken_is_reported_before_anything_is_sent() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("data", b"one")]);
        remote.seal("r2", &[("data", b"two")]);
        ok(remote.run(&["push", "out/r1", &remote.at("p/r")]));
        let keys = server.keys(&remote.bucket);
        let refused = remote.run(&["push", "out/r2", &remote.at("p/r")]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.starts_with("TAKEN: "), "{refused:?}");
        assert_eq!(server.keys(&remote.bucket), keys);
        ok(remote.run(&["push", "out/r1", &remote.at("p/r")]));
    }
}

#[test]
fn signatures_go_along_and_come_back() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("data", b"one")]);
        ok(remote.run(&["keygen", "-o", "ada"]));
        ok(remote.run(&["sign", "out/r1", "--key", "ada"]));
        let pushed = remote.run(&["push", "out/r1", &remote.at("p/r1")]);
        assert!(pushed.stderr.contains(".intoto.jsonl"), "{pushed:?}");
        ok(pushed);
        ok(remote.run(&["verify", &remote.at("p/r1"), "--require-signed"]));
        let pulled = ok(remote.run(&["pull", &remote.at("p/r1"), "-o", "back"]));
        assert!(
            pulled.contains("\"attached\":[\"back.intoto.jsonl\"]"),
            "{pulled}"
        );
        ok(remote.run(&["verify", "back", "--require-signed"]));
        // Further signatures are added, and none that are there are lost.
        ok(remote.run(&["sign", "out/r1", "--key", "ada", "--meaning", "reviewed"]));
        remote.push("r1");
        let signatures = fs::read(bench.path("out/r1.intoto.jsonl")).unwrap();
        ok(remote.run(&["pull", &remote.at("p/r1"), "-o", "again"]));
        assert_eq!(
            fs::read(bench.path("again.intoto.jsonl")).unwrap(),
            signatures
        );
        bench.write("out/r1.intoto.jsonl", "{}\n");
        let refused = remote.run(&["push", "out/r1", &remote.at("p/r1")]);
        assert!(refused.stderr.starts_with("TAKEN: "), "{refused:?}");
    }
}

#[test]
fn pack_and_single_document_hold_where_they_are_and_come_back() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        copy_folder(
            &project_root().join("vectors/pack/ok-executed/input"),
            &bench.path("pack"),
        );
        let address = remote.at("p/pack");
        ok(remote.run(&["push", "pack", &address]));
        ok(remote.run(&["verify", &address]));
        ok(remote.run(&["pack", "verify", &address]));
        ok(remote.run(&["catalog", "add", &address, "--store", "c.db"]));
        fs::create_dir(bench.path("below")).unwrap();
        ok(remote.run(&["pull", &address, "-o", "below/..//back"]));
        assert_eq!(
            files_below(&bench.path("back")),
            files_below(&bench.path("pack"))
        );
        ok(remote.run(&["push", "pack", "oci-layout:layout:v1"]));
        ok(remote.run(&["pull", "oci-layout:layout:v1", "-o", "below/../other"]));
        let document = remote.at("p/document");
        ok(remote.run(&["push", "pack/bundle.json", &document]));
        ok(remote.run(&["verify", &document]));
        ok(remote.run(&["pull", &document, "-o", "one"]));
        assert_eq!(
            fs::read(bench.path("one/bundle.json")).unwrap(),
            fs::read(bench.path("pack/bundle.json")).unwrap()
        );
    }
}

#[test]
fn bundle_whose_upload_fails_is_kept_and_nothing_runs_where_nobody_answers() {
    let (_folder, bench) = bench();
    let (endpoint, _) = answering(
        "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
    );
    let remote = Remote::at_endpoint(&bench, &endpoint);
    remote.seal("r0", &[("data", b"1")]);
    fs::create_dir(bench.path("tmp")).unwrap();
    let seal = [
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "s3://bucket/p",
        "--run-id",
        "r1",
    ];
    let tmp = bench.path("tmp");
    let tmp = [("TMPDIR", tmp.to_str().unwrap())];
    let failed = remote.run_with(&seal, &tmp);
    assert_eq!(failed.code, Some(2), "{failed:?}");
    let hint = failed.stderr.split("`runseal push ").nth(1).unwrap();
    let (kept, address) = hint.split('`').next().unwrap().split_once(' ').unwrap();
    assert_eq!(address, "s3://bucket/p/r1");
    ok(remote.run(&["verify", kept, "--strict"]));
    let nobody = Remote::at_endpoint(&bench, "http://127.0.0.1:1");
    let record = ["record", "--out", "s3://bucket/p", "--", "touch", "ran"];
    let failed = nobody.run_with(&record, &tmp);
    assert!(failed.stderr.starts_with("UNREACHABLE: "), "{failed:?}");
    assert!(!bench.path("ran").exists());
    assert_eq!(fs::read_dir(bench.path("tmp")).unwrap().count(), 1);
}

#[test]
fn runs_in_object_storage_are_queued_worked_and_told() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("data", b"one")]);
        remote.seal("r2", &[("data", b"two")]);
        for id in ["r1", "r2"] {
            remote.push(id);
        }
        ok(remote.run(&["job", "init", "--store", "jobs.db"]));
        let store = ["--store", "jobs.db"];
        let run = |arguments: &[&str]| remote.run(&[arguments, &store[..]].concat());
        let queued = ok(run(&["queue", "verify", &remote.at("p"), "out/r1"]));
        assert!(queued.contains("\"queued\":3"), "{queued}");
        let worked = ok(run(&["work"]));
        assert!(worked.contains("\"good\":3"), "{worked}");
        let results = ok(run(&["queue", "results", "--format", "json"]));
        let content = |place: &str| {
            let path = format!("\"path\":\"{place}\"");
            let line = results.lines().find(|line| line.contains(&path)).unwrap();
            let behind = line.split("\"content\":\"").nth(1).unwrap();
            behind[..64].to_owned()
        };
        // Wherever it lies, it is the same content with the same report.
        assert_eq!(content(&remote.at("p/r1")), content("out/r1"));
        assert_ne!(content(&remote.at("p/r1")), content(&remote.at("p/r2")));
        if server.kind == Kind::Weed {
            continue;
        }
        // Nobody answers: told as that, and not for ever.
        ok(run(&["queue", "verify", &remote.at("p/r2")]));
        let nobody = Remote::through(&remote, "http://127.0.0.1:1");
        let failed = nobody.run(&["work", "--store", "jobs.db"]);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        let told = run(&["queue", "results", &remote.at("p/r2")]);
        assert!(told.stdout.contains("verify failed"), "{told:?}");
        assert!(told.stdout.contains("127.0.0.1:1"), "{told:?}");
    }
}

#[test]
fn address_that_cannot_be_read_is_refused_when_it_is_queued() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("data", b"one")]);
        ok(remote.run(&["push", "out/r1", &remote.at("p/r1")]));
        ok(remote.run(&["job", "init", "--store", "jobs.db"]));
        let refused = |remote: &Remote<'_>, exit: i32, code: &str, paths: &[&str]| {
            for command in ["verify", "replay"] {
                let mut all = vec!["queue", command, "--store", "jobs.db"];
                all.extend(paths);
                let ran = remote.run(&all);
                assert_eq!(ran.code, Some(exit), "{all:?}: {ran:?}");
                assert!(ran.stderr.starts_with(code), "{all:?}: {ran:?}");
                assert!(ran.stderr.contains(paths[paths.len() - 1]), "{ran:?}");
                assert!(ran.stderr.contains("hint: "), "{ran:?}");
                assert!(!ran.stderr.contains(SECRET), "{ran:?}");
            }
        };
        let (run, prefix, bucket) = (remote.at("p/r1"), remote.at("p"), remote.at(""));
        let nobody = Remote::through(&remote, "http://127.0.0.1:1");
        for address in [&run, &prefix, &bucket] {
            refused(&nobody, 2, "UNREACHABLE: ", &[address]);
        }
        refused(&remote, 2, "NOT_FOUND: ", &[&remote.at("none")]);
        refused(&remote, 2, "NOT_FOUND: ", &[&remote.at("p/r1/none")]);
        for missing in ["s3://no-such-bucket-here/p", "s3://no-such-bucket-here"] {
            refused(&remote, 2, "NO_SUCH_PLACE: ", &[missing]);
        }
        refused(&remote, 64, "REMOTE_ADDRESS: ", &["s3://b/../x"]);
        // One that cannot be read keeps the others out, too.
        refused(
            &remote,
            2,
            "NOT_FOUND: ",
            &[&run, "out/r1", &remote.at("none")],
        );
        // What is there and is not what it says is reported as such, as by `pull`.
        let forged = bench.write("forged", "{}");
        server.put(&remote.bucket, "p/runs/forged.manifest.json", &forged);
        refused(&remote, 1, "CORRUPT: ", &[&remote.at("p/forged")]);
        let status = ok(remote.run(&["queue", "status", "--store", "jobs.db"]));
        assert!(status.contains("0 of 0 tasks"), "{status}");
        // All of them can still be queued by the prefix that they are below, and by a bucket's name.
        let queued = ok(remote.run(&["queue", "verify", &bucket, "--store", "jobs.db"]));
        assert!(queued.contains("\"queued\":2"), "{queued}");
    }
}

#[test]
fn lock_that_cannot_be_had_is_reported_with_what_it_takes() {
    let lock = ["--retain-until", "2099-01-01"];
    let hint = "hint: locks need a bucket that was made for them";
    for (status, is_about_locks) in [
        ("400 Bad Request", true),
        ("501 Not Implemented", true),
        ("500 Internal Server Error", false),
    ] {
        let (_folder, bench) = bench();
        let body = "<Error><Code>InvalidRequest</Code></Error>";
        let (endpoint, _) = answering(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ));
        let remote = Remote::at_endpoint(&bench, &endpoint);
        remote.seal("r1", &[]);
        let push = ["push", "out/r1", "s3://bucket/p/r1"];
        let ran = remote.run(&[&push[..], &lock].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.starts_with("REFUSED: "), "{ran:?}");
        assert_eq!(ran.stderr.contains(hint), is_about_locks, "{ran:?}");
        // Who asked for no lock is not told about locks.
        let ran = remote.run(&push);
        assert!(!ran.stderr.contains("lock"), "{ran:?}");
    }
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[]);
        let address = remote.at("p/r1");
        let ran = remote.run(&[&["push", "out/r1", &address][..], &lock].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(hint), "{ran:?}");
        let unseen = remote.run(&["pull", &address, "-o", "back"]);
        assert!(unseen.stderr.starts_with("NOT_FOUND: "), "{unseen:?}");
    }
    // Only object storage has locks.
    let (_folder, bench) = bench();
    let remote = Remote::at_endpoint(&bench, "http://127.0.0.1:1");
    remote.seal("r1", &[]);
    for reference in ["oci-layout:layout:v1", "127.0.0.1:1/team/run:v1"] {
        let ran = remote.run(&[&["push", "out/r1", reference][..], &lock].concat());
        assert_eq!(ran.code, Some(64), "{ran:?}");
        assert!(ran.stderr.contains("hint: push to `s3://…`"), "{ran:?}");
    }
    assert!(!bench.path("layout").exists());
}

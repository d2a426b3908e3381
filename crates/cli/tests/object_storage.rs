//! Runs in object storage, by the commands that people type, on real servers: SeaweedFS and moto.
//! boto3 looks at what we wrote, and lays down what we read.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use runseal_core::digest::Digest;
use runseal_testkit::cli::run_measured;
use runseal_testkit::folders::{files_of, open_up};
use runseal_testkit::object_storage::{KEY, Kind, SECRET, server, servers};

use crate::object_storage_support::{
    Remote, answering, answering_each, counting_proxy, files_below, member, random_file,
};
use crate::schema_support::Schemas;
use crate::signing_support::{bench, ok};

#[test]
fn run_pushed_and_pulled_is_the_same_and_has_the_same_digest_everywhere() {
    let mut digests = Vec::new();
    let schemas = Schemas::load();
    let check = |schema: &str, text: &str| {
        let value = serde_json::from_str(text).unwrap();
        let faults = schemas.faults(schema, &value);
        assert_eq!(faults, Vec::<String>::new(), "{text}");
    };
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("a.txt", b"first"), ("b/c.bin", &[0, 255, 10])]);
        let pushed = remote.push("r1");
        check("push-answer", &pushed);
        let read = "print(s.get_object(Bucket=a[0],Key='p/runs/r1.manifest.json')['Body'].read().decode())";
        check("run-manifest", &server.python(read, &[&remote.bucket]));
        let digest = member(&pushed, "digest");
        let reference = member(&pushed, "reference");
        assert_eq!(reference, format!("{}@{digest}", remote.at("p/r1")));
        let again = ok(remote.run(&["push", "out/r1", &remote.at("other/place")]));
        assert_eq!(member(&again, "digest"), digest);
        digests.push(digest);
        for address in [&remote.at("p/r1"), &reference] {
            let said = ok(remote.run(&["verify", address, "--strict"]));
            assert!(said.contains("run bundle"), "{said}");
        }
        check(
            "push-answer",
            &ok(remote.run(&["pull", &reference, "-o", "back"])),
        );
        assert_eq!(
            files_below(&bench.path("back")),
            files_below(&bench.path("out/r1"))
        );
        let refused = remote.run(&["pull", &reference, "-o", "back"]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.starts_with("EXISTS: "), "{}", refused.stderr);
        // A prefix is searched below like a folder.
        remote.seal("r2", &[("a.txt", b"first")]);
        remote.push("r2");
        let said = ok(remote.run(&["verify", &remote.at("p"), "--format", "json"]));
        assert!(said.contains("\"checked\":2,\"invalid\":0"), "{said}");
        assert!(
            said.contains("/p/r1\"") && said.contains("/p/r2\""),
            "{said}"
        );
        ok(remote.run(&["inspect", &remote.at("p/r1")]));
        let differs = remote.run(&["diff", &remote.at("p/r1"), &remote.at("p/r2")]);
        assert!(matches!(differs.code, Some(0 | 1)), "{}", differs.stderr);
        ok(remote.run(&["report", &remote.at("p/r1"), "-o", "page.html"]));
        ok(remote.run(&["report", "-r", &remote.at("p"), "-o", "site"]));
        assert!(bench.path("site/index.html").exists());
    }
    digests.dedup();
    assert!(digests.len() < 2, "{digests:?}");
}

#[test]
fn contents_that_runs_share_are_kept_once_and_others_can_read_them() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("data", b"shared content")]);
        remote.seal(
            "r2",
            &[("data", b"shared content"), ("same", b"shared content")],
        );
        for id in ["r1", "r2", "r2"] {
            remote.push(id);
        }
        let keys = server.keys(&remote.bucket);
        let hex = Digest::of(b"shared content").to_string();
        let key = format!("p/sha256/{}/{hex}", &hex[..2]);
        assert_eq!(
            keys.iter().filter(|found| **found == key).count(),
            1,
            "{keys:?}"
        );
        let runs: Vec<_> = keys
            .iter()
            .filter(|key| key.starts_with("p/runs/"))
            .collect();
        assert_eq!(runs, ["p/runs/r1.manifest.json", "p/runs/r2.manifest.json"]);
        // Every blob is what its key says, to a client that is not ours.
        let script = "import hashlib\nfor k in a[1:]:\n b=s.get_object(Bucket=a[0],Key=k)['Body'].read()\n \
                      assert k.endswith(hashlib.sha256(b).hexdigest()), k\nprint('held')";
        let blobs = keys.iter().filter(|key| key.contains("/sha256/"));
        let mut arguments = vec![remote.bucket.as_str()];
        arguments.extend(blobs.map(String::as_str));
        assert_eq!(server.python(script, &arguments), "held\n");
    }
}

#[test]
fn blobs_that_are_changed_cut_or_missing_make_a_run_not_valid() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal(
            "r1",
            &[("one", b"the first content"), ("two", b"another content..")],
        );
        remote.push("r1");
        let address = remote.at("p/r1");
        ok(remote.run(&["verify", &address]));
        let hex = Digest::of(b"the first content").to_string();
        let key = format!("p/sha256/{}/{hex}", &hex[..2]);
        for (what, content) in [
            ("changed", b"the first_content".as_slice()),
            ("swapped", b"another content.."),
            ("cut", b"the first"),
            ("longer", b"the first content and more"),
            ("empty", b""),
        ] {
            let file = bench.write("forged", content);
            server.put(&remote.bucket, &key, &file);
            let ran = remote.run(&["verify", &address]);
            assert!(matches!(ran.code, Some(1 | 2)), "{what}: {ran:?}");
            assert!(
                ran.stdout.contains("sha256/") || ran.stdout.contains("one"),
                "{what}: {ran:?}"
            );
            let ran = remote.run(&["pull", &address, "-o", "bad"]);
            assert_eq!(ran.code, Some(1), "{what}: {ran:?}");
            assert!(ran.stderr.starts_with("CORRUPT: "), "{what}: {ran:?}");
            assert!(!bench.path("bad").exists());
            let names = fs::read_dir(bench.path(".")).unwrap();
            let mut names = names.map(|entry| entry.unwrap().file_name());
            let left = names.find(|name| name.to_string_lossy().starts_with(".runseal"));
            assert_eq!(left, None, "{what}");
        }
        server.python(
            "s.delete_object(Bucket=a[0],Key=a[1])",
            &[&remote.bucket, &key],
        );
        let ran = remote.run(&["verify", &address]);
        assert!(matches!(ran.code, Some(1 | 2)), "missing: {ran:?}");
        // A manifest that lies about a size, and one that climbs.
        let manifest = "p/runs/r1.manifest.json";
        let script = "b=s.get_object(Bucket=a[0],Key=a[1])['Body'].read().decode()\n\
                      s.put_object(Bucket=a[0],Key=a[1],Body=b.replace(a[2],a[3]).encode())";
        for (from, to) in [
            ("\"bytes\":17", "\"bytes\":16"),
            ("artifacts/one", "../one"),
        ] {
            server.python(script, &[&remote.bucket, manifest, from, to]);
            let ran = remote.run(&["verify", &address]);
            assert!(matches!(ran.code, Some(1 | 2)), "{from}: {ran:?}");
            let ran = remote.run(&["pull", &address, "-o", "bad"]);
            assert!(matches!(ran.code, Some(1 | 2)), "{from}: {ran:?}");
        }
    }
}

#[test]
fn two_writers_of_one_name_do_not_replace_each_other() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        for id in ["r1", "r2"] {
            remote.seal(id, &[("data", id.as_bytes()), ("same", b"same")]);
        }
        // The same run from many at once: all succeed.
        let address = remote.at("p/r1");
        let start = |path: &str, address: &str| {
            let mut command = remote.command(&["push", path, address]);
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let same: Vec<_> = (0..6).map(|_| start("out/r1", &address)).collect();
        for child in same {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        // Different runs under one name: one wins, and the others learn of it.
        let address = remote.at("p/contested");
        let paths = ["out/r1", "out/r2", "out/r1", "out/r2"];
        let others: Vec<_> = paths.iter().map(|path| start(path, &address)).collect();
        let mut won = Vec::new();
        for (path, child) in paths.iter().zip(others) {
            let output = child.wait_with_output().unwrap();
            match output.status.code() {
                Some(0) => won.push(*path),
                Some(2) => {
                    let text = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(text.starts_with("TAKEN: "), "{text}");
                }
                _ => panic!("{output:?}"),
            }
        }
        won.dedup();
        assert_eq!(won.len(), 1, "{won:?}");
        ok(remote.run(&["pull", &address, "-o", "winner"]));
        assert_eq!(
            files_below(&bench.path("winner")),
            files_below(&bench.path(won[0]))
        );
    }
}

#[test]
fn push_and_pull_killed_five_times_go_on_and_give_the_same_digest() {
    for server in servers() {
        let (_folder, bench) = bench();
        let direct = Remote::new(&bench, &server);
        let size = 160 << 20;
        direct.seal("r1", &[("large", &random_file(size)), ("small", b"s")]);
        let address = direct.at("p/r1");
        let (endpoint, passed) = counting_proxy(&server.endpoint());
        let remote = Remote::through(&direct, &endpoint);
        // Killed at five places, each once so many bytes of this attempt have passed. Four parts are on
        // their way at once, so that only later attempts leave whole ones.
        let kill_at = |arguments: &[&str], count: &AtomicU64, bytes: u64| {
            let start = count.load(Ordering::SeqCst);
            let mut child = remote.command(arguments).spawn().unwrap();
            while count.load(Ordering::SeqCst) - start < bytes {
                let ended = child.try_wait().unwrap();
                assert!(ended.is_none(), "it ended first: {ended:?}");
                thread::sleep(Duration::from_millis(1));
            }
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(9));
        };
        for bytes in [1, 3 << 20, 24 << 20, 70 << 20, 40 << 20] {
            kill_at(&["push", "out/r1", &address], &passed.sent, bytes);
            let seen = direct.run(&["pull", &address, "-o", "early"]);
            assert!(
                seen.stderr.starts_with("NOT_FOUND: "),
                "half of it is visible: {seen:?}"
            );
        }
        let before = passed.sent.load(Ordering::SeqCst);
        let pushed = ok(remote.run(&["push", "out/r1", &address]));
        let sent = passed.sent.load(Ordering::SeqCst) - before;
        assert!(sent < size as u64 - (40 << 20), "no part was kept: {sent}");
        let digest = member(&pushed, "digest");
        let whole = ok(direct.run(&["push", "out/r1", &direct.at("fresh/r1")]));
        assert_eq!(member(&whole, "digest"), digest);
        ok(direct.run(&["verify", &address]));
        for bytes in [1, 3 << 20, 24 << 20, 70 << 20, 40 << 20] {
            kill_at(&["pull", &address, "-o", "back"], &passed.received, bytes);
            assert!(!bench.path("back").exists());
        }
        let before = passed.received.load(Ordering::SeqCst);
        let pulled = ok(remote.run(&["pull", &address, "-o", "back"]));
        let received = passed.received.load(Ordering::SeqCst) - before;
        assert!(
            received < size as u64 - (64 << 20),
            "nothing was kept: {received}"
        );
        assert_eq!(member(&pulled, "digest"), digest);
        assert_eq!(
            files_below(&bench.path("back")),
            files_below(&bench.path("out/r1"))
        );
        let names = fs::read_dir(bench.path("")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = names.filter(|name| name.starts_with(".runseal")).collect();
        assert_eq!(left, Vec::<String>::new());
    }
}

#[test]
fn bundles_are_written_to_object_storage_by_the_commands_that_make_them() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r0", &[("data", b"1")]);
        let out = remote.at("made");
        let sealed = ok(remote.run(&[
            "seal",
            "engine",
            "input.json",
            "output.json",
            "--out",
            &out,
            "--run-id",
            "r1",
            "--artifacts",
            "files",
        ]));
        let address = remote.at("made/r1");
        assert_eq!(member(&sealed, "path"), address);
        ok(remote.run(&["verify", &address, "--strict"]));
        let again = remote.run(&[
            "seal",
            "engine",
            "input.json",
            "output.json",
            "--out",
            &out,
            "--run-id",
            "r1",
        ]);
        assert_eq!(again.code, Some(2), "{again:?}");
        assert!(again.stderr.starts_with("TAKEN: "), "{again:?}");
        // Signed where it is, and redacted from there to there.
        ok(remote.run(&["keygen", "-o", "ada"]));
        let signed = ok(remote.run(&["sign", &address, "--key", "ada"]));
        assert_eq!(signed, format!("{address}.intoto.jsonl\n"));
        ok(remote.run(&["sign", &address, "--key", "ada", "--meaning", "reviewed"]));
        let said = ok(remote.run(&["verify", &address, "--require-signed"]));
        assert!(said.contains("signed"), "{said}");
        let found = ok(remote.run(&["verify", &out, "--require-signed"]));
        assert!(found.contains("signed"), "{found}");
        let seedless = remote.run(&[
            "seal",
            "engine",
            "input.json",
            "output.json",
            "--out",
            &out,
            "--run-id",
            "r2",
            "--redactable",
        ]);
        assert_eq!(seedless.code, Some(64), "{seedless:?}");
    }
}

#[test]
fn plain_objects_and_archives_that_others_laid_down_are_verified_in_place() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[("data", b"some data"), ("deep/er/file", b"x")]);
        for (path, _) in files_of(&bench.path("out/r1")) {
            let name = path
                .strip_prefix(bench.path("out"))
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            server.put(&remote.bucket, &format!("plain/{name}"), &path);
        }
        for (program, arguments) in [
            ("tar", vec!["-czf", "r1.tar.gz", "-C", "out", "r1"]),
            ("tar", vec!["-cf", "r1.tar", "-C", "out", "r1"]),
        ] {
            let ran = std::process::Command::new(program)
                .args(arguments)
                .current_dir(bench.path(""))
                .status();
            assert!(ran.unwrap().success());
        }
        for name in ["r1.tar.gz", "r1.tar"] {
            server.put(&remote.bucket, &format!("packed/{name}"), &bench.path(name));
            ok(remote.run(&["verify", &remote.at(&format!("packed/{name}"))]));
        }
        ok(remote.run(&["verify", &remote.at("plain/r1"), "--strict"]));
        let said = ok(remote.run(&["verify", &remote.at("plain"), "--format", "json"]));
        assert!(said.contains("\"checked\":1,"), "{said}");
        let said = ok(remote.run(&["verify", &remote.at("packed"), "--format", "json"]));
        assert!(said.contains("\"checked\":2,"), "{said}");
        // What somebody else put there in our layout is read like what we put there.
        let script = "import json,hashlib,os\nfiles=[]\nfor d,_,n in os.walk(a[1]):\n for f in n:\n  \
            p=os.path.join(d,f); b=open(p,'rb').read(); h=hashlib.sha256(b).hexdigest()\n  \
            s.put_object(Bucket=a[0],Key=f'theirs/sha256/{h[:2]}/{h}',Body=b)\n  \
            files.append({'bytes':len(b),'path':os.path.relpath(p,a[1]),'sha256':h})\n\
            files.sort(key=lambda f:f['path'])\n\
            m={'empty_folders':[],'files':files,'format':'runseal.run_manifest.v1'}\n\
            s.put_object(Bucket=a[0],Key='theirs/runs/r1.manifest.json',\
            Body=json.dumps(m,sort_keys=True,separators=(',',':')).encode())";
        let path = bench.path("out/r1");
        server.python(script, &[&remote.bucket, path.to_str().unwrap()]);
        ok(remote.run(&["verify", &remote.at("theirs/r1")]));
        let ours = ok(remote.run(&["push", "out/r1", &remote.at("theirs/r1")]));
        assert!(ours.contains("sha256:"), "{ours}");
        fs::write(bench.path("forged"), "x").unwrap();
        server.put(
            &remote.bucket,
            "plain/r1/RUN_INPUT.json",
            &bench.path("forged"),
        );
        let ran = remote.run(&["verify", &remote.at("plain/r1")]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
    }
}

#[test]
fn wrong_credentials_and_missing_places_are_told_apart_and_no_secret_is_shown() {
    for server in servers() {
        let (_folder, bench) = bench();
        let remote = Remote::new(&bench, &server);
        remote.seal("r1", &[]);
        let address = remote.at("p/r1");
        let push = |variables: &[(&str, &str)]| {
            let ran = remote.run_with(&["push", "out/r1", &address], variables);
            let shown = format!("{}{}", ran.stdout, ran.stderr);
            for secret in [SECRET, "wr0ng-secret", "t0ken"] {
                assert!(!shown.contains(secret), "{shown}");
            }
            ran
        };
        if server.kind == Kind::Weed {
            let wrong = push(&[("AWS_SECRET_ACCESS_KEY", "wr0ng-secret")]);
            assert_eq!(wrong.code, Some(2), "{wrong:?}");
            assert!(wrong.stderr.starts_with("UNAUTHORIZED: "), "{wrong:?}");
            let unknown = push(&[("AWS_ACCESS_KEY_ID", "nobody")]);
            assert!(unknown.stderr.starts_with("UNAUTHORIZED: "), "{unknown:?}");
            let none = push(&[("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", "")]);
            assert!(none.stderr.starts_with("NO_CREDENTIALS: "), "{none:?}");
        }
        let nobody = push(&[("AWS_ENDPOINT_URL", "http://127.0.0.1:1")]);
        assert_eq!(nobody.code, Some(2));
        assert!(nobody.stderr.starts_with("UNREACHABLE: "), "{nobody:?}");
        let unknown = push(&[("AWS_ENDPOINT_URL", "http://no-such-host.invalid")]);
        assert!(unknown.stderr.starts_with("UNREACHABLE: "), "{unknown:?}");
        let missing = remote.run(&["push", "out/r1", "s3://no-such-bucket-here/p/r1"]);
        assert_eq!(missing.code, Some(2), "{missing:?}");
        assert!(missing.stderr.starts_with("NO_SUCH_PLACE: "), "{missing:?}");
        let missing = remote.run(&["pull", &remote.at("p/none"), "-o", "none"]);
        assert!(missing.stderr.starts_with("NOT_FOUND: "), "{missing:?}");
        let missing = remote.run(&["verify", &remote.at("p/none")]);
        assert_eq!(missing.code, Some(2), "{missing:?}");
        for address in ["s3://", "s3://b/../x", "s3://me:pass@host/x"] {
            let refused = remote.run(&["push", "out/r1", address]);
            assert_eq!(refused.code, Some(64), "{refused:?}");
        }
    }
}

#[test]
fn answers_that_say_expired_or_full_are_reported_as_that() {
    for (status, code, told) in [
        ("400 Bad Request", "ExpiredToken", "EXPIRED: "),
        (
            "507 Insufficient Storage",
            "XMinioStorageFull",
            "SERVER_FULL: ",
        ),
        ("403 Forbidden", "SignatureDoesNotMatch", "UNAUTHORIZED: "),
    ] {
        let (_folder, bench) = bench();
        let body =
            format!("<Error><Code>{code}</Code><StringToSign>{SECRET}</StringToSign></Error>");
        let (endpoint, _) = answering(format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ));
        let remote = Remote::at_endpoint(&bench, &endpoint);
        remote.seal("r1", &[]);
        let ran = remote.run(&["push", "out/r1", "s3://bucket/p/r1"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.starts_with(told), "{ran:?}");
        assert!(!ran.stderr.contains(SECRET), "{ran:?}");
    }
}

#[test]
fn list_without_an_end_is_reported_and_not_followed() {
    let list = |listed: &str, next: &str| {
        format!("<ListBucketResult>{listed}<IsTruncated>{next}</ListBucketResult>")
    };
    let ends = "false</IsTruncated>";
    let goes_on = "true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";
    for (object, next, told) in [
        (true, goes_on, "without getting further"),
        (false, goes_on, "without getting further"),
        (false, ends, "inside each other"),
    ] {
        let (_folder, bench) = bench();
        let (endpoint, seen) = answering_each(move |head| {
            let prefix = head.split_once("prefix=").map(|(_, rest)| {
                let end = rest.find(['&', ' ']).unwrap_or(rest.len());
                rest[..end].replace("%2F", "/")
            });
            let (status, body) = match prefix {
                None => (
                    "404 Not Found",
                    "<Error><Code>NoSuchKey</Code></Error>".to_owned(),
                ),
                Some(prefix) if object => {
                    let object = format!("<Contents><Key>{prefix}x</Key><Size>1</Size></Contents>");
                    ("200 OK", list(&object, next))
                }
                Some(_) if next == goes_on => ("200 OK", list("", next)),
                Some(prefix) => {
                    let folder =
                        format!("<CommonPrefixes><Prefix>{prefix}a/</Prefix></CommonPrefixes>");
                    ("200 OK", list(&folder, next))
                }
            };
            let length = body.len();
            format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
        });
        let remote = Remote::at_endpoint(&bench, &endpoint);
        let ran = remote.run(&["verify", "s3://bucket/p"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(told), "{told}: {said}");
        let requests = seen.lock().unwrap().len();
        assert!(requests < 5_000, "{requests}");
    }
}

#[test]
fn redirect_to_another_host_gets_no_credentials_and_no_request() {
    let (_folder, bench) = bench();
    let (foreign, seen_there) =
        answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned());
    let (endpoint, seen_here) = answering(format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {foreign}/bucket/p\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    ));
    let remote = Remote::at_endpoint(&bench, &endpoint);
    remote.seal("r1", &[]);
    let ran = remote.run(&["push", "out/r1", "s3://bucket/p/r1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = remote.run(&["verify", "s3://bucket/p/r1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let asked = seen_here.lock().unwrap().join("\n");
    assert!(asked.contains(KEY) && !asked.contains(SECRET), "{asked}");
    assert!(seen_there.lock().unwrap().is_empty());
}

#[test]
fn connection_lost_while_reading_is_taken_up_where_it_broke_off() {
    let Some(server) = server(Kind::Weed) else {
        return;
    };
    let (_folder, bench) = bench();
    let remote = Remote::new(&bench, &server);
    let large = random_file(3 << 20);
    remote.seal("r1", &[("large", &large)]);
    remote.push("r1");
    let cutting = crate::object_storage_support::cutting_proxy(&server.endpoint(), 600_000);
    let through = Remote::through(&remote, &cutting);
    ok(through.run(&["verify", &remote.at("p/r1")]));
    ok(through.run(&["pull", &remote.at("p/r1"), "-o", "back"]));
    assert_eq!(
        files_below(&bench.path("back")),
        files_below(&bench.path("out/r1"))
    );
}

#[test]
fn run_locked_until_a_date_has_every_object_locked() {
    let Some(server) = server(Kind::Moto) else {
        return;
    };
    let (_folder, bench) = bench();
    let mut remote = Remote::new(&bench, &server);
    remote.bucket = "locked".to_owned();
    server.python(
        "s.create_bucket(Bucket='locked',ObjectLockEnabledForBucket=True)",
        &[],
    );
    remote.seal("r1", &[("data", b"1")]);
    remote.seal("r2", &[("data", b"1")]);
    let push = |id: &str, until: &str| {
        ok(remote.run(&[
            "push",
            &format!("out/{id}"),
            &remote.at(&format!("p/{id}")),
            "--retain-until",
            until,
            "--retain-mode",
            "compliance",
        ]))
    };
    push("r1", "2099-01-01");
    push("r2", "2100-06-01T12:00:00Z");
    // moto cannot answer GetObjectRetention, not even to its own kind of client.
    let script = "for k in a:\n r=s.head_object(Bucket='locked',Key=k)\n \
                  print(r['ObjectLockMode'],r['ObjectLockRetainUntilDate'].year,k)";
    let keys = server.keys("locked");
    let arguments: Vec<_> = keys.iter().map(String::as_str).collect();
    let held = server.python(script, &arguments);
    assert_eq!(held.lines().count(), keys.len(), "{held}");
    assert!(
        held.lines().all(|line| line.starts_with("COMPLIANCE ")),
        "{held}"
    );
    // What both runs have is held for as long as the longer one.
    let hex = Digest::of(b"1").to_string();
    let shared = held.lines().find(|line| line.ends_with(&hex)).unwrap();
    assert!(shared.contains(" 2100 "), "{shared}");
    let bad = remote.run(&[
        "push",
        "out/r1",
        &remote.at("p/r1"),
        "--retain-until",
        "tomorrow",
    ]);
    assert_eq!(bad.code, Some(64), "{bad:?}");
}

#[test]
fn large_run_is_pushed_verified_and_pulled_within_64_mb_of_memory() {
    let Some(server) = server(Kind::Weed) else {
        return;
    };
    let (_folder, bench) = bench();
    let remote = Remote::new(&bench, &server);
    remote.seal("r1", &[]);
    // A gigabyte, most of it in one file, and it has to be sealed: written by hand into the artifacts.
    let large = random_file(256 << 20);
    let parts: Vec<(String, &[u8])> = (0..4)
        .map(|at| (format!("part{at}"), large.as_slice()))
        .collect();
    let mut parts: Vec<(&str, Vec<u8>)> = parts
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.to_vec()))
        .collect();
    for (at, (_, bytes)) in parts.iter_mut().enumerate() {
        bytes[0] = u8::try_from(at).unwrap();
    }
    let borrowed: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .collect();
    remote.seal("large", &borrowed);
    drop(borrowed);
    drop(parts);
    let address = remote.at("p/large");
    for arguments in [
        vec!["push", "out/large", &address],
        vec!["verify", &address],
        vec!["pull", &address, "-o", "back"],
    ] {
        let (ran, kilobytes) = run_measured(&mut remote.command(&arguments));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        println!("{}: {kilobytes} kB at the most", arguments[0]);
        assert!(kilobytes < 64 << 10, "{}: {kilobytes} kB", arguments[0]);
    }
    open_up(&bench.path("back"));
}

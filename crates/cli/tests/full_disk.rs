//! Servers whose disk is full: a clear error, nothing half-visible, no secret told, and the same
//! command goes on once there is room.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use runseal_testkit::cli::Ran;
use runseal_testkit::docker_registry::DockerRegistry;
use runseal_testkit::object_storage::{self, Kind, SECRET};
use runseal_testkit::postgres::{PASSWORD, Server};
use runseal_testkit::small_disk::SmallDisk;

use crate::object_storage_support::{Remote, files_below, member, random_file};
use crate::oci_support::{answer, assert_same, give_large, ok};
use crate::store_support::Job;

/// Little room for the server's journal, so that it does not fill the disk by itself.
const SMALL_JOURNAL: &str = "max_wal_size = 32MB\nmin_wal_size = 32MB";

/// A command that must have failed because the store's disk is full.
fn assert_full(ran: &Ran, url: &str) {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, Some(2), "{said}");
    let place = url.replace(&format!(":{PASSWORD}"), "");
    assert!(ran.stderr.starts_with("STORE: "), "{said}");
    assert!(ran.stderr.contains(&format!("`{place}` is full")), "{said}");
    assert!(
        ran.stderr.contains("hint: make room on the server"),
        "{said}"
    );
    assert!(!said.contains(PASSWORD), "{said}");
}

#[test]
fn store_on_a_full_disk_says_so_and_goes_on_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(150) else {
        return;
    };
    let Some(server) = Server::start_below(&disk.path(), "127.0.0.1", SMALL_JOURNAL) else {
        return;
    };
    let url = server.new_database();
    let job = Job::new(4000);
    job.post(&url);
    let more = job.bench.read("plan.json").replacen("\"k\"", "\"k2\"", 1);
    job.bench.write("more.json", more);
    for id in ["r1", "r2", "r3"] {
        crate::oci_support::seal(&job.bench, id);
    }
    let run = |arguments: &[&str]| job.bench.run(&[arguments, &["--store", &url]].concat());
    disk.fill(0);

    assert_full(&run(&["job", "post", "more.json"]), &url);
    let status = ok(run(&["job", "status", "r"]));
    assert_eq!(status.matches("\"job_id\"").count(), 1, "{status}");
    assert_full(&run(&["work", "--workers", "2"]), &url);
    assert_full(&run(&["catalog", "add", "out"]), &url);
    assert_eq!(ok(run(&["catalog", "list"])), "");
    // Whatever was done, each step has its one receipt.
    let database = url.rsplit('/').next().unwrap();
    let odd = "SELECT count(*) FROM cassette_steps s LEFT JOIN cassette_receipts r USING (step_id)
               WHERE (s.status = 'COMMITTED') <> (r.step_id IS NOT NULL)";
    assert_eq!(server.sql(database, odd), "0");

    disk.make_room();
    ok(run(&["job", "post", "more.json"]));
    // A lease that was taken while the disk was full runs out first.
    ok(run(&["work", "--workers", "2", "--lease", "2"]));
    let status = ok(run(&["job", "status", "r"]));
    let whole = "\"steps\":{\"COMMITTED\":4000,\"LEASED\":0,\"PENDING\":0}";
    assert_eq!(status.matches(whole).count(), 2, "{status}");
    let receipts = "\"receipts\":{\"FAILURE\":0,\"SUCCESS\":4000}";
    assert_eq!(status.matches(receipts).count(), 2, "{status}");
    ok(run(&["catalog", "add", "out"]));
    let listed = ok(run(&["catalog", "list", "--format", "json"]));
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

#[test]
fn worker_goes_on_when_the_server_that_its_full_disk_stopped_is_back() {
    let Some(disk) = SmallDisk::mount(150) else {
        return;
    };
    let Some(server) = Server::start_below(&disk.path(), "127.0.0.1", SMALL_JOURNAL) else {
        return;
    };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap();
    let job = Job::new(8000);
    job.post(&url);
    let work = ["work", "--workers", "2", "--store", &url];
    let mut worker = job
        .bench
        .command(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let signal = |name: &str| {
        let mut kill = Command::new("kill");
        let sent = kill.args([name, &worker.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    let begun = Instant::now();
    let receipts = "SELECT count(*) FROM cassette_receipts";
    while server.sql(database, receipts) == "0" {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is done");
        thread::sleep(Duration::from_millis(10));
    }
    // Stopped meanwhile, so that it is the journal that finds no room and takes the server down.
    signal("-STOP");
    disk.fill(0);
    let journal = "SELECT pg_logical_emit_message(true, 'fill', repeat('x', 60000000))";
    let refused = server.refusal(database, journal);
    assert!(!refused.is_empty());
    let told = job.bench.run(&["job", "status", "--store", &url]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.starts_with("STORE: "), "{told:?}");
    assert!(told.stderr.contains("cannot be reached"), "{told:?}");
    assert!(told.stderr.contains("hint: "), "{told:?}");
    assert!(!told.stderr.contains(PASSWORD), "{told:?}");
    signal("-CONT");
    thread::sleep(Duration::from_secs(1));
    assert!(worker.try_wait().unwrap().is_none(), "it does not wait");

    server.stop_immediately();
    disk.make_room();
    server.run();
    let ended: Ran = worker.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    job.assert_whole(&url);
}

#[test]
fn registry_with_a_full_disk_is_reported_shows_no_tag_and_goes_on_once_there_is_room() {
    let (_folder, bench) = crate::oci_support::bench();
    give_large(&bench, "large.bin", 40 << 20);
    crate::oci_support::seal(&bench, "r1");
    let Some(disk) = SmallDisk::mount(100) else {
        return;
    };
    let data = disk.path().join("registry");
    let Some(registry) = DockerRegistry::start_in(Some(&data), "") else {
        return;
    };
    let reference = format!("{}/team/run:v1", registry.host());
    // From the first byte on, and in the middle of the large piece.
    for free in [0, 16 << 20] {
        disk.fill(free);
        let refused = bench.run(&["push", "out/r1", &reference]);
        crate::oci_support::assert_refused(&refused, 2, "SERVER_FULL");
        assert!(refused.stderr.contains("hint: "), "{refused:?}");
        for command in [
            &["pull", &reference, "-o", "pulled"][..],
            &["verify", &format!("oci://{reference}")],
        ] {
            let unseen = bench.run(command);
            assert_eq!(unseen.code, Some(2), "{unseen:?}");
        }
        disk.make_room();
    }
    let pushed = answer(bench.run(&["push", "out/r1", &reference]));
    let whole = answer(bench.run(&["push", "out/r1", "oci-layout:layout:v1"]));
    assert_eq!(pushed["digest"], whole["digest"]);
    ok(bench.run(&["pull", &reference, "-o", "pulled"]));
    assert_same(&bench.path("out/r1"), &bench.path("pulled"));
    assert_eq!(crate::oci_support::left_over(&bench), ["layout", "pulled"]);
}

#[test]
fn object_storage_with_a_full_disk_shows_no_run_and_goes_on_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(400) else {
        return;
    };
    let Some(server) = object_storage::Server::start_below(&disk.path(), Kind::Weed) else {
        return;
    };
    let (_folder, bench) = crate::signing_support::bench();
    let remote = Remote::new(&bench, &server);
    remote.seal("r1", &[("large", &random_file(60 << 20)), ("small", b"s")]);
    let address = remote.at("p/r1");
    // Some room is left, or the index of SeaweedFS itself would break and stay so until a restart.
    disk.fill(20 << 20);
    let refused = remote.run(&["push", "out/r1", &address]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    // SeaweedFS says only that something failed inside; others say what (`SERVER_FULL`).
    let code = ["REFUSED: ", "SERVER_FULL: "];
    let is_told = code.iter().any(|code| refused.stderr.starts_with(code));
    assert!(is_told, "{refused:?}");
    for part in [address.as_str(), "hint: ", "disk"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    assert!(!refused.stderr.contains(SECRET), "{refused:?}");
    let unseen = remote.run(&["pull", &address, "-o", "pulled"]);
    assert_eq!(unseen.code, Some(2), "{unseen:?}");
    assert!(unseen.stderr.starts_with("NOT_FOUND: "), "{unseen:?}");
    disk.make_room();
    // The server notices by itself that there is room again, after a while, and for each of its volumes by itself.
    let begun = Instant::now();
    let push_to = |address: &str| loop {
        let pushed = remote.run(&["push", "out/r1", address]);
        if pushed.code == Some(0) || begun.elapsed() > Duration::from_secs(90) {
            break ok(pushed);
        }
        thread::sleep(Duration::from_secs(1));
    };
    let pushed = push_to(&address);
    let fresh = push_to(&remote.at("fresh/r1"));
    assert_eq!(member(&pushed, "digest"), member(&fresh, "digest"));
    ok(remote.run(&["verify", &address]));
    ok(remote.run(&["pull", &address, "-o", "pulled"]));
    assert_eq!(
        files_below(&bench.path("pulled")),
        files_below(&bench.path("out/r1"))
    );
}

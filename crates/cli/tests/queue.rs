//! Work for many machines: queued, done, told, by the commands that people type; on a file and on
//! a server.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::Bench;
use runseal_testkit::isolation;
use runseal_testkit::postgres::PASSWORD;

/// Sealed runs in `runs/`; every fifth is tampered with.
fn seal_runs(bench: &Bench, count: usize) {
    let made = bench.run(&["engine", "init", "made", "--lang", "sh"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for number in 0..count {
        let id = format!("run_{number:03}");
        let ran = bench.run(&[
            "engine",
            "run",
            "made",
            "made/input.json",
            "--out",
            "runs",
            "--run-id",
            &id,
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        if number % 5 == 4 {
            bench.write(&format!("runs/{id}/RUN_OUTPUT.json"), "{\"x\":2}");
        }
    }
}

fn queue_walk(bench: &Bench, store: &str) {
    let run = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--store", store]);
        let ran = bench.run(&all);
        assert!(!ran.stderr.contains(PASSWORD) && !ran.stdout.contains(PASSWORD));
        ran
    };
    assert_eq!(run(&["job", "init"]).code, Some(0));
    let queued = run(&["queue", "verify", "runs"]);
    assert_eq!(
        queued.stdout, "{\"again\":0,\"open\":0,\"queued\":10}\n",
        "{queued:?}"
    );
    let queued = run(&["queue", "verify", "./runs/run_000", "runs"]);
    assert_eq!(
        queued.stdout, "{\"again\":0,\"open\":10,\"queued\":0}\n",
        "{queued:?}"
    );
    let status = run(&["queue", "status"]);
    assert!(status.stdout.contains("10 pending"), "{status:?}");
    let worked = run(&["work", "--workers", "3", "--worker-id", "m1"]);
    assert_eq!(worked.code, Some(1), "{worked:?}");
    assert_eq!(
        worked.stdout,
        "{\"bad\":2,\"good\":8,\"not_done\":0,\"overtaken\":0}\n"
    );
    let status = run(&["queue", "status", "--format", "json"]);
    for part in [
        "\"DONE\":10",
        "{\"count\":2,\"outcome\":\"invalid\"}",
        "\"worker\":\"m1-",
    ] {
        assert!(status.stdout.contains(part), "{part}: {status:?}");
    }
    let results = run(&["queue", "results"]);
    assert_eq!(results.code, Some(1));
    assert_eq!(
        results.stdout.matches("verify invalid").count(),
        2,
        "{results:?}"
    );
    // The report is the one that verify prints.
    let plain = bench.run(&["verify", "runs/run_004", "--format", "json"]);
    let results = run(&["queue", "results", "runs/run_004", "--format", "json"]);
    let report = results.stdout.split("\"report\":").nth(1).unwrap();
    let findings = |text: &str| text.split("\"violations\":").nth(1).unwrap()[..60].to_owned();
    assert_eq!(findings(report), findings(&plain.stdout));
    // The same content under another name has the same result, and the next round changes nothing.
    let again = run(&["queue", "verify", "runs"]);
    assert_eq!(again.stdout, "{\"again\":10,\"open\":0,\"queued\":0}\n");
    assert_eq!(run(&["work"]).code, Some(1));
    // What is not there is tried a few times and then given up.
    assert_eq!(run(&["queue", "verify", "runs/none"]).code, Some(0));
    let worked = run(&["work"]);
    assert_eq!(worked.code, Some(1));
    let results = run(&["queue", "results", "runs/none"]);
    assert!(results.stdout.contains("verify failed"), "{results:?}");
}

#[test]
fn queue_on_a_file_is_worked_and_told() {
    if isolation::sandbox().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    seal_runs(&bench, 10);
    queue_walk(&bench, "jobs.db");
}

#[test]
fn run_whose_name_looks_like_an_option_is_replayed_as_what_it_is() {
    if isolation::sandbox().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    seal_runs(&bench, 1);
    std::fs::rename(bench.path("runs/run_000"), bench.path("--times=0")).unwrap();
    let store = ["--store", "jobs.db"];
    assert_eq!(
        bench.run(&["job", "init", store[0], store[1]]).code,
        Some(0)
    );
    let queued = bench.run(&["queue", "replay", store[0], store[1], "--", "--times=0"]);
    assert_eq!(queued.code, Some(0), "{queued:?}");
    let worked = bench.run(&["work", store[0], store[1]]);
    assert_eq!(worked.code, Some(0), "{worked:?}");
    let results = bench.run(&["queue", "results", store[0], store[1]]);
    assert!(results.stdout.contains("replay reproduced"), "{results:?}");
}

#[test]
fn queue_on_a_server_is_worked_and_told_and_replays_each_content_once() {
    if isolation::sandbox().is_none() {
        return;
    }
    let Some((_server, url)) = crate::store_support::database() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    seal_runs(&bench, 10);
    queue_walk(&bench, &url);
    let run = |arguments: &[&str]| {
        let command = bench.command(arguments).env("RUNSEAL_STORE", &url).output();
        runseal_testkit::cli::Ran::from(command.unwrap())
    };
    // One run and a copy of it: one result.
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([bench.path("runs/run_000"), bench.path("copy_000")])
        .status();
    assert!(copied.unwrap().success());
    let queued = run(&["queue", "replay", "runs/run_000", "copy_000"]);
    assert_eq!(
        queued.stdout, "{\"again\":0,\"open\":0,\"queued\":2}\n",
        "{queued:?}"
    );
    let worked = run(&["work"]);
    assert_eq!(
        worked.code,
        Some(0),
        "{worked:?} {:?}",
        run(&["queue", "results"])
    );
    let results = run(&["queue", "results", "--format", "json"]).stdout;
    let of = |place: &str| {
        let line = results.lines().find(|line| {
            line.contains(&format!("\"path\":\"{place}\"")) && line.contains("\"replay\"")
        });
        line.unwrap().to_owned()
    };
    let content = |line: &str| line.split("\"content\":\"").nth(1).unwrap()[..64].to_owned();
    assert!(
        of("runs/run_000").contains("\"outcome\":\"reproduced\""),
        "{results}"
    );
    assert_eq!(content(&of("runs/run_000")), content(&of("copy_000")));
}

#[test]
fn machine_that_dies_in_the_middle_of_the_queue_loses_and_doubles_nothing() {
    let Some((server, url)) = crate::store_support::database() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    // Packs that do not hold up: quick to judge, and each of its own content.
    for number in 0..300 {
        bench.write(
            &format!("packs/p{number:03}/run.json"),
            format!("{{\"n\":{number}}}"),
        );
    }
    assert_eq!(bench.run(&["job", "init", "--store", &url]).code, Some(0));
    let queued = bench.run(&["queue", "verify", "packs", "--store", &url]);
    assert!(queued.stdout.contains("\"queued\":300"), "{queued:?}");
    for round in 0..6 {
        let name = format!("m{round}");
        let work = [
            "work",
            "--lease",
            "0.5",
            "--worker-id",
            &name,
            "--store",
            &url,
        ];
        let mut command = bench.command(&work);
        let mut machine = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(150));
        let _ = machine.kill();
        machine.wait().unwrap();
    }
    let database = url.rsplit('/').next().unwrap();
    let count = |sql: &str| server.sql(database, sql);
    // A quick machine may have done everything before it died.
    let left = count("SELECT count(*) FROM queue_tasks WHERE state <> 'DONE'");
    let worked = bench.run(&["work", "--lease", "0.5", "--workers", "4", "--store", &url]);
    assert_eq!(worked.code, Some(i32::from(left != "0")), "{worked:?}");
    assert_eq!(
        count("SELECT count(*) FROM queue_tasks WHERE state = 'DONE'"),
        "300"
    );
    assert_eq!(count("SELECT count(*) FROM queue_results"), "300");
    assert_eq!(
        count("SELECT count(DISTINCT content) FROM queue_results"),
        "300"
    );
}

#[test]
fn store_that_cannot_be_used_is_reported_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    for (store, part) in [
        ("postgres://me:s3cret@127.0.0.1:1/d", "cannot be reached"),
        ("postgres://me:s3cret@127.0.0.1:x/d", "not a usable address"),
        (
            "postgres://me:s3cret@127.0.0.1/d?sslmode=s3cret",
            "sslmode must be",
        ),
        (
            "postgres://me:s3cret@127.0.0.1/d?sslmode=verify-full&sslrootcert=/none.pem",
            "none.pem",
        ),
    ] {
        let ran = bench.run(&["job", "status", "--store", store]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        assert!(
            !ran.stderr.contains("s3cret") && ran.stdout.is_empty(),
            "{ran:?}"
        );
    }
    // No address is taken for a file.
    for store in [
        "mysql://me:s3cret@host/d",
        "PostGres:/me:s3cret@host/d",
        "https://me:s3cret@host/d",
    ] {
        for command in [
            &["job", "init"][..],
            &["queue", "status"],
            &["catalog", "list"],
        ] {
            let mut all = command.to_vec();
            all.extend(["--store", store]);
            let ran = bench.run(&all);
            assert_eq!(ran.code, Some(64), "{all:?}: {ran:?}");
            assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let shouted = "POSTGRES://me:s3cret@127.0.0.1:1/d";
    let ran = bench.run(&["job", "init", "--store", shouted]);
    assert!(ran.stderr.contains("cannot be reached"), "{ran:?}");
    assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
    bench.write("bad.db", "no database ".repeat(100));
    for command in [&["job", "status"][..], &["queue", "verify", "bad.db"]] {
        let mut all = command.to_vec();
        all.extend(["--store", "bad.db"]);
        let ran = bench.run(&all);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("bad.db"), "{ran:?}");
    }
    let Some((_server, url)) = crate::store_support::database() else {
        return;
    };
    let ran = bench.run(&["job", "status", "--store", &url]);
    assert!(
        ran.stderr.contains("there is no store in the database"),
        "{ran:?}"
    );
    let wrong = url.replace(PASSWORD, "Wr0ng");
    let ran = bench.run(&["job", "init", "--store", &wrong]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("refuses the name or the password"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("Wr0ng"), "{ran:?}");
    let init = bench.run(&["job", "init", "--store", &url]);
    assert!(
        init.code == Some(0) && !init.stdout.contains(PASSWORD),
        "{init:?}"
    );
}

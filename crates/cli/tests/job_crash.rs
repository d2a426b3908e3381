//! Workers killed at any moment: every step is still committed exactly once.

use std::fmt::Write as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::Bench;

const STEPS: usize = 2_000;

/// A store with one posted job of many steps; gives the job's id.
fn posted(bench: &Bench) -> String {
    let text: String = (0..STEPS).fold(String::new(), |mut text, line| {
        writeln!(text, "line {line} of the source").unwrap();
        text
    });
    bench.write("source.txt", text);
    let steps: Vec<_> = (0..STEPS)
        .map(|line| {
            format!(
                r#"{{"op":"READ_SECTION","refs":{{"section_id":"source.txt"}},
                "constraints":{{"slice":"lines[{line}:{}]"}}}}"#,
                line + 1
            )
        })
        .collect();
    let plan = format!(
        r#"{{"run_id":"r","idempotency_key":"k","steps":[{}]}}"#,
        steps.join(",")
    );
    bench.write("plan.json", plan);
    assert_eq!(bench.run(&["job", "init"]).code, Some(0));
    assert_eq!(bench.run(&["job", "index", "source.txt"]).code, Some(0));
    let posted = bench.run(&["job", "post", "plan.json"]);
    assert_eq!(posted.code, Some(0), "{posted:?}");
    posted
        .stdout
        .split("\"job_id\":\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn workers_killed_at_random_leave_every_step_committed_once() {
    let undisturbed_folder = tempfile::tempdir().unwrap();
    let undisturbed = Bench::new(env!("CARGO_BIN_EXE_runseal"), undisturbed_folder.path());
    let job = posted(&undisturbed);
    assert_eq!(undisturbed.run(&["job", "work"]).code, Some(0));
    assert_eq!(
        undisturbed
            .run(&["job", "build", "r", &job, "-o", "out"])
            .code,
        Some(0)
    );

    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    assert_eq!(posted(&bench), job);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut killed = 0;
    for _ in 0..500 {
        let mut workers: Vec<_> = ["left", "right"]
            .iter()
            .map(|name| {
                let work = [
                    "job",
                    "work",
                    "--workers",
                    "2",
                    "--lease",
                    "0.2",
                    "--worker-id",
                    name,
                ];
                let mut command = bench.command(&work);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread::sleep(Duration::from_millis(20 + random % 80));
        for worker in &mut workers {
            if worker.try_wait().unwrap().is_none() {
                worker.kill().unwrap();
                killed += 1;
            }
            worker.wait().unwrap();
        }
        let status = bench.run(&["job", "status", "r"]).stdout;
        if status.contains(&format!("\"COMMITTED\":{STEPS},")) {
            break;
        }
    }
    assert!(killed >= 4, "only {killed} workers were killed at work");
    assert_eq!(bench.run(&["job", "work", "--lease", "0.2"]).code, Some(0));
    let status = bench.run(&["job", "status", "r"]).stdout;
    let whole = format!("\"steps\":{{\"COMMITTED\":{STEPS},\"LEASED\":0,\"PENDING\":0}}");
    assert!(status.contains(&whole), "{status}");
    let receipts = format!("\"receipts\":{{\"FAILURE\":0,\"SUCCESS\":{STEPS}}}");
    assert!(status.contains(&receipts), "{status}");
    assert_eq!(
        bench.run(&["job", "build", "r", &job, "-o", "out"]).code,
        Some(0)
    );
    assert_eq!(
        bench.read("out/bundle.json"),
        undisturbed.read("out/bundle.json")
    );
    assert_eq!(
        bench.run(&["job", "verify", "out", "--strict"]).code,
        Some(0)
    );
}

//! Many workers on one store: nothing is lost or done twice, and budgets are kept.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::job_bundle::plan::Plan;
use runseal_store::job::index::index_paths;
use runseal_store::job::post::post_plan;
use runseal_store::job::worker::{WorkOptions, WorkSummary, run_workers};
use runseal_store::store::sqlite::{SqliteReader, SqliteStore};
use runseal_store::store::{Posted, StateCounts, StoreReader};

fn post(root: &Path, steps: usize, budgets: &str) -> Posted {
    let text = (0..steps).fold(String::new(), |mut text, line| {
        writeln!(text, "{line:06}").unwrap();
        text
    });
    fs::write(root.join("source.txt"), text).unwrap();
    let mut store = SqliteStore::create(&root.join("jobs.db")).unwrap();
    index_paths(&mut store, root, &[root.join("source.txt")]).unwrap();
    let steps: Vec<_> = (0..steps)
        .map(|at| {
            format!(
                r#"{{"op":"READ_SECTION","refs":{{"section_id":"source.txt"}},
                "constraints":{{"slice":"lines[{at}:{}]"}}}}"#,
                at + 1
            )
        })
        .collect();
    let plan = format!(
        r#"{{"run_id":"r","idempotency_key":"k","budgets":{budgets},"steps":[{}]}}"#,
        steps.join(",")
    );
    let document = parse_document(plan.as_bytes(), &ReadOptions::default()).unwrap();
    post_plan(&mut store, &Plan::parse(document.root()).unwrap()).unwrap()
}

fn work(root: &Path, workers: usize, name: &str) -> WorkSummary {
    let options = WorkOptions {
        run_id: None,
        workers,
        lease_seconds: 60.0,
        worker_id: name.to_owned(),
    };
    run_workers(
        Box::new(SqliteStore::open(&root.join("jobs.db")).unwrap()),
        root,
        &options,
    )
    .unwrap()
}

#[test]
fn workers_on_two_store_handles_share_the_steps_without_loss_or_repeat() {
    const STEPS: usize = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let job = post(folder.path(), STEPS, "{}");
    let (left, right) = thread::scope(|scope| {
        let left = scope.spawn(|| work(folder.path(), 4, "left"));
        let right = scope.spawn(|| work(folder.path(), 4, "right"));
        (left.join().unwrap(), right.join().unwrap())
    });
    assert_eq!(left.succeeded + right.succeeded, STEPS as u64);
    assert_eq!(
        (left.failed + right.failed, left.overtaken + right.overtaken),
        (0, 0)
    );
    let reader = SqliteReader::open(&folder.path().join("jobs.db")).unwrap();
    let steps = reader.job_steps(&job.job_id).unwrap();
    assert!(
        steps
            .iter()
            .all(|step| step.status == "COMMITTED" && step.receipts == 1)
    );
    let status = &reader.job_status(None, None).unwrap()[0];
    let committed = STEPS as u64;
    assert_eq!(
        status.states,
        StateCounts {
            pending: 0,
            leased: 0,
            committed
        }
    );
    assert_eq!((status.succeeded, status.failed), (committed, 0));
}

#[test]
fn byte_budget_is_kept_by_parallel_workers() {
    let folder = tempfile::tempdir().unwrap();
    // Each line has 6 bytes: exactly 50 of 400 reads fit.
    let job = post(folder.path(), 400, r#"{"max_bytes":305}"#);
    let (left, right) = thread::scope(|scope| {
        let left = scope.spawn(|| work(folder.path(), 4, "left"));
        let right = scope.spawn(|| work(folder.path(), 4, "right"));
        (left.join().unwrap(), right.join().unwrap())
    });
    assert_eq!(left.succeeded + right.succeeded, 50);
    assert_eq!(left.failed + right.failed, 350);
    let reader = SqliteReader::open(&folder.path().join("jobs.db")).unwrap();
    let status = &reader.job_status(None, Some(&job.job_id)).unwrap()[0];
    assert_eq!(status.failures.len(), 350);
    assert!(
        status.failures[0].reason.contains("max_bytes is 305"),
        "{:?}",
        status.failures[0]
    );
}

//! Jobs with many steps on any store, for tests that disturb their workers.

use std::fmt::Write as _;
use std::sync::Arc;

use runseal_testkit::cli::Bench;
use runseal_testkit::postgres::{self, Server};
use tempfile::TempDir;

/// A folder with a source of many lines, and a plan that reads each.
pub struct Job {
    pub bench: Bench,
    pub folder: TempDir,
    pub steps: usize,
}

impl Job {
    pub fn new(steps: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
        let mut text = String::new();
        let mut plan = String::from(r#"{"run_id":"r","idempotency_key":"k","steps":["#);
        for line in 0..steps {
            writeln!(text, "line {line} of the source").unwrap();
            let comma = if line == 0 { "" } else { "," };
            write!(
                plan,
                r#"{comma}{{"op":"READ_SECTION","refs":{{"section_id":"source.txt"}},"constraints":{{"slice":"lines[{line}:{}]"}}}}"#,
                line + 1
            )
            .unwrap();
        }
        plan.push_str("]}");
        bench.write("source.txt", text);
        bench.write("plan.json", plan);
        Self {
            bench,
            folder,
            steps,
        }
    }

    /// Makes the store and posts the plan; gives the job's id.
    pub fn post(&self, store: &str) -> String {
        for arguments in [
            &["job", "init", "--store", store][..],
            &["job", "index", "source.txt", "--store", store],
        ] {
            let ran = self.bench.run(arguments);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        let posted = self
            .bench
            .run(&["job", "post", "plan.json", "--store", store]);
        assert_eq!(posted.code, Some(0), "{posted:?}");
        let id = posted.stdout.split("\"job_id\":\"").nth(1).unwrap();
        id.split('"').next().unwrap().to_owned()
    }

    /// The manifest of the job's bundle.
    pub fn build(&self, store: &str, job: &str, to: &str) -> String {
        let ran = self
            .bench
            .run(&["job", "build", "r", job, "-o", to, "--store", store]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        self.bench.read(&format!("{to}/bundle.json"))
    }

    /// Every step is committed, each with one receipt, and none failed.
    pub fn assert_whole(&self, store: &str) {
        let status = self
            .bench
            .run(&["job", "status", "r", "--store", store])
            .stdout;
        let steps = self.steps;
        let whole = format!("\"steps\":{{\"COMMITTED\":{steps},\"LEASED\":0,\"PENDING\":0}}");
        assert!(
            status.contains(&whole),
            "{}",
            &status[..status.len().min(500)]
        );
        let receipts = format!("\"receipts\":{{\"FAILURE\":0,\"SUCCESS\":{steps}}}");
        assert!(
            status.contains(&receipts),
            "{}",
            &status[..status.len().min(500)]
        );
    }
}

/// A database of the shared server, which must live as long as it is used.
pub fn database() -> Option<(Arc<Server>, String)> {
    let server = postgres::shared()?;
    let url = server.new_database();
    Some((server, url))
}

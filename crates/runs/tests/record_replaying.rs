//! What a replay of a recorded command may write.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use runseal_core::formats::run_bundle::layout::RunId;
use runseal_core::formats::run_bundle::time::Moment;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_runs::record::bundle::{JudgedBundle, Replayed, replay_bundle};
use runseal_runs::record::replay::RecordedOptions;
use runseal_runs::record::rules::Rules;
use runseal_runs::record::run::{Command, Watching, policy};
use runseal_runs::record::seal::{RecordError, RecordRequest, record_command};
use runseal_runs::record::terms::Terms;
use runseal_runs::run::replay::Verdict;
use runseal_runs::world::{Choices, World};
use runseal_sandbox::{Limits, Sandbox};
use runseal_testkit::isolation::sandbox;

/// Records a command that leaves this many bytes; gives the path of its bundle.
fn record(folder: &Path, sandbox: &Sandbox, bytes: u64) -> std::path::PathBuf {
    let project = folder.join("project");
    std::fs::create_dir(&project).unwrap();
    let project = project.canonicalize().unwrap();
    let script = format!("head -c {bytes} /dev/zero > big");
    let request = RecordRequest {
        command: Command {
            argv: ["sh", "-c", &script].map(str::to_owned).to_vec(),
            folder: project.clone(),
            appears_at: project,
            inputs: Vec::new(),
            parameters: BTreeMap::new(),
            variables: BTreeMap::new(),
            secrets: BTreeMap::new(),
            stdin: runseal_sandbox::Stdin::Null,
            terminal: None,
            terminal_variables: BTreeMap::new(),
            fixed_time: None,
            world: World::of_caller(&Choices {
                shell: vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))],
                ..Choices::default()
            }),
            is_of_bundle: false,
            models: None,
            limits: policy(),
        },
        out: folder.join("out"),
        run_id: Some(RunId::parse("one").unwrap()),
        terms: Terms::default(),
        reference_above: None,
        extent: runseal_runs::record::outside::Extent::Unpackaged,
        keep_failed: false,
        times: 1,
        now: Moment::from_unix(1_700_000_000).unwrap(),
        redactable: None,
        allow_secret: None,
    };
    let sealed = record_command(&request, sandbox, &Watching::default()).unwrap();
    sealed.path
}

#[test]
fn replay_that_would_leave_more_than_it_may_write_is_refused_before_it_runs() {
    let Some(sandbox) = sandbox() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bundle = record(folder.path(), &sandbox, 4 << 20);
    let source = DirectorySource::open(&bundle, RootLink::Follow).unwrap();
    let has_begun = Cell::new(false);
    let replay = |work_bytes: u64| {
        let options = RecordedOptions {
            is_fork: false,
            times: 1,
            same_environment: false,
            given: &[],
            folder: None,
            search: None,
            limits: Limits {
                work_bytes,
                ..policy()
            },
            secrets: BTreeMap::new(),
            compare: Rules::default(),
            new_files: None,
            devices: &[],
            watching: Watching::default(),
            models: None,
        };
        replay_bundle(
            JudgedBundle::judge(&source).unwrap(),
            None,
            &options,
            &policy(),
            || {
                has_begun.set(true);
                Ok(sandbox.clone())
            },
        )
    };
    match replay(8 << 20) {
        Ok(Replayed::Judged(replay)) => assert_eq!(replay.verdict(), Verdict::Reproduced),
        other => panic!("{other:?}"),
    }
    assert!(has_begun.take());
    // The limit is the caller's: what the bundle holds does not raise it.
    match replay(1 << 20) {
        Err(RecordError::Room {
            needed, allowed, ..
        }) => {
            assert_eq!((needed, allowed), (4 << 20, 1 << 20));
        }
        other => panic!("{other:?}"),
    }
    assert!(!has_begun.get());
}

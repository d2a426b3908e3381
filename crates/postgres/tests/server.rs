//! What only concerns a store on a server: refusals, restarts, the constraints of the database; and
//! copies between stores.

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Fresh, Kind, describe, plan, post, read};
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::job_bundle::plan::Plan;
use runseal_postgres::PostgresStore;
use runseal_store::job::build::build_job_bundle;
use runseal_store::job::index::index_paths;
use runseal_store::job::post::post_plan;
use runseal_store::job::worker::{WorkOptions, run_workers};
use runseal_store::store::sqlite::SqliteStore;
use runseal_store::store::{
    Commit, JobLimits, NewTask, Posted, ServerFault, Store, StoreError, StoreReader, TABLES,
    TaskEnd, TaskKind, TaskResult, copy_store,
};
use runseal_testkit::postgres::{PASSWORD, Server, shared};
use runseal_testkit::small_disk::SmallDisk;

fn fault_of(error: &StoreError) -> (ServerFault, String) {
    match error {
        StoreError::Server { fault, .. } => {
            let whole = format!("{error}: {} {error:?}", error.source().unwrap());
            assert!(!whole.contains(PASSWORD), "{whole}");
            (*fault, whole)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn refusing_or_missing_server_is_reported_without_the_password() {
    let Some(server) = shared() else { return };
    let good = server.new_database();
    let wrong = good.replace(PASSWORD, "Wr0ng");
    let (fault, text) = fault_of(&PostgresStore::create(&wrong).unwrap_err());
    assert_eq!(fault, ServerFault::Denied, "{text}");
    assert!(!text.contains("Wr0ng"), "{text}");
    let nowhere = good.replace(&server.port().to_string(), "1");
    let begun = Instant::now();
    let (fault, text) = fault_of(&PostgresStore::create(&nowhere).unwrap_err());
    assert_eq!(fault, ServerFault::Unreachable, "{text}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    let (fault, text) = fault_of(&PostgresStore::create(&format!("{good}x")).unwrap_err());
    assert_eq!(fault, ServerFault::Failed);
    assert!(text.contains("has no such database"), "{text}");
    let strange = good.replace("127.0.0.1", "no-such-host.invalid");
    let (fault, text) = fault_of(&PostgresStore::create(&strange).unwrap_err());
    assert_eq!(fault, ServerFault::Unreachable, "{text}");
    let secure = format!("{good}?sslmode=require");
    let (fault, text) = fault_of(&PostgresStore::create(&secure).unwrap_err());
    assert_eq!(fault, ServerFault::Insecure, "{text}");
    let silent = good.replace(&format!(":{PASSWORD}"), "");
    let (fault, text) = fault_of(&PostgresStore::create(&silent).unwrap_err());
    assert_eq!(fault, ServerFault::Denied, "{text}");
    assert!(text.contains("asks for a password"), "{text}");
    assert!(matches!(
        PostgresStore::open(&good.replace("postgres://", "POSTGRES://")),
        Err(StoreError::NoStore(_))
    ));
    let database = good.rsplit('/').next().unwrap();
    server.sql(database, "CREATE ROLE guest LOGIN PASSWORD 'gu3st'");
    let (_, behind) = good.split_once('@').unwrap();
    let guest = format!("postgres://guest:gu3st@{behind}");
    let (fault, text) = fault_of(&PostgresStore::create(&guest).unwrap_err());
    assert_eq!(fault, ServerFault::Forbidden, "{text}");
}

#[test]
fn schema_created_concurrently_is_created_once() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| PostgresStore::create(&url).unwrap());
        }
    });
    let database = url.rsplit('/').next().unwrap();
    assert_eq!(
        server.sql(database, "SELECT count(*) FROM runseal_schema"),
        "4"
    );
    server.sql(database, "INSERT INTO runseal_schema(version) VALUES(99)");
    let newer = PostgresStore::open(&url).unwrap_err();
    assert!(
        matches!(
            newer,
            StoreError::Newer {
                found: 99,
                known: 4
            }
        ),
        "{newer:?}"
    );
}

#[test]
fn database_refuses_invalid_changes() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap();
    let mut store = PostgresStore::create(&url).unwrap();
    post(&mut store, &plan("r", "k", 3, JobLimits::default())).unwrap();
    let held = store.claim_steps(None, "w", 60.0, 2).unwrap();
    store
        .commit_steps("w", &[read(&held[0], 1, false)], &describe)
        .unwrap();
    for (sql, refusal) in [
        ("UPDATE cassette_messages SET run_id = 'x'", "cassette_messages is append-only"),
        ("DELETE FROM cassette_receipts", "cassette_receipts is append-only"),
        ("UPDATE cassette_receipts SET outcome = 'FAILURE'", "cassette_receipts is append-only"),
        ("DELETE FROM cassette_steps", "steps are never deleted"),
        ("UPDATE cassette_steps SET status = 'COMMITTED' WHERE status = 'PENDING'",
            "a step goes PENDING, LEASED, COMMITTED"),
        ("UPDATE cassette_steps SET status = 'PENDING' WHERE status = 'LEASED'",
            "a step goes PENDING, LEASED, COMMITTED"),
        ("UPDATE cassette_steps SET status = 'LEASED' WHERE status = 'COMMITTED'",
            "a step goes PENDING, LEASED, COMMITTED"),
        ("UPDATE cassette_steps SET payload_json = '{}' WHERE status = 'LEASED'",
            "what a step does is never edited"),
        ("UPDATE cassette_steps SET lease_owner = 'thief' WHERE status = 'LEASED'",
            "a new lease raises the fencing token by one"),
        ("UPDATE cassette_steps SET fencing_token = 9 WHERE status = 'LEASED'",
            "a new lease raises the fencing token by one"),
        ("UPDATE cassette_steps SET status = 'COMMITTED' WHERE status = 'LEASED'",
            "a commit needs the lease it was read under and its one receipt"),
        ("INSERT INTO cassette_receipts VALUES('r', 'step_r_k_1', 'job_r_k', 'w', 1, 'SUCCESS', '{}')",
            "a receipt needs the live lease of its step"),
        ("INSERT INTO cassette_receipts SELECT 'x', step_id, job_id, worker_id, fencing_token, outcome,
             receipt_json FROM cassette_receipts", "one_receipt_a_step"),
        ("INSERT INTO cassette_steps VALUES('s', 'job_r_k', 9, 'COMMITTED', 'w', NULL, 1, '{}')",
            "a step begins as PENDING"),
    ] {
        let said = server.refusal(database, sql);
        assert!(said.contains(refusal), "{sql}: {said}");
    }
}

#[test]
fn text_with_nul_is_refused_with_a_message() {
    let Some(fresh) = Fresh::new(Kind::Postgres) else {
        return;
    };
    let mut store = fresh.open();
    let mut odd = plan("r", "k", 1, JobLimits::default());
    odd.job.idempotency_key = "a\0b".to_owned();
    let error = post(&mut *store, &odd).unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
    assert_eq!(store.symbol("@a\0b").unwrap(), None);
}

#[test]
fn connection_closed_by_server_is_reopened_and_nothing_is_done_twice() {
    let Some(server) = Server::start("127.0.0.1", "") else {
        return;
    };
    let url = server.new_database();
    let mut store = PostgresStore::create(&url).unwrap();
    post(&mut store, &plan("r", "k", 40, JobLimits::default())).unwrap();
    let held = store.claim_steps(None, "w", 600.0, 40).unwrap();
    for (at, step) in held.iter().enumerate() {
        match at % 10 {
            3 => {
                server.sql(
                    "postgres",
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'runseal'",
                );
            }
            7 => {
                server.stop_immediately();
                server.run();
            }
            _ => {}
        }
        let done = store
            .commit_steps("w", &[read(step, 1, false)], &describe)
            .unwrap();
        assert_eq!(done, [Commit::Succeeded], "step {at}");
    }
    let status = &store.job_status(None, None).unwrap()[0];
    assert_eq!((status.states.committed, status.succeeded), (40, 40));
    // A server that stays down is reported in bounded time, and nothing was claimed.
    server.stop_immediately();
    let begun = Instant::now();
    let (fault, text) = fault_of(&store.claim_steps(None, "w", 1.0, 1).unwrap_err());
    assert_eq!(fault, ServerFault::Unreachable, "{text}");
    assert!(
        begun.elapsed() < Duration::from_secs(90),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn worker_stopped_while_holding_a_budget_does_not_block_others() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    let mut store = PostgresStore::create(&url).unwrap();
    let limits = JobLimits {
        max_bytes: Some(100),
        max_symbols: None,
    };
    post(&mut store, &plan("r", "k", 2, limits)).unwrap();
    let held = store.claim_steps(None, "w", 60.0, 2).unwrap();
    // Locks the budget and goes away, as a stopped worker would.
    let stuck = std::process::Command::new(server.programs().join("psql"))
        .args([
            "-X",
            "-q",
            "-c",
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '2s';
            SELECT * FROM cassette_job_budgets FOR UPDATE",
            "-c",
            "\\! sleep 6",
        ])
        .arg(&url)
        .stdout(std::process::Stdio::null())
        .spawn();
    let mut stuck = stuck.unwrap();
    thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    let done = store
        .commit_steps("w", &[read(&held[0], 1, false)], &describe)
        .unwrap();
    assert_eq!(done, [Commit::Succeeded]);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    stuck.wait().unwrap();
}

/// Posts a job: sources, sections, a symbol and steps.
fn prepare(store: &mut dyn Store, root: &Path) -> Posted {
    fs::write(root.join("a.md"), "# One\nfirst\n# Two\nsecond\n").unwrap();
    index_paths(store, root, &[root.join("a.md")]).unwrap();
    let section = store.sections_of_file("a.md").unwrap().pop().unwrap();
    let symbol = runseal_store::store::SymbolRecord {
        symbol_id: "@two".to_owned(),
        section_id: section.section_id,
        default_slice: Some("head(1)".to_owned()),
    };
    store.put_symbol(&symbol).unwrap();
    let steps: Vec<_> = (0..60)
        .map(|at| match at % 3 {
            0 => r#"{"op":"READ_SYMBOL","refs":{"symbol_id":"@two"}}"#.to_owned(),
            1 => r##"{"op":"READ_SECTION","refs":{"section_id":"a.md#One"},"constraints":{"slice":"head(1)"}}"##.to_owned(),
            _ => format!(r#"{{"op":"READ_SECTION","refs":{{"section_id":"a.md"}},"constraints":{{"slice":"chars[0:{}]"}}}}"#,
                at % 20 + 1),
        })
        .collect();
    let text = format!(
        r#"{{"run_id":"r","idempotency_key":"k","budgets":{{"max_bytes":100000}},"steps":[{}]}}"#,
        steps.join(",")
    );
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    post_plan(store, &Plan::parse(document.root()).unwrap()).unwrap()
}

fn finish(store: Box<dyn Store>, root: &Path) {
    let options = WorkOptions {
        run_id: None,
        workers: 3,
        lease_seconds: 2.0,
        worker_id: "w".to_owned(),
    };
    let done = run_workers(store, root, &options).unwrap();
    assert_eq!((done.failed, done.overtaken), (0, 0));
}

fn bundle(
    store: &dyn StoreReader,
    root: &Path,
    posted: &Posted,
    to: &Path,
) -> Vec<(String, Vec<u8>)> {
    let job = (&"r".to_owned().into(), &posted.job_id);
    build_job_bundle(store, root, job, to, None).unwrap();
    let mut files = Vec::new();
    for folder in [to.to_owned(), to.join("artifacts")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(to).unwrap().display().to_string();
                files.push((name, fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    assert!(files.len() > 10);
    files
}

#[test]
fn bundle_of_job_has_same_bytes_from_either_store_and_from_copies() {
    let Some(fresh) = Fresh::new(Kind::Postgres) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join(".runseal/jobs.db");
    let mut on_file: Box<dyn Store> = Box::new(SqliteStore::create(&file).unwrap());
    let mut on_server = fresh.open();
    let posted = prepare(&mut *on_file, root.path());
    assert_eq!(prepare(&mut *on_server, root.path()), posted);
    finish(
        on_file
            .connect_again()
            .unwrap()
            .unwrap_or_else(|| Box::new(SqliteStore::open(&file).unwrap())),
        root.path(),
    );
    finish(on_server.connect_again().unwrap().unwrap(), root.path());
    let out = tempfile::tempdir().unwrap();
    let first = bundle(
        on_file.as_reader(),
        root.path(),
        &posted,
        &out.path().join("file"),
    );
    let second = bundle(
        on_server.as_reader(),
        root.path(),
        &posted,
        &out.path().join("server"),
    );
    assert_eq!(first, second);

    let other = Fresh::new(Kind::Postgres).unwrap();
    let mut copy = other.open();
    copy_store(on_file.as_reader(), &mut *copy).unwrap();
    let third = bundle(
        copy.as_reader(),
        root.path(),
        &posted,
        &out.path().join("copy"),
    );
    assert_eq!(first, third);
}

/// Every row of every table, for comparing.
fn dump(store: &dyn StoreReader) -> Vec<String> {
    let mut rows = Vec::new();
    for table in &TABLES {
        store
            .visit_rows(table, &mut |row| {
                rows.push(format!("{} {row:?}", table.name));
                Ok(())
            })
            .unwrap();
    }
    rows
}

#[test]
fn store_copied_to_server_and_back_has_same_rows_and_still_works() {
    let Some(fresh) = Fresh::new(Kind::Postgres) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let mut first = SqliteStore::create(&root.path().join("one.db")).unwrap();
    let posted = prepare(&mut first, root.path());
    // Some done, some held, some not yet taken; and tasks in each state.
    let held = Store::claim_steps(&mut first, None, "w", 600.0, 20).unwrap();
    let done: Vec<_> = held[..10].iter().map(|step| read(step, 1, false)).collect();
    Store::commit_steps(&mut first, "w", &done, &describe).unwrap();
    let tasks: Vec<_> = ["a", "b", "c"]
        .map(|at| NewTask::new(TaskKind::Replay, "{}", at))
        .into();
    Store::post_tasks(&mut first, &tasks).unwrap();
    let taken = Store::claim_tasks(&mut first, &TaskKind::ALL, "w", 600.0, 2).unwrap();
    let end = TaskEnd::Result(TaskResult {
        done: "{}".to_owned(),
        content: "d".to_owned(),
        outcome: "reproduced".to_owned(),
        report: "{}".to_owned(),
    });
    Store::end_task(&mut first, "w", &taken[0], &end).unwrap();

    let mut server = fresh.open();
    let copied = copy_store(&first, &mut *server).unwrap();
    assert_eq!(
        (copied["cassette_steps"], copied["cassette_receipts"]),
        (60, 10)
    );
    assert_eq!((copied["queue_tasks"], copied["queue_results"]), (3, 1));
    assert!(matches!(
        copy_store(&first, &mut *server),
        Err(StoreError::NotEmpty(_))
    ));
    let mut second = SqliteStore::create(&root.path().join("two.db")).unwrap();
    copy_store(server.as_reader(), &mut second).unwrap();
    let mut third = SqliteStore::create(&root.path().join("three.db")).unwrap();
    copy_store(&second, &mut third).unwrap();
    assert_eq!(dump(&second), dump(server.as_reader()));
    assert_eq!(dump(&third), dump(&second));
    // No lease was lost, and the copy still refuses what it should.
    for store in [&mut *server, &mut second as &mut dyn Store] {
        let free = store.claim_steps(None, "x", 600.0, 100).unwrap();
        assert_eq!(free.len(), 40);
        let rest: Vec<_> = held[10..].iter().map(|step| read(step, 1, false)).collect();
        let commits = store.commit_steps("w", &rest, &describe).unwrap();
        assert!(commits.iter().all(|commit| *commit == Commit::Succeeded));
        let again = store.commit_steps("w", &done, &describe).unwrap();
        assert!(again.iter().all(|commit| *commit == Commit::Overtaken));
        assert_eq!(store.job_steps(&posted.job_id).unwrap().len(), 60);
    }
}

#[test]
fn store_with_two_receipts_for_a_step_is_not_copied_partially() {
    let Some(fresh) = Fresh::new(Kind::Postgres) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("field.db");
    let field = "
        CREATE TABLE cassette_messages(message_id TEXT NOT NULL PRIMARY KEY, run_id TEXT,
            source TEXT, idempotency_key TEXT, payload_json TEXT, created_at TEXT);
        CREATE TABLE cassette_jobs(job_id TEXT NOT NULL PRIMARY KEY, message_id TEXT,
            intent TEXT, ordinal INTEGER, created_at TEXT);
        CREATE TABLE cassette_steps(step_id TEXT NOT NULL PRIMARY KEY, job_id TEXT,
            ordinal INTEGER, status TEXT, lease_owner TEXT, lease_expires_at TEXT,
            fencing_token INTEGER, payload_json TEXT, created_at TEXT);
        CREATE TABLE cassette_receipts(receipt_id TEXT NOT NULL PRIMARY KEY, step_id TEXT,
            job_id TEXT, worker_id TEXT, fencing_token INTEGER, outcome TEXT,
            receipt_json TEXT, created_at TEXT);
        CREATE TABLE sections(section_id TEXT NOT NULL PRIMARY KEY, file_path TEXT,
            heading_path TEXT, line_start INTEGER, line_end INTEGER, content_hash TEXT,
            created_at TEXT);
        INSERT INTO cassette_messages VALUES('m', 'r', 'USER', 'k', 'no json', 'then');
        INSERT INTO cassette_jobs VALUES('j', 'm', 'read', 1, 'then');
        INSERT INTO cassette_steps VALUES('s1', 'j', 0, 'COMMITTED', 'w', 'then', 1, '{}', '');
        INSERT INTO cassette_receipts VALUES('a', 's1', 'j', 'w', 1, 'SUCCESS', '{}', '');
        INSERT INTO cassette_receipts VALUES('b', 's1', 'j', 'w', 1, 'SUCCESS', '{}', '');";
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(field)
        .unwrap();
    let from = runseal_store::store::sqlite::SqliteReader::open(&path).unwrap();
    let mut to = fresh.open();
    let (fault, text) = fault_of(&copy_store(&from, &mut *to).unwrap_err());
    assert_eq!(fault, ServerFault::Failed);
    assert!(text.contains("one_receipt_a_step"), "{text}");
    assert!(dump(to.as_reader()).is_empty());
}

#[test]
fn full_disk_of_server_is_reported_and_nothing_is_stored_partially() {
    let Some(disk) = SmallDisk::mount(24) else {
        return;
    };
    let Some(server) = shared() else { return };
    let space = disk.path().join("space");
    fs::create_dir(&space).unwrap();
    std::os::unix::fs::chown(&space, Some(65534), Some(65534)).unwrap();
    server.sql(
        "postgres",
        &format!("CREATE TABLESPACE small LOCATION '{}'", space.display()),
    );
    server.sql("postgres", "CREATE DATABASE full_disk TABLESPACE small");
    let url = server.url("full_disk");
    let mut store = PostgresStore::create(&url).unwrap();
    let mut large = plan("r", "k", 200, JobLimits::default());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for step in &mut large.steps {
        // Random letters, which the server cannot compress.
        let letters = (0..20_000).map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            char::from(b'a' + (random % 26) as u8)
        });
        step.payload_json = letters.collect();
    }
    let mut filled = None;
    for round in 0..60 {
        let mut more = plan("r", &format!("k{round}"), 0, JobLimits::default());
        more.steps = large.steps.clone();
        for step in &mut more.steps {
            step.step_id = format!("{}_{round}", step.step_id).into();
        }
        if let Err(error) = post(&mut store, &more) {
            filled = Some((round, error));
            break;
        }
    }
    let (round, error) = filled.unwrap();
    let (fault, text) = fault_of(&error);
    assert_eq!(fault, ServerFault::Full, "{text}");
    assert_eq!(store.job_status(None, None).unwrap().len(), round);
    drop(store);
    server.sql("postgres", "DROP DATABASE full_disk WITH (FORCE)");
    server.sql("postgres", "DROP TABLESPACE small");
}

/// Creates an authority and a server's certificate for `localhost` with openssl.
fn make_certificates(folder: &Path) {
    let openssl = |arguments: &str| {
        let ran = std::process::Command::new("openssl")
            .current_dir(folder)
            .args(arguments.split(' '))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{arguments}: {ran:?}");
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for name in ["ca", "other"] {
        openssl(&format!(
            "req -x509 {key} -keyout {name}.key -out {name}.pem -days 2 -subj /CN={name}"
        ));
    }
    openssl(&format!(
        "req {key} -keyout server.key -out server.csr -subj /CN=localhost"
    ));
    fs::write(
        folder.join("extensions"),
        "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n",
    )
    .unwrap();
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 \
         -extfile extensions",
    );
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(
        folder.join("server.key"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    // Only root has to give it away: other users run the server themselves.
    let _ = std::os::unix::fs::chown(folder.join("server.key"), Some(65534), Some(65534));
}

#[test]
fn server_proves_its_identity_as_the_address_demands() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let settings = format!(
        "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'",
        at("server.pem"),
        at("server.key")
    );
    let Some(server) = Server::start("127.0.0.1", &settings) else {
        return;
    };
    let url = server.new_database();
    let named = url.replace("127.0.0.1", "localhost");
    let (ca, other) = (at("ca.pem"), at("other.pem"));
    for (url, query, is_good) in [
        (&url, "sslmode=require".to_owned(), true),
        (&url, format!("sslmode=verify-ca&sslrootcert={ca}"), true),
        (&url, format!("sslmode=require&sslrootcert={ca}"), true),
        (
            &named,
            format!("sslmode=verify-full&sslrootcert={ca}"),
            true,
        ),
        (&url, format!("sslmode=verify-full&sslrootcert={ca}"), false),
        (
            &named,
            format!("sslmode=verify-full&sslrootcert={other}"),
            false,
        ),
        (
            &url,
            format!("sslmode=verify-ca&sslrootcert={other}"),
            false,
        ),
        (&url, "sslmode=verify-ca".to_owned(), false),
    ] {
        match (PostgresStore::create(&format!("{url}?{query}")), is_good) {
            (Ok(_store), true) => {
                let secure = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                    WHERE ssl AND application_name = 'runseal'";
                assert_eq!(server.sql("postgres", secure), "1", "{query}");
            }
            (Err(error), false) => {
                let (fault, text) = fault_of(&error);
                assert_eq!(fault, ServerFault::Insecure, "{query}: {text}");
            }
            (other, _) => panic!("{query}: {other:?}"),
        }
    }
    // Without a demand, TLS is used if the server offers it.
    let _store = PostgresStore::create(&url).unwrap();
    let secure = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'runseal'";
    assert_eq!(server.sql("postgres", secure), "t");
}

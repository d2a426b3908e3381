//! The contract of a store, tested on a file, a server, and a server behind pgbouncer in transaction
//! mode.

use std::thread;
use std::time::Duration;

use crate::support::{Fresh, Kind, describe, plan, post, read};
use runseal_store::store::{
    Commit, Finished, IndexedFile, JobId, JobLimits, JobRunId, MOST_ATTEMPTS, NewTask, PostedTasks,
    SectionRecord, StateCounts, StepId, StoreError, SymbolRecord, TaskEnd, TaskKind, TaskResult,
    TaskState, pause_after,
};

fn no_limits() -> JobLimits {
    JobLimits::default()
}

fn section(id: &str, path: &str, hash: &str) -> SectionRecord {
    SectionRecord {
        section_id: id.to_owned(),
        file_path: path.to_owned(),
        heading_path: "[]".to_owned(),
        line_start: 0,
        line_end: 1,
        content_hash: hash.to_owned(),
    }
}

fn indexed(hash: &str) -> IndexedFile {
    IndexedFile {
        stamp: "1".to_owned(),
        file_hash: hash.to_owned(),
    }
}

fn task(location: &str) -> NewTask {
    NewTask::new(TaskKind::Verify, "{}", location)
}

fn valid(content: &str) -> TaskEnd {
    TaskEnd::Result(TaskResult {
        done: "{}".to_owned(),
        content: content.to_owned(),
        outcome: "valid".to_owned(),
        report: format!("{{\"content\":\"{content}\"}}"),
    })
}

on_every_store! {
    fn post_with_same_key_returns_same_job(fresh: &Fresh) {
        let mut store = fresh.open();
        let first = post(&mut *store, &plan("r", "k", 3, no_limits())).unwrap();
        let second = post(&mut *store, &plan("r", "k", 3, no_limits())).unwrap();
        assert!(!first.repeated && second.repeated && !second.differs);
        assert_eq!((&first.job_id, first.steps), (&second.job_id, second.steps));
        let mut other = plan("r", "k", 5, no_limits());
        other.job.payload_json = "{}".into();
        let other = post(&mut *store, &other).unwrap();
        assert!(other.repeated && other.differs);
        assert_eq!(other.steps, 3);
    }

    fn concurrent_posts_of_same_plan_create_one_job(fresh: &Fresh) {
        drop(fresh.open());
        let posted = thread::scope(|scope| {
            let posters: Vec<_> = (0..6)
                .map(|_| scope.spawn(|| post(&mut *fresh.open(), &plan("r", "k", 3000, no_limits()))))
                .collect();
            posters
                .into_iter()
                .map(|poster| poster.join().unwrap().unwrap())
                .collect::<Vec<_>>()
        });
        assert_eq!(posted.iter().filter(|one| !one.repeated).count(), 1);
        assert!(posted.iter().all(|one| one.steps == 3000));
    }

    fn post_with_taken_step_id_is_refused_entirely(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "k", 1, no_limits())).unwrap();
        let mut second = plan("r", "k2", 2, no_limits());
        second.steps[1].step_id = StepId::new("step_r_k_0");
        let taken = post(&mut *store, &second);
        assert!(matches!(taken, Err(StoreError::StepTaken { job_id, .. })
            if job_id.as_str() == "job_r_k"));
        let job = store.job(&JobRunId::new("r"), &JobId::new("job_r_k2"));
        assert_eq!(job.unwrap(), None);
    }

    fn claim_of_expired_lease_raises_token_and_late_commit_is_refused(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "k", 1, no_limits())).unwrap();
        let slow = store.claim_steps(None, "slow", -1.0, 10).unwrap();
        let quick = store.claim_steps(None, "quick", 60.0, 10).unwrap();
        assert_eq!((slow[0].fencing_token, quick[0].fencing_token), (1, 2));
        assert!(store.claim_steps(None, "third", 60.0, 10).unwrap().is_empty());
        let late = [read(&slow[0], 1, false)];
        let done = [read(&quick[0], 1, false)];
        assert_eq!(store.commit_steps("slow", &late, &describe).unwrap(), [Commit::Overtaken]);
        assert_eq!(store.commit_steps("quick", &done, &describe).unwrap(), [Commit::Succeeded]);
        assert_eq!(store.commit_steps("slow", &late, &describe).unwrap(), [Commit::Overtaken]);
        assert_eq!(store.commit_steps("quick", &done, &describe).unwrap(), [Commit::Overtaken]);
        let steps = store.job_steps(&JobId::new("job_r_k")).unwrap();
        assert_eq!((steps[0].receipts, steps[0].status.as_str()), (1, "COMMITTED"));
        assert!(!store.has_open_steps(None).unwrap());
    }

    fn commit_under_another_name_or_token_is_refused(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "k", 2, no_limits())).unwrap();
        let claimed = store.claim_steps(None, "w", 60.0, 10).unwrap();
        let mut forged = read(&claimed[0], 1, false);
        forged.step.fencing_token += 1;
        assert_eq!(store.commit_steps("w", &[forged], &describe).unwrap(), [Commit::Overtaken]);
        let mine = read(&claimed[0], 1, false);
        assert_eq!(
            store.commit_steps("thief", std::slice::from_ref(&mine), &describe).unwrap(),
            [Commit::Overtaken]
        );
        // In one batch, held steps are committed and others are not.
        let mut lost = read(&claimed[1], 1, false);
        lost.step.fencing_token = 7;
        assert_eq!(
            store.commit_steps("w", &[lost, mine], &describe).unwrap(),
            [Commit::Overtaken, Commit::Succeeded]
        );
    }

    fn extended_lease_is_not_taken_over(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "k", 2, no_limits())).unwrap();
        let held = store.claim_steps(None, "w", 0.4, 2).unwrap();
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(200));
            assert_eq!(store.extend_leases("w", &held, 0.6).unwrap(), [true, true]);
            assert!(store.claim_steps(None, "thief", 60.0, 10).unwrap().is_empty());
        }
        assert_eq!(store.extend_leases("thief", &held, 0.6).unwrap(), [false, false]);
        store.extend_leases("w", &held[..1], -1.0).unwrap();
        let taken = store.claim_steps(None, "thief", 60.0, 1).unwrap();
        assert_eq!((&taken[0].step_id, taken[0].fencing_token), (&held[0].step_id, 2));
        assert_eq!(store.extend_leases("w", &held, 60.0).unwrap(), [false, true]);
    }

    fn claim_of_one_run_leaves_others(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("a", "k", 2, no_limits())).unwrap();
        post(&mut *store, &plan("b", "k", 3, no_limits())).unwrap();
        let run = JobRunId::new("b");
        let claimed = store.claim_steps(Some(&run), "w", -1.0, 2).unwrap();
        assert_eq!(claimed.len(), 2);
        let claimed = store.claim_steps(Some(&run), "w", 60.0, 10).unwrap();
        assert_eq!(claimed.len(), 3);
        assert!(claimed.iter().all(|step| step.run_id == run));
        assert!(store.claim_steps(Some(&run), "w", 60.0, 10).unwrap().is_empty());
        let results: Vec<_> = claimed.iter().map(|step| read(step, 1, false)).collect();
        store.commit_steps("w", &results, &describe).unwrap();
        assert!(!store.has_open_steps(Some(&run)).unwrap());
        assert!(store.has_open_steps(Some(&JobRunId::new("a"))).unwrap());
    }

    fn claims_are_ordered_by_job_and_ordinal(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "b", 3, no_limits())).unwrap();
        post(&mut *store, &plan("r", "a", 3, no_limits())).unwrap();
        let claimed = store.claim_steps(None, "w", 60.0, 4).unwrap();
        let ids: Vec<_> = claimed.iter().map(|step| step.step_id.as_str()).collect();
        assert_eq!(ids, ["step_r_a_0", "step_r_a_1", "step_r_a_2", "step_r_b_0"]);
        assert_eq!(claimed[1].payload_json, "{\"n\":1}");
        assert_eq!((claimed[0].idempotency_key.as_str(), claimed[0].ordinal), ("a", 0));
    }

    fn concurrent_claims_return_each_step_once(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "k", 600, no_limits())).unwrap();
        let mut claimed = thread::scope(|scope| {
            let workers: Vec<_> = (0..6)
                .map(|number| scope.spawn(move || {
                    let mut store = fresh.open();
                    let mut mine = Vec::new();
                    loop {
                        let steps = store
                            .claim_steps(None, &format!("w{number}"), 60.0, 7)
                            .unwrap();
                        if steps.is_empty() && !mine.is_empty() {
                            return mine;
                        }
                        mine.extend(steps.into_iter().map(|step| step.step_id));
                        if mine.is_empty() {
                            return mine;
                        }
                    }
                }))
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap())
                .collect::<Vec<_>>()
        });
        claimed.extend(
            store
                .claim_steps(None, "rest", 60.0, 600)
                .unwrap()
                .into_iter()
                .map(|step| step.step_id),
        );
        let count = claimed.len();
        claimed.sort();
        claimed.dedup();
        assert_eq!((count, claimed.len()), (600, 600));
    }

    fn read_beyond_budget_becomes_failure_receipt(fresh: &Fresh) {
        let mut store = fresh.open();
        let limits = JobLimits { max_bytes: Some(10), max_symbols: Some(1) };
        post(&mut *store, &plan("r", "k", 4, limits)).unwrap();
        let steps = store.claim_steps(None, "w", 60.0, 10).unwrap();
        assert_eq!(steps[0].limits, limits);
        let results = [
            read(&steps[0], 6, true),
            read(&steps[1], 6, false),
            read(&steps[2], 1, true),
        ];
        let commits = store.commit_steps("w", &results, &describe).unwrap();
        assert_eq!(commits, [Commit::Succeeded, Commit::Failed, Commit::Failed]);
        let reason = store.failure_of(&steps[1].step_id).unwrap().unwrap();
        assert!(reason.contains("max_bytes is 10, this read would make it 12"), "{reason}");
        let reason = store.failure_of(&steps[2].step_id).unwrap().unwrap();
        assert!(reason.contains("max_symbols is 1, this read would make it 2"), "{reason}");
        // An overtaken commit takes nothing from the budget.
        let mut lost = read(&steps[3], 4, false);
        lost.step.fencing_token = 9;
        assert_eq!(store.commit_steps("w", &[lost], &describe).unwrap(), [Commit::Overtaken]);
        let exact = read(&steps[3], 4, false);
        assert_eq!(store.commit_steps("w", &[exact], &describe).unwrap(), [Commit::Succeeded]);
        assert_eq!(store.failure_of(&steps[3].step_id).unwrap(), None);
    }

    fn status_counts_states_receipts_and_workers(fresh: &Fresh) {
        let mut store = fresh.open();
        let limits = JobLimits { max_bytes: Some(1), max_symbols: None };
        post(&mut *store, &plan("r", "k", 4, limits)).unwrap();
        post(&mut *store, &plan("a", "k", 1, no_limits())).unwrap();
        let run = JobRunId::new("r");
        let one = store.claim_steps(Some(&run), "b", 60.0, 2).unwrap();
        store.claim_steps(Some(&run), "a", 60.0, 1).unwrap();
        let results = [read(&one[0], 1, false), read(&one[1], 1, false)];
        store.commit_steps("b", &results, &describe).unwrap();
        let all = store.job_status(None, None).unwrap();
        assert_eq!(all.iter().map(|job| job.run_id.as_str()).collect::<Vec<_>>(), ["a", "r"]);
        let job = &store.job_status(Some(&run), None).unwrap()[0];
        assert_eq!(job.states, StateCounts { pending: 1, leased: 1, committed: 2 });
        assert_eq!((job.succeeded, job.failed), (1, 1));
        assert_eq!(job.workers, ["a", "b"]);
        assert_eq!(job.failures.len(), 1);
        assert_eq!((job.failures[0].ordinal, job.intent.as_str()), (1, "read"));
        assert!(store.job_status(Some(&run), Some(&JobId::new("x"))).unwrap().is_empty());
    }

    fn steps_are_visited_in_order_and_store_is_usable_meanwhile(fresh: &Fresh) {
        let mut store = fresh.open();
        post(&mut *store, &plan("r", "k", 4500, no_limits())).unwrap();
        let mut next = 0;
        store.visit_steps(&JobId::new("job_r_k"), &mut |step| {
            assert_eq!(step.ordinal, next);
            if next % 1000 == 0 {
                assert!(store.has_open_steps(None).unwrap());
            }
            next += 1;
            next < 4400
        }).unwrap();
        assert_eq!(next, 4400);
    }

    fn sections_of_edited_file_stay_known_but_not_current(fresh: &Fresh) {
        let mut store = fresh.open();
        let entry = |id: &str, hash: &str| {
            ("a.md".to_owned(), indexed(hash), vec![section(id, "a.md", hash)])
        };
        store.record_index(&[entry("old", "h1")], &[]).unwrap();
        let first = store.compute_index_hash().unwrap();
        store.record_index(&[entry("new", "h2")], &[]).unwrap();
        assert_ne!(store.compute_index_hash().unwrap(), first);
        assert!(store.section("old").unwrap().is_some());
        let current = store.sections_of_file("a.md").unwrap();
        assert_eq!(current, [section("new", "a.md", "h2")]);
        assert_eq!(store.section_counts().unwrap()["a.md"], 1);
        assert_eq!(store.sections(&["new", "none", "old"]).unwrap().len(), 2);
        store.record_index(&[], &["a.md".to_owned()]).unwrap();
        assert!(store.sections_of_file("a.md").unwrap().is_empty());
        assert!(store.indexed_files().unwrap().is_empty());
    }

    fn symbols_are_added_redirected_and_removed(fresh: &Fresh) {
        let mut store = fresh.open();
        let symbol = |section: &str, slice: Option<&str>| SymbolRecord {
            symbol_id: "@a".to_owned(),
            section_id: section.to_owned(),
            default_slice: slice.map(str::to_owned),
        };
        assert!(store.put_symbol(&symbol("none", None)).is_err());
        assert_eq!(store.symbols().unwrap(), []);
        let sections = vec![section("s", "a.md", "h"), section("t", "a.md", "i")];
        store.record_index(&[("a.md".to_owned(), indexed("h"), sections)], &[]).unwrap();
        store.put_symbol(&symbol("s", None)).unwrap();
        store.put_symbol(&symbol("t", Some("head(1)"))).unwrap();
        assert_eq!(store.symbol("@a").unwrap(), Some(symbol("t", Some("head(1)"))));
        assert_eq!(store.symbols().unwrap().len(), 1);
        assert!(store.remove_symbol("@a").unwrap() && !store.remove_symbol("@a").unwrap());
    }

    fn tasks_are_queued_once_and_again_after_they_ended(fresh: &Fresh) {
        let mut store = fresh.open();
        let posted = store.post_tasks(&[task("a"), task("b")]).unwrap();
        assert_eq!(posted, PostedTasks { queued: 2, again: 0, open: 0 });
        let posted = store.post_tasks(&[task("b"), task("c")]).unwrap();
        assert_eq!(posted, PostedTasks { queued: 1, again: 0, open: 1 });
        let claimed = store.claim_tasks(&[TaskKind::Verify], "w", 60.0, 1).unwrap();
        assert_eq!(claimed[0].location, "a");
        assert!(store.claim_tasks(&[TaskKind::Replay], "w", 60.0, 9).unwrap().is_empty());
        assert_eq!(store.end_task("w", &claimed[0], &valid("d1")).unwrap(), Finished::Recorded);
        let posted = store.post_tasks(&[task("a"), task("b"), task("c")]).unwrap();
        assert_eq!(posted, PostedTasks { queued: 0, again: 1, open: 2 });
        // The same content has one result, whatever its name and however often it is queued.
        for known in [Finished::Known, Finished::Known] {
            let claimed = store.claim_tasks(&TaskKind::ALL, "w", 60.0, 1).unwrap();
            assert_eq!(store.end_task("w", &claimed[0], &valid("d1")).unwrap(), known);
        }
        let known = store.known_result(TaskKind::Verify, "{}", "d1").unwrap().unwrap();
        assert_eq!(known.outcome, "valid");
        assert_eq!(store.known_result(TaskKind::Replay, "{}", "d1").unwrap(), None);
        // Done in another way, the same content has another result.
        let claimed = store.claim_tasks(&TaskKind::ALL, "w", 60.0, 1).unwrap();
        let later = TaskEnd::Result(TaskResult {
            done: "{\"program\":\"later\"}".to_owned(),
            content: "d1".to_owned(),
            outcome: "invalid".to_owned(),
            report: "{}".to_owned(),
        });
        assert_eq!(store.end_task("w", &claimed[0], &later).unwrap(), Finished::Recorded);
        let mut outcomes = Vec::new();
        store.visit_tasks(true, &mut |task| {
            outcomes.push(task.result.unwrap().outcome);
            true
        }).unwrap();
        outcomes.sort();
        assert_eq!(outcomes, ["invalid", "valid", "valid"]);
    }

    fn task_taken_over_ends_once(fresh: &Fresh) {
        let mut store = fresh.open();
        store.post_tasks(&[task("a")]).unwrap();
        let slow = store.claim_tasks(&TaskKind::ALL, "slow", -1.0, 9).unwrap();
        let quick = store.claim_tasks(&TaskKind::ALL, "quick", 60.0, 9).unwrap();
        assert_eq!((slow[0].fencing_token, quick[0].fencing_token), (1, 2));
        assert!(!store.extend_task("slow", &slow[0], 60.0).unwrap());
        assert!(store.extend_task("quick", &quick[0], 60.0).unwrap());
        assert_eq!(store.end_task("slow", &slow[0], &valid("x")).unwrap(), Finished::Overtaken);
        assert_eq!(store.end_task("quick", &quick[0], &valid("y")).unwrap(), Finished::Recorded);
        assert_eq!(store.end_task("slow", &slow[0], &valid("x")).unwrap(), Finished::Overtaken);
        assert_eq!(store.known_result(TaskKind::Verify, "{}", "x").unwrap(), None);
        assert!(!store.has_open_tasks(&TaskKind::ALL).unwrap());
    }

    fn task_given_back_or_abandoned_too_often_is_given_up(fresh: &Fresh) {
        let mut store = fresh.open();
        store.post_tasks(&[task("back"), task("poison")]).unwrap();
        let back = TaskEnd::GivenBack { reason: "not here".to_owned() };
        for round in 1..=MOST_ATTEMPTS {
            let worker = format!("w{round}");
            let claimed = store.claim_tasks(&TaskKind::ALL, &worker, -1.0, 9).unwrap();
            assert_eq!(claimed.len(), 2, "round {round}");
            let held = claimed.iter().find(|task| task.location == "back").unwrap();
            let expected = match round {
                MOST_ATTEMPTS => Finished::GivenUp,
                _ => Finished::Waiting,
            };
            assert_eq!(store.end_task(&worker, held, &back).unwrap(), expected);
        }
        assert!(store.claim_tasks(&TaskKind::ALL, "w", 60.0, 9).unwrap().is_empty());
        let mut seen = Vec::new();
        store.visit_tasks(true, &mut |task| {
            seen.push((task.location, task.state, task.reason.unwrap()));
            true
        }).unwrap();
        assert_eq!(seen[0], ("back".to_owned(), TaskState::Failed, "not here".to_owned()));
        assert_eq!((seen[1].0.as_str(), seen[1].1), ("poison", TaskState::Failed));
        assert!(seen[1].2.contains("5 times"), "{seen:?}");
    }

    fn task_given_back_is_left_to_active_workers_that_have_not_tried_it(fresh: &Fresh) {
        let mut store = fresh.open();
        store.post_tasks(&[task("long"), task("there")]).unwrap();
        let back = TaskEnd::GivenBack { reason: "not here".to_owned() };
        let long = store.claim_tasks(&TaskKind::ALL, "busy", 60.0, 1).unwrap();
        // However many machines lack the file, and however often they claim.
        for round in 0..=MOST_ATTEMPTS {
            let bare = format!("bare{round}");
            let claimed = store.claim_tasks(&TaskKind::ALL, &bare, 60.0, 9).unwrap();
            assert_eq!(claimed.len(), 1, "{bare}");
            assert_eq!(store.end_task(&bare, &claimed[0], &back).unwrap(), Finished::Waiting);
            assert!(store.claim_tasks(&TaskKind::ALL, &bare, 60.0, 9).unwrap().is_empty());
        }
        store.end_task("busy", &long[0], &valid("d1")).unwrap();
        let there = store.claim_tasks(&TaskKind::ALL, "busy", 60.0, 9).unwrap();
        assert_eq!(there[0].location, "there");
        assert_eq!(store.end_task("busy", &there[0], &valid("d2")).unwrap(), Finished::Recorded);
    }

    fn task_given_back_by_only_worker_is_retried_after_a_pause(fresh: &Fresh) {
        let mut store = fresh.open();
        store.post_tasks(&[task("a")]).unwrap();
        let back = TaskEnd::GivenBack { reason: "not now".to_owned() };
        let claimed = store.claim_tasks(&TaskKind::ALL, "w", 60.0, 9).unwrap();
        store.end_task("w", &claimed[0], &back).unwrap();
        assert!(store.claim_tasks(&TaskKind::ALL, "w", 60.0, 9).unwrap().is_empty());
        assert!(store.has_open_tasks(&TaskKind::ALL).unwrap());
        thread::sleep(Duration::from_secs_f64(pause_after(1) + 0.2));
        let again = store.claim_tasks(&TaskKind::ALL, "w", 60.0, 9).unwrap();
        assert_eq!((again.len(), again[0].attempts), (1, 2));
    }

    fn queue_status_has_states_rate_workers_and_leases(fresh: &Fresh) {
        let mut store = fresh.open();
        let tasks: Vec<_> = (0..6).map(|n| task(&format!("t{n}"))).collect();
        store.post_tasks(&tasks).unwrap();
        let claimed = store.claim_tasks(&TaskKind::ALL, "w1", 60.0, 3).unwrap();
        store.claim_tasks(&TaskKind::ALL, "w2", -1.0, 1).unwrap();
        for (at, task) in claimed.iter().take(2).enumerate() {
            store.end_task("w1", task, &valid(&format!("d{at}"))).unwrap();
        }
        let status = store.queue_status(60.0).unwrap();
        assert_eq!(status.count(TaskState::Pending), 2);
        assert_eq!((status.count(TaskState::Leased), status.count(TaskState::Done)), (2, 2));
        assert_eq!((status.open(), status.recent, status.expired), (4, 2, 1));
        assert_eq!(status.outcomes["valid"], 2);
        assert_eq!((status.workers["w1"].leased, status.workers["w1"].ended), (1, 2));
        assert_eq!((status.workers["w2"].leased, status.workers["w2"].ended), (1, 0));
        assert!(status.oldest_lease.is_some_and(|age| (0.0..30.0).contains(&age)));
        assert!(status.rate() > 0.0 && status.seconds_left().is_some());
    }
}

//! A posted job of any size, on any store.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::job_bundle::plan::Plan;
use runseal_store::job::index::index_paths;
use runseal_store::job::post::post_plan;
use runseal_store::store::Store;

/// Posts one job of `steps` reads from 100 files, which are made below `root`.
pub fn post_job(store: &mut dyn Store, root: &Path, steps: usize) {
    const FILES: usize = 100;
    let text = (0..100).fold(String::new(), |mut text, line| {
        writeln!(text, "line {line} of a source that is read in many slices").unwrap();
        text
    });
    fs::create_dir(root.join("tree")).unwrap();
    for file in 0..FILES {
        fs::write(root.join(format!("tree/{file}.txt")), &text).unwrap();
    }
    index_paths(store, root, &[root.join("tree")]).unwrap();
    let steps = (0..steps).map(|at| {
        let mut step = Value::object([("op", "READ_SECTION")]);
        let file = format!("tree/{}.txt", at % FILES);
        step.insert("refs", Value::object([("section_id", file.as_str())]));
        let line = at % 90;
        let slice = format!("lines[{line}:{}]", line + 1 + at % 9);
        step.insert("constraints", Value::object([("slice", slice.as_str())]));
        step
    });
    let mut plan = Value::object([("run_id", "bench"), ("idempotency_key", "1")]);
    plan.insert("steps", Value::array(steps));
    let bytes = canonical_bytes(&plan, Dialect::Job).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    post_plan(store, &Plan::parse(document.root()).unwrap()).unwrap();
}

//! Job bundles of any size.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use runseal_core::canon::{Dialect, Members, Value, canonical_bytes, canonical_digest};
use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::formats::job_bundle::hashes::{compute_root_hash, derive_artifact_id};

/// Writes a valid bundle of `count` artifacts with `size` bytes each, and a file `sums` for
/// `sha256sum -c` beside it.
pub fn make_bundle(folder: &Path, count: usize, size: usize) {
    fs::create_dir_all(folder.join("artifacts")).unwrap();
    let slice = "lines[0:100]";
    let mut artifacts = BTreeMap::new();
    let mut steps = Vec::new();
    let mut refs = Vec::new();
    for at in 0..count {
        let reference = Digest::of(format!("section {at}").as_bytes()).to_string();
        let id = derive_artifact_id(&reference, slice);
        let sha256 = write_text(&folder.join(format!("artifacts/{id}.txt")), at, size);
        let mut artifact = Value::object([
            ("artifact_id", id.as_str()),
            ("kind", "SECTION_SLICE"),
            ("ref", reference.as_str()),
            ("slice", slice),
            ("path", format!("artifacts/{id}.txt").as_str()),
            ("sha256", sha256.to_string().as_str()),
        ]);
        artifact.insert("bytes", size);
        artifacts.insert(id, (artifact, sha256));
        let mut step = Value::object([
            ("step_id", format!("step_{at:016x}").as_str()),
            ("op", "READ_SECTION"),
        ]);
        step.insert("ordinal", at);
        step.insert("refs", Value::object([("section_id", reference.as_str())]));
        step.insert("constraints", Value::object([("slice", slice)]));
        step.insert("expected_outputs", Value::Object(Members::new()));
        steps.push(step);
        refs.push(reference);
    }
    refs.sort();
    let root = compute_root_hash(
        artifacts
            .iter()
            .map(|(id, (_, sha256))| (ArtifactKey::parse(id.as_bytes()).unwrap(), *sha256)),
    );
    let sums = artifacts
        .iter()
        .fold(String::new(), |mut sums, (id, (_, sha256))| {
            writeln!(sums, "{sha256}  artifacts/{id}.txt").unwrap();
            sums
        });
    let mut plan = Value::object([("run_id", "bench")]);
    plan.insert("steps", Value::Array(steps.clone()));
    let plan_hash = canonical_digest(&plan, Dialect::Job).unwrap().to_string();
    let mut manifest = Value::object([
        ("bundle_version", "5.0.0"),
        ("bundle_id", ""),
        ("run_id", "bench"),
        ("job_id", "job_bench"),
        ("message_id", "msg_bench"),
        ("plan_hash", plan_hash.as_str()),
    ]);
    let mut inputs = Value::object([("symbols", Value::Array(Vec::new()))]);
    inputs.insert("files", Value::array(refs.iter().map(String::as_str)));
    inputs.insert("slices", Value::array([slice]));
    manifest.insert("inputs", inputs);
    manifest.insert("steps", Value::Array(steps));
    manifest.insert(
        "artifacts",
        Value::Array(artifacts.into_values().map(|(value, _)| value).collect()),
    );
    manifest.insert("hashes", Value::object([("root_hash", "")]));
    manifest.insert("provenance", Value::Object(Members::new()));
    let bundle_id = canonical_digest(&manifest, Dialect::Job)
        .unwrap()
        .to_string();
    manifest.insert("bundle_id", bundle_id.as_str());
    manifest.insert(
        "hashes",
        Value::object([("root_hash", root.to_string().as_str())]),
    );
    let mut bytes = canonical_bytes(&manifest, Dialect::Job).unwrap();
    bytes.push(b'\n');
    fs::write(folder.join("bundle.json"), bytes).unwrap();
    fs::write(folder.join("sums"), sums).unwrap();
}

/// Lines of text that differ between artifacts, a part of them outside ASCII.
fn write_text(path: &Path, number: usize, size: usize) -> Digest {
    let mut piece = String::new();
    while piece.len() < size.min(1 << 20) {
        writeln!(
            piece,
            "artifact {number} line at {} — ґрунт, 桜, ring=17 h=12.5m",
            piece.len()
        )
        .unwrap();
    }
    let mut hasher = Hasher::new();
    let mut file = fs::File::create(path).unwrap();
    let mut left = size - 1;
    while left > 0 {
        let mut end = piece.len().min(left);
        while !piece.is_char_boundary(end) {
            end -= 1;
        }
        // What no whole character fits into any more is filled up.
        let text = if end == 0 {
            &"    "[..left]
        } else {
            &piece[..end]
        };
        hasher.update(text.as_bytes());
        file.write_all(text.as_bytes()).unwrap();
        left -= text.len();
    }
    hasher.update(b"\n");
    file.write_all(b"\n").unwrap();
    hasher.finish()
}

//! The last step of forging a run bundle: correcting every hash and list of a bundle whose documents were changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::index::write_index;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACT_INDEX, CONTRACTS, MANIFEST, RUN_INPUT, RUN_META, RUN_OUTPUT, SUMS,
};
use runseal_core::formats::run_bundle::outputs::{HashScope, compute_outputs_hash};
use runseal_core::formats::run_bundle::sums::write_sums;

use crate::folders::files_of;

/// Computes every hash of the bundle in `folder` again and writes both lists. `roles` are roles by path that the
/// index states contrary to its rule.
pub fn reseal(folder: &Path, roles: &BTreeMap<&str, &str>) {
    let digest = |name: &str| Digest::of(&fs::read(folder.join(name)).unwrap()).to_string();
    let edit = |name: &str, edit: &dyn Fn(&mut Value)| {
        let mut value = read_json(&folder.join(name));
        edit(&mut value);
        fs::write(
            folder.join(name),
            canonical_bytes(&value, Dialect::Jcs).unwrap(),
        )
        .unwrap();
    };
    edit(RUN_OUTPUT, &|output| {
        output.insert("inputs_hash", digest(RUN_INPUT));
        let manifest = fs::read(folder.join(MANIFEST)).unwrap();
        let manifest = parse_document(&manifest, &ReadOptions::default()).unwrap();
        let scope = HashScope::of_manifest(manifest.root());
        let hash = compute_outputs_hash(&*output, scope).unwrap().unwrap();
        output.insert("outputs_hash", hash.to_string());
    });
    edit(RUN_META, &|meta| {
        let hashes = CONTRACTS.map(|name| (name, digest(name)));
        let hashes = hashes.each_ref().map(|(name, hash)| (*name, hash.as_str()));
        meta.insert("contracts_hashes", Value::object(hashes));
    });
    let listed = |without: &[&str]| -> Vec<(Box<str>, Digest)> {
        let files = files_of(folder).into_iter();
        let mut files: Vec<(Box<str>, Digest)> = files
            .map(|(path, bytes)| {
                let path = path.strip_prefix(folder).unwrap_or(&path);
                (path.to_str().unwrap().into(), Digest::of(&bytes))
            })
            .filter(|(path, _): &(Box<str>, Digest)| !without.contains(&&**path))
            .collect();
        files.sort();
        files
    };
    let mut index = Vec::new();
    write_index(&listed(&[ARTIFACT_INDEX, SUMS]), &mut index).unwrap();
    let mut index = String::from_utf8(index).unwrap();
    for (path, role) in roles {
        let (before, rest) = index
            .split_once(&format!("\"relative_path\":\"{path}\",\"role\":\""))
            .unwrap();
        let (_, after) = rest.split_once('"').unwrap();
        index = format!("{before}\"relative_path\":\"{path}\",\"role\":\"{role}\"{after}");
    }
    fs::write(folder.join(ARTIFACT_INDEX), index).unwrap();
    fs::write(folder.join(SUMS), write_sums(&listed(&[SUMS]))).unwrap();
}

/// Reads a JSON file.
pub fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    document.root().to_value()
}

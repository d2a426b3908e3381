//! Makes the bundle of a case by its recipe.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::conformance::Json;

/// Carries out a case's recipe. Returns the path to verify.
pub fn prepare(case: &Json, bundles: &Path, scratch: &Path) -> PathBuf {
    let name = case["name"].as_str().unwrap();
    let Some(recipe) = case.get("recipe") else {
        return bundles.join(name);
    };
    let bundle = match recipe.get("place_at").and_then(Json::as_str) {
        Some(place) => PathBuf::from(place),
        None => scratch.join("bundle"),
    };
    let _ = fs::remove_dir_all(&bundle);
    fs::create_dir_all(&bundle).unwrap();
    if let Some(base) = recipe["base"].as_str() {
        copy_folder(&bundles.join(base), &bundle);
    }
    for action in recipe
        .get("do")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let at = |key: &str| {
            action
                .get(key)
                .and_then(Json::as_str)
                .map(|path| bundle.join(path))
        };
        if let Some(path) = at("write") {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let bytes = match action.get("hex").and_then(Json::as_str) {
                Some(hex) => crate::conformance::decode_hex(hex),
                None => action["text"].as_str().unwrap().as_bytes().to_vec(),
            };
            fs::write(path, bytes).unwrap();
        } else if let Some(path) = at("delete") {
            if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
            .unwrap();
        } else if let Some(path) = at("mkdir") {
            fs::create_dir_all(path).unwrap();
        } else if let Some(path) = at("rename") {
            let to = at("to").unwrap();
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::rename(path, to).unwrap();
        } else if let Some(path) = at("symlink") {
            symlink(action["to"].as_str().unwrap(), path).unwrap();
        } else if let Some(path) = at("repeat") {
            let times = usize::try_from(action["times"].as_u64().unwrap()).unwrap();
            fs::write(path, action["text"].as_str().unwrap().repeat(times)).unwrap();
        } else {
            panic!("{name}: unknown action {action}");
        }
    }
    match recipe.get("target").and_then(Json::as_str) {
        Some(target) => bundle.join(target),
        None => bundle,
    }
}

/// Copies a folder. The conformance data is read-only; the copy must not be.
fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

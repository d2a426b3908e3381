//! Folders of tests: listing them, copying them, making them writable.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Every file below a folder, with its bytes.
pub fn files_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

/// Makes a copied bundle writable, so that it can be forged.
pub fn open_up(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            open_up(&path);
        } else {
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}

/// Copies a folder; the copy is writable.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Copies a program, to be executed from elsewhere. Another process does so: a test that forks meanwhile
/// would hold the copy open for writing, and nobody could execute it.
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = std::process::Command::new("cp")
        .args([from.as_ref(), to.as_ref()])
        .status();
    assert!(copied.unwrap().success());
}

/// Copies the test program that calls this.
pub fn copy_test_program(to: &Path) {
    copy_program(std::env::current_exe().unwrap(), to);
}

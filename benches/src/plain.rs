//! What there is to beat: files read and hashed, and nothing else.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use sha2::{Digest, Sha256};

/// Every file below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

/// Reads and hashes every file on as many threads.
pub fn hash_files(names: &[PathBuf], threads: usize) {
    let shares = Mutex::new(names.chunks(64));
    let work = || {
        let mut buffer = vec![0; 256 << 10];
        loop {
            let Some(share) = shares.lock().unwrap().next() else {
                return;
            };
            share.iter().for_each(|name| hash_file(name, &mut buffer));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

/// Reads and hashes one file, in turns.
pub fn hash_file(name: &Path, buffer: &mut [u8]) {
    let mut file = File::open(name).unwrap();
    let mut hasher = Sha256::new();
    loop {
        let count = file.read(buffer).unwrap();
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
    }
    std::hint::black_box(hasher.finalize());
}

/// Hashes `block` again and again up to `size` bytes; nothing is read.
pub fn hash_memory(block: &[u8], size: u64) {
    let mut hasher = Sha256::new();
    for _ in 0..size / block.len() as u64 {
        hasher.update(std::hint::black_box(block));
    }
    std::hint::black_box(hasher.finalize());
}

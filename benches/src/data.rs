//! Data that several benchmarks measure on: sealed runs, and files to seal.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{binary, succeed};

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

/// What seals a run of this name into `folder/out`, with the artifacts of another folder.
pub fn seal_command(folder: &Path, name: &str, artifacts: Option<&Path>) -> Command {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let output = folder.join("output.json");
    fs::write(&output, OUTPUT).unwrap();
    let mut command = Command::new(binary());
    command
        .arg("seal")
        .args([&engine, &engine.join("input.json"), &output])
        .args(["--run-id", name, "--out"])
        .arg(folder.join("out"));
    if let Some(artifacts) = artifacts {
        command.arg("--artifacts").arg(artifacts);
    }
    command
}

/// Seals a run; gives the bundle.
pub fn seal(folder: &Path, name: &str, artifacts: Option<&Path>) -> PathBuf {
    succeed(&mut seal_command(folder, name, artifacts));
    folder.join("out").join(name)
}

/// A mebibyte that does not pack to nothing.
pub fn block() -> Vec<u8> {
    (0..1 << 20)
        .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// Makes `folder` with one file `large.bin` of `size` bytes, a multiple of a mebibyte.
pub fn write_large(folder: &Path, size: u64) {
    fs::create_dir(folder).unwrap();
    let mut file = File::create(folder.join("large.bin")).unwrap();
    let block = block();
    for _ in 0..size >> 20 {
        file.write_all(&block).unwrap();
    }
}

/// Makes `folder` with one file `large.bin` of `size` bytes in which nothing repeats, so that no
/// server keeps two parts of it as one. The same bytes every time.
pub fn write_varied(folder: &Path, size: u64) -> PathBuf {
    fs::create_dir(folder).unwrap();
    let path = folder.join("large.bin");
    let mut file = File::create(&path).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut buffer = vec![0_u8; 1 << 20];
    let mut left = size;
    while left > 0 {
        for word in buffer.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let count = left.min(buffer.len() as u64) as usize;
        file.write_all(&buffer[..count]).unwrap();
        left -= count as u64;
    }
    path
}

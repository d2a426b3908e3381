//! The place of the conformance data, and how its lines are read.

use std::fs;
use std::path::{Path, PathBuf};

/// JSON of the test data, deliberately read with a parser that is not ours.
pub type Json = serde_json::Value;

#[allow(dead_code, reason = "not every test needs it")]
/// Returns the folder with the data of one part, if it is available.
pub fn data_folder(part: &str) -> Option<PathBuf> {
    runseal_testkit::conformance().map(|folder| folder.join(part))
}

/// Reads one JSON value per line.
pub fn read_lines(path: &Path) -> Vec<Json> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Decodes hex.
#[allow(dead_code, reason = "not every test needs it")]
pub fn decode_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

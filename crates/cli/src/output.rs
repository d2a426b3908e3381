//! Where a result goes: into a file, which appears whole or not at all, or to standard output.

use std::path::Path;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_fs::atomic;

use crate::error::{CliError, Named};
use crate::ui;

/// The file that an option names; `None` for standard output, if nothing or `-` was given.
pub fn file_named(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| *path != Path::new("-"))
}

/// Writes `bytes` to the file that an option names, or prints them.
pub fn put_bytes(bytes: &[u8], output: Option<&Path>) -> Result<(), CliError> {
    match file_named(output) {
        Some(path) => Ok(atomic::write_bytes(path, bytes)?),
        None => ui::print_bytes(bytes),
    }
}

/// Writes canonical JSON and one LF to the file that an option names, or prints it.
pub fn put_json(value: &Value, output: Option<&Path>) -> Result<(), CliError> {
    let Some(path) = file_named(output) else {
        return ui::print_document(value, Dialect::Kernel);
    };
    let mut bytes = canonical_bytes(value, Dialect::Kernel).named("the result")?;
    bytes.push(b'\n');
    Ok(atomic::write_bytes(path, &bytes)?)
}

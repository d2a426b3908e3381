//! Saying things: machine output to standard output, everything for people to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use runseal_core::canon::{Dialect, Value, canonical_bytes};

use crate::error::CliError;

/// Writes `bytes` to standard output. A reader that went away is no error: it has what it wanted.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    done(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes a line of text to standard output.
pub fn print_line(text: &str) -> Result<(), CliError> {
    print_bytes(format!("{text}\n").as_bytes())
}

/// Writes a value as canonical JSON and one LF.
pub fn print_json(value: &Value, dialect: Dialect) -> Result<(), CliError> {
    let mut bytes = canonical_bytes(value, dialect)
        .map_err(|error| CliError::no_form(&error, "standard output"))?;
    bytes.push(b'\n');
    print_bytes(&bytes)
}

/// Whether the person asked for silence; set once, before a command runs.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Remembers `--quiet`.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether progress may be shown: a person looks at standard error and did not ask for silence.
pub fn shows_progress() -> bool {
    !QUIET.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// Tells a person something on standard error. Where even that is closed, nobody listens.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// Tells a person something that changes no verdict; nothing under `--quiet`.
pub fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        tell(&format!("note: {text}"));
    }
}

/// Tells a person what went wrong; under `--quiet` without the hint.
pub fn tell_error(error: &CliError) {
    let text = error.to_string();
    tell(match QUIET.load(Ordering::Relaxed) {
        true => text.lines().next().unwrap_or_default(),
        false => &text,
    });
}

/// Takes a closed pipe for success.
pub fn done(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::output(&error)),
        _ => Ok(()),
    }
}

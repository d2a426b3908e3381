//! Output: machine-readable results to standard output, everything for people to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::hidden::{answer_text, one_line, reveal, reveal_but_colours};
use runseal_report::terminal::Screen;

use crate::error::{CliError, Named};

/// Writes `bytes` to standard output. A closed pipe is not an error: its reader has what it wanted.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    done(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes text for people to standard output, with everything hidden in it written out.
pub fn print_text(text: &str) -> Result<(), CliError> {
    let shown = if screen().has_colour {
        reveal_but_colours(text)
    } else {
        reveal(text)
    };
    print_bytes(shown.as_bytes())
}

/// Writes a line of text to standard output: unchanged, or on a terminal with hidden characters written
/// out.
pub fn print_line(text: &str) -> Result<(), CliError> {
    let line = format!("{text}\n");
    if io::stdout().is_terminal() {
        print_text(&line)
    } else {
        print_bytes(line.as_bytes())
    }
}

/// The width and colour support of standard output, for layouts meant for people.
pub fn screen() -> Screen {
    let is_terminal = io::stdout().is_terminal();
    Screen {
        width: is_terminal.then(terminal_width),
        has_colour: wants_colour(is_terminal),
        is_quiet: is_quiet(),
    }
}

/// Whether colours are shown: on a terminal that has them, unless the variables that people set for all
/// their programs say otherwise.
fn wants_colour(is_terminal: bool) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let is_forced =
        std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    !is_set("NO_COLOR") && (is_forced || is_terminal && !is_dumb)
}

/// The terminal's width in columns; 80 if it is unknown or too narrow to use.
fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col));
    size.ok().filter(|columns| *columns >= 40).unwrap_or(80)
}

/// Prints an answer for which no format was asked: as indented JSON on a terminal, else as one
/// canonical line.
pub fn print_json(value: &Value, dialect: Dialect) -> Result<(), CliError> {
    if io::stdout().is_terminal() {
        print_laid_out(value, dialect)
    } else {
        print_asked_json(value, dialect)
    }
}

/// Prints a document: as indented JSON on a terminal, else as its canonical bytes and one LF, which can be stored
/// and hashed.
pub fn print_document(value: &Value, dialect: Dialect) -> Result<(), CliError> {
    if io::stdout().is_terminal() {
        return print_laid_out(value, dialect);
    }
    let mut bytes = canonical_bytes(value, dialect).named("standard output")?;
    bytes.push(b'\n');
    print_bytes(&bytes)
}

fn print_laid_out(value: &Value, dialect: Dialect) -> Result<(), CliError> {
    let mut text = lay_out(value, dialect, 0)?;
    text.push('\n');
    print_bytes(text.as_bytes())
}

/// JSON with one member per line.
fn lay_out(value: &Value, dialect: Dialect, depth: usize) -> Result<String, CliError> {
    let (open, close, parts) = match value {
        Value::Object(members) if !members.is_empty() => {
            let mut parts = Vec::new();
            for (name, member) in members {
                let name = leaf(&Value::from(name.to_lossy()), dialect)?;
                parts.push(format!("{name}: {}", lay_out(member, dialect, depth + 1)?));
            }
            ("{", "}", parts)
        }
        Value::Array(elements) if !elements.is_empty() => {
            let laid = elements
                .iter()
                .map(|element| lay_out(element, dialect, depth + 1));
            ("[", "]", laid.collect::<Result<Vec<_>, _>>()?)
        }
        other => return leaf(other, dialect),
    };
    let indent = "  ".repeat(depth + 1);
    let lines: Vec<_> = parts.iter().map(|part| format!("{indent}{part}")).collect();
    Ok(format!(
        "{open}\n{}\n{}{close}",
        lines.join(",\n"),
        "  ".repeat(depth)
    ))
}

fn leaf(value: &Value, dialect: Dialect) -> Result<String, CliError> {
    answer_text(value, dialect).named("standard output")
}

/// Prints an answer as canonical JSON and one LF. Hidden characters are escaped (`\u202e`): an answer repeats what
/// others wrote, and may be shown on a terminal by whatever is behind the pipe.
pub fn print_asked_json(value: &Value, dialect: Dialect) -> Result<(), CliError> {
    let mut text = answer_text(value, dialect).named("standard output")?;
    text.push('\n');
    print_bytes(text.as_bytes())
}

/// Whether `--quiet` was given; set once, before a command runs.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Remembers `--quiet`.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether progress may be shown: standard error is a terminal, and `--quiet` was not given.
pub fn shows_progress() -> bool {
    !QUIET.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// Writes lines for people to standard error, with hidden characters written out; without hints under
/// `--quiet`. A failure to write is ignored.
pub fn tell(text: &str) {
    let text = reveal(text.trim_end_matches('\n'));
    let mut error = io::stderr().lock();
    if !is_quiet() {
        let _ = writeln!(error, "{text}");
        return;
    }
    for line in text.lines().filter(|line| !line.starts_with("hint: ")) {
        let _ = writeln!(error, "{line}");
    }
}

/// Writes one line for people to standard error: line breaks in it are escaped.
pub fn tell_line(text: &str) {
    tell(&one_line(text));
}

/// Whether `--quiet` was given.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a line that changes no verdict to standard error; nothing under `--quiet`.
pub fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        tell_line(&format!("note: {text}"));
    }
}

/// Reports an error on standard error; under `--quiet` without its hint.
pub fn tell_error(error: &CliError) {
    tell(&error.to_string());
}

/// Treats a closed pipe as success.
pub fn done(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::output(&error)),
        _ => Ok(()),
    }
}

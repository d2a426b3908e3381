//! What the standard streams of a recorded command lead to: to a terminal where ours do, else to pipes; and where
//! what it prints is shown.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_runs::record::run::keep_input;
use runseal_runs::record::terminal::TERMINAL_VARIABLES;
use runseal_sandbox::{OnOutput, PipedInput, Stdin, Stream, Terminal, TerminalSize};

use crate::error::CliError;

/// The streams of a command.
pub struct CommandStreams {
    /// Standard input.
    pub stdin: Stdin,
    /// Its terminal, if any of our streams is one.
    pub terminal: Option<Terminal>,
    /// The variables that describe that terminal.
    pub variables: BTreeMap<String, String>,
}

impl CommandStreams {
    /// Nothing to read, and no terminal.
    pub fn none() -> Self {
        Self {
            stdin: Stdin::Null,
            terminal: None,
            variables: BTreeMap::new(),
        }
    }

    /// Streams like ours. `stdin` names another standard input; `-` is ours. At most so many bytes of it are passed
    /// on.
    pub fn like_ours(stdin: Option<&Path>, most: u64) -> Result<Self, CliError> {
        let given = stdin.filter(|path| *path != Path::new("-"));
        let terminal = own_terminal(given.is_some()).map_err(|error| unreadable(&error))?;
        let variable = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
        let variables = terminal.iter().flat_map(|_| TERMINAL_VARIABLES);
        let variables = variables.filter_map(variable).collect();
        let stdin = match given {
            Some(path) => {
                let bytes = Input::from_argument(Some(path)).read(most)?;
                Stdin::Bytes(bytes.to_vec())
            }
            None if io::stdin().is_terminal() => Stdin::Null,
            None => own_stdin(most)?,
        };
        Ok(Self {
            stdin,
            terminal,
            variables,
        })
    }
}

/// A terminal for the command on each stream that is one of ours. With another standard input than ours, that one is
/// none.
fn own_terminal(has_other_stdin: bool) -> io::Result<Option<Terminal>> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let is_on = [
        stdin.is_terminal() && !has_other_stdin,
        stdout.is_terminal(),
        stderr.is_terminal(),
    ];
    if is_on == [false; 3] {
        return Ok(None);
    }
    // Also if standard input is something else, programs read keys, as `less` does.
    let own = match stdin.is_terminal() {
        true => Some(stdin.as_fd().try_clone_to_owned()?),
        false => {
            let opened = File::options().read(true).write(true).open("/dev/tty");
            opened.ok().map(OwnedFd::from)
        }
    };
    let size = |terminal: &dyn AsFd| {
        let size = rustix::termios::tcgetwinsize(terminal).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then_some(TerminalSize {
            columns: size.ws_col,
            rows: size.ws_row,
        })
    };
    let sizes = [size(&stdout), size(&stderr), size(&stdin)];
    Ok(Some(Terminal {
        stdin: is_on[0],
        stdout: is_on[1],
        stderr: is_on[2],
        size: sizes.into_iter().flatten().next().unwrap_or_default(),
        own: own.map(Arc::new),
    }))
}

/// Our standard input, which is not a terminal.
fn own_stdin(most: u64) -> Result<Stdin, CliError> {
    let opened = || -> io::Result<(OwnedFd, std::fs::Metadata)> {
        let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let metadata = stdin.metadata()?;
        Ok((stdin.into(), metadata))
    };
    let (stdin, metadata) = opened().map_err(|error| unreadable(&error))?;
    let kind = metadata.file_type();
    let null = std::fs::metadata("/dev/null").map(|null| null.rdev()).ok();
    if kind.is_char_device() && Some(metadata.rdev()) == null {
        return Ok(Stdin::Null);
    }
    let kept = keep_input().map_err(|error| {
        CliError::new(Outcome::Unreadable, "TMPDIR", error.to_string())
            .hint("set TMPDIR to a folder that you may write to")
    })?;
    if !kind.is_file() {
        return Ok(Stdin::Pipe(PipedInput {
            from: Arc::new(stdin),
            kept: Some(Arc::new(kept)),
            most,
        }));
    }
    let copied = io::copy(
        &mut File::from(stdin).take(most.saturating_add(1)),
        &mut &kept,
    );
    if copied.map_err(|error| unreadable(&error))? > most {
        let message = format!("standard input has more than {most} bytes");
        return Err(CliError::new(Outcome::Unreadable, "LIMIT", message).hint(
            "`--stdin-bytes` lets more be read and sealed; `--input FILE` names a file as an input",
        ));
    }
    Ok(Stdin::File(Arc::new(kept)))
}

fn unreadable(error: &io::Error) -> CliError {
    let message = format!("standard input cannot be read: {error}");
    CliError::new(Outcome::Unreadable, "STDIN", message)
}

/// Passes the command's output on as it arrives: each stream to the same stream, or both to
/// standard error if standard output is needed for the result. A closed reader does not end the
/// recording.
pub fn pass_on(on_stderr: bool, terminal: Option<&Terminal>) -> OnOutput {
    let own = terminal.and_then(|terminal| terminal.own.clone());
    let is_alone = !io::stdout().is_terminal() && !io::stderr().is_terminal();
    let own_alone = own.clone().filter(|_| is_alone);
    // A terminal whose keys are passed on makes no new lines of line ends.
    let is_raw = own.is_some();
    OnOutput::new(move |stream, bytes| {
        let to_stdout = !on_stderr
            && match stream {
                Stream::Stdout => true,
                Stream::Stderr => false,
                Stream::Terminal => io::stdout().is_terminal(),
            };
        if stream == Stream::Terminal
            && let Some(own) = &own_alone
        {
            let _ = rustix::io::write(own, bytes);
            return;
        }
        let is_shown_raw = |is_terminal: bool| is_raw && is_terminal && stream != Stream::Terminal;
        let _ = match to_stdout {
            true => {
                let mut out = io::stdout().lock();
                let is_shown_raw = is_shown_raw(out.is_terminal());
                write_lines(&mut out, bytes, is_shown_raw).and_then(|()| out.flush())
            }
            false => {
                let mut error = io::stderr().lock();
                let is_shown_raw = is_shown_raw(error.is_terminal());
                write_lines(&mut error, bytes, is_shown_raw)
            }
        };
    })
}

/// Writes bytes as they are, or with line ends that also go back to the first column.
fn write_lines(to: &mut impl Write, bytes: &[u8], has_returns: bool) -> io::Result<()> {
    if !has_returns {
        return to.write_all(bytes);
    }
    let mut with_returns = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if *byte == b'\n' {
            with_returns.push(b'\r');
        }
        with_returns.push(*byte);
    }
    to.write_all(&with_returns)
}

//! Runs this program as a person would, and shows each command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use runseal_core::canon::{Dialect, Node, ReadOptions, canonical_bytes, parse_document};

use crate::error::CliError;
use crate::ui;

/// The exit code and output of a command.
pub(super) struct CommandOutput {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl CommandOutput {
    /// A member of the printed JSON as text, by its dotted path; array elements by their index.
    pub(super) fn member(&self, path: &str) -> Option<String> {
        let document = parse_document(&self.stdout, &ReadOptions::default()).ok()?;
        let node = path
            .split('.')
            .try_fold(document.root(), |node: Node<'_>, name| {
                let element = || name.parse().ok().and_then(|at| node.item(at));
                node.get(name).or_else(element)
            })?;
        match node.as_str() {
            Some(text) => Some(text.into_owned()),
            None => {
                let bytes = canonical_bytes(node, Dialect::Kernel).ok()?;
                String::from_utf8(bytes).ok()
            }
        }
    }

    /// The first line of what the command wrote for people.
    pub(super) fn first_line(&self) -> &str {
        self.stderr.lines().next().unwrap_or_default()
    }

    /// Standard output as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs this program in one folder.
pub(super) struct Shell {
    program: PathBuf,
    folder: PathBuf,
}

impl Shell {
    pub(super) fn new(folder: &Path) -> Result<Self, CliError> {
        let program = std::env::current_exe()
            .map_err(|error| CliError::internal(format!("this program is not found: {error}")))?;
        Ok(Self {
            program,
            folder: folder.to_owned(),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Shows a command and runs it in the folder.
    pub(super) fn run(&self, line: &str) -> Result<CommandOutput, CliError> {
        ui::print_line(&format!("  $ runseal {line}"))?;
        let output = Command::new(&self.program)
            .args(line.split_whitespace())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| CliError::internal(format!("`{line}` could not be run: {error}")))?;
        Ok(CommandOutput {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Like `run`, but any exit code other than `code` is an error.
    pub(super) fn expect(&self, line: &str, code: i32) -> Result<CommandOutput, CliError> {
        let ran = self.run(line)?;
        if ran.code == Some(code) {
            return Ok(ran);
        }
        let ended = ran
            .code
            .map_or("a signal".to_owned(), |code| format!("exit {code}"));
        Err(CliError::internal(format!(
            "`runseal {line}` ended with {ended}, expected exit {code}: {}",
            ran.first_line()
        )))
    }
}

/// Prints an indented line below a command.
pub(super) fn say(text: &str) -> Result<(), CliError> {
    ui::print_line(&format!("    {text}"))
}

/// Prints a heading.
pub(super) fn heading(text: &str) -> Result<(), CliError> {
    ui::print_line(&format!("\n{text}"))
}

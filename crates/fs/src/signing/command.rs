//! Commands that sign or timestamp: bytes in on standard input, bytes out on standard output.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use runseal_trust::encoding::decode_base64;
use runseal_trust::keys::{PublicKey, SignError, Signer};
use thiserror::Error;

/// The most bytes that such a command may write.
const MAX_OUTPUT: u64 = 1 << 20;

/// Why a command produced no result.
#[derive(Debug, Error)]
pub enum CommandError {
    /// It could not be started, or communication with it failed.
    #[error("the command cannot be run")]
    Io(#[from] io::Error),
    /// It exited with a failure.
    #[error("the command failed ({0})")]
    Failed(std::process::ExitStatus),
    /// It wrote more than any signature or token has.
    #[error("the command wrote more than {MAX_OUTPUT} bytes")]
    TooLong,
}

/// Runs `command` in a shell with `input`; returns its output. Its standard error goes to the user,
/// so that it can ask for a touch or a PIN.
///
/// # Errors
/// When it cannot be run, fails, or writes too much.
pub fn run_filter(command: &str, input: &[u8]) -> Result<Vec<u8>, CommandError> {
    let mut child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take();
    let mut output = Vec::new();
    let read = thread::scope(|scope| -> io::Result<()> {
        thread::Builder::new().spawn_scoped(scope, move || {
            // A command may choose not to read all of its input.
            let _ = stdin.map(|mut stdin| stdin.write_all(input));
        })?;
        match child.stdout.take() {
            Some(stdout) => {
                let mut bounded = stdout.take(MAX_OUTPUT + 1);
                bounded.read_to_end(&mut output).map(|_| ())
            }
            None => Ok(()),
        }
    });
    if let Err(error) = read {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error.into());
    }
    if output.len() as u64 > MAX_OUTPUT {
        let _ = child.kill();
        let _ = child.wait();
        return Err(CommandError::TooLong);
    }
    let status = child.wait()?;
    if status.success() {
        Ok(output)
    } else {
        Err(CommandError::Failed(status))
    }
}

/// Signs through a command: for hardware keys and keys in the cloud.
#[derive(Debug)]
pub struct CommandSigner {
    command: String,
    key: PublicKey,
}

impl CommandSigner {
    /// The command that signs with `key`.
    pub fn new(command: String, key: PublicKey) -> Self {
        Self { command, key }
    }
}

impl Signer for CommandSigner {
    fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let output = run_filter(&self.command, message).map_err(|error| {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            SignError(format!("{error}{}", source.unwrap_or_default()))
        })?;
        // Raw, or as base64 text: whichever verifies.
        if self.key.verifies(message, &output) {
            return Ok(output);
        }
        std::str::from_utf8(&output)
            .ok()
            .and_then(|text| decode_base64(text.trim()))
            .filter(|signature| self.key.verifies(message, signature))
            .ok_or_else(|| {
                let fault =
                    "the command's output is not a signature by the given key over its input";
                SignError(fault.to_owned())
            })
    }
}

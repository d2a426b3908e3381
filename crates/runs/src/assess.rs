//! Asks an assessor: a command of the user that reads an intent and writes findings.
//!
//! It runs on the host with the user's own environment, because that is where keys and the network
//! are. Its answer is bounded in size and time; after a timeout it is killed with everything that
//! it started. The exchange is recorded as model I/O, so that it can be shown and replayed.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use runseal_core::canon::{Node, Value};
use runseal_core::digest::ContentHash;
use runseal_core::formats::model_io::MAX_RESPONSE_BYTES;
use rustix::process::{Pid, Signal, kill_process_group};

/// How often a running command is polled.
const PAUSE: Duration = Duration::from_millis(5);
/// The most bytes of the command's standard error that are passed on.
const MOST_STDERR: u64 = 4096;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AssessError {
    /// The command could not be started or read.
    #[error("the assessor could not be run: {0}")]
    NotRun(#[source] std::io::Error),
    /// It exited with a failure.
    #[error("the assessor failed ({status}){stderr}")]
    Failed {
        /// Its exit status.
        status: ExitStatus,
        /// What it wrote to standard error, if anything.
        stderr: String,
    },
    /// It did not finish in time.
    #[error("the assessor did not answer within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// It wrote more than a recording holds.
    #[error("the assessor's answer is longer than {MAX_RESPONSE_BYTES} bytes")]
    TooLong,
    /// Its answer is not text.
    #[error("the assessor's answer is not UTF-8")]
    NotText,
}

/// Runs `command` with `/bin/sh -c` and `prompt` on its standard input; returns its standard
/// output.
pub fn ask_assessor(
    command: &str,
    prompt: &str,
    patience: Duration,
) -> Result<String, AssessError> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(AssessError::NotRun)?;
    let (answer, stderr) = match attend(&mut child, prompt) {
        Ok(pipes) => pipes,
        Err(error) => {
            end_group(&mut child);
            return Err(AssessError::NotRun(error));
        }
    };
    let deadline = Instant::now() + patience;
    let status = match wait_until(&mut child, deadline) {
        Ok(Some(status)) => status,
        Ok(None) => {
            end_group(&mut child);
            return Err(AssessError::TimedOut(patience));
        }
        Err(error) => {
            end_group(&mut child);
            return Err(AssessError::NotRun(error));
        }
    };
    // A child of the command may keep the pipe open after the command has ended.
    let left = deadline
        .saturating_duration_since(Instant::now())
        .max(PAUSE);
    let answer = answer.recv_timeout(left);
    end_group(&mut child);
    if !status.success() {
        let stderr = stderr.recv_timeout(PAUSE).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr).trim().replace('\n', " ");
        let stderr = if stderr.is_empty() {
            stderr
        } else {
            format!(": {stderr}")
        };
        return Err(AssessError::Failed { status, stderr });
    }
    let answer = answer.map_err(|_| AssessError::TimedOut(patience))?;
    if answer.len() > MAX_RESPONSE_BYTES {
        return Err(AssessError::TooLong);
    }
    String::from_utf8(answer).map_err(|_| AssessError::NotText)
}

/// Writes the prompt and reads what comes back, all in the background.
///
/// # Errors
/// When the system refuses a thread.
fn attend(child: &mut Child, prompt: &str) -> std::io::Result<(Collected, Collected)> {
    if let Some(mut pipe) = child.stdin.take() {
        let prompt = prompt.to_owned();
        // A command may answer without reading the whole prompt.
        Builder::new().spawn(move || pipe.write_all(prompt.as_bytes()))?;
    }
    let answer = collect(child.stdout.take(), MAX_RESPONSE_BYTES as u64 + 1)?;
    let stderr = collect(child.stderr.take(), MOST_STDERR)?;
    Ok((answer, stderr))
}

/// What a pipe gave, once it has ended.
type Collected = mpsc::Receiver<Vec<u8>>;

/// Reads a pipe to its end in the background; keeps at most `most` bytes and drops the rest.
fn collect(pipe: Option<impl Read + Send + 'static>, most: u64) -> std::io::Result<Collected> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        Builder::new().spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        })?;
    }
    Ok(receiver)
}

fn wait_until(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills the command and its whole process group.
fn end_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// What an assessor was given, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What it read.
    pub prompt: String,
    /// What it wrote.
    pub answer: String,
}

/// The exchanges as a model recording.
pub fn record_exchanges(assessor: &str, exchanges: &[Exchange]) -> Value {
    let hash = |text: &str| Value::from(ContentHash::of(text.as_bytes()).to_string());
    let interactions = exchanges.iter().enumerate().map(|(at, exchange)| {
        Value::object([
            ("i", Value::from(at)),
            ("prompt_hash", hash(&exchange.prompt)),
            ("response_hash", hash(&exchange.answer)),
            ("response_content", Value::from(exchange.answer.as_str())),
        ])
    });
    Value::object([
        ("model_io_schema_version", Value::from("1.0.0")),
        ("adapter_id", Value::from("assessor")),
        ("model_id", Value::from(assessor)),
        ("mode", Value::from("record")),
        ("interactions", Value::array(interactions)),
    ])
}

/// The recorded answer to a prompt.
pub fn replay_exchange(recording: Node<'_>, prompt: &str) -> Option<String> {
    let wanted = ContentHash::of(prompt.as_bytes()).to_string();
    let interactions = recording.get("interactions")?;
    let found = interactions.items().find(|node| {
        node.get("prompt_hash")
            .and_then(|hash| hash.as_str().map(|hash| hash == wanted))
            .unwrap_or(false)
    })?;
    found
        .get("response_content")?
        .as_str()
        .map(|text| text.into_owned())
}

//! Recording: forwards lines in both directions and records them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use runseal_fs::threads::check_granted;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::attribution::Attribution;
use super::message::Message;
use crate::NetError;
use crate::limits::LARGEST_MESSAGE;
use crate::matching::Volatile;
use crate::recording::{
    Adapter, End, Finished, Finishing, Journal, Note, Notes, Recorder, RequestNote, Session,
    bodies_path, finish_recording, journal_path,
};
use crate::redact::{BodyKind, RedactionRules, Redactor};

/// How long a server may take to exit after its input was closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// How to record a session on standard input and output.
#[derive(Debug, Clone)]
pub struct StdioOptions {
    /// The recording to make.
    pub recording: PathBuf,
    /// The server's program and its arguments.
    pub command: Vec<OsString>,
    /// Members of parameters that matching ignores.
    pub volatile: Volatile,
    /// The user's own patterns for secrets.
    pub rules: RedactionRules,
    /// Values known to be secret: kind and value.
    pub secrets: Vec<(String, String)>,
}

/// Runs the server between this process's standard input and output until either side ends, and
/// writes the recording.
pub fn record(options: &StdioOptions) -> Result<Finished, NetError> {
    let system = |error: std::io::Error| NetError::System(error.to_string());
    let output = &options.recording;
    if output.exists() || bodies_path(output).exists() {
        return Err(NetError::Exists {
            path: output.clone(),
        });
    }
    let redactor = Redactor::new(options.rules.clone())
        .ok_or_else(|| NetError::System("no random bytes".to_owned()))?;
    for (kind, value) in &options.secrets {
        redactor.learn(kind, value.as_bytes());
    }
    let redactor = Arc::new(redactor);
    check_granted().map_err(system)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(system)?;
    let child = {
        let _guard = runtime.enter();
        start(&options.command)?
    };
    let session = Session {
        adapter: Adapter::McpStdio,
        volatile: options.volatile.clone(),
        parent: None,
    };
    let journal = Journal::create(&journal_path(output), &session)?;
    let recorder = Recorder::start(journal, Arc::clone(&redactor))?;
    let notes = recorder.notes();
    runtime.block_on(run_session(child, notes))?;
    // A read of standard input may still be blocked; do not wait for it.
    runtime.shutdown_background();
    recorder.finish()?;
    finish_recording(Finishing {
        journal: &journal_path(output),
        output,
        redactor: Some(&redactor),
    })
}

fn start(command: &[OsString]) -> Result<Child, NetError> {
    let [program, arguments @ ..] = command else {
        return Err(NetError::System("no server was named".to_owned()));
    };
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| NetError::Server {
            program: program.to_string_lossy().into_owned(),
            source,
        })
}

/// What both directions share.
struct Conversation {
    attribution: Mutex<Attribution>,
    notes: Notes,
}

async fn run_session(mut child: Child, notes: Notes) -> Result<(), NetError> {
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(NetError::System("the server has no pipes".to_owned()));
    };
    let conversation = Arc::new(Conversation {
        attribution: Mutex::default(),
        notes,
    });
    let ours = Arc::clone(&conversation);
    let upward = tokio::spawn(async move {
        let mut to_server = to_server;
        let mut input = BufReader::new(tokio::io::stdin());
        while let Some(line) = read_line(&mut input).await {
            ours.note_client(&line).await;
            if to_server.write_all(&line).await.is_err() || to_server.flush().await.is_err() {
                break;
            }
        }
        // Dropping the pipe closes the server's input.
    });
    let theirs = Arc::clone(&conversation);
    let downward = tokio::spawn(async move {
        let mut output = tokio::io::stdout();
        let mut from_server = BufReader::new(from_server);
        let mut answered = BTreeSet::new();
        while let Some(line) = read_line(&mut from_server).await {
            answered.extend(theirs.note_server(&line).await);
            if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
                break;
            }
        }
        answered
    });
    let interrupted = tokio::spawn(async {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut one), Ok(mut other)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = one.recv() => {}
            _ = other.recv() => {}
        }
    });
    let abort = upward.abort_handle();
    tokio::pin!(downward);
    let mut answered = None;
    tokio::select! {
        _ = upward => {}
        ended = &mut downward => {
            answered = ended.ok();
            conversation.note_failure(&mut child).await;
        }
        _ = interrupted => {}
    }
    abort.abort();
    if answered.is_none() {
        // The server has received everything; give it a moment to send the rest.
        answered = match tokio::time::timeout(PATIENCE, &mut downward).await {
            Ok(ended) => ended.ok(),
            Err(_) => {
                downward.abort();
                None
            }
        };
    }
    let _ = child.start_kill();
    let _ = child.wait().await;
    conversation.note_ends(&answered.unwrap_or_default()).await;
    Ok(())
}

/// Reads one line including its end; returns `None` at the end of input.
pub(super) async fn read_line(
    input: &mut (impl AsyncRead + Unpin + AsyncBufReadExt),
) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let read = input
        .take(LARGEST_MESSAGE as u64)
        .read_until(b'\n', &mut line)
        .await;
    match read {
        Ok(count) if count > 0 => Some(line),
        _ => None,
    }
}

impl Conversation {
    fn lock(&self) -> std::sync::MutexGuard<'_, Attribution> {
        self.attribution
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records how the server exited if it failed while its client was still there.
    async fn note_failure(&self, child: &mut Child) {
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
        if let Ok(Ok(status)) = ended
            && !status.success()
        {
            let gap = format!("the server left before its client did: {status}");
            let _ = self.notes.send(Note::Gap(gap)).await;
        }
    }

    async fn note_client(&self, line: &[u8]) {
        let (message, _) = Message::parse(line);
        let x = self.lock().client(&message);
        self.begin(x, message.method(), line.trim_ascii()).await;
    }

    async fn begin(&self, x: u64, method: &str, body: &[u8]) {
        let request = Box::new(RequestNote {
            method: method.to_owned(),
            path: String::new(),
            query: None,
            headers: Vec::new(),
            body: Bytes::copy_from_slice(body),
        });
        let head = Note::Head {
            x,
            status: None,
            headers: Vec::new(),
            kind: BodyKind::Lines,
        };
        // If the recorder has stopped, its own error is reported at the end.
        let _ = self.notes.send(Note::Request { x, request }).await;
        let _ = self.notes.send(head).await;
    }

    /// Records a line of the server and waits until it is written; returns the request that it
    /// answers.
    async fn note_server(&self, line: &[u8]) -> Option<u64> {
        let (message, _) = Message::parse(line);
        let (cause, answered, after) = {
            let mut attribution = self.lock();
            let (cause, answered) = attribution.server(&message);
            (cause, answered, attribution.said())
        };
        let Some(x) = cause else {
            let gap = "the server spoke before the client; what it said is not in the recording";
            let _ = self.notes.send(Note::Gap(gap.to_owned())).await;
            return None;
        };
        let data = Note::Data {
            x,
            bytes: Bytes::copy_from_slice(line),
            after,
        };
        let _ = self.notes.send(data).await;
        if let Some(answered) = answered {
            let (written, is_written) = oneshot::channel();
            let end = Note::End {
                x: answered,
                end: End::Complete,
                latency_ms: None,
                written: Some(written),
            };
            let _ = self.notes.send(end).await;
            let _ = is_written.await;
        }
        answered
    }

    /// Records how all open interactions ended.
    async fn note_ends(&self, answered: &BTreeSet<u64>) {
        let (said, unanswered) = {
            let attribution = self.lock();
            (attribution.said(), attribution.unanswered())
        };
        for x in (0..said).filter(|x| !answered.contains(x)) {
            let end = if unanswered.contains(&x) {
                End::Unfinished
            } else {
                End::Complete
            };
            let note = Note::End {
                x,
                end,
                latency_ms: None,
                written: None,
            };
            let _ = self.notes.send(note).await;
        }
    }
}

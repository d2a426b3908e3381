//! The proxy sits between a client and an API, and records or answers from a recording.
//!
//! [`Proxy::listen`] serves on a given listener. If that was created in another network namespace,
//! processes there can reach the proxy and nothing else. Bytes are forwarded as they
//! arrive; everything that is recorded goes through `recording::Recorder`.

mod allowed;
mod answer;
mod breaking;
mod forward;
mod gate;
mod headers;
mod intake;
mod keys;
mod mask;
mod passing;
mod peer;
mod pump;
mod replay;
mod rpc;
mod server;
mod upstream;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use runseal_fs::models::Admission;
use runseal_fs::threads::check_granted;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use keys::{Keys, STAND_IN};
pub(crate) use replay::{Library, Selection};
pub(crate) use rpc::Renaming;
pub use upstream::Upstream;

use crate::NetError;
use crate::matching::Volatile;
use crate::recording::{
    Adapter, Finished, Finishing, Journal, JournalReader, Parent, Recorder, Recording, Session,
    bodies_path, finish_recording, journal_path,
};
use crate::redact::{RedactionRules, Redactor};
use gate::Gate;
use server::{Shared, serve};

/// How long to wait for responses in progress when the proxy is stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// What to do with a request that the recording does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMiss {
    /// Respond with an error that names the most similar recorded request.
    Fail,
    /// Forward it to the upstream, and add the response to the recording.
    Record,
}

/// What the proxy does.
#[derive(Debug, Clone)]
pub enum Mode {
    /// Forwards to the upstream and records.
    Record,
    /// Answers from the recording.
    Replay {
        /// Whether requests must arrive in the recorded order.
        strict_order: bool,
        /// What to do with a request that has no recorded answer.
        on_miss: OnMiss,
        /// The interaction from which on the upstream answers instead of the recording.
        fork_at: Option<usize>,
    },
}

/// The settings of a proxy.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// Whether exchanges are recorded or answered from a recording.
    pub mode: Mode,
    /// What is recorded: an API, or MCP over HTTP.
    pub adapter: Adapter,
    /// The recording to make, or to answer from.
    pub recording: PathBuf,
    /// Where a fork or an extended recording is written; `None` for the recording itself.
    pub output: Option<PathBuf>,
    /// The upstream; `None` for the public address of the API that the request is for.
    pub upstream: Option<Upstream>,
    /// Members of bodies that matching ignores.
    pub volatile: Volatile,
    /// The user's own patterns for secrets.
    pub rules: RedactionRules,
    /// Values known to be secret: kind and value.
    pub secrets: Vec<(String, String)>,
    /// Keys that the proxy adds for clients that do not have them.
    pub keys: Keys,
    /// The models that may be used; all if empty.
    pub allowed_models: Vec<String>,
}

/// The result of a proxy's work.
#[derive(Debug)]
pub struct Outcome {
    /// The recording that was made; `None` if it only replayed.
    pub finished: Option<Finished>,
    /// The number of requests answered from the recording.
    pub replayed: u64,
    /// The number of recorded interactions that were not requested.
    pub unused: u64,
    /// The requests that the recording did not answer, as reported to the client.
    pub misses: Vec<String>,
    /// The number of requests and connections refused because they were not the client's.
    pub refused: u64,
}

/// A running proxy. If it is dropped without [`Proxy::finish`], the journal is left as after a
/// crash.
#[derive(Debug)]
pub struct Proxy {
    runtime: Runtime,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    serving: Arc<Mutex<Vec<JoinHandle<()>>>>,
    recorder: Option<Recorder>,
    output: PathBuf,
}

/// Lets further clients into a running proxy. It does not keep the proxy alive: no clients are let in
/// once that has finished.
#[derive(Debug, Clone)]
pub struct ProxyEntrance {
    runtime: tokio::runtime::Handle,
    shared: Weak<Shared>,
    stopped: watch::Receiver<bool>,
    serving: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl ProxyEntrance {
    /// Serves the clients that `admission` allows on `listener` until the proxy finishes; returns its
    /// address.
    ///
    /// # Errors
    /// If the listener cannot be used, or the proxy has finished.
    pub fn open(
        &self,
        listener: TcpListener,
        admission: Admission,
    ) -> Result<SocketAddr, NetError> {
        self.open_named(listener, None, admission)
    }

    fn open_named(
        &self,
        listener: TcpListener,
        name: Option<&str>,
        admission: Admission,
    ) -> Result<SocketAddr, NetError> {
        let fault = |source| NetError::Listen {
            address: "the given listener".to_owned(),
            source,
        };
        let Some(shared) = self.shared.upgrade() else {
            return Err(NetError::System("the proxy has finished".to_owned()));
        };
        let address = listener.local_addr().map_err(fault)?;
        listener.set_nonblocking(true).map_err(fault)?;
        let listener = {
            let _guard = self.runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(fault)?
        };
        let gate = Gate::new(address, name, admission);
        let serving = serve(listener, shared, gate, self.stopped.clone());
        let task = self.runtime.spawn(serving);
        let mut tasks = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(task);
        Ok(address)
    }
}

impl Proxy {
    /// Starts the proxy, which is not reachable before [`Proxy::listen`].
    ///
    /// # Errors
    /// If the recording cannot be read or written, or the system grants no threads.
    pub fn start(options: ProxyOptions) -> Result<Self, NetError> {
        check_granted().map_err(|error| NetError::System(error.to_string()))?;
        let redactor = Redactor::new(options.rules.clone())
            .ok_or_else(|| NetError::System("no random bytes".to_owned()))?;
        for (kind, value) in &options.secrets {
            redactor.learn(kind, value.as_bytes());
        }
        for key in options.keys.values() {
            redactor.learn("api-key", key.as_bytes());
        }
        let redactor = Arc::new(redactor);
        let output = options.output.clone().unwrap_or(options.recording.clone());
        let library = open_library(&options)?;
        let recorder = start_recorder(&options, &output, library.as_ref(), &redactor)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| NetError::System(error.to_string()))?;
        let first = library.as_ref().map_or(0, |library| library.len() as u64);
        let shared = Arc::new(Shared::new(
            options,
            library,
            redactor,
            recorder.as_ref().map(Recorder::notes),
            first,
        )?);
        Ok(Self {
            runtime,
            shared,
            stop: watch::Sender::new(false),
            serving: Arc::default(),
            recorder,
            output,
        })
    }

    /// Serves on `listener` until the proxy finishes; returns its address. Clients send their own keys,
    /// and name that address or `name` as the host.
    ///
    /// # Errors
    /// If the listener cannot be used.
    pub fn listen(
        &self,
        listener: TcpListener,
        name: Option<&str>,
    ) -> Result<SocketAddr, NetError> {
        self.entrance()
            .open_named(listener, name, Admission::Everyone)
    }

    /// Returns a handle through which further listeners can be added.
    pub fn entrance(&self) -> ProxyEntrance {
        ProxyEntrance {
            runtime: self.runtime.handle().clone(),
            shared: Arc::downgrade(&self.shared),
            stopped: self.stop.subscribe(),
            serving: Arc::clone(&self.serving),
        }
    }

    /// Returns the redactor, which knows the secrets that passed through, also after the end.
    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.shared.redactor)
    }

    /// Returns how many requests were answered from the recording so far.
    pub fn replayed(&self) -> u64 {
        self.shared.tally().0
    }

    /// Returns the handle of the runtime, to wait in.
    pub fn handle(&self) -> &tokio::runtime::Handle {
        self.runtime.handle()
    }

    /// Stops accepting requests, gives responses in progress a moment to complete, and writes the
    /// recording.
    pub fn finish(self) -> Result<Outcome, NetError> {
        let Self {
            runtime,
            shared,
            stop,
            serving,
            recorder,
            output,
        } = self;
        // Fails only if there was no listener.
        let _ = stop.send(true);
        let tasks = std::mem::take(&mut *serving.lock().unwrap_or_else(PoisonError::into_inner));
        runtime.block_on(async {
            // Responses that take longer are recorded as unfinished.
            for task in tasks {
                let _ = tokio::time::timeout(PATIENCE, task).await;
            }
            shared.wait_until_idle(PATIENCE).await;
        });
        runtime.shutdown_timeout(Duration::from_millis(500));
        let redactor = Arc::clone(&shared.redactor);
        let (replayed, unused, misses) = shared.tally();
        let refused = shared.refused();
        drop(shared);
        let finished = match recorder {
            None => None,
            Some(recorder) => {
                recorder.finish()?;
                let finishing = Finishing {
                    journal: &journal_path(&output),
                    output: &output,
                    redactor: Some(&redactor),
                };
                Some(finish_recording(finishing)?)
            }
        };
        Ok(Outcome {
            finished,
            replayed,
            unused,
            misses,
            refused,
        })
    }
}

/// Opens the recording to answer from, after finishing what a killed program may have left of it.
fn open_library(options: &ProxyOptions) -> Result<Option<Library>, NetError> {
    let Mode::Replay {
        strict_order,
        fork_at,
        ..
    } = options.mode
    else {
        return Ok(None);
    };
    let path = &options.recording;
    recover(path)?;
    let recording = Recording::load(path)?;
    if recording.adapter != options.adapter {
        return Err(NetError::Recording {
            path: path.clone(),
            reason: format!(
                "it was recorded through {}, not {}",
                recording.adapter.name(),
                options.adapter.name()
            ),
        });
    }
    let calls = recording.interactions.len();
    if let Some(at) = fork_at.filter(|at| *at > calls) {
        return Err(NetError::Fork {
            path: path.clone(),
            at,
            calls,
        });
    }
    let mut pointers = recording.volatile.pointers().to_vec();
    pointers.extend_from_slice(options.volatile.pointers());
    let volatile = Volatile::parse(&pointers).unwrap_or_default();
    let library = Library::new(recording, volatile, strict_order, fork_at)
        .map_err(NetError::no_form(path))?;
    Ok(Some(library))
}

/// Finishes what a killed program left of `recording`; returns `None` if there is nothing. Fails if the
/// recording is still being made.
pub fn recover(recording: &Path) -> Result<Option<Finished>, NetError> {
    let journal = journal_path(recording);
    if !journal.exists() {
        return Ok(None);
    }
    let _lock = Journal::lock_left_behind(&journal)?;
    if recording.exists() {
        // Only a journal that extends this very recording may replace it.
        let parent = JournalReader::open(&journal)?.session().parent.clone();
        if parent.is_none_or(|parent| parent.path != recording) {
            return Ok(None);
        }
    }
    finish_recording(Finishing {
        journal: &journal,
        output: recording,
        redactor: None,
    })
    .map(Some)
}

fn start_recorder(
    options: &ProxyOptions,
    output: &Path,
    library: Option<&Library>,
    redactor: &Arc<Redactor>,
) -> Result<Option<Recorder>, NetError> {
    let parent = match (&options.mode, library) {
        (Mode::Record, _) => {
            if output.exists() || bodies_path(output).exists() {
                return Err(NetError::Exists {
                    path: output.to_owned(),
                });
            }
            None
        }
        (
            Mode::Replay {
                on_miss, fork_at, ..
            },
            Some(library),
        ) => {
            if *on_miss == OnMiss::Fail && fork_at.is_none() {
                return Ok(None);
            }
            if output.exists() && output != options.recording {
                return Err(NetError::Exists {
                    path: output.to_owned(),
                });
            }
            Some(Parent {
                path: options.recording.clone(),
                sha256: library.recording.sha256.clone(),
                model_io_hash: library.recording.model_io_hash.clone(),
                interactions: library.len(),
                is_fork: fork_at.is_some(),
            })
        }
        (Mode::Replay { .. }, None) => return Ok(None),
    };
    let volatile = library.map_or(&options.volatile, |library| &library.volatile);
    let session = Session {
        adapter: options.adapter,
        volatile: volatile.clone(),
        parent,
    };
    let journal = Journal::create(&journal_path(output), &session)?;
    Recorder::start(journal, Arc::clone(redactor)).map(Some)
}

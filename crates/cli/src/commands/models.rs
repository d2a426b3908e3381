//! `--proxy`: a command's model calls go through the recording proxy, which runs outside the
//! sandbox with the keys and the network. A replay answers them from the recording.

use std::io::{self, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use runseal_core::diagnosis::error_chain;
use runseal_fs::models::{Admission, Fork, ModelSession, ModelTraffic};
use runseal_fs::private::PrivateFolder;
use runseal_net::NetError;
use runseal_net::proxy::{Keys, Mode, OnMiss, Proxy, ProxyEntrance, ProxyOptions, Upstream};
use runseal_net::recording::Adapter;
use runseal_net::redact::Redactor;

use super::proxy::{RedactArgs, describe_redacted, secrets_of_environment, tell_refused};
use crate::error::CliError;
use crate::ui;

/// The recording's file name in bundles and packs.
pub const RECORDING: &str = "model_io.json";

/// Whether and how a command may call models.
#[derive(Debug, clap::Args)]
pub struct ModelArgs {
    /// Let the command ask models, through a recording proxy that is all it can reach: it finds
    /// `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` set, and stand-ins for keys. Your `OPENAI_API_KEY` and
    /// `ANTHROPIC_API_KEY` stay outside and are put in on the way.
    #[arg(long)]
    proxy: bool,
    /// With --proxy: the API to forward to; default: the public address of OpenAI or Anthropic.
    #[arg(long, value_name = "URL", requires = "proxy")]
    upstream: Option<String>,
    #[command(flatten)]
    redact: RedactArgs,
}

impl ModelArgs {
    /// Starts a session that records calls to the upstream; `None` without `--proxy`. If `allowed`
    /// is not empty, only those models may be called.
    pub fn start(&self, allowed: &[String]) -> Result<Option<Arc<dyn ModelSession>>, CliError> {
        if !self.proxy {
            if self.redact.is_given() {
                return Err(CliError::usage(
                    "--redact and --volatile go with --proxy",
                    "add --proxy, or leave them out",
                ));
            }
            return Ok(None);
        }
        let upstream = self.upstream.as_deref().map(Upstream::parse).transpose();
        let upstream = upstream?;
        let folder = private_folder()?;
        let options = ProxyOptions {
            mode: Mode::Record,
            adapter: Adapter::HttpProxy,
            recording: folder.path().join(RECORDING),
            output: None,
            upstream,
            volatile: self.redact.volatile()?,
            rules: self.redact.rules()?,
            secrets: secrets_of_environment(),
            keys: keys_of_environment(),
            allowed_models: allowed.to_vec(),
        };
        let session = ProxySession::start(options, Some(folder))?;
        Ok(Some(Arc::new(session)))
    }
}

/// The folder in which the recording grows. If the program is killed the folder stays, and `runseal
/// proxy finish` turns its content into a recording.
pub fn private_folder() -> Result<PrivateFolder, CliError> {
    let folder = PrivateFolder::create("models");
    folder.map_err(|error| CliError::internal(format!("no folder for the recording: {error}")))
}

/// The API keys in the environment, which never enter the sandbox.
pub fn keys_of_environment() -> Keys {
    let key = |name: &str| std::env::var(name).ok().filter(|key| !key.is_empty());
    Keys {
        openai: key("OPENAI_API_KEY"),
        anthropic: key("ANTHROPIC_API_KEY"),
    }
}

/// Whether a replay leaves its recording at some call, and how it continues.
#[derive(Debug, Clone, clap::Args)]
pub struct ForkArgs {
    /// For a recorded run that asked models: answer from the recording before call N and ask the upstream
    /// from there on; the calls go to --fork-out, with the digest of the recording.
    #[arg(
        long,
        value_name = "N",
        requires = "fork_out",
        conflicts_with = "times"
    )]
    fork_at: Option<usize>,
    /// Where the calls of the fork go.
    #[arg(long, value_name = "FILE", requires = "fork_at")]
    fork_out: Option<PathBuf>,
    /// With --fork-at: the API to forward to; default: the public address of OpenAI or Anthropic.
    #[arg(long, value_name = "URL", requires = "fork_at")]
    upstream: Option<String>,
}

impl ForkArgs {
    /// Whether a fork was asked for.
    pub fn is_given(&self) -> bool {
        self.fork_at.is_some()
    }

    /// Refuses options that cannot work, before anything runs.
    pub fn check(&self) -> Result<(), CliError> {
        let upstream = self.upstream.as_deref().map(Upstream::parse).transpose();
        upstream?;
        match &self.fork_out {
            Some(out) if out.symlink_metadata().is_ok() => Err(CliError::usage(
                format!("--fork-out: `{}` exists already", out.display()),
                "recordings are not overwritten: name another file",
            )),
            _ => Ok(()),
        }
    }

    /// Starts a session that answers from `recording`.
    pub fn start(&self, recording: &Path) -> Result<Arc<dyn ModelSession>, String> {
        let message_of = |error: NetError| error_chain(&error);
        let upstream = self.upstream.as_deref().map(Upstream::parse).transpose();
        let keys = match self.fork_at {
            Some(_) => keys_of_environment(),
            None => Keys::default(),
        };
        let options = ProxyOptions {
            mode: Mode::Replay {
                strict_order: false,
                on_miss: OnMiss::Fail,
                fork_at: self.fork_at,
            },
            adapter: Adapter::HttpProxy,
            recording: recording.to_owned(),
            output: self.fork_out.clone(),
            upstream: upstream.map_err(message_of)?,
            volatile: Default::default(),
            rules: Default::default(),
            secrets: secrets_of_environment(),
            keys,
            allowed_models: Vec::new(),
        };
        let session = ProxySession::start(options, None).map_err(message_of)?;
        Ok(Arc::new(session))
    }
}

/// A proxy that lives as long as one run.
#[derive(Debug)]
struct ProxySession {
    proxy: Mutex<Option<Proxy>>,
    entrance: ProxyEntrance,
    /// Knows the secrets that went through, until everything is sealed.
    redactor: Arc<Redactor>,
    /// Where the answers of the recording end, if they do.
    fork_at: Option<usize>,
    /// Why a listener was not served.
    fault: Mutex<Option<String>>,
    /// The folder in which the recording grows, deleted with the session if the run completed.
    folder: Option<PrivateFolder>,
}

impl ProxySession {
    fn start(options: ProxyOptions, folder: Option<PrivateFolder>) -> Result<Self, NetError> {
        let fork_at = match options.mode {
            Mode::Replay { fork_at, .. } => fork_at,
            Mode::Record => None,
        };
        let proxy = Proxy::start(options)?;
        Ok(Self {
            entrance: proxy.entrance(),
            redactor: proxy.redactor(),
            fork_at,
            proxy: Mutex::new(Some(proxy)),
            fault: Mutex::default(),
            folder,
        })
    }
}

impl Drop for ProxySession {
    /// A run that failed, was stopped or interrupted is not sealed. The models' answers were paid for, so
    /// they
    /// are kept.
    fn drop(&mut self) {
        let proxy = self.proxy.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (Some(proxy), Some(folder)) = (proxy.take(), self.folder.take()) else {
            return;
        };
        let finished = match proxy.finish() {
            Ok(outcome) => outcome.finished,
            Err(error) => return ui::tell_error(&error.into()),
        };
        if let Some(finished) = finished.filter(|finished| finished.interactions > 0) {
            let _kept = folder.keep();
            ui::note(&format!(
                "what models answered is kept in {}",
                finished.path.display()
            ));
        }
    }
}

impl ModelSession for ProxySession {
    fn take(&self, listener: TcpListener, admission: Admission) {
        if let Err(error) = self.entrance.open(listener, admission) {
            let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            *fault = Some(error.to_string());
        }
    }

    fn finish(&self) -> Result<ModelTraffic, String> {
        let proxy = self
            .proxy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(proxy) = proxy else {
            return Err("the session has ended".to_owned());
        };
        let outcome = proxy.finish().map_err(|error| error.to_string())?;
        let fault = self
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(fault) = fault {
            return Err(fault);
        }
        tell_refused(outcome.refused);
        let mut traffic = ModelTraffic {
            misses: outcome.misses,
            answered: outcome.replayed,
            unused: outcome.unused,
            refused: outcome.refused,
            ..ModelTraffic::default()
        };
        if let Some(finished) = outcome.finished {
            if let Some(replaced) = describe_redacted(&finished.redacted) {
                ui::note(&replaced);
            }
            traffic.fork = self.fork_at.map(|at| Fork {
                at,
                answered: outcome.replayed,
                live: finished.interactions.saturating_sub(at),
                recording: finished.path.clone(),
            });
            traffic.gaps = finished.gaps;
            traffic.recording = Some(finished.path);
        }
        Ok(traffic)
    }

    fn find_secret(&self, content: &mut dyn Read) -> io::Result<Option<String>> {
        let found = self.redactor.find_known_in(content)?;
        Ok(found.map(|(kind, _)| kind))
    }
}

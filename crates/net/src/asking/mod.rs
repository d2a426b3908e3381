//! Asks a model questions of our own, through the recording proxy.
//!
//! An [`Asker`] is a client of a proxy that lives as long as it does. So what is asked and answered is in a recording
//! before anybody reads it, also if nobody can, and a recording can answer in place of the model. The key stays in the
//! proxy. Servers that are busy are asked again a few times; no answer that arrived is asked for again, because it
//! may have been paid for.

mod answer;
mod error;
mod provider;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::HeaderValue;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_fs::models::{Admission, Credentials};
use tokio::signal::unix::{Signal, SignalKind, signal};

use answer::{Arrived, fetch};
pub use error::AskError;
pub use provider::Provider;

use crate::NetError;
use crate::matching::BodyForm;
use crate::proxy::{Keys, Mode, OnMiss, Outcome, Proxy, ProxyOptions, Upstream};
use crate::recording::{Adapter, Recording};
use crate::redact::RedactionRules;

/// How often a server that is busy is asked.
const MOST_TRIES: u32 = 4;

/// Where answers come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answering {
    /// From the server.
    Live(Upstream),
    /// From the recording.
    Recorded,
    /// From the recording, and from the server what that has no usable answer for; the recording gets it too.
    Continued(Upstream),
}

/// The settings of an [`Asker`].
#[derive(Debug, Clone)]
pub struct AskOptions {
    /// Whose API is spoken.
    pub provider: Provider,
    /// The model that is asked.
    pub model: String,
    /// Who answers.
    pub answering: Answering,
    /// The provider's key, if there is one.
    pub key: Option<String>,
    /// The recording to make, or to answer from.
    pub recording: PathBuf,
    /// Values known to be secret: kind and value.
    pub secrets: Vec<(String, String)>,
    /// How long one answer may take.
    pub patience: Duration,
}

/// Asks one model, and records it.
#[derive(Debug)]
pub struct Asker {
    proxy: Proxy,
    address: SocketAddr,
    token: String,
    client: Client<HttpConnector, Full<Bytes>>,
    signals: [Signal; 3],
    provider: Provider,
    model: String,
    patience: Duration,
}

impl Asker {
    /// Starts the proxy.
    ///
    /// # Errors
    /// When the key cannot be sent, or the recording cannot be made or read.
    pub fn start(options: AskOptions) -> Result<Self, AskError> {
        let AskOptions {
            provider,
            model,
            answering,
            key,
            recording,
            secrets,
            patience,
        } = options;
        if key
            .as_ref()
            .is_some_and(|key| HeaderValue::from_str(key).is_err())
        {
            return Err(AskError::BadKey(provider));
        }
        let replay = |on_miss| Mode::Replay {
            strict_order: false,
            on_miss,
            fork_at: None,
        };
        let (mode, upstream, keys) = match answering {
            Answering::Live(upstream) => (Mode::Record, Some(upstream), provider.keys(key)),
            Answering::Recorded => (replay(OnMiss::Fail), None, Keys::default()),
            Answering::Continued(upstream) => {
                (replay(OnMiss::Record), Some(upstream), provider.keys(key))
            }
        };
        let system = |error: std::io::Error| NetError::System(error.to_string());
        let credentials = Credentials::generate([]).map_err(system)?;
        let token = credentials.token().to_owned();
        let proxy = Proxy::start(ProxyOptions {
            mode,
            adapter: Adapter::HttpProxy,
            recording,
            output: None,
            upstream,
            volatile: Default::default(),
            rules: RedactionRules::default(),
            secrets,
            keys,
            allowed_models: Vec::new(),
        })?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(system)?;
        let address = proxy
            .entrance()
            .open(listener, Admission::Holders(credentials))?;
        let guard = proxy.handle().enter();
        let watch = |kind: SignalKind| signal(kind).map_err(system);
        let signals = [
            watch(SignalKind::interrupt())?,
            watch(SignalKind::terminate())?,
            watch(SignalKind::hangup())?,
        ];
        let client = Client::builder(TokioExecutor::new()).build_http();
        drop(guard);
        Ok(Self {
            proxy,
            address,
            token,
            client,
            signals,
            provider,
            model,
            patience,
        })
    }

    /// Asks one question: `system` says what to do, `words` with what. `read` takes the text of the answer, or says
    /// what is wrong with it.
    ///
    /// # Errors
    /// When there is no answer that `read` takes.
    pub fn ask<T>(
        &mut self,
        system: &str,
        words: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, AskError> {
        let request = self.provider.request(&self.model, system, words);
        let body = canonical_bytes(&request, Dialect::Kernel)
            .map_err(|error| AskError::Proxy(error.to_string()))?;
        let body = Bytes::from(body);
        let (mut recorded, mut tries) = (None, 0);
        loop {
            let before = self.proxy.replayed();
            let answer = self
                .exchange(&body)
                .and_then(|arrived| arrived.text(self.provider));
            let fault = match answer.and_then(|text| read(&text).map_err(AskError::Unreadable)) {
                Ok(taken) => return Ok(taken),
                Err(fault) => fault,
            };
            // What failed when it was recorded may have been asked again then, or may be asked again now.
            if self.proxy.replayed() > before {
                recorded = Some(fault);
                continue;
            }
            if matches!(fault, AskError::Missed(_)) {
                return Err(recorded.unwrap_or(fault));
            }
            tries += 1;
            match fault.pause_before_retry(tries) {
                Some(pause) if tries < MOST_TRIES => self.wait(pause)?,
                _ => return Err(fault.after(tries)),
            }
        }
    }

    /// Ends the proxy and writes the recording.
    ///
    /// # Errors
    /// When it cannot be written, or a secret is in it.
    pub fn finish(self) -> Result<Outcome, NetError> {
        // Connections that are kept open for further questions would be waited for.
        drop(self.client);
        self.proxy.finish()
    }

    fn wait(&mut self, pause: Duration) -> Result<(), AskError> {
        let runtime = self.proxy.handle().clone();
        runtime.block_on(async {
            tokio::select! {
                () = stopped(&mut self.signals) => Err(AskError::Interrupted),
                () = tokio::time::sleep(pause) => Ok(()),
            }
        })
    }

    fn exchange(&mut self, body: &Bytes) -> Result<Arrived, AskError> {
        let request = self.request(body)?;
        let runtime = self.proxy.handle().clone();
        runtime.block_on(async {
            tokio::select! {
                () = stopped(&mut self.signals) => Err(AskError::Interrupted),
                arrived = tokio::time::timeout(self.patience, fetch(&self.client, request)) => {
                    arrived.unwrap_or(Err(AskError::TimedOut(self.patience)))
                }
            }
        })
    }

    fn request(&self, body: &Bytes) -> Result<Request<Full<Bytes>>, AskError> {
        let uri = format!("http://{}{}", self.address, self.provider.path());
        let mut request = Request::post(uri)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header("user-agent", concat!("runseal/", env!("CARGO_PKG_VERSION")));
        for (name, value) in self.provider.headers(&self.token) {
            request = request.header(name, value);
        }
        request
            .body(Full::new(body.clone()))
            .map_err(|error| AskError::Proxy(error.to_string()))
    }
}

async fn stopped(signals: &mut [Signal; 3]) {
    let [interrupted, terminated, hung_up] = signals;
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
        _ = hung_up.recv() => {}
    }
}

/// Whose API a recording has calls of, and of which model: of the first call to a known one.
///
/// # Errors
/// When it cannot be read, or does not verify.
pub fn asked_in(recording: &Path) -> Result<Option<(Provider, String)>, NetError> {
    let recording = Recording::load(recording)?;
    let named = |body: &BodyForm| match body {
        BodyForm::Json(body) => Some(body.get("model")?.as_str()?.to_owned()),
        _ => None,
    };
    let mut calls = recording.interactions.iter();
    Ok(calls.find_map(|call| {
        Some((
            Provider::of_path(&call.asked.path)?,
            named(&call.asked.body)?,
        ))
    }))
}

//! Accepts requests: one task per connection, answered from the recording or by the upstream.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use runseal_core::canon::Value;
use runseal_fs::models::Credentials;
use tokio::sync::{Semaphore, watch};

use super::answer::{self, AnswerBody};
use super::forward::forward;
use super::gate::{self, Gate, Refusal};
use super::headers;
use super::intake::{Intake, IntakeError, check_values, drain};
use super::peer;
use super::replay::{Library, Miss, Selection};
use super::upstream::{UpstreamClient, build_client};
use super::{Mode, OnMiss, ProxyOptions, pump};
use crate::NetError;
use crate::matching::{Asked, BodyForm};
use crate::recording::{Adapter, Note, Notes};
use crate::redact::Redactor;

/// The most simultaneous connections, of all listeners. Stops a client that keeps opening them.
const MOST_CONNECTIONS: usize = 640;
/// The most bytes of a request's head, and of one read or write.
pub(super) const CONNECTION_BUFFER: usize = 64 << 10;
/// How long the head of a request may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: ProxyOptions,
    library: Option<Mutex<Library>>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) notes: Option<Notes>,
    pub(super) client: UpstreamClient,
    pub(super) next: AtomicU64,
    pub(super) started: watch::Sender<u64>,
    active: watch::Sender<usize>,
    connections: Arc<Semaphore>,
    intake: Intake,
    /// The number of requests and connections refused.
    refused: AtomicU64,
    /// Whether responses still in progress are cut off.
    is_cut_off: AtomicBool,
}

/// Counts a request as in progress until it is dropped.
#[derive(Debug)]
pub(super) struct Active(Arc<Shared>);

impl Active {
    fn begin(shared: &Arc<Shared>) -> Self {
        shared.active.send_modify(|count| *count += 1);
        Self(Arc::clone(shared))
    }

    /// Whether the proxy stops without waiting for this request.
    pub(super) fn is_cut_off(&self) -> bool {
        self.0.is_cut_off.load(Ordering::Acquire)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0
            .active
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Shared {
    pub(super) fn new(
        options: ProxyOptions,
        library: Option<Library>,
        redactor: Arc<Redactor>,
        notes: Option<Notes>,
        first: u64,
    ) -> Result<Self, NetError> {
        Ok(Self {
            options,
            library: library.map(Mutex::new),
            redactor,
            notes,
            client: build_client()?,
            next: AtomicU64::new(first),
            started: watch::Sender::new(0),
            active: watch::Sender::new(0),
            connections: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            intake: Intake::new(),
            refused: AtomicU64::new(0),
            is_cut_off: AtomicBool::new(false),
        })
    }

    /// Returns a receiver of the number of requests that have begun.
    pub(super) fn started(&self) -> watch::Receiver<u64> {
        self.started.subscribe()
    }

    /// Waits until no request is in progress, but at most for `patience`.
    pub(super) async fn wait_until_idle(&self, patience: Duration) {
        let mut active = self.active.subscribe();
        let idle = active.wait_for(|count| *count == 0);
        let _ = tokio::time::timeout(patience, idle).await;
        self.is_cut_off.store(true, Ordering::Release);
    }

    /// Returns how many requests were answered from the recording, how many interactions were never
    /// requested, and the misses.
    pub(super) fn tally(&self) -> (u64, u64, Vec<String>) {
        match &self.library {
            None => (0, 0, Vec::new()),
            Some(library) => library
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .tally(),
        }
    }

    /// Returns the number of requests and connections refused.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns the kind of API that is recorded.
    pub(super) fn adapter(&self) -> Adapter {
        self.options.adapter
    }

    /// Records a note; returns `false` if that is no longer possible.
    pub(super) async fn note(&self, note: Note) -> bool {
        match &self.notes {
            None => true,
            Some(notes) => notes.send(note).await,
        }
    }
}

/// Accepts connections until the proxy stops.
pub(super) async fn serve(
    listener: tokio::net::TcpListener,
    shared: Arc<Shared>,
    gate: Gate,
    mut stopped: watch::Receiver<bool>,
) {
    let gate = Arc::new(gate);
    loop {
        let Ok(permit) = Arc::clone(&shared.connections).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, or the network namespace is gone.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (shared, gate) = (Arc::clone(&shared), Arc::clone(&gate));
        let stopped = stopped.clone();
        tokio::spawn(async move {
            let _permit = permit;
            serve_requests(stream, &shared, &gate, stopped).await;
        });
    }
}

/// Answers the requests of one connection.
async fn serve_requests(
    stream: tokio::net::TcpStream,
    shared: &Arc<Shared>,
    gate: &Arc<Gate>,
    mut stopped: watch::Receiver<bool>,
) {
    // Whatever a listener is for: what it answers from, or records, is this user's.
    if let (Ok(other), Ok(own)) = (stream.peer_addr(), stream.local_addr())
        && other.ip().is_loopback()
        && tokio::task::spawn_blocking(move || peer::is_foreign(other, own))
            .await
            .unwrap_or(false)
    {
        // Another user of this machine gets no answer and occupies no connection.
        shared.refused.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // Send small responses at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (shared, gate) = (Arc::clone(shared), Arc::clone(gate));
        async move { Ok::<_, Infallible>(handle(shared, &gate, request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(CONNECTION_BUFFER)
        // Our own date header would differ in the replay.
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let is_over = tokio::select! {
        // Errors of a connection are for the client to notice.
        _ = connection.as_mut() => true,
        _ = stopped.wait_for(|stopped| *stopped) => false,
    };
    if !is_over {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// A request that was read completely.
pub(super) struct Received {
    pub(super) method: hyper::Method,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: hyper::HeaderMap,
    pub(super) body: Bytes,
}

async fn handle(
    shared: Arc<Shared>,
    gate: &Gate,
    request: Request<Incoming>,
) -> Response<AnswerBody> {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = gate.check(&parts) {
        shared.refused.fetch_add(1, Ordering::Relaxed);
        drain(body).await;
        return refuse(refusal);
    }
    let active = Active::begin(&shared);
    let received = match receive(&shared, gate, parts, body).await {
        Ok(received) => received,
        Err(error) => return intake_error(error),
    };
    let Some(library) = &shared.library else {
        return forward(shared, received, active).await;
    };
    let asked = to_asked(&shared.redactor, &received);
    let selected = library
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .select(&asked);
    match selected {
        Selection::Recorded(recorded) => {
            shared.started.send_modify(|count| *count += 1);
            let is_head = received.method == hyper::Method::HEAD;
            pump::replay(&shared, &recorded, &received, is_head, active)
        }
        Selection::Live => forward(shared, received, active).await,
        Selection::Missed(miss) => {
            let on_miss = match &shared.options.mode {
                Mode::Replay { on_miss, .. } => *on_miss,
                Mode::Record => OnMiss::Record,
            };
            match on_miss {
                OnMiss::Record => forward(shared, received, active).await,
                OnMiss::Fail => report_miss(&shared, library, &miss),
            }
        }
    }
}

/// Reads an admitted request. Its token is replaced by the constant stand-in.
async fn receive(
    shared: &Shared,
    gate: &Gate,
    mut parts: hyper::http::request::Parts,
    body: Incoming,
) -> Result<Received, IntakeError> {
    let mut path = parts.uri.path().to_owned();
    let mut query = parts.uri.query().map(str::to_owned);
    let token = gate.credentials().map(Credentials::token);
    if let Some(token) = token {
        gate::conceal_head(token, &mut parts.headers);
        path = gate::conceal_text(token, &path);
        query = query.map(|query| gate::conceal_text(token, &query));
    }
    let conceal = |body| match token {
        Some(token) => gate::conceal_body(token, body),
        None => body,
    };
    let body = shared.intake.read(body, conceal).await?;
    check_values(&headers::joined(&parts.headers, "content-encoding"), &body)?;
    Ok(Received {
        method: parts.method,
        path,
        query,
        headers: parts.headers,
        body,
    })
}

fn refuse(refusal: Refusal) -> Response<AnswerBody> {
    let (code, message) = (refusal.code(), refusal.message());
    let mut response = answer::error(StatusCode::FORBIDDEN, code, message, &[]);
    // The rest of the body was not read, so the connection cannot be used again.
    let close = hyper::header::HeaderValue::from_static("close");
    response.headers_mut().insert("connection", close);
    response
}

fn intake_error(error: IntakeError) -> Response<AnswerBody> {
    let (status, message) = match error {
        IntakeError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request is larger than 64 MiB",
        ),
        IntakeError::TooManyValues => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request has more than 2,097,152 elements and members",
        ),
        IntakeError::BrokenOff => (StatusCode::REQUEST_TIMEOUT, "the request broke off"),
    };
    answer::error(status, "REQUEST", message, &[])
}

/// Returns the request as matching sees it: with secrets replaced.
fn to_asked(redactor: &Redactor, received: &Received) -> Asked {
    for (name, value) in &received.headers {
        // Learns the secrets in headers, which are then also replaced in the body, as during recording.
        redactor.redact_header(name.as_str(), value.as_bytes());
    }
    let header = |name: &str| {
        let value = received.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let content_type = header("content-type");
    let coding = headers::joined(&received.headers, "content-encoding");
    let body = redactor.redact_request(&coding, content_type, &received.body);
    Asked {
        method: received.method.as_str().to_owned(),
        path: redactor.redact_text(&received.path).into_owned(),
        query: received
            .query
            .as_deref()
            .map(|query| redactor.redact_query(query)),
        body: BodyForm::parse(content_type, &body),
    }
}

fn report_miss(shared: &Shared, library: &Mutex<Library>, miss: &Miss) -> Response<AnswerBody> {
    let message = shared.redactor.redact_text(&miss.message()).into_owned();
    library
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remember_miss(message.clone());
    let mut more = Vec::new();
    if let Some(nearest) = miss.nearest {
        more.push(("nearest_interaction", Value::from(nearest)));
    }
    if let Some(difference) = &miss.difference {
        more.push((
            "difference",
            Value::object([
                ("pointer", Value::from(difference.pointer.as_str())),
                ("recorded", Value::from(difference.recorded.clone())),
                ("asked", Value::from(difference.asked.clone())),
            ]),
        ));
    }
    // A status on which SDKs do not retry.
    answer::error(
        StatusCode::UNPROCESSABLE_ENTITY,
        "RECORDING_MISS",
        &message,
        &more,
    )
}

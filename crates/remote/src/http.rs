//! One HTTP client for every kind of server.
//!
//! A request is repeated a bounded number of times, with growing pauses, if the connection is lost
//! or the server is overloaded; so only requests that are safe to repeat may be sent through it.
//! Redirects are followed only if the request allows it, and credentials are sent only to the
//! origin that they are meant for. The caller bounds the length of responses, and interprets their
//! status.

use std::fmt;
use std::io::{self, Read};
use std::thread;
use std::time::Duration;

use rustls::crypto::ring;
use thiserror::Error;
use ureq::http::header::{
    CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use ureq::http::uri::{Authority, Parts, PathAndQuery};
use ureq::http::{Method, StatusCode, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, BodyReader, SendBody};

/// The longest time that connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// A server that neither sends nor accepts anything for this long counts as gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a request is attempted at most.
const ATTEMPTS: u32 = 5;
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause. A server that asks for a longer one is asked again after this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The most redirects that are followed in a row.
const REDIRECTS: usize = 5;
/// How many idle connections are kept for later requests.
const IDLE_CONNECTIONS: usize = 64;
/// Bytes that a connection buffers in each direction.
const BUFFER: usize = 64 << 10;

/// Why a request failed. Addresses in messages are only host and port.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The host name cannot be resolved.
    #[error("unknown host `{host}`")]
    UnknownHost {
        /// The host.
        host: String,
    },
    /// No connection can be made.
    #[error("`{host}` cannot be reached: {problem}")]
    Unreachable {
        /// The host.
        host: String,
        /// The system's message.
        problem: String,
    },
    /// The server was silent for too long.
    #[error("`{host}` did not answer in time")]
    Timeout {
        /// The host.
        host: String,
    },
    /// The connection broke off, on every attempt.
    #[error("the connection to `{host}` was lost: {problem}")]
    Lost {
        /// The host.
        host: String,
        /// The system's message.
        problem: String,
    },
    /// The TLS handshake failed, or the certificate is not trusted.
    #[error("no secure connection to `{host}`: {problem}")]
    Insecure {
        /// The host.
        host: String,
        /// The TLS library's message.
        problem: String,
    },
    /// A redirect loop, an invalid redirect, or one from HTTPS to plain HTTP.
    #[error("a redirect of `{host}` is not followed: {problem}")]
    Redirect {
        /// The host that redirects.
        host: String,
        /// What is wrong with the redirect.
        problem: &'static str,
    },
    /// The response is longer than the caller allows.
    #[error("`{host}` answered with more than {limit} bytes")]
    TooLarge {
        /// The host.
        host: String,
        /// The most bytes that are read.
        limit: u64,
    },
    /// The request's body could not be read.
    #[error("the data to send to `{host}` could not be read")]
    Body {
        /// The host.
        host: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Any other violation of HTTP.
    #[error("`{host}` violates HTTP: {problem}")]
    Protocol {
        /// The host.
        host: String,
        /// What was wrong.
        problem: String,
    },
}

impl HttpError {
    /// Returns the code that is shown before the message.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownHost { .. } | Self::Unreachable { .. } => "UNREACHABLE",
            Self::Timeout { .. } => "TIMEOUT",
            Self::Lost { .. } => "CONNECTION_LOST",
            Self::Insecure { .. } => "INSECURE",
            Self::Redirect { .. } => "REDIRECT",
            Self::TooLarge { .. } => "TOO_LARGE",
            Self::Body { .. } => "IO",
            Self::Protocol { .. } => "PROTOCOL",
        }
    }

    /// Returns advice, if there is any.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnknownHost { .. } | Self::Unreachable { .. } => {
                Some("check the address, the network and that the server is running")
            }
            Self::Timeout { .. } | Self::Lost { .. } => {
                Some("what arrived is kept if possible; try again to continue from there")
            }
            Self::Insecure { .. } => {
                Some("SSL_CERT_FILE names a file of certificates to trust instead of the system's")
            }
            _ => None,
        }
    }

    /// Whether the same request may succeed a moment later.
    const fn is_worth_retrying(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Lost { .. }
        )
    }
}

/// A request body that can be sent again after the connection was lost.
pub trait RepeatableBody: Sync {
    /// Returns the exact length in bytes.
    fn length(&self) -> u64;

    /// Opens a reader at the beginning.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

impl RepeatableBody for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self))
    }
}

/// What happens to a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// It is returned to the caller like any other response.
    Return,
    /// It is followed; to another origin without credentials.
    Follow,
}

/// A request.
pub struct Request<'a> {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    credentials: HeaderMap,
    body: Option<&'a dyn RepeatableBody>,
    redirects: Redirects,
    attempts: u32,
}

impl fmt::Debug for Request<'_> {
    /// Omits credentials, and the query, which may contain a signature.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.method, host(&self.uri), self.uri.path())
    }
}

impl<'a> Request<'a> {
    /// Creates a request without a body that does not follow redirects.
    pub fn new(method: Method, uri: Uri) -> Self {
        Self {
            method,
            uri,
            headers: HeaderMap::new(),
            credentials: HeaderMap::new(),
            body: None,
            redirects: Redirects::Return,
            attempts: ATTEMPTS,
        }
    }

    /// Attempts the request only once, because it is not safe to repeat.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.attempts = 1;
        self
    }

    /// Adds a header that is not secret.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Adds a header that is sent only to this request's origin.
    #[must_use]
    pub fn credential(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.credentials.insert(name, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: &'a dyn RepeatableBody) -> Self {
        self.body = Some(body);
        self
    }

    /// Sets what happens to redirects.
    #[must_use]
    pub fn redirects(mut self, redirects: Redirects) -> Self {
        self.redirects = redirects;
        self
    }
}

/// A response. Its body is read as it arrives.
pub struct Response {
    /// The status, whatever it is.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// Where the response came from, after any redirects.
    pub uri: Uri,
    body: BodyReader<'static>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.status, host(&self.uri))
    }
}

impl Response {
    /// Returns a header's value, if it is text.
    pub fn text_header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the length of the body, if the server declares it.
    pub fn declared_length(&self) -> Option<u64> {
        self.text_header(CONTENT_LENGTH.as_str())?.parse().ok()
    }

    /// Returns the body as it arrives. It is unbounded: the caller has to limit it.
    pub fn into_reader(self) -> impl Read + Send + 'static {
        self.body
    }

    /// Reads the rest of an unwanted body, so that the connection can be reused.
    pub fn discard(self) {
        // If the body is longer or breaks off, the next request uses another connection.
        let _ = io::copy(&mut self.body.take(BUFFER as u64), &mut io::sink());
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// If it breaks off, or has more than `limit` bytes.
    pub fn into_bytes(self, limit: u64) -> Result<Vec<u8>, HttpError> {
        let host = host(&self.uri);
        let mut bytes = Vec::new();
        let mut bounded = self.body.take(limit.saturating_add(1));
        if let Err(error) = bounded.read_to_end(&mut bytes) {
            let problem = error.to_string();
            return Err(HttpError::Lost { host, problem });
        }
        if bytes.len() as u64 > limit {
            Err(HttpError::TooLarge { host, limit })
        } else {
            Ok(bytes)
        }
    }
}

/// The client. It is cheap to clone, and clones share its open connections.
#[derive(Debug, Clone)]
pub struct Http {
    agent: Agent,
    first_pause: Duration,
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Http {
    /// Creates a client that trusts the system's certificates, or those of `SSL_CERT_FILE`.
    pub fn new() -> Self {
        let found = rustls_native_certs::load_native_certs().certs;
        let certificates = found
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned());
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(ring::default_provider().into())
            .root_certs(RootCerts::from(certificates))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("runseal/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .max_idle_connections(IDLE_CONNECTIONS)
            .max_idle_connections_per_host(IDLE_CONNECTIONS)
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .build();
        Self {
            agent: config.new_agent(),
            first_pause: FIRST_PAUSE,
        }
    }

    /// Sends a request and returns the response, whatever its status. If the server stays
    /// overloaded, returns its last response.
    ///
    /// # Errors
    /// If there was no response.
    pub fn send(&self, request: &Request<'_>) -> Result<Response, HttpError> {
        let mut pause = self.first_pause;
        for attempt in 1.. {
            let answer = self.follow(request);
            let wait = match &answer {
                Ok(response) if is_overloaded(response.status) => requested_pause(response),
                Err(error) if error.is_worth_retrying() => None,
                _ => return answer,
            };
            if attempt == request.attempts {
                return answer;
            }
            thread::sleep(wait.unwrap_or(pause).min(LONGEST_PAUSE));
            pause *= 2;
        }
        unreachable_attempts(&request.uri)
    }

    /// Makes one attempt, following redirects.
    fn follow(&self, request: &Request<'_>) -> Result<Response, HttpError> {
        let mut uri = request.uri.clone();
        for _ in 0..=REDIRECTS {
            let response = self.exchange(request, &uri)?;
            if request.redirects == Redirects::Return || !is_redirect(response.status) {
                return Ok(response);
            }
            let host = host(&uri);
            let location = response.text_header(LOCATION.as_str());
            let next = location.and_then(|location| resolve(&uri, location));
            let Some(next) = next else {
                let problem = "it has no valid address";
                return Err(HttpError::Redirect { host, problem });
            };
            if uri.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
                let problem = "from TLS to plain text";
                return Err(HttpError::Redirect { host, problem });
            }
            uri = next;
        }
        Err(HttpError::Redirect {
            host: host(&request.uri),
            problem: "there are too many",
        })
    }

    fn exchange(&self, request: &Request<'_>, uri: &Uri) -> Result<Response, HttpError> {
        let host = || host(uri);
        let mut builder = ureq::http::Request::builder()
            .method(request.method.clone())
            .uri(uri.clone());
        let is_own_host = is_same_origin(&request.uri, uri);
        let credentials = is_own_host.then_some(&request.credentials);
        for (name, value) in request
            .headers
            .iter()
            .chain(credentials.into_iter().flatten())
        {
            builder = builder.header(name, value);
        }
        let protocol = |problem: String| HttpError::Protocol {
            host: host(),
            problem,
        };
        let answer = match request.body {
            None => {
                let built = builder.body(());
                let built = built.map_err(|error| protocol(error.to_string()))?;
                self.agent.run(built)
            }
            Some(body) => {
                let unread = |source| HttpError::Body {
                    host: host(),
                    source,
                };
                let mut reader = body.open().map_err(unread)?;
                let built = builder
                    .header(CONTENT_LENGTH, HeaderValue::from(body.length()))
                    .body(SendBody::from_reader(&mut reader));
                let built = built.map_err(|error| protocol(error.to_string()))?;
                self.agent.run(built)
            }
        };
        let answer = answer.map_err(|error| failure(host(), error))?;
        let (parts, body) = answer.into_parts();
        Ok(Response {
            status: parts.status,
            headers: parts.headers,
            uri: uri.clone(),
            body: body.into_with_config().limit(u64::MAX).reader(),
        })
    }
}

/// Returns the result if the loop of attempts ends without returning, which it cannot.
fn unreachable_attempts(uri: &Uri) -> Result<Response, HttpError> {
    Err(HttpError::Timeout { host: host(uri) })
}

const fn is_overloaded(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504)
}

const fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns the pause that the server asks for, in whole seconds.
fn requested_pause(response: &Response) -> Option<Duration> {
    let text = response.text_header(RETRY_AFTER.as_str())?;
    text.parse().ok().map(Duration::from_secs)
}

/// Returns the host and port of an address for messages, without user, path and query.
pub fn host(uri: &Uri) -> String {
    let shown = uri.authority().map(|authority| match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_owned(),
    });
    shown.unwrap_or_default()
}

/// Whether two addresses have the same scheme, host and port.
pub fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| match (uri.port_u16(), uri.scheme_str()) {
        (Some(port), _) => Some(port),
        (None, Some("https")) => Some(443),
        (None, Some("http")) => Some(80),
        (None, _) => None,
    };
    let name = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    one.scheme() == other.scheme() && name(one) == name(other) && port(one) == port(other)
}

/// Resolves a `Location` header against `base`; returns `None` if it is invalid or its scheme is
/// neither HTTP nor HTTPS.
pub fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next()?;
    if location.is_empty() {
        return None;
    }
    if location.starts_with("http://") || location.starts_with("https://") {
        return location.parse().ok();
    }
    if let Some(rest) = location.strip_prefix("//") {
        return format!("{}://{rest}", base.scheme_str()?).parse().ok();
    }
    let has_scheme = location
        .split(['/', '?'])
        .next()
        .is_some_and(|first| first.contains(':'));
    if has_scheme {
        return None;
    }
    let path = match location.as_bytes().first() {
        Some(b'/') => location.to_owned(),
        Some(b'?') => format!("{}{location}", base.path()),
        _ => {
            let folder = base.path().rsplit_once('/').map_or("", |(above, _)| above);
            format!("{folder}/{location}")
        }
    };
    let mut parts = Parts::default();
    parts.scheme = base.scheme().cloned();
    parts.authority = base.authority().and_then(without_user);
    parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

fn without_user(authority: &Authority) -> Option<Authority> {
    let text = authority.as_str();
    let plain = text.rsplit_once('@').map_or(text, |(_, host)| host);
    plain.parse().ok()
}

/// Converts an error of the HTTP library, without quoting anything of the request.
fn failure(host: String, error: ureq::Error) -> HttpError {
    match error {
        ureq::Error::HostNotFound => HttpError::UnknownHost { host },
        ureq::Error::ConnectionFailed => HttpError::Unreachable {
            host,
            problem: "the connection failed".to_owned(),
        },
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            HttpError::Unreachable {
                host,
                problem: "connecting took too long".to_owned(),
            }
        }
        ureq::Error::Timeout(_) => HttpError::Timeout { host },
        ureq::Error::Tls(problem) => HttpError::Insecure {
            host,
            problem: problem.to_owned(),
        },
        ureq::Error::Rustls(error) => HttpError::Insecure {
            host,
            problem: error.to_string(),
        },
        ureq::Error::Io(error) => failed_io(host, &error),
        ureq::Error::LargeResponseHeader(_, limit) => HttpError::TooLarge {
            host,
            limit: limit as u64,
        },
        // The connection closed before the response was complete.
        ureq::Error::Protocol(error) => HttpError::Lost {
            host,
            problem: error.to_string(),
        },
        // Other errors may quote the request's address, so their text is not shown.
        _ => HttpError::Protocol {
            host,
            problem: "the request could not be made".to_owned(),
        },
    }
}

fn failed_io(host: String, error: &io::Error) -> HttpError {
    let problem = error.to_string();
    if error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
    {
        return HttpError::Insecure { host, problem };
    }
    // No error kind exists for this, only the system's message.
    if problem.starts_with("failed to lookup address information") {
        return HttpError::UnknownHost { host };
    }
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => HttpError::Timeout { host },
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::AddrNotAvailable => HttpError::Unreachable { host, problem },
        _ => HttpError::Lost { host, problem },
    }
}

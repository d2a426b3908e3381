//! The upstream: its address, and connections to it with or without TLS.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::NetError;
use runseal_core::formats::model_io::reading::Api;

/// How long an idle connection is kept: shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(15);

/// The host of Anthropic's public API, which tells it from OpenAI's.
const ANTHROPIC: &str = "api.anthropic.com";

/// Connections to upstreams, kept open between requests.
pub(super) type UpstreamClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The address to which requests are forwarded; its path is prepended to theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: String,
    authority: String,
    prefix: String,
}

impl Upstream {
    /// Parses `http://host[:port][/path]`, or the same with https.
    pub fn parse(url: &str) -> Result<Self, NetError> {
        let fault = |reason: &str| NetError::Upstream {
            // The part before the `@` may contain a password, so it is not shown.
            url: url.rsplit('@').next().unwrap_or_default().to_owned(),
            reason: reason.to_owned(),
        };
        let uri: Uri = url.parse().map_err(|_| fault("it cannot be read"))?;
        let scheme = uri.scheme_str().ok_or_else(|| fault("it has no scheme"))?;
        if !["http", "https"].contains(&scheme) {
            return Err(fault("it is neither http nor https"));
        }
        let authority = uri.authority().ok_or_else(|| fault("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(fault(
                "a name or password in it would not be sent; clients send their own key",
            ));
        }
        if uri.query().is_some() {
            return Err(fault("it has a query"));
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            authority: authority.as_str().to_owned(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Whether it is Anthropic's public address.
    pub(super) fn is_anthropic(&self) -> bool {
        self.authority == ANTHROPIC
    }

    /// The public address of the API that a request is for.
    pub fn public(path: &str, is_anthropic: bool) -> Self {
        let api = Api::of_request(path, None);
        let host = match api {
            Api::AnthropicMessages | Api::AnthropicCountTokens => ANTHROPIC,
            _ if is_anthropic => ANTHROPIC,
            _ => "api.openai.com",
        };
        Self {
            scheme: "https".to_owned(),
            authority: host.to_owned(),
            prefix: String::new(),
        }
    }

    /// The host and port.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// The address of a request.
    pub(super) fn uri(&self, path: &str, query: Option<&str>) -> Option<Uri> {
        let Self {
            scheme,
            authority,
            prefix,
        } = self;
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{authority}{prefix}{path}{query}")
            .parse()
            .ok()
    }
}

/// A client that trusts the system's certificates (or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`).
pub(super) fn build_client() -> Result<UpstreamClient, NetError> {
    let mut roots = rustls::RootCertStore::empty();
    // Unreadable certificates are skipped; the others are enough.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| NetError::System(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector))
}

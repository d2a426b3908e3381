//! The upstream: its address, and connections to it with or without TLS.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::server::CONNECTION_BUFFER;
use crate::NetError;
use crate::redact::decode_percent;
use runseal_core::formats::model_io::reading::Api;

/// How long an idle connection is kept: shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(15);

/// The host of Anthropic's public API.
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
        let uri: Uri = url.parse().map_err(|_| fault("it cannot be parsed"))?;
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
        if !stays_below(uri.path()) {
            return Err(fault("its path leads elsewhere"));
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            authority: authority.as_str().to_owned(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Whether this is Anthropic's public address.
    pub(super) fn is_anthropic(&self) -> bool {
        self.authority == ANTHROPIC
    }

    /// Returns the public address of the API that a request is for.
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

    /// Returns the host and port.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the address of a request, which is below this one; `None` if the path leads elsewhere.
    pub fn uri(&self, path: &str, query: Option<&str>) -> Option<Uri> {
        let Self {
            scheme,
            authority,
            prefix,
        } = self;
        if !stays_below(path) {
            return None;
        }
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        let uri: Uri = format!("{scheme}://{authority}{prefix}{path}{query}")
            .parse()
            .ok()?;
        let is_own = uri.authority().map(|own| own.as_str()) == Some(authority)
            && uri.path().strip_prefix(prefix.as_str()) == Some(path);
        is_own.then_some(uri)
    }
}

/// How often a path may be percent-encoded; more is refused.
const DEEPEST_PATH: usize = 4;

/// Whether a path stays below its root, however a server interprets it: with `%2e` as a dot, with `\`
/// or `%2f` as a slash, decoded more than once, or without what follows a `;`.
fn stays_below(path: &str) -> bool {
    if !path.starts_with('/') || path.contains(['#', '?']) {
        return false;
    }
    let mut path = path.as_bytes().to_vec();
    for _ in 0..DEEPEST_PATH {
        // `//host` is another host if it is resolved as a reference.
        if matches!(path.as_slice(), [_, b'/' | b'\\', ..]) {
            return false;
        }
        let mut segments = path.split(|byte| matches!(byte, b'/' | b'\\'));
        let climbs = |segment: &[u8]| {
            let name = segment.split(|byte| *byte == b';').next();
            let name = name.unwrap_or_default().trim_ascii();
            matches!(name, b"." | b"..")
        };
        if segments.any(climbs) || path.iter().any(u8::is_ascii_control) {
            return false;
        }
        match decode_percent(&path) {
            Some(decoded) if decoded != path => path = decoded,
            _ => return true,
        }
    }
    false
}

/// Creates a client that trusts the system's certificates (or those of `SSL_CERT_FILE` and
/// `SSL_CERT_DIR`).
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
        .http1_max_buf_size(CONNECTION_BUFFER)
        .build(connector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_stays_below_its_upstream_or_is_refused() {
        let upstream = Upstream::parse("http://127.0.0.1:9/api/v1/").unwrap();
        for path in [
            "/chat/completions",
            "/models/a%20b",
            "/models/org%2Fname",
            "/x/..y/z..",
            "/v1//twice",
            "/",
        ] {
            let uri = upstream.uri(path, Some("a=../b")).unwrap();
            assert_eq!(uri.path(), format!("/api/v1{path}"));
            assert_eq!(uri.authority().unwrap().as_str(), "127.0.0.1:9");
        }
        for path in [
            "/../admin",
            "/x/..",
            "/./x",
            "/x/../../../admin",
            "/%2e%2e/admin",
            "/.%2E/admin",
            "/%252e%252e/admin",
            "/%25252e%25252e/admin",
            "/x%2f..%2f..%2fadmin",
            "/x%5c..%5cadmin",
            "/x\\..\\admin",
            "/..;a=b/admin",
            "/%2e%2e%3ba/admin",
            "/..%20/admin",
            "//evil.example/x",
            "/%2fevil.example",
            "/\\evil.example",
            "@evil.example/",
            ".evil.example/",
            ":80/",
            "*",
            "",
            "/x%00",
            "/x%0d%0aHost:%20evil.example",
            "/a#b",
        ] {
            assert_eq!(upstream.uri(path, None), None, "{path}");
        }
        for url in ["http://h/v1/../x", "http://h/%2e%2e", "http://h//x"] {
            assert!(Upstream::parse(url).is_err(), "{url}");
        }
    }
}

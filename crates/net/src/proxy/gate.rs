//! Decides which requests are answered: those of the client that the proxy was started for.
//!
//! Other programs on the machine and pages in a browser can reach a listener too. A page is recognized
//! by `Origin` and `Sec-Fetch-Site`; one that points its own host name at our address (DNS rebinding),
//! by `Host`. Other programs on the host's loopback lack the credentials that only the command has. A
//! refused request is neither forwarded nor recorded.

use std::net::{IpAddr, SocketAddr};

use base64ct::{Base64, Encoding};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Uri};
use memchr::memmem;
use runseal_fs::models::{Admission, Credentials};

use super::STAND_IN;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It names another host than this proxy, or none.
    Host,
    /// A web page sent it.
    Origin,
    /// It asks for a connection to another host, or cannot be forwarded.
    Target,
    /// It lacks the key that the command was given.
    Key,
}

impl Refusal {
    /// Returns the code for programs.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Host => "HOST",
            Self::Origin => "ORIGIN",
            Self::Target => "TARGET",
            Self::Key => "KEY",
        }
    }

    /// Returns the message for people.
    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Host => {
                "the `Host` header names another host; use the numeric address that the proxy listens on"
            }
            Self::Origin => "the request comes from a web page; this proxy answers only programs",
            Self::Target => "this proxy forwards requests to its upstream and nowhere else",
            Self::Key => {
                "the request lacks the key of this run; send the value of OPENAI_API_KEY or ANTHROPIC_API_KEY"
            }
        }
    }
}

/// Guards one listener.
#[derive(Debug)]
pub(super) struct Gate {
    address: SocketAddr,
    /// The host name that the user chose to listen on, in lower case.
    name: Option<String>,
    admission: Admission,
}

impl Gate {
    /// Creates a gate for the listener at `address`, which the user may have given by `name`.
    pub(super) fn new(address: SocketAddr, name: Option<&str>, admission: Admission) -> Self {
        Self {
            address,
            name: name.map(str::to_ascii_lowercase),
            admission,
        }
    }

    /// Returns the credentials that clients must send, if any.
    pub(super) fn credentials(&self) -> Option<&Credentials> {
        match &self.admission {
            Admission::Everyone => None,
            Admission::Holders(credentials) => Some(credentials),
        }
    }

    /// Checks whether the request may be answered.
    pub(super) fn check(&self, request: &Parts) -> Result<(), Refusal> {
        self.check_target(request)?;
        let mut hosts = request.headers.get_all("host").iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.is_own(host)) {
            return Err(Refusal::Host);
        }
        if self.is_page(&request.headers) {
            return Err(Refusal::Origin);
        }
        match self.credentials() {
            Some(credentials) if !shows(credentials, request) => Err(Refusal::Key),
            _ => Ok(()),
        }
    }

    /// Checks that the target is a path; if it has a host, that must be this proxy.
    fn check_target(&self, request: &Parts) -> Result<(), Refusal> {
        let Parts { method, uri, .. } = request;
        let is_forwarded = ![Method::CONNECT, Method::TRACE].contains(method);
        let is_own = match uri.authority() {
            None => uri.scheme().is_none(),
            Some(authority) => uri.scheme_str() == Some("http") && self.is_own(authority.as_str()),
        };
        if is_forwarded && is_own && uri.path().starts_with('/') {
            Ok(())
        } else {
            Err(Refusal::Target)
        }
    }

    /// Whether `host[:port]` names this listener. Any other name may resolve to our address if its owner
    /// wants that.
    fn is_own(&self, authority: &str) -> bool {
        let Ok(uri) = authority.parse::<Uri>() else {
            return false;
        };
        let (Some(parsed), None) = (uri.authority(), uri.scheme()) else {
            return false;
        };
        let has_own_port = match parsed.port() {
            Some(port) => port.as_str() == self.address.port().to_string(),
            None => self.address.port() == 80 && !authority.ends_with(':'),
        };
        if authority.contains('@') || !has_own_port {
            return false;
        }
        let host = parsed.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(host) => self.has_address(host),
            Err(_) => {
                let is_reached = self.address.ip().is_loopback() || self.is_everywhere();
                host == "localhost" && is_reached || self.name.as_deref() == Some(host.as_str())
            }
        }
    }

    fn has_address(&self, host: IpAddr) -> bool {
        if self.is_everywhere() {
            return !host.is_unspecified();
        }
        let own = self.address.ip();
        host == own || own.is_loopback() && host.is_loopback()
    }

    fn is_everywhere(&self) -> bool {
        self.address.ip().is_unspecified()
    }

    /// Whether a page of another origin sent the request.
    fn is_page(&self, headers: &HeaderMap) -> bool {
        let is_own_origin = |origin: &HeaderValue| {
            let host = origin.to_str().ok();
            let host = host.and_then(|origin| origin.strip_prefix("http://"));
            host.is_some_and(|host| self.is_own(host))
        };
        let is_own_site =
            |site: &HeaderValue| ["same-origin", "none"].iter().any(|own| site == own);
        let mut origins = headers.get_all("origin").iter();
        let mut sites = headers.get_all("sec-fetch-site").iter();
        !origins.all(is_own_origin) || !sites.all(is_own_site)
    }
}

/// Whether a character may be part of a credential.
fn is_inside(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b",;=&\"'()<>".contains(&byte)
}

/// Whether a request has a credential: in a header, alone or after a scheme, or in a parameter.
fn shows(credentials: &Credentials, request: &Parts) -> bool {
    let admits = |text: &[u8]| {
        let words = text.split(|byte| !is_inside(*byte));
        // `user:password` is separated by a sign that may also be part of a key, so both are tried.
        words.fold(false, |found, word| {
            let last = word.rsplit(|byte| *byte == b':').next().unwrap_or_default();
            found | credentials.admit(word) | credentials.admit(last)
        })
    };
    let values = request.headers.values().map(HeaderValue::as_bytes);
    let query = request.uri.query().unwrap_or_default().as_bytes();
    let mut texts = values.chain([query]);
    texts.any(|text| credentials.admit(text) || admits(text))
        || request
            .headers
            .values()
            .any(|value| basic_pair(value.as_bytes()).is_some_and(|pair| admits(pair.as_slice())))
}

/// Decodes the name and password of `Basic …`.
fn basic_pair(value: &[u8]) -> Option<Vec<u8>> {
    let (scheme, pair) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let is_basic = scheme.eq_ignore_ascii_case("basic");
    is_basic.then(|| Base64::decode_vec(pair.trim()).ok())?
}

/// Replaces the token of the run with the constant stand-in, so that neither the upstream nor the
/// recording gets it.
pub(super) fn conceal_head(token: &str, headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        let concealed = match basic_pair(value.as_bytes()) {
            Some(pair) => replaced(token, &pair)
                .map(|pair| format!("Basic {}", Base64::encode_string(&pair)).into_bytes()),
            None => replaced(token, value.as_bytes()),
        };
        if let Some(Ok(concealed)) = concealed.map(|bytes| HeaderValue::from_bytes(&bytes)) {
            *value = concealed;
        }
    }
    let named: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().contains(token))
        .cloned()
        .collect();
    for name in named {
        headers.remove(name);
    }
}

/// Like [`conceal_head`], for a path or a query.
pub(super) fn conceal_text(token: &str, text: &str) -> String {
    text.replace(token, STAND_IN)
}

/// Like [`conceal_head`], for a body.
pub(super) fn conceal_body(token: &str, body: Vec<u8>) -> Vec<u8> {
    replaced(token, &body).unwrap_or(body)
}

/// Replaces the token in `bytes` with the stand-in; returns `None` if it is not in them.
fn replaced(token: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    for found in memmem::find_iter(bytes, token) {
        out.extend_from_slice(bytes.get(at..found).unwrap_or_default());
        out.extend_from_slice(STAND_IN.as_bytes());
        at = found + token.len();
    }
    if at == 0 {
        return None;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Some(out)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn gate(address: &str, name: Option<&str>) -> Gate {
        Gate::new(address.parse().unwrap(), name, Admission::Everyone)
    }

    fn request(target: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method("POST").uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn host_is_accepted_only_with_address_and_port_of_the_listener() {
        let judge = |gate: &Gate, host: &str| gate.check(&request("/v1/x", &[("host", host)]));
        let own = gate("127.0.0.1:4100", None);
        for host in [
            "127.0.0.1:4100",
            "localhost:4100",
            "LOCALHOST:4100",
            "[::1]:4100",
        ] {
            assert_eq!(judge(&own, host), Ok(()), "{host}");
        }
        for host in [
            "evil.example:4100",
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:80",
            "127.0.0.1:04100",
            "127.0.0.1:4101",
            "localhost.evil.example:4100",
            "127.0.0.1.evil.example:4100",
            "127.0.0.1@evil.example:4100",
            "evil.example@127.0.0.1:4100",
            "user:password@localhost:4100",
            "0.0.0.0:4100",
            "127.1:4100",
            "2130706433:4100",
            "10.0.0.1:4100",
            "127.0.0.1:4100/x",
            "http://127.0.0.1:4100",
            "127.0.0.1:4100, evil.example",
            "",
            "x",
        ] {
            assert_eq!(judge(&own, host), Err(Refusal::Host), "{host}");
        }
        assert_eq!(own.check(&request("/v1/x", &[])), Err(Refusal::Host));
        let twice = [("host", "localhost:4100"), ("host", "evil.example:4100")];
        assert_eq!(own.check(&request("/", &twice)), Err(Refusal::Host));
        let everywhere = gate("0.0.0.0:4100", None);
        assert_eq!(judge(&everywhere, "192.168.1.7:4100"), Ok(()));
        assert_eq!(judge(&everywhere, "my-machine:4100"), Err(Refusal::Host));
        assert_eq!(judge(&everywhere, "0.0.0.0:4100"), Err(Refusal::Host));
        let named = gate("192.168.1.7:80", Some("My-Machine"));
        assert_eq!(judge(&named, "my-machine"), Ok(()));
        assert_eq!(judge(&named, "192.168.1.7"), Ok(()));
        assert_eq!(judge(&named, "localhost"), Err(Refusal::Host));
    }

    #[test]
    fn page_of_another_origin_is_refused() {
        let own = gate("127.0.0.1:4100", None);
        let host = ("host", "127.0.0.1:4100");
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", ""),
            ("origin", "http://localhost:8080"),
            ("origin", "https://127.0.0.1:4100"),
            ("origin", "http://127.0.0.1:4100.evil.example"),
            ("origin", "chrome-extension://abc"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            let refused = own.check(&request("/", &[host, (name, value)]));
            assert_eq!(refused, Err(Refusal::Origin), "{name}: {value}");
        }
        let page = [
            host,
            ("origin", "http://127.0.0.1:4100"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(own.check(&request("/", &page)), Ok(()));
    }

    #[test]
    fn target_with_another_host_and_connect_and_trace_are_refused() {
        let own = gate("127.0.0.1:4100", None);
        let host = [("host", "127.0.0.1:4100")];
        for target in [
            "http://evil.example/v1/x",
            "https://127.0.0.1:4100/",
            "evil.example:443",
            "*",
        ] {
            let mut parts = request(target, &host);
            assert_eq!(own.check(&parts), Err(Refusal::Target), "{target}");
            parts.uri = Uri::from_static("/");
            assert_eq!(own.check(&parts), Ok(()));
            for method in [Method::CONNECT, Method::TRACE] {
                parts.method = method;
                assert_eq!(own.check(&parts), Err(Refusal::Target));
            }
        }
        assert_eq!(
            own.check(&request("http://127.0.0.1:4100/v1", &host)),
            Ok(())
        );
    }

    #[test]
    fn token_is_accepted_wherever_clients_put_keys_and_never_passed_on() {
        let credentials = Credentials::generate([]).unwrap();
        let token = credentials.token().to_owned();
        let address = "127.0.0.1:4100".parse().unwrap();
        let guarded = Gate::new(address, None, Admission::Holders(credentials));
        let pair = Base64::encode_string(format!("user:{token}").as_bytes());
        let host = ("host", "127.0.0.1:4100");
        for (name, value) in [
            ("authorization", format!("Bearer {token}")),
            ("authorization", token.clone()),
            ("authorization", format!("Basic {pair}")),
            ("x-api-key", token.clone()),
            ("api-key", token.clone()),
            ("x-goog-api-key", token.clone()),
            ("cookie", format!("a=b; session={token}")),
        ] {
            let mut shown = request("/v1/x", &[host, (name, &value)]);
            assert_eq!(guarded.check(&shown), Ok(()), "{name}: {value}");
            conceal_head(&token, &mut shown.headers);
            let passed = shown.headers[name].to_str().unwrap();
            assert!(!passed.contains(&token) && passed != value, "{passed}");
            let wrong = value.replace(&token, &token.replace(['1', '2', '3'], "0"));
            let wrong = wrong.replace(&pair, &Base64::encode_string(b"user:runseal-0"));
            let other = request("/v1/x", &[host, (name, &wrong)]);
            assert_eq!(guarded.check(&other), Err(Refusal::Key), "{wrong}");
        }
        let query = format!("/v1beta/models?alt=sse&key={token}");
        assert_eq!(guarded.check(&request(&query, &[host])), Ok(()));
        for headers in [
            &[host][..],
            &[host, ("authorization", "Bearer runseal-keeps-the-key")],
        ] {
            assert_eq!(guarded.check(&request("/v1/x", headers)), Err(Refusal::Key));
        }
        assert_eq!(
            conceal_text(&token, &query),
            query.replace(&token, STAND_IN)
        );
        let body = format!("{{\"env\":\"{token} {token}\"}}").into_bytes();
        let concealed = format!("{{\"env\":\"{STAND_IN} {STAND_IN}\"}}");
        assert_eq!(conceal_body(&token, body), concealed.as_bytes());
    }
}

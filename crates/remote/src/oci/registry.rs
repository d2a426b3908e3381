//! A repository on a registry, accessed by the distribution protocol.
//!
//! Requests are authenticated only when the registry demands it, and only to its own origin: if it
//! redirects a download or names another host for an upload, the request goes there without
//! credentials. Plain HTTP is used for this machine, and for hosts that the user named for it. Only
//! the code of a registry's error is shown, because the text may repeat the request.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::{ContentHash, Digest};
use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use ureq::http::{Method, StatusCode, Uri};
use zeroize::Zeroizing;

use super::OciError;
use super::challenge::Challenge;
use super::credentials::{config_path, is_docker_hub};
use super::download::BlobReader;
use super::manifest::{Descriptor, INDEX, Index, MANIFEST, MAX_MANIFEST};
use super::reference::Host;
use super::repository::{Content, ManifestName, Referrers, Repository, SubjectListing};
use crate::RemoteError;
use crate::http::{Http, Redirects, RepeatableBody, Request, Response, resolve};

/// The most bytes of an error's text or a token response.
pub(super) const MAX_ANSWER: u64 = 1 << 20;

/// Settings for accessing registries.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Whether plain HTTP may be used for any host.
    pub plain_http: bool,
    /// Hosts, with ports, for which plain HTTP may be used.
    pub plain_hosts: Vec<String>,
    /// Foreign token services that may receive passwords.
    pub token_hosts: Vec<String>,
    /// Docker's credentials file.
    pub config: Option<PathBuf>,
    /// The file in which a push records its progress.
    pub upload_state: Option<PathBuf>,
    /// The digest from which a push may move a taken tag.
    pub move_tag: Option<Digest>,
}

impl Access {
    /// Reads the settings in the environment: Docker's configuration, and the comma-separated host
    /// lists `RUNSEAL_PLAIN_HTTP` and `RUNSEAL_TOKEN_HOSTS`.
    pub fn from_environment() -> Self {
        let list = |name: &str| -> Vec<String> {
            let text = std::env::var(name).unwrap_or_default();
            let hosts = text.split(',').map(|host| host.trim().to_ascii_lowercase());
            hosts.filter(|host| !host.is_empty()).collect()
        };
        Self {
            plain_http: false,
            plain_hosts: list("RUNSEAL_PLAIN_HTTP"),
            token_hosts: list("RUNSEAL_TOKEN_HOSTS"),
            config: config_path(),
            upload_state: None,
            move_tag: None,
        }
    }
}

/// What a repository is used for, which a token must allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading only.
    Pull,
    /// Reading and writing.
    Push,
}

/// A repository on a registry.
pub struct Registry {
    pub(super) http: Http,
    /// The origin, such as `https://host`.
    pub(super) base: Uri,
    pub(super) host: Host,
    pub(super) name: String,
    pub(super) purpose: Purpose,
    pub(super) access: Access,
    /// The `Authorization` header, once the registry has demanded one.
    pub(super) authorization: Mutex<Option<Zeroizing<String>>>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

impl Registry {
    /// Creates a repository. Sends nothing yet.
    ///
    /// # Errors
    /// If the host does not form a valid address.
    pub fn new(
        host: &Host,
        name: &str,
        purpose: Purpose,
        access: Access,
    ) -> Result<Self, OciError> {
        let is_plain = host.is_loopback()
            || access.plain_http
            || access
                .plain_hosts
                .iter()
                .any(|plain| plain == host.as_str());
        let scheme = if is_plain { "http" } else { "https" };
        let address = if is_docker_hub(host.as_str()) {
            "registry-1.docker.io"
        } else {
            host.as_str()
        };
        let base = format!("{scheme}://{address}").parse();
        let base = base.map_err(|_| RemoteError::Address {
            address: host.to_string(),
            problem: "it is not a host",
        })?;
        Ok(Self {
            http: Http::new(),
            base,
            host: host.clone(),
            name: name.to_owned(),
            purpose,
            access,
            authorization: Mutex::default(),
        })
    }

    /// Returns an address below this repository.
    pub(super) fn address(&self, rest: &str) -> Result<Uri, OciError> {
        let text = format!("/v2/{}/{rest}", self.name);
        let address = resolve(&self.base, &text);
        address.ok_or_else(|| self.protocol("one of its addresses is not valid"))
    }

    /// Returns the address at which an upload continues.
    pub(super) fn location(&self, response: &Response) -> Result<Uri, OciError> {
        let location = response.text_header("location");
        let next = location.and_then(|location| resolve(&response.uri, location));
        let next = next.ok_or_else(|| self.protocol("an upload has no address to continue at"))?;
        self.check_location(next)
    }

    /// Checks that an upload does not move from HTTPS to plain HTTP.
    pub(super) fn check_location(&self, location: Uri) -> Result<Uri, OciError> {
        match (self.base.scheme_str(), location.scheme_str()) {
            (Some("https"), Some("http")) => {
                Err(self.protocol("an upload would continue without TLS"))
            }
            _ => Ok(location),
        }
    }

    pub(super) fn protocol(&self, problem: impl Into<String>) -> OciError {
        RemoteError::Protocol {
            host: self.host.to_string(),
            problem: problem.into(),
        }
        .into()
    }

    /// Sends a request; if the registry demands authentication, authenticates and sends it again.
    pub(super) fn send(&self, request: &RegistryRequest<'_>) -> Result<Response, OciError> {
        let mut response = self.send_with(request)?;
        // An earlier token may have expired: try a second time with a new one.
        for attempt in 0..2 {
            if response.status != StatusCode::UNAUTHORIZED {
                break;
            }
            let challenge = self.challenge(&response)?;
            if attempt > 0 && challenge == Challenge::Basic {
                break;
            }
            self.authorize(&challenge)?;
            response = self.send_with(request)?;
        }
        Ok(response)
    }

    fn send_with(&self, spec: &RegistryRequest<'_>) -> Result<Response, OciError> {
        let mut request = Request::new(spec.method.clone(), spec.uri.clone());
        for (name, value) in &spec.headers {
            request = request.header(name.clone(), self.header_value(value)?);
        }
        if spec.follows {
            request = request.redirects(Redirects::Follow);
        }
        if spec.is_once {
            request = request.once();
        }
        if let Some(body) = spec.body {
            request = request.body(body);
        }
        // An upload that continues on another host must not send the credentials there.
        if crate::http::is_same_origin(&self.base, &spec.uri) {
            let known = self
                .authorization
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(value) = &*known {
                request = request.credential(AUTHORIZATION, self.header_value(value)?);
            }
        }
        Ok(self.http.send(&request).map_err(RemoteError::from)?)
    }

    pub(super) fn header_value(&self, text: &str) -> Result<HeaderValue, OciError> {
        let value = HeaderValue::from_str(text);
        value.map_err(|_| self.protocol("a header for it is not valid"))
    }

    /// Returns the error for a response that is not a success.
    pub(super) fn refusal(&self, response: Response, what: &str) -> OciError {
        let status = response.status;
        let host = self.host.to_string();
        let place = format!("{}/{} {what}", self.host, self.name);
        let text = response.into_bytes(MAX_ANSWER).unwrap_or_default();
        let answer = match error_codes(&text) {
            codes if codes.is_empty() => status.as_str().to_owned(),
            codes => codes.join(", "),
        };
        let is_full = status == StatusCode::INSUFFICIENT_STORAGE
            || (status.is_server_error() && says_no_space(&text));
        let error = match status.as_u16() {
            _ if is_full => RemoteError::Full { host, answer },
            401 => RemoteError::Unauthorized { host, answer },
            403 => RemoteError::Forbidden { place, answer },
            404 => RemoteError::NotFound { place },
            _ => RemoteError::Refused {
                host,
                status: status.as_u16(),
                answer,
            },
        };
        error.into()
    }
}

/// Returns the codes in a registry's error: upper-case words.
fn error_codes(text: &[u8]) -> Vec<String> {
    let Ok(document) = parse_document(text, &ReadOptions::default()) else {
        return Vec::new();
    };
    let errors = document.root().get("errors");
    let codes = errors.iter().flat_map(|errors| errors.items().take(4));
    let is_code = |code: &String| {
        code.len() <= 64
            && code
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    codes
        .filter_map(|error| Some(error.get("code")?.as_str()?.into_owned()))
        .filter(is_code)
        .collect()
}

/// Whether a registry's error reports that its disk is full.
fn says_no_space(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    // ENOSPC and EDQUOT, as messages and as the numbers that the reference implementation returns.
    let signs = [
        "no space left",
        "quota exceeded",
        r#""err":28"#,
        r#""err":122"#,
    ];
    signs.iter().any(|sign| text.contains(sign))
}

/// A request body in memory.
pub(super) struct Bytes(pub(super) Zeroizing<Vec<u8>>);

impl RepeatableBody for Bytes {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.0.as_slice()))
    }
}

/// A request to the registry, before authentication.
pub(super) struct RegistryRequest<'a> {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) body: Option<&'a dyn RepeatableBody>,
    pub(super) follows: bool,
    pub(super) is_once: bool,
}

impl<'a> RegistryRequest<'a> {
    pub(super) fn new(method: Method, uri: Uri) -> Self {
        Self {
            method,
            uri,
            headers: Vec::new(),
            body: None,
            follows: false,
            is_once: false,
        }
    }

    pub(super) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, body: &'a dyn RepeatableBody) -> Self {
        self.body = Some(body);
        self
    }
}

impl Repository for Registry {
    fn shown(&self) -> String {
        format!("{}/{}", self.host, self.name)
    }

    fn has_blob(&self, blob: &Descriptor) -> Result<bool, OciError> {
        let digest = ContentHash::from(blob.digest);
        let uri = self.address(&format!("blobs/{digest}"))?;
        let mut request = RegistryRequest::new(Method::HEAD, uri);
        request.follows = true;
        let response = self.send(&request)?;
        match response.status.as_u16() {
            200 => Ok(response
                .declared_length()
                .is_none_or(|size| size == blob.size)),
            404 => Ok(false),
            _ => Err(self.refusal(response, &digest.to_string())),
        }
    }

    fn put_blob(&self, blob: &Descriptor, content: &dyn Content) -> Result<(), OciError> {
        self.upload(blob, content)
    }

    fn open_blob(&self, blob: &Descriptor) -> Result<Box<dyn Read + Send + '_>, OciError> {
        Ok(Box::new(BlobReader::open(self, blob)?))
    }

    fn get_manifest(&self, name: &ManifestName) -> Result<Option<Vec<u8>>, OciError> {
        let name = match name {
            ManifestName::Only => super::reference::DEFAULT_TAG.to_owned(),
            other => other.to_string(),
        };
        let uri = self.address(&format!("manifests/{name}"))?;
        let request =
            RegistryRequest::new(Method::GET, uri).header(ACCEPT, format!("{MANIFEST}, {INDEX}"));
        let response = self.send(&request)?;
        match response.status.as_u16() {
            200 => {
                let bytes = response.into_bytes(MAX_MANIFEST);
                Ok(Some(bytes.map_err(RemoteError::from)?))
            }
            404 => Ok(None),
            _ => Err(self.refusal(response, &name)),
        }
    }

    fn put_manifest(
        &self,
        manifest: &Descriptor,
        bytes: &[u8],
        tag: Option<&str>,
    ) -> Result<SubjectListing, OciError> {
        let digest = ContentHash::from(manifest.digest).to_string();
        let uri = self.address(&format!("manifests/{}", tag.unwrap_or(&digest)))?;
        let body = Bytes(Zeroizing::new(bytes.to_vec()));
        let request = RegistryRequest::new(Method::PUT, uri)
            .header(CONTENT_TYPE, manifest.media_type.as_str())
            .body(&body);
        let response = self.send(&request)?;
        if !response.status.is_success() {
            return Err(self.refusal(response, "manifest"));
        }
        self.check_digest(&response, manifest.digest)?;
        Ok(match response.text_header("oci-subject") {
            Some(_) => SubjectListing::ByThePlace,
            None => SubjectListing::ByTheClient,
        })
    }

    fn list_referrers(&self, subject: Digest) -> Result<Referrers, OciError> {
        let digest = ContentHash::from(subject);
        let uri = self.address(&format!("referrers/{digest}"))?;
        let request = RegistryRequest::new(Method::GET, uri).header(ACCEPT, INDEX);
        let response = self.send(&request)?;
        match response.status.as_u16() {
            200 if response.text_header("link").is_some() => {
                // There is another page, and part of a list must not pass for all of it.
                Err(self.protocol("the list of attachments has more than one page"))
            }
            200 => {
                let bytes = response.into_bytes(MAX_MANIFEST);
                let bytes = bytes.map_err(RemoteError::from)?;
                Index::parse(&bytes, "the list of attachments").map(Referrers::Listed)
            }
            404 => Ok(Referrers::Unsupported),
            _ => Err(self.refusal(response, "attachments")),
        }
    }
}

impl Registry {
    /// Fails if the registry reports another digest than ours, because it stored something else.
    pub(super) fn check_digest(
        &self,
        response: &Response,
        expected: Digest,
    ) -> Result<(), OciError> {
        match response.text_header("docker-content-digest") {
            Some(said) if said != ContentHash::from(expected).to_string() => {
                Err(RemoteError::Corrupt {
                    place: self.shown(),
                    problem: format!(
                        "it reports that it stored something else than {}",
                        ContentHash::from(expected)
                    ),
                }
                .into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_are_all_that_is_taken_from_an_error() {
        let text = br#"{"errors":[{"code":"DENIED","message":"Bearer secret"},{"code":"secret"}]}"#;
        assert_eq!(error_codes(text), ["DENIED"]);
        assert!(error_codes(b"<html>").is_empty());
        assert!(says_no_space(br#"{"detail":{"Op":"write","Err":28}}"#));
        assert!(!says_no_space(br#"{"detail":{"Op":"write","Err":2}}"#));
    }
}

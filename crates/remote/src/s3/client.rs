//! One bucket on one server, and the requests to it.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64ct::{Base64, Encoding};
use runseal_core::digest::Digest;
use runseal_core::timestamp::format_utc_seconds;
use ureq::http::header::{HeaderName, HeaderValue};
use ureq::http::{Method, StatusCode, Uri};

use super::address::S3Address;
use super::answer::{Asked, refusal};
use super::credentials::Settings;
use super::listing::ListedSoFar;
use super::sign::{Moment, Signable, authorization, encode, query_text};
use super::upload::BytesBody;
use crate::error::RemoteError;
use crate::http::{Http, RepeatableBody, Request, Response, host};
use crate::place::{Retention, RetentionMode};

/// How often a write is attempted if it conflicts with another write of the same key.
pub(super) const CONFLICTS: u32 = 8;
/// The pause before each repetition.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// A bucket.
#[derive(Debug)]
pub struct Bucket {
    http: Http,
    settings: Settings,
    name: String,
    /// `https://host[:port]`
    origin: String,
    /// The value of the `Host` header.
    host: String,
    /// The path before every key: empty, or the bucket's name below the endpoint's own path.
    path: String,
    pub(super) listed: ListedSoFar,
}

/// An object's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectFacts {
    pub bytes: u64,
    /// The server's checksum, if it covers the whole object.
    pub sha256: Option<Digest>,
    pub retained_until: Option<String>,
    /// The ETag, which distinguishes this object from others under the same key.
    pub tag: Option<String>,
}

/// The result of a write that must not overwrite anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutOutcome {
    /// The object was written.
    Created,
    /// An object with this key existed already.
    Existed,
}

/// The parts of a request other than its method and key.
#[derive(Default)]
pub(super) struct Details<'a> {
    pub query: Vec<(String, String)>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<(&'a dyn RepeatableBody, Digest)>,
}

impl Bucket {
    /// Opens a bucket with the server and keys from the environment.
    ///
    /// # Errors
    /// If the settings in the environment are not usable.
    pub fn open(http: &Http, name: &str) -> Result<Self, RemoteError> {
        let settings = Settings::find()?;
        let bad = |problem| RemoteError::Address {
            address: "AWS_ENDPOINT_URL".to_owned(),
            problem,
        };
        let (origin, path) = match &settings.endpoint {
            Some(endpoint) => {
                let origin = endpoint.trim_end_matches('/');
                let uri: Uri = origin.parse().map_err(|_| bad("it is not a URL"))?;
                let has_user = uri
                    .authority()
                    .is_some_and(|part| part.as_str().contains('@'));
                if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
                    return Err(bad("it is not an http:// or https:// URL"));
                }
                if has_user || uri.query().is_some() {
                    return Err(bad("it has more than scheme, host, port and path"));
                }
                let above = uri.path().trim_end_matches('/');
                let scheme = uri.scheme_str().unwrap_or_default();
                let origin = format!("{scheme}://{}", host(&uri));
                (origin, format!("{above}/{}", encode(name, false)))
            }
            None => {
                let ending = if settings.region.starts_with("cn-") {
                    "amazonaws.com.cn"
                } else {
                    "amazonaws.com"
                };
                let server = format!("s3.{}.{ending}", settings.region);
                // The server's wildcard certificate does not cover a bucket name with a dot.
                if name.contains('.') {
                    (format!("https://{server}"), format!("/{name}"))
                } else {
                    (format!("https://{name}.{server}"), String::new())
                }
            }
        };
        let uri: Uri = origin.parse().map_err(|_| bad("it is not a URL"))?;
        Ok(Self {
            http: http.clone(),
            settings,
            name: name.to_owned(),
            host: host(&uri),
            origin,
            path,
            listed: ListedSoFar::default(),
        })
    }

    /// Returns the server.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the address of a key, for messages.
    pub(super) fn shown(&self, key: &str) -> String {
        let address = S3Address {
            bucket: self.name.clone(),
            key: key.to_owned(),
            pin: None,
        };
        address.to_string()
    }

    pub(super) fn asked(&self, key: &str) -> Asked<'_> {
        Asked {
            bucket: &self.name,
            place: self.shown(key),
        }
    }

    /// Sends a request and returns the response, whatever its status.
    pub(super) fn send(
        &self,
        method: Method,
        key: &str,
        details: &Details<'_>,
    ) -> Result<Response, RemoteError> {
        let path = match key {
            "" => format!("{}/", self.path),
            key => format!("{}/{}", self.path, encode(key, true)),
        };
        let mut query: Vec<_> = details.query.iter().collect();
        query.sort_unstable();
        let target = if query.is_empty() {
            format!("{}{path}", self.origin)
        } else {
            format!("{}{path}?{}", self.origin, query_text(&query))
        };
        let uri: Uri = target.parse().map_err(|_| RemoteError::Address {
            address: self.shown(key),
            problem: "it cannot be written as a URL",
        })?;
        let body = details
            .body
            .map_or_else(|| Digest::of(b""), |(_, digest)| digest);
        let moment = now(&self.host)?;
        let mut headers = details.headers.clone();
        headers.push(("x-amz-content-sha256", body.to_string()));
        headers.push(("x-amz-date", moment.as_str().to_owned()));
        let mut request = Request::new(method.clone(), uri);
        for (name, value) in &headers {
            request = request.header(HeaderName::from_static(name), self.value(value)?);
        }
        if let Some(credentials) = &self.settings.credentials {
            if let Some(token) = credentials.session_token() {
                headers.push(("x-amz-security-token", token.to_owned()));
                let name = HeaderName::from_static("x-amz-security-token");
                request = request.credential(name, self.value(token)?);
            }
            let signable = Signable {
                method: method.as_str(),
                host: &self.host,
                path: &path,
                query: &details.query,
                headers: &headers,
                body,
            };
            let signed = authorization(&signable, credentials, &self.settings.region, &moment);
            let name = HeaderName::from_static("authorization");
            request = request.credential(name, self.value(&signed)?);
        }
        if let Some((body, _)) = details.body {
            request = request.body(body);
        }
        let response = self.http.send(&request)?;
        if response.status == StatusCode::FORBIDDEN && self.settings.credentials.is_none() {
            return Err(RemoteError::NoCredentials {
                host: self.host.clone(),
            });
        }
        Ok(response)
    }

    /// Makes a header value; the error does not quote the text.
    fn value(&self, text: &str) -> Result<HeaderValue, RemoteError> {
        HeaderValue::from_str(text).map_err(|_| RemoteError::Credentials {
            path: "the environment".to_owned(),
            problem: "a value has characters that a header cannot have".to_owned(),
        })
    }

    /// Like `send`, but any response other than a success is an error.
    pub(super) fn demand(
        &self,
        method: Method,
        key: &str,
        details: &Details<'_>,
    ) -> Result<Response, RemoteError> {
        let response = self.send(method, key, details)?;
        if response.status.is_success() {
            Ok(response)
        } else {
            Err(refusal(response, &self.asked(key)))
        }
    }

    /// Requests an object from a byte offset on; returns `None` if it does not exist.
    pub(super) fn get(&self, key: &str, from: u64) -> Result<Option<Response>, RemoteError> {
        let mut details = Details::default();
        if from > 0 {
            details.headers.push(("range", format!("bytes={from}-")));
        }
        let response = self.send(Method::GET, key, &details)?;
        match response.status {
            StatusCode::OK if from == 0 => Ok(Some(response)),
            StatusCode::PARTIAL_CONTENT if from > 0 => Ok(Some(response)),
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => Err(RemoteError::Protocol {
                host: self.host.clone(),
                problem: "it sent another range than was requested".to_owned(),
            }),
            _ => match refusal(response, &self.asked(key)) {
                RemoteError::NotFound { .. } => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Requests the metadata of an object; returns `None` if it does not exist.
    pub(super) fn head(&self, key: &str) -> Result<Option<ObjectFacts>, RemoteError> {
        let details = Details {
            headers: vec![("x-amz-checksum-mode", "ENABLED".to_owned())],
            ..Details::default()
        };
        let response = self.send(Method::HEAD, key, &details)?;
        if response.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !response.status.is_success() {
            // A response to HEAD has no body, so request one that explains the error.
            return Err(match self.explain(key) {
                Err(error) => error,
                Ok(()) => refusal(response, &self.asked(key)),
            });
        }
        let bytes = response.declared_length();
        let tag = response.text_header("etag").map(str::to_owned);
        // The checksum of a multipart object is computed from those of its parts, but not all servers
        // say so.
        let is_single_part = tag.as_ref().is_some_and(|tag| !tag.contains('-'));
        let checksum = response.text_header("x-amz-checksum-sha256");
        let checksum = checksum.filter(|_| is_single_part);
        let retained = response.text_header("x-amz-object-lock-retain-until-date");
        Ok(Some(ObjectFacts {
            bytes: bytes.ok_or_else(|| RemoteError::Protocol {
                host: self.host.clone(),
                problem: "it does not declare an object's size".to_owned(),
            })?,
            sha256: checksum.and_then(parse_checksum),
            retained_until: retained.map(str::to_owned),
            tag,
        }))
    }

    /// Requests one byte, because an error response to GET has a body that explains it.
    fn explain(&self, key: &str) -> Result<(), RemoteError> {
        let details = Details {
            headers: vec![("range", "bytes=0-0".to_owned())],
            ..Details::default()
        };
        self.demand(Method::GET, key, &details).map(drop)
    }

    /// Writes an object unless its key exists.
    pub(super) fn put_new(
        &self,
        key: &str,
        (body, digest): (&dyn RepeatableBody, Digest),
        retention: Option<&Retention>,
    ) -> Result<PutOutcome, RemoteError> {
        let mut headers = vec![
            ("if-none-match", "*".to_owned()),
            ("x-amz-checksum-sha256", checksum(digest)),
            // Servers accept locked objects only if the checksum is announced this way.
            ("x-amz-sdk-checksum-algorithm", "SHA256".to_owned()),
        ];
        headers.extend(retention_headers(retention));
        let details = Details {
            headers,
            body: Some((body, digest)),
            ..Details::default()
        };
        self.write_once(Method::PUT, key, &details)
    }

    /// Makes a conditional write, and repeats it if it conflicts with another one in progress.
    pub(super) fn write_once(
        &self,
        method: Method,
        key: &str,
        details: &Details<'_>,
    ) -> Result<PutOutcome, RemoteError> {
        for _ in 0..CONFLICTS {
            let response = self.send(method.clone(), key, details)?;
            match response.status {
                StatusCode::PRECONDITION_FAILED => {
                    response.discard();
                    return Ok(PutOutcome::Existed);
                }
                StatusCode::CONFLICT => {
                    response.discard();
                    thread::sleep(PAUSE);
                }
                status if status.is_success() => {
                    response.discard();
                    return Ok(PutOutcome::Created);
                }
                _ => return Err(refusal(response, &self.asked(key))),
            }
        }
        Err(RemoteError::Refused {
            host: self.host.clone(),
            status: StatusCode::CONFLICT.as_u16(),
            answer: "others keep writing the same key".to_owned(),
        })
    }

    /// Makes sure that an existing object is locked for at least as long as `retention` says.
    pub(super) fn extend_retention(
        &self,
        key: &str,
        retention: &Retention,
    ) -> Result<(), RemoteError> {
        let facts = self.head(key)?;
        let until = facts.and_then(|facts| facts.retained_until);
        // Both are UTC, so up to the second they compare as text.
        let seconds = |text: &str| text.get(..19).map(str::to_owned);
        if until.as_deref().and_then(seconds) >= seconds(&retention.until) {
            return Ok(());
        }
        let text = format!(
            "<Retention xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Mode>{}</Mode>\
             <RetainUntilDate>{}</RetainUntilDate></Retention>",
            mode_name(retention.mode),
            retention.until
        );
        let digest = Digest::of(text.as_bytes());
        let details = Details {
            query: vec![("retention".to_owned(), String::new())],
            headers: vec![
                ("x-amz-checksum-sha256", checksum(digest)),
                ("x-amz-sdk-checksum-algorithm", "SHA256".to_owned()),
            ],
            body: Some((&BytesBody(text.as_bytes()), digest)),
        };
        self.demand(Method::PUT, key, &details)
            .map(Response::discard)
    }
}

fn now(host: &str) -> Result<Moment, RemoteError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let seconds = since.and_then(|since| i64::try_from(since.as_secs()).ok());
    let text = seconds.and_then(format_utc_seconds);
    let text = text.ok_or_else(|| RemoteError::Protocol {
        host: host.to_owned(),
        problem: "this machine's clock has no valid time to sign a request with".to_owned(),
    })?;
    Ok(Moment::from_iso(&text))
}

/// Returns the headers that lock a new object.
pub(super) fn retention_headers(
    retention: Option<&Retention>,
) -> impl Iterator<Item = (&'static str, String)> {
    let headers = retention.map(|retention| {
        let mode = mode_name(retention.mode).to_owned();
        let until = retention.until.clone();
        [
            ("x-amz-object-lock-mode", mode),
            ("x-amz-object-lock-retain-until-date", until),
        ]
    });
    headers.into_iter().flatten()
}

const fn mode_name(mode: RetentionMode) -> &'static str {
    match mode {
        RetentionMode::Governance => "GOVERNANCE",
        RetentionMode::Compliance => "COMPLIANCE",
    }
}

/// Returns a digest in the form of a checksum header.
pub(super) fn checksum(digest: Digest) -> String {
    Base64::encode_string(digest.as_bytes())
}

/// Reads the digest in a checksum header; returns `None` if it was computed from parts.
pub(super) fn parse_checksum(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    let decoded = Base64::decode(text, &mut bytes).ok()?;
    (decoded.len() == bytes.len()).then_some(Digest::from_bytes(bytes))
}

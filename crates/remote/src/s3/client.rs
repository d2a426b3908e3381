//! One bucket of one server, and the requests that are made to it.

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
use super::sign::{Moment, Signable, authorization, encode, query_text};
use super::upload::BytesBody;
use crate::error::RemoteError;
use crate::http::{Http, RepeatableBody, Request, Response, host};
use crate::place::{Retention, RetentionMode};

/// How often a write is made again that met another write of the same key.
pub(super) const CONFLICTS: u32 = 8;
/// How long to wait before that.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// A bucket.
#[derive(Debug)]
pub struct Bucket {
    http: Http,
    settings: Settings,
    name: String,
    /// `https://host[:port]`
    origin: String,
    /// The host as requests name it.
    host: String,
    /// What stands before every key: empty, or `/bucket`.
    path: String,
}

/// What a server says of an object without sending it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectFacts {
    pub bytes: u64,
    /// The checksum that the server keeps, where it is that of the whole object.
    pub sha256: Option<Digest>,
    pub retained_until: Option<String>,
    /// What tells this object from another one under the same key.
    pub tag: Option<String>,
}

/// What became of something that is written once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// It was not there, and is now.
    Now,
    /// Something has this key already.
    Before,
}

/// What a request has beside its method and its key.
#[derive(Default)]
pub(super) struct Details<'a> {
    pub query: Vec<(String, String)>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<(&'a dyn RepeatableBody, Digest)>,
}

impl Bucket {
    /// The bucket that an address is in, with what the environment says about servers and keys.
    ///
    /// # Errors
    /// When the environment cannot be used.
    pub fn open(http: &Http, name: &str) -> Result<Self, RemoteError> {
        let settings = Settings::find()?;
        let bad = |problem| RemoteError::Address {
            address: "AWS_ENDPOINT_URL".to_owned(),
            problem,
        };
        let (origin, path) = match &settings.endpoint {
            Some(endpoint) => {
                let origin = endpoint.trim_end_matches('/');
                let uri: Uri = origin.parse().map_err(|_| bad("it is no URL"))?;
                let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
                if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
                    return Err(bad("it is no http:// or https:// URL"));
                }
                if has_user || uri.query().is_some() {
                    return Err(bad("it holds more than scheme, host, port and path"));
                }
                let above = uri.path().trim_end_matches('/');
                let scheme = uri.scheme_str().unwrap_or_default();
                let origin = format!("{scheme}://{}", host(&uri));
                (origin, format!("{above}/{}", encode(name, false)))
            }
            None => {
                let ending = match settings.region.starts_with("cn-") {
                    true => "amazonaws.com.cn",
                    false => "amazonaws.com",
                };
                let server = format!("s3.{}.{ending}", settings.region);
                // A dot would need a certificate that nobody has.
                match name.contains('.') {
                    true => (format!("https://{server}"), format!("/{name}")),
                    false => (format!("https://{name}.{server}"), String::new()),
                }
            }
        };
        let uri: Uri = origin.parse().map_err(|_| bad("it is no URL"))?;
        Ok(Self {
            http: http.clone(),
            settings,
            name: name.to_owned(),
            host: host(&uri),
            origin,
            path,
        })
    }

    /// The server.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The address of a key, for messages.
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

    /// Makes a request and gives back what was answered, whatever the status.
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
        let target = match query.is_empty() {
            true => format!("{}{path}", self.origin),
            false => format!("{}{path}?{}", self.origin, query_text(&query)),
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

    /// A header's value; the text is never quoted where it cannot be one.
    fn value(&self, text: &str) -> Result<HeaderValue, RemoteError> {
        HeaderValue::from_str(text).map_err(|_| RemoteError::Credentials {
            path: "the environment".to_owned(),
            problem: "a value holds characters that no header can have".to_owned(),
        })
    }

    /// The same, where every answer but a success is an error.
    pub(super) fn demand(
        &self,
        method: Method,
        key: &str,
        details: &Details<'_>,
    ) -> Result<Response, RemoteError> {
        let response = self.send(method, key, details)?;
        match response.status.is_success() {
            true => Ok(response),
            false => Err(refusal(response, &self.asked(key))),
        }
    }

    /// The object, from a byte on; `None` where there is none.
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
                problem: "it sent another range than was asked for".to_owned(),
            }),
            _ => match refusal(response, &self.asked(key)) {
                RemoteError::NotFound { .. } => Ok(None),
                error => Err(error),
            },
        }
    }

    /// What the server says of an object; `None` where there is none.
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
            // Such an answer has no body that would say more.
            return Err(match self.explain(key) {
                Err(error) => error,
                Ok(()) => refusal(response, &self.asked(key)),
            });
        }
        let bytes = response.declared_length();
        let tag = response.text_header("etag").map(str::to_owned);
        // The checksum of an object that came in parts is made of theirs, and not all servers say so.
        let came_whole = tag.as_ref().is_some_and(|tag| !tag.contains('-'));
        let checksum = response.text_header("x-amz-checksum-sha256");
        let checksum = checksum.filter(|_| came_whole);
        let retained = response.text_header("x-amz-object-lock-retain-until-date");
        Ok(Some(ObjectFacts {
            bytes: bytes.ok_or_else(|| RemoteError::Protocol {
                host: self.host.clone(),
                problem: "it says nothing of an object's size".to_owned(),
            })?,
            sha256: checksum.and_then(parse_checksum),
            retained_until: retained.map(str::to_owned),
            tag,
        }))
    }

    /// Asks for a byte, so that the answer has words where it is a refusal.
    fn explain(&self, key: &str) -> Result<(), RemoteError> {
        let details = Details {
            headers: vec![("range", "bytes=0-0".to_owned())],
            ..Details::default()
        };
        self.demand(Method::GET, key, &details).map(drop)
    }

    /// Writes an object whose key nothing has yet.
    pub(super) fn put_new(
        &self,
        key: &str,
        (body, digest): (&dyn RepeatableBody, Digest),
        retention: Option<&Retention>,
    ) -> Result<Written, RemoteError> {
        let mut headers = vec![
            ("if-none-match", "*".to_owned()),
            ("x-amz-checksum-sha256", checksum(digest)),
            // Objects that are locked are taken only where a checksum is announced so.
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

    /// Makes a conditional write, again where another write was under way.
    pub(super) fn write_once(
        &self,
        method: Method,
        key: &str,
        details: &Details<'_>,
    ) -> Result<Written, RemoteError> {
        for _ in 0..CONFLICTS {
            let response = self.send(method.clone(), key, details)?;
            match response.status {
                StatusCode::PRECONDITION_FAILED => {
                    response.discard();
                    return Ok(Written::Before);
                }
                StatusCode::CONFLICT => {
                    response.discard();
                    thread::sleep(PAUSE);
                }
                status if status.is_success() => {
                    response.discard();
                    return Ok(Written::Now);
                }
                _ => return Err(refusal(response, &self.asked(key))),
            }
        }
        Err(RemoteError::Refused {
            host: self.host.clone(),
            status: StatusCode::CONFLICT.as_u16(),
            answer: "others write the same key over and over".to_owned(),
        })
    }

    /// Makes sure that an object which is there already is locked for as long as `retention` says.
    pub(super) fn extend_retention(
        &self,
        key: &str,
        retention: &Retention,
    ) -> Result<(), RemoteError> {
        let facts = self.head(key)?;
        let until = facts.and_then(|facts| facts.retained_until);
        // Both are UTC, of which the later one is the greater text up to the second.
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
        problem: "this machine's clock has no time that a request can be signed with".to_owned(),
    })?;
    Ok(Moment::from_iso(&text))
}

/// Headers that lock a new object.
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

/// A digest as checksums are written.
pub(super) fn checksum(digest: Digest) -> String {
    Base64::encode_string(digest.as_bytes())
}

/// The digest that a checksum is; `None` for one that is made of those of parts.
pub(super) fn parse_checksum(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    let decoded = Base64::decode(text, &mut bytes).ok()?;
    (decoded.len() == bytes.len()).then_some(Digest::from_bytes(bytes))
}

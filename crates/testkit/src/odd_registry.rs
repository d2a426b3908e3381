//! A small registry in memory that can misbehave in ways that no packaged server does.
//!
//! It lists referrers, issues tokens, redirects clients to other hosts, lies about content, drops
//! connections and asks clients to retry; and it records the requests.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::{ContentHash, Digest};

/// How the registry behaves.
#[derive(Debug, Clone, Default)]
pub struct Manners {
    /// It has a list of referrers.
    pub lists_referrers: bool,
    /// Asking for referrers fails.
    pub referrers_fail: bool,
    /// `user:password`, in base64, that `Basic` demands.
    pub basic: Option<String>,
    /// `user:password`, in base64, for which tokens are issued; empty for everyone.
    pub bearer: Option<String>,
    /// The host that issues tokens, if it is another.
    pub token_host: Option<String>,
    /// The number of requests a token is valid for.
    pub token_uses: Option<u32>,
    /// The host that uploads continue at, if it is another.
    pub upload_host: Option<String>,
    /// The host that blobs are read from, if it is another.
    pub blob_host: Option<String>,
    /// Blobs silently end after this many bytes.
    pub blobs_end_at: Option<usize>,
    /// One byte of every blob is changed.
    pub blobs_are_changed: bool,
    /// The number of requests that are first answered with 429.
    pub busy_for: u32,
    /// The connection drops after this many bytes of a piece, which are kept; this many times.
    pub breaks_off: Option<(usize, u32)>,
    /// With `breaks_off`, the connection stays open instead, but nothing is processed or answered until
    /// the client is gone.
    pub stalls: bool,
    /// The smallest piece it accepts.
    pub least_piece: Option<u64>,
    /// Error answers repeat the credentials that the client sent.
    pub repeats_secrets: bool,
}

#[derive(Default)]
struct State {
    manners: Manners,
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    uploads: BTreeMap<String, Vec<u8>>,
    tokens: BTreeMap<String, u32>,
    requests: Vec<String>,
    next: u32,
}

/// A running registry.
#[derive(Clone)]
pub struct OddRegistry {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct Asked {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Asked {
    /// The offset at which a piece of an upload claims to begin.
    fn begins_at(&self) -> Option<usize> {
        let range = self.headers.get("content-range")?;
        range.split_once('-')?.0.parse().ok()
    }
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Bytes of the body that are sent before the connection ends.
    ends_at: Option<usize>,
}

impl Answer {
    fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            ends_at: None,
        }
    }

    fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

impl OddRegistry {
    /// Starts a registry with these manners.
    pub fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let registry = Self {
            port,
            state: Arc::new(Mutex::new(State {
                manners,
                ..State::default()
            })),
        };
        let serving = registry.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                thread::spawn(move || serving.serve(stream));
            }
        });
        registry
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Changes how it behaves from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Manners)) {
        change(&mut self.state.lock().unwrap().manners);
    }

    /// Every request: method, path, and `with credentials` if it had any.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The tags and digests of all manifests.
    pub fn manifests(&self) -> Vec<String> {
        self.state
            .lock()
            .unwrap()
            .manifests
            .keys()
            .cloned()
            .collect()
    }

    /// Bytes of uploads that are not complete.
    pub fn unfinished(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.uploads.values().map(Vec::len).sum()
    }

    /// Stores a manifest unchecked.
    pub fn plant(&self, tag: &str, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let kind = "application/vnd.oci.image.manifest.v1+json".to_owned();
        let digest = ContentHash::of(bytes).to_string();
        for name in [tag, &digest] {
            let entry = (kind.clone(), bytes.to_vec());
            state.manifests.insert(name.to_owned(), entry);
        }
    }

    /// The bytes of a manifest.
    pub fn manifest(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock().unwrap();
        state.manifests.get(name).map(|(_, bytes)| bytes.clone())
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(asked) = self.read(&mut reader) {
            let answer = self.answer(&asked);
            if !write(&stream, &answer, asked.method == "HEAD") {
                return;
            }
        }
    }

    /// Reads a request; `None` if the client is gone or its connection was dropped.
    fn read(&self, reader: &mut BufReader<TcpStream>) -> Option<Asked> {
        let mut line = String::new();
        reader
            .read_line(&mut line)
            .ok()
            .filter(|count| *count > 0)?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path.to_owned(), query.to_owned()),
            None => (target, String::new()),
        };
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.parse::<usize>().unwrap());
        let mut asked = Asked {
            method,
            path,
            query,
            headers,
            body: Vec::new(),
        };
        let cut = self.cut(&asked);
        if let Some(cut) = cut.filter(|cut| *cut < length) {
            reader.take(cut as u64).read_to_end(&mut asked.body).ok()?;
            let mut state = self.state.lock().unwrap();
            let upload = asked.path.rsplit('/').next().unwrap().to_owned();
            let body = asked.body;
            state.uploads.entry(upload).or_default().extend(body);
            let stalls = state.manners.stalls;
            drop(state);
            if stalls {
                let _ = std::io::copy(reader, &mut std::io::sink());
            }
            return None;
        }
        reader
            .take(length as u64)
            .read_to_end(&mut asked.body)
            .ok()?;
        Some(asked)
    }

    /// The number of bytes after which this request's connection is to drop, if it is.
    fn cut(&self, asked: &Asked) -> Option<usize> {
        let mut state = self.state.lock().unwrap();
        let upload = asked.path.rsplit('/').next().unwrap();
        let there = state.uploads.get(upload).map(Vec::len);
        let (at, left) = state.manners.breaks_off.as_mut()?;
        if asked.method != "PATCH" || *left == 0 || asked.begins_at() != there {
            return None;
        }
        *left -= 1;
        Some(*at)
    }

    fn answer(&self, asked: &Asked) -> Answer {
        let mut state = self.state.lock().unwrap();
        let authorization = asked.headers.get("authorization").cloned();
        let with = authorization.as_ref().map_or("", |_| " with credentials");
        let request = format!("{} {}{with}", asked.method, asked.path);
        state.requests.push(request);
        if state.manners.busy_for > 0 {
            state.manners.busy_for -= 1;
            return Answer::new(429).header("retry-after", "0");
        }
        if asked.path == "/token" {
            return state.issue_token(authorization.as_deref());
        }
        if let Some(refused) = state.refuse(authorization.as_deref(), self.port) {
            return refused;
        }
        let Some(rest) = asked.path.strip_prefix("/v2/") else {
            return Answer::new(404);
        };
        if let Some((_, digest)) = rest.split_once("/referrers/") {
            return state.referrers(digest);
        }
        if let Some((_, name)) = rest.split_once("/manifests/") {
            return state.manifest(asked, name);
        }
        if let Some((name, upload)) = rest.split_once("/blobs/uploads/") {
            return state.upload(asked, name, upload, self.port);
        }
        if let Some((_, digest)) = rest.split_once("/blobs/") {
            return state.blob(asked, digest);
        }
        Answer::new(404)
    }
}

impl State {
    fn issue_token(&mut self, authorization: Option<&str>) -> Answer {
        let wanted = self.manners.bearer.clone().unwrap_or_default();
        let is_right = authorization == Some(format!("Basic {wanted}").as_str());
        if !wanted.is_empty() && !is_right {
            return self.error(401, "UNAUTHORIZED", authorization);
        }
        self.next += 1;
        let token = format!("t0ken-{}", self.next);
        let uses = self.manners.token_uses.unwrap_or(u32::MAX);
        self.tokens.insert(token.clone(), uses);
        Answer::new(200).body(format!(r#"{{"token":"{token}"}}"#))
    }

    fn refuse(&mut self, authorization: Option<&str>, port: u16) -> Option<Answer> {
        if let Some(basic) = &self.manners.basic {
            if authorization == Some(format!("Basic {basic}").as_str()) {
                return None;
            }
            let refused = self.error(401, "UNAUTHORIZED", authorization);
            return Some(refused.header("www-authenticate", "Basic realm=\"test\""));
        }
        self.manners.bearer.as_ref()?;
        let token = authorization.and_then(|value| value.strip_prefix("Bearer "));
        if let Some(uses) = token.and_then(|token| self.tokens.get_mut(token))
            && *uses > 0
        {
            *uses -= 1;
            return None;
        }
        let own = format!("127.0.0.1:{port}");
        let host = self.manners.token_host.clone().unwrap_or(own);
        let challenge = format!(
            "Bearer realm=\"http://{host}/token\",service=\"test\",scope=\"repository:x:pull\""
        );
        let refused = self.error(401, "UNAUTHORIZED", authorization);
        Some(refused.header("www-authenticate", challenge))
    }

    fn error(&self, status: u16, code: &str, secret: Option<&str>) -> Answer {
        let secret = secret.filter(|_| self.manners.repeats_secrets);
        let message = secret.unwrap_or("no");
        Answer::new(status).body(format!(
            r#"{{"errors":[{{"code":"{code}","message":"{message}"}}]}}"#
        ))
    }

    fn referrers(&self, digest: &str) -> Answer {
        if self.manners.referrers_fail {
            return Answer::new(403);
        }
        if !self.manners.lists_referrers {
            return Answer::new(404);
        }
        let mut entries = Vec::new();
        for (name, (kind, bytes)) in &self.manifests {
            let is_digest = name.starts_with("sha256:");
            let subject = parse_document(bytes, &ReadOptions::default()).unwrap();
            let root = subject.root();
            let of = root
                .get("subject")
                .and_then(|subject| subject.get("digest")?.as_str());
            if is_digest && of.as_deref() == Some(digest) {
                let artifact = root.get("artifactType").and_then(|kind| kind.as_str());
                entries.push(format!(
                    r#"{{"mediaType":"{kind}","digest":"{name}","size":{},"artifactType":"{}"}}"#,
                    bytes.len(),
                    artifact.unwrap_or_default()
                ));
            }
        }
        Answer::new(200).body(format!(
            r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
            entries.join(",")
        ))
    }

    fn manifest(&mut self, asked: &Asked, name: &str) -> Answer {
        if asked.method == "PUT" {
            let digest = ContentHash::of(&asked.body).to_string();
            let kind = asked.headers.get("content-type").cloned();
            let entry = (kind.unwrap_or_default(), asked.body.clone());
            self.manifests.insert(digest.clone(), entry.clone());
            self.manifests.insert(name.to_owned(), entry);
            let mut answer = Answer::new(201).header("docker-content-digest", digest);
            let document = parse_document(&asked.body, &ReadOptions::default()).unwrap();
            let subject = document.root().get("subject");
            let subject = subject.and_then(|subject| subject.get("digest")?.as_str());
            if let (Some(subject), true) = (subject, self.manners.lists_referrers) {
                answer = answer.header("oci-subject", subject.into_owned());
            }
            return answer;
        }
        match self.manifests.get(name) {
            Some((kind, bytes)) => Answer::new(200)
                .header("content-type", kind.clone())
                .body(bytes.clone()),
            None => self.error(404, "MANIFEST_UNKNOWN", None),
        }
    }

    fn blob(&self, asked: &Asked, digest: &str) -> Answer {
        if let Some(host) = &self.manners.blob_host
            && asked.method == "GET"
        {
            let location = format!("http://{host}{}", asked.path);
            return Answer::new(307).header("location", location);
        }
        let Some(bytes) = self.blobs.get(digest) else {
            return self.error(404, "BLOB_UNKNOWN", None);
        };
        let mut bytes = bytes.clone();
        if self.manners.blobs_are_changed
            && let Some(byte) = bytes.last_mut()
        {
            *byte ^= 1;
        }
        let range = asked.headers.get("range");
        let from = range.and_then(|range| {
            let range = range.strip_prefix("bytes=")?.strip_suffix('-')?;
            range.parse::<usize>().ok()
        });
        if from.is_some_and(|from| from >= bytes.len()) {
            return Answer::new(416);
        }
        let mut answer = match from {
            Some(from) => Answer::new(206).body(bytes.split_off(from)),
            None => Answer::new(200).body(bytes),
        };
        answer.ends_at = self.manners.blobs_end_at;
        answer
    }

    fn upload(&mut self, asked: &Asked, name: &str, upload: &str, port: u16) -> Answer {
        let own = format!("127.0.0.1:{port}");
        let host = self.manners.upload_host.clone().unwrap_or(own);
        let location =
            |upload: &str| format!("http://{host}/v2/{name}/blobs/uploads/{upload}?state=a%3Db");
        match asked.method.as_str() {
            "POST" => {
                self.next += 1;
                let upload = self.next.to_string();
                self.uploads.insert(upload.clone(), Vec::new());
                let answer = Answer::new(202).header("location", location(&upload));
                match self.manners.least_piece {
                    Some(least) => answer.header("oci-chunk-min-length", least.to_string()),
                    None => answer,
                }
            }
            "GET" => match self.uploads.get(upload) {
                Some(bytes) => Answer::new(204)
                    .header("location", location(upload))
                    .header("range", format!("0-{}", bytes.len().saturating_sub(1))),
                None => self.error(404, "BLOB_UPLOAD_UNKNOWN", None),
            },
            "PATCH" => {
                let bytes = self.uploads.entry(upload.to_owned()).or_default();
                if asked.begins_at() != Some(bytes.len()) {
                    return self.error(416, "BLOB_UPLOAD_INVALID", None);
                }
                bytes.extend(&asked.body);
                let range = format!("0-{}", bytes.len() - 1);
                Answer::new(202)
                    .header("location", location(upload))
                    .header("range", range)
            }
            "PUT" => {
                let mut bytes = self.uploads.remove(upload).unwrap_or_default();
                bytes.extend(&asked.body);
                let digest = ContentHash::from(Digest::of(&bytes)).to_string();
                let wanted = asked.query.split('&').find_map(|pair| {
                    let digest = pair.strip_prefix("digest=")?;
                    Some(digest.replace("%3A", ":"))
                });
                if wanted.as_deref() != Some(digest.as_str()) {
                    return self.error(400, "DIGEST_INVALID", None);
                }
                self.blobs.insert(digest.clone(), bytes);
                Answer::new(201).header("docker-content-digest", digest)
            }
            _ => Answer::new(405),
        }
    }
}

/// Writes an answer. Returns `false` if the connection is to end.
fn write(mut stream: &TcpStream, answer: &Answer, is_head: bool) -> bool {
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
    let body = match answer.ends_at {
        _ if is_head => &[],
        Some(end) => &answer.body[..answer.body.len().min(end)],
        None => answer.body.as_slice(),
    };
    let is_whole = is_head || body.len() == answer.body.len();
    let sent = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
    sent.is_ok() && is_whole
}

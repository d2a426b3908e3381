//! The laws of whatever can be sent through the recording proxy: requests, answers, and lines of MCP.

use std::sync::Arc;

use runseal_net::matching::{Asked, BodyForm, Volatile, compute_key};
use runseal_net::proxy::Upstream;
use runseal_net::recording::{
    Adapter, End, Finishing, Journal, Note, Recorder, Recording, RequestNote, Session,
    finish_recording, journal_path,
};
use runseal_net::redact::{BodyKind, RedactionRules, Redactor, Window};

/// A secret without a recognizable form.
const SECRET: &[u8] = b"Zq8t/Lm2\"Xr5wYb9nKc4d";
/// The path of the upstream.
const PREFIX: &str = "/api/v1";

fn redactor() -> Redactor {
    let redactor = Redactor::new(RedactionRules::default()).expect("random bytes");
    redactor.learn("mine", SECRET);
    redactor
}

/// A request: its target stays below the upstream, and its body is recorded without the secret.
///
/// The first byte chooses the kind of body, the second the size of its pieces; then comes the path up to a line break,
/// then the body.
pub fn check_http(bytes: &[u8]) {
    let [kind, size, rest @ ..] = bytes else {
        return;
    };
    let end = rest.iter().position(|byte| *byte == b'\n');
    let (path, body) = rest.split_at(end.unwrap_or(rest.len()));
    check_target(&String::from_utf8_lossy(path));
    let kinds = [
        BodyKind::Events,
        BodyKind::Json,
        BodyKind::Lines,
        BodyKind::JsonLines,
        BodyKind::Plain,
    ];
    let kind = kinds
        .get(usize::from(*kind) % kinds.len())
        .copied()
        .unwrap_or(BodyKind::Plain);
    check_body(kind, usize::from(*size) + 1, body);
    let with_secret = [body, b" ", SECRET, b" ", body].concat();
    check_body(kind, usize::from(*size) + 1, &with_secret);
}

/// However a server reads a path, it does not lead out of the upstream's path.
fn check_target(path: &str) {
    let upstream =
        Upstream::parse(&format!("http://upstream.example:9{PREFIX}/")).expect("an address");
    let Some(uri) = upstream.uri(path, None) else {
        return;
    };
    let authority = uri
        .authority()
        .map(|authority| authority.as_str().to_owned());
    assert_eq!(authority.as_deref(), Some("upstream.example:9"), "{path:?}");
    let mut read = uri.path().to_owned();
    for _ in 0..3 {
        let mut depth = 0_i64;
        for segment in read.split(['/', '\\']) {
            match segment.split(';').next().unwrap_or_default().trim() {
                "" | "." => {}
                ".." => depth -= 1,
                _ => depth += 1,
            }
            assert!(depth >= 0, "{path:?}");
        }
        assert!(read.starts_with(&format!("{PREFIX}/")), "{path:?}");
        let below = read.get(PREFIX.len()..).unwrap_or_default();
        assert!(
            !below.split(['/', '\\']).any(|segment| segment == ".."),
            "{path:?}"
        );
        read = decode_percent(&read);
    }
}

fn decode_percent(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = digits
            .filter(is_hex)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, value) {
            (b'%', Some(value)) => {
                out.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A body in pieces: no known secret is released, the ends of pieces stay in order, and a body without a
/// secret stays the same, byte for byte.
fn check_body(kind: BodyKind, size: usize, body: &[u8]) {
    let redactor = redactor();
    let mut window = Window::new(kind);
    let (mut written, mut cuts) = (Vec::new(), Vec::new());
    for (at, piece) in body.chunks(size).enumerate() {
        window.add(piece, at as u64);
        let released = window.release_ready(&redactor);
        written.extend(released.bytes);
        cuts.extend(released.cuts);
    }
    let rest = window.finish(&redactor);
    written.extend(rest.bytes);
    cuts.extend(rest.cuts);
    assert!(redactor.find_known(&written).is_none(), "a secret is left");
    assert!(cuts.is_sorted_by_key(|cut| cut.0), "{cuts:?}");
    assert!(cuts.last().is_none_or(|cut| cut.0 <= written.len() as u64));
    if redactor.counts().is_empty() {
        assert_eq!(written, body);
    }
}

/// A line of MCP: its recording is valid and does not have the secret, and the same line is found in it again.
pub fn check_mcp(line: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("r.json");
    let redactor = Arc::new(redactor());
    let session = Session {
        adapter: Adapter::McpStdio,
        volatile: Volatile::default(),
        parent: None,
    };
    let journal = Journal::create(&journal_path(&output), &session).expect("a journal");
    let recorder = Recorder::start(journal, Arc::clone(&redactor)).expect("a thread");
    let notes = recorder.notes();
    let said = [line, b" ", SECRET, b"\n"].concat();
    let request = RequestNote {
        method: "tools/call".to_owned(),
        path: String::new(),
        query: None,
        headers: Vec::new(),
        body: line.to_vec().into(),
    };
    for note in [
        Note::Request {
            x: 0,
            request: Box::new(request),
        },
        Note::Head {
            x: 0,
            status: None,
            headers: Vec::new(),
            kind: BodyKind::Lines,
        },
        Note::Data {
            x: 0,
            bytes: said.into(),
            after: 1,
        },
        Note::End {
            x: 0,
            end: End::Complete,
            latency_ms: None,
            written: None,
        },
    ] {
        assert!(notes.tell(note));
    }
    recorder.finish().expect("the journal is written");
    let finishing = Finishing {
        journal: &journal_path(&output),
        output: &output,
        redactor: Some(&redactor),
    };
    finish_recording(finishing).expect("a recording");
    let written = std::fs::read(&output).expect("the recording");
    assert!(redactor.find_known(&written).is_none(), "a secret is left");
    let recording = Recording::load(&output).expect("a recording that can be replayed");
    let [recorded] = recording.interactions.as_slice() else {
        panic!("{} interactions", recording.interactions.len());
    };
    let asked = Asked {
        method: "tools/call".to_owned(),
        path: String::new(),
        query: None,
        body: BodyForm::parse("", &redactor.redact_request("", "", line)),
    };
    let key_of = |asked: &Asked| compute_key(&asked.form(&recording.volatile)).ok();
    assert_eq!(key_of(&recorded.asked), key_of(&asked));
}

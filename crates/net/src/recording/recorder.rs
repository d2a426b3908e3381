//! The recorder: one thread that takes notes from all connections, redacts them and writes the
//! journal. Whoever answers a client passes bytes on first and tells the recorder beside; only the
//! end of an answer waits until the recorder has it, so that no client saw an answer that a killed
//! program lost.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use runseal_core::canon::Value;
use tokio::sync::{mpsc, oneshot};

use super::exchange::{End, headers_value, insert_bytes};
use super::journal::Journal;
use crate::NetError;
use crate::redact::{BodyKind, Redactor, Released, Window};

/// Notes that wait at the most; beyond that, whoever tells waits.
const QUEUE: usize = 512;
/// Notes that are handed to the system together at the most.
const TOGETHER: usize = 64;

/// A request as it came, secrets included.
#[derive(Debug)]
pub struct RequestNote {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query.
    pub query: Option<String>,
    /// The headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Bytes,
}

/// Something to be written down about exchange `x`.
#[derive(Debug)]
pub enum Note {
    /// A request.
    Request {
        /// The exchange.
        x: u64,
        /// What was asked.
        request: Box<RequestNote>,
    },
    /// The beginning of an answer.
    Head {
        /// The exchange.
        x: u64,
        /// The status; none for transports that have none.
        status: Option<u16>,
        /// The headers.
        headers: Vec<(String, Vec<u8>)>,
        /// How the body is to be read.
        kind: BodyKind,
    },
    /// A piece of an answer.
    Data {
        /// The exchange.
        x: u64,
        /// The piece.
        bytes: Bytes,
        /// How many requests had begun when it came.
        after: u64,
    },
    /// The end of an answer.
    End {
        /// The exchange.
        x: u64,
        /// How it ended.
        end: End,
        /// Milliseconds since the request.
        latency_ms: Option<u64>,
        /// Told once everything about the exchange is written.
        written: Option<oneshot::Sender<bool>>,
    },
    /// Something that the recording cannot have seen.
    Gap(String),
}

/// A running recorder.
#[derive(Debug)]
pub struct Recorder {
    sender: mpsc::Sender<Note>,
    worker: JoinHandle<Result<(), NetError>>,
}

impl Recorder {
    /// Starts writing to `journal`.
    pub fn start(journal: Journal, redactor: Arc<Redactor>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let worker = std::thread::spawn(move || {
            let mut writer = Writer {
                journal,
                redactor,
                open: BTreeMap::new(),
                ended: Vec::new(),
            };
            let written = writer.run(receiver);
            written.map_err(NetError::write(writer.journal.path()))
        });
        Self { sender, worker }
    }

    /// Where notes are told.
    pub fn sender(&self) -> mpsc::Sender<Note> {
        self.sender.clone()
    }

    /// Writes what was told and ends. All other senders must be gone.
    pub fn finish(self) -> Result<(), NetError> {
        drop(self.sender);
        match self.worker.join() {
            Ok(result) => result,
            Err(_) => Err(NetError::System("the recorder stopped".to_owned())),
        }
    }
}

struct Writer {
    journal: Journal,
    redactor: Arc<Redactor>,
    open: BTreeMap<u64, Window>,
    /// Who waits for the end of an exchange to be written.
    ended: Vec<oneshot::Sender<bool>>,
}

impl Writer {
    /// Where a write fails, the receiver is dropped: whoever tells or waits learns it by that.
    fn run(&mut self, mut notes: mpsc::Receiver<Note>) -> io::Result<()> {
        while let Some(note) = notes.blocking_recv() {
            self.take(note)?;
            // What waits already goes to the system with it; nobody waits for long.
            for _ in 1..TOGETHER {
                let Ok(note) = notes.try_recv() else { break };
                self.take(note)?;
            }
            self.journal.flush()?;
            for written in self.ended.drain(..) {
                // The connection may be gone by now.
                let _ = written.send(true);
            }
        }
        self.journal.append(&Value::object([("t", "finish")]))?;
        self.journal.sync()
    }

    fn take(&mut self, note: Note) -> io::Result<()> {
        match note {
            Note::Request { x, request } => self.take_request(x, &request),
            Note::Head {
                x,
                status,
                headers,
                kind,
            } => {
                self.open.insert(x, Window::new(kind));
                let headers = self.redact_headers(&headers);
                self.journal.append(&Value::object([
                    ("t", Value::from("head")),
                    ("x", Value::from(x)),
                    ("status", Value::from(status.map(u32::from))),
                    ("headers", headers_value(&headers)),
                ]))
            }
            Note::Data { x, bytes, after } => {
                let Some(open) = self.open.get_mut(&x) else {
                    return Ok(());
                };
                let released = open.push(&self.redactor, &bytes, after);
                self.write_data(x, &released)
            }
            Note::End {
                x,
                end,
                latency_ms,
                written,
            } => {
                if let Some(mut open) = self.open.remove(&x) {
                    let rest = open.finish(&self.redactor);
                    self.write_data(x, &rest)?;
                    if open.goes_on() {
                        self.open.insert(x, open);
                    }
                }
                let mut record = Value::object([
                    ("t", Value::from("end")),
                    ("x", Value::from(x)),
                    ("how", Value::from(end.name())),
                ]);
                if let Some(latency_ms) = latency_ms {
                    record.insert("latency_ms", latency_ms);
                }
                self.ended.extend(written);
                self.journal.append(&record)
            }
            Note::Gap(gap) => {
                let gap = self.redactor.redact_text(&gap).into_owned();
                self.journal
                    .append(&Value::object([("t", "gap"), ("gap", gap.as_str())]))
            }
        }
    }

    fn take_request(&mut self, x: u64, request: &RequestNote) -> io::Result<()> {
        // Headers first: what they teach is then found in the rest.
        let headers = self.redact_headers(&request.headers);
        let content_type = headers
            .iter()
            .find(|(name, _)| name == "content-type")
            .map(|(_, value)| value.as_str());
        let is_form = content_type
            .is_some_and(|value| value.starts_with("application/x-www-form-urlencoded"));
        let query = request.query.as_deref();
        let query = query.map(|query| self.redactor.redact_query(query));
        let path = self.redactor.redact_text(&request.path);
        let body = match (is_form, std::str::from_utf8(&request.body)) {
            (true, Ok(form)) => self.redactor.redact_query(form).into_bytes(),
            _ => self.redactor.redact_body(&request.body).into_owned(),
        };
        let mut record = Value::object([
            ("t", Value::from("request")),
            ("x", Value::from(x)),
            ("method", Value::from(request.method.as_str())),
            ("path", Value::from(path.as_ref())),
            ("headers", headers_value(&headers)),
        ]);
        if let Some(query) = query {
            record.insert("query", query);
        }
        insert_bytes(&mut record, &body);
        self.journal.append(&record)
    }

    fn redact_headers(&self, headers: &[(String, Vec<u8>)]) -> Vec<(String, String)> {
        headers
            .iter()
            .map(|(name, value)| (name.clone(), self.redactor.redact_header(name, value)))
            .collect()
    }

    fn write_data(&mut self, x: u64, released: &Released) -> io::Result<()> {
        if released.bytes.is_empty() && released.cuts.is_empty() {
            return Ok(());
        }
        let (cuts, after): (Vec<u64>, Vec<u64>) = released.cuts.iter().copied().unzip();
        let mut record = Value::object([
            ("t", Value::from("data")),
            ("x", Value::from(x)),
            ("after", Value::array(after)),
            ("cuts", Value::array(cuts)),
        ]);
        insert_bytes(&mut record, &released.bytes);
        self.journal.append(&record)
    }
}

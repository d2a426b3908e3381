//! The recorder: one thread that takes notes from all connections, redacts them and writes the
//! journal. Bytes are passed on to the client first and recorded on the side; only the end of a
//! response waits for the recorder, so that no client has seen a response that a killed program
//! lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use runseal_core::canon::Value;
use tokio::sync::oneshot;

use super::exchange::{headers_value, insert_bytes};
use super::journal::Journal;
use super::notes::{Note, Notes, RequestNote};
use crate::NetError;
use crate::redact::{Redactor, Released, Window};

/// The most notes, and their bytes, that are written to the file together.
const TOGETHER: usize = 256;
const BYTES_TOGETHER: usize = 256 << 10;

/// A thread that redacts notes and writes them to the journal.
#[derive(Debug)]
pub struct Recorder {
    notes: Notes,
    worker: JoinHandle<Result<(), NetError>>,
}

impl Recorder {
    /// Starts writing to `journal`.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(journal: Journal, redactor: Arc<Redactor>) -> Result<Self, NetError> {
        let notes = Notes::new();
        let queue = notes.clone();
        let worker = std::thread::Builder::new().spawn(move || {
            let mut writer = Writer {
                journal,
                redactor,
                open: BTreeMap::new(),
                touched: BTreeSet::new(),
                ended: Vec::new(),
            };
            let written = writer.run(&queue);
            // If a write failed, senders and waiters learn it from the closed queue.
            queue.abandon();
            written.map_err(NetError::write(writer.journal.path()))
        });
        let worker = worker.map_err(|error| NetError::System(error.to_string()))?;
        Ok(Self { notes, worker })
    }

    /// The queue for notes.
    pub fn notes(&self) -> Notes {
        self.notes.clone()
    }

    /// Writes what was queued and ends; later notes are refused.
    pub fn finish(self) -> Result<(), NetError> {
        self.notes.close();
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
    /// Exchanges with new data that has not been processed yet.
    touched: BTreeSet<u64>,
    /// Waiters for exchanges whose end has not been written yet.
    ended: Vec<oneshot::Sender<bool>>,
}

impl Writer {
    fn run(&mut self, queue: &Notes) -> io::Result<()> {
        let mut has_worked = false;
        while let Some(batch) = queue.take(has_worked) {
            has_worked = true;
            let mut notes = batch.notes.into_iter().peekable();
            while notes.peek().is_some() {
                let mut bytes = 0;
                for note in notes.by_ref().take(TOGETHER) {
                    bytes += note.size();
                    self.take(note)?;
                    if bytes > BYTES_TOGETHER {
                        break;
                    }
                }
                self.write_touched()?;
                self.journal.flush()?;
                for written in self.ended.drain(..) {
                    // The connection may be gone by now.
                    let _ = written.send(true);
                }
            }
            queue.make_room(batch.size);
        }
        self.journal.append(&Value::object([("t", "finish")]))?;
        self.journal.sync()
    }

    /// Writes the part of the new data that can be released.
    fn write_touched(&mut self) -> io::Result<()> {
        for x in std::mem::take(&mut self.touched) {
            if let Some(open) = self.open.get_mut(&x) {
                let released = open.release_ready(&self.redactor);
                self.write_data(x, &released)?;
            }
        }
        Ok(())
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
                if let Some(open) = self.open.get_mut(&x) {
                    open.add(&bytes, after);
                    self.touched.insert(x);
                }
                Ok(())
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
        // Headers first: secrets learned from them are then found in the rest.
        let headers = self.redact_headers(&request.headers);
        let header = |wanted: &str| {
            let found = headers.iter().find(|(name, _)| name == wanted);
            found.map_or("", |(_, value)| value.as_str())
        };
        let (coding, content_type) = (header("content-encoding"), header("content-type"));
        let body = self
            .redactor
            .redact_request(coding, content_type, &request.body);
        let query = request.query.as_deref();
        let query = query.map(|query| self.redactor.redact_query(query));
        let path = self.redactor.redact_text(&request.path);
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

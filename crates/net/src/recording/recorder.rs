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

use super::exchange::{headers_value, insert_bytes, join_headers};
use super::journal::Journal;
use super::notes::{Note, Notes, RequestNote};
use crate::NetError;
use crate::redact::{Redactor, Released, Window};

/// The most notes, and their bytes, that are written to the file together.
const TOGETHER: usize = 256;
const BYTES_TOGETHER: usize = 256 << 10;
/// The most bytes of all answers together that are held back while they may be part of a secret.
const MOST_HELD: usize = 64 << 20;

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
    /// If the system refuses a thread.
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
                most_held: MOST_HELD,
            };
            let written = writer.run(&queue);
            // If a write failed, senders and waiters learn it from the closed queue.
            queue.abandon();
            written.map_err(NetError::write(writer.journal.path()))
        });
        let worker = worker.map_err(|error| NetError::System(error.to_string()))?;
        Ok(Self { notes, worker })
    }

    /// Returns the queue for notes.
    pub fn notes(&self) -> Notes {
        self.notes.clone()
    }

    /// Writes the queued notes and stops; later notes are refused.
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
    /// The most bytes that all open exchanges may hold back together.
    most_held: usize,
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
                self.write_largest()?;
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

    /// Releases parts of the largest answers while all answers together hold back too much.
    fn write_largest(&mut self) -> io::Result<()> {
        let mut held: usize = self.open.values().map(Window::held).sum();
        if held <= self.most_held {
            return Ok(());
        }
        let sizes = self.open.iter().map(|(x, window)| (window.held(), *x));
        let mut sizes: Vec<(usize, u64)> = sizes.collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        for (size, x) in sizes {
            let Some(window) = self.open.get_mut(&x).filter(|_| held > self.most_held) else {
                break;
            };
            let released = window.loosen(&self.redactor);
            held -= size.saturating_sub(window.held());
            self.write_data(x, &released)?;
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
        let coding = join_headers(&headers, "content-encoding");
        let body = self
            .redactor
            .redact_request(&coding, header("content-type"), &request.body);
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::matching::Volatile;
    use crate::recording::{Adapter, JournalReader, Session};
    use crate::redact::{BodyKind, RedactionRules};

    #[test]
    fn held_back_answers_are_bounded_together_and_none_is_lost() {
        const ANSWERS: u64 = 12;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json.journal");
        let session = Session {
            adapter: Adapter::HttpProxy,
            volatile: Volatile::default(),
            parent: None,
        };
        let mut writer = Writer {
            journal: Journal::create(&path, &session).unwrap(),
            redactor: Arc::new(Redactor::new(RedactionRules::default()).unwrap()),
            open: BTreeMap::new(),
            touched: BTreeSet::new(),
            ended: Vec::new(),
            most_held: 2 << 20,
        };
        let kinds = [BodyKind::Json, BodyKind::Events, BodyKind::JsonLines];
        for x in 0..ANSWERS {
            let kind = kinds[usize::try_from(x).unwrap() % kinds.len()];
            let head = Note::Head {
                x,
                status: Some(200),
                headers: Vec::new(),
                kind,
            };
            writer.take(head).unwrap();
        }
        // Each is one unfinished text, which would be held back entirely.
        let bytes = Bytes::from("words ".repeat(10_000));
        for x in (0..10).flat_map(|_| 0..ANSWERS) {
            let bytes = bytes.clone();
            writer.take(Note::Data { x, bytes, after: 0 }).unwrap();
            writer.write_touched().unwrap();
            writer.write_largest().unwrap();
            let held: usize = writer.open.values().map(Window::held).sum();
            assert!(held <= 2 << 20, "{held}");
        }
        for x in 0..ANSWERS {
            let (end, latency_ms, written) = (crate::recording::End::Complete, None, None);
            let end = Note::End {
                x,
                end,
                latency_ms,
                written,
            };
            writer.take(end).unwrap();
        }
        writer.journal.sync().unwrap();
        let mut journal = JournalReader::open(&path).unwrap();
        for x in 0..ANSWERS {
            let exchange = journal.exchange(x).unwrap();
            assert_eq!(exchange.body, bytes.repeat(10));
            assert_eq!(exchange.cuts.len(), 10);
        }
    }
}

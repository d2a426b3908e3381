//! Turns the journal into model_io.json.
//!
//! Interactions are converted one by one, so that only one exchange is in memory.
//! `response_content` is the response, in base64 unless it is UTF-8. A response that is too large
//! becomes a file named by its hash, and `response_content` is that hash. Everything is searched for
//! every known secret before it gets its final name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use runseal_core::canon::{
    CanonError, Dialect, ObjectWriter, ReadOptions, Value, canonical_bytes, parse_document,
};
use runseal_core::digest::Digest;
use runseal_core::formats::model_io::bodies::held_body;
use runseal_core::formats::model_io::fork::{FORK, FORK_HASH, compute_fork_hash};
use runseal_core::formats::model_io::{MAX_INTERACTIONS, compute_model_io_hash};
use runseal_fs::atomic::{self, WriteError};

use super::journal::JournalReader;
use super::load::Recording;
use super::{Session, bodies_path};
use crate::NetError;
use crate::matching::Volatile;
use crate::redact::Redactor;

/// The version of recordings with readable members.
const VERSION: &str = "1.1.0";

/// What is needed to finish a recording.
#[derive(Debug, Clone, Copy)]
pub struct Finishing<'a> {
    /// The journal; it is deleted only when the recording is on disk.
    pub journal: &'a Path,
    /// The recording to make.
    pub output: &'a Path,
    /// The redactor, which knows the secrets; `None` after a crash, when they are lost.
    pub redactor: Option<&'a Redactor>,
}

/// The result of finishing a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The path of the recording.
    pub path: PathBuf,
    /// The number of interactions.
    pub interactions: usize,
    /// The number of secrets replaced, by kind.
    pub redacted: BTreeMap<String, u64>,
    /// What the recording may have missed.
    pub gaps: Vec<String>,
}

/// Turns a journal into a recording and deletes the journal. If a secret is found, nothing is kept,
/// and the error says where it was.
pub fn finish_recording(finishing: Finishing<'_>) -> Result<Finished, NetError> {
    let Finishing {
        journal,
        output,
        redactor,
    } = finishing;
    let mut reader = JournalReader::open(journal)?;
    let mut draft = DocumentDraft {
        output,
        redactor,
        session: reader.session().clone(),
        bodies: BTreeSet::new(),
        models: BTreeSet::new(),
        total: 0,
        asked: 0,
        interactions: 0,
        gaps: Gaps::new(reader.gaps(), reader.is_finished()),
    };
    let parent = draft.read_parent()?;
    let written = (|| {
        let interactions = create_part_file(output)?;
        draft.write_interactions(&mut reader, parent.as_ref(), &interactions)?;
        // Before any of it gets its final name.
        draft.scan(&interactions.path)?;
        draft.write_document(&interactions)
    })();
    if let Err(error) = written {
        draft.remove_bodies();
        if matches!(error, NetError::Secret { .. }) {
            // The journal contains the same secret, which must not remain on disk.
            let _ = fs::remove_file(journal);
        }
        return Err(error);
    }
    fs::remove_file(journal).map_err(NetError::write(journal))?;
    Ok(Finished {
        path: output.to_owned(),
        interactions: draft.interactions,
        redacted: redactor.map(Redactor::counts).unwrap_or_default(),
        gaps: draft.gaps.list,
    })
}

/// What was missed, in order and without duplicates.
pub(super) struct Gaps {
    list: Vec<String>,
}

impl Gaps {
    fn new(known: &[String], is_finished: bool) -> Self {
        let mut gaps = Self { list: Vec::new() };
        known.iter().for_each(|gap| gaps.add(gap.clone()));
        if !is_finished {
            gaps.add("the recording was broken off: the program was killed".to_owned());
        }
        gaps
    }

    pub(super) fn add(&mut self, gap: String) {
        if !self.list.contains(&gap) {
            self.list.push(gap);
        }
    }
}

/// A temporary file for the interactions: the members before them are not known yet.
fn create_part_file(output: &Path) -> Result<PartFile, NetError> {
    let path = super::with_suffix(output, ".part");
    // A crash may have left one. Removing a link does not remove its target.
    let _ = fs::remove_file(&path);
    let file = atomic::create_new(&path, atomic::Readers::Owner).map_err(NetError::write(&path))?;
    Ok(PartFile { path, file })
}

/// A file that is removed when this value is dropped.
struct PartFile {
    path: PathBuf,
    file: fs::File,
}

impl Drop for PartFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) struct DocumentDraft<'a> {
    pub(super) output: &'a Path,
    pub(super) redactor: Option<&'a Redactor>,
    pub(super) session: Session,
    pub(super) bodies: BTreeSet<PathBuf>,
    pub(super) models: BTreeSet<String>,
    pub(super) total: usize,
    /// Bytes of requests so far. Beyond a limit, bodies become files to keep the document readable.
    pub(super) asked: usize,
    pub(super) interactions: usize,
    pub(super) gaps: Gaps,
}

impl DocumentDraft<'_> {
    fn read_parent(&mut self) -> Result<Option<Recording>, NetError> {
        let Some(parent) = &self.session.parent else {
            return Ok(None);
        };
        let recording = Recording::load(&parent.path)?;
        if recording.sha256 != parent.sha256 {
            return Err(NetError::Recording {
                path: parent.path.clone(),
                reason: "it was changed while it was being replayed".to_owned(),
            });
        }
        Ok(Some(recording))
    }

    /// Writes one interaction per line, to be copied into the list later.
    fn write_interactions(
        &mut self,
        reader: &mut JournalReader,
        parent: Option<&Recording>,
        part: &PartFile,
    ) -> Result<(), NetError> {
        let mut out = std::io::BufWriter::new(&part.file);
        let mut write = |value: &Value| -> Result<(), NetError> {
            let mut line = canonical_bytes(value, Dialect::Kernel)
                .map_err(|error| NetError::System(error.to_string()))?;
            line.push(b'\n');
            out.write_all(&line).map_err(NetError::write(&part.path))
        };
        if let (Some(recording), Some(origin)) = (parent, self.session.parent.clone()) {
            for recorded in recording.interactions.iter().take(origin.interactions) {
                let mut value = recorded.document.clone();
                value.insert("i", self.interactions);
                self.models.extend(recorded.model());
                self.total += recorded.content_bytes();
                self.interactions += 1;
                write(&value)?;
            }
            self.copy_bodies(&origin.path)?;
        }
        for number in reader.numbers() {
            if self.interactions >= MAX_INTERACTIONS {
                self.gaps.add(format!(
                    "a recording holds {MAX_INTERACTIONS} interactions; more were made"
                ));
                break;
            }
            let exchange = reader.exchange(number)?;
            let value = self.interaction(&exchange)?;
            self.interactions += 1;
            write(&value)?;
        }
        out.flush().map_err(NetError::write(&part.path))
    }

    /// Copies large bodies of the parent that this recording still refers to. A parent from a pack
    /// contains them itself.
    fn copy_bodies(&mut self, parent: &Path) -> Result<(), NetError> {
        let bytes = fs::read(parent).map_err(NetError::read(parent))?;
        if let Ok(document) = parse_document(&bytes, &ReadOptions::TEXT) {
            let root = document.root();
            let held = root.get("bodies");
            for (name, _) in held.iter().flat_map(|held| held.members()) {
                let digest = Digest::parse_hex(&name.to_lossy()).ok();
                let body = digest.and_then(|digest| held_body(root, &digest)?);
                if let Some(body) = body {
                    self.put_body(&body)?;
                }
            }
        }
        let (from, to) = (bodies_path(parent), bodies_path(self.output));
        if from == to {
            return Ok(());
        }
        let entries = match fs::read_dir(&from) {
            Ok(entries) => entries,
            // Most recordings have no large bodies.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(NetError::read(&from)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(NetError::read(&from))?;
            // Only bodies, which are named by their digest. Anything else, or a link, may be a file that does
            // not belong in a recording.
            let name = entry.file_name();
            let digest = name.to_str().and_then(|name| Digest::parse_hex(name).ok());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let Some(digest) = digest.filter(|_| is_file) else {
                continue;
            };
            let bytes = fs::read(entry.path()).map_err(NetError::read(&entry.path()))?;
            if Digest::of(&bytes) == digest {
                self.put_body(&bytes)?;
            }
        }
        Ok(())
    }

    /// Stores a body as a file; returns its description.
    pub(super) fn put_body(&mut self, bytes: &[u8]) -> Result<Value, NetError> {
        let folder = bodies_path(self.output);
        fs::create_dir_all(&folder).map_err(NetError::write(&folder))?;
        let digest = Digest::of(bytes);
        let path = folder.join(digest.to_string());
        if !path.exists() {
            atomic::write_bytes(&path, bytes).map_err(write_fault)?;
            self.bodies.insert(path);
        }
        let folder_name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(Value::object([
            ("path", Value::from(format!("{folder_name}/{digest}"))),
            ("sha256", Value::from(digest.to_string())),
            ("bytes", Value::from(bytes.len())),
        ]))
    }

    fn capture(&self) -> Value {
        let volatile: &Volatile = &self.session.volatile;
        let counts = self.redactor.map(Redactor::counts).unwrap_or_default();
        let counts = counts
            .into_iter()
            .map(|(kind, count)| (kind.as_str().into(), Value::from(count)))
            .collect();
        Value::object([
            (
                "gaps",
                Value::array(self.gaps.list.iter().map(String::as_str)),
            ),
            ("redacted", Value::Object(counts)),
            (
                "volatile",
                Value::array(volatile.pointers().iter().map(String::as_str)),
            ),
        ])
    }

    fn write_document(&self, part: &PartFile) -> Result<(), NetError> {
        let models: Vec<&str> = self.models.iter().map(String::as_str).collect();
        let model_id = match models.as_slice() {
            [] => "none".to_owned(),
            models => models.join(","),
        };
        atomic::write_file(self.output, |file| -> Result<(), Fault> {
            let mut object = ObjectWriter::begin(file, Dialect::Kernel)?;
            object.member("adapter_id", &Value::from(self.session.adapter.name()))?;
            object.member("capture", &self.capture())?;
            if let Some(parent) = self.session.parent.as_ref().filter(|parent| parent.is_fork) {
                let mut fork = Value::object([
                    ("at", Value::from(parent.interactions)),
                    (
                        "parent_model_io_hash",
                        Value::from(parent.model_io_hash.as_str()),
                    ),
                    ("parent_sha256", Value::from(parent.sha256.as_str())),
                ]);
                fork.insert(FORK_HASH, self.bind_fork(&fork, &model_id, part)?);
                object.member(FORK, &fork)?;
            }
            object.list("interactions", |list| -> Result<(), Fault> {
                let mut lines = fs::File::open(&part.path).map_err(NetError::read(&part.path))?;
                let mut line = Vec::new();
                let mut reader = std::io::BufReader::new(&mut lines);
                loop {
                    line.clear();
                    let read = std::io::BufRead::read_until(&mut reader, b'\n', &mut line);
                    if read.map_err(NetError::read(&part.path))? == 0 {
                        return Ok(());
                    }
                    let text = line.strip_suffix(b"\n").unwrap_or(&line);
                    let document = parse_document(text, &ReadOptions::TEXT);
                    let document =
                        document.map_err(|error| NetError::System(error.kind.to_string()))?;
                    list.element(document.root())?;
                }
            })?;
            object.member("mode", &Value::from("record"))?;
            object.member("model_id", &Value::from(model_id.as_str()))?;
            object.member("model_io_schema_version", &Value::from(VERSION))?;
            let file = object.end()?;
            file.write_all(b"\n")
                .map_err(|error| Fault(NetError::write(self.output)(error)))
        })
        .map_err(|fault| fault.0)
    }

    /// Computes the hash that binds a fork to what follows.
    fn bind_fork(&self, fork: &Value, model_id: &str, part: &PartFile) -> Result<String, NetError> {
        let system = |error: &dyn std::fmt::Display| NetError::System(error.to_string());
        let lines = fs::read(&part.path).map_err(NetError::read(&part.path))?;
        let mut interactions = Vec::new();
        for line in lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let document =
                parse_document(line, &ReadOptions::TEXT).map_err(|error| system(&error.kind))?;
            interactions.push(document.root().to_value());
        }
        let document = Value::object([
            ("adapter_id", Value::from(self.session.adapter.name())),
            (FORK, fork.clone()),
            ("interactions", Value::Array(interactions)),
            ("mode", Value::from("record")),
            ("model_id", Value::from(model_id)),
            ("model_io_schema_version", Value::from(VERSION)),
        ]);
        let bytes = canonical_bytes(&document, Dialect::Kernel).map_err(|error| system(&error))?;
        let document =
            parse_document(&bytes, &ReadOptions::TEXT).map_err(|error| system(&error.kind))?;
        let root = document.root();
        let own = compute_model_io_hash(root);
        let hash = own.and_then(|own| compute_fork_hash(root.get(FORK)?, &own));
        hash.map(|hash| hash.to_string())
            .ok_or_else(|| system(&"the fork has no canonical form"))
    }

    /// Searches everything that was written for known secrets.
    fn scan(&self, interactions: &Path) -> Result<(), NetError> {
        let Some(redactor) = self.redactor else {
            return Ok(());
        };
        for path in self
            .bodies
            .iter()
            .map(PathBuf::as_path)
            .chain([interactions])
        {
            let file = fs::File::open(path).map_err(NetError::read(path))?;
            let found = redactor.find_known_in(file).map_err(NetError::read(path))?;
            if let Some((kind, offset)) = found {
                return Err(NetError::Secret {
                    path: self.output.to_owned(),
                    kind,
                    offset,
                });
            }
        }
        Ok(())
    }

    fn remove_bodies(&self) {
        for path in &self.bodies {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(bodies_path(self.output));
    }
}

/// Carries our error through a writer that only knows its own.
struct Fault(NetError);

impl From<NetError> for Fault {
    fn from(error: NetError) -> Self {
        Self(error)
    }
}

impl From<WriteError> for Fault {
    fn from(error: WriteError) -> Self {
        Self(write_fault(error))
    }
}

impl From<CanonError> for Fault {
    fn from(error: CanonError) -> Self {
        Self(NetError::System(error.to_string()))
    }
}

fn write_fault(error: WriteError) -> NetError {
    NetError::Write {
        path: error.path,
        source: error.source,
    }
}

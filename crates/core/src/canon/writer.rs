//! Writes canonical JSON from a parsed document, an owned value, or straight from a text.
//!
//! Everything goes through one buffer of fixed size into a sink, so a document is hashed without its
//! canonical text ever being in memory. A text whose value is an array is read and written element by
//! element; this takes the memory of the text and its largest element.

mod edited;

use std::io;

use super::dialect::{Dialect, JcsProfile, JobProfile, KernelProfile, Profile};
use super::document::{Node, Store};
use super::error::{JsonError, NoCanonicalForm, NoFormKind, Position};
use super::reader::{Fault, ReadOptions, Reader};
use super::slot::{Member, ORDER_DIFFERS, Tag, VERBATIM};
use super::text::{self, JsonString, Piece, RawPieces};
use super::value::Value;
use crate::diagnosis::{Diagnose, Diagnosis, Location};
use crate::digest::{Digest, Hasher};

pub use edited::{Edit, Edits, write_edited};

/// The bytes that are collected before they go to the sink.
const BUFFER: usize = 16 * 1024;

/// Capacity for those bytes and the run that fills them up.
const FULL_BUFFER: usize = BUFFER + BUFFER / 4;

/// Initial capacity for owned values: most are what an id is derived from, a few hundred bytes.
const SMALL_BUFFER: usize = 1024;

/// Why a canonical text could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CanonError {
    /// The text is not strict JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The value has no form in the dialect.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// A member does not sort after the one before it, or its key is not a plain name.
    #[error("the member `{0}` is out of order")]
    Order(&'static str),
    /// The sink did not accept the bytes.
    #[error("the output could not be written")]
    Sink(#[from] io::Error),
}

impl Diagnose for CanonError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Json(error) => error.diagnosis(),
            Self::NoForm(error) => error.diagnosis(),
            Self::Order(_) => Diagnosis::internal(self),
            Self::Sink(error) => Diagnosis::unreadable(error, "OUTPUT").located(Location::Named),
        }
    }
}

/// A JSON value that can be written canonically, read or owned.
#[derive(Debug, Clone, Copy)]
pub enum AnyJson<'a> {
    /// A value of a document.
    Node(Node<'a>),
    /// An owned value.
    Value(&'a Value),
}

impl<'a> From<Node<'a>> for AnyJson<'a> {
    fn from(node: Node<'a>) -> Self {
        Self::Node(node)
    }
}

impl<'a> From<&'a Value> for AnyJson<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

/// Returns the canonical text of `value`, without the LF that the kernel dialect hashes after it.
pub fn canonical_bytes<'a>(
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
) -> Result<Vec<u8>, NoCanonicalForm> {
    let mut bytes = Vec::new();
    match write(value.into(), dialect, b"", &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(failure) => Err(failure.into_no_form()),
    }
}

/// Returns the canonical text of one string in the kernel dialect, with quotes. It cannot fail: that
/// dialect has a form for every string.
pub fn canonical_string(string: &JsonString) -> Vec<u8> {
    let mut bytes = vec![b'"'];
    for piece in string.pieces() {
        KernelProfile::append_piece(&mut bytes, piece);
    }
    bytes.push(b'"');
    bytes
}

/// Like [`canonical_bytes`], as a string.
pub fn canonical_text<'a>(
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
) -> Result<String, NoCanonicalForm> {
    let bytes = canonical_bytes(value, dialect)?;
    String::from_utf8(bytes).map_err(|_| unwritten())
}

/// Computes the SHA-256 over what `dialect` hashes of `value`: its canonical text, followed by an LF in
/// `kernel`.
pub fn canonical_digest<'a>(
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
) -> Result<Digest, NoCanonicalForm> {
    let mut hasher = Hasher::new();
    match write(value.into(), dialect, dialect.hashed_suffix(), &mut hasher) {
        Ok(()) => Ok(hasher.finish()),
        Err(failure) => Err(failure.into_no_form()),
    }
}

/// Like [`canonical_digest`], but over an object without its member `name`. For hashes that are members of the object
/// they are over.
pub fn canonical_digest_without<'a>(
    object: impl Into<AnyJson<'a>>,
    name: &str,
    dialect: Dialect,
) -> Result<Digest, NoCanonicalForm> {
    let mut hasher = Hasher::new();
    match object.into() {
        AnyJson::Node(node) => {
            write_edited(node, &[(name, Edit::LeaveOut)], dialect, &mut hasher)?;
        }
        AnyJson::Value(value) => {
            let written = match dialect {
                Dialect::Kernel => emit_without::<KernelProfile>(value, name, &mut hasher),
                Dialect::Job => emit_without::<JobProfile>(value, name, &mut hasher),
                Dialect::Jcs => emit_without::<JcsProfile>(value, name, &mut hasher),
            };
            written.map_err(Failure::into_no_form)?;
            hasher.update(dialect.hashed_suffix());
        }
    }
    Ok(hasher.finish())
}

fn emit_without<P: Profile>(value: &Value, name: &str, sink: &mut dyn io::Write) -> Written {
    Emitter::<P>::emit(sink, FULL_BUFFER, b"", |out| match value {
        Value::Object(members) => {
            let left_out = JsonString::from(name);
            out.value_object(members.iter().filter(|(key, _)| **key != left_out))
        }
        value => out.value(value),
    })
}

/// Adds the canonical text of `value` to `hasher`, without a suffix: for digests over a text made of
/// several values.
pub fn update_digest<'a>(
    hasher: &mut Hasher,
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
) -> Result<(), NoCanonicalForm> {
    match write(value.into(), dialect, b"", hasher) {
        Ok(()) => Ok(()),
        Err(failure) => Err(failure.into_no_form()),
    }
}

/// Compares the canonical text of `value` with `stored` while writing it, so that it is never in memory. Returns its
/// digest, and the offset of the first byte at which `stored` differs.
pub fn compare_canonical<'a>(
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
    stored: &[u8],
) -> Result<(Digest, Option<usize>), NoCanonicalForm> {
    let mut comparing = Comparing {
        hasher: Hasher::new(),
        stored,
        written: 0,
        differs_at: None,
    };
    match write(value.into(), dialect, b"", &mut comparing) {
        Ok(()) => {}
        Err(failure) => return Err(failure.into_no_form()),
    }
    let is_longer = comparing.written < stored.len();
    let differs_at = comparing
        .differs_at
        .or(is_longer.then_some(comparing.written));
    Ok((comparing.hasher.finish(), differs_at))
}

/// A sink that hashes what is written and compares it with `stored`.
struct Comparing<'s> {
    hasher: Hasher,
    stored: &'s [u8],
    written: usize,
    differs_at: Option<usize>,
}

impl io::Write for Comparing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hasher.update(bytes);
        if self.differs_at.is_none() {
            let stored = self.stored.get(self.written..).unwrap_or_default();
            if !stored.starts_with(bytes) {
                let same = bytes.iter().zip(stored).take_while(|(a, b)| a == b);
                self.differs_at = Some(self.written + same.count());
            }
        }
        self.written += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads `text` and writes its canonical form into `sink`, without the LF that the kernel
/// dialect hashes after it. On an error the sink may already have a part of it.
pub fn canonicalize(
    text: &[u8],
    dialect: Dialect,
    options: &ReadOptions,
    sink: &mut dyn io::Write,
) -> Result<(), CanonError> {
    stream(text, dialect, options, b"", sink)
}

/// Reads `text` and computes the SHA-256 over what `dialect` hashes of it.
pub fn compute_text_digest(
    text: &[u8],
    dialect: Dialect,
    options: &ReadOptions,
) -> Result<Digest, CanonError> {
    let mut hasher = Hasher::new();
    stream(text, dialect, options, dialect.hashed_suffix(), &mut hasher)?;
    Ok(hasher.finish())
}

pub(super) fn write(
    value: AnyJson<'_>,
    dialect: Dialect,
    suffix: &[u8],
    sink: &mut dyn io::Write,
) -> Written {
    match dialect {
        Dialect::Kernel => emit_value::<KernelProfile>(value, suffix, sink),
        Dialect::Job => emit_value::<JobProfile>(value, suffix, sink),
        Dialect::Jcs => emit_value::<JcsProfile>(value, suffix, sink),
    }
}

fn emit_value<P: Profile>(value: AnyJson<'_>, suffix: &[u8], sink: &mut dyn io::Write) -> Written {
    match value {
        AnyJson::Node(node) => Emitter::<P>::emit(sink, FULL_BUFFER, suffix, |out| out.node(node)),
        AnyJson::Value(value) => {
            Emitter::<P>::emit(sink, SMALL_BUFFER, suffix, |out| out.value(value))
        }
    }
}

fn stream(
    text: &[u8],
    dialect: Dialect,
    options: &ReadOptions,
    suffix: &[u8],
    sink: &mut dyn io::Write,
) -> Result<(), CanonError> {
    let mut reader = Reader::new(text, options)?;
    let written = match dialect {
        Dialect::Kernel => emit_stream::<KernelProfile>(&mut reader, suffix, sink),
        Dialect::Job => emit_stream::<JobProfile>(&mut reader, suffix, sink),
        Dialect::Jcs => emit_stream::<JcsProfile>(&mut reader, suffix, sink),
    };
    written.map_err(|failure| match failure {
        Failure::Fault(fault) => CanonError::Json(reader.error(*fault)),
        Failure::NoForm(no_form) => CanonError::NoForm(*no_form),
        Failure::Sink(error) => CanonError::Sink(error),
    })
}

fn emit_stream<P: Profile>(
    reader: &mut Reader<'_>,
    suffix: &[u8],
    sink: &mut dyn io::Write,
) -> Written {
    Emitter::<P>::emit(sink, FULL_BUFFER, suffix, |out| {
        reader.begin()?;
        stream_value(reader, out, 0)?;
        reader.end()?;
        Ok(())
    })
}

/// Reads a value and writes it: arrays element by element, everything else whole.
fn stream_value<P: Profile>(
    reader: &mut Reader<'_>,
    out: &mut Emitter<'_, P>,
    depth: u32,
) -> Written {
    if reader.peek() != Some(b'[') {
        let slot = reader.value(depth)?;
        let node = Node {
            text: reader.text,
            store: &reader.store,
            slot,
        };
        out.node(node)?;
        reader.store.items.clear();
        reader.store.members.clear();
        return Ok(());
    }
    out.byte(b'[');
    if reader.open_bracket(depth, b']')? {
        loop {
            stream_value(reader, out, depth + 1)?;
            if !reader.another(b']')? {
                break;
            }
            out.byte(b',');
        }
    }
    out.byte(b']');
    out.drain_if_full()
}

type Written = Result<(), Failure>;

/// Why writing stopped. Large variants are boxed, because this is in the result of every step.
pub(super) enum Failure {
    Fault(Fault),
    NoForm(Box<NoCanonicalForm>),
    Sink(io::Error),
}

impl Failure {
    /// Converts the failure of writing a value into memory or a hash. Both accept everything and
    /// nothing is read, so only a value without a form is expected. Anything else is an error too,
    /// never a shorter text.
    pub(super) fn into_no_form(self) -> NoCanonicalForm {
        match self {
            Self::NoForm(no_form) => *no_form,
            Self::Fault(_) | Self::Sink(_) => unwritten(),
        }
    }
}

fn unwritten() -> NoCanonicalForm {
    NoCanonicalForm {
        kind: NoFormKind::Unwritten,
        position: None,
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

fn no_form(kind: NoFormKind, position: Option<Position>) -> Failure {
    Failure::NoForm(Box::new(NoCanonicalForm { kind, position }))
}

/// Writes one dialect through a buffer into a sink.
pub(super) struct Emitter<'s, P> {
    out: Vec<u8>,
    sink: &'s mut dyn io::Write,
    profile: std::marker::PhantomData<P>,
}

impl<'s, P: Profile> Emitter<'s, P> {
    fn emit(
        sink: &'s mut dyn io::Write,
        room: usize,
        suffix: &[u8],
        fill: impl FnOnce(&mut Self) -> Written,
    ) -> Written {
        let mut emitter = Self {
            out: Vec::with_capacity(room),
            sink,
            profile: std::marker::PhantomData,
        };
        fill(&mut emitter)?;
        emitter.out.extend_from_slice(suffix);
        emitter.drain()
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    fn drain(&mut self) -> Written {
        self.sink.write_all(&self.out).map_err(Failure::Sink)?;
        self.out.clear();
        Ok(())
    }

    #[inline]
    fn drain_if_full(&mut self) -> Written {
        if self.out.len() >= BUFFER {
            self.drain()
        } else {
            Ok(())
        }
    }

    /// Writes a number, or a string without its quotes, as it is written in the text.
    #[inline]
    fn raw(&mut self, node: Node<'_>) -> Written {
        // Most are short. Copying a fixed number of bytes and dropping the excess takes a few
        // instructions; copying the exact number takes a call.
        const SHORT: usize = 32;
        let start = node.slot.start();
        let len = node.slot.len();
        match node.text.as_bytes().get(start..start + SHORT) {
            Some(bytes) if len <= SHORT => {
                let end = self.out.len() + len;
                self.out.extend_from_slice(bytes);
                self.out.truncate(end);
                self.drain_if_full()
            }
            _ => self.run(node.raw().as_bytes()),
        }
    }

    /// Writes bytes unchanged.
    #[inline]
    fn run(&mut self, bytes: &[u8]) -> Written {
        if bytes.len() > BUFFER / 4 {
            self.drain()?;
            return self.sink.write_all(bytes).map_err(Failure::Sink);
        }
        self.out.extend_from_slice(bytes);
        self.drain_if_full()
    }

    /// Inlined into the loops of arrays and objects, so that only they pay for a call.
    #[inline(always)]
    fn node(&mut self, node: Node<'_>) -> Written {
        match node.slot.tag() {
            Tag::Null => self.run(b"null"),
            Tag::False => self.run(b"false"),
            Tag::True => self.run(b"true"),
            Tag::Number if node.slot.flags() & VERBATIM != 0 => self.raw(node),
            Tag::Number => P::write_number(&mut self.out, node.raw())
                .map_err(|kind| no_form(kind, node.position())),
            Tag::String => self.node_string(node),
            Tag::Array => self.node_array(node),
            Tag::Object => self.node_object(node),
        }
    }

    #[inline(never)]
    fn node_array(&mut self, node: Node<'_>) -> Written {
        let mut before = b'[';
        for item in node.items() {
            self.byte(before);
            self.node(item)?;
            before = b',';
        }
        self.close(before, b'[', b']')
    }

    #[inline(never)]
    fn node_object(&mut self, node: Node<'_>) -> Written {
        let members = node.object_members();
        match self.in_order(node) {
            Some(sorted) => self.node_members(node.text, node.store, &sorted),
            None => self.node_members(node.text, node.store, members),
        }
    }

    /// The members of an object in the dialect's order; `None` if they are already in it.
    fn in_order(&self, node: Node<'_>) -> Option<Vec<Member>> {
        if !P::UTF16_ORDER || node.slot.flags() & ORDER_DIFFERS == 0 {
            return None;
        }
        let mut members = node.object_members().to_vec();
        let key = |member: &Member| text::decode_raw(&node.text[member.key().range()]);
        members.sort_by(|a, b| P::compare_keys(&key(a), &key(b)));
        Some(members)
    }

    fn node_members(&mut self, text: &str, store: &Store, members: &[Member]) -> Written {
        let mut before = b'{';
        for member in members {
            self.byte(before);
            self.node_string(Node {
                text,
                store,
                slot: member.key(),
            })?;
            self.byte(b':');
            self.node(Node {
                text,
                store,
                slot: member.value(),
            })?;
            before = b',';
        }
        self.close(before, b'{', b'}')
    }

    /// Ends a container; `before` is still `open` if it has no elements.
    #[inline]
    fn close(&mut self, before: u8, open: u8, close: u8) -> Written {
        if before == open {
            self.byte(open);
        }
        self.byte(close);
        self.drain_if_full()
    }

    #[inline]
    fn node_string(&mut self, node: Node<'_>) -> Written {
        self.byte(b'"');
        if node.slot.flags() & P::REWRITTEN == 0 {
            self.raw(node)?;
        } else {
            for piece in RawPieces::new(node.raw()) {
                P::write_piece(&mut self.out, piece)
                    .map_err(|kind| no_form(kind, node.position()))?;
                self.drain_if_full()?;
            }
        }
        self.byte(b'"');
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Written {
        match value {
            Value::Null => self.run(b"null"),
            Value::Bool(false) => self.run(b"false"),
            Value::Bool(true) => self.run(b"true"),
            Value::Number(number) => P::write_number(&mut self.out, number.get().text())
                .map_err(|kind| no_form(kind, None)),
            Value::String(string) => self.value_string(string),
            Value::Array(items) => {
                let mut before = b'[';
                for item in items {
                    self.byte(before);
                    self.value(item)?;
                    before = b',';
                }
                self.close(before, b'[', b']')
            }
            Value::Object(members) => self.value_object(members.iter()),
        }
    }

    fn value_object<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v JsonString, &'v Value)> + Clone,
    ) -> Written {
        let compare = |a: &JsonString, b: &JsonString| P::compare_keys(a.as_wtf8(), b.as_wtf8());
        // They are sorted by code point, which is almost always the dialect's order.
        let keys = members.clone().map(|(key, _)| key);
        if keys.is_sorted_by(|a, b| compare(a, b).is_le()) {
            return self.value_members(members);
        }
        let mut members: Vec<_> = members.collect();
        members.sort_by(|(a, _), (b, _)| compare(a, b));
        self.value_members(members.into_iter())
    }

    fn value_members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v JsonString, &'v Value)>,
    ) -> Written {
        let mut before = b'{';
        for (key, value) in members {
            self.byte(before);
            self.value_string(key)?;
            self.byte(b':');
            self.value(value)?;
            before = b',';
        }
        self.close(before, b'{', b'}')
    }

    fn value_string(&mut self, string: &JsonString) -> Written {
        self.byte(b'"');
        match string.as_str() {
            Some(text) => self.value_piece(Piece::Plain(text))?,
            None => string
                .pieces()
                .try_for_each(|piece| self.value_piece(piece))?,
        }
        self.byte(b'"');
        Ok(())
    }

    #[inline]
    fn value_piece(&mut self, piece: Piece<'_>) -> Written {
        P::write_piece(&mut self.out, piece).map_err(|kind| no_form(kind, None))?;
        self.drain_if_full()
    }
}

//! Strict JSON reading: RFC 8259's grammar, UTF-8 only, no duplicate keys, bounded.
//!
//! The reader checks UTF-8 once for the whole text, then walks it and keeps places instead of
//! copies. An object is sorted and checked for duplicates when it closes, so that writers need not
//! sort. Recursion is bounded by the depth limit.

use super::document::{Document, Store};
use super::error::{JsonError, JsonErrorKind, Position};
use super::scan;
use super::shortest::{NumberParts, SAFE_DIGITS};
use super::slot::{
    ESCAPED, Flags, LONE, Member, ORDER_DIFFERS, REWRITE, Slot, Tag, VERBATIM, WIDE,
};
use super::text;
use crate::limits::JsonLimits;

/// How to read a text.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// Bounds on what is read.
    pub limits: JsonLimits,
    /// Whether a byte order mark before the text is dropped (intents) or refused (everything else).
    pub strip_bom: bool,
}

impl ReadOptions {
    /// For text of any origin: the largest limits.
    pub const TEXT: Self = Self {
        limits: JsonLimits::TEXT,
        strip_bom: false,
    };
    /// For an intent: a byte order mark is dropped.
    pub const INTENT: Self = Self {
        limits: JsonLimits::INTENT,
        strip_bom: true,
    };

    /// Subtracts the values of `document` from the free values. For documents that are in memory together and share
    /// them.
    pub fn share_with(&mut self, document: &Document<'_>) {
        let free = &mut self.limits.free_values;
        *free = free.saturating_sub(document.values() as u64);
    }
}

/// Reads one JSON document.
pub fn parse_document<'a>(
    bytes: &'a [u8],
    options: &ReadOptions,
) -> Result<Document<'a>, JsonError> {
    let mut reader = Reader::new(bytes, options)?;
    let root = reader.whole().map_err(|fault| reader.error(*fault))?;
    Ok(Document {
        text: reader.text,
        store: reader.store,
        root,
    })
}

/// What is wrong, and at which byte. Boxed so that the results of the happy path stay small.
pub(super) type Fault = Box<(JsonErrorKind, usize)>;
type Read<T> = Result<T, Fault>;

pub(super) struct Reader<'a> {
    pub text: &'a str,
    pub store: Store,
    bytes: &'a [u8],
    at: usize,
    limits: JsonLimits,
    /// Elements and members of the containers that are still open, innermost last.
    open_items: Vec<Slot>,
    pub open_members: Vec<Member>,
    /// The most elements and members that may be in memory at once.
    max_values: usize,
}

/// The buffers of a reader.
#[derive(Default)]
pub(super) struct ReaderParts {
    pub store: Store,
    pub open_items: Vec<Slot>,
    pub open_members: Vec<Member>,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], options: &ReadOptions) -> Result<Self, JsonError> {
        let fail = |kind, offset| JsonError {
            kind,
            position: Position::of(bytes, offset),
        };
        let limit = options.limits.max_bytes.min(JsonLimits::LARGEST_TEXT);
        let actual = bytes.len() as u64;
        if actual > limit {
            return Err(fail(JsonErrorKind::TooLarge { actual, limit }, 0));
        }
        let text = str::from_utf8(bytes)
            .map_err(|error| fail(JsonErrorKind::NotUtf8, error.valid_up_to()))?;
        let text = match text.strip_prefix('\u{FEFF}') {
            Some(rest) if options.strip_bom => rest,
            Some(_) => return Err(fail(JsonErrorKind::ByteOrderMark, 0)),
            None => text,
        };
        Ok(Self {
            text,
            store: Store::for_text(text.len()),
            bytes: text.as_bytes(),
            at: 0,
            limits: options.limits,
            open_items: Vec::new(),
            open_members: Vec::new(),
            max_values: options.limits.max_values(text.len()),
        })
    }

    /// A reader of values in a text that is known to be strict JSON.
    pub fn within(text: &'a str) -> Self {
        let limits = JsonLimits::TEXT;
        Self {
            text,
            store: Store::default(),
            bytes: text.as_bytes(),
            at: 0,
            limits,
            open_items: Vec::new(),
            open_members: Vec::new(),
            max_values: limits.max_values(text.len()),
        }
    }

    /// A reader that continues at `place` in a text and reuses the buffers of another reader.
    pub fn resume(text: &'a str, place: usize, parts: ReaderParts) -> Self {
        let parts = parts.cleared();
        let limits = JsonLimits::DOCUMENT;
        Self {
            text,
            store: parts.store,
            bytes: text.as_bytes(),
            at: place,
            limits,
            open_items: parts.open_items,
            open_members: parts.open_members,
            max_values: limits.max_values(text.len()),
        }
    }

    /// Returns the buffers, for reuse.
    pub fn into_parts(self) -> ReaderParts {
        ReaderParts {
            store: self.store,
            open_items: self.open_items,
            open_members: self.open_members,
        }
    }

    /// The offset of the next byte.
    pub fn place(&self) -> usize {
        self.at
    }

    /// Continues at another place.
    pub fn go_to(&mut self, place: usize) {
        self.at = place;
        self.open_items.clear();
        self.open_members.clear();
    }

    pub fn error(&self, (kind, offset): (JsonErrorKind, usize)) -> JsonError {
        JsonError {
            kind,
            position: Position::of(self.bytes, offset),
        }
    }

    fn whole(&mut self) -> Read<Slot> {
        self.begin()?;
        let root = self.value(0)?;
        self.end()?;
        Ok(root)
    }

    /// Goes to the first byte of the document's value.
    pub fn begin(&mut self) -> Read<()> {
        self.skip_white_space();
        if self.peek().is_none() {
            Err(self.fail(JsonErrorKind::Empty))
        } else {
            Ok(())
        }
    }

    /// Makes sure that nothing follows the document's value.
    pub fn end(&mut self) -> Read<()> {
        self.skip_white_space();
        if self.peek().is_none() {
            return Ok(());
        }
        let found = self.found();
        Err(self.fail(JsonErrorKind::TrailingText { found }))
    }

    /// Reads the value that begins here; `depth` brackets are open around it.
    ///
    /// Inlined into the loops of arrays and objects, which are not: the slot of a number or string
    /// stays in registers there, and only brackets pay for a call.
    #[inline(always)]
    pub fn value(&mut self, depth: u32) -> Read<Slot> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => {
                let (flags, start, len) = self.object(depth)?;
                Ok(Slot::new(Tag::Object, flags, start, len))
            }
            Some(b'[') => {
                let (start, len) = self.array(depth)?;
                Ok(Slot::new(Tag::Array, 0, start, len))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Tag::True),
            Some(b'f') => self.literal("false", Tag::False),
            Some(b'n') => self.literal("null", Tag::Null),
            _ => Err(self.no_value()),
        }
    }

    #[cold]
    fn no_value(&self) -> Fault {
        if self.rest_begins_with("NaN") || self.rest_begins_with("Infinity") {
            return self.fail(JsonErrorKind::NotANumber);
        }
        if self.peek() == Some(b'+') {
            return self.fail(JsonErrorKind::BadNumber {
                reason: "a number does not begin with a plus sign",
            });
        }
        self.unexpected("a value")
    }

    #[inline]
    fn literal(&mut self, word: &'static str, tag: Tag) -> Read<Slot> {
        if !self.rest_begins_with(word) {
            return Err(self.unexpected("a value"));
        }
        let start = self.at;
        self.at += word.len();
        Ok(Slot::new(tag, 0, start, word.len()))
    }

    /// Reads an array. Returns where its elements begin in the store, and their number.
    #[inline(never)]
    fn array(&mut self, depth: u32) -> Read<(usize, usize)> {
        let base = self.open_items.len();
        if self.open_bracket(depth, b']')? {
            loop {
                let item = self.value(depth + 1)?;
                if self.open_items.len() == self.open_items.capacity() {
                    let room = self.room()?;
                    grow(&mut self.open_items, room);
                }
                self.open_items.push(item);
                if !self.another(b']')? {
                    break;
                }
            }
        }
        let start = settle(&mut self.open_items, base, &mut self.store.items);
        self.room()?;
        Ok((start, self.store.items.len() - start))
    }

    /// Reads an object. Returns its flags, where its members begin in the store, and their number.
    #[inline(never)]
    fn object(&mut self, depth: u32) -> Read<(Flags, usize, usize)> {
        let base = self.open_members.len();
        let mut key_flags = 0;
        if self.open_bracket(depth, b'}')? {
            loop {
                let key = self.key()?;
                key_flags |= key.flags();
                let value = self.value(depth + 1)?;
                if self.open_members.len() == self.open_members.capacity() {
                    let room = self.room()?;
                    grow(&mut self.open_members, room);
                }
                self.open_members.push(Member::new(key, value));
                if !self.another(b'}')? {
                    break;
                }
            }
        }
        self.sort_members(base, key_flags)?;
        let start = settle(&mut self.open_members, base, &mut self.store.members);
        self.room()?;
        let flags = if key_flags & (WIDE | REWRITE) == 0 {
            0
        } else {
            ORDER_DIFFERS
        };
        Ok((flags, start, self.store.members.len() - start))
    }

    /// Reads a key and the colon after it, up to its value.
    #[inline(always)]
    pub fn key(&mut self) -> Read<Slot> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let key = self.string()?;
        self.skip_white_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.at += 1;
        self.skip_white_space();
        Ok(key)
    }

    /// How many more elements and members fit; an error if there are already too many.
    #[inline]
    fn room(&self) -> Read<usize> {
        let held = self.store.items.len()
            + self.store.members.len()
            + self.open_items.len()
            + self.open_members.len();
        match self.max_values.checked_sub(held) {
            Some(room) => Ok(room),
            None => Err(self.fail(JsonErrorKind::TooManyValues {
                limit: self.max_values,
                bytes: self.bytes.len(),
            })),
        }
    }

    /// Takes the opening bracket. Returns `false` if the closing one follows, and takes it too.
    pub fn open_bracket(&mut self, depth: u32, close: u8) -> Read<bool> {
        if depth >= self.limits.max_depth {
            return Err(self.fail(JsonErrorKind::TooDeep {
                limit: self.limits.max_depth,
            }));
        }
        self.at += 1;
        self.skip_white_space();
        let closes = self.peek() == Some(close);
        self.at += usize::from(closes);
        Ok(!closes)
    }

    /// Takes a comma (`true`: another element follows) or the closing bracket (`false`).
    #[inline]
    pub fn another(&mut self, close: u8) -> Read<bool> {
        self.skip_white_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_white_space();
                if self.peek() == Some(close) {
                    return Err(self.unexpected("another element after the comma"));
                }
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ if close == b']' => Err(self.unexpected("`,` or `]`")),
            _ => Err(self.unexpected("`,` or `}`")),
        }
    }

    /// Sorts the members from `base` on by code point and refuses duplicate keys.
    pub fn sort_members(&mut self, base: usize, key_flags: Flags) -> Read<()> {
        let text = self.text;
        let members = &mut self.open_members[base..];
        let raw = |member: &Member| &text.as_bytes()[member.key().range()];
        if key_flags & ESCAPED == 0 {
            if members.is_sorted_by(|a, b| raw(a) < raw(b)) {
                return Ok(());
            }
            members.sort_unstable_by(|a, b| {
                raw(a)
                    .cmp(raw(b))
                    .then(a.key().start().cmp(&b.key().start()))
            });
        } else {
            let written = |member: &Member| &text[member.key().range()];
            members.sort_unstable_by(|a, b| {
                text::compare_raw(written(a), written(b))
                    .then(a.key().start().cmp(&b.key().start()))
            });
        }
        let is_duplicate = |pair: &&[Member]| {
            if key_flags & ESCAPED == 0 {
                raw(&pair[0]) == raw(&pair[1])
            } else {
                let written = |member: &Member| &text[member.key().range()];
                text::compare_raw(written(&pair[0]), written(&pair[1])).is_eq()
            }
        };
        let duplicate = members
            .windows(2)
            .filter(is_duplicate)
            .min_by_key(|pair| pair[1].key().start());
        let Some([first, second]) = duplicate else {
            return Ok(());
        };
        let kind = JsonErrorKind::DuplicateKey {
            key: shorten(&text::lossy(&text::decode_raw(&text[first.key().range()]))),
            first: Position::of(self.bytes, first.key().start() - 1),
        };
        Err(Box::new((kind, second.key().start() - 1)))
    }

    #[inline]
    fn string(&mut self) -> Read<Slot> {
        let start = self.at + 1;
        let mut from = start;
        let mut flags = 0;
        loop {
            let (end, wide) = scan::plain_run(self.bytes, from);
            if wide {
                flags |= WIDE;
            }
            match self.bytes.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    let limit = self.limits.max_string_bytes;
                    if end - start > limit as usize {
                        return Err(Box::new((
                            JsonErrorKind::StringTooLong { limit },
                            start - 1,
                        )));
                    }
                    return Ok(Slot::new(Tag::String, flags, start, end - start));
                }
                Some(b'\\') => {
                    let (taken, noticed) = escape(self.bytes, end)?;
                    flags |= ESCAPED | noticed;
                    from = end + taken;
                }
                Some(&byte) => {
                    let kind = JsonErrorKind::ControlCharacter {
                        found: char::from(byte),
                    };
                    return Err(Box::new((kind, end)));
                }
                None => {
                    let kind = JsonErrorKind::UnexpectedEnd {
                        expected: "the end of a string",
                    };
                    return Err(Box::new((kind, start - 1)));
                }
            }
        }
    }

    #[inline(always)]
    fn number(&mut self) -> Read<Slot> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        if negative && self.rest_begins_with("Infinity") {
            return Err(self.fail(JsonErrorKind::NotANumber));
        }
        let whole = (self.at, self.digits("a digit must follow the minus sign")?);
        let starts_with_zero = self.bytes[whole.0] == b'0';
        if whole.1 > 1 && starts_with_zero {
            self.at = whole.0;
            return Err(self.fail(JsonErrorKind::BadNumber {
                reason: "it begins with a superfluous zero",
            }));
        }
        // Integers are done here: the fewer branches a number takes, the fewer the processor
        // mispredicts.
        let verbatim = match self.peek() {
            Some(b'.' | b'e' | b'E') => self.fraction_and_exponent(whole)?,
            _ => whole.1 <= SAFE_DIGITS && !(negative && starts_with_zero),
        };
        let flags = if verbatim { VERBATIM } else { 0 };
        Ok(Slot::new(Tag::Number, flags, start, self.at - start))
    }

    /// Takes the fraction and exponent of a number that is not an integer. Returns whether every
    /// dialect is known to print the number as it is written.
    #[inline(always)]
    fn fraction_and_exponent(&mut self, whole: (usize, usize)) -> Read<bool> {
        let mut parts = NumberParts {
            text: self.bytes,
            whole,
            fraction: (self.at, 0),
            exponent: b"",
        };
        if self.peek() == Some(b'.') {
            self.at += 1;
            parts.fraction = (self.at, self.digits("a digit must follow the point")?);
        }
        let Some(letter @ (b'e' | b'E')) = self.peek() else {
            return Ok(parts.is_canonical_everywhere());
        };
        self.at += 1;
        let exponent = self.at;
        self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
        self.digits("the exponent needs a digit")?;
        parts.exponent = &self.bytes[exponent..self.at];
        // `E` is read, but no dialect prints it.
        Ok(letter == b'e' && parts.is_canonical_everywhere())
    }

    /// Takes a run of at least one digit and returns its length.
    #[inline]
    fn digits(&mut self, reason: &'static str) -> Read<usize> {
        let count = scan::digits_end(self.bytes, self.at) - self.at;
        if count == 0 {
            return Err(self.fail(JsonErrorKind::BadNumber { reason }));
        }
        self.at += count;
        Ok(count)
    }

    #[inline]
    pub fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest_begins_with(&self, word: &str) -> bool {
        self.bytes[self.at..].starts_with(word.as_bytes())
    }

    #[cold]
    fn unexpected(&self, expected: &'static str) -> Fault {
        if self.peek().is_none() {
            return self.fail(JsonErrorKind::UnexpectedEnd { expected });
        }
        self.fail(JsonErrorKind::Unexpected {
            found: self.found(),
            expected,
        })
    }

    #[cold]
    fn fail(&self, kind: JsonErrorKind) -> Fault {
        Box::new((kind, self.at))
    }

    /// The next character, quoted for a message.
    fn found(&self) -> String {
        match self
            .text
            .get(self.at..)
            .and_then(|rest| rest.chars().next())
        {
            Some(c) if c.is_control() => format!("U+{:04X}", u32::from(c)),
            Some(c) => format!("`{c}`"),
            None => "the end".to_owned(),
        }
    }
}

/// Doubles the capacity of a full list, but to no more than one element beyond the limit: that one is
/// noticed when the list is full again, or closed.
#[cold]
fn grow<T>(list: &mut Vec<T>, room: usize) {
    let wanted = list.len().max(64);
    list.reserve_exact(wanted.min(room.saturating_add(1)));
}

/// Moves the values of a container, from `base` on, to the end of `store`. Returns where they begin
/// there.
///
/// A container that is larger than everything else is not copied: its list becomes the store.
/// Otherwise one long list would briefly be in memory twice.
#[inline]
pub(super) fn settle<T: Copy>(open: &mut Vec<T>, base: usize, store: &mut Vec<T>) -> usize {
    const LARGE: usize = 64 << 10;
    let start = store.len();
    let count = open.len() - base;
    if count < LARGE || count <= base + start {
        store.extend_from_slice(&open[base..]);
        open.truncate(base);
    } else {
        let outer = open[..base].to_vec();
        let mut whole = std::mem::replace(open, outer);
        whole.splice(..base, store.iter().copied());
        *store = whole;
    }
    start
}

/// Checks the escape at `at`. Returns the number of bytes it takes, and its flags.
fn escape(bytes: &[u8], at: usize) -> Read<(usize, Flags)> {
    let fail = |reason| Err(Box::new((JsonErrorKind::BadEscape { reason }, at)));
    let unit_at = |at: usize| bytes.get(at..at + 4).and_then(text::parse_hex4);
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => Ok((2, 0)),
        Some(b'/') => Ok((2, REWRITE)),
        Some(b'u') => match unit_at(at + 2) {
            None => fail("four hex digits must follow `\\u`"),
            Some(0xD800..=0xDBFF) => {
                let low = bytes.get(at + 6..at + 8).filter(|next| next == b"\\u");
                match low.and_then(|_| unit_at(at + 8)) {
                    Some(0xDC00..=0xDFFF) => Ok((12, REWRITE)),
                    _ => Ok((6, REWRITE | LONE)),
                }
            }
            Some(0xDC00..=0xDFFF) => Ok((6, REWRITE | LONE)),
            Some(8 | 9 | 10 | 12 | 13) => Ok((6, REWRITE)),
            Some(0..=0x1F) if !bytes[at + 2..at + 6].iter().any(u8::is_ascii_uppercase) => {
                Ok((6, 0))
            }
            Some(_) => Ok((6, REWRITE)),
        },
        Some(_) => fail("no such escape"),
        None => fail("the text ends in the middle of it"),
    }
}

/// Quotes a text for a message, cut to a readable length.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let shown: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(MOST).is_some() {
        format!("`{shown}…`")
    } else {
        format!("`{shown}`")
    }
}

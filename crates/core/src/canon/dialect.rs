//! The three dialects of canonical JSON: what each prints for strings and numbers, and how it
//! orders keys. This file and `writer.rs` are the only writers of hashed bytes.
//!
//! | dialect | keys by | strings | numbers | hashed |
//! |---|---|---|---|---|
//! | kernel (000, 002, 003) | UTF-16 code units | as ECMAScript, lone surrogates as escapes | ECMAScript | text, LF |
//! | job (001) | code points | as Python with `ensure_ascii` | Python, integers exact | text |
//! | jcs (004) | UTF-16 code units | RFC 8785 | RFC 8785 | text |

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::error::NoFormKind;
use super::number;
use super::reader::shorten;
use super::scan;
use super::slot::{Flags, REWRITE, WIDE};
use super::text::{Piece, compare_utf16_bytes};

/// A dialect of canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// For context bundles, packs and proposals: ECMAScript's `JSON.stringify` with sorted keys.
    Kernel,
    /// For job bundles: Python's `json.dumps` with sorted keys and compact separators.
    Job,
    /// For run bundles: RFC 8785.
    Jcs,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Job, Self::Jcs];

    /// The dialect's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Job => "job",
            Self::Jcs => "jcs",
        }
    }

    /// What is hashed after the text: the kernel's canonical bytes end in LF (000 §5.3).
    pub(super) const fn hashed_suffix(self) -> &'static [u8] {
        match self {
            Self::Kernel => b"\n",
            Self::Job | Self::Jcs => b"",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No dialect has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of the dialects kernel, job and jcs")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let known = Self::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// What a dialect prints.
pub(super) trait Profile {
    /// A string with any of these flags is not printed as it is written.
    const REWRITTEN: Flags;
    /// Whether keys sort by UTF-16 code units; otherwise by code points.
    const UTF16_ORDER: bool;

    /// Appends a piece of a string, without quotes.
    fn write_piece(out: &mut Vec<u8>, piece: Piece<'_>) -> Result<(), NoFormKind>;

    /// Appends a number.
    fn write_number(out: &mut Vec<u8>, text: &str) -> Result<(), NoFormKind>;

    /// Compares two keys, given as WTF-8.
    fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
        if Self::UTF16_ORDER {
            compare_utf16_bytes(a, b)
        } else {
            a.cmp(b)
        }
    }
}

pub(super) struct KernelProfile;
pub(super) struct JobProfile;
pub(super) struct JcsProfile;

impl KernelProfile {
    /// Appends a piece of a string. Cannot fail: every string has a form in this dialect, even with lone surrogates.
    pub(super) fn append_piece(out: &mut Vec<u8>, piece: Piece<'_>) {
        match piece {
            Piece::Plain(text) => write_escaped(out, text, false),
            Piece::Char(c) => write_escaped(out, c.encode_utf8(&mut [0; 4]), false),
            Piece::Lone(unit) => write_unicode_escape(out, unit),
        }
    }
}

impl Profile for KernelProfile {
    const REWRITTEN: Flags = REWRITE;
    const UTF16_ORDER: bool = true;

    fn write_piece(out: &mut Vec<u8>, piece: Piece<'_>) -> Result<(), NoFormKind> {
        Self::append_piece(out, piece);
        Ok(())
    }

    fn write_number(out: &mut Vec<u8>, text: &str) -> Result<(), NoFormKind> {
        finite(number::write_ecmascript(out, text), text)
    }
}

impl Profile for JcsProfile {
    const REWRITTEN: Flags = REWRITE;
    const UTF16_ORDER: bool = true;

    fn write_piece(out: &mut Vec<u8>, piece: Piece<'_>) -> Result<(), NoFormKind> {
        match piece {
            Piece::Lone(unit) => Err(NoFormKind::LoneSurrogate { unit }),
            other => KernelProfile::write_piece(out, other),
        }
    }

    fn write_number(out: &mut Vec<u8>, text: &str) -> Result<(), NoFormKind> {
        KernelProfile::write_number(out, text)
    }
}

impl Profile for JobProfile {
    const REWRITTEN: Flags = REWRITE | WIDE;
    const UTF16_ORDER: bool = false;

    fn write_piece(out: &mut Vec<u8>, piece: Piece<'_>) -> Result<(), NoFormKind> {
        match piece {
            Piece::Plain(text) => write_escaped(out, text, true),
            Piece::Char(c) => write_escaped(out, c.encode_utf8(&mut [0; 4]), true),
            Piece::Lone(unit) => write_unicode_escape(out, unit),
        }
        Ok(())
    }

    fn write_number(out: &mut Vec<u8>, text: &str) -> Result<(), NoFormKind> {
        finite(number::write_python(out, text), text)
    }
}

fn finite(is_finite: bool, text: &str) -> Result<(), NoFormKind> {
    if is_finite {
        Ok(())
    } else {
        Err(NoFormKind::OutOfRange {
            text: shorten(text).replace('`', ""),
        })
    }
}

/// Appends `text`, escaping quotes, backslashes, controls and, if `ascii_only`, everything but
/// printable ASCII.
fn write_escaped(out: &mut Vec<u8>, text: &str, ascii_only: bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let (mut run_end, mut wide) = scan::plain_run(bytes, at);
    while at < bytes.len() {
        // Only at the end of a run: scanning again for each character to be escaped would take quadratic time.
        if at > run_end {
            (run_end, wide) = scan::plain_run(bytes, at);
        }
        let mut end = run_end;
        if ascii_only && wide {
            let is_wide = |&byte: &u8| byte >= 0x7F;
            end = bytes[at..end]
                .iter()
                .position(is_wide)
                .map_or(end, |run| at + run);
        }
        out.extend_from_slice(&bytes[at..end]);
        let Some(&stop) = bytes.get(end) else {
            return;
        };
        at = end + 1;
        match stop {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', stop]),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..=0x1F | 0x7F => write_unicode_escape(out, u16::from(stop)),
            // A run ends before a whole character: all bytes of longer characters are stops.
            _ => {
                let Some(c) = text[end..].chars().next() else {
                    return;
                };
                at = end + c.len_utf8();
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units);
                units
                    .iter()
                    .for_each(|&unit| write_unicode_escape(out, unit));
            }
        }
    }
}

fn write_unicode_escape(out: &mut Vec<u8>, unit: u16) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u16| HEX[usize::from(unit >> shift & 15)];
    out.extend([b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

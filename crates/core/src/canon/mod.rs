//! Canonical JSON: a strict reader, and one writer for each of three dialects.
//!
//! [`parse_document`] reads bytes into a [`Document`], which the rules of the formats look at
//! through [`Node`]s. [`canonical_digest`] and [`canonical_bytes`] write a node or an owned
//! [`Value`] in a [`Dialect`]; [`canonicalize`] and [`compute_text_digest`] go from text to text
//! or digest without keeping the document. A canonical form depends on the parsed value only, not on
//! white space, the order of members, escapes or the spelling of numbers.
//!
//! This module does not read files, guess encodings or repair broken JSON.

mod dialect;
mod document;
mod error;
mod excerpt;
mod json_path;
mod locate;
mod members;
mod number;
mod outline;
mod reader;
mod scan;
mod sequence;
mod shortest;
mod slot;
mod stored;
mod text;
mod value;
mod window;
mod writer;

pub use dialect::{Dialect, UnknownDialect};
pub use document::{Document, Key, Kind, Node};
pub use error::{JsonError, JsonErrorKind, NoCanonicalForm, NoFormKind, Position};
pub use excerpt::{Excerpt, canonical_excerpt};
pub use json_path::{JsonPath, Step};
pub use locate::locate;
pub use members::Members;
pub use number::{Integer, Number};
pub use outline::{Element, Elements, LongList, Outline, parse_outline};
pub use reader::{ReadOptions, parse_document};
pub use sequence::{ListWriter, ObjectWriter};
pub use text::{JsonString, compare_utf16};
pub use value::{NumberText, Value};
pub use window::{NotPassing, Window};
pub use writer::{
    AnyJson, CanonError, Edit, Edits, canonical_bytes, canonical_digest, canonical_digest_without,
    canonical_string, canonical_text, canonicalize, compare_canonical, compute_text_digest,
    update_digest, write_edited,
};

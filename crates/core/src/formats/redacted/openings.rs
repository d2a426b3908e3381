//! The openings of the files and values that a copy shows.

use std::collections::BTreeMap;

use super::chunks::{ChunkOpening, PiecesOpening};
use super::commit::{Key, Salt, commit_array, commit_object, commit_value, read_marker};
use super::documents::{only_members, text};
use crate::canon::{JsonString, NoCanonicalForm, Value};
use crate::digest::Digest;
use crate::formats::run_bundle::pointer::Trail;

/// The most bytes of pointers to unlisted places that are kept for each file, so that findings can
/// name some.
const UNLISTED_BYTES: usize = 1 << 16;
/// How many more places may be withheld than listed, so that findings can name them.
pub(super) const UNLISTED_PLACES: usize = 1_000;

/// What opens the shown parts of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// Opens it and everything below it.
    Whole(Key),
    /// An object with parts withheld.
    Members(Salt, BTreeMap<JsonString, Opening>),
    /// An array with parts withheld.
    Elements(Salt, Vec<Opening>),
    /// A large file, shown whole: its key, and the commitment of its pieces.
    Large(Key, Digest),
    /// A large file with parts withheld.
    Pieces(PiecesOpening),
    /// Nothing: a marker is in its place.
    Withheld,
}

/// Why a shown value does not have a commitment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpeningFault {
    /// The shape of the value is not that of its opening.
    #[error("{0}: what is shown does not have the shape of what was sealed")]
    Shape(String),
    /// More is withheld than is listed.
    #[error(
        "the pointers to withheld values have over {UNLISTED_BYTES} bytes more than those listed in REDACTED.json"
    )]
    Unlisted,
    /// A number or string without a canonical form.
    #[error("{0}")]
    NoForm(#[from] NoCanonicalForm),
}

/// The result of opening a value.
#[derive(Debug, Default)]
pub struct Opened {
    /// The number of values that are shown.
    pub seen: u64,
    /// The pointers of withheld places.
    pub withheld: Vec<String>,
    room: usize,
}

impl Opened {
    /// Makes an empty result for a file whose listed pointers have this many bytes.
    pub fn with_listed(bytes: usize) -> Self {
        Self {
            room: bytes.saturating_add(UNLISTED_BYTES),
            ..Self::default()
        }
    }

    /// Notes a withheld place. A long name above many places would be copied for each, so there is
    /// only room for the listed ones and a few more.
    fn withhold(&mut self, trail: &Trail<'_>) -> Result<(), OpeningFault> {
        if trail.least_bytes() > self.room {
            return Err(OpeningFault::Unlisted);
        }
        let pointer = trail.pointer();
        let room = self.room.checked_sub(pointer.len());
        self.room = room.ok_or(OpeningFault::Unlisted)?;
        self.withheld.push(pointer);
        Ok(())
    }
}

/// A step of a JSON Pointer, escaped.
pub fn pointer_step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

impl Opening {
    /// The commitment of `value`, from what is shown of it.
    ///
    /// # Errors
    /// If the value does not have the shape of the opening.
    pub fn commit(
        &self,
        value: &Value,
        trail: &Trail<'_>,
        opened: &mut Opened,
    ) -> Result<Digest, OpeningFault> {
        let shape = || {
            OpeningFault::Shape(match trail {
                Trail::Root => "the document".to_owned(),
                trail => trail.pointer_within(UNLISTED_BYTES),
            })
        };
        match (self, value) {
            (Self::Whole(key), value) => {
                let (digest, count) = commit_value(value, key)?;
                opened.seen += count;
                Ok(digest)
            }
            (Self::Withheld, value) => {
                opened.withhold(trail)?;
                read_marker(value).ok_or_else(shape)
            }
            (Self::Members(salt, members), Value::Object(values)) => {
                if members.len() != values.len() {
                    return Err(shape());
                }
                let mut parts = Vec::with_capacity(members.len());
                for (name, opening) in members {
                    let value = values.get(name).ok_or_else(shape)?;
                    let step = name.as_str().unwrap_or("\u{fffd}");
                    let below = Trail::Member(trail, step);
                    parts.push((name, opening.commit(value, &below, opened)?));
                }
                Ok(commit_object(parts, salt))
            }
            (Self::Elements(salt, elements), Value::Array(values)) => {
                if elements.len() != values.len() {
                    return Err(shape());
                }
                let mut parts = Vec::with_capacity(elements.len());
                for (at, (opening, value)) in elements.iter().zip(values).enumerate() {
                    parts.push(opening.commit(value, &Trail::Element(trail, at), opened)?);
                }
                Ok(commit_array(&parts, salt))
            }
            _ => Err(shape()),
        }
    }

    /// Encodes the opening.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Whole(key) => Value::object([("key", key.to_hex())]),
            Self::Withheld => Value::Null,
            Self::Members(salt, members) => {
                let members = members
                    .iter()
                    .map(|(name, opening)| (name.clone(), opening.to_value()));
                Value::object([
                    ("salt", Value::from(salt.to_hex())),
                    ("members", Value::Object(members.collect())),
                ])
            }
            Self::Elements(salt, elements) => Value::object([
                ("salt", Value::from(salt.to_hex())),
                (
                    "elements",
                    Value::array(elements.iter().map(Self::to_value)),
                ),
            ]),
            Self::Large(key, pieces) => {
                Value::object([("key", key.to_hex()), ("pieces", pieces.to_string())])
            }
            Self::Pieces(opening) => Value::object([
                ("salt", Value::from(opening.salt.to_hex())),
                ("whole", Value::from(opening.whole.to_string())),
                ("pieces", Value::from(opening.pieces.to_hex())),
                (
                    "chunks",
                    Value::array(opening.chunks.iter().map(ChunkOpening::to_value)),
                ),
            ]),
        }
    }

    /// Parses an opening. `room` is how many more places may be withheld: each takes far more
    /// memory than its `null` in the file.
    pub(super) fn from_value(value: &Value, room: &mut usize) -> Option<Self> {
        let digest = |name: &str| Digest::parse_hex(&text(value, name)?).ok();
        if only_members(value, &["key", "pieces"]) && value.get("pieces").is_some() {
            let key = Key::parse(&text(value, "key")?)?;
            return Some(Self::Large(key, digest("pieces")?));
        }
        if only_members(value, &["salt", "whole", "pieces", "chunks"])
            && let Some(Value::Array(chunks)) = value.get("chunks")
        {
            let chunks = chunks.iter().map(ChunkOpening::from_value);
            return Some(Self::Pieces(PiecesOpening {
                salt: Salt::parse(&text(value, "salt")?)?,
                whole: digest("whole")?,
                pieces: Salt::parse(&text(value, "pieces")?)?,
                chunks: chunks.collect::<Option<_>>()?,
            }));
        }
        if *value == Value::Null {
            *room = room.checked_sub(1)?;
            return Some(Self::Withheld);
        }
        if only_members(value, &["key"]) {
            return Some(Self::Whole(Key::parse(&text(value, "key")?)?));
        }
        let salt = Salt::parse(&text(value, "salt")?)?;
        match (value.get("members"), value.get("elements")) {
            (Some(Value::Object(members)), None) if only_members(value, &["salt", "members"]) => {
                let members = members
                    .iter()
                    .map(|(name, opening)| Some((name.clone(), Self::from_value(opening, room)?)));
                Some(Self::Members(salt, members.collect::<Option<_>>()?))
            }
            (None, Some(Value::Array(elements))) if only_members(value, &["salt", "elements"]) => {
                let elements = elements
                    .iter()
                    .map(|opening| Self::from_value(opening, room));
                Some(Self::Elements(salt, elements.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::redacted::documents::FileKind;

    /// A document with a name of `name` bytes above `places` withheld values, and its opening.
    fn long_name(name: usize, places: usize) -> (Value, Opening) {
        let marker = format!(r#"{{"runseal.redacted":"{}"}}"#, "0".repeat(64));
        let markers = vec![marker; places].join(",");
        let name = "k".repeat(name);
        let text = format!(r#"{{"{name}":[{markers}]}}"#);
        let salt = || Salt::parse(&"0".repeat(64)).unwrap();
        let below = Opening::Elements(salt(), vec![Opening::Withheld; places]);
        let members = BTreeMap::from([(JsonString::from(name.as_str()), below)]);
        let value = FileKind::Json.read(text.as_bytes()).unwrap();
        (value, Opening::Members(salt(), members))
    }

    #[test]
    fn opening_pointers_over_listed_bytes_are_refused() {
        let (value, opening) = long_name(10_000, 500);
        let mut opened = Opened::with_listed(0);
        let found = opening.commit(&value, &Trail::Root, &mut opened);
        assert_eq!(found, Err(OpeningFault::Unlisted));
        let kept: usize = opened.withheld.iter().map(String::len).sum();
        assert!(kept <= UNLISTED_BYTES, "{kept}");
    }

    #[test]
    fn opening_listed_pointers_are_all_kept() {
        let (value, opening) = long_name(10_000, 50);
        let mut opened = Opened::with_listed(50 * 10_004);
        assert!(opening.commit(&value, &Trail::Root, &mut opened).is_ok());
        assert_eq!(opened.withheld.len(), 50);
        assert!(opened.withheld[49].ends_with("k/49"));
    }
}

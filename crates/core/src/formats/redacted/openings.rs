//! What opens the files and values that a copy shows.

use std::collections::BTreeMap;

use super::chunks::{ChunkOpening, PiecesOpening};
use super::commit::{Key, Salt, commit_array, commit_object, commit_value, read_marker};
use super::documents::{only_members, text};
use crate::canon::{JsonString, NoCanonicalForm, Value};
use crate::digest::Digest;

/// What opens a value that is shown, as far as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// It and all below it.
    Whole(Key),
    /// An object of which parts are withheld.
    Members(Salt, BTreeMap<JsonString, Opening>),
    /// An array of which parts are withheld.
    Elements(Salt, Vec<Opening>),
    /// A large file, shown whole: its key, and the commitment of its pieces.
    Large(Key, Digest),
    /// A large file of which parts are withheld.
    Pieces(PiecesOpening),
    /// Nothing: a marker stands in its place.
    Withheld,
}

/// Why a shown value does not give its commitment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpeningFault {
    /// The shape of the value is not that of its opening.
    #[error("{0}: what is shown has another shape than what was sealed")]
    Shape(String),
    /// A number or string without a canonical form.
    #[error("{0}")]
    NoForm(#[from] NoCanonicalForm),
}

/// What a value that was opened gave.
#[derive(Debug, Default)]
pub struct Opened {
    /// How many values can be seen.
    pub seen: u64,
    /// Pointers of the places that are withheld.
    pub withheld: Vec<String>,
}

/// One step of a JSON Pointer.
pub fn pointer_step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

impl Opening {
    /// The commitment of `value`, from what is shown of it.
    ///
    /// # Errors
    /// When the value is not of the shape that is opened.
    pub fn commit(
        &self,
        value: &Value,
        pointer: &str,
        opened: &mut Opened,
    ) -> Result<Digest, OpeningFault> {
        let shape = || {
            OpeningFault::Shape(match pointer {
                "" => "the document".to_owned(),
                pointer => pointer.to_owned(),
            })
        };
        match (self, value) {
            (Self::Whole(key), value) => {
                let (digest, count) = commit_value(value, key)?;
                opened.seen += count;
                Ok(digest)
            }
            (Self::Withheld, value) => {
                opened.withheld.push(pointer.to_owned());
                read_marker(value).ok_or_else(shape)
            }
            (Self::Members(salt, members), Value::Object(values)) => {
                if members.len() != values.len() {
                    return Err(shape());
                }
                let mut parts = Vec::with_capacity(members.len());
                for (name, opening) in members {
                    let value = values.get(name).ok_or_else(shape)?;
                    let step = pointer_step(name.as_str().unwrap_or("\u{fffd}"));
                    let below = format!("{pointer}{step}");
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
                    parts.push(opening.commit(value, &format!("{pointer}/{at}"), opened)?);
                }
                Ok(commit_array(&parts, salt))
            }
            _ => Err(shape()),
        }
    }

    /// The opening as it is stored.
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

    pub(super) fn from_value(value: &Value) -> Option<Self> {
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
                    .map(|(name, opening)| Some((name.clone(), Self::from_value(opening)?)));
                Some(Self::Members(salt, members.collect::<Option<_>>()?))
            }
            (None, Some(Value::Array(elements))) if only_members(value, &["salt", "elements"]) => {
                let elements = elements.iter().map(Self::from_value);
                Some(Self::Elements(salt, elements.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
}

//! What a catalogue knows about one unit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use runseal_core::canon::{Dialect, Members, Value, canonical_text};
use runseal_core::digest::Digest;

use super::name::ValueName;

/// A number, a short text or a boolean from RUN_INPUT.json or RUN_OUTPUT.json.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// `true` or `false`.
    Flag(bool),
}

impl Scalar {
    /// Returns the number to compare by; `None` for a text. A boolean counts as 1 or 0.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Flag(flag) => Some(f64::from(u8::from(*flag))),
            Self::Text(_) => None,
        }
    }

    /// Returns the text to compare by; `None` for a number.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Text(text) => Some(text),
            Self::Flag(true) => Some("true"),
            Self::Flag(false) => Some("false"),
        }
    }

    /// Makes a value from its two columns: a boolean has both, a number or a text only its own.
    pub fn from_columns(number: Option<f64>, text: Option<String>) -> Option<Self> {
        match (number, text) {
            (Some(number), Some(_)) => Some(Self::Flag(number != 0.0)),
            (Some(number), None) => Some(Self::Number(number)),
            (None, Some(text)) => Some(Self::Text(text)),
            (None, None) => None,
        }
    }

    /// Returns the value as tables show it. Numbers are written as in JSON.
    pub fn shown(&self) -> String {
        match self {
            Self::Number(number) => canonical_text(&number_value(*number), Dialect::Jcs)
                .unwrap_or_else(|_| number.to_string()),
            other => other.text().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the value as JSON.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => number_value(*number),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Flag(flag) => Value::from(*flag),
        }
    }
}

/// Returns a finite number as JSON, which cannot represent others.
fn number_value(number: f64) -> Value {
    let mut text = String::new();
    // Rust writes the shortest digits that read back as the same number, without an exponent.
    let _ = write!(text, "{number}");
    match runseal_core::canon::parse_document(text.as_bytes(), &Default::default()) {
        Ok(document) => document.root().to_value(),
        Err(_) => Value::Null,
    }
}

/// Where a unit was seen, and who had signed it there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The place as it was typed, or a path below that.
    pub place: String,
    /// One signer; [`UNSIGNED`] if there is none.
    pub signer: String,
}

/// The signer of an unsigned unit.
pub const UNSIGNED: &str = "unsigned";

/// What a catalogue knows about one unit. Everything except the tags follows from the unit, its
/// places and the signatures next to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The digest of its content.
    pub digest: Digest,
    /// The name of its format.
    pub format: String,
    /// Its own id: that of a run, a bundle, a proposal.
    pub id: Option<String>,
    /// The engine that made it.
    pub engine: Option<String>,
    /// How the recorded run ended.
    pub outcome: Option<String>,
    /// When it was sealed, according to the unit itself.
    pub time: Option<String>,
    /// Parameters and metrics.
    pub values: BTreeMap<ValueName, Scalar>,
    /// The number of values left out because they are too many or too long.
    pub left_out: u64,
    /// Where it was seen; never empty in a catalogue.
    pub sightings: BTreeSet<Sighting>,
    /// The tags that users gave it.
    pub tags: BTreeSet<String>,
}

impl Entry {
    /// Returns who signed it, at any of its places.
    pub fn signers(&self) -> BTreeSet<&str> {
        let signers = self
            .sightings
            .iter()
            .map(|sighting| sighting.signer.as_str());
        let signers: BTreeSet<_> = signers.collect();
        match signers.len() {
            // If it is signed in one place, an unsigned copy elsewhere adds nothing.
            2.. => signers
                .into_iter()
                .filter(|signer| *signer != UNSIGNED)
                .collect(),
            _ => signers,
        }
    }

    /// Returns where it was seen.
    pub fn places(&self) -> BTreeSet<&str> {
        let places = self
            .sightings
            .iter()
            .map(|sighting| sighting.place.as_str());
        places.collect()
    }

    /// Returns the entry as JSON.
    pub fn to_value(&self) -> Value {
        let mut value = Value::object([
            ("digest", self.digest.to_string()),
            ("format", self.format.clone()),
        ]);
        value.insert("id", self.id.as_deref());
        value.insert("engine", self.engine.as_deref());
        value.insert("outcome", self.outcome.as_deref());
        value.insert("time", self.time.as_deref());
        value.insert("signers", Value::array(self.signers()));
        value.insert("places", Value::array(self.places()));
        value.insert("tags", Value::array(self.tags.iter().map(String::as_str)));
        for root in super::name::Root::ALL {
            let mut group = Value::Object(Members::new());
            for (name, scalar) in &self.values {
                if name.root() == root {
                    group.insert(name.pointer(), scalar.to_value());
                }
            }
            value.insert(root.name(), group);
        }
        value.insert("left_out", self.left_out);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalar_survives_its_columns_and_is_shown_as_in_documents() {
        for (scalar, shown) in [
            (Scalar::Number(0.25), "0.25"),
            (Scalar::Number(440.0), "440"),
            (Scalar::Number(-1e-7), "-1e-7"),
            (Scalar::Number(1e21), "1e+21"),
            (Scalar::Text("tiny".to_owned()), "tiny"),
            (Scalar::Flag(false), "false"),
        ] {
            assert_eq!(scalar.shown(), shown);
            let text = scalar.text().map(str::to_owned);
            assert_eq!(
                Scalar::from_columns(scalar.number(), text),
                Some(scalar.clone())
            );
        }
        assert_eq!(Scalar::from_columns(None, None), None);
    }
}

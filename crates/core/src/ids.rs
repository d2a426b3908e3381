//! Content ids: a prefix and the first hex digits of a canonical hash (000 §3.3, §5.4).
//!
//! Each kind of id is its own type, so a node's id cannot be used as a question's id, and no plain
//! string passes for an id.

use std::fmt;

use crate::canon::{AnyJson, Dialect, NoCanonicalForm, canonical_digest};

/// Hex digits after the prefix.
const HASH16: usize = 16;

/// A text that is not an id of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form `{prefix}_` and 16 lower-case hex digits")]
pub struct IdError {
    /// The text.
    pub text: String,
    /// The prefix that was expected.
    pub prefix: &'static str,
}

fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

macro_rules! content_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The part before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Derives the id of `content`, which must not contain the id itself.
            pub fn derive<'a>(content: impl Into<AnyJson<'a>>) -> Result<Self, NoCanonicalForm> {
                let hash = canonical_digest(content, Dialect::Kernel)?;
                Ok(Self(format!("{}_{}", $prefix, hash.hex_prefix(HASH16)).into()))
            }

            /// Parses an id of exactly this kind.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let hash = text.strip_prefix(concat!($prefix, "_"));
                if hash.is_some_and(|hash| is_lower_hex(hash, HASH16)) {
                    Ok(Self(text.into()))
                } else {
                    Err(IdError { text: text.to_owned(), prefix: $prefix })
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

content_id!(/// The id of a context bundle.
    BundleId, "bundle");
content_id!(/// The id of a node of a context bundle's tree.
    NodeId, "node");
content_id!(/// The id of a question.
    QuestionId, "q");
content_id!(/// The id of an output of a context bundle.
    OutputId, "out");
content_id!(/// The id of a proposal.
    ProposalId, "prop");
content_id!(/// The id of an action of a proposal.
    ActionId, "act");

/// The id of a branch of a splitting question: eight hex digits, no prefix (rulings).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(Box<str>);

impl BranchId {
    /// Derives the id of `content`, which is `{answer, question_id}`.
    pub fn derive<'a>(content: impl Into<AnyJson<'a>>) -> Result<Self, NoCanonicalForm> {
        Ok(Self(
            canonical_digest(content, Dialect::Kernel)?
                .hex_prefix(8)
                .into(),
        ))
    }

    /// Parses eight lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        is_lower_hex(text, 8).then(|| Self(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::Value;
    use crate::digest::Digest;

    #[test]
    fn content_id_derived_is_the_hash_of_the_canonical_bytes_with_lf() {
        let content = Value::object([("b", "1"), ("a", "é")]);
        let hash = Digest::of("{\"a\":\"é\",\"b\":\"1\"}\n".as_bytes());
        let id = NodeId::derive(&content).unwrap();
        assert_eq!(id.as_str(), format!("node_{}", hash.hex_prefix(16)));
        assert_eq!(NodeId::parse(id.as_str()), Ok(id));
        assert_eq!(
            BranchId::derive(&content).unwrap().as_str(),
            hash.hex_prefix(8)
        );
    }

    #[test]
    fn content_id_malformed_is_refused() {
        for text in [
            "",
            "node_",
            "node_0123456789abcde",
            "node_0123456789abcdef0",
            "node_0123456789ABCDEF",
            "bundle_0123456789abcdef",
            "node-0123456789abcdef",
        ] {
            assert!(NodeId::parse(text).is_err(), "{text}");
        }
        assert!(BranchId::parse("0123456").is_none());
        assert!(BranchId::parse("0123456G").is_none());
    }
}

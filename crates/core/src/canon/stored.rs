//! Finds out whether a text is stored in its canonical form, without writing that form.
//!
//! A text is its own canonical form if all its tokens are printed as they are written and are exactly
//! where the canonical form puts them: between two such tokens there is only room for punctuation,
//! and the reader has checked that. This takes a fraction of the time of writing and comparing.

use super::dialect::{JobProfile, Profile};
use super::document::{Document, Node};
use super::slot::{Tag, VERBATIM};

impl Document<'_> {
    /// Whether the text is its own canonical form in the job dialect, followed by `suffix` only. A
    /// string with an escape counts as not canonical, even if it is.
    pub fn is_stored_as_job(&self, suffix: &str) -> bool {
        let end = self.text.strip_suffix(suffix).map(str::len);
        end.is_some() && place_after(self.root(), 0) == end
    }
}

impl<'a> Node<'a> {
    /// The document's whole text, if this is its root and the text is its own canonical form in the job dialect.
    pub fn stored_as_job(&self) -> Option<&'a str> {
        (place_after(*self, 0) == Some(self.text.len())).then_some(self.text)
    }
}

/// Returns where the canonical form of `node` ends if it begins at `at`; `None` if the text there is
/// not its canonical form.
pub(super) fn place_after(node: Node<'_>, at: usize) -> Option<usize> {
    let slot = node.slot;
    let (start, len) = (slot.start(), slot.len());
    match slot.tag() {
        Tag::String => string_after(node, at),
        Tag::Number if slot.flags() & VERBATIM == 0 => None,
        Tag::Number | Tag::Null | Tag::False | Tag::True => (start == at).then_some(at + len),
        Tag::Array => {
            let mut at = at + 1;
            for (number, item) in node.items().enumerate() {
                at = place_after(item, at + usize::from(number > 0))?;
            }
            Some(at + 1)
        }
        Tag::Object => {
            let mut at = at + 1;
            for (number, member) in node.object_members().iter().enumerate() {
                let colon = string_after(node.with(member.key()), at + usize::from(number > 0))?;
                at = place_after(node.with(member.value()), colon + 1)?;
            }
            Some(at + 1)
        }
    }
}

/// Like [`place_after`], for a string, whose place in the text excludes its quotes.
pub(super) fn string_after(node: Node<'_>, at: usize) -> Option<usize> {
    let slot = node.slot;
    let is_here = slot.start() == at + 1 && slot.flags() & JobProfile::REWRITTEN == 0;
    is_here.then_some(at + slot.len() + 2)
}

#[cfg(test)]
mod tests {
    use crate::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};

    fn is_stored(text: &str) -> bool {
        parse_document(text.as_bytes(), &ReadOptions::default())
            .unwrap()
            .is_stored_as_job("\n")
    }

    #[test]
    fn is_stored_as_job_only_for_canonical_texts() {
        let canonical = [
            "{}",
            "[]",
            "null",
            "true",
            "-1",
            "\"x\"",
            "[[],{},[{}]]",
            r#"{"a":[1,2.5,{"b":null}],"b":"","c":{"d":false}}"#,
        ];
        for text in canonical {
            assert!(is_stored(&format!("{text}\n")), "{text}");
            assert!(!is_stored(text), "{text} without LF");
            assert!(!is_stored(&format!("{text} \n")), "{text} with a space");
            assert!(!is_stored(&format!("{text}\n\n")), "{text} with two LF");
        }
        let other = [
            "{ }",
            "[ ]",
            "[1 ,2]",
            "[1, 2]",
            r#"{"b":1,"a":2}"#,
            r#"{"a" :1}"#,
            r#"{"a": 1}"#,
            "1.50",
            "1E5",
            "-0",
            r#""\u0041""#,
            r#"{"\u0061":1}"#,
            " 1",
            "[[] ]",
        ];
        for text in other {
            assert!(!is_stored(&format!("{text}\n")), "{text}");
        }
    }

    #[test]
    fn is_stored_as_job_agrees_with_the_writer() {
        let pieces = [
            "1",
            "\"é\"",
            "\"a\"",
            "[]",
            "{}",
            "1.0",
            "1e2",
            "[1,2]",
            "{\"b\":1,\"a\":2}",
        ];
        for a in pieces {
            for b in pieces {
                for text in [format!("[{a},{b}]"), format!("{{\"x\":{a},\"y\":{b}}}")] {
                    let stored = format!("{text}\n");
                    let document = parse_document(stored.as_bytes(), &ReadOptions::default());
                    let document = document.unwrap();
                    if document.is_stored_as_job("\n") {
                        let written = canonical_bytes(document.root(), Dialect::Job).unwrap();
                        assert_eq!(written, text.as_bytes());
                    }
                }
            }
        }
    }
}

//! Writes objects with some members left out or replaced, without copying the rest. Needed for hashes and signatures
//! that are members of what they are over.

use std::borrow::Cow;
use std::io;

use super::{AnyJson, Emitter, FULL_BUFFER, Written};
use crate::canon::dialect::{Dialect, JcsProfile, JobProfile, KernelProfile, Profile};
use crate::canon::document::{Node, compare_key};
use crate::canon::error::NoCanonicalForm;
use crate::canon::slot::{Member, Tag};

/// What to do with a member.
#[derive(Debug, Clone, Copy)]
pub enum Edit<'a> {
    /// Leave it out.
    LeaveOut,
    /// Add it with this value, or replace its value.
    Set(AnyJson<'a>),
    /// Edit its own members, if it is an object.
    Within(Edits<'a>),
}

/// Edits by member name, sorted; names are ASCII.
pub type Edits<'a> = &'a [(&'a str, Edit<'a>)];

/// Writes the canonical text of `node` into `sink`, followed by what `dialect` hashes after it. Applies `edits` if it is
/// an object.
///
/// # Errors
/// If a value has no form in the dialect.
pub fn write_edited(
    node: Node<'_>,
    edits: Edits<'_>,
    dialect: Dialect,
    sink: &mut dyn io::Write,
) -> Result<(), NoCanonicalForm> {
    let suffix = dialect.hashed_suffix();
    let written = match dialect {
        Dialect::Kernel => emit::<KernelProfile>(node, edits, suffix, sink),
        Dialect::Job => emit::<JobProfile>(node, edits, suffix, sink),
        Dialect::Jcs => emit::<JcsProfile>(node, edits, suffix, sink),
    };
    written.map_err(super::Failure::into_no_form)
}

fn emit<P: Profile>(
    node: Node<'_>,
    edits: Edits<'_>,
    suffix: &[u8],
    sink: &mut dyn io::Write,
) -> Written {
    Emitter::<P>::emit(sink, FULL_BUFFER, suffix, |out| out.edited(node, edits))
}

impl<P: Profile> Emitter<'_, P> {
    fn edited(&mut self, node: Node<'_>, edits: Edits<'_>) -> Written {
        if node.slot.tag() != Tag::Object {
            return self.node(node);
        }
        let members = match self.in_order(node) {
            Some(sorted) => Cow::Owned(sorted),
            None => Cow::Borrowed(node.object_members()),
        };
        let mut before = b'{';
        // An ASCII name has the same place among the others in every dialect's order.
        let mut edits = edits.iter().peekable();
        for member in members.iter() {
            let order = |name: &str| compare_key(node.text, member.key(), name.as_bytes());
            while let Some((name, edit)) = edits.next_if(|(name, _)| order(name).is_gt()) {
                self.set(&mut before, name, edit)?;
            }
            let edit = edits.next_if(|(name, _)| order(name).is_eq());
            self.member(&mut before, node, member, edit.map(|(_, edit)| edit))?;
        }
        for (name, edit) in edits {
            self.set(&mut before, name, edit)?;
        }
        self.close(before, b'{', b'}')
    }

    /// Writes a member of the object, unless it is left out.
    fn member(
        &mut self,
        before: &mut u8,
        node: Node<'_>,
        member: &Member,
        edit: Option<&Edit<'_>>,
    ) -> Written {
        if let Some(Edit::LeaveOut) = edit {
            return Ok(());
        }
        self.byte(*before);
        *before = b',';
        self.node_string(node.with(member.key()))?;
        self.byte(b':');
        let value = node.with(member.value());
        match edit {
            Some(Edit::Set(other)) => self.any(*other),
            Some(Edit::Within(edits)) => self.edited(value, edits),
            Some(Edit::LeaveOut) | None => self.node(value),
        }
    }

    /// Writes a member that the object does not have, if it is set.
    fn set(&mut self, before: &mut u8, name: &str, edit: &Edit<'_>) -> Written {
        let Edit::Set(value) = edit else {
            return Ok(());
        };
        self.byte(*before);
        *before = b',';
        self.byte(b'"');
        self.run(name.as_bytes())?;
        self.byte(b'"');
        self.byte(b':');
        self.any(*value)
    }

    fn any(&mut self, value: AnyJson<'_>) -> Written {
        match value {
            AnyJson::Node(node) => self.node(node),
            AnyJson::Value(value) => self.value(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, Value, canonical_bytes, parse_document};

    fn edited(text: &str, edits: Edits<'_>, dialect: Dialect) -> String {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let mut written = Vec::new();
        write_edited(document.root(), edits, dialect, &mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn edited_objects_equal_edited_copies() {
        let null = Value::Null;
        let text = Value::from("é");
        let within = [("y", Edit::LeaveOut), ("z", Edit::Set((&text).into()))];
        let edits = [
            ("a", Edit::LeaveOut),
            ("c", Edit::Set((&null).into())),
            ("e", Edit::Within(&within)),
            ("g", Edit::LeaveOut),
            ("h", Edit::Within(&within)),
            ("zz", Edit::Set((&null).into())),
        ];
        for (given, wanted) in [
            (
                r#"{"b":1,"a":2,"c":[3],"d":4,"e":{"y":1,"x":2}}"#,
                r#"{"b":1,"c":null,"d":4,"e":{"x":2,"z":"\u00e9"},"zz":null}"#,
            ),
            ("{}", r#"{"c":null,"zz":null}"#),
            (r#"{"a":1,"e":[1]}"#, r#"{"c":null,"e":[1],"zz":null}"#),
            (
                r#"{"\u0061":1,"é":5,"e":{}}"#,
                r#"{"c":null,"e":{"z":"\u00e9"},"zz":null,"\u00e9":5}"#,
            ),
            ("[1,2]", "[1,2]"),
        ] {
            assert_eq!(edited(given, &edits, Dialect::Job), wanted, "{given}");
        }
    }

    #[test]
    fn edited_objects_keep_the_dialects_order() {
        let null = Value::Null;
        let edits = [("b", Edit::Set((&null).into())), ("c", Edit::LeaveOut)];
        let given = "{\"\u{ffff}\":1,\"\u{10000}\":2,\"a\":3,\"c\":4}";
        let wanted = "{\"\u{ffff}\":1,\"\u{10000}\":2,\"a\":3,\"b\":null}";
        let wanted = parse_document(wanted.as_bytes(), &ReadOptions::default()).unwrap();
        for dialect in [Dialect::Job, Dialect::Jcs, Dialect::Kernel] {
            let mut wanted = canonical_bytes(wanted.root(), dialect).unwrap();
            wanted.extend_from_slice(dialect.hashed_suffix());
            assert_eq!(edited(given, &edits, dialect).as_bytes(), wanted);
        }
    }
}

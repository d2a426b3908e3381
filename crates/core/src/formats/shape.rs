//! Shapes as tables: the members of an object, what each must be, and the message if it is not.
//!
//! A rule about the types of fields is a table of [`Member`]s and one call; only what depends on
//! several members at once is code. Each format has its own messages.

use crate::canon::{Kind, Node};
use crate::digest::{ContentHash, Digest};

/// One member of an object.
pub(super) struct Member {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether it may be missing, whatever `fits` says.
    is_optional: bool,
    /// Whether the value, or its absence, is right.
    fits: fn(Option<Node<'_>>) -> bool,
    /// The message if it is not.
    pub(super) fault: &'static str,
}

/// A row of a table.
pub(super) const fn member(
    name: &'static str,
    fits: fn(Option<Node<'_>>) -> bool,
    fault: &'static str,
) -> Member {
    Member {
        name,
        is_optional: false,
        fits,
        fault,
    }
}

/// A row for a member that may be missing.
pub(super) const fn optional(
    name: &'static str,
    fits: fn(Option<Node<'_>>) -> bool,
    fault: &'static str,
) -> Member {
    Member {
        is_optional: true,
        ..member(name, fits, fault)
    }
}

/// The members of `object` that do not fit the table, in the table's order.
pub(super) fn find_misfits<'t>(
    object: Node<'_>,
    members: &'t [Member],
) -> impl Iterator<Item = &'t Member> {
    members.iter().filter(move |member| {
        let node = object.get(member.name);
        let may_be_missing = node.is_none() && member.is_optional;
        !may_be_missing && !(member.fits)(node)
    })
}

/// The message if the lists `names` of `object` have more than `limit` elements in total, which are
/// called `elements`.
pub(super) fn find_excess(
    object: Node<'_>,
    names: &[&str],
    limit: usize,
    elements: &str,
) -> Option<String> {
    let lists = names.iter().filter_map(|name| object.get(name));
    let count: usize = lists.map(|list| list.items().len()).sum();
    (count > limit).then(|| format!("it has more than {limit} {elements}, the limit"))
}

/// Whether it is a string.
pub(super) fn is_text(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.is_string())
}

/// Whether it is a non-empty string.
pub(super) fn is_filled_text(node: Option<Node<'_>>) -> bool {
    text_is(node, |text| !text.is_empty())
}

/// Whether it is a string that `fits`.
pub(super) fn text_is(node: Option<Node<'_>>, fits: impl FnOnce(&str) -> bool) -> bool {
    node.and_then(|node| node.as_lossy_str())
        .is_some_and(|text| fits(&text))
}

/// Whether it is one of these strings.
pub(super) fn is_word(node: Option<Node<'_>>, words: &[&str]) -> bool {
    text_is(node, |text| words.contains(&text))
}

/// Whether it is a boolean.
pub(super) fn is_flag(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.as_bool().is_some())
}

/// Whether it is a number.
pub(super) fn is_number(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.as_number().is_some())
}

/// Whether it is a count: an integer from 0 to 2^53 - 1, so that every reader sees the same number.
pub(super) fn is_count(node: Option<Node<'_>>) -> bool {
    node.and_then(|node| node.as_number()?.to_exact_i64())
        .is_some_and(|number| number >= 0)
}

/// Whether it is a list of strings.
pub(super) fn is_text_list(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|list| list.kind() == Kind::Array && list.items().all(|item| item.is_string()))
}

/// Whether it is a list.
pub(super) fn is_list(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() == Kind::Array)
}

/// Whether it is an object.
pub(super) fn is_object(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() == Kind::Object)
}

/// Whether it is 64 lower-case hex digits.
pub(super) fn is_digest(node: Option<Node<'_>>) -> bool {
    text_is(node, |hex| Digest::parse_hex(hex).is_ok())
}

/// Whether it is `sha256:` and 64 hex digits.
pub(super) fn is_hash(node: Option<Node<'_>>) -> bool {
    text_is(node, |hash| ContentHash::parse(hash).is_ok())
}

/// Whether it is a hash, null or absent.
pub(super) fn is_hash_or_null(node: Option<Node<'_>>) -> bool {
    is_null_or_absent(node) || is_hash(node)
}

/// Whether it is an integer of any size, however it is spelled.
pub(super) fn is_integer(node: Option<Node<'_>>) -> bool {
    node.and_then(|node| node.as_number())
        .is_some_and(|number| number.to_f64().fract() == 0.0)
}

/// Whether it is an integer, null or absent.
pub(super) fn is_integer_or_null(node: Option<Node<'_>>) -> bool {
    is_null_or_absent(node) || is_integer(node)
}

fn is_null_or_absent(node: Option<Node<'_>>) -> bool {
    node.is_none_or(|node| node.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    #[test]
    fn integers_have_any_size_and_spelling() {
        let judge = |text: &str| {
            let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
            (
                is_integer(Some(document.root())),
                is_count(Some(document.root())),
            )
        };
        for text in ["0", "-0", "1.0", "2e3", "9007199254740991"] {
            assert_eq!(judge(text), (true, true), "{text}");
        }
        for text in ["-1", "9007199254740992", "-12345678901234567890", "1e300"] {
            assert_eq!(judge(text), (true, false), "{text}");
        }
        for text in ["0.5", "1e400", "\"1\"", "null", "true"] {
            assert_eq!(judge(text), (false, false), "{text}");
        }
    }

    #[test]
    fn misfits_are_found_in_table_order() {
        const TABLE: [Member; 6] = [
            member("text", is_filled_text, "not a text"),
            member("flag", is_flag, "not a boolean"),
            member("word", |node| is_word(node, &["a", "b"]), "not a or b"),
            member("code", is_integer_or_null, "not an integer"),
            member("hash", is_hash_or_null, "not a hash"),
            member("list", is_text_list, "not a list of strings"),
        ];
        let misfits = |text: &str| -> Vec<&str> {
            let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
            find_misfits(document.root(), &TABLE)
                .map(|member| member.name)
                .collect()
        };
        assert_eq!(misfits("{}"), ["text", "flag", "word", "list"]);
        let fine = r#"{"text":"x","flag":false,"word":"b","code":null,"hash":null,"list":[]}"#;
        assert_eq!(misfits(fine), Vec::<&str>::new());
        let wrong = r#"{"text":"","flag":0,"word":"c","code":1.5,"hash":"x","list":[1]}"#;
        assert_eq!(misfits(wrong).len(), TABLE.len());
        assert_eq!(misfits("[]"), misfits("{}"));
    }
}

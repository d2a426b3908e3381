//! Shapes as tables: which members an object has, what each must be, and what a finding says where
//! it is not.
//!
//! A rule that asks for the types of fields is a table of [`Member`]s and one call; only what
//! depends on several members at once is code. The messages are the formats' own.

use crate::canon::{Kind, Node};
use crate::digest::{ContentHash, Digest};

/// One member of an object.
pub(super) struct Member {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether it may be missing, whatever `fits` says.
    is_optional: bool,
    /// Whether what is there, or that nothing is there, is right.
    fits: fn(Option<Node<'_>>) -> bool,
    /// What a finding says where it is not.
    pub(super) fault: &'static str,
}

/// A line of a table.
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

/// A line for a member that may be missing.
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

/// The members of `object` that are not what the table says, in the table's order.
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

/// What is said where the lists `names` of `object` have more than `limit` elements together, which are called `elements`.
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

/// A string.
pub(super) fn is_text(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.is_string())
}

/// A string that is not empty.
pub(super) fn is_filled_text(node: Option<Node<'_>>) -> bool {
    text_is(node, |text| !text.is_empty())
}

/// A string with a property.
pub(super) fn text_is(node: Option<Node<'_>>, holds: impl FnOnce(&str) -> bool) -> bool {
    node.and_then(|node| node.as_lossy_str())
        .is_some_and(|text| holds(&text))
}

/// One of these strings.
pub(super) fn is_word(node: Option<Node<'_>>, words: &[&str]) -> bool {
    text_is(node, |text| words.contains(&text))
}

/// A boolean.
pub(super) fn is_flag(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.as_bool().is_some())
}

/// A number.
pub(super) fn is_number(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.as_number().is_some())
}

/// An integer from 0 on.
pub(super) fn is_count(node: Option<Node<'_>>) -> bool {
    node.and_then(|node| node.as_number()?.to_exact_i64())
        .is_some_and(|number| number >= 0)
}

/// A list of strings.
pub(super) fn is_text_list(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|list| list.kind() == Kind::Array && list.items().all(|item| item.is_string()))
}

/// A list.
pub(super) fn is_list(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() == Kind::Array)
}

/// An object.
pub(super) fn is_object(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() == Kind::Object)
}

/// 64 lower-case hex digits.
pub(super) fn is_digest(node: Option<Node<'_>>) -> bool {
    text_is(node, |hex| Digest::parse_hex(hex).is_ok())
}

/// `sha256:` and 64 hex digits.
pub(super) fn is_hash(node: Option<Node<'_>>) -> bool {
    text_is(node, |hash| ContentHash::parse(hash).is_ok())
}

/// A hash, null, or nothing.
pub(super) fn is_hash_or_null(node: Option<Node<'_>>) -> bool {
    is_null_or_absent(node) || is_hash(node)
}

/// An integer, null, or nothing.
pub(super) fn is_integer_or_null(node: Option<Node<'_>>) -> bool {
    let is_integer = |node: Node<'_>| Some(node.as_number()?.to_exact_i64().is_some());
    is_null_or_absent(node) || node.and_then(is_integer) == Some(true)
}

fn is_null_or_absent(node: Option<Node<'_>>) -> bool {
    node.is_none_or(|node| node.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    #[test]
    fn members_that_are_not_what_the_table_says_are_named_in_its_order() {
        const TABLE: [Member; 6] = [
            member("text", is_filled_text, "no text"),
            member("flag", is_flag, "no boolean"),
            member("word", |node| is_word(node, &["a", "b"]), "not a or b"),
            member("code", is_integer_or_null, "no integer"),
            member("hash", is_hash_or_null, "no hash"),
            member("list", is_text_list, "no list of strings"),
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

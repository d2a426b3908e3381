//! Compares two JSON values member by member.

use std::iter::{from_fn, zip};

use runseal_core::canon::{Dialect, Kind, Node, canonical_bytes};
use runseal_core::text_map::{TextMap, TextMapBuilder};

/// Members that identify an element of a list, in the order in which they are tried.
const KEYS: [&str; 14] = [
    "id",
    "step_id",
    "artifact_id",
    "action_id",
    "test_id",
    "branch_id",
    "relative_path",
    "path",
    "run_id",
    "receipt_hash",
    "i",
    "ordinal",
    "name",
    "engine_code",
];

type Add<'a> = dyn FnMut(String, Option<String>, Option<String>) + 'a;

/// Calls `add` with the pointer and both values for every place that differs.
pub(super) fn compare_nodes(a: Node<'_>, b: Node<'_>, pointer: &str, add: &mut Add<'_>) {
    match (a.kind(), b.kind()) {
        (Kind::Object, Kind::Object) => compare_objects(a, b, pointer, add),
        (Kind::Array, Kind::Array) => compare_lists(a, b, pointer, add),
        _ => {
            let (old, new) = (text_of(a), text_of(b));
            if old != new {
                add(pointer.to_owned(), Some(old), Some(new));
            }
        }
    }
}

/// A value in canonical form, or a note that it has none.
fn text_of(node: Node<'_>) -> String {
    match canonical_bytes(node, Dialect::Job) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// A member's name in a JSON Pointer (RFC 6901).
fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn compare_objects(a: Node<'_>, b: Node<'_>, pointer: &str, add: &mut Add<'_>) {
    let members = |node: Node<'_>| -> TextMap<()> {
        let members = node.members();
        members.map(|(key, _)| (key.to_lossy(), ())).collect()
    };
    for name in union(&members(a), &members(b)) {
        let at = format!("{pointer}/{}", token(name));
        match (a.get(name), b.get(name)) {
            (Some(a), Some(b)) => compare_nodes(a, b, &at, add),
            (a, b) => add(at, a.map(text_of), b.map(text_of)),
        }
    }
}

/// The texts of both, in order, each once.
fn union<'m, V>(a: &'m TextMap<V>, b: &'m TextMap<V>) -> impl Iterator<Item = &'m str> {
    let (mut a, mut b) = (a.keys().peekable(), b.keys().peekable());
    from_fn(move || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if x > y => b.next(),
        (Some(x), Some(y)) if x == y => a.next().and(b.next()),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    })
}

// Lists are asked for their elements again and again: a list of them would take several times the text.
fn compare_lists(old: Node<'_>, new: Node<'_>, pointer: &str, add: &mut Add<'_>) {
    if let Some(key) = KEYS
        .iter()
        .find(|key| names_all(old, key) && names_all(new, key))
    {
        return compare_by_key(old, new, key, pointer, add);
    }
    let is_plain = |node: Node<'_>| !matches!(node.kind(), Kind::Object | Kind::Array);
    if old.items().chain(new.items()).all(is_plain) {
        return compare_values(old, new, pointer, add);
    }
    for at in 0..old.len().max(new.len()) {
        let place = format!("{pointer}/{at}");
        match (old.item(at), new.item(at)) {
            (Some(a), Some(b)) => compare_nodes(a, b, &place, add),
            (a, b) => add(place, a.map(text_of), b.map(text_of)),
        }
    }
}

/// Whether every element has the member, each with a different value.
fn names_all(list: Node<'_>, key: &str) -> bool {
    let mut seen = TextMapBuilder::default();
    for element in list.items() {
        match element.get(key) {
            Some(value) => seen.push(&text_of(value), ()),
            None => return false,
        }
    }
    let mut are_different = true;
    seen.finish(|_, ()| are_different = false);
    are_different
}

fn compare_by_key(old: Node<'_>, new: Node<'_>, key: &str, pointer: &str, add: &mut Add<'_>) {
    let by_key = |list: Node<'_>| -> TextMap<usize> {
        let keyed = list.items().enumerate();
        keyed
            .filter_map(|(at, element)| Some((text_of(element.get(key)?), at)))
            .collect()
    };
    let (a, b) = (by_key(old), by_key(new));
    for name in union(&a, &b) {
        match (find(old, &a, name), find(new, &b, name)) {
            (Some((at, a)), Some((_, b))) => compare_nodes(a, b, &format!("{pointer}/{at}"), add),
            (Some((at, a)), None) => add(format!("{pointer}/{at}"), Some(text_of(a)), None),
            (None, Some((at, b))) => add(format!("{pointer}/{at}"), None, Some(text_of(b))),
            (None, None) => {}
        }
    }
}

/// The element of this name, with its place.
fn find<'a>(list: Node<'a>, places: &TextMap<usize>, name: &str) -> Option<(usize, Node<'a>)> {
    let at = *places.get(name)?;
    Some((at, list.item(at)?))
}

/// Compares plain values as a collection first; their order counts only if nothing else differs.
fn compare_values(old: Node<'_>, new: Node<'_>, pointer: &str, add: &mut Add<'_>) {
    let are_same = |(a, b): (Node<'_>, Node<'_>)| text_of(a) == text_of(b);
    if old.len() == new.len() && zip(old.items(), new.items()).all(are_same) {
        return;
    }
    let texts = |list: Node<'_>| -> TextMap<()> {
        list.items().map(|value| (text_of(value), ())).collect()
    };
    let (in_old, in_new) = (texts(old), texts(new));
    let mut is_other_order = true;
    for (at, value) in old.items().enumerate() {
        let text = text_of(value);
        if !in_new.contains_key(&text) {
            is_other_order = false;
            add(format!("{pointer}/{at}"), Some(text), None);
        }
    }
    for (at, value) in new.items().enumerate() {
        let text = text_of(value);
        if !in_old.contains_key(&text) {
            is_other_order = false;
            add(format!("{pointer}/{at}"), None, Some(text));
        }
    }
    if is_other_order {
        add(pointer.to_owned(), Some(text_of(old)), Some(text_of(new)));
    }
}

#[cfg(test)]
mod tests {
    use runseal_core::canon::{ReadOptions, parse_document};

    use super::*;

    fn changes(a: &str, b: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let options = ReadOptions::default();
        let a = parse_document(a.as_bytes(), &options).unwrap();
        let b = parse_document(b.as_bytes(), &options).unwrap();
        let mut found = Vec::new();
        compare_nodes(a.root(), b.root(), "", &mut |pointer, old, new| {
            found.push((pointer, old, new));
        });
        found
    }

    fn change(
        pointer: &str,
        old: Option<&str>,
        new: Option<&str>,
    ) -> (String, Option<String>, Option<String>) {
        (
            pointer.to_owned(),
            old.map(str::to_owned),
            new.map(str::to_owned),
        )
    }

    #[test]
    fn values_that_say_the_same_do_not_differ() {
        assert_eq!(
            changes(r#"{"a":1,"b":[1,2]}"#, r#"{ "b" : [1, 2], "a" : 1 }"#),
            []
        );
    }

    #[test]
    fn long_lists_of_plain_values_are_compared_as_collections() {
        let list = |from: usize| {
            let numbers: Vec<String> = (from..from + 60_000).map(|n| n.to_string()).collect();
            format!("[{}]", numbers.join(","))
        };
        let found = changes(&list(0), &list(59_999));
        assert_eq!(found.len(), 2 * 59_999, "one of them is in both");
    }

    #[test]
    fn elements_with_an_id_are_matched_by_it() {
        let a = r#"{"steps":[{"step_id":"x","op":1},{"step_id":"y","op":2}]}"#;
        let b = r#"{"steps":[{"step_id":"y","op":3},{"step_id":"x","op":1},{"step_id":"z"}]}"#;
        assert_eq!(
            changes(a, b),
            [
                change("/steps/1/op", Some("2"), Some("3")),
                change("/steps/2", None, Some(r#"{"step_id":"z"}"#)),
            ]
        );
    }

    #[test]
    fn plain_lists_tell_what_came_and_went() {
        let found = changes(r#"{"a/b":["x","y"]}"#, r#"{"a/b":["y","z"]}"#);
        assert_eq!(
            found,
            [
                change("/a~1b/0", Some("\"x\""), None),
                change("/a~1b/1", None, Some("\"z\""))
            ]
        );
        assert_eq!(
            changes("[1,2]", "[2,1]"),
            [change("", Some("[1,2]"), Some("[2,1]"))]
        );
    }
}

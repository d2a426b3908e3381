//! Compares two JSON values member by member.

use std::cmp::Ordering;
use std::iter::{from_fn, zip};

use runseal_core::canon::{Dialect, Excerpt, Kind, Node, canonical_excerpt};
use runseal_core::limits::DIFF_LONGEST;
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

/// Values longer than this are held by their digests while they are looked for: that is shorter.
const LONGEST_KEY: usize = 128;

/// A value in canonical form, or a note that it has none; a long one as far as it is listed.
fn text_of(node: Node<'_>) -> String {
    cut_text_of(node, DIFF_LONGEST)
}

/// What tells a value from every other one.
fn key_of(node: Node<'_>) -> String {
    cut_text_of(node, LONGEST_KEY)
}

fn cut_text_of(node: Node<'_>, longest: usize) -> String {
    match canonical_excerpt(node, Dialect::Job, longest) {
        Ok(Excerpt { beginning, whole }) => {
            let text = String::from_utf8_lossy(&beginning);
            match whole {
                None => text.into_owned(),
                Some((bytes, sha256)) => format!("{text}… ({bytes} bytes, sha256 {sha256})"),
            }
        }
        Err(error) => error.to_string(),
    }
}

/// The place of a member or element, as a JSON Pointer (RFC 6901). What lies too deep, or below names that are too
/// long, has the place of what it lies in, with a mark.
fn below(pointer: &str, name: &str) -> String {
    let room = DIFF_LONGEST.saturating_sub(pointer.len());
    if room == 0 {
        return format!("{}…", pointer.trim_end_matches('…'));
    }
    let (name, mark) = match name.len() <= room {
        true => (name, ""),
        false => (&name[..name.floor_char_boundary(room)], "…"),
    };
    let name = name.replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{name}{mark}")
}

fn compare_objects(a: Node<'_>, b: Node<'_>, pointer: &str, add: &mut Add<'_>) {
    let (mut a, mut b) = (a.members().peekable(), b.members().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some((old, _)), Some((new, _))) => old.compare(new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        // Whichever comes first, or both.
        let old = a.next_if(|_| order.is_le());
        let new = b.next_if(|_| order.is_ge());
        let Some((key, _)) = old.or(new) else { return };
        let at = below(pointer, &key.to_lossy());
        match (old, new) {
            (Some((_, a)), Some((_, b))) => compare_nodes(a, b, &at, add),
            (a, b) => {
                let text = |(_, value)| text_of(value);
                add(at, a.map(text), b.map(text));
            }
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
        let place = below(pointer, &at.to_string());
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
            Some(value) => seen.push(&key_of(value), ()),
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
            .filter_map(|(at, element)| Some((key_of(element.get(key)?), at)))
            .collect()
    };
    let (a, b) = (by_key(old), by_key(new));
    for name in union(&a, &b) {
        match (find(old, &a, name), find(new, &b, name)) {
            (Some((at, a)), Some((_, b))) => {
                compare_nodes(a, b, &below(pointer, &at.to_string()), add)
            }
            (Some((at, a)), None) => add(below(pointer, &at.to_string()), Some(text_of(a)), None),
            (None, Some((at, b))) => add(below(pointer, &at.to_string()), None, Some(text_of(b))),
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
    let are_same = |(a, b): (Node<'_>, Node<'_>)| key_of(a) == key_of(b);
    if old.len() == new.len() && zip(old.items(), new.items()).all(are_same) {
        return;
    }
    let texts =
        |list: Node<'_>| -> TextMap<()> { list.items().map(|value| (key_of(value), ())).collect() };
    let (in_old, in_new) = (texts(old), texts(new));
    let mut is_other_order = true;
    for (at, value) in old.items().enumerate() {
        if !in_new.contains_key(&key_of(value)) {
            is_other_order = false;
            add(below(pointer, &at.to_string()), Some(text_of(value)), None);
        }
    }
    for (at, value) in new.items().enumerate() {
        if !in_old.contains_key(&key_of(value)) {
            is_other_order = false;
            add(below(pointer, &at.to_string()), None, Some(text_of(value)));
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
    fn long_values_and_places_are_cut_and_still_told_apart() {
        let long = "é".repeat(40_000);
        let found = changes(
            &format!(r#"{{"a":"{long}x","{long}":{{"b":[1,2],"c":[5,[6]]}}}}"#),
            &format!(r#"{{"a":"{long}y","{long}":{{"b":[1,3],"c":[5,[7]]}}}}"#),
        );
        let places: Vec<&str> = found.iter().map(|(place, ..)| place.as_str()).collect();
        assert_eq!((places.len(), places[0]), (5, "/a"));
        let cut = format!("/{}…", "é".repeat(DIFF_LONGEST / 2));
        assert!(places[1..].iter().all(|place| *place == cut), "{places:?}");
        let (_, Some(old), Some(new)) = &found[0] else {
            panic!("both have it: {:?}", found[0].0);
        };
        assert!(old.ends_with(')') && old.len() < 2000 && old != new);
        let (old, new) = (old.split_once('…'), new.split_once('…'));
        assert_eq!(old.map(|(text, _)| text), new.map(|(text, _)| text));
        // Long names of elements are told apart by what is not shown of them.
        let ids =
            |last: &str| format!(r#"[{{"id":"{long}1","v":1}},{{"id":"{long}{last}","v":2}}]"#);
        assert_eq!(changes(&ids("2"), &ids("2")), []);
        assert_eq!(changes(&ids("2"), &ids("3")).len(), 2);
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

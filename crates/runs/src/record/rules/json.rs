//! Compares two JSON documents by value: numbers within a tolerance, members in any order.
//!
//! Python writes `NaN`, `Infinity` and `-Infinity` as they are, which no JSON has. They count as the numbers that they are.

use std::borrow::Cow;
use std::io::{self, Read};

use runseal_core::canon::{Document, Key, Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::run_bundle::pointer::Trail;

use super::compared::{Measure, Place};
use super::text::compare_texts;

/// Larger texts are compared as texts: a document takes several times its size in memory.
const LARGEST: u64 = 64 << 20;

/// The longest place that is shown, in bytes, but for the last name.
const LONGEST_PLACE: usize = 1 << 10;

/// The text that a reader gives; `None` if it is too large.
pub(super) fn read_text(from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= LARGEST).then_some(bytes))
}

/// What stands for a bare number in a string that no other text begins with.
const BARE: &str = "\u{f8ff}\u{f8fe}";

/// The numbers that are no JSON, with the texts that a double has for them.
const BARE_NUMBERS: [(&str, &str); 3] =
    [("NaN", "NaN"), ("Infinity", "inf"), ("-Infinity", "-inf")];

/// The same text with bare `NaN` and infinities as strings that [`compare_documents`] knows. A text that is strict JSON
/// stays as it is, and so does one in which such a string is.
pub(super) fn admit_bare(text: Vec<u8>) -> Vec<u8> {
    if memchr::memmem::find(&text, BARE.as_bytes()).is_some() || parse(&text).is_some() {
        return text;
    }
    let mut admitted = Vec::with_capacity(text.len());
    let (mut at, mut is_string) = (0, false);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let bare = BARE_NUMBERS.iter().find(|(name, _)| {
            let behind = rest.strip_prefix(name.as_bytes());
            behind.is_some_and(|behind| !behind.first().is_some_and(u8::is_ascii_alphanumeric))
        });
        match bare.filter(|_| !is_string) {
            Some((name, number)) => {
                admitted.extend(format!("\"{BARE}{number}\"").bytes());
                at += name.len();
                continue;
            }
            None if is_string && *byte == b'\\' => {
                admitted.extend(rest.iter().take(2));
                at += 2;
                continue;
            }
            None => {}
        }
        is_string ^= *byte == b'"';
        admitted.push(*byte);
        at += 1;
    }
    admitted
}

/// A number as a text that [`Measure`] reads, also a bare one.
fn number_of<'n>(node: Node<'n>) -> Option<Cow<'n, str>> {
    if let Some(number) = node.as_number() {
        return Some(Cow::Borrowed(number.text()));
    }
    let text = node.as_str()?;
    let number = text.strip_prefix(BARE)?;
    let is_known = BARE_NUMBERS.iter().any(|(_, known)| *known == number);
    is_known.then(|| Cow::Owned(number.to_owned()))
}

/// The document of a text; `None` if it is not JSON.
pub(super) fn parse(text: &[u8]) -> Option<Document<'_>> {
    parse_document(text, &ReadOptions::default()).ok()
}

/// Compares two documents; numbers go to `measure`. With `in_texts`, numbers in strings do too.
///
/// # Errors
/// The place of the first difference that is not one of numbers.
pub(super) fn compare_documents(
    before: &Document<'_>,
    now: &Document<'_>,
    in_texts: bool,
    measure: &mut Measure,
) -> Result<(), Place> {
    let mut comparing = Comparing { in_texts, measure };
    comparing.compare(before.root(), now.root(), &Trail::Root)
}

struct Comparing<'m> {
    in_texts: bool,
    measure: &'m mut Measure,
}

impl Comparing<'_> {
    fn compare(&mut self, before: Node<'_>, now: Node<'_>, trail: &Trail<'_>) -> Result<(), Place> {
        match (number_of(before), number_of(now)) {
            (Some(a), Some(b)) => {
                let is_notebook = self.in_texts;
                self.measure.add(&a, &b, || place_of(trail, is_notebook));
                return Ok(());
            }
            (None, None) if before.kind() == now.kind() => {}
            _ => return Err(self.place_of(trail)),
        }
        match before.kind() {
            Kind::Object => self.compare_members(before, now, trail),
            Kind::Array => {
                for (at, (a, b)) in before.items().zip(now.items()).enumerate() {
                    self.compare(a, b, &Trail::Element(trail, at))?;
                }
                match before.len() == now.len() {
                    true => Ok(()),
                    false => {
                        let first = before.len().min(now.len());
                        Err(self.place_of(&Trail::Element(trail, first)))
                    }
                }
            }
            _ if before.is_string() => self.compare_strings(before, now, trail),
            _ if before.as_bool() == now.as_bool() => Ok(()),
            _ => Err(self.place_of(trail)),
        }
    }

    fn place_of(&self, trail: &Trail<'_>) -> Place {
        place_of(trail, self.in_texts)
    }

    fn compare_members(
        &mut self,
        before: Node<'_>,
        now: Node<'_>,
        trail: &Trail<'_>,
    ) -> Result<(), Place> {
        let (old, new) = (sorted_members(before), sorted_members(now));
        for (at, (key, value)) in old.iter().enumerate() {
            let name = key.to_lossy();
            let (above, trail) = (trail, Trail::Member(trail, &name));
            match new.get(at) {
                Some((other, new)) if key.compare(other).is_eq() => {
                    self.compare(*value, *new, &trail)?;
                }
                // The name that only one of them has.
                Some((other, _)) if key.compare(other).is_gt() => {
                    return Err(self.place_of(&Trail::Member(above, &other.to_lossy())));
                }
                _ => return Err(self.place_of(&trail)),
            }
        }
        match new.get(old.len()) {
            None => Ok(()),
            Some((key, _)) => Err(self.place_of(&Trail::Member(trail, &key.to_lossy()))),
        }
    }

    fn compare_strings(
        &mut self,
        before: Node<'_>,
        now: Node<'_>,
        trail: &Trail<'_>,
    ) -> Result<(), Place> {
        if before.as_json_string() == now.as_json_string() {
            return Ok(());
        }
        let texts = (before.as_str(), now.as_str());
        let (true, (Some(a), Some(b))) = (self.in_texts, texts) else {
            return Err(self.place_of(trail));
        };
        let mut within = Measure::new(self.measure.tolerance());
        let compared = compare_texts(a.as_bytes(), b.as_bytes(), None, &mut within);
        let place = self.place_of(trail);
        self.measure.absorb(within, &place);
        compared.map_err(|_| place)
    }
}

fn sorted_members(node: Node<'_>) -> Vec<(Key<'_>, Node<'_>)> {
    let mut members: Vec<_> = node.members().collect();
    members.sort_by(|(a, _), (b, _)| a.compare(b));
    members
}

fn place_of(trail: &Trail<'_>, is_notebook: bool) -> Place {
    let pointer = trail.pointer_within(LONGEST_PLACE);
    match is_notebook {
        true => Place::Notebook(pointer),
        false => Place::Pointer(pointer),
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::Tolerance;
    use super::*;

    fn compare(before: &str, now: &str) -> Result<Measure, Place> {
        let mut measure = Measure::new(Tolerance {
            relative: Some(1e-9),
            absolute: None,
        });
        let [before, now] = [before, now].map(|text| parse(text.as_bytes()).unwrap());
        compare_documents(&before, &now, false, &mut measure)?;
        Ok(measure)
    }

    #[test]
    fn numbers_are_compared_by_value_and_members_in_any_order() {
        let measure = compare(
            r#"{"a": [1, 2.0], "b": {"c": 1e10, "d": null}}"#,
            r#"{"b":{"d":null,"c":10000000001},"a":[1.0,2]}"#,
        )
        .unwrap();
        assert_eq!(measure.differing(), 1);
        let told = compare(r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#).unwrap();
        assert_eq!(told.differing(), 1);
        assert_eq!(told.beyond(), None);
        assert!(compare("[1]", "[2]").unwrap().beyond().is_some());
    }

    #[test]
    fn anything_missing_extra_or_of_another_kind_is_a_difference() {
        for (before, now, place) in [
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, "/b"),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, "/b"),
            ("[1,2]", "[1]", "/1"),
            ("[1]", "[1,2]", "/1"),
            (r#"{"a":"1"}"#, r#"{"a":1}"#, "/a"),
            ("[null]", "[0]", "/0"),
            ("[true]", "[false]", "/0"),
            (r#"["1.0"]"#, r#"["1.00"]"#, "/0"),
            ("{}", "[]", ""),
        ] {
            let found = compare(before, now).map(|_| ()).unwrap_err();
            assert_eq!(found, Place::Pointer(place.to_owned()), "{before} {now}");
        }
    }

    #[test]
    fn bare_numbers_of_python_are_numbers() {
        let compare = |before: &str, now: &str| {
            let [before, now] = [before, now].map(|text| admit_bare(text.as_bytes().to_vec()));
            let [before, now] = [&before, &now].map(|text| parse(text).unwrap());
            let mut measure = Measure::new(Tolerance {
                relative: Some(0.1),
                absolute: None,
            });
            compare_documents(&before, &now, false, &mut measure).map(|()| measure)
        };
        let same = compare(
            r#"{"a":[NaN,Infinity,-Infinity,1.0],"NaN":"x\\\"NaN"}"#,
            r#"{"NaN":"x\\\"NaN", "a":[NaN, Infinity, -Infinity, 1.01]}"#,
        );
        let same = same.unwrap();
        assert_eq!((same.differing(), same.beyond()), (1, None));
        for (before, now) in [
            ("[NaN]", "[1]"),
            ("[Infinity]", "[-Infinity]"),
            ("[1e9]", "[NaN]"),
        ] {
            assert!(compare(before, now).unwrap().beyond().is_some(), "{before}");
        }
        for (before, now) in [
            (r#"["NaN"]"#, "[NaN]"),
            ("[NaN]", "[null]"),
            ("[NaN]", "[]"),
        ] {
            assert!(compare(before, now).is_err(), "{before}");
        }
        // What is neither JSON nor Python's stays as it is, and so does what looks like ours.
        for text in ["[nan]", "[NaNs]", "{", "[\"\u{f8ff}\u{f8fe}NaN\", NaN]"] {
            assert_eq!(admit_bare(text.as_bytes().to_vec()), text.as_bytes());
        }
    }
}

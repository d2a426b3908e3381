//! Makes a catalogue entry from a judged unit. Nothing is read here: the bytes are those that were
//! judged.

use std::collections::BTreeMap;

use runseal_core::canon::{Document, Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::run_bundle::pointer::Trail;
use runseal_core::verify::UnitResult;
use runseal_survey::UnitContent;
use runseal_trust::facts::read_facts;

use super::entry::{Entry, Scalar, Sighting};
use super::name::{Root, ValueName};

/// The most values of one document that are kept. A document may have millions.
const MOST_VALUES: usize = 128;
/// The most elements of one list that are kept, counted from its beginning, so that a long series
/// leaves room for others.
const MOST_ELEMENTS: usize = 16;
/// The longest text that is kept, in bytes. Longer ones are content, not parameters.
const LONGEST_TEXT: usize = 200;
/// The longest name that is kept, in bytes.
const LONGEST_NAME: usize = 200;
/// The deepest nesting that is searched for values.
const DEEPEST: usize = 8;

/// Files whose bytes are needed in addition to those that every unit keeps.
pub(super) const KEPT: [&str; 2] = ["RUN_INPUT.json", "RUN_OUTPUT.json"];

/// Makes the entry of a valid unit, without its signers. `None` if its content has no digest,
/// because it contains something other than regular files.
pub(super) fn describe_unit(
    result: &UnitResult,
    content: &UnitContent,
    place: &str,
) -> Option<Entry> {
    let covers_all = content.all_files().all(|file| file.sha256.is_some());
    if content.single.is_none() && (!covers_all || content.files.is_empty()) {
        return None;
    }
    let mut documents: BTreeMap<&str, Document<'_>> = BTreeMap::new();
    let single = content.single.iter().map(|bytes| ("", bytes));
    let kept = content.documents.iter();
    let kept = kept.map(|(name, bytes)| (name.as_str(), bytes));
    for (name, bytes) in single.chain(kept) {
        if let Ok(document) = parse_document(bytes, &ReadOptions::default()) {
            documents.insert(name, document);
        }
    }
    let get = |name: &str| documents.get(name).map(Document::root);
    let facts = read_facts(content.format, result.identity.ended_as.as_deref(), get);
    let mut values = Values::default();
    for root in Root::ALL {
        if let Some(node) = get(root.document()) {
            values.collect(root, node);
        }
    }
    let text = |text: String| Some(text).filter(|text| is_kept(text));
    Some(Entry {
        digest: content.digest(),
        format: content.format.name().to_owned(),
        id: result
            .identity
            .ids
            .first()
            .or(result.identity.about.first())
            .cloned()
            .and_then(text),
        engine: facts.ids.get("engine_code").cloned().and_then(text),
        outcome: result.identity.outcome.clone().and_then(text),
        time: facts.sealed_at.and_then(text),
        values: values.found,
        left_out: values.left_out,
        sightings: [Sighting {
            place: place.to_owned(),
            signer: super::entry::UNSIGNED.to_owned(),
        }]
        .into(),
        tags: Default::default(),
    })
}

/// Returns whether a text is short enough and can be stored in every database.
fn is_kept(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_TEXT && !text.contains('\0')
}

/// Returns whether a text is a digest. Digests differ from run to run, so they say nothing.
fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[derive(Default)]
struct Values {
    found: BTreeMap<ValueName, Scalar>,
    left_out: u64,
}

impl Values {
    fn collect(&mut self, root: Root, node: Node<'_>) {
        let room = self.found.len() + MOST_VALUES;
        self.add(root, node, &Trail::Root, (0, room));
    }

    fn add(
        &mut self,
        root: Root,
        node: Node<'_>,
        trail: &Trail<'_>,
        (depth, room): (usize, usize),
    ) {
        let scalar = match node.kind() {
            Kind::Object | Kind::Array if depth >= DEEPEST => {
                self.left_out += 1;
                return;
            }
            Kind::Object => {
                for (key, member) in node.members() {
                    match key.as_str() {
                        Some(key) => {
                            let trail = Trail::Member(trail, &key);
                            self.add(root, member, &trail, (depth + 1, room));
                        }
                        None => self.left_out += 1,
                    }
                }
                return;
            }
            Kind::Array => {
                for (number, element) in node.items().take(MOST_ELEMENTS).enumerate() {
                    let trail = Trail::Element(trail, number);
                    self.add(root, element, &trail, (depth + 1, room));
                }
                self.left_out += node.len().saturating_sub(MOST_ELEMENTS) as u64;
                return;
            }
            Kind::Null => return,
            _ => scalar_of(node),
        };
        // One byte more, so that a name that is too long is recognized.
        let at = trail.pointer_within(LONGEST_NAME + 1);
        match scalar {
            // What exceeds the limits is counted but not kept.
            Some(_) if self.found.len() >= room || at.len() > LONGEST_NAME => self.left_out += 1,
            Some(Scalar::Text(text)) if is_digest(&text) => {}
            Some(scalar) if !at.contains('\0') => {
                self.found.insert(ValueName::new(root, &at), scalar);
            }
            _ => self.left_out += 1,
        }
    }
}

/// Returns the value of a leaf; `None` if it is too long or cannot be stored.
fn scalar_of(node: Node<'_>) -> Option<Scalar> {
    if let Some(flag) = node.as_bool() {
        return Some(Scalar::Flag(flag));
    }
    if let Some(number) = node.as_number() {
        let is_whole = number.as_integer().is_some();
        let value = number.to_f64();
        // An integer that no double can represent is kept as text rather than rounded.
        return if is_whole && number.to_exact_i64().is_none() {
            Some(Scalar::Text(number.text().to_owned()))
                .filter(|_| number.text().len() <= LONGEST_TEXT)
        } else {
            value.is_finite().then_some(Scalar::Number(value))
        };
    }
    let text = node.as_str()?;
    is_kept(&text).then(|| Scalar::Text(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(text: &str) -> Values {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let mut values = Values::default();
        values.collect(Root::Metrics, document.root());
        values
    }

    #[test]
    fn values_are_collected_by_pointer_and_bounded() {
        let digest = "ab".repeat(32);
        let values = collected(&format!(
            r#"{{"a":{{"b/c":1.5}},"flag":true,"h":"{digest}","list":[1,"x"],"n":null,"s":"","t":"\u0000"}}"#
        ));
        let names: Vec<_> = values.found.keys().map(ValueName::as_str).collect();
        assert_eq!(
            names,
            [
                "metrics/a/b~1c",
                "metrics/flag",
                "metrics/list/0",
                "metrics/list/1"
            ]
        );
        assert_eq!(values.left_out, 2);
        let long: Vec<_> = (0..1000).map(|n| n.to_string()).collect();
        let values = collected(&format!("{{\"series\":[{}],\"z\":7}}", long.join(",")));
        assert_eq!((values.found.len(), values.left_out), (17, 984));
        let many: Vec<_> = (0..300).map(|n| format!("\"m{n}\":{n}")).collect();
        let values = collected(&format!("{{{}}}", many.join(",")));
        assert_eq!((values.found.len(), values.left_out), (128, 172));
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        assert_eq!(collected(&deep).left_out, 1);
    }

    /// A version that built every name on the way copied 32 GB here.
    #[test]
    fn values_below_a_long_name_are_left_out_and_counted() {
        let name = "k".repeat(800_000);
        let below: Vec<_> = (0..40_000).map(|n| format!("\"m{n}\":{n}")).collect();
        let values = collected(&format!(r#"{{"{name}":{{{}}},"z":7}}"#, below.join(",")));
        assert_eq!((values.found.len(), values.left_out), (1, 40_000));
    }

    #[test]
    fn whole_numbers_beyond_doubles_keep_their_digits() {
        let values = collected(r#"{"big":12345678901234567890,"small":9007199254740991}"#);
        let value = |name: &str| values.found[name].clone();
        assert_eq!(
            value("metrics/big"),
            Scalar::Text("12345678901234567890".to_owned())
        );
        assert_eq!(
            value("metrics/small"),
            Scalar::Number(9_007_199_254_740_991.0)
        );
    }
}

//! What redaction needs to know about a format. Each format that can be sealed for redaction
//! defines this once, next to its rules; sealing, redacting and verifying copies use nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::RedactedView;
use super::chunks::{LARGE, count_chunks};
use super::commit::{Seed, has_marker, read_marker};
use super::derivations::Derivation;
use super::documents::{FileKind, Redaction, array_index, find_value, pointer_steps};
use crate::canon::{Dialect, JsonString, Value, canonical_bytes};
use crate::digest::Digest;
use crate::formats::Format;
use crate::formats::REGISTRY;
use crate::formats::definition::Ended;
use crate::verify::Finding;

/// A place: a file, and a pointer into it; `None` for the whole file.
pub type PlaceRef<'a> = (&'a str, Option<&'a str>);

/// A format that can be sealed for redaction.
pub struct Redactable {
    /// The format.
    pub format: Format,
    /// Where the commitment is kept.
    pub keeping: Keeping,
    /// What every copy shows, by file: ids, outcome, engine, hash algorithms.
    pub stays: &'static [(&'static str, &'static [&'static str])],
    /// The ids of a copy, as file and pointer.
    pub ids: &'static [(&'static str, &'static str)],
    /// Whether the name of a file is derived from a digest, so that copies rename it.
    pub hides_name: fn(&str) -> bool,
    /// The rules that need what is withheld.
    pub needs: &'static [RuleNeeds],
    /// Returns the hex digits of the digests that would reveal a withheld place and that the format
    /// derives from more than one value, or from what is not in the bundle.
    pub bound: fn(&BTreeMap<String, Value>, &[PlaceRef<'_>]) -> Vec<String>,
    /// What our own programs write about a value elsewhere, which is withheld with it. Several
    /// tables, so that formats can share rows.
    pub derivations: &'static [&'static [Derivation]],
    /// The documents that [`Self::judge_shown`] reads.
    pub reads: &'static [&'static str],
    /// Applies the format's own rules to what a copy shows, whatever is withheld.
    pub judge_shown: fn(&RedactedView) -> Vec<Finding>,
    /// How the sealed run ended, from the documents of [`Self::stays`].
    pub outcome: fn(&BTreeMap<&str, &Value>) -> Ended,
}

/// Where a bundle keeps its commitment.
pub enum Keeping {
    /// In REDACTION.json, with REDACTION_SALT.json next to it. These files are not in copies.
    Files(&'static [&'static str]),
    /// In a member of its main document, which is committed to without some of its members.
    Member {
        /// The document with the member.
        file: &'static str,
        /// The names that lead to the member.
        steps: &'static [&'static str],
        /// Members at the top of the document that are not in copies.
        left_out: &'static [&'static str],
    },
}

/// Rules that cannot be checked if anything in these files is withheld.
pub struct RuleNeeds {
    /// The ids of the rules.
    pub rules: &'static [&'static str],
    /// The files; a name that ends with `/` stands for all below it, `file#/pointer` for that value and what holds it. None:
    /// no copy can be checked.
    pub files: &'static [&'static str],
}

/// The names of the commitment and the salt in the member of a main document.
const COMMITMENT: &str = "commitment";
const SALT: &str = "salt";

/// All formats that can be sealed for redaction.
pub fn redactable_formats() -> impl Iterator<Item = &'static Redactable> {
    REGISTRY
        .iter()
        .filter_map(|definition| definition.redactable())
}

/// The format that a commitment names.
pub fn redactable(format: &str) -> Option<&'static Redactable> {
    redactable_formats().find(|redactable| redactable.format.name() == format)
}

impl Redactable {
    /// Whether this file is not in copies.
    pub fn leaves_out(&self, path: &str) -> bool {
        matches!(self.keeping, Keeping::Files(names) if names.contains(&path))
    }

    /// Strips a document for commitment: removes the members that are not in copies.
    pub fn strip(&self, path: &str, document: &mut Value) {
        if let (Keeping::Member { file, left_out, .. }, Value::Object(members)) =
            (&self.keeping, document)
            && *file == path
        {
            members.retain(|name, _| !name.as_str().is_some_and(|name| left_out.contains(&name)));
        }
    }

    /// The member with the commitment: its document, and the names that lead to it.
    pub fn member(&self) -> Option<(&'static str, &'static [&'static str])> {
        match self.keeping {
            Keeping::Files(_) => None,
            Keeping::Member { file, steps, .. } => Some((file, steps)),
        }
    }

    /// The value of such a member: the commitment, and random bytes that keep digests of the
    /// document from being guessed.
    pub fn member_value(commitment: Value, salt: String) -> Value {
        Value::object([(COMMITMENT, commitment), (SALT, Value::from(salt))])
    }

    /// The commitment in a main document, in the form of a copy's REDACTION.json.
    pub fn commitment_in(&self, document: &Value) -> Option<Vec<u8>> {
        let (_, steps) = self.member()?;
        let member = steps
            .iter()
            .try_fold(document, |value, name| value.get(name))?;
        canonical_bytes(member.get(COMMITMENT)?, Dialect::Jcs).ok()
    }

    /// The faults of the commitment of a bundle with these files and, if known, their sizes, as far
    /// as visible without the seed: what it commits *to* is its maker's word.
    pub fn find_faults<'a>(
        &self,
        commitment: &Value,
        salt: Option<&Value>,
        files: impl Iterator<Item = (&'a str, Option<u64>)>,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let salt = salt.and_then(Value::as_str);
        if salt.is_none_or(|salt| Digest::parse_hex(salt).is_err()) {
            faults.push("the salt is missing or not 64 hex digits".to_owned());
        }
        let redaction = match Redaction::from_value(commitment) {
            Ok(redaction) => redaction,
            Err(fault) => {
                faults.push(format!("the commitment cannot be used: {fault}"));
                return faults;
            }
        };
        if redaction.format != self.format.name() {
            faults.push("the commitment is for another format".to_owned());
        }
        let mut named = BTreeSet::new();
        let mut hidden = 0;
        for (path, size) in files.filter(|(path, _)| !self.leaves_out(path)) {
            if (self.hides_name)(path) {
                hidden += 1;
                continue;
            }
            let Some(file) = redaction.file(path) else {
                faults.push(format!("it does not cover `{}`", path.escape_debug()));
                continue;
            };
            named.insert(path);
            let is_right = match (file.kind, size) {
                (FileKind::Json | FileKind::Lines, _) | (_, None) => true,
                (FileKind::Bytes, Some(size)) => size <= LARGE && file.values == 1,
                (FileKind::Chunks, Some(size)) => size > LARGE && file.values == count_chunks(size),
            };
            if !is_right {
                faults.push(format!(
                    "it covers `{}` as another kind",
                    path.escape_debug()
                ));
            }
        }
        for file in &redaction.files {
            if (self.hides_name)(&file.path) {
                hidden -= 1;
            } else if !named.contains(file.path.as_str()) {
                let path = file.path.escape_debug();
                faults.push(format!("it covers `{path}`, which is not in the bundle"));
            }
        }
        if hidden != 0 {
            faults.push("it covers another number of files than the bundle has".to_owned());
        }
        faults
    }

    /// The same for the member of a main document, which must have only commitment and salt.
    pub fn find_member_faults<'a>(
        &self,
        member: &Value,
        files: impl Iterator<Item = (&'a str, Option<u64>)>,
    ) -> Vec<String> {
        let is_two = matches!(member, Value::Object(members) if members.len() == 2);
        match member.get(COMMITMENT).filter(|_| is_two) {
            Some(commitment) => self.find_faults(commitment, member.get(SALT), files),
            None => vec!["it is not a commitment and a salt".to_owned()],
        }
    }

    /// The name of the file at `path` in copies.
    pub fn name_in_copies(&self, path: &str, seed: &Seed) -> String {
        if !(self.hides_name)(path) {
            return path.to_owned();
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let ending = name.find('.').map_or("", |at| &name[at..]);
        let digits = seed.blind(&Digest::of(path.as_bytes())).hex_prefix(16);
        match folder {
            "" => format!("{digits}{ending}"),
            folder => format!("{folder}/{digits}{ending}"),
        }
    }

    /// The place that must stay shown but would be hidden by withholding `pointer` of the file at
    /// `path` (`None`: the whole file).
    pub fn conflict(&self, path: &str, pointer: Option<&str>) -> Option<String> {
        let (file, places) = self.stays.iter().find(|(file, _)| *file == path)?;
        let hides = |place: &&&str| pointer.is_none_or(|pointer| overlap(pointer, place));
        let place = places.iter().find(hides)?;
        Some(format!("{file}#{place}"))
    }

    /// The places of a shown document that must be shown but are not.
    pub(super) fn missing(&self, path: &str, document: &Value) -> Vec<&'static str> {
        let of_file = self.stays.iter().find(|(file, _)| *file == path);
        let places = of_file.map_or(&[][..], |(_, places)| places);
        // Anything that contains the place may be withheld as a whole.
        let is_missing = |place: &&&str| {
            let ends = place
                .match_indices('/')
                .map(|(at, _)| at)
                .chain([place.len()]);
            let mut above = ends.map(|end| find_value(document, &place[..end]));
            above.any(|value| value.is_some_and(|value| read_marker(value).is_some()))
                || find_value(document, place).is_some_and(has_marker)
        };
        places.iter().filter(is_missing).copied().collect()
    }

    /// The rules that cannot be checked if these places are withheld, sorted.
    pub fn unchecked(&self, withheld: &[PlaceRef<'_>]) -> Vec<&'static str> {
        let fits = |name: &&str| {
            let is_of = |(path, pointer): &PlaceRef<'_>| match name.split_once('#') {
                Some((file, at)) => {
                    *path == file && pointer.is_none_or(|pointer| overlap(pointer, at))
                }
                None if name.ends_with('/') => path.starts_with(*name),
                None => path == name,
            };
            withheld.iter().any(is_of)
        };
        let lost = self
            .needs
            .iter()
            .filter(|needs| needs.files.is_empty() || needs.files.iter().any(fits));
        let mut rules: Vec<_> = lost.flat_map(|needs| needs.rules).copied().collect();
        rules.sort_by_key(|rule| {
            let digits = rule.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
            (&rule[..digits], rule[digits..].parse::<u32>().unwrap_or(0))
        });
        rules.dedup();
        rules
    }
}

/// Whether one of two pointers leads to the other or to something that holds it.
fn overlap(one: &str, other: &str) -> bool {
    let is_below = |above: &str, below: &str| {
        let rest = below.strip_prefix(above);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_below(one, other) || is_below(other, one)
}

/// Digits of digests and content ids in a text: all 64, or 16 behind an underscore, or eight alone.
pub fn digest_digits(text: &str) -> Option<&str> {
    let is_hex = |text: &str| {
        text.bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let digits = text
        .rsplit_once(['_', ':'])
        .map_or(text, |(_, digits)| digits);
    let is_whole = digits.len() == text.len();
    let counts = match digits.len() {
        64 => true,
        16 => !is_whole || is_hex(text),
        8 => is_whole,
        _ => false,
    };
    (counts && is_hex(digits)).then_some(digits)
}

/// Collects every digest in the value at `pointer`, and the digests next to it or to what contains
/// it: in our formats those cover it.
pub fn digests_around(document: &Value, pointer: Option<&str>, found: &mut Vec<String>) {
    fn collect(value: &Value, found: &mut Vec<String>) {
        let mut note = |text: &JsonString| {
            let text = text.to_lossy();
            found.extend(digest_digits(&text).map(str::to_owned));
        };
        match value {
            Value::String(text) => note(text),
            Value::Array(elements) => elements.iter().for_each(|value| collect(value, found)),
            Value::Object(members) => {
                members.keys().for_each(note);
                members.values().for_each(|value| collect(value, found));
            }
            _ => {}
        }
    }
    let Some(pointer) = pointer else {
        return collect(document, found);
    };
    let mut names = pointer_steps(pointer).unwrap_or_default().into_iter();
    let mut at = document;
    loop {
        let Some(name) = names.next() else {
            return collect(at, found);
        };
        // The name of what is withheld, or of what contains it.
        found.extend(digest_digits(&name).map(str::to_owned));
        let next = match at {
            Value::Object(members) => {
                for member in members.values() {
                    if let Value::String(text) = member {
                        found.extend(digest_digits(&text.to_lossy()).map(str::to_owned));
                    }
                }
                members.get(&JsonString::from(name.as_str()))
            }
            Value::Array(elements) => array_index(&name).and_then(|at| elements.get(at)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_bundle() -> &'static Redactable {
        redactable("run-bundle").unwrap()
    }

    #[test]
    fn withholding_what_must_stay_is_conflict() {
        for (path, pointer) in [
            ("RUN_META.json", None),
            ("RUN_META.json", Some("")),
            ("RUN_META.json", Some("/run_id")),
            ("RUN_OUTPUT.json", Some("/engine")),
            ("RUN_OUTPUT.json", Some("/semantics/x")),
        ] {
            let conflict = run_bundle().conflict(path, pointer);
            assert!(conflict.is_some(), "{path} {pointer:?}");
        }
        for (path, pointer) in [
            ("RUN_INPUT.json", None),
            ("RUN_META.json", Some("/run_id2")),
            ("RUN_OUTPUT.json", Some("/outputs")),
        ] {
            assert_eq!(run_bundle().conflict(path, pointer), None);
        }
    }

    #[test]
    fn every_redactable_format_shows_its_ids() {
        let mut count = 0;
        for redactable in redactable_formats() {
            count += 1;
            for (file, place) in redactable.ids {
                let stays = redactable.stays.iter().find(|(name, _)| name == file);
                assert!(
                    stays.is_some_and(|(_, places)| places.contains(place)),
                    "{file}{place}"
                );
            }
        }
        assert_eq!(count, 3);
    }

    #[test]
    fn digest_digits_are_distinguished_from_words() {
        let digest = "0".repeat(64);
        assert_eq!(digest_digits(&digest), Some(&*digest));
        assert_eq!(digest_digits(&format!("sha256:{digest}")), Some(&*digest));
        assert_eq!(
            digest_digits("node_0123456789abcdef"),
            Some("0123456789abcdef")
        );
        assert_eq!(digest_digits("0123abcd"), Some("0123abcd"));
        for text in ["", "run_1", "a_deadbeef", "0123456789ABCDEF", "2023-11-14"] {
            assert_eq!(digest_digits(text), None, "{text}");
        }
    }

    #[test]
    fn digests_next_to_and_above_withheld_value_are_found() {
        let id = |digit: &str| format!("x_{}", digit.repeat(16));
        let inner = Value::object([("id", id("1")), ("text", "secret".to_owned())]);
        let other = Value::object([("id", id("2")), ("text", "public".to_owned())]);
        let document = Value::object([
            ("id", Value::from(id("0"))),
            ("nodes", Value::array([inner, other])),
        ]);
        let mut found = Vec::new();
        digests_around(&document, Some("/nodes/0/text"), &mut found);
        assert_eq!(found, ["0".repeat(16), "1".repeat(16)]);
    }
}

//! REDACTION.json, which is the same in a redactable bundle and all its redacted copies, and
//! REDACTED.json, which says what a copy withholds and opens what it shows.

use std::collections::BTreeMap;

use crate::canon::{
    Dialect, JsonString, NoCanonicalForm, ReadOptions, Value, canonical_bytes, parse_document,
};
use crate::digest::{Digest, Hasher};
use crate::formats::run_bundle::layout::is_json;
use crate::path::SafePath;

use super::openings::UNLISTED_PLACES;
pub use super::openings::{Opened, Opening, OpeningFault, pointer_step};

/// The commitment to everything that may be withheld.
pub const REDACTION: &str = "REDACTION.json";
/// Random bytes in a redactable bundle, which keep the digests of its lists from being guessed.
/// Never in a redacted copy.
pub const REDACTION_SALT: &str = "REDACTION_SALT.json";
/// What a copy withholds. A folder with this file is a redacted copy.
pub const REDACTED: &str = "REDACTED.json";

const VERSION: &str = "1.0.0";

/// How a file is committed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A JSON document, value by value.
    Json,
    /// Lines of JSON, as the array of them, value by value.
    Lines,
    /// Bytes, as a whole.
    Bytes,
    /// Many bytes, piece by piece.
    Chunks,
}

impl FileKind {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::Json, "json"),
        (Self::Lines, "jsonl"),
        (Self::Bytes, "bytes"),
        (Self::Chunks, "chunks"),
    ];

    fn name(self) -> &'static str {
        let mut names = Self::NAMES.into_iter();
        names
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }

    /// Whether files of this kind contain values.
    pub fn has_values(self) -> bool {
        matches!(self, Self::Json | Self::Lines)
    }

    /// Whether a file at `path` may be of this kind. A JSON document never counts as bytes: nothing could be asked of
    /// what it says.
    pub fn fits(self, path: &str) -> bool {
        if is_json(path) {
            return self == Self::Json;
        }
        match self {
            Self::Json => false,
            Self::Lines => path.ends_with(".jsonl"),
            Self::Bytes | Self::Chunks => true,
        }
    }

    /// The value of a file of this kind, if it holds values.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn read(self, bytes: &[u8]) -> Result<Value, String> {
        let parse = |text: &[u8]| {
            let document = parse_document(text, &ReadOptions::default());
            let document = document.map_err(|error| error.to_string())?;
            Ok(document.root().to_value())
        };
        match self {
            Self::Json => parse(bytes),
            Self::Lines => {
                let text = match bytes {
                    [] => return Ok(Value::Array(Vec::new())),
                    [text @ .., b'\n'] => text,
                    _ => return Err("its last line has no line feed".to_owned()),
                };
                let lines = text.split(|byte| *byte == b'\n').map(parse);
                Ok(Value::Array(lines.collect::<Result<_, String>>()?))
            }
            Self::Bytes | Self::Chunks => Err("it contains no values".to_owned()),
        }
    }

    /// Encodes a value as a file of this kind.
    ///
    /// # Errors
    /// If it has no canonical form.
    pub fn write(self, value: &Value) -> Result<Vec<u8>, NoCanonicalForm> {
        match (self, value) {
            (Self::Lines, Value::Array(lines)) => {
                let mut text = Vec::new();
                for line in lines {
                    text.extend(canonical_bytes(line, Dialect::Jcs)?);
                    text.push(b'\n');
                }
                Ok(text)
            }
            _ => canonical_bytes(value, Dialect::Jcs),
        }
    }
}

/// A file of the bundle as it was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedFile {
    /// Its path in copies.
    pub path: String,
    /// How it is committed to.
    pub kind: FileKind,
    /// The number of values in it that can be withheld separately.
    pub values: u64,
    /// The salted commitment to its content.
    pub commitment: Digest,
}

/// REDACTION.json.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// The format of the bundle.
    pub format: String,
    /// Its files by path, except lists that are not in copies.
    pub files: Vec<CommittedFile>,
}

pub(super) fn text(value: &Value, member: &str) -> Option<String> {
    value.get(member)?.as_str().map(str::to_owned)
}

pub(super) fn only_members(value: &Value, names: &[&str]) -> bool {
    match value {
        Value::Object(members) => members
            .keys()
            .all(|key| key.as_str().is_some_and(|key| names.contains(&key))),
        _ => false,
    }
}

fn number(value: &Value, member: &str) -> Option<u64> {
    match value.get(member)? {
        Value::Number(number) => number.get().as_integer()?.to_u64(),
        _ => None,
    }
}

impl Redaction {
    /// The number of values that can be withheld.
    pub fn values(&self) -> u64 {
        let values = self.files.iter().map(|file| file.values);
        values.fold(0, u64::saturating_add)
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&CommittedFile> {
        let at = self.files.binary_search_by(|file| (*file.path).cmp(path));
        self.files.get(at.ok()?)
    }

    /// The root of the Merkle tree (RFC 6962) over the files.
    ///
    /// # Errors
    /// If a file's entry has no canonical form.
    pub fn root(&self) -> Result<Digest, NoCanonicalForm> {
        let leaves = self.files.iter().map(|file| {
            let bytes = canonical_bytes(&file.to_value(), Dialect::Jcs)?;
            let mut hasher = Hasher::new();
            hasher.update(&[0]);
            hasher.update(&bytes);
            Ok(hasher.finish())
        });
        Ok(merkle_root(&leaves.collect::<Result<Vec<_>, _>>()?))
    }

    /// The document, with the root of its files.
    ///
    /// # Errors
    /// As [`Self::root`].
    pub fn to_value(&self) -> Result<Value, NoCanonicalForm> {
        let root = self.root()?.to_string();
        Ok(Value::object([
            ("redaction_version", Value::from(VERSION)),
            ("format", Value::from(self.format.as_str())),
            ("hash_algo", Value::from("sha256")),
            ("root", Value::from(root)),
            ("values", Value::from(self.values())),
            (
                "files",
                Value::array(self.files.iter().map(CommittedFile::to_value)),
            ),
        ]))
    }

    /// Parses the document and checks that it is consistent.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document = parse_document(bytes, &ReadOptions::default()).map_err(|e| e.to_string())?;
        Self::from_value(&document.root().to_value())
    }

    /// Like [`Self::parse`], for a part of another document.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let known = [
            "redaction_version",
            "format",
            "hash_algo",
            "root",
            "values",
            "files",
        ];
        let is_ours = only_members(value, &known)
            && text(value, "redaction_version").as_deref() == Some(VERSION)
            && text(value, "hash_algo").as_deref() == Some("sha256");
        if !is_ours {
            return Err("it is not a commitment of version 1.0.0 with sha256".to_owned());
        }
        let format = text(value, "format").ok_or("it names no format")?;
        if super::redactable::redactable(&format).is_none() {
            return Err("its format cannot be redacted".to_owned());
        }
        let Some(Value::Array(list)) = value.get("files") else {
            return Err("it has no list of files".to_owned());
        };
        let files: Option<Vec<_>> = list.iter().map(CommittedFile::from_value).collect();
        let files = files.ok_or("an entry of its files is malformed")?;
        if !files.windows(2).all(|pair| pair[0].path < pair[1].path) {
            return Err("its files are not in order, or one is a duplicate".to_owned());
        }
        let redaction = Self { format, files };
        let root = redaction.root().map_err(|error| error.to_string())?;
        if text(value, "root").as_deref() != Some(&*root.to_string()) {
            return Err("its root is not that of its files".to_owned());
        }
        if number(value, "values") == Some(redaction.values()) {
            Ok(redaction)
        } else {
            Err("its number of values is not that of its files".to_owned())
        }
    }
}

impl CommittedFile {
    fn to_value(&self) -> Value {
        Value::object([
            ("path", Value::from(self.path.as_str())),
            ("kind", Value::from(self.kind.name())),
            ("values", Value::from(self.values)),
            ("commitment", Value::from(self.commitment.to_string())),
        ])
    }

    fn from_value(value: &Value) -> Option<Self> {
        let is_ours = only_members(value, &["path", "kind", "values", "commitment"]);
        let kind = text(value, "kind")?;
        let (kind, _) = FileKind::NAMES
            .into_iter()
            .find(|(_, name)| *name == kind)?;
        let path = SafePath::parse(&text(value, "path")?).ok()?.to_string();
        (is_ours && kind.fits(&path)).then_some(Self {
            path,
            kind,
            values: number(value, "values")?,
            commitment: Digest::parse_hex(&text(value, "commitment")?).ok()?,
        })
    }
}

fn merkle_root(leaves: &[Digest]) -> Digest {
    match leaves {
        [] => Digest::of(b""),
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(1 << (leaves.len() - 1).ilog2());
            let mut hasher = Hasher::new();
            hasher.update(&[1]);
            hasher.update(merkle_root(left).as_bytes());
            hasher.update(merkle_root(right).as_bytes());
            hasher.finish()
        }
    }
}

/// A withheld place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Withheld {
    /// The file, by its name in copies.
    pub path: String,
    /// The JSON Pointer in it, or `bytes=FIRST-LAST`; `None` if the whole file is withheld.
    pub pointer: Option<String>,
    /// The stated reason.
    pub reason: String,
}

impl Withheld {
    /// The place as people write it.
    pub fn place(&self) -> String {
        match &self.pointer {
            Some(pointer) => format!("{}#{pointer}", self.path),
            None => self.path.clone(),
        }
    }
}

/// REDACTED.json.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// What is withheld, in order.
    pub withheld: Vec<Withheld>,
    /// The opening of each file that is shown, by path.
    pub openings: BTreeMap<String, Opening>,
}

impl Redacted {
    /// Encodes the document.
    pub fn to_value(&self) -> Value {
        let withheld = self.withheld.iter().map(|place| {
            let mut value = Value::object([
                ("path", place.path.as_str()),
                ("reason", place.reason.as_str()),
            ]);
            if let Some(pointer) = &place.pointer {
                value.insert("pointer", pointer.as_str());
            }
            value
        });
        let openings = self
            .openings
            .iter()
            .map(|(path, opening)| (path.as_str().into(), opening.to_value()));
        Value::object([
            ("redacted_version", Value::from(VERSION)),
            ("withheld", Value::array(withheld)),
            ("openings", Value::Object(openings.collect())),
        ])
    }

    /// Parses the document.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document = parse_document(bytes, &ReadOptions::default()).map_err(|e| e.to_string())?;
        let value = document.root().to_value();
        let is_ours = only_members(&value, &["redacted_version", "withheld", "openings"])
            && text(&value, "redacted_version").as_deref() == Some(VERSION);
        let (Some(Value::Array(list)), Some(Value::Object(openings)), true) =
            (value.get("withheld"), value.get("openings"), is_ours)
        else {
            return Err("it is not a list of what is withheld of version 1.0.0".to_owned());
        };
        let withheld = list.iter().map(|place| {
            only_members(place, &["path", "pointer", "reason"]).then_some(())?;
            Some(Withheld {
                path: text(place, "path")?,
                pointer: match place.get("pointer") {
                    Some(pointer) => Some(pointer.as_str()?.to_owned()),
                    None => None,
                },
                reason: text(place, "reason").filter(|reason| !reason.trim().is_empty())?,
            })
        });
        let withheld: Option<Vec<_>> = withheld.collect();
        let withheld = withheld.ok_or("an entry of what is withheld is malformed")?;
        let key = |place: &Withheld| (place.path.clone(), place.pointer.clone());
        if !withheld
            .windows(2)
            .all(|pair| key(&pair[0]) < key(&pair[1]))
        {
            return Err("what is withheld is not in order, or a place is a duplicate".to_owned());
        }
        let mut room = withheld.len() + UNLISTED_PLACES;
        let read = openings.iter().map(|(path, opening)| {
            let opening = Opening::from_value(opening, &mut room)?;
            Some((path.as_str()?.to_owned(), opening))
        });
        let read: Option<BTreeMap<_, _>> = read.collect();
        let openings = read.ok_or_else(|| match room {
            0 => format!("over {UNLISTED_PLACES} more places are withheld than listed"),
            _ => "an opening is malformed".to_owned(),
        })?;
        Ok(Self { withheld, openings })
    }

    /// The total length in bytes of the listed pointers, by file.
    pub(super) fn listed_bytes(&self) -> BTreeMap<&str, usize> {
        let mut bytes = BTreeMap::new();
        for place in &self.withheld {
            let pointer = place.pointer.as_ref();
            *bytes.entry(place.path.as_str()).or_default() += pointer.map_or(0, String::len);
        }
        bytes
    }
}

/// The value at a JSON Pointer. Every value has exactly one pointer (RFC 6901), so different texts
/// are different places.
pub fn find_value<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut found = value;
    for name in pointer_steps(pointer)? {
        found = match found {
            Value::Object(members) => members.get(&JsonString::from(name.as_str()))?,
            Value::Array(elements) => elements.get(array_index(&name)?)?,
            _ => return None,
        };
    }
    Some(found)
}

/// The steps of a JSON Pointer, unescaped; `None` if it is not a pointer.
pub fn pointer_steps(pointer: &str) -> Option<Vec<String>> {
    let mut parts = pointer.split('/');
    if !parts.next()?.is_empty() {
        return None;
    }
    let unescape = |part: &str| {
        let mut tildes = part.split('~').skip(1);
        let is_escaped = tildes.all(|rest| rest.starts_with(['0', '1']));
        is_escaped.then(|| part.replace("~1", "/").replace("~0", "~"))
    };
    parts.map(unescape).collect()
}

/// The index that a step of a pointer names: digits without leading zeros.
pub fn array_index(step: &str) -> Option<usize> {
    let is_digits = step.bytes().all(|byte| byte.is_ascii_digit());
    let is_shortest = step == "0" || !step.starts_with('0');
    (is_digits && is_shortest).then(|| step.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_found_by_its_only_pointer() {
        let document = br#"{"argv":["a","b","c"],"a~b":1,"a/b":2,"":3}"#;
        let document = FileKind::Json.read(document).unwrap();
        for pointer in ["", "/argv/2", "/a~0b", "/a~1b", "/"] {
            assert!(find_value(&document, pointer).is_some(), "{pointer}");
        }
        for pointer in [
            "argv", "/argv/02", "/argv/+2", "/argv/-", "/argv/3", "/a~b", "/a~2b",
        ] {
            assert_eq!(find_value(&document, pointer), None, "{pointer}");
        }
    }

    #[test]
    fn commitment_to_file_outside_bundle_is_malformed() {
        let entry = |path: &str| {
            let entry = CommittedFile {
                path: path.to_owned(),
                kind: FileKind::Bytes,
                values: 1,
                commitment: Digest::of(b""),
            };
            CommittedFile::from_value(&entry.to_value())
        };
        assert!(entry("artifacts/0123456789abcdef.txt").is_some());
        for path in ["../x", "/x", "a//b", "a/./b", "", "a\\b"] {
            assert_eq!(entry(path), None, "{path}");
        }
    }

    #[test]
    fn commitment_to_a_document_as_bytes_is_malformed() {
        let entry = |path: &str, kind: FileKind| {
            let entry = CommittedFile {
                path: path.to_owned(),
                kind,
                values: 1,
                commitment: Digest::of(b""),
            };
            CommittedFile::from_value(&entry.to_value()).is_some()
        };
        let kinds = FileKind::NAMES.map(|(kind, _)| kind);
        for (path, allowed) in [
            ("RUN_OUTPUT.json", [true, false, false, false]),
            ("ledger.jsonl", [false, true, true, true]),
            ("logs/stdout.txt", [false, false, true, true]),
        ] {
            let found = kinds.map(|kind| entry(path, kind));
            assert_eq!(found, allowed, "{path}");
        }
    }

    #[test]
    fn openings_that_withhold_far_more_than_is_listed_are_a_fault() {
        let list = |count: usize| {
            let elements = vec!["null"; count].join(",");
            let salt = "0".repeat(64);
            let opening = format!(r#"{{"salt":"{salt}","elements":[{elements}]}}"#);
            format!(r#"{{"openings":{{"a":{opening}}},"redacted_version":"1.0.0","withheld":[]}}"#)
        };
        assert!(Redacted::parse(list(UNLISTED_PLACES).as_bytes()).is_ok());
        let fault = Redacted::parse(list(UNLISTED_PLACES + 1).as_bytes()).unwrap_err();
        assert!(fault.contains("1000 more places"), "{fault}");
    }

    #[test]
    fn withheld_place_without_reason_is_malformed() {
        let list = |reason: &str| {
            format!(
                r#"{{"openings":{{}},"redacted_version":"1.0.0","withheld":[{{"path":"a","reason":"{reason}"}}]}}"#
            )
        };
        assert!(Redacted::parse(list("personal").as_bytes()).is_ok());
        for reason in ["", " ", "\\t\\n"] {
            assert!(
                Redacted::parse(list(reason).as_bytes()).is_err(),
                "{reason:?}"
            );
        }
    }
}

//! A host's request: a head in JSON, followed by the bytes of files.
//!
//! ```text
//! u32, little endian     the length of the head
//! head                   {"ask":"verify","files":[["run/a.json",17],["run/empty/",0]],"paths":["run"],…}
//! bytes                  of each file, one after the other, as many as the head says
//! ```

use std::borrow::Cow;

use runseal_core::canon::{Node, ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::timestamp::parse_utc;
use runseal_core::verify::{Demands, Level};
use runseal_survey::MemoryFiles;

/// What the host asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Verify,
    Inspect,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Human,
    Sarif,
    Junit,
}

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) asked: Asked,
    pub(crate) form: Form,
    pub(crate) level: Level,
    pub(crate) files: MemoryFiles<'a>,
    pub(crate) paths: Vec<String>,
    /// The path of the trust policy, and the current time in milliseconds since 1970.
    pub(crate) policy: Option<(String, i64)>,
    pub(crate) requires_signed: bool,
    pub(crate) demands: Demands,
}

const MEMBERS: [&str; 10] = [
    "ask",
    "at",
    "expect",
    "expect_format",
    "files",
    "format",
    "level",
    "paths",
    "require",
    "trust",
];

impl<'a> Request<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (length, rest) = bytes
            .split_first_chunk::<4>()
            .ok_or("the request ends before its head")?;
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (head, blob) = rest
            .split_at_checked(length)
            .ok_or("the request ends inside its head")?;
        let head = parse_document(head, &ReadOptions::default())
            .map_err(|error| format!("the head is not JSON: {error}"))?;
        Self::of(head.root(), blob)
    }

    fn of(head: Node<'_>, blob: &'a [u8]) -> Result<Self, String> {
        for (name, _) in head.as_object().ok_or("the head is not an object")? {
            let name = name.to_lossy();
            if !MEMBERS.contains(&name.as_ref()) {
                return Err(format!("the head has an unknown member `{name}`"));
            }
        }
        let asked = match text(head, "ask")?.as_deref() {
            None | Some("verify") => Asked::Verify,
            Some("inspect") => Asked::Inspect,
            Some(other) => return Err(format!("`ask` is `{other}`, not verify or inspect")),
        };
        let form = match text(head, "format")?.as_deref() {
            None | Some("json") => Form::Json,
            Some("human") => Form::Human,
            Some("sarif") => Form::Sarif,
            Some("junit") => Form::Junit,
            Some(other) => {
                return Err(format!(
                    "`format` is `{other}`, not json, human, sarif or junit"
                ));
            }
        };
        let level = match text(head, "level")?.as_deref() {
            None | Some("integrity") => Level::Integrity,
            Some("document") => Level::Document,
            Some("form") => Level::Form,
            Some(other) => {
                return Err(format!(
                    "`level` is `{other}`, not document, integrity or form"
                ));
            }
        };
        let files = read_files(head.get("files"), blob)?;
        let mut paths = texts(head, "paths")?;
        if head.get("paths").is_none() {
            paths = files.roots().map(str::to_owned).collect();
        }
        if paths.is_empty() {
            return Err("no path was given, and there are no files".to_owned());
        }
        let policy = match (text(head, "trust")?, text(head, "at")?) {
            (None, None) => None,
            (None, Some(_)) => return Err("`at` has no effect without `trust`".to_owned()),
            (Some(_), None) => return Err("`trust` needs `at`: there is no clock here".to_owned()),
            (Some(path), Some(at)) => {
                let now = parse_utc(&at).ok_or_else(|| {
                    format!("`at` is `{at}`, not a time such as 2026-01-01T00:00:00Z")
                })?;
                Some((path, now))
            }
        };
        let mut demands = Demands::default();
        let mut requires_signed = false;
        for required in texts(head, "require")? {
            match required.as_str() {
                "accepted" => demands = demands.expecting_accepted(true),
                "signed" => requires_signed = true,
                other => return Err(format!("`require` has `{other}`, not accepted or signed")),
            }
        }
        for name in texts(head, "expect_format")? {
            let known = Format::ALL.into_iter().find(|format| format.name() == name);
            let known = known.ok_or_else(|| format!("`{name}` is not a format"))?;
            demands = demands.expecting_format(known);
        }
        if let Some(lines) = text(head, "expect")? {
            demands = demands
                .expecting(&lines)
                .map_err(|error| error.to_string())?;
        }
        Ok(Self {
            asked,
            form,
            level,
            files,
            paths,
            policy,
            requires_signed,
            demands,
        })
    }
}

fn text(head: Node<'_>, name: &str) -> Result<Option<String>, String> {
    let Some(value) = head.get(name) else {
        return Ok(None);
    };
    let text = value
        .as_str()
        .ok_or_else(|| format!("`{name}` is not a string"))?;
    Ok(Some(text.into_owned()))
}

fn texts(head: Node<'_>, name: &str) -> Result<Vec<String>, String> {
    let Some(value) = head.get(name) else {
        return Ok(Vec::new());
    };
    let fault = || format!("`{name}` is not a list of strings");
    let items = value.as_array().ok_or_else(fault)?;
    items
        .map(|item| item.as_str().map(Cow::into_owned).ok_or_else(fault))
        .collect()
}

/// Takes the listed files from the bytes after the head. A name that ends in `/` is a folder.
fn read_files<'a>(list: Option<Node<'_>>, mut blob: &'a [u8]) -> Result<MemoryFiles<'a>, String> {
    let fault = || "`files` is not a list of [path, size]".to_owned();
    let mut files = MemoryFiles::default();
    for pair in list.and_then(|list| list.as_array()).ok_or_else(fault)? {
        let mut pair = pair.as_array().ok_or_else(fault)?;
        let (Some(path), Some(size), None) = (pair.next(), pair.next(), pair.next()) else {
            return Err(fault());
        };
        let path = path.as_str().ok_or_else(fault)?;
        let size = size.as_number().and_then(|size| size.to_exact_i64());
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(fault)?;
        let (bytes, rest) = blob
            .split_at_checked(size)
            .ok_or_else(|| format!("the request ends inside `{path}`"))?;
        blob = rest;
        let added = if !path.ends_with('/') {
            files.add_file(&path, Cow::Borrowed(bytes))
        } else if size == 0 {
            files.add_folder(&path)
        } else {
            return Err(format!("the folder `{path}` has bytes"));
        };
        added.map_err(|error| error.to_string())?;
    }
    match blob {
        [] => Ok(files),
        more => Err(format!("{} bytes belong to no file", more.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(head: &str, blob: &[u8]) -> Vec<u8> {
        let mut bytes = u32::try_from(head.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(blob);
        bytes
    }

    #[test]
    fn request_with_a_fault_is_refused_by_its_name() {
        for (head, blob, fault) in [
            ("{", "", "not JSON"),
            ("[]", "", "not an object"),
            (r#"{"files":[],"file":1}"#, "", "`file`"),
            (r#"{"files":[["a",1]]}"#, "", "ends inside `a`"),
            (r#"{"files":[["a",1]]}"#, "xy", "1 bytes belong"),
            (r#"{"files":[["a",-1]]}"#, "", "not a list"),
            (r#"{"files":[["../a",0]]}"#, "", "not a plain path"),
            (r#"{"files":[["a",0],["a",0]]}"#, "", "duplicate path"),
            (r#"{"files":[["a/",1]]}"#, "x", "has bytes"),
            (r#"{"files":[]}"#, "", "no path"),
            (r#"{"files":[["a",0]],"level":"strict"}"#, "", "`level`"),
            (r#"{"files":[["a",0]],"ask":"seal"}"#, "", "`ask`"),
            (r#"{"files":[["a",0]],"trust":"t"}"#, "", "no clock"),
            (r#"{"files":[["a",0]],"trust":"t","at":"now"}"#, "", "`at`"),
            (r#"{"files":[["a",0]],"require":["x"]}"#, "", "`require`"),
        ] {
            let bytes = request(head, blob.as_bytes());
            let refused = Request::parse(&bytes).unwrap_err();
            assert!(refused.contains(fault), "{head}: {refused}");
        }
        for cut in 0..6 {
            let bytes = request(r#"{"files":[]}"#, b"");
            assert!(Request::parse(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn request_without_paths_means_everything_at_the_top() {
        let head = r#"{"files":[["b/c",1],["a",1],["d/",0]]}"#;
        let bytes = request(head, b"xy");
        let parsed = Request::parse(&bytes).unwrap();
        assert_eq!(parsed.paths, ["a", "b", "d"]);
    }
}

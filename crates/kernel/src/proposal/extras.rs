//! What an intent may add to its proposal, in `context.proposal`:
//!
//! ```json
//! {"files": [{"path": "a.txt", "content": "…", "op": "create"}],
//!  "commands": ["node build.js", {"command": "json:report.json", "type": "validate"}],
//!  "tests": [{"type": "file_exists", "target": "a.txt"}]}
//! ```
//!
//! Files are created first, then commands run, then files are modified and deleted, then
//! validations and tests are done; each in the order given.
//!
//! A file's op is create (default), modify or delete. A command is a text, or an object with type
//! execute_command (default), validate or test, and required. A test has type, target, expected (by
//! default "0" for a command and "true" for a file that exists), name and required.

use runseal_core::canon::Value;
use runseal_core::digest::ContentHash;
use runseal_core::path::SafePath;

use super::{ActionKind, Draft, TestDraft, TestKind, split_validation};
use crate::intent::{EscapingPath, check_path_stays};

/// What is wrong in `context.proposal`, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("context.proposal.{place}: {message}")]
pub struct ExtrasError {
    /// The place below `context.proposal`.
    pub place: String,
    /// What is wrong.
    pub message: &'static str,
}

fn error(place: impl Into<String>, message: &'static str) -> ExtrasError {
    ExtrasError {
        place: place.into(),
        message,
    }
}

pub(super) fn add_extras(
    extras: &Value,
    drafts: &mut Vec<Draft>,
    tests: &mut Vec<TestDraft>,
) -> Result<(), ExtrasError> {
    let Value::Object(members) = extras else {
        return Err(error("", "not an object"));
    };
    for key in members.keys() {
        if !matches!(key.as_str(), Some("files" | "commands" | "tests")) {
            return Err(error(
                key.to_lossy(),
                "unknown member: expected files, commands or tests",
            ));
        }
    }
    let mut added = Vec::new();
    for (at, file) in list(extras, "files")?.iter().enumerate() {
        added.push(parse_file(file, &format!("files[{at}]"))?);
    }
    for (at, command) in list(extras, "commands")?.iter().enumerate() {
        added.push(parse_command(command, &format!("commands[{at}]"))?);
    }
    // A plan begins with an empty folder and names each file once. So what it modifies or deletes
    // was made by its commands, and what it validates is what exists at the end.
    added.sort_by_key(|draft| match draft.kind {
        ActionKind::CreateFile => 0,
        ActionKind::ExecuteCommand => 1,
        ActionKind::ModifyFile | ActionKind::DeleteFile => 2,
        ActionKind::Validate | ActionKind::Test => 3,
    });
    drafts.extend(added);
    for (at, test) in list(extras, "tests")?.iter().enumerate() {
        tests.push(parse_test(test, &format!("tests[{at}]"))?);
    }
    Ok(())
}

/// Refuses a path of the additions that leaves the work folder: of a file, of a test of a file, or of a
/// validation. Everything else about them is checked when the proposal is made.
///
/// # Errors
/// The first such path.
pub fn check_paths(extras: &Value) -> Result<(), EscapingPath> {
    let items = |name: &str| list(extras, name).unwrap_or_default().iter();
    let member = |value: &'_ Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let files = items("files").filter_map(|file| member(file, "path"));
    let of_file = |test: &&Value| {
        let kind = member(test, "type");
        kind.is_some_and(|kind| kind != TestKind::CommandSuccess.name())
    };
    let tests = items("tests").filter(of_file);
    let tests = tests.filter_map(|test| member(test, "target"));
    let validations = items("commands")
        .filter(|command| member(command, "type").as_deref() == Some(ActionKind::Validate.name()));
    let validations = validations.filter_map(|command| {
        let target = member(command, "command")?;
        Some(split_validation(&target).1.to_owned())
    });
    let mut paths = files.chain(tests).chain(validations);
    paths.try_for_each(|path| check_path_stays(&path))
}

fn list<'a>(extras: &'a Value, name: &str) -> Result<&'a [Value], ExtrasError> {
    match extras.get(name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(error(name, "not a list")),
    }
}

fn text(value: &Value, name: &str, place: &str) -> Result<Option<String>, ExtrasError> {
    match value.get(name) {
        None => Ok(None),
        Some(member) => match member.as_str() {
            Some(text) if !text.contains('\0') => Ok(Some(text.to_owned())),
            _ => Err(error(format!("{place}.{name}"), "not a text")),
        },
    }
}

fn required(value: &Value, place: &str) -> Result<bool, ExtrasError> {
    match value.get("required") {
        None => Ok(true),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(error(format!("{place}.required"), "not a boolean")),
    }
}

fn parse_file(file: &Value, place: &str) -> Result<Draft, ExtrasError> {
    let path =
        text(file, "path", place)?.ok_or_else(|| error(format!("{place}.path"), "missing"))?;
    if path.contains("..") || SafePath::parse(&path).is_err() {
        return Err(error(format!("{place}.path"), "not a safe relative path"));
    }
    let content = text(file, "content", place)?;
    let (kind, verb) = match text(file, "op", place)?.as_deref() {
        None | Some("create") => (ActionKind::CreateFile, "Create"),
        Some("modify") => (ActionKind::ModifyFile, "Modify"),
        Some("delete") => (ActionKind::DeleteFile, "Delete"),
        Some(_) => return Err(error(format!("{place}.op"), "not create, modify or delete")),
    };
    if content.is_some() == (kind == ActionKind::DeleteFile) {
        return Err(error(
            format!("{place}.content"),
            "required by create and modify, not allowed for delete",
        ));
    }
    Ok(Draft {
        kind,
        description: format!("{verb} {path}"),
        target: path,
        content,
        required: required(file, place)?,
    })
}

fn parse_command(command: &Value, place: &str) -> Result<Draft, ExtrasError> {
    let (target, kind, is_required) = match command {
        Value::String(_) => (command.as_str().map(str::to_owned), None, true),
        Value::Object(_) => (
            text(command, "command", place)?,
            text(command, "type", place)?,
            required(command, place)?,
        ),
        _ => return Err(error(place, "neither a text nor an object")),
    };
    let target = target
        .filter(|target| !target.trim().is_empty())
        .ok_or_else(|| error(place, "there is no command"))?;
    let (kind, verb) = match kind.as_deref() {
        None | Some("execute_command") => (ActionKind::ExecuteCommand, "Run"),
        Some("validate") => (ActionKind::Validate, "Validate"),
        Some("test") => (ActionKind::Test, "Test"),
        Some(_) => {
            return Err(error(
                format!("{place}.type"),
                "not execute_command, validate or test",
            ));
        }
    };
    Ok(Draft {
        kind,
        description: format!("{verb} {target}"),
        target,
        content: None,
        required: is_required,
    })
}

fn parse_test(test: &Value, place: &str) -> Result<TestDraft, ExtrasError> {
    let name = text(test, "type", place)?.unwrap_or_default();
    let kind = TestKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
        .ok_or_else(|| error(format!("{place}.type"), "not a known type of test"))?;
    let target = text(test, "target", place)?
        .filter(|target| !target.is_empty())
        .ok_or_else(|| error(format!("{place}.target"), "missing"))?;
    let expected = match (text(test, "expected", place)?, kind) {
        (Some(expected), TestKind::HashMatch) if ContentHash::parse(&expected).is_err() => {
            return Err(error(
                format!("{place}.expected"),
                "not sha256: and 64 hex digits",
            ));
        }
        (Some(expected), _) => expected,
        (None, TestKind::CommandSuccess) => "0".to_owned(),
        (None, TestKind::FileExists) => "true".to_owned(),
        (None, TestKind::HashMatch | TestKind::ContentMatch) => {
            return Err(error(format!("{place}.expected"), "missing"));
        }
    };
    let name = text(test, "name", place)?;
    Ok(TestDraft {
        name: name.unwrap_or_else(|| format!("{} {target}", kind.name())),
        kind,
        target,
        expected,
        required: required(test, place)?,
    })
}

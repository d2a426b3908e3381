//! RUN_INPUT.json and RUN_OUTPUT.json of a recorded command.

use std::collections::BTreeMap;

use runseal_core::canon::{Members, Value};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::recorded::{
    ListedLink, MODEL_IO_MEMBER, RECORDED_COMMAND, RECORDED_VERSION,
};
use runseal_sandbox::Ending;

use super::accesses::Link;
use super::run::{Command, passed_variables};
use super::terms::Terms;

/// A file in the list of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEntry {
    pub(crate) path: String,
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
    pub(crate) is_executable: bool,
    /// The path of its bytes in the bundle.
    pub(crate) stored: Option<String>,
}

impl FileEntry {
    pub(crate) fn to_value(&self) -> Value {
        let mut value = Value::object([
            ("path", self.path.as_str()),
            ("sha256", self.sha256.to_string().as_str()),
            ("mode", if self.is_executable { "755" } else { "644" }),
        ]);
        value.insert("bytes", self.bytes);
        if let Some(stored) = &self.stored {
            value.insert("stored", stored.as_str());
        }
        value
    }
}

pub(crate) fn list_files(files: &[FileEntry]) -> Value {
    Value::array(files.iter().map(FileEntry::to_value))
}

pub(crate) fn list_texts(map: &BTreeMap<String, String>) -> Value {
    let mut value = Value::Object(Members::new());
    for (name, text) in map {
        value.insert(name, text.as_str());
    }
    value
}

/// The input of a command.
#[derive(Debug)]
pub(crate) struct RecordedInput<'a> {
    pub(crate) command: &'a Command,
    pub(crate) files: &'a [FileEntry],
    pub(crate) inputs: &'a [FileEntry],
    pub(crate) links: Vec<&'a Link>,
    pub(crate) stdin: Option<FileEntry>,
    pub(crate) model_io: Option<FileEntry>,
    /// What becomes of the results.
    pub(crate) terms: &'a Terms,
}

/// RUN_INPUT.json.
pub(crate) fn make_input(taken: &RecordedInput<'_>) -> Value {
    let command = taken.command;
    let mut input = Value::object([(
        "argv",
        Value::array(command.argv.iter().map(String::as_str)),
    )]);
    input.insert("environment", list_texts(&passed_variables(command)));
    input.insert("parameters", list_texts(&command.parameters));
    input.insert("files", list_files(taken.files));
    input.insert("inputs", list_files(taken.inputs));
    let link = |link: &&Link| {
        Value::object([
            ("path", link.path.as_str()),
            ("target", link.target.as_str()),
        ])
    };
    input.insert("links", Value::array(taken.links.iter().map(link)));
    let stdin = taken
        .stdin
        .as_ref()
        .map_or(Value::Null, FileEntry::to_value);
    input.insert("stdin", stdin);
    if let Some(model_io) = &taken.model_io {
        input.insert(MODEL_IO_MEMBER, model_io.to_value());
    }
    for (name, value) in taken.terms.members() {
        input.insert(name, value);
    }
    if let Some(seconds) = command.fixed_time {
        input.insert("fixed_time", seconds);
    }
    input
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct RecordedOutput {
    pub(crate) ending: Ending,
    /// The signal by which it was interrupted.
    pub(crate) interrupted: Option<i32>,
    pub(crate) stdout: FileEntry,
    pub(crate) stderr: FileEntry,
    pub(crate) outputs: Vec<FileEntry>,
    /// Files that it left but that were not kept; `None` if all were.
    pub(crate) not_kept: Option<Vec<String>>,
    pub(crate) folders: Vec<String>,
    pub(crate) deleted: Vec<String>,
    /// Symbolic links that it left.
    pub(crate) links: Vec<ListedLink>,
}

/// RUN_OUTPUT.json, without its two hashes.
pub(crate) fn make_output(given: &RecordedOutput) -> Value {
    let mut output = Value::object([("semantics", "RAW_TRUTH")]);
    output.insert(
        "engine",
        Value::object([
            ("engine_code", RECORDED_COMMAND),
            ("engine_version", RECORDED_VERSION),
        ]),
    );
    let (status, signal) = match given.ending {
        Ending::Exited(code) => (Value::from(u64::from(code)), Value::Null),
        Ending::Signaled(signal) => (Value::Null, Value::from(i64::from(signal))),
        Ending::Stopped(_) => (Value::Null, Value::from(9_i64)),
    };
    output.insert("exit_status", status);
    output.insert("signal", signal);
    let is_interrupted = given.interrupted.is_some();
    output.insert(
        "failed",
        is_interrupted || given.ending != Ending::Exited(0),
    );
    if let Some(signal) = given.interrupted {
        output.insert("interrupted", i64::from(signal));
    }
    output.insert("stdout", given.stdout.to_value());
    output.insert("stderr", given.stderr.to_value());
    output.insert("outputs", list_files(&given.outputs));
    output.insert(
        "folders",
        Value::array(given.folders.iter().map(String::as_str)),
    );
    if let Some(names) = &given.not_kept {
        output.insert("not_kept", Value::array(names.iter().map(String::as_str)));
    }
    // Bundles had none before links could be sealed, and those without one are as they were.
    if !given.links.is_empty() {
        let links = given.links.iter().map(|link| {
            Value::object([
                ("path", link.path.as_str()),
                ("target", link.target.as_str()),
            ])
        });
        output.insert("links", Value::array(links));
    }
    output.insert(
        "deleted",
        Value::array(given.deleted.iter().map(String::as_str)),
    );
    output
}

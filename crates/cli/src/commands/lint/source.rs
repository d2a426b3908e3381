//! A file read as an intent: as JSON if its first character says so, otherwise as a list.

use std::path::Path;

use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_kernel::find::Origin;

use runseal_kernel::{Intent, parse_intent};

use super::list::parse_list;
use crate::error::{CliError, Named};

/// An intent, and where its texts are in the file.
pub(super) struct Source {
    /// The path as given on the command line.
    pub path: String,
    /// The bytes of that path, which may not be valid text.
    pub path_bytes: Vec<u8>,
    pub intent: Intent,
    /// In a list: the line of the goal, and the line of each constraint in the order given.
    lines: Option<(usize, Vec<usize>)>,
}

impl Source {
    /// Where a text is, in words, and its line if the file is a list.
    pub fn place(&self, origin: Origin) -> (String, Option<usize>) {
        match (&self.lines, origin) {
            (None, Origin::Goal) => ("goal".to_owned(), None),
            (None, Origin::Constraint(at)) => (
                format!("constraints[{}]", self.intent.given_position(at)),
                None,
            ),
            (Some((goal, _)), Origin::Goal) => (format!("line {goal}"), Some(*goal)),
            (Some((goal, lines)), Origin::Constraint(at)) => {
                let line = lines
                    .get(self.intent.given_position(at))
                    .copied()
                    .unwrap_or(*goal);
                (format!("line {line}"), Some(line))
            }
        }
    }

    /// A text's position in the file, for sorting: the goal, then the constraints in the order
    /// given.
    pub fn order(&self, origin: Option<Origin>) -> usize {
        match origin {
            None | Some(Origin::Goal) => 0,
            Some(Origin::Constraint(at)) => self.intent.given_position(at) + 1,
        }
    }
}

/// Reads a file as an intent.
pub(super) fn read_source(path: &Path) -> Result<Source, CliError> {
    let input = Input::from_argument(Some(path));
    let options = ReadOptions::INTENT;
    let bytes = input.read(options.limits.max_bytes)?;
    let shown = input.shown();
    let begin = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let first = begin.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        let document = parse_document(&bytes, &options).named(&shown)?;
        let intent = parse_intent(&document).map_err(|refusal| {
            CliError::new(Outcome::Malformed, refusal.code(), refusal.message()).at(shown.clone())
        })?;
        return Ok(Source {
            path_bytes: path_bytes(path, &shown),
            path: shown,
            intent,
            lines: None,
        });
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| {
        CliError::new(
            Outcome::Malformed,
            "NOT_UTF8",
            "a requirement list must be UTF-8",
        )
        .at(shown.clone())
    })?;
    read_list(text, shown, path)
}

fn read_list(text: &str, shown: String, path: &Path) -> Result<Source, CliError> {
    let list = parse_list(text);
    if list.items.is_empty() {
        let error = CliError::new(
            Outcome::Malformed,
            "NO_LIST",
            "neither an intent nor a requirement list",
        )
        .at(shown);
        return Err(error.hint(
            "an intent is a JSON object; a list has items that begin with `- `, or paragraphs",
        ));
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let (goal, goal_line) = match &list.goal {
        Some(goal) => (goal.text.clone(), goal.line),
        None => (stem, 1),
    };
    let constraints: Vec<String> = list.items.iter().map(|item| item.text.clone()).collect();
    let lines = list.items.iter().map(|item| item.line).collect();
    let context = Value::object::<Value>([]);
    let intent = Intent::new(&goal, &constraints, context).map_err(|refusal| {
        CliError::new(Outcome::Malformed, refusal.code(), refusal.message()).at(shown.clone())
    })?;
    Ok(Source {
        path_bytes: path_bytes(path, &shown),
        path: shown,
        intent,
        lines: Some((goal_line, lines)),
    })
}

fn path_bytes(path: &Path, shown: &str) -> Vec<u8> {
    match path.to_str() {
        Some(_) => shown.as_bytes().to_vec(),
        None => path.as_os_str().as_encoded_bytes().to_vec(),
    }
}

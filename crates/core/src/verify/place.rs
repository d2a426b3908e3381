//! Where a finding is: a file of the unit, a path into its JSON, and the span in its text.
//!
//! The documents fix how a report *names* a place (a JSON path, an action's id, a file's name); that
//! is the label. What the place *is* is kept next to it as types, so nothing has to parse a label to
//! find the file or the line.

use crate::canon::{JsonPath, Position, Step, locate};

/// A stretch of a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The byte it begins at.
    pub offset: usize,
    /// The number of bytes.
    pub length: usize,
    /// Where it begins, for people.
    pub start: Position,
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    label: Option<String>,
    file: Option<String>,
    path: Option<JsonPath>,
    line: Option<u32>,
    span: Option<Span>,
}

impl Place {
    /// The unit as a whole.
    pub fn whole() -> Self {
        Self::default()
    }

    /// Something that the document names by an id.
    pub fn named(label: impl Into<String>) -> Self {
        Self {
            label: Some(label.into()),
            ..Self::default()
        }
    }

    /// A file or folder of the unit, named by its path in it.
    pub fn file(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            label: Some(name.clone()),
            file: Some(name),
            ..Self::default()
        }
    }

    /// Line `number` (from 1) of a unit that is a single file of lines.
    pub fn line(number: usize) -> Self {
        Self {
            label: Some(format!("line {number}")),
            ..Self::default()
        }
        .on_line(number)
    }

    /// Sets the path into the file's JSON.
    #[must_use]
    pub fn at(mut self, path: JsonPath) -> Self {
        self.path = Some(path);
        self
    }

    /// Sets the file of the unit and keeps the label.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// Sets the line (from 1) of the file's text.
    #[must_use]
    pub fn on_line(mut self, number: usize) -> Self {
        self.line = u32::try_from(number).ok();
        self
    }

    /// Sets the file of the unit and makes its name the label.
    #[must_use]
    pub fn within(mut self, file: &str) -> Self {
        self.label = Some(file.to_owned());
        self.file = Some(file.to_owned());
        self
    }

    /// Takes the label as a file's name if nothing else says what the place is.
    #[must_use]
    pub(super) fn named_as_file(mut self) -> Self {
        if self.file.is_none() && self.path.is_none() && self.line.is_none() {
            self.file.clone_from(&self.label);
        }
        self
    }

    /// Cuts label and file name to `most` bytes, and drops the path if it is longer.
    #[must_use]
    pub(super) fn cut_to(mut self, most: usize) -> Self {
        self.label = self.label.map(|label| cut_text(label, most));
        self.file = self.file.map(|file| cut_text(file, most));
        if self.path_bytes() > most {
            self.path = None;
        }
        self
    }

    /// The bytes of label, file name and path.
    pub(super) fn text_bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        length(&self.label) + length(&self.file) + self.path_bytes()
    }

    fn path_bytes(&self) -> usize {
        let length = |step: &Step| match step {
            Step::Member(name) => name.len(),
            Step::Element(_) => 0,
        };
        let steps = self.path.as_ref().map_or(&[][..], JsonPath::steps);
        steps.iter().map(length).sum::<usize>() + size_of_val(steps)
    }

    /// How reports name it, as the format's document prescribes.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The file of the unit; `None` if the unit is a single file or the place is the whole unit.
    pub fn file_name(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The path into that file's JSON.
    pub fn path(&self) -> Option<&JsonPath> {
        self.path.as_ref()
    }

    /// The span, if the text was available.
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// The line of the file, from 1, if known.
    pub fn line_number(&self) -> Option<u32> {
        self.span.map(|span| span.start.line).or(self.line)
    }
}

/// Cuts a text to at most `most` bytes and marks the cut with `…`.
pub(super) fn cut_text(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

impl From<JsonPath> for Place {
    fn from(path: JsonPath) -> Self {
        Self::named(path.to_string()).at(path)
    }
}

impl From<String> for Place {
    fn from(label: String) -> Self {
        Self::named(label)
    }
}

impl From<&String> for Place {
    fn from(label: &String) -> Self {
        Self::named(label)
    }
}

impl From<&JsonPath> for Place {
    fn from(path: &JsonPath) -> Self {
        path.clone().into()
    }
}

impl From<&str> for Place {
    fn from(label: &str) -> Self {
        Self::named(label)
    }
}

/// The most findings whose span is looked up; others only keep their path.
const LOCATED: usize = 1000;

/// Finds the span of each place with a path into `file`, whose text is `text`. A place with a path
/// but no file is in it too: its unit is a single document.
pub(super) fn locate_places<'a>(
    places: impl Iterator<Item = &'a mut Place>,
    file: Option<&str>,
    text: &str,
) {
    let is_here = |place: &&mut Place| {
        place.path.is_some() && (place.file.is_none() || place.file.as_deref() == file)
    };
    let mut wanted: Vec<&mut Place> = places.filter(is_here).take(LOCATED).collect();
    let paths: Vec<&[Step]> = wanted
        .iter()
        .map(|place| place.path.as_ref().map_or(&[][..], JsonPath::steps))
        .collect();
    let spans = locate(text, &paths);
    for (place, range) in wanted.iter_mut().zip(&spans) {
        place.file = file.map(str::to_owned);
        place.span = range.clone().map(|range| Span {
            offset: range.start,
            length: range.len(),
            start: Position { line: 1, column: 1 },
        });
    }
    set_positions(wanted, text);
}

/// Finds lines and columns in a single pass, instead of one for each place.
fn set_positions(mut places: Vec<&mut Place>, text: &str) {
    places.sort_by_key(|place| place.span.map(|span| span.offset));
    let mut at = 0;
    let mut position = Position { line: 1, column: 1 };
    for span in places.into_iter().filter_map(|place| place.span.as_mut()) {
        let passed = text.get(at..span.offset).unwrap_or_default();
        for byte in passed.bytes() {
            if byte == b'\n' {
                position.line = position.line.saturating_add(1);
                position.column = 1;
            } else if byte & 0xC0 != 0x80 {
                position.column = position.column.saturating_add(1);
            }
        }
        at = span.offset.max(at);
        span.start = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locate_places_finds_the_line_and_for_a_missing_member_its_parent() {
        let text = "{\n  \"a\": [1,\n    {\"b\": true}]\n}";
        let mut places = [
            Place::from(JsonPath::ROOT.then("a").then(1).then("b")),
            Place::from(JsonPath::ROOT.then("a").then(1).then("absent")),
            Place::from(JsonPath::ROOT.then("none")),
            Place::named("an id"),
        ];
        locate_places(places.iter_mut(), None, text);
        let lines: Vec<_> = places.iter().map(Place::line_number).collect();
        assert_eq!(lines, [Some(3), Some(3), Some(1), None]);
        let span = places[0].span().unwrap();
        assert_eq!(&text[span.offset..span.offset + span.length], "true");
        assert_eq!(span.start.column, 11);
    }
}

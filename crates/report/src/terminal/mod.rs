//! What people see on a terminal: verdicts and descriptions, with colour and as wide as the screen.
//!
//! Without a screen, if output goes to a file or a pipe, the same text is plain: no colour, no
//! wrapping, one line per item, so that it can be searched.

mod inspect;
mod survey;
mod table;

pub use inspect::{render_inspection_human, render_inspection_json};
pub use survey::render_survey_human;
pub use table::{render_spark, render_table};

use std::borrow::Cow;

pub(crate) use runseal_core::hidden::one_line as plain;

use crate::answers::Tone;
use crate::reveal::cut;

/// Where text is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// The columns of the terminal; `None` without a terminal.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub has_colour: bool,
    /// Whether advice is left out.
    pub is_quiet: bool,
}

impl Screen {
    /// The text in the colour of a tone.
    pub(crate) fn tint<'a>(self, tone: Tone, text: &'a str) -> Cow<'a, str> {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "1;31",
            Tone::Warning => "33",
            Tone::Neutral => return Cow::Borrowed(text),
        };
        self.paint(code, text)
    }

    /// The text in bold.
    pub(crate) fn bold<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("1", text)
    }

    /// The text dimmed.
    pub(crate) fn dim<'a>(self, text: &'a str) -> Cow<'a, str> {
        self.paint("2", text)
    }

    fn paint<'a>(self, code: &str, text: &'a str) -> Cow<'a, str> {
        if self.has_colour && !text.is_empty() {
            Cow::Owned(format!("\u{1b}[{code}m{text}\u{1b}[0m"))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// The columns left after an indent; many without a terminal.
    pub(crate) fn room(self, indent: usize) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(indent).max(20))
    }
}

/// The columns that a text takes. Wide characters take two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

fn char_columns(c: char) -> usize {
    match c as u32 {
        0x300..=0x36f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// A text padded with blanks to `to` columns.
pub(crate) fn pad(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(columns(text))))
}

/// A text cut to `room` columns. Its middle is left out, since both ends of a path say more.
pub(crate) fn fit(text: &str, room: usize) -> Cow<'_, str> {
    if columns(text) <= room {
        return Cow::Borrowed(text);
    }
    let chars: Vec<char> = text.chars().collect();
    let keep = room.saturating_sub(1).min(chars.len());
    let (head, tail) = (keep / 2, keep - keep / 2);
    let front: String = chars[..head].iter().collect();
    let back: String = chars[chars.len() - tail..].iter().collect();
    Cow::Owned(format!("{front}…{back}"))
}

/// Breaks a text between words into lines of at most `room` columns.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    if columns(text) <= room {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// A cell of a table: one line, cut.
pub(crate) fn cell(text: &str, most: usize) -> String {
    cut(&plain(text), most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_fitted_wrapped_and_padded_by_columns() {
        assert_eq!(fit("evidence/runs/2026/one", 11), "evide…6/one");
        assert_eq!(fit("short", 11), "short");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(pad("日本", 5), "日本 ");
    }

    #[test]
    fn colour_is_for_screens_that_have_it() {
        let (plain, screen) = (
            Screen::default(),
            Screen {
                width: Some(80),
                has_colour: true,
                is_quiet: false,
            },
        );
        assert_eq!(plain.tint(Tone::Bad, "x"), "x");
        assert_eq!(screen.tint(Tone::Bad, "x"), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(plain.room(4), usize::MAX);
        assert_eq!(screen.room(4), 76);
    }
}

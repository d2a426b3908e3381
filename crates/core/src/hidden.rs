//! Makes text from outside safe to show: hidden characters are written out.
//!
//! Everything that prints what others wrote goes through here: [`one_line`] for a name or message inside a line,
//! [`reveal`] for finished text, [`answer_text`] for JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::canon::{AnyJson, Dialect, NoCanonicalForm, canonical_bytes};

/// Whether `c` is a control character, or changes the direction, extent or look of text without being seen. Line
/// feeds and tabs are not hidden.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Whether `c` only says that the emoji before it is shown in colour or as text. Several in a row could carry a message.
fn is_emoji_style(before: Option<char>, c: char) -> bool {
    let is_emoji = |c: char| {
        matches!(c, '#' | '*' | '0'..='9' | '©' | '®')
            || matches!(c, '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
    };
    matches!(c, '\u{fe0e}' | '\u{fe0f}') && before.is_some_and(is_emoji)
}

/// Replaces each character for which `is_replaced` returns `true` with what `write` appends for it.
fn replace(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    write: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 64);
    let mut before = None;
    for c in text.chars() {
        if is_replaced(c) && !is_emoji_style(before, c) {
            write(c, &mut shown);
        } else {
            shown.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

fn write_out(c: char, shown: &mut String) {
    // Writing into a string cannot fail.
    let _ = write!(shown, "\\u{{{:x}}}", c as u32);
}

/// Writes out hidden characters, such as `\u{202e}`. Line breaks and tabs stay.
pub fn reveal(text: &str) -> Cow<'_, str> {
    replace(text, is_hidden, write_out)
}

/// Like [`reveal`], but on one line: line breaks and tabs are written out too.
pub fn one_line(text: &str) -> String {
    let is_replaced = |c: char| is_hidden(c) || matches!(c, '\n' | '\t');
    let write = |c: char, shown: &mut String| match c {
        '\n' | '\t' | '\r' => shown.extend(c.escape_debug()),
        c => write_out(c, shown),
    };
    replace(text, is_replaced, write).into_owned()
}

/// Like [`reveal`], but keeps our own colours: `ESC [ 1 ; 31 m`.
pub fn reveal_but_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return reveal(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split('\u{1b}');
    shown.push_str(&reveal(parts.next().unwrap_or_default()));
    for part in parts {
        let codes = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let is_code = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b';');
        if codes.is_some_and(|(codes, _)| is_code(codes)) {
            shown.push('\u{1b}');
        } else {
            write_out('\u{1b}', &mut shown);
        }
        shown.push_str(&reveal(part));
    }
    Cow::Owned(shown)
}

/// Writes hidden characters of JSON text as JSON escapes, such as `\u202e`, so its value stays the same. JSON has no
/// hidden characters outside of strings.
fn reveal_json(text: &str) -> Cow<'_, str> {
    replace(text, is_hidden, |c, shown| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    })
}

/// Renders an answer for printing: canonical JSON with hidden characters escaped. Not for documents that are stored or
/// hashed.
///
/// # Errors
/// If the value has no canonical form.
pub fn answer_text<'a>(
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
) -> Result<String, NoCanonicalForm> {
    let bytes = canonical_bytes(value, dialect)?;
    Ok(reveal_json(&String::from_utf8_lossy(&bytes)).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, Value, parse_document};

    #[test]
    fn reveal_writes_out_hidden_characters_and_keeps_the_rest() {
        assert_eq!(
            reveal("a\u{202e}b\u{0}\u{200b}"),
            "a\\u{202e}b\\u{0}\\u{200b}"
        );
        assert_eq!(reveal("tags \u{e0041}"), "tags \\u{e0041}");
        assert!(matches!(reveal("Grüße\n\t日本 👍"), Cow::Borrowed(_)));
        assert_eq!(reveal("a\u{fe01}b\u{fe0f}"), "a\\u{fe01}b\\u{fe0f}");
        assert_eq!(reveal("⚠\u{fe0f} \u{1bca0}"), "⚠\u{fe0f} \\u{1bca0}");
        assert_eq!(reveal("⚠\u{fe0f}\u{fe0f}"), "⚠\u{fe0f}\\u{fe0f}");
    }

    #[test]
    fn one_line_has_no_breaks_and_nothing_hidden() {
        assert_eq!(
            one_line("a\nb\tc\r\u{85}\u{9b}\u{2028}\u{2066}"),
            "a\\nb\\tc\\r\\u{85}\\u{9b}\\u{2028}\\u{2066}"
        );
    }

    #[test]
    fn reveal_but_colours_keeps_colours_and_no_other_sequence() {
        let ours = "\u{1b}[1;31mbad\u{1b}[0m\n";
        assert_eq!(reveal_but_colours(ours), ours);
        for (text, shown) in [
            ("\u{1b}[2Jx\u{1b}[0m", "\\u{1b}[2Jx\u{1b}[0m"),
            ("\u{1b}]0;title\u{7}m", "\\u{1b}]0;title\\u{7}m"),
            ("x\u{1b}", "x\\u{1b}"),
            ("\u{1b}[3\u{9b}1m\u{202e}", "\\u{1b}[3\\u{9b}1m\\u{202e}"),
        ] {
            assert_eq!(reveal_but_colours(text), shown, "{text:?}");
        }
    }

    #[test]
    fn answer_text_escapes_hidden_characters_and_keeps_the_value() {
        let text = "\u{7f}\u{9b}\u{202e}\u{e0041}\u{200d}é\n";
        let value = Value::object([(text, text)]);
        let printed = answer_text(&value, Dialect::Kernel).unwrap();
        assert_eq!(
            printed.split_once(':').unwrap().0,
            r#"{"\u007f\u009b\u202e\udb40\udc41\u200dé\n""#
        );
        let read = parse_document(printed.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(read.root().to_value(), value);
    }
}

//! Makes hidden characters visible.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that change the direction, the extent or the look of text without being seen, and
/// controls. None of our own texts has any, so in a finished page they all come from outside.
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
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// So many of something.
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

/// The text with hidden characters written out, such as `\u{202e}`. Line breaks and tabs stay.
pub fn reveal(text: &str) -> Cow<'_, str> {
    let Some((first, _)) = text.char_indices().find(|(_, c)| is_hidden(*c)) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 64);
    shown.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_hidden(c) {
            // Writing into a string cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", c as u32);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The first characters of a text, with `…` where there are more.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", text[..at].trim_end())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reveal_writes_out_what_cannot_be_seen_and_leaves_the_rest() {
        assert_eq!(
            reveal("a\u{202e}b\u{0}\u{200b}"),
            "a\\u{202e}b\\u{0}\\u{200b}"
        );
        assert_eq!(reveal("tags \u{e0041}"), "tags \\u{e0041}");
        assert!(matches!(reveal("Grüße\n\t日本 👍"), Cow::Borrowed(_)));
    }

    #[test]
    fn cut_counts_characters_and_not_bytes() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü!", 3), "äöü…");
    }
}

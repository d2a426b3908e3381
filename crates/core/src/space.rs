//! White space as ECMAScript's `trim`, and so the documents' own tools, see it; and line ends, which
//! are LF in every format.

use std::borrow::Cow;

/// Whether `trim` removes `c`: Unicode's space separators, the line ends, tab, vertical tab, form
/// feed and U+FEFF; but not U+0085 and U+200B.
pub const fn is_ecmascript_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202f}'
                | '\u{205f}'
                | '\u{3000}'
                | '\u{feff}'
    )
}

/// `text` without white space at either end.
pub fn trim_ecmascript(text: &str) -> &str {
    text.trim_matches(is_ecmascript_space)
}

/// Turns CRLF and lone CR into LF.
pub fn normalize_newlines(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\r') {
        out.push_str(&rest[..at]);
        out.push('\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trim_ecmascript_differs_from_rust_in_two_characters() {
        assert_eq!(trim_ecmascript("\u{feff} a\u{3000}\n"), "a");
        assert_eq!(trim_ecmascript("\u{85}a\u{200b}"), "\u{85}a\u{200b}");
        let differs: Vec<_> = ('\0'..=char::MAX)
            .filter(|&c| c.is_whitespace() != is_ecmascript_space(c))
            .collect();
        assert_eq!(differs, ['\u{85}', '\u{feff}']);
    }
}

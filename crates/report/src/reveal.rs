//! Texts as they are shown: revealed, counted, cut.

use std::borrow::Cow;

pub use runseal_core::hidden::reveal;

/// A count with its noun, in the plural if needed.
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

/// The first characters of a text, with `…` if there are more.
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
    fn cut_counts_characters_and_not_bytes() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü!", 3), "äöü…");
    }
}

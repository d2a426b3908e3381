//! Patterns of selectors: `*` within one segment of a path, `**` across them, `?` one character.

/// Returns whether `pattern` matches all of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // The lengths of the text at which the pattern so far can end.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let mut next = vec![false; text.len() + 1];
        let is_star = pattern[at] == '*';
        let crosses = is_star && pattern.get(at + 1) == Some(&'*');
        for length in 0..=text.len() {
            let before = length.checked_sub(1);
            next[length] = if is_star {
                let extends_star = |before: usize| next[before] && (crosses || text[before] != '/');
                reached[length] || before.is_some_and(extends_star)
            } else {
                let fits = |before: usize| {
                    let character = text[before];
                    character == pattern[at] || pattern[at] == '?' && character != '/'
                };
                before.is_some_and(|before| reached[before] && fits(before))
            };
        }
        reached = next;
        at += if crosses { 2 } else { 1 };
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn pattern_matches_whole_text_and_star_stays_in_a_segment() {
        for (pattern, text, expected) in [
            ("run-bundle", "run-bundle", true),
            ("run", "run-bundle", false),
            ("acme.*", "acme.pricing", true),
            ("*", "a/b", false),
            ("**", "a/b", true),
            ("prod/**/run", "prod/x/y/run", true),
            ("prod/*", "prod/x/y", false),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("", "", true),
            ("", "a", false),
            ("*a*", "bab", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}

//! Two texts, line by line.

use std::fmt;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};
use runseal_core::limits::{DIFF_MAX_LINES, DIFF_MAX_TEXT};

/// Lines of context around each difference, and the most lines that are shown.
const CONTEXT: u32 = 3;
const LINES: usize = 200;

/// How two texts differ, in the form of `diff -u`; nothing where they are equal, too long or no text.
pub(crate) fn diff_lines(name: &str, old: &[u8], new: &[u8]) -> Option<String> {
    let (old, new) = (str::from_utf8(old).ok()?, str::from_utf8(new).ok()?);
    let lines = old.lines().count() + new.lines().count();
    if old.len() + new.len() > DIFF_MAX_TEXT || lines > DIFF_MAX_LINES {
        return None;
    }
    let hunks = hunks(old, new);
    if hunks.is_empty() {
        return None;
    }
    let text = format!("--- a/{name}\n+++ b/{name}\n{hunks}");
    let mut lines: Vec<&str> = text.lines().take(LINES + 1).collect();
    if lines.len() > LINES {
        lines[LINES] = "…";
    }
    Some(lines.join("\n"))
}

/// The lines that differ between two texts and those around them, as `diff -U3` prints them.
fn hunks(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let changes: Vec<Hunk> = diff.hunks().collect();
    let is_near = |a: &Hunk, b: &Hunk| b.before.start - a.before.end <= 2 * CONTEXT;
    let mut out = String::new();
    for group in changes.chunk_by(is_near) {
        write_hunk(&mut out, &input, group);
    }
    out
}

/// Writes changes that are near each other, with what surrounds and separates them.
fn write_hunk(out: &mut String, input: &InternedInput<&str>, changes: &[Hunk]) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let lines_before = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let above = first.before.start.min(CONTEXT);
    let below = (lines_before - last.before.end).min(CONTEXT);
    let old = LineRange(first.before.start - above..last.before.end + below);
    let new = LineRange(first.after.start - above..last.after.end + below);
    out.push_str(&format!("@@ -{old} +{new} @@\n"));
    let mut write = |mark: char, tokens: &[Token], lines: Range<u32>| {
        for token in &tokens[lines.start as usize..lines.end as usize] {
            let line = input.interner[*token];
            out.push(mark);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    let mut same = old.0.start;
    for change in changes {
        write(' ', &input.before, same..change.before.start);
        write('-', &input.before, change.before.clone());
        write('+', &input.after, change.after.clone());
        same = change.before.end;
    }
    write(' ', &input.before, same..old.0.end);
}

/// Lines, counted from 0; printed as in the head of a hunk.
struct LineRange(Range<u32>);

impl fmt::Display for LineRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.0.start;
        match self.0.len() {
            // Nothing: the line before is named.
            0 => write!(out, "{start},0"),
            1 => write!(out, "{}", start + 1),
            length => write!(out, "{},{length}", start + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> String {
        diff_lines("x", old.as_bytes(), new.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn changed_line_is_shown_with_three_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let shown = diff(old, &old.replace('5', "five"));
        let expected = "--- a/x\n+++ b/x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8";
        assert_eq!(shown, expected);
    }

    #[test]
    fn differences_far_apart_are_separate_hunks() {
        let old: String = (0..30).map(|line| format!("{line}\n")).collect();
        let new = old.replacen("0\n", "zero\n", 1).replace("29\n", "end\n");
        let shown = diff(&old, &new);
        let heads: Vec<_> = shown
            .lines()
            .filter(|line| line.starts_with("@@"))
            .collect();
        assert_eq!(heads, ["@@ -1,4 +1,4 @@", "@@ -27,4 +27,4 @@"]);
    }

    #[test]
    fn patch_turns_the_old_text_into_the_new_one() {
        // What `patch` would do with every difference of two texts of few lines.
        let texts: Vec<String> = (0..243_u32)
            .map(|number| {
                let digit = |at: u32| ["", "a\n", "b\n"][(number / 3_u32.pow(at) % 3) as usize];
                let common = "c\n".repeat(number as usize % 9);
                [
                    digit(0),
                    digit(1),
                    &common,
                    digit(2),
                    &common,
                    digit(3),
                    digit(4),
                ]
                .concat()
            })
            .collect();
        for (old, new) in texts.iter().zip(texts.iter().skip(1)) {
            assert_eq!(&patched(old, &diff(old, new)), new, "{old:?}");
        }
    }

    fn patched(old: &str, patch: &str) -> String {
        let old: Vec<&str> = old.lines().collect();
        let (mut result, mut at) = (Vec::new(), 0);
        for line in patch.lines().skip(2) {
            match line.split_at(1) {
                ("@", _) => {
                    let range = line.split([' ', ',']).nth(1).unwrap();
                    let start: usize = range[1..].parse().unwrap();
                    let is_empty = line.contains(",0 +");
                    let start = start - usize::from(!is_empty);
                    result.extend(&old[at..start]);
                    at = start;
                }
                (" ", text) => {
                    assert_eq!(old[at], text);
                    result.push(text);
                    at += 1;
                }
                ("-", text) => {
                    assert_eq!(old[at], text);
                    at += 1;
                }
                ("+", text) => result.push(text),
                _ => panic!("{line}"),
            }
        }
        result.extend(&old[at..]);
        result.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn text_that_was_empty_starts_at_line_zero() {
        assert_eq!(
            diff("", "a\nb\n"),
            "--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b"
        );
    }

    #[test]
    fn missing_end_of_the_last_line_is_a_difference() {
        let shown = diff("a\nb", "a\nb\n");
        let expected =
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b";
        assert_eq!(shown, expected);
    }

    #[test]
    fn equal_texts_and_bytes_have_no_lines_to_show() {
        assert_eq!(diff_lines("x", b"same\n", b"same\n"), None);
        assert_eq!(diff_lines("x", b"\xff\n", b"text\n"), None);
    }

    #[test]
    fn long_difference_is_cut() {
        let new: String = (0..1000).map(|line| format!("{line}\n")).collect();
        let shown = diff("", &new);
        assert_eq!(shown.lines().count(), LINES + 1);
        assert!(shown.ends_with("\n…"), "{shown}");
    }
}

//! Sections: what a step can read from a source text.
//!
//! A section is a whole file or, in Markdown, a heading with everything below it. Its id binds
//! path, lines and content, so a section of an edited file is another section. Texts here have only
//! LF line ends; [`normalize_newlines`] ensures that.

use std::ops::Range;

pub use crate::space::normalize_newlines;

/// The number of lines, including an unfinished last one.
fn count_lines(text: &str) -> u64 {
    let finished = text.bytes().filter(|&b| b == b'\n').count() as u64;
    finished + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The text of the lines `start..end`, with their line ends; `None` beyond the text.
pub fn lines_between(text: &str, start: u64, end: u64) -> Option<&str> {
    line_range(text, start, end).map(|range| &text[range])
}

/// The byte range of the lines `start..end`, with their line ends; `None` beyond the text.
pub fn line_range(text: &str, start: u64, end: u64) -> Option<Range<usize>> {
    if start > end {
        return None;
    }
    // Line n begins after n line ends; the position after the last line counts as a beginning.
    let mut beginnings = text.split_inclusive('\n').scan(0, |offset, line| {
        *offset += line.len();
        Some(*offset)
    });
    let mut beginning_after = |lines: u64| match lines {
        0 => Some(0),
        n => beginnings.nth(usize::try_from(n - 1).ok()?),
    };
    let from = beginning_after(start)?;
    match end - start {
        0 => Some(from..from),
        more => beginning_after(more).map(|to| from..to),
    }
}

/// The place of a section in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The section's heading and those above it, outermost first; empty for a whole file.
    pub heading_path: Vec<String>,
    /// First line, counted from 0.
    pub line_start: u64,
    /// The line after the last one.
    pub line_end: u64,
}

/// The whole file as one section.
pub fn outline_file(text: &str) -> Outline {
    Outline {
        heading_path: Vec::new(),
        line_start: 0,
        line_end: count_lines(text),
    }
}

/// Whether a file of this name is searched for headings.
pub fn is_markdown(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, ending)) => {
            ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown")
        }
        None => false,
    }
}

struct Heading {
    level: usize,
    title: String,
    line: u64,
}

/// The sections of a Markdown text: each heading with its text, up to the next heading of its level
/// or above. Headings inside code fences and front matter are ordinary text.
pub fn outline_markdown(text: &str) -> Vec<Outline> {
    let headings = find_headings(text);
    let last = count_lines(text);
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut outlines = Vec::with_capacity(headings.len());
    for (at, heading) in headings.iter().enumerate() {
        path.retain(|(level, _)| *level < heading.level);
        path.push((heading.level, heading.title.clone()));
        let line_end = headings[at + 1..]
            .iter()
            .find(|later| later.level <= heading.level)
            .map_or(last, |later| later.line);
        outlines.push(Outline {
            heading_path: path.iter().map(|(_, title)| title.clone()).collect(),
            line_start: heading.line,
            line_end,
        });
    }
    outlines
}

fn find_headings(text: &str) -> Vec<Heading> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut headings = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut at = 0;
    if lines.first() == Some(&"---")
        && let Some(end) = lines.iter().skip(1).position(|line| *line == "---")
    {
        at = end + 2;
    }
    while at < lines.len() {
        let line = lines[at];
        let body = strip_indent(line);
        if let Some((mark, width)) = fence {
            let closes = body.is_some_and(|body| {
                let run = body.chars().take_while(|c| *c == mark).count();
                run >= width && body[run..].trim_end().is_empty()
            });
            if closes {
                fence = None;
            }
        } else if let Some(body) = body {
            if let Some(opened) = fence_of(body) {
                fence = Some(opened);
            } else if let Some((level, title)) = atx_heading(body) {
                headings.push(Heading {
                    level,
                    title,
                    line: at as u64,
                });
            } else if let Some(level) = setext_level(&lines, at) {
                headings.push(Heading {
                    level,
                    title: lines[at - 1].trim().to_owned(),
                    line: (at - 1) as u64,
                });
            }
        }
        at += 1;
    }
    headings
}

/// The line without up to three spaces of indent; `None` for an indented code line.
fn strip_indent(line: &str) -> Option<&str> {
    let body = line.trim_start_matches(' ');
    (line.len() - body.len() < 4 && !body.starts_with('\t')).then_some(body)
}

fn fence_of(body: &str) -> Option<(char, usize)> {
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = body.chars().take_while(|c| *c == mark).count();
    let info = &body[width..];
    (width >= 3 && (mark == '~' || !info.contains('`'))).then_some((mark, width))
}

fn atx_heading(body: &str) -> Option<(usize, String)> {
    let level = body.bytes().take_while(|b| *b == b'#').count();
    let rest = &body[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let title = rest.trim();
    let open = title.trim_end_matches('#');
    // A closing run of # counts only after white space.
    let title = match open.chars().next_back() {
        None => "",
        Some(' ' | '\t') => open.trim_end(),
        Some(_) => title,
    };
    Some((level, title.to_owned()))
}

/// A line of `=` or `-` under a paragraph of one line.
fn setext_level(lines: &[&str], at: usize) -> Option<usize> {
    let mark = strip_indent(lines[at])?.trim_end();
    let level = match mark.bytes().next()? {
        b'=' if mark.bytes().all(|b| b == b'=') => 1,
        b'-' if mark.bytes().all(|b| b == b'-') => 2,
        _ => return None,
    };
    let title = strip_indent(lines[at.checked_sub(1)?])?;
    let alone = at < 2 || lines[at - 2].trim().is_empty();
    let plain = !title.trim().is_empty()
        && !title.starts_with(['#', '>', '|', '-', '*', '+', '`', '~', '='])
        && !title.starts_with(|c: char| c.is_ascii_digit());
    (alone && plain).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_of_every_kind_become_lf() {
        assert_eq!(normalize_newlines("a\r\nb\rc\n\r\r\nd"), "a\nb\nc\n\n\nd");
        assert!(matches!(
            normalize_newlines("a\nb"),
            std::borrow::Cow::Borrowed(_)
        ));
    }

    #[test]
    fn unfinished_last_line_counts() {
        assert_eq!(
            (count_lines(""), count_lines("a"), count_lines("a\n")),
            (0, 1, 1)
        );
        assert_eq!(count_lines("a\n\nb"), 3);
    }

    #[test]
    fn lines_between_includes_line_ends() {
        let text = "a\nb\nc";
        assert_eq!(lines_between(text, 0, 3), Some("a\nb\nc"));
        assert_eq!(lines_between(text, 1, 2), Some("b\n"));
        assert_eq!(lines_between(text, 3, 3), Some(""));
        assert_eq!(lines_between(text, 1, 4), None);
        assert_eq!(lines_between("", 0, 0), Some(""));
    }

    #[test]
    fn outline_nested_headings_end_at_next_of_their_level() {
        let text = "# A\nx\n## B ##\ny\n```\n# no\n```\n## C#\n# D\n";
        let found: Vec<_> = outline_markdown(text)
            .into_iter()
            .map(|o| (o.heading_path.join("/"), o.line_start, o.line_end))
            .collect();
        let expected = [("A", 0, 8), ("A/B", 2, 7), ("A/C#", 7, 8), ("D", 8, 9)];
        assert_eq!(found, expected.map(|(p, a, b)| (p.to_owned(), a, b)));
    }

    #[test]
    fn outline_distinguishes_front_matter_from_underlines() {
        let text = "---\ntitle: x\n---\n\nTop\n===\n\ntext\nmore\n---\n";
        let found = outline_markdown(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].heading_path, ["Top"]);
        assert_eq!((found[0].line_start, found[0].line_end), (4, 10));
    }

    #[test]
    fn outline_hash_without_space_is_text() {
        assert!(outline_markdown("#tag\n\n    # code\n####### seven\n").is_empty());
    }
}

//! One self-contained HTML page about one thing: verdict, picture, contents, rules, files.
//!
//! Pure. The page fetches nothing and runs nothing: its policy forbids scripts, and every text
//! that comes from outside goes through [`escape`], the only way into the markup. The same
//! report gives the same bytes.

mod parts;
mod style;
mod svg;

use std::fmt::Write as _;

use crate::describe::Description;
use crate::digest::Digest;
use crate::verify::authenticity::Authenticity;
use crate::verify::{Finding, Report};

/// A file that belongs to what the page is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Its name.
    pub path: String,
    /// What it is, where it is no regular file.
    pub kind: Option<&'static str>,
    /// Its size.
    pub bytes: u64,
    /// Its digest; `None` where it is no regular file or could not be read.
    pub sha256: Option<Digest>,
}

/// What the page, and `inspect`, shows.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The path as given.
    pub path: &'a str,
    /// What it is.
    pub description: &'a Description,
    /// Whether it holds.
    pub report: &'a Report,
    /// What is wrong with the archive it came in.
    pub wrapping: &'a [Finding],
    /// Whether all rules were asked for.
    pub is_strict: bool,
    /// Its files.
    pub files: &'a [FileLine],
    /// Whether it is signed and trusted, where that was looked for.
    pub authenticity: Option<&'a Authenticity>,
}

impl Page<'_> {
    /// Whether everything holds, the wrapping included.
    pub fn is_valid(&self) -> bool {
        self.report.is_valid() && self.wrapping.is_empty()
    }
}

/// Text for use in markup, in elements and in quoted attributes alike.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            // Nothing invisible may reorder or hide what a person reads.
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(escaped, "\\u{{{:x}}}", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Characters that change the direction or the extent of text without being seen.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page.
pub fn render_page(page: &Page<'_>) -> String {
    let title = format!("{}: {}", page.description.format.title(), page.path);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
        escape(&title),
        style::STYLE
    );
    parts::write_header(&mut html, page);
    parts::write_violations(&mut html, page);
    parts::write_signatures(&mut html, page);
    parts::write_facts(&mut html, page.description);
    for (heading, picture) in &page.description.pictures {
        parts::write_picture(&mut html, heading, picture);
    }
    parts::write_timeline(&mut html, page.description);
    for section in &page.description.sections {
        parts::write_section(&mut html, section);
    }
    parts::write_files(&mut html, page.files);
    parts::write_rules(&mut html, page);
    parts::write_footer(&mut html, page);
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

#[cfg(test)]
mod tests;

//! Finds values in the text of a document by their paths, in one pass.
//!
//! Only for texts that are known to be strict JSON; on anything else it ends early with whatever it
//! has found. For a value that is missing it returns the value that should contain it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::json_path::Step;
use super::text::decode_raw;

/// Returns the byte ranges of the values at `paths`, or of the nearest values above them.
pub fn locate(text: &str, paths: &[&[Step]]) -> Vec<Option<Range<usize>>> {
    let mut scanner = Scanner {
        text: text.as_bytes(),
        at: 0,
        paths,
        found: vec![None; paths.len()],
    };
    let all: Vec<usize> = (0..paths.len()).collect();
    if !all.is_empty() {
        scanner.value(&all, 0);
    }
    scanner.found
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    paths: &'a [&'a [Step]],
    found: Vec<Option<Range<usize>>>,
}

impl<'a> Scanner<'a> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | b':') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Skips one value. `wanted` are the paths that lead to or through it; `depth` is the number of
    /// their steps taken so far. Depth is bounded by the reader's limit on brackets.
    fn value(&mut self, wanted: &[usize], depth: usize) {
        let first = self.peek();
        let start = self.at;
        for &path in wanted {
            self.found[path] = Some(start..start);
        }
        match first {
            Some(b'{') => self.object(wanted, depth),
            Some(b'[') => self.array(wanted, depth),
            Some(b'"') => {
                self.string();
            }
            _ => {
                let end =
                    |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
                let rest = &self.text[start.min(self.text.len())..];
                // At least one byte, so that a text that is not JSON ends too.
                self.at = start + rest.iter().position(end).unwrap_or(rest.len()).max(1);
            }
        }
        // Paths that lead further inside have their own range by now.
        for &path in wanted {
            if let Some(range) = &mut self.found[path]
                && range.start == start
            {
                range.end = self.at;
            }
        }
    }

    fn object(&mut self, wanted: &[usize], depth: usize) {
        let mut by_name: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for &path in wanted {
            if let Some(Step::Member(name)) = self.paths[path].get(depth) {
                by_name.entry(name.as_bytes()).or_default().push(path);
            }
        }
        self.at += 1;
        while let Some(b'"') = self.peek() {
            let key = self.string();
            let inside = if by_name.is_empty() {
                None
            } else {
                by_name.get(decode_raw(key).as_ref())
            };
            self.value(inside.map_or(&[], Vec::as_slice), depth + 1);
        }
        self.at += 1;
    }

    fn array(&mut self, wanted: &[usize], depth: usize) {
        let mut by_element: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &path in wanted {
            if let Some(Step::Element(at)) = self.paths[path].get(depth) {
                by_element.entry(*at).or_default().push(path);
            }
        }
        self.at += 1;
        let mut element = 0;
        while !matches!(self.peek(), Some(b']') | None) {
            let inside = by_element.get(&element);
            self.value(inside.map_or(&[], Vec::as_slice), depth + 1);
            element += 1;
        }
        self.at += 1;
    }

    /// Skips a string and returns the text between its quotes.
    fn string(&mut self) -> &'a str {
        let start = self.at + 1;
        let mut at = start;
        while let Some(byte) = self.text.get(at) {
            match byte {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        let end = at.min(self.text.len());
        self.at = end + 1;
        str::from_utf8(&self.text[start.min(end)..end]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(text: &'a str, steps: &[Step]) -> &'a str {
        let range = locate(text, &[steps]).remove(0).unwrap();
        &text[range]
    }

    #[test]
    fn locate_finds_values_of_every_kind() {
        let text = r#" {"a":[ {"b\"":{}} , -1.5e3,"x\\" ], "c" : null }"#;
        let a = Step::from("a");
        assert_eq!(find(text, &[]), text.trim());
        assert_eq!(find(text, &[a.clone(), 0.into(), "b\"".into()]), "{}");
        assert_eq!(find(text, &[a.clone(), 1.into()]), "-1.5e3");
        assert_eq!(find(text, &[a.clone(), 2.into()]), r#""x\\""#);
        assert_eq!(find(text, &["c".into()]), "null");
        assert_eq!(find(text, &["d".into()]), text.trim());
        assert!(find(text, &[a, 7.into()]).starts_with('['));
    }

    #[test]
    fn locate_in_a_broken_text_ends() {
        for text in ["", "{", "[1", "{\"a", "{\"a\":", "\"\\", "[[[", "]", "{1}"] {
            let _ = locate(text, &[&[Step::from("a")], &[Step::from(0)], &[]]);
        }
    }
}

//! Where two versions of a file differ, for people: cells of tables, members of JSON, lines of
//! texts, pixels of images, cells of notebooks, and otherwise the first byte.

mod images;

use base64ct::{Base64, Encoding};
use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::csv::parse_records;
use runseal_core::formats::run_bundle::pointer::Trail;

use self::images::compare_images;
use super::notebook;
use crate::compare::diff_lines;

/// Files larger than this are compared by hash alone.
pub(crate) const LARGEST_COMPARED: u64 = 1 << 20;

/// The most differences that are listed.
const MOST: usize = 20;

/// The most characters of a value that are shown.
const SHOWN: usize = 80;

/// The most bytes of a place that are shown, but for the last name.
const LONGEST_PLACE: usize = 1 << 10;

/// Describes where two versions of the file at `path` differ; `None` if they do not.
pub(crate) fn describe_difference(path: &str, before: &[u8], now: &[u8]) -> Option<String> {
    if before == now {
        return None;
    }
    let ending = path
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let described = match ending.as_str() {
        "json" => compare_json(before, now, Shown::Pointers),
        "ipynb" => compare_json(before, now, Shown::Cells),
        "csv" => compare_tables(before, now, b','),
        "tsv" => compare_tables(before, now, b'\t'),
        _ => None,
    };
    described
        .or_else(|| compare_images(before, now))
        .or_else(|| compare_texts(path, before, now))
        .or_else(|| Some(compare_bytes(before, now)))
}

fn compare_texts(path: &str, before: &[u8], now: &[u8]) -> Option<String> {
    let has_nul = before.contains(&0) || now.contains(&0);
    let text = if has_nul {
        None
    } else {
        diff_lines(path, before, now)
    };
    text.filter(|text| !text.is_empty())
}

fn compare_bytes(before: &[u8], now: &[u8]) -> String {
    let same = before.iter().zip(now).take_while(|(a, b)| a == b).count();
    format!(
        "{} bytes before, {} now; the first difference is at byte {same}",
        before.len(),
        now.len()
    )
}

/// How places in a document are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Pointers,
    /// As cells of a notebook.
    Cells,
}

fn compare_json(before: &[u8], now: &[u8], shown: Shown) -> Option<String> {
    let parse = |bytes: &[u8]| {
        let document = parse_document(bytes, &ReadOptions::default()).ok()?;
        Some(document.root().to_value())
    };
    let mut lines = Vec::new();
    let (before, now) = (parse(before)?, parse(now)?);
    compare_values((Some(&before), Some(&now)), shown, &Trail::Root, &mut lines);
    match lines.is_empty() {
        true => Some("the same value, written in another way".to_owned()),
        false => Some(cut(lines)),
    }
}

fn compare_values(
    (before, now): (Option<&Value>, Option<&Value>),
    shown: Shown,
    trail: &Trail<'_>,
    lines: &mut Vec<String>,
) {
    if lines.len() > MOST {
        return;
    }
    match (before, now) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let name = key.to_lossy();
                let trail = Trail::Member(trail, &name);
                compare_values((a.get(key), b.get(key)), shown, &trail, lines);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                let trail = Trail::Element(trail, at);
                compare_values((a.get(at), b.get(at)), shown, &trail, lines);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let place = match trail {
                Trail::Root => "/".to_owned(),
                _ => trail.pointer_within(LONGEST_PLACE),
            };
            let cell = match shown {
                Shown::Cells => notebook::name_place(&place),
                Shown::Pointers => None,
            };
            let image = cell.as_ref().and_then(|_| compare_encoded(a?, b?));
            let place = cell.unwrap_or(place);
            lines.push(match image {
                Some(image) => format!("{place}: {image}"),
                None => format!("{place}: {}, now {}", show(a), show(b)),
            });
        }
    }
}

/// Compares two images in Base64, as a notebook has them.
fn compare_encoded(before: &Value, now: &Value) -> Option<String> {
    let decode = |value: &Value| {
        let Value::String(text) = value else {
            return None;
        };
        let text: String = text.to_lossy().split_ascii_whitespace().collect();
        Base64::decode_vec(&text).ok()
    };
    compare_images(&decode(before)?, &decode(now)?)
}

fn show(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let bytes = canonical_bytes(value, Dialect::Kernel).unwrap_or_default();
    shorten(String::from_utf8_lossy(&bytes).trim_end())
}

fn shorten(text: &str) -> String {
    let text = text.escape_debug().to_string().replace("\\\"", "\"");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn cut(mut lines: Vec<String>) -> String {
    if lines.len() > MOST {
        lines.truncate(MOST);
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

/// Compares two tables cell by cell; `None` if they have no cells to compare.
fn compare_tables(before: &[u8], now: &[u8], separator: u8) -> Option<String> {
    let (before, now) = (str::from_utf8(before).ok()?, str::from_utf8(now).ok()?);
    let separator = char::from(separator);
    let parse = |text| parse_records(text, separator, usize::MAX);
    let (a, b) = (parse(before), parse(now));
    let mut lines = Vec::new();
    if a.len() != b.len() {
        lines.push(format!("{} rows before, {} now", a.len(), b.len()));
    }
    let names = match (a.first(), b.first()) {
        (Some(a), Some(b)) if a == b => a.as_slice(),
        _ => &[],
    };
    for (row, (a, b)) in a.iter().zip(&b).enumerate() {
        for at in 0..a.len().max(b.len()) {
            let (old, new) = (a.get(at), b.get(at));
            if old == new {
                continue;
            }
            if lines.len() > MOST {
                return Some(cut(lines));
            }
            let column = match names.get(at).filter(|name| !name.is_empty()) {
                Some(name) => format!("`{}`", shorten(name)),
                None => format!("{}", at + 1),
            };
            let cell =
                |cell: Option<&String>| cell.map_or("nothing".to_owned(), |cell| shorten(cell));
            lines.push(format!(
                "row {}, column {column}: {}, now {}",
                row + 1,
                cell(old),
                cell(new)
            ));
        }
    }
    (!lines.is_empty()).then(|| cut(lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference_of(path: &str, before: &str, now: &str) -> String {
        describe_difference(path, before.as_bytes(), now.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn difference_of_tables_names_row_and_column() {
        let before = "name,price\n\"a, b\",1\nc,2\n";
        assert_eq!(
            difference_of("x.csv", before, "name,price\n\"a, b\",1\nc,3\n"),
            "row 3, column `price`: 2, now 3"
        );
        assert_eq!(
            difference_of("x.csv", before, "name,price\n\"a, b\",1\n"),
            "3 rows before, 2 now"
        );
        assert_eq!(
            difference_of("x.tsv", "1\t2\n", "1\t3\n"),
            "row 1, column 2: 2, now 3"
        );
    }

    #[test]
    fn difference_of_json_names_pointers() {
        assert_eq!(
            difference_of(
                "x.json",
                r#"{"a":[1,{"b":"x"}]}"#,
                r#"{"a":[1,{"b":"y"},2]}"#
            ),
            "/a/1/b: \"x\", now \"y\"\n/a/2: nothing, now 2"
        );
        assert_eq!(
            difference_of("x.json", "{}", "{ }"),
            "the same value, written in another way"
        );
    }

    #[test]
    fn difference_of_notebooks_names_cells_and_outputs() {
        let notebook = |text: &str, image: &[u8], count: u64| {
            let image = Base64::encode_string(image);
            format!(
                r#"{{"cells":[{{"cell_type":"markdown","source":["a"]}},{{"cell_type":"code","execution_count":{count},"outputs":[
                {{"data":{{"image/png":"{image}\n","text/plain":["{text}"]}},"output_type":"display_data"}}],"source":[]}}],"nbformat":4}}"#
            )
        };
        let image = |pixel: u8| super::super::png::tests::png((1, 1), [8, 0, 0], b"", &[0, pixel]);
        assert_eq!(
            difference_of(
                "x.ipynb",
                &notebook("<Figure>", &image(1), 1),
                &notebook("<Axes>", &image(5), 2)
            ),
            "cell 2, execution_count: 1, now 2\n\
             cell 2, output 1, image/png: an image of 1 × 1 as before: 1 of 1 pixels differ, by up to 4 of 255; the first is at 0, 0\n\
             cell 2, output 1, text/plain, line 1: \"<Figure>\", now \"<Axes>\""
        );
        assert_eq!(
            difference_of(
                "x.ipynb",
                r#"{"cells":[],"nbformat":4}"#,
                r#"{"cells":[{}],"nbformat":5}"#
            ),
            "cell 1: nothing, now {}\n/nbformat: 4, now 5"
        );
    }

    #[test]
    fn difference_of_texts_images_and_bytes_is_told_in_their_own_way() {
        assert!(difference_of("x.txt", "a\nb\n", "a\nc\n").contains("-b\n+c"));
        let png = |width: u8| {
            let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
            bytes.extend([0, 0, 0, width, 0, 0, 0, 9]);
            bytes
        };
        assert_eq!(
            describe_difference("x.png", &png(3), &png(4)).unwrap(),
            "an image of 3 × 9, now 4 × 9"
        );
        let mut other = png(3);
        other.push(1);
        assert!(
            describe_difference("x", &png(3), &other)
                .unwrap()
                .contains("as before")
        );
        assert_eq!(
            describe_difference("x", b"a\0b", b"a\0c").unwrap(),
            "3 bytes before, 3 now; the first difference is at byte 2"
        );
        assert_eq!(describe_difference("x", b"a", b"a"), None);
        // Malformed files are compared in another way, never refused.
        assert!(describe_difference("x.json", b"{", b"[").is_some());
        assert!(describe_difference("x.jpg", &[0xff, 0xd8, 0xff], &[0xff, 0xd8]).is_some());
    }
}

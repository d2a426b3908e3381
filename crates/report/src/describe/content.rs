//! A file as a table, a picture, a text or a tree, by its name and first bytes. What a bundle declares
//! is shown, never believed.

use super::{About, Block, Body, Description, Tree, Words};
use crate::exhibit::Exhibit;
use crate::limits::{CONTENTS, PIXELS, TEXT};
use crate::reveal::counted;

/// A kind of picture that browsers show without running anything, inside an `<img>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// Portable network graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
    /// Scalable vector graphics. In an `<img>`, scripts and links do nothing.
    Svg,
}

impl ImageKind {
    /// The media type of its data address.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// The kind of picture; `None` if the bytes are not one, or it would be too large.
fn image_kind(name: &str, bytes: &[u8]) -> Option<ImageKind> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let number = |at: usize| {
            let four = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u64::from(u32::from_be_bytes(four)))
        };
        let pixels = number(16)?.checked_mul(number(20)?)?;
        return (pixels <= PIXELS).then_some(ImageKind::Png);
    }
    if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
        return Some(ImageKind::Jpeg);
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some(ImageKind::Gif);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some(ImageKind::WebP);
    }
    // A document type could declare entities that grow without end.
    let is_svg = name.to_ascii_lowercase().ends_with(".svg");
    let text = str::from_utf8(bytes).ok().filter(|_| is_svg)?;
    let is_plain =
        text.contains("<svg") && !text.contains("<!DOCTYPE") && !text.contains("<!ENTITY");
    is_plain.then_some(ImageKind::Svg)
}

/// The media type that a name suggests, for people.
fn named_type(name: &str) -> &'static str {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("json") => "application/json",
        Some("jsonl" | "ndjson") => "JSON lines",
        Some("md" | "markdown") => "text/markdown",
        Some("txt" | "log" | "out" | "err") => "text/plain",
        Some("csv") => "text/csv",
        Some("tsv") => "text/tab-separated-values",
        Some("html" | "htm") => "text/html",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("svg") => "image/svg+xml",
        Some("pdf") => "application/pdf",
        _ => "",
    }
}

/// The file `path` as a block.
pub fn content_block<'a>(exhibit: &Exhibit<'a>, path: &str) -> Block<'a> {
    let size = exhibit.file(path).map(|file| file.bytes);
    let body = body_of(exhibit, path, size);
    let mut remark: Vec<String> = Vec::new();
    let promised = match &body {
        Body::Image(kind, _) => kind.media_type(),
        _ => named_type(path),
    };
    if !promised.is_empty() {
        remark.push(promised.to_owned());
    }
    remark.extend(size.map(size_text));
    Block::new(path, body)
        .about(About::file(path))
        .remark(remark.join(" · "))
}

/// Adds files of a bundle with their contents as results; those beyond a limit are counted.
pub(super) fn add_contents<'a>(
    description: &mut Description<'a>,
    exhibit: &Exhibit<'a>,
    what: &str,
    mut paths: impl Iterator<Item = impl AsRef<str>>,
) {
    for path in paths.by_ref().take(CONTENTS) {
        let block = content_block(exhibit, path.as_ref());
        description.came_out.push(block);
    }
    let more = paths.count();
    if more > 0 {
        let more = counted(more, &format!("more {what}"));
        let text = format!("{more}, listed below and not shown");
        let block = Block::new(format!("More {what}s"), Body::Words(Words::Missing(text)));
        description.came_out.push(block);
    }
}

fn body_of<'a>(exhibit: &Exhibit<'a>, path: &str, size: Option<u64>) -> Body<'a> {
    if let Some(root) = exhibit.document(path) {
        return Body::Tree(Tree { root, schema: None });
    }
    let Some(bytes) = exhibit.contents.get(path).map(Vec::as_slice) else {
        let reason = match size {
            Some(bytes) => format!("not shown: {} are more than fits here", size_text(bytes)),
            None => "the bundle has no such file".to_owned(),
        };
        return Body::Words(Words::Missing(reason));
    };
    if let Some(kind) = image_kind(path, bytes) {
        return Body::Image(kind, bytes);
    }
    let Ok(text) = str::from_utf8(bytes) else {
        let reason = format!(
            "not shown: {} that are not text",
            size_text(bytes.len() as u64)
        );
        return Body::Words(Words::Missing(reason));
    };
    if text.is_empty() {
        return Body::Words(Words::Missing("an empty file".to_owned()));
    }
    match named_type(path) {
        "text/csv" | "text/tab-separated-values" => Body::Csv(text),
        "text/markdown" => Body::Words(Words::Markdown(text.into())),
        _ => Body::Words(Words::Plain(text.into())),
    }
}

/// The text of kept content, for a step; cut at the limit of the page.
pub(super) fn words_of(bytes: &[u8]) -> Words<'_> {
    match str::from_utf8(bytes) {
        Ok("") => Words::Missing("nothing".to_owned()),
        Ok(text) => Words::Plain(text.into()),
        Err(_) => {
            let head = bytes.get(..TEXT).unwrap_or(bytes);
            Words::Plain(String::from_utf8_lossy(head).into_owned().into())
        }
    }
}

/// A size for people: exact below 10 kB.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", (bytes + 500) / 1_000),
        _ => format!("{} MB", (bytes + 500_000) / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_detected_by_bytes_and_limited_by_pixels() {
        let png = |width: u32, height: u32| {
            let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
            bytes.extend(width.to_be_bytes());
            bytes.extend(height.to_be_bytes());
            bytes
        };
        assert_eq!(image_kind("x", &png(100, 100)), Some(ImageKind::Png));
        assert_eq!(image_kind("x.png", &png(60_000, 60_000)), None);
        assert_eq!(
            image_kind("x.png", b"<svg/>"),
            None,
            "a name alone is not a picture"
        );
        assert_eq!(image_kind("x.svg", b"<svg/>"), Some(ImageKind::Svg));
        assert_eq!(
            image_kind("x.svg", b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>"),
            None
        );
    }

    #[test]
    fn small_sizes_are_exact() {
        assert_eq!(size_text(1), "1 byte");
        assert_eq!(size_text(9_999), "9999 bytes");
        assert_eq!(size_text(123_456), "123 kB");
        assert_eq!(size_text(12_345_678), "12 MB");
    }
}

//! How two images differ: in size, or else in how many pixels and by how much.

use crate::record::png::{Compared, ImageFault, compare};

/// Describes how two images differ; `None` if one of them is none.
pub(super) fn compare_images(before: &[u8], now: &[u8]) -> Option<String> {
    let (a, b) = (image_size(before)?, image_size(now)?);
    if a != b {
        return Some(format!(
            "an image of {} × {}, now {} × {}",
            a.0, a.1, b.0, b.1
        ));
    }
    let size = format!("an image of {} × {} as before", a.0, a.1);
    let (mut count, mut largest, mut first) = (0_u64, 0_u16, None::<(u32, u32)>);
    let compared = compare(before, now, |at, old, new, _| {
        count += 1;
        let apart = old.iter().zip(new).map(|(old, new)| old.abs_diff(new));
        largest = largest.max(apart.max().unwrap_or(0));
        let is_before = first.is_none_or(|first| (at.1, at.0) < (first.1, first.0));
        first = if is_before { Some(at) } else { first };
    });
    Some(match (compared, first) {
        (Ok(_), None) => format!("{size} with the same pixels, written in another way"),
        (
            Ok(Compared {
                width,
                height,
                most,
            }),
            Some((x, y)),
        ) => {
            let all = u64::from(width) * u64::from(height);
            format!(
                "{size}: {count} of {all} pixels differ, by up to {largest} of {most}; the first is at {x}, {y}"
            )
        }
        (Err(ImageFault::TooLarge), _) => {
            format!("{size}, with other content; it is too large to compare its pixels")
        }
        (Err(_), _) => format!("{size}, with other content"),
    })
}

/// Width and height of a PNG, GIF or JPEG image.
fn image_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize, count: usize| {
        let piece = bytes.get(at..at + count)?;
        Some(
            piece
                .iter()
                .fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte)),
        )
    };
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((big(16, 4)?, big(20, 4)?));
    }
    if bytes.starts_with(b"GIF8") {
        let little =
            |at: usize| Some(u32::from(*bytes.get(at)?) | (u32::from(*bytes.get(at + 1)?) << 8));
        return Some((little(6)?, little(8)?));
    }
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return None;
    }
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        let is_frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
        if *bytes.get(at)? == 0xff && is_frame {
            return Some((big(at + 7, 2)?, big(at + 5, 2)?));
        }
        at += 2 + big(at + 2, 2)? as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::png::tests::png;

    #[test]
    fn images_are_told_by_size_and_pixels() {
        let image = |pixels: [u8; 4]| {
            let [a, b, c, d] = pixels;
            png((2, 2), [8, 0, 0], b"", &[0, a, b, 0, c, d])
        };
        assert_eq!(
            compare_images(&image([1, 2, 3, 4]), &image([1, 9, 3, 5])).unwrap(),
            "an image of 2 × 2 as before: 2 of 4 pixels differ, by up to 7 of 255; the first is at 1, 0"
        );
        let other = png((2, 2), [8, 0, 0], b"", &[1, 1, 1, 0, 3, 4]);
        assert_eq!(
            compare_images(&image([1, 2, 3, 4]), &other).unwrap(),
            "an image of 2 × 2 as before with the same pixels, written in another way"
        );
        let wide = png((3, 1), [8, 0, 0], b"", &[0, 1, 2, 3]);
        assert_eq!(
            compare_images(&image([0; 4]), &wide).unwrap(),
            "an image of 2 × 2, now 3 × 1"
        );
        let jpeg = [
            0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 9, 8, 0, 5, 0, 6,
        ];
        assert_eq!(image_size(&jpeg), Some((6, 5)));
        assert_eq!(compare_images(b"a", b"b"), None);
    }
}

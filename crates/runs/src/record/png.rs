//! Compares two PNG images pixel by pixel, row by row: however large they are, only a few rows are in memory.
//!
//! Every form is read: grey, colours, palettes, transparency, one to sixteen bits, interlaced. Images are a stranger's, so
//! that sizes are bounded before anything is made for them, and what an image unpacks to beyond its own size is never read.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

/// The most pixels of an image that is compared.
const MOST_PIXELS: u64 = 1 << 25;
/// The most bytes of a row.
const LONGEST_ROW: usize = 4 << 20;

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Red, green, blue and how opaque it is, each up to [`Compared::most`].
pub(crate) type Pixel = [u16; 4];

/// The names of the parts of a pixel.
pub(crate) const CHANNELS: [&str; 4] = ["red", "green", "blue", "alpha"];

/// Two images that were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compared {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The largest value of a part of a pixel: 255, or 65535 if either image has sixteen bits.
    pub(crate) most: u16,
}

/// Why two images were not compared pixel by pixel.
#[derive(Debug)]
pub(crate) enum ImageFault {
    /// One of them is no PNG, or a damaged one.
    NoImage,
    /// They have different sizes.
    Sizes([(u32, u32); 2]),
    /// They are larger than is compared.
    TooLarge,
    /// One of them has its rows in another order.
    Order,
    Read(io::Error),
}

impl From<io::Error> for ImageFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // What cannot be unpacked, or ends too early.
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => Self::NoImage,
            _ => Self::Read(error),
        }
    }
}

/// Compares two images; `differs` gets every pixel that is not the same: its column and row, before and now. The same
/// pixels with another depth or palette are the same.
pub(crate) fn compare(
    before: impl Read,
    now: impl Read,
    mut differs: impl FnMut((u32, u32), Pixel, Pixel, u16),
) -> Result<Compared, ImageFault> {
    let (mut a, mut b) = (Rows::begin(before)?, Rows::begin(now)?);
    let sizes = [&a.head, &b.head].map(|head| (head.width, head.height));
    if sizes[0] != sizes[1] {
        return Err(ImageFault::Sizes(sizes));
    }
    if a.head.is_interlaced != b.head.is_interlaced {
        return Err(ImageFault::Order);
    }
    let is_deep = a.head.depth == 16 || b.head.depth == 16;
    let most = if is_deep { u16::MAX } else { 255 };
    let (width, height) = sizes[0];
    for pass in Pass::all(a.head.is_interlaced) {
        let (columns, rows) = pass.size(width, height);
        if columns == 0 {
            continue;
        }
        a.begin_pass(columns);
        b.begin_pass(columns);
        for row in 0..rows {
            a.next_row()?;
            b.next_row()?;
            for column in 0..columns {
                let (old, new) = (a.pixel(column, is_deep), b.pixel(column, is_deep));
                if old != new {
                    let (x, y) = pass.place(column, row);
                    differs((x, y), old, new, most);
                }
            }
        }
    }
    Ok(Compared {
        width,
        height,
        most,
    })
}

/// One of the seven passes of an interlaced image, or the only one of another: where its pixels begin, and how far they
/// are apart.
struct Pass {
    begin: (u32, u32),
    step: (u32, u32),
}

impl Pass {
    fn all(is_interlaced: bool) -> Vec<Self> {
        let of = |begin, step| Self { begin, step };
        match is_interlaced {
            false => vec![of((0, 0), (1, 1))],
            true => vec![
                of((0, 0), (8, 8)),
                of((4, 0), (8, 8)),
                of((0, 4), (4, 8)),
                of((2, 0), (4, 4)),
                of((0, 2), (2, 4)),
                of((1, 0), (2, 2)),
                of((0, 1), (1, 2)),
            ],
        }
    }

    fn size(&self, width: u32, height: u32) -> (u32, u32) {
        let count = |all: u32, begin: u32, step: u32| all.saturating_sub(begin).div_ceil(step);
        let columns = count(width, self.begin.0, self.step.0);
        (columns, count(height, self.begin.1, self.step.1))
    }

    fn place(&self, column: u32, row: u32) -> (u32, u32) {
        (
            self.begin.0 + column * self.step.0,
            self.begin.1 + row * self.step.1,
        )
    }
}

/// What an image begins with.
struct Head {
    width: u32,
    height: u32,
    depth: u8,
    colours: Colours,
    is_interlaced: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colours {
    Grey,
    Rgb,
    Palette,
    GreyAlpha,
    RgbAlpha,
}

impl Head {
    fn parse(chunk: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let four = chunk.get(at..at + 4)?;
            Some(u32::from_be_bytes(four.try_into().ok()?))
        };
        let (width, height) = (number(0)?, number(4)?);
        let &[depth, colours, compression, filter, interlace] = chunk.get(8..13)? else {
            return None;
        };
        let colours = match (colours, depth) {
            (0, 1 | 2 | 4 | 8 | 16) => Colours::Grey,
            (2, 8 | 16) => Colours::Rgb,
            (3, 1 | 2 | 4 | 8) => Colours::Palette,
            (4, 8 | 16) => Colours::GreyAlpha,
            (6, 8 | 16) => Colours::RgbAlpha,
            _ => return None,
        };
        let is_known = compression == 0 && filter == 0 && interlace < 2;
        (is_known && width > 0 && height > 0).then_some(Self {
            width,
            height,
            depth,
            colours,
            is_interlaced: interlace == 1,
        })
    }

    fn channels(&self) -> usize {
        match self.colours {
            Colours::Grey | Colours::Palette => 1,
            Colours::GreyAlpha => 2,
            Colours::Rgb => 3,
            Colours::RgbAlpha => 4,
        }
    }

    fn row_bytes(&self, columns: u32) -> usize {
        let bits = u64::from(columns) * self.channels() as u64 * u64::from(self.depth);
        usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)
    }
}

/// The rows of an image, one after the other.
struct Rows<R: Read> {
    head: Head,
    palette: Vec<Pixel>,
    /// The one colour that is transparent, in an image of grey or colours.
    transparent: Option<[u16; 3]>,
    data: ZlibDecoder<Data<R>>,
    above: Vec<u8>,
    row: Vec<u8>,
}

impl<R: Read> Rows<R> {
    fn begin(mut from: R) -> Result<Self, ImageFault> {
        let mut signature = [0; 8];
        from.read_exact(&mut signature)?;
        if &signature != SIGNATURE {
            return Err(ImageFault::NoImage);
        }
        let (mut head, mut palette, mut transparency) = (None, Vec::new(), Vec::new());
        loop {
            let (length, kind) = read_chunk_head(&mut from)?;
            match &kind {
                b"IDAT" => {
                    let head: Head = head.ok_or(ImageFault::NoImage)?;
                    let pixels = u64::from(head.width) * u64::from(head.height);
                    if pixels > MOST_PIXELS || head.row_bytes(head.width) > LONGEST_ROW {
                        return Err(ImageFault::TooLarge);
                    }
                    let (palette, transparent) = colours_of(&head, &palette, &transparency);
                    return Ok(Self {
                        head,
                        palette,
                        transparent,
                        data: ZlibDecoder::new(Data {
                            from,
                            left: length,
                            is_over: false,
                        }),
                        above: Vec::new(),
                        row: Vec::new(),
                    });
                }
                b"IEND" => return Err(ImageFault::NoImage),
                b"IHDR" | b"PLTE" | b"tRNS" if length <= 1024 => {
                    let mut chunk = vec![0; length as usize];
                    from.read_exact(&mut chunk)?;
                    match &kind {
                        b"IHDR" => head = Some(Head::parse(&chunk).ok_or(ImageFault::NoImage)?),
                        b"PLTE" => palette = chunk,
                        _ => transparency = chunk,
                    }
                }
                _ => skip(&mut from, length.into())?,
            }
            // Sums are not compared: what is damaged differs.
            skip(&mut from, 4)?;
        }
    }

    fn begin_pass(&mut self, columns: u32) {
        let bytes = self.head.row_bytes(columns);
        self.above = vec![0; bytes];
        self.row = vec![0; bytes];
    }

    fn next_row(&mut self) -> Result<(), ImageFault> {
        std::mem::swap(&mut self.above, &mut self.row);
        let mut filter = [0];
        self.data.read_exact(&mut filter)?;
        self.data.read_exact(&mut self.row)?;
        let before = (self.head.channels() * usize::from(self.head.depth)).div_ceil(8);
        for at in 0..self.row.len() {
            let left = at.checked_sub(before).map_or(0, |at| self.row[at]);
            let corner = at.checked_sub(before).map_or(0, |at| self.above[at]);
            let above = self.above[at];
            let expected = match filter[0] {
                0 => 0,
                1 => left,
                2 => above,
                3 => ((u16::from(left) + u16::from(above)) / 2) as u8,
                4 => nearest(left, above, corner),
                _ => return Err(ImageFault::NoImage),
            };
            self.row[at] = self.row[at].wrapping_add(expected);
        }
        Ok(())
    }

    /// A part of the row, as it is stored.
    fn sample(&self, number: usize) -> u16 {
        match self.head.depth {
            16 => u16::from_be_bytes([self.row[2 * number], self.row[2 * number + 1]]),
            8 => self.row[number].into(),
            depth => {
                let depth = usize::from(depth);
                let bit = number * depth;
                let shift = 8 - depth - bit % 8;
                (u16::from(self.row[bit / 8]) >> shift) & ((1 << depth) - 1)
            }
        }
    }

    fn pixel(&self, column: u32, is_deep: bool) -> Pixel {
        let first = column as usize * self.head.channels();
        let sample = |number: usize| self.sample(first + number);
        let largest = match self.head.depth {
            16 => u16::MAX,
            depth => (1 << depth) - 1,
        };
        let most = if is_deep { u16::MAX } else { 255 };
        // The depths divide each other, so that nothing is rounded.
        let scale = |value: u16| (u32::from(value) * u32::from(most) / u32::from(largest)) as u16;
        let opaque = |colour: [u16; 3]| match self.transparent == Some(colour) {
            true => 0,
            false => most,
        };
        match self.head.colours {
            Colours::Grey => {
                let grey = sample(0);
                let alpha = opaque([grey; 3]);
                [scale(grey), scale(grey), scale(grey), alpha]
            }
            Colours::GreyAlpha => {
                let grey = scale(sample(0));
                [grey, grey, grey, scale(sample(1))]
            }
            Colours::Rgb => {
                let colour = [sample(0), sample(1), sample(2)];
                let [red, green, blue] = colour.map(scale);
                [red, green, blue, opaque(colour)]
            }
            Colours::RgbAlpha => [0, 1, 2, 3].map(|part| scale(sample(part))),
            Colours::Palette => {
                let found = self.palette.get(usize::from(sample(0)));
                let deepen = |value: u16| if is_deep { value * 257 } else { value };
                found.copied().unwrap_or([0, 0, 0, 255]).map(deepen)
            }
        }
    }
}

fn colours_of(head: &Head, palette: &[u8], transparency: &[u8]) -> (Vec<Pixel>, Option<[u16; 3]>) {
    let palette = palette.chunks_exact(3).enumerate().map(|(at, colour)| {
        let alpha = transparency.get(at).copied().unwrap_or(255);
        [colour[0], colour[1], colour[2], alpha].map(u16::from)
    });
    let samples: Vec<u16> = transparency
        .chunks_exact(2)
        .map(|two| u16::from_be_bytes([two[0], two[1]]))
        .collect();
    let transparent = match (head.colours, samples.as_slice()) {
        (Colours::Grey, [grey]) => Some([*grey; 3]),
        (Colours::Rgb, [red, green, blue]) => Some([*red, *green, *blue]),
        _ => None,
    };
    (palette.collect(), transparent)
}

/// The neighbour that is nearest to what the three together let expect.
fn nearest(left: u8, above: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(above), i16::from(corner));
    let expected = a + b - c;
    let [to_a, to_b, to_c] = [a, b, c].map(|it| (expected - it).abs());
    match (to_a <= to_b && to_a <= to_c, to_b <= to_c) {
        (true, _) => left,
        (false, true) => above,
        (false, false) => corner,
    }
}

fn read_chunk_head(from: &mut impl Read) -> io::Result<(u32, [u8; 4])> {
    let mut head = [0; 8];
    from.read_exact(&mut head)?;
    let [a, b, c, d, kind @ ..] = head;
    Ok((u32::from_be_bytes([a, b, c, d]), kind))
}

fn skip(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut from.take(bytes), &mut io::sink())?;
    match skipped == bytes {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The content of all IDAT chunks, one after the other.
struct Data<R: Read> {
    from: R,
    /// What is left of this chunk.
    left: u32,
    is_over: bool,
}

impl<R: Read> Read for Data<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left == 0 && !self.is_over {
            skip(&mut self.from, 4)?;
            let (length, kind) = read_chunk_head(&mut self.from)?;
            self.is_over = &kind != b"IDAT";
            self.left = length;
        }
        if self.is_over || buffer.is_empty() {
            return Ok(0);
        }
        let most = buffer.len().min(self.left as usize);
        let count = self.from.read(&mut buffer[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u32;
        Ok(count)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u32).to_be_bytes();
        [&length[..], kind, content, &[0; 4]].concat()
    }

    /// An image of these rows, each with its filter.
    pub(crate) fn png(
        (width, height): (u32, u32),
        form: [u8; 3],
        more: &[u8],
        rows: &[u8],
    ) -> Vec<u8> {
        let [depth, colours, interlace] = form;
        let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
        head.extend([depth, colours, 0, 0, interlace]);
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(rows).unwrap();
        let packed = packed.finish().unwrap();
        let (first, second) = packed.split_at(packed.len() / 2);
        [
            SIGNATURE.to_vec(),
            chunk(b"IHDR", &head),
            more.to_vec(),
            chunk(b"IDAT", first),
            chunk(b"IDAT", second),
            chunk(b"IEND", b""),
        ]
        .concat()
    }

    type Found = Vec<((u32, u32), Pixel, Pixel)>;

    fn differences(before: &[u8], now: &[u8]) -> Result<(Compared, Found), ImageFault> {
        let mut found = Vec::new();
        let compared = compare(before, now, |at, a, b, _| found.push((at, a, b)))?;
        Ok((compared, found))
    }

    #[test]
    fn the_same_pixels_in_another_form_are_the_same() {
        let rgb = png((2, 1), [8, 2, 0], b"", &[0, 255, 0, 0, 0, 0, 255]);
        let palette = chunk(b"PLTE", &[255, 0, 0, 0, 0, 255]);
        for other in [
            png((2, 1), [8, 2, 0], b"", &[1, 255, 0, 0, 1, 0, 255]),
            png((2, 1), [8, 6, 0], b"", &[0, 255, 0, 0, 255, 0, 0, 255, 255]),
            png((2, 1), [1, 3, 0], &palette, &[0, 0b0100_0000]),
            png(
                (2, 1),
                [16, 2, 0],
                b"",
                &[0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255],
            ),
        ] {
            assert!(differences(&rgb, &other).unwrap().1.is_empty());
        }
        let (compared, found) = differences(
            &rgb,
            &png((2, 1), [8, 2, 0], b"", &[0, 255, 0, 0, 0, 9, 255]),
        )
        .unwrap();
        assert_eq!(
            (compared.width, compared.height, compared.most),
            (2, 1, 255)
        );
        assert_eq!(found, [((1, 0), [0, 0, 255, 255], [0, 9, 255, 255])]);
        // A transparent colour, and a palette with a transparent entry.
        let seen = chunk(b"tRNS", &[0, 0, 0, 0, 0, 255]);
        let seen = png((2, 1), [8, 2, 0], &seen, &[0, 255, 0, 0, 0, 0, 255]);
        let entry = [palette, chunk(b"tRNS", &[255, 0])].concat();
        let entry = png((2, 1), [1, 3, 0], &entry, &[0, 0b0100_0000]);
        assert!(differences(&seen, &entry).unwrap().1.is_empty());
        assert_eq!(differences(&seen, &rgb).unwrap().1.len(), 1);
    }

    #[test]
    fn every_filter_gives_the_row_back() {
        let plain = png((2, 2), [8, 0, 0], b"", &[0, 10, 20, 0, 30, 50]);
        for filtered in [
            [0, 10, 20, 2, 20, 30],
            [1, 10, 10, 1, 30, 20],
            [0, 10, 20, 3, 25, 25],
            [4, 10, 10, 4, 20, 20],
        ] {
            let other = png((2, 2), [8, 0, 0], b"", &filtered);
            assert!(
                differences(&plain, &other).unwrap().1.is_empty(),
                "{filtered:?}"
            );
        }
        let unknown = png((2, 2), [8, 0, 0], b"", &[0, 10, 20, 5, 1, 1]);
        assert!(matches!(
            differences(&plain, &unknown),
            Err(ImageFault::NoImage)
        ));
    }

    #[test]
    fn interlaced_images_have_each_pixel_once() {
        // The passes of three by three pixels, of which the second and the third are empty.
        let rows = |last: u8| {
            vec![
                0, 1, // (0, 0)
                0, 2, // (2, 0)
                0, 3, 4, // (0, 2), (2, 2)
                0, 5, // (1, 0)
                0, 6, // (1, 2)
                0, 7, 8, last, // (0, 1), (1, 1), (2, 1)
            ]
        };
        let image = |last| png((3, 3), [8, 0, 1], b"", &rows(last));
        assert!(differences(&image(9), &image(9)).unwrap().1.is_empty());
        let found = differences(&image(9), &image(8)).unwrap().1;
        assert_eq!(found, [((2, 1), [9, 9, 9, 255], [8, 8, 8, 255])]);
        let plain = png((3, 3), [8, 0, 0], b"", &[0; 12]);
        assert!(matches!(
            differences(&image(9), &plain),
            Err(ImageFault::Order)
        ));
    }

    #[test]
    fn hostile_image_is_refused_and_takes_no_memory() {
        let good = png((2, 1), [8, 0, 0], b"", &[0, 1, 2]);
        let huge = png((u32::MAX, u32::MAX), [16, 6, 0], b"", &[0]);
        let wide = png((1 << 25, 1), [8, 0, 0], b"", &[0]);
        for (image, is_size) in [(&huge, true), (&wide, true)] {
            let fault = differences(image, image).unwrap_err();
            assert_eq!(matches!(fault, ImageFault::TooLarge), is_size);
        }
        // More than the image says is never read.
        let bomb = png(
            (2, 1),
            [8, 0, 0],
            b"",
            &[vec![0, 1, 2], vec![7; 1 << 24]].concat(),
        );
        assert!(differences(&good, &bomb).unwrap().1.is_empty());
        let without_data = [SIGNATURE.to_vec(), chunk(b"IEND", b"")].concat();
        let short = png((2, 2), [8, 0, 0], b"", &[0, 1, 2]);
        let no_depth = png((2, 1), [3, 0, 0], b"", &[0, 1, 2]);
        for bad in [
            &good[..good.len() / 2],
            &good[..20],
            b"",
            b"\x89PNG\r\n\x1a\n",
            without_data.as_slice(),
            no_depth.as_slice(),
            short.as_slice(),
        ] {
            let fault = differences(bad, bad).unwrap_err();
            assert!(matches!(fault, ImageFault::NoImage), "{fault:?}");
        }
        let other = png((1, 2), [8, 0, 0], b"", &[0, 1, 0, 2]);
        let fault = differences(&good, &other).unwrap_err();
        assert!(matches!(fault, ImageFault::Sizes([(2, 1), (1, 2)])));
    }
}

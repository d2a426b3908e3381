//! One header block of a tar, checked field by field.
//!
//! An unpacker that cannot read a field silently stops there, or sees another name. So every field
//! that any of them looks at has to be well-formed.

use runseal_core::formats::archive::FaultKind;

use super::{BLOCK, Stop, stop};
use crate::scan::shown;

/// The layout of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// POSIX: the end of the block is the first part of a long name.
    Ustar,
    /// GNU: the end of the block has other fields.
    Gnu,
    /// Before POSIX: the end of the block is empty.
    V7,
}

/// A header block whose fields have only one reading.
#[derive(Debug)]
pub(super) struct Header<'a> {
    block: &'a [u8; BLOCK],
    layout: Layout,
    size: u64,
}

/// What is wrong with a header.
#[derive(Debug)]
pub(super) struct HeaderFault {
    kind: FaultKind,
    name: Option<String>,
    message: String,
}

impl HeaderFault {
    /// Reports the fault at the header's name, or at `last`, the entry before it, if it has none.
    pub(super) fn into_stop(self, last: Option<String>) -> Stop {
        stop(self.kind, self.name.or(last), self.message)
    }
}

/// The numeric fields other than the size: name, range, and whether it may be empty.
const NUMBERS: [(&str, std::ops::Range<usize>, bool); 7] = [
    ("mode", 100..108, false),
    ("owner", 108..116, true),
    ("group", 116..124, true),
    ("time", 136..148, true),
    ("checksum", 148..156, false),
    ("device", 329..337, true),
    ("device", 337..345, true),
];

impl<'a> Header<'a> {
    pub(super) fn new(block: &'a [u8; BLOCK]) -> Result<Self, HeaderFault> {
        if !has_checksum(block) {
            return Err(HeaderFault {
                kind: FaultKind::Damaged,
                name: None,
                message: "what follows this entry is not a tar header".to_owned(),
            });
        }
        let fault = |message: String| HeaderFault {
            kind: FaultKind::Ambiguous,
            name: Some(shown(field(block, 0..100))),
            message,
        };
        let layout = match &block[257..265] {
            b"ustar\x0000" => Layout::Ustar,
            b"ustar  \0" => Layout::Gnu,
            [0, 0, 0, 0, 0, 0, 0, 0] => Layout::V7,
            _ => {
                return Err(fault(
                    "the header has a magic number that unpackers disagree on".to_owned(),
                ));
            }
        };
        if field(block, 0..100).len() < 100 - trailing_zeros(&block[..100]) {
            let message = "the name field has bytes after the name, which some unpackers read";
            return Err(fault(message.to_owned()));
        }
        check_end(block, layout).map_err(|message| fault(message.to_owned()))?;
        for (what, range, may_be_empty) in NUMBERS {
            let is_empty = block[range.clone()]
                .iter()
                .all(|byte| b" \0".contains(byte));
            let is_known = parse_number(&block[range.clone()]).is_some();
            let is_negative = may_be_empty && block[range.start] == 0xff;
            if !(is_known || is_negative || may_be_empty && is_empty) {
                return Err(fault(format!("the header's {what} is not a number")));
            }
        }
        let size = parse_number(&block[124..136])
            .ok_or_else(|| fault("the header's size is not a number".to_owned()))?;
        Ok(Self {
            block,
            layout,
            size,
        })
    }

    pub(super) fn name(&self) -> Vec<u8> {
        let name = field(self.block, 0..100);
        let prefix = match self.layout {
            Layout::Ustar => field(self.block, 345..500),
            Layout::Gnu | Layout::V7 => b"",
        };
        if prefix.is_empty() {
            return name.to_vec();
        }
        [prefix, b"/", name].concat()
    }

    pub(super) fn kind(&self) -> u8 {
        self.block[156]
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether the field for a link's target is not empty.
    pub(super) fn has_link_name(&self) -> bool {
        self.block[157..257].iter().any(|byte| *byte != 0)
    }

    /// Checks the name in a header that describes another entry, or whose entry is named by another
    /// header. Writers truncate these names to the field, and may put any path in front. The start
    /// of a packed stream does not look like that.
    pub(super) fn check_unused_name(&self) -> Result<(), &'static str> {
        let name = self.name();
        let is_text = |segment: &[u8]| match str::from_utf8(segment) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        if name.iter().any(u8::is_ascii_control) || !name.split(|byte| *byte == b'/').all(is_text) {
            return Err("after this entry, a header has a name that is not text");
        }
        let is_extended = matches!(self.kind(), b'L' | b'K' | b'x' | b'g');
        if is_extended && self.has_link_name() {
            Err("after this entry, a header that describes the next one has a target")
        } else {
            Ok(())
        }
    }
}

fn trailing_zeros(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == 0).count()
}

/// Returns the text of a field, up to NUL.
fn field(block: &[u8; BLOCK], range: std::ops::Range<usize>) -> &[u8] {
    let field = &block[range];
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    &field[..end]
}

/// Checks what follows the device numbers: the first part of a long name (ustar), times and a map
/// of sparse files (GNU), or a shorter first part and two times (star). Some unpackers read a first
/// part of a name whatever the layout.
fn check_end(block: &[u8; BLOCK], layout: Layout) -> Result<(), &'static str> {
    let prefix = match layout {
        Layout::Ustar => field(block, 345..500).len(),
        Layout::Gnu | Layout::V7 => 0,
    };
    if block[345 + prefix..].iter().any(|byte| *byte != 0) {
        return Err(
            "the end of the header has bytes that some unpackers take for a part of the name",
        );
    }
    Ok(())
}

/// Whether the block's checksum is the sum of its bytes as unsigned numbers.
pub(crate) fn has_checksum(block: &[u8; BLOCK]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    // The checksum field itself counts as blanks.
    let sum = sum(&block[..148]) + 8 * u64::from(b' ') + sum(&block[156..]);
    parse_number(&block[148..156]) == Some(sum)
}

/// Parses octal digits followed by nothing but NUL and blanks, or GNU's binary form up to 63 bits,
/// which every unpacker reads alike.
fn parse_number(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        let (zeros, number) = field.split_at(field.len().saturating_sub(8).max(1));
        if zeros[1..].iter().any(|byte| *byte != 0) {
            return None;
        }
        let number = number
            .iter()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        return i64::try_from(number).is_ok().then_some(number);
    }
    let digits = field
        .iter()
        .take_while(|byte| matches!(byte, b'0'..=b'7'))
        .count();
    let (digits, rest) = field.split_at(digits);
    if digits.is_empty() || rest.iter().any(|byte| !b" \0".contains(byte)) {
        return None;
    }
    // At most twelve digits: 36 bits.
    Some(
        digits
            .iter()
            .fold(0, |number, digit| number << 3 | u64::from(digit - b'0')),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_parsed_only_if_it_has_one_reading() {
        for (field, number) in [
            (b"00000000012\0".as_slice(), Some(10)),
            (b"000000000012", Some(10)),
            (b"12 \0\0\0\0\0\0\0\0\0", Some(10)),
            (b"\x80\0\0\0\0\0\0\0\0\0\0\x0a", Some(10)),
            (b"\x80\0\0\0\x7f\0\0\0\0\0\0\0", Some(0x7f << 56)),
            (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", None),
            (b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None),
            (b"\x80\0\0\0\0\0\0\x0a", Some(10)),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
            (b"           \0", None),
            (b"  12\0\0\0\0\0\0\0\0", None),
            (b"12\0 3\0\0\0\0\0\0\0", None),
            (b"0x12\0\0\0\0\0\0\0\0", None),
            (b"+12\0\0\0\0\0\0\0\0\0", None),
            (b"19\0\0\0\0\0\0\0\0\0\0", None),
        ] {
            assert_eq!(parse_number(field), number, "{}", field.escape_ascii());
        }
    }
}

//! A DER reader that keeps the exact bytes of what it reads, because signatures are over those.
//!
//! Real tokens have sets in any order and times with fractions, which readers with strict types
//! refuse. Lengths are read strictly.

/// The tags that occur in tokens.
pub mod tag {
    pub const BOOLEAN: u8 = 0x01;
    pub const INTEGER: u8 = 0x02;
    pub const OCTETS: u8 = 0x04;
    pub const OID: u8 = 0x06;
    pub const TIME: u8 = 0x18;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;
    pub const CONTEXT_0: u8 = 0xa0;
    pub const CONTEXT_0_PRIMITIVE: u8 = 0x80;
    pub const CONTEXT_1: u8 = 0xa1;
}

/// One element: a tag and the bytes of its value.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    pub tag: u8,
    /// The content.
    pub value: &'a [u8],
    /// The content with tag and length.
    pub whole: &'a [u8],
}

impl<'a> Element<'a> {
    /// Returns a reader of the content.
    pub fn inside(&self) -> Reader<'a> {
        Reader(self.value)
    }
}

/// Reads elements one after the other.
#[derive(Clone, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the next element, whatever its tag.
    pub fn any(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        // Tags of several bytes do not occur.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = digits
                    .iter()
                    .fold(0usize, |length, digit| length << 8 | usize::from(*digit));
                let is_shortest = digits[0] != 0 && length >= 0x80;
                (is_shortest.then_some(length)?, rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        let whole = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        Some(Element { tag, value, whole })
    }

    /// Reads the next element, which must have this tag.
    pub fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        self.any().filter(|element| element.tag == tag)
    }

    /// Reads the next element if it has this tag.
    pub fn optional(&mut self, tag: u8) -> Option<Element<'a>> {
        match self.0.first() {
            Some(next) if *next == tag => self.any(),
            _ => None,
        }
    }

    /// Returns whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads the only element of `bytes`, which must have this tag and nothing after it.
pub fn single(bytes: &[u8], tag: u8) -> Option<Element<'_>> {
    let mut reader = Reader(bytes);
    let element = reader.expect(tag)?;
    reader.is_empty().then_some(element)
}

/// Encodes tag, length and value as DER.
pub fn encode(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len();
    let mut bytes = vec![tag];
    match u8::try_from(length) {
        Ok(short @ 0..=0x7f) => bytes.push(short),
        _ => {
            let digits = length.to_be_bytes();
            let skip = digits.iter().take_while(|digit| **digit == 0).count();
            let digits = &digits[skip..];
            bytes.push(0x80 | u8::try_from(digits.len()).unwrap_or(0x7f));
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(value);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_element_reads_back() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let bytes = encode(tag::OCTETS, &vec![7; length]);
            let element = single(&bytes, tag::OCTETS).unwrap();
            assert_eq!(
                (element.value.len(), element.whole),
                (length, bytes.as_slice())
            );
        }
    }

    #[test]
    fn element_with_invalid_length_is_none() {
        for bytes in [
            &[0x04, 0x80, 0x00, 0x00][..],
            &[0x04, 0x81, 0x01, 0x00],
            &[0x04, 0x82, 0x00, 0x80],
            &[0x04, 0x05, 0x00],
            &[0x04],
            &[0x1f, 0x81, 0x00],
            &[0x04, 0x84, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(Reader(bytes).any().is_none(), "{bytes:02x?}");
        }
    }
}

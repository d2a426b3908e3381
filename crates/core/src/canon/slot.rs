//! One value of a document that was read: its tag, flags and place.
//!
//! A slot is two plain numbers, so that it is passed in registers. As four small fields it went
//! through memory, and the processor stalled on small stores that were loaded as one.

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
}

/// What the reader noticed about a value; see the constants.
pub(crate) type Flags = u8;

/// A string with at least one escape.
pub(crate) const ESCAPED: Flags = 1;
/// A string that kernel and jcs do not print exactly as it is written.
pub(crate) const REWRITE: Flags = 2;
/// A string with a byte outside U+0020-U+007E, which job does not print exactly as it is written.
pub(crate) const WIDE: Flags = 4;
/// A string with an unpaired surrogate.
pub(crate) const LONE: Flags = 8;
/// A number that every dialect prints exactly as it is written.
pub(crate) const VERBATIM: Flags = 16;
/// An object whose members may sort differently by code points and by UTF-16 code units.
pub(crate) const ORDER_DIFFERS: Flags = 32;

/// One value: a place in the text (strings without their quotes, numbers) or a range in a list
/// of the [`Store`](super::document::Store) (arrays, objects).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// The start in the low half, the length in the high half.
    place: u64,
    /// The tag in the low byte, the flags in the high byte.
    mark: u16,
}

impl Slot {
    /// `start` and `len` fit into 32 bits: no text is larger than `JsonLimits::LARGEST_TEXT`.
    #[inline]
    pub(crate) fn new(tag: Tag, flags: Flags, start: usize, len: usize) -> Self {
        Self {
            place: (start as u64) | ((len as u64) << 32),
            mark: (tag as u16) | (u16::from(flags) << 8),
        }
    }

    #[inline]
    pub(crate) fn tag(self) -> Tag {
        match self.mark as u8 {
            0 => Tag::Null,
            1 => Tag::False,
            2 => Tag::True,
            3 => Tag::Number,
            4 => Tag::String,
            5 => Tag::Array,
            _ => Tag::Object,
        }
    }

    #[inline]
    pub(crate) fn flags(self) -> Flags {
        (self.mark >> 8) as Flags
    }

    #[inline]
    pub(crate) fn start(self) -> usize {
        self.place as u32 as usize
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.place >> 32) as usize
    }

    #[inline]
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start()..self.start() + self.len()
    }
}

/// A member of an object: two slots, packed, because a large document is mostly members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    places: [u64; 2],
    marks: [u16; 2],
}

impl Member {
    #[inline]
    pub(crate) fn new(key: Slot, value: Slot) -> Self {
        Self {
            places: [key.place, value.place],
            marks: [key.mark, value.mark],
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> Slot {
        Slot {
            place: self.places[0],
            mark: self.marks[0],
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> Slot {
        Slot {
            place: self.places[1],
            mark: self.marks[1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_returns_its_slots() {
        let key = Slot::new(Tag::String, WIDE, 3, 4);
        let value = Slot::new(Tag::Object, ORDER_DIFFERS, 5, 6);
        let member = Member::new(key, value);
        assert_eq!(
            (member.key().tag(), member.key().flags()),
            (Tag::String, WIDE)
        );
        assert_eq!(member.key().range(), 3..7);
        assert_eq!(
            (member.value().tag(), member.value().range()),
            (Tag::Object, 5..11)
        );
        assert_eq!(member.value().flags(), ORDER_DIFFERS);
    }

    #[test]
    fn slot_returns_its_parts() {
        for tag in [
            Tag::Null,
            Tag::False,
            Tag::True,
            Tag::Number,
            Tag::String,
            Tag::Array,
            Tag::Object,
        ] {
            let most = u32::MAX as usize;
            for (flags, start, len) in [
                (0, 0, 0),
                (ESCAPED | ORDER_DIFFERS, 7, most),
                (255, most, 1),
            ] {
                let slot = Slot::new(tag, flags, start, len);
                assert_eq!((slot.tag(), slot.flags()), (tag, flags));
                assert_eq!((slot.start(), slot.len()), (start, len));
            }
        }
    }
}

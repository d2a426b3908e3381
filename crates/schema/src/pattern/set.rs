//! Sets of characters: what `[…]`, `.` and the class escapes match.

use super::unicode::Property;

/// A set of characters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    items: Vec<Item>,
    is_negated: bool,
    ignores_case: bool,
    /// The answer for each ASCII character.
    ascii: u128,
}

/// A part of a set.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Range(char, char),
    /// Everything outside the ranges.
    Except(&'static [(char, char)]),
    /// Characters with the property or, if the flag is set, without it.
    Property(Property, bool),
}

/// `\d`
pub(super) const DIGITS: &[(char, char)] = &[('0', '9')];
/// `\w`
pub(super) const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
/// `\s`
pub(super) const SPACE: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];
/// What `.` does not match.
pub(super) const LINE_ENDS: &[(char, char)] =
    &[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

impl Set {
    pub fn new(items: Vec<Item>, is_negated: bool, ignores_case: bool) -> Self {
        let mut set = Self {
            items,
            is_negated,
            ignores_case,
            ascii: 0,
        };
        for code in 0..0x80_u8 {
            set.ascii |= u128::from(set.decide(char::from(code))) << code;
        }
        set
    }

    #[inline]
    pub fn contains(&self, c: char) -> bool {
        match u32::from(c) {
            code @ 0..0x80 => self.ascii >> code & 1 == 1,
            _ => self.decide(c),
        }
    }

    fn decide(&self, c: char) -> bool {
        let is_listed = |c: char| self.items.iter().any(|item| item.contains(c));
        let found = is_listed(c) || self.ignores_case && case_variants(c).any(is_listed);
        found != self.is_negated
    }
}

impl Item {
    fn contains(&self, c: char) -> bool {
        match self {
            Self::Range(first, last) => (*first..=*last).contains(&c),
            Self::Except(ranges) => !ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&c)),
            Self::Property(property, is_negated) => property.holds(c) != *is_negated,
        }
    }
}

/// The lower and upper case of a letter, if each is a single character.
pub(super) fn case_variants(c: char) -> impl Iterator<Item = char> {
    let single = |mut mapped: Box<dyn Iterator<Item = char>>| match (mapped.next(), mapped.next()) {
        (Some(variant), None) => Some(variant),
        _ => None,
    };
    let lower = single(Box::new(c.to_lowercase()));
    let upper = single(Box::new(c.to_uppercase()));
    [lower, upper].into_iter().flatten()
}

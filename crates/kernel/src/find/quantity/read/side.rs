//! Whether a number is a bound: *at most*, *no fewer than*, *before*, *or more*.

use super::{BETWEEN, CLOCK, DATE, Measured, Reader, SECOND, Side};
use crate::rules::Class;
use crate::text::token::TokenKind;

/// The most words from a word such as *least* to its number, and from the unit to *at least* behind it.
const SIDE_REACH: usize = 5;
const BEHIND_REACH: usize = 3;

impl Reader<'_, '_> {
    /// The side that the words around the number state; a denial in the same clause reverses it.
    pub(super) fn side_of(&self, of: Measured, at: usize, end: usize) -> Side {
        let is_sign = |&token: &usize| self.source.text.tokens[token].kind == TokenKind::Sign;
        let clause = self.body[..at]
            .iter()
            .rposition(|token| is_sign(token) && !is_comparison(self.source.text.word(*token)))
            .map_or(0, |sign| sign + 1);
        if let Some(side) = self.body[clause..at]
            .iter()
            .rev()
            .take(2)
            .find_map(|&token| comparison(self.source.text.word(token)))
        {
            return side;
        }
        // *Between 07:00 and 18:00*.
        if at > 0 && self.key(at - 1) == Some(BETWEEN) {
            return Side::AtLeast;
        }
        if (at.saturating_sub(SIDE_REACH)..at).any(|at| self.key(at) == Some(BETWEEN)) {
            return Side::AtMost;
        }
        let near = clause.max(at.saturating_sub(SIDE_REACH));
        let denied = (clause..at).any(|at| self.class(at) & (Class::NEGATION | Class::NO) != 0);
        let is_time = of == Measured::Numbered(DATE)
            || matches!(of, Measured::Unit(it) if self.unit_named(SECOND).is_some_and(|second| second.dimension == it) || self.unit_named(CLOCK).is_some_and(|clock| clock.dimension == it));
        let before = (near..at)
            .rev()
            .take_while(|&at| self.number_at(at).is_none())
            .filter(|&at| {
                is_time || self.class(at) & (Class::EARLIER | Class::LATER | Class::TEMPORAL) == 0
            })
            .find_map(|at| side_of_class(self.class(at)));
        // Fifty at least, 60 seconds or more, three minimum.
        let until = self.body.len().min(end + BEHIND_REACH);
        let behind = || {
            (end..until)
                .take_while(|&at| self.number_at(at).is_none())
                .find_map(|at| match self.class(at) & Class::BEHIND {
                    0 => None,
                    _ => side_of_class(self.class(at)),
                })
        };
        match (before, denied) {
            (Some(Side::AtMost), true) => Side::AtLeast,
            (Some(Side::AtLeast), true) => Side::AtMost,
            (Some(side), _) => side,
            (None, _) => behind().unwrap_or(Side::Plain),
        }
    }
}

fn side_of_class(class: u32) -> Option<Side> {
    [
        (Class::UPPER | Class::ONLY, Side::AtMost),
        (Class::LOWER, Side::AtLeast),
        (Class::EXACT, Side::Exactly),
    ]
    .into_iter()
    .find(|(bit, _)| class & bit != 0)
    .map(|(_, side)| side)
}

fn comparison(sign: &str) -> Option<Side> {
    match sign {
        "<" | "≤" | "=<" => Some(Side::AtMost),
        ">" | "≥" => Some(Side::AtLeast),
        _ => None,
    }
}

fn is_comparison(sign: &str) -> bool {
    comparison(sign).is_some() || sign == "="
}

//! Reads the quantities of a statement.

use super::{Measured, Quantity, Side};
use crate::find::Source;
use crate::find::statement::{Statement, content_key};
use crate::rules::{Class, RuleSet, Unit};
use crate::text::token::{TokenKind, key_of};

const TIMES: u64 = key_of(b"times");
const ONCE: u64 = key_of(b"once");
const TWICE: u64 = key_of(b"twice");
const EVERY: u64 = key_of(b"every");
const BETWEEN: u64 = key_of(b"between");
const PER: u64 = key_of(b"per");
const SECOND: u64 = key_of(b"s");
const CLOCK: u64 = key_of(b"o'clock");
const PERCENT: u64 = key_of(b"percent");

/// The quantities of a statement, in order.
pub(in crate::find) fn read_quantities(
    rules: &RuleSet,
    source: &Source<'_>,
    statement: &Statement,
) -> Vec<Quantity> {
    let reader = Reader {
        rules,
        source,
        body: &statement.whole,
    };
    let mut found: Vec<Quantity> = Vec::new();
    let mut at = 0;
    while at < statement.whole.len() {
        match reader.quantity_at(at) {
            Some((quantity, next)) => {
                found.push(quantity);
                at = next.max(at + 1);
            }
            None => at += 1,
        }
    }
    found
}

struct Reader<'a, 't> {
    rules: &'a RuleSet,
    source: &'a Source<'t>,
    body: &'a [usize],
}

impl Reader<'_, '_> {
    fn key(&self, at: usize) -> Option<u64> {
        self.body
            .get(at)
            .map(|&token| self.source.text.tokens[token].key)
    }

    fn class(&self, at: usize) -> u32 {
        self.body
            .get(at)
            .map_or(0, |&token| self.source.classes[token])
    }

    fn unit(&self, at: usize) -> Option<Unit> {
        self.rules.lexicon.unit(self.key(at)?)
    }

    fn unit_named(&self, key: u64) -> Option<Unit> {
        self.rules.lexicon.unit(key)
    }

    fn is_time(&self, unit: Unit) -> bool {
        self.unit_named(SECOND)
            .is_some_and(|second| second.dimension == unit.dimension)
    }

    /// The quantity that begins at a token of the body, and the token after it.
    fn quantity_at(&self, at: usize) -> Option<(Quantity, usize)> {
        if let Some(found) = self.frequency_at(at) {
            return Some(found);
        }
        if let Some(number) = self.rules.lexicon.ordinal(self.key(at)?) {
            let noun = content_key(self.source, *self.body.get(at + 1)?);
            let of = match self.unit(at + 1) {
                Some(_) => Measured::Numbered(self.key(at + 1)?),
                None => Measured::Numbered(noun?),
            };
            return Some((self.numbered(of, number, at), at + 2));
        }
        // *From day one*: numbered as *the first day*.
        if let (Some(unit), Some((number, None))) = (self.unit(at), self.number_at(at + 1))
            && self.is_time(unit)
        {
            let of = Measured::Numbered(self.key(at)?);
            return Some((self.numbered(of, number, at), at + 2));
        }
        if let Some(found) = self.version_at(at) {
            return Some(found);
        }
        let (mut number, attached) = self.number_at(at)?;
        let mut next = at + 1;
        // Five hundred, several thousand.
        if let Some(scale) = self
            .key(next)
            .and_then(|key| self.rules.lexicon.number(key))
            && attached.is_none()
            && scale >= 100.0
        {
            number *= scale;
            next += 1;
        }
        // Half a second, a quarter of an hour.
        if number < 1.0 {
            while next < at + 3 && self.class(next) & (Class::ARTICLE | Class::STOP) != 0 {
                next += 1;
            }
        }
        let (value, of) = match attached {
            Some(Attached::Unit(unit)) => (number * unit.factor, Measured::Unit(unit.dimension)),
            Some(Attached::Noun(noun)) => (number, Measured::Noun([noun, 0, 0])),
            None => match self.unit(next) {
                Some(unit) => {
                    next += 1;
                    (number * unit.factor, Measured::Unit(unit.dimension))
                }
                None => {
                    let mut nouns = [0; 3];
                    for noun in &mut nouns {
                        let token = self.body.get(next).copied();
                        let Some(key) = token.and_then(|it| content_key(self.source, it)) else {
                            break;
                        };
                        *noun = key;
                        next += 1;
                    }
                    match nouns[0] {
                        0 => (number, Measured::Bare),
                        _ => (number, Measured::Noun(nouns)),
                    }
                }
            },
        };
        let mut quantity = Quantity {
            side: match self.class(at) & Class::PLURAL {
                0 => self.side_of(of, at, next),
                _ => Side::AtLeast,
            },
            value,
            of,
            is_rate: false,
        };
        // *Round 2*: a number of nothing counts where something bounds it.
        if of == Measured::Bare && quantity.side == Side::Plain {
            return None;
        }
        let period = (next..next + PERIOD_REACH)
            .take_while(|&at| at == next || self.class(at - 1) & Class::RATE == 0)
            .find_map(|at| {
                self.period_at(at)
                    .filter(|_| at == next || self.key(at) == Some(PER))
            });
        if let Some((period, after)) = period {
            quantity.value /= period;
            quantity.is_rate = true;
            next = after;
        }
        Some((quantity, next))
    }

    /// *TLS 1.2 or greater*: a name and a version with one point.
    fn version_at(&self, at: usize) -> Option<(Quantity, usize)> {
        let (name, number) = (*self.body.get(at)?, *self.body.get(at + 1)?);
        let text = &self.source.text;
        let is_name = text.word(name).starts_with(|c: char| c.is_uppercase())
            && content_key(self.source, name).is_some()
            && !self.rules.lexicon.is_of_quantity(text.tokens[name].key)
            && self.class(at) & Class::HEADING == 0;
        let version = text.word(number);
        let is_version = text.tokens[number].kind == TokenKind::Number
            && version.split('.').count() == 2
            && version.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && self.unit(at + 2).is_none();
        (is_name && is_version).then_some(())?;
        let of = Measured::Numbered(self.source.canonical[name]);
        Some((self.numbered(of, version.parse().ok()?, at), at + 2))
    }

    /// A quantity of two words that begins at a token of the body.
    fn numbered(&self, of: Measured, value: f64, at: usize) -> Quantity {
        Quantity {
            side: self.side_of(of, at, at + 2),
            value,
            of,
            is_rate: false,
        }
    }

    /// *Every 15 minutes*, *every day*, *four times a day*, *once an hour*, *daily*.
    fn frequency_at(&self, at: usize) -> Option<(Quantity, usize)> {
        let frequency = |value: f64, from: usize, next: usize| {
            let quantity = Quantity {
                side: self.side_of(Measured::Frequency, from, next),
                value,
                of: Measured::Frequency,
                is_rate: false,
            };
            Some((quantity, next))
        };
        let key = self.key(at)?;
        if key == EVERY {
            let (count, next) = match self.number_at(at + 1) {
                Some((count, None)) => (count, at + 2),
                Some((count, Some(Attached::Unit(unit)))) if self.is_time(unit) => {
                    return frequency(1.0 / (count * unit.factor), at, at + 2);
                }
                _ => (1.0, at + 1),
            };
            let unit = self.unit(next).filter(|unit| self.is_time(*unit))?;
            return frequency(1.0 / (count * unit.factor), at, next + 1);
        }
        if let Some(unit) = self.rules.lexicon.rhythm(key) {
            return frequency(unit, at, at + 1);
        }
        let count = match key {
            ONCE => Some((1.0, at + 1)),
            TWICE => Some((2.0, at + 1)),
            _ => match self.number_at(at)? {
                (count, None) if self.key(at + 1) == Some(TIMES) => Some((count, at + 2)),
                _ => None,
            },
        };
        let (count, next) = count?;
        let (period, after) = self.period_at(next)?;
        frequency(count / period, at, after)
    }

    /// *Per day*, *an hour*: the seconds of it, and the token after it.
    fn period_at(&self, at: usize) -> Option<(f64, usize)> {
        let leads = self.key(at)? == PER || self.class(at) & Class::ARTICLE != 0;
        let unit = self.unit(at + 1).filter(|unit| self.is_time(*unit))?;
        leads.then_some((unit.factor, at + 2))
    }

    /// The number at a token of the body, and the unit or noun that is written with it: `64KB`, `$500`, `04:00`,
    /// `five-seat`.
    fn number_at(&self, at: usize) -> Option<(f64, Option<Attached>)> {
        let token = *self.body.get(at)?;
        let text = &self.source.text;
        let word = text.lower_word(token);
        match text.tokens[token].kind {
            TokenKind::Sign => None,
            TokenKind::Word => {
                let lexicon = &self.rules.lexicon;
                if let Some(value) = lexicon.time_of_day(text.tokens[token].key) {
                    return Some((value, self.unit_named(CLOCK).map(Attached::Unit)));
                }
                if self.source.classes[token] & Class::PLURAL != 0 {
                    return Some((2.0, None));
                }
                if let Some(value) = lexicon.number(text.tokens[token].key) {
                    return Some((value, None));
                }
                let (count, noun) = word.split_once('-')?;
                let value = lexicon.number(key_of(count.as_bytes()))?;
                Some((value, Some(self.named(noun)?)))
            }
            TokenKind::Number => {
                if let Some((hours, minutes)) = word.split_once(':') {
                    let (minutes, half) = (minutes.get(..2)?, &minutes[2..]);
                    let hours = hours.parse::<f64>().ok()?;
                    let hour = self.hour_of(at, hours, half).unwrap_or(hours * 60.0);
                    let minutes = hour + minutes.parse::<f64>().ok()?;
                    return Some((minutes, self.unit_named(CLOCK).map(Attached::Unit)));
                }
                let digits = word
                    .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
                    .unwrap_or(word.len());
                let plain = word[..digits].replace(',', "");
                let value = plain.trim_end_matches('.').parse::<f64>().ok()?;
                let suffix = word[digits..].trim_start_matches('-');
                if let Some(hour) = self.hour_of(at, value, suffix) {
                    return Some((hour, self.unit_named(CLOCK).map(Attached::Unit)));
                }
                if suffix.is_empty() {
                    let percent = text
                        .is_sign(token + 1, '%')
                        .then(|| self.unit_named(PERCENT));
                    let unit = self.currency_before(token).or(percent.flatten());
                    return Some((value, unit.map(Attached::Unit)));
                }
                Some((value, Some(self.named(suffix)?)))
            }
        }
    }

    /// What is written behind a number with a hyphen, or right behind it.
    fn named(&self, name: &str) -> Option<Attached> {
        if let Some(unit) = self.unit_named(key_of(name.as_bytes())) {
            return Some(Attached::Unit(unit));
        }
        let is_noun = name.len() > 2 && name.bytes().all(|b| b.is_ascii_lowercase());
        is_noun.then(|| {
            let lexicon = &self.rules.lexicon;
            Attached::Noun(lexicon.look_up(name, key_of(name.as_bytes())).1)
        })
    }

    /// *8 a.m.*, *9pm*: in minutes since midnight.
    fn hour_of(&self, at: usize, value: f64, suffix: &str) -> Option<f64> {
        let next = self.body.get(at + 1);
        let next = next.map_or("", |&token| self.source.text.lower_word(token));
        let half = if suffix.is_empty() { next } else { suffix };
        let half = half.trim_end_matches('.');
        (value <= 12.0).then_some(())?;
        match half {
            "am" | "a.m" => Some(value % 12.0 * 60.0),
            "pm" | "p.m" => Some((value % 12.0 + 12.0) * 60.0),
            _ => None,
        }
    }

    fn currency_before(&self, token: usize) -> Option<Unit> {
        let before = self.source.text.tokens.get(token.checked_sub(1)?)?;
        (before.kind == TokenKind::Sign)
            .then(|| self.unit_named(before.key))
            .flatten()
    }

    /// The side that the words around the number state; a denial in the same clause reverses it.
    fn side_of(&self, of: Measured, at: usize, end: usize) -> Side {
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
        let is_time = matches!(of, Measured::Unit(it) if self.unit_named(SECOND).is_some_and(|second| second.dimension == it) || self.unit_named(CLOCK).is_some_and(|clock| clock.dimension == it));
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

/// What is written with a number.
#[derive(Clone, Copy)]
enum Attached {
    Unit(Unit),
    Noun(u64),
}

/// The most words from a word such as *least* to its number, and from the unit to *at least* behind it.
const SIDE_REACH: usize = 5;
/// The most words from what is counted to *per hour*.
const PERIOD_REACH: usize = 6;
const BEHIND_REACH: usize = 3;

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

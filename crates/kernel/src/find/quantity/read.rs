//! Reads the quantities of a statement.

mod side;

use super::{Measured, Quantity, Side};
use crate::find::Source;
use crate::find::statement::{Statement, content_key};
use crate::rules::{Class, RuleSet, Unit};
use crate::text::token::{TokenKind, key_of};

const DATE: u64 = key_of(b"date");
const TIMES: u64 = key_of(b"times");
const ONCE: u64 = key_of(b"once");
const TWICE: u64 = key_of(b"twice");
const EVERY: u64 = key_of(b"every");
const BETWEEN: u64 = key_of(b"between");
const PER: u64 = key_of(b"per");
const SECOND: u64 = key_of(b"s");
const CLOCK: u64 = key_of(b"clock-minute");
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
        if let Some(day) = self.date_at(at) {
            return Some((self.numbered(Measured::Numbered(DATE), day, at), at + 1));
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

    /// *2027-03-01*, *01.03.2027*: a number that grows with the day.
    fn date_at(&self, at: usize) -> Option<f64> {
        let token = *self.body.get(at)?;
        let text = &self.source.text;
        (text.tokens[token].kind == TokenKind::Number).then_some(())?;
        let word = text.word(token);
        let parts = |sign: char| -> Option<Vec<f64>> {
            let parts: Result<Vec<f64>, _> = word.split(sign).map(str::parse).collect();
            parts.ok().filter(|parts| parts.len() == 3)
        };
        let days = |year: f64, month: f64, day: f64| {
            let is_date =
                year > 1000.0 && (1.0..=12.0).contains(&month) && (1.0..=31.0).contains(&day);
            is_date.then_some((year * 12.0 + month) * 31.0 + day)
        };
        match (parts('-'), parts('.')) {
            (Some(it), _) => days(it[0], it[1], it[2]),
            (_, Some(it)) => days(it[2], it[1], it[0]),
            _ => None,
        }
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
}

/// What is written with a number.
#[derive(Clone, Copy)]
enum Attached {
    Unit(Unit),
    Noun(u64),
}

/// The most words from what is counted to *per hour*.
const PERIOD_REACH: usize = 6;

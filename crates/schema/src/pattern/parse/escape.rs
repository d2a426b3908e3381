//! Escapes and classes of characters.

use super::{Parse, Parser, Part, Reference};
use crate::pattern::set::{self, Item};
use crate::pattern::unicode::Property;

impl Parser {
    pub(super) fn escape(&mut self) -> Parse<Part> {
        use crate::pattern::program::Assertion;
        let begin = self.at;
        if let Some(item) = self.class_escape()? {
            return Ok(self.set(item, false));
        }
        match self.peek() {
            Some('b') => self.assertion(Assertion::Boundary),
            Some('B') => self.assertion(Assertion::NoBoundary),
            Some('A') => self.assertion(Assertion::Start),
            Some('z') => self.assertion(Assertion::End),
            Some('1'..='9') => {
                let number = self.number().unwrap_or(u32::MAX) as usize;
                if number > self.highest.0 {
                    self.highest = (number, begin);
                }
                let reference = Reference::Number(number);
                Ok(Part::Back(reference, self.flags.ignores_case))
            }
            Some('k') if self.chars.get(begin + 1) == Some(&'<') => {
                self.at += 2;
                let name = self.name('>')?;
                self.by_name.push((name.clone(), begin));
                Ok(Part::Back(Reference::Name(name), self.flags.ignores_case))
            }
            _ => {
                let c = self.character_escape()?;
                Ok(self.literal(c))
            }
        }
    }

    fn assertion(&mut self, assertion: crate::pattern::program::Assertion) -> Parse<Part> {
        self.at += 1;
        Ok(Part::Assert(assertion))
    }

    /// Reads `\d` and the like, after the backslash.
    fn class_escape(&mut self) -> Parse<Option<Vec<Item>>> {
        let ranges = |ranges: &[(char, char)]| {
            let range = |&(first, last): &(char, char)| Item::Range(first, last);
            ranges.iter().map(range).collect()
        };
        let items = match self.peek() {
            Some('d') => ranges(set::DIGITS),
            Some('w') => ranges(set::WORD),
            Some('s') => ranges(set::SPACE),
            Some('D') => vec![Item::Except(set::DIGITS)],
            Some('W') => vec![Item::Except(set::WORD)],
            Some('S') => vec![Item::Except(set::SPACE)],
            Some(kind @ ('p' | 'P')) => {
                self.at += 1;
                vec![self.property(kind == 'P')?]
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(items))
    }

    /// Reads a property: a name in braces, or a single letter. Stops at its last character.
    fn property(&mut self, is_negated: bool) -> Parse<Item> {
        let begin = self.at;
        let end = match self.peek() {
            Some('{') => {
                let rest = &self.chars[begin..];
                rest.iter().position(|c| *c == '}').map(|end| begin + end)
            }
            Some(_) => Some(begin),
            None => None,
        };
        let Some(end) = end else {
            return Err(self.wrong("a property without a name"));
        };
        let inside = if end == begin {
            begin..end + 1
        } else {
            begin + 1..end
        };
        let name: String = self.chars[inside].iter().collect();
        match Property::find(&name) {
            Some(property) => {
                self.at = end;
                Ok(Item::Property(property, is_negated))
            }
            None => Err(self.unsupported(format!("the property `{name}`"))),
        }
    }

    /// Reads the escape of a character, after the backslash.
    fn character_escape(&mut self) -> Parse<char> {
        let begin = self.at;
        let c = match self.next() {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('v') => '\u{b}',
            Some('f') => '\u{c}',
            Some('r') => '\r',
            Some('0') if !self.peek().is_some_and(|c| c.is_ascii_digit()) => '\0',
            Some('c') => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 % 32),
                _ => return Err(self.wrong("an invalid escape")),
            },
            Some('x') => match self.braced().or_else(|| self.hex(2)) {
                Some(code) => self.to_char(code)?,
                None => return Err(self.wrong("an invalid escape")),
            },
            Some('u') => match self.braced().or_else(|| self.hex(4)) {
                Some(high @ 0xd800..0xdc00) => self.pair(high)?,
                Some(code) => self.to_char(code)?,
                None => return Err(self.wrong("an invalid escape")),
            },
            Some(c) if c.is_ascii_alphanumeric() => {
                self.at = begin;
                return Err(self.unsupported(format!("the escape `\\{c}`")));
            }
            Some(c) => c,
            None => return Err(self.wrong("a backslash at the end")),
        };
        Ok(c)
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.chars.get(self.at..self.at + digits)?;
        let mut code = 0;
        for c in text {
            code = code * 16 + c.to_digit(16)?;
        }
        self.at += digits;
        Some(code)
    }

    fn braced(&mut self) -> Option<u32> {
        let rest = self.chars.get(self.at..)?.strip_prefix(&['{'])?;
        let end = rest.iter().position(|c| *c == '}')?;
        let text: String = rest[..end].iter().collect();
        let code = u32::from_str_radix(&text, 16).ok()?;
        self.at += end + 2;
        Some(code)
    }

    /// Reads the second of two escapes that together are one character beyond U+FFFF.
    fn pair(&mut self, high: u32) -> Parse<char> {
        let low = self.eat("\\u").then(|| self.hex(4)).flatten();
        match low {
            Some(low @ 0xdc00..0xe000) => {
                self.to_char(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            }
            _ => Err(self.unsupported("half of a surrogate pair")),
        }
    }

    fn to_char(&self, code: u32) -> Parse<char> {
        char::from_u32(code).ok_or_else(|| self.unsupported("half of a surrogate pair"))
    }

    /// Reads `[…]`, after the opening bracket.
    pub(super) fn class(&mut self) -> Parse<Part> {
        let begin = self.at;
        let is_negated = self.eat("^");
        let mut items = Vec::new();
        loop {
            if self.eat("]") {
                return Ok(self.set(items, is_negated));
            }
            let first = self.class_atom(begin)?;
            let is_range = self.peek() == Some('-')
                && !matches!(self.chars.get(self.at + 1), None | Some(']'));
            let first = match first {
                Ok(first) => first,
                Err(several) => {
                    items.extend(several);
                    continue;
                }
            };
            if !is_range {
                items.push(Item::Range(first, first));
                continue;
            }
            self.at += 1;
            match self.class_atom(begin)? {
                Ok(last) if last < first => {
                    return Err(self.wrong("a range in the wrong order"));
                }
                Ok(last) => items.push(Item::Range(first, last)),
                // `[a-\d]`: the hyphen is literal.
                Err(several) => {
                    items.extend([Item::Range(first, first), Item::Range('-', '-')]);
                    items.extend(several);
                }
            }
        }
    }

    /// Reads one character of a class, or an escape for several (`Err`).
    fn class_atom(&mut self, begin: usize) -> Parse<Result<char, Vec<Item>>> {
        match self.next() {
            Some('\\') => {
                if let Some(items) = self.class_escape()? {
                    return Ok(Err(items));
                }
                if self.eat("b") {
                    return Ok(Ok('\u{8}'));
                }
                self.character_escape().map(Ok)
            }
            Some(c) => Ok(Ok(c)),
            None => {
                self.at = begin;
                Err(self.wrong("a `[` that is not closed"))
            }
        }
    }
}

//! The grammar of patterns.

mod escape;

use super::BadPattern;
use super::set::{self, Item, Set};

/// The most groups inside each other.
const DEEPEST: usize = 100;
/// The largest number of repetitions that can be written.
const MOST_REPEATS: u32 = 100_000;

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Part {
    Empty,
    Char(char),
    Set(Set),
    Concat(Vec<Part>),
    Choice(Vec<Part>),
    Repeat {
        part: Box<Part>,
        least: u32,
        most: Option<u32>,
        is_greedy: bool,
    },
    Capture(usize, Box<Part>),
    Look {
        part: Box<Part>,
        behind: bool,
        negative: bool,
    },
    Assert(super::program::Assertion),
    /// What the group matched; ignoring case if the flag is set.
    Back(Reference, bool),
}

/// The group that a back-reference names.
#[derive(Debug)]
pub(super) enum Reference {
    Number(usize),
    Name(String),
}

/// A pattern that follows the grammar.
#[derive(Debug)]
pub(super) struct Parsed {
    pub whole: Part,
    /// The number of capturing groups, which are numbered from 1.
    pub groups: usize,
    pub names: Vec<(String, usize)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    ignores_case: bool,
    multiline: bool,
    dot_all: bool,
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    groups: usize,
    names: Vec<(String, usize)>,
    flags: Flags,
    depth: usize,
    /// The highest number of a back-reference, and where it is.
    highest: (usize, usize),
    by_name: Vec<(String, usize)>,
}

type Parse<T> = Result<T, BadPattern>;

/// Parses a pattern.
pub(super) fn parse(text: &str) -> Parse<Parsed> {
    let mut parser = Parser {
        chars: text.chars().collect(),
        at: 0,
        groups: 0,
        names: Vec::new(),
        flags: Flags::default(),
        depth: 0,
        highest: (0, 0),
        by_name: Vec::new(),
    };
    let whole = parser.choice()?;
    if parser.peek().is_some() {
        return Err(parser.wrong("a `)` that closes nothing"));
    }
    if parser.highest.0 > parser.groups {
        parser.at = parser.highest.1;
        return Err(parser.wrong("a reference to a missing group"));
    }
    for (name, at) in &parser.by_name {
        if !parser.names.iter().any(|(known, _)| known == name) {
            parser.at = *at;
            return Err(parser.wrong("a reference to a missing group"));
        }
    }
    Ok(Parsed {
        whole,
        groups: parser.groups,
        names: parser.names,
    })
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn eat(&mut self, text: &str) -> bool {
        let mut rest = self.chars[self.at..].iter();
        let is_next = text.chars().all(|c| rest.next() == Some(&c));
        if is_next {
            self.at += text.chars().count();
        }
        is_next
    }

    fn wrong(&self, what: &'static str) -> BadPattern {
        BadPattern::Syntax { what, at: self.at }
    }

    fn unsupported(&self, what: impl Into<String>) -> BadPattern {
        BadPattern::NotSupported {
            what: what.into(),
            at: self.at,
        }
    }

    fn choice(&mut self) -> Parse<Part> {
        let mut parts = vec![self.concat()?];
        while self.eat("|") {
            parts.push(self.concat()?);
        }
        if parts.len() > 1 {
            return Ok(Part::Choice(parts));
        }
        Ok(parts.pop().unwrap_or(Part::Empty))
    }

    fn concat(&mut self) -> Parse<Part> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            if matches!(c, '|' | ')') {
                break;
            }
            let part = self.atom()?;
            parts.push(self.repeated(part)?);
        }
        if parts.len() == 1 {
            return Ok(parts.pop().unwrap_or(Part::Empty));
        }
        Ok(Part::Concat(parts))
    }

    fn repeated(&mut self, part: Part) -> Parse<Part> {
        let begin = self.at;
        let Some((least, most)) = self.quantifier()? else {
            return Ok(part);
        };
        if matches!(part, Part::Assert(_)) {
            self.at = begin;
            return Err(self.wrong("a repeated anchor"));
        }
        let is_greedy = !self.eat("?");
        let again = self.at;
        if self.quantifier()?.is_some() {
            self.at = again;
            return Err(self.unsupported("a repetition of a repetition"));
        }
        Ok(Part::Repeat {
            part: Box::new(part),
            least,
            most,
            is_greedy,
        })
    }

    /// Reads how often the part before may be repeated, if a quantifier follows.
    fn quantifier(&mut self) -> Parse<Option<(u32, Option<u32>)>> {
        let bounds = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.bounds(),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    /// Reads `{2}`, `{2,}` or `{2,5}`; anything else that begins with a brace is literal text.
    fn bounds(&mut self) -> Parse<Option<(u32, Option<u32>)>> {
        let begin = self.at;
        self.at += 1;
        let least = self.number();
        let has_comma = self.eat(",");
        let most = if has_comma { self.number() } else { least };
        if !self.eat("}") || least.is_none() && most.is_none() {
            self.at = begin;
            return Ok(None);
        }
        let Some(least) = least else {
            self.at = begin;
            return Err(self.unsupported("a repetition without a lower bound"));
        };
        if most.is_some_and(|most| most < least) {
            self.at = begin;
            return Err(self.wrong("a repetition with its bounds in the wrong order"));
        }
        if least > MOST_REPEATS || most.is_some_and(|most| most > MOST_REPEATS) {
            return Err(BadPattern::TooLarge);
        }
        Ok(Some((least, most)))
    }

    /// Reads a decimal number; one that is too large becomes the largest.
    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let so_far: u32 = number.unwrap_or(0);
            number = Some(so_far.saturating_mul(10).saturating_add(digit));
            self.at += 1;
        }
        number
    }

    fn atom(&mut self) -> Parse<Part> {
        use super::program::Assertion;
        let begin = self.at;
        let flags = self.flags;
        let Some(c) = self.next() else {
            return Ok(Part::Empty);
        };
        match c {
            '^' if flags.multiline => Ok(Part::Assert(Assertion::LineStart)),
            '^' => Ok(Part::Assert(Assertion::Start)),
            '$' if flags.multiline => Ok(Part::Assert(Assertion::LineEnd)),
            '$' => Ok(Part::Assert(Assertion::End)),
            '.' if flags.dot_all => Ok(Part::Set(Set::new(Vec::new(), true, false))),
            '.' => Ok(self.set(vec![Item::Except(set::LINE_ENDS)], false)),
            '[' => self.class(),
            '(' => self.group(),
            '\\' => self.escape(),
            '*' | '+' | '?' => {
                self.at = begin;
                Err(self.wrong("nothing to repeat"))
            }
            '{' => {
                self.at = begin;
                if self.bounds()?.is_some() {
                    self.at = begin;
                    return Err(self.wrong("nothing to repeat"));
                }
                self.at = begin + 1;
                Ok(Part::Char('{'))
            }
            c => Ok(self.literal(c)),
        }
    }

    fn literal(&self, c: char) -> Part {
        if self.flags.ignores_case && c.is_alphabetic() {
            return self.set(vec![Item::Range(c, c)], false);
        }
        Part::Char(c)
    }

    fn set(&self, items: Vec<Item>, is_negated: bool) -> Part {
        Part::Set(Set::new(items, is_negated, self.flags.ignores_case))
    }

    fn group(&mut self) -> Parse<Part> {
        let begin = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.unsupported("too many groups inside each other"));
        }
        let flags = self.flags;
        let part = if !self.eat("?") {
            self.capture(None)?
        } else if self.eat(":") {
            self.choice()?
        } else if self.eat("=") {
            self.look(false, false)?
        } else if self.eat("!") {
            self.look(false, true)?
        } else if self.eat("<=") {
            self.look(true, false)?
        } else if self.eat("<!") {
            self.look(true, true)?
        } else if self.eat("<") || self.eat("P<") {
            let name = self.name('>')?;
            self.capture(Some(name))?
        } else if self.eat("P=") {
            let at = self.at;
            let name = self.name(')')?;
            self.at -= 1;
            self.by_name.push((name.clone(), at));
            Part::Back(Reference::Name(name), flags.ignores_case)
        } else if self.flags()? {
            self.choice()?
        } else {
            // `(?i)` applies up to the end of the group around it.
            self.depth -= 1;
            return Ok(Part::Empty);
        };
        if !self.eat(")") {
            self.at = begin;
            return Err(self.wrong("a `(` that is not closed"));
        }
        self.flags = flags;
        self.depth -= 1;
        Ok(part)
    }

    fn capture(&mut self, name: Option<String>) -> Parse<Part> {
        self.groups += 1;
        let number = self.groups;
        if let Some(name) = name {
            if self.names.iter().any(|(known, _)| *known == name) {
                return Err(self.wrong("a duplicate group name"));
            }
            self.names.push((name, number));
        }
        Ok(Part::Capture(number, Box::new(self.choice()?)))
    }

    fn look(&mut self, behind: bool, negative: bool) -> Parse<Part> {
        Ok(Part::Look {
            part: Box::new(self.choice()?),
            behind,
            negative,
        })
    }

    fn name(&mut self, close: char) -> Parse<String> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some(c) if c == close && !name.is_empty() => return Ok(name),
                Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => name.push(c),
                _ => return Err(self.wrong("an invalid group name")),
            }
        }
    }

    /// Reads `i`, `-s`, `im-s` and the like. Returns whether they begin a group; otherwise they apply
    /// from here on.
    fn flags(&mut self) -> Parse<bool> {
        let mut value = true;
        loop {
            let at = self.at;
            match self.next() {
                Some('i') => self.flags.ignores_case = value,
                Some('m') => self.flags.multiline = value,
                Some('s') => self.flags.dot_all = value,
                Some('u') if value => {}
                Some('-') if value => value = false,
                Some(':') => return Ok(true),
                Some(')') if at > 0 && self.chars[at - 1] != '?' => return Ok(false),
                _ => {
                    self.at = at;
                    return Err(self.unsupported("an unknown kind of group"));
                }
            }
        }
    }
}

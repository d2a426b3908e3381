//! Compiles patterns to programs.

use super::BadPattern;
use super::parse::{Parsed, Part, Reference};
use super::set::Set;

/// An assertion that looks at the characters on both sides of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    Start,
    End,
    LineStart,
    LineEnd,
    Boundary,
    NoBoundary,
}

/// One instruction; the next one follows, unless it says otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) enum Instruction {
    Char(char),
    /// A character of the set with this number.
    Set(usize),
    /// Continues at both, preferring the first.
    Split(usize, usize),
    Jump(usize),
    Assert(Assertion),
    /// The instructions up to `end` are a separate program, which must match here; or must not, if
    /// `negative`.
    Look {
        end: usize,
        behind: bool,
        negative: bool,
    },
    /// Notes the place.
    Save(usize),
    /// Continues if the place differs from the noted one.
    Moved(usize),
    /// Forgets the noted places from the first to the last.
    Forget(usize, usize),
    /// What the group with this number matched; ignoring case if the flag is set.
    Back(usize, bool),
    Match,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub code: Vec<Instruction>,
    pub sets: Vec<Set>,
    /// The number of places to note: two for each group, one for each loop that could make no progress.
    pub places: usize,
    pub refers_back: bool,
    /// Whether it can only match at the beginning of the text.
    pub is_anchored: bool,
}

/// Compiles a pattern to at most `largest` instructions.
pub(super) fn compile(parsed: &Parsed, largest: usize) -> Result<Program, BadPattern> {
    let mut compiler = Compiler {
        code: Vec::new(),
        sets: Vec::new(),
        places: 2 * (parsed.groups + 1),
        refers_back: false,
        backward: false,
        largest,
        parsed,
    };
    compiler.part(&parsed.whole)?;
    compiler.emit(Instruction::Match)?;
    Ok(Program {
        is_anchored: begins_at_start(&parsed.whole),
        code: compiler.code,
        sets: compiler.sets,
        places: compiler.places,
        refers_back: compiler.refers_back,
    })
}

struct Compiler<'p> {
    code: Vec<Instruction>,
    sets: Vec<Set>,
    places: usize,
    refers_back: bool,
    /// Whether the part is matched from its end to its beginning.
    backward: bool,
    largest: usize,
    parsed: &'p Parsed,
}

type Compile = Result<(), BadPattern>;

impl Compiler<'_> {
    fn emit(&mut self, instruction: Instruction) -> Compile {
        if self.code.len() >= self.largest {
            return Err(BadPattern::TooLarge);
        }
        self.code.push(instruction);
        Ok(())
    }

    /// Emits an instruction that is filled in later.
    fn reserve(&mut self) -> Result<usize, BadPattern> {
        self.emit(Instruction::Match)?;
        Ok(self.code.len() - 1)
    }

    fn part(&mut self, part: &Part) -> Compile {
        match part {
            Part::Empty => Ok(()),
            Part::Char(c) => self.emit(Instruction::Char(*c)),
            Part::Set(set) => {
                let known = self.sets.iter().position(|known| known == set);
                let number = known.unwrap_or(self.sets.len());
                if known.is_none() {
                    self.sets.push(set.clone());
                }
                self.emit(Instruction::Set(number))
            }
            Part::Concat(parts) if self.backward => {
                parts.iter().rev().try_for_each(|part| self.part(part))
            }
            Part::Concat(parts) => parts.iter().try_for_each(|part| self.part(part)),
            Part::Choice(parts) => self.choice(parts),
            Part::Repeat {
                part,
                least,
                most,
                is_greedy,
            } => self.repeat(part, *least, *most, *is_greedy),
            Part::Capture(number, part) => {
                let (first, last) = if self.backward {
                    (2 * number + 1, 2 * number)
                } else {
                    (2 * number, 2 * number + 1)
                };
                self.emit(Instruction::Save(first))?;
                self.part(part)?;
                self.emit(Instruction::Save(last))
            }
            Part::Look {
                part,
                behind,
                negative,
            } => {
                let look = self.reserve()?;
                let around = std::mem::replace(&mut self.backward, *behind);
                self.part(part)?;
                self.backward = around;
                self.emit(Instruction::Match)?;
                self.code[look] = Instruction::Look {
                    end: self.code.len(),
                    behind: *behind,
                    negative: *negative,
                };
                Ok(())
            }
            Part::Assert(assertion) => self.emit(Instruction::Assert(*assertion)),
            Part::Back(reference, ignores_case) => {
                self.refers_back = true;
                let number = match reference {
                    Reference::Number(number) => *number,
                    Reference::Name(name) => {
                        let mut names = self.parsed.names.iter();
                        let found = names.find(|(known, _)| known == name);
                        found.map(|(_, number)| *number).unwrap_or_default()
                    }
                };
                self.emit(Instruction::Back(number, *ignores_case))
            }
        }
    }

    fn choice(&mut self, parts: &[Part]) -> Compile {
        let mut jumps = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if at + 1 == parts.len() {
                self.part(part)?;
                break;
            }
            let split = self.reserve()?;
            self.part(part)?;
            jumps.push(self.reserve()?);
            self.code[split] = Instruction::Split(split + 1, self.code.len());
        }
        for jump in jumps {
            self.code[jump] = Instruction::Jump(self.code.len());
        }
        Ok(())
    }

    fn repeat(&mut self, part: &Part, least: u32, most: Option<u32>, is_greedy: bool) -> Compile {
        let split = |first: usize, second: usize| {
            if is_greedy {
                Instruction::Split(first, second)
            } else {
                Instruction::Split(second, first)
            }
        };
        for _ in 0..least {
            self.forget_groups(part)?;
            self.part(part)?;
        }
        let Some(most) = most else {
            let begin = self.reserve()?;
            self.once(part)?;
            self.emit(Instruction::Jump(begin))?;
            self.code[begin] = split(begin + 1, self.code.len());
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.reserve()?);
            self.once(part)?;
        }
        for at in splits {
            self.code[at] = split(at + 1, self.code.len());
        }
        Ok(())
    }

    /// One optional repetition, which only counts if it makes progress.
    fn once(&mut self, part: &Part) -> Compile {
        self.forget_groups(part)?;
        if !can_be_empty(part) {
            return self.part(part);
        }
        let place = self.places;
        self.places += 1;
        self.emit(Instruction::Save(place))?;
        self.part(part)?;
        self.emit(Instruction::Moved(place))
    }

    /// Groups inside a repetition match again each time.
    fn forget_groups(&mut self, part: &Part) -> Compile {
        match group_range(part) {
            Some((first, last)) => self.emit(Instruction::Forget(2 * first, 2 * last + 1)),
            None => Ok(()),
        }
    }
}

fn can_be_empty(part: &Part) -> bool {
    match part {
        Part::Char(_) | Part::Set(_) => false,
        Part::Empty | Part::Look { .. } | Part::Assert(_) | Part::Back(..) => true,
        Part::Concat(parts) => parts.iter().all(can_be_empty),
        Part::Choice(parts) => parts.iter().any(can_be_empty),
        Part::Repeat { part, least, .. } => *least == 0 || can_be_empty(part),
        Part::Capture(_, part) => can_be_empty(part),
    }
}

/// The first and the last group in `part`.
fn group_range(part: &Part) -> Option<(usize, usize)> {
    let widen = |all: Option<(usize, usize)>, part: Option<(usize, usize)>| match (all, part) {
        (Some(all), Some(part)) => Some((all.0.min(part.0), all.1.max(part.1))),
        (all, part) => all.or(part),
    };
    match part {
        Part::Concat(parts) | Part::Choice(parts) => {
            parts.iter().map(group_range).fold(None, widen)
        }
        Part::Repeat { part, .. } | Part::Look { part, .. } => group_range(part),
        Part::Capture(number, part) => widen(Some((*number, *number)), group_range(part)),
        _ => None,
    }
}

fn begins_at_start(part: &Part) -> bool {
    match part {
        Part::Assert(Assertion::Start) => true,
        Part::Concat(parts) => parts.first().is_some_and(begins_at_start),
        Part::Choice(parts) => parts.iter().all(begins_at_start),
        Part::Capture(_, part) => begins_at_start(part),
        Part::Repeat { part, least, .. } => *least > 0 && begins_at_start(part),
        _ => false,
    }
}

//! Matches by trying one path after the other, for patterns with back-references.

use super::program::{Instruction, Program};
use super::set::case_variants;
use super::{Fuel, OutOfFuel, holds, step};

/// The most paths that are kept to be tried later.
const MOST_CHOICES: usize = 1 << 20;

/// Whether `program` matches anywhere in `text`.
pub(super) fn is_match(program: &Program, text: &str, fuel: &mut Fuel) -> Result<bool, OutOfFuel> {
    fuel.burn(program.places as u64)?;
    let mut attempt = Attempt {
        program,
        text,
        fuel,
        places: vec![None; program.places],
        changes: Vec::new(),
    };
    let mut begin = 0;
    loop {
        if attempt.run(0, begin, false)? {
            return Ok(true);
        }
        match step(text, begin, false) {
            Some((_, next)) if !program.is_anchored => begin = next,
            _ => return Ok(false),
        }
    }
}

struct Attempt<'a> {
    program: &'a Program,
    text: &'a str,
    fuel: &'a mut Fuel,
    places: Vec<Option<usize>>,
    /// Places that were overwritten, with their previous values.
    changes: Vec<(usize, Option<usize>)>,
}

impl Attempt<'_> {
    fn run(&mut self, begin: usize, at: usize, backward: bool) -> Result<bool, OutOfFuel> {
        let mut choices = vec![(begin, at, self.changes.len())];
        while let Some((mut place, mut at, changes)) = choices.pop() {
            self.undo(changes);
            loop {
                self.fuel.burn(1)?;
                match self.program.code[place] {
                    Instruction::Match => return Ok(true),
                    Instruction::Jump(next) => {
                        place = next;
                        continue;
                    }
                    Instruction::Split(first, second) => {
                        if choices.len() >= MOST_CHOICES {
                            return Err(OutOfFuel);
                        }
                        choices.push((second, at, self.changes.len()));
                        place = first;
                        continue;
                    }
                    Instruction::Look {
                        end,
                        behind,
                        negative,
                    } => {
                        let before = self.changes.len();
                        let found = self.run(place + 1, at, behind)?;
                        if negative || !found {
                            self.undo(before);
                        }
                        if found == negative {
                            break;
                        }
                        place = end;
                        continue;
                    }
                    Instruction::Back(group, ignores_case) => {
                        match self.repeat(group, at, backward, ignores_case)? {
                            Some(next) => at = next,
                            None => break,
                        }
                    }
                    instruction => match self.simple(instruction, at, backward) {
                        Some(next) => at = next,
                        None => break,
                    },
                }
                place += 1;
            }
        }
        Ok(false)
    }

    /// Runs an instruction that continues with the next one. Returns the new place in the text; `None` if
    /// it does not match.
    fn simple(&mut self, instruction: Instruction, at: usize, backward: bool) -> Option<usize> {
        match instruction {
            Instruction::Char(expected) => {
                let (c, next) = step(self.text, at, backward)?;
                (c == expected).then_some(next)
            }
            Instruction::Set(number) => {
                let (c, next) = step(self.text, at, backward)?;
                self.program.sets[number].contains(c).then_some(next)
            }
            Instruction::Assert(assertion) => holds(assertion, self.text, at).then_some(at),
            Instruction::Save(place) => {
                self.note(place, Some(at));
                Some(at)
            }
            Instruction::Moved(place) => (self.places[place] != Some(at)).then_some(at),
            Instruction::Forget(first, last) => {
                for place in first..=last {
                    self.note(place, None);
                }
                Some(at)
            }
            _ => None,
        }
    }

    fn note(&mut self, place: usize, at: Option<usize>) {
        let before = std::mem::replace(&mut self.places[place], at);
        if before != at {
            self.changes.push((place, before));
        }
    }

    fn undo(&mut self, to: usize) {
        while self.changes.len() > to {
            if let Some((place, before)) = self.changes.pop() {
                self.places[place] = before;
            }
        }
    }

    /// The place after another copy of what the group matched; `None` if there is no copy. A group that
    /// has not matched yet counts as empty.
    fn repeat(
        &mut self,
        group: usize,
        mut at: usize,
        backward: bool,
        ignores_case: bool,
    ) -> Result<Option<usize>, OutOfFuel> {
        let (Some(first), Some(last)) = (self.places[2 * group], self.places[2 * group + 1]) else {
            return Ok(Some(at));
        };
        let (mut from, end) = if backward {
            (last, first)
        } else {
            (first, last)
        };
        while from != end {
            self.fuel.burn(1)?;
            let (Some((expected, next)), Some((c, after))) = (
                step(self.text, from, backward),
                step(self.text, at, backward),
            ) else {
                return Ok(None);
            };
            let is_same = c == expected
                || ignores_case
                    && case_variants(c).any(|c| case_variants(expected).any(|e| e == c));
            if !is_same {
                return Ok(None);
            }
            (from, at) = (next, after);
        }
        Ok(Some(at))
    }
}

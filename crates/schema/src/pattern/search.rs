//! Matches by following all paths through a program at once.

use super::program::{Instruction, Program};
use super::{Fuel, OutOfFuel, holds, step};

/// Whether `program`, which has no back-reference, matches anywhere in `text`.
pub(super) fn is_match(program: &Program, text: &str, fuel: &mut Fuel) -> Result<bool, OutOfFuel> {
    let mut search = Search {
        program,
        text,
        fuel,
    };
    search.run(0, 0, false, program.is_anchored)
}

struct Search<'a> {
    program: &'a Program,
    text: &'a str,
    fuel: &'a mut Fuel,
}

/// Instructions that wait for the next character, each once.
struct Waiting {
    list: Vec<usize>,
    /// For each instruction, the last round in which it was reached.
    met: Vec<u32>,
    round: u32,
}

impl Waiting {
    fn new(size: usize) -> Self {
        Self {
            list: Vec::new(),
            met: vec![0; size],
            round: 1,
        }
    }

    fn clear(&mut self) {
        self.list.clear();
        // Only a text of four billion characters would make this overflow.
        self.round = self.round.wrapping_add(1);
    }
}

impl Search<'_> {
    /// Whether the program that begins at `begin` matches at `at` or, unless `anchored`, at any later
    /// place.
    fn run(
        &mut self,
        begin: usize,
        mut at: usize,
        backward: bool,
        anchored: bool,
    ) -> Result<bool, OutOfFuel> {
        let size = self.program.code.len();
        self.fuel.burn(8 + size as u64 / 8)?;
        let mut current = Waiting::new(size);
        let mut following = Waiting::new(size);
        let mut open = Vec::new();
        if self.follow(begin, at, &mut current, &mut open)? {
            return Ok(true);
        }
        loop {
            if anchored && current.list.is_empty() {
                return Ok(false);
            }
            let Some((c, next)) = step(self.text, at, backward) else {
                return Ok(false);
            };
            self.fuel.burn(1 + current.list.len() as u64)?;
            for &waiting in &current.list {
                let is_taken = match self.program.code[waiting] {
                    Instruction::Char(expected) => expected == c,
                    Instruction::Set(number) => self.program.sets[number].contains(c),
                    _ => false,
                };
                if is_taken && self.follow(waiting + 1, next, &mut following, &mut open)? {
                    return Ok(true);
                }
            }
            if !anchored && self.follow(begin, next, &mut following, &mut open)? {
                return Ok(true);
            }
            std::mem::swap(&mut current, &mut following);
            following.clear();
            at = next;
        }
    }

    /// Follows the program from `begin` to every instruction that takes a character. Returns whether it
    /// reaches the end.
    fn follow(
        &mut self,
        begin: usize,
        at: usize,
        waiting: &mut Waiting,
        open: &mut Vec<usize>,
    ) -> Result<bool, OutOfFuel> {
        open.clear();
        open.push(begin);
        while let Some(place) = open.pop() {
            if waiting.met[place] == waiting.round {
                continue;
            }
            waiting.met[place] = waiting.round;
            self.fuel.burn(1)?;
            match self.program.code[place] {
                Instruction::Match => return Ok(true),
                Instruction::Char(_) | Instruction::Set(_) => waiting.list.push(place),
                Instruction::Jump(next) => open.push(next),
                Instruction::Split(first, second) => open.extend([second, first]),
                Instruction::Assert(assertion) => {
                    if holds(assertion, self.text, at) {
                        open.push(place + 1);
                    }
                }
                Instruction::Look {
                    end,
                    behind,
                    negative,
                } => {
                    if self.run(place + 1, at, behind, true)? != negative {
                        open.push(end);
                    }
                }
                // What a group matched is not needed here, and no instruction is followed twice.
                Instruction::Save(_) | Instruction::Moved(_) | Instruction::Forget(..) => {
                    open.push(place + 1);
                }
                Instruction::Back(..) => return Err(OutOfFuel),
            }
        }
        Ok(false)
    }
}

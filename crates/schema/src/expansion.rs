//! Counts how many schemas apply to one value.
//!
//! `allOf`, `$ref` and the like apply further schemas to the same value. If they double at every level,
//! a schema of a few lines takes more work than any machine can do. Such a schema is refused here,
//! before the first value is checked.

use std::collections::BTreeMap;

use crate::keyword::{Compiled, Number, Rule};
use crate::{BadSchema, Limits};

/// The most visits before a schema is refused: cycles that cross each other could take far more.
const MOST_VISITS: usize = 1_000_000;

/// Checks that no more schemas apply to one value than the limit.
pub(crate) fn check(
    schemas: &[Compiled],
    dynamic: &BTreeMap<(usize, Box<str>), Number>,
    limits: &Limits,
) -> Result<(), BadSchema> {
    let mut expansion = Expansion {
        schemas,
        dynamic,
        limits,
        state: vec![State::New; schemas.len()],
        visits: 0,
    };
    for number in 0..schemas.len() {
        expansion.of(number, 0)?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum State {
    New,
    /// Being counted.
    Open,
    /// Counted without cutting a cycle.
    Known(usize),
}

struct Expansion<'a> {
    schemas: &'a [Compiled],
    dynamic: &'a BTreeMap<(usize, Box<str>), Number>,
    limits: &'a Limits,
    state: Vec<State>,
    visits: usize,
}

impl Expansion<'_> {
    /// Returns how many schemas apply, and whether a cycle was cut to count them.
    fn of(&mut self, number: Number, depth: usize) -> Result<(usize, bool), BadSchema> {
        match self.state[number] {
            State::Known(count) => return Ok((count, false)),
            State::Open => return Ok((1, true)),
            State::New => {}
        }
        self.visits += 1;
        if depth > self.limits.chain || self.visits > MOST_VISITS {
            return Err(self.too_much());
        }
        let Rule::Keywords(keywords) = &self.schemas[number].rule else {
            self.state[number] = State::Known(1);
            return Ok((1, false));
        };
        self.state[number] = State::Open;
        let mut total = 1_usize;
        let mut has_cycle = false;
        for keyword in keywords {
            for inner in keyword.in_place() {
                let (count, cycle) = self.of(inner, depth + 1)?;
                total = total.saturating_add(count);
                has_cycle |= cycle;
            }
            if let crate::keyword::Keyword::Dynamic { anchor, target, .. } = keyword {
                let (count, cycle) = self.of_anchor(anchor, *target, depth)?;
                total = total.saturating_add(count);
                has_cycle |= cycle;
            }
        }
        if total > self.limits.expansion {
            return Err(self.too_much());
        }
        self.state[number] = if has_cycle {
            State::New
        } else {
            State::Known(total)
        };
        Ok((total, has_cycle))
    }

    /// The most schemas that a dynamic reference can lead to.
    fn of_anchor(
        &mut self,
        anchor: &str,
        target: Number,
        depth: usize,
    ) -> Result<(usize, bool), BadSchema> {
        let dynamic = self.dynamic;
        let mut largest = self.of(target, depth + 1)?;
        for ((_, name), &number) in dynamic {
            if **name == *anchor && number != target {
                let (count, cycle) = self.of(number, depth + 1)?;
                largest = (largest.0.max(count), largest.1 || cycle);
            }
        }
        Ok(largest)
    }

    fn too_much(&self) -> BadSchema {
        BadSchema::TooMuch(format!(
            "more than {} of its subschemas apply to one value",
            self.limits.expansion
        ))
    }
}

//! How many schemas come to apply to one value.
//!
//! `allOf`, `$ref` and the like hand a value on to other schemas. Where they double at every level, a
//! schema of a few lines asks for more than any machine can do; that is found out here, before the
//! first value is looked at.

use std::collections::BTreeMap;

use crate::keyword::{Compiled, Number, Rule};
use crate::{BadSchema, Limits};

/// Visits for each schema, on average, before circles that cross each other are given up.
const MOST_VISITS: usize = 1_000_000;

/// Whether no value has more schemas than it may.
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
    /// It is being counted.
    Open,
    /// Counted, without a circle that was cut.
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
    /// How many schemas apply, and whether a circle was cut to count them.
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
        let mut has_circle = false;
        for keyword in keywords {
            for inner in keyword.in_place() {
                let (count, circle) = self.of(inner, depth + 1)?;
                total = total.saturating_add(count);
                has_circle |= circle;
            }
            if let crate::keyword::Keyword::Dynamic { anchor, target, .. } = keyword {
                let (count, circle) = self.of_anchor(anchor, *target, depth)?;
                total = total.saturating_add(count);
                has_circle |= circle;
            }
        }
        if total > self.limits.expansion {
            return Err(self.too_much());
        }
        self.state[number] = if has_circle {
            State::New
        } else {
            State::Known(total)
        };
        Ok((total, has_circle))
    }

    /// The most that a dynamic reference can come to.
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
                let (count, circle) = self.of(number, depth + 1)?;
                largest = (largest.0.max(count), largest.1 || circle);
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

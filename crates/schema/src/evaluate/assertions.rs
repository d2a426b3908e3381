//! Keywords that check a value without applying other schemas.

use runseal_core::canon::{Kind, Node, Value};

use super::{Check, Instance, Path, Verdict};
use crate::keyword::{Bound, Keyword, Number};
use crate::number::is_multiple;
use crate::pattern::Fuel;
use crate::{Exhausted, message};

/// Steps of matching a pattern that count as one step here.
const FUEL_A_STEP: u64 = 8;

impl<'s> Check<'s> {
    #[inline(never)]
    pub(super) fn assert(
        &mut self,
        number: Number,
        keyword: &'s Keyword,
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        self.step(1)?;
        let is_valid = match keyword {
            Keyword::Type(bits) => has_type(instance, *bits),
            Keyword::Const(value) => self.equals(instance, value)?,
            Keyword::Enum(values) => self.is_among(instance, values)?,
            Keyword::MultipleOf(bound) => {
                let number = instance.number();
                number.is_none_or(|value| is_multiple(value, bound.value))
            }
            Keyword::Minimum(bound) => instance
                .number()
                .is_none_or(|value| !is_below(value, bound)),
            Keyword::Maximum(bound) => instance
                .number()
                .is_none_or(|value| !is_above(value, bound)),
            Keyword::Pattern(pattern) => match instance.text() {
                Some(text) => self.matches(*pattern, &text)?,
                None => true,
            },
            Keyword::MinLength(_) | Keyword::MaxLength(_) => {
                return self.length(number, keyword, instance, path);
            }
            Keyword::Required(names) => return self.required(number, names, instance, path),
            Keyword::DependentRequired(name, listed) => {
                return self.dependent_required(number, name, listed, instance, path);
            }
            _ => return self.count(number, keyword, instance, path),
        };
        if is_valid || self.is_quiet {
            return Ok(is_valid);
        }
        let name = match keyword {
            Keyword::Minimum(bound) if bound.is_exclusive => "exclusiveMinimum",
            Keyword::Maximum(bound) if bound.is_exclusive => "exclusiveMaximum",
            keyword => keyword.name(),
        };
        let patterns = &self.schema.patterns;
        self.violation(number, name, path, || {
            let expected = match keyword {
                Keyword::Type(bits) => message::types(*bits),
                Keyword::Const(value) => message::value(value),
                Keyword::Enum(values) => message::one_of(values),
                Keyword::Minimum(bound) => message::least(bound),
                Keyword::Maximum(bound) => message::most(bound),
                Keyword::MultipleOf(bound) => {
                    format!("a multiple of {}", message::shorten(&bound.text, 40))
                }
                Keyword::Pattern(pattern) => {
                    let text = message::shorten(&patterns[*pattern].0, 80);
                    format!("a string that matches `{text}`")
                }
                _ => String::new(),
            };
            format!(
                "expected {expected}, found {}",
                message::quote_instance(instance)
            )
        })
    }

    fn is_among(&mut self, instance: Instance<'_>, values: &[Value]) -> Verdict {
        for value in values {
            if self.equals(instance, value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `text` contains a match of a pattern.
    pub(super) fn matches(&mut self, pattern: usize, text: &str) -> Verdict {
        let all = self.steps.saturating_mul(FUEL_A_STEP);
        let mut fuel = Fuel::new(all);
        let found = self.schema.patterns[pattern].1.is_match(text, &mut fuel);
        self.step((all - fuel.left()).div_ceil(FUEL_A_STEP))?;
        found.map_err(|_| Exhausted::Steps(self.schema.limits.steps))
    }

    fn length(
        &mut self,
        number: Number,
        keyword: &Keyword,
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        let Some(text) = instance.text() else {
            return Ok(true);
        };
        self.read(&text)?;
        let length = text.chars().count() as u64;
        self.compare(number, keyword, (length, "character"), path)
    }

    /// Keywords about the number of elements or members, and about duplicates.
    fn count(
        &mut self,
        number: Number,
        keyword: &Keyword,
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        let (array, object) = (instance.array(), instance.object());
        let (count, noun) = match (keyword, array, object) {
            (Keyword::UniqueItems, Some(array), _) => {
                return self.unique_items(number, array, path);
            }
            (Keyword::MinItems(_) | Keyword::MaxItems(_), Some(array), _) => {
                (array.items().len(), "element")
            }
            (Keyword::MinProperties(_) | Keyword::MaxProperties(_), _, Some(object)) => {
                (object.members().len(), "member")
            }
            _ => return Ok(true),
        };
        self.compare(number, keyword, (count as u64, noun), path)
    }

    fn compare(
        &mut self,
        number: Number,
        keyword: &Keyword,
        (count, noun): (u64, &str),
        path: &Path<'_>,
    ) -> Verdict {
        let (is_valid, than, bound) = match keyword {
            Keyword::MinLength(least)
            | Keyword::MinItems(least)
            | Keyword::MinProperties(least) => (count >= *least, "at least", *least),
            Keyword::MaxLength(most) | Keyword::MaxItems(most) | Keyword::MaxProperties(most) => {
                (count <= *most, "at most", *most)
            }
            _ => return Ok(true),
        };
        if is_valid {
            return Ok(true);
        }
        self.violation(number, keyword.name(), path, || {
            let bound = message::counted(bound, noun);
            format!("expected {than} {bound}, found {count}")
        })
    }

    fn unique_items(&mut self, number: Number, array: Node<'_>, path: &Path<'_>) -> Verdict {
        match self.find_duplicates(array)? {
            None => Ok(true),
            Some((first, second)) => self.violation(number, "uniqueItems", path, || {
                format!("expected elements that differ, found equal ones at {first} and {second}")
            }),
        }
    }

    fn required(
        &mut self,
        number: Number,
        names: &[Box<str>],
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        let Some(object) = instance.object() else {
            return Ok(true);
        };
        let mut is_valid = true;
        for name in names {
            self.step(1)?;
            if object.get(name).is_none() {
                is_valid = self.violation(number, "required", path, || {
                    format!(
                        "expected the member {}, found none",
                        message::names([&**name].into_iter())
                    )
                })?;
                if self.is_quiet {
                    break;
                }
            }
        }
        Ok(is_valid)
    }

    fn dependent_required(
        &mut self,
        number: Number,
        keyword: &str,
        listed: &[(Box<str>, Vec<Box<str>>)],
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        let Some(object) = instance.object() else {
            return Ok(true);
        };
        let mut is_valid = true;
        for (present, names) in listed {
            self.step(1)?;
            if object.get(present).is_none() {
                continue;
            }
            for name in names {
                self.step(1)?;
                if object.get(name).is_some() {
                    continue;
                }
                is_valid = self.violation(number, keyword, path, || {
                    let name = message::names([&**name].into_iter());
                    let present = message::names([&**present].into_iter());
                    format!("expected the member {name} because there is {present}, found none")
                })?;
                if self.is_quiet {
                    return Ok(false);
                }
            }
        }
        Ok(is_valid)
    }
}

/// Whether a value has one of the types, which are bits in the order of [`crate::draft::TYPES`].
fn has_type(instance: Instance<'_>, bits: u8) -> bool {
    let has = |bit: u8| bits >> bit & 1 == 1;
    match instance.kind() {
        Kind::Array => has(0),
        Kind::Bool => has(1),
        Kind::Null => has(3),
        Kind::Number => {
            let is_integer = || instance.number().is_some_and(|value| value.fract() == 0.0);
            has(4) || has(2) && is_integer()
        }
        Kind::Object => has(5),
        Kind::String => has(6),
    }
}

fn is_below(value: f64, bound: &Bound) -> bool {
    value < bound.value || bound.is_exclusive && value == bound.value
}

fn is_above(value: f64, bound: &Bound) -> bool {
    value > bound.value || bound.is_exclusive && value == bound.value
}

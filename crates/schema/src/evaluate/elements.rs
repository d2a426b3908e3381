//! Keywords about the elements of arrays.

use super::{Check, Instance, Path, Step, Verdict};
use crate::evaluated::Marks;
use crate::keyword::Number;
use crate::message;

impl Check<'_> {
    #[inline(never)]
    pub(super) fn items(
        &mut self,
        first: &[Number],
        rest: Option<Number>,
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let Some(array) = instance.array() else {
            return Ok(true);
        };
        let mut is_valid = true;
        for (at, item) in array.items().enumerate() {
            let Some(schema) = first.get(at).copied().or(rest) else {
                break;
            };
            if let Some(marks) = marks.as_deref_mut() {
                marks.set(at);
            }
            let path = path.to(Step::Element(at));
            is_valid &= self.apply(schema, Instance::Node(item), &path, None)?;
            if !is_valid && self.is_quiet {
                break;
            }
        }
        Ok(is_valid)
    }

    /// Like [`Check::items`], but there may be no more elements than schemas.
    #[inline(never)]
    pub(super) fn tuple(
        &mut self,
        number: Number,
        first: &[Number],
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        let is_valid = self.items(first, None, instance, path, marks)?;
        let count = instance.array().map_or(0, |array| array.items().len());
        if count <= first.len() {
            return Ok(is_valid);
        }
        self.violation(number, "additionalItems", path, || {
            let most = message::counted(first.len() as u64, "element");
            format!("expected at most {most}, found {count}")
        })
    }

    #[inline(never)]
    pub(super) fn contains(
        &mut self,
        number: Number,
        (schema, least, most): (Number, u64, Option<u64>),
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let Some(array) = instance.array() else {
            return Ok(true);
        };
        let mut count = 0_u64;
        for (at, item) in array.items().enumerate() {
            if count >= least && most.is_none() && marks.is_none() {
                break;
            }
            let inner = path.to(Step::Element(at));
            if self.test(schema, Instance::Node(item), &inner, None)? {
                count += 1;
                if let Some(marks) = marks.as_deref_mut() {
                    marks.set(at);
                }
            }
        }
        let (keyword, than, bound) = match most {
            Some(most) if count > most => ("maxContains", "at most", most),
            _ if count < least => ("contains", "at least", least),
            _ => return Ok(true),
        };
        self.violation(number, keyword, path, || {
            let bound = message::counted(bound, "element");
            format!(
                "expected {than} {bound} that the schema under `contains` allows, found {count}"
            )
        })
    }

    #[inline(never)]
    pub(super) fn unevaluated_items(
        &mut self,
        number: Number,
        schema: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        let (Some(array), Some(marks)) = (instance.array(), marks) else {
            return Ok(true);
        };
        let mut refused = Vec::new();
        for (at, item) in array.items().enumerate() {
            self.step(1)?;
            if marks.is_set(at) {
                continue;
            }
            let inner = path.to(Step::Element(at));
            if !self.test(schema, Instance::Node(item), &inner, None)? {
                refused.push(at);
                if self.is_quiet {
                    break;
                }
            }
        }
        marks.set_all();
        if refused.is_empty() {
            return Ok(true);
        }
        self.violation(number, "unevaluatedItems", path, || {
            let refused: Vec<String> = refused.iter().take(8).map(usize::to_string).collect();
            format!(
                "expected no elements beyond those that other keywords evaluate, found them at {}",
                refused.join(", ")
            )
        })
    }
}

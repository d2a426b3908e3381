//! Keywords that apply several schemas to the same value.

use super::{Check, Instance, Path, Verdict};
use crate::evaluated::Marks;
use crate::keyword::Number;
use crate::message;

impl Check<'_> {
    #[inline(never)]
    pub(super) fn all_of(
        &mut self,
        schemas: &[Number],
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let mut is_valid = true;
        for &schema in schemas {
            let Some(marks) = marks.as_deref_mut() else {
                is_valid &= self.apply(schema, instance, path, None)?;
                if !is_valid && self.is_quiet {
                    break;
                }
                continue;
            };
            let mut own = marks.fresh();
            self.step(own.steps())?;
            let allows = self.apply(schema, instance, path, Some(&mut own))?;
            if allows {
                marks.add(&own);
            }
            is_valid &= allows;
        }
        Ok(is_valid)
    }

    /// Tests a schema; what it evaluates only counts if it allows the value.
    pub(super) fn test_branch(
        &mut self,
        schema: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        let Some(marks) = marks else {
            return self.test(schema, instance, path, None);
        };
        let mut own = marks.fresh();
        self.step(own.steps())?;
        let is_valid = self.test(schema, instance, path, Some(&mut own))?;
        if is_valid {
            marks.add(&own);
        }
        Ok(is_valid)
    }

    #[inline(never)]
    pub(super) fn any_of(
        &mut self,
        number: Number,
        schemas: &[Number],
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let mut is_valid = false;
        for &schema in schemas {
            is_valid |= self.test_branch(schema, instance, path, marks.as_deref_mut())?;
            if is_valid && marks.is_none() {
                break;
            }
        }
        if is_valid {
            return Ok(true);
        }
        self.violation(number, "anyOf", path, || {
            let found = message::quote_instance(instance);
            let count = message::counted(schemas.len() as u64, "schema");
            format!(
                "expected something that one of the {count} under `anyOf` allows, found {found}"
            )
        })
    }

    #[inline(never)]
    pub(super) fn one_of(
        &mut self,
        number: Number,
        schemas: &[Number],
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let mut allowing = 0;
        for &schema in schemas {
            let is_valid = self.test_branch(schema, instance, path, marks.as_deref_mut())?;
            allowing += u64::from(is_valid);
            if allowing > 1 {
                break;
            }
        }
        if allowing == 1 {
            return Ok(true);
        }
        self.violation(number, "oneOf", path, || {
            let found = message::quote_instance(instance);
            let count = message::counted(schemas.len() as u64, "schema");
            let allowing = if allowing == 0 { "none allows" } else { "more than one allows" };
            format!("expected something that exactly one of the {count} under `oneOf` allows, found {found}, which {allowing}")
        })
    }

    #[inline(never)]
    pub(super) fn condition(
        &mut self,
        condition: Number,
        then: Option<Number>,
        otherwise: Option<Number>,
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        if then.is_none() && otherwise.is_none() && marks.is_none() {
            return Ok(true);
        }
        let is_met = self.test_branch(condition, instance, path, marks.as_deref_mut())?;
        match if is_met { then } else { otherwise } {
            Some(schema) => self.apply(schema, instance, path, marks),
            None => Ok(true),
        }
    }
}

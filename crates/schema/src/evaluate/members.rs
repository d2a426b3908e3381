//! Keywords about the members of objects.

use super::{Check, Instance, Path, Step, Verdict};
use crate::evaluated::Marks;
use crate::keyword::{Keyword, Number};
use crate::message;

impl<'s> Check<'s> {
    #[inline(never)]
    pub(super) fn dependent_schemas(
        &mut self,
        schemas: &[(Box<str>, Number)],
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let Some(object) = instance.object() else {
            return Ok(true);
        };
        let mut is_valid = true;
        for (name, schema) in schemas {
            self.step(1)?;
            if object.get(name).is_some() {
                is_valid &= self.apply(*schema, instance, path, marks.as_deref_mut())?;
                if !is_valid && self.is_quiet {
                    break;
                }
            }
        }
        Ok(is_valid)
    }

    /// `properties`, `patternProperties` and `additionalProperties`.
    #[inline(never)]
    pub(super) fn properties(
        &mut self,
        number: Number,
        keyword: &'s Keyword,
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let (
            Some(object),
            Keyword::Properties {
                named,
                matching,
                rest,
            },
        ) = (instance.object(), keyword)
        else {
            return Ok(true);
        };
        if matching.is_empty() && rest.is_none() && marks.is_none() {
            return self.named(named, instance, path);
        }
        let is_closed = rest.is_some_and(|rest| self.allows_nothing(rest));
        let mut is_valid = true;
        let mut refused = Vec::new();
        for (at, (key, value)) in object.members().enumerate() {
            let name = key.to_lossy();
            self.read(&name)?;
            let value = Instance::Node(value);
            let path = path.to(Step::Member(&name));
            let mut is_known = false;
            if let Ok(found) = named.binary_search_by(|(known, _)| (**known).cmp(&name)) {
                is_known = true;
                is_valid &= self.apply(named[found].1, value, &path, None)?;
            }
            for &(pattern, schema) in matching {
                if self.matches(pattern, &name)? {
                    is_known = true;
                    is_valid &= self.apply(schema, value, &path, None)?;
                }
            }
            match rest {
                Some(_) if !is_known && is_closed => {
                    is_valid = false;
                    refused.push(name.clone().into_owned());
                }
                Some(rest) if !is_known => {
                    is_known = true;
                    is_valid &= self.apply(*rest, value, &path, None)?;
                }
                _ => {}
            }
            if let Some(marks) = marks.as_deref_mut()
                && is_known
            {
                marks.set(at);
            }
            if !is_valid && self.is_quiet {
                return Ok(false);
            }
        }
        if !refused.is_empty() {
            self.violation(number, keyword.name(), path, || {
                let refused = message::names(refused.iter().map(String::as_str));
                format!("expected no other members, found {refused}")
            })?;
        }
        Ok(is_valid)
    }

    /// `properties` alone: one lookup for each of its names.
    #[inline(never)]
    fn named(
        &mut self,
        named: &[(Box<str>, Number)],
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        let Some(object) = instance.object() else {
            return Ok(true);
        };
        let mut is_valid = true;
        for (name, schema) in named {
            self.step(1)?;
            if let Some(value) = object.get(name) {
                let path = path.to(Step::Member(name));
                is_valid &= self.apply(*schema, Instance::Node(value), &path, None)?;
                if !is_valid && self.is_quiet {
                    break;
                }
            }
        }
        Ok(is_valid)
    }

    #[inline(never)]
    pub(super) fn property_names(
        &mut self,
        number: Number,
        schema: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
    ) -> Verdict {
        let Some(object) = instance.object() else {
            return Ok(true);
        };
        if self.allows_nothing(schema) && object.members().len() > 0 {
            return self.violation(number, "propertyNames", path, || {
                let count = message::counted(object.members().len() as u64, "member");
                format!("expected an object without members, found {count}")
            });
        }
        let mut is_valid = true;
        for (key, _) in object.members() {
            let name = key.to_lossy();
            self.read(&name)?;
            let path = path.to(Step::None);
            is_valid &= self.apply(schema, Instance::Name(&name), &path, None)?;
            if !is_valid && self.is_quiet {
                break;
            }
        }
        Ok(is_valid)
    }

    #[inline(never)]
    pub(super) fn unevaluated_properties(
        &mut self,
        number: Number,
        schema: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        let (Some(object), Some(marks)) = (instance.object(), marks) else {
            return Ok(true);
        };
        let mut refused = Vec::new();
        for (at, (key, value)) in object.members().enumerate() {
            self.step(1)?;
            if marks.is_set(at) {
                continue;
            }
            let name = key.to_lossy();
            self.read(&name)?;
            let inner = path.to(Step::Member(&name));
            if !self.test(schema, Instance::Node(value), &inner, None)? {
                refused.push(name.into_owned());
                if self.is_quiet {
                    break;
                }
            }
        }
        marks.set_all();
        if refused.is_empty() {
            return Ok(true);
        }
        self.violation(number, "unevaluatedProperties", path, || {
            let refused = message::names(refused.iter().map(String::as_str));
            format!(
                "expected no members beyond those that other keywords evaluate, found {refused}"
            )
        })
    }
}

//! The keywords of one schema.

use runseal_core::canon::Node;

use super::{Compiler, Open};
use crate::BadSchema;
use crate::draft::{Draft, TYPES};
use crate::keyword::{Bound, Keyword};
use crate::registry::escape;

impl<'a> Compiler<'a, '_> {
    pub(super) fn assertions(&mut self, open: &mut Open<'a>) -> Result<(), BadSchema> {
        let node = open.node;
        if let Some(types) = node.get("type") {
            let bit = |node: Node<'_>| {
                let name = node.as_str().unwrap_or_default();
                TYPES.iter().position(|known| *known == name)
            };
            let all = types.items().chain(types.is_string().then_some(types));
            let bits = all.filter_map(bit).fold(0, |bits, bit| bits | 1 << bit);
            open.keywords.push(Keyword::Type(bits));
        }
        if let Some(value) = node.get("const").filter(|_| open.draft >= Draft::Draft6) {
            open.keywords.push(Keyword::Const(value.to_value()));
        }
        if let Some(items) = node.get("enum").and_then(|node| node.as_array()) {
            let values = items.map(|item| item.to_value()).collect();
            open.keywords.push(Keyword::Enum(values));
        }
        let bound = |name: &str, is_exclusive: bool| {
            let number = node.get(name)?.as_number()?;
            Some(Bound {
                value: number.to_f64(),
                text: number.text().into(),
                is_exclusive,
            })
        };
        let flag = |name: &str| node.get(name).and_then(|node| node.as_bool()) == Some(true);
        let is_four = open.draft == Draft::Draft4;
        let (below, above) = if is_four {
            (flag("exclusiveMinimum"), flag("exclusiveMaximum"))
        } else {
            (false, false)
        };
        let bounds = [
            bound("multipleOf", false).map(Keyword::MultipleOf),
            bound("minimum", below).map(Keyword::Minimum),
            bound("maximum", above).map(Keyword::Maximum),
            bound("exclusiveMinimum", true).map(Keyword::Minimum),
            bound("exclusiveMaximum", true).map(Keyword::Maximum),
        ];
        open.keywords.extend(bounds.into_iter().flatten());
        let counts = [
            count(node, "minLength").map(Keyword::MinLength),
            count(node, "maxLength").map(Keyword::MaxLength),
            count(node, "minItems").map(Keyword::MinItems),
            count(node, "maxItems").map(Keyword::MaxItems),
            count(node, "minProperties").map(Keyword::MinProperties),
            count(node, "maxProperties").map(Keyword::MaxProperties),
            flag("uniqueItems").then_some(Keyword::UniqueItems),
        ];
        open.keywords.extend(counts.into_iter().flatten());
        if let Some(text) = node.get("pattern").and_then(|node| node.as_lossy_str()) {
            let number = self.pattern(open, &text, "/pattern")?;
            open.keywords.push(Keyword::Pattern(number));
        }
        if let Some(required) = node.get("required").and_then(names) {
            open.keywords.push(Keyword::Required(required));
        }
        if open.draft >= Draft::Draft2019_09
            && let Some(members) = node.get("dependentRequired")
        {
            let listed = listed_names(members);
            open.keywords
                .push(Keyword::DependentRequired("dependentRequired", listed));
        }
        Ok(())
    }

    /// Keywords whose schemas apply to the same value.
    pub(super) fn in_place(&mut self, open: &mut Open<'a>) -> Result<(), BadSchema> {
        if let Some(schemas) = self.list(open, "allOf")? {
            open.keywords.push(Keyword::AllOf(schemas));
        }
        if let Some(schemas) = self.list(open, "anyOf")? {
            open.keywords.push(Keyword::AnyOf(schemas));
        }
        if let Some(schemas) = self.list(open, "oneOf")? {
            open.keywords.push(Keyword::OneOf(schemas));
        }
        if let Some(schema) = self.keyword_schema(open, "not")? {
            open.keywords.push(Keyword::Not(schema));
        }
        let has_branch = ["then", "else"]
            .iter()
            .any(|name| open.node.get(name).is_some());
        // Without a branch it asserts nothing, but since 2019-09 it still evaluates.
        if (open.draft >= Draft::Draft2019_09 || open.draft == Draft::Draft7 && has_branch)
            && let Some(condition) = self.keyword_schema(open, "if")?
        {
            let then = self.keyword_schema(open, "then")?;
            let otherwise = self.keyword_schema(open, "else")?;
            open.keywords.push(Keyword::If {
                condition,
                then,
                otherwise,
            });
        }
        if open.draft >= Draft::Draft2019_09 {
            self.dependent_schemas(open, "dependentSchemas")?;
        }
        // Later drafts split it in two, but implementations may still support it.
        if let Some(members) = open.node.get("dependencies") {
            let listed = listed_names(members);
            if !listed.is_empty() {
                open.keywords
                    .push(Keyword::DependentRequired("dependencies", listed));
            }
            self.dependent_schemas(open, "dependencies")?;
        }
        Ok(())
    }

    fn dependent_schemas(
        &mut self,
        open: &mut Open<'a>,
        keyword: &'static str,
    ) -> Result<(), BadSchema> {
        let named = self.named(open, keyword)?;
        if !named.is_empty() {
            open.keywords
                .push(Keyword::DependentSchemas(keyword, named));
        }
        Ok(())
    }

    pub(super) fn for_items(&mut self, open: &mut Open<'a>) -> Result<(), BadSchema> {
        let items = open.node.get("items");
        let is_list = items.is_some_and(|items| items.as_array().is_some());
        let (first, rest) = match open.draft {
            Draft::Draft2020_12 => ("prefixItems", "items"),
            _ => ("items", if is_list { "additionalItems" } else { "items" }),
        };
        let first = self.list(open, first)?.unwrap_or_default();
        let rest = if rest == "items" && is_list {
            None
        } else {
            self.keyword_schema(open, rest)?
        };
        if !first.is_empty() || rest.is_some() {
            let is_tuple = is_list && open.draft <= Draft::Draft2019_09;
            open.keywords.push(Keyword::Items {
                first,
                rest,
                is_tuple,
            });
        }
        if open.draft >= Draft::Draft6
            && let Some(schema) = self.keyword_schema(open, "contains")?
        {
            let counts = open.draft >= Draft::Draft2019_09 && open.asserts;
            let count = |name: &str| counts.then(|| count(open.node, name)).flatten();
            open.keywords.push(Keyword::Contains {
                schema,
                least: count("minContains").unwrap_or(1),
                most: count("maxContains"),
                evaluates: open.draft >= Draft::Draft2020_12,
            });
        }
        if open.draft >= Draft::Draft2019_09
            && let Some(schema) = self.keyword_schema(open, "unevaluatedItems")?
        {
            open.keywords.push(Keyword::UnevaluatedItems(schema));
        }
        Ok(())
    }

    pub(super) fn for_members(&mut self, open: &mut Open<'a>) -> Result<(), BadSchema> {
        let named = self.named(open, "properties")?;
        let mut matching = Vec::new();
        for (text, schema) in self.named(open, "patternProperties")? {
            let step = format!("/patternProperties/{}", escape(&text));
            matching.push((self.pattern(open, &text, &step)?, schema));
        }
        let rest = self.keyword_schema(open, "additionalProperties")?;
        if !named.is_empty() || !matching.is_empty() || rest.is_some() {
            open.keywords.push(Keyword::Properties {
                named,
                matching,
                rest,
            });
        }
        if open.draft >= Draft::Draft6
            && let Some(schema) = self.keyword_schema(open, "propertyNames")?
        {
            open.keywords.push(Keyword::PropertyNames(schema));
        }
        if open.draft >= Draft::Draft2019_09
            && let Some(schema) = self.keyword_schema(open, "unevaluatedProperties")?
        {
            open.keywords.push(Keyword::UnevaluatedProperties(schema));
        }
        Ok(())
    }
}

/// The value of a keyword that is a count.
fn count(node: Node<'_>, name: &str) -> Option<u64> {
    // The cast saturates: nothing reaches the largest number.
    node.get(name)?
        .as_number()
        .map(|number| number.to_f64() as u64)
}

fn names(node: Node<'_>) -> Option<Vec<Box<str>>> {
    let items = node.as_array()?;
    let name = |item: Node<'_>| item.as_lossy_str().map(|text| text.as_ref().into());
    Some(items.filter_map(name).collect())
}

/// The lists of names among the members of an object.
fn listed_names(node: Node<'_>) -> Vec<(Box<str>, Vec<Box<str>>)> {
    let members = node.members();
    let listed = members.filter_map(|(key, value)| {
        let name = key.to_lossy().as_ref().into();
        Some((name, names(value)?))
    });
    listed.collect()
}

//! The drafts of JSON Schema, and what each demands of a keyword's value.

use runseal_core::canon::Node;

/// A draft of JSON Schema; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4
    Draft4,
    /// Draft 6
    Draft6,
    /// Draft 7
    Draft7,
    /// Draft 2019-09
    Draft2019_09,
    /// Draft 2020-12
    Draft2020_12,
}

impl Draft {
    /// The draft whose meta-schema has this address.
    pub(crate) fn find(address: &str) -> Option<Self> {
        let bare = address.strip_suffix('#').unwrap_or(address);
        let place = bare
            .strip_prefix("http://json-schema.org/")
            .or_else(|| bare.strip_prefix("https://json-schema.org/"))?;
        match place {
            "draft-04/schema" => Some(Self::Draft4),
            "draft-06/schema" => Some(Self::Draft6),
            "draft-07/schema" => Some(Self::Draft7),
            "draft/2019-09/schema" => Some(Self::Draft2019_09),
            "draft/2020-12/schema" => Some(Self::Draft2020_12),
            _ => None,
        }
    }

    /// The keyword that gives a part of a schema its id.
    pub(crate) fn id_keyword(self) -> &'static str {
        match self {
            Self::Draft4 => "id",
            _ => "$id",
        }
    }

    /// Whether a `$ref` makes the other keywords next to it meaningless.
    pub(crate) fn ignores_siblings_of_ref(self) -> bool {
        self <= Self::Draft7
    }

    /// The shape that the value of `keyword` must have; `None` if the draft does not know the keyword.
    pub(crate) fn shape(self, keyword: &str) -> Option<Shape> {
        let at = KEYWORDS
            .binary_search_by(|known| known.0.cmp(keyword))
            .ok()?;
        let (_, first, last, shape) = KEYWORDS[at];
        // Keywords whose meaning changed.
        let shape = match (keyword, self) {
            ("exclusiveMaximum" | "exclusiveMinimum", Self::Draft4) => Shape::Flag,
            ("items", Self::Draft2020_12) => Shape::Schema,
            ("enum", Self::Draft4) => Shape::FilledList,
            ("additionalItems" | "additionalProperties", Self::Draft4) => Shape::SchemaOrFlag,
            ("$recursiveAnchor", Self::Draft2020_12) => Shape::Anchor,
            (_, _) => shape,
        };
        (first..=last).contains(&self).then_some(shape)
    }
}

/// The shape that a keyword's value must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A schema.
    Schema,
    /// A schema, or a boolean in a draft in which booleans are not schemas.
    SchemaOrFlag,
    /// A non-empty list of schemas.
    Schemas,
    /// A schema, or a non-empty list of schemas.
    SchemaOrSchemas,
    /// Schemas by name.
    SchemaMap,
    /// Schemas by pattern.
    PatternMap,
    /// Schemas or lists of names, by name.
    Dependencies,
    /// Lists of names, by name.
    NameMap,
    /// A list of distinct names.
    Names,
    /// The name of a type, or a list of them.
    Types,
    /// A list.
    List,
    /// A non-empty list.
    FilledList,
    /// A string.
    Text,
    /// A regular expression.
    Pattern,
    /// A reference without a fragment or with an empty one; in older drafts any reference.
    Id,
    /// A name for a part of a schema.
    Anchor,
    /// `true` or `false`.
    Flag,
    /// Booleans by name.
    FlagMap,
    /// A number.
    Number,
    /// A number greater than zero.
    Positive,
    /// A non-negative integer.
    Count,
}

/// Each keyword with the first and the last draft that know it, and its shape; sorted.
const KEYWORDS: [(&str, Draft, Draft, Shape); 61] = {
    use Draft::{Draft4, Draft6, Draft7, Draft2019_09, Draft2020_12};
    [
        ("$anchor", Draft2019_09, Draft2020_12, Shape::Anchor),
        ("$comment", Draft7, Draft2020_12, Shape::Text),
        ("$defs", Draft2019_09, Draft2020_12, Shape::SchemaMap),
        ("$dynamicAnchor", Draft2020_12, Draft2020_12, Shape::Anchor),
        ("$dynamicRef", Draft2020_12, Draft2020_12, Shape::Text),
        ("$id", Draft6, Draft2020_12, Shape::Id),
        ("$recursiveAnchor", Draft2019_09, Draft2020_12, Shape::Flag),
        ("$recursiveRef", Draft2019_09, Draft2020_12, Shape::Text),
        ("$ref", Draft6, Draft2020_12, Shape::Text),
        ("$schema", Draft4, Draft2020_12, Shape::Text),
        ("$vocabulary", Draft2019_09, Draft2020_12, Shape::FlagMap),
        ("additionalItems", Draft4, Draft2019_09, Shape::Schema),
        ("additionalProperties", Draft4, Draft2020_12, Shape::Schema),
        ("allOf", Draft4, Draft2020_12, Shape::Schemas),
        ("anyOf", Draft4, Draft2020_12, Shape::Schemas),
        ("contains", Draft6, Draft2020_12, Shape::Schema),
        ("contentEncoding", Draft7, Draft2020_12, Shape::Text),
        ("contentMediaType", Draft7, Draft2020_12, Shape::Text),
        ("contentSchema", Draft2019_09, Draft2020_12, Shape::Schema),
        ("definitions", Draft4, Draft2020_12, Shape::SchemaMap),
        ("dependencies", Draft4, Draft2020_12, Shape::Dependencies),
        (
            "dependentRequired",
            Draft2019_09,
            Draft2020_12,
            Shape::NameMap,
        ),
        (
            "dependentSchemas",
            Draft2019_09,
            Draft2020_12,
            Shape::SchemaMap,
        ),
        ("deprecated", Draft2019_09, Draft2020_12, Shape::Flag),
        ("description", Draft4, Draft2020_12, Shape::Text),
        ("else", Draft7, Draft2020_12, Shape::Schema),
        ("enum", Draft4, Draft2020_12, Shape::List),
        ("examples", Draft6, Draft2020_12, Shape::List),
        ("exclusiveMaximum", Draft4, Draft2020_12, Shape::Number),
        ("exclusiveMinimum", Draft4, Draft2020_12, Shape::Number),
        ("format", Draft4, Draft2020_12, Shape::Text),
        ("id", Draft4, Draft4, Shape::Id),
        ("if", Draft7, Draft2020_12, Shape::Schema),
        ("items", Draft4, Draft2020_12, Shape::SchemaOrSchemas),
        ("maxContains", Draft2019_09, Draft2020_12, Shape::Count),
        ("maxItems", Draft4, Draft2020_12, Shape::Count),
        ("maxLength", Draft4, Draft2020_12, Shape::Count),
        ("maxProperties", Draft4, Draft2020_12, Shape::Count),
        ("maximum", Draft4, Draft2020_12, Shape::Number),
        ("minContains", Draft2019_09, Draft2020_12, Shape::Count),
        ("minItems", Draft4, Draft2020_12, Shape::Count),
        ("minLength", Draft4, Draft2020_12, Shape::Count),
        ("minProperties", Draft4, Draft2020_12, Shape::Count),
        ("minimum", Draft4, Draft2020_12, Shape::Number),
        ("multipleOf", Draft4, Draft2020_12, Shape::Positive),
        ("not", Draft4, Draft2020_12, Shape::Schema),
        ("oneOf", Draft4, Draft2020_12, Shape::Schemas),
        ("pattern", Draft4, Draft2020_12, Shape::Pattern),
        ("patternProperties", Draft4, Draft2020_12, Shape::PatternMap),
        ("prefixItems", Draft2020_12, Draft2020_12, Shape::Schemas),
        ("properties", Draft4, Draft2020_12, Shape::SchemaMap),
        ("propertyNames", Draft6, Draft2020_12, Shape::Schema),
        ("readOnly", Draft7, Draft2020_12, Shape::Flag),
        ("required", Draft4, Draft2020_12, Shape::Names),
        ("then", Draft7, Draft2020_12, Shape::Schema),
        ("title", Draft4, Draft2020_12, Shape::Text),
        ("type", Draft4, Draft2020_12, Shape::Types),
        (
            "unevaluatedItems",
            Draft2019_09,
            Draft2020_12,
            Shape::Schema,
        ),
        (
            "unevaluatedProperties",
            Draft2019_09,
            Draft2020_12,
            Shape::Schema,
        ),
        ("uniqueItems", Draft4, Draft2020_12, Shape::Flag),
        ("writeOnly", Draft7, Draft2020_12, Shape::Flag),
    ]
};

/// Returns what the value of a keyword should be, if it is not. Does not look into schemas in it.
pub(crate) fn find_fault(shape: Shape, draft: Draft, value: Node<'_>) -> Option<&'static str> {
    let is_list_of_schemas = || value.as_array().is_some_and(|items| items.len() > 0);
    let (is_right, expected) = match shape {
        // Schemas are checked when they are visited.
        Shape::Schema | Shape::SchemaOrFlag => (true, ""),
        Shape::Schemas => (is_list_of_schemas(), "a non-empty list of schemas"),
        Shape::SchemaOrSchemas => (
            value.as_array().is_none() || is_list_of_schemas(),
            "a schema or a non-empty list of schemas",
        ),
        Shape::SchemaMap | Shape::PatternMap => {
            (value.as_object().is_some(), "an object of schemas")
        }
        Shape::Dependencies => (
            value.as_object().is_some_and(|mut members| {
                members.all(|(_, value)| value.as_array().is_none() || are_names(value, draft))
            }),
            "an object of schemas and lists of distinct names",
        ),
        Shape::NameMap => (
            value
                .as_object()
                .is_some_and(|mut members| members.all(|(_, value)| are_names(value, draft))),
            "an object of lists of distinct names",
        ),
        Shape::Names => (
            are_names(value, draft),
            match draft {
                Draft::Draft4 => "a non-empty list of distinct names",
                _ => "a list of distinct names",
            },
        ),
        Shape::Types => (are_types(value), "the name of a type, or a list of them"),
        Shape::List => (value.as_array().is_some(), "a list"),
        Shape::FilledList => (
            value.as_array().is_some_and(|items| items.len() > 0),
            "a non-empty list",
        ),
        Shape::Text => (value.is_string(), "a string"),
        Shape::Pattern => (value.is_string(), "a regular expression"),
        Shape::Id => (is_id(value, draft), "a reference without a fragment"),
        Shape::Anchor => (is_anchor(value, draft), "a plain name"),
        Shape::Flag => (value.as_bool().is_some(), "`true` or `false`"),
        Shape::FlagMap => (
            value
                .as_object()
                .is_some_and(|mut members| members.all(|(_, value)| value.as_bool().is_some())),
            "an object of booleans",
        ),
        Shape::Number => (value.as_number().is_some(), "a number"),
        Shape::Positive => (
            value
                .as_number()
                .is_some_and(|number| number.to_f64() > 0.0),
            "a number greater than zero",
        ),
        Shape::Count => (
            value.as_number().is_some_and(|number| {
                let number = number.to_f64();
                number >= 0.0 && number.fract() == 0.0
            }),
            "a non-negative integer",
        ),
    };
    (!is_right).then_some(expected)
}

fn are_names(value: Node<'_>, draft: Draft) -> bool {
    let Some(items) = value.as_array() else {
        return false;
    };
    let names: Option<Vec<_>> = items.map(|item| item.as_json_string()).collect();
    let Some(mut names) = names else { return false };
    names.sort();
    let are_different = names.windows(2).all(|pair| pair[0] != pair[1]);
    are_different && !(draft == Draft::Draft4 && names.is_empty())
}

/// The types, in the order of their bits.
pub(crate) const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

fn are_types(value: Node<'_>) -> bool {
    let is_type = |node: Node<'_>| node.as_str().is_some_and(|text| TYPES.contains(&&*text));
    match value.as_array() {
        None => is_type(value),
        Some(mut items) => items.len() > 0 && items.all(is_type) && are_names(value, Draft::Draft4),
    }
}

fn is_id(value: Node<'_>, draft: Draft) -> bool {
    let Some(text) = value.as_lossy_str() else {
        return false;
    };
    let fragment = text.split_once('#').map_or("", |(_, fragment)| fragment);
    draft <= Draft::Draft7 || fragment.is_empty()
}

fn is_anchor(value: Node<'_>, draft: Draft) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' && draft == Draft::Draft2020_12;
    let continues = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '.' | '_')
            || c == ':' && draft == Draft::Draft2019_09
    };
    text.starts_with(begins) && text.chars().all(continues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_so_that_each_is_found() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.0 < b.0));
    }
}

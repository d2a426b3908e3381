//! The drafts of JSON Schema, and what each demands of a keyword's value.

use runseal_core::canon::Node;

/// A draft of JSON Schema; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4
    Four,
    /// Draft 6
    Six,
    /// Draft 7
    Seven,
    /// Draft 2019-09
    Of2019,
    /// Draft 2020-12
    Of2020,
}

impl Draft {
    /// The draft whose meta-schema has this address.
    pub(crate) fn find(address: &str) -> Option<Self> {
        let bare = address.strip_suffix('#').unwrap_or(address);
        let place = bare
            .strip_prefix("http://json-schema.org/")
            .or_else(|| bare.strip_prefix("https://json-schema.org/"))?;
        match place {
            "draft-04/schema" => Some(Self::Four),
            "draft-06/schema" => Some(Self::Six),
            "draft-07/schema" => Some(Self::Seven),
            "draft/2019-09/schema" => Some(Self::Of2019),
            "draft/2020-12/schema" => Some(Self::Of2020),
            _ => None,
        }
    }

    /// The keyword that gives a part of a schema its id.
    pub(crate) fn id_keyword(self) -> &'static str {
        match self {
            Self::Four => "id",
            _ => "$id",
        }
    }

    /// Whether a `$ref` makes the other keywords next to it meaningless.
    pub(crate) fn ignores_siblings_of_ref(self) -> bool {
        self <= Self::Seven
    }

    /// The shape that the value of `keyword` must have; `None` if the draft does not know the keyword.
    pub(crate) fn shape(self, keyword: &str) -> Option<Shape> {
        let at = KEYWORDS
            .binary_search_by(|known| known.0.cmp(keyword))
            .ok()?;
        let (_, first, last, shape) = KEYWORDS[at];
        // Keywords whose meaning changed.
        let shape = match (keyword, self) {
            ("exclusiveMaximum" | "exclusiveMinimum", Self::Four) => Shape::Flag,
            ("items", Self::Of2020) => Shape::Schema,
            ("enum", Self::Four) => Shape::FilledList,
            ("additionalItems" | "additionalProperties", Self::Four) => Shape::SchemaOrFlag,
            ("$recursiveAnchor", Self::Of2020) => Shape::Anchor,
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
    use Draft::{Four, Of2019, Of2020, Seven, Six};
    [
        ("$anchor", Of2019, Of2020, Shape::Anchor),
        ("$comment", Seven, Of2020, Shape::Text),
        ("$defs", Of2019, Of2020, Shape::SchemaMap),
        ("$dynamicAnchor", Of2020, Of2020, Shape::Anchor),
        ("$dynamicRef", Of2020, Of2020, Shape::Text),
        ("$id", Six, Of2020, Shape::Id),
        ("$recursiveAnchor", Of2019, Of2020, Shape::Flag),
        ("$recursiveRef", Of2019, Of2020, Shape::Text),
        ("$ref", Six, Of2020, Shape::Text),
        ("$schema", Four, Of2020, Shape::Text),
        ("$vocabulary", Of2019, Of2020, Shape::FlagMap),
        ("additionalItems", Four, Of2019, Shape::Schema),
        ("additionalProperties", Four, Of2020, Shape::Schema),
        ("allOf", Four, Of2020, Shape::Schemas),
        ("anyOf", Four, Of2020, Shape::Schemas),
        ("contains", Six, Of2020, Shape::Schema),
        ("contentEncoding", Seven, Of2020, Shape::Text),
        ("contentMediaType", Seven, Of2020, Shape::Text),
        ("contentSchema", Of2019, Of2020, Shape::Schema),
        ("definitions", Four, Of2020, Shape::SchemaMap),
        ("dependencies", Four, Of2020, Shape::Dependencies),
        ("dependentRequired", Of2019, Of2020, Shape::NameMap),
        ("dependentSchemas", Of2019, Of2020, Shape::SchemaMap),
        ("deprecated", Of2019, Of2020, Shape::Flag),
        ("description", Four, Of2020, Shape::Text),
        ("else", Seven, Of2020, Shape::Schema),
        ("enum", Four, Of2020, Shape::List),
        ("examples", Six, Of2020, Shape::List),
        ("exclusiveMaximum", Four, Of2020, Shape::Number),
        ("exclusiveMinimum", Four, Of2020, Shape::Number),
        ("format", Four, Of2020, Shape::Text),
        ("id", Four, Four, Shape::Id),
        ("if", Seven, Of2020, Shape::Schema),
        ("items", Four, Of2020, Shape::SchemaOrSchemas),
        ("maxContains", Of2019, Of2020, Shape::Count),
        ("maxItems", Four, Of2020, Shape::Count),
        ("maxLength", Four, Of2020, Shape::Count),
        ("maxProperties", Four, Of2020, Shape::Count),
        ("maximum", Four, Of2020, Shape::Number),
        ("minContains", Of2019, Of2020, Shape::Count),
        ("minItems", Four, Of2020, Shape::Count),
        ("minLength", Four, Of2020, Shape::Count),
        ("minProperties", Four, Of2020, Shape::Count),
        ("minimum", Four, Of2020, Shape::Number),
        ("multipleOf", Four, Of2020, Shape::Positive),
        ("not", Four, Of2020, Shape::Schema),
        ("oneOf", Four, Of2020, Shape::Schemas),
        ("pattern", Four, Of2020, Shape::Pattern),
        ("patternProperties", Four, Of2020, Shape::PatternMap),
        ("prefixItems", Of2020, Of2020, Shape::Schemas),
        ("properties", Four, Of2020, Shape::SchemaMap),
        ("propertyNames", Six, Of2020, Shape::Schema),
        ("readOnly", Seven, Of2020, Shape::Flag),
        ("required", Four, Of2020, Shape::Names),
        ("then", Seven, Of2020, Shape::Schema),
        ("title", Four, Of2020, Shape::Text),
        ("type", Four, Of2020, Shape::Types),
        ("unevaluatedItems", Of2019, Of2020, Shape::Schema),
        ("unevaluatedProperties", Of2019, Of2020, Shape::Schema),
        ("uniqueItems", Four, Of2020, Shape::Flag),
        ("writeOnly", Seven, Of2020, Shape::Flag),
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
                Draft::Four => "a non-empty list of distinct names",
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
    are_different && !(draft == Draft::Four && names.is_empty())
}

/// The types, in the order of their bits.
pub(crate) const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

fn are_types(value: Node<'_>) -> bool {
    let is_type = |node: Node<'_>| node.as_str().is_some_and(|text| TYPES.contains(&&*text));
    match value.as_array() {
        None => is_type(value),
        Some(mut items) => items.len() > 0 && items.all(is_type) && are_names(value, Draft::Four),
    }
}

fn is_id(value: Node<'_>, draft: Draft) -> bool {
    let Some(text) = value.as_lossy_str() else {
        return false;
    };
    let fragment = text.split_once('#').map_or("", |(_, fragment)| fragment);
    draft <= Draft::Seven || fragment.is_empty()
}

fn is_anchor(value: Node<'_>, draft: Draft) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' && draft == Draft::Of2020;
    let continues = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '.' | '_')
            || c == ':' && draft == Draft::Of2019
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

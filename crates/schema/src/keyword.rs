//! Compiled schemas: numbered, with everything they need to be evaluated.

use runseal_core::canon::Value;

/// The number of a compiled schema.
pub(crate) type Number = usize;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The index of its place.
    pub place: usize,
    /// The resource it belongs to.
    pub resource: usize,
    pub rule: Rule,
    /// Whether it depends on what its other keywords have evaluated.
    pub sees_evaluated: bool,
}

/// What a schema demands.
#[derive(Debug)]
pub(crate) enum Rule {
    /// Everything is allowed, or nothing.
    Flag(bool),
    Keywords(Vec<Keyword>),
}

/// A bound on a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    pub value: f64,
    /// As written.
    pub text: Box<str>,
    pub is_exclusive: bool,
}

/// One keyword, or a few that are evaluated together.
#[derive(Debug)]
pub(crate) enum Keyword {
    /// Bits in the order of [`crate::draft::TYPES`].
    Type(u8),
    Const(Value),
    Enum(Vec<Value>),
    MultipleOf(Bound),
    Minimum(Bound),
    Maximum(Bound),
    MinLength(u64),
    MaxLength(u64),
    /// The number of the pattern.
    Pattern(usize),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    MinProperties(u64),
    MaxProperties(u64),
    Required(Vec<Box<str>>),
    /// The keyword, and by name the names that are required if that member is present.
    DependentRequired(&'static str, Vec<(Box<str>, Vec<Box<str>>)>),
    Reference(&'static str, Number),
    /// A reference to the anchor with this name in the outermost resource that has it.
    Dynamic {
        keyword: &'static str,
        target: Number,
        anchor: Box<str>,
    },
    AllOf(Vec<Number>),
    AnyOf(Vec<Number>),
    OneOf(Vec<Number>),
    Not(Number),
    If {
        condition: Number,
        then: Option<Number>,
        otherwise: Option<Number>,
    },
    DependentSchemas(&'static str, Vec<(Box<str>, Number)>),
    Items {
        first: Vec<Number>,
        rest: Option<Number>,
        /// Whether `additionalItems` applies to the rest.
        is_tuple: bool,
    },
    Contains {
        schema: Number,
        least: u64,
        most: Option<u64>,
        /// Whether the elements it finds count as evaluated.
        evaluates: bool,
    },
    Properties {
        /// Sorted by name.
        named: Vec<(Box<str>, Number)>,
        /// By the number of the pattern.
        matching: Vec<(usize, Number)>,
        rest: Option<Number>,
    },
    PropertyNames(Number),
    UnevaluatedItems(Number),
    UnevaluatedProperties(Number),
}

impl Keyword {
    /// The schemas that this keyword applies to the same value, except those that a dynamic reference
    /// leads to.
    pub fn in_place(&self) -> Vec<Number> {
        match self {
            Self::Reference(_, schema) | Self::Not(schema) => vec![*schema],
            Self::AllOf(schemas) | Self::AnyOf(schemas) | Self::OneOf(schemas) => schemas.clone(),
            Self::If {
                condition,
                then,
                otherwise,
            } => {
                let branches = [Some(*condition), *then, *otherwise];
                branches.into_iter().flatten().collect()
            }
            Self::DependentSchemas(_, schemas) => schemas.iter().map(|(_, at)| *at).collect(),
            _ => Vec::new(),
        }
    }

    /// The name of the keyword in a violation's place.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Const(_) => "const",
            Self::Enum(_) => "enum",
            Self::MultipleOf(_) => "multipleOf",
            Self::Minimum(_) => "minimum",
            Self::Maximum(_) => "maximum",
            Self::MinLength(_) => "minLength",
            Self::MaxLength(_) => "maxLength",
            Self::Pattern(_) => "pattern",
            Self::MinItems(_) => "minItems",
            Self::MaxItems(_) => "maxItems",
            Self::UniqueItems => "uniqueItems",
            Self::MinProperties(_) => "minProperties",
            Self::MaxProperties(_) => "maxProperties",
            Self::Required(_) => "required",
            Self::DependentRequired(name, _) | Self::DependentSchemas(name, _) => name,
            Self::Reference(name, _) => name,
            Self::Dynamic { keyword, .. } => keyword,
            Self::AllOf(_) => "allOf",
            Self::AnyOf(_) => "anyOf",
            Self::OneOf(_) => "oneOf",
            Self::Not(_) => "not",
            Self::If { .. } => "if",
            Self::Items { .. } => "items",
            Self::Contains { .. } => "contains",
            Self::Properties { .. } => "additionalProperties",
            Self::PropertyNames(_) => "propertyNames",
            Self::UnevaluatedItems(_) => "unevaluatedItems",
            Self::UnevaluatedProperties(_) => "unevaluatedProperties",
        }
    }
}

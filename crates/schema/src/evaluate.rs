//! Checks a document and counts the steps.
//!
//! Schemas are applied by recursion, which `Limits::nesting` bounds. Keywords are not inlined (`inline(never)`) to keep
//! stack frames small, so that this limit is reached before the thread's stack overflows.

mod assertions;
mod branches;
mod elements;
mod equal;
mod members;

use std::borrow::Cow;

use runseal_core::canon::{Kind, Node};

use crate::evaluated::Marks;
use crate::keyword::{Keyword, Number, Rule};
use crate::registry::{escape, pointer};
use crate::{Exhausted, Outcome, Schema, Violation, message};

/// The most characters of a violation's message.
const LONGEST_MESSAGE: usize = 300;

/// One value of a document, or the name of a member for `propertyNames`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Instance<'d> {
    Node(Node<'d>),
    Name(&'d str),
}

impl<'d> Instance<'d> {
    fn kind(self) -> Kind {
        match self {
            Self::Node(node) => node.kind(),
            Self::Name(_) => Kind::String,
        }
    }

    fn text(self) -> Option<Cow<'d, str>> {
        match self {
            Self::Node(node) => node.as_lossy_str(),
            Self::Name(name) => Some(Cow::Borrowed(name)),
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Self::Node(node) => node.as_number().map(|number| number.to_f64()),
            Self::Name(_) => None,
        }
    }

    /// The value, if it is an object.
    fn object(self) -> Option<Node<'d>> {
        match self {
            Self::Node(node) if node.kind() == Kind::Object => Some(node),
            _ => None,
        }
    }

    /// The value, if it is an array.
    fn array(self) -> Option<Node<'d>> {
        match self {
            Self::Node(node) if node.kind() == Kind::Array => Some(node),
            _ => None,
        }
    }

    /// The number of elements or members.
    pub fn children(self) -> usize {
        match self {
            Self::Node(node) => node.items().len() + node.members().len(),
            Self::Name(_) => 0,
        }
    }
}

/// The path from the root of the document to a value.
#[derive(Debug, Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
    depth: usize,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Element(usize),
    Member(&'p str),
    /// To the root of the document, or to the name of a member, which has no pointer.
    None,
}

impl<'p> Path<'p> {
    fn to(&'p self, step: Step<'p>) -> Self {
        Self {
            parent: Some(self),
            step,
            depth: self.depth + 1,
        }
    }

    fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            match path.step {
                Step::Element(number) => steps.push(format!("/{number}")),
                Step::Member(name) => steps.push(format!("/{}", escape(name))),
                Step::None => {}
            }
            at = path.parent;
        }
        steps.reverse();
        steps.concat()
    }
}

/// Lists everything that is wrong with `document`.
pub(crate) fn check(schema: &Schema, document: Node<'_>) -> Outcome {
    let mut check = Check {
        schema,
        steps: schema.limits.steps,
        places: 0,
        is_quiet: false,
        nesting: 0,
        violations: Vec::new(),
        scope: Vec::new(),
        followed: Vec::new(),
    };
    let root = Path {
        parent: None,
        step: Step::None,
        depth: 0,
    };
    let result = check.apply(0, Instance::Node(document), &root, None);
    Outcome {
        violations: check.violations,
        exhausted: result.err(),
    }
}

/// A check in progress.
struct Check<'s> {
    schema: &'s Schema,
    /// Steps that are left.
    steps: u64,
    /// Bytes of the places of the violations so far.
    places: usize,
    /// Whether only the verdict counts: then violations are not noted, and the first one ends the check.
    is_quiet: bool,
    nesting: usize,
    violations: Vec<Violation>,
    /// The resources that were entered, outermost first.
    scope: Vec<usize>,
    /// Schemas that references led to, with the depth of the value they apply to.
    followed: Vec<(Number, usize)>,
}

/// Whether the value is valid, or the limit that was reached.
type Verdict = Result<bool, Exhausted>;

impl<'s> Check<'s> {
    #[inline]
    fn step(&mut self, count: u64) -> Result<(), Exhausted> {
        match self.steps.checked_sub(count) {
            Some(steps) => {
                self.steps = steps;
                Ok(())
            }
            None => Err(Exhausted::Steps(self.schema.limits.steps)),
        }
    }

    /// Counts the steps for reading a text.
    fn read(&mut self, text: &str) -> Result<(), Exhausted> {
        self.step(1 + text.len() as u64 / 16)
    }

    /// Notes a violation of a keyword of the schema `number`, and returns that the value is invalid.
    #[cold]
    #[inline(never)]
    fn violation(
        &mut self,
        number: Number,
        keyword: &str,
        path: &Path<'_>,
        message: impl FnOnce() -> String,
    ) -> Verdict {
        if self.is_quiet {
            return Ok(false);
        }
        let limits = &self.schema.limits;
        if self.violations.len() >= limits.violations {
            return Err(Exhausted::Violations(limits.violations));
        }
        let pointer_to_value = path.pointer();
        let mut place = pointer(&self.schema.places, self.schema.schemas[number].place);
        if !keyword.is_empty() {
            place = format!("{place}/{keyword}");
        }
        self.places = self
            .places
            .saturating_add(pointer_to_value.len() + place.len());
        if self.places > limits.places && !self.violations.is_empty() {
            return Err(Exhausted::Places(limits.places));
        }
        self.step(16)?;
        self.violations.push(Violation {
            pointer: pointer_to_value,
            message: message::shorten(&message(), LONGEST_MESSAGE),
            keyword: place,
        });
        Ok(false)
    }

    /// Applies a schema without noting violations.
    fn test(
        &mut self,
        number: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        let was_quiet = std::mem::replace(&mut self.is_quiet, true);
        let verdict = self.apply(number, instance, path, marks);
        self.is_quiet = was_quiet;
        verdict
    }

    /// Applies the schema `number` and marks what it evaluates.
    fn apply(
        &mut self,
        number: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        self.step(1)?;
        let compiled = &self.schema.schemas[number];
        let keywords = match &compiled.rule {
            Rule::Flag(true) => return Ok(true),
            Rule::Flag(false) => {
                return self.violation(number, "", path, || {
                    format!(
                        "expected nothing here, found {}",
                        message::quote_instance(instance)
                    )
                });
            }
            Rule::Keywords(keywords) => keywords,
        };
        if self.nesting >= self.schema.limits.nesting {
            return Err(Exhausted::Nesting(self.schema.limits.nesting));
        }
        let is_new = self.scope.last() != Some(&compiled.resource);
        if is_new {
            self.scope.push(compiled.resource);
        }
        self.nesting += 1;
        // A schema with `unevaluated…` only sees what its own keywords marked.
        let verdict = if compiled.sees_evaluated {
            let mut own = Marks::new(instance);
            self.step(own.steps())?;
            let verdict = self.keywords(number, keywords, instance, path, Some(&mut own));
            if let (Ok(true), Some(marks)) = (&verdict, marks.as_deref_mut()) {
                marks.add(&own);
            }
            verdict
        } else {
            self.keywords(number, keywords, instance, path, marks)
        };
        self.nesting -= 1;
        if is_new {
            self.scope.pop();
        }
        verdict
    }

    fn keywords(
        &mut self,
        number: Number,
        keywords: &'s [Keyword],
        instance: Instance<'_>,
        path: &Path<'_>,
        mut marks: Option<&mut Marks>,
    ) -> Verdict {
        let mut is_valid = true;
        for keyword in keywords {
            let marks = marks.as_deref_mut();
            is_valid &= self.keyword(number, keyword, instance, path, marks)?;
            if !is_valid && self.is_quiet {
                return Ok(false);
            }
        }
        Ok(is_valid)
    }

    fn keyword(
        &mut self,
        number: Number,
        keyword: &'s Keyword,
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        match keyword {
            Keyword::Reference(_, target) => self.follow(*target, instance, path, marks),
            Keyword::Dynamic { target, anchor, .. } => {
                self.step(self.scope.len() as u64)?;
                let dynamic = &self.schema.dynamic;
                let mut outermost = self.scope.iter();
                let found =
                    outermost.find_map(|resource| dynamic.get(&(*resource, anchor.clone())));
                let target = found.copied().unwrap_or(*target);
                self.follow(target, instance, path, marks)
            }
            Keyword::AllOf(schemas) => self.all_of(schemas, instance, path, marks),
            Keyword::AnyOf(schemas) => self.any_of(number, schemas, instance, path, marks),
            Keyword::OneOf(schemas) => self.one_of(number, schemas, instance, path, marks),
            Keyword::Not(schema) => {
                if !self.test(*schema, instance, path, None)? {
                    return Ok(true);
                }
                self.violation(number, "not", path, || {
                    let found = message::quote_instance(instance);
                    format!("expected something that the schema under `not` does not allow, found {found}")
                })
            }
            Keyword::If {
                condition,
                then,
                otherwise,
            } => self.condition(*condition, *then, *otherwise, instance, path, marks),
            Keyword::DependentSchemas(_, schemas) => {
                self.dependent_schemas(schemas, instance, path, marks)
            }
            Keyword::Items {
                first,
                rest,
                is_tuple,
            } => match rest {
                Some(rest) if *is_tuple && self.allows_nothing(*rest) => {
                    self.tuple(number, first, instance, path, marks)
                }
                rest => self.items(first, *rest, instance, path, marks),
            },
            Keyword::Contains {
                schema,
                least,
                most,
                evaluates,
            } => {
                let marks = marks.filter(|_| *evaluates);
                self.contains(number, (*schema, *least, *most), instance, path, marks)
            }
            Keyword::UnevaluatedItems(schema) => {
                self.unevaluated_items(number, *schema, instance, path, marks)
            }
            Keyword::Properties { .. } => self.properties(number, keyword, instance, path, marks),
            Keyword::PropertyNames(schema) => self.property_names(number, *schema, instance, path),
            Keyword::UnevaluatedProperties(schema) => {
                self.unevaluated_properties(number, *schema, instance, path, marks)
            }
            simple => self.assert(number, simple, instance, path),
        }
    }

    /// Applies the schema that a reference leads to. If it is already being applied to the same value,
    /// the references form a cycle, which adds nothing.
    fn follow(
        &mut self,
        target: Number,
        instance: Instance<'_>,
        path: &Path<'_>,
        marks: Option<&mut Marks>,
    ) -> Verdict {
        let mut here = 0;
        for &(followed, depth) in self.followed.iter().rev() {
            if depth != path.depth {
                break;
            }
            if followed == target {
                return Ok(true);
            }
            here += 1;
        }
        self.step(1 + here / 16)?;
        self.followed.push((target, path.depth));
        let verdict = self.apply(target, instance, path, marks);
        self.followed.pop();
        verdict
    }

    /// Whether the schema is `false`.
    fn allows_nothing(&self, number: Number) -> bool {
        matches!(self.schema.schemas[number].rule, Rule::Flag(false))
    }
}

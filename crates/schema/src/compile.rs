//! Compiles schemas into numbered lists of keywords, following every reference.
//!
//! Only what the root schema can reach is compiled. References may form cycles, so a schema gets its
//! number before it is compiled, and waits in a list until then.

mod keywords;

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Kind, Node};

use crate::draft::Draft;
use crate::keyword::{Compiled, Keyword, Number, Rule};
use crate::pattern::{BadPattern, Pattern};
use crate::registry::{DocumentNumber, Identity, Place, Registry, Target, pointer};
use crate::{BadSchema, Limits};

/// The result of compiling.
#[derive(Debug)]
pub(crate) struct Output {
    pub schemas: Vec<Compiled>,
    pub patterns: Vec<(Box<str>, Pattern)>,
    pub places: Vec<Place>,
    /// The schemas with a dynamic anchor, by resource and name.
    pub dynamic: BTreeMap<(usize, Box<str>), Number>,
}

/// Compiles everything that `root` leads to; the root is number 0.
pub(crate) fn compile(
    registry: Registry<'_>,
    root: Target<'_>,
    limits: &Limits,
) -> Result<Output, BadSchema> {
    let mut compiler = Compiler {
        registry,
        limits,
        schemas: Vec::new(),
        numbers: BTreeMap::new(),
        waiting: Vec::new(),
        patterns: Vec::new(),
        pattern_numbers: BTreeMap::new(),
        pattern_text: 0,
        instructions: 0,
        names: BTreeSet::new(),
        dynamic: BTreeMap::new(),
    };
    compiler.add(root)?;
    while let Some((number, node)) = compiler.waiting.pop() {
        compiler.compile(number, node)?;
    }
    Ok(Output {
        schemas: compiler.schemas,
        patterns: compiler.patterns,
        places: compiler.registry.places,
        dynamic: compiler.dynamic,
    })
}

struct Compiler<'a, 'l> {
    registry: Registry<'a>,
    limits: &'l Limits,
    schemas: Vec<Compiled>,
    numbers: BTreeMap<Identity, Number>,
    waiting: Vec<(Number, Node<'a>)>,
    patterns: Vec<(Box<str>, Pattern)>,
    pattern_numbers: BTreeMap<Box<str>, usize>,
    pattern_text: usize,
    instructions: usize,
    /// Names of dynamic anchors that are referred to.
    names: BTreeSet<Box<str>>,
    dynamic: BTreeMap<(usize, Box<str>), Number>,
}

/// A schema that is being compiled.
struct Open<'a> {
    node: Node<'a>,
    resource: usize,
    place: usize,
    document: DocumentNumber,
    draft: Draft,
    asserts: bool,
    keywords: Vec<Keyword>,
}

impl<'a> Compiler<'a, '_> {
    /// Assigns a number to a schema, if it has none yet, and returns it.
    fn add(&mut self, target: Target<'a>) -> Result<Number, BadSchema> {
        let document = self.registry.resources[target.resource].document;
        let number = self.schemas.len();
        let rule = match (target.node.kind(), target.node.as_bool()) {
            (_, Some(flag)) => Rule::Flag(flag),
            (Kind::Object, _) => {
                let identity = (document, target.node.identity());
                if let Some(&number) = self.numbers.get(&identity) {
                    return Ok(number);
                }
                self.numbers.insert(identity, number);
                self.waiting.push((number, target.node));
                Rule::Keywords(Vec::new())
            }
            _ => {
                return Err(BadSchema::Invalid(format!(
                    "a reference leads to {}, {}, which is not a schema",
                    self.registry.pointer(target.place),
                    target.node.kind().with_article(),
                )));
            }
        };
        if number >= self.limits.subschemas {
            return Err(BadSchema::TooMuch(format!(
                "it has more than {} subschemas",
                self.limits.subschemas
            )));
        }
        self.schemas.push(Compiled {
            place: target.place,
            resource: target.resource,
            rule,
            sees_evaluated: false,
        });
        Ok(number)
    }

    fn compile(&mut self, number: Number, node: Node<'a>) -> Result<(), BadSchema> {
        let Compiled {
            place, resource, ..
        } = self.schemas[number];
        let around = &self.registry.resources[resource];
        let mut open = Open {
            node,
            resource,
            place,
            document: around.document,
            draft: around.dialect.draft,
            asserts: around.dialect.asserts,
            keywords: Vec::new(),
        };
        self.references(&mut open)?;
        let is_alone = open.draft.ignores_siblings_of_ref() && !open.keywords.is_empty();
        if !is_alone {
            if open.asserts {
                self.assertions(&mut open)?;
            }
            self.in_place(&mut open)?;
            self.for_items(&mut open)?;
            self.for_members(&mut open)?;
        }
        let is_unevaluated = |keyword: &Keyword| {
            matches!(
                keyword,
                Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_)
            )
        };
        // Last, because they depend on what all the others have evaluated.
        open.keywords.sort_by_key(is_unevaluated);
        self.schemas[number].sees_evaluated = open.keywords.iter().any(is_unevaluated);
        self.schemas[number].rule = Rule::Keywords(open.keywords);
        Ok(())
    }

    /// The number of the schema in `node`, which is at `steps` from the open one.
    fn schema(
        &mut self,
        open: &Open<'a>,
        node: Node<'a>,
        steps: impl FnOnce() -> String,
    ) -> Result<Number, BadSchema> {
        let mut target = self.registry.target(node, open.resource, open.document);
        if node.kind() != Kind::Object || target.place == 0 {
            // A boolean, or a schema in a place that was not visited.
            self.registry.places.push(Place {
                parent: Some(open.place),
                steps: steps().into(),
            });
            target.place = self.registry.places.len() - 1;
        }
        self.add(target)
    }

    fn keyword_schema(&mut self, open: &Open<'a>, name: &str) -> Result<Option<Number>, BadSchema> {
        let Some(node) = open.node.get(name) else {
            return Ok(None);
        };
        self.schema(open, node, || format!("/{name}")).map(Some)
    }

    fn list(&mut self, open: &Open<'a>, name: &str) -> Result<Option<Vec<Number>>, BadSchema> {
        let Some(items) = open.node.get(name).and_then(|node| node.as_array()) else {
            return Ok(None);
        };
        let items = items.enumerate();
        items
            .map(|(at, item)| self.schema(open, item, || format!("/{name}/{at}")))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn references(&mut self, open: &mut Open<'a>) -> Result<(), BadSchema> {
        let node = open.node;
        let text = |name: &str| node.get(name).and_then(|value| value.as_lossy_str());
        // The meta-schema of draft 4 does not define `$ref`.
        if node.get("$ref").is_some_and(|value| !value.is_string()) {
            let place = pointer(&self.registry.places, open.place);
            return Err(BadSchema::Invalid(format!(
                "{place}/$ref: expected a string"
            )));
        }
        if let Some(reference) = text("$ref") {
            let target = self.registry.resolve(open.resource, &reference)?;
            let number = self.add(target)?;
            open.keywords.push(Keyword::Reference("$ref", number));
        }
        let (keyword, reference) = match open.draft {
            Draft::Draft2019_09 => ("$recursiveRef", text("$recursiveRef")),
            Draft::Draft2020_12 => ("$dynamicRef", text("$dynamicRef")),
            _ => return Ok(()),
        };
        let Some(reference) = reference else {
            return Ok(());
        };
        let target = self.registry.resolve(open.resource, &reference)?;
        let resource = &self.registry.resources[target.resource];
        // The reference is dynamic only if its static target is a dynamic anchor too.
        let fragment = reference
            .split_once('#')
            .map_or("", |(_, fragment)| fragment);
        let anchor = if open.draft == Draft::Draft2019_09 {
            ""
        } else {
            fragment
        };
        let anchored = resource.dynamic.get(anchor);
        let is_dynamic = anchored.is_some_and(|node| node.identity() == target.node.identity());
        let number = self.add(target)?;
        if !is_dynamic {
            open.keywords.push(Keyword::Reference(keyword, number));
            return Ok(());
        }
        self.add_dynamic(anchor)?;
        open.keywords.push(Keyword::Dynamic {
            keyword,
            target: number,
            anchor: anchor.into(),
        });
        Ok(())
    }

    /// Compiles every schema that has this dynamic anchor.
    fn add_dynamic(&mut self, anchor: &str) -> Result<(), BadSchema> {
        if !self.names.insert(anchor.into()) {
            return Ok(());
        }
        for resource in 0..self.registry.resources.len() {
            let around = &self.registry.resources[resource];
            if let Some(&node) = around.dynamic.get(anchor) {
                let target = self.registry.target(node, resource, around.document);
                let number = self.add(target)?;
                self.dynamic.insert((resource, anchor.into()), number);
            }
        }
        Ok(())
    }

    /// The schemas in a keyword's value, by name; lists of names are left out.
    fn named(
        &mut self,
        open: &Open<'a>,
        keyword: &str,
    ) -> Result<Vec<(Box<str>, Number)>, BadSchema> {
        let Some(members) = open.node.get(keyword) else {
            return Ok(Vec::new());
        };
        let mut named: Vec<(Box<str>, Number)> = Vec::new();
        for (key, node) in members.members() {
            if node.as_array().is_some() {
                continue;
            }
            let name = key.to_lossy();
            let steps = || format!("/{keyword}/{}", crate::registry::escape(&name));
            let number = self.schema(open, node, steps)?;
            named.push((name.as_ref().into(), number));
        }
        named.sort();
        Ok(named)
    }

    /// The number of a pattern; each text is compiled once.
    fn pattern(&mut self, open: &Open<'a>, text: &str, step: &str) -> Result<usize, BadSchema> {
        if let Some(&number) = self.pattern_numbers.get(text) {
            return Ok(number);
        }
        let limits = self.limits;
        let too_much = |what: String| Err(BadSchema::TooMuch(what));
        self.pattern_text += text.len();
        if text.len() > limits.pattern_text {
            let most = limits.pattern_text;
            return too_much(format!("a pattern has more than {most} bytes"));
        }
        if self.pattern_text > limits.patterns_text {
            let most = limits.patterns_text;
            return too_much(format!("its patterns have more than {most} bytes"));
        }
        if self.patterns.len() >= limits.patterns {
            let most = limits.patterns;
            return too_much(format!("it has more than {most} patterns"));
        }
        let left = limits.all_instructions.saturating_sub(self.instructions);
        let pattern = match Pattern::compile(text, left.min(limits.instructions)) {
            Ok(pattern) => pattern,
            Err(BadPattern::TooLarge) => {
                return too_much(format!(
                    "the pattern `{}` takes more than {} instructions, or all patterns more than {}",
                    crate::message::shorten(text, 80),
                    limits.instructions,
                    limits.all_instructions
                ));
            }
            Err(bad) => {
                let place = pointer(&self.registry.places, open.place);
                let quoted = crate::message::shorten(text, 80);
                let what = format!("{place}{step}: the pattern `{quoted}` has {bad}");
                return Err(match bad {
                    BadPattern::NotSupported { .. } => BadSchema::NotSupported(what),
                    _ => BadSchema::Invalid(what),
                });
            }
        };
        self.instructions += pattern.size();
        let number = self.patterns.len();
        self.patterns.push((text.into(), pattern));
        self.pattern_numbers.insert(text.into(), number);
        Ok(number)
    }
}

//! The parts of a schema: which of its values are schemas, whether these are valid, and which ids and
//! anchors refer to them.

use std::collections::BTreeMap;

use runseal_core::canon::{Kind, Node};

use crate::draft::{Draft, Shape, find_fault};
use crate::reference::resolve;
use crate::{BadSchema, Limits, Surroundings};

/// The number of a document: 0 for the schema itself, then those given with it.
pub(crate) type DocumentNumber = usize;

/// A key that is unique for every schema.
pub(crate) type Identity = (DocumentNumber, (usize, u32));

/// What a schema's keywords mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    pub draft: Draft,
    /// Whether keywords of the validation vocabulary (`minimum`, `required`, …) assert anything.
    pub asserts: bool,
}

/// A part of a schema with its own id.
#[derive(Debug)]
pub(crate) struct Resource<'a> {
    pub id: String,
    pub root: Node<'a>,
    pub document: DocumentNumber,
    pub dialect: Dialect,
    /// Schemas by the names that `$anchor` and the like give them.
    pub anchors: BTreeMap<String, Node<'a>>,
    /// Schemas by their `$dynamicAnchor`; the root by the empty name if it has `$recursiveAnchor`.
    pub dynamic: BTreeMap<String, Node<'a>>,
}

/// Where a schema is: the place of the schema around it, and the steps from there as a JSON Pointer.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub parent: Option<usize>,
    pub steps: Box<str>,
}

/// A schema that a reference leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub node: Node<'a>,
    pub resource: usize,
    pub place: usize,
}

/// Everything that references can lead to.
#[derive(Debug)]
pub(crate) struct Registry<'a> {
    pub resources: Vec<Resource<'a>>,
    pub places: Vec<Place>,
    ids: BTreeMap<String, usize>,
    /// The resource and place of each visited schema.
    known: BTreeMap<Identity, (usize, usize)>,
    /// The ids that visited schemas refer to, each with the resource around the reference.
    references: Vec<(String, usize)>,
    /// Documents given with the schema, by their addresses.
    others: Vec<(&'a str, Node<'a>)>,
    most_ids: usize,
}

impl<'a> Registry<'a> {
    /// Visits `schema` and the documents around it. Also returns the schema's root.
    pub fn new(
        schema: Node<'a>,
        around: &Surroundings<'a>,
        limits: &Limits,
    ) -> Result<(Self, Target<'a>), BadSchema> {
        let mut registry = Self {
            resources: Vec::new(),
            places: Vec::new(),
            ids: BTreeMap::new(),
            known: BTreeMap::new(),
            references: Vec::new(),
            others: around.documents.clone(),
            most_ids: limits.ids,
        };
        let dialect = registry.dialect(schema, around.draft)?;
        for (number, (address, node)) in around.documents.iter().enumerate() {
            let own = registry.dialect(*node, dialect.draft)?;
            registry.add_document(*node, number + 1, address, own)?;
        }
        let root = registry.add_document(schema, 0, "", dialect)?;
        for (id, resource) in &registry.references {
            if !registry.ids.contains_key(id) {
                let is_own = registry.resources[*resource].document == 0;
                if is_own {
                    return Err(BadSchema::Outside(id.clone()));
                }
            }
        }
        Ok((registry, root))
    }

    /// The dialect that a document's `$schema` names; `otherwise` if it has none.
    fn dialect(&self, schema: Node<'a>, otherwise: Draft) -> Result<Dialect, BadSchema> {
        let Some(declared) = schema.get("$schema") else {
            return Ok(Dialect {
                draft: otherwise,
                asserts: true,
            });
        };
        let text = declared.as_str().unwrap_or_default();
        if let Some(draft) = Draft::find(&text) {
            return Ok(Dialect {
                draft,
                asserts: true,
            });
        }
        let bare = text.split('#').next().unwrap_or_default();
        let meta = self.others.iter().find(|(address, _)| *address == bare);
        let unknown = || BadSchema::UnknownDraft(text.escape_debug().to_string());
        let (_, meta) = meta.ok_or_else(unknown)?;
        let draft = meta
            .get("$schema")
            .and_then(|text| Draft::find(&text.as_str()?));
        let asserts = meta.get("$vocabulary").is_none_or(|vocabulary| {
            let mut names = vocabulary.members();
            names.any(|(name, _)| name.to_lossy().ends_with("/vocab/validation"))
        });
        Ok(Dialect {
            draft: draft.ok_or_else(unknown)?,
            asserts,
        })
    }

    fn add_document(
        &mut self,
        node: Node<'a>,
        document: DocumentNumber,
        address: &str,
        dialect: Dialect,
    ) -> Result<Target<'a>, BadSchema> {
        let resource = self.resources.len();
        self.resources.push(Resource {
            id: address.to_owned(),
            root: node,
            document,
            dialect,
            anchors: BTreeMap::new(),
            dynamic: BTreeMap::new(),
        });
        self.ids.entry(address.to_owned()).or_insert(resource);
        let place = self.places.len();
        self.visit(
            node,
            resource,
            None,
            String::new(),
            dialect.draft >= Draft::Draft6,
        )?;
        let found = self.known.get(&(document, node.identity()));
        let (resource, place) = found.copied().unwrap_or((resource, place));
        Ok(Target {
            node,
            resource,
            place,
        })
    }

    /// Checks one schema and everything in it.
    fn visit(
        &mut self,
        node: Node<'a>,
        around: usize,
        parent: Option<usize>,
        steps: String,
        may_be_flag: bool,
    ) -> Result<(), BadSchema> {
        let place = self.places.len();
        self.places.push(Place {
            parent,
            steps: steps.into(),
        });
        if node.kind() != Kind::Object {
            if may_be_flag && node.as_bool().is_some() {
                return Ok(());
            }
            let expected = if may_be_flag {
                "an object, `true` or `false`"
            } else {
                "an object"
            };
            return Err(self.invalid(place, "", expected, node));
        }
        let resource = self.enter(node, around, place)?;
        let Resource {
            document, dialect, ..
        } = self.resources[resource];
        let draft = dialect.draft;
        self.known
            .insert((document, node.identity()), (resource, place));
        for (key, value) in node.members() {
            let Some(name) = key.as_str() else { continue };
            let Some(shape) = draft.shape(&name) else {
                continue;
            };
            if let Some(expected) = find_fault(shape, draft, value) {
                return Err(self.invalid(place, &name, expected, value));
            }
            self.visit_value(&name, shape, value, resource, place)?;
        }
        if draft == Draft::Draft4 {
            for (flag, bound) in [
                ("exclusiveMaximum", "maximum"),
                ("exclusiveMinimum", "minimum"),
            ] {
                if node.get(flag).is_some() && node.get(bound).is_none() {
                    return Err(BadSchema::Invalid(format!(
                        "{}: `{flag}` without `{bound}`",
                        self.pointer(place)
                    )));
                }
            }
        }
        self.note_names(node, resource, draft);
        Ok(())
    }

    /// Visits the schemas in a keyword's value.
    fn visit_value(
        &mut self,
        name: &str,
        shape: Shape,
        value: Node<'a>,
        resource: usize,
        place: usize,
    ) -> Result<(), BadSchema> {
        let may_be_flag = self.resources[resource].dialect.draft >= Draft::Draft6;
        let parent = Some(place);
        let step = || format!("/{}", escape(name));
        match shape {
            Shape::Schema => self.visit(value, resource, parent, step(), may_be_flag),
            Shape::SchemaOrFlag => self.visit(value, resource, parent, step(), true),
            Shape::SchemaOrSchemas if value.as_array().is_none() => {
                self.visit(value, resource, parent, step(), may_be_flag)
            }
            Shape::Schemas | Shape::SchemaOrSchemas => {
                for (at, item) in value.items().enumerate() {
                    let steps = format!("/{name}/{at}");
                    self.visit(item, resource, parent, steps, may_be_flag)?;
                }
                Ok(())
            }
            Shape::SchemaMap | Shape::PatternMap | Shape::Dependencies => {
                for (key, item) in value.members() {
                    if shape == Shape::Dependencies && item.as_array().is_some() {
                        continue;
                    }
                    let steps = format!("/{name}/{}", escape(&key.to_lossy()));
                    self.visit(item, resource, parent, steps, may_be_flag)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The resource that a schema belongs to: its own if it has an id.
    fn enter(&mut self, node: Node<'a>, around: usize, place: usize) -> Result<usize, BadSchema> {
        let outer = &self.resources[around];
        let document = outer.document;
        let is_root =
            outer.root.identity() == node.identity() && self.places[place].parent.is_none();
        let mut dialect = outer.dialect;
        let id_of = |draft: Draft| node.get(draft.id_keyword()).and_then(|id| id.as_str());
        if !is_root && node.get("$schema").is_some() && id_of(Draft::Draft7).is_some() {
            dialect = self.dialect(node, dialect.draft)?;
        }
        let Some(id) = id_of(dialect.draft) else {
            return Ok(around);
        };
        let has_reference = node.get("$ref").is_some_and(|value| value.is_string());
        if dialect.draft.ignores_siblings_of_ref() && has_reference {
            return Ok(around);
        }
        let address = resolve(&outer.id, &id);
        let is_anchor = dialect.draft <= Draft::Draft7 && id.starts_with('#');
        let resource = if is_anchor {
            around
        } else if is_root {
            self.resources[around].id.clone_from(&address.id);
            self.ids.insert(address.id, around);
            around
        } else {
            if self.resources.len() > self.most_ids + self.others.len() {
                return Err(BadSchema::TooMuch(format!(
                    "it has more than {} ids",
                    self.most_ids
                )));
            }
            let resource = self.resources.len();
            self.ids.insert(address.id.clone(), resource);
            self.resources.push(Resource {
                id: address.id,
                root: node,
                document,
                dialect,
                anchors: BTreeMap::new(),
                dynamic: BTreeMap::new(),
            });
            resource
        };
        if dialect.draft <= Draft::Draft7 && !address.fragment.is_empty() {
            let anchors = &mut self.resources[resource].anchors;
            anchors.insert(address.fragment, node);
        }
        Ok(resource)
    }

    /// Notes the anchors of a schema and what it refers to.
    fn note_names(&mut self, node: Node<'a>, number: usize, draft: Draft) {
        let resource = &mut self.resources[number];
        let text = |name: &str| node.get(name).and_then(|value| value.as_str());
        if draft >= Draft::Draft2019_09
            && let Some(anchor) = text("$anchor")
        {
            resource.anchors.insert(anchor.into_owned(), node);
        }
        if draft == Draft::Draft2020_12
            && let Some(anchor) = text("$dynamicAnchor")
        {
            resource.anchors.insert(anchor.clone().into_owned(), node);
            resource.dynamic.insert(anchor.into_owned(), node);
        }
        let is_root = resource.root.identity() == node.identity();
        let is_recursive = || node.get("$recursiveAnchor").and_then(|flag| flag.as_bool());
        if draft == Draft::Draft2019_09 && is_root && is_recursive() == Some(true) {
            resource.dynamic.insert(String::new(), node);
        }
        let references = [
            (true, "$ref"),
            (draft == Draft::Draft2019_09, "$recursiveRef"),
            (draft == Draft::Draft2020_12, "$dynamicRef"),
        ];
        for (_, name) in references.into_iter().filter(|(is_known, _)| *is_known) {
            if let Some(reference) = text(name) {
                let address = resolve(&self.resources[number].id, &reference);
                self.references.push((address.id, number));
            }
        }
    }

    /// Finds what a reference in `resource` leads to.
    pub fn resolve(&mut self, resource: usize, reference: &str) -> Result<Target<'a>, BadSchema> {
        let address = resolve(&self.resources[resource].id, reference);
        let nowhere = || BadSchema::Invalid(format!("`{reference}` leads nowhere"));
        let number = *self
            .ids
            .get(&address.id)
            .ok_or(BadSchema::Outside(address.id))?;
        let resource = &self.resources[number];
        let fragment = address.fragment.as_str();
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let node = *resource.anchors.get(fragment).ok_or_else(nowhere)?;
            return Ok(self.target(node, number, resource.document));
        }
        let document = resource.document;
        let mut target = self.target(resource.root, number, document);
        let mut steps = String::new();
        for step in fragment.split('/').skip(1) {
            let name = step.replace("~1", "/").replace("~0", "~");
            let inner = match target.node.kind() {
                Kind::Array => parse_index(&name).and_then(|at| target.node.item(at)),
                _ => target.node.get(&name),
            };
            let inner = inner.ok_or_else(nowhere)?;
            steps.push('/');
            steps.push_str(step);
            match self.known.get(&(document, inner.identity())) {
                Some(&(resource, place)) if inner.kind() == Kind::Object => {
                    steps.clear();
                    target = Target {
                        node: inner,
                        resource,
                        place,
                    };
                }
                _ => target.node = inner,
            }
        }
        if steps.is_empty() {
            return Ok(target);
        }
        // No schema is expected there, so it has not been checked yet.
        let place = self.places.len();
        let may_be_flag = self.resources[target.resource].dialect.draft >= Draft::Draft6;
        let parent = Some(target.place);
        self.visit(target.node, target.resource, parent, steps, may_be_flag)?;
        let known = self.known.get(&(document, target.node.identity()));
        let known = known.filter(|_| target.node.kind() == Kind::Object);
        let (resource, place) = known.copied().unwrap_or((target.resource, place));
        Ok(Target {
            resource,
            place,
            ..target
        })
    }

    /// A schema with its resource and place; with `resource` and place 0 if it was not visited.
    pub fn target(&self, node: Node<'a>, resource: usize, document: DocumentNumber) -> Target<'a> {
        let known = self.known.get(&(document, node.identity())).copied();
        let (resource, place) = known.unwrap_or((resource, 0));
        Target {
            node,
            resource,
            place,
        }
    }

    /// The JSON Pointer of a place in its document.
    pub fn pointer(&self, place: usize) -> String {
        pointer(&self.places, place)
    }

    fn invalid(&self, place: usize, name: &str, expected: &str, found: Node<'_>) -> BadSchema {
        let mut at = self.pointer(place);
        if !name.is_empty() {
            at = format!("{at}/{}", escape(name));
        }
        let found = crate::message::quote(found);
        let at = if at.is_empty() { at } else { format!("{at}: ") };
        BadSchema::Invalid(format!("{at}expected {expected}, found {found}"))
    }
}

/// The JSON Pointer of a place.
pub(crate) fn pointer(places: &[Place], place: usize) -> String {
    let mut steps = Vec::new();
    let mut at = Some(place);
    while let Some(place) = at.and_then(|at| places.get(at)) {
        steps.push(&*place.steps);
        at = place.parent;
    }
    steps.reverse();
    steps.concat()
}

fn parse_index(text: &str) -> Option<usize> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

/// Escapes a name as a step of a JSON Pointer.
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

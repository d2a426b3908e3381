//! Intents: reading, normalization and refusal (000 §2.1, §6.1; rulings, "Intent").
//!
//! An [`Intent`] is always normalized: there is no other way to make one.

use crate::context::Declared;
use crate::proposal::check_paths;
use crate::text::{normalize_constraint, normalize_goal, one_line, strings};
use runseal_core::canon::{
    Dialect, Document, Kind, NoCanonicalForm, Node, Value, canonical_digest, compare_utf16,
};
use runseal_core::digest::Digest;
use runseal_core::path::has_drive_prefix;

/// Why an intent is refused. Prints as `CODE: message` (000 §6.3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing is left of the goal after trimming.
    #[error("EMPTY_GOAL: Intent goal cannot be empty")]
    EmptyGoal,
    /// It is not an object, or has no string goal.
    #[error("INVALID_GOAL: Intent must have a string goal")]
    InvalidGoal,
    /// Something else in the intent is malformed.
    #[error("INVALID_INTENT: {0}")]
    InvalidIntent(String),
    /// A path leaves the folder that it is meant for.
    #[error("INVALID_PATH: {0}")]
    InvalidPath(#[from] EscapingPath),
}

/// A path that leaves the folder it is meant for, with the messages of 000 §6.1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EscapingPath {
    /// It begins at a root or a drive.
    #[error("Absolute paths not allowed in bundle: {0}")]
    Absolute(String),
    /// It climbs.
    #[error("Parent directory references not allowed: {0}")]
    Parent(String),
}

/// Refuses a path that is absolute or climbs, on any system: `\\` may be a separator, too.
pub fn check_path_stays(path: &str) -> Result<(), EscapingPath> {
    let shown = || one_line(path);
    if path.starts_with(['/', '\\']) || has_drive_prefix(path) {
        Err(EscapingPath::Absolute(shown()))
    } else if path.split(['/', '\\']).any(|segment| segment == "..") {
        Err(EscapingPath::Parent(shown()))
    } else {
        Ok(())
    }
}

impl Refusal {
    /// Returns the code before the colon.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::EmptyGoal => "EMPTY_GOAL",
            Refusal::InvalidGoal => "INVALID_GOAL",
            Refusal::InvalidIntent(_) => "INVALID_INTENT",
            Refusal::InvalidPath(_) => "INVALID_PATH",
        }
    }

    /// Returns the message after the colon.
    pub fn message(&self) -> String {
        let text = self.to_string();
        text.split_once(": ")
            .map_or(text.clone(), |(_, m)| m.to_owned())
    }
}

/// A normalized intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    goal: String,
    constraints: Vec<String>,
    /// The index at which each constraint was first given.
    given: Vec<usize>,
    context: Value,
    declared: Declared,
    hash: Digest,
}

impl Intent {
    /// Normalizes goal and constraints; the context is left unchanged.
    pub fn new(goal: &str, constraints: &[String], context: Value) -> Result<Self, Refusal> {
        let goal = normalize_goal(goal);
        if goal.is_empty() {
            return Err(Refusal::EmptyGoal);
        }
        let declared = Declared::parse(&context)?;
        if let Some(extras) = context.get("proposal") {
            check_paths(extras)?;
        }
        let mut numbered: Vec<(String, usize)> = constraints
            .iter()
            .enumerate()
            .map(|(at, c)| (normalize_constraint(c), at))
            .filter(|(c, _)| !c.is_empty())
            .collect();
        numbered.sort_by(|a, b| compare_utf16(&a.0, &b.0).then(a.1.cmp(&b.1)));
        numbered.dedup_by(|later, first| later.0 == first.0);
        let (constraints, given): (Vec<String>, Vec<usize>) = numbered.into_iter().unzip();
        let (context, hash) = hash_of(&goal, &constraints, context).map_err(|e| {
            Refusal::InvalidIntent(format!("the context has no canonical form: {e}"))
        })?;
        Ok(Intent {
            goal,
            constraints,
            given,
            context,
            declared,
            hash,
        })
    }

    /// The goal: not empty, NFC, trimmed.
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// The constraints: sorted by UTF-16 code units, without duplicates.
    pub fn constraints(&self) -> &[String] {
        &self.constraints
    }

    /// Returns the index at which this constraint was first given.
    pub fn given_position(&self, constraint: usize) -> usize {
        self.given.get(constraint).copied().unwrap_or(constraint)
    }

    /// What the context declares: profile, waivers, findings of assessors.
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// The context, as given.
    pub fn context(&self) -> &Value {
        &self.context
    }

    /// The canonical hash of the normalized intent.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The normalized intent as a JSON value.
    pub fn to_value(&self) -> Value {
        Value::object([
            ("goal", Value::from(self.goal.as_str())),
            ("constraints", strings(&self.constraints)),
            ("context", self.context.clone()),
        ])
    }

    /// Returns the intent with another context; where its texts were given stays known.
    pub(crate) fn with_context(&self, context: Value) -> Result<Self, Refusal> {
        let mut changed = Intent::new(&self.goal, &self.constraints, context)?;
        changed.given.clone_from(&self.given);
        Ok(changed)
    }

    /// Returns the intent with other texts and the same context.
    pub(crate) fn with_texts(&self, goal: &str, constraints: &[String]) -> Result<Self, Refusal> {
        Intent::new(goal, constraints, self.context.clone())
    }
}

/// Computes the canonical hash of a normalized intent; returns the context too.
fn hash_of(
    goal: &str,
    constraints: &[String],
    context: Value,
) -> Result<(Value, Digest), NoCanonicalForm> {
    let mut value = Value::object([
        ("goal", Value::from(goal)),
        ("constraints", strings(constraints)),
        ("context", context),
    ]);
    let hash = canonical_digest(&value, Dialect::Kernel)?;
    let context = match &mut value {
        Value::Object(members) => members.remove(&"context".into()).unwrap_or(Value::Null),
        _ => Value::Null,
    };
    Ok((context, hash))
}

/// Parses an intent from a document.
pub fn parse_intent(document: &Document<'_>) -> Result<Intent, Refusal> {
    let root = document.root();
    if root.kind() != Kind::Object {
        return Err(Refusal::InvalidGoal);
    }
    let goal = root.get("goal").ok_or(Refusal::InvalidGoal)?;
    if !goal.is_string() {
        return Err(Refusal::InvalidGoal);
    }
    let goal = text_of(goal, "goal")?;
    let mut constraints = Vec::new();
    match root.get("constraints") {
        None => {}
        Some(node) if node.is_null() => {}
        Some(node) => {
            let items = node
                .as_array()
                .ok_or_else(|| malformed("constraints", "must be a list of strings", node))?;
            for (i, item) in items.enumerate() {
                let place = format!("constraints[{i}]");
                if !item.is_string() {
                    return Err(malformed(&place, "must be a string", item));
                }
                constraints.push(text_of(item, &place)?);
            }
        }
    }
    let context = match root.get("context") {
        None => Value::object::<Value>([]),
        Some(node) if node.is_null() => Value::object::<Value>([]),
        Some(node) if node.kind() == Kind::Object => node.to_value(),
        Some(node) => return Err(malformed("context", "must be an object", node)),
    };
    Intent::new(&goal, &constraints, context)
}

fn text_of(node: Node<'_>, place: &str) -> Result<String, Refusal> {
    node.as_str()
        .map(|text| text.into_owned())
        .ok_or_else(|| Refusal::InvalidIntent(format!("{place} holds an unpaired surrogate")))
}

fn malformed(place: &str, must: &str, node: Node<'_>) -> Refusal {
    Refusal::InvalidIntent(format!(
        "{place} {must}, not {}",
        node.kind().with_article()
    ))
}

//! Plans: what is posted to create a job, and its steps as the store keeps them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use thiserror::Error;

use super::op::Op;
use super::slice::parse_slice;
use crate::canon::{
    Dialect, Kind, Members, NoCanonicalForm, Node, Value, canonical_digest, canonical_text,
};

/// What is wrong with a plan, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}: {path}")]
pub struct PlanFault {
    /// The place, as `$.steps[0].op`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// How much a job may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Bytes of all slices together.
    pub max_bytes: Option<i64>,
    /// How many symbols may be read.
    pub max_symbols: Option<i64>,
    /// How many steps there may be.
    pub max_steps: Option<i64>,
}

/// A plan that is sound in itself; only the store can say whether its symbols and sections exist.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The id of the run that the job belongs to.
    pub run_id: String,
    /// What it is for.
    pub intent: String,
    /// Identifies repeated postings of the same job.
    pub idempotency_key: String,
    /// How much it may read.
    pub budgets: Budgets,
    /// Its steps, as written.
    pub steps: Vec<PlanStep>,
    nodes: Node<'a>,
    /// The plan as canonical JSON; borrowed if the text that it was read from is canonical.
    pub canonical: Cow<'a, str>,
}

/// A sound step of a plan. Its body is parsed again on demand: a plan may have a million steps.
#[derive(Clone, Debug)]
pub struct PlanStep {
    /// Its id, if the plan gives one.
    pub step_id: Option<Box<str>>,
    /// Its ordinal: as given, else its position.
    pub ordinal: i64,
}

/// What a step does: everything except its id and ordinal.
#[derive(Clone, Debug)]
pub struct StepBody {
    /// The operation.
    pub op: Op,
    /// The symbol or section it reads.
    pub reference: String,
    /// Which part of it, if the step says so.
    pub slice: Option<String>,
    refs: Value,
    constraints: Value,
    expected_outputs: Value,
}

impl StepBody {
    /// Parses a step's members; null counts as absent.
    pub fn parse(node: Node<'_>) -> Result<Self, PlanFault> {
        let member = |key: &str| node.get(key).filter(|value| !value.is_null());
        let object = |key: &str| match member(key) {
            None => Ok(None),
            Some(value) if value.kind() == Kind::Object => Ok(Some(value)),
            Some(value) => Err(expected(&format!(".{key}"), "an object", value)),
        };
        if node.kind() != Kind::Object {
            return Err(expected("", "an object", node));
        }
        let op = member("op").ok_or_else(|| fault(".op", "the field is missing"))?;
        let name = op.as_str().ok_or_else(|| expected(".op", "a string", op))?;
        let op = Op::parse(&name).ok_or_else(|| {
            fault(
                ".op",
                format!("expected READ_SYMBOL or READ_SECTION, actual `{name}`"),
            )
        })?;
        let refs = object("refs")?;
        let place = format!(".refs.{}", op.ref_key());
        let reference = refs
            .and_then(|refs| refs.get(op.ref_key()))
            .filter(|value| !value.is_null())
            .ok_or_else(|| fault(&place, "the field is missing"))?;
        let reference = reference
            .as_str()
            .ok_or_else(|| expected(&place, "a string of text", reference))?;
        let constraints = object("constraints")?;
        let slice = match constraints
            .and_then(|constraints| constraints.get("slice"))
            .filter(|value| !value.is_null())
        {
            None => None,
            Some(value) => {
                let text = value.as_str();
                Some(text.ok_or_else(|| expected(".constraints.slice", "a string of text", value))?)
            }
        };
        let to_value = |node: Option<Node<'_>>| {
            node.map_or_else(|| Value::Object(Members::new()), |node| node.to_value())
        };
        Ok(Self {
            op,
            reference: reference.into_owned(),
            slice: slice.map(|slice| slice.into_owned()),
            refs: to_value(refs),
            constraints: to_value(constraints),
            expected_outputs: to_value(object("expected_outputs")?),
        })
    }

    /// Makes the step read something else.
    pub fn set_reference(&mut self, reference: &str) {
        self.reference = reference.to_owned();
        self.refs.insert(self.op.ref_key(), reference);
    }

    /// Sets the slice.
    pub fn set_slice(&mut self, slice: &str) {
        self.slice = Some(slice.to_owned());
        self.constraints.insert("slice", slice);
    }

    /// The step with its six fields (001 §2.3).
    pub fn to_step(&self, step_id: &str, ordinal: i64) -> Value {
        let mut step = Value::object([("step_id", step_id), ("op", self.op.name())]);
        step.insert("ordinal", ordinal);
        step.insert("refs", self.refs.clone());
        step.insert("constraints", self.constraints.clone());
        step.insert("expected_outputs", self.expected_outputs.clone());
        step
    }
}

impl<'a> Plan<'a> {
    /// What the step at this index of `steps` does.
    pub fn body(&self, at: usize) -> Result<StepBody, PlanFault> {
        match self.nodes.item(at) {
            Some(node) => StepBody::parse(node),
            None => Err(fault("", "there is no such step")),
        }
    }

    /// Parses a plan and checks everything that needs no store. Every fault is reported.
    pub fn parse(root: Node<'a>) -> Result<Self, Vec<PlanFault>> {
        let mut faults = Vec::new();
        if root.kind() != Kind::Object {
            return Err(vec![expected("$", "an object", root)]);
        }
        let known = ["run_id", "intent", "steps", "budgets", "idempotency_key"];
        refuse_unknown(root, "$", &known, &mut faults);
        let run_id = required_text(root, "run_id", &mut faults);
        let idempotency_key = required_text(root, "idempotency_key", &mut faults);
        let intent = match root.get("intent") {
            None => String::new(),
            Some(value) => value
                .as_str()
                .map(|text| text.into_owned())
                .unwrap_or_else(|| {
                    faults.push(expected("$.intent", "a string", value));
                    String::new()
                }),
        };
        let budgets = parse_budgets(root, &mut faults);
        let mut steps = Vec::new();
        match root.get("steps") {
            Some(list) if list.kind() == Kind::Array => {
                for (at, node) in list.items().enumerate() {
                    match parse_step(node, at) {
                        Ok(step) => steps.push(step),
                        Err(found) => faults.push(PlanFault {
                            path: format!("$.steps[{at}]{}", found.path),
                            message: found.message,
                        }),
                    }
                }
                if list.is_empty() {
                    faults.push(fault("$.steps", "expected at least one step"));
                }
            }
            Some(other) => faults.push(expected("$.steps", "a list", other)),
            None => faults.push(fault("$.steps", "the field is missing")),
        }
        if let Some(limit) = budgets.max_steps
            && i64::try_from(steps.len()).is_ok_and(|count| count > limit)
        {
            let message = format!("expected at most {limit} steps, actual {}", steps.len());
            faults.push(fault("$.budgets.max_steps", message));
        }
        check_repeats(&steps, &mut faults);
        let written = || canonical_text(root, Dialect::Job).map(Cow::Owned);
        let canonical = match root
            .stored_as_job()
            .map_or_else(written, |text| Ok(Cow::Borrowed(text)))
        {
            Ok(text) => text,
            Err(error) => {
                faults.push(fault("$", error.to_string()));
                Cow::default()
            }
        };
        match (run_id, idempotency_key, root.get("steps")) {
            (Some(run_id), Some(idempotency_key), Some(nodes)) if faults.is_empty() => Ok(Self {
                nodes,
                run_id,
                intent,
                idempotency_key,
                budgets,
                steps,
                canonical,
            }),
            _ => Err(faults),
        }
    }
}

fn parse_step(node: Node<'_>, at: usize) -> Result<PlanStep, PlanFault> {
    let body = StepBody::parse(node)?;
    let known = [
        "step_id",
        "ordinal",
        "op",
        "refs",
        "constraints",
        "expected_outputs",
    ];
    let mut unknown = Vec::new();
    refuse_unknown(node, "", &known, &mut unknown);
    if let Some(found) = unknown.pop() {
        return Err(found);
    }
    if let Some(slice) = &body.slice {
        parse_slice(slice).map_err(|error| fault(".constraints.slice", error.to_string()))?;
    } else if body.op == Op::ReadSection {
        return Err(fault(
            ".constraints.slice",
            "a section is read with a slice, actual none",
        ));
    }
    let step_id = match node.get("step_id").filter(|value| !value.is_null()) {
        None => None,
        Some(value) => {
            let text = value.as_str().filter(|text| !text.is_empty());
            Some(
                text.ok_or_else(|| expected(".step_id", "a name", value))?
                    .into(),
            )
        }
    };
    let ordinal = match node.get("ordinal").filter(|value| !value.is_null()) {
        None => i64::try_from(at).unwrap_or(i64::MAX),
        Some(value) => {
            let number = value
                .as_number()
                .filter(|number| number.as_integer().is_some());
            let ordinal = number.and_then(|number| number.text().parse().ok());
            ordinal.ok_or_else(|| expected(".ordinal", "an integer of 64 bits", value))?
        }
    };
    Ok(PlanStep { step_id, ordinal })
}

fn parse_budgets(root: Node<'_>, faults: &mut Vec<PlanFault>) -> Budgets {
    let mut budgets = Budgets::default();
    let Some(node) = root.get("budgets").filter(|value| !value.is_null()) else {
        return budgets;
    };
    if node.kind() != Kind::Object {
        faults.push(expected("$.budgets", "an object", node));
        return budgets;
    }
    refuse_unknown(
        node,
        "$.budgets",
        &["max_bytes", "max_symbols", "max_steps"],
        faults,
    );
    for (key, budget) in [
        ("max_bytes", &mut budgets.max_bytes),
        ("max_symbols", &mut budgets.max_symbols),
        ("max_steps", &mut budgets.max_steps),
    ] {
        let Some(value) = node.get(key).filter(|value| !value.is_null()) else {
            continue;
        };
        let limit = value
            .as_number()
            .and_then(|number| number.text().parse::<i64>().ok());
        match limit.filter(|limit| *limit >= 0) {
            Some(limit) => *budget = Some(limit),
            None => {
                faults.push(expected(
                    &format!("$.budgets.{key}"),
                    "an integer of 0 or more",
                    value,
                ));
            }
        }
    }
    budgets
}

/// Checks for repeats: two steps with the same id, or with the same ordinal and no ids, would be
/// indistinguishable.
fn check_repeats(steps: &[PlanStep], faults: &mut Vec<PlanFault>) {
    let mut ids = BTreeSet::new();
    let mut places = BTreeSet::new();
    for (at, step) in steps.iter().enumerate() {
        match &step.step_id {
            Some(step_id) => {
                if !ids.insert(step_id) {
                    let message = format!("step_id `{step_id}` appears twice");
                    faults.push(fault(&format!("$.steps[{at}].step_id"), message));
                }
            }
            None => {
                if !places.insert(step.ordinal) {
                    let message = format!(
                        "ordinal {} appears twice: give the steps a step_id each",
                        step.ordinal
                    );
                    faults.push(fault(&format!("$.steps[{at}].ordinal"), message));
                }
            }
        }
    }
}

fn required_text(root: Node<'_>, key: &str, faults: &mut Vec<PlanFault>) -> Option<String> {
    let place = format!("$.{key}");
    match root.get(key) {
        None => faults.push(fault(&place, "the field is missing")),
        Some(value) => match value.as_str() {
            Some(text) if !text.is_empty() => return Some(text.into_owned()),
            _ => faults.push(expected(&place, "a string with text", value)),
        },
    }
    None
}

fn refuse_unknown(node: Node<'_>, place: &str, known: &[&str], faults: &mut Vec<PlanFault>) {
    for (key, _) in node.members() {
        if !key.as_str().is_some_and(|key| known.contains(&&*key)) {
            let message = format!("unknown member; known are {}", known.join(", "));
            faults.push(fault(&format!("{place}.{}", key.to_lossy()), message));
        }
    }
}

fn fault(path: &str, message: impl Into<String>) -> PlanFault {
    PlanFault {
        path: path.to_owned(),
        message: message.into(),
    }
}

fn expected(path: &str, what: &str, actual: Node<'_>) -> PlanFault {
    let found = match (actual.as_lossy_str(), actual.as_number()) {
        (Some(text), _) => format!("`{text}`"),
        (None, Some(number)) => format!("`{}`", number.text()),
        (None, None) => actual.kind().with_article().to_owned(),
    };
    fault(path, format!("expected {what}, actual {found}"))
}

/// The 16 digits from which the ids of a job are made (rulings: ids made by us). A step id given by
/// the plan is included, because several such steps may share an ordinal.
pub fn derive_job_digits(
    run_id: &str,
    idempotency_key: &str,
    ordinal: Option<i64>,
    own_step_id: Option<&str>,
) -> Result<String, NoCanonicalForm> {
    let mut source = Value::object([("run_id", run_id), ("idempotency_key", idempotency_key)]);
    if let Some(ordinal) = ordinal {
        source.insert("ordinal", ordinal);
    }
    if let Some(step_id) = own_step_id {
        source.insert("step_id", step_id);
    }
    canonical_digest(&source, Dialect::Job).map(|digest| digest.hex_prefix(16))
}

#[cfg(test)]
mod tests;

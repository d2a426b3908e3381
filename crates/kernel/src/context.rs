//! What an intent declares in its context, and what earlier answers left in its constraints.
//!
//! - `context.profile`: the name of a profile, or a list of elements that the intent must name;
//! - `context.accepted`: waivers, `[{"rule", "quote", "reason"}]`, that silence a finding;
//! - `context.findings`: findings of assessors, `[{"kind", "quotes", "message", "options"?}]`.
//!
//! All three are part of the intent and of its hash. An intent with a malformed member is refused,
//! and the refusal says where. A constraint that begins with `Decided:` records an answer: it is
//! not searched, and it closes the findings that it quotes.

use std::collections::BTreeSet;

use runseal_core::canon::Value;

use crate::find::{Finding, Wanted};
use crate::intent::Refusal;
use crate::rules::{DEFAULT_PROFILE, Kind, rule_set};
use crate::text::{normalize_constraint, one_line, strings};

/// The beginning of a recorded decision.
pub(crate) const DECIDED: &str = "Decided: ";
/// The beginning of a decision about everything that was not asked singly.
pub(crate) const DECIDED_REST: &str = "Decided: all further open points: ";

/// The most waivers in an intent, and the most findings of assessors.
const MOST_ENTRIES: usize = 1000;

/// The acceptance of a finding, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The id of the rule.
    pub rule: String,
    /// Words that the finding quotes.
    pub quote: String,
    /// Why it is accepted.
    pub reason: String,
}

impl Waiver {
    /// Whether it silences the finding: same rule, and the finding quotes these words.
    pub(crate) fn fits(&self, finding: &Finding) -> bool {
        let quote = one_line(&self.quote);
        self.rule.eq_ignore_ascii_case(&finding.rule.id)
            && (finding
                .places
                .iter()
                .any(|place| place.quote.contains(&quote))
                || finding.sentence.quote.contains(&quote))
    }
}

/// A finding of an assessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessed {
    /// The kind of finding.
    pub kind: Kind,
    /// Verbatim words of the intent.
    pub quotes: Vec<String>,
    /// The assessor's question or remark.
    pub message: String,
    /// The answers to choose from.
    pub options: Vec<String>,
}

impl Assessed {
    /// Parses one finding; the error says what is wrong, and where below `place`.
    pub fn parse(value: &Value, place: &str) -> Result<Self, String> {
        let kind = text(value, "kind", place)?;
        let names = Kind::ALL.map(Kind::name).join(", ");
        let kind = Kind::parse(&kind).ok_or_else(|| {
            format!(
                "{place}.kind is `{}`, which is not one of {names}",
                one_line(&kind)
            )
        })?;
        let quotes =
            texts(value, "quotes", place)?.ok_or_else(|| format!("{place}.quotes is missing"))?;
        if quotes.is_empty() || quotes.iter().any(|quote| quote.trim().is_empty()) {
            return Err(format!(
                "{place}.quotes must hold at least one text, and no blank one"
            ));
        }
        if kind == Kind::Contradiction && quotes.len() != 2 {
            return Err(format!(
                "{place}.quotes of a contradiction must be two texts, not {}",
                quotes.len()
            ));
        }
        let message = text(value, "message", place)?;
        let options = texts(value, "options", place)?.unwrap_or_default();
        let options: BTreeSet<String> = options
            .iter()
            .map(|option| one_line(option))
            .filter(|option| !option.is_empty())
            .collect();
        Ok(Self {
            kind,
            quotes,
            message: one_line(&message),
            options: options.into_iter().collect(),
        })
    }

    /// Returns the finding as JSON for `context.findings`.
    pub fn to_value(&self) -> Value {
        let mut value = Value::object([
            ("kind", Value::from(self.kind.name())),
            ("message", Value::from(self.message.as_str())),
            ("quotes", strings(&self.quotes)),
        ]);
        if !self.options.is_empty() {
            value.insert("options", strings(&self.options));
        }
        value
    }
}

/// What an intent declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Waivers, in the order given.
    pub waivers: Vec<Waiver>,
    /// Findings of assessors, in the order given.
    pub assessed: Vec<Assessed>,
    pub(crate) wanted: Wanted,
}

impl Declared {
    /// Parses the three members of a context.
    pub fn parse(context: &Value) -> Result<Self, Refusal> {
        let mut declared = Declared {
            wanted: parse_profile(context.get("profile")).map_err(Refusal::InvalidIntent)?,
            ..Self::default()
        };
        for (at, value) in list(context, "accepted")?.iter().enumerate() {
            let place = format!("context.accepted[{at}]");
            let waiver = parse_waiver(value, &place).map_err(Refusal::InvalidIntent)?;
            declared.waivers.push(waiver);
        }
        for (at, value) in list(context, "findings")?.iter().enumerate() {
            let place = format!("context.findings[{at}]");
            declared
                .assessed
                .push(Assessed::parse(value, &place).map_err(Refusal::InvalidIntent)?);
        }
        Ok(declared)
    }
}

fn list<'a>(context: &'a Value, name: &str) -> Result<&'a [Value], Refusal> {
    match context.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) if items.len() <= MOST_ENTRIES => Ok(items),
        Some(Value::Array(items)) => Err(Refusal::InvalidIntent(format!(
            "context.{name} has {} entries, and {MOST_ENTRIES} is the most",
            items.len()
        ))),
        Some(_) => Err(Refusal::InvalidIntent(format!(
            "context.{name} must be a list"
        ))),
    }
}

fn text(value: &Value, name: &str, place: &str) -> Result<String, String> {
    if !matches!(value, Value::Object(_)) {
        return Err(format!("{place} must be an object"));
    }
    match value.get(name) {
        None => Err(format!("{place}.{name} is missing")),
        Some(member) => match member.as_str() {
            Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
            Some(_) => Err(format!("{place}.{name} must not be blank")),
            None => Err(format!("{place}.{name} must be a string")),
        },
    }
}

fn texts(value: &Value, name: &str, place: &str) -> Result<Option<Vec<String>>, String> {
    let items = match value.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(format!("{place}.{name} must be a list of strings")),
    };
    let texts = items.iter().enumerate().map(|(at, item)| {
        item.as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("{place}.{name}[{at}] must be a string"))
    });
    texts.collect::<Result<_, _>>().map(Some)
}

fn parse_waiver(value: &Value, place: &str) -> Result<Waiver, String> {
    Ok(Waiver {
        rule: text(value, "rule", place)?,
        quote: normalize_constraint(&text(value, "quote", place)?),
        reason: text(value, "reason", place)?,
    })
}

fn parse_profile(given: Option<&Value>) -> Result<Wanted, String> {
    let rules = rule_set();
    let named = |name: &str| rules.profiles.iter().find(|profile| profile.name == name);
    match given {
        Some(Value::Array(items)) => {
            let mut elements = Vec::new();
            for (at, item) in items.iter().enumerate() {
                let name = item
                    .as_str()
                    .ok_or_else(|| format!("context.profile[{at}] must be a string"))?;
                let found = rules
                    .elements
                    .iter()
                    .position(|element| element.name == name);
                elements.push(found.ok_or_else(|| {
                    let known: Vec<&str> = rules
                        .elements
                        .iter()
                        .map(|element| element.name.as_str())
                        .collect();
                    format!(
                        "context.profile[{at}] is `{}`, which is not one of {}",
                        one_line(name),
                        known.join(", ")
                    )
                })?);
            }
            Ok(Wanted {
                elements,
                below_words: None,
                essential: Vec::new(),
            })
        }
        None | Some(Value::Null | Value::String(_)) => {
            let name = given.and_then(Value::as_str).unwrap_or(DEFAULT_PROFILE);
            let profile = named(name).ok_or_else(|| {
                let known: Vec<&str> = rules
                    .profiles
                    .iter()
                    .map(|profile| profile.name.as_str())
                    .collect();
                format!(
                    "context.profile is `{}`, which is not one of {}",
                    one_line(name),
                    known.join(", ")
                )
            })?;
            Ok(Wanted {
                elements: profile.requires.clone(),
                below_words: profile.below_words,
                essential: profile.essential.clone(),
            })
        }
        Some(_) => {
            Err("context.profile must be the name of a profile or a list of elements".to_owned())
        }
    }
}

/// Whether a constraint is a recorded decision.
pub(crate) fn is_decision(constraint: &str) -> bool {
    constraint.starts_with("Decided:")
}

/// Quotes a text for a decision; inner quotation marks become plain ones, so that it can be parsed.
pub(crate) fn quoted(text: &str) -> String {
    format!("“{}”", text.replace(['“', '”'], "\""))
}

/// What the decisions among the constraints settle.
pub(crate) struct Decisions {
    quotes: BTreeSet<String>,
    all: bool,
}

impl Decisions {
    pub fn new(constraints: &[String]) -> Self {
        let mut decisions = Decisions {
            quotes: BTreeSet::new(),
            all: false,
        };
        for constraint in constraints
            .iter()
            .filter(|constraint| is_decision(constraint))
        {
            decisions.all |= constraint.starts_with(DECIDED_REST);
            let mut rest = constraint.as_str();
            while let Some((_, after_open)) = rest.split_once('“') {
                let Some((quote, after)) = after_open.split_once('”') else {
                    break;
                };
                decisions.quotes.insert(quote.to_owned());
                rest = after;
            }
        }
        decisions
    }

    /// Whether a decision closes the finding.
    pub fn covers(&self, finding: &Finding) -> bool {
        let has = |quote: &str| self.quotes.contains(&quote.replace(['“', '”'], "\""));
        match finding.kind() {
            // A gap closes when its elements are named, in a decision or elsewhere.
            Kind::Gap if finding.message.is_none() => false,
            _ if self.all => true,
            Kind::Contradiction => finding.places.iter().all(|place| has(&place.quote)),
            _ => has(&finding.sentence.quote),
        }
    }
}

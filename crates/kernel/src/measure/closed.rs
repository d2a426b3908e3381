//! Decisions that earlier answers left in the constraints.
//!
//! A constraint that begins with `Decided:` records an answer to a question. It is never searched for findings: a
//! person has decided, whatever words were used. It also closes the findings it quotes, and, where it names an element
//! (`Decided: users: …`), that gap. This is what makes the loop of questions and answers end for every intent.

use super::gap::Element;
use super::{Finding, FindingKind, Origin};

/// How a recorded decision begins.
pub(crate) const DECIDED: &str = "Decided:";

/// How a decision about everything that was not asked singly begins.
pub(crate) const DECIDED_REST: &str = "Decided: all further open points:";

/// The label under which an answer about an element is written.
pub(crate) fn element_label(element: Element) -> &'static str {
    match element {
        Element::Users => "Users",
        Element::Technology => "Technology",
        Element::Data => "Data",
        Element::FailureHandling => "Failure handling",
        Element::Output => "Output",
        Element::SuccessMeasure => "Success measure",
    }
}

/// Whether a constraint is a recorded decision.
pub(crate) fn is_decision(constraint: &str) -> bool {
    constraint.starts_with(DECIDED)
}

/// What decisions close.
pub(crate) struct Closed {
    decisions: String,
    elements: Vec<Element>,
    rest: bool,
}

impl Closed {
    /// Reads the decisions among the constraints.
    pub fn new(constraints: &[String]) -> Self {
        let mut closed = Closed {
            decisions: String::new(),
            elements: Vec::new(),
            rest: false,
        };
        for c in constraints {
            let body = c.strip_prefix(DECIDED).map(str::trim_start);
            for element in Element::ALL {
                let label = element_label(element);
                let text = body.unwrap_or(c);
                if text.len() > label.len()
                    && text.is_char_boundary(label.len())
                    && text[..label.len()].eq_ignore_ascii_case(label)
                    && text[label.len()..].starts_with(':')
                {
                    closed.elements.push(element);
                }
            }
            if let Some(body) = body {
                closed.rest |= c.starts_with(DECIDED_REST);
                closed.decisions.push_str(body);
                closed.decisions.push('\n');
            }
        }
        closed
    }

    /// Whether an element was given under its own label.
    pub fn has_element(&self, element: Element) -> bool {
        self.elements.contains(&element)
    }

    /// Whether a decision closes the finding.
    pub fn covers(&self, finding: &Finding) -> bool {
        if self.decisions.is_empty() {
            return false;
        }
        if self.rest && finding.kind != FindingKind::Gap {
            return true;
        }
        match finding.kind {
            FindingKind::Gap => false,
            _ => finding.places.first().is_some_and(|p| {
                p.origin == Origin::Goal && self.decisions.contains(&quoted(&p.quote))
            }),
        }
    }
}

/// How a decision quotes what it decides.
pub(crate) fn quoted(text: &str) -> String {
    format!("“{text}”")
}

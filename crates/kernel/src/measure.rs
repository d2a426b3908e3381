//! Measurement (000 §2.4, §6.2): the open findings, and scores computed from them.
//!
//! This is where findings of rules and assessors become open, noted, waived or decided. Entropy
//! counts what is open, density what is said; both are integers from 0 to 100 (000 §3.4).

use crate::context::{Assessed, Decisions, Declared, Waiver, is_decision};
use crate::find::{Finding, Naming, Origin, Place, Wanted, clip, find_all};
use crate::rules::{Kind, Matcher, Severity, rule_set};

/// The points of entropy for an open finding, by kind.
const POINTS: [(Kind, usize); 4] = [
    (Kind::Contradiction, 25),
    (Kind::Placeholder, 15),
    (Kind::Gap, 12),
    (Kind::Choice, 10),
];

/// How much of an intent is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entropy {
    /// Placeholders.
    pub unresolved_refs: usize,
    /// Elements that are not named.
    pub schema_gaps: usize,
    /// Pairs of constraints that contradict each other.
    pub contradiction_count: usize,
    /// Choices left open.
    pub branching_factor: usize,
    /// The weighted sum, at most 100.
    pub entropy_score: u8,
}

/// How much an intent says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Density {
    /// Constraints that name something concrete.
    pub concrete_constraints: usize,
    /// Constraints that speak of a result.
    pub specified_outputs: usize,
    /// The average number of words per constraint.
    pub constraint_depth: usize,
    /// 0 to 100.
    pub density_score: u8,
}

/// The findings in an intent, grouped by what becomes of them.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// Open: each becomes a question.
    pub open: Vec<Finding>,
    /// Reported, but not blocking.
    pub notes: Vec<Finding>,
    /// Silenced, each by the waiver at this index.
    pub waived: Vec<(Finding, usize)>,
    /// The indexes of waivers that silence nothing.
    pub unused_waivers: Vec<usize>,
    /// The indexes of assessors' findings whose quotes are not in the intent.
    pub stale: Vec<usize>,
    /// How much is open.
    pub entropy: Entropy,
    /// How much is said.
    pub density: Density,
}

/// Measures a goal and its constraints, which must be normalized.
pub fn measure(goal: &str, constraints: &[String], declared: &Declared) -> Measurement {
    let (mut findings, naming) = find_all(goal, constraints, &declared.wanted);
    let mut stale = Vec::new();
    for (at, assessed) in declared.assessed.iter().enumerate() {
        match locate(goal, constraints, assessed) {
            Some(finding) => findings.push(finding),
            None => stale.push(at),
        }
    }
    let decisions = Decisions::new(constraints);
    let mut sorted = Measurement {
        stale,
        density: measure_density(&naming, constraints.len()),
        ..Measurement::default()
    };
    let mut used = vec![false; declared.waivers.len()];
    for finding in findings {
        let mut waivers = declared.waivers.iter();
        let waiver = waivers.position(|waiver: &Waiver| waiver.fits(&finding));
        if let Some(at) = waiver {
            used[at] = true;
            sorted.waived.push((finding, at));
        } else if finding.rule.severity == Severity::Note {
            sorted.notes.push(finding);
        } else if !decisions.covers(&finding) {
            sorted.open.push(finding);
        }
    }
    sorted.unused_waivers = (0..used.len()).filter(|at| !used[*at]).collect();
    sorted.entropy = measure_entropy(&sorted.open);
    sorted
}

/// Counts the questions that a text raises on its own.
pub(crate) fn count_open(text: &str) -> usize {
    let (findings, _) = find_all(text, &[], &Wanted::default());
    findings.iter().filter(|finding| finding.asks()).count()
}

/// Returns an assessor's finding, if all of its quotes are verbatim in the intent.
pub(crate) fn locate(goal: &str, constraints: &[String], assessed: &Assessed) -> Option<Finding> {
    let mut rules = rule_set().of_matcher(Matcher::Given);
    let rule = rules.find(|rule| rule.kind == assessed.kind)?;
    let texts = || {
        let plain = constraints
            .iter()
            .enumerate()
            .filter(|(_, constraint)| !is_decision(constraint));
        std::iter::once((Origin::Goal, goal))
            .chain(plain.map(|(at, text)| (Origin::Constraint(at), text.as_str())))
    };
    let places = assessed.quotes.iter().map(|quote| {
        texts().find_map(|(origin, text)| {
            let start = text.find(quote.as_str())?;
            let end = start + quote.len();
            Some(Place {
                origin,
                start,
                end,
                quote: clip(text, start, end, start),
            })
        })
    });
    let places = places.collect::<Option<Vec<Place>>>()?;
    places.first()?;
    let mut finding = Finding::new(rule, places);
    finding.options = assessed.options.clone();
    finding.message = Some(assessed.message.clone());
    Some(finding)
}

/// Whether all quotes of an assessor's finding are in the intent.
pub fn has_quotes_of(goal: &str, constraints: &[String], assessed: &Assessed) -> bool {
    locate(goal, constraints, assessed).is_some()
}

fn measure_entropy(open: &[Finding]) -> Entropy {
    let count = |kind: Kind| open.iter().filter(|finding| finding.kind() == kind).count();
    let gaps: usize = open
        .iter()
        .filter(|finding| finding.kind() == Kind::Gap)
        .map(|finding| finding.missing.len().max(1))
        .sum();
    let sum: usize = POINTS
        .iter()
        .map(|(kind, points)| {
            points
                * if *kind == Kind::Gap {
                    gaps
                } else {
                    count(*kind)
                }
        })
        .sum();
    Entropy {
        unresolved_refs: count(Kind::Placeholder),
        schema_gaps: gaps,
        contradiction_count: count(Kind::Contradiction),
        branching_factor: count(Kind::Choice),
        entropy_score: sum.min(100) as u8,
    }
}

/// Scores eight points per named element, six per concrete constraint (at most 36), one per word of
/// depth (at most 16), and eight for a result.
fn measure_density(naming: &Naming, constraints: usize) -> Density {
    let depth = naming.words.checked_div(constraints).unwrap_or(0);
    let score = naming.elements * 8
        + (naming.concrete * 6).min(36)
        + depth.min(16)
        + usize::from(naming.outputs > 0) * 8;
    Density {
        concrete_constraints: naming.concrete,
        specified_outputs: naming.outputs,
        constraint_depth: depth,
        density_score: score.min(100) as u8,
    }
}

//! Entropy and density: integers from 0 to 100, computed from the findings and the profile (000 §3.4).

use super::gap::Profile;
use super::{Finding, FindingKind};

/// Points of entropy for one finding of each kind.
const PLACEHOLDER_POINTS: usize = 15;
const GAP_POINTS: usize = 12;
const CONTRADICTION_POINTS: usize = 25;
const CHOICE_POINTS: usize = 10;

/// How much of an intent is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entropy {
    /// Unresolved references.
    pub unresolved_refs: usize,
    /// Elements nobody gave.
    pub schema_gaps: usize,
    /// Pairs of constraints that cannot both hold.
    pub contradiction_count: usize,
    /// Choices left open.
    pub branching_factor: usize,
    /// The sum, weighted, at most 100.
    pub entropy_score: u8,
}

impl Entropy {
    pub(super) fn from_findings(findings: &[Finding]) -> Self {
        let count = |kind| findings.iter().filter(|f| f.kind == kind).count();
        let mut e = Entropy {
            unresolved_refs: count(FindingKind::Placeholder),
            schema_gaps: count(FindingKind::Gap),
            contradiction_count: count(FindingKind::Contradiction),
            branching_factor: count(FindingKind::Choice),
            entropy_score: 0,
        };
        let sum = e.unresolved_refs.saturating_mul(PLACEHOLDER_POINTS)
            + e.schema_gaps.saturating_mul(GAP_POINTS)
            + e.contradiction_count.saturating_mul(CONTRADICTION_POINTS)
            + e.branching_factor.saturating_mul(CHOICE_POINTS);
        e.entropy_score = sum.min(100) as u8;
        e
    }
}

/// How much an intent says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Density {
    /// Constraints that name something concrete.
    pub concrete_constraints: usize,
    /// Constraints that speak of a result.
    pub specified_outputs: usize,
    /// Words a constraint has on average.
    pub constraint_depth: usize,
    /// 0 to 100.
    pub density_score: u8,
}

impl Density {
    /// Ten points for each of the six elements seen, five a concrete constraint (at most 25), five for a result, one a
    /// word of depth (at most 10).
    pub(super) fn from_profile(profile: &Profile, constraints: usize) -> Self {
        let elements = profile.seen.iter().filter(|s| **s).count() * 10;
        let concrete = (profile.concrete_constraints * 5).min(25);
        let output = if profile.specified_outputs > 0 { 5 } else { 0 };
        let depth = if constraints == 0 {
            0
        } else {
            profile.constraint_depth.min(10)
        };
        Density {
            concrete_constraints: profile.concrete_constraints,
            specified_outputs: profile.specified_outputs,
            constraint_depth: profile.constraint_depth,
            density_score: (elements + concrete + output + depth).min(100) as u8,
        }
    }
}

//! Rules, findings and reports: how every format is verified.
//!
//! A format has one static table of [`Rule`]s. A rule is a descriptor and one pure function that
//! looks at what was read and adds [`Finding`]s; it does not read, sort, print or stop anything.
//! [`run_rules`] asks each rule whether it has something to look at, runs it, and collects a
//! [`Report`]. Violations are data in a report; an error means that we could not look.

pub mod answer;
pub mod authenticity;
pub mod catalogue;
mod demands;
mod exit;
mod finding;
mod listing;
mod place;
mod render;
mod report;
mod rule;
mod survey;

pub use crate::hidden::one_line;
pub use demands::{Demands, NothingExpected};
pub use exit::{Outcome, Surface, exit_code};
pub use finding::{Difference, Finding, Findings};
pub(crate) use listing::PlacedFaults;
pub use listing::{count_findings, drop_unlisted_findings};
pub use place::{Place, Span};
pub use render::{render_human, render_json, violations_json};
pub use report::{Report, RuleResult, RuleState};
pub use rule::{Gate, Level, Rule, RuleInfo, Subject, run_rules};
pub use survey::{
    EXPECTED, NO_ACCESS, NO_FORMAT, NO_JSON, NO_LOG, NO_SIGNATURE, NO_TRUST, SignatureDemand,
    Survey, UnitResult, Verdict,
};

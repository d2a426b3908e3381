//! The formats: one module each, with its rules.

pub mod archive;
pub mod context_bundle;
pub mod definition;
pub mod detect;
pub mod engine_contracts;
pub mod evidence;
pub mod job_bundle;
pub mod ledger;
pub mod model_io;
pub mod pack;
pub mod patch;
pub mod policy;
pub mod proposal;
pub mod receipt;
pub mod run;
pub mod run_bundle;
pub mod runner;
mod shape;

use std::fmt;

use crate::verify::RuleInfo;

/// A format that runseal knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Document 000.
    ContextBundle,
    /// Document 001.
    JobBundle,
    /// Document 002.
    Pack,
    /// Document 003.
    Proposal,
    /// Document 004.
    RunBundle,
    /// The proof that a job bundle was replayed.
    Receipt,
    /// The file operations of a proposal.
    Patch,
    /// Recorded model calls.
    ModelIo,
    /// Where a run ran.
    Runner,
    /// What an execution did.
    Evidence,
    /// One line a run.
    Ledger,
    /// An engine's contracts.
    Engine,
    /// A tar or zip that any of the others may come in.
    Archive,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 13] = [
        Self::ContextBundle,
        Self::JobBundle,
        Self::Pack,
        Self::Proposal,
        Self::RunBundle,
        Self::Receipt,
        Self::Patch,
        Self::ModelIo,
        Self::Runner,
        Self::Evidence,
        Self::Ledger,
        Self::Engine,
        Self::Archive,
    ];

    /// The name in machine output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContextBundle => "context-bundle",
            Self::JobBundle => "job-bundle",
            Self::Pack => "pack",
            Self::Proposal => "proposal",
            Self::RunBundle => "run-bundle",
            Self::Receipt => "receipt",
            Self::Patch => "patch",
            Self::ModelIo => "model-io",
            Self::Runner => "runner",
            Self::Evidence => "evidence",
            Self::Ledger => "ledger",
            Self::Engine => "engine",
            Self::Archive => "archive",
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ContextBundle => "context bundle",
            Self::JobBundle => "job bundle",
            Self::Pack => "pack",
            Self::Proposal => "proposal",
            Self::RunBundle => "run bundle",
            Self::Receipt => "receipt",
            Self::Patch => "patch set",
            Self::ModelIo => "model recording",
            Self::Runner => "runner record",
            Self::Evidence => "evidence",
            Self::Ledger => "ledger",
            Self::Engine => "engine",
            Self::Archive => "archive",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Every rule of every format: the one list that the reference page, `runseal rules` and the
/// tests walk.
pub fn all_rules() -> Vec<&'static RuleInfo> {
    let of_format = |definition: &&dyn definition::FormatDefinition| definition.rules();
    definition::REGISTRY.iter().flat_map(of_format).collect()
}

//! The formats, one module each, with its rules.

pub mod archive;
pub mod bag;
pub mod checksums;
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
pub mod redacted;
pub mod run;
pub mod run_bundle;
pub mod runner;
mod shape;

use std::fmt;

use crate::verify::RuleInfo;
use definition::FormatDefinition;

/// Derives everything that must know all formats from the list of them: a new format is a module
/// and a line here.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident, $module:ident, $name:literal, $title:literal;)*) => {
        /// A format that runseal knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// Every format.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name in machine output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The name for people.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }

        /// The definitions, indexed by format.
        pub static REGISTRY: [&dyn FormatDefinition; Format::ALL.len()] =
            [$(&$module::DEFINITION),*];
    };
}

formats! {
    /// Document 000.
    ContextBundle, context_bundle, "context-bundle", "context bundle";
    /// Document 001.
    JobBundle, job_bundle, "job-bundle", "job bundle";
    /// Document 002.
    Pack, pack, "pack", "pack";
    /// Document 003.
    Proposal, proposal, "proposal", "proposal";
    /// Document 004.
    RunBundle, run_bundle, "run-bundle", "run bundle";
    /// The proof that a job bundle was replayed.
    Receipt, receipt, "receipt", "receipt";
    /// The file operations of a proposal.
    Patch, patch, "patch", "patch set";
    /// Recorded model calls.
    ModelIo, model_io, "model-io", "model recording";
    /// The machine and sandbox of a run.
    Runner, runner, "runner", "runner record";
    /// What an execution did.
    Evidence, evidence, "evidence", "evidence";
    /// One line per run.
    Ledger, ledger, "ledger", "ledger";
    /// An engine's contracts.
    Engine, engine_contracts, "engine", "engine";
    /// A copy of a bundle with parts withheld.
    Redacted, redacted, "redacted-bundle", "redacted copy";
    /// A BagIt bag, RFC 8493.
    Bag, bag, "bag", "BagIt bag";
    /// Files with a list of their SHA-256 sums.
    Checksums, checksums, "checksums", "list of sums";
    /// A tar or zip that contains any of the others.
    Archive, archive, "archive", "archive";
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Every rule of every format: the list that the reference page, `runseal rules` and the tests use.
pub fn all_rules() -> Vec<&'static RuleInfo> {
    let of_format = |definition: &&dyn FormatDefinition| definition.rules();
    REGISTRY.iter().flat_map(of_format).collect()
}

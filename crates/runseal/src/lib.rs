//! Verify, seal and replay run bundles: evidence of what a run took in, did and produced, that
//! others can check offline, without trusting whoever made it.
//!
//! This crate runs the same code as the `runseal` command, so its answers are byte for byte the
//! same: [`Report::to_json`] returns what `runseal verify --format json` prints. The crates behind
//! it (`runseal-core` and others) change more often; use this one.
//!
//! # Verify
//!
//! ```no_run
//! let report = runseal::verify_path("evidence.zip");
//! for unit in report.units() {
//!     for finding in unit.findings() {
//!         eprintln!("{}: {} {}", unit.path(), finding.rule_id, finding.message);
//!     }
//! }
//! assert!(report.is_valid(), "{report}");
//! ```
//!
//! [`Verify`] has what the command line has: levels, threads, a trust policy, demands.
//!
//! # Describe a run while it runs
//!
//! ```
//! # fn main() -> Result<(), runseal::Error> {
//! # let folder = std::env::temp_dir().join(format!("runseal-doc-{}", std::process::id()));
//! let mut run = runseal::Recorder::begin("TRAINING", "1.0")?;
//! run.param("rate", 0.1)?;
//! run.metric("loss", 0.25, Some(1))?;
//! run.artifact_bytes("notes.txt", b"converged")?;
//! let sealed = run.seal(&folder)?;
//! assert!(runseal::verify_path(sealed.path()).is_valid());
//! # std::fs::remove_dir_all(&folder).ok();
//! # Ok(())
//! # }
//! ```
//!
//! What a program says about itself is a claim; `runseal record -- COMMAND` observes instead, and
//! its bundles can be replayed.
//!
//! # Seal and replay
//!
//! [`seal`] seals an engine's output that was made elsewhere, [`replay`] runs a run bundle again in
//! the sandbox and compares.
//!
//! Three programs to start from are in `examples/library`; `cargo run -p runseal --example verify --
//! PATH` runs the first.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod error;
mod recorder;
mod replay;
mod report;
mod seal;
mod show;

pub use error::Error;
pub use recorder::{Parameter, Recorder};
pub use replay::{Replay, ReplayOptions, replay};
pub use report::{Report, Unit, Verify, verify_path};
pub use runseal_core::formats::Format;
pub use runseal_core::verify::{Finding, Level};
pub use runseal_runs::run::replay::Verdict;
pub use seal::{SealOptions, SealedRun, seal};
pub use show::{Comparison, Inspection, diff, inspect};

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::hidden::answer_text;

/// Returns the canonical form (RFC 8785) of a JSON text, read strictly: no duplicate keys, no byte
/// order mark, nothing after it.
///
/// ```
/// let canonical = runseal::canon(br#"{"b": 1.0, "a": "\u00e9"}"#)?;
/// assert_eq!(canonical, "{\"a\":\"é\",\"b\":1}".as_bytes());
/// # Ok::<(), runseal::Error>(())
/// ```
///
/// # Errors
/// If the text is not strict JSON, or has no canonical form.
pub fn canon(json: &[u8]) -> Result<Vec<u8>, Error> {
    let document = parse_document(json, &ReadOptions::default())?;
    canonical_bytes(&document.root().to_value(), Dialect::Jcs).map_err(Error::from)
}

/// Returns the SHA-256 of bytes, as 64 hexadecimal digits.
///
/// ```
/// assert!(runseal::digest(b"").starts_with("e3b0c442"));
/// ```
pub fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// A value as the command prints it: one canonical line, with hidden characters escaped.
fn json_text(value: &Value) -> Result<String, Error> {
    answer_text(value, Dialect::Kernel).map_err(Error::from)
}

//! Replays a job bundle: every step is read again, from the bundle alone.

use std::path::Path;

use runseal_core::canon::Value;
use runseal_core::formats::receipt::receipt_bytes;
use runseal_core::verify::Outcome;
use runseal_store::job::replay::replay_job_bundle;
use runseal_store::job::verify::verify_job_bundle_then;
use runseal_survey::VerifyOptions;

use super::replay_intent::{Comparison, print};
use super::replay_refused::Refused;
use crate::error::{CliError, Named};
use crate::ui;

/// Replays the job bundle at `path`. Programs get the receipt, people the verdict.
pub fn replay_job(path: &Path, json: bool) -> Result<Outcome, CliError> {
    let shown = path.display().to_string();
    let (found, receipt) = verify_job_bundle_then(path, VerifyOptions::default(), |bundle| {
        replay_job_bundle(bundle, None, None)
    });
    let Some(receipt) = receipt else {
        let refused = Refused {
            report: &found.report,
            wrapping: &[],
            check: found.check(),
        };
        refused.print(&shown, json)?;
        return Ok(found.outcome());
    };
    let receipt = receipt.named(&shown)?;
    if !json {
        return print(&compare(&receipt), path, false);
    }
    let bytes = receipt_bytes(&receipt).named(&shown)?;
    ui::print_bytes(&bytes)?;
    Ok(Outcome::Valid)
}

/// What a receipt says, for people. There is one only if everything is as it was sealed.
fn compare(receipt: &Value) -> Comparison {
    let count = |name: &str| match receipt.get(name) {
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    let hash = |name: &str| match receipt.get(name) {
        Some(Value::String(hash)) => hash.to_lossy(),
        _ => String::new(),
    };
    let several = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    Comparison {
        same: vec![
            format!(
                "steps: {}, read again from the bundle alone",
                several(count("steps"), "step")
            ),
            format!(
                "content: {}, root hash {}",
                several(count("artifacts"), "artifact"),
                hash("root_hash")
            ),
        ],
        notes: vec![format!(
            "`runseal job replay` prints the receipt of this and can sign it; its hash is {}",
            hash("receipt_hash")
        )],
        differences: Vec::new(),
        was_executed: true,
    }
}

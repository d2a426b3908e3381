//! What redaction has to know of run bundles.

use std::collections::BTreeMap;

use super::layout::{ARTIFACT_INDEX, RUN_META, SUMS};
use crate::canon::Value;
use crate::formats::Format;
use crate::formats::redacted::documents::{REDACTION, REDACTION_SALT};
use crate::formats::redacted::redactable::{Keeping, PlaceRef, Redactable, RuleNeeds};

/// The run bundle as redaction knows it.
pub static REDACTABLE: Redactable = Redactable {
    format: Format::RunBundle,
    keeping: Keeping::Files(&[SUMS, ARTIFACT_INDEX, REDACTION, REDACTION_SALT]),
    stays: &[
        (
            RUN_META,
            &[
                "/run_id",
                "/engine_code",
                "/engine_version",
                "/sealed_at",
                "/canonicalization",
                "/hash_algo",
                "/core_orchestrator_version",
            ],
        ),
        (
            "RUN_OUTPUT.json",
            &[
                "/engine/engine_code",
                "/engine/engine_version",
                "/semantics",
            ],
        ),
        ("ENGINE_MANIFEST.json", &["/engine_code", "/engine_version"]),
    ],
    ids: &[(RUN_META, "/run_id")],
    hides_name: |_| false,
    needs: &[
        RuleNeeds {
            rules: &["RB1", "RB2", "RB5", "RB11", "RB12"],
            files: &[],
        },
        RuleNeeds {
            rules: &["RB3"],
            files: &["RUN_INPUT.json", "INPUT_SCHEMA.json"],
        },
        RuleNeeds {
            rules: &["RB4"],
            files: &["RUN_OUTPUT.json", "OUTPUT_SCHEMA.json"],
        },
        RuleNeeds {
            rules: &["RB6"],
            files: &[
                "ENGINE_MANIFEST.json",
                "INPUT_SCHEMA.json",
                "OUTPUT_SCHEMA.json",
                "COUPLING_RULES.json",
                "SEALING_SPEC.md",
                RUN_META,
            ],
        },
        RuleNeeds {
            rules: &["RB7"],
            files: &["RUN_INPUT.json", "RUN_OUTPUT.json"],
        },
    ],
    bound,
};

/// The digest of an engine's command is over lines of digests of its files.
fn bound(documents: &BTreeMap<String, Value>, withheld: &[PlaceRef<'_>]) -> Vec<String> {
    let is_engine = |(path, _): &PlaceRef<'_>| path.starts_with("engine/");
    let digest = documents
        .get(RUN_META)
        .filter(|_| withheld.iter().any(is_engine))
        .and_then(|meta| meta.get("engine_executable_sha256")?.as_str());
    digest.map(str::to_owned).into_iter().collect()
}

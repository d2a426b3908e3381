//! What redaction needs to know about job bundles.
//!
//! The commitment is in `provenance`, the only member of the manifest for what document 001 does
//! not define. `bundle_id` covers the commitment, so it cannot be committed to and is in no copy.
//! The name of an artifact is derived from a digest of what was read, so copies rename it; the
//! manifest's `sha256` says which artifact it is.

use std::collections::BTreeMap;

use crate::canon::Value;
use crate::formats::Format;
use crate::formats::definition::Ended;
use crate::formats::redacted::derivations::{Derivation, How};
use crate::formats::redacted::redactable::{
    Keeping, PlaceRef, Redactable, RuleNeeds, digest_digits,
};

pub(super) const MANIFEST: &str = "bundle.json";
/// The member of `provenance` with the commitment.
pub const REDACTION_MEMBER: &str = "redaction";

/// The job bundle as redaction knows it.
pub static REDACTABLE: Redactable = Redactable {
    format: Format::JobBundle,
    keeping: Keeping::Member {
        file: MANIFEST,
        steps: &["provenance", REDACTION_MEMBER],
        left_out: &["provenance", "bundle_id"],
    },
    stays: &[(
        MANIFEST,
        &["/bundle_version", "/run_id", "/job_id", "/message_id"],
    )],
    ids: &[(MANIFEST, "/run_id"), (MANIFEST, "/job_id")],
    hides_name: |path| path.starts_with("artifacts/"),
    needs: &[
        RuleNeeds {
            rules: &["JB6", "JB8", "JB12", "JB13", "JB15"],
            files: &[],
        },
        RuleNeeds {
            rules: &["JB4", "JB5"],
            files: &["artifacts/"],
        },
        RuleNeeds {
            rules: &["JB2"],
            files: &[MANIFEST],
        },
        RuleNeeds {
            rules: &["JB3", "JB4", "JB5", "JB7", "JB9", "JB10", "JB14"],
            files: &["bundle.json#/artifacts"],
        },
        RuleNeeds {
            rules: &["JB7"],
            files: &["bundle.json#/hashes"],
        },
        RuleNeeds {
            rules: &["JB3", "JB14"],
            files: &["bundle.json#/inputs"],
        },
        RuleNeeds {
            rules: &["JB3", "JB9", "JB11", "JB14"],
            files: &["bundle.json#/steps"],
        },
        RuleNeeds {
            rules: &["JB11"],
            files: &["bundle.json#/plan_hash"],
        },
    ],
    bound,
    derivations: &[DERIVATIONS],
    reads: &[MANIFEST],
    judge_shown: super::shown::judge_shown,
    outcome: |_| Ended::default(),
};

/// What our programs write about a job in more than one place.
const DERIVATIONS: &[Derivation] = &[
    Derivation {
        of: &["{f}"],
        how: How::Digest,
        told: &["bundle.json#/artifacts/*[path={f}]/sha256"],
    },
    Derivation {
        of: &["{f}"],
        how: How::Size,
        told: &["bundle.json#/artifacts/*[path={f}]/bytes"],
    },
    Derivation {
        of: &["bundle.json#/artifacts/*[ref={r}]/ref"],
        how: How::Same,
        told: &[
            "bundle.json#/steps/*/refs[symbol_id={r}]/symbol_id",
            "bundle.json#/steps/*/refs[section_id={r}]/section_id",
            "bundle.json#/inputs/symbols/*[={r}]",
            "bundle.json#/inputs/files/*[={r}]",
        ],
    },
    Derivation {
        of: &["bundle.json#/artifacts/*[slice={s}]/slice"],
        how: How::Same,
        told: &[
            "bundle.json#/steps/*/constraints[slice={s}]/slice",
            "bundle.json#/inputs/slices/*[={s}]",
        ],
    },
    Derivation {
        of: &["bundle.json#/inputs/symbols/*"],
        how: How::Sorted,
        told: &["bundle.json#/inputs/symbols"],
    },
    Derivation {
        of: &["bundle.json#/inputs/files/*"],
        how: How::Sorted,
        told: &["bundle.json#/inputs/files"],
    },
    Derivation {
        of: &["bundle.json#/inputs/slices/*"],
        how: How::Sorted,
        told: &["bundle.json#/inputs/slices"],
    },
    // Artifacts are sorted by a digest of ref and slice; the ref of a section is a digest of its
    // text.
    Derivation {
        of: &[
            "bundle.json#/artifacts/*[kind=SECTION_SLICE]/sha256",
            "bundle.json#/artifacts/*/ref",
            "bundle.json#/artifacts/*/slice",
            "bundle.json#/artifacts/*/artifact_id",
        ],
        how: How::Sorted,
        told: &["bundle.json#/artifacts"],
    },
];

/// The digests and ids in the manifest that are bound to what is withheld. The id of an artifact
/// covers its ref and slice; a ref that is a section's id covers the text of that section. Sections
/// overlap: text that one artifact withholds may be in the section of another, so all such ids go
/// once any artifact is touched. The root covers the digests of all artifacts, the plan's hash all
/// steps.
fn bound(documents: &BTreeMap<String, Value>, withheld: &[PlaceRef<'_>]) -> Vec<String> {
    let Some(manifest) = documents.get(MANIFEST) else {
        return Vec::new();
    };
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_withheld = |path: &str| withheld.iter().any(|(name, _)| *name == path);
    let is_below = |above: &str| {
        let mut pointers = withheld.iter().filter(|(path, _)| *path == MANIFEST);
        pointers.any(|(_, pointer)| match pointer {
            None => true,
            Some(pointer) => {
                let below = |above: &str, below: &str| {
                    let rest = below.strip_prefix(above);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                below(above, pointer) || below(pointer, above)
            }
        })
    };
    let mut found = Vec::new();
    let mut is_root_bound = is_below("/artifacts");
    if let Some(Value::Array(artifacts)) = manifest.get("artifacts") {
        for (at, artifact) in artifacts.iter().enumerate() {
            let file = text(artifact, "path").is_some_and(|path| is_withheld(&path));
            if !file && !is_below(&format!("/artifacts/{at}")) {
                continue;
            }
            is_root_bound = true;
            found.extend(text(artifact, "artifact_id"));
            found.extend(text(artifact, "sha256"));
        }
        for artifact in artifacts.iter().filter(|_| is_root_bound) {
            let reference = text(artifact, "ref");
            let digits = reference.as_deref().and_then(digest_digits);
            if let Some(digits) = digits {
                found.push(digits.to_owned());
                found.extend(text(artifact, "artifact_id"));
            }
        }
    }
    if is_root_bound {
        found.extend(
            manifest
                .get("hashes")
                .and_then(|hashes| text(hashes, "root_hash")),
        );
    }
    if is_below("/steps") {
        found.extend(text(manifest, "plan_hash"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::redacted::documents::FileKind;

    #[test]
    fn section_ids_are_bound_to_every_artifact() {
        let section = "a".repeat(64);
        let manifest = format!(
            r#"{{"artifacts":[
                {{"artifact_id":"0000000000000001","path":"artifacts/1.txt","ref":"docs/a.md","sha256":"s1"}},
                {{"artifact_id":"0000000000000002","path":"artifacts/2.txt","ref":"{section}","sha256":"s2"}},
                {{"artifact_id":"0000000000000003","path":"artifacts/3.txt","ref":"@name","sha256":"s3"}}],
                "hashes":{{"root_hash":"root"}},"plan_hash":"plan"}}"#
        );
        let manifest = FileKind::Json.read(manifest.as_bytes()).unwrap();
        let documents = [(MANIFEST.to_owned(), manifest)].into();
        let found = bound(&documents, &[("artifacts/1.txt", None)]);
        let expected = [
            "0000000000000001",
            "s1",
            &section,
            "0000000000000002",
            "root",
        ];
        assert_eq!(found, expected);
        assert!(bound(&documents, &[(MANIFEST, Some("/inputs"))]).is_empty());
    }
}

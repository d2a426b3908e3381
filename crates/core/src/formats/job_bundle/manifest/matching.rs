//! Matches each step with the artifact it reads.

use super::records::{Artifact, ArtifactRecord, Step, StepRecord};
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::hashes::derive_artifact_key;

/// Steps and artifacts that all match: every step reads an artifact whose id is derived from what
/// the step reads, and every artifact is read. Its ids need not be derived again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matching {
    /// Whether each artifact has the kind of all its steps.
    pub kinds_agree: bool,
}

/// Matches steps with artifacts. `None` if something is left over, the ids are not derived, or an
/// artifact is out of order; then refs and slices must be compared pairwise.
///
/// An attacker may craft two reads with the same id, so the texts are compared too.
pub(super) fn match_steps<'a>(
    steps: &'a [StepRecord],
    artifacts: &'a [ArtifactRecord],
    texts: &'a str,
) -> Option<Matching> {
    let key_of = |(at, step): (usize, &'a StepRecord)| {
        let (reference, slice) = Step::new(step, texts).pair()?;
        let key = derive_artifact_key(reference.as_str()?, slice.as_str()?)?;
        Some((key, u32::try_from(at).ok()?))
    };
    let keys = steps.iter().enumerate().map(key_of);
    let mut keys = keys.collect::<Option<Vec<(ArtifactKey, u32)>>>()?;
    keys.sort_unstable();
    let mut next = 0;
    let mut before = None;
    let mut kinds_agree = true;
    for artifact in artifacts {
        let artifact = Artifact::new(artifact, texts);
        let key = artifact.key()?;
        if before.replace(key).is_some_and(|before| before >= key) {
            return None;
        }
        let first = next;
        while let Some((_, at)) = keys.get(next).filter(|(found, _)| *found == key) {
            let step = Step::new(steps.get(*at as usize)?, texts);
            if step.pair() != artifact.pair() {
                return None;
            }
            kinds_agree &= step.op().is_some() && step.op() == artifact.kind();
            next += 1;
        }
        if next == first {
            return None;
        }
    }
    (next == keys.len()).then_some(Matching { kinds_agree })
}

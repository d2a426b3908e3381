//! Which artifact each step reads.

use super::{Artifact, Step};
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::hashes::derive_artifact_key;

/// Steps and artifacts that belong together: every step reads an artifact that has the id derived from what it
/// reads, and every artifact is read. Its ids need not be derived a second time then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matching {
    /// Whether each artifact is of the kind that one of its steps gives.
    pub kinds_agree: bool,
}

/// Matches steps with artifacts. `None` where something is left over, or the ids are not derived, or an artifact
/// stands out of order; then refs and slices have to be compared one with the other.
///
/// Two reads may have the same id by design of whoever wrote them, so the texts are compared too.
pub(super) fn match_steps<'a>(
    (count, step_at): (usize, impl Fn(usize) -> Option<Step<'a>>),
    artifacts: impl ExactSizeIterator<Item = Artifact<'a>>,
) -> Option<Matching> {
    let key_of = |at: usize| {
        let step = step_at(at)?;
        let key = derive_artifact_key(step.reference?.as_str()?, step.slice?.as_str()?)?;
        Some((key, u32::try_from(at).ok()?))
    };
    let keys = (0..count).map(key_of);
    let mut keys = keys.collect::<Option<Vec<(ArtifactKey, u32)>>>()?;
    keys.sort_unstable();
    let mut next = 0;
    let mut before = None;
    let mut kinds_agree = true;
    for artifact in artifacts {
        let key = artifact.key?;
        if before.replace(key).is_some_and(|before| before >= key) {
            return None;
        }
        let first = next;
        let mut has_kind = false;
        while let Some((_, at)) = keys.get(next).filter(|(found, _)| *found == key) {
            let step = step_at(*at as usize)?;
            if (step.reference, step.slice) != (artifact.reference.clone(), artifact.slice.clone())
            {
                return None;
            }
            has_kind |= step.op == artifact.kind;
            next += 1;
        }
        if next == first {
            return None;
        }
        kinds_agree &= has_kind;
    }
    (next == keys.len()).then_some(Matching { kinds_agree })
}

//! Whether the steps read what the artifacts hold.

use super::{Artifact, Step, Text};
use crate::digest::{Digest, Hasher};

/// Whether steps and artifacts name the same pairs of ref and slice. Compared by digests of the
/// pairs, which are small and lie together: comparing a hundred thousand texts would go all over
/// the memory. Anything that does not pair off takes the long way and is told in full.
pub(super) fn pairs_off(steps: &[Step<'_>], artifacts: &[Artifact<'_>]) -> bool {
    let steps = steps.iter().map(|step| (&step.reference, &step.slice));
    let artifacts = artifacts
        .iter()
        .map(|artifact| (&artifact.reference, &artifact.slice));
    match (pair_digests(steps), pair_digests(artifacts)) {
        (Some(read), Some(held)) => read == held,
        _ => false,
    }
}

/// The digests of all pairs, sorted, each once; `None` where a pair is not whole.
fn pair_digests<'t, 'a: 't>(
    pairs: impl Iterator<Item = (&'t Option<Text<'a>>, &'t Option<Text<'a>>)>,
) -> Option<Vec<Digest>> {
    let digest = |(reference, slice): (&Option<Text<'_>>, &Option<Text<'_>>)| {
        let (Some(Text::Plain(reference)), Some(Text::Plain(slice))) = (reference, slice) else {
            return None;
        };
        let mut hasher = Hasher::new();
        // The length tells where one text ends and the other begins.
        hasher.update(&(reference.len() as u64).to_le_bytes());
        hasher.update(reference.as_bytes());
        hasher.update(slice.as_bytes());
        Some(hasher.finish())
    };
    let mut digests = pairs.map(digest).collect::<Option<Vec<_>>>()?;
    digests.sort_unstable();
    digests.dedup();
    Some(digests)
}

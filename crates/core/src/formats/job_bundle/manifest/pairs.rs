//! Whether the steps read what the artifacts hold.

use super::{Artifact, Step, Text};

/// Whether steps and artifacts name the same pairs of ref and slice. Anything that does not pair
/// off takes the long way and is told in full.
pub(super) fn pairs_off(steps: &[Step<'_>], artifacts: &[Artifact<'_>]) -> bool {
    let steps = steps.iter().map(|step| (&step.reference, &step.slice));
    let artifacts = artifacts
        .iter()
        .map(|artifact| (&artifact.reference, &artifact.slice));
    match (sorted_pairs(steps), sorted_pairs(artifacts)) {
        (Some(read), Some(held)) => read == held,
        _ => false,
    }
}

/// A pair, ordered by the first bytes of its ref before all else: most refs are hashes, and a
/// number that lies beside its neighbours decides without going for the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair<'t> {
    head: u64,
    reference: &'t str,
    slice: &'t str,
}

/// All pairs, sorted, each once; `None` where a pair is not whole.
fn sorted_pairs<'t, 'a: 't>(
    pairs: impl Iterator<Item = (&'t Option<Text<'a>>, &'t Option<Text<'a>>)>,
) -> Option<Vec<Pair<'t>>> {
    let whole = |(reference, slice): (&'t Option<Text<'a>>, &'t Option<Text<'a>>)| {
        let reference = reference.as_ref()?.as_str()?;
        let slice = slice.as_ref()?.as_str()?;
        Some(Pair {
            head: head_of(reference),
            reference,
            slice,
        })
    };
    let mut pairs = pairs.map(whole).collect::<Option<Vec<_>>>()?;
    pairs.sort_unstable();
    pairs.dedup();
    Some(pairs)
}

/// The first eight bytes, filled up with zeros.
fn head_of(text: &str) -> u64 {
    let mut head = [0; 8];
    for (to, from) in head.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    u64::from_be_bytes(head)
}

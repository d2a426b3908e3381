//! The Merkle root over receipt hashes.

use crate::digest::{Digest, Hasher};

/// The root: leaves as raw bytes, pairs joined and hashed, an odd last one paired with itself.
/// `None` without leaves.
pub fn compute_merkle_root(leaves: &[Digest]) -> Option<Digest> {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| {
                let mut hasher = Hasher::new();
                hasher.update(pair[0].as_bytes());
                hasher.update(pair[pair.len() - 1].as_bytes());
                hasher.finish()
            })
            .collect();
    }
    level.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merkle_root_of_one_leaf_is_that_leaf() {
        let leaf = Digest::of(b"a");
        assert_eq!(compute_merkle_root(&[leaf]), Some(leaf));
        assert_eq!(compute_merkle_root(&[]), None);
    }

    #[test]
    fn merkle_root_of_three_leaves_pairs_last_with_itself() {
        let leaves = [b"a", b"b", b"c"].map(|text| Digest::of(text));
        let join = |a: Digest, b: Digest| Digest::of(&[*a.as_bytes(), *b.as_bytes()].concat());
        let expected = join(join(leaves[0], leaves[1]), join(leaves[2], leaves[2]));
        assert_eq!(compute_merkle_root(&leaves), Some(expected));
    }
}

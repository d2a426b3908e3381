//! The Merkle tree of RFC 6962: hashes, roots, proofs and their verification (RFC 9162, 2.1).

use runseal_core::digest::{Digest, Hasher};

/// Hashes an entry.
pub fn leaf_hash(entry: &[u8]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[0]);
    hasher.update(entry);
    hasher.finish()
}

/// Hashes two subtrees.
fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(&[1]);
    hasher.update(left.as_bytes());
    hasher.update(right.as_bytes());
    hasher.finish()
}

/// Returns the root of a tree without entries.
pub fn empty_root() -> Digest {
    Digest::of(b"")
}

/// Where the hashes of complete subtrees are kept.
pub trait Nodes {
    /// Why a hash cannot be read.
    type Error;

    /// Returns the hash of the complete subtree over the entries from `index << level` up to,
    /// excluding, `(index + 1) << level`.
    fn hash(&self, level: u32, index: u64) -> Result<Digest, Self::Error>;
}

impl<N: Nodes + ?Sized> Nodes for &N {
    type Error = N::Error;

    fn hash(&self, level: u32, index: u64) -> Result<Digest, Self::Error> {
        (**self).hash(level, index)
    }
}

/// Returns the exponent of the largest power of two below `size`, which is at least 2.
fn split_level(size: u64) -> u32 {
    (size - 1).ilog2()
}

/// Returns the hash over the entries from `start` up to `end`. `start` must be a multiple of the
/// smallest power of two that is not below their number.
fn range_hash<N: Nodes>(nodes: &N, start: u64, end: u64) -> Result<Digest, N::Error> {
    let count = end - start;
    if count.is_power_of_two() {
        let level = count.ilog2();
        return nodes.hash(level, start >> level);
    }
    let middle = start + (1 << split_level(count));
    let left = range_hash(nodes, start, middle)?;
    let right = range_hash(nodes, middle, end)?;
    Ok(node_hash(&left, &right))
}

/// Computes the root of the first `size` entries.
pub fn compute_root<N: Nodes>(nodes: &N, size: u64) -> Result<Digest, N::Error> {
    match size {
        0 => Ok(empty_root()),
        _ => range_hash(nodes, 0, size),
    }
}

/// Returns the path from entry `index` to the root of the first `size` entries, leaf to root.
/// `index` must be below `size`.
pub fn prove_inclusion<N: Nodes>(
    nodes: &N,
    index: u64,
    size: u64,
) -> Result<Vec<Digest>, N::Error> {
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + (1 << split_level(end - start));
        if index < middle {
            path.push(range_hash(nodes, middle, end)?);
            end = middle;
        } else {
            path.push(range_hash(nodes, start, middle)?);
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// Proves that the tree of `old` entries is a prefix of the tree of `size`. `old` must not exceed
/// `size`.
pub fn prove_consistency<N: Nodes>(
    nodes: &N,
    old: u64,
    size: u64,
) -> Result<Vec<Digest>, N::Error> {
    let mut path = Vec::new();
    if old == 0 || old == size {
        return Ok(path);
    }
    let (mut start, mut end) = (0, size);
    // Whether the verifier has the hash of the current subtree, because it is the whole old tree.
    let mut is_known = true;
    while old != end {
        let middle = start + (1 << split_level(end - start));
        if old <= middle {
            path.push(range_hash(nodes, middle, end)?);
            end = middle;
        } else {
            path.push(range_hash(nodes, start, middle)?);
            start = middle;
            is_known = false;
        }
    }
    if !is_known {
        path.push(range_hash(nodes, start, end)?);
    }
    path.reverse();
    Ok(path)
}

/// Returns whether `path` leads from the entry with `leaf` at `index` to `root`, in a tree of
/// `size`.
pub fn verify_inclusion(
    leaf: &Digest,
    index: u64,
    size: u64,
    path: &[Digest],
    root: &Digest,
) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, *leaf);
    for step in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node_hash(step, &hash);
            // A subtree at the right edge has no sibling on some levels.
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, step);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Returns whether `path` proves that the tree of `old` entries with `old_root` is a prefix of the
/// tree of `size` entries with `root`.
pub fn verify_consistency(
    (old, old_root): (u64, &Digest),
    (size, root): (u64, &Digest),
    path: &[Digest],
) -> bool {
    if old > size {
        return false;
    }
    if old == size {
        return path.is_empty() && old_root == root;
    }
    if old == 0 {
        return path.is_empty() && *old_root == empty_root();
    }
    let mut steps = path.iter();
    let (mut at, mut last) = (old - 1, size - 1);
    while at & 1 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let seed = if old.is_power_of_two() {
        *old_root
    } else {
        match steps.next() {
            Some(first) => *first,
            None => return false,
        }
    };
    let (mut old_hash, mut hash) = (seed, seed);
    for step in steps {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            old_hash = node_hash(step, &old_hash);
            hash = node_hash(step, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, step);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && old_hash == *old_root && hash == *root
}

/// The right edge of a tree: what is needed to append to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    /// The roots of the complete subtrees, largest first.
    peaks: Vec<Digest>,
}

impl Frontier {
    /// Reads the right edge of the first `size` entries.
    pub fn read<N: Nodes>(nodes: &N, size: u64) -> Result<Self, N::Error> {
        let mut peaks = Vec::new();
        let mut start = 0;
        for level in (0..64).rev().filter(|level| size >> level & 1 == 1) {
            peaks.push(nodes.hash(level, start >> level)?);
            start += 1 << level;
        }
        Ok(Self { size, peaks })
    }

    /// Returns the number of entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends an entry's hash. Returns the subtrees that it completes, smallest first.
    pub fn push(&mut self, leaf: Digest) -> Vec<Digest> {
        let mut completed = Vec::new();
        let mut hash = leaf;
        for _ in 0..self.size.trailing_ones() {
            // Each one at the end of the size is a subtree to join.
            if let Some(left) = self.peaks.pop() {
                hash = node_hash(&left, &hash);
                completed.push(hash);
            }
        }
        self.peaks.push(hash);
        self.size += 1;
        completed
    }

    /// Returns the root of the tree that ends at this edge.
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else {
            return empty_root();
        };
        peaks.fold(*last, |right, left| node_hash(left, &right))
    }
}

/// A tree in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    levels: Vec<Vec<Digest>>,
    frontier: Frontier,
}

impl MemoryTree {
    /// Makes the tree over these entries' hashes.
    pub fn new(leaves: impl IntoIterator<Item = Digest>) -> Self {
        let mut tree = Self::default();
        for leaf in leaves {
            tree.push(leaf);
        }
        tree
    }

    /// Appends an entry's hash.
    pub fn push(&mut self, leaf: Digest) {
        let completed = self.frontier.push(leaf);
        for (level, hash) in std::iter::once(leaf).chain(completed).enumerate() {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(hash);
        }
    }

    /// Returns the number of entries.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// Returns the root of the whole tree.
    pub fn root(&self) -> Digest {
        self.frontier.root()
    }
}

/// The tree in memory does not have the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tree has no such node")]
pub struct NoNode;

impl Nodes for MemoryTree {
    type Error = NoNode;

    fn hash(&self, level: u32, index: u64) -> Result<Digest, NoNode> {
        let level = self.levels.get(level as usize).ok_or(NoNode)?;
        let index = usize::try_from(index).map_err(|_| NoNode)?;
        level.get(index).copied().ok_or(NoNode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(size: u64) -> MemoryTree {
        MemoryTree::new((0..size).map(|at| leaf_hash(&at.to_be_bytes())))
    }

    #[test]
    fn reference_tree_has_its_published_roots() {
        // The inputs and roots that certificate-transparency implementations share.
        let inputs = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut tree = MemoryTree::default();
        assert_eq!(tree.root(), empty_root());
        for (input, root) in inputs.iter().zip(roots) {
            let bytes: Vec<u8> = (0..input.len() / 2)
                .map(|at| u8::from_str_radix(&input[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            tree.push(leaf_hash(&bytes));
            assert_eq!(tree.root().to_string(), root);
            assert_eq!(compute_root(&tree, tree.size()).unwrap(), tree.root());
        }
    }

    #[test]
    fn proof_of_small_tree_verifies_only_what_it_proves() {
        for size in 1..40 {
            let tree = tree(size);
            for index in 0..size {
                let leaf = leaf_hash(&index.to_be_bytes());
                let path = prove_inclusion(&tree, index, size).unwrap();
                assert!(verify_inclusion(&leaf, index, size, &path, &tree.root()));
                for other in (0..size).filter(|other| *other != index) {
                    assert!(!verify_inclusion(&leaf, other, size, &path, &tree.root()));
                }
                let mut longer = path.clone();
                longer.push(leaf);
                assert!(!verify_inclusion(&leaf, index, size, &longer, &tree.root()));
                if !path.is_empty() {
                    let shorter = &path[1..];
                    assert!(!verify_inclusion(&leaf, index, size, shorter, &tree.root()));
                }
            }
            for old in 0..=size {
                let old_root = compute_root(&tree, old).unwrap();
                let path = prove_consistency(&tree, old, size).unwrap();
                let new = (size, &tree.root());
                assert!(
                    verify_consistency((old, &old_root), new, &path),
                    "{old} {size}"
                );
                let forged = leaf_hash(b"forged");
                assert!(!verify_consistency((old, &forged), new, &path));
                if old > 0 {
                    assert!(!verify_consistency(
                        (old, &old_root),
                        (size, &forged),
                        &path
                    ));
                }
                assert!(!verify_consistency(
                    (old, &old_root),
                    new,
                    &[path, vec![forged]].concat()
                ));
            }
        }
    }

    #[test]
    fn frontier_read_back_continues_as_before() {
        let mut whole = tree(100);
        for size in 0..100 {
            let mut edge = Frontier::read(&whole, size).unwrap();
            for at in size..100 {
                edge.push(leaf_hash(&at.to_be_bytes()));
            }
            assert_eq!(edge.root(), whole.root());
        }
        whole.push(leaf_hash(b""));
        assert_ne!(whole.root(), tree(100).root());
    }
}

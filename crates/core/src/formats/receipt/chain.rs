//! Chains: receipts in the order of their parent links.

use std::collections::BTreeMap;

use thiserror::Error;

use super::Receipt;
use crate::digest::Digest;

/// Why receipts from separate files do not make a chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// Two receipts have the same hash.
    #[error("duplicate receipt `{0}`")]
    Twice(Digest),
    /// Two receipts follow the same one.
    #[error("two receipts follow `{0}`")]
    Fork(Digest),
    /// More than one receipt follows none of the others.
    #[error("{0} receipts have no predecessor among the others: this is not one chain")]
    Starts(usize),
    /// Some receipts follow each other in a ring.
    #[error("the parent links form a cycle")]
    Ring,
}

/// The order in which receipts follow each other, by their parent links. If a receipt has no hash,
/// the given order is kept: that fault is reported elsewhere.
pub fn order_by_links(receipts: &[Receipt<'_>]) -> Result<Vec<usize>, ChainError> {
    let mut by_hash = BTreeMap::new();
    for (at, receipt) in receipts.iter().enumerate() {
        let Some(hash) = receipt.receipt_hash else {
            return Ok((0..receipts.len()).collect());
        };
        if by_hash.insert(hash, at).is_some() {
            return Err(ChainError::Twice(hash));
        }
    }
    let mut next = BTreeMap::new();
    let mut starts = Vec::new();
    for (at, receipt) in receipts.iter().enumerate() {
        match receipt.parent.filter(|parent| by_hash.contains_key(parent)) {
            Some(parent) => {
                if next.insert(parent, at).is_some() {
                    return Err(ChainError::Fork(parent));
                }
            }
            None => starts.push(at),
        }
    }
    let [start] = starts[..] else {
        return Err(if starts.is_empty() {
            ChainError::Ring
        } else {
            ChainError::Starts(starts.len())
        });
    };
    let mut order = vec![start];
    let mut at = start;
    while let Some(following) = receipts[at].receipt_hash.and_then(|hash| next.get(&hash)) {
        at = *following;
        order.push(at);
    }
    if order.len() == receipts.len() {
        Ok(order)
    } else {
        Err(ChainError::Ring)
    }
}

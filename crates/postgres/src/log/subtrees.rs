//! Reads the hashes that a proof or an append needs in one query.
//!
//! Which hashes a computation needs depends only on sizes and positions, never on the hashes. So it
//! runs once to find out, and again with the hashes. A round trip for each hash would cost more than
//! everything else together.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use postgres::GenericClient;
use postgres::types::Type;
use runseal_core::digest::Digest;
use runseal_store::log::LogError;
use runseal_trust::log::tree::{Nodes, empty_root};

use super::{digest_of, number};
use crate::error::DatabaseError;

/// Why a computation on the log failed.
pub(super) enum Fault {
    /// The server or the connection failed; a retry may help.
    Database(DatabaseError),
    /// The log is damaged.
    Log(LogError),
}

impl<E: Into<DatabaseError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

/// Complete subtrees by level and index. Until the hashes are known, it records which are requested
/// and returns a meaningless hash.
#[derive(Default)]
pub(super) struct Subtrees {
    requested: RefCell<BTreeSet<(u32, u64)>>,
    known: Option<BTreeMap<(u32, u64), Digest>>,
}

impl Nodes for Subtrees {
    type Error = LogError;

    fn hash(&self, level: u32, index: u64) -> Result<Digest, LogError> {
        let Some(known) = &self.known else {
            self.requested.borrow_mut().insert((level, index));
            return Ok(empty_root());
        };
        let found = known.get(&(level, index)).copied();
        found.ok_or(LogError::NoLog("a hash is missing from the database"))
    }
}

/// Calls `compute` with the hashes that it needs.
pub(super) fn with_subtrees<T>(
    client: &mut impl GenericClient,
    log_id: i64,
    compute: impl Fn(&Subtrees) -> Result<T, LogError>,
) -> Result<T, Fault> {
    let requested = Subtrees::default();
    compute(&requested).map_err(Fault::Log)?;
    let known = read(client, log_id, &requested.requested.into_inner())?;
    let known = Subtrees {
        known: Some(known),
        ..Subtrees::default()
    };
    compute(&known).map_err(Fault::Log)
}

fn read(
    client: &mut impl GenericClient,
    log_id: i64,
    requested: &BTreeSet<(u32, u64)>,
) -> Result<BTreeMap<(u32, u64), Digest>, Fault> {
    let (mut leaves, mut levels, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (level, index) in requested {
        let place = number(*index).map_err(Fault::Log)?;
        match level {
            0 => leaves.push(place),
            _ => {
                levels.push(i64::from(*level));
                places.push(place);
            }
        }
    }
    let rows = client.query_typed(
        "SELECT 0::bigint, place, leaf FROM log_entries WHERE log_id = $1 AND place = ANY($2)
         UNION ALL
         SELECT n.level, n.place, n.hash FROM unnest($3::bigint[], $4::bigint[]) AS a(level, place)
         JOIN log_nodes n ON n.log_id = $1 AND n.level = a.level AND n.place = a.place",
        &[
            (&log_id, Type::INT8),
            (&leaves, Type::INT8_ARRAY),
            (&levels, Type::INT8_ARRAY),
            (&places, Type::INT8_ARRAY),
        ],
    )?;
    let mut known = BTreeMap::new();
    for row in &rows {
        let (level, place): (i64, i64) = (row.get(0), row.get(1));
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let hash = digest_of(row, 2).map_err(Fault::Log)?;
        known.insert((level, place.unsigned_abs()), hash);
    }
    Ok(known)
}

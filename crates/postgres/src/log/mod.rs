//! Transparency logs on the server, each under its name.
//!
//! A log is a row of `logs`: its state, and its newest signed checkpoint. Entries and the hashes of
//! complete subtrees are separate rows, which the database does not allow to be changed. A batch is
//! appended in one transaction: all of it or nothing. Existing entries are not appended again, which
//! makes it safe to retry after the connection was lost.

mod append;
mod subtrees;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use postgres::types::Type;
use postgres::{Client, GenericClient, Row};
use runseal_core::digest::Digest;
use runseal_store::log::{KeptEntry, Log, LogError, check_name};
use runseal_store::store::StoreError;
use runseal_trust::log::tree::{compute_root, empty_root, prove_consistency, prove_inclusion};
use runseal_trust::log::{Checkpoint, SignedNote};

use crate::address::Address;
use crate::connection::Connection;
use crate::error::DatabaseError;
use crate::schema;

pub use append::PostgresAppender;
use subtrees::{Fault, Subtrees, with_subtrees};

/// Rows per insert.
const CHUNK: usize = 5000;
/// Entries per page.
const PAGE: i64 = 5000;

/// A log on a server, in the state in which it was opened.
pub struct PostgresLog {
    connection: Connection,
    id: i64,
    state: Checkpoint,
    /// The newest signed checkpoint, of this state or an earlier one.
    signed: Option<SignedNote>,
}

impl fmt::Debug for PostgresLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresLog").field(&self.place()).finish()
    }
}

/// Splits a log's address into the server's address and the log's name after `#`, which is needed
/// if the server has several logs.
fn split_address(address: &str) -> (&str, Option<&str>) {
    match address.split_once('#') {
        Some((server, name)) => (server, Some(name)),
        None => (address, None),
    }
}

fn connect(server: &str) -> Result<Connection, StoreError> {
    Connection::open(Arc::new(Address::parse(server)?))
}

impl PostgresLog {
    /// Creates a new, empty log and returns its place.
    ///
    /// # Errors
    /// If the database has a log with this name, the name is invalid, or the server refuses.
    pub fn init(address: &str, origin: &str) -> Result<String, LogError> {
        check_name(origin)?;
        let (server, name) = split_address(address);
        if name.is_some_and(|name| name != origin) {
            return Err(LogError::Name);
        }
        let connection = connect(server)?;
        connection.run(|client, _| schema::migrate(client))?;
        let added = connection.run(|client, tries| {
            let added = client.execute_typed(
                "INSERT INTO logs(origin, size, root) VALUES($1, 0, $2)
                 ON CONFLICT (origin) DO NOTHING",
                &[
                    (&origin, Type::TEXT),
                    (&empty_root().as_bytes().as_slice(), Type::BYTEA),
                ],
            )?;
            // A try whose answer was lost may have created it; an empty log is as good as a new one.
            Ok(added == 1 || (tries > 0 && is_empty(client, origin)?))
        })?;
        if added {
            Ok(format!("{}#{origin}", connection.place()))
        } else {
            Err(LogError::Exists)
        }
    }

    /// Opens a log for reading.
    ///
    /// # Errors
    /// If there is none with this name, there are several but no name was given, or the server refuses.
    pub fn open(address: &str) -> Result<Self, LogError> {
        let (server, name) = split_address(address);
        let connection = connect(server)?;
        let has_logs = connection.run(|client, _| {
            schema::check(client, connection.place())?;
            let found = client.query_typed_one("SELECT to_regclass('logs') IS NOT NULL", &[])?;
            Ok(found.get(0))
        })?;
        if has_logs {
            Self::of_name(connection, name)
        } else {
            Err(LogError::NoLog("the database has none"))
        }
    }

    fn of_name(connection: Connection, name: Option<&str>) -> Result<Self, LogError> {
        let rows = connection.run(|client, _| {
            Ok(client.query_typed(
                "SELECT log_id, origin, size, root, checkpoint FROM logs
                 WHERE $1::text IS NULL OR origin = $1 ORDER BY origin LIMIT 20",
                &[(&name, Type::TEXT)],
            )?)
        })?;
        let row = match rows.as_slice() {
            [row] => row,
            [] => return Err(LogError::NoLog("the database has none with this name")),
            rows => {
                let names: Vec<String> = rows.iter().map(|row| row.get(1)).collect();
                return Err(LogError::Several(names.join(", ")));
            }
        };
        Ok(Self {
            id: row.get(0),
            state: Checkpoint {
                origin: row.get(1),
                size: row.get::<_, i64>(2).unsigned_abs(),
                root: digest_of(row, 3)?,
            },
            signed: parse_note(row.get(4))?,
            connection,
        })
    }

    /// Reads what others have appended. State and checkpoint are read together: a checkpoint read later
    /// could be of a later state.
    fn refresh(&mut self) -> Result<(), LogError> {
        let row = self.run(|client| {
            Ok(client.query_typed_one(
                "SELECT size, root, checkpoint FROM logs WHERE log_id = $1",
                &[(&self.id, Type::INT8)],
            )?)
        })?;
        self.state.size = row.get::<_, i64>(0).unsigned_abs();
        self.state.root = digest_of(&row, 1)?;
        self.signed = parse_note(row.get(2))?;
        Ok(())
    }

    /// Returns the server's address and the log's name, without a password.
    pub fn place(&self) -> String {
        format!("{}#{}", self.connection.place(), self.state.origin)
    }

    /// Calls `work` with the hashes that it needs, which are read in one query.
    fn compute<T>(&self, work: impl Fn(&Subtrees) -> Result<T, LogError>) -> Result<T, LogError> {
        self.run(|client| match with_subtrees(client, self.id, &work) {
            Ok(done) => Ok(Ok(done)),
            Err(Fault::Log(error)) => Ok(Err(error)),
            Err(Fault::Database(error)) => Err(error),
        })?
    }

    fn run<T>(
        &self,
        mut work: impl FnMut(&mut Client) -> Result<T, DatabaseError>,
    ) -> Result<T, LogError> {
        Ok(self.connection.run(|client, _| work(client))?)
    }
}

fn is_empty(client: &mut Client, origin: &str) -> Result<bool, DatabaseError> {
    let row = client.query_typed_opt(
        "SELECT size = 0 FROM logs WHERE origin = $1",
        &[(&origin, Type::TEXT)],
    )?;
    Ok(row.is_some_and(|row| row.get(0)))
}

/// Reads a hash in a row. Fails if its length is wrong, because then it was not written by us.
fn digest_of(row: &Row, column: usize) -> Result<Digest, LogError> {
    let bytes: [u8; 32] = row
        .get::<_, &[u8]>(column)
        .try_into()
        .map_err(|_| LogError::NoLog("a hash in the database is malformed"))?;
    Ok(Digest::from_bytes(bytes))
}

fn number(value: u64) -> Result<i64, LogError> {
    i64::try_from(value).map_err(|_| LogError::NoLog("a place is out of range"))
}

fn parse_note(text: Option<String>) -> Result<Option<SignedNote>, LogError> {
    text.map(|text| SignedNote::parse(&text))
        .transpose()
        .map_err(|_| LogError::NoLog("its newest checkpoint is not a signed note"))
}

/// Reads the hash of a complete subtree, if it exists.
fn read_hash(
    client: &mut impl GenericClient,
    id: i64,
    level: u32,
    place: i64,
) -> Result<Option<Row>, DatabaseError> {
    Ok(match level {
        0 => client.query_typed_opt(
            "SELECT leaf FROM log_entries WHERE log_id = $1 AND place = $2",
            &[(&id, Type::INT8), (&place, Type::INT8)],
        )?,
        _ => client.query_typed_opt(
            "SELECT hash FROM log_nodes WHERE log_id = $1 AND level = $2 AND place = $3",
            &[
                (&id, Type::INT8),
                (&i64::from(level), Type::INT8),
                (&place, Type::INT8),
            ],
        )?,
    })
}

fn find_leaves(
    client: &mut impl GenericClient,
    id: i64,
    wanted: &BTreeSet<Digest>,
) -> Result<Vec<Row>, DatabaseError> {
    let wanted: Vec<&[u8]> = wanted
        .iter()
        .map(|leaf| leaf.as_bytes().as_slice())
        .collect();
    let mut rows = Vec::new();
    for part in wanted.chunks(CHUNK) {
        rows.extend(client.query_typed(
            "SELECT leaf, min(place) FROM log_entries
             WHERE log_id = $1 AND leaf = ANY($2) GROUP BY leaf",
            &[(&id, Type::INT8), (&part, Type::BYTEA_ARRAY)],
        )?);
    }
    Ok(rows)
}

fn places_of(rows: &[Row]) -> Result<BTreeMap<Digest, u64>, LogError> {
    rows.iter()
        .map(|row| Ok((digest_of(row, 0)?, row.get::<_, i64>(1).unsigned_abs())))
        .collect()
}

impl Log for PostgresLog {
    fn state(&self) -> &Checkpoint {
        &self.state
    }

    fn hash(&self, level: u32, index: u64) -> Result<Digest, LogError> {
        let place = number(index)?;
        let row = self.run(|client| read_hash(client, self.id, level, place))?;
        match row {
            Some(row) => digest_of(&row, 0),
            None => Err(LogError::NoLog("a hash is missing from the database")),
        }
    }

    fn prove_inclusion(&self, index: u64, size: u64) -> Result<Vec<Digest>, LogError> {
        self.check_place(index)?;
        self.compute(|nodes| prove_inclusion(nodes, index, size))
    }

    fn prove_consistency(&self, old: u64, size: u64) -> Result<Vec<Digest>, LogError> {
        self.compute(|nodes| prove_consistency(nodes, old, size))
    }

    fn agrees_with(&self, checkpoint: &Checkpoint) -> Result<bool, LogError> {
        let is_of_this = checkpoint.size <= self.size() && checkpoint.origin == self.state.origin;
        let root = || self.compute(|nodes| compute_root(nodes, checkpoint.size));
        Ok(is_of_this && root()? == checkpoint.root)
    }

    fn entry(&self, index: u64) -> Result<Vec<u8>, LogError> {
        self.check_place(index)?;
        let place = number(index)?;
        let row = self.run(|client| {
            Ok(client.query_typed_opt(
                "SELECT entry FROM log_entries WHERE log_id = $1 AND place = $2",
                &[(&self.id, Type::INT8), (&place, Type::INT8)],
            )?)
        })?;
        row.map(|row| row.get(0))
            .ok_or(LogError::NoLog("an entry is missing from the database"))
    }

    fn find(&self, wanted: &BTreeSet<Digest>) -> Result<BTreeMap<Digest, u64>, LogError> {
        let rows = self.run(|client| find_leaves(client, self.id, wanted))?;
        let mut found = places_of(&rows)?;
        // Entries appended after the log was opened are not in the tree that is being read.
        found.retain(|_, place| *place < self.size());
        Ok(found)
    }

    fn signed_checkpoint(&self) -> Result<Option<SignedNote>, LogError> {
        Ok(self.signed.clone())
    }

    fn visit(&self, see: &mut dyn FnMut(&KeptEntry<'_>)) -> Result<(), LogError> {
        let size = number(self.size())?;
        let mut start = 0;
        while start < size {
            let end = (start + PAGE).min(size);
            let (entries, nodes) = self.run(|client| read_page(client, self.id, start..end))?;
            let mut nodes = nodes.iter().peekable();
            let mut expected = start;
            for row in &entries {
                let place: i64 = row.get(0);
                if place != expected {
                    return Err(LogError::NoLog("an entry is missing from the database"));
                }
                expected += 1;
                let mut hashes = Vec::new();
                while let Some(node) = nodes.next_if(|node| node.get::<_, i64>(0) == place) {
                    hashes.push(digest_of(node, 1)?);
                }
                see(&KeptEntry {
                    index: place.unsigned_abs(),
                    leaf: Some(digest_of(row, 1)?),
                    entry: row.get(2),
                    nodes: &hashes,
                });
            }
            if expected != end {
                return Err(LogError::NoLog("an entry is missing from the database"));
            }
            start = end;
        }
        Ok(())
    }
}

/// Reads the entries of a range, and the nodes that each of them completes.
fn read_page(
    client: &mut Client,
    id: i64,
    range: std::ops::Range<i64>,
) -> Result<(Vec<Row>, Vec<Row>), DatabaseError> {
    let bounds = [
        (&id as &(dyn postgres::types::ToSql + Sync), Type::INT8),
        (&range.start, Type::INT8),
        (&range.end, Type::INT8),
    ];
    let entries = client.query_typed(
        "SELECT place, leaf, entry FROM log_entries
         WHERE log_id = $1 AND place >= $2 AND place < $3 ORDER BY place",
        &bounds,
    )?;
    let nodes = client.query_typed(
        "SELECT last, hash FROM log_nodes
         WHERE log_id = $1 AND last >= $2 AND last < $3 ORDER BY last, level",
        &bounds,
    )?;
    Ok((entries, nodes))
}

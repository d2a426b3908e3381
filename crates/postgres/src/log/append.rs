//! Appends to a log on a server, and stores its newest checkpoint.
//!
//! An append locks the log's row, inserts rows and advances the state in one transaction. The
//! hashes on the tree's right edge are checked against the root before anything is built on them:
//! when the log is opened, and again only if others have appended since.

use postgres::types::Type;
use postgres::{Client, Transaction};
use runseal_core::digest::Digest;
use runseal_store::log::{
    Appended, Appender, Log, LogError, add_signatures, check_entries, check_kept, place_entries,
};
use runseal_trust::log::tree::{Frontier, leaf_hash};
use runseal_trust::log::{Checkpoint, SignedNote};

use super::subtrees::{Fault, with_subtrees};
use super::{CHUNK, PostgresLog, digest_of, find_leaves, places_of};
use crate::error::DatabaseError;

/// Appends to a log on a server. Several may do so at once: each append is its own transaction.
#[derive(Debug)]
pub struct PostgresAppender {
    log: PostgresLog,
    /// The right edge of the tree, as last checked against the root.
    frontier: Frontier,
}

impl PostgresAppender {
    /// Opens a log for appending.
    ///
    /// # Errors
    /// Like [`PostgresLog::open`], or if the log's hashes do not match its root.
    pub fn open(address: &str) -> Result<Self, LogError> {
        let log = PostgresLog::open(address)?;
        let size = log.size();
        let frontier = log.compute(|nodes| Frontier::read(nodes, size))?;
        if frontier.root() == log.state.root {
            Ok(Self { log, frontier })
        } else {
            Err(LogError::NoLog("its hashes do not match its root"))
        }
    }
}

impl Appender for PostgresAppender {
    fn log(&self) -> &dyn Log {
        &self.log
    }

    fn append(&mut self, entries: &[Vec<u8>]) -> Result<Appended, LogError> {
        let lines: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
        check_entries(&lines)?;
        let id = self.log.id;
        let done = self.log.connection.run(|client, _| {
            let mut transaction = begin(client)?;
            let outcome = append_in(&mut transaction, id, &self.frontier, entries);
            if outcome.is_ok() {
                transaction.commit()?;
            }
            match outcome {
                Err(Fault::Database(error)) => Err(error),
                Err(Fault::Log(error)) => Ok(Err(error)),
                Ok(done) => Ok(Ok(done)),
            }
        })?;
        let (appended, frontier) = done?;
        self.log.state.size = frontier.size();
        self.log.state.root = frontier.root();
        self.frontier = frontier;
        Ok(appended)
    }

    fn keep_checkpoint(&mut self, note: &SignedNote) -> Result<(), LogError> {
        let new = Checkpoint::parse(&note.text)
            .map_err(|_| LogError::NoLog("what was signed is not a checkpoint"))?;
        loop {
            self.log.refresh()?;
            let mut note = note.clone();
            if let Some(last) = &self.log.signed {
                check_kept(&self.log, last)?;
                let known = Checkpoint::parse(&last.text);
                // A later state was signed meanwhile: keep that one.
                if known.is_ok_and(|known| known.size > new.size) {
                    return Ok(());
                }
                if last.text == note.text {
                    add_signatures(&mut note, last);
                }
            }
            let before = self.log.signed.as_ref().map(SignedNote::to_text);
            let text = note.to_text();
            let id = self.log.id;
            let replaced = self.log.run(|client| {
                Ok(client.execute_typed(
                    "UPDATE logs SET checkpoint = $1
                     WHERE log_id = $2 AND (checkpoint IS NOT DISTINCT FROM $3 OR checkpoint = $1)",
                    &[
                        (&text, Type::TEXT),
                        (&id, Type::INT8),
                        (&before, Type::TEXT),
                    ],
                )?)
            })?;
            if replaced == 1 {
                self.log.signed = Some(note);
                return Ok(());
            }
        }
    }
}

/// Begins a transaction that the server ends if this program stops, so that others can continue.
fn begin(client: &mut Client) -> Result<Transaction<'_>, DatabaseError> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(
        "SET LOCAL idle_in_transaction_session_timeout = '10s'; SET LOCAL lock_timeout = '15s'",
    )?;
    Ok(transaction)
}

/// Appends the entries that are missing, and returns the tree's new right edge.
fn append_in(
    transaction: &mut Transaction<'_>,
    id: i64,
    checked: &Frontier,
    entries: &[Vec<u8>],
) -> Result<(Appended, Frontier), Fault> {
    let row = transaction.query_typed_one(
        "SELECT size, root FROM logs WHERE log_id = $1 FOR UPDATE",
        &[(&id, Type::INT8)],
    )?;
    let size = row.get::<_, i64>(0).unsigned_abs();
    let root = digest_of(&row, 1).map_err(Fault::Log)?;
    let mut frontier = frontier_of(transaction, id, checked, (size, root))?;
    let wanted = entries.iter().map(|entry| leaf_hash(entry)).collect();
    let known = find_leaves(transaction, id, &wanted)?;
    let known = places_of(&known).map_err(Fault::Log)?;
    let (missing, places) = place_entries(entries, size, known);
    let added = missing.len();
    if added > 0 {
        for part in missing.chunks(CHUNK) {
            add_rows(transaction, id, &mut frontier, part)?;
        }
        transaction.execute_typed(
            "UPDATE logs SET size = $2, root = $3 WHERE log_id = $1",
            &[
                (&id, Type::INT8),
                (&(frontier.size() as i64), Type::INT8),
                (&frontier.root().as_bytes().as_slice(), Type::BYTEA),
            ],
        )?;
    }
    Ok((Appended { places, added }, frontier))
}

/// Returns the right edge of the tree in this state: the one checked before, unless others have
/// appended since. Then it is read again and must match the root.
fn frontier_of(
    transaction: &mut Transaction<'_>,
    id: i64,
    checked: &Frontier,
    (size, root): (u64, Digest),
) -> Result<Frontier, Fault> {
    if checked.size() == size && checked.root() == root {
        return Ok(checked.clone());
    }
    let frontier = with_subtrees(transaction, id, |nodes| Frontier::read(nodes, size))?;
    if frontier.root() == root {
        Ok(frontier)
    } else {
        Err(Fault::Log(LogError::NoLog(
            "its hashes do not match its root",
        )))
    }
}

fn add_rows(
    transaction: &mut Transaction<'_>,
    id: i64,
    frontier: &mut Frontier,
    entries: &[&[u8]],
) -> Result<(), Fault> {
    let first = frontier.size() as i64;
    let mut leaves = Vec::with_capacity(entries.len());
    let mut nodes = Vec::with_capacity(entries.len());
    for (place, entry) in (first..).zip(entries) {
        let leaf = leaf_hash(entry);
        leaves.push(leaf);
        let completed = frontier.push(leaf).into_iter();
        nodes.extend(
            (1i64..)
                .zip(completed)
                .map(|(level, hash)| (level, place >> level, place, hash)),
        );
    }
    let places: Vec<i64> = (first..).take(entries.len()).collect();
    let hashes: Vec<&[u8]> = leaves
        .iter()
        .map(|leaf| leaf.as_bytes().as_slice())
        .collect();
    transaction.execute_typed(
        "INSERT INTO log_entries(log_id, place, leaf, entry)
         SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::bytea[])",
        &[
            (&id, Type::INT8),
            (&places, Type::INT8_ARRAY),
            (&hashes, Type::BYTEA_ARRAY),
            (&entries, Type::BYTEA_ARRAY),
        ],
    )?;
    let levels: Vec<i64> = nodes.iter().map(|node| node.0).collect();
    let places: Vec<i64> = nodes.iter().map(|node| node.1).collect();
    let last: Vec<i64> = nodes.iter().map(|node| node.2).collect();
    let hashes: Vec<&[u8]> = nodes
        .iter()
        .map(|node| node.3.as_bytes().as_slice())
        .collect();
    transaction.execute_typed(
        "INSERT INTO log_nodes(log_id, level, place, last, hash)
         SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])",
        &[
            (&id, Type::INT8),
            (&levels, Type::INT8_ARRAY),
            (&places, Type::INT8_ARRAY),
            (&last, Type::INT8_ARRAY),
            (&hashes, Type::BYTEA_ARRAY),
        ],
    )?;
    Ok(())
}

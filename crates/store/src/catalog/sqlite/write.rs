//! Writes to the file, one transaction per request.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::digest::Digest;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{SqliteCatalog, SqliteCatalogReader};
use crate::catalog::words::words_of_entry;
use crate::catalog::{Added, Catalog, CatalogError, CatalogReader, Entry, Existing, Sighting};

impl SqliteCatalog {
    fn begin(&mut self) -> Result<Transaction<'_>, CatalogError> {
        Ok(self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    /// Rebuilds the search words of a run whose tags have changed.
    fn reindex(&self, run: i64) -> Result<(), CatalogError> {
        match self.reader.entry(run)? {
            Some(entry) => put_words(&self.reader, run, &entry),
            None => Ok(()),
        }
    }

    /// Calls `work` in a transaction under the file's write lock. Unlike [`begin`](Self::begin),
    /// this leaves the catalogue free for reading in between.
    fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Self) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = work(self).and_then(|done| {
            self.connection.execute_batch("COMMIT")?;
            Ok(done)
        });
        if done.is_err() {
            // The error is already reported; if SQLite has already rolled back, this does nothing.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }
}

fn run_of(reader: &SqliteCatalogReader, digest: Digest) -> Result<Option<i64>, CatalogError> {
    let mut find = reader
        .connection
        .prepare_cached("SELECT run FROM catalog_runs WHERE digest = ?1")?;
    let found = find.query_row([digest.as_bytes()], |row| row.get(0));
    Ok(found.optional()?)
}

fn put_words(reader: &SqliteCatalogReader, run: i64, entry: &Entry) -> Result<(), CatalogError> {
    let words: Vec<_> = words_of_entry(entry).into_iter().collect();
    reader
        .connection
        .prepare_cached("INSERT OR REPLACE INTO catalog_words(rowid, said) VALUES(?1, ?2)")?
        .execute(params![run, words.join(" ")])?;
    Ok(())
}

/// Adds one unit; returns whether it is new.
fn put_entry(
    transaction: &Transaction<'_>,
    entry: &Entry,
    existing: Existing,
) -> Result<bool, CatalogError> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let added = transaction
        .prepare_cached(
            "INSERT INTO catalog_runs(digest, format, id, engine, outcome, time, left_out)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(digest) DO NOTHING RETURNING run",
        )?
        .query_row(
            params![
                entry.digest.as_bytes(),
                entry.format,
                text(&entry.id),
                text(&entry.engine),
                text(&entry.outcome),
                text(&entry.time),
                entry.left_out
            ],
            |row| row.get::<_, i64>(0),
        )
        .optional()?;
    let run = match added {
        Some(run) => run,
        None => transaction
            .prepare_cached("SELECT run FROM catalog_runs WHERE digest = ?1")?
            .query_row([entry.digest.as_bytes()], |row| row.get(0))?,
    };
    if added.is_none() && existing == Existing::Replace {
        transaction
            .prepare_cached(
                "UPDATE catalog_runs SET format = ?2, id = ?3, engine = ?4, outcome = ?5, time = ?6,
                     left_out = ?7 WHERE run = ?1",
            )?
            .execute(params![
                run,
                entry.format,
                text(&entry.id),
                text(&entry.engine),
                text(&entry.outcome),
                text(&entry.time),
                entry.left_out
            ])?;
        transaction
            .prepare_cached("DELETE FROM catalog_values WHERE run = ?1")?
            .execute([run])?;
    }
    if added.is_some() || existing == Existing::Replace {
        let mut put = transaction.prepare_cached(
            "INSERT INTO catalog_values(run, name, number, text) VALUES(?1, ?2, ?3, ?4)",
        )?;
        for (name, scalar) in &entry.values {
            put.execute(params![run, name.as_str(), scalar.number(), scalar.text()])?;
        }
    }
    put_sightings(transaction, run, &entry.sightings)?;
    let mut put = transaction
        .prepare_cached("INSERT OR IGNORE INTO catalog_tags(run, tag) VALUES(?1, ?2)")?;
    let mut has_new_tags = false;
    for tag in &entry.tags {
        has_new_tags |= put.execute(params![run, tag])? > 0;
    }
    if added.is_some() || existing == Existing::Replace || has_new_tags {
        let mut indexed = entry.clone();
        let mut tags = transaction.prepare_cached("SELECT tag FROM catalog_tags WHERE run = ?1")?;
        let mut rows = tags.query([run])?;
        while let Some(row) = rows.next()? {
            indexed.tags.insert(row.get(0)?);
        }
        let words: Vec<_> = words_of_entry(&indexed).into_iter().collect();
        let verb = match added {
            Some(_) => "INSERT",
            None => "INSERT OR REPLACE",
        };
        let put = format!("{verb} INTO catalog_words(rowid, said) VALUES(?1, ?2)");
        transaction
            .prepare_cached(&put)?
            .execute(params![run, words.join(" ")])?;
    }
    Ok(added.is_some())
}

/// Replaces what was recorded about the place of a unit: its signers may have changed.
fn put_sightings(
    transaction: &Transaction<'_>,
    run: i64,
    sightings: &BTreeSet<Sighting>,
) -> Result<(), CatalogError> {
    let mut drop_place =
        transaction.prepare_cached("DELETE FROM catalog_places WHERE run = ?1 AND place = ?2")?;
    let places: BTreeSet<_> = sightings.iter().map(|sighting| &sighting.place).collect();
    for place in places {
        drop_place.execute(params![run, place])?;
    }
    let mut put = transaction
        .prepare_cached("INSERT INTO catalog_places(run, place, signer) VALUES(?1, ?2, ?3)")?;
    for sighting in sightings {
        put.execute(params![run, sighting.place, sighting.signer])?;
    }
    Ok(())
}

impl Catalog for SqliteCatalog {
    fn add(&mut self, entries: &[Entry], existing: Existing) -> Result<Added, CatalogError> {
        let transaction = self.begin()?;
        let mut added = Added::default();
        for entry in entries {
            if put_entry(&transaction, entry, existing)? {
                added.added += 1
            } else {
                added.known += 1
            }
        }
        transaction.commit()?;
        Ok(added)
    }

    fn retain(&mut self, seen: &BTreeSet<(Digest, String)>) -> Result<u64, CatalogError> {
        let mut places: BTreeMap<Digest, BTreeSet<&str>> = BTreeMap::new();
        for (digest, place) in seen {
            places.entry(*digest).or_default().insert(place);
        }
        self.in_transaction(|catalog| {
            let connection = &catalog.connection;
            let mut gone = BTreeSet::new();
            let mut stale = Vec::new();
            {
                let mut all = connection.prepare(
                    "SELECT r.run, r.digest, p.place FROM catalog_runs r
                     LEFT JOIN catalog_places p ON p.run = r.run",
                )?;
                let mut rows = all.query([])?;
                while let Some(row) = rows.next()? {
                    let run: i64 = row.get(0)?;
                    let place: Option<String> = row.get(2)?;
                    match places.get(&super::read::digest_at(row, 1)?) {
                        None => {
                            gone.insert(run);
                        }
                        Some(kept) => {
                            let is_stale = |place: &String| !kept.contains(place.as_str());
                            stale.extend(place.filter(is_stale).map(|place| (run, place)));
                        }
                    }
                }
            }
            let mut drop_place =
                connection.prepare("DELETE FROM catalog_places WHERE run = ?1 AND place = ?2")?;
            for (run, place) in &stale {
                drop_place.execute(params![run, place])?;
            }
            for run in &gone {
                forget(catalog, *run)?;
            }
            Ok(gone.len() as u64)
        })
    }

    fn tag(
        &mut self,
        digests: &[Digest],
        add: &BTreeSet<String>,
        remove: &BTreeSet<String>,
    ) -> Result<u64, CatalogError> {
        self.in_transaction(|catalog| {
            let connection = &catalog.connection;
            let mut changed = 0;
            for digest in digests {
                let Some(run) = run_of(catalog, *digest)? else {
                    continue;
                };
                let mut count = 0;
                for tag in remove {
                    count += connection
                        .prepare_cached("DELETE FROM catalog_tags WHERE run = ?1 AND tag = ?2")?
                        .execute(params![run, tag])?;
                }
                for tag in add {
                    count += connection
                        .prepare_cached(
                            "INSERT OR IGNORE INTO catalog_tags(run, tag) VALUES(?1, ?2)",
                        )?
                        .execute(params![run, tag])?;
                }
                if count > 0 {
                    catalog.reindex(run)?;
                    changed += 1;
                }
            }
            Ok(changed)
        })
    }

    fn remove(&mut self, digests: &[Digest]) -> Result<u64, CatalogError> {
        self.in_transaction(|catalog| {
            let mut removed = 0;
            for digest in digests {
                if let Some(run) = run_of(catalog, *digest)? {
                    forget(catalog, run)?;
                    removed += 1;
                }
            }
            Ok(removed)
        })
    }

    fn as_reader(&self) -> &dyn CatalogReader {
        self
    }
}

/// Removes a run with its values, places and tags.
fn forget(catalog: &SqliteCatalog, run: i64) -> Result<(), CatalogError> {
    for statement in [
        "DELETE FROM catalog_words WHERE rowid = ?1",
        "DELETE FROM catalog_runs WHERE run = ?1",
    ] {
        let mut statement = catalog.connection.prepare_cached(statement)?;
        statement.execute([run])?;
    }
    Ok(())
}

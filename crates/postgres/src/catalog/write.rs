//! Writes to the server: a few statements for a whole batch, in one transaction.
//!
//! Every write is idempotent, so a batch whose answer was lost is sent again. Rows are always locked in
//! the order of their digests, so that concurrent writers wait for each other instead of deadlocking.

use std::collections::{BTreeMap, BTreeSet};

use postgres::types::Type;
use postgres::{Client, Transaction};
use runseal_core::digest::Digest;
use runseal_store::catalog::words::words_of_entry;
use runseal_store::catalog::{Added, Entry, Existing};

use super::read::read_entries;
use crate::error::DatabaseError;

pub(super) fn add(
    client: &mut Client,
    entries: &[Entry],
    existing: Existing,
) -> Result<Added, DatabaseError> {
    // One batch may contain the same unit at several places; its content is the same.
    let mut units: BTreeMap<Digest, &Entry> = BTreeMap::new();
    for entry in entries {
        units.entry(entry.digest).or_insert(entry);
    }
    let mut transaction = client.transaction()?;
    let added = put_runs(&mut transaction, &units, existing)?;
    let runs = runs_of(&mut transaction, units.keys().copied())?;
    let written: Vec<(i64, &Entry)> = units
        .iter()
        .filter(|(digest, _)| existing == Existing::Replace || added.contains(*digest))
        .filter_map(|(digest, entry)| Some((*runs.get(digest)?, *entry)))
        .collect();
    put_values(&mut transaction, &written)?;
    put_sightings(&mut transaction, entries, &runs)?;
    let tags: BTreeSet<(i64, &str)> = entries
        .iter()
        .filter_map(|entry| Some((runs.get(&entry.digest)?, &entry.tags)))
        .flat_map(|(run, tags)| tags.iter().map(move |tag| (*run, tag.as_str())))
        .collect();
    let mut tagged = put_tags(&mut transaction, &tags)?;
    if existing == Existing::Replace {
        // Their words were written without their existing tags.
        tagged.extend(runs.values());
    }
    reindex(&mut transaction, &tagged)?;
    transaction.commit()?;
    Ok(Added {
        added: added.len() as u64,
        known: (entries.len() - added.len()) as u64,
    })
}

/// Inserts the rows of runs; returns the digests of those that are new.
fn put_runs(
    transaction: &mut Transaction<'_>,
    units: &BTreeMap<Digest, &Entry>,
    existing: Existing,
) -> Result<BTreeSet<Digest>, DatabaseError> {
    let digests: Vec<&[u8]> = units
        .keys()
        .map(|digest| digest.as_bytes().as_slice())
        .collect();
    let column = |of: &dyn Fn(&Entry) -> &str| -> Vec<String> {
        units.values().map(|entry| of(entry).to_owned()).collect()
    };
    let formats = column(&|entry| &entry.format);
    let ids = column(&|entry| entry.id.as_deref().unwrap_or_default());
    let engines = column(&|entry| entry.engine.as_deref().unwrap_or_default());
    let outcomes = column(&|entry| entry.outcome.as_deref().unwrap_or_default());
    let times = column(&|entry| entry.time.as_deref().unwrap_or_default());
    let left_out: Vec<i64> = units
        .values()
        .map(|entry| i64::try_from(entry.left_out).unwrap_or(i64::MAX))
        .collect();
    let words: Vec<String> = units.values().map(|entry| joined_words(entry)).collect();
    let conflict = match existing {
        Existing::Keep => "DO NOTHING",
        Existing::Replace => {
            "DO UPDATE SET format = excluded.format, id = excluded.id, engine = excluded.engine,
                 outcome = excluded.outcome, time = excluded.time, left_out = excluded.left_out"
        }
    };
    let rows = transaction.query_typed(
        &format!(
            "INSERT INTO catalog_runs(digest, format, id, engine, outcome, time, left_out, words)
             SELECT digest, format, id, engine, outcome, time, left_out,
                 array_to_tsvector(string_to_array(words, ' '))
             FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
                 AS new(digest, format, id, engine, outcome, time, left_out, words)
             ORDER BY digest
             ON CONFLICT (digest) {conflict} RETURNING digest, xmax = 0"
        ),
        &[
            (&digests, Type::BYTEA_ARRAY),
            (&formats, Type::TEXT_ARRAY),
            (&ids, Type::TEXT_ARRAY),
            (&engines, Type::TEXT_ARRAY),
            (&outcomes, Type::TEXT_ARRAY),
            (&times, Type::TEXT_ARRAY),
            (&left_out, Type::INT8_ARRAY),
            (&words, Type::TEXT_ARRAY),
        ],
    )?;
    let new = rows.iter().filter(|row| row.get::<_, bool>(1));
    let new = new.filter_map(|row| <[u8; 32]>::try_from(row.get::<_, &[u8]>(0)).ok());
    Ok(new.map(Digest::from_bytes).collect())
}

/// Returns the words of an entry, separated by blanks, which no word contains.
fn joined_words(entry: &Entry) -> String {
    let words: Vec<_> = words_of_entry(entry).into_iter().collect();
    words.join(" ")
}

fn runs_of(
    transaction: &mut Transaction<'_>,
    digests: impl Iterator<Item = Digest>,
) -> Result<BTreeMap<Digest, i64>, DatabaseError> {
    let digests: Vec<Vec<u8>> = digests.map(|digest| digest.as_bytes().to_vec()).collect();
    let rows = transaction.query_typed(
        "SELECT digest, run FROM catalog_runs WHERE digest = ANY($1)",
        &[(&digests, Type::BYTEA_ARRAY)],
    )?;
    let runs = rows.iter().filter_map(|row| {
        let digest = <[u8; 32]>::try_from(row.get::<_, &[u8]>(0)).ok()?;
        Some((Digest::from_bytes(digest), row.get(1)))
    });
    Ok(runs.collect())
}

fn put_values(
    transaction: &mut Transaction<'_>,
    written: &[(i64, &Entry)],
) -> Result<(), DatabaseError> {
    let ids: Vec<i64> = written.iter().map(|(run, _)| *run).collect();
    transaction.execute_typed(
        "DELETE FROM catalog_values WHERE run = ANY($1)",
        &[(&ids, Type::INT8_ARRAY)],
    )?;
    let (mut runs, mut names) = (Vec::new(), Vec::new());
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    for (run, entry) in written {
        for (name, scalar) in &entry.values {
            runs.push(*run);
            names.push(name.as_str());
            numbers.push(scalar.number());
            texts.push(scalar.text());
        }
    }
    transaction.execute_typed(
        "INSERT INTO catalog_values(run, name, number, text)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::text[])",
        &[
            (&runs, Type::INT8_ARRAY),
            (&names, Type::TEXT_ARRAY),
            (&numbers, Type::FLOAT8_ARRAY),
            (&texts, Type::TEXT_ARRAY),
        ],
    )?;
    Ok(())
}

/// Replaces the sightings at the places of these entries: the signers may have changed.
fn put_sightings(
    transaction: &mut Transaction<'_>,
    entries: &[Entry],
    runs: &BTreeMap<Digest, i64>,
) -> Result<(), DatabaseError> {
    let mut seen = BTreeSet::new();
    for entry in entries {
        if let Some(run) = runs.get(&entry.digest) {
            for sighting in &entry.sightings {
                seen.insert((*run, sighting.place.as_str(), sighting.signer.as_str()));
            }
        }
    }
    let ids: Vec<i64> = seen.iter().map(|(run, _, _)| *run).collect();
    let places: Vec<&str> = seen.iter().map(|(_, place, _)| *place).collect();
    let signers: Vec<&str> = seen.iter().map(|(_, _, signer)| *signer).collect();
    transaction.execute_typed(
        "DELETE FROM catalog_places p USING unnest($1::bigint[], $2::text[]) AS seen(run, place)
         WHERE p.run = seen.run AND p.place = seen.place",
        &[(&ids, Type::INT8_ARRAY), (&places, Type::TEXT_ARRAY)],
    )?;
    transaction.execute_typed(
        "INSERT INTO catalog_places(run, place, signer)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING",
        &[
            (&ids, Type::INT8_ARRAY),
            (&places, Type::TEXT_ARRAY),
            (&signers, Type::TEXT_ARRAY),
        ],
    )?;
    Ok(())
}

/// Adds tags; returns the runs that did not have them yet.
fn put_tags(
    transaction: &mut Transaction<'_>,
    tags: &BTreeSet<(i64, &str)>,
) -> Result<BTreeSet<i64>, DatabaseError> {
    let ids: Vec<i64> = tags.iter().map(|(run, _)| *run).collect();
    let names: Vec<&str> = tags.iter().map(|(_, tag)| *tag).collect();
    let rows = transaction.query_typed(
        "INSERT INTO catalog_tags(run, tag) SELECT * FROM unnest($1::bigint[], $2::text[])
         ON CONFLICT DO NOTHING RETURNING run",
        &[(&ids, Type::INT8_ARRAY), (&names, Type::TEXT_ARRAY)],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Rebuilds the search words of runs whose tags have changed.
fn reindex(transaction: &mut Transaction<'_>, runs: &BTreeSet<i64>) -> Result<(), DatabaseError> {
    if runs.is_empty() {
        return Ok(());
    }
    let runs: Vec<i64> = runs.iter().copied().collect();
    let entries = read_entries(transaction, &runs)?;
    let words: Vec<String> = entries.iter().map(joined_words).collect();
    let digests: Vec<&[u8]> = entries
        .iter()
        .map(|entry| entry.digest.as_bytes().as_slice())
        .collect();
    transaction.execute_typed(
        "UPDATE catalog_runs r SET words = array_to_tsvector(string_to_array(new.words, ' '))
         FROM unnest($1::bytea[], $2::text[]) AS new(digest, words) WHERE r.digest = new.digest",
        &[(&digests, Type::BYTEA_ARRAY), (&words, Type::TEXT_ARRAY)],
    )?;
    Ok(())
}

pub(super) fn retain(
    client: &mut Client,
    seen: &BTreeSet<(Digest, String)>,
) -> Result<u64, DatabaseError> {
    let digests: Vec<&[u8]> = seen
        .iter()
        .map(|(digest, _)| digest.as_bytes().as_slice())
        .collect();
    let places: Vec<&str> = seen.iter().map(|(_, place)| place.as_str()).collect();
    let mut transaction = client.transaction()?;
    // Use a temporary table, so that the planner knows how many rows there are.
    transaction.batch_execute(
        "CREATE TEMPORARY TABLE seen(digest bytea, place text COLLATE \"C\") ON COMMIT DROP",
    )?;
    transaction.execute_typed(
        "INSERT INTO seen SELECT * FROM unnest($1::bytea[], $2::text[])",
        &[(&digests, Type::BYTEA_ARRAY), (&places, Type::TEXT_ARRAY)],
    )?;
    transaction.batch_execute("ANALYZE seen")?;
    transaction.execute_typed(
        "DELETE FROM catalog_places p USING catalog_runs r
         WHERE r.run = p.run AND NOT EXISTS (SELECT 1 FROM seen s
             WHERE s.digest = r.digest AND s.place = p.place)",
        &[],
    )?;
    let removed = transaction.execute_typed(
        "DELETE FROM catalog_runs r WHERE NOT EXISTS (SELECT 1 FROM catalog_places p
             WHERE p.run = r.run)",
        &[],
    )?;
    transaction.commit()?;
    Ok(removed)
}

pub(super) fn tag(
    client: &mut Client,
    digests: &[Digest],
    add: &BTreeSet<String>,
    remove: &BTreeSet<String>,
) -> Result<u64, DatabaseError> {
    let mut transaction = client.transaction()?;
    let runs = runs_of(&mut transaction, digests.iter().copied())?;
    let ids: Vec<i64> = runs.values().copied().collect();
    let removed: Vec<&str> = remove.iter().map(String::as_str).collect();
    let rows = transaction.query_typed(
        "DELETE FROM catalog_tags WHERE run = ANY($1) AND tag = ANY($2) RETURNING run",
        &[(&ids, Type::INT8_ARRAY), (&removed, Type::TEXT_ARRAY)],
    )?;
    let mut changed: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let added = ids
        .iter()
        .flat_map(|run| add.iter().map(move |tag| (*run, tag.as_str())))
        .collect();
    changed.extend(put_tags(&mut transaction, &added)?);
    reindex(&mut transaction, &changed)?;
    transaction.commit()?;
    Ok(changed.len() as u64)
}

pub(super) fn remove(client: &mut Client, digests: &[Digest]) -> Result<u64, DatabaseError> {
    let digests: Vec<&[u8]> = digests
        .iter()
        .map(|digest| digest.as_bytes().as_slice())
        .collect();
    let removed = client.execute_typed(
        "DELETE FROM catalog_runs WHERE digest = ANY($1)",
        &[(&digests, Type::BYTEA_ARRAY)],
    )?;
    Ok(removed)
}

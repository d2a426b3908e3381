//! Sections on the server: stores what the index found, and looks up sections.

use std::collections::BTreeMap;

use postgres::types::Type;
use postgres::{Client, Row};
use runseal_core::digest::{Digest, Hasher};
use runseal_store::store::{IndexedFile, SectionRecord};

use crate::error::DatabaseError;
use crate::jobs::storable;

/// Rows per insert.
const CHUNK: usize = 2000;

fn section_from_row(row: &Row) -> SectionRecord {
    let number = |at: usize| row.get::<_, Option<i64>>(at).unwrap_or_default();
    let text = |at: usize| row.get::<_, Option<String>>(at);
    SectionRecord {
        section_id: row.get(0),
        file_path: text(1).unwrap_or_default(),
        heading_path: text(2).unwrap_or_else(|| "[]".to_owned()),
        line_start: number(3).unsigned_abs(),
        line_end: number(4).unsigned_abs(),
        content_hash: text(5).unwrap_or_default(),
    }
}

pub(crate) fn sections(
    client: &mut Client,
    ids: &[&str],
) -> Result<Vec<SectionRecord>, DatabaseError> {
    let rows = client.query_typed(
        "SELECT section_id, file_path, heading_path, line_start, line_end, content_hash
         FROM sections WHERE section_id = ANY($1)",
        &[(&ids, Type::TEXT_ARRAY)],
    )?;
    Ok(rows.iter().map(section_from_row).collect())
}

pub(crate) fn sections_of_file(
    client: &mut Client,
    path: &str,
) -> Result<Vec<SectionRecord>, DatabaseError> {
    let rows = client.query_typed(
        "SELECT s.section_id, s.file_path, i.heading_path, s.line_start, s.line_end,
             s.content_hash
         FROM index_sections i JOIN sections s USING (section_id)
         WHERE i.file_path = $1
         ORDER BY s.line_start, s.line_end DESC, i.heading_path",
        &[(&path, Type::TEXT)],
    )?;
    Ok(rows.iter().map(section_from_row).collect())
}

pub(crate) fn indexed_files(
    client: &mut Client,
) -> Result<BTreeMap<String, IndexedFile>, DatabaseError> {
    let rows = client.query_typed("SELECT file_path, stamp, file_hash FROM index_files", &[])?;
    let files = rows.iter().map(|row| {
        let file = IndexedFile {
            stamp: row.get(1),
            file_hash: row.get(2),
        };
        (row.get(0), file)
    });
    Ok(files.collect())
}

pub(crate) fn section_counts(client: &mut Client) -> Result<BTreeMap<String, u64>, DatabaseError> {
    let rows = client.query_typed(
        "SELECT file_path, count(*) FROM index_sections GROUP BY file_path",
        &[],
    )?;
    let counts = rows
        .iter()
        .map(|row| (row.get(0), row.get::<_, i64>(1).unsigned_abs()));
    Ok(counts.collect())
}

pub(crate) fn compute_index_hash(client: &mut Client) -> Result<Digest, DatabaseError> {
    let rows = client.query_typed(
        "SELECT DISTINCT section_id FROM index_sections ORDER BY section_id",
        &[],
    )?;
    let mut hasher = Hasher::new();
    for row in &rows {
        hasher.update(row.get::<_, &str>(0).as_bytes());
        hasher.update(b"\n");
    }
    Ok(hasher.finish())
}

pub(crate) fn record_index(
    client: &mut Client,
    read: &[(String, IndexedFile, Vec<SectionRecord>)],
    gone: &[String],
) -> Result<(), DatabaseError> {
    let mut transaction = client.transaction()?;
    let stale: Vec<&str> = gone
        .iter()
        .chain(read.iter().map(|(path, ..)| path))
        .map(String::as_str)
        .collect();
    transaction.execute_typed(
        "DELETE FROM index_files WHERE file_path = ANY($1)",
        &[(&stale, Type::TEXT_ARRAY)],
    )?;
    for files in read.chunks(CHUNK) {
        let paths: Vec<_> = files.iter().map(|(path, ..)| path.as_str()).collect();
        for path in &paths {
            storable("a path", path)?;
        }
        let stamps: Vec<_> = files.iter().map(|(_, file, _)| &file.stamp).collect();
        let hashes: Vec<_> = files.iter().map(|(_, file, _)| &file.file_hash).collect();
        transaction.execute_typed(
            "INSERT INTO index_files(file_path, stamp, file_hash) SELECT * FROM UNNEST($1, $2, $3)",
            &[
                (&paths, Type::TEXT_ARRAY),
                (&stamps, Type::TEXT_ARRAY),
                (&hashes, Type::TEXT_ARRAY),
            ],
        )?;
    }
    let all: Vec<&SectionRecord> = read.iter().flat_map(|(.., sections)| sections).collect();
    for sections in all.chunks(CHUNK) {
        add_sections(&mut transaction, sections)?;
    }
    transaction.commit()?;
    Ok(())
}

fn add_sections(
    transaction: &mut postgres::Transaction<'_>,
    sections: &[&SectionRecord],
) -> Result<(), DatabaseError> {
    let line = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let all = || sections.iter();
    let ids: Vec<_> = all().map(|section| &section.section_id).collect();
    let paths: Vec<_> = all().map(|section| &section.file_path).collect();
    let headings: Vec<_> = all().map(|section| &section.heading_path).collect();
    let starts: Vec<_> = all().map(|section| line(section.line_start)).collect();
    let ends: Vec<_> = all().map(|section| line(section.line_end)).collect();
    let hashes: Vec<_> = all().map(|section| &section.content_hash).collect();
    // A heading that covers a whole file is the same section as the file: keep the first.
    transaction.execute_typed(
        "INSERT INTO sections(section_id, file_path, heading_path, line_start, line_end,
             content_hash)
         SELECT * FROM UNNEST($1, $2, $3, $4, $5, $6) ON CONFLICT (section_id) DO NOTHING",
        &[
            (&ids, Type::TEXT_ARRAY),
            (&paths, Type::TEXT_ARRAY),
            (&headings, Type::TEXT_ARRAY),
            (&starts, Type::INT8_ARRAY),
            (&ends, Type::INT8_ARRAY),
            (&hashes, Type::TEXT_ARRAY),
        ],
    )?;
    transaction.execute_typed(
        "INSERT INTO index_sections(file_path, section_id, heading_path)
         SELECT * FROM UNNEST($1, $2, $3) ON CONFLICT DO NOTHING",
        &[
            (&paths, Type::TEXT_ARRAY),
            (&ids, Type::TEXT_ARRAY),
            (&headings, Type::TEXT_ARRAY),
        ],
    )?;
    Ok(())
}

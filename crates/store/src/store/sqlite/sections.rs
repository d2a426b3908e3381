//! Sections in the store: stores what the index found, and looks sections up.
//!
//! Rows of `sections` are never removed: a section of an edited file remains known, so that reading
//! it is refused with both hashes instead of "no such section". `index_files` and `index_sections`
//! say what is current.

use std::collections::BTreeMap;

use runseal_core::digest::{Digest, Hasher};
use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};

use super::{SqliteReader, SqliteStore};
use crate::store::{IndexedFile, SectionRecord, StoreError};

const COLUMNS: &str = "section_id, file_path, heading_path, line_start, line_end, content_hash";

fn section_from_row(row: &Row<'_>) -> rusqlite::Result<SectionRecord> {
    Ok(SectionRecord {
        section_id: row.get(0)?,
        file_path: row.get(1)?,
        heading_path: row
            .get::<_, Option<String>>(2)?
            .unwrap_or_else(|| "[]".to_owned()),
        line_start: row.get(3)?,
        line_end: row.get(4)?,
        content_hash: row.get(5)?,
    })
}

impl SqliteReader {
    /// Returns the section with this id.
    pub(super) fn section(&self, section_id: &str) -> Result<Option<SectionRecord>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM sections WHERE section_id = ?1"
        ))?;
        Ok(statement
            .query_row([section_id], section_from_row)
            .optional()?)
    }

    /// Returns the current sections of a file, in order of their lines, widest first.
    pub(super) fn sections_of_file(&self, path: &str) -> Result<Vec<SectionRecord>, StoreError> {
        // A heading that covers a whole file gives the same section as the file, and only our own
        // tables keep both names.
        let query = if self.has_table("index_sections")? {
            "SELECT s.section_id, s.file_path, i.heading_path, s.line_start, s.line_end,
                 s.content_hash
             FROM index_sections i JOIN sections s ON s.section_id = i.section_id
             WHERE i.file_path = ?1
             ORDER BY s.line_start, s.line_end DESC, i.heading_path"
                .to_owned()
        } else {
            format!(
                "SELECT {COLUMNS} FROM sections WHERE file_path = ?1
                 ORDER BY line_start, line_end DESC, section_id"
            )
        };
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map([path], section_from_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns every indexed file.
    pub(super) fn indexed_files(&self) -> Result<BTreeMap<String, IndexedFile>, StoreError> {
        if !self.has_table("index_files")? {
            return Ok(BTreeMap::new());
        }
        let mut statement = self
            .connection
            .prepare("SELECT file_path, stamp, file_hash FROM index_files")?;
        let rows = statement.query_map([], |row| {
            Ok((
                row.get(0)?,
                IndexedFile {
                    stamp: row.get(1)?,
                    file_hash: row.get(2)?,
                },
            ))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns how many current sections each file has.
    pub(super) fn section_counts(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        if !self.has_table("index_sections")? {
            return Ok(BTreeMap::new());
        }
        let mut statement = self
            .connection
            .prepare("SELECT file_path, COUNT(*) FROM index_sections GROUP BY file_path")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// SHA-256 over the ids of all current sections, sorted, one per line.
    pub(super) fn compute_index_hash(&self) -> Result<Digest, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT DISTINCT section_id FROM index_sections ORDER BY section_id")?;
        let mut rows = statement.query([])?;
        let mut hasher = Hasher::new();
        while let Some(row) = rows.next()? {
            hasher.update(
                row.get_ref(0)?
                    .as_str()
                    .map_err(rusqlite::Error::from)?
                    .as_bytes(),
            );
            hasher.update(b"\n");
        }
        Ok(hasher.finish())
    }
}

impl SqliteStore {
    /// Stores the result of an index run: files read again with their sections, files of which only
    /// the stamp changed, and deleted files. All of it or nothing.
    pub(super) fn record_index(
        &mut self,
        read: &[(String, IndexedFile, Vec<SectionRecord>)],
        gone: &[String],
    ) -> Result<(), StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut drop_file =
                transaction.prepare_cached("DELETE FROM index_files WHERE file_path = ?1")?;
            let mut add_file = transaction.prepare_cached(
                "INSERT INTO index_files(file_path, stamp, file_hash) VALUES(?1, ?2, ?3)",
            )?;
            let mut add_section = transaction.prepare_cached(
                "INSERT INTO sections(section_id, file_path, heading_path, line_start, line_end,
                     content_hash, created_at)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, datetime('now'))
                 ON CONFLICT(section_id) DO NOTHING",
            )?;
            let mut add_current = transaction.prepare_cached(
                "INSERT OR IGNORE INTO index_sections(file_path, section_id, heading_path)
                 VALUES(?1, ?2, ?3)",
            )?;
            for path in gone {
                drop_file.execute([path])?;
            }
            for (path, file, sections) in read {
                drop_file.execute([path])?;
                add_file.execute(params![path, file.stamp, file.file_hash])?;
                for section in sections {
                    add_section.execute(params![
                        section.section_id,
                        section.file_path,
                        section.heading_path,
                        section.line_start,
                        section.line_end,
                        section.content_hash
                    ])?;
                    add_current.execute([path, &section.section_id, &section.heading_path])?;
                }
            }
        }
        transaction.commit()?;
        let hash = self.compute_index_hash()?.to_string();
        self.connection.execute(
            "INSERT INTO section_index_meta(key, value, updated_at)
             VALUES('index_hash', ?1, datetime('now'))
             ON CONFLICT(key) DO UPDATE SET value = excluded.value,
                 updated_at = excluded.updated_at",
            [hash],
        )?;
        Ok(())
    }
}

//! Copies a whole store into another: every row of every table, whatever kinds of stores they are.
//!
//! Tables are described here by their columns; each store reads and writes them in its own way.
//! Only times are stored differently: they are transferred as text, in UTC.

use std::collections::BTreeMap;

use super::{Store, StoreError, StoreReader};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A moment, as text in UTC.
    Time,
}

/// A table to copy: its name, its columns, and how many of them form its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, the key's first.
    pub columns: &'static [(&'static str, ColumnKind)],
    /// How many columns the key has.
    pub key: usize,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The column is NULL.
    Null,
    /// A number.
    Integer(i64),
    /// Text, or a time.
    Text(String),
}

/// Rows copied, by table.
pub type Copied = BTreeMap<&'static str, u64>;

use self::ColumnKind::{Integer, Text, Time};

/// Every table, after those that it refers to.
pub const TABLES: [Table; 12] = [
    Table {
        name: "cassette_messages",
        columns: &[
            ("message_id", Text),
            ("run_id", Text),
            ("source", Text),
            ("idempotency_key", Text),
            ("payload_json", Text),
            ("created_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "cassette_jobs",
        columns: &[
            ("job_id", Text),
            ("message_id", Text),
            ("intent", Text),
            ("ordinal", Integer),
            ("created_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "cassette_steps",
        columns: &[
            ("step_id", Text),
            ("job_id", Text),
            ("ordinal", Integer),
            ("status", Text),
            ("lease_owner", Text),
            ("lease_expires_at", Time),
            ("fencing_token", Integer),
            ("payload_json", Text),
            ("created_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "cassette_receipts",
        columns: &[
            ("receipt_id", Text),
            ("step_id", Text),
            ("job_id", Text),
            ("worker_id", Text),
            ("fencing_token", Integer),
            ("outcome", Text),
            ("receipt_json", Text),
            ("created_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "cassette_job_budgets",
        columns: &[
            ("job_id", Text),
            ("bytes_consumed", Integer),
            ("symbols_consumed", Integer),
        ],
        key: 1,
    },
    Table {
        name: "job_limits",
        columns: &[
            ("job_id", Text),
            ("max_bytes", Integer),
            ("max_symbols", Integer),
        ],
        key: 1,
    },
    Table {
        name: "sections",
        columns: &[
            ("section_id", Text),
            ("file_path", Text),
            ("heading_path", Text),
            ("line_start", Integer),
            ("line_end", Integer),
            ("content_hash", Text),
            ("created_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "symbols",
        columns: &[
            ("symbol_id", Text),
            ("target_type", Text),
            ("target_ref", Text),
            ("default_slice", Text),
            ("created_at", Time),
            ("updated_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "index_files",
        columns: &[("file_path", Text), ("stamp", Text), ("file_hash", Text)],
        key: 1,
    },
    Table {
        name: "index_sections",
        columns: &[
            ("file_path", Text),
            ("section_id", Text),
            ("heading_path", Text),
        ],
        key: 3,
    },
    Table {
        name: "queue_results",
        columns: &[
            ("result_id", Text),
            ("kind", Text),
            ("options", Text),
            ("content", Text),
            ("outcome", Text),
            ("report_json", Text),
            ("worker_id", Text),
            ("created_at", Time),
        ],
        key: 1,
    },
    Table {
        name: "queue_tasks",
        columns: &[
            ("task_id", Text),
            ("kind", Text),
            ("options", Text),
            ("location", Text),
            ("state", Text),
            ("lease_owner", Text),
            ("leased_at", Time),
            ("lease_expires_at", Time),
            ("fencing_token", Integer),
            ("attempts", Integer),
            ("reason", Text),
            ("result_id", Text),
            ("created_at", Time),
            ("ended_at", Time),
        ],
        key: 1,
    },
];

/// Copies everything in `from` into `to`, which must be empty. Nothing should write to `from`
/// meanwhile: what is committed there after it was read is not copied.
pub fn copy_store(from: &dyn StoreReader, to: &mut dyn Store) -> Result<Copied, StoreError> {
    to.import(from)
}

//! The tables of a catalogue in a file.
//!
//! Migrations are append-only: an entry of [`MIGRATIONS`] that has shipped is never edited. A
//! missing value is the empty text, so that everything can be ordered. Values are compared by
//! `number` and `text`; a boolean has both.

/// One migration per schema version, in order; the database's `user_version` counts those applied.
pub(super) const MIGRATIONS: [&str; 1] = [V1];

/// The `application_id` of our files: "rsCT".
pub(super) const APPLICATION: i64 = 0x7273_4354;

const V1: &str = "
CREATE TABLE catalog_runs(
    run INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    format TEXT NOT NULL,
    id TEXT NOT NULL,
    engine TEXT NOT NULL,
    outcome TEXT NOT NULL,
    time TEXT NOT NULL,
    left_out INTEGER NOT NULL);
CREATE INDEX catalog_runs_in_order ON catalog_runs(time DESC, digest);
CREATE INDEX catalog_runs_by_engine ON catalog_runs(engine);
CREATE INDEX catalog_runs_by_format ON catalog_runs(format);
CREATE INDEX catalog_runs_by_outcome ON catalog_runs(outcome);
CREATE TABLE catalog_values(
    run INTEGER NOT NULL REFERENCES catalog_runs ON DELETE CASCADE,
    name TEXT NOT NULL,
    number REAL,
    text TEXT,
    PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE INDEX catalog_values_by_number ON catalog_values(name, number) WHERE number IS NOT NULL;
CREATE INDEX catalog_values_by_text ON catalog_values(name, text) WHERE text IS NOT NULL;
CREATE TABLE catalog_places(
    run INTEGER NOT NULL REFERENCES catalog_runs ON DELETE CASCADE,
    place TEXT NOT NULL,
    signer TEXT NOT NULL,
    PRIMARY KEY(run, place, signer)) WITHOUT ROWID;
CREATE INDEX catalog_places_by_signer ON catalog_places(signer);
CREATE TABLE catalog_tags(
    run INTEGER NOT NULL REFERENCES catalog_runs ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY(run, tag)) WITHOUT ROWID;
CREATE INDEX catalog_tags_by_tag ON catalog_tags(tag);
CREATE VIRTUAL TABLE catalog_words USING fts5(
    said, content='', contentless_delete=1, detail=none, tokenize='ascii');
";

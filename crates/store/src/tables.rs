//! Inspects the tables of an SQLite file before anything is queried: a file from elsewhere may have
//! a view instead of a table, and a view can run forever.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use rusqlite::limits::Limit;

/// The most bytes of one value: 512 MiB, as much as the largest document that is read. Stops an expression
/// in a file from elsewhere that fills the memory.
const LONGEST_VALUE: i32 = 512 << 20;

/// Bounds what a file from elsewhere can make SQLite do; called before anything else is asked of it.
pub(crate) fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    connection.pragma_update(None, "trusted_schema", "OFF")
}

/// Whether a file may contain more than our tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Tables, views and triggers of other programs: for reading, which fires no trigger.
    Allowed,
    /// Tables and views of other programs.
    WithoutTriggers,
    /// No views and no triggers.
    Refused,
}

/// The first name in `connection` that is not what `migrations` make of it: a view or a virtual table in
/// place of a table, a table with columns that are computed, a virtual table of another kind, or one of the
/// `others` that are refused. A trigger is one of ours if some migration makes it, letter for letter.
pub(crate) fn find_disguised(
    connection: &Connection,
    migrations: &[&str],
    others: Others,
) -> rusqlite::Result<Option<String>> {
    let model = Connection::open_in_memory()?;
    let mut our_triggers = BTreeSet::new();
    for migration in migrations {
        model.execute_batch(migration)?;
        let made = entries(&model)?.into_iter();
        let made = made.filter(|entry| entry.kind == "trigger");
        our_triggers.extend(made.map(|entry| (entry.name, entry.sql)));
    }
    let ours: BTreeMap<String, Entry> = entries(&model)?
        .into_iter()
        .filter(|entry| entry.kind == "table")
        .map(|entry| (entry.name.to_ascii_lowercase(), entry))
        .collect();
    for entry in entries(connection)? {
        let ours = ours.get(&entry.name.to_ascii_lowercase());
        let is_disguised = match (&*entry.kind, ours) {
            ("view", ours) => others == Others::Refused || ours.is_some(),
            ("trigger", _) => {
                let is_ours = our_triggers.contains(&(entry.name.clone(), entry.sql.clone()));
                others != Others::Allowed && !is_ours
            }
            ("table", Some(ours)) if ours.is_plain() => {
                !entry.is_plain() || has_computed_column(connection, &entry.name)?
            }
            ("table", Some(ours)) => entry.sql != ours.sql,
            _ => false,
        };
        if is_disguised {
            return Ok(Some(entry.name));
        }
    }
    Ok(None)
}

/// Whether a column of a table is generated: reading it may compute for ever.
fn has_computed_column(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let query = "SELECT EXISTS(SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden <> 0)";
    connection.query_row(query, [table], |row| row.get(0))
}

struct Entry {
    kind: String,
    name: String,
    sql: Option<String>,
}

impl Entry {
    /// Returns whether it is an ordinary table. SQLite itself writes the first words, always like
    /// this.
    fn is_plain(&self) -> bool {
        let sql = self.sql.as_deref().unwrap_or_default();
        sql.starts_with("CREATE TABLE ")
    }
}

fn entries(connection: &Connection) -> rusqlite::Result<Vec<Entry>> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_master")?;
    let rows = statement.query_map([], |row| {
        Ok(Entry {
            kind: row.get(0)?,
            name: row.get(1)?,
            sql: row.get(2)?,
        })
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: [&str; 4] = [
        "CREATE TABLE runs(id)",
        "CREATE TRIGGER keep AFTER INSERT ON runs BEGIN SELECT 1; END",
        "DROP TRIGGER keep; CREATE TRIGGER keep BEFORE UPDATE ON runs BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
    ];

    fn find(batch: &str, others: Others) -> Option<String> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(batch).unwrap();
        find_disguised(&connection, &OURS, others).unwrap()
    }

    #[test]
    fn tables_as_they_were_made_are_accepted() {
        let made = OURS.join(";");
        assert_eq!(find(&made, Others::Refused), None);
        let with_others = format!("{made}; CREATE TABLE theirs(x); CREATE VIEW v AS SELECT 1;");
        assert_eq!(find(&with_others, Others::Allowed), None);
    }

    #[test]
    fn trigger_of_any_version_of_ours_is_accepted_and_others_where_nothing_is_written() {
        assert_eq!(find(&OURS[..2].join(";"), Others::WithoutTriggers), None);
        assert_eq!(find(&OURS.join(";"), Others::WithoutTriggers), None);
        let theirs =
            "CREATE TABLE runs(id); CREATE TRIGGER t BEFORE INSERT ON runs BEGIN SELECT 1; END";
        assert_eq!(find(theirs, Others::Allowed), None);
    }

    #[test]
    fn value_longer_than_is_read_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        harden(&connection).unwrap();
        let long = format!("SELECT length(zeroblob({}))", i64::from(LONGEST_VALUE) + 1);
        let long = connection.query_row(&long, [], |row| row.get::<_, i64>(0));
        assert!(long.is_err());
    }

    #[test]
    fn view_trigger_or_virtual_table_in_disguise_is_found() {
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n";
        let trigger =
            "CREATE TABLE runs(id); CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END";
        for (batch, others, name) in [
            (
                &*format!("CREATE VIEW RUNS(id) AS {endless}"),
                Others::Allowed,
                "RUNS",
            ),
            (
                "CREATE VIRTUAL TABLE runs USING fts5(id)",
                Others::Allowed,
                "runs",
            ),
            (
                "CREATE VIRTUAL TABLE words USING fts5(text, content='theirs')",
                Others::Allowed,
                "words",
            ),
            ("CREATE VIEW v AS SELECT 1", Others::Refused, "v"),
            (trigger, Others::Refused, "t"),
            (trigger, Others::WithoutTriggers, "t"),
            (
                "CREATE TABLE runs(x, id AS (printf('%.*c', x, 'a')))",
                Others::Allowed,
                "runs",
            ),
            (
                "CREATE TABLE runs(id, x AS (1) STORED)",
                Others::Allowed,
                "runs",
            ),
            (
                "CREATE TABLE runs(id); CREATE TRIGGER keep AFTER INSERT ON runs BEGIN SELECT 2; END",
                Others::WithoutTriggers,
                "keep",
            ),
        ] {
            assert_eq!(find(batch, others).as_deref(), Some(name), "{batch}");
        }
    }
}

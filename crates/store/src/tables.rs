//! Inspects the tables of an SQLite file before anything is queried: a file from elsewhere may have
//! a view instead of a table, and a view can run forever.

use std::collections::BTreeMap;

use rusqlite::Connection;

/// Whether a file may contain more than our tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Tables, views and triggers of other programs.
    Allowed,
    /// No views and no triggers.
    Refused,
}

/// Returns the first name in `connection` that differs from what `migrations` create: a view or
/// virtual table instead of a table, a virtual table of another kind, or one of the `others` if
/// they are refused.
pub(crate) fn find_disguised(
    connection: &Connection,
    migrations: &[&str],
    others: Others,
) -> rusqlite::Result<Option<String>> {
    let model = Connection::open_in_memory()?;
    for migration in migrations {
        model.execute_batch(migration)?;
    }
    let ours: BTreeMap<String, Entry> = entries(&model)?
        .into_iter()
        .filter(|entry| entry.kind == "table")
        .map(|entry| (entry.name.to_ascii_lowercase(), entry))
        .collect();
    let is_disguised = |entry: &Entry| {
        let ours = ours.get(&entry.name.to_ascii_lowercase());
        match (&*entry.kind, ours) {
            ("view", ours) => others == Others::Refused || ours.is_some(),
            ("trigger", _) => others == Others::Refused,
            ("table", Some(ours)) if ours.is_plain() => !entry.is_plain(),
            ("table", Some(ours)) => entry.sql != ours.sql,
            _ => false,
        }
    };
    let found = entries(connection)?.into_iter().find(is_disguised);
    Ok(found.map(|entry| entry.name))
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

    const OURS: [&str; 2] = [
        "CREATE TABLE runs(id)",
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
    fn disguised_view_trigger_or_virtual_table_is_found() {
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
        ] {
            assert_eq!(find(batch, others).as_deref(), Some(name), "{batch}");
        }
    }
}

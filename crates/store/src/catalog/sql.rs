//! Translates filters to SQL conditions whose values are bound, never interpolated.
//!
//! Every test becomes either a condition on a row of `catalog_runs r`, or a query for the matching
//! runs. All names of tables and columns come from this file; everything that a user typed is a
//! parameter.

use runseal_core::digest::Digest;

use super::filter::{Column, Comparison, Field, Literal, Several, Test};
use super::name::ValueName;

/// The differences between the databases' SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// A value for a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// SQL under construction, with the values of its parameters in order.
#[derive(Debug, Clone)]
pub struct SqlText {
    dialect: SqlDialect,
    /// The text so far.
    pub text: String,
    /// The values so far.
    pub bound: Vec<Bound>,
}

impl SqlText {
    /// Makes an empty SQL text.
    pub fn new(dialect: SqlDialect) -> Self {
        Self {
            dialect,
            text: String::new(),
            bound: Vec::new(),
        }
    }

    /// Appends SQL, which must not contain user input.
    pub fn push(&mut self, sql: &str) -> &mut Self {
        self.text.push_str(sql);
        self
    }

    /// Appends a parameter.
    pub fn bind(&mut self, value: Bound) -> &mut Self {
        self.bound.push(value);
        let mark = match self.dialect {
            SqlDialect::Sqlite => '?',
            SqlDialect::Postgres => '$',
        };
        self.text.push(mark);
        self.text.push_str(&self.bound.len().to_string());
        self
    }

    /// Appends a comparison of a column with a text.
    fn compare_text(&mut self, column: &str, comparison: Comparison, text: &str) {
        let text = Bound::Text(text.to_owned());
        match comparison {
            Comparison::Contains => {
                let function = match self.dialect {
                    SqlDialect::Sqlite => "instr",
                    SqlDialect::Postgres => "strpos",
                };
                self.push(function).push("(").push(column).push(", ");
                self.bind(text).push(") > 0");
            }
            other => {
                self.push(column).push(operator(other)).bind(text);
            }
        }
    }
}

/// What a test becomes in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A condition on a row of `catalog_runs r`.
    Condition,
    /// A query for the matching `run`s.
    Query,
}

fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => " = ",
        Comparison::NotEqual => " <> ",
        Comparison::Less => " < ",
        Comparison::LessOrEqual => " <= ",
        Comparison::Greater => " > ",
        Comparison::GreaterOrEqual => " >= ",
        // Only texts can contain something, and that is written as a function call.
        Comparison::Contains => " = ",
    }
}

fn column_name(column: Column) -> &'static str {
    match column {
        Column::Format => "r.format",
        Column::Id => "r.id",
        Column::Engine => "r.engine",
        Column::Outcome => "r.outcome",
        Column::Time => "r.time",
    }
}

/// Appends the SQL for a test.
pub fn add_test(sql: &mut SqlText, test: &Test) -> Shape {
    match &test.field {
        Field::Column(column) => {
            let name = column_name(*column);
            // A missing value is stored as the empty text, which matches nothing.
            sql.push(name).push(" <> ''");
            if let Some((comparison, literal)) = &test.check {
                sql.push(" AND ");
                sql.compare_text(name, *comparison, &literal.text);
            }
            Shape::Condition
        }
        Field::Digest => {
            let (first, last) = test
                .check
                .as_ref()
                .and_then(|(_, literal)| digest_range(&literal.text))
                .unwrap_or(([0; 32], [0xff; 32]));
            sql.push("r.digest BETWEEN ")
                .bind(Bound::Bytes(first.into()));
            sql.push(" AND ").bind(Bound::Bytes(last.into()));
            Shape::Condition
        }
        Field::Several(several) => {
            let (table, column) = match several {
                Several::Tag => ("catalog_tags", "tag"),
                Several::Signer => ("catalog_places", "signer"),
                Several::Place => ("catalog_places", "place"),
            };
            sql.push("SELECT run FROM ").push(table);
            if let Some((comparison, literal)) = &test.check {
                sql.push(" WHERE ");
                sql.compare_text(column, *comparison, &literal.text);
            }
            Shape::Query
        }
        Field::Value(root, parts) => {
            let names = ValueName::of_parts(*root, parts);
            match &test.check {
                Some((comparison, literal)) => {
                    add_values(sql, &names);
                    add_value_check(sql, *comparison, literal);
                }
                // Any kind of value: each kind has its own index.
                None => {
                    add_values(sql, &names);
                    sql.push("number IS NOT NULL UNION ALL ");
                    add_values(sql, &names);
                    sql.push("text IS NOT NULL");
                }
            }
            Shape::Query
        }
    }
}

/// Appends a query for values with these names, to be completed with further conditions.
fn add_values(sql: &mut SqlText, [plain, wrapped]: &[ValueName; 2]) {
    sql.push("SELECT run FROM catalog_values WHERE name IN (");
    sql.bind(Bound::Text(plain.as_str().to_owned())).push(", ");
    sql.bind(Bound::Text(wrapped.as_str().to_owned()))
        .push(") AND ");
}

fn add_value_check(sql: &mut SqlText, comparison: Comparison, literal: &Literal) {
    match (comparison, literal.number) {
        (Comparison::Contains, _) | (_, None) => {
            sql.push("text IS NOT NULL AND ");
            sql.compare_text("text", comparison, &literal.text);
        }
        (comparison, Some(number)) => {
            sql.push("number IS NOT NULL AND number");
            sql.push(operator(comparison)).bind(Bound::Number(number));
        }
    }
}

/// Returns the first and the last digest that begin with these digits.
pub fn digest_range(digits: &str) -> Option<([u8; 32], [u8; 32])> {
    let filled = |with: char| {
        let missing = 64usize.checked_sub(digits.len())?;
        let text = format!("{digits}{}", with.to_string().repeat(missing));
        Some(*Digest::parse_hex(&text).ok()?.as_bytes())
    };
    Some((filled('0')?, filled('f')?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::filter::Filter;

    fn translated(text: &str, dialect: SqlDialect) -> (SqlText, Shape) {
        let Filter::Test(test) = Filter::parse(text).unwrap() else {
            panic!("{text}");
        };
        let mut sql = SqlText::new(dialect);
        let shape = add_test(&mut sql, &test);
        (sql, shape)
    }

    #[test]
    fn typed_values_are_bound_and_never_interpolated() {
        let hostile = "x'); DROP TABLE catalog_runs; --";
        for field in [
            "engine", "format", "id", "outcome", "time", "tag", "signer", "place", "params.x",
        ] {
            for sign in ["=", "<", "~", ">="] {
                let quoted = hostile.replace('\'', "''");
                for dialect in [SqlDialect::Sqlite, SqlDialect::Postgres] {
                    let (sql, _) = translated(&format!("{field}{sign}'{quoted}'"), dialect);
                    assert!(!sql.text.contains("DROP"), "{}", sql.text);
                    assert!(sql.bound.contains(&Bound::Text(hostile.to_owned())));
                }
            }
        }
        let (sql, _) = translated("metrics.\"a' OR 1=1\">1", SqlDialect::Sqlite);
        assert!(!sql.text.contains("OR 1"), "{}", sql.text);
    }

    #[test]
    fn parameters_follow_the_dialect_of_the_database() {
        let (sql, shape) = translated("metrics.rmse<0.3", SqlDialect::Postgres);
        assert_eq!(shape, Shape::Query);
        assert_eq!(
            sql.text,
            "SELECT run FROM catalog_values WHERE name IN ($1, $2) AND number IS NOT NULL AND number < $3"
        );
        let (sql, shape) = translated("engine~LA", SqlDialect::Sqlite);
        assert_eq!(shape, Shape::Condition);
        assert_eq!(sql.text, "r.engine <> '' AND instr(r.engine, ?1) > 0");
    }

    #[test]
    fn digest_is_compared_by_prefix() {
        let (first, last) = digest_range("abc").unwrap();
        assert_eq!((first[0], first[1], first[31]), (0xab, 0xc0, 0));
        assert_eq!((last[0], last[1], last[31]), (0xab, 0xcf, 0xff));
        assert!(digest_range(&"a".repeat(65)).is_none());
        assert!(digest_range("xy").is_none());
    }
}

//! Compares units: a table of their fields, parameters and metrics.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, Scalar, ValueName};

/// Several units side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The units, in the order given.
    pub entries: Vec<Entry>,
    /// The rows: fields first, then metrics, then parameters.
    pub rows: Vec<Row>,
    /// The number of rows left out because all units agree.
    pub same: usize,
}

/// One field, parameter or metric, as each unit has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The value of each unit; `None` if it has none.
    pub cells: Vec<Option<Scalar>>,
    /// Whether the units disagree.
    pub differs: bool,
}

impl Row {
    /// Returns the units' values as numbers; `None` if any of them is not a number.
    pub fn numbers(&self) -> Option<Vec<Option<f64>>> {
        let is_number = |cell: &Option<Scalar>| match cell {
            Some(Scalar::Number(_)) | None => true,
            Some(Scalar::Text(_) | Scalar::Flag(_)) => false,
        };
        let has_any = self.cells.iter().any(Option::is_some);
        (has_any && self.cells.iter().all(is_number)).then(|| {
            let cells = self.cells.iter();
            cells
                .map(|cell| cell.as_ref().and_then(Scalar::number))
                .collect()
        })
    }
}

/// Compares units; rows on which all agree are left out unless `keeps_same`.
pub fn compare(entries: Vec<Entry>, keeps_same: bool) -> Comparison {
    let mut rows = Vec::new();
    let field = |name: &str, of: &dyn Fn(&Entry) -> Option<String>| {
        let cells = entries.iter().map(|entry| of(entry).map(Scalar::Text));
        row(name.to_owned(), cells.collect())
    };
    let list = |texts: BTreeSet<&str>| {
        let texts: Vec<_> = texts.into_iter().collect();
        Some(texts.join(", ")).filter(|text| !text.is_empty())
    };
    rows.push(field("format", &|entry| Some(entry.format.clone())));
    rows.push(field("id", &|entry| entry.id.clone()));
    rows.push(field("engine", &|entry| entry.engine.clone()));
    rows.push(field("outcome", &|entry| entry.outcome.clone()));
    rows.push(field("signer", &|entry| list(entry.signers())));
    rows.push(field("time", &|entry| entry.time.clone()));
    rows.push(field("tag", &|entry| {
        list(entry.tags.iter().map(String::as_str).collect())
    }));
    let mut names: BTreeMap<ValueName, ()> = BTreeMap::new();
    for entry in &entries {
        names.extend(entry.values.keys().map(|name| (name.clone(), ())));
    }
    for name in names.keys() {
        let cells = entries.iter().map(|entry| entry.values.get(name).cloned());
        rows.push(row(name.shown(&names), cells.collect()));
    }
    let all = rows.len();
    rows.retain(|row| keeps_same || row.differs);
    Comparison {
        same: all - rows.len(),
        entries,
        rows,
    }
}

fn row(name: String, cells: Vec<Option<Scalar>>) -> Row {
    let differs = cells.windows(2).any(|pair| pair[0] != pair[1]);
    Row {
        name,
        cells,
        differs,
    }
}

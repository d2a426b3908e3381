//! Shows what a unit is, and where two of a kind differ.

use std::fmt;
use std::path::Path;

use runseal_core::verify::Level;
use runseal_fs::signing::{ArchiveSignatures, TrustQuestion};
use runseal_fs::survey::LocalFiles;
use runseal_fs::survey::load::{Judged, load};
use runseal_report::terminal::{Screen, render_inspection_human, render_inspection_json};
use runseal_report::{Exhibit, render_page};
use runseal_runs::compare::{Change, compare, render_comparison_human, render_comparison_json};

use crate::{Error, json_text};

/// What a unit is: results, inputs, steps, ids, hashes, whether it is valid and signed. Shown with
/// `{}`, it reads as on a terminal.
#[derive(Debug)]
pub struct Inspection {
    judged: Judged,
}

/// Reads the unit at `path`, valid or not.
///
/// # Errors
/// If it cannot be read or has no known format.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection, Error> {
    let judged = load(path.as_ref(), Level::Integrity)?;
    Ok(Inspection { judged })
}

impl Inspection {
    /// Whether it is valid, including the archive that it is in.
    pub fn is_valid(&self) -> bool {
        self.judged.is_valid()
    }

    /// What `runseal inspect --format json` prints, without the line's end.
    ///
    /// # Errors
    /// If a text in it has no canonical form.
    pub fn to_json(&self) -> Result<String, Error> {
        self.with_exhibit(|exhibit| json_text(&render_inspection_json(exhibit)))
    }

    /// The page that `runseal report` writes: one self-contained HTML file.
    pub fn to_html(&self) -> String {
        self.with_exhibit(|exhibit| render_page(exhibit, None))
    }

    fn with_exhibit<T>(&self, show: impl FnOnce(&Exhibit<'_>) -> T) -> T {
        let question = TrustQuestion {
            policy: None,
            keys: &[],
            now: 0,
            log: None,
        };
        let asked = (question, &ArchiveSignatures::default());
        self.judged.show(&LocalFiles, asked, show)
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.with_exhibit(|exhibit| render_inspection_human(exhibit, Screen::default()));
        f.write_str(&text)
    }
}

/// Where two units of the same format differ: by meaning first, then by bytes.
#[derive(Debug)]
pub struct Comparison {
    changes: Vec<Change>,
}

/// Compares the unit at `a` with the one at `b`.
///
/// # Errors
/// If one cannot be read, or they are not of the same format.
pub fn diff(a: impl AsRef<Path>, b: impl AsRef<Path>) -> Result<Comparison, Error> {
    let before = load(a.as_ref(), Level::Integrity)?;
    let after = load(b.as_ref(), Level::Integrity)?;
    let changes =
        compare(&before, &after).map_err(|error| Error::new("NOT_ALIKE", error.to_string()))?;
    Ok(Comparison { changes })
}

impl Comparison {
    /// Whether they are the same.
    pub fn is_same(&self) -> bool {
        self.changes.is_empty()
    }

    /// What `runseal diff --format json` prints, without the line's end.
    ///
    /// # Errors
    /// If a text in it has no canonical form.
    pub fn to_json(&self) -> Result<String, Error> {
        json_text(&render_comparison_json(&self.changes))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render_comparison_human(&self.changes))
    }
}

//! Loads one unit to show it, for `inspect`, `report` and `diff`.

use std::path::Path;

use runseal_core::verify::Level;
use runseal_fs::signing::ArchiveSignatures;
use runseal_fs::survey::load::Judged;
use runseal_report::Exhibit;
use runseal_survey::load::load;

use crate::error::{CliError, Named};
use crate::places::files_for;
use crate::signing::OpenTrust;

/// Loads the unit at `path`.
pub fn load_path(path: &Path, level: Level) -> Result<Judged, CliError> {
    let shown = path.display().to_string();
    load(files_for([path]), path, level).named(shown)
}

/// Judges the signatures of what was loaded, and calls `show` with both.
pub fn with_exhibit<T>(
    loaded: &Judged,
    trust: &OpenTrust,
    show: impl FnOnce(&Exhibit<'_>) -> T,
) -> T {
    let files = files_for([Path::new(&loaded.path)]);
    let asked = (trust.question(), &ArchiveSignatures::default());
    loaded.show(files, asked, show)
}

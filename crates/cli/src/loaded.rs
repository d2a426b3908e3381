//! Loads one unit to show it, for `inspect`, `report` and `diff`.

use std::path::Path;

use runseal_core::verify::{Level, Outcome};
use runseal_fs::signing::OuterFiles;
use runseal_fs::survey::load::{Judged, LoadError};
use runseal_report::Exhibit;
use runseal_survey::load::load;

use crate::error::CliError;
use crate::places::files_for;
use crate::signing::OpenTrust;

/// Loads the unit at `path`.
pub fn load_path(path: &Path, level: Level) -> Result<Judged, CliError> {
    let shown = path.display().to_string();
    load(files_for([path]), path, level).map_err(|error| load_error(error, &shown))
}

/// A loading error as the command line reports it.
pub fn load_error(error: LoadError, shown: &str) -> CliError {
    match error {
        LoadError::Source(error) => CliError::from(error),
        LoadError::Json(error) => CliError::json(&error, shown),
        other @ LoadError::Unknown { .. } => {
            CliError::new(Outcome::Unreadable, "UNKNOWN_FORMAT", other.to_string())
                .at(shown)
                .hint("`runseal verify --help` lists what is known")
        }
        other @ LoadError::Holds { count: 1, .. } => {
            CliError::new(Outcome::Unreadable, "SEVERAL", other.to_string())
                .at(shown)
                .hint("name it")
        }
        other @ LoadError::Holds { .. } => {
            CliError::new(Outcome::Unreadable, "SEVERAL", other.to_string())
                .at(shown)
                .hint("name one of them; `runseal report -r` makes a page of each, and `runseal verify` lists them")
        }
        other @ LoadError::Around { .. } => {
            CliError::new(Outcome::Unreadable, "NOT_ITSELF", other.to_string())
                .at(shown)
                .hint("name what is in it: signatures, log entries and exports are about one thing, by its own name")
        }
        other @ LoadError::Unverified { .. } => {
            CliError::new(Outcome::Unreadable, "UNREADABLE", other.to_string()).at(shown)
        }
    }
}

/// Judges the signatures of what was loaded, and calls `show` with both.
pub fn with_exhibit<T>(
    loaded: &Judged,
    trust: &OpenTrust,
    show: impl FnOnce(&Exhibit<'_>) -> T,
) -> T {
    let files = files_for([Path::new(&loaded.path)]);
    let asked = (trust.question(), &OuterFiles::default());
    loaded.show(files, asked, show)
}

//! Loading one thing to show it, for `inspect`, `report` and `diff`.

use std::path::Path;

use runseal_core::verify::{Level, Outcome};
use runseal_engine::signing::judge_signatures;
use runseal_engine::survey::load::{LoadError, Loaded, load};
use runseal_report::{Documents, Exhibit};

use crate::error::CliError;
use crate::signing::OpenTrust;

/// Loads what is at `path`.
pub fn load_path(path: &Path, level: Level) -> Result<Loaded, CliError> {
    let shown = path.display().to_string();
    load(path, level).map_err(|error| load_error(error, &shown))
}

/// What could not be loaded, as it is told.
pub fn load_error(error: LoadError, shown: &str) -> CliError {
    match error {
        LoadError::Source(error) => CliError::from(error),
        LoadError::Json(error) => CliError::json(&error, shown),
        other @ LoadError::Unknown { .. } => {
            CliError::new(Outcome::Unreadable, "UNKNOWN_FORMAT", other.to_string())
                .at(shown)
                .hint("`runseal verify --help` lists what is known")
        }
        other @ LoadError::Unverified { .. } => {
            CliError::new(Outcome::Unreadable, "UNREADABLE", other.to_string()).at(shown)
        }
    }
}

/// Gives what was loaded, with its signatures, to `show`.
pub fn with_exhibit<T>(
    loaded: &Loaded,
    level: Level,
    trust: &OpenTrust,
    show: impl FnOnce(&Exhibit<'_>) -> T,
) -> T {
    let parsed = loaded.parse();
    let mut documents = Documents::new();
    for (name, document) in &parsed {
        documents.insert(name.clone(), document.root());
    }
    let (authenticity, _) = judge_signatures(Path::new(&loaded.path), level, trust.question());
    show(&Exhibit {
        path: &loaded.path,
        format: loaded.format,
        report: &loaded.report,
        wrapping: &loaded.wrapping,
        identity: &loaded.identity,
        documents: &documents,
        contents: &loaded.texts,
        files: &loaded.files,
        authenticity: Some(&authenticity),
    })
}

//! Loading one thing to show it, for `inspect`, `report` and `diff`.

use std::path::Path;

use runseal_core::describe::Documents;
use runseal_core::formats::definition::describe_documents;
use runseal_core::page::Page;
use runseal_core::verify::{Level, Outcome};
use runseal_engine::signing::judge_signatures;
use runseal_engine::survey::load::{LoadError, Loaded, load};

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

/// Describes what was loaded and gives it to `show`.
pub fn with_page<T>(
    loaded: &Loaded,
    level: Level,
    trust: &OpenTrust,
    show: impl FnOnce(&Page<'_>) -> T,
) -> T {
    let parsed = loaded.parse();
    let mut documents = Documents::new();
    for (name, document) in &parsed {
        documents.insert(name.clone(), document.root());
    }
    let description = describe_documents(loaded.format, &documents);
    let (authenticity, _) = judge_signatures(Path::new(&loaded.path), level, trust.question());
    show(&Page {
        path: &loaded.path,
        description: &description,
        report: &loaded.report,
        wrapping: &loaded.wrapping,
        is_strict: level == Level::Form,
        files: &loaded.files,
        authenticity: Some(&authenticity),
    })
}

//! What a replay does because a RUN_ENVIRONMENT.json asks for it, before it does any of it: the part of a replay that a
//! stranger's document decides, without effects, so that its bounds can be tried with any bytes.

use std::path::PathBuf;

use runseal_core::canon::{ReadOptions, parse_document};

use super::machine::list_comparable;
use super::restore::Placeholders;

/// What a replay would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayPlan {
    /// Files of the machine that it would look at.
    pub looked_at: Vec<PathBuf>,
    /// Files and folders that it would put into the command's folder, by their relative paths.
    pub placed: Vec<String>,
}

impl ReplayPlan {
    /// Plans the replay of a run with this RUN_ENVIRONMENT.json on a machine that shows only the system's folders; `None`
    /// if the replay is refused.
    pub fn of(environment: &[u8]) -> Option<Self> {
        let document = parse_document(environment, &ReadOptions::default()).ok()?;
        let (listed, _) = list_comparable(document.root());
        let placeholders = Placeholders::list(Some(document.root())).ok()?;
        Some(Self {
            looked_at: listed.into_iter().map(|file| file.path.into()).collect(),
            placed: placeholders.paths().map(str::to_owned).collect(),
        })
    }
}

//! Observes every unit that a survey judges.

use std::path::Path;

use runseal_core::verify::UnitResult;

use super::content::{Keep, UnitContent};
use super::load::Judged;

/// Where a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At its own path.
    Path,
    /// In an archive that it represents: at the top, or in the only folder there.
    ArchiveTop {
        /// Whether signatures are next to it in the archive.
        has_signatures: bool,
    },
    /// Deeper in an archive.
    Inside {
        /// Whether signatures are next to it in the archive.
        has_signatures: bool,
    },
}

/// Sees every unit right after it was judged, on the thread that judged it.
pub trait Observer: Sync {
    /// How much to keep of the unit at `path`. If the unit is in an archive, `path` is that of the archive.
    fn keep(&self, path: &Path, position: Position) -> Keep;

    /// Whether the path that a person typed for a folder is judged too, if its format has rules about it.
    /// Observers that store results do not want this: the typed path says nothing about the unit.
    fn judges_typed_path(&self) -> bool {
        true
    }

    /// Called when a unit was judged. There is no `content` if none was wanted or it could not be read.
    fn see(&self, result: &UnitResult, content: Option<UnitContent>);

    /// Called instead of `see` if everything was to be kept of the unit and it could be read.
    fn show(&self, _judged: Judged) {}
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn keep(&self, _: &Path, _: Position) -> Keep {
        Keep::Verdict
    }

    fn see(&self, _: &UnitResult, _: Option<UnitContent>) {}
}

/// What was kept of a unit that was judged.
#[derive(Debug)]
pub(super) enum Kept {
    Nothing,
    UnitContent(UnitContent),
    Judged(Box<Judged>),
}

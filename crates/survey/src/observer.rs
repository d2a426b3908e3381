//! Who hears of every unit that a survey judges.

use std::path::Path;

use runseal_core::verify::Checked;

use super::content::{Keep, UnitContent};
use super::load::Judged;

/// Where a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At a path of its own.
    Path,
    /// In an archive, for which it stands: at the top, or in the only folder there.
    ArchiveTop {
        /// Whether signatures are beside it in the archive.
        has_signatures: bool,
    },
    /// In an archive, below the top.
    Inside {
        /// Whether signatures are beside it in the archive.
        has_signatures: bool,
    },
}

/// Hears of every unit right after it was judged, on the thread that judged it.
pub trait Observer: Sync {
    /// How much to keep of the unit at `path`, which is that of the archive if the unit is in one.
    fn keep(&self, path: &Path, position: Position) -> Keep;

    /// Whether the path by which a person named a folder is judged too, if its format has rules about it.
    /// Whoever stores what is there has no use for that: how somebody came to it says nothing about it.
    fn judges_typed_path(&self) -> bool {
        true
    }

    /// A unit was judged. There is no `content` if none was wanted or it could not be read.
    fn see(&self, result: &Checked, content: Option<UnitContent>);

    /// A unit of which everything was to be kept was judged. One that could not be read comes to `see`.
    fn show(&self, _judged: Judged) {}
}

/// An observer with no interest in anything.
#[derive(Debug, Clone, Copy)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn keep(&self, _: &Path, _: Position) -> Keep {
        Keep::Verdict
    }

    fn see(&self, _: &Checked, _: Option<UnitContent>) {}
}

/// What was kept of a unit that was judged.
#[derive(Debug)]
pub(super) enum Kept {
    Nothing,
    UnitContent(UnitContent),
    Judged(Box<Judged>),
}

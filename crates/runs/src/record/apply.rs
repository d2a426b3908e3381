//! Puts what a recorded command left into the real folder: each file whole or not at all, and
//! never over something that changed since the command began. Everything is written beside its place
//! before the first file is put there, so that a full disk leaves the folder as it was.
//!
//! What others made meanwhile is never taken away with a folder that the command deleted, nothing is written
//! through a link, even if the folder belongs to somebody who swaps one in between (`real_folder`), and the folder of bundles stays as it is, whatever the command did to it.

mod real_folder;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use runseal_core::diagnosis::{Diagnose, Diagnosis, error_chain};
use runseal_core::formats::run_bundle::layout::{RUN_META, SUMS};
use runseal_sandbox::outputs::OutputError;
use runseal_sandbox::{Change, Changed};
use rustix::fs::{FileType, Stat};

use self::real_folder::{FolderId, RealFolder, is_folder};
use super::run::CommandRun;
use crate::world::normalize;
use runseal_fs::atomic::WriteError;

/// Why nothing, or not everything, was applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Files that changed after the command began. Nothing was applied.
    #[error("{} changed while the command ran, so nothing was applied", list(.0))]
    Changed(Vec<String>),
    /// Where the command left a folder, the real one has something else, or the other way round. Nothing
    /// was applied.
    #[error("{} would have to become a folder, or is one, so nothing was applied", list(.0))]
    OtherKind(Vec<String>),
    /// Where it changed something another file system is mounted, which it never saw. Nothing was applied.
    #[error("{} is another file system, which the command did not see, so nothing was applied", list(.0))]
    Mounted(Vec<String>),
    /// What should be applied could not be read.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Something could not be written. Nothing was applied.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Everything was written, and putting it into place failed half-way.
    #[error("of {of} changes, {} applied: {}", were(.applied.len()), list(.applied))]
    Partly {
        /// What was put into place.
        applied: Vec<String>,
        /// How many changes there are.
        of: usize,
        /// What went wrong with the next one.
        source: WriteError,
    },
}

impl Diagnose for ApplyError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Changed(_) => Diagnosis::invalid(self, "CHANGED"),
            Self::OtherKind(_) | Self::Mounted(_) => Diagnosis::invalid(self, "APPLY"),
            Self::Output(_) => Diagnosis::unreadable(self, "OUTPUT"),
            Self::Write(error) => Diagnosis::unreadable(self, "WRITE")
                .message(format!("{}; nothing was applied", error_chain(error))),
            Self::Partly { source, .. } => Diagnosis::unreadable(self, "WRITE")
                .message(format!("{}; {self}", error_chain(source))),
        }
    }
}

fn were(count: usize) -> String {
    match count {
        1 => "1 was".to_owned(),
        _ => format!("{count} were"),
    }
}

fn list(paths: &[String]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(5)
        .map(|path| format!("`{path}`"))
        .collect();
    match paths.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What was applied.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// How many files were put into the folder or taken away.
    pub changes: usize,
    /// Changes that were left out because bundles are there, or in what would be taken away.
    pub spared: Vec<String>,
    /// Links that were left out because they lead out of the folder.
    pub outward: Vec<String>,
}

/// Applies those changes of `run` whose path is kept, and all deletions, to the open folder `top`, whose path
/// is `folder`; but none to `out`, the folder of bundles, to what is in it, or to what it lies in.
///
/// # Errors
/// [`ApplyError`]. Where something changed meanwhile, or cannot be written, nothing at all is applied.
pub fn apply_changes(
    run: &CommandRun,
    (top, folder): (OwnedFd, &Path),
    out: &Path,
    is_kept: impl Fn(&str) -> bool,
) -> Result<Applied, ApplyError> {
    let Some(layer) = &run.recorded.layer else {
        return Ok(Applied::default());
    };
    let bundles = find_bundles(folder, out);
    let real = RealFolder::new(top, folder);
    let mut applied = Applied::default();
    let mut changes = Vec::new();
    for change in layer.changes() {
        let is_wanted =
            change.now == Changed::Deleted || change.path.to_str().is_some_and(&is_kept);
        let target = folder.join(&change.path);
        let is_spared =
            |bundle: &PathBuf| target.starts_with(bundle) || bundle.starts_with(&target);
        if !is_wanted {
            continue;
        }
        if let Changed::Link { target: leads_to } = &change.now
            && leads_out(folder, &target, leads_to)
        {
            applied.outward.push(shown(Path::new(&change.path)));
        } else if !bundles.iter().any(is_spared) {
            changes.push(change);
        } else if !matches!(change.now, Changed::Folder { .. }) {
            applied.spared.push(shown(Path::new(&change.path)));
        }
    }
    let check = Check {
        folder: &real,
        // Where that is not known, everything may have changed.
        began_ns: match run.began_ns {
            i128::MAX => i128::MIN,
            began_ns => began_ns,
        },
    };
    check.find_deleted(&changes)?;
    let mut written = StagedChanges::new(&real);
    for change in &changes {
        let target = Path::new(&change.path);
        let place = real.place(target);
        let fail = WriteError::at(&place);
        match &change.now {
            Changed::File { mode, .. } => {
                let file = layer.open(&change.path)?;
                written.put_beside(file, *mode, target).map_err(fail)?;
            }
            Changed::Folder { mode } => written.put_folder(target, *mode).map_err(fail)?,
            Changed::Link { target: leads_to } => {
                written.put_link(leads_to, target).map_err(fail)?;
            }
            Changed::Deleted | Changed::Pipe | Changed::Socket | Changed::Device => {}
        }
    }
    // Writing may have taken a while.
    let deleted = check.find_deleted(&changes)?;
    applied.changes = written.put_into_place(&deleted)?;
    Ok(applied)
}

/// Whether a link at `place` below `folder` leads out of it, by what it holds. Links on the way are the folder's own.
fn leads_out(folder: &Path, place: &Path, leads_to: &Path) -> bool {
    let above = place.parent().unwrap_or(folder);
    let mut at = match leads_to.is_absolute() {
        true => PathBuf::new(),
        false => above.to_owned(),
    };
    let is_within = |at: &Path| at.starts_with(folder);
    for part in leads_to.components() {
        match part {
            Component::ParentDir => {
                at.pop();
            }
            Component::CurDir => continue,
            part => at.push(part),
        }
        // Up and down again is a way out too: what lies above may be another folder elsewhere.
        if !leads_to.is_absolute() && !is_within(&at) {
            return true;
        }
    }
    !is_within(&at)
}

/// The folder of bundles, where it lies in `folder`; or the bundles and seeds themselves, where it is that.
fn find_bundles(folder: &Path, out: &Path) -> Vec<PathBuf> {
    let names = [Some(normalize(out)), out.canonicalize().ok()];
    let mut bundles = BTreeSet::new();
    for out in names.into_iter().flatten() {
        if out != folder {
            bundles.extend(out.starts_with(folder).then_some(out));
            continue;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if [RUN_META, SUMS]
                .iter()
                .all(|name| path.join(name).is_file())
            {
                let mut seed = path.clone().into_os_string();
                seed.push(".seed");
                bundles.extend([path, seed.into()]);
            }
        }
    }
    bundles.into_iter().collect()
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// Finds why changes cannot be applied to a folder.
struct Check<'a> {
    folder: &'a RealFolder,
    /// When the command began, as times of files tell it.
    began_ns: i128,
}

/// Why changes cannot be applied.
#[derive(Default)]
struct Obstacles {
    changed: Vec<String>,
    other_kind: Vec<String>,
    mounted: Vec<String>,
}

impl Check<'_> {
    /// Everything that is to be taken away: for each deleted name the paths below it and itself, in the order
    /// in which they can be removed. Fails if they cannot be applied.
    fn find_deleted(&self, changes: &[&Change]) -> Result<Vec<Vec<PathBuf>>, ApplyError> {
        let mut found = Obstacles::default();
        let mut folders = BTreeSet::new();
        let mut deleted = Vec::new();
        for change in changes {
            let target = Path::new(&change.path);
            if self.folder.is_mounted(target) {
                found.mounted.push(shown(target));
                continue;
            }
            self.check_folders_above(target, &mut folders, &mut found);
            let now = self.folder.look(target);
            let is_folder = now.as_ref().is_ok_and(is_folder);
            match change.now {
                Changed::Deleted => {
                    let mut paths = Vec::new();
                    match now {
                        Ok(now) => self.collect(target, &now, &mut paths, &mut found),
                        Err(error) => Err(error),
                    }
                    .or_else(|error| match error.kind() {
                        // Somebody else took it away.
                        io::ErrorKind::NotFound => {
                            found.changed.push(shown(target));
                            Ok(())
                        }
                        _ => Err(WriteError::at(&self.folder.place(target))(error)),
                    })?;
                    deleted.push(paths);
                }
                Changed::Folder { .. } if now.is_ok() && !is_folder => {
                    found.other_kind.push(shown(target));
                }
                Changed::Folder { .. } => {}
                _ if is_folder => found.other_kind.push(shown(target)),
                _ => {
                    let is_changed = match now {
                        Ok(now) => !change.existed || self.is_newer(&now),
                        Err(_) => change.existed,
                    };
                    found.changed.extend(is_changed.then(|| shown(target)));
                }
            }
        }
        match found {
            found if !found.changed.is_empty() => Err(ApplyError::Changed(found.changed)),
            found if !found.mounted.is_empty() => Err(ApplyError::Mounted(found.mounted)),
            found if !found.other_kind.is_empty() => Err(ApplyError::OtherKind(found.other_kind)),
            _ => Ok(deleted),
        }
    }

    /// Looks whether the folders that `target` lies in are folders, and no links that lead elsewhere.
    fn check_folders_above(
        &self,
        target: &Path,
        known: &mut BTreeSet<PathBuf>,
        found: &mut Obstacles,
    ) {
        let above = target.ancestors().skip(1);
        let below_top = above.take_while(|folder| !folder.as_os_str().is_empty());
        for folder in below_top.take_while(|folder| known.insert(folder.to_path_buf())) {
            if self.folder.look(folder).is_ok_and(|now| !is_folder(&now)) {
                found.other_kind.push(shown(folder));
            }
        }
    }

    /// Collects what is at and below a deleted name, as far as the command saw it.
    fn collect(
        &self,
        path: &Path,
        now: &Stat,
        paths: &mut Vec<PathBuf>,
        found: &mut Obstacles,
    ) -> io::Result<()> {
        // A folder changes with the names in it.
        if self.is_newer(now) {
            found.changed.push(shown(path));
            return Ok(());
        }
        if is_folder(now) {
            for below in self.folder.list(path)? {
                if self.folder.is_mounted(&below) {
                    found.mounted.push(shown(&below));
                    continue;
                }
                self.collect(&below, &self.folder.look(&below)?, paths, found)?;
            }
        }
        paths.push(path.to_owned());
        Ok(())
    }

    /// Whether something changed since the command began: by the change time, which no program can set back.
    fn is_newer(&self, now: &Stat) -> bool {
        let changed_ns = i128::from(now.st_ctime) * 1_000_000_000 + i128::from(now.st_ctime_nsec);
        changed_ns > self.began_ns
    }
}

/// What is to be put into place: all of it lies beside its targets before the first one is touched.
/// What is still there when this goes is taken away.
#[derive(Debug)]
struct StagedChanges<'a> {
    folder: &'a RealFolder,
    files: Vec<StagedFile>,
    /// Folders that were made on the way, each after the one that it lies in.
    folders: Vec<PathBuf>,
    /// Rights that folders get once everything is in them.
    rights: Vec<(PathBuf, FolderId, u32)>,
    /// Rights that a new file or folder may have.
    allowed: u32,
}

/// A file that lies beside its target.
#[derive(Debug)]
struct StagedFile {
    beside: OsString,
    target: PathBuf,
    /// The folder of both.
    above: FolderId,
}

/// What the umask allows; nothing to others where it is not known.
fn allowed_rights() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| {
        let digits = line.strip_prefix("Umask:")?.trim();
        u32::from_str_radix(digits, 8).ok()
    });
    0o777 & !umask.unwrap_or(0o077)
}

impl<'a> StagedChanges<'a> {
    fn new(folder: &'a RealFolder) -> Self {
        Self {
            folder,
            files: Vec::new(),
            folders: Vec::new(),
            rights: Vec::new(),
            allowed: allowed_rights(),
        }
    }

    /// The rights that the command gave, as far as the umask allows them or `target` has them already.
    fn rights_of(&self, mode: u32, target: &Path) -> u32 {
        let is_link = |now: &Stat| FileType::from_raw_mode(now.st_mode) == FileType::Symlink;
        let before = self.folder.look(target).ok();
        let before = before.filter(|before| !is_link(before));
        0o777 & mode & (self.allowed | before.map_or(0, |before| before.st_mode))
    }

    fn put_folder(&mut self, target: &Path, mode: u32) -> io::Result<()> {
        let rights = self.rights_of(mode, target);
        let id = self.folder.make_folders(target, &mut self.folders)?;
        self.rights.push((target.to_owned(), id, rights));
        Ok(())
    }

    fn put_beside(&mut self, mut file: fs::File, mode: u32, target: &Path) -> io::Result<()> {
        let above = target.parent().unwrap_or(Path::new(""));
        let above = self.folder.make_folders(above, &mut self.folders)?;
        // Nobody else may read it before it has its rights.
        let prefix = runseal_fs::unfinished::PREFIX;
        let (mut written, beside) = self.folder.create_beside(target, above, prefix)?;
        self.files.push(StagedFile {
            beside,
            target: target.to_owned(),
            above,
        });
        io::copy(&mut file, &mut written)?;
        let rights = Permissions::from_mode(self.rights_of(mode, target));
        written.set_permissions(rights)?;
        written.sync_all()
    }

    fn put_link(&mut self, leads_to: &Path, target: &Path) -> io::Result<()> {
        let above = target.parent().unwrap_or(Path::new(""));
        let above = self.folder.make_folders(above, &mut self.folders)?;
        let prefix = runseal_fs::unfinished::PREFIX;
        let beside = self.folder.link_beside(target, above, (prefix, leads_to))?;
        self.files.push(StagedFile {
            beside,
            target: target.to_owned(),
            above,
        });
        Ok(())
    }

    fn put_into_place(mut self, deleted: &[Vec<PathBuf>]) -> Result<usize, ApplyError> {
        let folder = self.folder;
        let fail = |path: &Path, error| WriteError::at(&folder.place(path))(error);
        // They hold what was put there, or belong to it.
        self.folders.clear();
        let changes = self.files.len() + deleted.len();
        let of = self.files.len() + deleted.iter().map(Vec::len).sum::<usize>();
        let mut applied: Vec<String> = Vec::new();
        // What has its name is not taken away when this ends early.
        self.files.reverse();
        while let Some(file) = self.files.last() {
            let target = &file.target;
            if let Err(error) = folder.rename(&file.beside, target, file.above) {
                return Err(stopped(applied, of, fail(target, error)));
            }
            applied.push(shown(target));
            self.files.pop();
        }
        for paths in deleted {
            for path in paths {
                if let Err(error) = folder.remove(path) {
                    return Err(stopped(applied, of, fail(path, error)));
                }
                applied.push(shown(path));
            }
        }
        // Inner ones first: an outer one may close the way to them.
        for (target, id, rights) in self.rights.iter().rev() {
            if let Err(error) = folder.set_rights(target, *id, *rights) {
                return Err(stopped(applied, of, fail(target, error)));
            }
        }
        Ok(changes)
    }
}

fn stopped(applied: Vec<String>, of: usize, source: WriteError) -> ApplyError {
    match applied.is_empty() {
        true => source.into(),
        false => ApplyError::Partly {
            applied,
            of,
            source,
        },
    }
}

impl Drop for StagedChanges<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = self
                .folder
                .remove(&file.target.with_file_name(&file.beside));
        }
        for folder in self.folders.iter().rev() {
            let _ = self.folder.remove(folder);
        }
    }
}

#[cfg(test)]
mod tests;

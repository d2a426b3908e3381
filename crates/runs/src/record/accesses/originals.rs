//! Files that a command was not seen to open for reading, although their content matters.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use runseal_sandbox::{Changed, FolderLayer, Isolation, ObservedKind};

use super::places::{Places, safe_path, text_of};
use super::{AccessError, Accesses, ReadFile, normalize};
use crate::record::environment::status_changed_ns;
use crate::record::run::CommandRun;

/// The most files that are sealed if nothing was observed and everything may have been read.
const MOST_DECLARED: usize = 20_000;

impl Accesses {
    /// Adds the sources of Python modules whose compiled form was read: Python compares the two,
    /// and a replay has to recompile them, since timestamps are not preserved.
    pub(super) fn add_sources(&mut self, places: Places<'_>) -> Result<(), AccessError> {
        let known: BTreeSet<PathBuf> = self.files.iter().map(|file| file.host.clone()).collect();
        let sources: BTreeSet<PathBuf> = known
            .iter()
            .filter_map(|path| python_source(path))
            .collect();
        for source in sources.difference(&known) {
            self.add_original(source, places, &known)?;
        }
        Ok(())
    }

    /// Everything below the folder: what may have been read, where nothing was seen.
    pub(super) fn add_folder(&mut self, places: Places<'_>) -> Result<(), AccessError> {
        let listed = places.real.list(places.folder);
        let names = listed.map_err(|source| AccessError::List {
            path: places.folder.to_owned(),
            source,
        })?;
        let known = BTreeSet::new();
        for name in names {
            let path = places.folder.join(&name);
            let is_history = name == OsStr::new(".git");
            if Some(path.as_path()) != places.out && !is_history {
                self.add_original(&path, places, &known)?;
            }
            if self.files.len() > MOST_DECLARED {
                return Err(AccessError::TooMany(MOST_DECLARED));
            }
        }
        Ok(())
    }

    /// What the command took away, or changed without being seen to read it, but whose content
    /// counts: a file that was appended to or only got other rights, or that holds the same as before
    /// although it was written anew. What it changed otherwise was there too, and so were the folders
    /// that it changed something in.
    pub(super) fn add_originals(
        &mut self,
        layer: &FolderLayer,
        run: &CommandRun,
        places: Places<'_>,
    ) -> Result<(), AccessError> {
        let known: BTreeSet<PathBuf> = self.files.iter().map(|file| file.host.clone()).collect();
        self.add_rewritten(layer, run, places, &known)?;
        let mut above = BTreeSet::new();
        for change in layer.changes() {
            let folders = Path::new(&change.path).ancestors().skip(1);
            for folder in folders.take_while(|folder| above.insert(folder.to_path_buf())) {
                self.keep_present(&places.folder.join(folder), places);
            }
            if !change.existed {
                continue;
            }
            let host = places.folder.join(&change.path);
            self.keep_present(&host, places);
            let counts = match &change.now {
                Changed::Deleted => true,
                Changed::File { .. } => {
                    let now = layer.open(&change.path);
                    let before = places.real.open(&host);
                    now.is_ok_and(|now| before.is_ok_and(|before| begins_with(now, before)))
                }
                _ => false,
            };
            if counts {
                self.add_original(&host, places, &known)?;
            }
        }
        Ok(())
    }

    /// Files that were written, or replaced by one that was renamed or linked, and are what they were:
    /// nothing else tells a replay that they were there, and it would take them for new ones.
    fn add_rewritten(
        &mut self,
        layer: &FolderLayer,
        run: &CommandRun,
        places: Places<'_>,
        known: &BTreeSet<PathBuf>,
    ) -> Result<(), AccessError> {
        let Some(observation) = run.observation() else {
            return Ok(());
        };
        let changes = layer.changes().iter();
        let changed: BTreeSet<&Path> = changes.map(|change| Path::new(&change.path)).collect();
        let mut written: BTreeSet<PathBuf> = BTreeSet::new();
        for file in observation.files.iter().filter(|file| file.is_written) {
            match file.kind {
                ObservedKind::File => {
                    written.insert(file.path.clone());
                }
                ObservedKind::New if was_there(&file.path, run, places) => {
                    written.insert(file.path.clone());
                }
                _ => {}
            }
        }
        let given = observation.given_names.iter().map(|name| normalize(name));
        written.extend(given.filter(|name| was_there(name, run, places)));
        for path in written {
            let Ok(below) = path.strip_prefix(places.folder) else {
                continue;
            };
            if !changed.contains(below) && places.real.look(&path).is_ok_and(|it| it.is_file()) {
                self.add_original(&path, places, known)?;
                self.rewritten.extend(below.to_str().map(str::to_owned));
            }
        }
        Ok(())
    }

    pub(super) fn add_original(
        &mut self,
        host: &Path,
        places: Places<'_>,
        known: &BTreeSet<PathBuf>,
    ) -> Result<(), AccessError> {
        let Ok(metadata) = places.real.look(host) else {
            return Ok(());
        };
        if metadata.is_symlink() {
            self.add_link(host, places);
        } else if metadata.is_dir() {
            self.keep_present(host, places);
            for name in places.real.list(host).unwrap_or_default() {
                // The bundle under construction may be among them.
                if !runseal_fs::unfinished::is_unfinished(name.as_encoded_bytes()) {
                    self.add_original(&host.join(name), places, known)?;
                }
            }
        } else if metadata.is_file() && !known.contains(host) {
            let relative = host.strip_prefix(places.folder).unwrap_or(host);
            self.files.push(ReadFile {
                host: host.to_owned(),
                path: text_of(relative)?.to_owned(),
                place: safe_path(relative)?,
                when_opened: None,
            });
        }
        Ok(())
    }
}

/// Whether a regular file of the real folder was there before the command ran. Without isolation the command
/// can write to the folder itself.
fn was_there(path: &Path, run: &CommandRun, places: Places<'_>) -> bool {
    let metadata = places.real.look(path);
    let is_older = |it: &fs::Metadata| status_changed_ns(it) < run.began_ns;
    metadata.is_ok_and(|it| it.is_file() && (run.isolation != Isolation::None || is_older(&it)))
}

/// Whether a file is the beginning of `now`: appended to, or left as it was.
fn begins_with(mut now: fs::File, (mut before, metadata): (fs::File, fs::Metadata)) -> bool {
    let is_empty = metadata.len() == 0;
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let Ok(count) = runseal_archive::fill(&mut before, &mut a) else {
            return false;
        };
        if count == 0 {
            return !is_empty;
        }
        match runseal_archive::fill(&mut now, &mut b[..count]) {
            Ok(other) if other == count && a[..count] == b[..count] => {}
            _ => return false,
        }
    }
}

/// `a/b.py` for `a/__pycache__/b.cpython-311.pyc`.
fn python_source(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".pyc")?;
    let cache = path.parent()?;
    if cache.file_name()? != OsStr::new("__pycache__") {
        return None;
    }
    let module = name.split('.').next()?;
    Some(cache.parent()?.join(format!("{module}.py")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_source_is_found_beside_its_cache() {
        let source = |path: &str| python_source(Path::new(path));
        let cached = "/p/lib/__pycache__/helper.cpython-311.opt-1.pyc";
        assert_eq!(source(cached), Some("/p/lib/helper.py".into()));
        assert_eq!(source("/p/lib/helper.pyc"), None);
        assert_eq!(source("/p/__pycache__/helper.txt"), None);
    }
}

//! Which files outside the command's folder are sealed with their content, and the links on the way to them.
//!
//! A replay shows its own machine's system folders and nothing else of it. What a package of the system has
//! there can be installed again, so its hash is enough. Everything else that was read is sealed below
//! `environment/`, at its absolute path and once for each content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::ENVIRONMENT_FOLDER;
use runseal_core::formats::run_bundle::recorded::{CaptureGap, ListedLink};
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use runseal_fs::input::open_regular;
use runseal_sandbox::ObservedFile;

use super::environment::{MachineFile, modified_ns};
use super::error::RecordError;
use super::seal::is_mostly_holes;
use crate::run::staging::RunFiles;
use crate::world::normalize;

/// The folders of its own machine that a replay shows: the system's, which belong to root.
pub(crate) const SYSTEM_FOLDERS: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/libexec",
    "/etc",
    "/nix/store",
    "/gnu/store",
];

/// Files and folders there that a machine makes for itself: another machine's would not fit, and tell of
/// people and networks that nobody asked for.
const OF_THE_MACHINE: [&str; 19] = [
    "/etc/adjtime",
    "/etc/fstab",
    "/etc/group",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/machine-id",
    "/etc/mtab",
    "/etc/netgroup",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/shells",
    "/etc/ssl/certs",
    "/etc/subgid",
    "/etc/subuid",
    "/etc/timezone",
    "/usr/lib/locale/locale-archive",
];

/// Where the loader looks libraries up. It fits a machine that has the libraries of another one only together
/// with them.
const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// Links that are followed on the way to one file.
const MOST_LINKS: usize = 40;

/// Whether a replay sees its own machine's file at `path`.
pub(crate) fn is_in_system_folder(path: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|top| path.starts_with(top))
}

/// Whether every machine makes the file at `path` for itself.
pub(crate) fn is_made_by_machine(path: &Path) -> bool {
    OF_THE_MACHINE.iter().any(|made| path.starts_with(made)) || python_source(path).is_some()
}

/// The source that Python compiled the file at `path` from.
pub(crate) fn python_source(path: &Path) -> Option<PathBuf> {
    let folder = path
        .parent()
        .filter(|folder| folder.ends_with("__pycache__"))?;
    let name = file_name(path).strip_suffix(".pyc")?;
    let (stem, _) = name.split_once('.')?;
    Some(folder.parent()?.join(format!("{stem}.py")))
}

/// What is sealed of the files outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// What a package of the system does not have.
    #[default]
    Unpackaged,
    /// Everything that was read, so that a replay needs nothing but a kernel.
    Everything,
}

/// The files of which the content is sealed, by position.
fn choose(machine: &[MachineFile], extent: Extent) -> BTreeSet<usize> {
    let is_chosen = |file: &MachineFile| {
        let path = Path::new(&file.path);
        extent == Extent::Everything
            || !is_in_system_folder(path)
            || ((file.package.is_none() || file.is_altered)
                && !OF_THE_MACHINE.iter().any(|it| path.starts_with(it)))
    };
    let positions = machine.iter().enumerate();
    let mut chosen: BTreeSet<usize> = positions
        .filter(|(_, file)| is_chosen(file))
        .map(|(at, _)| at)
        .collect();
    let is_library = |at: &usize| {
        let path = Path::new(&machine[*at].path);
        is_in_system_folder(path) && file_name(path).contains(".so")
    };
    if chosen.iter().any(is_library) {
        chosen.extend(machine.iter().position(|file| file.path == LOADER_CACHE));
    }
    chosen
}

fn file_name(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str());
    name.unwrap_or_default()
}

/// Seals the content of those files of `machine` that have to be; gives what could not be sealed as gaps.
pub(crate) fn put_outside(
    to: &mut RunFiles,
    machine: &mut [MachineFile],
    (extent, reference_above): (Extent, Option<u64>),
    proceed: &(dyn Fn() -> Result<(), RecordError> + Sync),
) -> Result<BTreeSet<CaptureGap>, RecordError> {
    let mut gaps = BTreeSet::new();
    let mut gap = |kind: &str, detail: String| {
        gaps.insert(CaptureGap {
            kind: kind.to_owned(),
            detail,
        });
    };
    // Those with one content share one place, which is that of the first.
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    let mut waiting = Vec::new();
    let mut same = Vec::new();
    for at in choose(machine, extent) {
        let file = &machine[at];
        let shown = file.path.escape_debug();
        if file.is_changed {
            // The gap `changed` tells it.
            continue;
        }
        if reference_above.is_some_and(|most| file.bytes > most) {
            gap(
                "referenced",
                format!("`{shown}` is not in the bundle, only its hash"),
            );
            continue;
        }
        let Some(Ok(place)) = file.path.strip_prefix('/').map(SafePath::parse) else {
            gap(
                "name",
                format!(
                    "`{shown}` was read and has a name that no bundle holds: only its hash is kept"
                ),
            );
            continue;
        };
        match places.get(&file.sha256) {
            Some(first) => same.push((at, *first)),
            None => {
                places.insert(file.sha256, at);
                waiting.push((at, format!("{ENVIRONMENT_FOLDER}/{place}")));
            }
        }
    }
    let files = &*machine;
    let stored = to.store_all(&waiting, |storing, (at, place)| {
        proceed()?;
        let file = &files[*at];
        let changed = || RecordError::Changed(file.path.clone());
        let (handle, bytes) = match open_regular(Path::new(&file.path)) {
            Err(SourceError::NotFound { .. }) => return Err(changed()),
            other => other?,
        };
        let metadata = handle.metadata().map_err(|source| SourceError::Io {
            path: file.path.clone(),
            source,
        })?;
        if is_mostly_holes(&metadata) {
            return Err(RecordError::Sparse {
                path: file.path.clone(),
                bytes,
            });
        }
        let stored = storing.put_user_file(&handle, bytes, place)?;
        match (stored.sha256, stored.bytes, modified_ns(&metadata))
            == (file.sha256, file.bytes, file.modified_ns)
        {
            true => Ok(stored.place),
            false => Err(changed()),
        }
    })?;
    for ((at, _), place) in waiting.iter().zip(stored) {
        machine[*at].stored = place;
    }
    for (at, first) in same {
        machine[at].stored = machine[first].stored.clone();
    }
    Ok(gaps)
}

/// The gap that files of the machine are of which the bundle only has the hash.
pub(crate) fn only_hashes(machine: &[MachineFile]) -> Option<CaptureGap> {
    let count = machine.iter().filter(|file| file.stored.is_none()).count();
    let detail = match count {
        0 => return None,
        1 => "a file outside the folder was read: its hash is kept, not its bytes".to_owned(),
        _ => format!(
            "{count} files outside the folder were read: their hashes are kept, not their bytes"
        ),
    };
    Some(CaptureGap {
        kind: "outside".to_owned(),
        detail,
    })
}

/// The links of the machine on the way to files that a command opened, by path. What a link holds may change
/// while the command runs, as everything may that is not its own; it is looked at when the command has ended.
pub(crate) fn find_links(files: &[ObservedFile]) -> BTreeMap<PathBuf, PathBuf> {
    let mut links = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let mut waiting = file.also_as.clone();
        let mut left = MOST_LINKS;
        while let Some(name) = waiting.pop()
            && left > 0
        {
            let mut place = PathBuf::from("/");
            let mut rest = name.components();
            for part in rest.by_ref() {
                place.push(part);
                if !seen.insert(place.clone()) && !links.contains_key(&place) {
                    continue;
                }
                let Ok(target) = fs::read_link(&place) else {
                    continue;
                };
                let above = place.parent().unwrap_or(Path::new("/"));
                waiting.push(normalize(&above.join(&target).join(rest.as_path())));
                links.insert(place, target);
                left -= 1;
                break;
            }
        }
    }
    links
}

/// Those of `links` that a replay has to make: not those of a package of the system, and not those that
/// lie at the top, where the system has its own.
pub(crate) fn keep_links(
    links: BTreeMap<PathBuf, PathBuf>,
    owned: &BTreeSet<String>,
    extent: Extent,
    folder: &Path,
) -> Vec<ListedLink> {
    let is_kept = |place: &Path| {
        let is_top = place.parent() == Some(Path::new("/"));
        let is_owned = || place.to_str().is_some_and(|place| owned.contains(place));
        let is_systems =
            is_in_system_folder(place) && (is_top || is_owned() || is_made_by_machine(place));
        !place.starts_with(folder) && (extent == Extent::Everything || !is_systems)
    };
    let kept = links.into_iter().filter(|(place, _)| is_kept(place));
    let listed = kept.filter_map(|(place, target)| {
        let path = place.to_str()?;
        SafePath::parse(path.strip_prefix('/')?).ok()?;
        Some(ListedLink {
            path: path.to_owned(),
            target: target.to_str()?.to_owned(),
        })
    });
    listed.collect()
}

/// The files below the home folder whose content is sealed, in one line; nothing if there are none.
pub(crate) fn tell_home(machine: &[MachineFile], home: &Path) -> Option<String> {
    let sealed = machine.iter().filter(|file| file.stored.is_some());
    let mut tops: BTreeMap<String, usize> = BTreeMap::new();
    for file in sealed {
        let Ok(below) = Path::new(&file.path).strip_prefix(home) else {
            continue;
        };
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        let folders = parts.len().saturating_sub(1).min(2);
        let shown = match folders {
            0 => parts.concat(),
            _ => format!("{}/", parts[..folders].join("/")),
        };
        *tops.entry(format!("~/{shown}")).or_default() += 1;
    }
    let name = |(top, count): (&String, &usize)| match (top.ends_with('/'), count) {
        (false, _) => top.escape_debug().to_string(),
        (true, 1) => format!("{} (1 file)", top.escape_debug()),
        (true, count) => format!("{} ({count} files)", top.escape_debug()),
    };
    let shown: Vec<String> = tops.iter().map(name).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, package: Option<&str>) -> MachineFile {
        MachineFile {
            path: path.to_owned(),
            sha256: Digest::of(path.as_bytes()),
            bytes: 1,
            is_executed: false,
            package: package.map(|name| super::super::packages::Package {
                name: name.to_owned(),
                version: "1".to_owned(),
            }),
            is_altered: false,
            stored: None,
            mode: 0o644,
            modified_ns: 0,
            is_changed: false,
        }
    }

    #[test]
    fn what_no_package_has_or_no_replay_shows_is_chosen() {
        let machine = [
            file("/etc/ld.so.cache", None),
            file("/etc/passwd", None),
            file("/home/me/tools/x", None),
            file("/opt/vendor/lib/libx.so.1", Some("vendor")),
            file("/usr/bin/env", Some("coreutils")),
            file("/usr/local/bin/tool", None),
        ];
        let chosen = |machine: &[MachineFile], extent| -> Vec<String> {
            let chosen = choose(machine, extent).into_iter();
            chosen.map(|at| machine[at].path.clone()).collect()
        };
        let expected = [
            "/home/me/tools/x",
            "/opt/vendor/lib/libx.so.1",
            "/usr/local/bin/tool",
        ];
        assert_eq!(chosen(&machine, Extent::Unpackaged), expected);
        assert_eq!(chosen(&machine, Extent::Everything).len(), machine.len());
        // An edited file of a package cannot be had from the package.
        let mut edited = [file("/etc/R/Rprofile.site", Some("r-base-core"))];
        assert_eq!(chosen(&edited, Extent::Unpackaged).len(), 0);
        edited[0].is_altered = true;
        assert_eq!(chosen(&edited, Extent::Unpackaged).len(), 1);
        // A library that only this machine has is found only with its cache.
        let machine = [
            file("/etc/ld.so.cache", None),
            file("/usr/local/lib/libown.so.3", None),
        ];
        assert_eq!(chosen(&machine, Extent::Unpackaged).len(), 2);
    }

    #[test]
    fn links_are_followed_one_by_one() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/bin")).unwrap();
        fs::write(top.join("real/bin/python3"), "x").unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, top.join(name)).unwrap();
        };
        link("real", "venv");
        link("python3", "real/bin/python");
        let observed = ObservedFile {
            path: top.join("real/bin/python3"),
            kind: runseal_sandbox::ObservedKind::File,
            is_read: true,
            is_written: false,
            is_executed: true,
            is_renamed: false,
            first: runseal_sandbox::FirstUse::Execute,
            needs_original: true,
            bytes: 1,
            modified_ns: 0,
            status_changed_ns: 0,
            also_as: vec![top.join("venv/bin/python")],
        };
        let links = find_links(&[observed]);
        let expected = [
            (top.join("real/bin/python"), PathBuf::from("python3")),
            (top.join("venv"), PathBuf::from("real")),
        ];
        assert_eq!(links.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn home_is_told_by_folders() {
        let mut machine = [
            file("/home/me/.toolrc", None),
            file("/home/me/venv/lib/python3/a.py", None),
            file("/home/me/venv/lib/python3/b.py", None),
            file("/opt/x", None),
        ];
        assert_eq!(tell_home(&machine, Path::new("/home/me")), None);
        for file in &mut machine {
            file.stored = Some("x".to_owned());
        }
        let told = tell_home(&machine, Path::new("/home/me"));
        assert_eq!(told.as_deref(), Some("~/.toolrc, ~/venv/lib/ (2 files)"));
    }
}

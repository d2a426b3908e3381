//! Rights and times of what a command was given, so that a replay gives it the same: `make` goes by times, and
//! a script by what it may execute.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use runseal_core::formats::run_bundle::recorded::Attributes;

use super::accesses::Accesses;
use super::beneath::RealFiles;
use super::environment::MachineFile;
use super::same_files::SameFiles;

/// The rights that count.
const RIGHTS: u32 = 0o7777;

/// The rights and times of everything that is sealed or put in place again: files and folders of `folder`,
/// the inputs, and those files of the machine whose content is sealed; and which of the folder's files are one.
pub(crate) fn list_attributes(
    accesses: &Accesses,
    folder: &Path,
    real: &RealFiles,
    machine: &[MachineFile],
) -> (Vec<Attributes>, SameFiles) {
    let mut places: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut add = |path: &str| {
        // The folders on the way are made again as well.
        let mut above = Some(Path::new(path));
        while let Some(path) = above.take() {
            let is_new = |name: &&str| *name != "/" && !places.contains_key(*name);
            let Some(name) = path.to_str().filter(is_new) else {
                break;
            };
            places.insert(name.to_owned(), folder.join(path));
            above = path.parent();
        }
    };
    for file in &accesses.files {
        add(&file.path);
    }
    for path in accesses.present.keys() {
        add(path);
    }
    for (path, names) in &accesses.listed {
        for listed in names {
            match path.as_str() {
                "" => add(&listed.name),
                path => add(&format!("{path}/{}", listed.name)),
            }
        }
    }
    for file in &accesses.inputs {
        places.insert(file.path.clone(), file.host.clone());
    }
    let mut same = SameFiles::default();
    let own = places.into_iter().filter_map(|(path, host)| {
        // Outside the folder and the inputs it is only named.
        let found = match real.covers(&host) {
            true => real.look(&host).ok()?,
            false => fs::symlink_metadata(&host).ok()?,
        };
        if !path.starts_with('/') {
            same.add(&path, &found);
        }
        (found.is_file() || found.is_dir()).then(|| attributes_of(path, &found))
    });
    let of_machine = machine.iter().filter(|file| file.stored.is_some());
    let of_machine = of_machine.map(|file| Attributes {
        path: file.path.clone(),
        mode: file.mode & RIGHTS,
        modified: split_ns(file.modified_ns),
    });
    let mut all: Vec<Attributes> = own.chain(of_machine).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|a, b| a.path == b.path);
    (all, same)
}

fn attributes_of(path: String, metadata: &Metadata) -> Attributes {
    Attributes {
        path,
        mode: metadata.mode() & RIGHTS,
        modified: (
            metadata.mtime(),
            u32::try_from(metadata.mtime_nsec()).unwrap_or_default(),
        ),
    }
}

fn split_ns(ns: i128) -> (i64, u32) {
    let seconds = i64::try_from(ns.div_euclid(1_000_000_000)).unwrap_or_default();
    let rest = u32::try_from(ns.rem_euclid(1_000_000_000)).unwrap_or_default();
    (seconds, rest)
}

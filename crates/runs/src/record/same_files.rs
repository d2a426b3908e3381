//! Names of one file (hard links) among what a command was given: a replay gives them as one file again, since what is
//! written under one name is read under the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use runseal_archive::fill;
use runseal_core::canon::{Node, Value};
use runseal_core::path::SafePath;

/// The member of RUN_ENVIRONMENT.json.
const SAME_FILES: &str = "same_files";

/// Finds files with several names.
#[derive(Debug, Default)]
pub(crate) struct SameFiles(BTreeMap<(u64, u64), BTreeSet<String>>);

impl SameFiles {
    /// Adds a file of the folder.
    pub(super) fn add(&mut self, path: &str, metadata: &Metadata) {
        if metadata.is_file() && metadata.nlink() > 1 {
            let names = self.0.entry((metadata.dev(), metadata.ino())).or_default();
            names.insert(path.to_owned());
        }
    }

    /// Adds what has several of its names here to RUN_ENVIRONMENT.json.
    pub(super) fn add_to(&self, environment: &mut Value) {
        let mut groups: Vec<&BTreeSet<String>> =
            self.0.values().filter(|it| it.len() > 1).collect();
        groups.sort();
        if !groups.is_empty() {
            let names = |group: &BTreeSet<String>| Value::array(group.iter().map(String::as_str));
            environment.insert(SAME_FILES, Value::array(groups.into_iter().map(names)));
        }
    }
}

/// Makes names in `folder` names of one file again, where they hold the same; nothing there is a link yet. What has only
/// a name so far, and is in `placeholders`, is what the others are.
pub(super) fn join_same_files(
    environment: Option<Node<'_>>,
    folder: &Path,
    placeholders: &mut Vec<String>,
) -> io::Result<()> {
    let list = environment.and_then(|environment| environment.get(SAME_FILES));
    // Each name counts once, however often a bundle lists it.
    let mut used = BTreeSet::new();
    let empty: BTreeSet<String> = placeholders.iter().cloned().collect();
    let mut filled = BTreeSet::new();
    for group in list.iter().flat_map(|list| list.items()) {
        let names = group.items().filter_map(|name| {
            let name = SafePath::parse(&name.as_str()?).ok()?.to_string();
            let found = fs::symlink_metadata(folder.join(&name)).ok()?;
            (found.is_file() && used.insert(name.clone())).then_some(name)
        });
        let names: Vec<String> = names.collect();
        let full = names.iter().find(|name| !empty.contains(*name));
        let Some(first) = full.or(names.first()) else {
            continue;
        };
        for name in names.iter().filter(|name| *name != first) {
            let (one, other) = (folder.join(first), folder.join(name));
            let is_empty = empty.contains(name);
            if is_empty || are_same(&one, &other)? {
                fs::remove_file(&other)?;
                fs::hard_link(&one, &other)?;
            }
            if is_empty && full.is_some() {
                filled.insert(name.clone());
            }
        }
    }
    placeholders.retain(|name| !filled.contains(name));
    Ok(())
}

fn are_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = fill(&mut one, &mut a)?;
        if fill(&mut other, &mut b)? != count || a[..count] != b[..count] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

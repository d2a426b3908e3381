//! Which commit the command's folder had checked out, read from its `.git` without running git or anything that
//! the repository's configuration names.
//!
//! A folder may be a stranger's. So nothing but names, digests and one address is taken from it, each in its
//! own form; every file is read within a bound and through no link; and a `.git` that names another folder is
//! followed only if that folder names this one as its own. A repository of a kind that is not read here is named as that.

mod untracked;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use runseal_core::canon::Value;
use runseal_fs::input::open_regular;

use crate::world::normalize;

/// The most bytes of a small file of a repository.
const MOST_SMALL: u64 = 64 << 10;
/// The most bytes of the list of packed references and of the configuration.
const MOST_LIST: u64 = 8 << 20;
/// The most bytes of the index.
const MOST_INDEX: u64 = 256 << 20;
/// The most packs that are searched.
const MOST_PACKS: usize = 1_000;
/// The hex digits of a SHA-1.
const SHA1_DIGITS: usize = 40;
/// The longest name of a branch, and the longest address.
const LONGEST: usize = 1000;

/// What a folder has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitState {
    /// The commit; nothing before the first one.
    pub(crate) commit: Option<String>,
    /// The branch; nothing where the head is detached.
    pub(crate) branch: Option<String>,
    /// Where it comes from, without credentials.
    pub(crate) remote: Option<String>,
    /// Whether what is checked out is the commit, and nothing else is there.
    pub(crate) state: TreeState,
    /// How many files and folders git neither tracks nor ignores, if that can be told.
    pub(crate) untracked: Option<u64>,
    /// Why what git has of the tree was not read.
    pub(crate) not_read: Option<&'static str>,
}

/// Whether what is checked out is the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeState {
    /// The index is the commit's, every file in it has the size and time that it had when git last looked, and there is
    /// no other file that git would not ignore.
    Clean,
    /// A tracked file has another size, has become something else or is gone, the index is not that of the commit, or
    /// there is a file that git neither tracks nor ignores.
    Changed,
    /// It cannot be told without reading every file or running git.
    Unknown,
}

impl GitState {
    pub(crate) fn to_value(&self) -> Value {
        let state = match self.state {
            TreeState::Clean => "clean",
            TreeState::Changed => "changed",
            TreeState::Unknown => "unknown",
        };
        let mut value = Value::object([("state", state)]);
        let texts = [
            ("commit", &self.commit),
            ("branch", &self.branch),
            ("remote", &self.remote),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                value.insert(name, text.as_str());
            }
        }
        if let Some(untracked) = self.untracked {
            value.insert("untracked", untracked);
        }
        if let Some(not_read) = self.not_read {
            value.insert("not_read", not_read);
        }
        value
    }

    /// The state of the repository that `folder` is in, whatever is in the folder `apart`; nothing where it is in
    /// none.
    pub(crate) fn read(folder: &Path, apart: &Path) -> Option<Self> {
        Self::read_as(folder, apart, std::env::home_dir())
    }

    fn read_as(folder: &Path, apart: &Path, home: Option<PathBuf>) -> Option<Self> {
        let repository = Repository::find(folder)?;
        let head = read_text(&repository.own.join("HEAD"), MOST_SMALL)?;
        let head = head.trim();
        let reference = head.strip_prefix("ref: ").filter(|name| is_reference(name));
        let commit = match reference {
            Some(name) => repository.resolve(name),
            None => Some(head.to_owned()).filter(|text| is_commit(text)),
        };
        let branch = reference.and_then(|name| name.strip_prefix("refs/heads/"));
        let not_read = repository.find_other_kind(commit.as_deref());
        let index = match not_read {
            Some(_) => None,
            None => repository.read_index(),
        };
        let untracked = index.as_ref().and_then(|(index, _)| {
            let surroundings = untracked::Surroundings {
                tree: &repository.tree,
                common: &repository.common,
                apart,
                home,
            };
            untracked::count(&surroundings, index.entries.keys().map(PathBuf::as_path))
        });
        let tracked = match &index {
            Some(index) => repository.compare_tree(index, commit.as_deref()),
            None => TreeState::Unknown,
        };
        let state = match (tracked, untracked) {
            (_, Some(1..)) => TreeState::Changed,
            (TreeState::Clean, None) => TreeState::Unknown,
            (tracked, _) => tracked,
        };
        Some(Self {
            branch: branch.map(str::to_owned),
            remote: repository.remote(branch),
            state,
            untracked,
            not_read,
            commit,
        })
    }
}

/// Where a repository has its files.
struct Repository {
    /// The folder with the files that are checked out.
    tree: PathBuf,
    /// `.git`, or the folder of a worktree or submodule.
    own: PathBuf,
    /// The folder that worktrees share.
    common: PathBuf,
}

impl Repository {
    /// Looks for `.git` in `folder` and above it, as git does.
    fn find(folder: &Path) -> Option<Self> {
        for tree in folder.ancestors() {
            let place = tree.join(".git");
            let Ok(found) = fs::symlink_metadata(&place) else {
                continue;
            };
            if found.is_dir() {
                return Some(Self {
                    tree: tree.to_owned(),
                    own: place.clone(),
                    common: place,
                });
            }
            return found
                .is_file()
                .then(|| Self::follow(tree, &place))
                .flatten();
        }
        None
    }

    /// Follows the file `.git` of a worktree or submodule.
    fn follow(tree: &Path, place: &Path) -> Option<Self> {
        let text = read_text(place, MOST_SMALL)?;
        let own = normalize(&tree.join(text.trim().strip_prefix("gitdir: ")?));
        let is_tree = |path: &str| normalize(&own.join(path)) == *tree;
        // A worktree is named in `gitdir`, a submodule in the configuration.
        if let Some(back) = read_text(&own.join("gitdir"), MOST_SMALL) {
            let back = normalize(&own.join(back.trim()));
            let common = read_text(&own.join("commondir"), MOST_SMALL)?;
            let common = normalize(&own.join(common.trim()));
            let is_below = own.parent().and_then(Path::parent) == Some(&*common);
            return (back == place && is_below).then(|| Self {
                tree: tree.to_owned(),
                own,
                common,
            });
        }
        let config = read_text(&own.join("config"), MOST_LIST)?;
        let named = find_setting(&config, "core", None, "worktree")?;
        is_tree(&named).then(|| Self {
            tree: tree.to_owned(),
            common: own.clone(),
            own,
        })
    }

    /// The commit that a reference names.
    fn resolve(&self, name: &str) -> Option<String> {
        for top in [&self.own, &self.common] {
            if let Some(text) = read_text(&top.join(name), MOST_SMALL) {
                let text = text.trim();
                return is_commit(text).then(|| text.to_owned());
            }
        }
        let packed = read_text(&self.common.join("packed-refs"), MOST_LIST)?;
        let mut commits = packed.lines().filter_map(|line| {
            let (commit, named) = line.split_once(' ')?;
            (named == name && is_commit(commit)).then(|| commit.to_owned())
        });
        commits.next()
    }

    /// The address of the branch's remote, or of `origin`.
    fn remote(&self, branch: Option<&str>) -> Option<String> {
        let config = read_text(&self.common.join("config"), MOST_LIST)?;
        let of_branch =
            branch.and_then(|branch| find_setting(&config, "branch", Some(branch), "remote"));
        let remote = of_branch.unwrap_or_else(|| "origin".to_owned());
        let url = find_setting(&config, "remote", Some(&remote), "url")?;
        let is_plain = url.len() <= LONGEST && !url.chars().any(char::is_control);
        is_plain.then(|| without_credentials(&url))
    }

    /// Of which kind the repository is, if it is one that is not read here.
    fn find_other_kind(&self, commit: Option<&str>) -> Option<&'static str> {
        let config = read_text(&self.common.join("config"), MOST_LIST).unwrap_or_default();
        let setting = |name: &str| find_setting(&config, "extensions", None, name);
        let format = setting("objectformat");
        if format.is_some_and(|format| format != "sha1")
            || commit.is_some_and(|it| it.len() != SHA1_DIGITS)
        {
            return Some("its objects are not named by SHA-1");
        }
        let storage = setting("refstorage");
        let is_other = storage.is_some_and(|storage| storage != "files");
        is_other.then_some("its references are not in files")
    }

    /// The index, and when it was written.
    fn read_index(&self) -> Option<(Index, (i64, i64))> {
        let place = self.own.join("index");
        let written = fs::symlink_metadata(&place).ok()?;
        let index = Index::parse(&read_bytes(&place, MOST_INDEX)?)?;
        Some((index, (written.mtime(), written.mtime_nsec())))
    }

    /// Compares what the index lists with what is there, and the index with the commit.
    fn compare_tree(
        &self,
        (index, written): &(Index, (i64, i64)),
        commit: Option<&str>,
    ) -> TreeState {
        let mut state = TreeState::Clean;
        for (path, entry) in &index.entries {
            match self.compare_entry(path, entry, *written) {
                TreeState::Changed => return TreeState::Changed,
                TreeState::Unknown => state = TreeState::Unknown,
                TreeState::Clean => {}
            }
        }
        let tree = commit.and_then(|commit| read_tree_of(&self.common.join("objects"), commit));
        match (&index.tree, tree) {
            (Some(own), Some(tree)) if *own == tree => state,
            (Some(_), Some(_)) => TreeState::Changed,
            _ => TreeState::Unknown,
        }
    }

    /// Compares one file by its size and times, as git does before it reads it.
    fn compare_entry(&self, path: &Path, entry: &IndexEntry, written: (i64, i64)) -> TreeState {
        // A path that is not plain leads out of the folder.
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || !matches!(entry.kind, 0o10 | 0o12) {
            return TreeState::Unknown;
        }
        let Ok(found) = fs::symlink_metadata(self.tree.join(path)) else {
            return TreeState::Changed;
        };
        let is_kind = match entry.kind {
            0o10 => found.is_file(),
            _ => found.is_symlink(),
        };
        let modified = (found.mtime(), found.mtime_nsec());
        // A file that changed in the moment in which the index was written may have the time that it lists.
        let is_known = entry.modified == modified && modified < written;
        match (
            is_kind && u64::from(entry.bytes) == found.len() & 0xffff_ffff,
            is_known,
        ) {
            (false, _) => TreeState::Changed,
            (true, true) => TreeState::Clean,
            (true, false) => TreeState::Unknown,
        }
    }
}

/// What the index says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndexEntry {
    /// The type of a mode: `0o10` for a file, `0o12` for a link.
    kind: u32,
    bytes: u32,
    modified: (i64, i64),
}

/// The files that git tracks.
#[derive(Debug)]
struct Index {
    entries: BTreeMap<PathBuf, IndexEntry>,
    /// The tree that the whole index is, if it says so.
    tree: Option<String>,
}

impl Index {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let four = bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_be_bytes(four.try_into().ok()?))
        };
        let version = number(4)?;
        if !bytes.starts_with(b"DIRC") || !matches!(version, 2..=4) {
            return None;
        }
        let count = number(8)?;
        let (mut entries, mut at) = (BTreeMap::new(), 12);
        let mut path: Vec<u8> = Vec::new();
        for _ in 0..count {
            let begin = at;
            let flags = number(at + 60)?;
            // Two bytes of flags, and two more of an extended entry.
            let is_extended = flags & 0x4000_0000 != 0;
            at += if is_extended { 64 } else { 62 };
            if version == 4 {
                let (cut, used) = read_offset(bytes.get(at..)?)?;
                at += used;
                path.truncate(path.len().checked_sub(cut)?);
            } else {
                path.clear();
            }
            let end = at + memchr::memchr(0, bytes.get(at..)?)?;
            path.extend_from_slice(bytes.get(at..end)?);
            at = match version {
                4 => end + 1,
                // Padded with one to eight zeros.
                _ => begin + ((end - begin) / 8 + 1) * 8,
            };
            let entry = IndexEntry {
                kind: number(begin + 24)? >> 12,
                bytes: number(begin + 36)?,
                modified: (number(begin + 8)?.into(), number(begin + 12)?.into()),
            };
            entries.insert(OsStr::from_bytes(&path).into(), entry);
        }
        let mut tree = None;
        while let (Some(name), Some(size)) = (bytes.get(at..at + 4), number(at + 4)) {
            let content = at + 8;
            let end = content.checked_add(usize::try_from(size).ok()?)?;
            if end + 20 > bytes.len() {
                break;
            }
            if name == b"TREE" {
                tree = read_cached_tree(bytes.get(content..end)?);
            }
            at = end;
        }
        Some(Self { entries, tree })
    }
}

/// The number that an entry of version 4 begins with: how much of the path before is left out.
fn read_offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = *bytes.first()?;
    let (mut value, mut used, mut last) = (usize::from(first & 0x7f), 1, first);
    while last & 0x80 != 0 {
        last = *bytes.get(used)?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(last & 0x7f);
        used += 1;
    }
    Some((value, used))
}

/// The root of the cached trees: an empty name, how many entries it covers, and its digest if that is valid.
fn read_cached_tree(bytes: &[u8]) -> Option<String> {
    let rest = bytes.strip_prefix(&[0])?;
    let line = memchr::memchr(b'\n', rest)?;
    let (line, rest) = rest.split_at(line);
    (!line.starts_with(b"-")).then(|| hex(rest.get(1..21)?))?
}

/// The tree of a commit, from its own file or from a pack that has it whole.
fn read_tree_of(objects: &Path, commit: &str) -> Option<String> {
    let (first, rest) = commit.split_at_checked(2)?;
    let loose = read_bytes(&objects.join(first).join(rest), MOST_SMALL);
    let text = match loose {
        Some(bytes) => {
            let object = inflate(&bytes)?;
            let end = memchr::memchr(0, &object)?;
            object.get(end + 1..)?.to_vec()
        }
        None => find_packed(&objects.join("pack"), commit)?,
    };
    let line = text.strip_prefix(b"tree ")?.get(..40)?;
    let tree = str::from_utf8(line).ok()?;
    is_commit(tree).then(|| tree.to_owned())
}

/// The content of a commit in one of the packs, if it is stored whole.
fn find_packed(packs: &Path, commit: &str) -> Option<Vec<u8>> {
    let entries = fs::read_dir(packs).ok()?.flatten().take(MOST_PACKS);
    let indexes = entries.map(|entry| entry.path());
    let indexes = indexes.filter(|path| path.extension().is_some_and(|it| it == "idx"));
    for index in indexes {
        let Some(at) = read_bytes(&index, MOST_INDEX).and_then(|it| find_in_pack(&it, commit))
        else {
            continue;
        };
        let pack = index.with_extension("pack");
        let is_file = fs::symlink_metadata(&pack).is_ok_and(|it| it.is_file());
        let (mut file, _) = open_regular(&pack).ok().filter(|_| is_file)?;
        file.seek(SeekFrom::Start(at)).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_SMALL).read_to_end(&mut bytes).ok()?;
        let head = bytes.iter().position(|byte| byte & 0x80 == 0)?;
        // A commit, not a difference from another object.
        let is_commit = bytes.first()? >> 4 & 7 == 1;
        return inflate(bytes.get(head + 1..).filter(|_| is_commit)?);
    }
    None
}

/// Where an object begins in a pack, by the pack's index of version 2.
fn find_in_pack(index: &[u8], object: &str) -> Option<u64> {
    const FIRST: usize = 8 + 256 * 4;
    let number = |at: usize| {
        let four = index.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    if !index.starts_with(b"\xfftOc\0\0\0\x02") {
        return None;
    }
    let count = usize::try_from(number(8 + 255 * 4)?).ok()?;
    let digests = index.get(FIRST..FIRST.checked_add(count.checked_mul(20)?)?)?;
    let at = digests
        .chunks_exact(20)
        .position(|it| hex(it).as_deref() == Some(object))?;
    let offset = number(FIRST + count * 24 + at * 4)?;
    match offset & 0x8000_0000 {
        0 => Some(offset.into()),
        _ => {
            let large = FIRST + count * 28 + usize::try_from(offset & 0x7fff_ffff).ok()? * 8;
            let eight = index.get(large..large.checked_add(8)?)?;
            Some(u64::from_be_bytes(eight.try_into().ok()?))
        }
    }
}

fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let decoder = flate2::read::ZlibDecoder::new(bytes);
    decoder.take(MOST_SMALL).read_to_end(&mut text).ok()?;
    Some(text)
}

fn hex(bytes: &[u8]) -> Option<String> {
    (bytes.len() == 20).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn read_bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > most {
        return None;
    }
    let (file, _) = open_regular(path).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn read_text(path: &Path, most: u64) -> Option<String> {
    String::from_utf8(read_bytes(path, most)?).ok()
}

/// Whether it is a digest: SHA-1, or SHA-256 where a repository uses that.
fn is_commit(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.bytes().all(is_hex)
}

/// Whether it is the name of a reference that stays in the repository.
fn is_reference(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\');
    name.starts_with("refs/")
        && name.len() <= LONGEST
        && !name.chars().any(char::is_control)
        && name.split('/').all(is_part)
}

/// A setting of a configuration, without what that includes: the last one counts.
fn find_setting(config: &str, section: &str, of: Option<&str>, name: &str) -> Option<String> {
    let heading = match of {
        Some(of) => format!("[{section} \"{of}\"]"),
        None => format!("[{section}]"),
    };
    let (mut is_in, mut found) = (false, None);
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_in = line == heading;
        } else if is_in
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case(name)
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

/// An address without user, password, query and fragment; the user of an address for ssh is part of it.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    match user
        .split(':')
        .next()
        .filter(|user| scheme == "ssh" && !user.is_empty())
    {
        Some(user) => format!("{scheme}://{user}@{host}{path}"),
        None => format!("{scheme}://{host}{path}"),
    }
}

#[cfg(test)]
mod tests;

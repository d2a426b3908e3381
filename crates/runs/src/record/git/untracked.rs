//! How many files and folders of a repository git does not track and does not ignore: what `git status --porcelain` lists
//! with `??`, a folder without tracked files as one.
//!
//! Patterns are read from the files that git reads, within bounds, and git itself is not run. Where something cannot be
//! told, nothing is: a number is only given if it is the right one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::{MOST_LIST, find_setting, read_text};

/// The most names that are looked at.
const MOST_LOOKS: usize = 200_000;
/// The most patterns of all files together.
const MOST_PATTERNS: usize = 10_000;
/// The deepest folder that is looked into.
const DEEPEST: usize = 200;

/// Where patterns are, and what does not count.
pub(super) struct Surroundings<'a> {
    /// The folder with what is checked out.
    pub(super) tree: &'a Path,
    /// The folder that worktrees share, with `info/exclude`.
    pub(super) common: &'a Path,
    /// A folder that does not count: that of our own bundles.
    pub(super) apart: &'a Path,
    /// The user's own home.
    pub(super) home: Option<PathBuf>,
}

/// The number of untracked files and folders; `None` where it cannot be told.
pub(super) fn count<'t>(
    surroundings: &Surroundings<'_>,
    tracked: impl Iterator<Item = &'t Path>,
) -> Option<u64> {
    let mut known = Tracked::default();
    for path in tracked {
        known
            .folders
            .extend(path.ancestors().skip(1).map(Path::to_owned));
        known.files.insert(path.to_owned());
    }
    let mut search = Search {
        surroundings,
        tracked: known,
        rules: Vec::new(),
        looks: 0,
    };
    let own = own_patterns(surroundings)?;
    for text in own.iter() {
        search.add_rules(Path::new(""), text)?;
    }
    let exclude = surroundings.common.join("info/exclude");
    search.add_file(Path::new(""), &exclude)?;
    search.count_in(Path::new(""), 0)
}

/// The user's own patterns for all repositories.
fn own_patterns(surroundings: &Surroundings<'_>) -> Option<Option<String>> {
    let config = read_text(&surroundings.common.join("config"), MOST_LIST).unwrap_or_default();
    // A file that the repository names is not opened.
    let of_repository = find_setting(&config, "core", None, "excludesfile");
    if of_repository.is_some() || config.lines().any(|it| it.trim().starts_with("[include")) {
        return None;
    }
    let Some(home) = &surroundings.home else {
        return Some(None);
    };
    let mut place = home.join(".config/git/ignore");
    for config in [".config/git/config", ".gitconfig"] {
        let text = read_text(&home.join(config), MOST_LIST).unwrap_or_default();
        if let Some(named) = find_setting(&text, "core", None, "excludesfile") {
            place = match named.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => PathBuf::from(named),
            };
        }
    }
    Some(read_text(&place, MOST_LIST))
}

#[derive(Default)]
struct Tracked {
    files: BTreeSet<PathBuf>,
    /// Folders with tracked files in them, at any depth.
    folders: BTreeSet<PathBuf>,
}

/// A pattern, and the folder that it is for.
struct Rule {
    folder: PathBuf,
    matcher: GlobMatcher,
    /// Whether it is compared with the last name alone.
    is_of_name: bool,
    is_for_folders: bool,
    is_negated: bool,
}

struct Search<'a> {
    surroundings: &'a Surroundings<'a>,
    tracked: Tracked,
    /// Those that count where the search is, in the order in which the last that matches decides.
    rules: Vec<Rule>,
    looks: usize,
}

impl Search<'_> {
    /// Adds the patterns of a file, if there is one.
    fn add_file(&mut self, folder: &Path, place: &Path) -> Option<()> {
        match fs::symlink_metadata(place) {
            Ok(found) if found.is_file() => self.add_rules(folder, &read_text(place, MOST_LIST)?),
            _ => Some(()),
        }
    }

    fn add_rules(&mut self, folder: &Path, text: &str) -> Option<()> {
        for line in text.lines() {
            if let Some(rule) = parse_rule(folder, line)? {
                if self.rules.len() == MOST_PATTERNS {
                    return None;
                }
                self.rules.push(rule);
            }
        }
        Some(())
    }

    /// The number in a folder that has tracked files, or is the top.
    fn count_in(&mut self, folder: &Path, depth: usize) -> Option<u64> {
        let rules = self.rules.len();
        let place = self.surroundings.tree.join(folder);
        self.add_file(folder, &place.join(".gitignore"))?;
        let mut count = 0;
        for (path, is_folder) in self.list(folder, depth)? {
            let has_tracked = self.tracked.folders.contains(&path);
            count += match is_folder {
                _ if self.tracked.files.contains(&path) => 0,
                true if has_tracked && self.is_ignored(&path, true) => 0,
                true if has_tracked => self.count_in(&path, depth + 1)?,
                true => u64::from(self.has_any(&path, depth + 1)?),
                false => u64::from(!self.is_ignored(&path, false)),
            };
        }
        self.rules.truncate(rules);
        Some(count)
    }

    /// Whether a folder without tracked files has one that is not ignored.
    fn has_any(&mut self, folder: &Path, depth: usize) -> Option<bool> {
        let place = self.surroundings.tree.join(folder);
        if self.is_ignored(folder, true) {
            return Some(false);
        }
        // Another repository counts whatever is in it.
        if fs::symlink_metadata(place.join(".git")).is_ok() {
            return Some(true);
        }
        let rules = self.rules.len();
        self.add_file(folder, &place.join(".gitignore"))?;
        let mut has_any = false;
        for (path, is_folder) in self.list(folder, depth)? {
            has_any = match is_folder {
                true => self.has_any(&path, depth + 1)?,
                false => !self.is_ignored(&path, false),
            };
            if has_any {
                break;
            }
        }
        self.rules.truncate(rules);
        Some(has_any)
    }

    /// The names in a folder, and which of them are folders.
    fn list(&mut self, folder: &Path, depth: usize) -> Option<Vec<(PathBuf, bool)>> {
        let place = self.surroundings.tree.join(folder);
        if depth > DEEPEST {
            return None;
        }
        let mut found = Vec::new();
        for entry in fs::read_dir(&place).ok()? {
            let entry = entry.ok()?;
            self.looks += 1;
            if self.looks > MOST_LOOKS {
                return None;
            }
            let kind = entry.file_type().ok()?;
            // Git knows files, links and folders.
            let counts = kind.is_dir() || kind.is_file() || kind.is_symlink();
            let is_own = entry.file_name() == OsStr::new(".git") && depth == 0
                || entry.path() == self.surroundings.apart;
            if counts && !is_own {
                found.push((folder.join(entry.file_name()), kind.is_dir()));
            }
        }
        found.sort();
        Some(found)
    }

    /// Whether the last pattern that matches says so. What lies in an ignored folder is never asked about.
    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let matches = |rule: &&Rule| {
            let Ok(below) = path.strip_prefix(&rule.folder) else {
                return false;
            };
            let name = below.file_name().map(Path::new);
            let compared = match rule.is_of_name {
                true => name.unwrap_or(below),
                false => below,
            };
            (is_folder || !rule.is_for_folders) && rule.matcher.is_match(compared)
        };
        let last = self.rules.iter().rev().find(matches);
        last.is_some_and(|rule| !rule.is_negated)
    }
}

/// A line of a file of patterns: no pattern in one that is empty or a comment, and an error where it is not understood.
fn parse_rule(folder: &Path, line: &str) -> Option<Option<Rule>> {
    let mut text = line.strip_suffix('\r').unwrap_or(line);
    while let Some(shorter) = text.strip_suffix(' ').filter(|it| !it.ends_with('\\')) {
        text = shorter;
    }
    if text.is_empty() || text.starts_with('#') {
        return Some(None);
    }
    let is_negated = text.starts_with('!');
    let text = text.strip_prefix('!').unwrap_or(text);
    let is_for_folders = text.ends_with('/');
    let text = text.strip_suffix('/').unwrap_or(text);
    let is_of_name = !text.contains('/');
    let text = text.strip_prefix('/').unwrap_or(text);
    if text.is_empty() {
        return Some(None);
    }
    // Braces are plain characters for git.
    let escaped = text.replace('{', "\\{").replace('}', "\\}");
    let glob = GlobBuilder::new(&escaped)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .ok()?;
    Some(Some(Rule {
        folder: folder.to_owned(),
        matcher: glob.compile_matcher(),
        is_of_name,
        is_for_folders,
        is_negated,
    }))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::{GitState, TreeState};
    use super::*;

    /// What git says: the number of lines with `??`, and whether there is any other line.
    fn ask_git(folder: &Path, home: &Path) -> Option<(u64, bool)> {
        let answer = Command::new("git")
            .args(["status", "--porcelain"])
            .current_dir(folder)
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .ok()?;
        let text = String::from_utf8(answer.stdout).ok()?;
        let (untracked, other): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("??"));
        Some((untracked.len() as u64, !other.is_empty()))
    }

    #[test]
    fn untracked_files_are_counted_as_git_status_does() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (home, tree) = (top.join("home"), top.join("p"));
        fs::create_dir_all(home.join(".config/git")).unwrap();
        fs::create_dir(&tree).unwrap();
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            let done = git.args(words).current_dir(&tree).env("HOME", &home);
            done.output().is_ok_and(|it| it.status.success())
        };
        if !git(&["init", "-q"]) {
            runseal_testkit::skip::skip("there is no git");
            return;
        }
        let put = |name: &str, text: &str| {
            let place = tree.join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        };
        put("src/a", "x");
        put("src/.gitignore", "*.log\n!keep.log\n/only-here\n");
        put("kept/tracked", "x");
        put(
            ".gitignore",
            "kept/\ntarget/\n*.tmp\ndoc/**/*.pdf\n\\#odd\nspace \n",
        );
        assert!(git(&["add", "-f", "."]) && git(&["commit", "-q", "-m", "x"]));
        let compare = |what: &str| {
            let surroundings = Surroundings {
                tree: &tree,
                common: &tree.join(".git"),
                apart: &tree.join("RUN_BUNDLE"),
                home: Some(home.clone()),
            };
            let tracked = [".gitignore", "kept/tracked", "src/.gitignore", "src/a"];
            let counted = count(&surroundings, tracked.iter().map(Path::new));
            let (expected, _) = ask_git(&tree, &home).unwrap();
            assert_eq!(counted, Some(expected), "{what}");
        };
        compare("nothing else");
        for name in [
            "target/debug/x",
            "kept/new",
            "a.tmp",
            "doc/a/b/c.pdf",
            "doc/a/b/c.txt",
            "#odd",
            "space",
            "src/x.log",
            "src/keep.log",
            "src/only-here",
            "src/deep/only-here",
            "new/deep/file",
            "new/more/file",
            "all/a.tmp",
            "target-not/x",
            "braces{a}",
            ".hidden",
        ] {
            put(name, "x");
            compare(name);
        }
        fs::create_dir_all(tree.join("empty/still")).unwrap();
        compare("an empty folder");
        std::os::unix::fs::symlink("/etc", tree.join("link")).unwrap();
        compare("a link");
        fs::write(tree.join(".git/info/exclude"), "link\n").unwrap();
        compare("the repository's own patterns");
        fs::write(home.join(".config/git/ignore"), ".hidden\n").unwrap();
        compare("the user's own patterns");
        put("RUN_BUNDLE/r/x", "x");
        let (with_ours, _) = ask_git(&tree, &home).unwrap();
        let found = GitState::read_as(&tree, &tree.join("RUN_BUNDLE"), Some(home.clone())).unwrap();
        assert_eq!(found.untracked, Some(with_ours - 1));
        assert_eq!(found.state, TreeState::Changed);
        // What is not understood is not counted.
        fs::write(tree.join(".git/info/exclude"), "[\n").unwrap();
        let found = GitState::read_as(&tree, &tree.join("RUN_BUNDLE"), Some(home)).unwrap();
        assert_eq!((found.untracked, found.state), (None, TreeState::Unknown));
    }
}

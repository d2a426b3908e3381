//! Packages of Debian and its kin: dpkg's lists of files, their MD5 sums, and its status.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use memchr::{memchr_iter, memmem};
use runseal_core::source::Algorithm;
use runseal_fs::threads::Task;

use super::{Content, MOST_OF_A_LIST, Owner, Package, Wanted, read_bounded};
use crate::record::environment::modified_ns;

/// Files that system tools generate and no package contains.
const GENERATED: [&str; 3] = [
    "/etc/ld.so.cache",
    "/usr/lib/locale/locale-archive",
    "/usr/share/mime/mime.cache",
];

/// Folders into which no package installs anything.
const OF_USERS: [&str; 2] = ["/home", "/root"];

/// Packages whose lists are searched first: every command uses some of them.
const LIKELY: [&str; 8] = [
    "libc6",
    "libc-bin",
    "coreutils",
    "dash",
    "bash",
    "perl-base",
    "libgcc-s1",
    "libstdc++6",
];

/// The lists of dpkg, read as far as needed.
#[derive(Debug, Default)]
pub(super) struct DpkgLists {
    dpkg: PathBuf,
    status: String,
    /// Files of one package that another one diverts: the path and that other package.
    diversions: BTreeMap<String, String>,
    /// The lists of dpkg that were read, by name; `None` if a list does not exist.
    read: BTreeMap<String, Option<Vec<u8>>>,
    has_all: bool,
}

impl DpkgLists {
    /// Loads what is in `dpkg`; `None` if no package is installed with it.
    pub(super) fn load(dpkg: &Path) -> Option<Self> {
        let status = fs::read_to_string(dpkg.join("status")).unwrap_or_default();
        if status.is_empty() {
            return None;
        }
        let diversions = fs::read_to_string(dpkg.join("diversions")).unwrap_or_default();
        let mut lists = Self {
            dpkg: dpkg.to_owned(),
            status,
            diversions: read_diversions(&diversions),
            ..Self::default()
        };
        for name in LIKELY {
            lists.read_lists_of(name);
        }
        Some(lists)
    }

    /// Reads the remaining lists in advance, as long as `has_time` returns true.
    pub(super) fn read_all_while(&mut self, has_time: impl Fn() -> bool) {
        if self.has_all {
            return;
        }
        for entry in fs::read_dir(self.dpkg.join("info"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if !has_time() {
                return;
            }
            let name = entry.file_name();
            let Some(list) = name.to_str().and_then(|name| name.strip_suffix(".list")) else {
                continue;
            };
            if !matches!(self.read.get(list), Some(Some(_))) {
                self.read
                    .insert(list.to_owned(), fs::read(entry.path()).ok());
            }
        }
        self.has_all = true;
    }

    /// Reads the lists of a package, under both names that they may have.
    fn read_lists_of(&mut self, package: &str) {
        let with_architecture = match std::env::consts::ARCH {
            "x86_64" => format!("{package}:amd64"),
            "aarch64" => format!("{package}:arm64"),
            other => format!("{package}:{other}"),
        };
        for list in [package.to_owned(), with_architecture] {
            if !self.read.contains_key(&list) {
                let place = self.dpkg.join("info").join(format!("{list}.list"));
                self.read.insert(list, fs::read(place).ok());
            }
        }
    }

    /// The owners of those `paths` that have one. Lists of packages that are likely by name
    /// are searched first, all others only if something is still missing.
    pub(super) fn find(&mut self, paths: &[&str]) -> BTreeMap<String, Owner> {
        let may_be_owned = |path: &&str| {
            !GENERATED.contains(path)
                && !OF_USERS.iter().any(|top| Path::new(path).starts_with(top))
        };
        let wanted: Vec<&str> = paths.iter().copied().filter(may_be_owned).collect();
        if !self.has_all {
            for path in &wanted {
                for name in guess_packages(path) {
                    self.read_lists_of(&name);
                }
            }
            let found = self.look_up(&wanted);
            if wanted.iter().all(|path| found.contains_key(*path)) {
                return found;
            }
            self.read_all_while(|| true);
        }
        self.look_up(&wanted)
    }

    /// Looks the paths up in the lists that were read.
    fn look_up(&self, paths: &[&str]) -> BTreeMap<String, Owner> {
        let wanted = Wanted::new(paths);
        let lists: Vec<(&String, &Vec<u8>)> = self
            .read
            .iter()
            .filter_map(|(list, bytes)| Some((list, bytes.as_ref()?)))
            .collect();
        let halves = lists.split_at(lists.len() / 2);
        let (mut owners, others) = thread::scope(|scope| {
            let second = Task::begin(scope, || self.find_owners(halves.1, &wanted));
            let first = self.find_owners(halves.0, &wanted);
            (first, second.finish().unwrap_or_default())
        });
        // Take the first list that has it, so that the result does not depend on threads.
        for (path, owner) in others {
            owners.entry(path).or_insert(owner);
        }
        let mut by_list: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for (path, (list, line)) in owners {
            by_list.entry(list).or_default().push((path, line));
        }
        let mut found = BTreeMap::new();
        for (list, files) in by_list {
            let name = list.split(':').next().unwrap_or(list);
            let Some(paragraph) = find_paragraph(&self.status, list) else {
                continue;
            };
            let package = Package {
                name: name.to_owned(),
                version: member(paragraph, "Version").unwrap_or_default().to_owned(),
            };
            let names = files.iter().map(|(_, line)| *line).collect();
            let mut contents = self.read_contents(list, paragraph, &names);
            for (path, line) in files {
                let content = contents.remove(line).unwrap_or(Content::Unknown);
                let package = package.clone();
                found.insert(path.to_owned(), Owner { package, content });
            }
        }
        found
    }

    /// What the package of a list has at these names: settings by its paragraph, everything else by its sums.
    fn read_contents(
        &self,
        list: &str,
        paragraph: &str,
        names: &BTreeSet<&str>,
    ) -> BTreeMap<String, Content> {
        let place = |ending: &str| self.dpkg.join("info").join(format!("{list}.{ending}"));
        let listed = fs::metadata(place("list")).ok();
        let installed_ns = listed.as_ref().map(modified_ns);
        let sums = read_bounded(&place("md5sums"), MOST_OF_A_LIST).unwrap_or_default();
        let mut found = BTreeMap::new();
        for line in String::from_utf8_lossy(&sums).lines() {
            let Some((sum, name)) = line.split_once("  ") else {
                continue;
            };
            let name = format!("/{name}");
            if names.contains(name.as_str()) {
                let content = Content::of_digest(Algorithm::Md5, sum, installed_ns);
                found.insert(name, content);
            }
        }
        for (name, sum) in settings_of(paragraph) {
            if names.contains(name) {
                // One that was edited stays when the package is upgraded, so that no time tells.
                let content = Content::of_digest(Algorithm::Md5, sum, None);
                found.insert(name.to_owned(), content);
            }
        }
        found
    }

    fn find_owners<'a, 'p>(
        &self,
        lists: &[(&'a String, &'a Vec<u8>)],
        wanted: &Wanted<'p>,
    ) -> BTreeMap<&'p str, (&'a str, &'a str)> {
        let mut owners = BTreeMap::new();
        for (list, bytes) in lists {
            let mut begin = 0;
            for end in memchr_iter(b'\n', bytes) {
                let line = &bytes[begin..end];
                begin = end + 1;
                let Some(path) = wanted.get(line) else {
                    continue;
                };
                let name = list.split(':').next().unwrap_or(list);
                let line = str::from_utf8(line).unwrap_or_default();
                let is_owner = self.diversions.get(line).is_none_or(|owner| owner == name);
                if is_owner {
                    owners.entry(path).or_insert((list.as_str(), line));
                }
            }
        }
        owners
    }
}

/// Parses dpkg's diversions, where one package has replaced a file of another. Each has three
/// lines: the path, where the other's file went, and the package; `:` stands for an administrator.
fn read_diversions(text: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = text.lines().collect();
    let three = lines.chunks_exact(3);
    three
        .map(|three| (three[0].to_owned(), three[2].to_owned()))
        .collect()
}

/// Packages that a file may belong to, judging by its name: that of a library, of a program, or of
/// a folder on its path. This only decides where to look first; the list decides.
fn guess_packages(path: &str) -> BTreeSet<String> {
    let mut guesses = BTreeSet::new();
    let below = path.strip_prefix("/usr").unwrap_or(path);
    let mut parts = below.split('/').filter(|part| !part.is_empty());
    let _ = parts.next();
    for part in parts.take(3).filter(|part| part.len() > 1) {
        let python = part.strip_prefix("python3.").is_some();
        if python {
            for package in [
                format!("{part}-minimal"),
                format!("lib{part}-minimal"),
                format!("lib{part}-stdlib"),
                format!("lib{part}"),
            ] {
                guesses.insert(package);
            }
        }
        match part.split_once(".so.") {
            Some((library, version)) => {
                let major = version.split('.').next().unwrap_or_default();
                guesses.insert(format!("{library}{major}"));
                guesses.insert(format!("{library}-{major}"));
                guesses.insert(format!("{library}{major}t64"));
            }
            None => {
                guesses.insert(part.to_ascii_lowercase());
            }
        }
    }
    guesses
}

/// What the status says of the installed package whose list has this name.
fn find_paragraph<'a>(status: &'a str, list: &str) -> Option<&'a str> {
    let (name, architecture) = match list.split_once(':') {
        Some((name, architecture)) => (name, Some(architecture)),
        None => (list, None),
    };
    let line = format!("Package: {name}\n");
    let mut rest = status;
    let mut skipped = 0;
    while let Some(at) = memmem::find(rest.as_bytes(), line.as_bytes()) {
        let begins_line = skipped + at == 0 || status.as_bytes()[skipped + at - 1] == b'\n';
        let paragraph = &rest[at..];
        let paragraph = paragraph.split("\n\n").next().unwrap_or(paragraph);
        let is_same =
            architecture.is_none_or(|wanted| member(paragraph, "Architecture") == Some(wanted));
        if begins_line && is_same && member(paragraph, "Version").is_some() {
            return Some(paragraph);
        }
        skipped += at + line.len();
        rest = &status[skipped..];
    }
    None
}

fn member<'a>(paragraph: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = paragraph.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The settings that a package installs, with the MD5 of its own version of each.
fn settings_of(paragraph: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = paragraph.lines().skip_while(|line| *line != "Conffiles:");
    let lines = lines.skip(1).take_while(|line| line.starts_with(' '));
    lines.filter_map(|line| {
        let (name, rest) = line.trim_start().split_once(' ')?;
        // One that the package has no more is marked as that, and is nowhere else to be had.
        Some((name, rest)).filter(|(_, sum)| !sum.contains(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpkg_lists_name_the_package_also_of_a_file_below_the_merged_usr() {
        let folder = tempfile::tempdir().unwrap();
        let info = folder.path().join("info");
        fs::create_dir(&info).unwrap();
        fs::write(
            info.join("libc6:amd64.list"),
            "/.\n/lib\n/lib/x/libc.so.6\n",
        )
        .unwrap();
        fs::write(info.join("tool.list"), "/usr/bin/tool\n").unwrap();
        fs::write(info.join("gone.list"), "/usr/bin/gone\n").unwrap();
        fs::write(
            folder.path().join("status"),
            "Package: libc6\nArchitecture: amd64\nVersion: 2.36-9\n\n\
             Package: tool\nArchitecture: all\nVersion: 1.0\n\nPackage: gone\nStatus: x\n",
        )
        .unwrap();
        fs::write(folder.path().join("diversions"), "").unwrap();
        let mut lists = DpkgLists::load(folder.path()).unwrap();
        let paths = [
            "/usr/lib/x/libc.so.6",
            "/usr/bin/tool",
            "/usr/bin/gone",
            "/opt/own",
        ];
        let found = lists.find(&paths);
        let names: Vec<_> = found
            .iter()
            .map(|(path, package)| {
                (
                    path.as_str(),
                    &*package.package.name,
                    &*package.package.version,
                )
            })
            .collect();
        assert_eq!(
            names,
            [
                ("/usr/bin/tool", "tool", "1.0"),
                ("/usr/lib/x/libc.so.6", "libc6", "2.36-9"),
            ]
        );
    }

    #[test]
    fn lists_are_read_as_far_as_needed_and_a_diverted_file_is_its_diverters() {
        let folder = tempfile::tempdir().unwrap();
        let info = folder.path().join("info");
        fs::create_dir(&info).unwrap();
        fs::write(info.join("coreutils.list"), "/bin/true\n/bin/sh\n").unwrap();
        fs::write(info.join("zdash.list"), "/bin/sh\n/opt/z/tool\n").unwrap();
        fs::write(
            folder.path().join("diversions"),
            "/bin/sh\n/bin/sh.old\nzdash\n",
        )
        .unwrap();
        fs::write(
            folder.path().join("status"),
            "Package: coreutils\nVersion: 9.1\n\nPackage: zdash\nVersion: 0.5\n",
        )
        .unwrap();
        let mut lists = DpkgLists::load(folder.path()).unwrap();
        let found = lists.find(&["/usr/bin/true", "/etc/ld.so.cache", "/root/own"]);
        assert_eq!(found["/usr/bin/true"].package.version, "9.1");
        assert!(
            !lists.has_all,
            "all lists were read for a file of a likely one"
        );
        let found = lists.find(&["/usr/bin/sh", "/opt/z/tool"]);
        assert!(lists.has_all);
        assert_eq!(found["/usr/bin/sh"].package.name, "zdash");
        assert_eq!(found["/opt/z/tool"].package.version, "0.5");
    }

    #[test]
    fn guesses_name_packages_of_libraries_programs_and_interpreters() {
        let has = |path: &str, package: &str| {
            assert!(guess_packages(path).contains(package), "{path}");
        };
        has("/usr/lib/x86_64-linux-gnu/libselinux.so.1", "libselinux1");
        has(
            "/usr/lib/x86_64-linux-gnu/libpcre2-8.so.0.11.2",
            "libpcre2-8-0",
        );
        has("/usr/bin/git", "git");
        has(
            "/usr/lib/python3.11/json/__init__.py",
            "libpython3.11-stdlib",
        );
    }

    #[test]
    fn content_of_a_package_is_known_by_its_sums_and_settings() {
        let folder = tempfile::tempdir().unwrap();
        let info = folder.path().join("info");
        fs::create_dir(&info).unwrap();
        let names = "/etc/t.conf\n/etc/old.conf\n/lib/t/a\n/usr/bin/t\n/usr/share/t/unlisted\n";
        fs::write(info.join("t.list"), names).unwrap();
        let (a, b) = ("0".repeat(32), "1".repeat(32));
        fs::write(
            info.join("t.md5sums"),
            format!("{a}  lib/t/a\n{b}  usr/bin/t\nbroken\nzz  usr/share/t/unlisted\n"),
        )
        .unwrap();
        let status = format!(
            "Package: t\nVersion: 1\nConffiles:\n /etc/t.conf {a}\n /etc/old.conf {b} obsolete\nDescription: x\n\n"
        );
        fs::write(folder.path().join("status"), status).unwrap();
        let mut lists = DpkgLists::load(folder.path()).unwrap();
        let paths = [
            "/etc/t.conf",
            "/etc/old.conf",
            "/usr/lib/t/a",
            "/usr/bin/t",
            "/usr/share/t/unlisted",
        ];
        let found = lists.find(&paths);
        let told = |path: &str| match &found[path].content {
            Content::Digest {
                hex, installed_ns, ..
            } => (hex.clone(), installed_ns.is_some()),
            _ => (String::new(), false),
        };
        assert_eq!(told("/etc/t.conf"), (a.clone(), false));
        assert_eq!(told("/etc/old.conf").0, "");
        assert_eq!(told("/usr/lib/t/a"), (a, true));
        assert_eq!(told("/usr/bin/t"), (b, true));
        assert_eq!(told("/usr/share/t/unlisted").0, "");
    }
}

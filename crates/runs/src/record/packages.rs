//! Determines which package of the system a file belongs to, from dpkg's lists or with `rpm`.
//!
//! If no package owns a file, or the system has neither, that is reported: nothing is guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use memchr::{memchr_iter, memmem};

use runseal_fs::threads::Task;

const DPKG: &str = "/var/lib/dpkg";
const RPM: &str = "/usr/bin/rpm";

/// A package and its version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    /// Its name, without the architecture.
    pub(crate) name: String,
    /// Its version, as the system writes it.
    pub(crate) version: String,
}

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

/// What the system knows about packages, read as far as needed.
#[derive(Debug, Default)]
pub(crate) struct PackageLists {
    dpkg: PathBuf,
    status: String,
    /// Files of one package that another one diverts: the path and that other package.
    diversions: BTreeMap<String, String>,
    /// The lists of dpkg that were read, by name; `None` if a list does not exist.
    read: BTreeMap<String, Option<Vec<u8>>>,
    has_all: bool,
    rpm: Option<PathBuf>,
}

impl PackageLists {
    /// Loads what this system has. What cannot be read counts as missing.
    pub(crate) fn load() -> Self {
        Self::load_from(Path::new(DPKG), Path::new(RPM))
    }

    fn load_from(dpkg: &Path, rpm: &Path) -> Self {
        let status = fs::read_to_string(dpkg.join("status")).unwrap_or_default();
        if status.is_empty() {
            let rpm = rpm.exists().then(|| rpm.to_owned());
            return Self {
                rpm,
                ..Self::default()
            };
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
        lists
    }

    /// Reads the remaining lists in advance, as long as `has_time` returns true.
    pub(crate) fn read_all_while(&mut self, has_time: impl Fn() -> bool) {
        if self.has_all || self.status.is_empty() {
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

    /// The packages that own those `paths` that have one. Lists of packages that are likely by name
    /// are searched first, all others only if something is still missing.
    pub(crate) fn find(&mut self, paths: &[&str]) -> BTreeMap<String, Package> {
        if let Some(rpm) = &self.rpm {
            return ask_rpm(rpm, paths);
        }
        if self.status.is_empty() {
            return BTreeMap::new();
        }
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
    fn look_up(&self, paths: &[&str]) -> BTreeMap<String, Package> {
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
        for (path, list) in others {
            owners.entry(path).or_insert(list);
        }
        let mut found = BTreeMap::new();
        for (path, list) in owners {
            let name = list.split(':').next().unwrap_or(list);
            if let Some(version) = find_version(&self.status, list) {
                let package = Package {
                    name: name.to_owned(),
                    version: version.to_owned(),
                };
                found.insert(path.to_owned(), package);
            }
        }
        found
    }

    fn find_owners<'a, 'p>(
        &self,
        lists: &[(&'a String, &Vec<u8>)],
        wanted: &Wanted<'p>,
    ) -> BTreeMap<&'p str, &'a str> {
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
                    owners.entry(path).or_insert(list.as_str());
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

/// The version of the installed package whose list has this name.
fn find_version<'a>(status: &'a str, list: &str) -> Option<&'a str> {
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
        let member = |name: &str| {
            let mut lines = paragraph.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let is_same = architecture.is_none_or(|wanted| member("Architecture") == Some(wanted));
        if begins_line
            && is_same
            && let Some(version) = member("Version")
        {
            return Some(version);
        }
        skipped += at + line.len();
        rest = &status[skipped..];
    }
    None
}

/// The paths to look up, under every name that dpkg may use for them: on systems where /bin is
/// /usr/bin, lists still say /bin.
struct Wanted<'a> {
    by_name: BTreeMap<Vec<u8>, &'a str>,
    /// The lengths and last bytes that occur, to reject most lines quickly.
    ends: Vec<bool>,
}

impl<'a> Wanted<'a> {
    fn new(paths: &[&'a str]) -> Self {
        let mut by_name = BTreeMap::new();
        for path in paths {
            by_name.insert(path.as_bytes().to_vec(), *path);
            if let Some(short) = path.strip_prefix("/usr")
                && ["/bin/", "/sbin/", "/lib"]
                    .iter()
                    .any(|top| short.starts_with(top))
            {
                by_name.insert(short.as_bytes().to_vec(), *path);
            }
        }
        let mut ends = vec![false; 1 << 16];
        for name in by_name.keys() {
            ends[glance(name)] = true;
        }
        Self { by_name, ends }
    }

    fn get(&self, line: &[u8]) -> Option<&'a str> {
        if !self.ends[glance(line)] {
            return None;
        }
        self.by_name.get(line).copied()
    }
}

fn glance(name: &[u8]) -> usize {
    let last = |back: usize| {
        name.len()
            .checked_sub(back)
            .map_or(0, |at| usize::from(name[at]))
    };
    (name.len() ^ (last(1) << 8) ^ (last(3) << 4) ^ (last(6) << 2)) & 0xffff
}

/// Runs `rpm`, which prints one line per path, in order; for a path that no package owns, a
/// message.
fn ask_rpm(rpm: &Path, paths: &[&str]) -> BTreeMap<String, Package> {
    let mut found = BTreeMap::new();
    for some in paths.chunks(500) {
        let answer = Command::new(rpm)
            .args([
                "-q",
                "--queryformat",
                "%{NAME} %{VERSION}-%{RELEASE}\\n",
                "-f",
            ])
            .args(some)
            .env_clear()
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        if let Ok(answer) = answer {
            let text = String::from_utf8_lossy(&answer.stdout);
            found.extend(read_rpm_answer(some, &text));
        }
    }
    found
}

fn read_rpm_answer(paths: &[&str], text: &str) -> BTreeMap<String, Package> {
    let lines: Vec<&str> = text.lines().collect();
    // A path owned by several packages has several lines; then lines cannot be assigned to paths.
    if lines.len() != paths.len() {
        return BTreeMap::new();
    }
    let package = |line: &str| {
        let (name, version) = line.split_once(' ')?;
        let is_answer = !version.contains(' ') && version.contains('-');
        is_answer.then(|| Package {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    };
    let pairs = paths.iter().zip(lines);
    pairs
        .filter_map(|(path, line)| Some(((*path).to_owned(), package(line)?)))
        .collect()
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
        let mut lists = PackageLists::load_from(folder.path(), Path::new("/nowhere"));
        let paths = [
            "/usr/lib/x/libc.so.6",
            "/usr/bin/tool",
            "/usr/bin/gone",
            "/opt/own",
        ];
        let found = lists.find(&paths);
        let names: Vec<_> = found
            .iter()
            .map(|(path, package)| (path.as_str(), package.name.as_str(), &*package.version))
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
        let mut lists = PackageLists::load_from(folder.path(), Path::new("/nowhere"));
        let found = lists.find(&["/usr/bin/true", "/etc/ld.so.cache", "/root/own"]);
        assert_eq!(found["/usr/bin/true"].version, "9.1");
        assert!(
            !lists.has_all,
            "all lists were read for a file of a likely one"
        );
        let found = lists.find(&["/usr/bin/sh", "/opt/z/tool"]);
        assert!(lists.has_all);
        assert_eq!(found["/usr/bin/sh"].name, "zdash");
        assert_eq!(found["/opt/z/tool"].version, "0.5");
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
    fn rpm_answers_are_read_line_by_line_or_not_at_all() {
        let text = "coreutils 9.1-12.fc39\nfile /opt/own is not owned by any package\n";
        let found = read_rpm_answer(&["/usr/bin/true", "/opt/own"], text);
        assert_eq!(found.len(), 1);
        assert_eq!(found["/usr/bin/true"].version, "9.1-12.fc39");
        assert!(read_rpm_answer(&["/usr/bin/true"], text).is_empty());
    }
}

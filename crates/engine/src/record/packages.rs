//! Which package of the system a file belongs to: dpkg's lists, read once, or what `rpm` answers.
//!
//! A file that no package knows, or a system with neither, is told as such: nothing is guessed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use memchr::memchr_iter;

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

/// What the system knows about packages, loaded but not looked through yet.
#[derive(Debug, Default)]
pub(crate) struct PackageLists {
    /// The names of dpkg's lists and what they hold.
    lists: Vec<(String, Vec<u8>)>,
    status: String,
    rpm: Option<PathBuf>,
}

impl PackageLists {
    /// Reads what this system has. What cannot be read is as if it were not there.
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
        let mut lists = Vec::new();
        for entry in fs::read_dir(dpkg.join("info"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let Some(package) = name.to_str().and_then(|name| name.strip_suffix(".list")) else {
                continue;
            };
            if let Ok(bytes) = fs::read(entry.path()) {
                lists.push((package.to_owned(), bytes));
            }
        }
        lists.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Self {
            lists,
            status,
            rpm: None,
        }
    }

    /// The packages of those of `paths` that one owns.
    pub(crate) fn find(&self, paths: &[&str]) -> BTreeMap<String, Package> {
        match &self.rpm {
            Some(rpm) => ask_rpm(rpm, paths),
            None => self.find_in_lists(paths),
        }
    }

    fn find_in_lists(&self, paths: &[&str]) -> BTreeMap<String, Package> {
        let wanted = Wanted::new(paths);
        let versions = read_versions(&self.status);
        let mut found = BTreeMap::new();
        for (list, bytes) in &self.lists {
            let mut begin = 0;
            for end in memchr_iter(b'\n', bytes) {
                let line = &bytes[begin..end];
                begin = end + 1;
                let Some(path) = wanted.get(line) else {
                    continue;
                };
                let name = list.split(':').next().unwrap_or(list);
                if let Some(version) = versions.get(list.as_str()).or(versions.get(name)) {
                    let package = Package {
                        name: name.to_owned(),
                        version: (*version).to_owned(),
                    };
                    found.entry(path.to_owned()).or_insert(package);
                }
            }
        }
        found
    }
}

/// The paths that are looked for, under every name that dpkg may have for them: on systems where
/// /bin is /usr/bin, lists still say /bin.
struct Wanted<'a> {
    by_name: BTreeMap<Vec<u8>, &'a str>,
    /// The lengths and last bytes that occur, so that most lines are told apart at a glance.
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

/// The versions of installed packages, by name and by name with architecture.
fn read_versions(status: &str) -> BTreeMap<String, &str> {
    let mut versions = BTreeMap::new();
    let (mut name, mut architecture, mut version) = ("", "", "");
    for line in status.lines().chain([""]) {
        if let Some(text) = line.strip_prefix("Package: ") {
            name = text;
        } else if let Some(text) = line.strip_prefix("Architecture: ") {
            architecture = text;
        } else if let Some(text) = line.strip_prefix("Version: ") {
            version = text;
        } else if line.is_empty() {
            if !name.is_empty() && !version.is_empty() {
                versions.insert(name.to_owned(), version);
                versions.insert(format!("{name}:{architecture}"), version);
            }
            (name, architecture, version) = ("", "", "");
        }
    }
    versions
}

/// Asks `rpm`, which answers a line a path, in their order; a path that no package owns is said
/// in words.
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
    // A path that several packages own has several lines: then no line can be told to be whose.
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
        let lists = PackageLists::load_from(folder.path(), Path::new("/nowhere"));
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
    fn rpm_answers_are_read_line_by_line_or_not_at_all() {
        let text = "coreutils 9.1-12.fc39\nfile /opt/own is not owned by any package\n";
        let found = read_rpm_answer(&["/usr/bin/true", "/opt/own"], text);
        assert_eq!(found.len(), 1);
        assert_eq!(found["/usr/bin/true"].version, "9.1-12.fc39");
        assert!(read_rpm_answer(&["/usr/bin/true"], text).is_empty());
    }
}

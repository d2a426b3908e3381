//! Determines which package of the system a file belongs to, and whether it is what the package contains.
//!
//! Only what can be installed again need not be sealed: a file that somebody edited is not the package's any more, and one
//! whose content the package does not tell may be anybody's. The lists of packages are read as files, with bounds; only
//! RPM's are asked for with `rpm`. If no package owns a file, or the system has none, that is reported: nothing is
//! guessed.

mod apk;
mod dpkg;
mod pacman;
mod rpm;
mod stores;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use runseal_core::digest::Digest;
use runseal_core::source::{Algorithm, Algorithms, FileDigests};
use runseal_fs::input::open_regular;

use self::dpkg::DpkgLists;
use super::environment::status_changed_ns;

/// The most bytes that are read of one list of files, and that one is unpacked to.
const MOST_OF_A_LIST: u64 = 256 << 20;

/// A package and its version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    /// Its name, without the architecture.
    pub(crate) name: String,
    /// Its version, as the system writes it.
    pub(crate) version: String,
}

/// Which package owns a file, and what that has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) package: Package,
    pub(crate) content: Content,
}

/// What a package has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// What is there: nobody writes to where packages of this kind lie.
    Fixed,
    /// A file with this digest.
    Digest {
        algorithm: Algorithm,
        hex: String,
        /// When the package was installed, by the clock of file times. What nobody has touched since is as it was.
        installed_ns: Option<i128>,
    },
    /// The package does not say.
    Unknown,
}

impl Content {
    /// A file with this digest, if it is one.
    fn of_digest(algorithm: Algorithm, hex: &str, installed_ns: Option<i128>) -> Self {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match hex.len() == algorithm.hex_digits() && hex.bytes().all(is_hex) {
            true => Self::Digest {
                algorithm,
                hex: hex.to_owned(),
                installed_ns,
            },
            false => Self::Unknown,
        }
    }

    /// Whether the file at `path`, which has this SHA-256 and size, is what the package has there, as far as that is
    /// known.
    pub(crate) fn is_at(&self, path: &Path, (sha256, bytes): (&Digest, u64)) -> bool {
        let (algorithm, hex) = match self {
            Self::Fixed => return true,
            Self::Unknown => return false,
            Self::Digest {
                algorithm,
                hex,
                installed_ns,
            } => {
                let now = fs::metadata(path).ok();
                let changed_ns = now.as_ref().map(status_changed_ns);
                // No program can set back when a file was last touched.
                if installed_ns.is_some() && changed_ns.is_some() && changed_ns <= *installed_ns {
                    return true;
                }
                (*algorithm, hex)
            }
        };
        if algorithm == Algorithm::Sha256 {
            return sha256.to_string() == *hex;
        }
        let Ok((file, _)) = open_regular(path) else {
            return false;
        };
        let wanted = Algorithms::default().with(algorithm);
        let read = FileDigests::read(file.take(bytes.saturating_add(1)), wanted);
        // The same bytes that are listed, not what is there by now.
        read.is_ok_and(|read| read.sha256 == *sha256 && read.hex(algorithm).as_ref() == Some(hex))
    }
}

/// What the system knows about packages, read as far as needed.
#[derive(Debug, Default)]
pub(crate) struct PackageLists {
    system: System,
}

#[derive(Debug, Default)]
enum System {
    #[default]
    None,
    Dpkg(DpkgLists),
    /// The program that is asked.
    Rpm(PathBuf),
    /// Its database.
    Apk(PathBuf),
    /// The folder with a folder for each package.
    Pacman(PathBuf),
}

/// What has its lists at a path.
type MakeSystem = fn(PathBuf) -> System;

impl PackageLists {
    /// Loads what this system has. What cannot be read counts as missing.
    pub(crate) fn load() -> Self {
        Self::load_from(Path::new("/"))
    }

    fn load_from(root: &Path) -> Self {
        if let Some(lists) = DpkgLists::load(&root.join("var/lib/dpkg")) {
            return Self {
                system: System::Dpkg(lists),
            };
        }
        let places: [(&str, MakeSystem); 4] = [
            ("lib/apk/db/installed", System::Apk),
            ("usr/lib/apk/db/installed", System::Apk),
            ("var/lib/pacman/local", System::Pacman),
            ("usr/bin/rpm", System::Rpm),
        ];
        let found = places
            .into_iter()
            .map(|(place, system)| (root.join(place), system))
            .find(|(place, _)| place.exists());
        Self {
            system: found.map_or(System::None, |(place, system)| system(place)),
        }
    }

    /// Reads remaining lists in advance, as long as `has_time` returns true.
    pub(crate) fn read_all_while(&mut self, has_time: impl Fn() -> bool) {
        if let System::Dpkg(lists) = &mut self.system {
            lists.read_all_while(has_time);
        }
    }

    /// The owners of those `paths` that have one.
    pub(crate) fn find(&mut self, paths: &[&str]) -> BTreeMap<String, Owner> {
        let mut found = BTreeMap::new();
        let mut rest = Vec::new();
        for path in paths {
            match stores::package_of(path) {
                Some(package) => {
                    let content = Content::Fixed;
                    found.insert((*path).to_owned(), Owner { package, content });
                }
                None => rest.push(*path),
            }
        }
        found.extend(match &mut self.system {
            System::None => BTreeMap::new(),
            System::Dpkg(lists) => lists.find(&rest),
            System::Rpm(program) => rpm::find(program, &rest),
            System::Apk(database) => apk::find(database, &rest),
            System::Pacman(folder) => pacman::find(folder, &rest),
        });
        found
    }
}

/// The content of a regular file of at most `most` bytes.
fn read_bounded(path: &Path, most: u64) -> Option<Vec<u8>> {
    let (file, _) = open_regular(path)
        .ok()
        .filter(|(_, bytes)| *bytes <= most)?;
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content).ok()?;
    Some(content)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_the_packages_only_while_it_has_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "abc").unwrap();
        let of = |text: &str| (Digest::of(text.as_bytes()), text.len() as u64);
        let is_at = |content: &Content, text: &str| {
            let (digest, bytes) = of(text);
            content.is_at(&path, (&digest, bytes))
        };
        let md5 = |installed_ns| {
            Content::of_digest(
                Algorithm::Md5,
                "900150983cd24fb0d6963f7d28e17f72",
                installed_ns,
            )
        };
        assert!(is_at(&md5(None), "abc"));
        assert!(is_at(&md5(Some(0)), "abc"));
        let sha256 = Content::of_digest(Algorithm::Sha256, &of("abc").0.to_string(), None);
        assert!(is_at(&sha256, "abc"));
        assert!(is_at(&Content::Fixed, "abc"));
        assert!(!is_at(&Content::Unknown, "abc"));
        fs::write(&path, "abd").unwrap();
        assert!(!is_at(&md5(None), "abd"));
        assert!(!is_at(&md5(Some(0)), "abd"));
        assert!(!is_at(&sha256, "abd"));
        // Untouched since the package was installed.
        assert!(is_at(&md5(Some(i128::MAX)), "abd"));
        for hex in [
            "",
            "900150983cd24fb0d6963f7d28e17f7",
            "900150983CD24FB0D6963F7D28E17F72",
        ] {
            let content = Content::of_digest(Algorithm::Md5, hex, None);
            assert_eq!(content, Content::Unknown);
        }
    }

    #[test]
    fn system_is_known_by_its_database() {
        let root = tempfile::tempdir().unwrap();
        let kind = || match PackageLists::load_from(root.path()).system {
            System::None => "none",
            System::Dpkg(_) => "dpkg",
            System::Rpm(_) => "rpm",
            System::Apk(_) => "apk",
            System::Pacman(_) => "pacman",
        };
        assert_eq!(kind(), "none");
        for (place, expected) in [
            ("usr/bin/rpm", "rpm"),
            ("var/lib/pacman/local/ALPM_DB_VERSION", "pacman"),
            ("lib/apk/db/installed", "apk"),
            ("var/lib/dpkg/status", "dpkg"),
        ] {
            let place = root.path().join(place);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "x").unwrap();
            assert_eq!(kind(), expected);
        }
    }
}

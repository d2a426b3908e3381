//! Whether a file was published: whether an installed package of a language has it, by the package's own
//! metadata. What everybody can download is no secret, such as a key in a package's tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use base64ct::{Base64UrlUnpadded, Encoding};
use runseal_core::digest::Digest;

use super::languages::{read_npm, read_r, read_ruby, read_text};
use runseal_fs::input::open_regular;

/// The most bytes of the list of a Python package's files.
const MOST_RECORD: u64 = 16 << 20;
/// The most packages of Python in one place.
const MOST_IN_ONE_PLACE: usize = 5_000;
/// The largest file that is compared with a list.
const MOST_COMPARED: u64 = 64 << 20;

/// What is known of packages so far.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// The lists of each place of Python packages, with the names of their packages.
    python: BTreeMap<PathBuf, Vec<(String, String)>>,
}

impl Published {
    /// The package that published the file at `path`, if one did.
    pub(crate) fn find(&mut self, path: &Path) -> Option<String> {
        let folders: Vec<&Path> = path.ancestors().skip(1).collect();
        for (at, folder) in folders.iter().enumerate() {
            let name = folder.file_name().and_then(|name| name.to_str());
            let below = at.checked_sub(1).and_then(|at| folders.get(at)).copied();
            let package = match name.unwrap_or_default() {
                "site-packages" | "dist-packages" => self.find_python(folder, path),
                "node_modules" => below.and_then(|below| find_npm(folder, below, path)),
                "library" | "site-library" => below.and_then(read_r).map(|it| it.name),
                "gems" => below.and_then(read_ruby).map(|it| it.name),
                "src" => find_crate(folder, below?),
                "mod" if folder.ends_with("pkg/mod") => find_module(folder, path),
                _ => None,
            };
            if package.is_some() {
                return package;
            }
        }
        None
    }

    /// A package of Python lists each of its files with its SHA-256, so that one that was changed since is not the
    /// package's.
    fn find_python(&mut self, root: &Path, path: &Path) -> Option<String> {
        let lists = self.python.entry(root.to_owned()).or_insert_with(|| {
            let entries = fs::read_dir(root).into_iter().flatten().flatten();
            let folders = entries.map(|entry| entry.path());
            let folders =
                folders.filter(|path| path.extension().is_some_and(|it| it == "dist-info"));
            let read = |folder: PathBuf| {
                let name = folder.file_stem()?.to_str()?.to_owned();
                Some((name, read_text(&folder.join("RECORD"), MOST_RECORD)?))
            };
            folders.take(MOST_IN_ONE_PLACE).filter_map(read).collect()
        });
        let below = path.strip_prefix(root).ok()?.to_str()?;
        let (name, digest) = lists.iter().find_map(|(name, list)| {
            let line = list.lines().find_map(|line| {
                let rest = line.trim_start_matches('"').strip_prefix(below)?;
                let rest = rest.trim_start_matches('"').strip_prefix(',')?;
                rest.split(',').next()
            })?;
            Some((name, line.strip_prefix("sha256=")?.to_owned()))
        })?;
        let (file, bytes) = open_regular(path)
            .ok()
            .filter(|(_, bytes)| *bytes <= MOST_COMPARED)?;
        let mut content = Vec::with_capacity(usize::try_from(bytes).ok()?);
        std::io::Read::read_to_end(&mut std::io::Read::take(file, MOST_COMPARED), &mut content)
            .ok()?;
        let own = Base64UrlUnpadded::encode_string(Digest::of(&content).as_bytes());
        (own == digest).then(|| name.clone())
    }
}

/// A package of npm is what a lock file or npm's own list names at that place.
fn find_npm(root: &Path, below: &Path, path: &Path) -> Option<String> {
    let is_scope = below.file_name()?.to_str()?.starts_with('@');
    let parts: PathBuf = path
        .strip_prefix(root)
        .ok()?
        .components()
        .take(1 + usize::from(is_scope))
        .collect();
    let package = read_npm(&root.join(&parts))?;
    let key = format!("\"node_modules/{}\"", parts.to_str()?);
    let top = root.parent()?;
    let lists = [
        root.join(".package-lock.json"),
        top.join("package-lock.json"),
        top.join("npm-shrinkwrap.json"),
    ];
    let is_listed = lists
        .iter()
        .any(|list| read_text(list, MOST_RECORD).is_some_and(|it| it.contains(&key)));
    is_listed.then_some(package.name)
}

/// The sources of crates: `registry/src/INDEX/NAME-VERSION`.
fn find_crate(source: &Path, below: &Path) -> Option<String> {
    source.ends_with("registry/src").then(|| {
        let name = below.file_name().and_then(|name| name.to_str());
        format!("index {}", name.unwrap_or_default())
    })
}

/// The sources of modules of Go: `pkg/mod/HOST/NAME@VERSION`.
fn find_module(root: &Path, path: &Path) -> Option<String> {
    let mut parts = path.strip_prefix(root).ok()?.components();
    let versioned = parts.find_map(|part| match part {
        Component::Normal(name) => name.to_str().filter(|name| name.contains('@')),
        _ => None,
    });
    versioned.map(str::to_owned)
}

/// Whether a path below the command's folder is one of tests, which have keys of their own.
pub(crate) fn is_for_tests(path: &Path) -> bool {
    const FOLDERS: [&str; 10] = [
        "test",
        "tests",
        "testing",
        "testdata",
        "test_data",
        "test-data",
        "testsuite",
        "__tests__",
        "fixture",
        "fixtures",
    ];
    let folders = path
        .parent()
        .filter(|path| path.is_relative())
        .into_iter()
        .flat_map(Path::iter);
    folders
        .filter_map(|name| name.to_str())
        .any(|name| FOLDERS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(top: &Path, path: &str, text: &str) -> PathBuf {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn file_of_a_python_package_is_published_as_long_as_it_is_the_packages() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        let site = "venv/lib/python3.13/site-packages";
        let own = put(top, &format!("{site}/pkg/test/test.key"), "a key");
        let digest = Base64UrlUnpadded::encode_string(Digest::of(b"a key").as_bytes());
        put(
            top,
            &format!("{site}/pkg-1.0.dist-info/RECORD"),
            &format!("pkg/test/test.key,sha256={digest},5\npkg/other.key,,\n"),
        );
        let put_in = put(top, &format!("{site}/pkg/mine.key"), "a key");
        let unhashed = put(top, &format!("{site}/pkg/other.key"), "a key");
        let mut published = Published::default();
        assert_eq!(published.find(&own).as_deref(), Some("pkg-1.0"));
        assert_eq!(published.find(&put_in), None);
        assert_eq!(published.find(&unhashed), None);
        fs::write(&own, "b key").unwrap();
        assert_eq!(published.find(&own), None);
    }

    #[test]
    fn file_of_npm_is_published_if_the_lock_names_its_package() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        for name in ["listed", "@scope/listed", "own"] {
            put(
                top,
                &format!("node_modules/{name}/package.json"),
                &format!(r#"{{"name":"{name}","version":"1.0.0"}}"#),
            );
        }
        put(
            top,
            "package-lock.json",
            r#"{"packages":{"node_modules/listed":{},"node_modules/@scope/listed":{}}}"#,
        );
        let mut published = Published::default();
        let mut find =
            |name: &str| published.find(&put(top, &format!("node_modules/{name}/test/a.pem"), "x"));
        assert_eq!(find("listed").as_deref(), Some("listed"));
        assert_eq!(find("@scope/listed").as_deref(), Some("@scope/listed"));
        assert_eq!(find("own"), None);
    }

    #[test]
    fn folders_for_tests_are_told() {
        assert!(is_for_tests(Path::new("lib/tests/certs/server.key")));
        assert!(!is_for_tests(Path::new("config/tests.pem")));
        assert!(!is_for_tests(Path::new("/home/me/test/server.key")));
    }
}

//! Names the packages of Python, R, npm and Ruby whose files a run read, with their versions, from their own
//! metadata.
//!
//! Nothing is executed, every file is read within a bound and never through a link at its own name, and what
//! does not have the form of metadata is left out. A package that was not read is not named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_fs::input::open_regular;

/// The most bytes of one file of metadata.
const MOST_METADATA: u64 = 512 << 10;
/// The most bytes of the list of a Python package's files.
const MOST_RECORD: u64 = 4 << 20;
/// The most packages of Python in one place.
const MOST_IN_ONE_PLACE: usize = 5_000;
/// The longest name or version that is believed.
const LONGEST: usize = 200;

/// A package of a programming language.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LanguagePackage {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) version: String,
    /// The folder or file that says so.
    pub(crate) path: PathBuf,
}

impl LanguagePackage {
    pub(crate) fn to_value(&self) -> Value {
        let mut value = Value::object([
            ("kind", self.kind),
            ("name", self.name.as_str()),
            ("version", self.version.as_str()),
        ]);
        if let Some(path) = self.path.to_str() {
            value.insert("path", path);
        }
        value
    }

    fn of(kind: &'static str, name: &str, version: &str, path: PathBuf) -> Option<Self> {
        let is_plain = |text: &str| {
            !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control)
        };
        let (name, version) = (name.trim(), version.trim());
        (is_plain(name) && is_plain(version)).then(|| Self {
            kind,
            name: name.to_owned(),
            version: version.to_owned(),
            path,
        })
    }
}

/// The packages that `files`, which were read, belong to.
pub(crate) fn find_packages<'f>(files: impl IntoIterator<Item = &'f Path>) -> Vec<LanguagePackage> {
    let mut places = Places::default();
    for file in files {
        places.add(file);
    }
    let mut found = BTreeSet::new();
    for (root, names) in &places.python {
        add_python(root, names, &mut found);
    }
    let found_in = [
        (&places.npm, read_npm as fn(&Path) -> _),
        (&places.r, read_r),
        (&places.ruby, read_ruby),
    ];
    for (folders, read) in found_in {
        found.extend(folders.iter().filter_map(|folder| read(folder)));
    }
    found.into_iter().collect()
}

/// Where packages may be, by the paths of files that were read.
#[derive(Default)]
struct Places {
    /// The first names below each place of Python packages.
    python: BTreeMap<PathBuf, BTreeSet<String>>,
    npm: BTreeSet<PathBuf>,
    r: BTreeSet<PathBuf>,
    /// Folders such as `gems/rake-13.0.6`.
    ruby: BTreeSet<PathBuf>,
}

impl Places {
    fn add(&mut self, file: &Path) {
        let mut folders = file.ancestors().skip(1).peekable();
        // The name right below each folder.
        let mut below = file;
        while let Some(folder) = folders.next() {
            let name = |path: &Path| {
                path.file_name()
                    .and_then(|name| name.to_str().map(str::to_owned))
            };
            let (Some(of_folder), Some(of_below)) = (name(folder), name(below)) else {
                below = folder;
                continue;
            };
            match of_folder.as_str() {
                "site-packages" | "dist-packages" => {
                    let names = self.python.entry(folder.to_owned()).or_default();
                    names.insert(of_below);
                }
                "node_modules" if below != file && !of_below.starts_with('@') => {
                    self.npm.insert(below.to_owned());
                }
                "gems" if below != file => {
                    self.ruby.insert(below.to_owned());
                }
                scope if scope.starts_with('@') && below != file => {
                    let above = folders.peek().and_then(|above| name(above));
                    if above.as_deref() == Some("node_modules") {
                        self.npm.insert(below.to_owned());
                    }
                }
                "library" | "site-library" if below != file => {
                    self.r.insert(below.to_owned());
                }
                _ => {}
            }
            below = folder;
        }
    }
}

/// A regular file's text, within a bound.
pub(crate) fn read_text(path: &Path, most: u64) -> Option<String> {
    if !fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() <= most) {
        return None;
    }
    let (file, _) = open_regular(path).ok()?;
    let mut text = String::new();
    file.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The value of a field of mail-like metadata: Python's METADATA, R's DESCRIPTION.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let head = text.lines().take_while(|line| !line.is_empty());
    let mut values = head.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    values.next().map(str::trim)
}

fn add_python(root: &Path, names: &BTreeSet<String>, found: &mut BTreeSet<LanguagePackage>) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|path| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("dist-info" | "egg-info"))
    });
    folders.sort();
    for folder in folders.iter().take(MOST_IN_ONE_PLACE) {
        let is_wheel = folder.extension().is_some_and(|it| it == "dist-info");
        let (metadata, record) = match is_wheel {
            true => (folder.join("METADATA"), folder.join("RECORD")),
            false => (folder.join("PKG-INFO"), folder.join("top_level.txt")),
        };
        let tops = read_text(&record, MOST_RECORD);
        let tops = tops.iter().flat_map(|text| text.lines());
        let mut tops = tops.filter_map(|line| {
            let path = line.split(',').next()?.trim_matches('"');
            path.split('/').next()
        });
        let own = folder.file_name().and_then(|name| name.to_str());
        let is_read = own.is_some_and(|own| names.contains(own))
            || tops.any(|top| names.contains(top) || names.contains(&format!("{top}.py")));
        if !is_read {
            continue;
        }
        // Older ones are a file.
        let text = read_text(&metadata, MOST_METADATA).or_else(|| read_text(folder, MOST_METADATA));
        let package = text.and_then(|text| {
            let (name, version) = (field(&text, "Name")?, field(&text, "Version")?);
            LanguagePackage::of("python", name, version, folder.clone())
        });
        found.extend(package);
    }
}

pub(crate) fn read_npm(folder: &Path) -> Option<LanguagePackage> {
    let text = read_text(&folder.join("package.json"), MOST_METADATA)?;
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).ok()?;
    let member = |name: &str| Some(document.root().get(name)?.as_str()?.into_owned());
    LanguagePackage::of(
        "npm",
        &member("name")?,
        &member("version")?,
        folder.to_owned(),
    )
}

pub(crate) fn read_r(folder: &Path) -> Option<LanguagePackage> {
    let text = read_text(&folder.join("DESCRIPTION"), MOST_METADATA)?;
    let name = field(&text, "Package")?;
    let is_same = folder.file_name().is_some_and(|own| own == name);
    let version = field(&text, "Version").filter(|_| is_same)?;
    LanguagePackage::of("r", name, version, folder.to_owned())
}

/// Reads `specifications/rake-13.0.6.gemspec` beside `gems/rake-13.0.6`.
pub(crate) fn read_ruby(folder: &Path) -> Option<LanguagePackage> {
    let full = folder.file_name()?.to_str()?;
    let above = folder.parent()?.parent()?;
    let specification = above.join("specifications").join(format!("{full}.gemspec"));
    let text = read_text(&specification, MOST_METADATA)?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| {
            let line = line.trim().strip_prefix(name)?.trim_start();
            line.strip_prefix('=')
        })?;
        line.trim().strip_prefix('"')?.split('"').next()
    };
    let (name, version) = (value("s.name")?, value("s.version")?);
    let package = LanguagePackage::of("ruby", name, version, specification.clone())?;
    full.starts_with(&package.name).then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_by_their_own_metadata_if_a_file_of_theirs_was_read() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let put = |path: &str, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let site = "venv/lib/python3.11/site-packages";
        put(
            &format!("{site}/numpy-2.1.0.dist-info/METADATA"),
            "Metadata-Version: 2.1\nName: numpy\nVersion: 2.1.0\n\nVersion: 9\n",
        );
        put(
            &format!("{site}/numpy-2.1.0.dist-info/RECORD"),
            "numpy/__init__.py,sha256=x,1\nnumpy.libs/libx.so,,\n",
        );
        put(
            &format!("{site}/unread-1.dist-info/METADATA"),
            "Name: unread\nVersion: 1\n",
        );
        put(
            &format!("{site}/unread-1.dist-info/RECORD"),
            "unread/a.py,,\n",
        );
        put(
            &format!("{site}/six-1.16.egg-info/PKG-INFO"),
            "Name: six\nVersion: 1.16\n",
        );
        put(&format!("{site}/six-1.16.egg-info/top_level.txt"), "six\n");
        put(
            "p/node_modules/@a/b/package.json",
            r#"{"name":"@a/b","version":"1.2.3"}"#,
        );
        put(
            "p/node_modules/left/package.json",
            r#"{"name":"left","version":4}"#,
        );
        put("R/library/sp/DESCRIPTION", "Package: sp\nVersion: 2.1-4\n");
        put(
            "gems/specifications/rake-13.0.gemspec",
            "Gem::Specification.new do |s|\n  s.name = \"rake\".freeze\n  s.version = \"13.0\".freeze\n",
        );
        let read = [
            format!("{site}/numpy/__init__.py"),
            format!("{site}/six.py"),
            "p/node_modules/@a/b/lib/x.js".to_owned(),
            "p/node_modules/left/x.js".to_owned(),
            "R/library/sp/R/sp.rdb".to_owned(),
            "gems/gems/rake-13.0/lib/rake.rb".to_owned(),
        ];
        let read: Vec<PathBuf> = read.iter().map(|path| top.join(path)).collect();
        let found = find_packages(read.iter().map(PathBuf::as_path));
        let named: Vec<String> = found
            .iter()
            .map(|it| format!("{} {} {}", it.kind, it.name, it.version))
            .collect();
        assert_eq!(
            named,
            [
                "npm @a/b 1.2.3",
                "python numpy 2.1.0",
                "python six 1.16",
                "r sp 2.1-4",
                "ruby rake 13.0"
            ]
        );
    }

    #[test]
    fn metadata_behind_a_link_is_not_read() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("node_modules/x");
        fs::create_dir_all(&folder).unwrap();
        let other = top.path().join("secret.json");
        fs::write(&other, r#"{"name":"secret","version":"1"}"#).unwrap();
        std::os::unix::fs::symlink(&other, folder.join("package.json")).unwrap();
        assert!(find_packages([folder.join("index.js").as_path()]).is_empty());
    }
}

//! Packages of Arch Linux: a folder for each, with its name, its files, and digests in a compressed list of mtree's form.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use runseal_core::source::Algorithm;

use super::{Content, MOST_OF_A_LIST, Owner, Package, Wanted, read_bounded};

/// The owners of those `paths` that have one.
pub(super) fn find(packages: &Path, paths: &[&str]) -> BTreeMap<String, Owner> {
    let wanted = Wanted::new(paths);
    let mut found = BTreeMap::new();
    let entries = fs::read_dir(packages).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let list = read_bounded(&folder.join("files"), MOST_OF_A_LIST).unwrap_or_default();
        let mut names = BTreeMap::new();
        for line in section(&list, "%FILES%") {
            let name = [b"/", line].concat();
            if let Some(path) = wanted.get(&name)
                && let Ok(name) = String::from_utf8(name)
            {
                names.insert(name, path);
            }
        }
        let Some(package) = names.first_key_value().and_then(|_| read_package(&folder)) else {
            continue;
        };
        let mut contents = read_contents(&folder.join("mtree"), names.keys().collect());
        for (name, path) in names {
            let owner = Owner {
                package: package.clone(),
                content: contents.remove(&name).unwrap_or(Content::Unknown),
            };
            found.entry(path.to_owned()).or_insert(owner);
        }
    }
    found
}

/// The lines after a heading, up to the next empty one.
fn section<'a>(text: &'a [u8], heading: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.skip_while(move |line| *line != heading.as_bytes());
    lines.skip(1).take_while(|line| !line.is_empty())
}

fn read_package(folder: &Path) -> Option<Package> {
    let text = read_bounded(&folder.join("desc"), MOST_OF_A_LIST)?;
    let first = |heading: &str| {
        let line = section(&text, heading).next()?;
        Some(str::from_utf8(line).ok()?.to_owned())
    };
    Some(Package {
        name: first("%NAME%")?,
        version: first("%VERSION%")?,
    })
}

/// The digests of those files of a list that are wanted.
fn read_contents(place: &Path, wanted: BTreeSet<&String>) -> BTreeMap<String, Content> {
    let packed = read_bounded(place, MOST_OF_A_LIST).unwrap_or_default();
    let mut text = Vec::new();
    let unpacking = flate2::read::MultiGzDecoder::new(&*packed);
    // What is damaged, or too long, says nothing of the rest.
    let _ = unpacking.take(MOST_OF_A_LIST).read_to_end(&mut text);
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let mut words = line.split(' ');
        let name = words
            .next()
            .and_then(|name| unescape(name.strip_prefix('.')?));
        let Some(name) = name.filter(|name| wanted.contains(name)) else {
            continue;
        };
        let content = words.find_map(|word| {
            let digest = word.strip_prefix("sha256digest=")?;
            Some(Content::of_digest(Algorithm::Sha256, digest, None))
        });
        found.insert(name, content.unwrap_or(Content::Unknown));
    }
    found
}

/// A name with bytes written as `\` and three octal digits.
fn unescape(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(3)?;
        bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn folder_of_a_package_names_it_and_its_files_digests() {
        let packages = tempfile::tempdir().unwrap();
        let folder = packages.path().join("tool-1.0-2");
        fs::create_dir(&folder).unwrap();
        fs::write(packages.path().join("ALPM_DB_VERSION"), "9\n").unwrap();
        fs::write(
            folder.join("desc"),
            "%NAME%\ntool\n\n%VERSION%\n1.0-2\n\n%ARCH%\nany\n",
        )
        .unwrap();
        let files =
            "%FILES%\netc/\netc/tool.conf\nusr/bin/a b\nusr/bin/tool\n\n%BACKUP%\netc/x\t0\n";
        fs::write(folder.join("files"), files).unwrap();
        let digest = "a".repeat(64);
        let mtree = format!(
            "#mtree\n/set type=file uid=0 gid=0 mode=644\n./usr/bin/tool time=1.0 mode=755 size=3 sha256digest={digest}\n\
             ./usr/bin/a\\040b time=1.0 sha256digest={digest}\n./etc/tool.conf time=1.0 md5digest=x\n"
        );
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(mtree.as_bytes()).unwrap();
        fs::write(folder.join("mtree"), packed.finish().unwrap()).unwrap();
        let paths = [
            "/usr/bin/tool",
            "/usr/bin/a b",
            "/etc/tool.conf",
            "/etc/x",
            "/usr/bin/own",
        ];
        let found = find(packages.path(), &paths);
        assert_eq!(found.len(), 3);
        let expected = Content::of_digest(Algorithm::Sha256, &digest, None);
        for path in ["/usr/bin/tool", "/usr/bin/a b"] {
            let owner = &found[path];
            assert_eq!(
                (&*owner.package.name, &*owner.package.version),
                ("tool", "1.0-2")
            );
            assert_eq!(owner.content, expected, "{path}");
        }
        assert_eq!(found["/etc/tool.conf"].content, Content::Unknown);
        fs::write(folder.join("mtree"), "damaged").unwrap();
        assert_eq!(
            find(packages.path(), &paths)["/usr/bin/tool"].content,
            Content::Unknown
        );
    }
}

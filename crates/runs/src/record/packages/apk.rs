//! Packages of Alpine Linux: one file lists all that are installed, with their files and the SHA-1 of each.

use std::collections::BTreeMap;
use std::path::Path;

use base64ct::{Base64, Encoding};
use runseal_core::source::Algorithm;

use super::{Content, MOST_OF_A_LIST, Owner, Package, Wanted, read_bounded};

/// The owners of those `paths` that have one.
pub(super) fn find(database: &Path, paths: &[&str]) -> BTreeMap<String, Owner> {
    let bytes = read_bounded(database, MOST_OF_A_LIST).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let wanted = Wanted::new(paths);
    let mut found = BTreeMap::new();
    let (mut name, mut version, mut folder) = ("", "", "");
    // The file that the next checksum is of.
    let mut file: Option<&str> = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            // An empty line ends a package.
            (name, version, folder, file) = ("", "", "", None);
            continue;
        };
        match key {
            "P" => name = value,
            "V" => version = value,
            "F" => (folder, file) = (value, None),
            "R" => {
                let path = match folder {
                    "" => format!("/{value}"),
                    folder => format!("/{folder}/{value}"),
                };
                file = wanted.get(path.as_bytes());
                if let Some(path) = file {
                    let package = Package {
                        name: name.to_owned(),
                        version: version.to_owned(),
                    };
                    let content = Content::Unknown;
                    found.insert(path.to_owned(), Owner { package, content });
                }
            }
            "Z" => {
                if let Some(owner) = file.and_then(|path| found.get_mut(path)) {
                    owner.content = content_of(value);
                }
            }
            _ => {}
        }
    }
    found
}

/// A checksum: `Q1` and the SHA-1, or `Q2` and the SHA-256, in Base64.
fn content_of(checksum: &str) -> Content {
    let (algorithm, digest) = match checksum.split_at_checked(2) {
        Some(("Q1", digest)) => (Algorithm::Sha1, digest),
        Some(("Q2", digest)) => (Algorithm::Sha256, digest),
        _ => return Content::Unknown,
    };
    let bytes = Base64::decode_vec(digest).unwrap_or_default();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Content::of_digest(algorithm, &hex, None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn database_names_package_version_and_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("installed");
        fs::write(
            &database,
            "C:Q1x\nP:musl\nV:1.2.4-r2\nF:lib\nR:ld-musl-x86_64.so.1\na:0:0:755\n\
             Z:Q1qZk+NkcGgWq6PiVxeFDCbJzQ2J0=\nR:libc.musl\n\nP:tool\nV:3\nF:\nR:top\nF:etc\nR:tool.conf\nZ:Q1!\n",
        )
        .unwrap();
        let paths = [
            "/lib/ld-musl-x86_64.so.1",
            "/usr/lib/libc.musl",
            "/top",
            "/etc/tool.conf",
            "/own",
        ];
        let found = find(&database, &paths);
        assert_eq!(found.len(), 4);
        let musl = &found["/lib/ld-musl-x86_64.so.1"];
        assert_eq!(
            (&*musl.package.name, &*musl.package.version),
            ("musl", "1.2.4-r2")
        );
        // The SHA-1 of "abc".
        let Content::Digest { algorithm, hex, .. } = &musl.content else {
            panic!("no digest");
        };
        assert_eq!(*algorithm, Algorithm::Sha1);
        assert_eq!(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(found["/usr/lib/libc.musl"].content, Content::Unknown);
        assert_eq!(found["/top"].package.name, "tool");
        assert_eq!(found["/etc/tool.conf"].content, Content::Unknown);
        assert!(find(Path::new("/nowhere"), &paths).is_empty());
    }
}

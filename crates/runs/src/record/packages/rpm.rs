//! Packages of Fedora, SUSE and their kin, by what `rpm` says: whose the files are, and then all files of these packages
//! with their digests.
//!
//! Every line of an answer stands for itself. One that is not understood, or that comes twice, changes nothing about the
//! others.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use runseal_core::source::Algorithm;

use super::{Content, MOST_OF_A_LIST, Owner, Package, Wanted};

/// How many files or packages are asked about at a time.
const AT_ONCE: usize = 500;

/// Name, version and architecture of a package; a tab is in none of them.
const OF_PACKAGES: &str = "%{NAME}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\n";

/// For each file of a package: its name, the package, and the digest.
const OF_FILES: &str =
    "[%{=NAME}\\t%{=VERSION}-%{=RELEASE}\\t%{=FILEDIGESTALGO}\\t%{FILEDIGESTS}\\t%{FILENAMES}\\n]";

/// The owners of those `paths` that have one.
pub(super) fn find(rpm: &Path, paths: &[&str]) -> BTreeMap<String, Owner> {
    let mut packages = BTreeSet::new();
    for some in paths.chunks(AT_ONCE) {
        packages.extend(read_packages(&ask(rpm, OF_PACKAGES, &["-f"], some)));
    }
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let wanted = Wanted::new(paths);
    let mut found = BTreeMap::new();
    for some in packages.chunks(AT_ONCE) {
        read_files(&ask(rpm, OF_FILES, &[], some), &wanted, &mut found);
    }
    found
}

/// Runs `rpm -q`; what it prints, as far as it is not too much.
fn ask(rpm: &Path, format: &str, how: &[&str], about: &[&str]) -> String {
    let child = Command::new(rpm)
        .args(["-q", "--queryformat", format])
        .args(how)
        .arg("--")
        .args(about)
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return String::new();
    };
    let mut bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // What could not be read is not known, and then sealed.
        let _ = stdout.take(MOST_OF_A_LIST).read_to_end(&mut bytes);
    }
    let _ = child.wait();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The packages of an answer, as `rpm` is asked about them.
fn read_packages(answer: &str) -> impl Iterator<Item = String> {
    answer.lines().filter_map(|line| {
        let mut words = line.split('\t');
        let (name, version, architecture) = (words.next()?, words.next()?, words.next()?);
        let is_answer = words.next().is_none() && !name.is_empty();
        is_answer.then(|| format!("{name}-{version}.{architecture}"))
    })
}

fn read_files(answer: &str, wanted: &Wanted<'_>, found: &mut BTreeMap<String, Owner>) {
    for line in answer.lines() {
        let mut words = line.splitn(5, '\t');
        let mut next = || words.next();
        let (Some(name), Some(version), Some(algorithm), Some(digest), Some(path)) =
            (next(), next(), next(), next(), next())
        else {
            continue;
        };
        let Some(path) = wanted.get(path.as_bytes()) else {
            continue;
        };
        let algorithm = match algorithm {
            "(none)" | "0" | "1" => Some(Algorithm::Md5),
            "2" => Some(Algorithm::Sha1),
            "8" => Some(Algorithm::Sha256),
            "9" => Some(Algorithm::Sha384),
            "10" => Some(Algorithm::Sha512),
            "11" => Some(Algorithm::Sha224),
            _ => None,
        };
        let content = algorithm.map(|algorithm| Content::of_digest(algorithm, digest, None));
        let package = Package {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        let owner = Owner {
            package,
            content: content.unwrap_or(Content::Unknown),
        };
        found.entry(path.to_owned()).or_insert(owner);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn odd_answer_takes_nothing_from_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let rpm = folder.path().join("rpm");
        let digest = "b".repeat(64);
        // A path of two packages, one of none, and a line that nobody expected.
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *' -f '*)\n\
             printf 'coreutils\\t9.1-12.fc39\\tx86_64\\n'\n\
             printf 'file /opt/own is not owned by any package\\n'\n\
             printf 'glibc\\t2.38-1\\tx86_64\\nglibc\\t2.38-1\\ti686\\nodd\\tline\\n';;\n\
             *coreutils-9.1-12.fc39.x86_64*)\n\
             printf 'coreutils\\t9.1-12.fc39\\t8\\t{digest}\\t/usr/bin/true\\n'\n\
             printf 'coreutils\\t9.1-12.fc39\\t8\\t\\t/usr/bin/link\\n'\n\
             printf 'package x is not installed\\n'\n\
             printf 'glibc\\t2.38-1\\t8\\t{digest}\\t/lib64/libc.so.6\\n'\n\
             printf 'glibc\\t2.38-1\\t99\\t{digest}\\t/usr/share/glibc\\n';;\nesac\n"
        );
        fs::write(&rpm, script).unwrap();
        fs::set_permissions(&rpm, fs::Permissions::from_mode(0o755)).unwrap();
        let paths = [
            "/usr/bin/true",
            "/opt/own",
            "/usr/lib64/libc.so.6",
            "/usr/bin/link",
            "/usr/share/glibc",
        ];
        let found = find(&rpm, &paths);
        assert_eq!(found.len(), 4);
        let expected = Content::of_digest(Algorithm::Sha256, &digest, None);
        for (path, name) in [
            ("/usr/bin/true", "coreutils"),
            ("/usr/lib64/libc.so.6", "glibc"),
        ] {
            assert_eq!(found[path].package.name, name);
            assert_eq!(found[path].content, expected, "{path}");
        }
        assert_eq!(found["/usr/bin/true"].package.version, "9.1-12.fc39");
        assert_eq!(found["/usr/bin/link"].content, Content::Unknown);
        assert_eq!(found["/usr/share/glibc"].content, Content::Unknown);
        assert!(find(Path::new("/nowhere/rpm"), &paths).is_empty());
    }
}

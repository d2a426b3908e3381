//! Archives of one folder, written by common tools.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::hostile::Case;
use crate::unpackers::{Tree, read_tree};
use runseal_testkit::skip::skip;

/// Name, ending and script of each tool. It runs in the folder to pack; `$out` is the archive.
const COMMANDS: [(&str, &str, &str); 32] = [
    ("GNU tar, gnu", "tar", "tar --format=gnu -cf $out ."),
    ("GNU tar, pax", "tar", "tar --format=pax -cf $out ."),
    (
        "GNU tar, posix with times",
        "tar",
        "tar --format=posix --pax-option=delete=atime -cf $out .",
    ),
    ("GNU tar, oldgnu", "tar", "tar --format=oldgnu -cf $out ."),
    (
        "GNU tar, pax with a global header",
        "tar",
        "tar --format=pax --pax-option=comment=made -cf $out .",
    ),
    ("GNU tar, by name", "tar", "tar -cf $out *"),
    (
        "GNU tar, sorted and without owners",
        "tar",
        "tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf $out .",
    ),
    ("GNU tar, blocks of 1", "tar", "tar -b1 -cf $out ."),
    ("GNU tar, gzip", "tar.gz", "tar -czf $out ."),
    (
        "GNU tar, gzip -9 with a name",
        "tar.gz",
        "tar -cf ../name.tar . && gzip -9 -c ../name.tar > $out",
    ),
    ("GNU tar, zstd", "tar.zst", "tar --zstd -cf $out ."),
    (
        "GNU tar, zstd -19",
        "tar.zst",
        "tar -cf - . | zstd -19 -q -o $out",
    ),
    (
        "GNU tar, zstd with threads and a checksum",
        "tar.zst",
        "tar -cf - . | zstd -T2 --check -q -o $out",
    ),
    ("bsdtar, its own", "tar", "bsdtar -cf $out ."),
    ("bsdtar, pax", "tar", "bsdtar --format pax -cf $out ."),
    ("bsdtar, gnutar", "tar", "bsdtar --format gnutar -cf $out ."),
    ("bsdtar, gzip", "tar.gz", "bsdtar -czf $out ."),
    ("bsdtar, zip", "zip", "bsdtar --format zip -cf $out *"),
    ("7z, tar", "tar", "7z a -bd -ttar $out . >/dev/null"),
    ("7z, zip", "zip", "7z a -bd -tzip $out . >/dev/null"),
    (
        "7z, zip stored",
        "zip",
        "7z a -bd -tzip -mx0 $out . >/dev/null",
    ),
    ("Info-ZIP", "zip", "zip -qr $out ."),
    ("Info-ZIP, stored", "zip", "zip -q0r $out ."),
    ("Info-ZIP, without extra fields", "zip", "zip -qXr $out ."),
    ("Info-ZIP, to a pipe", "zip", "zip -qr - . | cat > $out"),
    (
        "Info-ZIP, with a comment",
        "zip",
        "zip -qr $out . && echo comment | zip -qz $out",
    ),
    (
        "Python, tar gnu",
        "tar",
        "python3 -c 'import sys,tarfile; t=tarfile.open(sys.argv[1],\"w\",format=tarfile.GNU_FORMAT); t.add(\".\"); t.close()' $out",
    ),
    (
        "Python, tar pax",
        "tar",
        "python3 -c 'import sys,tarfile; t=tarfile.open(sys.argv[1],\"w\",format=tarfile.PAX_FORMAT); t.add(\".\"); t.close()' $out",
    ),
    (
        "Python, tar.gz",
        "tar.gz",
        "python3 -c 'import sys,tarfile; t=tarfile.open(sys.argv[1],\"w:gz\"); t.add(\".\"); t.close()' $out",
    ),
    (
        "Python, shutil zip",
        "zip",
        "python3 -c 'import sys,shutil; shutil.make_archive(sys.argv[1][:-4],\"zip\",\".\")' $out",
    ),
    (
        "git archive",
        "tar",
        "git init -q ../git && cp -r . ../git && cd ../git && git add -A && git -c user.email=a@b -c user.name=a commit -qm m && git archive --format=tar -o $out HEAD",
    ),
    (
        "git archive, zip",
        "zip",
        "cd ../git && git archive --format=zip -o $out HEAD",
    ),
];

/// Makes a typical folder: long names, an empty file, text, bytes that do not compress.
fn make_folder(folder: &Path) {
    let deep = folder
        .join("a-long-name-of-a-folder-".repeat(4))
        .join("another-one-".repeat(8));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("with a file.json"), "{\"a\":1}\n").unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("text.md"), "some text\n".repeat(500)).unwrap();
    let noise: Vec<u8> = (0..20_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(folder.join("noise.bin"), noise).unwrap();
}

/// Returns the archives of all installed tools, and what was packed.
pub fn cases() -> (Vec<Case>, Tree) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("folder");
    fs::create_dir(&folder).unwrap();
    make_folder(&folder);
    let mut cases = Vec::new();
    for (at, (name, ending, script)) in COMMANDS.into_iter().enumerate() {
        let out = place.path().join(format!("{at}.{ending}"));
        let script = script.replace("$out", out.to_str().unwrap());
        let done = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&folder)
            .output()
            .unwrap();
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            skip(&format!("{name}: its tool is missing or failed: {said}"));
            continue;
        }
        let bytes = fs::read(&out).unwrap();
        cases.push(Case {
            name: name.to_owned(),
            ending,
            bytes,
        });
    }
    (cases, read_tree(&folder))
}

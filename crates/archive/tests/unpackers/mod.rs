//! The common unpackers, and what they write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is at a path: the bytes of a file, or what else it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    File(Vec<u8>),
    Folder,
    Other(&'static str),
}

/// Everything below a folder, by name.
pub type Tree = BTreeMap<Vec<u8>, Node>;

/// An unpacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unpacker {
    Unzip,
    PythonZipfile,
    PythonTarfile,
    GnuTar,
    Bsdtar,
    BsdtarStream,
    SevenZip,
}

use Unpacker::{Bsdtar, BsdtarStream, GnuTar, PythonTarfile, PythonZipfile, SevenZip, Unzip};

pub const ALL: [Unpacker; 7] = [
    Unzip,
    PythonZipfile,
    PythonTarfile,
    GnuTar,
    Bsdtar,
    BsdtarStream,
    SevenZip,
];

impl Unpacker {
    pub fn program(self) -> &'static str {
        match self {
            Unzip => "unzip",
            PythonZipfile | PythonTarfile => "python3",
            GnuTar => "tar",
            Bsdtar | BsdtarStream => "bsdtar",
            SevenZip => "7z",
        }
    }

    pub fn reads(self, ending: &str) -> bool {
        match self {
            Unzip | PythonZipfile => ending == "zip",
            PythonTarfile => matches!(ending, "tar" | "tar.gz"),
            GnuTar => ending != "zip",
            Bsdtar | BsdtarStream | SevenZip => true,
        }
    }

    pub fn is_installed(self) -> bool {
        let found = Command::new(self.program())
            .arg(if self == Unzip { "-v" } else { "--help" })
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        found.is_ok()
    }

    /// Unpacks `archive` into the empty folder `target`; returns whether the program succeeded.
    pub fn unpack(self, archive: &Path, ending: &str, target: &Path) -> bool {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh"]).arg(archive).arg(target);
            command
        };
        let python = |script: &str| {
            let mut command = Command::new("python3");
            command.args(["-c", script]).arg(archive).arg(target);
            command
        };
        let mut command = match self {
            Unzip => shell("exec unzip -qq -o \"$1\" -d \"$2\""),
            PythonZipfile => {
                python("import sys, zipfile\nzipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])")
            }
            PythonTarfile => python(
                "import sys, tarfile\ntarfile.open(sys.argv[1]).extractall(sys.argv[2], filter='data')",
            ),
            GnuTar if ending == "tar.zst" => shell("exec tar --zstd -xf \"$1\" -C \"$2\""),
            GnuTar => shell("exec tar -xf \"$1\" -C \"$2\""),
            Bsdtar => shell("exec bsdtar -xf \"$1\" -C \"$2\""),
            BsdtarStream => shell("cat \"$1\" | bsdtar -xf - -C \"$2\""),
            SevenZip => match ending {
                "tar.gz" => shell("gzip -dc \"$1\" | 7z x -y -si -ttar -o\"$2\""),
                "tar.zst" => shell("zstd -dcq \"$1\" | 7z x -y -si -ttar -o\"$2\""),
                _ => shell("exec 7z x -y -o\"$2\" -- \"$1\""),
            },
        };
        let done = command
            .env("LC_ALL", "C.UTF-8")
            .env_remove("UNZIP")
            .env_remove("TAR_OPTIONS")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        done.status.success()
    }
}

/// Reads everything below a folder.
pub fn read_tree(folder: &Path) -> Tree {
    use std::os::unix::ffi::OsStrExt;
    let mut tree = Tree::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(folder)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            let node = if kind.is_dir() {
                waiting.push(path);
                Node::Folder
            } else if kind.is_file() {
                Node::File(fs::read(&path).unwrap())
            } else if kind.is_symlink() {
                Node::Other("link")
            } else {
                Node::Other("device")
            };
            tree.insert(name, node);
        }
    }
    tree
}

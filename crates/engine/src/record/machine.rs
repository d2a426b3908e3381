//! Compares the machine with that of the recording: every interpreter and library listed in
//! RUN_ENVIRONMENT.json, by its hash.

use std::fmt;
use std::io;

use runseal_core::canon::Node;
use runseal_core::digest::Digest;

use super::environment::digest_all;

/// A file of the machine that differs from the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineDifference {
    /// Its absolute path, the same on both machines.
    pub path: String,
    /// The package that it came from at the time, with its version.
    pub package: Option<String>,
    /// SHA-256 of its content when the run was sealed, in hex.
    pub sealed: String,
    /// Its digest here; nothing where it is not here or cannot be read.
    pub here: Option<String>,
    /// What the system said where it is here and cannot be read.
    pub unreadable: Option<String>,
    /// Whether it was executed.
    pub is_executed: bool,
}

impl fmt::Display for MachineDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.escape_debug();
        match &self.package {
            Some(package) => write!(f, "`{path}` of {package} ")?,
            None => write!(f, "`{path}` ")?,
        }
        match (&self.here, &self.unreadable) {
            (Some(here), _) => write!(
                f,
                "is another file here: expected sha256 {}, actual {here}",
                self.sealed
            ),
            (None, Some(error)) => write!(
                f,
                "cannot be read here ({error}): expected sha256 {}",
                self.sealed
            ),
            (None, None) => write!(f, "is not here: expected sha256 {}", self.sealed),
        }
    }
}

/// The result of comparing the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineCheck {
    /// How many files were compared.
    pub compared: usize,
    /// Files that differ or are missing here, in the order of the recording.
    pub differs: Vec<MachineDifference>,
    /// The program that the recorded command became in the end, after all that only led to it.
    pub became: Option<String>,
}

impl MachineCheck {
    /// The name of the interpreter that differs, or of what else does; `None` if everything is the
    /// same.
    pub fn other_name(&self) -> Option<String> {
        let name = |difference: &MachineDifference| {
            let name = difference.path.rsplit('/').next().unwrap_or_default();
            name.escape_debug().to_string()
        };
        let is_loader = |difference: &&MachineDifference| name(difference).starts_with("ld-");
        let executed = || {
            let differs = self.differs.iter();
            differs.filter(|it| it.is_executed && !is_loader(it))
        };
        let became = executed().find(|it| Some(&it.path) == self.became.as_ref());
        match (became.or(executed().next()), self.differs.as_slice()) {
            (Some(program), _) => Some(name(program)),
            (None, []) => None,
            (None, [one]) => Some(name(one)),
            (None, several) => Some(format!(
                "{} and {} more files",
                name(&several[0]),
                several.len() - 1
            )),
        }
    }
}

/// Compares every file of the machine that `environment` lists.
pub(crate) fn compare_machine(environment: Node<'_>) -> MachineCheck {
    let list = environment.get("files");
    let listed: Vec<MachineDifference> = list
        .iter()
        .flat_map(|list| list.items())
        .filter_map(parse)
        .collect();
    let paths: Vec<&str> = listed.iter().map(|file| file.path.as_str()).collect();
    let digests = digest_all(&paths);
    let compared = listed.len();
    let became = environment.get("became");
    let mut check = MachineCheck {
        compared,
        differs: Vec::new(),
        became: became.and_then(|path| Some(path.as_str()?.into_owned())),
    };
    for (mut file, digest) in listed.into_iter().zip(digests) {
        match digest {
            Ok((digest, _)) => file.here = Some(digest.to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => file.unreadable = Some(error.to_string()),
        }
        if file.here.as_ref() != Some(&file.sealed) {
            check.differs.push(file);
        }
    }
    check
}

fn parse(node: Node<'_>) -> Option<MachineDifference> {
    let text = |name: &str| Some(node.get(name)?.as_str()?.into_owned());
    let path = text("path").filter(|path| path.starts_with('/'))?;
    let sealed = text("sha256").filter(|hex| Digest::parse_hex(hex).is_ok())?;
    let package = match (text("package"), text("version")) {
        (Some(name), Some(version)) => Some(format!("{name} {version}")),
        _ => None,
    };
    Some(MachineDifference {
        path,
        package,
        sealed,
        here: None,
        unreadable: None,
        is_executed: node.get("executed").and_then(|it| it.as_bool()) == Some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::canon::{ReadOptions, parse_document};

    #[test]
    fn machine_that_differs_is_named_by_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let (python, library) = (
            folder.path().join("python3.11"),
            folder.path().join("libx.so"),
        );
        std::fs::write(&python, "other").unwrap();
        std::fs::write(&library, "same").unwrap();
        let text = format!(
            r#"{{"files":[{{"path":"{}","sha256":"{}","executed":true,"package":"python3.11","version":"3"}},
                {{"path":"{}","sha256":"{}","executed":false}},
                {{"path":"/nowhere/ld-linux.so","sha256":"{}","executed":true}}]}}"#,
            python.display(),
            Digest::of(b"recorded"),
            library.display(),
            Digest::of(b"same"),
            Digest::of(b"x"),
        );
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let check = compare_machine(document.root());
        assert_eq!((check.compared, check.differs.len()), (3, 2));
        assert_eq!(check.other_name().as_deref(), Some("python3.11"));
        assert!(
            check.differs[0]
                .to_string()
                .contains("of python3.11 3 is another file here")
        );
        assert!(check.differs[1].to_string().contains("is not here"));
        assert_eq!(MachineCheck::default().other_name(), None);
    }

    #[test]
    fn machine_that_differs_is_named_by_what_the_command_became() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(at("libexec")).unwrap();
        let file = |path: &str| {
            let sha256 = Digest::of(b"recorded");
            format!(r#"{{"path":"{path}","sha256":"{sha256}","executed":true}}"#)
        };
        let (shim, python) = (at("libexec"), at("python3.11"));
        let text = format!(
            r#"{{"became":"{python}","files":[{},{}]}}"#,
            file(&shim),
            file(&python)
        );
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        let check = compare_machine(document.root());
        assert_eq!(check.other_name().as_deref(), Some("python3.11"));
        // A folder is there, and cannot be read as a file.
        let shown = check.differs[0].to_string();
        assert!(shown.contains("cannot be read here"), "{shown}");
    }
}

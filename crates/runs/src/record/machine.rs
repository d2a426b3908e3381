//! Compares the machine with that of the recording: every interpreter and library listed in
//! RUN_ENVIRONMENT.json, by its hash.
//!
//! The list comes from whoever made the bundle, so it only names what to compare. A file is opened only
//! if the command would see it anyway, if it is a regular file, and if it has the recorded size.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::canon::Node;
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::recorded::MACHINE_LIST;
use runseal_sandbox::{CancelToken, Observation, ObservedFile, ObservedKind};

use super::environment::digest_all;
use super::outside::is_made_by_machine;
use super::replay_world::{find_system_file, is_shown_to_replays};

/// The most bytes that are hashed of the machine for one bundle.
const MOST_HASHED: u64 = 16 << 30;

/// A file of the machine that differs from the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineDifference {
    /// Its absolute path, the same on both machines.
    pub path: String,
    /// The package that it came from at the time, with its version.
    pub package: Option<String>,
    /// SHA-256 of its content when the run was sealed, in hex.
    pub sealed: String,
    /// Its size when the run was sealed, if the bundle says so.
    pub bytes: Option<u64>,
    /// What is here instead.
    pub here: Here,
    /// Whether it was executed.
    pub is_executed: bool,
}

/// What this machine has at the path of a recorded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Here {
    /// Nothing.
    Nothing,
    /// A file with this digest, in hex.
    File(String),
    /// A file of this size, which is another one than the recorded; it was not read.
    Size(u64),
    /// Something that cannot be read; says why.
    Unreadable(String),
}

impl fmt::Display for MachineDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.escape_debug();
        match &self.package {
            Some(package) => write!(f, "`{path}` of {package} ")?,
            None => write!(f, "`{path}` ")?,
        }
        let sealed = &self.sealed;
        match &self.here {
            Here::File(here) => write!(
                f,
                "is another file here: expected sha256 {sealed}, actual {here}"
            ),
            Here::Size(bytes) => write!(
                f,
                "is another file here: expected {} bytes, actual {bytes}",
                self.bytes.unwrap_or_default()
            ),
            Here::Unreadable(why) => {
                write!(f, "cannot be read here ({why}): expected sha256 {sealed}")
            }
            Here::Nothing => write!(f, "is not here: expected sha256 {sealed}"),
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
    /// Files that were not looked at, because a replay does not show them to the command; how many, and
    /// the first of them.
    pub not_looked_at: Option<(usize, String)>,
    /// The program that the recorded command became in the end, after all that only led to it.
    pub became: Option<String>,
    /// The paths that were compared.
    pub(crate) listed: BTreeSet<PathBuf>,
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

impl MachineCheck {
    /// Why this machine does not count as the recorded one, one line for each reason.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.differs.iter().map(ToString::to_string).collect();
        faults.extend(self.describe_not_looked_at());
        faults
    }

    /// What this machine would need for a replay and does not have, one line for each.
    pub(crate) fn missing(&self) -> Vec<String> {
        let is_missing = |it: &&MachineDifference| {
            it.here == Here::Nothing
                && it.package.is_some()
                && !is_made_by_machine(Path::new(&it.path))
        };
        let missing = self.differs.iter().filter(is_missing);
        missing.map(ToString::to_string).collect()
    }

    /// Which files of the machine were used now, as far as was seen, that the recording does not list.
    pub(crate) fn find_unlisted(
        &self,
        seen: &Observation,
        is_used: impl Fn(&Path) -> bool,
    ) -> Vec<String> {
        let files = seen.files.iter().filter(|file| is_original(file));
        let unlisted =
            files.filter(|file| is_used(&file.path) && !self.listed.contains(&file.path));
        let tell = |file: &ObservedFile| {
            let path = file.path.display().to_string();
            format!(
                "`{}` was used now, and the recording does not list it",
                path.escape_debug()
            )
        };
        unlisted.map(tell).collect()
    }

    /// Says which files were not looked at, if any.
    pub(crate) fn describe_not_looked_at(&self) -> Option<String> {
        let (count, first) = self.not_looked_at.as_ref()?;
        let first = first.escape_debug();
        Some(match count {
            1 => format!("`{first}` was not compared: a replay does not look at such places"),
            _ => format!(
                "{count} files were not compared, such as `{first}`: a replay does not look at such places"
            ),
        })
    }
}

/// Compares every file that `environment` lists, that is not in the bundle and that a replay shows of this machine.
///
/// # Errors
/// If `cancel` was used meanwhile.
pub(crate) fn compare_machine(
    environment: Node<'_>,
    cancel: Option<&CancelToken>,
) -> io::Result<MachineCheck> {
    let became = environment.get("became");
    let mut check = MachineCheck {
        became: became.and_then(|path| Some(path.as_str()?.into_owned())),
        ..MachineCheck::default()
    };
    let (listed, not_looked_at) = list_comparable(environment);
    check.listed = listed
        .iter()
        .map(|file| file.path.as_str().into())
        .collect();
    check.not_looked_at = not_looked_at;
    check.compared = listed.len();
    let mut left = MOST_HASHED;
    let mut plans = Vec::new();
    for file in listed {
        check_cancelled(cancel)?;
        plans.push((plan(&file, &mut left), file));
    }
    let to_hash = plans.iter().filter_map(|(plan, _)| match plan {
        Plan::Hash(real) => real.to_str(),
        Plan::Known(_) => None,
    });
    let to_hash: Vec<&str> = to_hash.collect();
    let mut digests = digest_all(&to_hash, &|| check_cancelled(cancel)).into_iter();
    for (plan, mut file) in plans {
        file.here = match plan {
            Plan::Known(here) => here,
            Plan::Hash(_) => match digests.next() {
                Some(Ok((digest, _))) => Here::File(digest.to_string()),
                Some(Err(error)) => Here::Unreadable(error.to_string()),
                None => Here::Unreadable("the hashing thread broke down".to_owned()),
            },
        };
        if !matches!(&file.here, Here::File(here) if *here == file.sealed) {
            check.differs.push(file);
        }
    }
    check_cancelled(cancel)?;
    Ok(check)
}

/// The listed files that a replay shows of this machine, each once and in order; and of the others their number
/// and the first one. Those whose content is in the bundle are neither.
pub(super) fn list_comparable(
    environment: Node<'_>,
) -> (Vec<MachineDifference>, Option<(usize, String)>) {
    let mut seen = BTreeSet::new();
    let mut shown = Vec::new();
    let mut others = None;
    let list = environment.get(MACHINE_LIST);
    let items = list.iter().flat_map(|list| list.items());
    let unsealed = items.filter(|node| node.get("stored").is_none());
    for file in unsealed.filter_map(parse) {
        if !is_shown_to_replays(Path::new(&file.path)) {
            let (count, _) = others.get_or_insert((0, file.path));
            *count += 1;
        } else if seen.insert(PathBuf::from(&file.path)) {
            shown.push(file);
        }
    }
    (shown, others)
}

/// Whether a run read or executed a file as it was before the run.
pub(crate) fn is_original(file: &ObservedFile) -> bool {
    let is_read = file.is_read || file.is_executed;
    is_read && file.needs_original && file.kind == ObservedKind::File
}

/// What is known of a file before it is read.
enum Plan {
    /// Enough.
    Known(Here),
    /// It has to be hashed; where it really is.
    Hash(PathBuf),
}

/// Looks at a listed file without reading it. `left` is how many bytes may still be hashed.
fn plan(file: &MachineDifference, left: &mut u64) -> Plan {
    let unreadable = |why: &str| Plan::Known(Here::Unreadable(why.to_owned()));
    let real = match find_system_file(Path::new(&file.path)) {
        Ok(Some(real)) if real.to_str().is_some() => real,
        Ok(_) => return unreadable("it is not one that a replay shows"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Plan::Known(Here::Nothing),
        Err(error) => return unreadable(&error.to_string()),
    };
    let metadata = match fs::symlink_metadata(&real) {
        Ok(metadata) => metadata,
        Err(error) => return unreadable(&error.to_string()),
    };
    if !metadata.is_file() {
        return unreadable("it is not a regular file");
    }
    let bytes = metadata.len();
    if file.bytes.is_some_and(|sealed| sealed != bytes) {
        return Plan::Known(Here::Size(bytes));
    }
    match left.checked_sub(bytes) {
        Some(rest) => {
            *left = rest;
            Plan::Hash(real)
        }
        None => unreadable("more than 16 GiB of the machine would have to be hashed"),
    }
}

fn check_cancelled(cancel: Option<&CancelToken>) -> io::Result<()> {
    match cancel.is_some_and(CancelToken::is_cancelled) {
        // Not `Interrupted`, which readers take as a reason to try again.
        true => Err(io::Error::other("cancelled")),
        false => Ok(()),
    }
}

fn parse(node: Node<'_>) -> Option<MachineDifference> {
    let text = |name: &str| Some(node.get(name)?.as_str()?.into_owned());
    let path = text("path").filter(|path| path.starts_with('/'))?;
    let sealed = text("sha256").filter(|hex| Digest::parse_hex(hex).is_ok())?;
    let package = match (text("package"), text("version")) {
        (Some(name), Some(version)) => Some(format!("{name} {version}")),
        _ => None,
    };
    let bytes = node
        .get("bytes")
        .and_then(|it| it.as_number()?.to_exact_i64());
    Some(MachineDifference {
        path,
        package,
        sealed,
        bytes: bytes.and_then(|bytes| u64::try_from(bytes).ok()),
        here: Here::Nothing,
        is_executed: node.get("executed").and_then(|it| it.as_bool()) == Some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::canon::{ReadOptions, parse_document};

    fn check(text: &str) -> MachineCheck {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        compare_machine(document.root(), None).unwrap()
    }

    fn listed(path: &str, digest: Digest, more: &str) -> String {
        format!(r#"{{"path":"{path}","sha256":"{digest}","executed":true{more}}}"#)
    }

    #[test]
    fn machine_that_differs_is_named_by_its_interpreter() {
        let shell = fs::read("/bin/sh").unwrap();
        let (size, digest) = (shell.len(), Digest::of(&shell));
        let files = [
            listed("/bin/sh", digest, ""),
            listed("/bin/sh", digest, ""),
            listed(
                "/bin/cat",
                Digest::of(b"recorded"),
                r#","package":"coreutils","version":"9""#,
            ),
            listed("/bin/ls", digest, &format!(r#","bytes":{}"#, size + 1)),
            listed("/usr/nowhere/ld-linux.so", Digest::of(b"x"), ""),
        ];
        let check = check(&format!(r#"{{"files":[{}]}}"#, files.join(",")));
        assert_eq!((check.compared, check.differs.len()), (4, 3));
        assert_eq!(check.other_name().as_deref(), Some("cat"));
        let shown: Vec<String> = check.faults();
        assert!(
            shown[0].contains("of coreutils 9 is another file here"),
            "{shown:?}"
        );
        assert!(shown[1].contains("bytes, actual"), "{shown:?}");
        assert!(shown[2].contains("is not here"), "{shown:?}");
        assert_eq!(MachineCheck::default().other_name(), None);
    }

    #[test]
    fn machine_that_differs_is_named_by_what_the_command_became() {
        let files = [
            listed("/usr/lib", Digest::of(b"recorded"), ""),
            listed("/bin/cat", Digest::of(b"recorded"), ""),
        ];
        let check = check(&format!(
            r#"{{"became":"/bin/cat","files":[{}]}}"#,
            files.join(",")
        ));
        assert_eq!(check.other_name().as_deref(), Some("cat"));
        // A folder is there, and cannot be read as a file.
        let shown = check.differs[0].to_string();
        assert!(shown.contains("cannot be read here"), "{shown}");
    }

    #[test]
    fn files_that_a_replay_does_not_show_are_not_looked_at() {
        let private = tempfile::tempdir().unwrap();
        let secret = private.path().join("secret");
        fs::write(&secret, "pin").unwrap();
        let climbing = format!("/usr/..{}", secret.display());
        let files: Vec<String> = [
            secret.to_str().unwrap(),
            &climbing,
            "/dev/zero",
            "/proc/self/mem",
        ]
        .map(|path| listed(path, Digest::of(b"guess"), ""))
        .to_vec();
        let check = check(&format!(r#"{{"files":[{}]}}"#, files.join(",")));
        assert_eq!((check.compared, check.differs.len()), (0, 0));
        let told = check.faults();
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("4 files were not compared"), "{told:?}");
        assert!(!told[0].contains(&Digest::of(b"pin").to_string()));
    }
}

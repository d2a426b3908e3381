//! What an engine executes: where its program is, the hash of its files, its limits, and which
//! versions may replace it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::Node;
use runseal_core::digest::{Digest, Hasher};
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, Source, SourceError};
use runseal_sandbox::{Limits, MOST_IN_MEMORY};
use runseal_survey::engine::parse_requirements;

use crate::programs::find_program;
use runseal_fs::directory::DirectorySource;
use runseal_fs::input::open_regular;
use runseal_fs::stream::{BUFFER, digest_through};

/// Where the engine's folder appears inside the sandbox; also its working directory.
pub const INSIDE_ENGINE: &str = "/engine";

/// The limits of any engine, unless its caller says otherwise; its manifest can only ask for less.
/// Artifacts stay within what the kernel can enforce.
pub fn policy() -> Limits {
    const GIB: u64 = 1 << 30;
    Limits {
        wall_time: Duration::from_secs(60),
        memory_bytes: 2 * GIB,
        processes: 256,
        file_bytes: MOST_IN_MEMORY,
        work_bytes: MOST_IN_MEMORY,
        work_files: 100_000,
        stdout_bytes: 64 << 20,
        stderr_bytes: 4 << 20,
        ..Limits::default()
    }
}

/// The limits of `execution.limits` within the policy's.
pub fn limits_within(policy: &Limits, manifest: Node<'_>) -> Limits {
    let asked = |name: &str| {
        let limits = manifest.get("execution")?.get("limits")?;
        let value = limits.get(name)?.as_number()?.to_exact_i64()?;
        u64::try_from(value).ok().filter(|value| *value > 0)
    };
    let less = |most: u64, name: &str| asked(name).map_or(most, |value| value.min(most));
    let less_usize =
        |most: usize, name: &str| usize::try_from(less(most as u64, name)).unwrap_or(most);
    let mut limits = policy.clone();
    let times = [
        asked("timeout_seconds").map(Duration::from_secs),
        asked("timeout_ms").map(Duration::from_millis),
    ];
    let shortest = times.into_iter().flatten().min();
    limits.wall_time = shortest.map_or(policy.wall_time, |time| time.min(policy.wall_time));
    limits.memory_bytes = less(policy.memory_bytes, "memory_bytes");
    limits.processes =
        u32::try_from(less(policy.processes.into(), "processes")).unwrap_or(policy.processes);
    limits.file_bytes = less(policy.file_bytes, "artifact_bytes");
    limits.work_bytes = less(policy.work_bytes, "artifact_bytes");
    // The artifacts folder itself counts as a file.
    limits.work_files = asked("artifact_files").map_or(policy.work_files, |files| {
        files.saturating_add(1).min(policy.work_files)
    });
    limits.stdout_bytes = less_usize(policy.stdout_bytes, "stdout_bytes");
    limits.stderr_bytes = less_usize(policy.stderr_bytes, "stderr_bytes");
    limits
}

/// The file of the engine's folder that an element of the command names, if any.
fn engine_file(source: &dyn Source, element: &str) -> Option<SafePath> {
    let relative = element.strip_prefix("./").unwrap_or(element);
    let path = SafePath::parse(relative).ok()?;
    match source.open(&path) {
        // A file in an archive may exist although its content was not kept.
        Ok(_) | Err(SourceError::TooLarge { .. }) => Some(path),
        Err(_) => None,
    }
}

/// The files of the engine's folder that the command names.
pub(crate) fn command_files(source: &dyn Source, command: &[String]) -> BTreeSet<SafePath> {
    command
        .iter()
        .filter_map(|element| engine_file(source, element))
        .collect()
}

/// The command as it is run inside the sandbox: a program of the engine's folder by its path there.
pub fn command_inside(source: &DirectorySource, command: &[String]) -> Vec<String> {
    let mut inside = command.to_vec();
    if let Some(program) = inside.first_mut()
        && let Some(path) = engine_file(source, program)
    {
        *program = format!("{INSIDE_ENGINE}/{path}");
    }
    inside
}

/// Why the program cannot be started, as far as can be determined here.
pub fn find_program_fault(
    source: &dyn Source,
    command: &[String],
) -> Result<Option<String>, SourceError> {
    let Some(program) = command.first() else {
        return Ok(None);
    };
    if program.starts_with('/') || engine_file(source, program).is_some() {
        return Ok(None);
    }
    if program.contains('/') {
        let shown = program.escape_debug();
        if leads_over_link(source, program) {
            return Ok(Some(format!(
                "`{shown}` is a symbolic link, or lies behind one, and an engine's own files are never \
                 reached over links; name the program itself (`python3`). Packages of a virtual \
                 environment go into the engine's folder (`pip install --target lib …`, with \
                 `sys.path` or PYTHONPATH in the program), or use `runseal record`, which takes the \
                 environment as it is"
            )));
        }
        return Ok(Some(format!(
            "there is no file `{shown}` in the engine's folder (does it have to be built first?)"
        )));
    }
    match find_program(program) {
        Some(_) => Ok(None),
        None => Ok(Some(format!(
            "`{}` is neither in the engine's folder nor on the sandbox's PATH; install it, or \
             name another program",
            program.escape_debug()
        ))),
    }
}

/// Whether a path of the engine's folder is a symbolic link, or goes over one.
fn leads_over_link(source: &dyn Source, element: &str) -> bool {
    let path = Path::new(element.strip_prefix("./").unwrap_or(element));
    let mut parts = path
        .ancestors()
        .filter_map(|part| SafePath::parse(part.to_str()?).ok());
    parts.any(|part| {
        let is_link = |kind: &EntryKind| *kind == EntryKind::Symlink;
        matches!(source.open(&part), Err(SourceError::NotAFile { kind, .. }) if is_link(&kind))
    })
}

/// Where the command's program is, where it is named bare and is not the engine's own.
pub fn find_bare_program(source: &DirectorySource, command: &[String]) -> Option<PathBuf> {
    let name = command.first().filter(|name| !name.contains('/'))?;
    match engine_file(source, name) {
        Some(_) => None,
        None => find_program(name),
    }
}

/// The program that a bare name resolved to on PATH.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Program<'a> {
    /// Its path; `None` if the name is not bare.
    pub place: Option<&'a Path>,
    /// Its digest, if already known.
    pub sha256: Option<Digest>,
}

impl<'a> From<Option<&'a Path>> for Program<'a> {
    fn from(place: Option<&'a Path>) -> Self {
        Self {
            place,
            sha256: None,
        }
    }
}

/// engine_executable_sha256: the hash over the sorted lines `<sha256>  <path>` LF, for every
/// element of the command that is a file in the engine's folder, and for the program that a bare
/// name resolved to on PATH.
pub fn compute_executable(
    source: &DirectorySource,
    command: &[String],
    program: &Program<'_>,
) -> Result<Digest, SourceError> {
    let mut lines = BTreeSet::new();
    let mut buffer = vec![0; BUFFER];
    let mut digest_of = |reader: &mut dyn io::Read, path: &str| {
        let digest = digest_through(reader, 0, &mut buffer, |_| Ok(()));
        let digest = digest.map_err(|source| SourceError::Io {
            path: path.to_owned(),
            source,
        })?;
        Ok::<Digest, SourceError>(digest.0)
    };
    for (at, element) in command.iter().enumerate() {
        if at == 0
            && !element.contains('/')
            && let Some(place) = program.place
        {
            // A file of the same name in the folder is not what ran.
            let digest = match program.sha256 {
                Some(digest) => digest,
                None => digest_of(&mut open_regular(place)?.0, element)?,
            };
            lines.insert(format!("{digest}  {element}\n"));
        } else if let Some(path) = engine_file(source, element) {
            let digest = digest_of(&mut *source.open(&path)?, path.as_str())?;
            lines.insert(format!("{digest}  {path}\n"));
        }
    }
    let mut hasher = Hasher::new();
    lines.iter().for_each(|line| hasher.update(line.as_bytes()));
    Ok(hasher.finish())
}

/// Whether a sealed manifest permits `version` to stand in for the version it was sealed with.
pub fn permits_version(manifest: Node<'_>, version: &str) -> bool {
    let Ok(version) = semver::Version::parse(version) else {
        return false;
    };
    let requirements = parse_requirements(manifest).unwrap_or_default();
    requirements
        .iter()
        .any(|requirement| requirement.matches(&version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::canon::{ReadOptions, parse_document};
    use runseal_fs::directory::RootLink;

    fn with<T>(text: &str, look: impl FnOnce(Node<'_>) -> T) -> T {
        look(
            parse_document(text.as_bytes(), &ReadOptions::default())
                .unwrap()
                .root(),
        )
    }

    #[test]
    fn limits_of_the_manifest_only_tighten() {
        let manifest = r#"{"execution":{"limits":{"timeout_seconds":5,"memory_bytes":1e15,
            "processes":3,"artifact_files":2,"stdout_bytes":100,"artifact_bytes":7}}}"#;
        let limits = with(manifest, |manifest| limits_within(&policy(), manifest));
        assert_eq!(limits.wall_time, Duration::from_secs(5));
        assert_eq!(limits.memory_bytes, policy().memory_bytes);
        assert_eq!((limits.processes, limits.work_files), (3, 3));
        assert_eq!(
            (limits.stdout_bytes, limits.work_bytes, limits.file_bytes),
            (100, 7, 7)
        );
        assert_eq!(
            with("{}", |manifest| limits_within(&policy(), manifest)),
            policy()
        );
    }

    #[test]
    fn replay_versions_follow_cargos_syntax() {
        let manifest = r#"{"compatibility":{"replay_versions":["^1.2","=3.0.0"]}}"#;
        for (version, permitted) in [
            ("1.2.0", true),
            ("1.9.9", true),
            ("1.1.0", false),
            ("3.0.0", true),
            ("3.0.1", false),
            ("one", false),
        ] {
            assert_eq!(
                with(manifest, |m| permits_version(m, version)),
                permitted,
                "{version}"
            );
        }
        assert!(!with("{}", |m| permits_version(m, "1.2.0")));
        for bad in [r#"["one"]"#, r#"[5]"#, r#"[""]"#, r#""^1""#] {
            let manifest = format!(r#"{{"compatibility":{{"replay_versions":{bad}}}}}"#);
            assert!(with(&manifest, |m| parse_requirements(m).is_err()), "{bad}");
        }
    }

    #[test]
    fn executable_hash_is_over_the_commands_files_and_the_program() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("engine.sh"), "echo\n").unwrap();
        std::fs::create_dir(folder.path().join("lib")).unwrap();
        std::fs::write(folder.path().join("lib/a.awk"), "{}").unwrap();
        std::fs::write(folder.path().join("unused"), "x").unwrap();
        let source = DirectorySource::open(folder.path(), RootLink::Follow).unwrap();
        let command = [
            "sh",
            "./engine.sh",
            "lib/a.awk",
            "lib",
            "--flag",
            "lib/a.awk",
        ]
        .map(str::to_owned);
        let shell = Digest::of(&std::fs::read(find_program("sh").unwrap()).unwrap());
        let mut lines = [
            format!("{shell}  sh\n"),
            format!("{}  engine.sh\n", Digest::of(b"echo\n")),
            format!("{}  lib/a.awk\n", Digest::of(b"{}")),
        ];
        lines.sort();
        let expected = Digest::of(lines.concat().as_bytes());
        let program = find_bare_program(&source, &command);
        let found = compute_executable(&source, &command, &program.as_deref().into());
        assert_eq!(found.unwrap(), expected);
        assert_eq!(command_inside(&source, &command), command);
        let own = ["engine.sh".to_owned()];
        assert_eq!(command_inside(&source, &own), ["/engine/engine.sh"]);
        let own = ["./lib/a.awk".to_owned()];
        assert_eq!(command_inside(&source, &own), ["/engine/lib/a.awk"]);
    }

    #[test]
    fn program_that_is_nowhere_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let source = DirectorySource::open(folder.path(), RootLink::Follow).unwrap();
        for (program, found) in [
            ("sh", true),
            ("bin/none", false),
            ("../x", false),
            ("no-such-program", false),
        ] {
            let fault = find_program_fault(&source, &[program.to_owned()]).unwrap();
            assert_eq!(fault.is_none(), found, "{program}");
            assert!(fault.is_none_or(|fault| fault.contains(program)));
        }
        std::fs::create_dir_all(folder.path().join("venv/bin")).unwrap();
        let python = folder.path().join("venv/bin/python");
        std::os::unix::fs::symlink("/usr/bin/python3", python).unwrap();
        std::os::unix::fs::symlink("venv", folder.path().join("env")).unwrap();
        for program in ["venv/bin/python", "./venv/bin/python", "env/bin/python"] {
            let fault = find_program_fault(&source, &[program.to_owned()]).unwrap();
            let fault = fault.unwrap();
            assert!(fault.contains("is a symbolic link"), "{fault}");
            assert!(fault.contains("pip install --target"), "{fault}");
        }
    }
}

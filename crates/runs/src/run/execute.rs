//! Runs an engine once in the sandbox: the input on standard input, the output on standard output,
//! artifacts into a folder. Judges how it ended and what it left, not its output.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::formats::run_bundle::layout::{ARTIFACTS_FOLDER, MANIFEST};
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_core::verify::one_line;
use runseal_sandbox::{
    CancelToken, Ending, INSIDE_WORK, Limits, Mount, Observation, Observe, OnFile, Recorded,
    Sandbox, SandboxError, Spec,
};

use super::command::{INSIDE_ENGINE, command_inside, limits_within};
use super::contracts::Engine;
use super::shown::ShownFolder;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::private::PrivateFolder;

/// Where the engine finds artifacts of other engines.
const INSIDE_UPSTREAM: &str = "/upstream";
/// Where the engine finds its parameters, if they were given separately.
const INSIDE_PARAMETERS: &str = "/parameters/RUN_PARAMETERS.json";
/// Lines of an engine's standard error that are passed on, and characters of each.
const SHOWN_LINES: usize = 20;
const SHOWN_CHARACTERS: usize = 2000;

/// What an engine is given.
#[derive(Debug, Clone)]
pub struct EngineInputs<'a> {
    /// RUN_INPUT.json as it is sealed.
    pub input: &'a [u8],
    /// The folder of artifacts from other engines.
    pub upstream: Option<&'a Path>,
    /// RUN_PARAMETERS.json.
    pub parameters: Option<&'a Path>,
    /// Stops the engine when cancelled.
    pub cancel: Option<&'a CancelToken>,
    /// Is notified of the files that it reads.
    pub on_file: Option<OnFile>,
}

/// Why an engine's run does not count.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// It failed; says how.
    #[error("{0}")]
    Ended(String),
    /// It left something that cannot be an artifact.
    #[error("`{path}` {reason}")]
    Left {
        /// Its path, relative to the parent of the artifacts folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It was not run, or it is unknown how it ended.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The work folder could not be made or inspected.
    #[error("the work folder could not be used")]
    Work(#[source] io::Error),
    /// What it left could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
}

/// The result of a run.
#[derive(Debug)]
pub struct EngineRun {
    /// Standard output, captured whole.
    pub stdout: Vec<u8>,
    /// The paths of its artifacts, below the artifacts folder.
    pub artifacts: Vec<SafePath>,
    /// What it was observed to do.
    pub observation: Option<Observation>,
    /// The whole environment that the engine was given.
    pub environment: BTreeMap<String, String>,
    /// Where its program was started from.
    pub program: Option<PathBuf>,
    /// What of the host it was shown besides the system.
    pub(crate) shown: Vec<PathBuf>,
    /// Whether it saw the engine's folder itself rather than a copy.
    pub saw_folder: bool,
    work: WorkFolder,
}

impl EngineRun {
    /// Opens the artifacts folder, which exists until this value is dropped.
    pub fn source(&self) -> Result<DirectorySource, SourceError> {
        DirectorySource::open(&self.work.artifacts(), RootLink::Refuse)
    }
}

/// The engine's only writable folder; deleted with everything that the engine made of it.
#[derive(Debug)]
struct WorkFolder(PrivateFolder);

impl WorkFolder {
    fn make() -> io::Result<Self> {
        let folder = PrivateFolder::create("work")?;
        let work = Self(folder);
        fs::create_dir(work.artifacts())?;
        Ok(work)
    }

    fn artifacts(&self) -> PathBuf {
        self.0.path().join(ARTIFACTS_FOLDER)
    }
}

/// Runs `engine` once.
pub fn execute(
    sandbox: &Sandbox,
    engine: &Engine,
    given: EngineInputs<'_>,
    policy: &Limits,
) -> Result<EngineRun, ExecuteError> {
    let work = WorkFolder::make().map_err(ExecuteError::Work)?;
    let root = fs::canonicalize(work.0.path()).map_err(ExecuteError::Work)?;
    let mut spec = Spec::new(command_inside(engine.source(), engine.command()), root);
    spec.current_dir = INSIDE_ENGINE.into();
    spec.stdin = given.input.to_vec().into();
    let shown = ShownFolder::new(engine.folder()).map_err(ExecuteError::Work)?;
    spec.mounts.push(Mount {
        host: shown.path(),
        inside: INSIDE_ENGINE.into(),
    });
    let artifacts = format!("{INSIDE_WORK}/{ARTIFACTS_FOLDER}");
    // Without this, Python's hashes would differ from run to run.
    spec.env = [
        ("RUNSEAL_ARTIFACTS", artifacts.as_str()),
        ("PYTHONHASHSEED", "0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    // Without namespaces there are no inside paths.
    spec.path_variables = [
        "RUNSEAL_ARTIFACTS",
        "RUNSEAL_UPSTREAM",
        "RUNSEAL_PARAMETERS",
    ]
    .map(str::to_owned)
    .into();
    let mut give = |name: &str, host: Option<&Path>, inside: &str| {
        if let Some(host) = host {
            let host = fs::canonicalize(host).map_err(ExecuteError::Work)?;
            spec.mounts.push(Mount {
                host,
                inside: inside.into(),
            });
            spec.env.insert(name.to_owned(), inside.to_owned());
        }
        Ok::<(), ExecuteError>(())
    };
    give("RUNSEAL_UPSTREAM", given.upstream, INSIDE_UPSTREAM)?;
    give("RUNSEAL_PARAMETERS", given.parameters, INSIDE_PARAMETERS)?;
    if let Some(manifest) = engine.document(MANIFEST) {
        spec.limits = limits_within(policy, manifest.root());
    }
    spec.observe = Some(Observe::default());
    spec.cancel = given.cancel.cloned();
    spec.on_file = given.on_file;
    let Recorded {
        outcome,
        observation,
        program,
        ..
    } = sandbox.record(&spec)?;
    if let Some(how) = describe_failure(outcome.ending, &spec.limits) {
        let said = shown_tail(&outcome.stderr.bytes);
        let said = match said.lines().count() {
            0 => said,
            1 => format!("; it said: {said}"),
            _ => format!("; it said:\n{said}"),
        };
        return Err(ExecuteError::Ended(format!("the engine {how}{said}")));
    }
    let artifacts = list_artifacts(&work)?;
    Ok(EngineRun {
        stdout: outcome.stdout.bytes,
        artifacts,
        observation,
        environment: spec.environment(),
        program,
        shown: spec.mounts.into_iter().map(|mount| mount.host).collect(),
        saw_folder: matches!(shown, ShownFolder::Itself(_)),
        work,
    })
}

fn describe_failure(ending: Ending, limits: &Limits) -> Option<String> {
    match ending {
        Ending::Exited(0) => None,
        Ending::Exited(code) => Some(format!("ended with exit status {code}")),
        Ending::Signaled(25) => Some(format!(
            "wrote a file of more than {} bytes",
            limits.file_bytes
        )),
        Ending::Signaled(signal) => Some(format!("was ended by signal {signal}")),
        Ending::Stopped(limit) => Some(limits.describe(limit)),
    }
}

/// The last lines of what an engine said, as they are but for control characters.
fn shown_tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    let mut shown: Vec<String> = Vec::new();
    if skipped > 0 {
        shown.push(format!("… {skipped} lines before"));
    }
    let start = |line: &&str| -> String { line.chars().take(SHOWN_CHARACTERS).collect() };
    shown.extend(
        lines
            .iter()
            .skip(skipped)
            .map(|line| one_line(&start(line))),
    );
    shown.join("\n")
}

/// The files in the artifacts folder; fails with the name of anything else that the engine left.
fn list_artifacts(work: &WorkFolder) -> Result<Vec<SafePath>, ExecuteError> {
    let source = DirectorySource::open(work.0.path(), RootLink::Refuse)?;
    let mut artifacts = Vec::new();
    let below = format!("{ARTIFACTS_FOLDER}/");
    for entry in source.entries()? {
        let shown = entry.name.shown();
        let left = |path: &str, reason: String| ExecuteError::Left {
            path: path.to_owned(),
            reason,
        };
        let Some(inner) = shown.strip_prefix(&below) else {
            if shown == ARTIFACTS_FOLDER && entry.kind == EntryKind::Directory {
                continue;
            }
            let path = format!("{ARTIFACTS_FOLDER}/../{shown}");
            return Err(left(&path, "is outside the artifacts folder".to_owned()));
        };
        if let EntryName::Unsafe(name) = &entry.name {
            return Err(left(
                shown,
                format!("has an unsafe name: {}", name.reason()),
            ));
        }
        match entry.kind {
            EntryKind::Directory => {}
            EntryKind::File => match SafePath::parse(inner) {
                Ok(path) => artifacts.push(path),
                Err(reason) => return Err(left(shown, format!("has an unsafe name: {reason}"))),
            },
            kind => {
                return Err(left(
                    shown,
                    format!("is {}, not a file", kind.with_article()),
                ));
            }
        }
    }
    Ok(artifacts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_what_an_engine_said_keeps_its_lines() {
        assert_eq!(shown_tail(b" \n"), "");
        assert_eq!(shown_tail(b"no\n"), "no");
        let error = b"Traceback:\n  File \"x\", line 1\n\x1b[31mbad\n";
        let shown = "Traceback:\n  File \"x\", line 1\n\\u{1b}[31mbad";
        assert_eq!(shown_tail(error), shown);
        let many: String = (1..=25).map(|number| format!("{number}\n")).collect();
        let shown = shown_tail(many.as_bytes());
        assert!(shown.starts_with("… 5 lines before\n6\n"), "{shown}");
        assert!(shown.ends_with("\n25"), "{shown}");
    }
}

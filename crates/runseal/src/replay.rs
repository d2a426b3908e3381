//! Replaying a run bundle.

use std::fmt;
use std::path::{Path, PathBuf};

use runseal_core::formats::redacted::documents::REDACTED;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_runs::record::bundle::{JudgedBundle, Replayed, replay_bundle};
use runseal_runs::record::replay::RecordedOptions;
use runseal_runs::record::run::{self as recorded, Watching};
use runseal_runs::record::unpack::{copy_privately, unpack_bundle};
use runseal_runs::run::command;
use runseal_runs::run::replay::{Replay as Judged, Verdict};
use runseal_runs::run::replay_render::{render_human, render_json};
use runseal_sandbox::{Isolation, Sandbox};

use crate::{Error, json_text};

/// How to replay.
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    times: u32,
    is_same_environment_demanded: bool,
    engine: Option<PathBuf>,
    inputs: Vec<PathBuf>,
    isolation: Isolation,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            times: 1,
            is_same_environment_demanded: false,
            engine: None,
            inputs: Vec::new(),
            isolation: Isolation::Full,
        }
    }
}

impl ReplayOptions {
    /// Once, from the bundle alone, in the full sandbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs it several times, which shows what is left to chance.
    pub fn times(mut self, times: u32) -> Self {
        self.times = times.max(1);
        self
    }

    /// Refuses where an interpreter or library is not the one of the run.
    pub fn same_environment(mut self) -> Self {
        self.is_same_environment_demanded = true;
        self
    }

    /// The engine's folder, for a bundle that does not hold it.
    pub fn engine(mut self, folder: impl Into<PathBuf>) -> Self {
        self.engine = Some(folder.into());
        self
    }

    /// A file that the bundle names and does not hold, or a folder of such files.
    pub fn input(mut self, path: impl Into<PathBuf>) -> Self {
        self.inputs.push(path.into());
        self
    }

    /// The level of the sandbox: `namespaces`, `landlock` or `none`. It is never lowered by itself.
    ///
    /// # Errors
    /// When there is no such level.
    pub fn sandbox(mut self, level: &str) -> Result<Self, Error> {
        self.isolation = Isolation::from_name(level).ok_or_else(|| {
            let shown = level.escape_debug();
            Error::new(
                "SANDBOX",
                format!("`{shown}` is not namespaces, landlock or none"),
            )
        })?;
        Ok(self)
    }
}

/// What a replay gave. Shown with `{}` it reads as on a terminal.
#[derive(Debug)]
pub struct Replay {
    judged: Box<Judged>,
    shown: String,
}

impl Replay {
    /// How it ended.
    pub fn verdict(&self) -> Verdict {
        self.judged.verdict()
    }

    /// Whether every run gave what was sealed.
    pub fn is_reproduced(&self) -> bool {
        self.verdict() == Verdict::Reproduced
    }

    /// What `runseal replay --format json` prints, without the line's end.
    ///
    /// # Errors
    /// When a text of it has no canonical form.
    pub fn to_json(&self) -> Result<String, Error> {
        json_text(&render_json(&self.judged))
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render_human(&self.judged, &self.shown))
    }
}

/// Runs the run bundle at `path`, a folder or an archive, again in the sandbox and compares.
///
/// # Errors
/// When it cannot be read, is no run bundle, or cannot be run here. A run that asked models
/// (`runseal record --proxy`) is one of those, with the code `MODELS`: answering for them takes
/// sockets, which this library does not open.
pub fn replay(path: impl AsRef<Path>, options: &ReplayOptions) -> Result<Replay, Error> {
    let path = path.as_ref();
    let unpacked = match path.is_dir() {
        true if path.join(REDACTED).is_file() => Some(copy_privately(path)?),
        true => None,
        false => unpack_bundle(path)?,
    };
    let folder = unpacked.as_ref().map_or(path, |unpacked| unpacked.folder());
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let recorded = RecordedOptions {
        // This library opens no sockets; whoever asked models needs somebody to answer.
        models: None,
        is_fork: false,
        times: options.times,
        same_environment: options.is_same_environment_demanded,
        given: &options.inputs,
        folder: None,
        search: std::env::var_os("PATH"),
        limits: recorded::policy(),
        secrets: Default::default(),
        watching: Watching::default(),
    };
    let replayed = replay_bundle(
        JudgedBundle::judge(&source)?,
        options.engine.as_deref(),
        &recorded,
        &command::policy(),
        || Ok(Sandbox::at(options.isolation)?),
    )?;
    match replayed {
        Replayed::Judged(judged) => Ok(Replay {
            judged,
            shown: path.display().to_string(),
        }),
        Replayed::BadEngine(_) => Err(Error::new("ENGINE", "the engine's contracts do not hold")),
        Replayed::OtherCopy => Err(Error::new(
            "UNKNOWN_FORMAT",
            "of redacted copies, those of run bundles are replayed",
        )),
        Replayed::NeedsEngine => Err(Error::new(
            "ENGINE",
            "the bundle does not hold its engine; ReplayOptions::engine names its folder",
        )),
    }
}

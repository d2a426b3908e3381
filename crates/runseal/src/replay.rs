//! Replays a run bundle.

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
    /// Replays once, from the bundle alone, in the full sandbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs it several times, which shows what varies.
    pub fn times(mut self, times: u32) -> Self {
        self.times = times.max(1);
        self
    }

    /// Refuses to run if an interpreter or library is not the one of the run.
    pub fn same_environment(mut self) -> Self {
        self.is_same_environment_demanded = true;
        self
    }

    /// Names the engine's folder, for a bundle that does not contain it.
    pub fn engine(mut self, folder: impl Into<PathBuf>) -> Self {
        self.engine = Some(folder.into());
        self
    }

    /// Adds a file that the bundle names but does not contain, or a folder of such files.
    pub fn input(mut self, path: impl Into<PathBuf>) -> Self {
        self.inputs.push(path.into());
        self
    }

    /// Sets the level of the sandbox: `namespaces`, `landlock` or `none`. It is never lowered
    /// automatically.
    ///
    /// # Errors
    /// If there is no such level.
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

/// The result of a replay. Shown with `{}`, it reads as on a terminal.
#[derive(Debug)]
pub struct Replay {
    judged: Box<Judged>,
    shown: String,
}

impl Replay {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.judged.verdict()
    }

    /// Whether every run reproduced what was sealed.
    pub fn is_reproduced(&self) -> bool {
        self.verdict() == Verdict::Reproduced
    }

    /// What `runseal replay --format json` prints, without the line's end.
    ///
    /// # Errors
    /// If a text in it has no canonical form.
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
/// If it cannot be read, is not a run bundle, or cannot be run here. A run that asked models
/// (`runseal record --proxy`) cannot, with the code `MODELS`: answering for them takes sockets, which
/// this library does not open.
pub fn replay(path: impl AsRef<Path>, options: &ReplayOptions) -> Result<Replay, Error> {
    let path = path.as_ref();
    let unpacked = if !path.is_dir() {
        unpack_bundle(path)?
    } else if path.join(REDACTED).is_file() {
        Some(copy_privately(path)?)
    } else {
        None
    };
    let folder = unpacked.as_ref().map_or(path, |unpacked| unpacked.folder());
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let recorded = RecordedOptions {
        // This library opens no sockets, so it cannot answer for models.
        models: None,
        is_fork: false,
        times: options.times,
        same_environment: options.is_same_environment_demanded,
        given: &options.inputs,
        folder: None,
        search: std::env::var_os("PATH"),
        limits: recorded::replay_policy(),
        secrets: Default::default(),
        compare: Default::default(),
        new_files: None,
        devices: &[],
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
        Replayed::BadEngine(_) => Err(Error::new("ENGINE", "the engine's contracts are not valid")),
        Replayed::OtherCopy => Err(Error::new(
            "UNKNOWN_FORMAT",
            "of redacted copies, only those of run bundles can be replayed",
        )),
        Replayed::NeedsEngine => Err(Error::new(
            "ENGINE",
            "the bundle does not contain its engine; ReplayOptions::engine names its folder",
        )),
    }
}

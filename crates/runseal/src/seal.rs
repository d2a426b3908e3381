//! Seals an engine's output that was made elsewhere.

use std::path::{Path, PathBuf};

use runseal_core::formats::run_bundle::layout::RunId;
use runseal_fs::clock;
use runseal_redact::{SealingSeed, new_seed};
use runseal_runs::run::contracts::{Program, check_engine};
use runseal_runs::run::seal::{Request, SealError, Sealed, parse_value, seal_output};

use crate::Error;

/// How to seal a run.
#[derive(Debug, Clone, Default)]
pub struct SealOptions {
    pub(crate) run_id: Option<String>,
    pub(crate) artifacts: Option<PathBuf>,
    pub(crate) upstream: Vec<PathBuf>,
    pub(crate) is_redactable: bool,
}

impl SealOptions {
    /// Seals with an id made of the time and the input's hash, without artifacts, not redactable.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the run's id, which is also the name of its folder.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// Names a folder of artifacts that belong to the output.
    pub fn artifacts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.artifacts = Some(folder.into());
        self
    }

    /// Adds a run bundle of another engine whose artifacts this run takes.
    pub fn upstream(mut self, bundle: impl Into<PathBuf>) -> Self {
        self.upstream.push(bundle.into());
        self
    }

    /// Commits to every value with salts, so that parts can be withheld later. The seed is kept
    /// next to the bundle.
    pub fn redactable(mut self) -> Self {
        self.is_redactable = true;
        self
    }

    pub(crate) fn parse_run_id(&self) -> Result<Option<RunId>, Error> {
        let parse =
            |id: &String| RunId::parse(id).map_err(|error| Error::new("RUN_ID", error.to_string()));
        self.run_id.as_ref().map(parse).transpose()
    }

    pub(crate) fn make_seed(&self) -> Result<Option<SealingSeed>, Error> {
        if !self.is_redactable {
            return Ok(None);
        }
        let seed = new_seed().map_err(|error| Error::new("SEED", error.to_string()))?;
        Ok(Some(SealingSeed { seed, is_new: true }))
    }
}

/// A run that was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRun(pub(crate) Sealed);

impl SealedRun {
    /// The run's id.
    pub fn run_id(&self) -> &str {
        self.0.run_id.as_str()
    }

    /// Where the bundle is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The hash of the output.
    pub fn outputs_hash(&self) -> &str {
        &self.0.outputs_hash
    }

    /// Where the seed of a redactable bundle is kept.
    pub fn seed(&self) -> Option<&Path> {
        self.0.seed.as_deref()
    }
}

/// Seals the output of the engine in the folder `engine` for `input` as a run bundle below `out`.
/// Everything is checked, nothing is executed.
///
/// # Errors
/// If something is not valid (the error has the findings) or cannot be written; then nothing is
/// left.
pub fn seal(
    engine: impl AsRef<Path>,
    input: &[u8],
    output: &[u8],
    out: impl AsRef<Path>,
    options: &SealOptions,
) -> Result<SealedRun, Error> {
    let (report, engine) = check_engine(engine.as_ref(), Program::NotAsked)?;
    let Some(engine) = engine else {
        return Err(SealError::Rejected(report.findings().to_vec()).into());
    };
    let request = Request {
        engine: &engine,
        input: parse_value(input)?,
        parameters: None,
        upstream: &options.upstream,
        out: out.as_ref(),
        run_id: options.parse_run_id()?,
        now: clock::now()?,
        redactable: options.make_seed()?,
        cancel: None,
    };
    let sealed = seal_output(request, output, options.artifacts.as_deref())?;
    Ok(SealedRun(sealed))
}

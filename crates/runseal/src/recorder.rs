//! Describes a run from within.

use std::path::{Path, PathBuf};

use runseal_core::canon::Value;
use runseal_core::formats::run_bundle::outputs::find_changed_integers;
use runseal_fs::clock;
use runseal_runs::run::declared::{DeclaredRun, SealDeclared};
use runseal_runs::run::seal::parse_value;

use crate::Error;
use crate::seal::{SealOptions, SealedRun};

/// A run that this program describes while it runs. [`Recorder::seal`] makes a run bundle of it;
/// dropped before that, it leaves nothing.
///
/// Files are copied when they are named.
#[derive(Debug)]
pub struct Recorder {
    run: DeclaredRun,
    folder: PathBuf,
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// A boolean.
    Bool(bool),
    /// An integer between -2^53 and 2^53.
    Integer(i64),
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// The text of any JSON value.
    Json(String),
}

impl Parameter {
    fn into_value(self) -> Result<Value, Error> {
        match self {
            Self::Bool(value) => Ok(value.into()),
            Self::Integer(value) => Ok(value.into()),
            Self::Number(value) => number(value),
            Self::Text(value) => Ok(value.into()),
            Self::Json(text) => parse_value(text.as_bytes()).map_err(Error::from),
        }
    }
}

impl From<bool> for Parameter {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Parameter {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Parameter {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for Parameter {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Parameter {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Parameter {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

fn number(value: f64) -> Result<Value, Error> {
    if !value.is_finite() {
        return Err(Error::new("NUMBER", format!("JSON has no {value}")));
    }
    parse_value(format!("{value:?}").as_bytes()).map_err(Error::from)
}

impl Recorder {
    /// Begins a run of this version of the program. `name` becomes its engine code.
    ///
    /// # Errors
    /// If the name is not allowed, or there is no room for a private folder.
    pub fn begin(name: &str, version: &str) -> Result<Self, Error> {
        let command: Vec<String> = std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect();
        Self::begin_as(name, version, &command)
    }

    /// As [`Recorder::begin`], for a program that was started by `command`.
    ///
    /// # Errors
    /// As [`Recorder::begin`].
    pub fn begin_as(name: &str, version: &str, command: &[String]) -> Result<Self, Error> {
        let folder = std::env::current_dir()
            .map_err(|error| Error::new("IO", format!("the current folder: {error}")))?;
        Ok(Self {
            run: DeclaredRun::begin(name, version, command)?,
            folder,
        })
    }

    /// Sets a parameter of the program; a later value replaces an earlier one.
    ///
    /// # Errors
    /// If JSON has no such value.
    pub fn param(&mut self, name: &str, value: impl Into<Parameter>) -> Result<(), Error> {
        let value = value.into().into_value()?;
        if let Some(pointer) = find_changed_integers(&value).first() {
            let message = format!(
                "`{name}{pointer}` is an integer that canonical JSON cannot represent: write it as a string"
            );
            return Err(Error::new("NUMBER", message));
        }
        self.run.set_parameter(name, value);
        Ok(())
    }

    /// Checks, as far as possible now, that the run can be sealed below the folder `out` with these
    /// options: better
    /// to fail before the work than after it.
    ///
    /// # Errors
    /// If the id is invalid or taken, or the folder cannot be written.
    pub fn check_target(&self, out: impl AsRef<Path>, options: &SealOptions) -> Result<(), Error> {
        let run_id = options.parse_run_id()?;
        Ok(self.run.check_target(out.as_ref(), run_id.as_ref())?)
    }

    /// Adds a value that the program measured; with a step, every value is kept.
    ///
    /// # Errors
    /// If the value is not finite.
    pub fn metric(&mut self, name: &str, value: f64, step: Option<i64>) -> Result<(), Error> {
        self.run.add_metric(name, number(value)?, step);
        Ok(())
    }

    /// Adds a file that the program reads, its code or data. In the bundle it has its path below the
    /// folder in which the run began, or its last name if it is elsewhere.
    ///
    /// # Errors
    /// If it cannot be read, or one with that name was given before.
    pub fn input(&mut self, file: impl AsRef<Path>) -> Result<(), Error> {
        let name = self.name_of(file.as_ref())?;
        Ok(self.run.add_input(file.as_ref(), &name)?)
    }

    /// Adds a file that the program made, at its path below the folder in which the run began, or under
    /// its last name.
    ///
    /// # Errors
    /// If it cannot be read, or one with that name was given before.
    pub fn artifact(&mut self, file: impl AsRef<Path>) -> Result<(), Error> {
        let name = self.name_of(file.as_ref())?;
        self.artifact_as(file, &name)
    }

    /// Adds a file that the program made, under the path `name`.
    ///
    /// # Errors
    /// If it cannot be read, or one with that name was given before.
    pub fn artifact_as(&mut self, file: impl AsRef<Path>, name: &str) -> Result<(), Error> {
        Ok(self.run.add_artifact(file.as_ref(), name)?)
    }

    /// Adds bytes that the program made, as a file under the path `name`.
    ///
    /// # Errors
    /// If one with that name was given before.
    pub fn artifact_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.run.add_artifact_bytes(bytes, name)?)
    }

    /// Marks the run as failed with this error. The bundle is shown as a failed run everywhere.
    pub fn failed(&mut self, error: &str) {
        self.run.set_failed(error);
    }

    /// Seals the run as a bundle below the folder `out`.
    ///
    /// # Errors
    /// If it is not valid or cannot be written; then nothing is left.
    pub fn seal(self, out: impl AsRef<Path>) -> Result<SealedRun, Error> {
        self.seal_with(out, &SealOptions::new())
    }

    /// As [`Recorder::seal`], with options such as an id.
    ///
    /// # Errors
    /// As [`Recorder::seal`].
    pub fn seal_with(
        self,
        out: impl AsRef<Path>,
        options: &SealOptions,
    ) -> Result<SealedRun, Error> {
        let sealed = self.run.seal(SealDeclared {
            out: out.as_ref(),
            run_id: options.parse_run_id()?,
            now: clock::now()?,
            redactable: options.make_seed()?,
        })?;
        Ok(SealedRun(sealed))
    }

    fn name_of(&self, file: &Path) -> Result<String, Error> {
        let whole = self.folder.join(file);
        let name = match whole.strip_prefix(&self.folder) {
            Ok(below) if !below.components().any(|part| part.as_os_str() == "..") => {
                Some(below.as_os_str())
            }
            _ => file.file_name(),
        };
        let name = name.and_then(|name| name.to_str());
        let fault = || {
            Error::new(
                "NAME",
                format!("the name of `{}` is not UTF-8", file.display()),
            )
        };
        name.map(str::to_owned).ok_or_else(fault)
    }
}

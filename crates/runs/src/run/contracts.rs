//! An engine's folder: finds and checks the five contracts, and returns an [`Engine`] that can be
//! run. There is no other way to obtain one, so whatever runs has valid contracts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Document, ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_core::verify::Report;
use runseal_survey::engine::examine_engine;

use super::command::find_program_fault;
use runseal_fs::directory::{DirectorySource, RootLink};

/// An engine with valid contracts.
#[derive(Debug)]
pub struct Engine {
    folder: PathBuf,
    source: DirectorySource,
    stored: BTreeMap<&'static str, Vec<u8>>,
    code: String,
    version: String,
    command: Vec<String>,
}

impl Engine {
    /// Its folder, as an absolute path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The engine's folder, opened once; its files are read through this handle.
    pub fn source(&self) -> &DirectorySource {
        &self.source
    }

    /// The contracts as a bundle stores them: JSON as JCS, the sealing spec unchanged.
    pub fn contracts(&self) -> &BTreeMap<&'static str, Vec<u8>> {
        &self.stored
    }

    /// The digest of each contract, over its stored form.
    pub fn contract_hashes(&self) -> BTreeMap<&'static str, Digest> {
        let digest = |(name, bytes): (&&'static str, &Vec<u8>)| (*name, Digest::of(bytes));
        self.stored.iter().map(digest).collect()
    }

    /// One of the JSON contracts.
    pub fn document(&self, name: &str) -> Option<Document<'_>> {
        parse_document(self.stored.get(name)?, &ReadOptions::default()).ok()
    }

    /// Its engine_code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Its engine_version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its execution.command, as written.
    pub fn command(&self) -> &[String] {
        &self.command
    }
}

/// Whether the program that the command names must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// It must: the engine will be executed on this machine, or is checked for that.
    MustExist,
    /// It need not: nothing is executed, and the verdict is the same on every machine.
    NotAsked,
}

/// Checks the contracts of the engine in the folder `path`; also returns the engine if they are
/// valid.
pub fn check_engine(
    path: &Path,
    program: Program,
) -> Result<(Report, Option<Engine>), SourceError> {
    let source = DirectorySource::open(path, RootLink::Follow)?;
    let folder = std::fs::canonicalize(path).map_err(|source| SourceError::Io {
        path: path.display().to_string(),
        source,
    })?;
    let (report, parts) = examine_engine(&source, &|command| match program {
        Program::MustExist => find_program_fault(&source, command),
        Program::NotAsked => Ok(None),
    })?;
    let engine = parts.map(|parts| Engine {
        folder,
        source,
        stored: parts.stored,
        code: parts.code,
        version: parts.version,
        command: parts.command,
    });
    Ok((report, engine))
}

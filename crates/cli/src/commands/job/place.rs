//! Where the store and the sources are.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use runseal_core::verify::Outcome;
use runseal_engine::store::{Store, StoreError, StoreReader};

use crate::error::CliError;

/// The folder of a project's store.
const FOLDER: &str = ".runseal";
/// The store in it.
const FILE: &str = "jobs.db";

/// `--store`, as every job command has it.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    /// The store; where not given, the nearest .runseal/jobs.db, here or in a folder above.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    /// Where a new store goes.
    pub fn new_path(&self) -> PathBuf {
        self.store
            .clone()
            .unwrap_or_else(|| Path::new(FOLDER).join(FILE))
    }

    /// The store that is meant.
    pub fn path(&self) -> PathBuf {
        if let Some(path) = &self.store {
            return path.clone();
        }
        let here = std::env::current_dir().unwrap_or_default();
        let above = here
            .ancestors()
            .skip(1)
            .map(|folder| folder.join(FOLDER).join(FILE));
        let near = Path::new(FOLDER).join(FILE);
        if near.is_file() {
            near.clone()
        } else {
            above
                .into_iter()
                .find(|path| path.is_file())
                .unwrap_or(near)
        }
    }

    /// Opens the store to write.
    pub fn open(&self) -> Result<Store, CliError> {
        Store::open(&self.path()).map_err(|error| store_error(&error))
    }

    /// Opens the store to look.
    pub fn read(&self) -> Result<StoreReader, CliError> {
        StoreReader::open(&self.path()).map_err(|error| store_error(&error))
    }

    /// The root of the sources: as given, else the folder that holds .runseal, else this one.
    pub fn root(&self, given: Option<&Path>) -> PathBuf {
        if let Some(root) = given {
            return root.to_owned();
        }
        let path = self.path();
        match path.parent() {
            Some(folder) if folder.file_name().is_some_and(|name| name == FOLDER) => {
                match folder.parent() {
                    Some(root) if !root.as_os_str().is_empty() => root.to_owned(),
                    _ => PathBuf::from("."),
                }
            }
            _ => PathBuf::from("."),
        }
    }
}

/// A store's error as the command line reports it.
pub fn store_error(error: &StoreError) -> CliError {
    let message = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    let reported = CliError::new(Outcome::Unreadable, "STORE", message);
    match error {
        StoreError::Missing(_) => {
            reported.hint("`runseal job init` makes a store; --store names one")
        }
        StoreError::Newer { .. } => reported.hint("use the program that wrote it, or a later one"),
        _ => reported,
    }
}

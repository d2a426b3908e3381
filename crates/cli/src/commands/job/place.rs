//! Where the store and the sources are.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use runseal_core::verify::Outcome;
use runseal_store::store::sqlite::{SqliteReader, SqliteStore};
use runseal_store::store::{Store, StoreReader};

use crate::error::{CliError, Named};
use crate::ui;

/// The folder of a project's store.
const FOLDER: &str = ".runseal";
/// The store's file inside it.
const FILE: &str = "jobs.db";
/// The environment variable that names the store when the command line does not.
const VARIABLE: &str = "RUNSEAL_STORE";

/// `--store`, as every job command has it.
#[derive(clap::Args)]
pub struct StoreArgs {
    /// The store: a file, or postgres://USER@HOST/DATABASE. By default what RUNSEAL_STORE names, else the
    /// nearest .runseal/jobs.db, here or in a folder above, that is yours or root's.
    #[arg(long, value_name = "STORE")]
    store: Option<OsString>,
}

/// Omits the address, which may contain a password.
impl fmt::Debug for StoreArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreArgs")
    }
}

/// Where a store is.
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// At an address, which may contain a password.
    Server(String),
}

impl Place {
    /// Parses what was typed. The address of another kind of server is refused, and not shown.
    pub fn of(text: &OsStr) -> Result<Self, CliError> {
        match text.to_str() {
            Some(text) if is_server(text) => Ok(Self::Server(text.to_owned())),
            Some(text) if has_scheme(text) => Err(CliError::usage(
                "the store is an address, but not one of PostgreSQL",
                "name a file, or postgres://USER@HOST/DATABASE; a file of such a name as ./NAME",
            )),
            _ => Ok(Self::File(text.into())),
        }
    }
}

/// Whether a text begins as addresses do: letters, `:` and `/`.
fn has_scheme(text: &str) -> bool {
    text.split_once(":/").is_some_and(|(scheme, _)| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(is_part)
    })
}

/// The nearest file with this name in a `.runseal`, here or in a folder above; if there is none, the one
/// that
/// would be made here. It was not named, so it counts only if no other user prepared it: those of other
/// users
/// above are passed over, and one that is here is an error.
pub fn nearest(file: &str) -> Result<PathBuf, CliError> {
    let near = Path::new(FOLDER).join(file);
    if !near.is_file() {
        let here = std::env::current_dir().unwrap_or_default();
        for folder in here.ancestors().skip(1) {
            let path = folder.join(FOLDER).join(file);
            match path.is_file().then(|| find_foreign_part(folder, file)) {
                Some(None) => return Ok(path),
                Some(Some(_)) => note_passed_over(&path),
                None => {}
            }
        }
    }
    check_own(file)?;
    Ok(near)
}

/// Refuses the place for a store here if another user may have prepared it.
fn check_own(file: &str) -> Result<(), CliError> {
    let Some(place) = find_foreign_part(Path::new("."), file) else {
        return Ok(());
    };
    let message = format!(
        "`{}` belongs to another user, so the store in it is not used unless you name it",
        place.display()
    );
    let hint = format!("if you trust that user, name it: --store {FOLDER}/{file}");
    Err(CliError::new(Outcome::Unreadable, "STORE", message).hint(hint))
}

/// The first of `folder`, its `.runseal` and the file in it that belongs neither to this user nor to root.
/// What does not exist belongs to nobody; both a link and its target count.
fn find_foreign_part(folder: &Path, file: &str) -> Option<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let is_strange = |found: std::io::Result<Metadata>| {
        found.is_ok_and(|found| ![own, 0].contains(&found.uid()))
    };
    let runseal = folder.join(FOLDER);
    let file = runseal.join(file);
    [folder.to_owned(), runseal, file]
        .into_iter()
        .find(|path| is_strange(path.symlink_metadata()) || is_strange(path.metadata()))
}

/// Notes, once, which store was not used: a command looks for it several times.
fn note_passed_over(path: &Path) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        ui::note(&format!(
            "`{}` is passed over: it, or its folder, belongs to another user; --store uses it",
            path.display()
        ));
    });
}

/// The address of a server that the environment names.
pub fn server_of_environment() -> Result<Option<String>, CliError> {
    let named = std::env::var_os(VARIABLE).unwrap_or_default();
    Ok(match Place::of(&named)? {
        Place::Server(address) => Some(address),
        Place::File(_) => None,
    })
}

/// Whether this is the address of a server rather than a path. Capital letters make no difference.
pub fn is_server(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        ["postgres", "postgresql"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

impl StoreArgs {
    /// The store at this place.
    pub fn at(place: OsString) -> Self {
        Self { store: Some(place) }
    }

    fn given(&self) -> Result<Option<Place>, CliError> {
        let given = self.store.clone().or_else(|| std::env::var_os(VARIABLE));
        let given = given.filter(|text| !text.is_empty());
        given.map(|text| Place::of(&text)).transpose()
    }

    /// Where the store is.
    fn place(&self) -> Result<Place, CliError> {
        match self.given()? {
            Some(place) => Ok(place),
            None => nearest(FILE).map(Place::File),
        }
    }

    /// Creates the store, or migrates an older one; returns its place, without a password.
    pub fn create(&self) -> Result<(Box<dyn Store>, String), CliError> {
        let place = match self.given()? {
            Some(place) => place,
            None => {
                check_own(FILE)?;
                Place::File(Path::new(FOLDER).join(FILE))
            }
        };
        match place {
            Place::Server(address) => server::create(&address),
            Place::File(path) => {
                let store = SqliteStore::create(&path).named(path.display())?;
                Ok((Box::new(store), path.display().to_string()))
            }
        }
    }

    /// Opens the store to write.
    pub fn open(&self) -> Result<Box<dyn Store>, CliError> {
        match self.place()? {
            Place::Server(address) => server::open(&address),
            Place::File(path) => {
                let store = SqliteStore::open(&path).named(path.display())?;
                Ok(Box::new(store))
            }
        }
    }

    /// Opens the store for reading.
    pub fn read(&self) -> Result<Box<dyn StoreReader>, CliError> {
        match self.place()? {
            Place::Server(address) => server::read(&address),
            Place::File(path) => {
                let store = SqliteReader::open(&path).named(path.display())?;
                Ok(Box::new(store))
            }
        }
    }

    /// The root of the sources: `given`, else the folder that contains `.runseal`, else the working
    /// folder.
    pub fn root(&self, given: Option<&Path>) -> PathBuf {
        if let Some(root) = given {
            return root.to_owned();
        }
        // A refused address has no root either; opening the store reports it.
        let Ok(Place::File(path)) = self.place() else {
            return PathBuf::from(".");
        };
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

/// Stores on a server.
#[cfg(feature = "postgres")]
mod server {
    use runseal_postgres::PostgresStore;
    use runseal_store::store::{Store, StoreReader};

    use super::CliError;

    pub fn create(address: &str) -> Result<(Box<dyn Store>, String), CliError> {
        let store = PostgresStore::create(address)?;
        let shown = store.place().to_owned();
        Ok((Box::new(store), shown))
    }

    pub fn open(address: &str) -> Result<Box<dyn Store>, CliError> {
        let store = PostgresStore::open(address)?;
        Ok(Box::new(store))
    }

    pub fn read(address: &str) -> Result<Box<dyn StoreReader>, CliError> {
        let store = PostgresStore::read(address)?;
        Ok(Box::new(store))
    }
}

/// Stands in for the server when built without the `postgres` feature: every call fails.
#[cfg(not(feature = "postgres"))]
mod server {
    use runseal_core::verify::Outcome;
    use runseal_store::store::{Store, StoreReader};

    use super::CliError;

    fn missing() -> CliError {
        let message = "this program was built without stores on a server";
        CliError::new(Outcome::Unreadable, "STORE", message).hint("build it with `postgres`")
    }

    pub fn create(_: &str) -> Result<(Box<dyn Store>, String), CliError> {
        Err(missing())
    }

    pub fn open(_: &str) -> Result<Box<dyn Store>, CliError> {
        Err(missing())
    }

    pub fn read(_: &str) -> Result<Box<dyn StoreReader>, CliError> {
        Err(missing())
    }
}

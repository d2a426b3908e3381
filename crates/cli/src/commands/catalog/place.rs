//! Where the catalogue is, and its errors as the command line reports them.

use std::ffi::OsString;
use std::fmt;

use runseal_core::digest::Digest;
use runseal_store::catalog::sqlite::{SqliteCatalog, SqliteCatalogReader};
use runseal_store::catalog::{Catalog, CatalogReader, Filter, FilterError, resolve};

use super::super::job::place::{Place, nearest, server_of_environment};
use crate::error::{CliError, Named};

/// The catalogue's file inside `.runseal`.
const FILE: &str = "catalog.db";

/// `--store`, as every command of the catalogue has it.
#[derive(clap::Args)]
pub struct CatalogArgs {
    /// The catalogue: a file, or postgres://USER@HOST/DATABASE. By default the server that RUNSEAL_STORE
    /// names, else the nearest .runseal/catalog.db, here or in a folder above, that is yours or root's.
    #[arg(long, value_name = "STORE")]
    store: Option<OsString>,
}

/// Omits the address, which may contain a password.
impl fmt::Debug for CatalogArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CatalogArgs")
    }
}

impl CatalogArgs {
    fn place(&self) -> Result<Place, CliError> {
        let given = self.store.as_ref().filter(|text| !text.is_empty());
        match given {
            Some(text) => Place::of(text),
            None => match server_of_environment()? {
                Some(address) => Ok(Place::Server(address)),
                None => nearest(FILE).map(Place::File),
            },
        }
    }

    /// Creates the catalogue, or opens the existing one.
    pub fn create(&self) -> Result<Box<dyn Catalog>, CliError> {
        match self.place()? {
            Place::Server(address) => server::create(&address),
            Place::File(path) => SqliteCatalog::create(&path)
                .map(|catalog| Box::new(catalog) as Box<dyn Catalog>)
                .named(path.display()),
        }
    }

    /// Opens an existing catalogue for writing.
    pub fn open(&self) -> Result<Box<dyn Catalog>, CliError> {
        match self.place()? {
            Place::Server(address) => server::open(&address),
            Place::File(path) => SqliteCatalog::open(&path)
                .map(|catalog| Box::new(catalog) as Box<dyn Catalog>)
                .named(path.display()),
        }
    }

    /// Opens an existing catalogue for reading.
    pub fn read(&self) -> Result<Box<dyn CatalogReader>, CliError> {
        match self.place()? {
            Place::Server(address) => server::read(&address),
            Place::File(path) => SqliteCatalogReader::open(&path)
                .map(|catalog| Box::new(catalog) as Box<dyn CatalogReader>)
                .named(path.display()),
        }
    }
}

/// The digests of these names, each once and in order.
pub fn resolve_all(catalog: &dyn CatalogReader, names: &[String]) -> Result<Vec<Digest>, CliError> {
    let mut digests = Vec::new();
    for name in names {
        digests.extend(resolve(catalog, name)?);
    }
    digests.sort();
    digests.dedup();
    Ok(digests)
}

/// Reads what `--where` says.
pub fn parse_filter(text: Option<&str>) -> Result<Option<Filter>, CliError> {
    text.map(|text| Filter::parse(text).map_err(|error| filter_error(text, &error)))
        .transpose()
}

/// A filter's fault, with a caret under the offending column.
pub fn filter_error(text: &str, error: &FilterError) -> CliError {
    let column = error.column;
    // Tabs and other control characters would shift the caret away from its column.
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let mark = " ".repeat(column.saturating_sub(1));
    let hint = format!("docs/catalog.md says what a filter can be\n  {line}\n  {mark}^");
    CliError::from(error).hint(hint)
}

/// Catalogues on a server.
#[cfg(feature = "postgres")]
mod server {
    use runseal_postgres::PostgresCatalog;
    use runseal_store::catalog::{Catalog, CatalogReader};

    use super::CliError;

    pub fn create(address: &str) -> Result<Box<dyn Catalog>, CliError> {
        let catalog = PostgresCatalog::create(address)?;
        Ok(Box::new(catalog))
    }

    pub fn open(address: &str) -> Result<Box<dyn Catalog>, CliError> {
        let catalog = PostgresCatalog::open(address)?;
        Ok(Box::new(catalog))
    }

    pub fn read(address: &str) -> Result<Box<dyn CatalogReader>, CliError> {
        let catalog = PostgresCatalog::open(address)?;
        Ok(Box::new(catalog))
    }
}

/// Stands in for the server when built without the `postgres` feature: every call fails.
#[cfg(not(feature = "postgres"))]
mod server {
    use runseal_core::verify::Outcome;
    use runseal_store::catalog::{Catalog, CatalogReader};

    use super::CliError;

    fn missing() -> CliError {
        let message = "this program was built without catalogues on a server";
        CliError::new(Outcome::Unreadable, "CATALOG", message).hint("build it with `postgres`")
    }

    pub fn create(_: &str) -> Result<Box<dyn Catalog>, CliError> {
        Err(missing())
    }

    pub fn open(_: &str) -> Result<Box<dyn Catalog>, CliError> {
        Err(missing())
    }

    pub fn read(_: &str) -> Result<Box<dyn CatalogReader>, CliError> {
        Err(missing())
    }
}

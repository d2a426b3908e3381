//! An engine's folder: finds the five contracts, checks them, and gives an [`Engine`] that can
//! be run. There is no other way to one, so what runs has contracts that hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Document, Node, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::engine_contracts::{
    EngineView, parse_command, pointing_member, verify_engine,
};
use runseal_core::formats::run_bundle::Doc;
use runseal_core::formats::run_bundle::layout::{
    CONTRACTS, COUPLING_RULES, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA, SEALING_SPEC, is_json,
};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Level, Report};

use super::command::{find_program_fault, parse_requirements};
use super::schema::Schema;
use crate::directory::{DirectorySource, RootLink};

/// An engine whose contracts hold.
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

    /// Its files.
    pub fn source(&self) -> &DirectorySource {
        &self.source
    }

    /// The contracts as a bundle stores them: JSON as JCS, the sealing spec byte by byte.
    pub fn contracts(&self) -> &BTreeMap<&'static str, Vec<u8>> {
        &self.stored
    }

    /// The digest of each contract, over what a bundle stores.
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

/// Whether the program that the command names has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The engine is about to be executed on this machine, or asked whether it could be.
    MustExist,
    /// Nothing is executed: the verdict is the same on every machine.
    NotAsked,
}

/// Checks the contracts of the engine in the folder `path`; gives the engine, if they hold.
pub fn check_engine(
    path: &Path,
    program: Program,
) -> Result<(Report, Option<Engine>), SourceError> {
    let source = DirectorySource::open(path, RootLink::Follow)?;
    let folder = std::fs::canonicalize(path).map_err(|source| SourceError::Io {
        path: path.display().to_string(),
        source,
    })?;
    let (report, parts) = examine_engine(&source, program)?;
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

/// What an engine whose contracts hold is made of.
pub(crate) struct EngineParts {
    stored: BTreeMap<&'static str, Vec<u8>>,
    code: String,
    version: String,
    command: Vec<String>,
}

/// Checks the contracts of the engine in `source`.
pub(crate) fn examine_engine(
    source: &dyn Source,
    program: Program,
) -> Result<(Report, Option<EngineParts>), SourceError> {
    let mut missing: [Option<String>; 5] = Default::default();
    let mut found: BTreeMap<&'static str, Vec<u8>> = BTreeMap::new();
    for (name, missing) in CONTRACTS.iter().zip(&mut missing) {
        let manifest = found.get(MANIFEST);
        let manifest =
            manifest.and_then(|bytes| parse_document(bytes, &ReadOptions::default()).ok());
        match locate(
            source,
            name,
            manifest.as_ref().map(|document| document.root()),
        )? {
            Ok(bytes) => {
                found.insert(name, bytes);
            }
            Err(reason) => *missing = Some(reason),
        }
    }
    let read = |name: &str| found.get(name).map(|bytes| read_json(bytes));
    let manifest = read(MANIFEST);
    let input_schema = read(INPUT_SCHEMA);
    let output_schema = read(OUTPUT_SCHEMA);
    let coupling = read(COUPLING_RULES);
    let schema_fault = |schema: &ReadJson<'_>| {
        let root = doc(schema).root()?;
        Schema::compile(root).err().map(|bad| bad.to_string())
    };
    let faults = [schema_fault(&input_schema), schema_fault(&output_schema)];
    let root = doc(&manifest).root();
    let command = root.and_then(parse_command);
    let program_fault = match (program, &command) {
        (Program::MustExist, Some(command)) => find_program_fault(source, command)?,
        _ => None,
    };
    let requirements = root.map(parse_requirements);
    let version_faults = requirements.and_then(Result::err).unwrap_or_default();
    let view = EngineView {
        missing: &missing,
        manifest: doc(&manifest),
        input_schema: doc(&input_schema),
        output_schema: doc(&output_schema),
        coupling: doc(&coupling),
        schema_faults: [faults[0].as_deref(), faults[1].as_deref()],
        program_fault: program_fault.as_deref(),
        version_faults: &version_faults,
    };
    let report = verify_engine(&view, Level::Document);
    if !report.is_valid() {
        return Ok((report, None));
    }
    let text = |name: &str| {
        let text = root.and_then(|manifest| manifest.get(name)?.as_str());
        text.unwrap_or_default().into_owned()
    };
    let (code, version) = (text("engine_code"), text("engine_version"));
    let mut stored = BTreeMap::new();
    for (name, document) in [
        (MANIFEST, &manifest),
        (INPUT_SCHEMA, &input_schema),
        (OUTPUT_SCHEMA, &output_schema),
        (COUPLING_RULES, &coupling),
    ] {
        if let Some(Ok((_, canonical))) = document {
            stored.insert(name, canonical.clone());
        }
    }
    stored.extend(found.remove_entry(SEALING_SPEC));
    let parts = EngineParts {
        stored,
        code,
        version,
        command: command.unwrap_or_default(),
    };
    Ok((report, Some(parts)))
}

type ReadJson<'a> = Option<Result<(Document<'a>, Vec<u8>), String>>;

fn read_json(bytes: &[u8]) -> Result<(Document<'_>, Vec<u8>), String> {
    let document = parse_document(bytes, &ReadOptions::default()).map_err(|e| e.to_string())?;
    let canonical = canonical_bytes(document.root(), Dialect::Jcs).map_err(|e| e.to_string())?;
    Ok((document, canonical))
}

fn doc<'a>(document: &'a ReadJson<'_>) -> Doc<'a> {
    match document {
        None => Doc::Absent,
        Some(Err(reason)) => Doc::Broken(reason),
        Some(Ok((document, _))) => Doc::Read(document.root()),
    }
}

/// Finds a contract: in the root, then where the manifest points, then in MANIFEST/ and SEALING/.
fn locate(
    source: &dyn Source,
    name: &'static str,
    manifest: Option<Node<'_>>,
) -> Result<Result<Vec<u8>, String>, SourceError> {
    let pointed = pointing_member(name).and_then(|(outer, inner)| {
        let text = manifest?.get(outer)?.get(inner)?.as_str()?.into_owned();
        Some((format!("{outer}.{inner}"), text))
    });
    let mut places = vec![name.to_owned()];
    if let Some((_, text)) = &pointed {
        places.push(text.strip_prefix("./").unwrap_or(text).to_owned());
    }
    places.push(format!("MANIFEST/{name}"));
    places.push(format!("SEALING/{name}"));
    for place in &places {
        let path = match SafePath::parse(place) {
            Ok(path) => path,
            Err(reason) => {
                let member = pointed.as_ref().map_or("", |(member, _)| member);
                let shown = place.escape_debug();
                return Ok(Err(format!("{member} points to `{shown}`: {reason}")));
            }
        };
        let limit = JsonLimits::LARGEST_DOCUMENT;
        match source.read(&path, limit) {
            Ok(bytes) => return Ok(Ok(bytes)),
            Err(SourceError::NotFound { .. }) => {}
            Err(error @ (SourceError::NotAFile { .. } | SourceError::TooLarge { .. })) => {
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    let looked = places.join("`, `");
    let kind = if is_json(name) {
        "contract"
    } else {
        "sealing spec"
    };
    Ok(Err(format!(
        "the {kind} is missing: there is no `{looked}`"
    )))
}

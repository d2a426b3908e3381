//! Finds and checks the five contracts of an engine in any source.

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, Document, Node, ReadOptions, canonical_bytes, parse_document};
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

use super::schema::Schema;

/// The parts of an engine with valid contracts.
#[derive(Debug)]
pub struct EngineParts {
    /// The contracts as a bundle stores them: JSON as JCS, the sealing spec unchanged.
    pub stored: BTreeMap<&'static str, Vec<u8>>,
    /// Its engine_code.
    pub code: String,
    /// Its engine_version.
    pub version: String,
    /// Its execution.command, as written.
    pub command: Vec<String>,
}

/// Returns why a command's program cannot be started here, or `None` if it can.
pub type ProgramCheck<'a> = &'a dyn Fn(&[String]) -> Result<Option<String>, SourceError>;

/// Checks the contracts of the engine in `source`. For a verdict that is the same on every machine,
/// pass a `program` that finds no fault.
///
/// # Errors
/// If an existing contract cannot be read, or `program` fails.
pub fn examine_engine(
    source: &dyn Source,
    program: ProgramCheck<'_>,
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
            Err(fault) => *missing = Some(fault),
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
    let program_fault = match &command {
        Some(command) => program(command)?,
        None => None,
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
        Some(Err(fault)) => Doc::Broken(fault),
        Some(Ok((document, _))) => Doc::Read(document.root()),
    }
}

/// Finds a contract: in the root, then at the path in the manifest, then in MANIFEST/ and SEALING/.
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
            Err(fault) => {
                let member = pointed.as_ref().map_or("", |(member, _)| member);
                let shown = place.escape_debug();
                return Ok(Err(format!("{member} points to `{shown}`: {fault}")));
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

/// The requirements in `compatibility.replay_versions`, or what is wrong with them.
pub fn parse_requirements(manifest: Node<'_>) -> Result<Vec<semver::VersionReq>, Vec<String>> {
    let listed = manifest
        .get("compatibility")
        .and_then(|compatibility| compatibility.get("replay_versions"));
    let Some(listed) = listed else {
        return Ok(Vec::new());
    };
    let Some(items) = listed.as_array() else {
        return Err(vec!["it is not a list".to_owned()]);
    };
    let mut requirements = Vec::new();
    let mut faults = Vec::new();
    for (at, item) in items.enumerate() {
        let text = item.as_str().unwrap_or_default();
        match semver::VersionReq::parse(&text) {
            Ok(requirement) if !text.is_empty() => requirements.push(requirement),
            Ok(_) => faults.push(format!("element {at} is not a string")),
            Err(error) => faults.push(format!("`{}`: {error}", text.escape_debug())),
        }
    }
    if faults.is_empty() {
        Ok(requirements)
    } else {
        Err(faults)
    }
}

//! A run that a program describes itself: its parameters, the files it read, its metrics, and the
//! files it made. The language bindings use this to make run bundles.
//!
//! Files are copied at the moment they are named, so that the sealed content is what the program
//! had then. Nothing is observed, and the bundle says so: its observation level is `declared`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::formats::run_bundle::layout::{
    COUPLING_RULES, ENGINE_FOLDER, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA, RUN_ENVIRONMENT, RunId,
    SEALING_SPEC,
};
use runseal_core::formats::run_bundle::recorded::{CaptureGap, RECORDED_COMMAND};
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use runseal_core::verify::Finding;
use runseal_sandbox::Isolation;

use super::contracts::{Engine, Program, check_engine};
use super::seal::{Request, SealError, Sealed, seal_declared_output};
use super::staging::RunFiles;
use crate::record::documents::FileEntry;
use crate::record::environment::{Circumstances, make_environment};
use runseal_fs::atomic::{Readers, create_new, write_new};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::input::open_regular;
use runseal_fs::private::PrivateFolder;
use runseal_fs::stream::{BUFFER, digest_through};
use runseal_redact::SealingSeed;

/// What a bundle states when nothing was observed.
const NOT_OBSERVED: &str = "the program described its own run: nothing was observed, so files, \
    programs and network it did not name are not here, and nothing shows that what it named is what it used";

/// Why something cannot become part of a described run.
#[derive(Debug, thiserror::Error)]
pub enum DeclareError {
    /// A file could not be read or copied.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The private folder could not be written.
    #[error("the private folder cannot be written: {0}")]
    Work(#[from] io::Error),
    /// A name that cannot be a path in a bundle.
    #[error("`{name}` cannot be a path in a bundle: {fault}")]
    Name {
        /// The name as it was given.
        name: String,
        /// What is wrong with it.
        fault: String,
    },
    /// The same name was given twice.
    #[error("`{0}` was given before")]
    Twice(String),
    /// The name or version of the run is not valid for an engine.
    #[error("`{0}` cannot name a run: it is empty, or kept for recorded commands")]
    Engine(String),
    /// The run was not sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl Diagnose for DeclareError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Seal(error) => error.diagnosis(),
            Self::Work(_) => Diagnosis::unreadable(self, "IO").message(self.to_string()),
            Self::Name { .. } | Self::Twice(_) | Self::Engine(_) => {
                Diagnosis::invalid(self, "NAME")
            }
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Seal(error) => error.findings(),
            _ => &[],
        }
    }
}

/// A run under construction.
#[derive(Debug)]
pub struct DeclaredRun {
    name: String,
    version: String,
    command: Vec<String>,
    parameters: BTreeMap<String, Value>,
    metrics: BTreeMap<String, Value>,
    series: BTreeMap<String, Vec<Value>>,
    files: Vec<FileEntry>,
    artifacts: BTreeSet<SafePath>,
    error: Option<String>,
    work: PrivateFolder,
}

/// Where and how a described run is sealed.
#[derive(Debug)]
pub struct SealDeclared<'a> {
    /// The folder of run bundles.
    pub out: &'a Path,
    /// The run's id, if given.
    pub run_id: Option<RunId>,
    /// The time of sealing that the bundle states.
    pub now: Moment,
    /// The seed, if parts of the bundle may be withheld later.
    pub redactable: Option<SealingSeed>,
}

impl DeclaredRun {
    /// Begins a run called `name`, of the program that `command` started.
    ///
    /// # Errors
    /// When the name is not valid, or no private folder can be made.
    pub fn begin(name: &str, version: &str, command: &[String]) -> Result<Self, DeclareError> {
        for text in [name, version] {
            if text.trim().is_empty() || text == RECORDED_COMMAND {
                return Err(DeclareError::Engine(text.escape_debug().to_string()));
            }
        }
        let work = PrivateFolder::create("run")?;
        fs::create_dir(work.path().join(ENGINE_FOLDER))?;
        fs::create_dir(work.path().join(MADE))?;
        let run = Self {
            name: name.to_owned(),
            version: version.to_owned(),
            command: match command.is_empty() {
                true => vec![name.to_owned()],
                false => command.to_vec(),
            },
            parameters: BTreeMap::new(),
            metrics: BTreeMap::new(),
            series: BTreeMap::new(),
            files: Vec::new(),
            artifacts: BTreeSet::new(),
            error: None,
            work,
        };
        // Whoever has to choose another name should hear of it before the work is done.
        run.make_engine("contracts-of-the-beginning")?;
        Ok(run)
    }

    /// Fails where the run could not be sealed below `out` under this id, as far as that can be told now.
    pub fn check_target(&self, out: &Path, run_id: Option<&RunId>) -> Result<(), DeclareError> {
        if let Some(run_id) = run_id {
            RunFiles::check_free(out, run_id).map_err(SealError::from)?;
        }
        let above = out
            .ancestors()
            .map(|above| match above.as_os_str().is_empty() {
                true => Path::new("."),
                false => above,
            });
        let mut existing = above.filter(|above| above.exists());
        if let Some(folder) = existing.next() {
            let fail = |source| SourceError::Io {
                path: folder.display().to_string(),
                source,
            };
            tempfile::tempfile_in(folder).map_err(fail)?;
        }
        Ok(())
    }

    /// Writes the contracts into a folder of this name and checks them.
    fn make_engine(&self, name: &str) -> Result<Engine, DeclareError> {
        let contracts = self.work.path().join(name);
        fs::create_dir(&contracts)?;
        self.write_contracts(&contracts)?;
        let (report, engine) = check_engine(&contracts, Program::NotAsked)?;
        engine.ok_or_else(|| SealError::Rejected(report.findings().to_vec()).into())
    }

    /// Sets a parameter; a later value replaces an earlier one.
    pub fn set_parameter(&mut self, name: &str, value: Value) {
        self.parameters.insert(name.to_owned(), value);
    }

    /// Adds a measurement; with a step, every value is kept.
    pub fn add_metric(&mut self, name: &str, value: Value, step: Option<i64>) {
        if let Some(step) = step {
            let mut point = Value::object([("step", step)]);
            point.insert("value", value.clone());
            self.series.entry(name.to_owned()).or_default().push(point);
        }
        self.metrics.insert(name.to_owned(), value);
    }

    /// Records that the program ended with an error.
    pub fn set_failed(&mut self, error: &str) {
        self.error = Some(error.to_owned());
    }

    /// Adds a file that the program reads, code or data, under the path `name`.
    ///
    /// # Errors
    /// When it cannot be copied unchanged.
    pub fn add_input(&mut self, file: &Path, name: &str) -> Result<(), DeclareError> {
        let path = parse_name(name)?;
        if self.files.iter().any(|entry| entry.path == path.as_str()) {
            return Err(DeclareError::Twice(path.to_string()));
        }
        let folder = self.work.path().join(ENGINE_FOLDER);
        let copied = copy_in(file, &folder, &path)?;
        self.files.push(copied);
        Ok(())
    }

    /// Adds a file that the program made, under the path `name`.
    ///
    /// # Errors
    /// When it cannot be copied unchanged.
    pub fn add_artifact(&mut self, file: &Path, name: &str) -> Result<(), DeclareError> {
        let path = parse_name(name)?;
        if self.artifacts.contains(&path) {
            return Err(DeclareError::Twice(path.to_string()));
        }
        copy_in(file, &self.work.path().join(MADE), &path)?;
        self.artifacts.insert(path);
        Ok(())
    }

    /// Adds a file that the program made, with these bytes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_artifact_bytes(&mut self, bytes: &[u8], name: &str) -> Result<(), DeclareError> {
        let path = parse_name(name)?;
        if self.artifacts.contains(&path) {
            return Err(DeclareError::Twice(path.to_string()));
        }
        let place = make_room(&self.work.path().join(MADE), &path)?;
        write_new(&place, bytes, Readers::AsUmask).map_err(|error| error.source)?;
        self.artifacts.insert(path);
        Ok(())
    }

    /// Seals the run.
    ///
    /// # Errors
    /// When it is not valid or cannot be written; nothing is left behind.
    pub fn seal(mut self, sealing: SealDeclared<'_>) -> Result<Sealed, DeclareError> {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let engine = self.make_engine("contracts")?;
        let output = self.make_output();
        let output = canonical_bytes(&output, Dialect::Jcs).map_err(no_form)?;
        let made = self.work.path().join(MADE);
        let artifacts = DirectorySource::open(&made, RootLink::Refuse)?;
        let request = Request {
            engine: &engine,
            input: self.make_input(),
            parameters: None,
            upstream: &[],
            out: sealing.out,
            run_id: sealing.run_id,
            now: sealing.now,
            redactable: sealing.redactable,
            cancel: None,
        };
        let paths = self.artifacts.iter().cloned().collect();
        let put = |files: &mut RunFiles| self.put_files(files);
        Ok(seal_declared_output(
            request,
            put,
            &output,
            (&artifacts, paths),
        )?)
    }

    fn make_input(&self) -> Value {
        let file = |entry: &FileEntry| {
            let mut value = Value::object([
                ("path", entry.path.as_str()),
                ("sha256", entry.sha256.to_string().as_str()),
            ]);
            value.insert("bytes", entry.bytes);
            value
        };
        let mut input = Value::object([("parameters", object(&self.parameters))]);
        input.insert("files", Value::array(self.files.iter().map(file)));
        input
    }

    fn make_output(&self) -> Value {
        let series: BTreeMap<String, Value> = self
            .series
            .iter()
            .map(|(name, points)| (name.clone(), Value::Array(points.clone())))
            .collect();
        let engine = Value::object([
            ("engine_code", self.name.as_str()),
            ("engine_version", self.version.as_str()),
        ]);
        let mut output = Value::object([("engine", engine)]);
        output.insert("metrics", object(&self.metrics));
        output.insert("series", object(&series));
        output.insert("semantics", "RAW_TRUTH");
        output.insert("declared", true);
        output.insert("failed", self.error.is_some());
        if let Some(error) = &self.error {
            output.insert("error", error.as_str());
        }
        output
    }

    fn write_contracts(&self, folder: &Path) -> Result<(), DeclareError> {
        let mut execution = Value::object([("declared", true)]);
        execution.insert(
            "command",
            Value::array(self.command.iter().map(String::as_str)),
        );
        let mut manifest = Value::object([
            ("engine_code", self.name.as_str()),
            ("engine_version", self.version.as_str()),
            ("description", "a run that its own program described"),
        ]);
        manifest.insert("execution", execution);
        let manifest = canonical_bytes(&manifest, Dialect::Jcs).map_err(no_form)?;
        let contracts: [(&str, &[u8]); 5] = [
            (MANIFEST, &manifest),
            (
                INPUT_SCHEMA,
                include_bytes!("declared/INPUT_SCHEMA.json").as_slice(),
            ),
            (
                OUTPUT_SCHEMA,
                include_bytes!("declared/OUTPUT_SCHEMA.json").as_slice(),
            ),
            (
                COUPLING_RULES,
                include_bytes!("../record/contracts/COUPLING_RULES.json").as_slice(),
            ),
            (
                SEALING_SPEC,
                include_bytes!("declared/SEALING_SPEC.md").as_slice(),
            ),
        ];
        for (name, bytes) in contracts {
            let written = write_new(&folder.join(name), bytes, Readers::AsUmask);
            written.map_err(|error| error.source)?;
        }
        Ok(())
    }

    /// Adds the files that the program read to the bundle, and what is known about the machine.
    fn put_files(&self, files: &mut RunFiles) -> Result<(), SealError> {
        let mut entries = Vec::new();
        for entry in &self.files {
            let from = self.work.path().join(ENGINE_FOLDER).join(&entry.path);
            let (handle, _) = open_regular(&from)?;
            let to = format!("{ENGINE_FOLDER}/{}", entry.path);
            let stored = files.put_user_file(&handle, entry.bytes, &to)?;
            entries.push(FileEntry {
                stored: stored.place,
                ..entry.clone()
            });
        }
        let gaps = BTreeSet::from([CaptureGap {
            kind: "declared".to_owned(),
            detail: NOT_OBSERVED.to_owned(),
        }]);
        let environment = make_environment(&Circumstances {
            isolation: Isolation::None,
            observation: None,
            gaps: &gaps,
            machine: &[],
            variables: &BTreeMap::new(),
            folder: None,
            program: None,
            listed: &BTreeMap::new(),
            present: &BTreeMap::new(),
            world: None,
            streams: None,
            engine_files: Some(&entries),
            surroundings: None,
        });
        Ok(files.put_json(RUN_ENVIRONMENT, &environment)?)
    }
}

/// The private folder for what the program made.
const MADE: &str = "made";

fn no_form(error: runseal_core::canon::NoCanonicalForm) -> SealError {
    super::staging::RunFilesError::from(error).into()
}

fn object(members: &BTreeMap<String, Value>) -> Value {
    let members = members
        .iter()
        .map(|(name, value)| (name.as_str().into(), value.clone()));
    Value::Object(members.collect())
}

fn parse_name(name: &str) -> Result<SafePath, DeclareError> {
    SafePath::parse(name).map_err(|fault| DeclareError::Name {
        name: name.escape_debug().to_string(),
        fault: fault.to_string(),
    })
}

fn make_room(folder: &Path, path: &SafePath) -> Result<PathBuf, DeclareError> {
    let place = folder.join(path.as_str());
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(place)
}

/// Copies a file unchanged, and returns its entry.
fn copy_in(file: &Path, folder: &Path, path: &SafePath) -> Result<FileEntry, DeclareError> {
    use std::os::unix::fs::PermissionsExt;
    let (mut from, size) = open_regular(file)?;
    let mode = from.metadata()?.permissions().mode();
    let mut to = create_new(&make_room(folder, path)?, Readers::AsUmask)?;
    let mut buffer = vec![0; BUFFER];
    let (sha256, bytes) = digest_through(&mut from, size, &mut buffer, |part| {
        io::Write::write_all(&mut to, part)
    })?;
    Ok(FileEntry {
        path: path.to_string(),
        sha256,
        bytes,
        is_executable: mode & 0o111 != 0,
        stored: None,
    })
}

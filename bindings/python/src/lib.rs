//! The part of the Python package that is Rust: a thin layer over the crate `runseal`. What is
//! Python about it (types, the context manager, notebooks) is in `python/runseal`.
//!
//! The interpreter's lock is released while files are read, hashed or written.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use runseal::{Level, Parameter, Recorder, ReplayOptions, SealOptions, Verify};

create_exception!(
    runseal,
    RunsealError,
    PyException,
    "Something could not be done; `code` says what kind it is, `hint` what to do about it."
);

fn raise(py: Python<'_>, error: runseal::Error) -> PyErr {
    let raised = RunsealError::new_err(error.to_string());
    let findings: Vec<(String, Option<String>, String)> = error
        .findings()
        .iter()
        .map(|finding| {
            let place = finding.path().map(str::to_owned);
            (finding.rule_id.to_owned(), place, finding.message.clone())
        })
        .collect();
    // An exception without them is still the right exception.
    let _ = raised.value(py).setattr("code", error.code());
    let _ = raised.value(py).setattr("hint", error.hint());
    let _ = raised.value(py).setattr("findings", findings);
    raised
}

fn parse_level(name: &str) -> PyResult<Level> {
    match name {
        "document" => Ok(Level::Document),
        "integrity" => Ok(Level::Integrity),
        "form" => Ok(Level::Form),
        other => Err(PyValueError::new_err(format!(
            "level {other:?} is not 'document', 'integrity' or 'form'"
        ))),
    }
}

/// Verifies `paths`: exit code, JSON, SARIF, JUnit and the text for people.
#[pyfunction]
fn verify(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    level: &str,
    threads: Option<usize>,
    trust: Option<PathBuf>,
    at: Option<String>,
    require_signed: bool,
) -> PyResult<(u8, String, String)> {
    let level = parse_level(level)?;
    let verified = py.detach(|| {
        let mut how = Verify::new().level(level);
        if let Some(threads) = threads {
            how = how.threads(threads);
        }
        if let Some(policy) = trust {
            how = match at {
                Some(at) => how.trusted_by_at(policy, &at)?,
                None => how.trusted_by(policy)?,
            };
        }
        if require_signed {
            how = how.require_signed();
        }
        let report = how.paths(&paths);
        Ok((report.exit_code(), report.to_json()?, report.to_string()))
    });
    verified.map_err(|error| raise(py, error))
}

/// Shows what is at `path`: whether it holds, JSON, and the text for people.
#[pyfunction]
fn inspect(py: Python<'_>, path: PathBuf) -> PyResult<(bool, String, String)> {
    let shown = py.detach(|| {
        let shown = runseal::inspect(path)?;
        Ok((shown.is_valid(), shown.to_json()?, shown.to_string()))
    });
    shown.map_err(|error| raise(py, error))
}

/// The page that `runseal report` writes.
#[pyfunction]
fn page(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| Ok(runseal::inspect(path)?.to_html()))
        .map_err(|error| raise(py, error))
}

/// Compares two: whether they are the same, JSON, and the text for people.
#[pyfunction]
fn diff(py: Python<'_>, a: PathBuf, b: PathBuf) -> PyResult<(bool, String, String)> {
    let compared = py.detach(|| {
        let compared = runseal::diff(a, b)?;
        Ok((
            compared.is_same(),
            compared.to_json()?,
            compared.to_string(),
        ))
    });
    compared.map_err(|error| raise(py, error))
}

/// Replays a run bundle: the verdict's name, JSON, and the text for people.
#[pyfunction]
fn replay(
    py: Python<'_>,
    path: PathBuf,
    times: u32,
    engine: Option<PathBuf>,
    same_environment: bool,
    sandbox: &str,
) -> PyResult<(String, String, String)> {
    let replayed = py.detach(|| {
        let mut options = ReplayOptions::new().times(times).sandbox(sandbox)?;
        if let Some(engine) = engine {
            options = options.engine(engine);
        }
        if same_environment {
            options = options.same_environment();
        }
        let replayed = runseal::replay(path, &options)?;
        let verdict = replayed.verdict().name().to_owned();
        Ok((verdict, replayed.to_json()?, replayed.to_string()))
    });
    replayed.map_err(|error| raise(py, error))
}

/// The canonical form of a JSON text.
#[pyfunction]
fn canon(py: Python<'_>, json: Vec<u8>) -> PyResult<Vec<u8>> {
    py.detach(|| runseal::canon(&json))
        .map_err(|error| raise(py, error))
}

/// The SHA-256 of bytes.
#[pyfunction]
fn digest(py: Python<'_>, bytes: Vec<u8>) -> String {
    py.detach(|| runseal::digest(&bytes))
}

type Sealed = (String, PathBuf, String, Option<PathBuf>);

fn sealed(run: &runseal::SealedRun) -> Sealed {
    (
        run.run_id().to_owned(),
        run.path().to_owned(),
        run.outputs_hash().to_owned(),
        run.seed().map(PathBuf::from),
    )
}

fn options(run_id: Option<String>, redactable: bool) -> SealOptions {
    let mut options = SealOptions::new();
    if let Some(id) = run_id {
        options = options.run_id(id);
    }
    if redactable {
        options = options.redactable();
    }
    options
}

/// Seals an engine's output that was made elsewhere.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
fn seal(
    py: Python<'_>,
    engine: PathBuf,
    input: Vec<u8>,
    output: Vec<u8>,
    out: PathBuf,
    run_id: Option<String>,
    artifacts: Option<PathBuf>,
    redactable: bool,
) -> PyResult<Sealed> {
    let done = py.detach(|| {
        let mut options = options(run_id, redactable);
        if let Some(folder) = artifacts {
            options = options.artifacts(folder);
        }
        runseal::seal(engine, &input, &output, out, &options)
    });
    done.map(|run| sealed(&run))
        .map_err(|error| raise(py, error))
}

/// A run in the making; nothing is left of one that is not sealed.
#[pyclass(frozen)]
struct Run {
    recorder: Mutex<Option<Recorder>>,
}

impl Run {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Recorder) -> Result<T, runseal::Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
            recorder.as_mut().map(act)
        });
        match done {
            Some(done) => done.map_err(|error| raise(py, error)),
            None => Err(PyValueError::new_err("the run is over")),
        }
    }
}

#[pymethods]
impl Run {
    #[new]
    fn new(py: Python<'_>, name: &str, version: &str, command: Vec<String>) -> PyResult<Self> {
        let begun = Recorder::begin_as(name, version, &command);
        let recorder = begun.map_err(|error| raise(py, error))?;
        Ok(Self {
            recorder: Mutex::new(Some(recorder)),
        })
    }

    fn check_target(
        &self,
        py: Python<'_>,
        out: PathBuf,
        run_id: Option<String>,
        redactable: bool,
    ) -> PyResult<()> {
        self.with(py, |run| {
            run.check_target(out, &options(run_id, redactable))
        })
    }

    fn param(&self, py: Python<'_>, name: &str, json: String) -> PyResult<()> {
        self.with(py, |run| run.param(name, Parameter::Json(json)))
    }

    fn metric(&self, py: Python<'_>, name: &str, value: f64, step: Option<i64>) -> PyResult<()> {
        self.with(py, |run| run.metric(name, value, step))
    }

    fn input(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        self.with(py, |run| run.input(file))
    }

    fn artifact(&self, py: Python<'_>, file: PathBuf, name: Option<String>) -> PyResult<()> {
        self.with(py, |run| match name {
            Some(name) => run.artifact_as(file, &name),
            None => run.artifact(file),
        })
    }

    fn artifact_bytes(&self, py: Python<'_>, name: &str, bytes: Vec<u8>) -> PyResult<()> {
        self.with(py, |run| run.artifact_bytes(name, &bytes))
    }

    fn failed(&self, py: Python<'_>, error: &str) -> PyResult<()> {
        self.with(py, |run| {
            run.failed(error);
            Ok(())
        })
    }

    fn seal(
        &self,
        py: Python<'_>,
        out: PathBuf,
        run_id: Option<String>,
        redactable: bool,
    ) -> PyResult<Sealed> {
        let done = py.detach(|| {
            let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
            let recorder = recorder.take()?;
            Some(recorder.seal_with(out, &options(run_id, redactable)))
        });
        let done = done.ok_or_else(|| PyValueError::new_err("the run is over"))?;
        done.map(|run| sealed(&run))
            .map_err(|error| raise(py, error))
    }

    fn drop(&self) {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        *recorder = None;
    }
}

/// The module `runseal._runseal`.
#[pymodule]
fn _runseal(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("RunsealError", module.py().get_type::<RunsealError>())?;
    module.add_class::<Run>()?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(inspect, module)?)?;
    module.add_function(wrap_pyfunction!(page, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(canon, module)?)?;
    module.add_function(wrap_pyfunction!(digest, module)?)?;
    module.add_function(wrap_pyfunction!(seal, module)?)?;
    Ok(())
}

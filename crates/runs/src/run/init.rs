//! Makes a new working engine: contracts, a program in one of four languages, a test input.

use std::path::Path;
use std::process::{Command, Stdio};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::formats::run_bundle::layout::{
    COUPLING_RULES, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA, SEALING_SPEC,
};
use runseal_core::source::SourceError;

use super::contracts::{Program, check_engine};
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};

/// What a new engine is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python, its standard library only.
    Python,
    /// POSIX shell and awk.
    Shell,
    /// Rust, built by `rustc` when the engine is made.
    Rust,
    /// JavaScript, run by Node.js.
    Node,
}

impl Language {
    /// The language with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "python" => Some(Self::Python),
            "sh" => Some(Self::Shell),
            "rust" => Some(Self::Rust),
            "node" => Some(Self::Node),
            _ => None,
        }
    }

    /// The program's file and its text.
    const fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("engine.py", include_str!("templates/engine.py")),
            Self::Shell => ("engine.sh", include_str!("templates/engine.sh")),
            Self::Rust => ("engine.rs", include_str!("templates/engine.rs.txt")),
            Self::Node => ("engine.mjs", include_str!("templates/engine.mjs")),
        }
    }

    const fn command(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python3", "engine.py"],
            Self::Shell => &["sh", "engine.sh"],
            Self::Rust => &["./engine"],
            Self::Node => &["node", "engine.mjs"],
        }
    }
}

/// Why no engine was made. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// It could not be written, or the target exists.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The folder is replaced as a whole, and somebody is in it.
    #[error("`{0}` is the current folder, and an engine's folder is put into place as a whole")]
    Here(String),
    /// No engine code can be derived from the folder's name.
    #[error("`{0}` has no letter of a to z and no digit to name an engine by")]
    Name(String),
    /// The program could not be built; says why.
    #[error("the engine could not be built: {0}")]
    Build(String),
    /// The result cannot be read as an engine.
    #[error(transparent)]
    Read(#[from] SourceError),
}

impl Diagnose for InitError {
    fn diagnosis(&self) -> Diagnosis {
        let unreadable = |code| Diagnosis::unreadable(self, code);
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Staging(StagingError::Write(error)) => error.diagnosis(),
            Self::Staging(StagingError::Exists(_)) => {
                unreadable("EXISTS").hint("name a new folder")
            }
            Self::Here(_) => unreadable("EXISTS")
                .hint("name a new folder, or change out of this one and name it"),
            Self::Name(_) => unreadable("NAME").hint("name a folder, such as `my-engine`"),
            Self::Build(_) => {
                unreadable("BUILD").hint("is Rust installed? `--lang sh` needs nothing")
            }
        }
    }
}

impl From<WriteError> for InitError {
    fn from(error: WriteError) -> Self {
        Self::Staging(error.into())
    }
}

/// Makes an engine at `target`, which must not exist or be an empty folder.
///
/// # Errors
/// [`InitError`]; nothing is left behind.
pub fn init_engine(target: &Path, language: Language) -> Result<(), InitError> {
    let place = Place::FreeOrEmptyFolder;
    check_place(target, place)?;
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    if let (Ok(here), Ok(real)) = (here, target.canonicalize())
        && here == real
    {
        return Err(InitError::Here(target.display().to_string()));
    }
    let name = target
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let code =
        derive_code(&name).ok_or_else(|| InitError::Name(name.escape_debug().to_string()))?;
    let staging = Staging::begin_beside(target)?;
    let (file, text) = language.program();
    let text = text.replace("ENGINE_CODE", &code);
    let readme = include_str!("templates/README.md").replace("ENGINE_NAME", &code);
    let manifest = make_manifest(&code, language);
    for (name, text) in [
        (MANIFEST, manifest.as_str()),
        (INPUT_SCHEMA, include_str!("templates/INPUT_SCHEMA.json")),
        (OUTPUT_SCHEMA, include_str!("templates/OUTPUT_SCHEMA.json")),
        (
            COUPLING_RULES,
            include_str!("../record/contracts/COUPLING_RULES.json"),
        ),
        (SEALING_SPEC, include_str!("templates/SEALING_SPEC.md")),
        ("README.md", readme.as_str()),
        ("input.json", include_str!("templates/input.json")),
        (file, text.as_str()),
    ] {
        staging.put(name, text.as_bytes())?;
    }
    if language == Language::Rust {
        build_rust(staging.path())?;
    } else {
        let path = staging.path().join(file);
        let rights = runseal_fs::handles::set_mode(&path, 0o755);
        rights.map_err(WriteError::at(&path))?;
    }
    staging.publish(target, (place, Rights::AsUmask), |staged| {
        let (report, _) = check_engine(staged, Program::NotAsked)?;
        match report.findings().first() {
            None => Ok(()),
            Some(fault) => Err(InitError::Build(fault.message.clone())),
        }
    })
}

/// Derives an engine code: `my-engine 2` becomes `MY_ENGINE_2`.
fn derive_code(name: &str) -> Option<String> {
    let word = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let code: String = name.chars().map(word).collect();
    let code = code.trim_matches('_').to_owned();
    (!code.is_empty()).then_some(code)
}

fn make_manifest(code: &str, language: Language) -> String {
    let mut manifest = Value::object([
        ("engine_code", code),
        ("engine_version", "1.0.0"),
        ("description", "Adds numbers up."),
    ]);
    let command = Value::array(language.command().iter().copied());
    manifest.insert("execution", Value::object([("command", command)]));
    // A manifest of plain ASCII always has a canonical form.
    let bytes = canonical_bytes(&manifest, Dialect::Kernel).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Builds the program with the user's `rustc`; nothing is downloaded.
fn build_rust(folder: &Path) -> Result<(), InitError> {
    let built = Command::new("rustc")
        .args(["--edition", "2021", "-O", "engine.rs", "-o", "engine"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    match built {
        Err(error) => Err(InitError::Build(format!(
            "rustc cannot be started: {error}"
        ))),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr)
                .trim()
                .escape_debug()
                .to_string();
            Err(InitError::Build(said))
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_code_comes_from_the_folders_name() {
        assert_eq!(derive_code("my-engine 2").as_deref(), Some("MY_ENGINE_2"));
        assert_eq!(derive_code("..."), None);
    }

    #[test]
    fn engine_is_never_made_over_something() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("adder");
        init_engine(&target, Language::Shell).unwrap();
        let again = init_engine(&target, Language::Shell);
        assert!(matches!(
            again,
            Err(InitError::Staging(StagingError::Exists(_)))
        ));
        let (report, engine) = check_engine(&target, Program::NotAsked).unwrap();
        assert!(report.is_valid());
        assert_eq!(engine.unwrap().code(), "ADDER");
    }
}

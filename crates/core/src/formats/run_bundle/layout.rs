//! The files of a run bundle (004, Directory Layout): names, roles, content types, and the id of
//! a run.

use std::fmt;

use crate::formats::redacted::documents::{REDACTED, REDACTION, REDACTION_SALT};

/// ENGINE_MANIFEST.json
pub const MANIFEST: &str = "ENGINE_MANIFEST.json";
/// INPUT_SCHEMA.json
pub const INPUT_SCHEMA: &str = "INPUT_SCHEMA.json";
/// OUTPUT_SCHEMA.json
pub const OUTPUT_SCHEMA: &str = "OUTPUT_SCHEMA.json";
/// COUPLING_RULES.json
pub const COUPLING_RULES: &str = "COUPLING_RULES.json";
/// SEALING_SPEC.md
pub const SEALING_SPEC: &str = "SEALING_SPEC.md";
/// RUN_INPUT.json
pub const RUN_INPUT: &str = "RUN_INPUT.json";
/// RUN_CONTEXT_STRIPPED.json
pub const CONTEXT_STRIPPED: &str = "RUN_CONTEXT_STRIPPED.json";
/// RUN_PARAMETERS.json
pub const RUN_PARAMETERS: &str = "RUN_PARAMETERS.json";
/// RUN_OUTPUT.json
pub const RUN_OUTPUT: &str = "RUN_OUTPUT.json";
/// ARTIFACT_INDEX.json
pub const ARTIFACT_INDEX: &str = "ARTIFACT_INDEX.json";
/// INPUT_ARTIFACT_INDEX.json
pub const INPUT_ARTIFACT_INDEX: &str = "INPUT_ARTIFACT_INDEX.json";
/// SHA256SUMS.txt
pub const SUMS: &str = "SHA256SUMS.txt";
/// RUN_META.json
pub const RUN_META: &str = "RUN_META.json";
/// RUN_ENVIRONMENT.json
pub const RUN_ENVIRONMENT: &str = "RUN_ENVIRONMENT.json";
/// The standard input of a recorded command, if any.
pub const STDIN: &str = "stdin.bin";
/// The recorded model calls of a recorded command, if any; large bodies are next to it, in
/// [`MODEL_BODIES_FOLDER`].
pub const MODEL_IO: &str = "model_io.json";
/// The folder of bodies that are too large for [`MODEL_IO`], each named by its SHA-256.
pub const MODEL_BODIES_FOLDER: &str = "model_io.bodies";
/// The folder of the engine's or project's files that the run read.
pub const ENGINE_FOLDER: &str = "engine";
/// The folder of files that a recorded command was given by name and read.
pub const INPUTS_FOLDER: &str = "inputs";
/// The folder of what a recorded command printed.
pub const LOGS_FOLDER: &str = "logs";
/// What a recorded command printed on standard output.
pub const STDOUT_LOG: &str = "logs/stdout.txt";
/// What a recorded command printed on standard error.
pub const STDERR_LOG: &str = "logs/stderr.txt";
/// What a recorded command showed on its terminal, with times (asciicast, version 2).
pub const TERMINAL_LOG: &str = "logs/terminal.cast";
/// The folder of the exact bytes of JSON files that are not JCS: `exact/<path>.bytes` for the file
/// at `<path>`, which is stored as its JCS.
pub const EXACT_FOLDER: &str = "exact";
/// The folder of what the engine wrote besides its output.
pub const ARTIFACTS_FOLDER: &str = "artifacts";
/// The folder of what came from other engines' runs.
pub const UPSTREAM_FOLDER: &str = "upstream";
/// The folder of files from outside the command's folder, at their absolute paths.
pub const ENVIRONMENT_FOLDER: &str = "environment";

/// The five contracts, in the document's order.
pub const CONTRACTS: [&str; 5] = [
    MANIFEST,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    SEALING_SPEC,
];

/// The folder in which runs lie, each in a folder of its id (004, Directory Layout).
const FOLDER_OF_RUNS: &str = "RUN_BUNDLE";

/// The name of the folder at `path`, if it lies in a folder of runs.
pub fn name_among_runs(path: &str) -> Option<&str> {
    let mut segments = path.trim_end_matches('/').rsplit('/');
    let name = segments
        .next()
        .filter(|name| !matches!(*name, "." | ".."))?;
    (segments.next() == Some(FOLDER_OF_RUNS)).then_some(name)
}

/// Every file that a run bundle must have.
pub const REQUIRED: [&str; 10] = [
    MANIFEST,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    SEALING_SPEC,
    RUN_INPUT,
    RUN_OUTPUT,
    ARTIFACT_INDEX,
    SUMS,
    RUN_META,
];

/// The name of the canonicalization, in RUN_META.json.
pub const CANONICALIZATION: &str = "JCS_RFC8785";
/// The name of the hash algorithm, in RUN_META.json.
pub const HASH_ALGORITHM: &str = "sha256";

/// The role of a file in a run (004, ARTIFACT_INDEX.json).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Copied from the engine.
    Contract,
    /// What the engine was given.
    Input,
    /// What the engine answered.
    Output,
    /// What the sealing recorded about the run.
    Meta,
    /// A list of other files.
    Index,
    /// What the engine wrote besides its output.
    Artifact,
    /// A file of the engine or project that the run read.
    Engine,
    /// What a recorded command printed.
    Log,
    /// A file from outside the command's folder that no package of the system owns.
    Environment,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 9] = [
        Self::Contract,
        Self::Input,
        Self::Output,
        Self::Meta,
        Self::Index,
        Self::Artifact,
        Self::Engine,
        Self::Log,
        Self::Environment,
    ];

    /// The name in the index.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "CONTRACT",
            Self::Input => "INPUT",
            Self::Output => "OUTPUT",
            Self::Meta => "META",
            Self::Index => "INDEX",
            Self::Artifact => "ARTIFACT",
            Self::Engine => "ENGINE",
            Self::Log => "LOG",
            Self::Environment => "ENVIRONMENT",
        }
    }

    /// Parses the name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// The role of the file at `path`; `None` at a place unknown to the format. Whether a bundle
    /// may have the place depends on the kind of its run ([`RunKind`](super::reading::RunKind)).
    pub fn of_path(path: &str) -> Option<Self> {
        Some(match path {
            _ if CONTRACTS.contains(&path) => Self::Contract,
            RUN_INPUT | CONTEXT_STRIPPED | RUN_PARAMETERS | STDIN | MODEL_IO => Self::Input,
            RUN_OUTPUT => Self::Output,
            RUN_META | RUN_ENVIRONMENT | REDACTION | REDACTION_SALT | REDACTED => Self::Meta,
            ARTIFACT_INDEX | SUMS | INPUT_ARTIFACT_INDEX => Self::Index,
            _ => return Self::of_folder(path.strip_prefix("exact/").unwrap_or(path)),
        })
    }

    fn of_folder(path: &str) -> Option<Self> {
        Some(match path.split_once('/')?.0 {
            ARTIFACTS_FOLDER => Self::Artifact,
            UPSTREAM_FOLDER | INPUTS_FOLDER | MODEL_BODIES_FOLDER => Self::Input,
            ENGINE_FOLDER => Self::Engine,
            LOGS_FOLDER => Self::Log,
            ENVIRONMENT_FOLDER => Self::Environment,
            _ => return None,
        })
    }
}

/// Whether a file counts as JSON, by the end of its name.
pub fn is_json(path: &str) -> bool {
    path.ends_with(".json")
}

/// Where the exact bytes of the JSON file at `path` are, if they are not its JCS.
pub fn exact_path(path: &str) -> String {
    format!("{EXACT_FOLDER}/{path}.bytes")
}

/// The JSON file whose exact bytes are at `path`, if it is such a place.
pub fn path_of_exact(path: &str) -> Option<&str> {
    let inner = path.strip_prefix("exact/")?.strip_suffix(".bytes")?;
    is_json(inner).then_some(inner)
}

/// The place in the bundle of the file whose exact bytes are at `stored`; differs from `stored`
/// only in [`EXACT_FOLDER`].
pub fn place_of_stored(stored: &str) -> &str {
    let exact = stored.strip_prefix("exact/");
    let raw = exact.and_then(|inner| inner.strip_suffix(".raw"));
    let place = path_of_exact(stored).or(raw.filter(|inner| is_json(inner)));
    place.unwrap_or(stored)
}

/// The content type of a file, by the end of its name.
pub fn content_type_of(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("json") => "application/json",
        Some("md") => "text/markdown",
        Some("txt") => "text/plain",
        Some("csv") => "text/csv",
        Some("html") => "text/html",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// The id of a run: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`. It names a folder, so nothing else passes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

/// A text that is not a run id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a run id: a letter or digit, then up to 99 letters, digits, `.`, `_` or `-`",
    .0.escape_debug()
)]
pub struct BadRunId(String);

impl RunId {
    /// Parses `text`.
    pub fn parse(text: &str) -> Result<Self, BadRunId> {
        let first = text
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric());
        let rest = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if first && text.len() <= 100 && text.bytes().all(rest) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadRunId(text.to_owned()))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_taken_below_a_folder_of_runs_alone() {
        for (path, name) in [
            ("RUN_BUNDLE/run_1", Some("run_1")),
            ("/x/RUN_BUNDLE/run_1/", Some("run_1")),
            ("RUN_BUNDLE", None),
            ("RUN_BUNDLE/..", None),
            ("RUN_BUNDLE/x/run_1", None),
            ("MY_RUN_BUNDLE/run_1", None),
            ("run_1", None),
            ("", None),
        ] {
            assert_eq!(name_among_runs(path), name, "{path}");
        }
    }

    #[test]
    fn run_id_matches_pattern() {
        let longest = format!("a{}", "b".repeat(99));
        for good in [
            "a",
            "0",
            "run_20260101T000000Z_0a1b2c3d",
            "a..b",
            "A-b.c_d",
            &longest,
        ] {
            assert_eq!(RunId::parse(good).unwrap().as_str(), good);
        }
        let too_long = format!("a{}", "b".repeat(100));
        for bad in [
            "", ".", "..", "-a", "_a", "a/b", "../a", "a b", "a\n", "ä", "a\0", &too_long,
        ] {
            assert!(RunId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn role_of_each_path_follows_rulings() {
        for contract in CONTRACTS {
            assert_eq!(Role::of_path(contract), Some(Role::Contract));
        }
        for (path, role) in [
            ("RUN_INPUT.json", Role::Input),
            ("RUN_CONTEXT_STRIPPED.json", Role::Input),
            ("RUN_PARAMETERS.json", Role::Input),
            ("upstream/E/r/RUN_OUTPUT.json", Role::Input),
            ("RUN_OUTPUT.json", Role::Output),
            ("RUN_META.json", Role::Meta),
            ("INPUT_ARTIFACT_INDEX.json", Role::Index),
            ("artifacts/RUN_OUTPUT.json", Role::Artifact),
            ("artifacts/x", Role::Artifact),
            ("RUN_ENVIRONMENT.json", Role::Meta),
            ("engine/RUN_INPUT.json", Role::Engine),
            ("exact/engine/a.json.bytes", Role::Engine),
            ("inputs/a.csv", Role::Input),
            ("stdin.bin", Role::Input),
            ("model_io.json", Role::Input),
            ("model_io.bodies/00", Role::Input),
            ("artifacts/model_io.json", Role::Artifact),
            ("logs/stdout.txt", Role::Log),
            ("logs/terminal.cast", Role::Log),
            ("exact/artifacts/a.json.bytes", Role::Artifact),
            ("environment/opt/tool/x", Role::Environment),
        ] {
            assert_eq!(Role::of_path(path), Some(role), "{path}");
        }
        for path in [
            "engine",
            "x/stdout.txt",
            "RUN_NOTES.json",
            "exact/x",
            "outputs/a",
        ] {
            assert_eq!(Role::of_path(path), None, "{path}");
        }
        for role in Role::ALL {
            assert_eq!(Role::parse(role.name()), Some(role));
        }
        assert_eq!(Role::parse("artifact"), None);
    }

    #[test]
    fn content_type_depends_on_ending() {
        for (path, wanted) in [
            ("a.json", "application/json"),
            ("SEALING_SPEC.md", "text/markdown"),
            ("a/b.txt", "text/plain"),
            ("a.csv", "text/csv"),
            ("a.html", "text/html"),
            ("a.png", "image/png"),
            ("plot.svg", "image/svg+xml"),
            ("a.PNG", "application/octet-stream"),
            ("json", "application/octet-stream"),
            ("a.json/b", "application/octet-stream"),
            ("a.tar.gz", "application/octet-stream"),
        ] {
            assert_eq!(content_type_of(path), wanted, "{path}");
        }
    }
}

//! What a bundle says about its run, read in the same way by everything that judges, shows or
//! replays it.
//!
//! [`RunKind`] is decided only here. The command that is shown and executed, the ending of the run
//! and the places that the bundle may have all follow from it. The roles in ARTIFACT_INDEX.json are
//! compared with that (RB11) and never used.

use super::layout::{
    ARTIFACTS_FOLDER, ENGINE_FOLDER, ENVIRONMENT_FOLDER, EXACT_FOLDER, INPUT_ARTIFACT_INDEX,
    INPUTS_FOLDER, LOGS_FOLDER, MANIFEST, MODEL_BODIES_FOLDER, MODEL_IO, RUN_ENVIRONMENT,
    RUN_INPUT, RUN_OUTPUT, RUN_PARAMETERS, Role, STDERR_LOG, STDIN, STDOUT_LOG, TERMINAL_LOG,
    UPSTREAM_FOLDER, place_of_stored,
};
use super::recorded::RECORDED_COMMAND;
use crate::canon::Node;
use crate::formats::definition::{Ended, FAILED, INTERRUPTED, Outcome};
use crate::formats::redacted::commit::MARKER;

/// The kind of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A command that was run and observed, unchanged.
    Recorded,
    /// A run that its own program described; it is never executed again.
    Declared,
    /// A run of an engine, on RUN_INPUT.json.
    Engine,
}

/// What ENGINE_MANIFEST.json says about the kind of its run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindClaims {
    /// The engine code is the one reserved for recorded commands.
    pub has_code: bool,
    /// `execution.recorded` is true.
    pub is_recorded: bool,
    /// `execution.declared` is true.
    pub is_declared: bool,
}

impl KindClaims {
    /// The claims of a manifest.
    pub fn of_manifest(manifest: Node<'_>) -> Self {
        let code = manifest.get("engine_code").and_then(|node| node.as_str());
        let has_code = code.as_deref() == Some(RECORDED_COMMAND);
        let execution = manifest.get("execution");
        let is_true = |name: &str| {
            execution.and_then(|execution| execution.get(name)?.as_bool()) == Some(true)
        };
        // A redacted copy may withhold the mark, but never the code.
        let is_recorded = is_true("recorded") || has_code && withholds(execution, "recorded");
        Self {
            has_code,
            is_recorded,
            is_declared: is_true("declared"),
        }
    }

    /// The kind that follows from the claims. If they contradict each other, it is the one that
    /// promises least: an engine's run.
    pub fn kind(self) -> RunKind {
        match (self.has_code, self.is_recorded, self.is_declared) {
            (true, true, false) => RunKind::Recorded,
            (false, false, true) => RunKind::Declared,
            _ => RunKind::Engine,
        }
    }

    /// The fault, if the claims contradict each other.
    pub fn contradiction(self) -> Option<&'static str> {
        match (self.has_code, self.is_recorded, self.is_declared) {
            (true, false, _) => Some(
                "engine_code RECORDED_COMMAND is for recorded commands, but execution.recorded is not true",
            ),
            (false, true, _) => {
                Some("execution.recorded is true, but engine_code is not RECORDED_COMMAND")
            }
            (true, true, true) => Some("execution says both recorded and declared"),
            _ => None,
        }
    }
}

impl RunKind {
    /// The kind that follows from a manifest.
    pub fn of_manifest(manifest: Node<'_>) -> Self {
        KindClaims::of_manifest(manifest).kind()
    }

    /// Whether a bundle of this kind may have a file at `path`.
    fn has_place_for(self, path: &str) -> bool {
        let place = place_of_stored(path);
        if place != path {
            // Only files of users have separate exact bytes.
            let folders = [
                ENGINE_FOLDER,
                INPUTS_FOLDER,
                ARTIFACTS_FOLDER,
                ENVIRONMENT_FOLDER,
            ];
            let mut folders = folders.into_iter();
            return folders.any(|folder| is_below(place, folder)) && self.has_place_for(place);
        }
        if matches!(path, RUN_PARAMETERS | INPUT_ARTIFACT_INDEX) || is_below(path, UPSTREAM_FOLDER)
        {
            return self == Self::Engine;
        }
        let is_log = matches!(path, STDOUT_LOG | STDERR_LOG | TERMINAL_LOG);
        let is_of_command = is_log
            || matches!(path, STDIN | MODEL_IO)
            || is_below(path, INPUTS_FOLDER)
            || is_below(path, MODEL_BODIES_FOLDER);
        if is_of_command {
            return self == Self::Recorded;
        }
        let is_elsewhere = is_below(path, LOGS_FOLDER) || is_below(path, EXACT_FOLDER);
        !is_elsewhere && Role::of_path(path).is_some()
    }
}

/// Whether a redacted copy withholds this member of `execution`, or all of `execution`.
fn withholds(execution: Option<Node<'_>>, name: &str) -> bool {
    let mark = execution.and_then(|execution| execution.get(name));
    [execution, mark].into_iter().flatten().any(is_marker)
}

/// Whether `node` is what stands in place of something withheld.
pub(crate) fn is_marker(node: Node<'_>) -> bool {
    node.len() == 1 && node.get(MARKER).is_some()
}

/// Whether `node` is or contains a marker of something withheld.
pub(super) fn has_marker(node: Node<'_>) -> bool {
    is_marker(node)
        || node.members().any(|(_, value)| has_marker(value))
        || node.items().any(has_marker)
}

fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// How a run ended, as far as its kind says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    /// The command exited with this status; it failed if that is not 0.
    Exited(i64),
    /// The command was ended by this signal.
    Signaled(i64),
    /// Somebody interrupted it with this signal, however it ended then.
    Interrupted(i64),
    /// It failed, without saying how.
    Failed,
    /// An engine answered, or a program says that its run did not fail.
    Completed,
    /// There is no output, or it does not say.
    Unknown,
}

impl RunEnding {
    /// Whether the run failed.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Exited(status) => status != 0,
            Self::Signaled(_) | Self::Interrupted(_) | Self::Failed => true,
            Self::Completed | Self::Unknown => false,
        }
    }

    /// The ending in the terms that all formats share.
    pub(super) fn ended(self) -> Ended {
        let outcome = match self {
            Self::Unknown => Outcome::Unknown,
            ending if ending.is_failure() => Outcome::Failed,
            _ => Outcome::Succeeded,
        };
        Ended {
            word: match self {
                Self::Interrupted(_) => Some(INTERRUPTED),
                _ => self.is_failure().then_some(FAILED),
            },
            outcome: Some(outcome),
        }
    }
}

/// What RUN_OUTPUT.json says about how the run ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndingClaims {
    /// The exit status.
    pub exit_status: Option<i64>,
    /// The signal.
    pub signal: Option<i64>,
    /// The signal by which it was interrupted.
    pub interrupted: Option<i64>,
    /// The member `failed`.
    pub failed: Option<bool>,
}

impl EndingClaims {
    /// The claims of an output.
    pub fn of_output(output: Node<'_>) -> Self {
        let number = |name: &str| output.get(name)?.as_number()?.to_exact_i64();
        Self {
            exit_status: number("exit_status"),
            signal: number("signal"),
            interrupted: number("interrupted"),
            failed: output.get("failed").and_then(|node| node.as_bool()),
        }
    }

    /// How a run of this kind ended. If the claims contradict each other (RB15), it failed. An
    /// engine's run is sealed only if it has completed, so of its output only a claim of failure
    /// counts.
    pub fn ending(self, kind: RunKind) -> RunEnding {
        if let (RunKind::Recorded, Some(signal)) = (kind, self.interrupted) {
            return RunEnding::Interrupted(signal);
        }
        match (kind, self.signal, self.exit_status) {
            (RunKind::Engine, ..) => match self.ending(RunKind::Recorded) {
                ending if ending.is_failure() => ending,
                _ => RunEnding::Completed,
            },
            (RunKind::Declared, ..) => match self.failed {
                Some(true) => RunEnding::Failed,
                Some(false) => RunEnding::Completed,
                None => RunEnding::Unknown,
            },
            (RunKind::Recorded, Some(signal), _) => RunEnding::Signaled(signal),
            (RunKind::Recorded, None, Some(0)) if self.failed == Some(true) => RunEnding::Failed,
            (RunKind::Recorded, None, Some(status)) => RunEnding::Exited(status),
            (RunKind::Recorded, None, None) if self.failed == Some(true) => RunEnding::Failed,
            (RunKind::Recorded, None, None) => RunEnding::Unknown,
        }
    }
}

/// What a bundle says about its run.
#[derive(Debug, Clone, Copy)]
pub struct RunReading<'a> {
    kind: RunKind,
    manifest: Option<Node<'a>>,
    input: Option<Node<'a>>,
    output: Option<Node<'a>>,
    lists_files: bool,
}

impl<'a> RunReading<'a> {
    /// Reads the documents of a bundle by name; a missing one is `None`.
    pub fn new(document: impl Fn(&str) -> Option<Node<'a>>) -> Self {
        let (manifest, output) = (document(MANIFEST), document(RUN_OUTPUT));
        let mut claims = manifest.map(KindClaims::of_manifest).unwrap_or_default();
        // If it is withheld there, it is still stated here.
        let execution = manifest.and_then(|manifest| manifest.get("execution"));
        let said = output.and_then(|output| output.get("declared")?.as_bool());
        claims.is_declared |= said == Some(true) && withholds(execution, "declared");
        let kind = claims.kind();
        Self {
            kind,
            manifest,
            input: document(RUN_INPUT),
            output,
            lists_files: kind == RunKind::Recorded || document(RUN_ENVIRONMENT).is_some(),
        }
    }

    /// What kind of run it is.
    pub fn kind(&self) -> RunKind {
        self.kind
    }

    /// The command that a replay executes: the list of its words.
    pub fn command(&self) -> Option<Node<'a>> {
        match self.kind {
            RunKind::Recorded => self.input?.get("argv"),
            RunKind::Engine | RunKind::Declared => self.manifest?.get("execution")?.get("command"),
        }
    }

    /// How the run ended. Without a manifest, any claim of failure counts.
    pub fn ending(&self) -> RunEnding {
        let Some(claims) = self.output.map(EndingClaims::of_output) else {
            return RunEnding::Unknown;
        };
        match (self.manifest, claims.ending(RunKind::Recorded)) {
            (Some(_), _) => claims.ending(self.kind),
            (None, ending) if ending.is_failure() => ending,
            (None, _) => RunEnding::Unknown,
        }
    }

    /// The role of the file at `path` in this run; `None` if the bundle has no place for it.
    pub fn role_of(&self, path: &str) -> Option<Role> {
        let is_named = self.lists_files || !is_listed_place(path, self.kind);
        let is_named = is_named && !self.withholds_list_of(path);
        Role::of_path(path).filter(|_| is_named && self.kind.has_place_for(path))
    }

    /// Whether a redacted copy withholds the list that would say that the command wrote the file at
    /// `path`. If so, the file is not a result.
    fn withholds_list_of(&self, path: &str) -> bool {
        let member = match place_of_stored(path) {
            STDOUT_LOG => "stdout",
            STDERR_LOG => "stderr",
            place if is_below(place, ARTIFACTS_FOLDER) => "outputs",
            _ => return false,
        };
        let list = self.output.and_then(|output| output.get(member));
        self.kind == RunKind::Recorded && list.is_some_and(is_marker)
    }

    /// Whether a replay of this run neither uses nor compares the file at `path`. The documents of
    /// the format describe the run; everything else is given to the command or comes from it.
    pub fn is_unused(&self, path: &str) -> bool {
        self.role_of(path).is_none()
    }
}

/// Whether every file at a place like `path` must be in a list, in a run of this kind.
pub(super) fn is_listed_place(path: &str, kind: RunKind) -> bool {
    match path.split_once('/').map(|(folder, _)| folder) {
        Some(ENGINE_FOLDER | INPUTS_FOLDER | LOGS_FOLDER | EXACT_FOLDER) => true,
        Some(ARTIFACTS_FOLDER | ENVIRONMENT_FOLDER) => kind == RunKind::Recorded,
        Some(_) => false,
        None => kind == RunKind::Recorded && path == STDIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    fn with<T>(text: &str, look: impl FnOnce(Node<'_>) -> T) -> T {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        look(document.root())
    }

    #[test]
    fn run_kind_requires_consistent_claims() {
        use RunKind::{Declared, Engine, Recorded};
        for (text, kind, is_contradicted) in [
            (
                r#"{"engine_code":"RECORDED_COMMAND","execution":{"recorded":true}}"#,
                Recorded,
                false,
            ),
            (
                r#"{"engine_code":"OTHER","execution":{"recorded":true}}"#,
                Engine,
                true,
            ),
            (
                r#"{"engine_code":"RECORDED_COMMAND","execution":{"recorded":"true"}}"#,
                Engine,
                true,
            ),
            (r#"{"engine_code":"RECORDED_COMMAND"}"#, Engine, true),
            (
                r#"{"engine_code":"RECORDED_COMMAND","execution":{"declared":true}}"#,
                Engine,
                true,
            ),
            (
                r#"{"engine_code":"RECORDED_COMMAND","execution":{"declared":true,"recorded":true}}"#,
                Engine,
                true,
            ),
            (
                r#"{"engine_code":"MINE","execution":{"declared":true}}"#,
                Declared,
                false,
            ),
            (r#"{"engine_code":"MINE","execution":{}}"#, Engine, false),
            ("[]", Engine, false),
        ] {
            let claims = with(text, KindClaims::of_manifest);
            assert_eq!(claims.kind(), kind, "{text}");
            assert_eq!(claims.contradiction().is_some(), is_contradicted, "{text}");
        }
    }

    #[test]
    fn command_failed_if_any_claim_says_so() {
        let of = |kind, text: &str| with(text, EndingClaims::of_output).ending(kind);
        let recorded = |text: &str| of(RunKind::Recorded, text);
        for (text, ending) in [
            (r#"{"exit_status":0,"failed":false}"#, RunEnding::Exited(0)),
            (r#"{"exit_status":3,"failed":false}"#, RunEnding::Exited(3)),
            (r#"{"exit_status":0,"failed":true}"#, RunEnding::Failed),
            (r#"{"exit_status":0,"signal":9}"#, RunEnding::Signaled(9)),
            (r#"{"failed":false}"#, RunEnding::Unknown),
            (
                r#"{"exit_status":0,"failed":true,"interrupted":2}"#,
                RunEnding::Interrupted(2),
            ),
        ] {
            assert_eq!(recorded(text), ending, "{text}");
        }
        let failed = r#"{"exit_status":3,"failed":true,"signal":9}"#;
        assert_eq!(of(RunKind::Engine, failed), RunEnding::Signaled(9));
        assert_eq!(
            of(RunKind::Engine, r#"{"failed":false}"#),
            RunEnding::Completed
        );
        assert_eq!(of(RunKind::Declared, failed), RunEnding::Failed);
    }

    #[test]
    fn places_depend_on_run_kind() {
        use RunKind::{Declared, Engine, Recorded};
        for (path, kinds) in [
            ("RUN_OUTPUT.json", &[Recorded, Declared, Engine][..]),
            ("artifacts/x", &[Recorded, Declared, Engine]),
            ("engine/x.json", &[Recorded, Declared, Engine]),
            ("exact/engine/x.json.bytes", &[Recorded, Declared, Engine]),
            ("environment/opt/x", &[Recorded, Declared, Engine]),
            ("exact/inputs/x.json.raw", &[Recorded]),
            ("logs/stdout.txt", &[Recorded]),
            ("logs/terminal.cast", &[Recorded]),
            ("logs/other.txt", &[]),
            ("stdin.bin", &[Recorded]),
            ("model_io.json", &[Recorded]),
            ("upstream/E/r/x", &[Engine]),
            ("RUN_PARAMETERS.json", &[Engine]),
            ("exact/RUN_OUTPUT.json.bytes", &[]),
            ("exact/logs/stdout.txt", &[]),
            ("x/stdout.txt", &[]),
            ("outputs/result.csv", &[]),
            ("RUN_NOTES.json", &[]),
            ("Artifacts/x", &[]),
            ("artifacts", &[]),
        ] {
            for kind in [Recorded, Declared, Engine] {
                assert_eq!(
                    kind.has_place_for(path),
                    kinds.contains(&kind),
                    "{path} {kind:?}"
                );
            }
        }
    }

    #[test]
    fn unlisted_files_have_no_role() {
        let text = r#"{"engine_code":"E","execution":{"command":["x"]}}"#;
        with(text, |manifest| {
            let alone = RunReading::new(|name| (name == MANIFEST).then_some(manifest));
            assert_eq!(alone.role_of("engine/x"), None);
            assert!(alone.is_unused("engine/x") && !alone.is_unused("artifacts/x"));
            let listed = RunReading::new(|name| (name != RUN_INPUT).then_some(manifest));
            assert_eq!(listed.role_of("engine/x"), Some(Role::Engine));
        });
    }
}

//! From one run of a command to its sealed run bundle.

mod files;

use std::path::PathBuf;

use globset::GlobSet;
use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    CONTEXT_STRIPPED, ENGINE_FOLDER, INPUTS_FOLDER, RUN_ENVIRONMENT, RUN_INPUT, RUN_META,
    RUN_OUTPUT, RunId,
};
use runseal_core::formats::run_bundle::outputs::{HashScope, compute_outputs_hash};
use runseal_core::formats::run_bundle::recorded::{CaptureGap, RECORDED_COMMAND, RECORDED_VERSION};
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::verify::Finding;
use runseal_sandbox::{CancelToken, Ending, Limit, Observation, Sandbox};

use super::accesses::{Accesses, Places, sort_accesses};
use super::contracts::make_contracts;
use super::documents::{TakenIn, make_input, make_output};
use super::environment::{Circumstances, PackageReader, list_machine, make_environment};
pub use super::error::RecordError;
use super::repeat::{Varying, repeat_command};
use super::run::{Command, CommandRun, Watching, run_command};
use crate::directory::{DirectorySource, RootLink};
use crate::models::ModelTraffic;
use crate::run::command::compute_executable;
use crate::run::seal::{make_meta, verify_staged};
use crate::run::staging::RunFiles;
pub(crate) use files::output_path;

/// What to record, and where to seal it.
#[derive(Debug)]
pub struct RecordRequest {
    /// The command.
    pub command: Command,
    /// The folder of run bundles, as an absolute path.
    pub out: PathBuf,
    /// The run's id, where it was given.
    pub run_id: Option<RunId>,
    /// Which of the files that it writes become artifacts; all where nothing is said.
    pub keep: Option<GlobSet>,
    /// Files that it read and that have more bytes than this are not sealed, only their hashes.
    pub reference_above: Option<u64>,
    /// Whether a command that failed is sealed too.
    pub keep_failed: bool,
    /// How often it is run; the first run is sealed.
    pub times: u32,
    /// Now.
    pub now: Moment,
}

/// A recorded command that was sealed.
#[derive(Debug)]
pub struct SealedCommand {
    /// The run's id.
    pub run_id: RunId,
    /// Where the bundle is.
    pub path: PathBuf,
    /// The output's hash.
    pub outputs_hash: String,
    /// How the command ended.
    pub ending: Ending,
    /// How many files it read, in the folder and among the inputs.
    pub read: usize,
    /// The paths of its artifacts.
    pub written: Vec<String>,
    /// How many files of the machine it used.
    pub outside: usize,
    /// How many calls to models it made, where they were recorded.
    pub calls: Option<usize>,
    /// What was not seen.
    pub gaps: Vec<CaptureGap>,
    /// What further runs gave beside it.
    pub varying: Varying,
    /// The run, for what is done with it afterwards.
    pub run: CommandRun,
}

/// Runs the command and seals the run.
pub fn record_command(
    request: &RecordRequest,
    sandbox: &Sandbox,
    watching: &Watching,
) -> Result<SealedCommand, RecordError> {
    if let Some(run_id) = &request.run_id {
        RunFiles::check_free(&request.out, run_id)?;
    }
    let has_bundles = request.out.exists();
    let packages = PackageReader::start();
    let run = run_command(&request.command, sandbox, watching)?;
    let failure = describe_failure(run.recorded.outcome.ending, &request.command);
    let is_stopped = matches!(run.recorded.outcome.ending, Ending::Stopped(_));
    if let Some(how) = failure
        && (!request.keep_failed || is_stopped)
    {
        return Err(RecordError::Failed {
            how,
            stderr: run.recorded.outcome.stderr.bytes,
        });
    }
    let models = match &request.command.models {
        Some(session) => Some(session.finish().map_err(RecordError::Models)?),
        None => None,
    };
    // Before anything is written: further runs have to find the folder as the first one did.
    let varying = repeat_command(request, &run, sandbox, watching, request.times)?;
    let sealing = Sealing {
        request,
        has_bundles,
        cancel: watching.cancel.as_ref(),
        files: RunFiles::begin(&request.out)?,
        models,
    };
    sealing.seal(run, varying, packages)
}

/// How a command failed, if it did.
pub(crate) fn describe_failure(ending: Ending, command: &Command) -> Option<String> {
    let limits = &command.limits;
    Some(match ending {
        Ending::Exited(0) => return None,
        Ending::Exited(code) => format!("ended with exit status {code}"),
        Ending::Signaled(25) => format!("wrote a file of more than {} bytes", limits.file_bytes),
        Ending::Signaled(signal) => format!("was ended by signal {signal}"),
        Ending::Stopped(limit) => match limit {
            Limit::WallTime => format!("ran longer than {} s", limits.wall_time.as_secs_f64()),
            Limit::Stdout => format!("printed more than {} bytes", limits.stdout_bytes),
            Limit::Stderr => format!("complained in more than {} bytes", limits.stderr_bytes),
            Limit::Memory => format!("used more than {} bytes of memory", limits.memory_bytes),
            Limit::WorkBytes => format!("wrote more than {} bytes", limits.work_bytes),
            Limit::WorkFiles => format!("wrote more than {} files", limits.work_files),
        },
    })
}

struct Sealing<'a> {
    request: &'a RecordRequest,
    /// Whether the folder of bundles was there when the command ran.
    has_bundles: bool,
    cancel: Option<&'a CancelToken>,
    files: RunFiles,
    /// What models were asked, where that was recorded.
    models: Option<ModelTraffic>,
}

impl Sealing<'_> {
    fn seal(
        mut self,
        run: CommandRun,
        varying: Varying,
        packages: PackageReader,
    ) -> Result<SealedCommand, RecordError> {
        let request = self.request;
        let command = &request.command;
        let inputs: Vec<PathBuf> = command
            .inputs
            .iter()
            .map(|input| {
                input
                    .host
                    .canonicalize()
                    .unwrap_or_else(|_| input.host.clone())
            })
            .collect();
        let places = Places {
            folder: &command.folder,
            inputs: &inputs,
            out: (!self.has_bundles).then_some(request.out.as_path()),
            shown: &run.shown,
        };
        let mut accesses = sort_accesses(&run, places)?;
        let contracts = make_contracts(&command.argv, &command.parameters)?;
        for (name, bytes) in &contracts {
            self.files.put_bytes(name, bytes)?;
        }
        let files = self.put_all(&accesses.files, ENGINE_FOLDER)?;
        let named = self.put_all(&accesses.inputs, INPUTS_FOLDER)?;
        let stdin = self.put_stdin()?;
        let (model_io, calls) = self.put_models()?.unzip();
        for gap in self.models.iter().flat_map(|models| &models.gaps) {
            accesses.gaps.insert(CaptureGap {
                kind: "model-traffic".to_owned(),
                detail: gap.clone(),
            });
        }
        let taken = TakenIn {
            command,
            files: &files,
            inputs: &named,
            links: accesses.links.iter().collect(),
            stdin,
            model_io,
        };
        let input = canonical_bytes(&make_input(&taken), Dialect::Jcs)?;
        let inputs_hash = Digest::of(&input);
        self.files.put_bytes(RUN_INPUT, &input)?;
        let nothing = Value::Array(Vec::new());
        self.files
            .put_json(CONTEXT_STRIPPED, &Value::object([("stripped", nothing)]))?;
        let given = self.put_outputs(&run, &mut accesses)?;
        let written: Vec<String> = given.outputs.iter().map(|file| file.path.clone()).collect();
        let mut output = make_output(&given);
        output.insert("inputs_hash", inputs_hash.to_string());
        let outputs_hash = compute_outputs_hash(&output, HashScope::Document)?;
        let outputs_hash = outputs_hash
            .map(|hash| hash.to_string())
            .unwrap_or_default();
        output.insert("outputs_hash", outputs_hash.as_str());
        self.files.put_json(RUN_OUTPUT, &output)?;
        for file in files
            .iter()
            .chain(&named)
            .filter(|file| file.stored.is_none())
        {
            accesses.gaps.insert(CaptureGap {
                kind: "referenced".to_owned(),
                detail: format!("`{}` is not in the bundle, only its hash", file.path),
            });
        }
        for name in command.secrets.keys() {
            accesses.gaps.insert(CaptureGap {
                kind: "secret".to_owned(),
                detail: format!(
                    "the variable `{name}` was given and its value is not in the bundle"
                ),
            });
        }
        let outside = self.put_environment(&run, &mut accesses, packages)?;
        let run_id = self.put_meta(&inputs_hash, &contracts)?;
        self.files.put_lists()?;
        self.check_interrupted()?;
        let path = self
            .files
            .seal(&run_id, verify_staged)
            .map_err(RecordError::from)?;
        Ok(SealedCommand {
            run_id,
            path,
            outputs_hash,
            ending: run.recorded.outcome.ending,
            read: files.len() + named.len(),
            written,
            outside,
            calls,
            gaps: accesses.gaps.into_iter().collect(),
            varying,
            run,
        })
    }

    fn check_interrupted(&self) -> Result<(), RecordError> {
        match self.cancel.is_some_and(CancelToken::is_cancelled) {
            true => Err(RecordError::Interrupted),
            false => Ok(()),
        }
    }

    fn put_environment(
        &mut self,
        run: &CommandRun,
        accesses: &mut Accesses,
        packages: PackageReader,
    ) -> Result<usize, RecordError> {
        let (machine, gaps) = list_machine(&accesses.outside, packages);
        accesses.gaps.extend(gaps);
        let seen = Circumstances {
            isolation: run.isolation,
            observation: run.observation(),
            gaps: &accesses.gaps,
            machine: &machine,
            variables: &run.environment,
            folder: Some(&self.request.command.folder),
            program: Some(run.program.clone()),
            listed: &accesses.listed,
            engine_files: None,
        };
        let environment = make_environment(&seen);
        self.files.put_json(RUN_ENVIRONMENT, &environment)?;
        Ok(machine.len())
    }

    fn put_meta(
        &mut self,
        inputs_hash: &Digest,
        contracts: &std::collections::BTreeMap<&'static str, Vec<u8>>,
    ) -> Result<RunId, RecordError> {
        let request = self.request;
        let default = || {
            let hash = inputs_hash.hex_prefix(8);
            let id = format!("run_{}_{hash}", request.now.to_compact());
            RunId::parse(&id).map_err(|error| {
                RecordError::Rejected(vec![Finding::about_whole("RB10", error.to_string())])
            })
        };
        let run_id = request.run_id.clone().map_or_else(default, Ok)?;
        RunFiles::check_free(&request.out, &run_id)?;
        let source = DirectorySource::open(&request.command.folder, RootLink::Follow)?;
        let executable = compute_executable(&source, &request.command.argv)?;
        let hashes = contracts
            .iter()
            .map(|(name, bytes)| (*name, Digest::of(bytes)))
            .collect();
        let meta = make_meta(
            (RECORDED_COMMAND, RECORDED_VERSION),
            &hashes,
            (&run_id, &request.now),
            Some(executable),
        );
        self.files.put_json(RUN_META, &meta)?;
        Ok(run_id)
    }
}

/// Whether anything was observed at all.
pub fn was_observed(observation: Option<&Observation>) -> bool {
    observation.is_some_and(Observation::is_there)
}

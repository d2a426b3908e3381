//! Seals one run of a command as a run bundle.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    CONTEXT_STRIPPED, ENGINE_FOLDER, INPUTS_FOLDER, RUN_ENVIRONMENT, RUN_INPUT, RUN_META,
    RUN_OUTPUT, RunId, STDERR_LOG, STDIN, STDOUT_LOG,
};
use runseal_core::formats::run_bundle::outputs::{HashScope, compute_outputs_hash};
use runseal_core::formats::run_bundle::recorded::{CaptureGap, RECORDED_COMMAND, RECORDED_VERSION};
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::verify::Finding;
use runseal_sandbox::{CancelToken, Ending, Limit, Sandbox, Stdin};

use super::accesses::{Accesses, Places, could_be_seen, refused_network, sort_accesses};
use super::ahead::{FilesAhead, Reader};
use super::attributes::list_attributes;
use super::beneath::RealFiles;
use super::contracts::make_contracts;
use super::documents::{FileEntry, RecordedInput, make_input, make_output};
use super::environment::{
    Circumstances, Machine, MachineFile, PackageReader, list_machine, make_environment,
};
pub use super::error::{FoundSecret, RecordError};
use super::git::GitState;
use super::home::{real_home, tell_names};
use super::keep::Keep;
use super::languages::find_packages;
use super::new_files::NewFiles;
use super::outside::{Extent, keep_links, only_hashes, put_outside, tell_home};
use super::repeat::{Varying, repeat_command};
use super::run::{Command, CommandRun, Watching, run_command, shown_as_given};
use super::same_files::SameFiles;
pub use super::searched::SECRET_SEALED;
use super::searched::{Known, Search, find_in_command, given_secrets};
use super::secrets::HiddenSecrets;
use super::surroundings::Surroundings;
use super::terms::Terms;
use crate::run::command::{Program, compute_executable};
use crate::run::seal::{make_meta, verify_staged};
use crate::run::staging::{RunFiles, RunFilesError};
pub(crate) use files::{MOST_LEFT_OUT, is_mostly_holes, link_of, output_path};
use files::{Reading, put_all};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::models::{ModelTraffic, search_staged};
use runseal_redact::{KeptSeed, SealingSeed};
use runseal_secrets::known::can_be_found;

/// What to record, and where to seal it.
#[derive(Debug)]
pub struct RecordRequest {
    /// What to run, where, and with which inputs.
    pub command: Command,
    /// The folder of run bundles, as an absolute path.
    pub out: PathBuf,
    /// The run's id, if given.
    pub run_id: Option<RunId>,
    /// What becomes of its results.
    pub terms: Terms,
    /// Files read that are larger than this are not sealed, only their hashes.
    pub reference_above: Option<u64>,
    /// What is sealed of the files outside the folder.
    pub extent: Extent,
    /// The files in which what looks like a secret is sealed all the same.
    pub allow_secret: Option<Keep>,
    /// Whether a command that failed is sealed too.
    pub keep_failed: bool,
    /// How often to run it; the first run is sealed.
    pub times: u32,
    /// The time of sealing that the bundle states; nothing else in it comes from a clock.
    pub now: Moment,
    /// The seed, if parts of the bundle may be withheld later.
    pub redactable: Option<SealingSeed>,
}

/// A recorded command that was sealed.
#[derive(Debug)]
pub struct SealedCommand {
    /// The id that was given or derived; also the name of the bundle's folder.
    pub run_id: RunId,
    /// Where the bundle is. Whoever owns the folder around it may have put another one there by now.
    pub path: PathBuf,
    /// The digest of the SHA256SUMS.txt that was sealed, which stands for the whole bundle.
    pub sums: Digest,
    /// `outputs_hash` of RUN_META.json: what a replay has to reproduce.
    pub outputs_hash: String,
    /// The path of its new seed, if one was made.
    pub seed: Option<PathBuf>,
    /// How the command ended.
    pub ending: Ending,
    /// The signal by which it was interrupted.
    pub interrupted: Option<i32>,
    /// How many files it read, in the folder and among the inputs.
    pub read: usize,
    /// The paths of its artifacts.
    pub written: Vec<String>,
    /// Files that it wrote, or could have written, and that are as they were: inputs, not artifacts.
    pub rewritten: Vec<String>,
    /// What it took away, by path below the folder.
    pub deleted: Vec<String>,
    /// How many files of the machine it used.
    pub outside: usize,
    /// Which files of the home folder are sealed with their content, by folder.
    pub home: Option<String>,
    /// How many names in it are sealed that the command looked at or listed, by folder.
    pub home_names: Option<String>,
    /// How many model calls it made, if they were recorded.
    pub calls: Option<usize>,
    /// What was not observed.
    pub gaps: Vec<CaptureGap>,
    /// How further runs compare with it.
    pub varying: Varying,
    /// The run, for further use.
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
    // Before the command runs, for an hour perhaps.
    RunFiles::check_writable(&request.out)?;
    check_command(&request.command, request.allow_secret.as_ref())?;
    let has_bundles = request.out.exists();
    let packages = PackageReader::start();
    let inputs = real_inputs(&request.command);
    let real = Arc::new(RealFiles::open_roots(&request.command.folder, &inputs));
    let reader = Reader::start(Arc::clone(&real));
    let known = Arc::clone(&real);
    let isolation = sandbox.isolation();
    let view = request.command.world.view.clone();
    let wants = move |path: &Path| could_be_seen(path, isolation, &view) || known.covers(path);
    let reading = Watching {
        on_file: reader.listener(packages.beginner(), wants),
        looks_at_programs: request.extent == Extent::Everything,
        ..watching.clone()
    };
    let run = run_command(&request.command, sandbox, &reading)?;
    let ahead = reader.finish();
    let interrupted = run.recorded.outcome.interrupted;
    if interrupted.is_some() && !request.keep_failed {
        return Err(RecordError::CommandInterrupted);
    }
    // What was interrupted is sealed; only a further signal would end that too.
    let cancel = watching.cancel.as_ref().filter(|_| interrupted.is_none());
    let failure = describe_failure(run.recorded.outcome.ending, &request.command);
    let is_stopped = matches!(run.recorded.outcome.ending, Ending::Stopped(_));
    let limit = find_limit(&run);
    if let Some(how) = failure
        && !request.keep_failed
    {
        return Err(RecordError::Failed {
            how,
            is_stopped,
            limit,
            refused: refused_network(run.observation()),
            stderr: run.recorded.outcome.stderr.bytes,
        });
    }
    let models = match &request.command.models {
        Some(session) => Some(session.finish().map_err(RecordError::Models)?),
        None => None,
    };
    // Before anything is written: further runs must find the folder as the first one did.
    let times = match interrupted {
        Some(_) => 1,
        None => request.times,
    };
    let varying = repeat_command(request, &run, sandbox, watching, times)?;
    let sealing = Sealing {
        request,
        has_bundles,
        cancel,
        files: RunFiles::begin(&request.out)?,
        models,
        ahead,
        real,
    };
    sealing.seal(run, varying, packages, &inputs)
}

/// Where the inputs are that were named, links resolved, and where else the command sees them.
fn real_inputs(command: &Command) -> Vec<PathBuf> {
    let mut inputs = Vec::new();
    for input in &command.inputs {
        let host = &input.host;
        inputs.push(host.canonicalize().unwrap_or_else(|_| host.clone()));
        inputs.extend(shown_as_given(input, command));
    }
    inputs
}

/// How a command failed, if it did.
pub(crate) fn describe_failure(ending: Ending, command: &Command) -> Option<String> {
    let limits = &command.limits;
    Some(match ending {
        Ending::Exited(0) => return None,
        Ending::Exited(code) => format!("ended with exit status {code}"),
        Ending::Signaled(FILE_TOO_LARGE) => {
            format!("wrote a file of more than {} bytes", limits.file_bytes)
        }
        Ending::Signaled(signal) => format!("was ended by signal {signal}"),
        Ending::Stopped(limit) => match limit {
            Limit::Stdin => match &command.stdin {
                Stdin::Pipe(input) => {
                    format!("read more than {} bytes of standard input", input.most)
                }
                _ => limits.describe(limit),
            },
            reached => limits.describe(reached),
        },
    })
}

/// SIGXFSZ, which a process gets that writes a file beyond its bound.
const FILE_TOO_LARGE: i32 = 25;

/// The limit that a failed command ran into, as far as its end tells. A shell passes the signal of
/// what it ran on as its own exit status, and other programs only print the error.
pub(crate) fn find_limit(run: &CommandRun) -> Option<Limit> {
    const OF_SHELL: u8 = 128 + 25;
    let outcome = &run.recorded.outcome;
    match outcome.ending {
        Ending::Stopped(limit) => Some(limit),
        Ending::Signaled(FILE_TOO_LARGE) | Ending::Exited(OF_SHELL) => Some(Limit::WorkBytes),
        Ending::Exited(1..) => {
            let said = memchr::memmem::find(&outcome.stderr.bytes, b"File too large");
            said.map(|_| Limit::WorkBytes)
        }
        Ending::Exited(0) | Ending::Signaled(_) => None,
    }
}

struct Sealing<'a> {
    request: &'a RecordRequest,
    /// Whether the folder of bundles existed when the command ran.
    has_bundles: bool,
    cancel: Option<&'a CancelToken>,
    files: RunFiles,
    /// The model calls, if they were recorded.
    models: Option<ModelTraffic>,
    /// What was read while the command ran.
    ahead: FilesAhead,
    /// The folder and the inputs, as they were opened before the command ran.
    real: Arc<RealFiles>,
}

impl Sealing<'_> {
    fn seal(
        mut self,
        run: CommandRun,
        varying: Varying,
        packages: PackageReader,
        inputs: &[PathBuf],
    ) -> Result<SealedCommand, RecordError> {
        let request = self.request;
        let command = &request.command;
        let real = Arc::clone(&self.real);
        let places = Places {
            folder: &command.folder,
            inputs,
            out: (!self.has_bundles).then_some(request.out.as_path()),
            view: &run.view,
            real: &real,
            is_self_contained: request.extent == Extent::Everything,
        };
        let mut accesses = sort_accesses(&run, places)?;
        let contracts = make_contracts(&command.argv, &command.parameters, &request.terms)?;
        for (name, bytes) in &contracts {
            self.files.put_bytes(name, bytes)?;
        }
        let reading = Reading {
            cancel: self.cancel,
            reference_above: request.reference_above,
            ahead: &self.ahead,
            real: &real,
            began_ns: run.began_ns,
            is_copy: run.is_in_a_copy(),
        };
        let gaps = &mut accesses.gaps;
        let files = put_all(
            &mut self.files,
            &reading,
            &accesses.files,
            ENGINE_FOLDER,
            gaps,
        )?;
        let named = put_all(
            &mut self.files,
            &reading,
            &accesses.inputs,
            INPUTS_FOLDER,
            gaps,
        )?;
        let stdin = self.put_stdin(&run)?;
        let (model_io, calls) = self.put_models()?.unzip();
        for gap in self.models.iter().flat_map(|models| &models.gaps) {
            accesses.gaps.insert(CaptureGap {
                kind: "model-traffic".to_owned(),
                detail: gap.clone(),
            });
        }
        let taken = RecordedInput {
            command,
            files: &files,
            inputs: &named,
            links: accesses.links.iter().collect(),
            stdin,
            model_io,
            terms: &request.terms,
        };
        let input = canonical_bytes(&make_input(&taken), Dialect::Jcs)?;
        let inputs_hash = Digest::of(&input);
        self.files.put_bytes(RUN_INPUT, &input)?;
        let nothing = Value::Array(Vec::new());
        self.files
            .put_json(CONTEXT_STRIPPED, &Value::object([("stripped", nothing)]))?;
        let given = self.put_outputs(&run, &mut accesses)?;
        let mut search = Search {
            given: given_secrets(&command.secrets),
            allowed: request.allow_secret.as_ref(),
            files: known_files(&command.folder, &files, &named, &given.outputs),
        };
        let written: Vec<String> = given.outputs.iter().map(|file| file.path.clone()).collect();
        let deleted = given.deleted.clone();
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
        for (name, value) in &command.secrets {
            let detail = match can_be_found(value) {
                true => {
                    format!("the variable `{name}` was given and its value is not in the bundle")
                }
                false => format!(
                    "the variable `{name}` was given and its value is not sealed; it is too short \
                     to be looked for in files"
                ),
            };
            accesses.gaps.insert(CaptureGap {
                kind: "secret".to_owned(),
                detail,
            });
        }
        let keep = |error| keep_results(error, request, &run);
        let machine = self
            .put_environment(&run, &mut accesses, packages, &mut search)
            .map_err(keep)?;
        let searched: BTreeSet<String> = self.files.stored().collect();
        let outside = machine.len();
        let own = real_home();
        let home = own.as_ref().and_then(|home| tell_home(&machine, home));
        let home_names = own.as_ref().and_then(|home| tell_names(&accesses, home));
        let run_id = self.put_meta(&inputs_hash, &contracts, &Program::of(&run, &machine))?;
        if let Some(redactable) = &request.redactable {
            self.files.put_commitment(&redactable.seed)?;
        }
        let later = self
            .files
            .stored()
            .filter(|place| !searched.contains(place));
        let later: Vec<String> = later.chain([RUN_ENVIRONMENT.to_owned()]).collect();
        let searched = search.search(&self.files.reading_path(), &later);
        searched.map_err(keep)?;
        let sums = self.files.put_lists()?;
        check_interrupted(self.cancel)?;
        let target = self.files.target(&run_id);
        let kept = request.redactable.as_ref();
        let kept = kept.map(|redactable| redactable.keep_beside(&target));
        let kept = kept.transpose().map_err(RunFilesError::from)?;
        let path = self
            .files
            .seal(&run_id, |staged| -> Result<(), RecordError> {
                verify_staged(staged)?;
                match &command.models {
                    Some(session) => Ok(search_staged(session.as_ref(), staged)?),
                    None => Ok(()),
                }
            })?;
        Ok(SealedCommand {
            run_id,
            path,
            sums,
            outputs_hash,
            seed: kept.and_then(KeptSeed::stays),
            ending: run.recorded.outcome.ending,
            interrupted: run.recorded.outcome.interrupted,
            read: files.len() + named.len(),
            written,
            rewritten: accesses.rewritten.into_iter().collect(),
            deleted,
            outside,
            home,
            home_names,
            calls,
            gaps: accesses.gaps.into_iter().collect(),
            varying,
            run,
        })
    }

    fn put_environment(
        &mut self,
        run: &CommandRun,
        accesses: &mut Accesses,
        packages: PackageReader,
        search: &mut Search<'_>,
    ) -> Result<Vec<MachineFile>, RecordError> {
        let terminal = self.put_terminal(run, accesses, search)?;
        let Machine {
            mut files,
            mut links,
            owned,
            gaps,
        } = list_machine(&accesses.outside, packages, &self.ahead);
        accesses.gaps.extend(gaps);
        links.extend(std::mem::take(&mut accesses.links_elsewhere));
        // What is sealed needs no name without content.
        for file in &files {
            accesses.present.remove(&file.path);
        }
        let request = self.request;
        let folder = request.command.folder.as_path();
        let cancel = self.cancel;
        let proceed = || check_interrupted(cancel);
        let extent = (request.extent, request.reference_above);
        let gaps = put_outside(&mut self.files, &mut files, extent, &proceed)?;
        accesses.gaps.extend(gaps);
        accesses.gaps.extend(only_hashes(&files));
        for file in &files {
            let known = |place| (place, Known::of_machine(file));
            search.files.extend(file.stored.clone().map(known));
        }
        let staged: Vec<String> = self.files.stored().collect();
        let told = search.search(&self.files.reading_path(), &staged)?;
        accesses.gaps.extend(told);
        let allowed = self.request.allow_secret.as_ref();
        let (_, told) = find_in_command(&self.request.command, allowed);
        accesses.gaps.extend(told);
        let outside = files.iter().map(|file| Path::new(&file.path));
        let own = accesses.files.iter().chain(&accesses.inputs);
        let read = outside.chain(own.map(|file| file.host.as_path()));
        let (mut attributes, mut same) = list_attributes(accesses, folder, &self.real, &files);
        if request.redactable.is_some() {
            // Times of files that may be withheld would tell copies apart.
            let inputs: BTreeSet<&str> = accesses.inputs.iter().map(|it| &*it.path).collect();
            attributes.retain(|it| it.path.starts_with('/') && !inputs.contains(&*it.path));
            same = SameFiles::default();
        }
        let surroundings = Surroundings {
            links: keep_links(links, &owned, request.extent, folder),
            attributes,
            same,
            packages: find_packages(read),
            git: GitState::read(folder, &request.out),
            usage: request.redactable.is_none().then_some(run.usage),
            is_self_contained: request.extent == Extent::Everything,
        };
        let machine = files;
        let seen = Circumstances {
            isolation: run.isolation,
            observation: run.observation(),
            gaps: &accesses.gaps,
            machine: &machine,
            variables: &run.environment,
            folder: Some(&self.request.command.folder),
            program: run.program.clone(),
            listed: &accesses.listed,
            present: &accesses.present,
            world: Some(&run.world),
            streams: Some((run.streams, terminal)),
            engine_files: None,
            surroundings: Some(&surroundings),
        };
        let environment = make_environment(&seen);
        self.files.put_json(RUN_ENVIRONMENT, &environment)?;
        Ok(machine)
    }

    fn put_meta(
        &mut self,
        inputs_hash: &Digest,
        contracts: &BTreeMap<&'static str, Vec<u8>>,
        program: &Program<'_>,
    ) -> Result<RunId, RecordError> {
        let request = self.request;
        let default = || {
            // The id is visible in every copy, so it must not reveal anything about the inputs.
            let redactable = request.redactable.as_ref();
            let digits = redactable.map_or(*inputs_hash, |r| r.seed.blind(inputs_hash));
            let hash = digits.hex_prefix(8);
            let id = format!("run_{}_{hash}", request.now.to_compact());
            RunId::parse(&id).map_err(|error| {
                RecordError::Rejected(vec![Finding::about_whole("RB10", error.to_string())])
            })
        };
        let run_id = match &request.run_id {
            Some(run_id) => {
                RunFiles::check_free(&request.out, run_id)?;
                run_id.clone()
            }
            None => self.files.choose_id(&default()?)?,
        };
        let source = DirectorySource::open(&request.command.folder, RootLink::Follow)?;
        let executable = compute_executable(&source, &request.command.argv, program)?;
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

/// Refuses a command whose arguments or parameters are secrets, before it runs.
fn check_command(command: &Command, allowed: Option<&Keep>) -> Result<(), RecordError> {
    let (found, _) = find_in_command(command, allowed);
    match found.is_empty() {
        true => Ok(()),
        false => Err(RecordError::Secrets { found, kept: None }),
    }
}

/// The files of the bundle so far that are the user's, by their places in it.
fn known_files(
    folder: &Path,
    files: &[FileEntry],
    named: &[FileEntry],
    outputs: &[FileEntry],
) -> BTreeMap<String, Known> {
    let mut all = BTreeMap::new();
    let read = files
        .iter()
        .map(|file| (file, Some(folder.join(&file.path))));
    let inputs = named
        .iter()
        .map(|file| (file, Some(folder.join(&file.path))));
    let left = outputs.iter().map(|file| (file, None));
    for (file, host) in read.chain(inputs).chain(left) {
        let Some(stored) = &file.stored else {
            continue;
        };
        let known = Known {
            shown: file.path.clone(),
            host,
            is_packaged: false,
        };
        all.insert(stored.clone(), known);
    }
    for (stored, shown) in [
        (STDOUT_LOG, "stdout"),
        (STDERR_LOG, "stderr"),
        (STDIN, "stdin"),
    ] {
        let known = Known {
            shown: shown.to_owned(),
            ..Known::default()
        };
        all.insert(stored.to_owned(), known);
    }
    all
}

/// Keeps what the command left in a folder beside the bundles if secrets stopped the sealing, since it may have
/// taken hours.
fn keep_results(error: RecordError, request: &RecordRequest, run: &CommandRun) -> RecordError {
    let RecordError::Secrets { found, .. } = error else {
        return error;
    };
    let layer = run.recorded.layer.as_ref();
    let has_files = layer.is_some_and(|layer| !layer.changes().is_empty());
    let is_empty = !has_files && run.recorded.outcome.stdout.bytes.is_empty();
    let id = match &request.run_id {
        Some(run_id) => run_id.to_string(),
        None => format!("run_{}", request.now.to_compact()),
    };
    let names = (1..=MOST_UNSEALED).map(|number| match number {
        1 => format!("{id}.unsealed"),
        _ => format!("{id}_{number}.unsealed"),
    });
    let said: String = found.iter().map(|it| format!("{it}\n")).collect();
    let said = format!("This run was not sealed, since secrets were found in:\n{said}");
    let keep = |target: &Path| {
        let kept = NewFiles::at(target).ok()?;
        // The user's own results on the user's own disk: nothing is left out.
        kept.take(run, &HiddenSecrets::of(&BTreeMap::new())).ok()?;
        let published = kept.publish("UNSEALED.txt", said.as_bytes()).ok()?;
        // It often lies in a repository, to which it must not be added by chance.
        let ignored = target.join(".gitignore");
        let _ = runseal_fs::atomic::write_new(&ignored, b"*\n", runseal_fs::atomic::Readers::Owner);
        // A secret may be in it.
        let _ = runseal_fs::handles::set_mode(target, 0o700);
        Some(published)
    };
    let mut targets = names.map(|name| request.out.join(name));
    let kept = targets.find(|target| !is_empty && keep(target) == Some(true));
    RecordError::Secrets { found, kept }
}

/// How many names are tried for results that are not sealed.
const MOST_UNSEALED: u32 = 20;

fn check_interrupted(cancel: Option<&CancelToken>) -> Result<(), RecordError> {
    match cancel.is_some_and(CancelToken::is_cancelled) {
        true => Err(RecordError::Interrupted),
        false => Ok(()),
    }
}

impl<'a> Program<'a> {
    /// The program of a run, with its digest if it is among the machine's files.
    fn of(run: &'a CommandRun, machine: &[MachineFile]) -> Self {
        let place = run.program.as_deref();
        // A name may be a link, as `python3` is; files are listed by their resolved paths.
        let real = place.and_then(|place| place.canonicalize().ok());
        let is_same = |file: &&MachineFile| real.as_deref() == Some(Path::new(&file.path));
        Self {
            place,
            sha256: machine.iter().find(is_same).map(|file| file.sha256),
        }
    }
}

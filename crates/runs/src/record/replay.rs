//! Runs a recorded command again from its bundle alone, and compares the results.
//!
//! The bundle is verified first. Its files are unpacked into a private folder that the command sees
//! at the recorded path; the machine's own files are compared one by one with those of the
//! recording.

mod sealed;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runseal_core::canon::Node;
use runseal_core::formats::model_io::asked::Volatile;
use runseal_core::formats::run_bundle::find_unknown_members;
use runseal_core::formats::run_bundle::layout::{
    ENGINE_FOLDER, MODEL_IO, RUN_ENVIRONMENT, RUN_INPUT, RUN_OUTPUT,
};
use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_core::path::SafePath;
use runseal_core::source::Source;
use runseal_sandbox::{
    Ending, Isolation, Limits, PipedInput, Sandbox, SandboxError, Stdin, check_own_place,
};

use self::sealed::{SealedCommandRun, again_places};
use super::machine::compare_machine;
use super::new_files::NewFiles;
use super::reasons::{Before, UNEXPLAINED, explain};
use super::replay_world::{ReplayWorld, is_shown_to_replays};
use super::restore::{RestoreError, Restored, restore};
use super::rules::Rules;
use super::run::{Command, CommandRun, RunError, Watching, run_command};
use super::seal::{MOST_LEFT_OUT, RecordError};
use super::secrets::HiddenSecrets;
use super::terminal::{recorded_stdin, recorded_terminal, recorded_variables, was_typed};
use super::terms::Terms;
use crate::run::replay::{Comparison, Divergence, Replay, Verdict};
use crate::run::verify::VerifiedRun;
use crate::world::{World, recorded_devices};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::models::{ModelTraffic, StartReplay};

/// The most placeholders that are named as reasons for another result.
const MOST_REASONS: usize = 20;

/// The path of the command's folder if the bundle does not say where it was.
const SOMEWHERE: &str = "/home/recorded";

/// How to replay a recorded command.
#[derive(Clone)]
pub struct RecordedOptions<'a> {
    /// How many times the command is run; each run is compared with the sealed one.
    pub times: u32,
    /// Whether interpreters and libraries other than the recorded ones are refused.
    pub same_environment: bool,
    /// Files to use for those that the bundle only names.
    pub given: &'a [PathBuf],
    /// A folder whose files must be those that were sealed.
    pub folder: Option<&'a Path>,
    /// The caller's PATH, searched for what is not at its recorded path.
    pub search: Option<OsString>,
    /// The limits of each run; by default those of a recording.
    pub limits: Limits,
    /// Values for the variables that the bundle names as secrets, by name. They are not shown.
    pub secrets: BTreeMap<String, String>,
    /// Rules for comparing the results, after those of the bundle.
    pub compare: Rules,
    /// Where what the first run leaves that differs is kept, or the last one's if none does.
    pub new_files: Option<&'a NewFiles<'a>>,
    /// Devices that the command may use, as [`crate::world::find_devices`] gives them.
    pub devices: &'a [PathBuf],
    /// How it is watched.
    pub watching: Watching,
    /// Starts a session that answers model calls from the recording; `None` if that is not
    /// possible.
    pub models: Option<StartReplay<'a>>,
    /// Whether that session leaves the recording at some call.
    pub is_fork: bool,
}

impl std::fmt::Debug for RecordedOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordedOptions").finish_non_exhaustive()
    }
}

/// Replays the recorded command in `run`, whose bundle is valid.
pub(crate) fn replay_recorded(
    run: &VerifiedRun<'_>,
    options: &RecordedOptions<'_>,
    sandbox: impl FnOnce() -> Result<Sandbox, RecordError>,
    mut replay: Replay,
) -> Result<Replay, RecordError> {
    let sealed = SealedCommandRun::read(run);
    replay.has_failed =
        !sealed.withheld_results.ending && sealed.snapshot.ending != Ending::Exited(0);
    // A whole bundle was asked for this by RB18; of a copy, nobody checked its schemas.
    for (name, rule) in [(RUN_INPUT, 1), (RUN_OUTPUT, 2)] {
        let document = run.document(name);
        let unknown = document.map(|document| find_unknown_members(name, document.root()));
        for member in unknown.unwrap_or_default() {
            let member = member.escape_debug();
            replay.rules[rule].push(format!("{name} has `{member}`, which nothing compares"));
        }
    }
    let terms = match &sealed.terms {
        Ok(terms) => Terms {
            compare: terms.compare.clone().followed_by(&options.compare),
            ..terms.clone()
        },
        Err(error) => {
            replay.rules[1].push(format!("{RUN_INPUT} {error}"));
            Terms::default()
        }
    };
    replay.terms = terms.clone();
    // So does RB13; a copy is shown with its files, and compared by its lists.
    replay.rules[3].extend(sealed.find_other_bytes(run));
    replay.unused_files.extend(sealed.find_unlisted(run));
    let not_kept = sealed.snapshot.not_kept.len();
    if not_kept >= MOST_LEFT_OUT {
        replay.not_compared.push(format!(
            "files that were not kept: of the first {MOST_LEFT_OUT} the names were compared, of the others nothing"
        ));
    } else if not_kept > 0 {
        replay.notes.push(format!(
            "{not_kept} of the files that the run left were not kept: their names were compared, not their contents"
        ));
    }
    if sealed.says_nothing() {
        replay.rules[0].push(
            "of what the run gave, every file is withheld: there is nothing to compare with"
                .to_owned(),
        );
        return Ok(replay);
    }
    if let Some(folder) = options.folder {
        replay.rules[5].extend(compare_folder(&sealed, folder));
    }
    let environment = run.document(RUN_ENVIRONMENT);
    let environment = environment.as_ref().map(|document| document.root());
    if let Err(error) = check_own_place(&appears_at(environment)) {
        let fault = format!("the command's folder cannot be where it was: {error}");
        replay.rules[5].push(fault);
        return Ok(replay);
    }
    match environment {
        Some(environment) => {
            let cancel = options.watching.cancel.as_ref();
            let check = compare_machine(environment, cancel).map_err(|_| cancelled())?;
            replay.rules[5].extend(check.missing());
            if options.same_environment {
                replay.rules[5].extend(check.faults());
            }
            replay.notes.extend(check.describe_not_looked_at());
            replay.environment = Some(check);
        }
        None => replay.add_no_environment(
            "there is no RUN_ENVIRONMENT.json: interpreters and libraries cannot be compared",
            options.same_environment,
        ),
    }
    // What a bundle names is shown to nobody for that; whoever replays says so.
    let is_given = |name: &String| options.devices.iter().any(|path| path == Path::new(name));
    for device in recorded_devices(environment) {
        if !is_given(&device) {
            replay.rules[5].push(format!(
                "the command had the device `{}`; if this machine has it, `--device` gives it",
                device.escape_debug()
            ));
        }
    }
    replay.rules[0].extend(find_missing_hands(run, environment));
    let cancel = options.watching.cancel.as_ref();
    let given = (&*appears_at(environment), options.given);
    let restored = match restore(run, given, cancel) {
        Ok(restored) => Some(restored),
        Err(RestoreError::Missing(files)) => {
            for file in files {
                replay.rules[0].push(format!(
                    "`{}` is not in the bundle, only its hash; give it with `--input PATH` \
                     ({} bytes, sha256 {})",
                    file.path, file.bytes, file.sha256
                ));
            }
            None
        }
        Err(RestoreError::Malformed(what)) => {
            replay.rules[3].push(what);
            None
        }
        Err(RestoreError::Cancelled) => return Err(cancelled()),
        Err(RestoreError::Read(error)) => return Err(error.into()),
        Err(RestoreError::Write(error)) => return Err(super::error::work_error(error)),
    };
    let (Some(restored), false) = (
        restored,
        matches!(replay.verdict(), Verdict::NotReplayable { .. }),
    ) else {
        return Ok(replay);
    };
    if let Some(recording) = run.document(MODEL_IO) {
        let volatile = Volatile::of_recording(recording.root()).unwrap_or_default();
        replay.notes.extend(volatile.tell());
    }
    let secrets = named_secrets(options, &mut replay);
    let asked_models = restored.model_io.is_some();
    let world = ReplayWorld::of_bundle(environment, (&restored.tree, asked_models));
    let mut command = command_of(
        run,
        environment,
        (&restored, &world),
        options,
        secrets.clone(),
    )?;
    if let Some(program) = command.argv.first()
        && let Err(error) = world.check_program(program, &command.folder, &command.appears_at)
    {
        replay.rules[5].push(error.to_string());
        return Ok(replay);
    }
    sealed.check_room(&command.limits)?;
    if restored.model_io.is_some() && options.models.is_none() {
        return Err(RecordError::AskedModels);
    }
    if restored.model_io.is_none() && options.is_fork {
        return Err(RecordError::AskedNoModels);
    }
    let hidden = HiddenSecrets::of(&secrets);
    let sandbox = sandbox()?;
    replay.isolation = Some(sandbox.isolation());
    if sandbox.isolation() != Isolation::Full && !restored.elsewhere.is_empty() {
        for path in restored.elsewhere.iter().take(MOST_REASONS) {
            replay.rules[5].push(format!(
                "`{}` of the bundle cannot be shown to the command at its place at level {}: use `--sandbox namespaces`",
                path.escape_debug(),
                sandbox.isolation()
            ));
        }
        return Ok(replay);
    }
    for number in 1..=options.times.max(1) {
        // Each run starts again with the first recorded answer.
        if let (Some(recording), Some(start)) = (&restored.model_io, options.models) {
            command.models = Some(start(recording).map_err(RecordError::ModelReplay)?);
        }
        command.stdin = stdin_of(&restored, environment).map_err(super::error::work_error)?;
        let again = match run_command(&command, &sandbox, &options.watching) {
            Ok(again) => again,
            Err(error @ RunError::Program(_)) => {
                replay.rules[5].push(error.to_string());
                return Ok(replay);
            }
            Err(error) => return Err(error.into()),
        };
        sealed.refuse_limited(&again, &command)?;
        let mut comparison = sealed.compare(run, &again, (&command, &terms), (&hidden, cancel))?;
        note_other_program(&again, &mut replay);
        if options.same_environment {
            let is_used = |path: &Path| {
                !path.starts_with(&command.appears_at)
                    && is_shown_to_replays(path)
                    && !restored.holds(path)
            };
            replay.demand_listed(again.observation(), is_used);
        }
        replay.shown.clone_from(&again.shown);
        if let Some(session) = command.models.take() {
            let traffic = session.finish().map_err(RecordError::ModelReplay)?;
            compare_traffic(&traffic, &mut comparison, &mut replay);
        }
        hidden.hide_in(&mut comparison.divergences);
        if !comparison.divergences.is_empty() && replay.reasons.is_empty() {
            replay.reasons = reasons_of(
                &restored,
                &again,
                &command,
                &comparison.divergences,
                &replay,
            );
        }
        let is_last = number == options.times.max(1);
        if let Some(new_files) = options.new_files
            && (is_last || !comparison.divergences.is_empty())
        {
            for place in new_files.take(&again, &hidden)? {
                replay.notes.push(format!(
                    "the value of a secret is in the new `{place}`, so it was not kept"
                ));
            }
        }
        let places = again_places(&again, &sealed);
        replay.note_unmatched(&places);
        replay.runs.push(comparison);
    }
    for text in replay.reasons.iter_mut().chain(&mut replay.notes) {
        hidden.hide(text);
    }
    Ok(replay)
}

/// The given secrets that the recorded command had. Of others it is noted that they were not used.
fn named_secrets(options: &RecordedOptions<'_>, replay: &mut Replay) -> BTreeMap<String, String> {
    let mut secrets = options.secrets.clone();
    secrets.retain(|name, _| {
        let is_named = secret_gaps(replay).any(|gap| names_secret(&gap.detail, name));
        if !is_named {
            replay.notes.push(format!(
                "the recorded command had no secret `{name}`, so it did not get it now either"
            ));
        }
        is_named
    });
    secrets
}

fn secret_gaps(replay: &Replay) -> impl Iterator<Item = &CaptureGap> {
    replay.gaps.iter().filter(|gap| gap.kind == "secret")
}

/// Whether a gap is about the variable `name`.
fn names_secret(detail: &str, name: &str) -> bool {
    detail.contains(&format!("`{name}`"))
}

/// Says what ran here where that is another program than the one that was recorded.
fn note_other_program(again: &CommandRun, replay: &mut Replay) {
    let then = replay.environment.as_ref();
    let then = then.and_then(|check| check.became.as_deref());
    let now = again.observation().and_then(|seen| seen.became.as_deref());
    if let (Some(then), Some(now)) = (then, now)
        && Path::new(then) != now
    {
        let now = now.display().to_string();
        let note = format!(
            "`{}` ran here, where the recording has `{}`",
            now.escape_debug(),
            then.escape_debug()
        );
        if !replay.notes.contains(&note) {
            replay.notes.push(note);
        }
    }
}

/// What somebody did to the recorded command while it ran, which no replay does.
fn find_missing_hands(run: &VerifiedRun<'_>, environment: Option<Node<'_>>) -> Vec<String> {
    let mut missing = Vec::new();
    let output = run.document(RUN_OUTPUT);
    let interrupted = output.as_ref().and_then(|output| {
        output
            .root()
            .get("interrupted")?
            .as_number()?
            .to_exact_i64()
    });
    if let Some(signal) = interrupted {
        missing.push(format!(
            "somebody interrupted the recorded run, by signal {signal}: nothing says at which moment"
        ));
    }
    if let Some(gap) = environment.and_then(was_typed) {
        missing.push(gap.detail);
    }
    missing
}

/// What the command reads again: as much as was recorded, the way it was.
fn stdin_of(restored: &Restored, environment: Option<Node<'_>>) -> io::Result<Stdin> {
    let kind = recorded_stdin(environment);
    let content = restored.stdin.as_ref();
    let content = content.map(File::try_clone).transpose()?;
    Ok(match (kind.as_deref(), content) {
        (Some("pipe"), content) => Stdin::Pipe(PipedInput {
            from: match content {
                Some(mut file) => {
                    file.rewind()?;
                    Arc::new(file.into())
                }
                None => Arc::new(File::open("/dev/null")?.into()),
            },
            kept: None,
            most: u64::MAX,
        }),
        (Some("file"), None) => Stdin::Bytes(Vec::new()),
        (_, Some(file)) => Stdin::File(Arc::new(file)),
        (_, None) => Stdin::Null,
    })
}

/// Where the command's folder was, and is again.
fn appears_at(environment: Option<Node<'_>>) -> PathBuf {
    let folder = environment.and_then(|environment| environment.get("folder")?.as_str());
    folder.map_or_else(|| SOMEWHERE.into(), |folder| PathBuf::from(&*folder))
}

fn cancelled() -> RecordError {
    RunError::Sandbox(SandboxError::Cancelled).into()
}

/// The command as it was recorded, on what was unpacked.
fn command_of(
    run: &VerifiedRun<'_>,
    environment: Option<Node<'_>>,
    (restored, world): (&Restored, &ReplayWorld),
    options: &RecordedOptions<'_>,
    secrets: BTreeMap<String, String>,
) -> Result<Command, RecordError> {
    let input = run.document(RUN_INPUT);
    let input = input.as_ref().map(|document| document.root());
    let texts = |node: Option<Node<'_>>| -> Vec<String> {
        let items = node.iter().flat_map(|node| node.items());
        items
            .filter_map(|item| Some(item.as_str()?.into_owned()))
            .collect()
    };
    let map = |node: Option<Node<'_>>| -> BTreeMap<String, String> {
        let members = node.iter().flat_map(|node| node.members());
        let one = |(name, value): (runseal_core::canon::Key<'_>, Node<'_>)| {
            Some((name.to_lossy().into_owned(), value.as_str()?.into_owned()))
        };
        members.filter_map(one).collect()
    };
    let member = |name: &str| input.and_then(|input| input.get(name));
    let parameters = map(member("parameters"));
    let mut passed = map(member("environment"));
    passed.retain(|name, _| !name.starts_with(super::run::PARAMETER_PREFIX));
    Ok(Command {
        argv: texts(member("argv")),
        folder: restored.folder.clone(),
        appears_at: appears_at(environment),
        inputs: Vec::new(),
        world: World {
            devices: options.devices.to_vec(),
            ..world.to_world()
        },
        parameters,
        variables: passed,
        secrets,
        stdin: Stdin::Null,
        terminal: environment.and_then(recorded_terminal),
        terminal_variables: environment.map(recorded_variables).unwrap_or_default(),
        models: None,
        fixed_time: member("fixed_time").and_then(|time| time.as_number()?.to_exact_i64()),
        is_of_bundle: true,
        limits: options.limits.clone(),
    })
}

/// Compares the command's model calls with the recorded ones.
fn compare_traffic(traffic: &ModelTraffic, comparison: &mut Comparison, replay: &mut Replay) {
    for miss in &traffic.misses {
        comparison.divergences.push(Divergence {
            path: MODEL_IO.to_owned(),
            pointer: None,
            sealed: "no such request".to_owned(),
            now: miss.clone(),
            difference: None,
        });
    }
    if traffic.unused > 0 {
        let calls = |count: u64| match count {
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        comparison.divergences.push(Divergence {
            path: MODEL_IO.to_owned(),
            pointer: None,
            sealed: calls(traffic.answered + traffic.unused),
            now: calls(traffic.answered),
            difference: None,
        });
    }
    replay.fork.clone_from(&traffic.fork);
}

/// Which files of `folder` differ from those that were sealed.
fn compare_folder(sealed: &SealedCommandRun, folder: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let source = match DirectorySource::open(folder, RootLink::Follow) {
        Ok(source) => source,
        Err(error) => return vec![error.to_string()],
    };
    for file in &sealed.files {
        let shown = file.path.escape_debug();
        let here = SafePath::parse(&file.path).map_err(|fault| fault.to_string());
        let here = here.and_then(|path| source.digest(&path).map_err(|error| error.to_string()));
        match here {
            Err(error) => faults.push(format!("{ENGINE_FOLDER}/{shown} was sealed, here: {error}")),
            Ok((_, digest)) if digest != file.sha256 => faults.push(format!(
                "{ENGINE_FOLDER}/{shown} is another file here: expected sha256 {}, actual {digest}",
                file.sha256
            )),
            Ok(_) => {}
        }
    }
    faults
}

/// Why this run gave a different result, as far as can be told.
fn reasons_of(
    restored: &Restored,
    again: &CommandRun,
    command: &Command,
    divergences: &[Divergence],
    replay: &Replay,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let observation = again.observation();
    if let Some(observation) = observation {
        let read: BTreeSet<&Path> = observation
            .files
            .iter()
            .filter(|file| file.needs_original)
            .map(|file| file.path.as_path())
            .collect();
        for name in &restored.placeholders {
            if read.contains(command.appears_at.join(name).as_path())
                && reasons.len() < MOST_REASONS
            {
                reasons.push(format!(
                    "it read `{name}` now, which the recorded run did not read"
                ));
            }
        }
    }
    if let Some(check) = &replay.environment
        && !check.differs.is_empty()
    {
        let count = check.differs.len();
        reasons.push(match count {
            1 => "a file of the machine is not the one of the recording".to_owned(),
            _ => format!("{count} files of the machine are not those of the recording"),
        });
    }
    for name in command.secrets.keys() {
        reasons.push(format!(
            "the value of `{name}` may be another than the recorded one, which is not in the bundle"
        ));
    }
    let is_given = |gap: &&CaptureGap| {
        let mut names = command.secrets.keys();
        names.any(|name| names_secret(&gap.detail, name))
    };
    for secret in secret_gaps(replay).filter(|gap| !is_given(gap)) {
        reasons.push(format!(
            "{}: the command did not have it now (`--secret NAME` gives it the value that you have)",
            secret.detail
        ));
    }
    reasons.extend(explain_copy(again, divergences));
    let before = Before {
        gaps: replay.gaps.iter().collect(),
        has_fixed_time: command.fixed_time.is_some(),
    };
    let own = explain(observation, divergences, &before);
    // Do not claim that nothing explains it if something does.
    if reasons.is_empty() || !own.iter().any(|reason| reason.starts_with(UNEXPLAINED)) {
        reasons.extend(own);
    }
    reasons
}

/// Whether what differs names the copy of the folder that the command worked in: its path is another
/// one every time.
fn explain_copy(again: &CommandRun, divergences: &[Divergence]) -> Option<String> {
    let layer = again.recorded.layer.as_ref()?;
    let copy = layer.shown_at().to_str().filter(|_| again.is_in_a_copy())?;
    let names_it = |it: &Divergence| {
        it.difference
            .as_ref()
            .is_some_and(|text| text.contains(copy))
    };
    divergences.iter().any(names_it).then(|| {
        format!(
            "it printed the path of the copy of the folder that it worked in, which differs every time \
             at level {}",
            again.isolation
        )
    })
}

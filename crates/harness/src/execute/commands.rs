//! Commands of a proposal: their environment in the sandbox, and how their results are judged.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use runseal_sandbox::{
    Ending, FIXED_ENVIRONMENT, INSIDE_WORK, Isolation, Limit, Mount, Outcome, SandboxError, Spec,
};

use super::{Executor, Status, Step, violation};
use crate::model::ModelServer;
use crate::words::split_command;
use runseal_runs::model_port::connect;
use runseal_runs::programs::find_program;
use runseal_runs::world::Toolchain;

impl Executor<'_> {
    pub(super) fn do_command(&mut self, target: &str) -> Result<Step, SandboxError> {
        let words = match split_command(target, &self.policy.allowed_commands) {
            Ok(words) => words,
            Err(error) => return Ok(Step::failed(violation(&error.to_string()))),
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.timed_out = true;
            return Ok(Step {
                error: Some("the policy's time is over".to_owned()),
                ..Step::of(Status::Timeout)
            });
        }
        self.commands.push(target.to_owned());
        let spec = self.plan_command(words, left)?;
        let outcome = match self.sandbox.run(&spec) {
            Ok(outcome) => outcome,
            Err(SandboxError::Execute { program, .. }) => {
                let error = format!("`{program}` is not on the sandbox's PATH, or not a program");
                return Ok(Step {
                    exit_code: Some(127),
                    ..Step::failed(error)
                });
            }
            Err(error) => return Err(error),
        };
        let mut step = self.judge_command(&outcome);
        // A call that was not answered explains whatever the command did next.
        if let Some(miss) = self.surroundings.model.and_then(ModelServer::fault) {
            step = Step {
                error: Some(miss),
                status: Status::Failure,
                ..step
            };
        }
        if step.error.is_none()
            && let Err(error) = self.check_policy()
        {
            step = Step {
                error: Some(error),
                status: Status::Failure,
                ..step
            };
        }
        Ok(step)
    }

    /// Builds the sandbox's specification for a command with `left` time.
    fn plan_command(&self, words: Vec<String>, left: Duration) -> Result<Spec, SandboxError> {
        let mut spec = Spec::new(words, self.tree.path());
        spec.current_dir = PathBuf::from(INSIDE_WORK).join("out");
        spec.limits.wall_time = left;
        // These stop a runaway writer early; the exact limits are checked afterwards.
        spec.limits.work_files = self.policy.max_output_files.saturating_mul(4).max(10_000);
        spec.limits.work_bytes = self.policy.max_total_output_bytes.saturating_mul(2);
        spec.limits.file_bytes = self.policy.max_total_output_bytes.saturating_add(1);
        if let Some(program) = spec.command.first().cloned() {
            self.show_toolchain(&program, &mut spec);
        }
        if let Some(model) = self.surroundings.model {
            spec.unix_sockets = true;
            spec.mounts.push(Mount {
                host: model.folder().to_owned(),
                inside: "/model".into(),
            });
            // Without namespaces nothing is mounted, so the socket has its path on the host.
            let socket = match self.sandbox.isolation() {
                Isolation::Full => "/model/socket".to_owned(),
                Isolation::Landlock | Isolation::None => {
                    model.folder().join("socket").display().to_string()
                }
            };
            spec.env.insert("RUNSEAL_MODEL_IO".to_owned(), socket);
        }
        if let Some(session) = self.surroundings.session {
            let secrets = BTreeMap::new();
            let connection = connect(&mut spec, session, self.sandbox.isolation(), &secrets);
            let connection = connection.map_err(|source| SandboxError::System {
                what: "listen for models",
                source,
            })?;
            let tokens = connection.describe(&mut spec.env);
            spec.env.extend(tokens);
        }
        Ok(spec)
    }

    /// Makes a program visible that the policy names and that is not on the sandbox's PATH, such as
    /// a toolchain in a home folder: only that program and what it needs, read-only.
    fn show_toolchain(&self, program: &OsStr, spec: &mut Spec) {
        let Some(name) = program.to_str().filter(|name| !name.contains('/')) else {
            return;
        };
        let mut allowed = self.policy.allowed_commands.iter();
        if !allowed.any(|known| known == name) || find_program(name).is_some() {
            return;
        }
        let path = self.surroundings.programs;
        let Some(toolchain) = path.and_then(|path| Toolchain::find(name, path)) else {
            return;
        };
        toolchain.show_in(&mut spec.view);
        let fixed = FIXED_ENVIRONMENT.iter().find(|(name, _)| *name == "PATH");
        let fixed = fixed.map_or("", |(_, path)| path);
        let path = format!("{fixed}:{}", toolchain.folder.display());
        spec.env.insert("PATH".to_owned(), path);
        spec.env.extend(toolchain.variables);
    }

    /// Adds a command's results to the totals, and returns its step.
    fn judge_command(&mut self, outcome: &Outcome) -> Step {
        self.stdout.update(&outcome.stdout.bytes);
        self.stderr.update(&outcome.stderr.bytes);
        self.truncated |= outcome.stdout.truncated || outcome.stderr.truncated;
        self.timed_out |= outcome.timed_out();
        self.out_of_memory |= outcome.out_of_memory();
        self.enforcement = Some(self.enforcement.map_or(outcome.enforcement, |weakest| {
            weakest.weakest(outcome.enforcement)
        }));
        let (status, code, error) = match outcome.ending {
            Ending::Exited(0) => (Status::Success, 0, None),
            Ending::Exited(code) => (Status::Failure, code, None),
            Ending::Signaled(signal) => {
                self.signal = Some(signal);
                let code = u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX);
                let error = format!("ended by signal {signal}");
                (Status::Failure, code, Some(error))
            }
            Ending::Stopped(Limit::WallTime) => {
                let error = "the policy's time is over".to_owned();
                (Status::Timeout, 124, Some(error))
            }
            Ending::Stopped(limit) => {
                self.signal = Some(9);
                (Status::Failure, 137, Some(violation(limit_name(limit))))
            }
        };
        Step {
            status,
            exit_code: Some(code),
            sha256: None,
            stdout: Some(self.contents.keep(&outcome.stdout.bytes)),
            stderr: Some(self.contents.keep(&outcome.stderr.bytes)),
            error,
        }
    }
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::WallTime => "the time is over",
        Limit::Stdin => "more input than is kept",
        Limit::Stdout | Limit::Stderr => "more output than is captured",
        Limit::Memory => "more memory than allowed",
        Limit::WorkBytes => "more bytes than max_total_output_bytes",
        Limit::WorkFiles => "more files than max_output_files",
        Limit::Temporary => "more temporary files than allowed",
        Limit::FreeSpace | Limit::FreeFiles => "more files than the disk has room for",
        Limit::SharedMemory => "more shared memory than there is",
        Limit::Processes => "more processes than allowed",
    }
}

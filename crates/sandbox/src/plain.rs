//! A command without isolation on systems other than Linux, for those who ask for it by name: an ordinary child in its own
//! process group with the fixed environment, a time limit and bounded output. Everything else of
//! the limits is not enforced, and a process that leaves the group outlives the run.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::error::SandboxError;
use crate::outcome::{Ending, Enforcement, Enforcer, Outcome, Recorded};
use crate::pump::{Pump, Stop, Streams};
use crate::spec::{INSIDE_HOME, INSIDE_TMP, Spec};
use crate::streams::Stdin;

/// Runs the command of a checked specification.
pub(crate) fn run(spec: &Spec) -> Result<Recorded, SandboxError> {
    let began = Instant::now();
    if spec.terminal.is_some() {
        return Err(SandboxError::Unsupported);
    }
    let mut child = start(spec)?;
    let stdin = child.stdin.take();
    let input = match &spec.stdin {
        Stdin::Null => Vec::new(),
        Stdin::Bytes(bytes) => bytes.clone(),
        Stdin::File(_) | Stdin::Pipe(_) => return Err(SandboxError::Unsupported),
    };
    let feeder = thread::Builder::new().spawn(move || {
        if let Some(mut pipe) = stdin {
            // A command that does not read its input does not fail.
            let _ = pipe.write_all(&input);
        }
    });
    let feeder = match feeder {
        Ok(feeder) => feeder,
        Err(source) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(SandboxError::System {
                what: "start a thread",
                source,
            });
        }
    };
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(SandboxError::NoReport);
    };
    let limits = &spec.limits;
    let deadline = began + limits.wall_time;
    let (stdout, stderr) = (OwnedFd::from(stdout), OwnedFd::from(stderr));
    let streams = Streams {
        stdout,
        stderr,
        feed: None,
    };
    let mut pump = Pump::new(streams, spec, deadline).map_err(reading)?;
    let mut ended: Option<ExitStatus> = None;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let send = |number: i32| {
        if let (Some(group), Some(signal)) = (group, Signal::from_named_raw(number)) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    };
    let has_ended = || {
        ended = child.try_wait()?;
        Ok(ended.is_some())
    };
    let stop = pump.run(None, has_ended, send);
    // Whatever it left running in its group ends with it.
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let status = child.wait().map_err(|source| SandboxError::System {
        what: "wait for the command",
        source,
    })?;
    let limit = match stop.map_err(reading)? {
        Stop::Ended => None,
        Stop::Reached(limit) => Some(limit),
        Stop::Cancelled => return Err(SandboxError::Cancelled),
    };
    let _ = feeder.join();
    let streams = pump.finish().map_err(reading)?;
    let ending = match (limit, status.code(), status.signal()) {
        (Some(limit), _, _) => Ending::Stopped(limit),
        (None, Some(code), _) => Ending::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, None, Some(signal)) => Ending::Signaled(signal),
        (None, None, None) => return Err(SandboxError::NoReport),
    };
    let outcome = Outcome {
        ending,
        stdout: streams.stdout,
        stderr: streams.stderr,
        input: streams.input,
        terminal: streams.terminal,
        interrupted: streams.interrupted,
        duration: began.elapsed(),
        enforcement: Enforcement {
            memory: Enforcer::Nobody,
            work_folder: Enforcer::Nobody,
        },
    };
    Ok(Recorded {
        outcome,
        layer: None,
        observation: None,
        program: None,
        memory_bytes: None,
    })
}

fn start(spec: &Spec) -> Result<Child, SandboxError> {
    let (Some(program), arguments) = (spec.command.first(), spec.command.get(1..)) else {
        return Err(SandboxError::NoReport);
    };
    let mut command = Command::new(program);
    command
        .args(arguments.unwrap_or_default())
        .current_dir(spec.on_host(&spec.current_dir))
        .env_clear()
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in spec.environment() {
        // Folders that exist only inside stand for the work folder here.
        let is_private =
            name == "HOME" && value == INSIDE_HOME || name == "TMPDIR" && value == INSIDE_TMP;
        if is_private {
            command.env(name, &spec.work_folder);
        } else if spec.path_variables.contains(&name) {
            command.env(name, spec.on_host(Path::new(&value)));
        } else {
            command.env(name, value);
        }
    }
    command.spawn().map_err(|source| SandboxError::Execute {
        program: program.to_string_lossy().into_owned(),
        source,
    })
}

fn reading(source: io::Error) -> SandboxError {
    SandboxError::System {
        what: "read the command's output",
        source,
    }
}

//! Starts the processes of a run, follows them to their end and puts together what they tell.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions};

use super::cgroup::GroupEntrance;
use super::interrupts::Patience;
use super::loopback::{LoopbackWire, take_listener};
use super::observer::{Assignment, Observer};
use super::report::{RECORD_BYTES, Record};
use super::screen::Screen;
use super::stage::{Wires, WorkWires};
use super::terminal::{Sides, TerminalWire};
use super::{at, handover, left_running, ownership, pipe, sys, system, terminal};
use crate::error::{Layer, Missing, SandboxError};
use crate::feed::Feed;
use crate::observation::{Gap, Observation};
use crate::outcome::{Ending, Limit};
use crate::pump::{Pump, Pumped, Stop, Streams};
use crate::spec::Spec;
use crate::streams::Stdin;

/// What a run needs beside its specification.
pub(super) struct Launch<'a> {
    pub(super) spec: &'a Spec,
    pub(super) began: Instant,
    /// The user that the command runs as, where that is another.
    pub(super) drop_to: Option<(u32, u32)>,
    pub(super) group: Option<GroupEntrance>,
    /// Where the kernel tells that it ended a process of that group for want of memory.
    pub(super) group_events: Option<OwnedFd>,
    /// The command's terminal, where it is one of the host's. Else process 1 opens the one that is wanted.
    pub(super) terminal: Option<Sides>,
    pub(super) work: Option<WorkWires>,
    /// Nothing where nothing is to be observed.
    pub(super) observation: Option<(Assignment, Vec<Gap>)>,
}

/// How a run ended, as far as its processes tell.
pub(super) struct RunEnd {
    pub(super) records: Vec<Record>,
    pub(super) limit: Option<Limit>,
    pub(super) streams: Pumped,
    pub(super) duration: Duration,
    pub(super) observation: Option<Observation>,
}

impl Launch<'_> {
    /// Forks the first process, which runs `supervise`, and waits until it and all others are
    /// gone.
    pub(super) fn go(self, supervise: impl FnOnce(Wires) -> i32) -> Result<RunEnd, SandboxError> {
        let _patience = self.spec.grace.map(|_| Patience::begin());
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        let (report, report_end) = pipe()?;
        let (control_end, control) = pipe()?;
        let (signals_end, signals) = pipe()?;
        let (stdin, feed) = self.prepare_stdin()?;
        if let Some(ids) = self.drop_to {
            // So that the command may open /dev/stdout and /dev/stderr by name.
            let stdin = feed.is_some().then_some(&stdin);
            for end in [&stdout_end, &stderr_end].into_iter().chain(stdin) {
                ownership::give_file(end.as_fd(), ids).map_err(at("give the pipes away"))?;
            }
        }
        let (listener, observer) = match &self.observation {
            Some(_) => {
                let (listener, observer) = handover::make().map_err(at("make a socket"))?;
                (Some(listener), Some(observer))
            }
            None => (None, None),
        };
        let (listening, loopback) = match &self.spec.loopback {
            Some(loopback) if loopback.is_inside() => {
                let (taker, hand_over) = handover::make().map_err(at("make a socket"))?;
                let port = loopback.port();
                (
                    Some((taker, loopback)),
                    Some(LoopbackWire { port, hand_over }),
                )
            }
            _ => (None, None),
        };
        let null = null()?;
        let mut sides = self.terminal;
        let (mut wire, mut taker) = (None, None);
        if let Some(terminal) = &self.spec.terminal {
            let open = at("open a terminal");
            match &sides {
                Some(sides) => {
                    let ids = self.drop_to;
                    let opened = TerminalWire::opened(terminal, &sides.of_command, ids);
                    wire = Some(opened.map_err(open)?);
                }
                None => {
                    let (inside, from) = TerminalWire::inside(terminal).map_err(open)?;
                    (wire, taker) = (Some(inside), Some(from));
                }
            }
        }
        let wires = Wires {
            stdin,
            signals: signals_end,
            terminal: wire,
            stdout: stdout_end,
            stderr: stderr_end,
            report: report_end,
            control: control_end,
            null,
            group: self.group,
            group_events: self.group_events,
            work: self.work,
            observer,
            loopback,
        };
        let supervisor =
            sys::spawn_child(|| supervise(wires)).map_err(system("start a process"))?;
        let running = Running {
            supervisor,
            control: Some(control),
            is_gone: false,
        };
        let (observer, gaps) = match (self.observation, listener) {
            (Some((assignment, gaps)), Some(listener)) => {
                (Some(Observer::start(listener, assignment)?), gaps)
            }
            _ => (None, Vec::new()),
        };

        if let Some((taker, loopback)) = listening {
            let listener = take_listener(&taker).map_err(at("take the command's loopback"))?;
            listener
                .into_iter()
                .for_each(|listener| loopback.give(listener));
        }
        if let Some(taker) = taker {
            sides = terminal::take(&taker).map_err(at("take the command's terminal"))?;
        }
        let handle = rustix::process::pidfd_open(supervisor, PidfdFlags::empty())
            .map_err(at("watch a process"))?;
        let deadline = self.began + self.spec.limits.wall_time;
        let reading = system("move the command's streams");
        let screen = match (sides, &self.spec.terminal) {
            (Some(sides), Some(terminal)) => Some(Screen::new(sides, terminal, &self.spec.limits)),
            _ => None,
        };
        let streams = Streams {
            stdout,
            stderr,
            feed,
            screen: screen.transpose().map_err(&reading)?,
        };
        let mut pump = Pump::new(streams, self.spec, deadline).map_err(&reading)?;
        let send = |signal: i32| {
            let number = u8::try_from(signal).unwrap_or_default();
            let _ = rustix::io::write(&signals, &[number]);
        };
        let stop = pump
            .run(Some(handle.as_fd()), || has_ended(handle.as_fd()), send)
            .map_err(&reading)?;
        running.end()?;
        let streams = pump.finish().map_err(reading)?;
        let duration = self.began.elapsed();
        let records = read_records(&report)?;
        let mut gaps = gaps;
        let left = left_running::parse(&records);
        if records.contains(&Record::PartialProc) {
            gaps.push(Gap::PartialProc);
        }
        if !left.is_empty() {
            gaps.push(Gap::LeftRunning { processes: left });
        }
        let observation = observer.map(|observer| observer.finish(gaps, unobserved(&records)));
        let limit = match stop {
            Stop::Ended => None,
            Stop::Reached(limit) => Some(limit),
            Stop::Cancelled => return Err(SandboxError::Cancelled),
        };
        Ok(RunEnd {
            records,
            limit,
            streams,
            duration,
            observation,
        })
    }
}

impl Launch<'_> {
    /// What the command reads, and what has to be passed on into it.
    fn prepare_stdin(&self) -> Result<(OwnedFd, Option<Feed>), SandboxError> {
        let prepare = at("prepare standard input");
        match &self.spec.stdin {
            _ if self.spec.terminal.as_ref().is_some_and(|it| it.stdin) => {
                null().map(|it| (it, None))
            }
            Stdin::Null => null().map(|it| (it, None)),
            Stdin::Bytes(bytes) => {
                let file = sealed_input(&mut bytes.as_slice()).map_err(prepare)?;
                Ok((file, None))
            }
            Stdin::File(file) => {
                let mut from = OffsetReader { file, at: 0 };
                Ok((sealed_input(&mut from).map_err(prepare)?, None))
            }
            Stdin::Pipe(input) => {
                let (end, to) = pipe()?;
                let feed = Feed::new(input, to).map_err(system("prepare standard input"))?;
                Ok((end, Some(feed)))
            }
        }
    }
}

/// Reads a file from its start without moving the place where others read it.
struct OffsetReader<'a> {
    file: &'a File,
    at: u64,
}

impl Read for OffsetReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

fn null() -> Result<OwnedFd, SandboxError> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(at("open /dev/null"))
}

fn unobserved(records: &[Record]) -> Option<String> {
    records.iter().find_map(|record| match record {
        Record::NotObserved(errno) => Some(io::Error::from_raw_os_error(*errno).to_string()),
        _ => None,
    })
}

/// The supervisor and the means to end it. Dropping it ends and reaps everything too, so that no
/// early return leaves a process behind.
struct Running {
    supervisor: Pid,
    control: Option<OwnedFd>,
    is_gone: bool,
}

impl Running {
    fn end(mut self) -> Result<(), SandboxError> {
        self.end_now().map_err(at("wait for the sandbox"))
    }

    fn end_now(&mut self) -> Result<(), Errno> {
        drop(self.control.take());
        if self.is_gone {
            return Ok(());
        }
        self.is_gone = true;
        loop {
            match rustix::process::waitpid(Some(self.supervisor), WaitOptions::empty()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end_now();
    }
}

fn has_ended(handle: BorrowedFd<'_>) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn read_records(pipe: &OwnedFd) -> Result<Vec<Record>, SandboxError> {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 64 * RECORD_BYTES];
    loop {
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(at("read the sandbox's report")(errno)),
        }
    }
    Ok(bytes
        .chunks(RECORD_BYTES)
        .filter_map(Record::parse)
        .collect())
}

/// What happened, from what we saw ourselves and what the processes reported. A step that failed
/// counts before everything else: then the command never ran.
pub(super) fn judge(
    spec: &Spec,
    seen: Option<Limit>,
    records: &[Record],
) -> Result<Ending, SandboxError> {
    for record in records {
        match *record {
            // The machine is not to blame for what the caller's folder holds.
            Record::SetUpFailed(Layer::WorkFolder, errno) => {
                return Err(SandboxError::System {
                    what: "fill the work folder",
                    source: io::Error::from_raw_os_error(errno),
                });
            }
            Record::SetUpFailed(layer, errno) => {
                let reason = io::Error::from_raw_os_error(errno).to_string();
                return Err(Missing { layer, reason }.into());
            }
            Record::NotMeasured(errno) => {
                return Err(SandboxError::System {
                    what: "measure what the command uses, which was stopped",
                    source: io::Error::from_raw_os_error(errno),
                });
            }
            Record::ExecuteFailed(errno) => {
                let program = spec
                    .command
                    .first()
                    .map(|program| program.to_string_lossy());
                return Err(SandboxError::Execute {
                    program: program.unwrap_or_default().into_owned(),
                    source: io::Error::from_raw_os_error(errno),
                });
            }
            _ => {}
        }
    }
    if let Some(limit) = seen {
        return Ok(Ending::Stopped(limit));
    }
    let ending = records.iter().find_map(|record| match *record {
        Record::Exited(code) => Some(Ending::Exited(code)),
        Record::Signaled(signal) => Some(Ending::Signaled(signal)),
        Record::Stopped(limit) => Some(Ending::Stopped(limit)),
        _ => None,
    });
    ending.ok_or(SandboxError::NoReport)
}

/// Standard input as a file in memory that nobody can change any more: unlike a pipe it needs no
/// one to feed it.
fn sealed_input(from: &mut impl Read) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create("stdin", flags)?);
    let copied = io::copy(from, &mut &file);
    copied.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

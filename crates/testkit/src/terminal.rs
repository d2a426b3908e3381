//! Runs a command on a pseudo terminal, as a person at a keyboard would.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{Termios, Winsize};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which streams of a command are the terminal; the others are what the command says.
#[derive(Debug, Clone, Copy)]
pub struct On {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
}

impl On {
    /// All three.
    pub const ALL: On = On {
        stdin: true,
        stdout: true,
        stderr: true,
    };
}

/// A command that runs on a terminal of its own.
#[derive(Debug)]
pub struct OnTerminal {
    keyboard: File,
    side: OwnedFd,
    /// The running command.
    pub child: Child,
    shown: Vec<u8>,
}

impl OnTerminal {
    /// Starts a command on a terminal of 100 columns and 30 lines.
    pub fn start(command: &Command, on: On) -> OnTerminal {
        let keyboard = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&keyboard).unwrap();
        rustix::pty::unlockpt(&keyboard).unwrap();
        let name = rustix::pty::ptsname(&keyboard, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let side = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        // Ordinary users have terminals of their own too.
        let path = std::path::Path::new(OsStr::from_bytes(name.as_bytes()));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(path, mode).unwrap();
        // It makes the terminal the controlling one, without code of ours between fork and exec.
        let mut started = Command::new("setsid");
        started.args(["--ctty", "--wait", "sh", "-c"]);
        // Streams that are no terminal lead to files in the command's folder.
        let mut script = String::from("exec \"$0\" \"$@\"");
        for (is_on, elsewhere) in [
            (on.stdin, " </dev/null"),
            (on.stdout, " >stdout.txt"),
            (on.stderr, " 2>stderr.txt"),
        ] {
            if !is_on {
                script += elsewhere;
            }
        }
        started.arg(script).arg(command.get_program());
        started.args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                started.env(name, value);
            }
        }
        started.env("TERM", "xterm");
        if let Some(folder) = command.get_current_dir() {
            started.current_dir(folder);
        }
        let stream = || Stdio::from(side.try_clone().unwrap());
        let child = started
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        let mut terminal = OnTerminal {
            keyboard: File::from(keyboard),
            side,
            child,
            shown: Vec::new(),
        };
        terminal.resize(100, 30);
        terminal
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize {
            ws_col: columns,
            ws_row: rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&self.keyboard, size).unwrap();
    }

    /// How the terminal is set.
    pub fn settings(&self) -> Termios {
        rustix::termios::tcgetattr(&self.side).unwrap()
    }

    /// Types these keys.
    pub fn type_keys(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }

    /// Waits until this text was shown.
    pub fn wait_for(&mut self, text: &str) {
        let began = Instant::now();
        while !self.text().contains(text) {
            assert!(
                began.elapsed() < PATIENCE && self.child.try_wait().unwrap().is_none()
                    || self.read_some() > 0,
                "`{text}` was never shown: {}",
                self.text()
            );
            self.read_some();
        }
    }

    /// What was shown so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Waits for the end of the command: what was shown, and its exit code.
    pub fn finish(mut self) -> (String, Option<i32>) {
        let began = Instant::now();
        loop {
            let ended = self.child.try_wait().unwrap();
            while self.read_some() > 0 {}
            if let Some(status) = ended {
                return (self.text(), status.code());
            }
            if began.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("it does not end: {}", self.text());
            }
        }
    }

    fn read_some(&mut self) -> usize {
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        let mut events = [PollFd::new(&self.keyboard, PollFlags::IN)];
        if rustix::event::poll(&mut events, Some(&pause)).unwrap_or(0) == 0 {
            return 0;
        }
        let mut buffer = [0; 1 << 16];
        match self.keyboard.read(&mut buffer) {
            Ok(count) => {
                self.shown.extend_from_slice(&buffer[..count]);
                count
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(_) => 0,
        }
    }
}

//! Debian's `docker-registry`, started by a test for itself (`.ci/servers` installs it).
//!
//! It accepts artifacts and subjects but has no list of referrers, and so exercises the tag that replaces
//! the list. It ends with the process that started it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::skip::need_program;

/// A running registry.
pub struct DockerRegistry {
    folder: TempDir,
    child: Child,
    port: u16,
}

/// A port that is free now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl DockerRegistry {
    /// Starts a registry; `None`, with a message, if it is not installed.
    pub fn start() -> Option<Self> {
        Self::start_in(None, "")
    }

    /// Starts a registry that asks for this user and password.
    pub fn start_with_password(user: &str, bcrypt: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let passwords = folder.path().join("htpasswd");
        fs::write(&passwords, format!("{user}:{bcrypt}\n")).unwrap();
        let auth = format!(
            "auth: {{htpasswd: {{realm: test, path: {}}}}}\n",
            passwords.display()
        );
        let registry = Self::start_in(None, &auth);
        // The registry reads the file, so it must stay.
        drop(folder.keep());
        registry
    }

    /// Starts a registry that keeps its data in `data`, with more lines of configuration.
    pub fn start_in(data: Option<&Path>, more: &str) -> Option<Self> {
        if !need_program("docker-registry") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let data = data.map_or_else(|| folder.path().join("data"), Path::to_owned);
        let port = free_port();
        let config = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\n\
             http: {{addr: '127.0.0.1:{port}', secret: tests}}\n{more}",
            data.display()
        );
        fs::write(folder.path().join("config.yml"), config).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(folder.path().join("config.yml"))
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let registry = Self {
            folder,
            child,
            port,
        };
        for _ in 0..600 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(registry);
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("docker-registry does not answer: {}", registry.log());
    }

    /// The registry's log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The folder of its data, unless another was given.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

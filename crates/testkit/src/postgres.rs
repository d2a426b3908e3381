//! A PostgreSQL server for tests, and pgbouncer in front of it.
//!
//! It is started from the system's programs (`.ci/servers` installs them), in its own folder, on its
//! own port, as a user that is not root, and ends with the process that started it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skip::skip;
use crate::small_disk::is_root;

/// The superuser's password, which no message may show.
pub const PASSWORD: &str = "c0rrect-h0rse";

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A running server; it is stopped when it is dropped.
pub struct Server {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    address: String,
    child: Mutex<Option<Child>>,
}

/// The server that the tests of this process share, started by the first that asks; `None`, with a
/// message, if PostgreSQL is not installed. With CI=true that is a failure.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(|error| error.into_inner());
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start("127.0.0.1", "")?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// A user that is not root, to run servers as; `None` if this process is not root anyway.
fn ordinary_user() -> Option<(u32, u32)> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let mut fields = passwd
        .lines()
        .find(|line| line.starts_with("nobody:"))
        .unwrap()
        .split(':')
        .skip(2)
        .map(|field| field.parse().unwrap());
    is_root().then(|| (fields.next().unwrap(), fields.next().unwrap()))
}

/// A command that runs as an ordinary user.
fn as_ordinary_user(program: &Path) -> Command {
    let Some((user, group)) = ordinary_user() else {
        return Command::new(program);
    };
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--reuid={user}"))
        .arg(format!("--regid={group}"))
        .arg("--clear-groups")
        .arg("--")
        .arg(program);
    command
}

fn give_to_ordinary_user(path: &Path) {
    if let Some((user, group)) = ordinary_user() {
        chown(path, Some(user), Some(group)).unwrap();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The folder of the newest version's programs.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir(VERSIONS)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path().join("bin"))
        .filter(|bin| bin.join("postgres").exists() && bin.join("initdb").exists())
        .collect();
    versions.sort();
    versions.pop()
}

impl Server {
    /// Starts a server that listens on `address`, with further settings, one per line.
    pub fn start(address: &str, settings: &str) -> Option<Self> {
        Self::start_below(&std::env::temp_dir(), address, settings)
    }

    /// Like [`Server::start`], with all data in a new folder below `place`.
    pub fn start_below(place: &Path, address: &str, settings: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            skip("PostgreSQL is not installed; .ci/servers installs it");
            return None;
        };
        let folder = tempfile::tempdir_in(place).unwrap();
        give_to_ordinary_user(folder.path());
        let password = folder.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        give_to_ordinary_user(&password);
        let made = as_ordinary_user(&programs.join("initdb"))
            .current_dir(folder.path())
            .args(["-D", "data", "-U", "postgres", "-A", "scram-sha-256"])
            .args([
                "--pwfile=password",
                "--no-locale",
                "-E",
                "UTF8",
                "--no-sync",
            ])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let port = free_port();
        let file = folder.path().join("data/postgresql.conf");
        let mut conf = fs::read_to_string(&file).unwrap();
        conf.push_str(&format!(
            "\nlisten_addresses = '{address}'\nport = {port}\nunix_socket_directories = ''\n\
             max_connections = 200\n{settings}\n"
        ));
        fs::write(&file, conf).unwrap();
        let hba = folder.path().join("data/pg_hba.conf");
        let mut text = fs::read_to_string(&hba).unwrap();
        text.push_str("host all all 0.0.0.0/0 scram-sha-256\n");
        fs::write(&hba, text).unwrap();
        let server = Self {
            programs,
            folder,
            port,
            address: address.to_owned(),
            child: Mutex::new(None),
        };
        server.run();
        Some(server)
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder of its version's programs.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it, after it was stopped.
    pub fn run(&self) {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .unwrap();
        let mut command = as_ordinary_user(&self.programs.join("postgres"));
        command
            .current_dir(self.folder.path())
            .args(["-D", "data"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        *self.child.lock().unwrap() = Some(command.spawn().unwrap());
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the server does not start: {}",
                fs::read_to_string(self.folder.path().join("log")).unwrap()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_ready(&self) -> bool {
        let asked = Command::new(self.programs.join("pg_isready"))
            .args(["-q", "-h", &self.address, "-p", &self.port.to_string()])
            .status();
        asked.unwrap().success()
    }

    /// Stops it abruptly, as a crash would: `pg_ctl stop -m immediate`.
    pub fn stop_immediately(&self) {
        self.stop("immediate");
    }

    fn stop(&self, how: &str) {
        let _ = as_ordinary_user(&self.programs.join("pg_ctl"))
            .current_dir(self.folder.path())
            .args(["-D", "data", "-s", "-w", "-m", how, "stop"])
            .stdin(Stdio::null())
            .status();
        if let Some(mut child) = self.child.lock().unwrap().take() {
            let _ = child.wait();
        }
    }

    /// Creates an empty database and returns its address.
    pub fn new_database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        let (address, port) = (&self.address, self.port);
        format!("postgres://postgres:{PASSWORD}@{address}:{port}/{database}")
    }

    /// Runs SQL with psql and returns its output, unaligned and without headers.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let ran = self.psql(database, sql);
        assert!(ran.status.success(), "{sql}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Runs SQL that must be refused and returns the server's message.
    pub fn refusal(&self, database: &str, sql: &str) -> String {
        let ran = self.psql(database, sql);
        assert!(!ran.status.success(), "{sql}: {ran:?}");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    }

    fn psql(&self, database: &str, sql: &str) -> Output {
        Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .arg(self.url(database))
            .output()
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("immediate");
    }
}

/// pgbouncer in transaction mode in front of a server; it ends when it is dropped.
pub struct Bouncer {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Bouncer {
    /// Starts pgbouncer; `None`, with a message, if it is not installed.
    pub fn start(server: &Server) -> Option<Self> {
        let program = Path::new("/usr/sbin/pgbouncer");
        if !program.exists() {
            skip("pgbouncer is not installed; .ci/servers installs it");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = free_port();
        let users = folder.path().join("users");
        fs::write(&users, format!("\"postgres\" \"{PASSWORD}\"\n")).unwrap();
        let settings = format!(
            "[databases]\n* = host={} port={} user=postgres password={PASSWORD}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = 2\nmax_client_conn = 100\n",
            server.address,
            server.port,
            users.display()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let child = as_ordinary_user(program)
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "pgbouncer does not start"
            );
            thread::sleep(Duration::from_millis(50));
        }
        Some(Self {
            folder,
            port,
            child,
        })
    }

    /// The address of the database at `url`, through pgbouncer.
    pub fn url(&self, url: &str) -> String {
        let database = url.rsplit('/').next().unwrap();
        let port = self.port;
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/{database}")
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = &self.folder;
    }
}

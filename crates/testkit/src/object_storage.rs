//! Object storage servers for tests: SeaweedFS, which keeps bytes on disk, and moto, which imitates the
//! service closely, including locks. And boto3, a client that is not ours.
//!
//! `.ci/object-storage` installs them. Each runs in its own folder and on its own ports, and ends with
//! the process that started it.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::project_root;
use crate::skip::skip;

/// The key of the only user.
pub const KEY: &str = "AKIATESTKEY";
/// That user's secret, which no message may show.
pub const SECRET: &str = "s3cret-w0rd-of-the-tests";

/// Which server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SeaweedFS.
    Weed,
    /// moto.
    Moto,
}

/// A running server; it is stopped when it is dropped.
pub struct Server {
    /// Which server it is.
    pub kind: Kind,
    port: u16,
    child: Child,
    _folder: TempDir,
}

/// Where `.ci/object-storage` puts things.
fn tools() -> PathBuf {
    match std::env::var_os("RUNSEAL_OBJECT_STORAGE") {
        Some(folder) => folder.into(),
        None => project_root().join("target/object-storage"),
    }
}

/// Both servers, shared by the tests of this process; none, with a message, if they are not
/// installed. With CI=true that is a failure.
pub fn servers() -> Vec<Arc<Server>> {
    [Kind::Moto, Kind::Weed]
        .into_iter()
        .filter_map(server)
        .collect()
}

/// One server, shared by the tests of this process.
pub fn server(kind: Kind) -> Option<Arc<Server>> {
    static SHARED: [Mutex<Weak<Server>>; 2] = [
        const { Mutex::new(Weak::new()) },
        const { Mutex::new(Weak::new()) },
    ];
    let mut shared = SHARED[kind as usize]
        .lock()
        .unwrap_or_else(|error| error.into_inner());
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start(kind)?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// Finds `count` consecutive free ports, such that those 10,000 above them are free too. Returns the
/// first.
fn free_ports(count: u16) -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let start = std::process::id() % 1500 * 16;
    for _ in 0..1000 {
        let step = NEXT.fetch_add(16, Ordering::Relaxed);
        let base = 20_000 + u16::try_from((start + step) % 24_000).unwrap();
        if (0..count).all(|at| is_free(base + at) && is_free(base + at + 10_000)) {
            return base;
        }
    }
    panic!("no ports are free");
}

impl Server {
    /// Starts a server; `None`, with a message, if it is not installed.
    pub fn start(kind: Kind) -> Option<Self> {
        Self::start_below(&std::env::temp_dir(), kind)
    }

    /// Like [`Server::start`], with all data in a new folder below `place`.
    pub fn start_below(place: &Path, kind: Kind) -> Option<Self> {
        let programs = tools().join("venv/bin");
        let program = match kind {
            Kind::Weed => programs.join("weed"),
            Kind::Moto => programs.join("moto_server"),
        };
        if !program.exists() {
            skip("object storage servers are not installed; .ci/object-storage installs them");
            return None;
        }
        let folder = tempfile::tempdir_in(place).unwrap();
        let base = free_ports(6);
        let mut command = Command::new(&program);
        match kind {
            Kind::Moto => {
                command.args(["-H", "127.0.0.1", "-p", &base.to_string()]);
            }
            Kind::Weed => {
                command
                    .arg("mini")
                    .arg(format!("-dir={}", folder.path().display()))
                    .args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1"])
                    .arg("-s3.autoCreateBucket=false")
                    .arg(format!("-s3.port={base}"))
                    .arg(format!("-master.port={}", base + 1))
                    .arg(format!("-volume.port={}", base + 2))
                    .arg(format!("-filer.port={}", base + 3))
                    .arg(format!("-webdav.port={}", base + 4))
                    .arg(format!("-admin.port={}", base + 5));
            }
        }
        let child = command
            .current_dir(folder.path())
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            kind,
            port: base,
            child,
            _folder: folder,
        };
        server.wait();
        Some(server)
    }

    /// Waits until a bucket can be created and written to.
    fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < until, "the server does not start");
            thread::sleep(Duration::from_millis(100));
        }
        let ready = "import time\nfor n in range(200):\n try:\n  s.create_bucket(Bucket='ready')\n  \
                     s.put_object(Bucket='ready',Key='k',Body=b'1')\n  break\n \
                     except Exception as e:\n  time.sleep(0.3)\nelse: raise e";
        self.python(ready, &[]);
    }

    /// Its address.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment variables that direct a client to it.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", self.endpoint()),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("HOME", "/nonexistent".to_owned()),
        ]
    }

    /// Runs Python with boto3's client as `s` and `arguments` as `a`, and returns its output.
    pub fn python(&self, script: &str, arguments: &[&str]) -> String {
        let start = format!(
            "import boto3,sys\nfrom botocore.config import Config\na=sys.argv[1:]\n\
             s=boto3.client('s3',endpoint_url='{}',region_name='us-east-1',\
             config=Config(s3={{'addressing_style':'path'}},retries={{'max_attempts':1}}))\n",
            self.endpoint()
        );
        let ran = Command::new(tools().join("venv/bin/python"))
            .arg("-c")
            .arg(start + script)
            .args(arguments)
            .envs(self.variables())
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        String::from_utf8(ran.stdout).unwrap()
    }

    /// Creates a bucket that no other test uses and returns its name.
    pub fn new_bucket(&self) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("bucket-{}", MADE.fetch_add(1, Ordering::Relaxed));
        self.python("s.create_bucket(Bucket=a[0])", &[&name]);
        name
    }

    /// The keys of a bucket, in order.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let script = "for p in s.get_paginator('list_objects_v2').paginate(Bucket=a[0]):\n \
                      for o in p.get('Contents',[]): print(o['Key'])";
        let mut keys: Vec<_> = self
            .python(script, &[bucket])
            .lines()
            .map(str::to_owned)
            .collect();
        keys.sort();
        keys
    }

    /// Uploads a file to a key, replacing whatever is there.
    pub fn put(&self, bucket: &str, key: &str, file: &Path) {
        let file = file.to_str().unwrap();
        self.python("s.upload_file(a[2],a[0],a[1])", &[bucket, key, file]);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

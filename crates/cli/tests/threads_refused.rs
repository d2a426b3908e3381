//! Where the system grants no thread, work is done without or is refused in plain words. Nothing panics.
#![cfg(target_os = "linux")]
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use runseal_testkit::skip::skip_even_in_ci;

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

/// An ordinary user: limits on processes do not hold for root.
const NOBODY: &str = "65534";

/// A folder in which commands run as a user who may have one process with one thread.
struct Poor {
    bench: Bench,
    _folder: tempfile::TempDir,
}

impl Poor {
    /// Enough files that everything that uses several threads would use them here. `None` where no such
    /// user can be had.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path(), everybody).unwrap();
        // The user may not be able to reach the place where it was built.
        let binary = folder.path().join("runseal");
        runseal_testkit::folders::copy_program(env!("CARGO_BIN_EXE_runseal"), &binary);
        let bench = Bench::new(binary, folder.path());
        let engine = project_root().join("examples/engines/resonance-sweep");
        copy(&engine, &bench.path("engine"));
        bench.write("output.json", OUTPUT);
        for number in 0..600 {
            bench.write(&format!("artifacts/{number}.txt"), format!("{number}\n"));
        }
        bench.write("artifacts/large.bin", vec![7; 9 << 20]);
        let poor = Self {
            bench,
            _folder: folder,
        };
        let run = |script| poor.limited("/bin/sh", &["-c", script]);
        let code = |ran: Option<Ran>| ran.and_then(|ran| ran.code);
        // Such a user can be had, and gets no second process, which is what a thread counts as.
        match code(run("exit 7")) == Some(7) && code(run("/bin/true; exit 7")) != Some(7) {
            true => Some(poor),
            false => {
                skip_even_in_ci("only root can refuse a user threads, with setpriv and prlimit");
                None
            }
        }
    }

    fn limited(&self, program: &str, arguments: &[&str]) -> Option<Ran> {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
            .args(["prlimit", "--nproc=1", program])
            .args(arguments)
            .current_dir(self.bench.path(""))
            .env("HOME", self.bench.path(""))
            .stdin(Stdio::null());
        command.output().ok().map(Ran::from)
    }

    /// Runs the program without a single thread to spare.
    fn run(&self, arguments: &[&str]) -> Ran {
        let ran = self.limited("./runseal", arguments).unwrap();
        assert!(!ran.stderr.contains("panicked"), "{arguments:?}: {ran:?}");
        ran
    }

    fn seal(&self, run_id: &str) -> Ran {
        self.run(&[
            "seal",
            "engine",
            "engine/input.json",
            "output.json",
            "--artifacts",
            "artifacts",
            "--out",
            "out",
            "--run-id",
            run_id,
        ])
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn without_threads_bundles_are_sealed_verified_pushed_and_pulled_as_with_them() {
    let Some(poor) = Poor::new() else { return };
    let sealed = poor.seal("r1");
    assert_eq!(sealed.code, Some(0), "{sealed:?}");
    for arguments in [
        &["verify", "out/r1", "--strict"][..],
        &["verify", "out", "--format", "json"],
        &["inspect", "out/r1"],
        &["report", "out/r1", "-o", "page.html"],
        &["push", "out/r1", "oci-layout:layout:one"],
        &["verify", "oci-layout:layout:one"],
        &["pull", "oci-layout:layout:one", "-o", "pulled"],
        &["verify", "pulled", "--strict"],
    ] {
        let ran = poor.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    }
    let packed = Command::new("tar")
        .args(["-czf", "run.tar.gz", "-C", "out", "r1"])
        .current_dir(poor.bench.path(""))
        .status();
    assert!(packed.unwrap().success());
    let arguments = ["verify", "run.tar.gz", "--format", "json"];
    let (alone, helped) = (poor.run(&arguments), poor.bench.run(&arguments));
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert_eq!(alone.stdout, helped.stdout);
}

#[test]
fn without_threads_what_cannot_do_without_says_so() {
    let Some(poor) = Poor::new() else { return };
    assert_eq!(poor.seal("r1").code, Some(0));
    let add = ["catalog", "add", "out", "--store", "catalog.db"];
    let record = ["proxy", "record", "--recording", "model_io.json"];
    for (arguments, code) in [(&add[..], 2), (&record, 70)] {
        let ran = poor.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        let told = &ran.stderr;
        assert!(told.contains("Resource temporarily unavailable"), "{told}");
    }
    assert!(!poor.bench.path("model_io.json").exists());
}

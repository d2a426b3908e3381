//! What the tests of registries share: sealed runs, references, answers.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use serde_json::Value;

/// The password that no message may show.
pub const PASSWORD: &str = "c0rrect-h0rse";

/// `ada:` and the password, in base64.
pub const ADA: &str = "YWRhOmMwcnJlY3QtaDByc2U=";

/// The same for the tests' registries that keep bcrypt.
pub const ADA_BCRYPT: &str = "$2b$05$abcdefghijklmnopqrstuuvCBtoCuHtVKFzjPgvwVcJ.ySV.sIJJC";

/// A folder to run in.
pub fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

/// The run, which must have ended well.
pub fn ok(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// The answer of a run that must have ended well.
pub fn answer(ran: Ran) -> Value {
    serde_json::from_str(&ok(ran)).unwrap()
}

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

/// Seals a run at `out/<id>` with the artifacts in the folder `given`, where that is.
pub fn seal(bench: &Bench, id: &str) {
    bench.write("output.json", OUTPUT);
    let engine = project_root().join("examples/engines/resonance-sweep");
    let engine = engine.canonicalize().unwrap().to_str().unwrap().to_owned();
    let input = format!("{engine}/input.json");
    let mut arguments = vec!["seal", &engine, &input, "output.json", "--out", "out"];
    arguments.extend(["--run-id", id]);
    if bench.path("given").is_dir() {
        arguments.extend(["--artifacts", "given"]);
    }
    let mut command = bench.command(&arguments);
    command
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .stdin(Stdio::null());
    ok(command.output().unwrap().into());
}

/// Puts a file of so many bytes, none like another, among the artifacts of the next run.
pub fn give_large(bench: &Bench, name: &str, size: u64) {
    fs::create_dir_all(bench.path("given")).unwrap();
    let mut file = fs::File::create(bench.path("given").join(name)).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut left = size;
    let mut buffer = vec![0_u8; 1 << 20];
    while left > 0 {
        for word in buffer.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let count = left.min(buffer.len() as u64) as usize;
        file.write_all(&buffer[..count]).unwrap();
        left -= count as u64;
    }
}

/// Whether two folders hold the same names and bytes.
pub fn assert_same(one: &Path, other: &Path) {
    let compared = Command::new("diff")
        .arg("-r")
        .args([one, other])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compared.stdout);
    assert!(compared.status.success(), "{said}");
}

/// Docker's configuration with a credential for a host, in `docker/`.
pub fn log_in(bench: &Bench, host: &str, auth: &str) {
    let config = format!(r#"{{"auths":{{"{host}":{{"auth":"{auth}"}}}}}}"#);
    bench.write("docker/config.json", config);
}

/// Runs with Docker's configuration of [`log_in`].
pub fn run_as_ada(bench: &Bench, arguments: &[&str]) -> Ran {
    let mut command = bench.command(arguments);
    command
        .env("DOCKER_CONFIG", bench.path("docker"))
        .stdin(Stdio::null());
    command.output().unwrap().into()
}

/// A run that must have failed with this code of a message, and shows no secret.
pub fn assert_refused(ran: &Ran, exit: i32, code: &str) {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, Some(exit), "{said}");
    assert!(
        ran.stderr.contains(&format!("{code}: ")) || said.contains(code),
        "{said}"
    );
    assert_no_secret(ran);
}

/// Nothing that was printed holds a password or a token.
pub fn assert_no_secret(ran: &Ran) {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for secret in [PASSWORD, ADA, "t0ken"] {
        assert!(!said.contains(secret), "{said}");
    }
}

/// The names in the bench's folder, without what tests put there.
pub fn left_over(bench: &Bench) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(bench.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !["out", "output.json", "given", "docker"].contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

//! What the tests of signatures share: a sealed run, keys, and a time stamping authority.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use runseal_testkit::skip::skip;

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

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

/// Seals a run under this id, at `out/<id>`.
pub fn sealed_as(bench: &Bench, id: &str) {
    bench.write("output.json", OUTPUT);
    let engine = project_root().join("examples/engines/resonance-sweep");
    let engine = engine.canonicalize().unwrap().to_str().unwrap().to_owned();
    let input = format!("{engine}/input.json");
    let arguments = [
        "seal",
        &engine,
        &input,
        "output.json",
        "--out",
        "out",
        "--run-id",
        id,
    ];
    let mut command = bench.command(&arguments);
    command
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .stdin(Stdio::null());
    ok(command.output().unwrap().into());
}

/// Seals a run as `out/r1`.
pub fn sealed(bench: &Bench) {
    sealed_as(bench, "r1");
}

/// A key with its public half beside it.
pub fn keygen(bench: &Bench, name: &str, kind: &str, format: &str) {
    let arguments = [
        "keygen", "-o", name, "--type", kind, "--format", format, "--public",
    ];
    ok(bench.run(&arguments));
}

/// The keys `ada` and `log.key`, and an empty log signed with the second; the log's verifier key.
pub fn new_log(bench: &Bench) -> String {
    for name in ["ada", "log.key"] {
        keygen(bench, name, "ed25519", "pem");
    }
    let init = ["log", "init", "log", "--origin", "example.com/runs"];
    let made = ok(bench.run(&[&init[..], &["--key", "log.key"]].concat()));
    made.lines().nth(1).unwrap().to_owned()
}

/// The folder of the implementations by others that `.ci/trust-tools` installs.
pub fn trust_tools() -> PathBuf {
    match std::env::var_os("RUNSEAL_TRUST_TOOLS") {
        Some(path) => PathBuf::from(path),
        None => project_root().join("target/trust-tools"),
    }
}

/// The Python that has `package`; none if it is not installed, which is a failure in CI.
pub fn trust_python(package: &str) -> Option<PathBuf> {
    let python = trust_tools().join("venv/bin/python");
    if python.is_file() {
        return Some(python);
    }
    skip(&format!(
        "{package} is missing; .ci/trust-tools installs it"
    ));
    None
}

/// What a script of `tests/outside` prints when it is given `input`; none if it fails.
pub fn ask_script(
    python: &Path,
    (folder, script): (&Path, &str),
    arguments: &[&str],
    input: &[u8],
) -> Option<String> {
    let outside = project_root().join("crates/cli/tests/outside");
    let mut child = Command::new(python)
        .arg(outside.join(script).canonicalize().unwrap())
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let succeeded = output.status.success();
    succeeded.then(|| String::from_utf8(output.stdout).unwrap())
}

/// Makes the policy `trust.toml`, which trusts ada's key for everything.
pub fn trust_ada(bench: &Bench, public_key: &str) {
    ok(bench.run(&["trust", "init", "trust.toml"]));
    let add = ["trust", "add", "trust.toml", "ada", "--key", public_key];
    ok(bench.run(&[&add[..], &["--accept"]].concat()));
}

/// Runs openssl in the folder, which must go well.
pub fn openssl(bench: &Bench, arguments: &[&str]) {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// A time stamping authority of openssl's, in the folder `tsa`.
pub struct TimeAuthority;

/// Makes the authority: a root, and a certificate for time stamping alone.
pub fn time_authority(bench: &Bench) -> TimeAuthority {
    bench.write(
        "tsa/tsa.cnf",
        "[tsa]\ndefault_tsa = t\n[t]\nserial = tsa/serial\ncrypto_device = builtin\n\
         signer_cert = tsa/tsa.pem\nsigner_key = tsa/tsa.key\nsigner_digest = sha256\n\
         certs = tsa/ca.pem\ndefault_policy = 1.2.3.4.1\ndigests = sha256, sha384, sha512\n\
         ordering = yes\ntsa_name = yes\ness_cert_id_chain = no\ness_cert_id_alg = sha256\n\
         [stamp]\nbasicConstraints = CA:FALSE\nkeyUsage = critical,digitalSignature\n\
         extendedKeyUsage = critical,timeStamping\n\
         [other]\nbasicConstraints = CA:FALSE\nextendedKeyUsage = critical,codeSigning\n",
    );
    bench.write("tsa/serial", "01\n");
    let run = |arguments: &[&str]| openssl(bench, arguments);
    run(&[
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "tsa/ca.key",
        "-out",
        "tsa/ca.pem",
        "-subj",
        "/CN=Test TSA root",
        "-days",
        "3650",
        "-sha256",
    ]);
    run(&[
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "tsa/tsa.key",
        "-out",
        "tsa/tsa.csr",
        "-subj",
        "/CN=Test TSA",
    ]);
    for (section, name) in [("stamp", "tsa/tsa.pem"), ("other", "tsa/other.pem")] {
        run(&[
            "x509",
            "-req",
            "-in",
            "tsa/tsa.csr",
            "-CA",
            "tsa/ca.pem",
            "-CAkey",
            "tsa/ca.key",
            "-CAcreateserial",
            "-days",
            "3000",
            "-sha256",
            "-extfile",
            "tsa/tsa.cnf",
            "-extensions",
            section,
            "-out",
            name,
        ]);
    }
    TimeAuthority
}

impl TimeAuthority {
    /// Answers a request file.
    pub fn reply(&self, bench: &Bench, query: &str, reply: &str) {
        let config = ["ts", "-reply", "-config", "tsa/tsa.cnf"];
        let files = ["-queryfile", query, "-out", reply];
        openssl(bench, &[config, files].concat());
        assert!(fs::metadata(bench.path(reply)).unwrap().len() > 100);
    }

    /// The command that asks it.
    pub const COMMAND: &str = "cat > tsa/q.tsq && openssl ts -reply -config tsa/tsa.cnf -queryfile tsa/q.tsq -out tsa/r.tsr && cat tsa/r.tsr";
}

//! What we sign is accepted by other people's verifiers, and with any byte flipped refused by
//! each of them. `.ci/trust-tools` installs them; where one is missing the test says `SKIPPED:`,
//! unless CI=true, where that is a failure.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use runseal_testkit::skip::{need, need_program};
use runseal_trust::dsse::{Envelope, encode_pre_authentication};
use runseal_trust::encoding::{decode_armour, decode_base64, encode_armour, encode_base64};
use runseal_trust::sigstore::encode_keyed_bundle;
use runseal_trust::timestamp::encode_request;

use crate::signing_support::{bench, keygen, ok, sealed, time_authority, trust_tools};

fn script(name: &str) -> PathBuf {
    project_root().join("crates/cli/tests/outside").join(name)
}

/// Runs a program; whether it ended well.
fn accepts(program: &str, arguments: &[&str], folder: &Path, input: &[u8]) -> bool {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A program that refuses early does not read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait().unwrap().success()
}

/// Runs `judge` on every variant, on all processors; each must be refused.
fn refuses_each<T: Sync>(what: &str, variants: &[T], judge: impl Fn(usize, &T) -> bool + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(variant) = variants.get(at) else {
                break;
            };
            assert!(!judge(at, variant), "{what} accepts variant {at}");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    println!("{what}: {} variants refused", variants.len());
}

fn flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..bytes.len()).map(|at| {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1;
        flipped
    })
}

/// The envelope in `r1.intoto.jsonl`, with every byte that is signed or signs flipped, one each.
fn flipped_envelopes(envelope: &Envelope) -> Vec<Envelope> {
    let mut variants = Vec::new();
    for payload in flips(&envelope.payload) {
        variants.push(Envelope {
            payload,
            ..envelope.clone()
        });
    }
    for kind in flips(envelope.payload_type.as_bytes()) {
        let payload_type = String::from_utf8(kind).unwrap();
        variants.push(Envelope {
            payload_type,
            ..envelope.clone()
        });
    }
    for sig in flips(&envelope.signatures[0].sig) {
        let mut variant = envelope.clone();
        variant.signatures[0].sig = sig;
        variants.push(variant);
    }
    variants
}

fn sign_envelope(bench: &Bench, kind: &str) -> Envelope {
    keygen(bench, "key", kind, "pem");
    ok(bench.run(&[
        "sign",
        "out/r1",
        "--key",
        "key",
        "--as",
        "Ada",
        "--meaning",
        "author",
    ]));
    Envelope::parse(bench.read("out/r1.intoto.jsonl").trim_end().as_bytes()).unwrap()
}

/// Judges JSON lines in one process: an answer a line.
fn judge_lines(command: &mut Command, lines: &[Vec<u8>]) -> Vec<bool> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input: Vec<u8> = lines
        .iter()
        .flat_map(|line| [line, &b"\n"[..]].concat())
        .collect();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = stdin.write_all(&input);
        });
        child.wait_with_output().unwrap()
    });
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = text.lines().map(|line| line == "yes").collect();
    assert_eq!(answers.len(), lines.len(), "an answer a line");
    answers
}

#[test]
fn securesystemslib_accepts_our_envelopes_and_no_flipped_byte() {
    let python = trust_tools().join("venv/bin/python");
    if !need(python.exists(), "securesystemslib") {
        return;
    }
    for (kind, name) in [("ed25519", "ed25519"), ("ecdsa-p256", "ecdsa")] {
        let (_folder, bench) = bench();
        sealed(&bench);
        let envelope = sign_envelope(&bench, kind);
        let mut lines = vec![envelope.to_line()];
        lines.extend(flipped_envelopes(&envelope).iter().map(Envelope::to_line));
        let mut command = Command::new(&python);
        command
            .arg(script("securesystemslib_verify.py"))
            .arg(name)
            .arg(bench.path("key.pub"));
        let answers = judge_lines(&mut command, &lines);
        assert!(answers[0], "securesystemslib refuses ours ({kind})");
        assert_eq!(answers[1..].iter().position(|yes| *yes), None, "{kind}");
        println!(
            "securesystemslib {kind}: {} variants refused",
            answers.len() - 1
        );
    }
}

#[test]
fn sigstore_verify_accepts_our_bundles_and_no_flipped_byte() {
    let modules = trust_tools().join("node_modules");
    if !need_program("node")
        || !need(
            modules.join("@sigstore/verify").exists(),
            "@sigstore/verify",
        )
    {
        return;
    }
    for kind in ["ed25519", "ecdsa-p256"] {
        let (_folder, bench) = bench();
        sealed(&bench);
        keygen(&bench, "key", kind, "pem");
        ok(bench.run(&["sign", "out/r1", "--key", "key", "--form", "sigstore"]));
        let ours = bench
            .read("out/r1.sigstore.json")
            .trim_end()
            .as_bytes()
            .to_vec();
        let envelope = sign_envelope_of_bundle(&ours);
        let key = runseal_trust::keys::PublicKey::parse(&bench.read("key.pub")).unwrap();
        let mut lines = vec![ours];
        for variant in flipped_envelopes(&envelope) {
            lines.push(encode_keyed_bundle(&variant, &key).unwrap());
        }
        let mut command = Command::new("node");
        command
            .arg(script("sigstore_verify.js"))
            .arg(bench.path("key.pub"));
        command.env("NODE_PATH", &modules);
        let answers = judge_lines(&mut command, &lines);
        assert!(answers[0], "@sigstore/verify refuses ours ({kind})");
        assert_eq!(answers[1..].iter().position(|yes| *yes), None, "{kind}");
        println!(
            "@sigstore/verify {kind}: {} variants refused",
            answers.len() - 1
        );
    }
}

fn sign_envelope_of_bundle(bundle: &[u8]) -> Envelope {
    let text = std::str::from_utf8(bundle).unwrap();
    match runseal_trust::sigstore::SigstoreBundle::parse(text)
        .unwrap()
        .content
    {
        runseal_trust::sigstore::Content::Envelope(envelope) => envelope,
        runseal_trust::sigstore::Content::Message { .. } => panic!("expected an envelope"),
    }
}

#[test]
fn openssl_accepts_our_signatures_and_no_flipped_byte() {
    if !need_program("openssl") {
        return;
    }
    for kind in ["ed25519", "ecdsa-p256"] {
        let (_folder, bench) = bench();
        sealed(&bench);
        let envelope = sign_envelope(&bench, kind);
        let message = encode_pre_authentication(&envelope.payload_type, &envelope.payload);
        let sig = envelope.signatures[0].sig.clone();
        let mut variants: Vec<_> = flips(&sig).map(|sig| (message.clone(), sig)).collect();
        variants.extend(flips(&message).map(|message| (message, sig.clone())));
        let judge = |at: usize, (message, sig): &(Vec<u8>, Vec<u8>)| {
            let (pae, file) = (format!("{at}.pae"), format!("{at}.sig"));
            fs::write(bench.path(&pae), message).unwrap();
            fs::write(bench.path(&file), sig).unwrap();
            let folder = bench.path("");
            let accepted = match kind {
                "ed25519" => accepts(
                    "openssl",
                    &[
                        "pkeyutl", "-verify", "-pubin", "-inkey", "key.pub", "-rawin", "-in", &pae,
                        "-sigfile", &file,
                    ],
                    &folder,
                    b"",
                ),
                _ => accepts(
                    "openssl",
                    &[
                        "dgst",
                        "-sha256",
                        "-verify",
                        "key.pub",
                        "-signature",
                        &file,
                        &pae,
                    ],
                    &folder,
                    b"",
                ),
            };
            fs::remove_file(bench.path(&pae)).unwrap();
            fs::remove_file(bench.path(&file)).unwrap();
            accepted
        };
        assert!(
            judge(variants.len(), &(message.clone(), sig.clone())),
            "{kind}"
        );
        refuses_each(&format!("openssl {kind}"), &variants, judge);
    }
}

#[test]
fn ssh_keygen_accepts_our_signatures_and_no_flipped_byte() {
    if !need_program("ssh-keygen") {
        return;
    }
    for kind in ["ed25519", "ecdsa-p256"] {
        let (_folder, bench) = bench();
        sealed(&bench);
        keygen(&bench, "key", kind, "openssh");
        ok(bench.run(&["sign", "out/r1", "--key", "key", "--form", "ssh"]));
        bench.write(
            "allowed",
            format!("ada namespaces=\"runseal\" {}", bench.read("key.pub")),
        );
        let message = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
        let armoured = bench.read("out/r1.sig");
        let blob = decode_armour(&armoured, "SSH SIGNATURE").unwrap();
        let judge = |at: usize, (message, armoured): &(Vec<u8>, String)| {
            let file = format!("{at}.sig");
            fs::write(bench.path(&file), armoured).unwrap();
            let arguments = [
                "-Y", "verify", "-f", "allowed", "-I", "ada", "-n", "runseal", "-s", &file,
            ];
            let accepted = accepts("ssh-keygen", &arguments, &bench.path(""), message);
            fs::remove_file(bench.path(&file)).unwrap();
            accepted
        };
        // The version's last byte is not signed, and ssh-keygen takes every version up to its own;
        // ours refuses that too.
        let version_at = 9;
        let mut variants: Vec<_> = flips(&blob)
            .enumerate()
            .filter(|(at, _)| *at != version_at)
            .map(|(_, blob)| blob)
            .map(|blob| (message.clone(), encode_armour(&blob, "SSH SIGNATURE", 70)))
            .collect();
        variants.extend(flips(&message).map(|message| (message, armoured.clone())));
        assert!(
            judge(variants.len(), &(message.clone(), armoured.clone())),
            "{kind}"
        );
        refuses_each(&format!("ssh-keygen {kind}"), &variants, judge);
        let version_zero = flips(&blob).nth(version_at).unwrap();
        let version_zero = encode_armour(&version_zero, "SSH SIGNATURE", 70);
        assert!(runseal_trust::keys::sshsig::SshSignature::parse(&version_zero).is_err());
    }
}

#[test]
fn minisign_accepts_our_signatures_and_no_flipped_byte() {
    if !need_program("minisign") {
        return;
    }
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "key", "ed25519", "minisign");
    ok(bench.run(&[
        "sign", "out/r1", "--key", "key", "--form", "minisign", "--as", "Ada",
    ]));
    let message = fs::read(bench.path("out/r1/SHA256SUMS.txt")).unwrap();
    let signature = bench.read("out/r1.minisig");
    let lines: Vec<_> = signature.lines().map(str::to_owned).collect();
    let mut variants: Vec<_> = flips(&message)
        .map(|message| (message, signature.clone()))
        .collect();
    for line in [1, 3] {
        for bytes in flips(&decode_base64(&lines[line]).unwrap()) {
            let mut lines = lines.clone();
            lines[line] = encode_base64(&bytes);
            variants.push((message.clone(), lines.join("\n") + "\n"));
        }
    }
    for comment in flips(lines[2].as_bytes()) {
        let mut lines = lines.clone();
        lines[2] = String::from_utf8(comment).unwrap();
        variants.push((message.clone(), lines.join("\n") + "\n"));
    }
    let judge = |at: usize, (message, signature): &(Vec<u8>, String)| {
        let (file, sig) = (format!("{at}.txt"), format!("{at}.minisig"));
        fs::write(bench.path(&file), message).unwrap();
        fs::write(bench.path(&sig), signature).unwrap();
        let arguments = ["-V", "-p", "key.pub", "-m", &file, "-x", &sig];
        let accepted = accepts("minisign", &arguments, &bench.path(""), b"");
        fs::remove_file(bench.path(&file)).unwrap();
        fs::remove_file(bench.path(&sig)).unwrap();
        accepted
    };
    assert!(judge(variants.len(), &(message.clone(), signature.clone())));
    refuses_each("minisign", &variants, judge);
}

#[test]
fn openssl_ts_accepts_replies_to_our_requests_and_no_flipped_byte() {
    if !need_program("openssl") {
        return;
    }
    let (_folder, bench) = bench();
    sealed(&bench);
    let authority = time_authority(&bench);
    keygen(&bench, "key", "ed25519", "pem");
    ok(bench.run(&[
        "sign",
        "out/r1",
        "--key",
        "key",
        "--timestamp-request",
        "q.tsq",
    ]));
    let envelope =
        Envelope::parse(bench.read("out/r1.intoto.jsonl").trim_end().as_bytes()).unwrap();
    let sig = &envelope.signatures[0].sig;
    assert_eq!(fs::read(bench.path("q.tsq")).unwrap(), encode_request(sig));
    let shown = Command::new("openssl")
        .args(["ts", "-query", "-in", "q.tsq", "-text"])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("Certificate required: yes"));
    authority.reply(&bench, "q.tsq", "r.tsr");
    let judge = |at: usize, sig: &Vec<u8>| {
        let file = format!("{at}.bin");
        fs::write(bench.path(&file), sig).unwrap();
        let arguments = [
            "ts",
            "-verify",
            "-data",
            &file,
            "-in",
            "r.tsr",
            "-CAfile",
            "tsa/ca.pem",
        ];
        let accepted = accepts("openssl", &arguments, &bench.path(""), b"");
        fs::remove_file(bench.path(&file)).unwrap();
        accepted
    };
    assert!(judge(1_000, sig));
    refuses_each("openssl ts", &flips(sig).collect::<Vec<_>>(), judge);
    let python = trust_tools().join("venv/bin/python");
    if need(python.exists(), "rfc3161-client") {
        fs::write(bench.path("sig.bin"), sig).unwrap();
        let output = Command::new(&python)
            .arg(script("rfc3161_verify.py"))
            .args(["tsa/ca.pem", "r.tsr", "sig.bin"])
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "yes\n");
    }
}

#[test]
fn keys_of_other_tools_sign_for_us() {
    if !need_program("ssh-keygen") || !need_program("openssl") || !need_program("minisign") {
        return;
    }
    let (_folder, bench) = bench();
    sealed(&bench);
    let folder = bench.path("");
    bench.write("phrase", "correct horse\n");
    assert!(accepts(
        "ssh-keygen",
        &["-q", "-t", "ed25519", "-N", "", "-f", "ssh1"],
        &folder,
        b""
    ));
    assert!(accepts(
        "ssh-keygen",
        &[
            "-q",
            "-t",
            "ecdsa",
            "-b",
            "256",
            "-N",
            "correct horse",
            "-f",
            "ssh2"
        ],
        &folder,
        b""
    ));
    assert!(accepts(
        "openssl",
        &["genpkey", "-algorithm", "ed25519", "-out", "pem1"],
        &folder,
        b""
    ));
    assert!(accepts(
        "openssl",
        &[
            "ecparam",
            "-name",
            "prime256v1",
            "-genkey",
            "-noout",
            "-out",
            "pem2"
        ],
        &folder,
        b""
    ));
    assert!(accepts(
        "openssl",
        &[
            "pkcs8",
            "-topk8",
            "-in",
            "pem2",
            "-v2",
            "aes-256-cbc",
            "-passout",
            "pass:correct horse",
            "-out",
            "pem3"
        ],
        &folder,
        b""
    ));
    assert!(accepts(
        "minisign",
        &["-G", "-W", "-p", "mini1.pub", "-s", "mini1"],
        &folder,
        b""
    ));
    for (at, key) in ["ssh1", "ssh2", "pem1", "pem2", "pem3", "mini1"]
        .iter()
        .enumerate()
    {
        ok(bench.run(&[
            "sign",
            "out/r1",
            "--key",
            key,
            "--passphrase-file",
            "phrase",
        ]));
        let lines = bench.read("out/r1.intoto.jsonl").lines().count();
        assert_eq!(lines, at + 1, "{key}");
    }
    let wrong = bench.write("wrong", "not it\n");
    for key in ["ssh2", "pem3"] {
        let before = bench.read("out/r1.intoto.jsonl");
        let ran = bench.run(&[
            "sign",
            "out/r1",
            "--key",
            key,
            "--passphrase-file",
            wrong.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr
                .starts_with("PASSPHRASE: the passphrase does not open the key"),
            "{}",
            ran.stderr
        );
        assert_eq!(
            bench.read("out/r1.intoto.jsonl"),
            before,
            "nothing was written"
        );
    }
}

#[test]
fn our_keys_are_read_by_other_tools() {
    if !need_program("ssh-keygen") || !need_program("openssl") {
        return;
    }
    let (_folder, bench) = bench();
    let folder = bench.path("");
    bench.write("phrase", "correct horse\n");
    for kind in ["ed25519", "ecdsa-p256"] {
        for (encrypted, phrase) in [(false, ""), (true, "correct horse")] {
            let more: &[&str] = if encrypted {
                &["--passphrase-file", "phrase"]
            } else {
                &[]
            };
            let ssh = format!("ssh-{kind}-{encrypted}");
            let mut arguments = vec!["keygen", "-o", &ssh, "--type", kind, "--format", "openssh"];
            arguments.extend(more);
            ok(bench.run(&arguments));
            let derived = Command::new("ssh-keygen")
                .args(["-y", "-P", phrase, "-f", &ssh])
                .current_dir(&folder)
                .output()
                .unwrap();
            let expected = bench.read(&format!("{ssh}.pub"));
            let derived = String::from_utf8(derived.stdout).unwrap();
            let key = |line: &str| {
                line.split(' ')
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(" ")
                    .trim_end()
                    .to_owned()
            };
            assert_eq!(key(&derived), key(&expected), "{ssh}");
            let pem = format!("pem-{kind}-{encrypted}");
            let mut arguments = vec!["keygen", "-o", &pem, "--type", kind, "--public"];
            arguments.extend(more);
            ok(bench.run(&arguments));
            let derived = Command::new("openssl")
                .args([
                    "pkey",
                    "-in",
                    &pem,
                    "-passin",
                    &format!("pass:{phrase}"),
                    "-pubout",
                ])
                .current_dir(&folder)
                .output()
                .unwrap();
            assert_eq!(
                String::from_utf8(derived.stdout).unwrap(),
                bench.read(&format!("{pem}.pub")),
                "{pem}"
            );
        }
    }
    if need_program("minisign") {
        keygen(&bench, "mini", "ed25519", "minisign");
        bench.write("m.txt", "hello");
        assert!(accepts(
            "minisign",
            &["-S", "-s", "mini", "-m", "m.txt"],
            &folder,
            b""
        ));
        assert!(accepts(
            "minisign",
            &["-V", "-p", "mini.pub", "-m", "m.txt"],
            &folder,
            b""
        ));
    }
}

#[test]
fn ssh_agent_and_command_sign_like_the_key_itself() {
    if !need_program("ssh-agent") || !need_program("ssh-add") || !need_program("openssl") {
        return;
    }
    let (_folder, bench) = bench();
    sealed(&bench);
    keygen(&bench, "key", "ed25519", "openssh");
    let socket = bench.path("agent.sock");
    let mut agent = Command::new("ssh-agent")
        .args(["-D", "-a"])
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !socket.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let added = Command::new("ssh-add")
        .args(["-q", "key"])
        .current_dir(bench.path(""))
        .env("SSH_AUTH_SOCK", &socket)
        .status()
        .unwrap();
    let sign = |name: &str, key: &str| {
        let mut command = bench.command(&["sign", "out/r1", "--key", key, "-o", name]);
        command
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .env("SSH_AUTH_SOCK", &socket);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let by_agent = sign("agent.jsonl", "key.pub");
    let by_key = sign("key.jsonl", "key");
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(added.success());
    assert!(
        by_agent.status.success(),
        "{}",
        String::from_utf8_lossy(&by_agent.stderr)
    );
    assert!(by_key.status.success());
    assert_eq!(bench.read("agent.jsonl"), bench.read("key.jsonl"));

    keygen(&bench, "pem", "ecdsa-p256", "pem");
    let command = "cmd:cat > in.bin && openssl dgst -sha256 -sign pem in.bin";
    ok(bench.run(&[
        "sign",
        "out/r1",
        "--key",
        command,
        "--public-key",
        "pem.pub",
        "-o",
        "c.jsonl",
    ]));
    let wrong = bench.run(&[
        "sign",
        "out/r1",
        "--key",
        command,
        "--public-key",
        "key.pub",
        "-o",
        "w.jsonl",
    ]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("not a signature by the given key"),
        "{}",
        wrong.stderr
    );
    assert!(!bench.path("w.jsonl").exists());
}

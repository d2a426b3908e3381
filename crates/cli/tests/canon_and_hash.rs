//! `canon` and `hash` as a user meets them, on good input and on all kinds of bad input.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use runseal_testkit::cli::{Bench, Ran};

const BINARY: &str = env!("CARGO_BIN_EXE_runseal");

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(BINARY, folder.path());
    (folder, bench)
}

/// One line with code and place, a hint, exit 2, nothing on standard output.
#[track_caller]
fn assert_refused(ran: &Ran, code: &str, place: &str) {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stdout, "", "{ran:?}");
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].starts_with(&format!("{code}: ")), "{ran:?}");
    assert!(lines[0].contains(place), "{ran:?}");
    assert!(lines[1].starts_with("hint: "), "{ran:?}");
}

#[test]
fn canon_each_dialect_prints_its_bytes_and_nothing_else() {
    let (_folder, bench) = bench();
    let text = r#"{"b":1,"a":"é"}"#;
    for (dialect, expected) in [
        ("job", r#"{"a":"\u00e9","b":1}"#),
        ("kernel", r#"{"a":"é","b":1}"#),
        ("jcs", r#"{"a":"é","b":1}"#),
    ] {
        let ran = bench.run_with(&["canon", "--dialect", dialect], text);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), expected, "")
        );
    }
}

#[test]
fn hash_each_dialect_agrees_with_sha256sum_over_what_it_hashes() {
    let (_folder, bench) = bench();
    bench.write("x.json", r#"{"b":1,"a":"é"}"#);
    for (dialect, hashed) in [
        ("job", r#"{"a":"\u00e9","b":1}"#),
        ("kernel", "{\"a\":\"é\",\"b\":1}\n"),
        ("jcs", r#"{"a":"é","b":1}"#),
    ] {
        bench.write("hashed", hashed);
        let sum = std::process::Command::new("sha256sum")
            .arg(bench.path("hashed"))
            .output()
            .unwrap();
        let expected = String::from_utf8(sum.stdout).unwrap()[..64].to_owned() + "\n";
        assert_eq!(
            bench.run(&["hash", "--dialect", dialect, "x.json"]).stdout,
            expected
        );
    }
}

#[test]
fn canon_to_a_file_writes_it_whole_or_leaves_it_alone() {
    let (_folder, bench) = bench();
    assert_eq!(
        bench
            .run_with(&["canon", "-o", "out.json", "-"], "[ 1 ]")
            .code,
        Some(0)
    );
    assert_eq!(bench.read("out.json"), "[1]");
    let ran = bench.run_with(&["canon", "-o", "out.json"], "[2,");
    assert_refused(
        &ran,
        "JSON_UNEXPECTED_END",
        "standard input line 1 column 4",
    );
    assert_eq!(bench.read("out.json"), "[1]");
    assert_eq!(
        std::fs::read_dir(bench.path(".")).unwrap().count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn canon_broken_text_prints_nothing_even_where_much_of_it_is_fine() {
    let (_folder, bench) = bench();
    let text = format!("[{}\"end\" nonsense]", "{\"a\":1},".repeat(100_000));
    assert_refused(
        &bench.run_with(&["canon"], text),
        "JSON_UNEXPECTED",
        "line 1 column",
    );
}

#[test]
fn bad_text_is_refused_in_one_line_with_code_place_and_hint() {
    let (_folder, bench) = bench();
    let deep = "[".repeat(100_000);
    let deep_object = "{\"a\":".repeat(100_000);
    let cases: [(&[u8], &str, &str); 13] = [
        (b"{\"a\":\"\xff\"}", "JSON_NOT_UTF8", "line 1 column 7"),
        (b"\xef\xbb\xbf{}", "JSON_BOM", "line 1 column 1"),
        (
            b"{\"a\":1,\n\"a\":2}",
            "JSON_DUPLICATE_KEY",
            "line 2 column 1",
        ),
        (
            b"{\"a\":1,\n\"a\":2}",
            "JSON_DUPLICATE_KEY",
            "first at line 1 column 2",
        ),
        (b"[NaN]", "JSON_NOT_A_NUMBER", "line 1 column 2"),
        (b"[1,]", "JSON_UNEXPECTED", "line 1 column 4"),
        (b"{} {}", "JSON_TRAILING_TEXT", "line 1 column 4"),
        (deep.as_bytes(), "JSON_TOO_DEEP", "line 1 column 513"),
        (deep_object.as_bytes(), "JSON_TOO_DEEP", "line 1 column"),
        (b"", "JSON_EMPTY", "line 1 column 1"),
        (b"\"\\ud800", "JSON_UNEXPECTED_END", "line 1 column 1"),
        (b"[1e400]", "CANON_OUT_OF_RANGE", "line 1 column 2"),
        (b"[-1e400]", "CANON_OUT_OF_RANGE", "`-1e400`"),
    ];
    for (text, code, place) in cases {
        bench.write("bad.json", text);
        for command in ["canon", "hash"] {
            assert_refused(&bench.run(&[command, "bad.json"]), code, place);
            assert_refused(&bench.run_with(&[command], text), code, place);
        }
    }
    bench.write("lone.json", "[\"\\ud800\"]");
    let ran = bench.run(&["hash", "--dialect", "jcs", "lone.json"]);
    assert_refused(&ran, "CANON_LONE_SURROGATE", "lone.json line 1 column");
    assert_eq!(bench.run(&["canon", "lone.json"]).stdout, "[\"\\ud800\"]");
}

#[test]
fn string_longer_than_the_limit_is_refused() {
    let (_folder, bench) = bench();
    let mut text = vec![b'a'; (256 << 20) + 3];
    text[0] = b'"';
    *text.last_mut().unwrap() = b'"';
    bench.write("long.json", &text);
    assert_refused(
        &bench.run(&["hash", "long.json"]),
        "JSON_STRING_TOO_LONG",
        "line 1 column 1",
    );
}

#[test]
fn file_larger_than_the_limit_is_refused_before_it_is_read() {
    let (_folder, bench) = bench();
    let file = std::fs::File::create(bench.path("huge.json")).unwrap();
    file.set_len((2 << 30) + 1).unwrap();
    assert_refused(
        &bench.run(&["hash", "huge.json"]),
        "TOO_LARGE",
        "`huge.json`",
    );
}

#[test]
fn what_is_not_a_file_is_refused_and_never_waited_for() {
    let (_folder, bench) = bench();
    std::fs::create_dir(bench.path("folder")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("pipe"), fifo, mode, 0).unwrap();
    std::os::unix::fs::symlink("nowhere", bench.path("dangling")).unwrap();
    for command in ["canon", "hash"] {
        assert_refused(
            &bench.run(&[command, "folder"]),
            "NOT_A_FILE",
            "`folder` is a folder",
        );
        assert_refused(
            &bench.run(&[command, "pipe"]),
            "NOT_A_FILE",
            "`pipe` is a named pipe",
        );
        assert_refused(&bench.run(&[command, "absent"]), "NOT_FOUND", "`absent`");
        assert_refused(
            &bench.run(&[command, "dangling"]),
            "NOT_FOUND",
            "`dangling`",
        );
        assert_refused(
            &bench.run(&[command, "/dev/null"]),
            "NOT_A_FILE",
            "`/dev/null`",
        );
    }
}

#[test]
fn file_without_permission_is_refused() {
    let (folder, bench) = bench();
    bench.write("secret.json", "{}");
    let mode = |path: &str, bits| {
        std::fs::set_permissions(bench.path(path), std::fs::Permissions::from_mode(bits)).unwrap();
    };
    mode("secret.json", 0o000);
    let ran: Ran = if rustix::process::geteuid().is_root() {
        // Root may read everything, so somebody else tries.
        runseal_testkit::folders::copy_program(BINARY, bench.path("runseal"));
        mode(".", 0o755);
        let mut command = std::process::Command::new(bench.path("runseal"));
        command.uid(65534).gid(65534).current_dir(folder.path());
        command.args(["hash", "secret.json"]);
        // A process that another test starts holds the copy open for a moment.
        let is_busy = |error: &std::io::Error| error.kind() == ErrorKind::ExecutableFileBusy;
        loop {
            match command.output() {
                Err(error) if is_busy(&error) => std::thread::yield_now(),
                ran => break ran.unwrap().into(),
            }
        }
    } else {
        bench.run(&["hash", "secret.json"])
    };
    assert_refused(&ran, "NO_PERMISSION", "`secret.json`");
}

#[test]
fn usage_errors_exit_64_with_a_suggestion() {
    let (_folder, bench) = bench();
    for (arguments, message, hint) in [
        (
            vec!["hsh"],
            "unrecognized subcommand",
            "did you mean `hash`?",
        ),
        (
            vec!["hash", "--dialect", "xml"],
            "invalid value 'xml'",
            "runseal hash --help",
        ),
        (
            vec!["canon", "--frob"],
            "unexpected argument '--frob'",
            "runseal canon --help",
        ),
        (
            vec!["job", "verfy"],
            "unrecognized subcommand 'verfy'",
            "did you mean `verify`? `runseal job --help`",
        ),
        (
            vec!["job", "verify", "--frob"],
            "unexpected argument '--frob'",
            "runseal job verify --help",
        ),
        (
            vec!["--quiet", "job", "--frob", "verify"],
            "unexpected argument '--frob'",
            "",
        ),
        (
            vec!["rules", "XX99"],
            "no rule is called `XX99`",
            "runseal rules",
        ),
    ] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(64), "{ran:?}");
        assert_eq!(ran.stdout, "");
        assert!(
            ran.stderr.starts_with("USAGE: ") && ran.stderr.contains(message),
            "{ran:?}"
        );
        assert!(ran.stderr.contains(hint), "{ran:?}");
    }
    assert_eq!(bench.run(&[]).code, Some(64));
}

#[test]
fn quiet_leaves_hints_out() {
    let (_folder, bench) = bench();
    let ran = bench.run_with(&["--quiet", "hash"], "[1,");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert_eq!(ran.code, Some(2));
}

#[test]
fn canon_output_named_by_a_dash_is_printed() {
    let (_folder, bench) = bench();
    bench.write("a.json", "{\"b\":1, \"a\":2}");
    let ran = bench.run(&["canon", "a.json", "-o", "-"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "{\"a\":2,\"b\":1}")
    );
    assert!(!bench.path("-").exists());
}

//! What a withheld value is cannot be told from a copy: two bundles that differ in that value alone
//! have copies that differ in salted commitments alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use regex::Regex;
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::folders::files_of;
use runseal_testkit::isolation;
use runseal_testkit::skip::need_isolation;

use crate::redaction_support::{open_engine, seal_with};
use crate::signing_support::{bench, ok};

/// A seed for all: what differs then differs because of the value.
const SEED: &str = "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed\n";

/// The files of a copy without commitments, times and names that are random.
fn readable(copy: &Path) -> BTreeMap<String, String> {
    let masks = [
        (
            r#""(runseal\.redacted|commitment|root|whole|pieces)":"[0-9a-f]{64}""#,
            "$1",
        ),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r#""[a-z_]+_ms":\d+"#, "DURATION"),
        (r"runner_\d+_\d+_[0-9a-f]{8}", "RUNNER"),
    ];
    let masks = masks.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name));
    let mut files = BTreeMap::new();
    for (path, bytes) in files_of(copy) {
        let mode = fs::metadata(copy.join(&path)).unwrap().permissions().mode();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for (pattern, name) in &masks {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        let path = path.strip_prefix(copy).unwrap_or(&path);
        files.insert(path.display().to_string(), format!("{mode:o} {text}"));
    }
    files
}

/// Makes a bundle with each value, redacts both, and compares what their readers get.
fn assert_alike(
    bench: &Bench,
    (what, drops): (&str, &[&str]),
    values: &[&str],
    make: &dyn Fn(&str, &str),
) {
    bench.write("seed", SEED);
    let mut first: Option<BTreeMap<String, String>> = None;
    for value in values {
        let _ = fs::remove_dir_all(bench.path("copy"));
        make(value, "made");
        let mut arguments = vec!["redact", "made", "--seed", "seed", "-o", "copy"];
        for drop in drops {
            match drop.strip_prefix("match ") {
                Some(pattern) => arguments.extend(["--match", pattern]),
                None => arguments.extend(["--drop", drop]),
            }
        }
        ok(bench.run(&arguments));
        ok(bench.run(&["verify", "copy", "--strict"]));
        let mut files = readable(&bench.path("copy"));
        if what == "section" {
            forget_names(&mut files);
        }
        clear(bench);
        let Some(first) = &first else {
            first = Some(files);
            continue;
        };
        let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(first), names(&files), "{what}: {values:?}");
        for (path, text) in &files {
            let other = &first[path];
            let at = text
                .bytes()
                .zip(other.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let near = |text: &str| {
                let from = at.saturating_sub(80);
                String::from_utf8_lossy(&text.as_bytes()[from..text.len().min(at + 120)])
                    .into_owned()
            };
            assert!(
                text == other,
                "{what} {drops:?}: {path} tells {:?} from {value:?}:\n{}\n{}",
                values[0],
                near(other),
                near(text)
            );
        }
    }
}

/// Takes out what follows from the names of a job bundle's artifacts, which are digests under the
/// seed: keys, and the order of files.
fn forget_names(files: &mut BTreeMap<String, String>) {
    let masks = [
        (r"artifacts/[0-9a-f]{16}\.txt", "NAME"),
        ("[0-9a-f]{64}", "KEY"),
    ];
    let masks = masks.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name));
    let mut all = BTreeMap::new();
    for (path, mut text) in std::mem::take(files) {
        if path.starts_with("RED") {
            for (pattern, name) in &masks {
                text = pattern.replace_all(&text, *name).into_owned();
            }
            let mut parts: Vec<_> = text.split(['{', '}']).collect();
            parts.sort_unstable();
            text = parts.join("\n");
        }
        // A file by what it holds.
        let path = match path.starts_with("artifacts/") {
            true => format!("artifacts/{text}"),
            false => path,
        };
        all.insert(path, text);
    }
    *files = all;
}

/// Removes what the last value made, so that the next is made at the same place.
fn clear(bench: &Bench) {
    for name in ["made", "work", "out"] {
        let _ = fs::remove_dir_all(bench.path(name));
    }
}

/// Records a command in `work`, and leaves the bundle at `to`.
fn record(bench: &Bench, arguments: &[&str], to: &str) {
    let options = [
        "record",
        "--redactable",
        "--seed",
        "../seed",
        "--out",
        "../out",
        "--run-id",
        "r",
    ];
    let mut command = bench.command(&[&options[..], arguments].concat());
    command
        .current_dir(bench.path("work"))
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .stdin(Stdio::null());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    fs::rename(bench.path("out/r"), bench.path(to)).unwrap();
}

#[test]
fn copies_of_recorded_commands_that_differ_in_what_is_withheld_are_alike() {
    if !need_isolation() {
        return;
    }
    let (_folder, bench) = bench();
    let bench = &bench;
    let drops = ["engine/f.json#/hiv"];
    assert_alike(
        bench,
        ("listed", &drops),
        &["true", "false"],
        &|value, to| {
            bench.write("work/f.json", format!(r#"{{"hiv":{value}}}"#));
            bench.write("work/unread.txt", "x");
            record(
                bench,
                &["--", "sh", "-c", "ls > /dev/null; cat f.json > /dev/null"],
                to,
            );
        },
    );
    // The exact bytes of a document that is not canonical.
    assert_alike(
        bench,
        ("exact", &drops),
        &["true", "false"],
        &|value, to| {
            bench.write("work/f.json", format!("{{ \"hiv\": {value} }}\n"));
            record(
                bench,
                &["--", "sh", "-c", "ls > /dev/null; cat f.json > /dev/null"],
                to,
            );
        },
    );
    let drops = ["engine/sub/s.txt"];
    assert_alike(
        bench,
        ("listed below", &drops),
        &["no", "yes"],
        &|value, to| {
            bench.write("work/sub/s.txt", value);
            record(
                bench,
                &[
                    "--",
                    "sh",
                    "-c",
                    "ls sub > /dev/null; cat sub/s.txt > /dev/null",
                ],
                to,
            );
        },
    );
    let drops = ["inputs/s.txt"];
    assert_alike(bench, ("input", &drops), &["no", "yes"], &|value, to| {
        bench.write("work/s.txt", value);
        let command = [
            "--input",
            "s.txt",
            "--",
            "sh",
            "-c",
            "ls > /dev/null; cat s.txt > /dev/null",
        ];
        record(bench, &command, to);
    });
    // One of the values is what other files hold, which are shown.
    let drops = ["logs/stdout.txt", "engine/s.txt", "artifacts/o.txt"];
    let values = ["", "no", "much longer than that"];
    assert_alike(bench, ("printed", &drops), &values, &|value, to| {
        bench.write("work/s.txt", value);
        bench.write("work/other.txt", "no");
        let command = "ls > /dev/null; cat other.txt > /dev/null; cat s.txt; cp s.txt o.txt";
        record(bench, &["--", "sh", "-c", command], to);
    });
    let drops = ["stdin.bin"];
    assert_alike(
        bench,
        ("standard input", &drops),
        &["no", "yes"],
        &|value, to| {
            bench.write("work/a.txt", "a");
            bench.write("given", value);
            record(
                bench,
                &["--stdin", "../given", "--", "sh", "-c", "cat > /dev/null"],
                to,
            );
        },
    );
    let given = [
        ("a parameter", "RUN_INPUT.json#/parameters/a"),
        (
            "its variable",
            "RUN_INPUT.json#/environment/RUNSEAL_PARAM_a",
        ),
        (
            "the machine's",
            "RUN_ENVIRONMENT.json#/variables/RUNSEAL_PARAM_a",
        ),
        ("all of them", "RUN_INPUT.json#/parameters"),
    ];
    for (what, place) in given {
        assert_alike(bench, (what, &[place]), &["no", "sh", "0"], &|value, to| {
            bench.write("work/a.txt", "a");
            record(bench, &["--param", &format!("a={value}"), "--", "true"], to);
        });
    }
    let given = [
        ("an argument", "RUN_INPUT.json#/argv/3"),
        (
            "of the manifest",
            "ENGINE_MANIFEST.json#/execution/command/3",
        ),
        ("every argument", "RUN_INPUT.json#/argv"),
    ];
    for (what, place) in given {
        assert_alike(
            bench,
            (what, &[place]),
            &["no", "sh", "a.txt"],
            &|value, to| {
                bench.write("work/a.txt", "a");
                record(
                    bench,
                    &["--", "sh", "-c", "cat a.txt > /dev/null", value],
                    to,
                );
            },
        );
    }
    let times = [
        "RUN_INPUT.json#/fixed_time",
        "RUN_ENVIRONMENT.json#/variables/SOURCE_DATE_EPOCH",
    ];
    for place in times {
        assert_alike(
            bench,
            ("a time", &[place]),
            &["7", "481516234"],
            &|value, to| {
                bench.write("work/a.txt", "a");
                record(bench, &["--fixed-time", value, "--", "true"], to);
            },
        );
    }
    let drops = ["RUN_OUTPUT.json#/folders/0", "engine/names"];
    assert_alike(
        bench,
        ("a name in order", &drops),
        &["a1", "z1", "e1"],
        &|value, to| {
            bench.write("work/names", format!("c1 {value} m1"));
            record(bench, &["--", "sh", "-c", "mkdir $(cat names)"], to);
        },
    );
}

#[test]
fn copies_of_sealed_runs_that_differ_in_what_is_withheld_are_alike() {
    let (_folder, bench) = bench();
    let bench = &bench;
    open_engine(bench);
    let make = |input: &str, output: &str, artifact: &str, to: &str| {
        let input = format!(r#"{{"context":{{"city":"Ulm","age":{input}}},"prompt":"x"}}"#);
        let output = format!(
            r#"{{"engine":{{"engine_code":"OPEN","engine_version":"1.0.0"}},
            "semantics":"RAW_TRUTH","outputs":{{"score":{output},"b":true}}}}"#
        );
        let artifacts = [
            ("a.txt", artifact),
            ("b.txt", "no"),
            ("d.json", "{\"a\":[true]}"),
        ];
        seal_with(
            bench,
            "r1",
            (&input, &output),
            &artifacts,
            &["--seed", "seed"],
        );
        fs::rename(bench.path("out/r1"), bench.path(to)).unwrap();
    };
    let drops = ["RUN_INPUT.json#/context/age"];
    assert_alike(
        bench,
        ("input", &drops),
        &["1", "true", "\"forty-one\""],
        &|value, to| {
            make(value, "7", "x", to);
        },
    );
    let drops = ["RUN_OUTPUT.json#/outputs/score"];
    assert_alike(
        bench,
        ("output", &drops),
        &["1", "true", "\"forty-one\""],
        &|value, to| {
            make("1", value, "x", to);
        },
    );
    let drops = ["artifacts/a.txt"];
    assert_alike(
        bench,
        ("artifact", &drops),
        &["no", "", "yes"],
        &|value, to| {
            make("1", "7", value, to);
        },
    );
}

/// Runs an intent whose file has this content, whose goal and constraint have these words.
fn run_pack(bench: &Bench, (content, goal, constraint): (&str, &str, &str), to: &str) {
    let intent = format!(
        r#"{{"goal":"Write a greeting file {goal} with Python 3.11 in the command line tool; on failure exit with code 1 and print the error","constraints":["{constraint}The file is named hello.txt","The output is UTF-8 text"],"context":{{"proposal":{{"files":[{{"path":"hello.txt","content":"{content}"}},{{"path":"b.txt","content":"No\n"}}],"commands":["cat b.txt"],"tests":[{{"type":"file_exists","target":"hello.txt"}}]}}}}}}"#
    );
    bench.write("intent.json", intent);
    let mut arguments = vec!["run", "intent.json", "--policy", "default", "--pack", to];
    arguments.extend([
        "--redactable",
        "--seed",
        "seed",
        "--run-id",
        "run_0123456789abcdef",
    ]);
    if isolation::sandbox().is_some() {
        arguments.extend(["--mode", "execute-sandbox", "--approve", "--allow", "cat"]);
    }
    let ran = bench.run(&arguments);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
}

#[test]
fn copies_of_packs_that_differ_in_what_is_withheld_are_alike() {
    let (_folder, bench) = bench();
    let bench = &bench;
    let executes = isolation::sandbox().is_some();
    let contents = [
        "patch.json#/operations/2/content",
        "evidence.json#/proposal/actions/1/content",
    ];
    for place in contents.into_iter().filter(|_| executes) {
        // The second is what the other file holds, too.
        let values = ["Yes\\n", "No\\n", "A little longer than that"];
        assert_alike(bench, ("content", &[place]), &values, &|value, to| {
            run_pack(bench, (value, "g", ""), to);
        });
    }
    for place in [
        "bundle.json#/root_node/goal",
        "bundle.json#/terminal_nodes/0/goal",
    ] {
        let values = ["for Ada", "for all who may come by some day"];
        assert_alike(bench, ("goal", &[place]), &values, &|value, to| {
            run_pack(bench, ("x", value, ""), to);
        });
    }
    let places = [
        "bundle.json#/root_node/constraints/0",
        "bundle.json#/outputs/0/source_constraints/0",
    ];
    for place in places {
        let values = ["Always: ", "Zero latency: ", ""];
        assert_alike(bench, ("constraint", &[place]), &values, &|value, to| {
            run_pack(bench, ("x", "g", value), to);
        });
    }
    // A run that asks back, whose questions quote the goal.
    let values = ["better", "much nicer somehow soon"];
    let drops = ["bundle.json#/root_node/goal"];
    assert_alike(bench, ("question", &drops), &values, &|value, to| {
        bench.write("intent.json", format!(r#"{{"goal":"Make it {value}"}}"#));
        let mut arguments = vec!["run", "intent.json", "--pack", to, "--redactable"];
        arguments.extend(["--seed", "seed", "--run-id", "run_0123456789abcdef"]);
        assert_eq!(bench.run(&arguments).code, Some(1));
    });
}

#[test]
fn copies_of_job_bundles_that_differ_in_what_is_withheld_are_alike() {
    let (_folder, bench) = bench();
    let bench = &bench;
    let drops = ["match X[0-9]+X"];
    let values = ["X1X", "X2X", "X333X", "X4X", "X5555555X", "X6X"];
    assert_alike(bench, ("section", &drops), &values, &|value, to| {
        for name in ["docs", ".runseal", "runseal.db"] {
            let _ = fs::remove_dir_all(bench.path(name));
            let _ = fs::remove_file(bench.path(name));
        }
        bench.write("docs/a.md", format!("# Title\n\n{value}\n"));
        bench.write("docs/b.md", "# Other\n\npublic text\n");
        bench.write("docs/c.md", "# Third\n\nmore text\n");
        // Slices tell the artifacts apart, whose order is that of digests.
        let step = |name: &str, slice: &str| {
            format!(
                r#"{{"op":"READ_SECTION","refs":{{"section_id":"docs/{name}.md"}},"constraints":{{"slice":"{slice}"}}}}"#
            )
        };
        let steps = [("a", "lines[2:3]"), ("b", "head(5)"), ("c", "chars[2:6]")];
        let steps = steps.map(|(name, slice)| step(name, slice)).join(",");
        bench.write(
            "plan.json",
            format!(r#"{{"run_id":"run-1","idempotency_key":"1","steps":[{steps}]}}"#),
        );
        let store = ["--store", "store.db"];
        let _ = fs::remove_file(bench.path("store.db"));
        let run = |arguments: &[&str]| ok(bench.run(&[arguments, &store].concat()));
        run(&["job", "init"]);
        run(&["job", "index", "docs"]);
        let posted = run(&["job", "post", "plan.json"]);
        let job = posted.split("\"job_id\":\"").nth(1).unwrap();
        let job = job.split('"').next().unwrap();
        run(&["job", "work"]);
        run(&[
            "job",
            "build",
            "run-1",
            job,
            "-o",
            to,
            "--redactable",
            "--seed",
            "seed",
        ]);
    });
}

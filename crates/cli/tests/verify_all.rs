//! `runseal verify` as a user has it: what is found, how it is answered, how it ends.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

const PATCH: &str = r#"{"operations":[],"patch_schema_version":"1.0.0","source_proposal_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","source_proposal_id":"prop_0000000000000000","total_bytes":0}"#;

/// A job bundle in `name`, made by the program itself.
fn make_job(bench: &Bench, name: &str) {
    if !bench.path("plan.json").exists() {
        let examples = project_root().join("examples/demo");
        for file in [
            "plan.json",
            "handbook/opening-hours.md",
            "handbook/prices.md",
        ] {
            bench.write(file, fs::read(examples.join(file)).unwrap());
        }
        for arguments in [
            vec!["job", "init"],
            vec!["job", "index", "handbook"],
            vec!["job", "post", "plan.json"],
            vec!["job", "work"],
        ] {
            assert_eq!(bench.run(&arguments).code, Some(0), "{arguments:?}");
        }
    }
    let posted = bench.run(&["job", "post", "plan.json"]).stdout;
    let job = posted
        .split("\"job_id\":\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let built = bench.run(&["job", "build", "demo", job, "-o", name]);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
}

fn tar(bench: &Bench, arguments: &[&str]) {
    let done = Command::new("tar")
        .args(arguments)
        .current_dir(bench.path("."))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn verify_finds_folders_files_and_archives_below_a_folder() {
    let (_folder, bench) = bench();
    make_job(&bench, "tree/a/job");
    bench.write("tree/b/patch.json", PATCH);
    bench.write("tree/b/notes.json", "{\"hello\":1}");
    tar(&bench, &["-czf", "tree/job.tar.gz", "-C", "tree/a", "job"]);
    symlink("..", bench.path("tree/b/loop")).unwrap();
    let ran = bench.run(&["verify", "tree", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let results = answer["results"].as_array().unwrap().iter();
    let results: Vec<_> = results
        .map(|result| {
            assert_eq!(
                (&result["ok"], &result["signed"]),
                (&true.into(), &"unsigned".into())
            );
            (
                result["format"].as_str().unwrap(),
                result["path"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        results,
        [
            ("job-bundle", "tree/a/job"),
            ("patch", "tree/b/patch.json"),
            ("job-bundle", "tree/job.tar.gz"),
        ]
    );
    assert_eq!(
        (&answer["checked"], &answer["invalid"]),
        (&3.into(), &0.into())
    );
    assert_eq!(ran.code, Some(0));
    let human = bench.run(&["verify", "-r", "tree"]).stdout;
    assert!(
        human.contains("3 checked: 3 valid, 0 invalid; 1 other file passed over\n"),
        "{human}"
    );
    for format in ["human", "json", "sarif", "junit"] {
        let on = |jobs: &str| bench.run(&["verify", "tree", "--format", format, "--jobs", jobs]);
        assert_eq!(on("1").stdout, on("2").stdout);
    }
}

/// The exit code of a search and, of each result, its path and whether it holds.
fn search(bench: &Bench, folder: &str) -> (Option<i32>, Vec<(String, bool)>, u64) {
    let ran = bench.run(&["verify", folder, "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let results = answer["results"].as_array().unwrap().iter();
    let results = results.map(|result| {
        let path = result["path"].as_str().unwrap().to_owned();
        (path, result["ok"].as_bool().unwrap())
    });
    let passed_over = answer["passed_over"].as_u64().unwrap_or(0);
    (ran.code, results.collect(), passed_over)
}

#[test]
fn verify_judges_evidence_by_its_content_whatever_it_is_called() {
    let (_folder, bench) = bench();
    make_job(&bench, "made/job");
    make_job(&bench, "bad/job");
    let manifest = fs::read_to_string(bench.path("bad/job/bundle.json")).unwrap();
    let forged = manifest.replacen("sha256", "sha256x", 1);
    bench.write("bad/job/bundle.json", &forged);
    tar(&bench, &["-cf", "bad.tar", "-C", "bad", "job"]);
    tar(&bench, &["-czf", "bad.tar.gz", "-C", "bad", "job"]);
    for (from, name) in [
        ("bad.tar.gz", "EVIDENCE.TAR.GZ"),
        ("bad.tar", "e.Tar"),
        ("bad.tar.gz", "evidence"),
        ("bad.tar", "evidence.bin"),
    ] {
        let folder = format!("search-{name}");
        make_job(&bench, &format!("{folder}/job"));
        fs::copy(bench.path(from), bench.path(&format!("{folder}/{name}"))).unwrap();
        let (code, results, _) = search(&bench, &folder);
        assert_eq!(code, Some(1), "{name}");
        assert!(
            results.contains(&(format!("{folder}/{name}"), false)),
            "{results:?}"
        );
    }
    bench.write("text/a.txt", "{\"hello\":1}");
    bench.write("text/patch.json5", PATCH);
    bench.write("text/run.log", "{\"operations\": started\n");
    bench.write("text/README", "read me");
    let (code, results, passed_over) = search(&bench, "text");
    assert_eq!(code, Some(0));
    assert_eq!(results, [("text/patch.json5".to_owned(), true)]);
    assert_eq!(passed_over, 3);
}

#[test]
fn verify_names_what_a_search_found_and_could_not_look_into() {
    let (_folder, bench) = bench();
    make_job(&bench, "elsewhere/job");
    make_job(&bench, "in/job");
    symlink("job", bench.path("in/latest")).unwrap();
    symlink("../in", bench.path("in/itself")).unwrap();
    let (code, results, _) = search(&bench, "in");
    assert_eq!((code, results.len()), (Some(2), 2), "{results:?}");
    fs::remove_file(bench.path("in/itself")).unwrap();
    assert_eq!(search(&bench, "in").0, Some(0), "`latest` is found itself");
    let not_read: [(&str, &[u8]); 4] = [
        ("pack.tar.xz", b"\xfd7zXZ\0\0\x04"),
        ("pack.7z", b"7z\xbc\xaf\x27\x1c\0\x04"),
        ("pack.rar", b"Rar!\x1a\x07\x01\0"),
        ("evidence", b"BZh91AY&SY"),
    ];
    for (name, bytes) in not_read {
        let path = bench.path(&format!("in/{name}"));
        fs::write(&path, bytes).unwrap();
        let (code, results, _) = search(&bench, "in");
        assert_eq!(code, Some(2), "{name}");
        assert!(
            results.contains(&(format!("in/{name}"), false)),
            "{results:?}"
        );
        let named = bench.run(&["verify", &format!("in/{name}")]);
        assert!(
            named.stdout.contains("which runseal does not read"),
            "{}",
            named.stdout
        );
        tar(&bench, &["-cf", "in.tar", "in"]);
        assert_eq!(
            bench.run(&["verify", "in.tar"]).code,
            Some(2),
            "{name} in a tar"
        );
        fs::remove_file(path).unwrap();
    }
    symlink("../elsewhere", bench.path("in/link")).unwrap();
    let (code, results, _) = search(&bench, "in");
    assert_eq!(code, Some(2));
    assert!(
        results.contains(&("in/link".to_owned(), false)),
        "{results:?}"
    );
    fs::remove_file(bench.path("in/link")).unwrap();
    let made = Command::new("mkfifo").arg(bench.path("in/p.json")).status();
    assert!(made.unwrap().success());
    let (code, results, _) = search(&bench, "in");
    assert_eq!(code, Some(2));
    assert!(
        results.contains(&("in/p.json".to_owned(), false)),
        "{results:?}"
    );
}

#[test]
fn verify_of_a_tar_with_the_ending_of_an_image_is_invalid() {
    let (_folder, bench) = bench();
    make_job(&bench, "job");
    tar(&bench, &["-cf", "job.tar", "job"]);
    for name in ["x.img", "x.ISO", "x.ext4", "x.7z"] {
        fs::copy(bench.path("job.tar"), bench.path(name)).unwrap();
        let ran = bench.run(&["verify", name]);
        assert_eq!(ran.code, Some(1), "{name}");
        assert!(ran.stdout.contains("its name says"), "{}", ran.stdout);
    }
}

#[test]
fn verify_of_nothing_does_not_succeed() {
    let (_folder, bench) = bench();
    fs::create_dir_all(bench.path("empty/inside")).unwrap();
    bench.write("notes/readme.txt", "x");
    for arguments in [
        ["verify", "empty"].as_slice(),
        &["verify", "empty"],
        &["verify", "notes"],
        &["verify", "missing"],
    ] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stdout.contains("NOT CHECKED"), "{}", ran.stdout);
    }
    assert_eq!(bench.run(&["verify"]).code, Some(3));
    assert_eq!(bench.run(&["verify", "--jobs", "0", "x"]).code, Some(3));
}

#[test]
fn verify_of_content_that_is_nothing_known_is_invalid_and_says_what_was_looked_for() {
    let (_folder, bench) = bench();
    bench.write("x.json", "{\"hello\":1}");
    bench.write("broken.json", "{");
    bench.write("both.json", "{\"actions\":[],\"operations\":[]}");
    for (name, wanted) in [
        (
            "x.json",
            "it has `hello`; looked for the members of a context bundle",
        ),
        ("broken.json", "JSON: the text is not strict JSON"),
        ("both.json", "it could be a proposal or a patch set"),
    ] {
        let ran = bench.run(&["verify", name]);
        assert_eq!(ran.code, Some(1), "{name}");
        assert!(ran.stdout.contains(wanted), "{}", ran.stdout);
        assert!(!ran.stdout.contains("the folder or file itself"), "it was");
    }
}

#[test]
fn verify_of_several_ends_with_the_highest_code() {
    let (_folder, bench) = bench();
    bench.write("good.json", PATCH);
    bench.write(
        "bad.json",
        PATCH.replace("\"total_bytes\":0", "\"total_bytes\":1"),
    );
    assert_eq!(bench.run(&["verify", "good.json"]).code, Some(0));
    assert_eq!(
        bench.run(&["verify", "good.json", "bad.json"]).code,
        Some(1)
    );
    assert_eq!(
        bench.run(&["verify", "good.json", "bad.json", "none"]).code,
        Some(2)
    );
}

#[test]
fn verify_reads_documents_and_archives_from_standard_input() {
    let (_folder, bench) = bench();
    make_job(&bench, "job");
    assert_eq!(bench.run_with(&["verify", "-"], PATCH).code, Some(0));
    let twice = bench.run_with(&["verify", "-", "-"], PATCH);
    assert_eq!(twice.code, Some(3), "{}", twice.stdout);
    assert!(
        twice.stderr.contains("named more than once"),
        "{}",
        twice.stderr
    );
    tar(&bench, &["-cf", "job.tar", "job"]);
    let bytes = fs::read(bench.path("job.tar")).unwrap();
    let ran = bench.run_with(&["verify", "-"], &bytes);
    assert!(
        ran.stdout.starts_with(
            "ok       - (job bundle): intact, unsigned\n1 checked: 1 valid, 0 invalid\n"
        ),
        "{}",
        ran.stdout
    );
    let cut = bench.run_with(&["verify", "-"], &bytes[..bytes.len() / 2]);
    assert_eq!(cut.code, Some(1));
    assert!(cut.stdout.contains("AR5"), "{}", cut.stdout);
}

#[test]
fn verify_of_a_changed_bundle_names_the_same_rules_in_every_wrapping() {
    let (_folder, bench) = bench();
    make_job(&bench, "job");
    let artifact = fs::read_dir(bench.path("job/artifacts"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&artifact).unwrap();
    bytes[0] ^= 1;
    fs::write(&artifact, bytes).unwrap();
    tar(&bench, &["-cf", "job.tar", "job"]);
    tar(&bench, &["-czf", "job.tar.gz", "-C", "job", "."]);
    let rules = |path: &str| -> Vec<String> {
        let ran = bench.run(&["verify", path, "--format", "json"]);
        assert_eq!(ran.code, Some(1), "{path}");
        let ids = ran.stdout.split("\"rule_id\":\"").skip(1);
        ids.map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(rules("job"), ["JB4"]);
    assert_eq!(rules("job.tar"), ["JB4"]);
    assert_eq!(rules("job.tar.gz"), ["JB4"]);
}

#[test]
fn verify_counts_what_it_may_not_read_as_not_checked() {
    let (_folder, bench) = bench();
    bench.write("tree/ok/patch.json", PATCH);
    fs::create_dir(bench.path("tree/closed")).unwrap();
    fs::set_permissions(bench.path("tree/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(bench.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = bench.command(&["verify", "tree"]);
    // The superuser may read everything.
    if rustix::process::geteuid().is_root() {
        let copy = bench.path("runseal");
        runseal_testkit::folders::copy_program(env!("CARGO_BIN_EXE_runseal"), &copy);
        command = Command::new(copy);
        command
            .args(["verify", "tree"])
            .current_dir(bench.path("."));
        command.uid(65534).gid(65534);
    }
    let ran = Ran::from(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout
            .contains("NOT CHECKED  tree/closed: Permission denied"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains("1 checked: 1 valid, 0 invalid; 1 NOT CHECKED"),
        "{}",
        ran.stdout
    );
}

#[test]
fn verify_of_many_empty_folders_ends_and_says_that_nothing_was_found() {
    let (_folder, bench) = bench();
    for outer in 0..100 {
        for inner in 0..100 {
            fs::create_dir_all(bench.path(&format!("many/{outer}/{inner}"))).unwrap();
        }
    }
    assert_eq!(bench.run(&["verify", "many"]).code, Some(2));
}

#[test]
fn verify_sarif_has_the_shape_of_its_schema_and_junit_parses() {
    let (_folder, bench) = bench();
    bench.write(
        "tree/bad.json",
        PATCH.replace("\"total_bytes\":0", "\"total_bytes\":1"),
    );
    let sarif = bench
        .run(&["verify", "tree", "missing", "--format", "sarif"])
        .stdout;
    let log: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert!(
        log["$schema"]
            .as_str()
            .unwrap()
            .ends_with("sarif-2.1.0.json")
    );
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "runseal");
    let rules = &run["tool"]["driver"]["rules"];
    for rule in rules.as_array().unwrap() {
        assert!(rule["shortDescription"]["text"].is_string());
        assert!(rule["fullDescription"]["text"].is_string());
        assert_eq!(rule["defaultConfiguration"]["level"], "error");
    }
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["level"], "error");
        assert!(result["message"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(place, "tree/bad.json");
    }
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert!(
        told.as_str()
            .unwrap()
            .starts_with("missing was not checked")
    );

    let junit = bench
        .run(&["verify", "tree", "missing", "--format", "junit"])
        .stdout;
    let document = roxmltree::Document::parse(&junit).unwrap();
    let suites = document.root_element();
    assert_eq!(
        (suites.tag_name().name(), suites.attribute("tests")),
        ("testsuites", Some("2"))
    );
    let suite = suites.first_element_child().unwrap();
    assert_eq!(
        (suite.attribute("failures"), suite.attribute("errors")),
        (Some("1"), Some("1"))
    );
    let case = |name: &str| {
        let is_it = |node: &roxmltree::Node<'_, '_>| node.attribute("name") == Some(name);
        let case = suite.children().find(is_it).unwrap();
        // Who signed it comes before, in properties.
        let mut inside = case.children().filter(roxmltree::Node::is_element);
        let inside = inside
            .find(|node| node.tag_name().name() != "properties")
            .unwrap();
        (
            inside.tag_name().name().to_owned(),
            inside.attribute("type").map(str::to_owned),
        )
    };
    assert_eq!(
        case("tree/bad.json"),
        ("failure".to_owned(), Some("PS7".to_owned()))
    );
    assert_eq!(case("missing"), ("error".to_owned(), Some("IO".to_owned())));
}

#[test]
fn inspect_report_and_diff_end_as_promised() {
    let (_folder, bench) = bench();
    make_job(&bench, "job");
    bench.write("patch.json", PATCH);
    let shown = bench.run(&["inspect", "job"]);
    assert_eq!(shown.code, Some(0));
    assert!(shown.stdout.contains("Verdict: valid"), "{}", shown.stdout);
    let json = bench.run(&["inspect", "patch.json", "--format", "json"]);
    assert!(
        json.stdout.starts_with("{\"facts\":[") && json.stdout.contains("\"format\":\"patch\"")
    );
    assert_eq!(bench.run(&["inspect", "missing"]).code, Some(2));
    tar(&bench, &["-czf", "job.tar.gz", "job"]);
    let same = bench.run(&["diff", "job", "job.tar.gz"]);
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (Some(0), "no difference\n")
    );
    assert_eq!(bench.run(&["diff", "job", "patch.json"]).code, Some(2));
    bench.write(
        "other.json",
        PATCH.replace("\"total_bytes\":0", "\"total_bytes\":1"),
    );
    let differs = bench.run(&["diff", "patch.json", "other.json"]);
    assert_eq!(differs.code, Some(1));
    assert!(
        differs.stdout.contains("/total_bytes\n    - 0\n    + 1\n"),
        "{}",
        differs.stdout
    );
    let report = bench.run(&["report", "job.tar.gz", "-o", "report.html"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    assert!(
        bench
            .read("report.html")
            .contains("id=\"verdict\">A job bundle: intact, unsigned<")
    );
}

#[test]
fn paths_inside_an_archive_are_accepted_where_they_are_printed() {
    let (_folder, bench) = bench();
    make_job(&bench, "ev/one");
    make_job(&bench, "ev/two");
    bench.write("ev/patch.json", PATCH);
    tar(&bench, &["-czf", "ev.tar.gz", "ev"]);
    let all = bench.run(&["verify", "ev.tar.gz", "--format", "json"]);
    assert_eq!(all.code, Some(0), "{}", all.stdout);
    let printed: Vec<&str> = all
        .stdout
        .split("\"path\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(
        printed,
        [
            "ev.tar.gz!/ev/one",
            "ev.tar.gz!/ev/patch.json",
            "ev.tar.gz!/ev/two"
        ]
    );
    for path in printed {
        let verified = bench.run(&["verify", path]);
        assert_eq!(verified.code, Some(0), "{}", verified.stdout);
        assert!(verified.stdout.contains(path), "{}", verified.stdout);
        let inspected = bench.run(&["inspect", path]);
        assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
        assert!(inspected.stdout.starts_with(path), "{}", inspected.stdout);
        let reported = bench.run(&["report", path, "-o", "inside.html"]);
        assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    }
    let same = bench.run(&["diff", "ev.tar.gz!/ev/one", "ev/one"]);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    // A folder of several is searched; what is not there is no success.
    let below = bench.run(&["verify", "ev.tar.gz!/ev"]);
    assert!(
        below.stdout.contains("3 checked: 3 valid"),
        "{}",
        below.stdout
    );
    for missing in ["ev.tar.gz!/ev/three", "ev/patch.json!/x", "none.zip!/x"] {
        let ran = bench.run(&["verify", missing]);
        assert_eq!(ran.code, Some(2), "{missing}: {}", ran.stdout);
        assert_eq!(bench.run(&["inspect", missing]).code, Some(2), "{missing}");
    }
}

/// Copies a vector's input into the bench under a name.
fn copy_vector(bench: &Bench, vector: &str, name: &str) {
    let status = Command::new("cp")
        .arg("-r")
        .arg(project_root().join("vectors").join(vector))
        .arg(bench.path(name))
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn pack_is_not_blamed_for_the_path_of_its_reader() {
    let (_folder, bench) = bench();
    copy_vector(&bench, "pack/ok-executed/input", "pack");
    bench.write("below/x.txt", "");
    tar(&bench, &["-cf", "pack.tar", "pack"]);
    // Named itself, document 002 judges the path; and the advice is about the path.
    let named = bench.run(&["verify", "below/../pack"]);
    assert_eq!(named.code, Some(1), "{}", named.stdout);
    assert!(
        named
            .stdout
            .contains("hint: name it by a path without `..`"),
        "{}",
        named.stdout
    );
    // Found below what was named, or in an archive, it is not.
    for path in ["below/..", "below/../pack.tar", "below/../pack.tar!/pack"] {
        let ran = bench.run(&["verify", path]);
        assert!(!ran.stdout.contains("PK7"), "{path}: {}", ran.stdout);
        assert_eq!(ran.code, Some(0), "{path}: {}", ran.stdout);
    }
    let shown = bench.run(&["inspect", "below/../pack"]);
    assert!(shown.stdout.contains("Verdict: valid"), "{}", shown.stdout);
    assert_eq!(bench.run(&["keygen", "-o", "key"]).code, Some(0));
    let signed = bench.run(&["sign", "below/../pack", "--key", "key"]);
    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    let replayed = bench.run(&["replay", "below/../pack"]);
    assert!(!replayed.stderr.contains("PK7"), "{}", replayed.stderr);
}

#[test]
fn what_holds_several_is_told_apart_from_what_holds_nothing() {
    let (_folder, bench) = bench();
    make_job(&bench, "ev/one");
    make_job(&bench, "ev/two");
    fs::create_dir(bench.path("empty")).unwrap();
    tar(&bench, &["-cf", "ev.tar", "ev"]);
    for (path, first) in [("ev", "ev/one"), ("ev.tar", "ev.tar!/ev/one")] {
        for arguments in [vec!["inspect", path], vec!["report", path, "-o", "x.html"]] {
            let ran = bench.run(&arguments);
            assert_eq!(ran.code, Some(2));
            let said = format!("this contains 2, such as `{first}`");
            assert!(ran.stderr.contains(&said), "{}", ran.stderr);
            assert!(ran.stderr.contains("report -r"), "{}", ran.stderr);
        }
        assert_eq!(bench.run(&["inspect", first]).code, Some(0));
    }
    let empty = bench.run(&["inspect", "empty"]);
    assert!(
        empty.stderr.contains("nothing to verify was found"),
        "{}",
        empty.stderr
    );
}

#[test]
fn one_thing_in_a_folder_or_archive_is_shown_whatever_lies_beside_it() {
    let (_folder, bench) = bench();
    make_job(&bench, "ev/deep/one");
    bench.write("ev/notes.json", "{\"note\":1}");
    tar(&bench, &["-cf", "ev.tar", "ev"]);
    for (path, shown) in [("ev", "ev/deep/one"), ("ev.tar", "ev.tar")] {
        let ran = bench.run(&["inspect", path]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.starts_with(shown), "{}", ran.stdout);
        let same = bench.run(&["diff", path, "ev/deep/one"]);
        assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
        let page = bench.run(&["report", path, "--embed", "-o", "page.html"]);
        assert_eq!(page.code, Some(0), "{}", page.stderr);
    }
    // A document beside it is a second thing.
    bench.write("ev/patch.json", PATCH);
    tar(&bench, &["-cf", "ev.tar", "ev"]);
    for path in ["ev", "ev.tar"] {
        let ran = bench.run(&["inspect", path]);
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        assert!(ran.stderr.contains("this contains 2"), "{}", ran.stderr);
    }
    // One that nobody knows says what it lacks.
    bench.write("other/notes.json", "{\"note\":");
    let ran = bench.run(&["inspect", "other"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(!ran.stderr.contains("SEVERAL"), "{}", ran.stderr);
}

#[test]
fn site_of_nothing_is_refused_and_of_a_part_says_what_is_missing() {
    let (_folder, bench) = bench();
    fs::create_dir(bench.path("empty")).unwrap();
    for (path, output, code) in [
        ("missing", "site", 2),
        ("empty", "site", 2),
        ("empty", "-", 64),
        ("-", "site", 64),
    ] {
        let ran = bench.run(&["report", "-r", path, "-o", output]);
        assert_eq!(ran.code, Some(code), "{path} {output}: {}", ran.stderr);
        assert!(!bench.path(output).exists(), "{path} {output}");
    }
    make_job(&bench, "tree/job");
    bench.write("tree/broken.zip", "PK\x03\x04 and nothing more");
    let ran = bench.run(&["report", "-r", "tree", "-o", "site"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("1 page, and site/index.html; 1 has no page, and the index says why"),
        "{}",
        ran.stderr
    );
    let index = bench.read("site/index.html");
    assert!(index.contains("2 units: 1 intact, 1 not intact"));
}

#[test]
fn site_lists_all_that_archives_hold_and_is_the_same_each_time() {
    let (_folder, bench) = bench();
    make_job(&bench, "ev/one");
    make_job(&bench, "ev/two");
    make_job(&bench, "tree/job");
    symlink("nowhere", bench.path("ev/link")).unwrap();
    fs::create_dir_all(bench.path("tree")).unwrap();
    tar(&bench, &["-cf", "tree/ev.tar", "ev"]);
    for site in ["site", "again"] {
        let ran = bench.run(&["report", "-r", "tree", "-o", site]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    }
    let index = bench.read("site/index.html");
    assert!(index.contains("4 units: 3 intact, 1 not intact"), "{index}");
    assert!(index.contains("a symbolic link; it was not followed"));
    for page in [
        "pages/00002-tree_ev_tar__ev_one.html",
        "pages/00003-tree_ev_tar__ev_two.html",
        "pages/00004-tree_job.html",
    ] {
        assert!(index.contains(page), "{page}");
        let shown = bench.read(&format!("site/{page}"));
        assert_eq!(shown, bench.read(&format!("again/{page}")), "{page}");
    }
    assert_eq!(index, bench.read("again/index.html"));
}

#[test]
fn commands_that_need_a_folder_say_that_they_do_not_look_inside_archives() {
    let (_folder, bench) = bench();
    make_job(&bench, "ev/job");
    tar(&bench, &["-cf", "ev.tar", "ev"]);
    let inside = "ev.tar!/ev/job";
    for arguments in [
        vec!["job", "verify", inside],
        vec!["job", "replay", inside],
        vec!["redact", inside, "-o", "copy", "--drop", "x:y"],
    ] {
        let ran = bench.run(&arguments);
        assert!(
            ran.stderr.starts_with("NOT_FOUND: ") && ran.stderr.contains("unpack it"),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn mistyped_command_is_guessed_behind_help_too() {
    let (_folder, bench) = bench();
    for arguments in [vec!["verfy"], vec!["help", "verfy"]] {
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(64));
        assert!(
            ran.stderr.contains("did you mean `verify`?"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn inspect_of_a_recorded_run_tells_what_it_lacks_and_how_it_was_isolated() {
    let (_folder, bench) = bench();
    copy_vector(&bench, "run-bundle/ok-recorded/input", "run");
    let shown = bench.run(&["inspect", "run"]).stdout;
    for said in [
        "Not captured (2)\n  35 files outside the folder were read",
        "  9 kinds of things that no recording sees",
        "sandbox",
        "namespaces",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

#[test]
fn page_of_a_recording_shows_bodies_that_are_files_of_their_own() {
    let (_folder, bench) = bench();
    copy_vector(&bench, "model-io/ok-proxy-large-bodies", "recording");
    let reported = bench.run(&["report", "recording/input.json", "-o", "page.html"]);
    assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    let page = bench.read("page.html");
    assert!(page.contains("class=\"turn user"), "no question");
    assert!(!page.contains("the body is a separate file"), "no answer");
}

#[test]
fn page_marks_the_file_of_a_wrong_line_and_the_times_of_a_wrong_duration() {
    let (_folder, bench) = bench();
    for (vector, name, marked) in [
        (
            "ledger/ld5-line-changed/input.jsonl",
            "ledger.jsonl",
            "<td class=\"mono\">ledger.jsonl</td>",
        ),
        (
            "runner/rn9-duration-wrong/input.json",
            "runner.json",
            "<span class=\"title\">When</span>",
        ),
    ] {
        copy_vector(&bench, vector, name);
        let ran = bench.run(&["report", name, "-o", "page.html"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let html = bench.read("page.html");
        let rest = html.split(marked).nth(1).unwrap();
        let part = rest.split("</tr>").next().unwrap();
        let part = part.split("</h3>").next().unwrap();
        assert!(part.contains("⚠ wrong: "), "{name}: {part}");
    }
}

#[test]
fn quiet_leaves_hints_out_everywhere() {
    let (_folder, bench) = bench();
    bench.write("text.json", "no JSON");
    bench.write("bundle.json", "{\"root_node\":{}}");
    for arguments in [
        &["verify", "text.json"][..],
        &["verify", "bundle.json"],
        &["bundle", "verify", "bundle.json"],
        &["inspect", "missing"],
        &["canon", "text.json"],
    ] {
        let told = |ran: &Ran| format!("{}{}", ran.stdout, ran.stderr);
        let loud = bench.run(arguments);
        let quiet = bench.run(&[&["-q"][..], arguments].concat());
        assert!(told(&loud).contains("hint: "), "{arguments:?}: {loud:?}");
        assert!(!told(&quiet).contains("hint: "), "{arguments:?}: {quiet:?}");
        assert_eq!(quiet.code, loud.code, "{arguments:?}");
    }
}

#[test]
fn inspect_says_that_rules_do_not_apply_only_where_some_do_not() {
    let (_folder, bench) = bench();
    let list = project_root().join("vectors/checksums/ok-list/input");
    let shown = bench.run(&["inspect", list.to_str().unwrap()]);
    let told = "Verdict: valid (4 of 4 rules passed)\n";
    assert!(shown.stdout.contains(told), "{}", shown.stdout);
}

#[test]
fn sarif_names_a_file_by_its_bytes() {
    let (_folder, bench) = bench();
    let odd = |name: &[u8]| bench.path("in").join(OsStr::from_bytes(name));
    fs::create_dir_all(odd(b"d\xff")).unwrap();
    fs::write(odd(b"d\xff/bad.json"), "{\"bundle_version\":1}").unwrap();
    fs::write(odd(b"x\xfe.json"), "{\"bundle_version\":1}").unwrap();
    let sarif = bench.run(&["verify", "in", "--format", "sarif"]).stdout;
    for uri in ["\"uri\":\"in/d%FF/bad.json\"", "\"uri\":\"in/x%FE.json\""] {
        assert!(sarif.contains(uri), "{uri}: {sarif}");
    }
    fs::write(odd(b"i\xff.json"), "{\"goal\":\"TBD\"}").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_runseal"))
        .args(["lint", "--format", "sarif"])
        .arg(odd(b"i\xff.json"))
        .output()
        .unwrap();
    let sarif = String::from_utf8(ran.stdout).unwrap();
    assert!(sarif.contains("/in/i%FF.json\""), "{sarif}");
}

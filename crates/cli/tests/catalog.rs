//! A catalogue of sealed runs, by the commands that people type; in a file and on a server.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::postgres::PASSWORD;
use runseal_testkit::project_root;
use serde_json::Value;
use tempfile::TempDir;

/// A folder to run in, and the catalogue that commands are given.
struct Desk {
    bench: Bench,
    folder: TempDir,
    store: Option<String>,
}

impl Desk {
    fn new(store: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
        Self {
            bench,
            folder,
            store,
        }
    }

    /// Seals a run whose peak is at so many Hz, on that day of November.
    fn seal(&self, id: &str, peak: f64, day: u64) {
        let engine = project_root().join("examples/engines/resonance-sweep");
        let engine = engine.to_str().unwrap();
        let input = format!(
            r#"{{"inputs":{{"natural_hz":440,"damping_ratio":0.0{day},"from_hz":400,"to_hz":480,"steps":5}},"context":{{"bench":"B{day}"}}}}"#
        );
        let output = format!(
            r#"{{"engine":{{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"}},"semantics":"DETERMINISTIC_TRANSFORM","outputs":{{"peak_hz":{peak},"peak_gain":25,"samples":5}}}}"#
        );
        self.bench.write("input.json", input);
        self.bench.write("output.json", output);
        let arguments = [
            "seal",
            engine,
            "input.json",
            "output.json",
            "--out",
            "runs",
            "--run-id",
            id,
        ];
        let mut command = self.bench.command(&arguments);
        // 2026-11-01 is 1793491200.
        let time = 1_793_491_200 + (day - 1) * 86_400;
        let ran: Ran = command
            .env("SOURCE_DATE_EPOCH", time.to_string())
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    fn seal_three(&self) {
        self.seal("one", 440.0, 1);
        self.seal("two", 441.5, 2);
        self.seal("three", 452.0, 3);
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["catalog"];
        all.extend(arguments);
        if let Some(store) = &self.store {
            all.extend(["--store", store]);
        }
        let ran = self.bench.run(&all);
        assert!(!ran.stderr.contains(PASSWORD) && !ran.stdout.contains(PASSWORD));
        ran
    }

    /// Runs what must succeed; gives what it prints.
    fn say(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.stdout
    }

    /// The ids that a filter finds, in order.
    fn ids(&self, filter: &str) -> Vec<String> {
        let lines = self.say(&["list", "--where", filter, "--format", "json"]);
        let entries = lines.lines().map(|line| parse(line)["id"].clone());
        entries.map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    fn digest(&self, id: &str) -> String {
        let line = self.say(&["list", "--where", &format!("id={id}"), "--format", "json"]);
        parse(&line)["digest"].as_str().unwrap().to_owned()
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn walk(desk: &Desk) {
    desk.seal_three();
    assert_eq!(
        desk.say(&["add", "runs"]),
        "{\"added\":3,\"known\":0,\"refused\":[]}\n"
    );
    assert_eq!(
        desk.say(&["add", "runs/one", "runs"]),
        "{\"added\":0,\"known\":4,\"refused\":[]}\n"
    );
    // Filters, newest first.
    assert_eq!(desk.ids("metrics.peak_hz<450"), ["two", "one"]);
    assert_eq!(desk.ids("params.damping_ratio>=0.02"), ["three", "two"]);
    assert_eq!(
        desk.ids("time>=2026-11-03 or params.context.bench=B1"),
        ["three", "one"]
    );
    assert_eq!(desk.ids("signer=unsigned and engine~SWEEP").len(), 3);
    assert_eq!(desk.ids("engine=OTHER").len(), 0);
    let table = desk.say(&[
        "list",
        "--where",
        "metrics.peak_hz>441",
        "--columns",
        "params.steps",
    ]);
    for part in [
        "metrics.peak_hz",
        "441.5",
        "452",
        "params.steps",
        "RESONANCE_SWEEP",
        "2026-11-03",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(table.lines().all(|line| !line.contains("440")), "{table}");
    let found = desk.say(&["search", "resonance B2"]);
    assert!(found.contains("two") && !found.contains("three"), "{found}");
    // One run, by its first digits.
    let (one, two) = (desk.digest("one"), desk.digest("two"));
    let shown = desk.say(&["show", &one[..10]]);
    for part in [
        one.as_str(),
        "metrics.peak_hz",
        "440",
        "runs/one (unsigned)",
        "2026-11-01T00:00:00Z",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = parse(&desk.say(&["show", &one[..10], "--format", "json"]));
    assert_eq!(shown["metrics"]["/outputs/peak_hz"], 440);
    assert_eq!(shown["params"]["/context/bench"], "B1");
    assert_eq!(shown["places"], serde_json::json!(["runs/one"]));
    // Tags.
    assert_eq!(
        desk.say(&["tag", &one[..10], &two[..10], "--add", "pair"]),
        "{\"changed\":2}\n"
    );
    assert_eq!(desk.ids("tag=pair"), ["two", "one"]);
    // Side by side.
    let compared = desk.say(&[
        "compare",
        "pair",
        &desk.digest("three"),
        "--plot",
        "plot.svg",
    ]);
    let line = compared
        .lines()
        .find(|line| line.starts_with("metrics.peak_hz"))
        .unwrap();
    assert!(
        line.contains('█') && line.contains('▁') && line.contains("441.5"),
        "{compared}"
    );
    assert!(!compared.contains("metrics.peak_gain"), "{compared}");
    let plot = desk.bench.read("plot.svg");
    assert!(
        plot.starts_with("<svg") && plot.contains("metrics.peak_hz"),
        "{plot}"
    );
    roxmltree::Document::parse(&plot).unwrap();
    let compared = parse(&desk.say(&["compare", &one, &two, "--format", "json", "--all"]));
    let rows = compared["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(
        row("metrics.peak_hz")["values"],
        serde_json::json!([440, 441.5])
    );
    assert_eq!(row("metrics.peak_gain")["differs"], false);
    let csv = desk.say(&["compare", &one, &two, "--format", "csv"]);
    assert!(csv.contains("metrics.peak_hz,440,441.5\r\n"), "{csv}");
    let drawn = desk.say(&["compare", "pair", &desk.digest("three"), "--plot", "-"]);
    assert_eq!(drawn, plot);
    let both = desk.run(&["compare", &one, &two, "--plot", "-", "--format", "json"]);
    assert_eq!(
        (both.code, both.stdout.as_str()),
        (Some(64), ""),
        "{both:?}"
    );
    assert!(!desk.bench.path("-").exists());
    // Lists and single runs as CSV, with whole digests.
    let filter = ["--where", "metrics.peak_hz>441", "--format", "csv"];
    for command in [&["list"][..], &["search", "resonance"]] {
        let csv = desk.say(&[command, &filter[..]].concat());
        let lines: Vec<&str> = csv.split("\r\n").collect();
        let headings = "digest,format,id,engine,outcome,signer,time,tags,metrics.peak_hz";
        assert_eq!(lines[0], headings, "{csv}");
        assert!(
            lines[2].starts_with(&format!("{two},run-bundle,two,")),
            "{csv}"
        );
        assert!(
            lines[2].ends_with(",pair,441.5") && lines.len() == 4,
            "{csv}"
        );
    }
    let csv = desk.say(&["show", &one[..10], &two[..10], "--format", "csv"]);
    let exported = desk.say(&["export", "--format", "csv", "--where", "tag=pair"]);
    let mut shown: Vec<&str> = csv.lines().collect();
    let mut exported: Vec<&str> = exported.lines().collect();
    assert_eq!(shown[0], exported[0]);
    shown.sort_unstable();
    exported.sort_unstable();
    assert_eq!(shown, exported);
    // Out of it.
    let csv = desk.say(&["export", "--format", "csv", "--where", "tag=pair"]);
    assert!(
        csv.starts_with("digest,format,id,engine,") && csv.lines().count() == 3,
        "{csv}"
    );
    assert!(
        csv.lines().next().unwrap().contains("metrics.peak_hz"),
        "{csv}"
    );
    let json = parse(&desk.say(&["export", "--format", "json"]));
    assert_eq!(json.as_array().unwrap().len(), 3);
    let empty = desk.say(&["export", "--format", "json", "--where", "tag=none"]);
    assert_eq!(empty, "[]\n");
    // Rebuilding gives the same, and forgets what is gone.
    let before = desk.say(&["export", "--format", "json"]);
    assert_eq!(
        desk.say(&["rebuild", "runs"]),
        "{\"added\":0,\"known\":3,\"refused\":[],\"removed\":0}\n"
    );
    assert_eq!(desk.say(&["export", "--format", "json"]), before);
    assert_eq!(desk.say(&["remove", "pair"]), "{\"removed\":2}\n");
    assert_eq!(desk.ids("engine"), ["three"]);
    fs::remove_dir_all(desk.bench.path("runs/three")).unwrap();
    assert_eq!(
        desk.say(&["rebuild", "runs"]),
        "{\"added\":2,\"known\":0,\"refused\":[],\"removed\":1}\n"
    );
    assert_eq!(desk.ids("engine"), ["two", "one"]);
}

#[test]
fn catalogue_in_a_file_is_filled_asked_and_rebuilt() {
    let desk = Desk::new(None);
    walk(&desk);
    assert!(desk.bench.path(".runseal/catalog.db").is_file());
    // A folder below finds it, and a lost one comes back from the bundles alone but for tags.
    let before = desk.say(&["export", "--format", "json"]);
    for entry in fs::read_dir(desk.bench.path(".runseal")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(desk.run(&["list"]).code, Some(2));
    desk.say(&["rebuild", "runs"]);
    assert_eq!(desk.say(&["export", "--format", "json"]), before);
    let below = Bench::new(env!("CARGO_BIN_EXE_runseal"), desk.bench.path("runs/one"));
    let listed = below.run(&["catalog", "list"]);
    assert!(listed.stdout.contains("RESONANCE_SWEEP"), "{listed:?}");
}

#[test]
fn catalogue_on_a_server_is_filled_asked_and_rebuilt() {
    let Some((_server, url)) = crate::store_support::database() else {
        return;
    };
    walk(&Desk::new(Some(url)));
}

#[test]
fn archive_and_folder_of_the_same_run_are_one_entry() {
    let desk = Desk::new(None);
    desk.seal_three();
    for arguments in [
        &["-cf", "one.tar", "-C", "runs", "one"][..],
        &["-cf", "all.tar", "runs"],
    ] {
        let status = std::process::Command::new("tar")
            .args(arguments)
            .current_dir(desk.folder.path())
            .status()
            .unwrap();
        assert!(status.success());
    }
    desk.say(&["add", "runs", "one.tar"]);
    desk.say(&["add", "all.tar!/runs/one", "all.tar"]);
    let one = parse(&desk.say(&["show", &desk.digest("one"), "--format", "json"]));
    let places = serde_json::json!(["all.tar!/runs/one", "one.tar", "runs/one"]);
    assert_eq!(one["places"], places);
    assert_eq!(desk.ids("place~all.tar").len(), 3);
    // What is broken off is refused, and so is what is in it.
    let whole = fs::read(desk.bench.path("all.tar")).unwrap();
    desk.bench.write("cut.tar", &whole[..whole.len() * 2 / 3]);
    let ran = desk.run(&["add", "cut.tar"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(
        ran.stdout.starts_with("{\"added\":0,\"known\":0,"),
        "{ran:?}"
    );
    assert_eq!(desk.ids("place~cut.tar").len(), 0);
}

#[test]
fn signer_is_the_key_that_verify_reports() {
    let desk = Desk::new(None);
    desk.seal_three();
    let made = desk.bench.run(&["keygen", "-o", "key.pem"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let signed = desk.bench.run(&["sign", "runs/one", "--key", "key.pem"]);
    assert_eq!(signed.code, Some(0), "{signed:?}");
    let verified = desk.bench.run(&["verify", "runs/one", "--format", "json"]);
    let verified = parse(&verified.stdout);
    let key = verified["results"][0]["signatures"][0]["key"]
        .as_str()
        .unwrap();
    desk.say(&["add", "runs"]);
    assert_eq!(desk.ids(&format!("signer='{key}'")), ["one"]);
    assert_eq!(desk.ids("not signer=unsigned"), ["one"]);
    // A signature that no longer holds is reported as such when it is looked at again.
    let path = desk.bench.path("runs/one.intoto.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("\"sig\":\"").unwrap() + 12;
    let other = if &text[at..=at] == "A" { "B" } else { "A" };
    fs::write(&path, format!("{}{other}{}", &text[..at], &text[at + 1..])).unwrap();
    desk.say(&["add", "runs"]);
    assert_eq!(desk.ids("signer=broken"), ["one"]);
}

#[test]
fn pack_is_added_however_somebody_came_to_it() {
    let desk = Desk::new(None);
    let pack = project_root().join("vectors/pack/ok-executed/input");
    runseal_testkit::folders::copy_folder(&pack, &desk.bench.path("x/pack"));
    fs::create_dir(desk.bench.path("y")).unwrap();
    let mut added = 0;
    for path in ["y/../x/pack", "x//pack", "x/./pack", "y/../x"] {
        let said = parse(&desk.say(&["add", path]));
        assert_eq!(said["refused"], serde_json::json!([]), "{path}");
        added += said["added"].as_u64().unwrap();
    }
    assert_eq!(added, 1);
    // The place where it was seen is shown as it was typed.
    let entry = parse(&desk.say(&["list", "--format", "json"]));
    let places = entry["places"].as_array().unwrap();
    assert!(places.contains(&"y/../x/pack".into()), "{places:?}");
    // To `verify` the way to a pack that is named counts (PK7).
    let verified = desk.bench.run(&["verify", "y/../x/pack"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
}

#[test]
fn what_does_not_hold_is_named_and_not_added() {
    let desk = Desk::new(None);
    desk.seal_three();
    desk.bench.write("runs/two/RUN_OUTPUT.json", "{\"x\":2}");
    let ran = desk.run(&["add", "runs"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("runs/two"), "{ran:?}");
    let answer = parse(&ran.stdout);
    assert_eq!(
        (&answer["added"], &answer["refused"][0]["path"]),
        (&2.into(), &"runs/two".into())
    );
    assert_eq!(desk.ids("engine"), ["three", "one"]);
    let ran = desk.run(&["add", "none"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = desk.run(&["add", "-"]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    // Nothing is forgotten for what could not be read.
    let ran = desk.run(&["rebuild", "runs", "none"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(desk.ids("engine"), ["three", "one"]);
    // What was valid when it was added and is not any more is forgotten.
    desk.bench.write("runs/three/RUN_OUTPUT.json", "{}");
    assert_eq!(desk.run(&["rebuild", "runs"]).code, Some(1));
    assert_eq!(desk.ids("engine"), ["one"]);
}

#[test]
fn bad_input_is_reported_with_its_place() {
    let desk = Desk::new(None);
    let refused = |arguments: &[&str], code: i32, parts: &[&str]| {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        }
    };
    refused(
        &["list"],
        2,
        &["there is no catalogue", "hint: `runseal catalog add"],
    );
    desk.seal_three();
    desk.say(&["add", "runs", "--tag", "all"]);
    let filter = "metrics.rmse < and engine=X";
    refused(
        &["list", "--where", filter],
        64,
        &[
            "FILTER: expected a value",
            "column 16",
            "\n                 ^",
        ],
    );
    refused(
        &["list", "--where", "größe=1"],
        64,
        &["no field `größe`", "column 1"],
    );
    refused(&["search", "x", "--where", "("], 64, &["column 2"]);
    refused(
        &["export", "--format", "csv", "--where", "engine="],
        64,
        &["column 8"],
    );
    refused(
        &["list", "--columns", "engine"],
        64,
        &["the name of a parameter or metric"],
    );
    refused(&["search", "?!"], 64, &["no word"]);
    refused(&["show", "00000000"], 2, &["NOT_FOUND", "`00000000`"]);
    refused(&["show", "ab"], 2, &["NOT_FOUND"]);
    refused(&["compare", &desk.digest("one")], 64, &["1 run named"]);
    refused(&["tag", "all"], 64, &["--add"]);
    refused(&["tag", "all", "--add", " x"], 64, &["is not a tag"]);
    refused(&["remove", "nobody"], 2, &["NOT_FOUND"]);
    refused(
        &["list", "--where", "metrics.peak_hz<1e400"],
        64,
        &["beyond the largest number"],
    );
    refused(&["compare", "all", "--plot", "p.png"], 64, &[".svg"]);
    refused(&["search", "zzz"], 0, &["nothing in the catalogue"]);
    assert_eq!(desk.ids("metrics./outputs/peak_gain>1").len(), 3);
    // Nothing is drawn, and no file is left, where no number differs.
    desk.seal("four", 452.0, 3);
    desk.say(&["add", "runs"]);
    let pair = [desk.digest("three"), desk.digest("four")];
    refused(
        &["compare", &pair[0], &pair[1], "--plot", "none.svg"],
        2,
        &["no number differs"],
    );
    assert!(!desk.bench.path("none.svg").exists());
}

#[test]
fn prefix_of_several_digests_is_refused_with_them() {
    // Digests cannot be chosen, so a tag plays the second: it looks like the digest's first digits.
    let desk = Desk::new(None);
    desk.seal_three();
    desk.say(&["add", "runs"]);
    let (one, two) = (desk.digest("one"), desk.digest("two"));
    desk.say(&["tag", &two, "--add", &one[..6]]);
    let ran = desk.run(&["show", &one[..6]]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in ["AMBIGUOUS", &one[..16], &two[..16], "more digits"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    assert!(desk.say(&["show", &one[..8]]).contains(&one));
}

#[test]
fn file_of_another_kind_or_a_later_version_is_left_alone() {
    let desk = Desk::new(None);
    desk.seal_three();
    let refused = |file: &str, said: &str| {
        let before = fs::read(desk.bench.path(file)).unwrap();
        for arguments in [&["list"][..], &["add", "runs"], &["rebuild", "runs"]] {
            let mut all = arguments.to_vec();
            all.extend(["--store", file]);
            let ran = desk.run(&all);
            assert_eq!(ran.code, Some(2), "{all:?}: {ran:?}");
            assert!(ran.stderr.contains(said), "{all:?}: {ran:?}");
        }
        assert_eq!(fs::read(desk.bench.path(file)).unwrap(), before, "{file}");
    };
    desk.bench.write(
        "text.db",
        "this is a text and no database, whatever its name may say ".repeat(9),
    );
    refused("text.db", "is not a runseal catalogue");
    // A job store is a database, and another one.
    assert_eq!(
        desk.bench.run(&["job", "init", "--store", "jobs.db"]).code,
        Some(0)
    );
    refused("jobs.db", "is not a runseal catalogue");
    desk.say(&["add", "runs", "--store", "later.db"]);
    let path = desk.bench.path("later.db");
    let mut bytes = fs::read(&path).unwrap();
    for leftover in ["later.db-wal", "later.db-shm"] {
        let _ = fs::remove_file(desk.bench.path(leftover));
    }
    // The user version of a SQLite file is at byte 60.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    refused("later.db", "version 99");
    fs::create_dir(desk.bench.path("folder.db")).unwrap();
    assert_eq!(
        desk.run(&["add", "runs", "--store", "folder.db"]).code,
        Some(2)
    );
}

#[test]
fn server_that_refuses_is_reported_without_the_password() {
    let Some((_server, url)) = crate::store_support::database() else {
        return;
    };
    let desk = Desk::new(None);
    desk.seal_three();
    let wrong = url.replace(PASSWORD, "wr0ng-secret");
    let gone = url.replace("127.0.0.1:", "127.0.0.1:1");
    for (address, said) in [
        (wrong.as_str(), "refuses the name or the password"),
        (gone.as_str(), ""),
        (
            "postgres://me:wr0ng-secret@h/d?sslmode=x",
            "not a usable address",
        ),
    ] {
        for arguments in [&["list"][..], &["add", "runs"], &["show", "abcd"]] {
            let mut all = arguments.to_vec();
            all.extend(["--store", address]);
            let ran = desk.run(&all);
            assert_eq!(ran.code, Some(2), "{all:?}: {ran:?}");
            assert!(ran.stderr.contains(said), "{ran:?}");
            assert!(!ran.stderr.contains("wr0ng-secret"), "{ran:?}");
        }
    }
    let empty = desk.run(&["list", "--store", &url]);
    assert!(empty.stderr.contains("there is no catalogue"), "{empty:?}");
    // The environment names the server as it does for jobs.
    let mut command = desk.bench.command(&["catalog", "add", "runs"]);
    let ran: Ran = command.env("RUNSEAL_STORE", &url).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!desk.bench.path(".runseal").exists());
}

fn start_adding(desk: &Desk) -> Child {
    let mut all = vec!["catalog", "add", "many", "--jobs", "1"];
    if let Some(store) = &desk.store {
        all.extend(["--store", store]);
    }
    desk.bench
        .command(&all)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Small documents that are valid and all different: many units at little cost.
fn write_many(desk: &Desk, count: usize) {
    for at in 0..count {
        let hash = format!("sha256:{at:064x}");
        let patch = format!(
            r#"{{"operations":[],"patch_schema_version":"1.0.0","source_proposal_hash":"{hash}","source_proposal_id":"prop_{at:016x}","total_bytes":0}}"#
        );
        desk.bench.write(&format!("many/{at:05}.json"), patch);
    }
}

fn interrupted(desk: &Desk) {
    const COUNT: usize = 3000;
    write_many(desk, COUNT);
    let mut before = 0;
    for round in 1..=6 {
        let mut child = start_adding(desk);
        thread::sleep(Duration::from_millis(250 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        // What was written before is whole, and nothing of it is lost.
        let ran = desk.run(&["export", "--format", "json"]);
        if ran.code == Some(0) {
            let entries = parse(&ran.stdout);
            let entries = entries.as_array().unwrap();
            assert!(entries.len() >= before, "{} after {before}", entries.len());
            before = entries.len();
            for entry in entries {
                assert_eq!(entry["format"], "patch", "{entry}");
                assert_eq!(entry["places"].as_array().unwrap().len(), 1, "{entry}");
            }
        } else {
            let expected = ["there is no catalogue", "is not a runseal catalogue"];
            let is_expected = expected.iter().any(|fault| ran.stderr.contains(fault));
            assert!(is_expected, "{ran:?}");
        }
    }
    println!("{before} of {COUNT} entries after six kills");
    let added: u64 = [start_adding(desk), start_adding(desk)]
        .map(|child| {
            let ran: Ran = child.wait_with_output().unwrap().into();
            assert_eq!(ran.code, Some(0), "{ran:?}");
            parse(&ran.stdout)["added"].as_u64().unwrap()
        })
        .into_iter()
        .sum();
    // A server may still have committed what a killed program had sent.
    assert!(before + added as usize <= COUNT, "{added} after {before}");
    let listed = desk.say(&["list", "--format", "json"]);
    assert_eq!(listed.lines().count(), COUNT);
}

#[test]
fn catalogue_in_a_file_is_whole_after_kills_and_two_who_add_at_once() {
    interrupted(&Desk::new(None));
}

#[test]
fn catalogue_on_a_server_is_whole_after_kills_and_two_who_add_at_once() {
    let Some((_server, url)) = crate::store_support::database() else {
        return;
    };
    interrupted(&Desk::new(Some(url)));
}

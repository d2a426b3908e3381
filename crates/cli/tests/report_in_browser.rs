//! Pages in a real, headless Chromium: every format, valid and tampered; a hostile bundle; a site of
//! many. Nothing runs, nothing is fetched, nothing is drawn over a verdict.

use crate::page_support::{assert_quiet, look_at, seal_by_hand};
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use runseal_testkit::skip::need_program;
use serde_json::{Value, json};

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn page_of(bench: &Bench, path: &str, name: &str) {
    let ran = bench.run(&["report", path, "-o", name]);
    assert_eq!(ran.code, Some(0), "{path}: {}", ran.stderr);
}

fn words(seen: &Value) -> Vec<&str> {
    let answers = seen["answers"].as_array().unwrap();
    answers.iter().filter_map(Value::as_str).collect()
}

/// A picture of 8 by 8 grey dots.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\0\0\0\0\xe1d\xe1W\0\0\0\x14IDATx\x9cc`\xd0\x08\xa8Xp\xe2\x83\x04\x03e\x0c\0\xb3\xf5\x1b\x01\xda\x0f\x02\x87\0\0\0\0IEND\xaeB`\x82";

const PLOT: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="640" height="240" viewBox="0 0 640 240"><rect width="640" height="240" fill="#fff"/><polyline fill="none" stroke="#2a56bf" stroke-width="3" points="20,220 120,200 220,140 320,30 420,130 520,195 620,215"/><text x="300" y="20" font-size="14">gain</text></svg>"##;

#[test]
fn pages_of_every_format_valid_and_tampered_are_quiet_accessible_and_say_the_same_as_verify() {
    let (_folder, bench) = bench();
    // A path that climbs is itself a fault of a pack.
    let vectors = project_root().join("vectors").canonicalize().unwrap();
    let vectors = vectors.display();
    let units = [
        ("context-bundle/ok-branching/input.json", true),
        ("context-bundle/bs20-count-wrong/input.json", false),
        ("job-bundle/jb4-artifact-changed/input", false),
        ("run-bundle/ok-upstream/input", true),
        ("run-bundle/rb5-artifact-changed/input", false),
        ("pack/ok-executed/input", true),
        ("pack/ok-refuse/input", true),
        ("pack/pk14-file-changed/input", false),
        ("proposal/ok-generated/input.json", true),
        ("patch/ok-executed/input.json", true),
        ("patch/ps10-size-wrong/input.json", false),
        ("model-io/ok-record/input.json", true),
        ("model-io/mi7-response-changed/input.json", false),
        ("runner/ok-executed/input.json", true),
        ("evidence/ok-failed/input.json", true),
        ("engine/ok-sweep/input", true),
    ];
    let mut jobs = Vec::new();
    let mut expected = Vec::new();
    for (at, (unit, is_valid)) in units.iter().enumerate() {
        let path = format!("{vectors}/{unit}");
        if !std::path::Path::new(&path).exists() {
            panic!("no vector {unit}");
        }
        let verified = bench.run(&["verify", &path]).code == Some(0);
        assert_eq!(verified, *is_valid, "{unit}");
        let page = format!("{at}.html");
        page_of(&bench, &path, &page);
        // Wide and light, narrow and dark.
        jobs.push(json!({"page": page, "width": 1280, "axe": true}));
        jobs.push(json!({"page": page, "width": 400, "dark": true, "axe": true}));
        expected.extend([(*unit, *is_valid); 2]);
    }
    let Some(seen) = look_at(&bench, &Value::from(jobs)) else {
        return;
    };
    assert_eq!(seen.len(), expected.len());
    for (seen, (unit, is_valid)) in seen.iter().zip(expected) {
        assert_quiet(seen);
        let answers = words(seen);
        let verdict = seen["verdict"].as_str().unwrap();
        assert_eq!(answers.len(), 4, "{unit}");
        assert_eq!(answers[0] == "✓ Intact", is_valid, "{unit}: {answers:?}");
        assert_eq!(
            verdict.starts_with("Do not rely on this"),
            !is_valid,
            "{unit}: {verdict}"
        );
        let marks = seen["marks"].as_u64().unwrap();
        assert_eq!(marks > 0, !is_valid, "{unit}: {marks} marks");
        if unit.contains("ok-failed") {
            assert_eq!(answers[3], "✗ Failed", "{unit}");
        }
        if unit.contains("ok-refuse") {
            assert_eq!(answers[3], "✗ Refused", "{unit}");
        }
    }
}

/// Everything at once that a text could try.
const HOSTILE: &str = "\"><script>window.hacked='script'</script></script></style></title><img src=x onerror=\"window.hacked='img'\"> javascript:alert(1) \u{202e}tcatni\u{202c} \u{200b}\u{feff}\u{e0041} ✓ Intact ✓ Signed ✓ Trusted";

const HOSTILE_SVG: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="90" onload="top.hacked='svg'"><script>top.hacked='svg script';parent.document.title='x'</script><image xlink:href="http://127.0.0.1:9/x.png" width="9" height="9"/><foreignObject width="90" height="90"><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="http://127.0.0.1:9/"></iframe></body></foreignObject><style>@import url(http://127.0.0.1:9/x.css);</style><rect width="90" height="90"/></svg>"#;

fn hostile_bundle(bench: &Bench, folder: &str) {
    let markdown = format!(
        "# {HOSTILE}\n\n[x](javascript:window.hacked=1) ![x](http://127.0.0.1:9/p.png)\n\n<script>window.hacked='md'</script>\n\n<svg onload=window.hacked=2>\n\n<style>#answers{{display:none}}</style>\n\n{}x\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |\n",
        "> ".repeat(400)
    );
    let csv = format!("{HOSTILE},b\n\"{}\",1\n2,3\n", HOSTILE.replace('"', "\"\""));
    let zalgo = "Z\u{300}\u{301}\u{302}".repeat(3_000);
    let manifest = json!({"engine_code": "HOSTILE", "engine_version": "1.0.0", "description": HOSTILE,
        "execution": {"command": ["sh", HOSTILE]}});
    let input = json!({"inputs": {HOSTILE: HOSTILE, "deep": {"a": [HOSTILE, {HOSTILE: 1}]}}});
    let output = json!({"outputs": {HOSTILE: HOSTILE, "long": "x".repeat(10 << 20), "zalgo": zalgo},
        "failed": true, "exit_status": 3});
    let artifacts: Vec<(&str, &[u8])> = vec![
        (
            "<img src=x onerror=window.hacked=1>.txt",
            HOSTILE.as_bytes(),
        ),
        ("a.md", markdown.as_bytes()),
        ("b.csv", csv.as_bytes()),
        ("c.svg", HOSTILE_SVG.as_bytes()),
        ("d.html", HOSTILE.as_bytes()),
        ("e.png", PNG),
        (
            "f.svg",
            b"<!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg>&a;</svg>",
        ),
    ];
    seal_by_hand(bench, folder, (manifest, input, output), &artifacts);
}

#[test]
fn page_of_a_hostile_bundle_runs_nothing_fetches_nothing_and_keeps_its_verdict() {
    let (_folder, bench) = bench();
    hostile_bundle(&bench, "hostile");
    let verified = bench.run(&["verify", "hostile"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    page_of(&bench, "hostile", "valid.html");
    // The same with one byte changed: valid hashes are no longer.
    bench.write("hostile/artifacts/d.html", HOSTILE.replace('x', "y"));
    page_of(&bench, "hostile", "tampered.html");
    let size = std::fs::metadata(bench.path("valid.html")).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes");
    for page in ["valid.html", "tampered.html"] {
        let text = bench.read(page);
        assert!(
            !text.contains(['\u{202e}', '\u{200b}', '\u{feff}']),
            "{page}"
        );
    }
    let jobs = json!([
        {"page": "valid.html"}, {"page": "valid.html", "width": 400},
        {"page": "tampered.html"}, {"page": "valid.html", "axe": true},
    ]);
    let Some(seen) = look_at(&bench, &jobs) else {
        return;
    };
    for (at, seen) in seen.iter().enumerate() {
        assert_quiet(seen);
        let elements = seen["elements"].as_object().unwrap();
        for never in [
            "iframe", "object", "embed", "form", "base", "link", "audio", "video", "template",
        ] {
            assert!(!elements.contains_key(never), "{never}");
        }
        assert_eq!(elements["script"], json!(1));
        assert_eq!(elements["style"], json!(1));
        assert_eq!(
            elements["img"],
            json!(2),
            "the picture, and the drawing that has no entities"
        );
        assert_eq!(elements["h1"], json!(1));
        let (first, last) = match at {
            2 => ("✗ Not intact", "✗ Claims: failed with status 3"),
            _ => ("✓ Intact", "✗ Failed with status 3"),
        };
        assert_eq!(words(seen), [first, "– Unsigned", "– Not asked", last]);
        let title = seen["title"].as_str().unwrap();
        assert!(
            title.ends_with("intact · run bundle: hostile")
                || title == "Intact · run bundle: hostile",
            "{title}"
        );
    }
}

#[test]
fn site_of_many_filters_compares_and_links_to_its_pages() {
    let (_folder, bench) = bench();
    for (name, gain) in [("one", 25), ("two", 31)] {
        let manifest = json!({"engine_code": "SWEEP", "engine_version": "1.0.0",
            "description": "A sweep", "execution": {"command": ["sh", "sweep.sh"]}});
        let input = json!({"inputs": {"from_hz": 400, "to_hz": 480}});
        let output = json!({"outputs": {"peak_hz": 440, "peak_gain": gain}});
        let csv = "hz,gain\n400,1.5\n440,25\n480,2\n";
        let artifacts: [(&str, &[u8]); 2] =
            [("sweep.csv", csv.as_bytes()), ("plot.svg", PLOT.as_bytes())];
        seal_by_hand(
            &bench,
            &format!("tree/{name}"),
            (manifest, input, output),
            &artifacts,
        );
    }
    hostile_bundle(&bench, "tree/hostile");
    bench.write("tree/broken/run.json", "{");
    bench.write("tree/notes.txt", "nothing");
    let ran = bench.run(&["report", "-r", "tree", "-o", "site"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let again = bench.run(&["report", "-r", "tree", "-o", "site"]);
    assert_eq!(again.code, Some(2), "an existing site is never overwritten");
    assert!(again.stderr.starts_with("EXISTS: "), "{}", again.stderr);
    let index = bench.read("site/index.html");
    let pages: Vec<_> = index
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(pages.len(), 4, "{pages:?}");
    for page in &pages {
        assert!(bench.path(&format!("site/{page}")).is_file(), "{page}");
    }
    let jobs = json!([
        {"page": "site/index.html", "pick": ["tree/one", "tree/two"]},
        {"page": "site/index.html", "width": 400, "axe": true},
        {"page": "site/index.html", "axe": true, "dark": true},
        {"page": format!("site/{}", pages[2]), "keys": 3},
    ]);
    let Some(seen) = look_at(&bench, &jobs) else {
        return;
    };
    for seen in &seen {
        assert_quiet(seen);
    }
    let compared = seen[0]["compared"].as_str().unwrap();
    assert!(
        compared.contains("output · outputs · peak_gain\t25\t31"),
        "{compared}"
    );
    assert_eq!(
        seen[3]["focus"],
        json!("A"),
        "the keyboard reaches the links"
    );
}

#[test]
fn report_against_another_shows_what_differs_and_an_unlike_one_is_refused() {
    let (_folder, bench) = bench();
    for (name, text) in [("one", "a\nb\n"), ("two", "a\nc\n")] {
        let manifest = json!({"engine_code": "E", "engine_version": "1.0.0"});
        let output = json!({"outputs": {"n": text.len(), "text": text}});
        seal_by_hand(
            &bench,
            name,
            (manifest, json!({}), output),
            &[("t.txt", text.as_bytes())],
        );
    }
    let ran = bench.run(&["report", "two", "--against", "one", "-o", "page.html"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = bench.read("page.html");
    assert!(
        page.contains("<span class=\"minus\">-b</span>"),
        "no diff of lines"
    );
    assert!(page.contains("<span class=\"plus\">+c</span>"));
    assert!(page.contains("RUN_OUTPUT.json /outputs/text"));
    bench.write("patch.json", r#"{"patch_schema_version":"1.0.0","source_proposal_id":"p","source_proposal_hash":"x","operations":[],"total_bytes":0}"#);
    let ran = bench.run(&[
        "report",
        "two",
        "--against",
        "patch.json",
        "-o",
        "page2.html",
    ]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("NOT_ALIKE: "), "{}", ran.stderr);
    assert!(!bench.path("page2.html").exists());
}

#[test]
fn page_of_very_many_files_is_bounded_and_says_what_it_leaves_out() {
    let (_folder, bench) = bench();
    let names: Vec<String> = (0..3_000).map(|at| format!("{at:05}.txt")).collect();
    let artifacts: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), name.as_bytes()))
        .collect();
    let manifest = json!({"engine_code": "E", "engine_version": "1.0.0"});
    seal_by_hand(&bench, "many", (manifest, json!({}), json!({})), &artifacts);
    // What is wrong is shown, wherever it is in the list.
    bench.write("many/artifacts/02999.txt", "changed");
    page_of(&bench, "many", "page.html");
    let page = bench.read("page.html");
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    assert!(
        page.contains("… and 2010 more files"),
        "files beyond the bound are counted"
    );
    let files = &page[page.find("id=\"files\"").unwrap()..];
    assert!(
        files.contains("artifacts/02999.txt</td>"),
        "a wrong file is listed first"
    );
    assert!(page.contains("2940 more artifacts"));
}

#[test]
fn pages_print_to_paper() {
    let (folder, bench) = bench();
    hostile_bundle(&bench, "hostile");
    page_of(&bench, "hostile", "page.html");
    if !need_program("/usr/bin/chromium") {
        return;
    }
    let paper = bench.path("page.pdf");
    let status = std::process::Command::new("/usr/bin/chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("--print-to-pdf={}", paper.display()))
        .arg(format!("file://{}", bench.path("page.html").display()))
        .output()
        .unwrap();
    assert!(status.status.success());
    assert!(std::fs::read(&paper).unwrap().starts_with(b"%PDF"));
}

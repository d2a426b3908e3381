//! The report's page in a real, headless Chromium: it loads without a complaint, shows the tree,
//! and a hostile goal does nothing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use runseal_testkit::cli::Bench;

fn find_browser() -> Option<PathBuf> {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.exists());
    if found.is_none() {
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!in_ci, "CI must have chromium; .ci/run installs it");
        println!("skipped: there is no chromium");
    }
    found
}

fn browse(browser: &Path, folder: &Path, arguments: &[&str], page: &Path) -> Output {
    Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args(["--hide-scrollbars", "--enable-logging=stderr", "--v=0"])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap()
}

/// What the page said to its console, which should be nothing.
fn complaints(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect()
}

const HOSTILE: &str = r#"Build <script>document.title='HACKED'</script> </style> </title> <img src=x onerror=\"document.title='HACKED'\"> javascript:alert(1) for the town"#;

#[test]
fn report_in_a_browser_shows_the_tree_and_runs_nothing() {
    let Some(browser) = find_browser() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    bench.write(
        "intent.json",
        format!(
            r#"{{"goal":"{HOSTILE}","constraints":["Either PostgreSQL or SQLite, still undecided","Contact is [insert <b>name</b>]","Price is TBD","Rent is TBD"],"context":{{}}}}"#
        ),
    );
    assert_eq!(
        bench
            .run(&["transform", "intent.json", "-o", "bundle.json"])
            .code,
        Some(1)
    );
    let ran = bench.run(&["report", "bundle.json", "-o", "report.html"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = bench.path("report.html");

    let shown = browse(&browser, folder.path(), &["--dump-dom"], &page);
    let dom = String::from_utf8_lossy(&shown.stdout);
    assert_eq!(complaints(&shown), Vec::<String>::new());
    assert!(dom.matches("<g class=\"node\">").count() > 1, "{dom}");
    assert!(
        dom.contains("<title>context bundle: bundle.json</title>"),
        "{dom}"
    );
    assert!(!dom.contains("<script"), "{dom}");
    assert!(!dom.contains("<img"), "{dom}");

    let picture = bench.path("report.png");
    let size = "--window-size=1100,1600";
    let screenshot = format!("--screenshot={}", picture.display());
    browse(&browser, folder.path(), &[size, &screenshot], &page);
    let bytes = std::fs::read(&picture).unwrap();
    assert!(
        bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000,
        "{} bytes",
        bytes.len()
    );

    let paper = bench.path("report.pdf");
    let print = format!("--print-to-pdf={}", paper.display());
    browse(&browser, folder.path(), &[&print], &page);
    assert!(std::fs::read(&paper).unwrap().starts_with(b"%PDF"));
}

//! The documents: their links lead somewhere, every command in them is run as written or says why not, and what is
//! made from the program is not stale.
//!
//! A block of commands has a comment in the line above it that says where it runs:
//!
//! - `run in the demo's folder`: in the folder that `runseal demo` makes, one for each page;
//! - `run in an empty folder`: in a new folder, which later blocks of the page may go on in;
//! - `run in the same folder`: after the block before it, in the same shell, as a reader goes on typing;
//! - the same with `, in the sandbox` behind it, where the machine has to be able to isolate commands;
//! - `walk: …`: by the test program `record_walks`;
//! - `not run: REASON`: nowhere, and why.
//!
//! `RUNSEAL_BLESS=1 cargo test -p runseal-cli --test main documents::` writes anew what is made from the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::document_support::{Fence, Page, invocations, normalize, pages};
use runseal_core::formats::Format;
use runseal_core::verify::{Outcome, Surface, exit_code};
use runseal_testkit::cli::Bench;
use runseal_testkit::skip::skip;
use runseal_testkit::{isolation, project_root};

const BINARY: &str = env!("CARGO_BIN_EXE_runseal");

fn is_blessing() -> bool {
    std::env::var_os("RUNSEAL_BLESS").is_some()
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let pages = pages();
    let by_name: BTreeMap<&str, &Page> = pages
        .iter()
        .map(|page| (page.name.as_str(), page))
        .collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for page in &pages {
        for (line, target) in page.links() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let mut fault =
                |what: &str| wrong.push(format!("{}:{line}: {target}: {what}", page.name));
            let (path, anchor) = target.split_once('#').unwrap_or((target.as_str(), ""));
            let named = match path.is_empty() {
                true => Some(PathBuf::from(&page.name)),
                false => normalize(&page.folder().join(path)),
            };
            let Some(named) = named.filter(|named| project_root().join(named).exists()) else {
                fault("no such file");
                continue;
            };
            // The site holds what is below docs/ and nothing else.
            if page.name.starts_with("docs/") && !named.starts_with("docs") {
                fault("leads out of docs/, which the site does not hold");
            }
            let target = by_name.get(named.to_str().unwrap());
            if !anchor.is_empty() && !target.is_some_and(|page| page.anchors().contains(anchor)) {
                fault("no such heading");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "{count} links");
}

#[test]
fn summary_lists_every_page_of_the_site_once() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.name == "docs/SUMMARY.md");
    let listed: Vec<_> = summary
        .unwrap()
        .links()
        .into_iter()
        .map(|(_, target)| target)
        .collect();
    let unique: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice");
    let there: BTreeSet<_> = pages
        .iter()
        .filter_map(|page| page.name.strip_prefix("docs/"))
        .filter(|name| *name != "SUMMARY.md")
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = there.difference(&unique).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md leaves out {missing:?}");
}

/// Where a block runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Demo,
    Empty,
    Same,
}

/// What is to be done with a block of commands.
enum Plan {
    Run { place: Place, isolated: bool },
    Elsewhere,
    NotRun(String),
}

fn plan(fence: &Fence) -> Option<Plan> {
    let mark = fence.mark.as_deref()?;
    if mark.starts_with("walk: ") {
        return Some(Plan::Elsewhere);
    }
    if let Some(reason) = mark.strip_prefix("not run: ") {
        return (reason.len() > 10).then(|| Plan::NotRun(reason.to_owned()));
    }
    let (place, isolated) = match mark.strip_suffix(", in the sandbox") {
        Some(place) => (place, true),
        None => (mark, false),
    };
    let place = match place {
        "run in the demo's folder" => Place::Demo,
        "run in an empty folder" => Place::Empty,
        "run in the same folder" => Place::Same,
        _ => return None,
    };
    Some(Plan::Run { place, isolated })
}

/// Whether commands in a block are for a shell.
fn is_shell(fence: &Fence) -> bool {
    matches!(fence.language.as_str(), "sh" | "bash" | "console" | "shell")
}

#[test]
fn commands_of_every_page_run_as_shown() {
    let can_isolate = isolation::sandbox().is_some();
    let (mut ran, mut commands, mut elsewhere) = (0, 0, 0);
    let (mut not_run, mut wrong) = (Vec::new(), Vec::new());
    for page in pages() {
        let home = tempfile::tempdir().unwrap();
        let mut scripts: Vec<Script> = Vec::new();
        let mut is_broken = false;
        for fence in page.fences() {
            let place = format!("{}:{}", page.name, fence.line);
            if !is_shell(&fence) {
                let typed = fence.code.lines().any(|line| line.starts_with("runseal "));
                let is_output = fence.language == "text";
                if typed && !is_output {
                    wrong.push(format!(
                        "{place}: commands in a block that is not marked `sh`"
                    ));
                }
                continue;
            }
            match plan(&fence) {
                None => wrong.push(format!("{place}: no comment says where it runs")),
                Some(Plan::Elsewhere) => elsewhere += 1,
                Some(Plan::NotRun(reason)) => not_run.push(format!("{place}: {reason}")),
                Some(Plan::Run { isolated: true, .. }) if !can_isolate => {
                    skip(&format!("{place}: no isolation"));
                    // What goes on from a block that was skipped is skipped too.
                    is_broken = true;
                }
                Some(Plan::Run { place: at, .. }) => {
                    is_broken &= at == Place::Same;
                    if is_broken {
                        continue;
                    }
                    ran += 1;
                    commands += invocations(&fence.code).len();
                    let code = format!("echo 'in the block at {place}:' >&2\n{}", fence.code);
                    match (at, scripts.last_mut()) {
                        (Place::Same, None) => wrong.push(format!("{place}: no block before it")),
                        (Place::Same, Some(script)) => script.code += &code,
                        _ => scripts.push(Script { place: at, code }),
                    }
                }
            }
        }
        for (at, script) in scripts.iter().enumerate() {
            if let Err(told) = script.run(home.path(), at) {
                wrong.push(told);
            }
        }
    }
    println!("{ran} blocks with {commands} commands were run, {elsewhere} by other tests");
    println!("{} blocks were not run:", not_run.len());
    not_run.iter().for_each(|line| println!("  {line}"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        ran >= 15 && commands >= 60,
        "{ran} blocks, {commands} commands"
    );
    assert!(not_run.len() <= 30, "too much of the documents is not run");
}

/// Blocks of one page that a reader types into one shell.
struct Script {
    place: Place,
    code: String,
}

impl Script {
    /// Runs it in a folder of its own, or in the page's one folder of the demo, below `home`.
    fn run(&self, home: &Path, number: usize) -> Result<(), String> {
        let folder = match self.place {
            Place::Demo => {
                let demo = home.join("demo");
                if !demo.exists() {
                    let made = Bench::new(BINARY, home).run(&["demo", "--out", "demo"]);
                    assert_eq!(made.code, Some(0), "{}{}", made.stdout, made.stderr);
                }
                demo
            }
            Place::Empty | Place::Same => {
                let folder = home.join(format!("folder{number}"));
                fs::create_dir(&folder).unwrap();
                folder
            }
        };
        let path = std::env::var("PATH").unwrap();
        let program = Path::new(BINARY).parent().unwrap().display();
        let done = Command::new("sh")
            .args(["-eu", "-c", &self.code])
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{program}:{path}"))
            .env("HOME", home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&done.stderr);
        let printed = String::from_utf8_lossy(&done.stdout);
        match done.status.success() {
            true => Ok(()),
            false => Err(format!("{}\n{printed}{told}", done.status)),
        }
    }
}

/// Every command by its words, such as `job post`, with its part of the reference.
fn reference() -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(BINARY, folder.path());
    let made = bench.run(&["man", "--format", "markdown", "pages"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let mut sections = BTreeMap::new();
    for entry in fs::read_dir(bench.path("pages")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut name = String::new();
        for line in text.lines() {
            if let Some(heading) = line.trim_start_matches('#').strip_prefix(" runseal ") {
                name = heading.to_owned();
            }
            let section: &mut String = sections.entry(name.clone()).or_default();
            section.push_str(line);
            section.push('\n');
        }
    }
    sections
}

#[test]
fn commands_and_options_that_pages_name_are_the_programs() {
    let reference = reference();
    let mut wrong = BTreeSet::new();
    let mut count = 0;
    for page in pages() {
        // What was once true may stay in the list of changes.
        if page.name.starts_with("CHANGELOG") || page.name.starts_with("docs/reference/") {
            continue;
        }
        let spans = page.spans().into_iter();
        let spans = spans.filter(|(_, span)| span.starts_with("runseal "));
        let fences = page.fences().into_iter();
        let fences = fences
            .filter(is_shell)
            .map(|fence| (fence.line, fence.code));
        for (line, text) in spans.chain(fences) {
            for words in invocations(&text) {
                count += 1;
                if let Err(told) = check_words(&reference, &words) {
                    wrong.insert(format!(
                        "{}:{line}: {told}: runseal {}",
                        page.name,
                        words.join(" ")
                    ));
                }
            }
        }
    }
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "{count} commands");
}

fn check_words(reference: &BTreeMap<String, String>, words: &[String]) -> Result<(), String> {
    let Some(first) = words.first() else {
        return Ok(());
    };
    if first.starts_with('-') || first.starts_with("COMMAND") || first == "help" {
        return Ok(());
    }
    // `log append|audit` names two commands.
    for first in first.split('|') {
        let Some(mut section) = reference.get(first) else {
            return Err(format!("`{first}` is no command"));
        };
        let mut whole = section.clone();
        for second in words
            .get(1)
            .map(String::as_str)
            .unwrap_or_default()
            .split('|')
        {
            if let Some(below) = reference.get(&format!("{first} {second}")) {
                section = below;
                whole = section.clone();
            } else if section.contains("| command |")
                && second.chars().all(char::is_alphabetic)
                && !second.is_empty()
            {
                return Err(format!("`{first} {second}` is no command"));
            }
            if let Some(third) = words.get(2)
                && let Some(below) = reference.get(&format!("{first} {second} {third}"))
            {
                whole = below.clone();
            }
        }
        let options = words
            .iter()
            .flat_map(|word| word.split(['|', '=', '[', ']', ',']));
        for option in options.filter(|word| word.starts_with("--") && word.len() > 2) {
            let option = option.trim_end_matches(['…', '.', ')', ';', '`', '"', '\'']);
            let general = ["--help", "--quiet", "--version"].contains(&option);
            let known = [format!("`{option}`"), format!("`{option} ")];
            if !general && !known.iter().any(|spelled| whole.contains(spelled)) {
                return Err(format!("`{option}` is no option of it"));
            }
        }
    }
    Ok(())
}

#[test]
fn reference_is_what_the_program_says() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(BINARY, folder.path());
    assert_eq!(
        bench.run(&["man", "--format", "markdown", "pages"]).code,
        Some(0)
    );
    let kept = project_root().join("docs/reference");
    let read = |folder: &Path| -> BTreeMap<String, String> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries
            .map(|entry| {
                let entry = entry.unwrap();
                let text = fs::read_to_string(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), text)
            })
            .collect()
    };
    let made = read(&bench.path("pages"));
    let summary = project_root().join("docs/SUMMARY.md");
    let text = fs::read_to_string(&summary).unwrap();
    let (before, rest) = text.split_once(REFERENCE).unwrap();
    let after = &rest[rest.find("\n\n").unwrap()..];
    let names = made.keys().filter(|name| *name != "README.md");
    let lines: String = names
        .map(|name| format!("  - [{}](reference/{name})\n", name.trim_end_matches(".md")))
        .collect();
    let listed = format!("{before}{REFERENCE}{}{after}", lines.trim_end());
    if is_blessing() {
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir(&kept).unwrap();
        for (name, text) in &made {
            fs::write(kept.join(name), text).unwrap();
        }
        fs::write(summary, listed).unwrap();
        return;
    }
    let stale = "is stale: RUNSEAL_BLESS=1 cargo test -p runseal-cli --test main documents::";
    assert!(read(&kept) == made, "docs/reference {stale}");
    assert!(text == listed, "docs/SUMMARY.md {stale}");
}

/// The line of the summary that the pages of the reference are below.
const REFERENCE: &str = "- [Command reference](reference/README.md)\n";

/// The table of exit codes, from the function that decides them.
fn exit_table() -> String {
    let surfaces = [
        ("`verify`", Surface::Verify),
        ("`pack …`", Surface::Format(Format::Pack)),
        (
            "`job verify`, `job replay`",
            Surface::Format(Format::JobBundle),
        ),
        (
            "`bundle …`, `proposal …`, `patch …`, `model-io …`, `runner …`, `evidence …`, `ledger …`",
            Surface::Format(Format::ContextBundle),
        ),
        ("`proxy …`, `mcp …`", Surface::Proxy),
        ("every other command", Surface::Command),
    ];
    let outcomes = [
        Outcome::Valid,
        Outcome::Invalid,
        Outcome::Malformed,
        Outcome::Unreadable,
        Outcome::Usage,
        Outcome::Internal,
        Outcome::Interrupted,
    ];
    let mut table = String::from(
        "| command | it holds | it does not hold | no JSON, or no such document | could not be read | wrong command line | fault of runseal | interrupted |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (command, surface) in surfaces {
        // A usage error is found before it is known whose command it is, but for these two.
        let asked = |outcome| match (surface, outcome) {
            (Surface::Format(Format::Pack) | Surface::Verify, _) => surface,
            (_, Outcome::Usage) => Surface::Command,
            _ => surface,
        };
        let codes = outcomes.map(|outcome| exit_code(asked(outcome), outcome).to_string());
        table += &format!("| {command} | {} |\n", codes.join(" | "));
    }
    table
}

#[test]
fn exit_codes_of_the_page_are_those_of_the_program() {
    const BEGIN: &str = "<!-- exit codes: made by the test `documents` -->\n";
    let path = project_root().join("docs/stability.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once("<!-- /exit codes -->").unwrap();
    if is_blessing() {
        let made = format!("{before}{BEGIN}{}<!-- /exit codes -->{after}", exit_table());
        fs::write(path, made).unwrap();
        return;
    }
    assert!(
        shown == exit_table(),
        "docs/stability.md is stale: RUNSEAL_BLESS=1"
    );
    // All formats that share a row of the table share its codes.
    for format in [
        Format::Proposal,
        Format::Patch,
        Format::ModelIo,
        Format::Runner,
        Format::Evidence,
        Format::Ledger,
    ] {
        for outcome in [Outcome::Invalid, Outcome::Malformed, Outcome::Unreadable] {
            let code = exit_code(Surface::Format(format), outcome);
            let bundle = exit_code(Surface::Format(Format::ContextBundle), outcome);
            assert_eq!(code, bundle, "{format} {outcome:?}");
        }
    }
}

#[test]
fn exit_codes_of_commands_are_those_of_their_row() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(BINARY, folder.path());
    bench.write("text.json", "no JSON");
    assert_eq!(bench.run(&["keygen", "-o", "key.pem"]).code, Some(0));
    let code = |line: &str| bench.run(&line.split(' ').collect::<Vec<_>>()).code;
    for (command, unreadable, malformed, usage) in [
        ("verify", 2, 1, 3),
        ("pack verify", 2, 2, 3),
        ("job verify", 2, 2, 64),
        ("bundle verify", 1, 2, 64),
        ("proposal verify", 1, 2, 64),
        ("patch verify", 1, 2, 64),
        ("model-io verify", 1, 2, 64),
        ("runner verify", 1, 2, 64),
        ("evidence verify", 1, 2, 64),
        ("receipt verify", 2, 2, 64),
        ("engine check", 2, 2, 64),
        ("inspect", 2, 2, 64),
        ("diff text.json", 2, 2, 64),
        ("transform", 2, 2, 64),
        ("canon", 2, 2, 64),
        ("replay", 2, 2, 64),
        ("ledger verify", 1, 2, 64),
        ("sign --key key.pem", 2, 2, 64),
        ("export slsa", 2, 2, 64),
        ("export ro-crate -o crate", 2, 2, 64),
        ("trust check", 2, 2, 64),
        ("proxy replay --recording", 1, 1, 64),
        ("mcp replay --recording", 1, 1, 64),
        ("export otel", 2, 2, 64),
        ("bundle summarize", 1, 2, 64),
        ("proposal generate", 1, 2, 64),
        ("unredact copy -o new --with", 2, 2, 64),
        ("clarify", 2, 2, 64),
        ("assess --with true", 2, 2, 64),
        ("run", 2, 2, 64),
        // What these are given is judged, and no JSON does not hold.
        ("job post", 2, 1, 64),
        ("catalog add", 2, 1, 64),
        ("schema", 64, 64, 64),
    ] {
        assert_eq!(
            code(&format!("{command} missing.json")),
            Some(unreadable),
            "{command}"
        );
        assert_eq!(
            code(&format!("{command} text.json")),
            Some(malformed),
            "{command}"
        );
        assert_eq!(
            code(&format!("{command} --no-such-option")),
            Some(usage),
            "{command}"
        );
    }
    // After what is judged comes where it goes or comes from.
    for (command, unreadable, malformed) in [
        ("push {} oci-layout:layout", 2, 1),
        ("pull oci-layout:{}", 2, 1),
    ] {
        for (name, expected) in [("missing.json", unreadable), ("text.json", malformed)] {
            let command = command.replace("{}", name);
            assert_eq!(code(&command), Some(expected), "{command}");
        }
    }
    bench.write("empty/.keep", "");
    fs::remove_file(bench.path("empty/.keep")).unwrap();
    assert_eq!(code("push empty oci-layout:layout"), Some(2));
    // What can be read and does not hold; a policy with a fault is one, a text without its first line is not.
    let broken = project_root().join("vectors/run-bundle/rb5-artifact-changed/input");
    let broken = broken.to_str().unwrap();
    bench.write(
        "policy.toml",
        "runseal-trust = 1\nversion = 1\ncolour = 1\n",
    );
    bench.write("ledger.jsonl", "{}\nno JSON\n");
    for (command, invalid) in [
        (format!("verify {broken}"), 1),
        (format!("sign --key key.pem {broken} -o signature"), 1),
        (format!("export slsa {broken}"), 1),
        (format!("export ro-crate -o crate {broken}"), 1),
        ("trust check policy.toml".to_owned(), 1),
        ("ledger verify ledger.jsonl".to_owned(), 3),
    ] {
        assert_eq!(code(&command), Some(invalid), "{command}");
    }
}

#[test]
fn readme_first_commands_are_the_demo_and_the_tests() {
    let pages = pages();
    let readme = pages.iter().find(|page| page.name == "README.md").unwrap();
    let shown: Vec<_> = readme
        .fences()
        .into_iter()
        .filter(is_shell)
        .map(|fence| fence.code)
        .collect();
    let first = |code: &str| {
        shown
            .iter()
            .position(|shown| shown.lines().any(|line| line == code))
    };
    let demo = first("cargo run --release -- demo").unwrap();
    assert!(demo < first("cargo test --workspace").unwrap());
}

#[test]
fn help_is_in_groups_and_the_overview_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(BINARY, folder.path());
    let help = bench.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for expected in [
        "Check evidence:\n  verify ",
        "Make evidence:\n  record ",
        "Say who made it:\n  sign ",
        "Agents:\n  proxy ",
        "Single formats, by their documents:\n  bundle ",
        "Plumbing:\n  canon ",
        "--quiet",
    ] {
        assert!(
            help.stdout.contains(expected),
            "{expected}: {}",
            help.stdout
        );
    }
    assert_eq!(bench.run(&["help"]).stdout, help.stdout);
    let one = bench.run(&["help", "verify"]).stdout;
    assert_eq!(one, bench.run(&["verify", "--help"]).stdout);
    assert!(
        one.contains("--strict") && !one.contains("Make evidence"),
        "{one}"
    );
    let short = bench.run(&[]);
    assert_eq!((short.code, short.stdout.as_str()), (Some(64), ""));
    assert!(short.stderr.contains("\n  demo "), "{}", short.stderr);
    assert!(!short.stderr.contains("\n  replay "), "{}", short.stderr);
}

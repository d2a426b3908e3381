//! `rules`, `completions`, `man`, and the documents that are made from tables.

use std::collections::BTreeSet;
use std::fs;

use runseal_core::formats::all_rules;
use runseal_kernel::rules::rule_set;
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

#[test]
fn rules_page_is_what_the_table_says() {
    let (_folder, bench) = bench();
    let page = fs::read_to_string(project_root().join("docs/rules.md")).unwrap();
    let made = bench.run(&["rules", "--format", "markdown"]).stdout;
    assert!(
        page == made,
        "docs/rules.md is stale: cargo run -- rules --format markdown > docs/rules.md"
    );
}

#[test]
fn kernel_page_lists_the_rules_and_profiles_of_the_data() {
    let (_folder, bench) = bench();
    let page = fs::read_to_string(project_root().join("docs/kernel.md")).unwrap();
    let (_, rest) = page.split_once("<!-- rules: ").unwrap();
    let (_, rest) = rest.split_once("-->\n").unwrap();
    let (tables, _) = rest.split_once("<!-- /rules -->").unwrap();
    assert!(
        tables == bench.run(&["rules", "--format", "tables"]).stdout,
        "docs/kernel.md is stale: put in what `cargo run -- rules --format tables` prints"
    );
}

#[test]
fn rules_table_has_unique_ids_and_says_all_there_is_to_say() {
    let mut seen = BTreeSet::new();
    for rule in all_rules() {
        assert!(
            seen.insert((rule.format, rule.id)),
            "{} {} twice",
            rule.format,
            rule.id
        );
        for (what, text) in [
            ("title", rule.title),
            ("section", rule.section),
            ("explanation", rule.explanation),
        ] {
            assert!(
                !text.trim().is_empty(),
                "{} {} has no {what}",
                rule.format,
                rule.id
            );
        }
        assert!(
            rule.explanation.ends_with('.'),
            "{} {}",
            rule.format,
            rule.id
        );
    }
}

#[test]
fn rules_command_lists_and_explains_every_rule() {
    let (_folder, bench) = bench();
    let list = bench.run(&["rules"]).stdout;
    for rule in all_rules() {
        assert!(list.contains(rule.title), "{}", rule.id);
        let explained = bench.run(&["rules", rule.id]);
        assert_eq!(explained.code, Some(0));
        assert!(explained.stdout.contains(rule.explanation), "{}", rule.id);
        assert!(explained.stdout.contains(rule.section), "{}", rule.id);
    }
    for rule in &rule_set().rules {
        assert!(list.contains(&rule.title), "{}", rule.id);
        let explained = bench.run(&["rules", &rule.id.to_lowercase()]);
        assert_eq!(explained.code, Some(0));
        assert!(explained.stdout.contains(&rule.explanation), "{}", rule.id);
        assert!(explained.stdout.contains("Not flagged:"), "{}", rule.id);
    }
    let json = bench.run(&["rules", "--format", "json"]).stdout;
    assert!(json.starts_with("[{\"explanation\":") && json.ends_with("}]\n"));
}

#[test]
fn completions_and_man_cover_every_command() {
    let (_folder, bench) = bench();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.run(&["completions", shell]).stdout;
        assert!(
            script.contains("canon") && script.contains("dialect"),
            "{shell}"
        );
    }
    assert_eq!(bench.run(&["man", "man1"]).code, Some(0));
    for page in [
        "runseal.1",
        "runseal-canon.1",
        "runseal-hash.1",
        "runseal-rules.1",
    ] {
        assert!(
            bench.read(&format!("man1/{page}")).starts_with(".ie"),
            "{page}"
        );
    }
}

#[test]
fn man_pages_name_the_program_and_show_what_it_takes() {
    let (_folder, bench) = bench();
    assert_eq!(bench.run(&["man", "man1"]).code, Some(0));
    let page = bench.read("man1/runseal-verify.1");
    let source = format!("\"runseal {}\"", env!("CARGO_PKG_VERSION"));
    let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
    assert!(title.contains(&source), "{title}");
    let (_, synopsis) = page.split_once(".SH SYNOPSIS\n").unwrap();
    let synopsis = synopsis.lines().next().unwrap();
    assert!(synopsis.ends_with("[OPTIONS] <PATH>..."), "{synopsis}");
}

#[test]
fn fish_completions_cover_options_of_commands_two_levels_down() {
    let (_folder, bench) = bench();
    let script = bench.run(&["completions", "fish"]).stdout;
    let line = script
        .lines()
        .find(|line| line.contains(" -l slice "))
        .unwrap();
    for part in ["using_subcommand job;", "from symbol;", "from add\""] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn pages_that_name_all_rules_of_a_format_name_the_last_one() {
    let last = |prefix: &str| {
        let ids = all_rules().into_iter().filter_map(|rule| {
            let number = rule.id.strip_prefix(prefix)?;
            number.parse::<u32>().ok()
        });
        ids.max().unwrap()
    };
    let engines = fs::read_to_string(project_root().join("docs/engines.md")).unwrap();
    let (_, behind) = engines.split_once("rules RB1-RB").unwrap();
    let named: String = behind.chars().take_while(char::is_ascii_digit).collect();
    assert_eq!(named, last("RB").to_string());
}

#[test]
fn version_is_the_packages() {
    let (_folder, bench) = bench();
    let version = format!("runseal {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(bench.run(&["--version"]).stdout, version);
}

#[test]
fn tests_that_security_md_names_exist() {
    let root = project_root();
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let (_, section) = text
        .split_once("## Promises, and the tests that hold them")
        .unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1);
    let named: Vec<&str> = rows
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(named.len() > 40, "{named:?}");
    let mut sources = String::new();
    let mut waiting = vec![root.join("crates")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    for name in named {
        assert!(
            sources.contains(&format!("fn {name}()")),
            "there is no test `{name}`"
        );
    }
}

/// A file that `main.rs` does not name is not compiled, so its tests would pass by never running.
#[test]
fn every_test_file_is_part_of_its_test_program() {
    let crates = project_root().join("crates");
    let mut programs = 0;
    for entry in fs::read_dir(crates).unwrap() {
        let tests = entry.unwrap().path().join("tests");
        let Ok(main) = fs::read_to_string(tests.join("main.rs")) else {
            continue;
        };
        programs += 1;
        for entry in fs::read_dir(&tests).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let module = name.strip_suffix(".rs").filter(|module| *module != "main");
            if let Some(module) = module {
                let line = format!("\nmod {module};\n");
                assert!(main.contains(&line), "{}: `{module}`", tests.display());
            }
        }
    }
    assert!(programs > 10, "{programs}");
}

#[test]
fn places_that_contributing_and_architecture_name_exist() {
    let root = project_root();
    for page in ["CONTRIBUTING.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let words = text.split('`').skip(1).step_by(2);
        let is_place = |word: &&str| {
            let parts = [
                "crates/",
                "docs/",
                "schemas/",
                "vectors/",
                "fuzz/seeds/",
                ".ci/",
            ];
            parts.iter().any(|part| word.starts_with(part))
        };
        let places: Vec<_> = words.filter(is_place).collect();
        assert!(places.len() > 10, "{page}: {places:?}");
        for place in places {
            let word = place.replace("TARGET", "…");
            let word = word.split([' ', '<', '…', '*']).next().unwrap_or_default();
            let known = match word.rsplit_once('/') {
                Some((folder, _)) if word != place => folder,
                _ => word,
            };
            assert!(root.join(known).exists(), "{page}: `{place}`");
        }
    }
}

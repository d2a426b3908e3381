//! What a forger of run bundles does: changes what the bundle says, then puts right every hash and list of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::folders::{copy_folder, open_up};
use runseal_testkit::forging::{read_json, reseal};

/// A bundle in the hands of a forger.
pub struct Forged {
    _home: tempfile::TempDir,
    pub bench: Bench,
    folder: PathBuf,
    /// Roles that the index gives, by path, other than those of sealing.
    pub roles: BTreeMap<&'static str, &'static str>,
}

impl Forged {
    /// The recording of a command; nothing where commands cannot be isolated.
    pub fn recorded(command: &[&str]) -> Option<Self> {
        Self::made(|bench| {
            let arguments = ["record", "--run-id", "r", "-q", "--"];
            let ran = bench.run(&[&arguments, command].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            bench.path("RUN_BUNDLE/r")
        })
    }

    /// The engine's run of the demo.
    pub fn of_engine() -> Option<Self> {
        Self::made(|bench| {
            let ran = bench.run(&["demo", "-q", "--out", "demo"]);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            bench.path("demo/good/runs/first")
        })
    }

    /// The pack of the demo.
    pub fn of_pack() -> Option<Self> {
        Self::made(|bench| {
            let ran = bench.run(&["demo", "-q", "--out", "demo"]);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            bench.path("demo/good/pack")
        })
    }

    fn made(make: impl FnOnce(&Bench) -> PathBuf) -> Option<Self> {
        runseal_testkit::isolation::sandbox()?;
        let home = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), home.path());
        let folder = bench.path("x");
        copy_folder(&make(&bench), &folder);
        open_up(&folder);
        Some(Self {
            _home: home,
            bench,
            folder,
            roles: BTreeMap::new(),
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Value {
        read_json(&self.path(name))
    }

    pub fn put(&self, name: &str, value: &Value) {
        self.write(name, canonical_bytes(value, Dialect::Jcs).unwrap());
    }

    pub fn edit(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = self.read(name);
        edit(&mut value);
        self.put(name, &value);
    }

    /// Takes back every promise about what the documents hold.
    pub fn open_schemas(&self) {
        for name in ["INPUT_SCHEMA.json", "OUTPUT_SCHEMA.json"] {
            self.write(name, "{}");
        }
    }

    /// Puts right every hash and both lists.
    pub fn seal(&self) {
        reseal(&self.folder, &self.roles);
    }

    pub fn run(&self, arguments: &str) -> Ran {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        self.bench.run(&arguments)
    }

    /// The rules that do not hold at the level of plain `verify`, or at every level.
    pub fn broken_rules(&self, options: &str) -> Vec<String> {
        let ran = self.run(&format!("verify x --format json{options}"));
        let document = parse_document(ran.stdout.as_bytes(), &ReadOptions::default()).unwrap();
        let results = document.root().get("results").unwrap();
        let items = results.items().flat_map(|unit| {
            let found = unit.get("violations").into_iter();
            found.flat_map(|found| found.items()).collect::<Vec<_>>()
        });
        let mut rules: Vec<String> = items
            .filter_map(|item| Some(item.get("rule_id")?.as_str()?.into_owned()))
            .collect();
        rules.dedup();
        rules
    }

    /// The page about it.
    pub fn page(&self) -> String {
        self.run("report x -q -o -").stdout
    }
}

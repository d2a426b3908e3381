//! Packs whose hashes are all right and whose files are of different runs.

use std::fs;
use std::path::PathBuf;

use runseal_core::canon::{
    Dialect, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use runseal_core::digest::ContentHash;
use runseal_testkit::cli::Bench;
use runseal_testkit::folders::copy_folder;

struct Forged {
    _home: tempfile::TempDir,
    bench: Bench,
}

fn read(bytes: &[u8]) -> Value {
    let document = parse_document(bytes, &ReadOptions::default()).unwrap();
    document.root().to_value()
}

fn stored(value: &Value) -> Vec<u8> {
    let mut bytes = canonical_bytes(value, Dialect::Kernel).unwrap();
    bytes.push(b'\n');
    bytes
}

fn hash(value: &Value) -> String {
    ContentHash::from(canonical_digest(value, Dialect::Kernel).unwrap()).to_string()
}

impl Forged {
    /// The demo's pack; nothing where commands cannot be isolated.
    fn new() -> Option<Self> {
        runseal_testkit::isolation::sandbox()?;
        let home = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), home.path());
        let ran = bench.run(&["demo", "-q", "--out", "demo"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        copy_folder(&bench.path("demo/good/pack"), &bench.path("p"));
        Some(Self { _home: home, bench })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bench.path("p").join(name)
    }

    fn edit(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = read(&fs::read(self.path(name)).unwrap());
        edit(&mut value);
        fs::write(self.path(name), stored(&value)).unwrap();
    }

    /// Puts right what run.json says of the other files and of itself.
    fn seal(&self) {
        self.edit("run.json", |run| {
            let mut files = Value::object::<Value>([]);
            for entry in fs::read_dir(self.path("")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name != "run.json" {
                    let bytes = fs::read(self.path(&name)).unwrap();
                    files.insert(&name, ContentHash::of(&bytes).to_string());
                }
            }
            run.insert("files", files);
            if let Value::Object(members) = run {
                members.remove(&"self_hash".into());
            }
            let own = hash(run);
            run.insert("self_hash", own);
        });
    }

    fn findings(&self) -> String {
        let ran = self.bench.run(&["verify", "p"]);
        ran.stdout
    }
}

#[test]
fn pack_with_the_bundle_of_another_goal_is_not_intact() {
    let Some(forged) = Forged::new() else {
        return;
    };
    let mut intent = read(&fs::read(forged.bench.path("demo/work.json")).unwrap());
    let goal = "Write a harmless greeting for visitors of the town's museum, as plain text";
    intent.insert("goal", goal);
    intent.insert("context", Value::object::<Value>([]));
    forged.bench.write("other.json", stored(&intent));
    let made = forged.bench.run(&["transform", "other.json"]);
    let bundle = read(made.stdout.as_bytes());
    fs::write(forged.path("bundle.json"), stored(&bundle)).unwrap();
    let digest = hash(&bundle);
    forged.edit("run.json", |run| {
        let id = bundle.get("id").and_then(Value::as_str).unwrap();
        let reference = [("bundle_id", id), ("sha256", digest.as_str())];
        run.insert("bundle", Value::object(reference));
    });
    forged.edit("ledger.jsonl", |entry| {
        entry.insert("bundle_sha256", digest.as_str());
    });
    forged.seal();
    let found = forged.findings();
    assert!(found.contains("PK17"), "{found}");
    assert!(
        found.contains("`source_bundle_hash` is that of another bundle"),
        "{found}"
    );
    let replayed = forged.bench.run(&["replay", "p"]);
    assert_eq!(replayed.code, Some(1), "{}", replayed.stdout);
    assert!(
        !replayed.stdout.contains(": REPRODUCED"),
        "{}",
        replayed.stdout
    );
}

#[test]
fn patch_that_writes_something_else_than_the_proposal_is_not_intact() {
    let Some(forged) = Forged::new() else {
        return;
    };
    // A patch that leaves out files shows less than what was executed.
    forged.edit("patch.json", |patch| {
        let Some(Value::Array(operations)) = patch.get("operations").cloned() else {
            return;
        };
        let mut operations = operations;
        operations.truncate(1);
        let bytes = operations[0].get("size_bytes").unwrap().clone();
        patch.insert("operations", Value::Array(operations));
        patch.insert("total_bytes", bytes);
    });
    forged.seal();
    let found = forged.findings();
    assert!(found.contains("PK17"), "{found}");
}

#[test]
fn approval_that_nobody_gave_is_a_finding() {
    let Some(forged) = Forged::new() else {
        return;
    };
    let mut proposal_hash = String::new();
    let mut proposal_id = String::new();
    forged.edit("evidence.json", |evidence| {
        let mut proposal = evidence.get("proposal").unwrap().clone();
        proposal.insert("requires_approval", true);
        let mut content = proposal.clone();
        if let Value::Object(members) = &mut content {
            members.remove(&"id".into());
        }
        proposal_id = format!("prop_{}", &hash(&content)[7..23]);
        proposal.insert("id", proposal_id.as_str());
        proposal_hash = hash(&proposal);
        evidence.insert("proposal", proposal);
        evidence.insert("proposal_hash", proposal_hash.as_str());
        evidence.insert("proposal_id", proposal_id.as_str());
    });
    forged.edit("patch.json", |patch| {
        patch.insert("source_proposal_hash", proposal_hash.as_str());
        patch.insert("source_proposal_id", proposal_id.as_str());
    });
    forged.seal();
    let found = forged.findings();
    assert!(found.contains("the proposal needs approval"), "{found}");
}

//! An engine folder to vary, a sealed bundle to take apart, and how its findings are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::index::write_index;
use runseal_core::formats::run_bundle::layout::{CONTRACTS, RunId, is_json};
use runseal_core::formats::run_bundle::sums::write_sums;
use runseal_core::formats::run_bundle::time::Moment;
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_core::verify::{Level, Report};
use runseal_runs::run::contracts::{Engine, Program, check_engine};
use runseal_runs::run::seal::{Request, SealError, Sealed, seal_output};
use runseal_runs::run::verify::{VerifyOptions, verify_run_source};

pub const MANIFEST: &str =
    r#"{"engine_code":"ECHO","engine_version":"1.2.0","execution":{"command":["sh","engine.sh"]}}"#;
pub const COUPLING: &str = r#"{"delivery_model":"CORE_ONLY","core_mediated_coupling":true,
    "direct_engine_to_engine_calls":false,"allowed_inputs_from_other_engines":["ECHO"]}"#;
pub const OUTPUT: &str = r#"{"engine":{"engine_code":"ECHO","engine_version":"1.2.0"},
    "semantics":"RAW_TRUTH","outputs":{"value":42}}"#;
pub const INPUT: &str = r#"{"inputs":{"a":1},"context":{"site":"x","user_id":"u1"}}"#;

/// An engine in a folder of its own.
pub struct Bench {
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(bench.folder.path(), open).unwrap();
        bench.write("engine/ENGINE_MANIFEST.json", MANIFEST);
        bench.write("engine/INPUT_SCHEMA.json", r#"{"type":"object"}"#);
        bench.write("engine/OUTPUT_SCHEMA.json", r#"{"type":"object"}"#);
        bench.write("engine/COUPLING_RULES.json", COUPLING);
        bench.write("engine/SEALING_SPEC.md", "# Sealing\r\n\n as it is \n\n");
        bench.script(&format!("cat >/dev/null\ncat <<'X'\n{OUTPUT}\nX\n"));
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn script(&self, text: &str) -> &Self {
        self.write("engine/engine.sh", text)
    }

    pub fn engine(&self) -> Engine {
        let (report, engine) = check_engine(&self.path("engine"), Program::MustExist).unwrap();
        engine.unwrap_or_else(|| panic!("{:?}", report.findings()))
    }

    /// The ids and paths of what is wrong with the engine's contracts.
    pub fn contract_faults(&self) -> BTreeSet<(String, String)> {
        let (report, engine) = check_engine(&self.path("engine"), Program::MustExist).unwrap();
        assert_eq!(engine.is_some(), report.findings().is_empty());
        pairs(&report)
    }

    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// Whether nothing was left where bundles go.
    pub fn is_clean(&self) -> bool {
        !self.out().exists() || fs::read_dir(self.out()).unwrap().count() == 0
    }
}

pub fn value(text: &str) -> Value {
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    document.root().to_value()
}

pub fn request<'a>(
    engine: &'a Engine,
    input: &str,
    out: &'a Path,
    upstream: &'a [PathBuf],
    run_id: Option<&str>,
) -> Request<'a> {
    Request {
        engine,
        input: value(input),
        parameters: None,
        upstream,
        out,
        run_id: run_id.map(|id| RunId::parse(id).unwrap()),
        now: Moment::from_unix(1_700_000_000).unwrap(),
        redactable: None,
        cancel: None,
    }
}

/// Seals `output` for `input`, as run `r1`.
pub fn seal(bench: &Bench, input: &str, output: &str) -> Result<Sealed, SealError> {
    let engine = bench.engine();
    let out = bench.out();
    let request = request(&engine, input, &out, &[], Some("r1"));
    seal_output(request, output.as_bytes(), None)
}

/// The ids and paths of a rejection.
pub fn rejected<T: std::fmt::Debug>(result: Result<T, SealError>) -> BTreeSet<(String, String)> {
    match result {
        Err(SealError::Rejected(findings)) => findings
            .into_iter()
            .map(|f| {
                (
                    f.rule_id.to_owned(),
                    f.path().unwrap_or_default().to_owned(),
                )
            })
            .collect(),
        other => panic!("not rejected: {other:?}"),
    }
}

pub fn pairs(report: &Report) -> BTreeSet<(String, String)> {
    report
        .findings()
        .iter()
        .map(|f| {
            (
                f.rule_id.to_owned(),
                f.path().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

pub fn set(expected: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    let owned = |(rule, path): &(&str, &str)| ((*rule).to_owned(), (*path).to_owned());
    expected.iter().map(owned).collect()
}

/// The files of a bundle, in memory.
#[derive(Clone)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl Files {
    pub fn read(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut waiting = vec![folder.to_owned()];
        while let Some(at) = waiting.pop() {
            for entry in fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    let name = path
                        .strip_prefix(folder)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned();
                    files.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        Self(files)
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.0[name].clone()).unwrap()
    }

    pub fn json(&self, name: &str) -> Value {
        value(&self.text(name))
    }

    pub fn put(mut self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.0.insert(name.to_owned(), text.as_ref().to_vec());
        self
    }

    pub fn remove(mut self, name: &str) -> Self {
        self.0.remove(name).unwrap();
        self
    }

    /// Changes the text of one file.
    pub fn edit(self, name: &str, from: &str, to: &str) -> Self {
        let text = self.text(name);
        assert!(text.contains(from), "{name} holds no {from}: {text}");
        let text = text.replacen(from, to, 1);
        self.put(name, text)
    }

    /// Changes one member of a JSON file; `None` takes it out.
    pub fn member(self, name: &str, path: &[&str], to: Option<&str>) -> Self {
        let mut root = self.json(name);
        let (last, above) = path.split_last().unwrap();
        let mut at = &mut root;
        for key in above {
            let Value::Object(members) = at else {
                panic!("{key}")
            };
            at = members.get_mut(&(*key).into()).unwrap();
        }
        let Value::Object(members) = at else {
            panic!("{last}")
        };
        match to {
            Some(text) => members.insert((*last).into(), value(text)),
            None => members.remove(&(*last).into()),
        };
        self.put(name, canonical_bytes(&root, Dialect::Jcs).unwrap())
    }

    fn hashes(&self, skip: &[&str]) -> BTreeMap<String, Digest> {
        let hash = |name: &str, bytes: &[u8]| {
            let canonical = parse_document(bytes, &ReadOptions::default())
                .ok()
                .filter(|_| is_json(name))
                .and_then(|document| canonical_bytes(document.root(), Dialect::Jcs).ok());
            Digest::of(canonical.as_deref().unwrap_or(bytes))
        };
        let wanted = self
            .0
            .iter()
            .filter(|(name, _)| !skip.contains(&name.as_str()));
        wanted
            .map(|(name, bytes)| (name.clone(), hash(name, bytes)))
            .collect()
    }

    fn sorted_hashes(&self, skip: &[&str]) -> Vec<(Box<str>, Digest)> {
        let hashes = self.hashes(skip).into_iter();
        hashes.map(|(name, digest)| (name.into(), digest)).collect()
    }

    /// Brings RUN_META's contract hashes, the index and the sums in line with the files.
    pub fn relist(mut self) -> Self {
        if let Some(Ok(mut meta)) = self.0.get("RUN_META.json").map(|bytes| {
            parse_document(bytes, &ReadOptions::default())
                .map(|document| document.root().to_value())
        }) {
            let hashes = self.hashes(&[]);
            let of = |name: &'static str| Some((name, hashes.get(name)?.to_string()));
            if meta.get("contracts_hashes").is_some() {
                meta.insert(
                    "contracts_hashes",
                    Value::object(CONTRACTS.into_iter().filter_map(of)),
                );
                self = self.put(
                    "RUN_META.json",
                    canonical_bytes(&meta, Dialect::Jcs).unwrap(),
                );
            }
        }
        self.reindex().resum()
    }

    pub fn reindex(self) -> Self {
        let mut index = Vec::new();
        let hashes = self.sorted_hashes(&["ARTIFACT_INDEX.json", "SHA256SUMS.txt"]);
        write_index(&hashes, &mut index).unwrap();
        self.put("ARTIFACT_INDEX.json", index)
    }

    pub fn resum(self) -> Self {
        let sums = write_sums(&self.sorted_hashes(&["SHA256SUMS.txt"]));
        self.put("SHA256SUMS.txt", sums)
    }

    /// Makes inputs_hash and outputs_hash right, then relists.
    pub fn rehash(self) -> Self {
        let input = canonical_bytes(&self.json("RUN_INPUT.json"), Dialect::Jcs).unwrap();
        let hash = format!("\"{}\"", Digest::of(&input));
        let this = self.member("RUN_OUTPUT.json", &["inputs_hash"], Some(&hash));
        let mut output = this.json("RUN_OUTPUT.json");
        if let Value::Object(members) = &mut output {
            members.remove(&"outputs_hash".into());
        }
        let hash = Digest::of(&canonical_bytes(&output, Dialect::Jcs).unwrap());
        this.member(
            "RUN_OUTPUT.json",
            &["outputs_hash"],
            Some(&format!("\"{hash}\"")),
        )
        .relist()
    }

    pub fn source(&self) -> MemorySource {
        let one =
            |(name, bytes): (&String, &Vec<u8>)| (SafePath::parse(name).unwrap(), bytes.clone());
        MemorySource::new(self.0.iter().map(one))
    }

    pub fn report(&self, level: Level) -> Report {
        let options = VerifyOptions {
            level,
            ..VerifyOptions::default()
        };
        verify_run_source(&self.source(), options).unwrap().0
    }

    /// The ids and paths that the default check finds.
    pub fn found(&self) -> BTreeSet<(String, String)> {
        let report = self.report(Level::Document);
        assert!(
            report.is_valid() == report.findings().is_empty(),
            "{report:?}"
        );
        pairs(&report)
    }

    pub fn found_strictly(&self) -> BTreeSet<(String, String)> {
        pairs(&self.report(Level::Form))
    }
}

/// A sealed bundle with a JSON and a CSV artifact.
pub fn sealed() -> Files {
    let bench = Bench::new();
    bench
        .write("art/data.csv", "a,b\n1,2\n")
        .write("art/deep/x.json", "{ \"z\": 1.0, \"k\": [1e2] }");
    let engine = bench.engine();
    let out = bench.out();
    let request = request(&engine, INPUT, &out, &[], Some("r1"));
    let sealed = seal_output(request, OUTPUT.as_bytes(), Some(&bench.path("art"))).unwrap();
    Files::read(&sealed.path)
}

/// A bundle with artifacts of another run.
pub fn coupled() -> Files {
    let bench = Bench::new();
    bench.write("art/x.csv", "1\n").write("art/y.json", "[1]");
    let engine = bench.engine();
    let out = bench.out();
    let first = request(&engine, INPUT, &out, &[], Some("first"));
    let first = seal_output(first, OUTPUT.as_bytes(), Some(&bench.path("art"))).unwrap();
    let upstream = [first.path];
    let second = request(&engine, INPUT, &out, &upstream, Some("second"));
    let second = seal_output(second, OUTPUT.as_bytes(), None).unwrap();
    Files::read(&second.path)
}

pub fn messages<T: std::fmt::Debug>(result: &Result<T, SealError>) -> String {
    match result {
        Err(SealError::Rejected(findings)) => findings
            .iter()
            .map(|f| format!("{} {:?} {}\n", f.rule_id, f.path(), f.message))
            .collect(),
        other => panic!("not rejected: {other:?}"),
    }
}

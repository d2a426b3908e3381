//! ro-crate-metadata.json of a run bundle: what ran, with which inputs and results, and who signed
//! it.
//!
//! Times are those that the bundle states, according to its maker: `endTime` is when it was sealed.
//! What a bundle does not know (a licence, the URL of a program) is not made up.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Document, Node, Value};
use runseal_core::formats::run_bundle::layout::{
    ARTIFACT_INDEX, MANIFEST, RUN_INPUT, RUN_META, RUN_OUTPUT, Role, SUMS, content_type_of,
    path_of_exact,
};
use runseal_core::formats::run_bundle::reading::{RunEnding, RunKind, RunReading};
use runseal_core::formats::run_bundle::recorded::{
    INPUT_LISTS, ListedFile, parse_listed_file, parse_listed_files,
};
use runseal_core::source::MemberFile;

use super::{METADATA, in_crate};
use runseal_fs::survey::load::Judged;

const PROFILE: &str = "https://w3id.org/ro/wfrun/process/0.5";
const RO_CRATE: &str = "https://w3id.org/ro/crate/1.1";
const ENGINE: &str = "#engine";
const RUN: &str = "#run";
const SIGNER: &str = "#signer";

/// What is stated in addition to the bundle.
#[derive(Debug, Clone, Copy, Default)]
pub struct CrateWords<'a> {
    /// The licence of the crate: a URL, or words.
    pub license: Option<&'a str>,
    /// Who signed the bundle as the one who made it.
    pub signer: Option<Signer<'a>>,
}

/// Who signed a bundle.
#[derive(Debug, Clone, Copy)]
pub struct Signer<'a> {
    /// The signer's name, from a policy or self-declared.
    pub name: Option<&'a str>,
    /// Whether the name comes from a policy.
    pub is_known: bool,
    /// The id of the key.
    pub key: Option<&'a str>,
}

/// The entities of the crate; of several with the same id, the first is kept.
#[derive(Default)]
struct Graph {
    entities: Vec<Value>,
    ids: BTreeSet<String>,
}

impl Graph {
    fn add(&mut self, id: &str, types: &'static str, members: Vec<(&'static str, Value)>) {
        if !self.ids.insert(id.to_owned()) {
            return;
        }
        let mut entity = Value::object([("@id", id), ("@type", types)]);
        for (name, value) in members {
            entity.insert(name, value);
        }
        self.entities.push(entity);
    }
}

fn reference(id: &str) -> Value {
    Value::object([("@id", id)])
}

/// One reference is written alone, several as a list, as RO-Crate recommends.
fn references(ids: &[String]) -> Value {
    match ids {
        [one] => reference(one),
        several => Value::array(several.iter().map(|id| reference(id))),
    }
}

/// A path as a URI: encodes everything except unreserved characters and `/`.
fn encode(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn text(node: Node<'_>, name: &str) -> Option<String> {
    Some(node.get(name)?.as_str()?.into_owned())
}

/// The time with an offset instead of `Z`: the form that the profile's checker accepts.
fn with_offset(time: &str) -> String {
    match time.strip_suffix('Z') {
        Some(plain) => format!("{plain}+00:00"),
        None => time.to_owned(),
    }
}

/// The documents of the bundle that describe the run.
struct Run<'a> {
    files: &'a [MemberFile],
    parsed: &'a BTreeMap<String, Document<'a>>,
}

impl<'a> Run<'a> {
    fn root(&self, name: &str) -> Option<Node<'a>> {
        self.parsed.get(name).map(|document| document.root())
    }

    fn said(&self, document: &str, name: &str) -> String {
        let said = self.root(document).and_then(|root| text(root, name));
        said.unwrap_or_default()
    }

    fn reading(&self) -> RunReading<'a> {
        RunReading::new(|name| self.root(name))
    }

    fn is_recorded(&self) -> bool {
        self.reading().kind() == RunKind::Recorded
    }

    fn argv(&self) -> Vec<String> {
        let argv = self.reading().command();
        let words = argv.iter().flat_map(|argv| argv.items());
        words
            .filter_map(|word| Some(word.as_str()?.into_owned()))
            .collect()
    }

    /// The name and version of what was run.
    fn instrument(&self) -> (String, String) {
        match self.is_recorded() {
            true => {
                let program = self.argv().into_iter().next().unwrap_or_default();
                let digest = self.said(RUN_META, "engine_executable_sha256");
                (program, format!("sha256:{digest}"))
            }
            false => (
                self.said(RUN_META, "engine_code"),
                self.said(RUN_META, "engine_version"),
            ),
        }
    }
}

/// Describes the bundle; `signatures` are the files beside it.
pub(super) fn describe_run(judged: &Judged, signatures: &[&str], words: &CrateWords<'_>) -> Value {
    let parsed = judged.parse();
    let run = Run {
        files: &judged.content.files,
        parsed: &parsed,
    };
    let mut graph = Graph::default();
    let id = run.said(RUN_META, "run_id");
    let sealed_at = with_offset(&run.said(RUN_META, "sealed_at"));
    let (program, version) = run.instrument();
    graph.add(
        METADATA,
        "CreativeWork",
        vec![
            ("about", reference("./")),
            ("conformsTo", reference(RO_CRATE)),
        ],
    );
    let mut parts: Vec<String> = Vec::new();
    parts.extend(
        judged
            .content
            .files
            .iter()
            .map(|file| encode(&in_crate(&file.path))),
    );
    parts.extend(signatures.iter().map(|name| encode(name)));
    let license = match words.license {
        Some(url) if url.contains("://") => {
            graph.add(url, "CreativeWork", vec![("name", url.into())]);
            reference(url)
        }
        Some(words) => words.into(),
        None => "The run bundle states no licence.".into(),
    };
    let about = format!(
        "A sealed run bundle in bundle/, which `runseal verify` checks, and what it says: {program} ran."
    );
    graph.add(
        "./",
        "Dataset",
        vec![
            ("name", format!("Run {id}").into()),
            ("description", about.into()),
            ("datePublished", sealed_at.as_str().into()),
            ("license", license),
            ("conformsTo", reference(PROFILE)),
            ("hasPart", references(&parts)),
            ("mentions", reference(RUN)),
        ],
    );
    graph.add(
        PROFILE,
        "CreativeWork",
        vec![
            ("name", "Process Run Crate".into()),
            ("version", "0.5".into()),
        ],
    );
    let mut instrument = vec![
        ("name", Value::from(program.as_str())),
        ("version", version.into()),
    ];
    let description = run.said(MANIFEST, "description");
    if !description.is_empty() {
        instrument.push(("description", description.into()));
    }
    graph.add(ENGINE, "SoftwareApplication", instrument);
    add_action(&mut graph, &run, &id, sealed_at, words);
    for file in &judged.content.files {
        add_file(&mut graph, file);
    }
    for name in signatures {
        let about = "A signature of the bundle";
        let members = vec![
            ("name", Value::from(*name)),
            ("description", about.into()),
            ("encodingFormat", content_type_of(name).into()),
        ];
        graph.add(&encode(name), "File", members);
    }
    let context = Value::array([
        Value::from(format!("{RO_CRATE}/context")),
        // A term that schema.org introduced after RO-Crate 1.1.
        Value::object([("sha256", "http://schema.org/sha256")]),
    ]);
    Value::object([
        ("@context", context),
        ("@graph", Value::Array(graph.entities)),
    ])
}

fn add_file(graph: &mut Graph, file: &MemberFile) {
    // The exact bytes of a JSON file have that file's name with an ending of ours.
    let plain = path_of_exact(&file.path).unwrap_or(&file.path);
    let mut members = vec![
        ("name", Value::from(file.path.as_str())),
        ("contentSize", file.bytes.to_string().into()),
        ("encodingFormat", content_type_of(plain).into()),
    ];
    if let Some(sha256) = file.sha256 {
        members.push(("sha256", sha256.to_string().into()));
    }
    graph.add(&encode(&in_crate(&file.path)), "File", members);
}

/// The run itself.
fn add_action(
    graph: &mut Graph,
    run: &Run<'_>,
    id: &str,
    sealed_at: String,
    words: &CrateWords<'_>,
) {
    let (objects, results) = match run.is_recorded() {
        true => recorded_files(graph, run),
        false => engine_files(run),
    };
    let output = run.root(RUN_OUTPUT);
    let ending = run.reading().ending();
    let failed = ending.is_failure();
    let status = match ending {
        RunEnding::Unknown => None,
        _ if failed => Some("http://schema.org/FailedActionStatus"),
        _ => Some("http://schema.org/CompletedActionStatus"),
    };
    let what = match run.is_recorded() {
        true => run.argv().join(" "),
        false => run.instrument().0,
    };
    let description =
        format!("{what}; endTime is when the run was sealed, by the clock of whoever sealed it");
    let mut action = vec![
        ("name", Value::from(format!("Run {id}"))),
        ("description", description.into()),
        ("instrument", reference(ENGINE)),
        ("endTime", sealed_at.into()),
    ];
    action.extend(status.map(|status| ("actionStatus", status.into())));
    if failed && let Some(output) = output {
        action.push(("error", tell_end(output).into()));
    }
    for (name, ids) in [("object", objects), ("result", results)] {
        if !ids.is_empty() {
            action.push((name, references(&ids)));
        }
    }
    if let Some(signer) = &words.signer {
        action.push(("agent", reference(SIGNER)));
        add_signer(graph, signer);
    }
    graph.add(RUN, "CreateAction", action);
}

fn add_signer(graph: &mut Graph, signer: &Signer<'_>) {
    let name = signer
        .name
        .or(signer.key)
        .unwrap_or("a signer without a name");
    let whose = match (signer.name.is_some(), signer.is_known) {
        (true, true) => "The name is the one that a trust policy gives the key",
        (true, false) => "The name is the signer's own word",
        (false, _) => "The signature names nobody; this is its key",
    };
    let mut members = vec![("name", Value::from(name)), ("description", whose.into())];
    if let Some(key) = signer.key {
        members.push(("identifier", key.into()));
    }
    graph.add(SIGNER, "Person", members);
}

/// How a failed command ended.
fn tell_end(output: Node<'_>) -> String {
    let number = |name: &str| output.get(name)?.as_number()?.to_exact_i64();
    match (number("exit_status"), number("signal")) {
        (Some(status), _) => format!("it ended with exit status {status}"),
        (_, Some(signal)) => format!("signal {signal} ended it"),
        _ => "it failed".to_owned(),
    }
}

/// The inputs and outputs of a recorded command, by the paths of their bytes.
fn recorded_files(graph: &mut Graph, run: &Run<'_>) -> (Vec<String>, Vec<String>) {
    let mut objects = Vec::new();
    if let Some(input) = run.root(RUN_INPUT) {
        let listed = INPUT_LISTS.into_iter();
        let mut files: Vec<ListedFile> = listed
            .flat_map(|list| parse_listed_files(input, list))
            .collect();
        files.extend(input.get("stdin").and_then(parse_listed_file));
        objects.extend(files.iter().map(|file| id_of(graph, file)));
        let parameters = input.get("parameters");
        for (name, value) in parameters.iter().flat_map(|all| all.members()) {
            let name = name.to_lossy();
            let id = format!("#parameter-{}", encode(&name));
            let members = vec![("name", Value::from(&*name)), ("value", value.to_value())];
            graph.add(&id, "PropertyValue", members);
            objects.push(id);
        }
    }
    let mut results = Vec::new();
    if let Some(output) = run.root(RUN_OUTPUT) {
        let mut files = parse_listed_files(output, "outputs");
        let streams = ["stdout", "stderr"].into_iter();
        files.extend(streams.filter_map(|name| output.get(name).and_then(parse_listed_file)));
        results.extend(files.iter().map(|file| id_of(graph, file)));
    }
    (objects, results)
}

/// The entity of a file that a command used: part of the crate, or only mentioned.
fn id_of(graph: &mut Graph, file: &ListedFile) -> String {
    if let Some(stored) = &file.stored {
        return encode(&in_crate(stored));
    }
    let id = format!("#file-{}", encode(&file.path));
    let about = "Not in the crate: only its digest was recorded";
    let members = vec![
        ("name", Value::from(file.path.as_str())),
        ("description", about.into()),
        ("sha256", file.sha256.to_string().into()),
    ];
    graph.add(&id, "CreativeWork", members);
    id
}

/// The inputs and outputs of an engine, by the roles of the files.
fn engine_files(run: &Run<'_>) -> (Vec<String>, Vec<String>) {
    let of_roles = |roles: &[Role]| {
        let files = run.files.iter().map(|file| file.path.as_str());
        // The index and the list of sums only describe the other files.
        let others = files.filter(|path| !matches!(*path, ARTIFACT_INDEX | SUMS));
        let reading = run.reading();
        let has_role = |role: Role| roles.contains(&role);
        let files = others.filter(|path| reading.role_of(path).is_some_and(has_role));
        files.map(|path| encode(&in_crate(path))).collect()
    };
    (
        of_roles(&[Role::Input]),
        of_roles(&[Role::Output, Role::Artifact]),
    )
}

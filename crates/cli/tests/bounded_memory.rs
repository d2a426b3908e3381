//! Ten megabytes of evidence that are made to fill the memory: every command that reads them answers below 256 MB.

use std::fs;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use runseal_core::limits::JsonLimits;
use runseal_testkit::cli::{Bench, run_measured};

/// The evidence, packed where it is an archive: 10 MB.
const SIZE: usize = 10 << 20;

/// What answering may take: 256 MB, in kilobytes.
const MEMORY: u64 = 256 << 10;
/// The same for two things that are held at once to be compared.
const COMPARED: u64 = 288 << 10;

/// As many of `element` as a document of ten megabytes may hold, each of so many values, in a list of that size.
fn list_of(element: &str, values: usize) -> String {
    let room = SIZE - 4096;
    let most = (JsonLimits::FREE_VALUES as usize - 1000) / values;
    let count = most.min(room / (element.len() + 1));
    let mut list = format!("[{}", format!("{element},").repeat(count));
    let rest = room.saturating_sub(list.len());
    list.push_str(&format!("\"{}\"]", "x".repeat(rest)));
    list
}

/// What it is, and its documents by name, each with a list in the place of `LIST`.
type Shape = (&'static str, &'static [(&'static str, &'static str)]);

/// Documents alone, and folders of several.
const SHAPES: [Shape; 12] = [
    (
        "a proposal",
        &[(
            "proposal.json",
            r#"{"id":"prop_a","proposal_schema_version":"1.0.0","source_bundle_id":"b","acceptance_tests":[],"actions":LIST}"#,
        )],
    ),
    (
        "a context bundle",
        &[(
            "bundle.json",
            r#"{"id":"bundle_a","root_node":{"goal":"a","constraints":LIST},"schema_version":"1.0.0"}"#,
        )],
    ),
    (
        "evidence",
        &[(
            "evidence.json",
            r#"{"evidence_schema_version":"1.0.0","proposal_id":"a","action_results":LIST}"#,
        )],
    ),
    (
        "a patch set",
        &[(
            "patch.json",
            r#"{"patch_schema_version":"1.0.0","operations":LIST}"#,
        )],
    ),
    (
        "a runner record",
        &[(
            "runner.json",
            r#"{"runner_id":"a","runner_version":"1","platform":{"os":"linux"},"warnings":LIST}"#,
        )],
    ),
    (
        "messages to a model",
        &[(
            "model_io.json",
            r#"{"adapter_id":"a","interactions":[{"i":0,"request":{"body":{"messages":LIST},"headers":[],"method":"POST","path":"/v1/messages"},"response":{"headers":[],"status":200},"response_content":"{}"}],"mode":"record","model_id":"m","model_io_schema_version":"1.1.0"}"#,
        )],
    ),
    (
        "a receipt",
        &[(
            "receipt.json",
            r#"{"receipt_version":"1.0.0","receipt_hash":"b","executor_version":"1","steps":[],"artifacts":[],"attestation":{"scheme":"ed25519","public_key":"00","signature":"00","zz":LIST}}"#,
        )],
    ),
    (
        "a job bundle",
        &[(
            "bundle.json",
            r#"{"bundle_version":"1","job_id":"a","steps":LIST,"artifacts":[]}"#,
        )],
    ),
    (
        "a pack",
        &[
            ("run.json", r#"{"run_id":"a","decision":{"reasons":LIST}}"#),
            ("meta.json", "{}"),
        ],
    ),
    (
        "a run bundle",
        &[
            ("ENGINE_MANIFEST.json", "{}"),
            ("RUN_META.json", "{}"),
            ("RUN_OUTPUT.json", r#"{"outputs":LIST}"#),
        ],
    ),
    (
        "the index of a run bundle",
        &[
            ("ARTIFACT_INDEX.json", r#"{"artifacts":LIST}"#),
            ("ENGINE_MANIFEST.json", "{}"),
            ("RUN_META.json", "{}"),
        ],
    ),
    (
        "the environment of a run bundle",
        &[
            ("RUN_ENVIRONMENT.json", r#"{"gaps":LIST}"#),
            ("RUN_INPUT.json", r#"{"argv":["a"]}"#),
            ("RUN_META.json", "{}"),
        ],
    ),
];

/// Verifies `name` and makes its page, and compares it where there is something for that; each must answer, within the
/// memory.
fn assert_bounded(bench: &Bench, what: &str, name: &str, compared_with: Option<&str>) {
    let commands: [&[&str]; 3] = [
        &["verify", name],
        &["report", name, "-o", "page.html"],
        &["diff", name, compared_with.unwrap_or_default()],
    ];
    let count = if compared_with.is_some() { 3 } else { 2 };
    for arguments in &commands[..count] {
        let (ran, kilobytes) = run_measured(&mut bench.command(arguments));
        let told = format!("{} of {what}: {} MB", arguments[0], kilobytes >> 10);
        println!("{told}");
        assert!(
            matches!(ran.code, Some(0..=2)),
            "{told}: {:?} {}",
            ran.code,
            ran.stderr
        );
        let most = match arguments[0] {
            "diff" => COMPARED,
            _ => MEMORY,
        };
        assert!(kilobytes > 4 << 10 && kilobytes < most, "{told}");
        let _ = fs::remove_file(bench.path("page.html"));
    }
}

fn write_shape(folder: &Path, files: &[(&str, &str)], list: &str) -> String {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text.replace("LIST", list)).unwrap();
    }
    match files {
        [(name, _)] => format!("{}/{name}", folder.file_name().unwrap().to_str().unwrap()),
        _ => folder.file_name().unwrap().to_str().unwrap().to_owned(),
    }
}

fn assert_shapes_bounded(shapes: &[Shape], element: &str, values: usize, is_compared: bool) {
    let list = list_of(element, values);
    for (what, files) in shapes {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
        let name = write_shape(&bench.path("large"), files, &list);
        let small = write_shape(&bench.path("little"), files, "[]");
        fs::rename(bench.path(&small), bench.path("small")).unwrap();
        let small = is_compared.then_some("small");
        assert_bounded(&bench, &format!("{element} in {what}"), &name, small);
    }
}

#[test]
fn memory_documents_of_small_objects_are_read_within_the_bound() {
    assert_shapes_bounded(&SHAPES, r#"{"":1}"#, 2, false);
}

#[test]
fn memory_documents_of_numbers_are_read_within_the_bound() {
    assert_shapes_bounded(&SHAPES[..3], "1", 1, true);
}

#[test]
fn memory_packed_documents_are_read_within_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    let list = list_of("[]", 1);
    let documents = [
        "ENGINE_MANIFEST.json",
        "INPUT_SCHEMA.json",
        "OUTPUT_SCHEMA.json",
        "RUN_INPUT.json",
        "RUN_META.json",
        "RUN_OUTPUT.json",
    ];
    let documents = documents.map(|name| (name, format!("{{\"a\":{list}}}")));
    write_packed(&bench, "run.tar.gz", &documents);
    fs::create_dir(bench.path("small")).unwrap();
    bench.write("small/RUN_META.json", "{}");
    assert_bounded(&bench, "packed documents", "run.tar.gz", Some("small"));
}

fn write_packed(bench: &Bench, name: &str, documents: &[(&str, String)]) {
    let file = fs::File::create(bench.path(name)).unwrap();
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    for (name, text) in documents {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

/// As many values as a document may hold, and a text as long as an archive's documents may be: what is copied is too
/// much.
#[test]
fn memory_two_packed_documents_are_read_and_compared_within_the_bound() {
    let values = vec![r#""a""#; JsonLimits::FREE_VALUES as usize - 1000].join(",");
    let list = format!("[{values},\"{}\"]", "x".repeat(40 << 20));
    for (what, files) in SHAPES
        .iter()
        .filter(|(what, _)| ["a runner record", "a receipt", "a run bundle"].contains(what))
    {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
        // The first member comes last in the canonical form, so that no document is stored as that.
        for (name, first) in [("a.tar.gz", "{\"zz\":1,"), ("b.tar.gz", "{\"zz\":2,")] {
            let document = |(file, text): &(&'static str, &str)| {
                let text = text.replace("LIST", &list);
                let is_filled = text.len() > 2;
                (
                    *file,
                    if is_filled {
                        text.replacen('{', first, 1)
                    } else {
                        text
                    },
                )
            };
            let documents: Vec<_> = files.iter().map(document).collect();
            write_packed(&bench, name, &documents);
        }
        assert_bounded(
            &bench,
            &format!("packed {what}"),
            "a.tar.gz",
            Some("b.tar.gz"),
        );
    }
}

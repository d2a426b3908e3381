//! patch.json: the file operations of a proposal, PS1-PS10.
//!
//! Paths in findings are JSON paths that begin with `$`. A missing field silences only the rules
//! that need it.

use crate::formats::definition::{DocumentFormat, Identity, ProofScope, infos};
use std::collections::BTreeMap;

use crate::canon::{JsonPath, Kind, Node};
use crate::digest::ContentHash;
use crate::formats::Format;
use crate::path::{has_drive_prefix, is_control};
use crate::space::trim_ecmascript;
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// The default for [`PatchView::max_total_bytes`].
pub const MAX_TOTAL_BYTES: u64 = 52_428_800;

const REQUIRED: [&str; 5] = [
    "patch_schema_version",
    "source_proposal_id",
    "source_proposal_hash",
    "operations",
    "total_bytes",
];

/// A patch set as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct PatchView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
    /// The most bytes that all contents together may have.
    pub max_total_bytes: u64,
}

/// Names the patch set as the subject of its rules.
pub struct Patch;

impl Subject for Patch {
    type View<'a> = PatchView<'a>;
    const FORMAT: Format = Format::Patch;
}

/// Verifies a patch set.
pub fn verify_patch(view: &PatchView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

const fn info(
    id: &'static str,
    level: Level,
    title: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Patch,
        title,
        section: "002 §3.1 patch.json",
        level,
        explanation,
    }
}

/// The rules of a patch set.
pub static RULES: [Rule<Patch>; 11] = [
    Rule {
        info: info(
            "SCHEMA",
            Level::Document,
            "the fields are there",
            "The document is an object with patch_schema_version, source_proposal_id, \
             source_proposal_hash, operations (a list) and total_bytes; each operation is an \
             object with a path that is a string.",
        ),
        gate: |_| Gate::Ready,
        check: check_schema,
    },
    Rule {
        info: info(
            "PS1",
            Level::Document,
            "the version is given",
            "patch_schema_version is a string that is not empty.",
        ),
        gate: needs_object,
        check: check_version,
    },
    Rule {
        info: info(
            "PS2",
            Level::Document,
            "every operation is known",
            "op is create, modify or delete. Nothing else may be done to a file.",
        ),
        gate: needs_operations,
        check: check_ops,
    },
    Rule {
        info: info(
            "PS3",
            Level::Document,
            "paths are relative",
            "No path begins with `/` or with a drive letter: a patch set must not say where on a \
             machine it is applied.",
        ),
        gate: needs_operations,
        check: check_relative,
    },
    Rule {
        info: info(
            "PS4",
            Level::Document,
            "paths are safe and normalized",
            "No `..` anywhere, no backslash, no NUL, no control character except tab and newline, no \
             white space at either end; not empty, not `.`, no `.` segment, no `//`, no `/` at \
             the end. Such a path could leave the folder it is applied to, or name the same file twice.",
        ),
        gate: needs_operations,
        check: check_normalized,
    },
    Rule {
        info: info(
            "PS5",
            Level::Document,
            "no path appears twice",
            "Two operations on one file would make the result depend on how they are applied. The \
             later one is reported.",
        ),
        gate: needs_operations,
        check: check_unique,
    },
    Rule {
        info: info(
            "PS6",
            Level::Document,
            "content is where it belongs",
            "create and modify have content, delete has none; content has no NUL character \
             and no lone surrogate, so that it can be written as UTF-8.",
        ),
        gate: needs_operations,
        check: check_content,
    },
    Rule {
        info: info(
            "PS7",
            Level::Document,
            "total_bytes is right and within the limit",
            "total_bytes is a number, equals the UTF-8 bytes of all contents, and is at most \
             52428800 unless another limit is given.",
        ),
        gate: needs_operations,
        check: check_total,
    },
    Rule {
        info: info(
            "PS8",
            Level::Document,
            "operations are in order",
            "Operations are sorted by (order or 0, path), paths by UTF-16 code units. Each one \
             that sorts before its predecessor is reported.",
        ),
        gate: needs_operations,
        check: check_order,
    },
    Rule {
        info: info(
            "PS9",
            Level::Document,
            "no links are created",
            "An operation symlink is reported here as well as by PS2: a link could lead later writes out \
             of the folder.",
        ),
        gate: needs_operations,
        check: check_links,
    },
    Rule {
        info: info(
            "PS10",
            Level::Integrity,
            "declared hashes and sizes are right",
            "If an operation has expected_hash or size_bytes, they are those of its content.",
        ),
        gate: needs_operations,
        check: check_declared,
    },
];

fn needs_object(view: &PatchView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is not an object"),
    }
}

fn needs_operations(view: &PatchView<'_>) -> Gate {
    match view.root.get("operations").map(|node| node.kind()) {
        Some(Kind::Array) => Gate::Ready,
        _ => Gate::NotRun("there is no list of operations"),
    }
}

/// An operation with its place.
struct Operation<'a> {
    node: Node<'a>,
    place: JsonPath,
}

impl<'a> Operation<'a> {
    fn member(&self, name: &str) -> JsonPath {
        self.place.then(name)
    }

    fn text(&self, name: &str) -> Option<std::borrow::Cow<'a, str>> {
        self.node.get(name)?.as_lossy_str()
    }

    fn order(&self) -> f64 {
        self.node
            .get("order")
            .and_then(|node| node.as_number())
            .map_or(0.0, |n| n.to_f64())
    }
}

fn operations<'a>(view: &PatchView<'a>) -> impl Iterator<Item = Operation<'a>> {
    let list = view
        .root
        .get("operations")
        .map(|node| node.items())
        .into_iter()
        .flatten();
    list.enumerate().map(|(at, node)| Operation {
        node,
        place: JsonPath::ROOT.then("operations").then(at),
    })
}

fn check_schema(view: &PatchView<'_>, findings: &mut Findings) {
    if view.root.kind() != Kind::Object {
        let found = view.root.kind().with_article();
        findings.add(
            JsonPath::ROOT,
            format!("a patch set is an object, not {found}"),
        );
        return;
    }
    for field in REQUIRED {
        match view.root.get(field) {
            None => findings.add(JsonPath::ROOT.then(field), format!("`{field}` is missing")),
            Some(node) if field == "operations" && node.kind() != Kind::Array => findings.add(
                JsonPath::ROOT.then("operations"),
                format!("operations is {}, not a list", node.kind().with_article()),
            ),
            Some(_) => {}
        }
    }
    for operation in operations(view) {
        if operation.node.kind() != Kind::Object {
            let found = operation.node.kind().with_article();
            findings.add(
                operation.place,
                format!("an operation is an object, not {found}"),
            );
            continue;
        }
        match operation.node.get("path") {
            Some(path) if path.is_string() => {}
            Some(path) => findings.add(
                operation.member("path"),
                format!("a path is a string, not {}", path.kind().with_article()),
            ),
            None => findings.add(operation.member("path"), "`path` is missing"),
        }
    }
}

fn check_version(view: &PatchView<'_>, findings: &mut Findings) {
    let version = view
        .root
        .get("patch_schema_version")
        .and_then(|node| node.as_lossy_str());
    if version.is_none_or(|version| version.is_empty()) {
        findings.add(
            JsonPath::ROOT.then("patch_schema_version"),
            "the version is not a string, or empty",
        );
    }
}

fn check_ops(view: &PatchView<'_>, findings: &mut Findings) {
    for operation in operations(view).filter(|operation| operation.node.kind() == Kind::Object) {
        let op = operation.text("op");
        if !matches!(op.as_deref(), Some("create" | "modify" | "delete")) {
            let shown = op.map_or("nothing".to_owned(), |op| format!("`{op}`"));
            findings.add(
                operation.member("op"),
                format!("op is create, modify or delete, not {shown}"),
            );
        }
    }
}

fn check_relative(view: &PatchView<'_>, findings: &mut Findings) {
    for operation in operations(view) {
        let Some(path) = operation.text("path") else {
            continue;
        };
        if path.starts_with('/') || has_drive_prefix(&path) {
            findings.add(
                operation.member("path"),
                format!("`{path}` is not relative"),
            );
        }
    }
}

fn check_normalized(view: &PatchView<'_>, findings: &mut Findings) {
    for operation in operations(view) {
        let Some(path) = operation.text("path") else {
            continue;
        };
        if let Some(fault) = path_fault(&path) {
            findings.add(
                operation.member("path"),
                format!("`{}` {fault}", path.escape_debug()),
            );
        }
    }
}

fn path_fault(path: &str) -> Option<&'static str> {
    let segment = |wanted: &str| path.split('/').any(|segment| segment == wanted);
    let inner = path.strip_prefix('/').unwrap_or(path);
    if path.is_empty() {
        Some("is empty")
    } else if path.contains("..") {
        Some("contains `..`")
    } else if path.contains('\\') {
        Some("contains a backslash")
    } else if path
        .chars()
        .any(|c| is_control(c) && c != '\t' && c != '\n')
    {
        Some("contains a control character")
    } else if trim_ecmascript(path) != path {
        Some("begins or ends with white space")
    } else if segment(".") {
        Some("has a `.` segment")
    } else if inner.split('/').any(str::is_empty) {
        Some("has an empty segment")
    } else {
        None
    }
}

fn check_unique(view: &PatchView<'_>, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for operation in operations(view) {
        let Some(path) = operation.text("path") else {
            continue;
        };
        let place = operation.member("path");
        if let Some(first) = seen.get(&path) {
            findings.add(place, format!("`{path}` is already at {first}"));
        } else {
            seen.insert(path, place);
        }
    }
}

fn check_content(view: &PatchView<'_>, findings: &mut Findings) {
    for operation in operations(view).filter(|operation| operation.node.kind() == Kind::Object) {
        let place = operation.member("content");
        let content = operation.node.get("content");
        match (operation.text("op").as_deref(), content) {
            (Some("create" | "modify"), None) => findings.add(&place, "`content` is missing"),
            (Some("create" | "modify"), Some(node)) if !node.is_string() => findings.add(
                &place,
                format!("content is {}, not a string", node.kind().with_article()),
            ),
            (Some("delete"), Some(_)) => findings.add(&place, "a delete must not have content"),
            _ => {}
        }
        let Some(node) = content.filter(Node::is_string) else {
            continue;
        };
        match node.as_str() {
            None => findings.add(
                &place,
                "content contains a lone surrogate, which UTF-8 cannot represent",
            ),
            Some(text) if text.contains('\0') => {
                findings.add(&place, "content contains a NUL character");
            }
            Some(_) => {}
        }
    }
}

fn check_total(view: &PatchView<'_>, findings: &mut Findings) {
    let place = JsonPath::ROOT.then("total_bytes");
    // SCHEMA reports an absent one.
    let Some(declared) = view.root.get("total_bytes") else {
        return;
    };
    let Some(number) = declared.as_number() else {
        let found = declared.kind().with_article();
        findings.add(&place, format!("total_bytes is {found}, not a number"));
        return;
    };
    let size = |operation: Operation<'_>| match operation.text("content") {
        Some(content) => Some(content.len() as u64),
        // PS6 reports content that is missing or no text.
        None => {
            let is_whole = operation.node.kind() == Kind::Object
                && operation.node.get("content").is_none()
                && !matches!(operation.text("op").as_deref(), Some("create" | "modify"));
            is_whole.then_some(0)
        }
    };
    let actual = operations(view).map(size).sum::<Option<u64>>();
    let declared = number.to_f64();
    if declared > view.max_total_bytes as f64 {
        let limit = view.max_total_bytes;
        findings.add(
            &place,
            format!("{} is more than the limit of {limit}", number.text()),
        );
    }
    let actual = findings.need(actual);
    if let Some(actual) = actual.filter(|actual| declared != *actual as f64) {
        findings.add_difference(
            &place,
            "the contents have another number of bytes",
            number.text(),
            actual.to_string(),
        );
    }
}

fn check_order(view: &PatchView<'_>, findings: &mut Findings) {
    let mut before: Option<(f64, Node<'_>)> = None;
    for operation in operations(view) {
        let Some(path) = operation.node.get("path").filter(Node::is_string) else {
            continue;
        };
        let order = operation.order();
        if let Some((last_order, last_path)) = &before {
            let descends = order < *last_order
                || (order == *last_order && path.compare_utf16(last_path).is_lt());
            if descends {
                let shown = |path: &Node<'_>| path.as_lossy_str().unwrap_or_default().into_owned();
                findings.add(
                    &operation.place,
                    format!("`{}` sorts before `{}`", shown(&path), shown(last_path)),
                );
            }
        }
        before = Some((order, path));
    }
}

fn check_links(view: &PatchView<'_>, findings: &mut Findings) {
    for operation in operations(view) {
        if operation.text("op").as_deref() == Some("symlink") {
            findings.add(operation.member("op"), "a patch set must not create links");
        }
    }
}

fn check_declared(view: &PatchView<'_>, findings: &mut Findings) {
    for operation in operations(view) {
        let Some(content) = operation.text("content") else {
            continue;
        };
        if let Some(declared) = operation.node.get("expected_hash") {
            let actual = ContentHash::of(content.as_bytes()).to_string();
            let declared = declared.as_lossy_str().unwrap_or_default();
            if declared != actual {
                let place = operation.member("expected_hash");
                findings.add_difference(place, "the content has another hash", declared, actual);
            }
        }
        if let Some(declared) = operation.node.get("size_bytes") {
            let number = declared.as_number();
            if number.is_none_or(|number| number.to_f64() != content.len() as f64) {
                let place = operation.member("size_bytes");
                let declared = number.map_or("not a number", |number| number.text());
                let actual = content.len().to_string();
                findings.add_difference(place, "the content has another size", declared, actual);
            }
        }
    }
}

/// The definition of the patch set format.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::Patch,
    proves: ProofScope {
        shows: &["That each content is the one its hash names, at a safe path."],
        does_not: &["Where it came from, or that it was ever applied."],
    },
    rules: || infos(&RULES),
    members: &[
        "patch_schema_version",
        "source_proposal_id",
        "source_proposal_hash",
        "operations",
        "total_bytes",
    ],
    file_name: "patch.json",
    judge: |root, level| {
        let view = PatchView {
            root,
            max_total_bytes: MAX_TOTAL_BYTES,
        };
        verify_patch(&view, level)
    },
    identify: |root| Identity::of_members(root, &["source_proposal_id"]),
};

//! RB16: the members of RUN_ENVIRONMENT.json and their types.

use super::facts::{Doc, RunBundleView};
use super::layout::RUN_ENVIRONMENT;
use super::reading::is_marker;
use super::recorded::{
    ENGINE_LIST, MACHINE_LIST, TERMINAL_MEMBER, TERMINAL_RECORDING, parse_file_time, parse_mode,
};
use crate::canon::{Kind, Node};
use crate::formats::shape::{
    Member, find_misfits, is_count, is_digest, is_filled_text, is_flag, is_list, is_object,
    is_text, is_text_list, is_word, member, optional, text_is,
};
use crate::verify::{Findings, Gate};

/// Applies if there is such a file.
pub(super) fn has_environment(view: &RunBundleView<'_>) -> Gate {
    match view.environment {
        Doc::Absent => Gate::NotApplicable("there is no RUN_ENVIRONMENT.json"),
        // RB5 says why.
        Doc::Broken(_) => Gate::NotRun("RUN_ENVIRONMENT.json has no canonical form"),
        Doc::Read(_) => Gate::Ready,
    }
}

const NOT_TEXT: &str = "is missing or not a text";
const NOT_LIST: &str = "is missing or not a list";
const NOT_OBJECT: &str = "is missing or not an object";

/// The document itself.
static ENVIRONMENT: [Member; 23] = [
    member(
        "environment_version",
        |node| is_word(node, &["1.0.0"]),
        "is not 1.0.0",
    ),
    member("kernel", is_text, NOT_TEXT),
    member("architecture", is_text, NOT_TEXT),
    member("locale", is_text, NOT_TEXT),
    member("timezone", is_text, NOT_TEXT),
    member("variables", is_object, NOT_OBJECT),
    member("files", is_list, NOT_LIST),
    member("sandbox", is_object, NOT_OBJECT),
    member("observation", is_object, NOT_OBJECT),
    optional("folder", is_text, "is not a text"),
    optional("program", is_text, "is not a text"),
    optional("became", is_text, "is not a text"),
    optional("listed", is_list, "is not a list"),
    optional("present", is_list, "is not a list"),
    optional(ENGINE_LIST, is_list, "is not a list"),
    optional("streams", is_object, "is not an object"),
    optional(TERMINAL_MEMBER, is_object, "is not an object"),
    optional("links", is_list, "is not a list"),
    optional("attributes", is_list, "is not a list"),
    optional("packages", is_list, "is not a list"),
    optional("git", is_object, "is not an object"),
    optional("usage", is_object, "is not an object"),
    optional("self_contained", is_flag, "is not a boolean"),
];

/// What the command's standard streams led to.
static STREAMS: [Member; 3] = [
    member(
        "stdin",
        |node| is_word(node, &["file", "null", "pipe", "terminal"]),
        "is not file, null, pipe or terminal",
    ),
    member("stdout", is_pipe_or_terminal, "is not pipe or terminal"),
    member("stderr", is_pipe_or_terminal, "is not pipe or terminal"),
];

/// The command's terminal.
static TERMINAL: [Member; 3] = [
    member("columns", is_count, "is not a number of characters"),
    member("rows", is_count, "is not a number of lines"),
    optional(TERMINAL_RECORDING, is_object, "is not an object"),
];

fn is_pipe_or_terminal(node: Option<Node<'_>>) -> bool {
    is_word(node, &["pipe", "terminal"])
}

static SANDBOX: [Member; 1] = [member(
    "level",
    |node| is_word(node, &["namespaces", "landlock", "none"]),
    "is not namespaces, landlock or none",
)];

static OBSERVATION: [Member; 4] = [
    member(
        "level",
        |node| is_word(node, &["observed", "declared"]),
        "is not observed or declared",
    ),
    member("gaps", is_list, NOT_LIST),
    optional("randomness", is_text_list, "is not a list of texts"),
    optional("threads", is_text_list, "is not a list of texts"),
];

static GAP: [Member; 2] = [
    member("kind", is_text, NOT_TEXT),
    member("detail", is_text, NOT_TEXT),
];

/// A file of the machine.
static MACHINE_FILE: [Member; 7] = [
    member("path", is_text, NOT_TEXT),
    member("sha256", is_digest, "is not a SHA-256"),
    member("bytes", is_count, "is not a number of bytes"),
    optional("executed", is_flag, "is not a boolean"),
    optional("package", is_text, "is not a text"),
    optional("version", is_text, "is not a text"),
    optional("stored", is_filled_text, "is not a path"),
];

/// A symbolic link outside the command's folder, on the way to what it read.
static LINK: [Member; 2] = [
    member("path", is_filled_text, "is not a path"),
    member("target", is_filled_text, "is not a path"),
];

/// The rights and the time of a file or folder.
static ATTRIBUTES: [Member; 3] = [
    member("path", is_text, NOT_TEXT),
    member("mode", is_mode, "is not four octal digits"),
    member(
        "modified",
        is_time_of_file,
        "is not a time in seconds with nine decimals",
    ),
];

/// A package of a programming language.
static PACKAGE: [Member; 4] = [
    member("kind", is_text, NOT_TEXT),
    member("name", is_text, NOT_TEXT),
    member("version", is_text, NOT_TEXT),
    optional("path", is_text, "is not a text"),
];

/// The commit that the command's folder had checked out.
static GIT: [Member; 4] = [
    optional("commit", is_text, "is not a text"),
    optional("branch", is_text, "is not a text"),
    optional("remote", is_text, "is not a text"),
    member(
        "state",
        |node| is_word(node, &["clean", "changed", "unknown"]),
        "is not clean, changed or unknown",
    ),
];

/// What a run took of the machine.
static USAGE: [Member; 3] = [
    optional("wall_ms", is_count, "is not a number of milliseconds"),
    optional("cpu_ms", is_count, "is not a number of milliseconds"),
    optional("memory_bytes", is_count, "is not a number of bytes"),
];

fn is_mode(node: Option<Node<'_>>) -> bool {
    text_is(node, |text| parse_mode(text).is_some())
}

fn is_time_of_file(node: Option<Node<'_>>) -> bool {
    text_is(node, |text| parse_file_time(text).is_some())
}

/// A file that the bundle holds.
static ENGINE_FILE: [Member; 5] = [
    member("path", is_text, NOT_TEXT),
    member("sha256", is_digest, "is not a SHA-256"),
    member("bytes", is_count, "is not a number of bytes"),
    member(
        "mode",
        |node| is_word(node, &["644", "755"]),
        "is not 644 or 755",
    ),
    optional("stored", is_text, "is not a text"),
];

static LISTED: [Member; 2] = [
    member("path", is_text, NOT_TEXT),
    member("entries", is_list, NOT_LIST),
];

static ENTRY: [Member; 4] = [
    member("name", is_text, NOT_TEXT),
    optional("bytes", is_count, "is not a number of bytes"),
    optional("folder", is_flag, "is not a boolean"),
    optional("executable", is_flag, "is not a boolean"),
];

static PRESENT: [Member; 4] = [
    member("path", is_text, NOT_TEXT),
    optional("bytes", is_count, "is not a number of bytes"),
    optional("folder", is_flag, "is not a boolean"),
    optional("executable", is_flag, "is not a boolean"),
];

pub(super) fn check_shape(view: &RunBundleView<'_>, findings: &mut Findings) {
    let Some(root) = view.environment.root() else {
        return;
    };
    if !check_object(view, root, "", &ENVIRONMENT, findings) {
        return;
    }
    for (name, members) in [
        ("sandbox", &SANDBOX[..]),
        ("observation", &OBSERVATION[..]),
        ("streams", &STREAMS[..]),
        (TERMINAL_MEMBER, &TERMINAL[..]),
        ("git", &GIT[..]),
        ("usage", &USAGE[..]),
    ] {
        if let Some(object) = root.get(name).filter(|node| node.kind() == Kind::Object) {
            check_object(view, object, &format!("/{name}"), members, findings);
        }
    }
    let variables = root.get("variables");
    for (name, value) in variables.into_iter().flat_map(|node| node.members()) {
        if !value.is_string() && !view.hides(Some(value)) {
            let name = name.to_lossy();
            let fault = format!("/variables: `{}` is not a text", name.escape_debug());
            findings.add(RUN_ENVIRONMENT, fault);
        }
    }
    let terminal = root.get(TERMINAL_MEMBER);
    let recording = terminal.and_then(|terminal| terminal.get(TERMINAL_RECORDING));
    if let Some(recording) = recording.filter(|node| node.kind() == Kind::Object) {
        let place = format!("/{TERMINAL_MEMBER}/{TERMINAL_RECORDING}");
        check_object(view, recording, &place, &ENGINE_FILE, findings);
    }
    let gaps = root.get("observation").and_then(|node| node.get("gaps"));
    check_items(view, gaps, "/observation/gaps", &GAP, findings);
    for (name, members) in [
        (MACHINE_LIST, &MACHINE_FILE[..]),
        ("links", &LINK[..]),
        ("attributes", &ATTRIBUTES[..]),
        ("packages", &PACKAGE[..]),
    ] {
        check_items(view, root.get(name), &format!("/{name}"), members, findings);
    }
    check_items(view, root.get("present"), "/present", &PRESENT, findings);
    let engine_files = root.get(ENGINE_LIST);
    check_items(view, engine_files, "/engine_files", &ENGINE_FILE, findings);
    check_items(view, root.get("listed"), "/listed", &LISTED, findings);
    let listed = root.get("listed");
    for (at, folder) in listed.into_iter().flat_map(|list| list.items()).enumerate() {
        let place = format!("/listed/{at}/entries");
        check_items(view, folder.get("entries"), &place, &ENTRY, findings);
    }
}

fn check_items(
    view: &RunBundleView<'_>,
    list: Option<Node<'_>>,
    place: &str,
    members: &[Member],
    findings: &mut Findings,
) {
    let items = list.into_iter().flat_map(|list| list.items());
    for (at, item) in items.enumerate() {
        check_object(view, item, &format!("{place}/{at}"), members, findings);
    }
}

/// Adds a finding for every member that does not fit the table. Returns whether `node` is an
/// object.
fn check_object(
    view: &RunBundleView<'_>,
    node: Node<'_>,
    place: &str,
    members: &[Member],
    findings: &mut Findings,
) -> bool {
    if view.hides(Some(node)) && is_marker(node) {
        return false;
    }
    if node.kind() != Kind::Object {
        let found = node.kind().with_article();
        let fault = match place {
            "" => format!("it is an object, not {found}"),
            place => format!("{place} is an object, not {found}"),
        };
        findings.add(RUN_ENVIRONMENT, fault);
        return false;
    }
    for misfit in find_misfits(node, members) {
        let (name, fault) = (misfit.name, misfit.fault);
        if view.hides(node.get(name)) {
            continue;
        }
        findings.add(RUN_ENVIRONMENT, format!("{place}/{name} {fault}"));
    }
    true
}

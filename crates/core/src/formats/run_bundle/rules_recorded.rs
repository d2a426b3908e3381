//! RB13: compares what a run read and wrote, as its documents list it, with what is stored.

use std::collections::BTreeSet;

use super::facts::{Doc, EntryFact, FileFact, RunBundleView};
use super::layout::{
    ARTIFACTS_FOLDER, ENGINE_FOLDER, ENVIRONMENT_FOLDER, INPUTS_FOLDER, MODEL_IO, RUN_ENVIRONMENT,
    RUN_INPUT, RUN_OUTPUT, STDERR_LOG, STDIN, STDOUT_LOG, TERMINAL_LOG, is_json, path_of_exact,
    place_of_stored,
};
use super::reading::{RunKind, is_listed_place, is_marker};
use super::recorded::{
    ENGINE_LIST, INPUT_LISTS, ListedFile, MACHINE_LIST, MODEL_IO_MEMBER, TERMINAL_MEMBER,
    TERMINAL_RECORDING, folder_of_list, parse_whole_file,
};
use crate::canon::{Kind, Node};
use crate::path::SafePath;
use crate::verify::{Findings, Gate};

/// Applies if files are listed, by a recorded command or by an engine's run with its environment, or if there is a file
/// that a list would have to name.
pub(super) fn has_lists(view: &RunBundleView<'_>) -> Gate {
    let kind = view.kind();
    let is_listed = |(path, entry): (&str, &EntryFact)| {
        matches!(entry, EntryFact::File(_)) && is_listed_place(path, kind)
    };
    let lists = view.environment.root().is_some() || is_recorded_view(view);
    if lists || view.facts.entries.iter().any(is_listed) {
        Gate::Ready
    } else {
        Gate::NotApplicable("the bundle does not say what the run read")
    }
}

pub(super) fn is_recorded_view(view: &RunBundleView<'_>) -> bool {
    view.kind() == RunKind::Recorded
}

/// Where the bytes of an entry belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belongs {
    /// At its path below a folder of the bundle.
    Below(&'static str),
    /// Below a folder of the bundle, at a suffix of its path, which may be absolute.
    AtSuffix(&'static str),
    /// Below a folder of the bundle, at its absolute path, or at that of another entry with the same
    /// bytes: these are stored once.
    AtAbsolute(&'static str),
    /// At one place.
    At(&'static str),
}

impl Belongs {
    /// The folder or file.
    fn place(self) -> &'static str {
        match self {
            Self::Below(place) | Self::AtSuffix(place) | Self::AtAbsolute(place) => place,
            Self::At(place) => place,
        }
    }
}

/// An entry of a list, with its document and the list's name.
struct Listed {
    document: &'static str,
    list: &'static str,
    belongs: Belongs,
    file: ListedFile,
}

/// The entries of the bundle's lists.
#[derive(Default)]
struct Lists {
    entries: Vec<Listed>,
    /// The folders and files that a malformed entry may be about: RB16 and RB18 report it, and nothing there is compared
    /// with what the lists have.
    open: Vec<&'static str>,
}

fn collect_lists(view: &RunBundleView<'_>, findings: &mut Findings) -> Lists {
    let mut listed = Lists::default();
    let mut add = |document: &'static str, list: &'static str, belongs: Belongs, node: Node<'_>| {
        // Of what the command left, RB18 asks for the place.
        let has_place = |file: &ListedFile| document != RUN_OUTPUT || file.stored.is_some();
        match parse_whole_file(node).filter(has_place) {
            None if view.hides(Some(node)) => {}
            Some(file) => listed.entries.push(Listed {
                document,
                list,
                belongs,
                file,
            }),
            None => {
                listed.open.push(belongs.place());
                findings.need(None::<()>);
            }
        }
    };
    for node in items_of(view.environment.root(), ENGINE_LIST) {
        let belongs = Belongs::Below(ENGINE_FOLDER);
        add(RUN_ENVIRONMENT, ENGINE_LIST, belongs, node);
    }
    if !is_recorded_view(view) {
        return listed;
    }
    // Of most files of the machine there is only a hash.
    let sealed = items_of(view.environment.root(), MACHINE_LIST);
    for node in sealed.filter(|node| node.get("stored").is_some()) {
        let belongs = Belongs::AtAbsolute(ENVIRONMENT_FOLDER);
        add(RUN_ENVIRONMENT, MACHINE_LIST, belongs, node);
    }
    for name in INPUT_LISTS {
        let folder = folder_of_list(name);
        let belongs = match folder {
            INPUTS_FOLDER => Belongs::AtSuffix(folder),
            _ => Belongs::Below(folder),
        };
        for node in items_of(view.input.root(), name) {
            add(RUN_INPUT, name, belongs, node);
        }
    }
    for node in items_of(view.output.root(), "outputs") {
        let belongs = Belongs::Below(ARTIFACTS_FOLDER);
        add(RUN_OUTPUT, "outputs", belongs, node);
    }
    let terminal = view.environment.root();
    let terminal = terminal.and_then(|environment| environment.get(TERMINAL_MEMBER));
    for (document, root, name, place) in [
        (RUN_ENVIRONMENT, terminal, TERMINAL_RECORDING, TERMINAL_LOG),
        (RUN_INPUT, view.input.root(), "stdin", STDIN),
        (RUN_INPUT, view.input.root(), MODEL_IO_MEMBER, MODEL_IO),
        (RUN_OUTPUT, view.output.root(), "stdout", STDOUT_LOG),
        (RUN_OUTPUT, view.output.root(), "stderr", STDERR_LOG),
    ] {
        let node = root.and_then(|root| root.get(name));
        if let Some(node) = node.filter(|node| !node.is_null()) {
            add(document, name, Belongs::At(place), node);
        }
    }
    listed
}

fn items_of<'a>(root: Option<Node<'a>>, name: &str) -> impl Iterator<Item = Node<'a>> {
    let list = root.and_then(|root| root.get(name));
    list.into_iter().flat_map(|list| list.items())
}

pub(super) fn check_listed_files(view: &RunBundleView<'_>, findings: &mut Findings) {
    let lists = collect_lists(view, findings);
    let listed = &lists.entries;
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for entry in listed {
        let (document, list) = (entry.document, entry.list);
        let path = entry.file.path.as_str();
        if !seen.insert((list, path)) {
            let shown = path.escape_debug();
            findings.add(document, format!("duplicate path `{shown}` in `{list}`"));
        }
        check_place(entry, &lists, findings);
        if let Some(stored) = entry.file.stored.as_deref() {
            named.insert(stored);
            check_stored(view, entry, stored, findings);
        }
    }
    let kind = view.kind();
    let mut shown_in_part = ShownInPart::collect(view, findings);
    shown_in_part.open.extend(&lists.open);
    named.extend(shown_in_part.named.iter().map(String::as_str));
    for (path, entry) in view.facts.entries.iter() {
        let EntryFact::File(fact) = entry else {
            continue;
        };
        if shown_in_part.may_list(path) {
            continue;
        }
        if !is_listed_place(path, kind) {
            continue;
        }
        if named.contains(path) {
            check_twin(view, path, findings);
        } else {
            check_canonical_copy(view, path, fact, &named, findings);
        }
    }
}

/// Checks that exact bytes stand beside the file whose value they spell.
fn check_twin(view: &RunBundleView<'_>, path: &str, findings: &mut Findings) {
    if let Some(twin) = path_of_exact(path)
        && view.facts.file(twin).is_none()
        && !view.withholds_part_of(twin)
    {
        let twin = twin.escape_debug();
        findings.add(
            path,
            format!("`{twin}`, whose exact bytes these are, is missing"),
        );
    }
}

/// The places whose list is required and missing, or mistyped: another rule says so, and nothing is compared with it.
fn find_unlisted(view: &RunBundleView<'_>) -> Vec<&'static str> {
    let mut open = Vec::new();
    let mistyped = |name: &str, kind: Kind| {
        let member = view.environment.root().and_then(|root| root.get(name));
        member.is_some_and(|member| member.kind() != kind)
    };
    if matches!(view.environment, Doc::Broken(_)) || mistyped(ENGINE_LIST, Kind::Array) {
        open.push(ENGINE_FOLDER);
    }
    if !is_recorded_view(view) {
        return open;
    }
    if mistyped(TERMINAL_MEMBER, Kind::Object) {
        open.push(TERMINAL_LOG);
    }
    let lists = [
        (view.input.root(), "files", ENGINE_FOLDER),
        (view.input.root(), "inputs", INPUTS_FOLDER),
        (view.output.root(), "outputs", ARTIFACTS_FOLDER),
        (view.environment.root(), MACHINE_LIST, ENVIRONMENT_FOLDER),
    ];
    for (root, name, folder) in lists {
        let list = root.and_then(|root| root.get(name)?.as_array());
        if list.is_none() {
            open.push(folder);
        }
    }
    let entries = [
        (view.input.root(), "stdin", STDIN),
        (view.output.root(), "stdout", STDOUT_LOG),
        (view.output.root(), "stderr", STDERR_LOG),
    ];
    for (root, name, place) in entries {
        if root.and_then(|root| root.get(name)).is_none() {
            open.push(place);
        }
    }
    open
}

/// The entries of lists with something withheld in a redacted copy, and the lists that are not there.
#[derive(Default)]
struct ShownInPart {
    /// Where such entries say that their bytes are.
    named: BTreeSet<String>,
    /// Folders and files that a withheld or missing entry may be about.
    open: Vec<&'static str>,
}

impl ShownInPart {
    /// Compares the shown parts of each entry with the file that it names.
    fn collect(view: &RunBundleView<'_>, findings: &mut Findings) -> Self {
        let mut found = Self::default();
        if view.withheld.is_none() {
            found.open = find_unlisted(view);
            return found;
        }
        let terminal = view.environment.root();
        let terminal = terminal.and_then(|environment| environment.get(TERMINAL_MEMBER));
        for (document, root, name, places) in [
            (
                RUN_ENVIRONMENT,
                terminal,
                TERMINAL_RECORDING,
                &[TERMINAL_LOG][..],
            ),
            (
                RUN_ENVIRONMENT,
                view.environment.root(),
                ENGINE_LIST,
                &[ENGINE_FOLDER][..],
            ),
            (
                RUN_ENVIRONMENT,
                view.environment.root(),
                MACHINE_LIST,
                &[ENVIRONMENT_FOLDER],
            ),
            (RUN_INPUT, view.input.root(), "files", &[ENGINE_FOLDER]),
            (RUN_INPUT, view.input.root(), "inputs", &[INPUTS_FOLDER]),
            (RUN_INPUT, view.input.root(), "stdin", &[STDIN]),
            (RUN_INPUT, view.input.root(), MODEL_IO_MEMBER, &[MODEL_IO]),
            (
                RUN_OUTPUT,
                view.output.root(),
                "outputs",
                &[ARTIFACTS_FOLDER],
            ),
            (RUN_OUTPUT, view.output.root(), "stdout", &[STDOUT_LOG]),
            (RUN_OUTPUT, view.output.root(), "stderr", &[STDERR_LOG]),
        ] {
            let Some(root) = root else {
                if view.withholds_part_of(document) {
                    found.open.extend(places);
                }
                continue;
            };
            let member = root.get(name);
            let list = member.filter(|member| member.as_array().is_some());
            let single = member.filter(|_| list.is_none());
            let entries = list.into_iter().flat_map(|list| list.items()).chain(single);
            if view.hides(Some(root)) && is_marker(root) {
                found.open.extend(places);
            }
            for entry in entries.filter(|entry| view.hides(Some(*entry))) {
                match entry.get("stored") {
                    Some(stored) if stored.is_string() => {
                        let stored = stored.as_lossy_str().unwrap_or_default().into_owned();
                        compare_size(view, document, entry, &stored, findings);
                        found.named.insert(stored);
                    }
                    // Whether it has bytes in the bundle is withheld as well.
                    Some(_) => found.open.extend(places),
                    None if is_marker(entry) => found.open.extend(places),
                    None => {}
                }
            }
        }
        found
    }

    /// Whether a withheld entry may be the one that lists the file at `path`.
    fn may_list(&self, path: &str) -> bool {
        let place = place_of_stored(path);
        self.open
            .iter()
            .any(|open| place == *open || below(place, open).is_some())
    }
}

/// Checks the size in a partly shown entry against the file, if that is shown.
fn compare_size(
    view: &RunBundleView<'_>,
    document: &str,
    entry: Node<'_>,
    stored: &str,
    findings: &mut Findings,
) {
    let said = entry.get("bytes").and_then(|node| node.as_number());
    let said = said.and_then(|number| u64::try_from(number.to_exact_i64()?).ok());
    let fact = view
        .facts
        .file(stored)
        .filter(|_| !view.withholds_part_of(stored));
    let (Some(said), Some(found)) = (said, fact.and_then(FileFact::bytes)) else {
        return;
    };
    if said != found {
        let what = format!("its size is not the one in {document}");
        let (said, found) = (format!("{said} bytes"), format!("{found} bytes"));
        findings.add_difference(stored, &what, said, found);
    }
}

/// Checks that an entry has a usable path, and the place that belongs to that path.
fn check_place(entry: &Listed, lists: &Lists, findings: &mut Findings) {
    let (document, list) = (entry.document, entry.list);
    let path = entry.file.path.as_str();
    let shown = path.escape_debug();
    let is_path = match entry.belongs {
        Belongs::Below(_) => SafePath::parse(path).is_ok(),
        Belongs::AtSuffix(_) => {
            let relative = path.strip_prefix('/').unwrap_or(path);
            let mut parts = relative.split('/');
            parts.all(|part| !matches!(part, "" | "." | ".."))
        }
        Belongs::AtAbsolute(_) => {
            let relative = path.strip_prefix('/');
            relative.is_some_and(|relative| SafePath::parse(relative).is_ok())
        }
        Belongs::At(_) => true,
    };
    if !is_path {
        findings.add(
            document,
            format!("`{list}` has `{shown}`, which is not the path of a file"),
        );
        return;
    }
    let Some(stored) = entry.file.stored.as_deref() else {
        if let Belongs::At(place) = entry.belongs {
            let fault = format!("`{list}` does not say that its bytes are at `{place}`");
            findings.add(document, fault);
        }
        return;
    };
    let place = place_of_stored(stored);
    let belongs = match entry.belongs {
        Belongs::Below(folder) => below(place, folder) == Some(path),
        Belongs::AtSuffix(folder) => below(place, folder).is_some_and(|end| {
            // Inputs of the same name each have a numbered folder.
            let numbered = end.split_once('/');
            let numbered = numbered.filter(|(number, _)| number.parse::<u32>().is_ok());
            is_end_of(end, path) || numbered.is_some_and(|(_, end)| is_end_of(end, path))
        }),
        Belongs::AtAbsolute(folder) => below(place, folder).is_some_and(|end| {
            let is_at = |path: &str| path.strip_prefix('/') == Some(end);
            let is_same = |other: &Listed| {
                (other.list, other.file.sha256) == (list, entry.file.sha256)
                    && is_at(&other.file.path)
            };
            is_at(path) || lists.open.contains(&folder) || lists.entries.iter().any(is_same)
        }),
        Belongs::At(at) => stored == at,
    };
    if !belongs {
        let stored = stored.escape_debug();
        findings.add(
            document,
            format!("`{list}` has `{shown}` at `{stored}`, which is the place of another file"),
        );
    }
}

fn below<'a>(place: &'a str, folder: &str) -> Option<&'a str> {
    place.strip_prefix(folder)?.strip_prefix('/')
}

/// Whether `end` is all of `path` or its last segments.
fn is_end_of(end: &str, path: &str) -> bool {
    let rest = path.strip_suffix(end);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Checks the digest and size of what is stored against the entry.
fn check_stored(view: &RunBundleView<'_>, entry: &Listed, stored: &str, findings: &mut Findings) {
    let Listed { document, file, .. } = entry;
    if view.withholds_part_of(stored) {
        return;
    }
    let shown = file.path.escape_debug();
    let fact = view.facts.file(stored);
    match fact.and_then(FileFact::sha256) {
        None => {
            let state = match fact {
                None => "is missing",
                Some(_) => "could not be read",
            };
            findings.add(
                stored,
                format!("{document} names it as the bytes of `{shown}`, but it {state}"),
            );
        }
        Some(actual) if actual != file.sha256 => {
            let what = format!("its bytes are not those that {document} lists as `{shown}`");
            findings.add_difference(stored, &what, file.sha256.to_string(), actual.to_string());
        }
        Some(_) => {
            let bytes = fact.and_then(FileFact::bytes);
            if let Some(bytes) = bytes.filter(|bytes| *bytes != file.bytes) {
                let what = format!("its size is not the one that {document} lists for `{shown}`");
                findings.add_difference(
                    stored,
                    &what,
                    format!("{} bytes", file.bytes),
                    format!("{bytes} bytes"),
                );
            }
        }
    }
}

/// Checks a file that no list names: it must be the JCS of a file whose exact bytes are listed.
fn check_canonical_copy(
    view: &RunBundleView<'_>,
    path: &str,
    fact: &FileFact,
    named: &BTreeSet<&str>,
    findings: &mut Findings,
) {
    let exact = super::layout::exact_path(path);
    if !is_json(path) || path_of_exact(path).is_some() || !named.contains(exact.as_str()) {
        findings.add(path, "no list says that the run read or wrote it");
        return;
    }
    let Some(FileFact::Exact { canonical, .. }) = view.facts.file(&exact) else {
        return;
    };
    if view.withholds_part_of(path) {
        return;
    }
    if fact.sha256() != canonical.as_deref().copied() {
        findings.add(path, format!("its value is not that of `{exact}`"));
    }
}

//! Single fields: version, paths, ids, scores, status (BS1, BS7, BS9, BS10, BS12, BS13).

use super::BundleView;
use super::walk::{Part, branches, nodes, outputs, questions, top};
use crate::canon::JsonPath;
use crate::canon::Kind;
use crate::digest::Digest;
use crate::ids::{BranchId, BundleId, NodeId, OutputId, QuestionId};
use crate::path::{has_drive_prefix, is_control};
use crate::verify::Findings;

pub(super) fn check_version(view: &BundleView<'_>, findings: &mut Findings) {
    let version = view
        .root
        .get("schema_version")
        .and_then(|node| node.as_lossy_str());
    match version {
        None => findings.add(
            JsonPath::ROOT.then("schema_version"),
            "the version is not a string",
        ),
        Some(version) if !is_semver(&version) => findings.add(
            JsonPath::ROOT.then("schema_version"),
            format!("`{version}` is not a version such as 0.1.0"),
        ),
        Some(_) => {}
    }
}

/// SemVer 2.0.0: three numbers without leading zeros, then `-pre.release` and `+build`.
fn is_semver(text: &str) -> bool {
    let (rest, build) = match text.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match rest.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (rest, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let number = |part: &str| digits(part) && (part.len() == 1 || !part.starts_with('0'));
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(number)
        && pre.is_none_or(|pre| {
            pre.split('.')
                .all(|part| word(part) && (!digits(part) || number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(word))
}

fn is_unsafe(path: &str) -> bool {
    path.starts_with('/') || path.contains('\\') || path.contains("..")
}

pub(super) fn check_safe_paths(view: &BundleView<'_>, findings: &mut Findings) {
    for output in outputs(view.root) {
        if let Some(path) = output.text("path").filter(|path| is_unsafe(path)) {
            let place = output.place.then("path");
            findings.add(
                place,
                format!("`{}` could leave the folder", path.escape_debug()),
            );
        }
    }
}

pub(super) fn check_normalized_paths(view: &BundleView<'_>, findings: &mut Findings) {
    for output in outputs(view.root) {
        let Some(path) = output.text("path").filter(|path| !is_unsafe(path)) else {
            continue;
        };
        let fault = if path.is_empty() {
            "is empty"
        } else if path.chars().any(is_control) {
            "contains a control character"
        } else if has_drive_prefix(&path) {
            "begins with a drive letter"
        } else if path
            .split('/')
            .any(|segment| segment.is_empty() || segment == ".")
        {
            "has an empty segment or a `.` segment"
        } else {
            continue;
        };
        let place = output.place.then("path");
        findings.add(place, format!("`{}` {fault}", path.escape_debug()));
    }
}

pub(super) fn check_ids(view: &BundleView<'_>, findings: &mut Findings) {
    let mut check = |part: &Part<'_>, name: &str, form: &str, fits: fn(&str) -> bool| {
        if let Some(text) = part.text(name).filter(|text| !fits(text)) {
            let place = part.place.then(name);
            findings.add(
                place,
                format!("`{}` does not have the form {form}", text.escape_debug()),
            );
        }
    };
    let bundle = top(view.root);
    let node_id = |text: &str| NodeId::parse(text).is_ok();
    check(&bundle, "id", "bundle_{hash16}", |text| {
        BundleId::parse(text).is_ok()
    });
    check(&bundle, "source_intent_hash", "of 64 hex digits", |text| {
        Digest::parse_hex(text).is_ok()
    });
    for (node, _) in nodes(view.root) {
        check(&node, "id", "node_{hash16}", node_id);
        check(&node, "parent_id", "node_{hash16}", node_id);
    }
    for question in questions(view.root) {
        check(&question, "id", "q_{hash16}", |text| {
            QuestionId::parse(text).is_ok()
        });
    }
    for output in outputs(view.root) {
        check(&output, "id", "out_{hash16}", |text| {
            OutputId::parse(text).is_ok()
        });
    }
    for (branch, _) in branches(view.root) {
        check(&branch, "branch_id", "of 8 hex digits", |text| {
            BranchId::parse(text).is_some()
        });
    }
    for (node, _) in nodes(view.root) {
        for child in node.elements("children") {
            if let Some(id) = child.node.as_lossy_str().filter(|id| !node_id(id)) {
                let shown = id.escape_debug();
                findings.add(
                    child.place,
                    format!("`{shown}` does not have the form node_{{hash16}}"),
                );
            }
        }
    }
}

pub(super) fn check_scores(view: &BundleView<'_>, findings: &mut Findings) {
    let mut check = |part: Option<Part<'_>>| {
        let Some(part) = part else { return };
        let Some(number) = part.node.as_number() else {
            return;
        };
        let value = number.to_f64();
        if !(value.fract() == 0.0 && (0.0..=100.0).contains(&value)) {
            let text = number.text();
            findings.add(
                part.place,
                format!("{text} is not an integer from 0 to 100"),
            );
        }
    };
    for (node, _) in nodes(view.root) {
        check(
            node.member("entropy")
                .and_then(|m| m.member("entropy_score")),
        );
        check(
            node.member("density")
                .and_then(|m| m.member("density_score")),
        );
    }
    for question in questions(view.root) {
        check(question.member("information_gain"));
        check(question.member("priority"));
    }
    for output in outputs(view.root) {
        check(output.member("confidence"));
    }
    if let Some(stats) = top(view.root).member("stats") {
        check(stats.member("avg_terminal_entropy"));
        check(stats.member("avg_terminal_density"));
    }
}

pub(super) fn check_status(view: &BundleView<'_>, findings: &mut Findings) {
    let count = |name: &str| {
        let list = view
            .root
            .get(name)
            .filter(|node| node.kind() == Kind::Array);
        list.map(|node| node.len())
    };
    let Some(status) = view.root.get("status").and_then(|node| node.as_lossy_str()) else {
        return;
    };
    let questions = count("unresolved_questions");
    let fault = match status.as_ref() {
        "complete" if questions.is_some_and(|n| n > 0) => "complete, but questions are open",
        "complete" if count("terminal_nodes") == Some(0) => "complete without a terminal node",
        "incomplete" if questions == Some(0) => "incomplete, but no question is open",
        "complete" | "incomplete" | "error" => return,
        other => {
            let shown = other.escape_debug();
            findings.add(
                JsonPath::ROOT.then("status"),
                format!("status is complete, incomplete or error, not `{shown}`"),
            );
            return;
        }
    };
    findings.add(JsonPath::ROOT.then("status"), fault);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semver_versions_are_recognized() {
        for good in ["0.1.0", "1.0.0-alpha.1", "1.0.0+build.01", "10.20.30-0a"] {
            assert!(is_semver(good), "{good}");
        }
        for bad in [
            "", "1", "1.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "v1.0.0", "1.0.0.0",
        ] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}

//! Single fields: version, paths, ids, scores, status (BS1, BS7, BS9, BS10, BS12, BS13).

use super::BundleView;
use super::walk::{Part, branches, nodes, outputs, questions, top};
use crate::canon::JsonPath;
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
    for output in outputs(view.root, findings) {
        let path = findings.need(output.text("path"));
        if let Some(path) = path.filter(|path| is_unsafe(path)) {
            let place = output.place.then("path");
            findings.add(
                place,
                format!("`{}` could leave the folder", path.escape_debug()),
            );
        }
    }
}

pub(super) fn check_normalized_paths(view: &BundleView<'_>, findings: &mut Findings) {
    for output in outputs(view.root, findings) {
        let path = findings.need(output.text("path"));
        let Some(path) = path.filter(|path| !is_unsafe(path)) else {
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
    fn check(part: &Part<'_>, (name, form): (&str, Form), findings: &mut Findings) {
        let text = findings.need(part.text(name));
        if let Some(text) = text.filter(|text| !(form.fits)(text)) {
            findings.add(part.place.then(name), form.fault(&text));
        }
    }
    let bundle = top(view.root);
    check(&bundle, ("id", BUNDLE_ID), findings);
    check(&bundle, ("source_intent_hash", HASH), findings);
    for (node, _) in nodes(view.root, findings) {
        check(&node, ("id", NODE_ID), findings);
        if !node.node.get("parent_id").is_some_and(|id| id.is_null()) {
            check(&node, ("parent_id", NODE_ID), findings);
        }
        for child in node.elements("children") {
            if let Some(id) = child.node.as_lossy_str().filter(|id| !(NODE_ID.fits)(id)) {
                findings.add(&child.place, NODE_ID.fault(&id));
            }
        }
    }
    for question in questions(view.root, findings) {
        check(&question, ("id", QUESTION_ID), findings);
    }
    for output in outputs(view.root, findings) {
        check(&output, ("id", OUTPUT_ID), findings);
    }
    for (branch, _) in branches(view.root, findings) {
        check(&branch, ("branch_id", BRANCH_ID), findings);
    }
}

/// The form of an id.
struct Form {
    name: &'static str,
    fits: fn(&str) -> bool,
}

impl Form {
    fn fault(&self, text: &str) -> String {
        let (text, name) = (text.escape_debug(), self.name);
        format!("`{text}` does not have the form {name}")
    }
}

const BUNDLE_ID: Form = Form {
    name: "bundle_{hash16}",
    fits: |text| BundleId::parse(text).is_ok(),
};
const NODE_ID: Form = Form {
    name: "node_{hash16}",
    fits: |text| NodeId::parse(text).is_ok(),
};
const QUESTION_ID: Form = Form {
    name: "q_{hash16}",
    fits: |text| QuestionId::parse(text).is_ok(),
};
const OUTPUT_ID: Form = Form {
    name: "out_{hash16}",
    fits: |text| OutputId::parse(text).is_ok(),
};
const BRANCH_ID: Form = Form {
    name: "of 8 hex digits",
    fits: |text| BranchId::parse(text).is_some(),
};
const HASH: Form = Form {
    name: "of 64 hex digits",
    fits: |text| Digest::parse_hex(text).is_ok(),
};

pub(super) fn check_scores(view: &BundleView<'_>, findings: &mut Findings) {
    let mut scores: Vec<Option<Part<'_>>> = Vec::new();
    for (node, _) in nodes(view.root, findings) {
        for (group, score) in [("entropy", "entropy_score"), ("density", "density_score")] {
            scores.push(node.member(group).and_then(|group| group.member(score)));
        }
    }
    for question in questions(view.root, findings) {
        scores.extend(["information_gain", "priority"].map(|name| question.member(name)));
    }
    for output in outputs(view.root, findings) {
        scores.push(output.member("confidence"));
    }
    let stats = top(view.root).member("stats");
    for name in ["avg_terminal_entropy", "avg_terminal_density"] {
        scores.push(stats.as_ref().and_then(|stats| stats.member(name)));
    }
    for score in scores {
        let Some((place, number)) = findings.need(score.and_then(Part::number)) else {
            continue;
        };
        let value = number.to_f64();
        if !(value.fract() == 0.0 && (0.0..=100.0).contains(&value)) {
            let text = number.text();
            findings.add(place, format!("{text} is not an integer from 0 to 100"));
        }
    }
}

pub(super) fn check_status(view: &BundleView<'_>, findings: &mut Findings) {
    let bundle = top(view.root);
    let Some(status) = findings.need(bundle.text("status")) else {
        return;
    };
    let is_empty = |name: &str| bundle.list(name).map(|list| list.is_empty());
    let mut has_none = |name: &str| findings.need(is_empty(name));
    let fault = match status.as_str() {
        "complete" if has_none("unresolved_questions") == Some(false) => {
            "complete, but questions are open"
        }
        "complete" if has_none("terminal_nodes") == Some(true) => {
            "complete without a terminal node"
        }
        "incomplete" if has_none("unresolved_questions") == Some(true) => {
            "incomplete, but no question is open"
        }
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

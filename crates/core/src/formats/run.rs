//! run.json: the result of one harness run. PK3's basic check, and RS1-RS8, which are rules of the
//! pack in strict mode.
//!
//! run.json exists only inside a pack, so these are functions that return messages, which the
//! pack's rules turn into findings at `run.json`.

use std::borrow::Cow;

use crate::canon::{Dialect, Kind, Node, canonical_bytes};
use crate::formats::policy::{Policy, Profile};
use crate::formats::shape::{
    Member, find_misfits, is_count, is_filled_text, is_flag, is_hash, is_object, is_text,
    is_text_list, is_word, member, text_is,
};
use crate::path::has_drive_prefix;
use crate::timestamp::parse_utc;
use crate::verify::Findings;

/// The version that runseal writes.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The members that every run has (PK3). Whether `bundle` and `execution` are needed depends on the
/// outcome.
const REQUIRED: [Member; 10] = [
    member(
        "run_schema_version",
        |node| text_is(node, is_known_version),
        "is not 1.N.N",
    ),
    member("run_id", is_filled_text, NO_TEXT),
    member("started_at", is_filled_text, NO_TEXT),
    member("completed_at", is_filled_text, NO_TEXT),
    member("kernel_version", is_filled_text, NO_TEXT),
    member("policy", is_object, NO_OBJECT),
    member("intent", is_object, NO_OBJECT),
    member(
        "kernel_result_kind",
        |node| text_is(node, |kind| ResultKind::parse(kind).is_some()),
        "is not BUNDLE, CLARIFY or REFUSE",
    ),
    member("decision", is_object, NO_OBJECT),
    member("model_mode", is_filled_text, NO_TEXT),
];
const NO_TEXT: &str = "is missing, empty or not a text";
const NO_OBJECT: &str = "is missing or not an object";

/// Whether the text is `1.N.N`, with numbers without leading zeros: the same major version, which is
/// read as 002 §9.3 asks.
fn is_known_version(text: &str) -> bool {
    let is_number = |part: &str| {
        let is_digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_digits && (part == "0" || !part.starts_with('0'))
    };
    let parts: Vec<&str> = text.split('.').collect();
    matches!(parts[..], ["1", minor, patch] if is_number(minor) && is_number(patch))
}

/// The outcome of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// There is a complete bundle.
    Bundle,
    /// There are questions.
    Clarify,
    /// The intent was refused.
    Refuse,
}

impl ResultKind {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bundle => "BUNDLE",
            Self::Clarify => "CLARIFY",
            Self::Refuse => "REFUSE",
        }
    }

    /// Parses the name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Bundle, Self::Clarify, Self::Refuse]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

/// The outcome that a run declares, if it is one of the three.
pub fn parse_result_kind(run: Node<'_>) -> Option<ResultKind> {
    ResultKind::parse(&text(run, "kernel_result_kind")?)
}

/// The text of a refusal without its code (000 §6.3, §8.2).
pub fn refusal_text(refusal: &str) -> &str {
    refusal.split_once(": ").map_or(refusal, |(_, text)| text)
}

/// PK3: every member except bundle and execution is there with its type, the outcome is known, and the
/// bundle and the intent's reference fit it (002 §4.2).
pub fn find_basic_faults(run: Node<'_>) -> Vec<String> {
    if !matches!(run.kind(), Kind::Object) {
        return vec![format!(
            "a run is an object, not {}",
            run.kind().with_article()
        )];
    }
    let misfits = find_misfits(run, &REQUIRED);
    let mut faults: Vec<String> = misfits
        .map(|misfit| format!("`{}` {}", misfit.name, misfit.fault))
        .collect();
    let bundle = run.get("bundle").filter(|bundle| !bundle.is_null());
    let is_whole = bundle
        .is_some_and(|bundle| is_text(bundle.get("bundle_id")) && is_text(bundle.get("sha256")));
    match parse_result_kind(run) {
        Some(ResultKind::Refuse) if bundle.is_some() => {
            faults.push("`bundle` is given although the intent was refused".to_owned());
        }
        Some(ResultKind::Bundle | ResultKind::Clarify) if !is_whole => {
            faults.push("`bundle` is missing or lacks bundle_id or sha256".to_owned());
        }
        _ => {}
    }
    if let Some(intent) = run.get("intent").filter(|node| is_object(Some(*node))) {
        if !is_hash(intent.get("sha256")) {
            faults.push("`intent.sha256` is not sha256: and 64 hex digits".to_owned());
        }
        if !text(intent, "path").is_some_and(|path| is_relative(&path)) {
            faults.push("`intent.path` is not a relative path".to_owned());
        }
    }
    let decision = run.get("decision").filter(|node| is_object(Some(*node)));
    if decision.is_some_and(|decision| !is_flag(decision.get("accepted"))) {
        faults.push("`decision.accepted` is missing or not a boolean".to_owned());
    }
    if decision.is_some_and(|decision| !is_text_list(decision.get("reasons"))) {
        faults.push("`decision.reasons` is missing or not a list of texts".to_owned());
    }
    faults
}

fn is_relative(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(['/', '\\']) && !has_drive_prefix(path)
}

/// A rule about run.json: adds what is wrong, each fault at run.json. PK3 reports what is missing or
/// mistyped, so these compare only what is there.
pub type RunCheck = fn(Node<'_>, &mut Findings);

const FILE: &str = "run.json";

/// RS1: the version is known.
pub fn check_version(run: Node<'_>, findings: &mut Findings) {
    let version = findings.need(text(run, "run_schema_version"));
    if version.is_some_and(|version| version != SCHEMA_VERSION) {
        let fault = format!("`run_schema_version` is not {SCHEMA_VERSION}");
        findings.add(FILE, fault);
    }
}

/// RS2: the outcome is one of three.
pub fn check_outcome(run: Node<'_>, findings: &mut Findings) {
    let kind = findings.need(text(run, "kernel_result_kind"));
    if kind.is_some_and(|kind| ResultKind::parse(&kind).is_none()) {
        findings.add(
            FILE,
            "`kernel_result_kind` is not BUNDLE, CLARIFY or REFUSE",
        );
    }
}

const RUN: [Member; 5] = [
    member("run_id", is_filled_text, "`run_id` is not text"),
    member(
        "kernel_version",
        is_filled_text,
        "`kernel_version` is not text",
    ),
    member(
        "started_at",
        is_exact_time,
        "`started_at` is not YYYY-MM-DDTHH:MM:SS.mmmZ",
    ),
    member(
        "completed_at",
        is_exact_time,
        "`completed_at` is not YYYY-MM-DDTHH:MM:SS.mmmZ",
    ),
    member(
        "model_mode",
        |node| is_word(node, &["none", "record", "replay"]),
        "`model_mode` is not none, record or replay",
    ),
];
const DECISION: [Member; 2] = [
    member(
        "reasons",
        is_text_list,
        "`decision.reasons` is not a list of strings",
    ),
    member("accepted", is_flag, "`decision.accepted` is not a boolean"),
];
const MALFORMED: &str = "is missing or malformed";
const EXECUTION: [Member; 6] = [
    member("sandbox_id", is_filled_text, MALFORMED),
    member("cmd", is_text_list, MALFORMED),
    member("exit_code", is_count, MALFORMED),
    member("stdout_sha256", is_hash, MALFORMED),
    member("stderr_sha256", is_hash, MALFORMED),
    member("output_truncated", is_flag, MALFORMED),
];
const OUTPUT: [Member; 3] = [
    member("path", is_text, MALFORMED),
    member("sha256", is_hash, MALFORMED),
    member("size_bytes", is_count, MALFORMED),
];

/// Whether a text is a time with milliseconds.
fn is_exact_time(node: Option<Node<'_>>) -> bool {
    text_is(node, |time| time.len() == 24 && parse_utc(time).is_some())
}

/// RS3: every member has its type, and those that depend on the outcome are present or absent.
pub fn check_table(run: Node<'_>, findings: &mut Findings) {
    for misfit in find_misfits(run, &RUN) {
        findings.add(FILE, misfit.fault);
    }
    if let Some(decision) = findings.need(object(run, "decision")) {
        for misfit in find_misfits(decision, &DECISION) {
            findings.add(FILE, misfit.fault);
        }
    }
    if let Some(kind) = findings.need(parse_result_kind(run)) {
        check_outcome_members(run, kind, findings);
    }
    match run.get("execution") {
        None => findings.add(FILE, "`execution` is missing"),
        Some(node) if node.is_null() => {}
        Some(node) => {
            for fault in execution_faults(node) {
                findings.add(FILE, fault);
            }
        }
    }
}

/// Checks the members that depend on the outcome.
fn check_outcome_members(run: Node<'_>, kind: ResultKind, findings: &mut Findings) {
    let mut require = |is_fine: bool, fault: &str| {
        if !is_fine {
            findings.add(FILE, fault);
        }
    };
    let bundle = run.get("bundle").map(|node| node.kind());
    let questions = run.get("clarify_questions");
    let reason = run.get("refuse_reason");
    if kind == ResultKind::Refuse {
        require(bundle == Some(Kind::Null), "`bundle` is not null");
        require(is_filled_text(reason), "`refuse_reason` is not text");
        let decision = run.get("decision");
        let shown = decision.and_then(|decision| decision.get("reason"));
        let refusal = text(run, "refuse_reason").unwrap_or_default();
        let is_same = |shown: Node<'_>| {
            let shown = shown.as_lossy_str();
            shown.is_some_and(|shown| shown == refusal || shown == refusal_text(&refusal))
        };
        require(
            shown.is_none_or(is_same),
            "`decision.reason` is not that of `refuse_reason`",
        );
    } else {
        require(bundle == Some(Kind::Object), "`bundle` is not an object");
        require(reason.is_none(), "`refuse_reason` is given");
    }
    if kind == ResultKind::Clarify {
        let is_given = is_text_list(questions) && questions.is_some_and(|list| !list.is_empty());
        require(is_given, "`clarify_questions` is not a list of questions");
    } else {
        require(questions.is_none(), "`clarify_questions` is given");
    }
    let execution = run.get("execution");
    require(
        kind == ResultKind::Bundle || execution.is_none_or(|node| node.is_null()),
        "`execution` is not null although there was nothing to execute",
    );
}

fn execution_faults(execution: Node<'_>) -> Vec<String> {
    if execution.kind() != Kind::Object {
        return vec!["`execution` is neither an object nor null".to_owned()];
    }
    let mut misfits: Vec<&str> = find_misfits(execution, &EXECUTION)
        .map(|misfit| misfit.name)
        .collect();
    // Not collected: the nodes of a long list take more memory than the list.
    let outputs = || {
        execution
            .get("outputs")
            .into_iter()
            .flat_map(|list| list.items())
    };
    let is_list = execution.get("outputs").map(|list| list.kind()) == Some(Kind::Array);
    let is_output = |node: Node<'_>| find_misfits(node, &OUTPUT).next().is_none();
    let paths = outputs().filter_map(|node| node.get("path").filter(Node::is_string));
    let is_sorted = paths.is_sorted_by(|a, b| a.compare_utf16(b).is_lt());
    if !(is_list && outputs().all(is_output) && is_sorted) {
        misfits.push("outputs");
    }
    let count = |node: Node<'_>, name: &str| {
        let number = node.get(name)?.as_number()?.to_exact_i64()?;
        (number >= 0).then_some(number)
    };
    let sizes = outputs().filter_map(|node| count(node, "size_bytes"));
    let total = sizes.fold(0, i64::saturating_add);
    if count(execution, "total_output_bytes") != Some(total) {
        misfits.push("total_output_bytes");
    }
    let fault = |name: &str| format!("`execution.{name}` {MALFORMED}");
    misfits.into_iter().map(fault).collect()
}

/// RS4: hashes are well formed, and the bundle has an id.
pub fn check_hashes(run: Node<'_>, findings: &mut Findings) {
    let intent = object(run, "intent").and_then(|intent| intent.get("sha256"));
    check_hash(intent, "intent.sha256", findings);
    if run.get("bundle").is_none_or(|bundle| bundle.is_null()) {
        return;
    }
    let bundle = findings.need(object(run, "bundle"));
    check_hash(
        bundle.and_then(|bundle| bundle.get("sha256")),
        "bundle.sha256",
        findings,
    );
    let id = findings.need(bundle.and_then(|bundle| text(bundle, "bundle_id")));
    if id.is_some_and(|id| id.is_empty()) {
        findings.add(FILE, "`bundle.bundle_id` is empty");
    }
}

fn check_hash(node: Option<Node<'_>>, name: &str, findings: &mut Findings) {
    let hash = findings.need(node.filter(Node::is_string));
    if hash.is_some() && !is_hash(hash) {
        findings.add(FILE, format!("`{name}` is not sha256: and 64 hex digits"));
    }
}

/// RS5: the embedded policy is the named profile, or is marked as custom and complete.
pub fn check_policy(run: Node<'_>, findings: &mut Findings) {
    let Some(policy) = findings.need(object(run, "policy")) else {
        return;
    };
    let Some(profile) = text(policy, "name").and_then(|name| Profile::named(&name)) else {
        return findings.add(FILE, "`policy.name` is not strict, default or dev");
    };
    let is_custom = policy.get("custom").and_then(|node| node.as_bool()) == Some(true);
    let named = if is_custom {
        match Policy::parse(policy) {
            Ok(policy) => policy,
            Err(fault) => return findings.add(FILE, format!("`policy` is custom, but {fault}")),
        }
    } else {
        profile.to_policy()
    };
    let given = canonical_bytes(policy, Dialect::Kernel).ok();
    let named = canonical_bytes(&named.to_value(), Dialect::Kernel).ok();
    if given != named && is_custom {
        findings.add(FILE, "`policy` is custom, but not resolved in full");
    } else if given != named {
        findings.add(
            FILE,
            format!("`policy` is not the profile {}", profile.name),
        );
    }
}

/// RS6: nothing reveals the host. A path climbs with either separator: packs travel between systems.
pub fn check_leaks(run: Node<'_>, findings: &mut Findings) {
    let path = object(run, "intent").and_then(|intent| text(intent, "path"));
    if let Some(path) = findings.need(path) {
        let climbs = path.split(['/', '\\']).any(|part| part == "..");
        if !is_relative(&path) || climbs {
            findings.add(FILE, "`intent.path` is not relative, or climbs");
        }
    }
    let execution = run.get("execution");
    for name in ["sandbox_path", "model_io_path"] {
        let is_there = |node: Node<'_>| node.get(name).is_some();
        if is_there(run) || execution.is_some_and(is_there) {
            findings.add(FILE, format!("`{name}` names a place on the host"));
        }
    }
}

/// RS7: the printed form is canonical, with or without the final LF.
pub fn find_form_faults(run: Node<'_>, bytes: &[u8]) -> Vec<String> {
    let printed = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    match canonical_bytes(run, Dialect::Kernel) {
        Ok(canonical) if canonical == printed => Vec::new(),
        _ => vec!["the file is not stored in canonical form".to_owned()],
    }
}

/// RS8: the decision agrees with what happened.
pub fn check_decision(run: Node<'_>, findings: &mut Findings) {
    let decision = object(run, "decision");
    let flag = |name: &str| decision.and_then(|decision| decision.get(name)?.as_bool());
    if decision.is_some() && flag("validated_by_kernel") != Some(true) {
        findings.add(FILE, "`decision.validated_by_kernel` is not true");
    }
    if findings.need(flag("accepted")) != Some(true) {
        return;
    }
    let kind = findings.need(parse_result_kind(run));
    if kind.is_some_and(|kind| kind != ResultKind::Bundle) {
        findings.add(FILE, "the run is accepted without a complete bundle");
    }
    if let Some(execution) = run.get("execution").filter(|node| !node.is_null()) {
        let code = execution.get("exit_code").and_then(|node| node.as_number());
        let code = findings.need(code).map(|code| code.to_f64());
        if code.is_some_and(|code| code != 0.0) {
            findings.add(FILE, "the run is accepted, but its execution failed");
        }
    }
}

/// The member `name`, if it is an object.
fn object<'a>(node: Node<'a>, name: &str) -> Option<Node<'a>> {
    node.get(name).filter(|node| node.kind() == Kind::Object)
}

//! run.json: the result of one harness run. PK3's basic check, and RS1-RS8, which are rules of the
//! pack in strict mode.
//!
//! run.json exists only inside a pack, so these are functions that return messages, which the
//! pack's rules turn into findings at `run.json`.

use std::borrow::Cow;

use crate::canon::{Dialect, Kind, Node, canonical_bytes};
use crate::formats::policy::{Policy, Profile};
use crate::formats::shape::{
    Member, find_misfits, is_count, is_filled_text, is_flag, is_hash, is_text, is_text_list,
    is_word, member, text_is,
};
use crate::path::has_drive_prefix;
use crate::timestamp::parse_utc;

/// The version that runseal writes.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The fields that PK3 requires.
const REQUIRED: [&str; 10] = [
    "run_schema_version",
    "run_id",
    "started_at",
    "completed_at",
    "kernel_version",
    "policy",
    "intent",
    "kernel_result_kind",
    "decision",
    "model_mode",
];

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

/// PK3: every field except bundle and execution is present, the outcome is known, and the bundle
/// and the intent's reference fit it (002 §4.2, rulings).
pub fn find_basic_faults(run: Node<'_>) -> Vec<String> {
    if !matches!(run.kind(), Kind::Object) {
        return vec![format!(
            "a run is an object, not {}",
            run.kind().with_article()
        )];
    }
    let missing = REQUIRED.iter().filter(|field| run.get(field).is_none());
    let mut faults: Vec<String> = missing
        .map(|field| format!("`{field}` is missing"))
        .collect();
    let kind = parse_result_kind(run);
    if kind.is_none() && run.get("kernel_result_kind").is_some() {
        faults.push("`kernel_result_kind` is not BUNDLE, CLARIFY or REFUSE".to_owned());
    }
    let bundle = run.get("bundle").filter(|bundle| !bundle.is_null());
    let is_whole = bundle
        .is_some_and(|bundle| bundle.get("bundle_id").is_some() && bundle.get("sha256").is_some());
    match kind {
        Some(ResultKind::Refuse) if bundle.is_some() => {
            faults.push("`bundle` is given although the intent was refused".to_owned());
        }
        Some(ResultKind::Bundle | ResultKind::Clarify) if !is_whole => {
            faults.push("`bundle` is missing or lacks bundle_id or sha256".to_owned());
        }
        _ => {}
    }
    if let Some(intent) = run.get("intent") {
        if !is_hash(intent.get("sha256")) {
            faults.push("`intent.sha256` is not sha256: and 64 hex digits".to_owned());
        }
        if !text(intent, "path").is_some_and(|path| is_relative(&path)) {
            faults.push("`intent.path` is not a relative path".to_owned());
        }
    }
    faults
}

fn is_relative(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(['/', '\\']) && !has_drive_prefix(path)
}

/// RS1: the version is given.
pub fn find_version_faults(run: Node<'_>) -> Vec<String> {
    let version = text(run, "run_schema_version");
    if version.as_deref() == Some(SCHEMA_VERSION) {
        Vec::new()
    } else {
        vec![format!("`run_schema_version` is not {SCHEMA_VERSION}")]
    }
}

/// RS2: the outcome is one of three.
pub fn find_outcome_faults(run: Node<'_>) -> Vec<String> {
    match parse_result_kind(run) {
        Some(_) => Vec::new(),
        None => vec!["`kernel_result_kind` is not BUNDLE, CLARIFY or REFUSE".to_owned()],
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

/// RS3: every field has its type, and those that depend on the outcome are present or absent.
pub fn find_table_faults(run: Node<'_>) -> Vec<String> {
    let decision = run.get("decision");
    let of_decision = match decision {
        Some(decision) => find_misfits(decision, &DECISION).collect(),
        None => Vec::from_iter(&DECISION),
    };
    let misfits = find_misfits(run, &RUN).chain(of_decision);
    let mut faults: Vec<String> = misfits.map(|misfit| misfit.fault.to_owned()).collect();
    let mut require = |is_fine: bool, message: &str| {
        if !is_fine {
            faults.push(message.to_owned());
        }
    };
    let bundle = run.get("bundle").map(|node| node.kind());
    let questions = run.get("clarify_questions");
    let reason = run.get("refuse_reason");
    let kind = parse_result_kind(run);
    if kind == Some(ResultKind::Refuse) {
        require(bundle == Some(Kind::Null), "`bundle` is not null");
        require(is_filled_text(reason), "`refuse_reason` is not text");
    } else {
        require(bundle == Some(Kind::Object), "`bundle` is not an object");
        require(reason.is_none(), "`refuse_reason` is given");
    }
    if kind == Some(ResultKind::Clarify) {
        let is_given = is_text_list(questions) && questions.is_some_and(|list| !list.is_empty());
        require(is_given, "`clarify_questions` is not a list of questions");
    } else {
        require(questions.is_none(), "`clarify_questions` is given");
    }
    match run.get("execution") {
        None => require(false, "`execution` is missing"),
        Some(node) if node.is_null() => {}
        Some(node) if kind == Some(ResultKind::Bundle) => faults.extend(execution_faults(node)),
        Some(_) => require(
            false,
            "`execution` is not null although there was nothing to execute",
        ),
    }
    faults
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
pub fn find_hash_faults(run: Node<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    if !run
        .get("intent")
        .is_some_and(|intent| is_hash(intent.get("sha256")))
    {
        faults.push("`intent.sha256` is not sha256: and 64 hex digits".to_owned());
    }
    if let Some(bundle) = run.get("bundle").filter(|bundle| !bundle.is_null()) {
        if !is_hash(bundle.get("sha256")) {
            faults.push("`bundle.sha256` is not sha256: and 64 hex digits".to_owned());
        }
        if text(bundle, "bundle_id").is_none_or(|id| id.is_empty()) {
            faults.push("`bundle.bundle_id` is not text, or empty".to_owned());
        }
    }
    faults
}

/// RS5: the embedded policy is the named profile, or is marked as custom and complete.
pub fn find_policy_faults(run: Node<'_>) -> Vec<String> {
    let Some(policy) = run.get("policy") else {
        return vec!["`policy` is missing".to_owned()];
    };
    let Some(profile) = text(policy, "name").and_then(|name| Profile::named(&name)) else {
        return vec!["`policy.name` is not strict, default or dev".to_owned()];
    };
    let is_custom = policy.get("custom").and_then(|node| node.as_bool()) == Some(true);
    let named = if is_custom {
        match Policy::parse(policy) {
            Ok(policy) => policy,
            Err(fault) => return vec![format!("`policy` is custom, but {fault}")],
        }
    } else {
        profile.to_policy()
    };
    let given = canonical_bytes(policy, Dialect::Kernel).ok();
    let named = canonical_bytes(&named.to_value(), Dialect::Kernel).ok();
    if given == named {
        Vec::new()
    } else if is_custom {
        vec!["`policy` is custom, but not resolved in full".to_owned()]
    } else {
        vec![format!("`policy` is not the profile {}", profile.name)]
    }
}

/// RS6: nothing reveals the host.
pub fn find_leaks(run: Node<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let path = run.get("intent").and_then(|intent| text(intent, "path"));
    if !path.is_some_and(|path| is_relative(&path) && path.split('/').all(|part| part != "..")) {
        faults.push("`intent.path` is not relative, or climbs".to_owned());
    }
    let execution = run.get("execution");
    for name in ["sandbox_path", "model_io_path"] {
        let is_there = |node: Node<'_>| node.get(name).is_some();
        if is_there(run) || execution.is_some_and(is_there) {
            faults.push(format!("`{name}` names a place on the host"));
        }
    }
    faults
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
pub fn find_decision_faults(run: Node<'_>) -> Vec<String> {
    let decision = run.get("decision");
    let flag = |name: &str| decision.and_then(|decision| decision.get(name)?.as_bool());
    let mut faults = Vec::new();
    if flag("validated_by_kernel") != Some(true) {
        faults.push("`decision.validated_by_kernel` is not true".to_owned());
    }
    if flag("accepted") == Some(true) {
        if parse_result_kind(run) != Some(ResultKind::Bundle) {
            faults.push("the run is accepted without a complete bundle".to_owned());
        }
        let execution = run.get("execution").filter(|node| !node.is_null());
        let code = execution.and_then(|node| node.get("exit_code")?.as_number());
        if execution.is_some() && !code.is_some_and(|code| code.to_f64() == 0.0) {
            faults.push("the run is accepted, but its execution failed".to_owned());
        }
    }
    faults
}

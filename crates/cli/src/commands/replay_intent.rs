//! Replaying what the kernel made: the intent goes through it again, and the two are compared.
//!
//! A context bundle is compared whole, by its canonical hash. A pack is compared by its bundle
//! (or, where the kernel refused, by its reason), and by the hash of the intent it names.

use std::fmt::Write as _;
use std::path::Path;

use runseal_core::canon::{
    Dialect, Document, Node, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use runseal_core::digest::ContentHash;
use runseal_core::verify::{Outcome, one_line};
use runseal_engine::input::{Input, read_file};
use runseal_kernel::{Bundle, Refusal, transform};

use crate::error::CliError;
use crate::intent_input::{internal, read_intent};
use crate::ui;

/// What was compared, and what came out differently.
struct Comparison {
    same: Vec<String>,
    differences: Vec<String>,
}

/// Replays the context bundle in the file `path` from the intent it was made of.
pub fn replay_bundle(path: &Path, intent: &Path, json: bool) -> Result<Outcome, CliError> {
    let bytes = read_file(path, ReadOptions::default().limits.max_bytes)?;
    let document = parse(&bytes, path)?;
    let mut comparison = Comparison {
        same: Vec::new(),
        differences: Vec::new(),
    };
    compare_bundle(&mut comparison, document.root(), &make(intent)?, path)?;
    print(&comparison, path, json)
}

/// Replays the pack in the folder `path` from the intent it was made of.
pub fn replay_pack(path: &Path, intent: &Path, json: bool) -> Result<Outcome, CliError> {
    let limit = ReadOptions::default().limits.max_bytes;
    let run_path = path.join("run.json");
    let run_bytes = read_file(&run_path, limit)?;
    let run = parse(&run_bytes, &run_path)?;
    let mut comparison = Comparison {
        same: Vec::new(),
        differences: Vec::new(),
    };
    let text = |node: Option<Node<'_>>| {
        node.and_then(|node| node.as_lossy_str())
            .unwrap_or_default()
            .into_owned()
    };
    let recorded = text(
        run.root()
            .get("intent")
            .and_then(|intent| intent.get("sha256")),
    );
    let intent_bytes = Input::from_argument(Some(intent)).read(limit)?;
    let actual = ContentHash::of(&intent_bytes).to_string();
    comparison.add("the intent's hash", &recorded, &actual);

    let made = make(intent)?;
    if text(run.root().get("kernel_result_kind")) == "REFUSE" {
        let again = match &made {
            Err(refusal) => refusal.to_string(),
            Ok(_) => "a bundle".to_owned(),
        };
        comparison.add(
            "the reason to refuse",
            &text(run.root().get("refuse_reason")),
            &again,
        );
    } else {
        let bundle_path = path.join("bundle.json");
        let bundle_bytes = read_file(&bundle_path, limit)?;
        let bundle = parse(&bundle_bytes, &bundle_path)?;
        compare_bundle(&mut comparison, bundle.root(), &made, &bundle_path)?;
    }
    print(&comparison, path, json)
}

fn parse<'a>(bytes: &'a [u8], path: &Path) -> Result<Document<'a>, CliError> {
    parse_document(bytes, &ReadOptions::default())
        .map_err(|error| CliError::json(&error, &path.display().to_string()))
}

fn make(intent: &Path) -> Result<Result<Bundle, Refusal>, CliError> {
    match read_intent(intent)? {
        Ok(intent) => Ok(Ok(transform(&intent).map_err(|error| internal(&error))?)),
        Err(refusal) => Ok(Err(refusal)),
    }
}

fn compare_bundle(
    comparison: &mut Comparison,
    sealed: Node<'_>,
    made: &Result<Bundle, Refusal>,
    path: &Path,
) -> Result<(), CliError> {
    let no_form = |error| CliError::no_form(&error, &path.display().to_string());
    let sealed_hash = canonical_digest(sealed, Dialect::Kernel).map_err(no_form)?;
    let bundle = match made {
        Ok(bundle) => bundle,
        Err(refusal) => {
            comparison.add("the outcome", "a bundle", &refusal.to_string());
            return Ok(());
        }
    };
    let made_hash = bundle.compute_hash().map_err(no_form)?;
    comparison.add(
        "the bundle's hash",
        &sealed_hash.to_string(),
        &made_hash.to_string(),
    );
    if sealed_hash == made_hash {
        return Ok(());
    }
    // Which of the bundle's members, so that a person knows where to look.
    let bytes_of = |node: Node<'_>| canonical_bytes(node, Dialect::Kernel).ok();
    for (key, value) in sealed.members() {
        let again = key.as_str().and_then(|key| bundle.value().get(&key));
        let again = again.and_then(|value| canonical_bytes(value, Dialect::Kernel).ok());
        if bytes_of(value) != again {
            comparison
                .differences
                .push(format!("member `{}` differs", key.to_lossy()));
        }
    }
    Ok(())
}

impl Comparison {
    fn add(&mut self, what: &str, sealed: &str, now: &str) {
        if sealed == now {
            self.same.push(format!("{what}: {now}"));
        } else {
            self.differences
                .push(format!("{what}: sealed `{sealed}`, now `{now}`"));
        }
    }
}

fn print(comparison: &Comparison, path: &Path, json: bool) -> Result<Outcome, CliError> {
    let reproduced = comparison.differences.is_empty();
    let verdict = if reproduced { "REPRODUCED" } else { "DIVERGED" };
    if json {
        let list = |lines: &[String]| Value::array(lines.iter().map(String::as_str));
        let mut answer = Value::object([("verdict", verdict)]);
        answer.insert("same", list(&comparison.same));
        answer.insert("differences", list(&comparison.differences));
        ui::print_json(&answer, Dialect::Kernel)?;
    } else {
        let mut text = format!("{}: {verdict}\n", path.display());
        // Writing into a string cannot fail.
        for line in &comparison.same {
            let _ = writeln!(text, "  same {}", one_line(line));
        }
        for line in &comparison.differences {
            let _ = writeln!(text, "  different: {}", one_line(line));
        }
        ui::print_bytes(text.as_bytes())?;
    }
    Ok(if reproduced {
        Outcome::Valid
    } else {
        Outcome::Invalid
    })
}

//! `runseal queue results`: the result of each task.

use runseal_core::canon::{Dialect, ReadOptions, Value, parse_document};
use runseal_core::hidden::one_line;
use runseal_core::verify::Outcome;
use runseal_store::store::{TaskRecord, TaskState};

use super::super::job::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// Show the result of each task, by its place; as JSON with the reports, one line per task.
///
/// Exit 0: no bad result so far. Exit 1: a result is bad, or a task was given up.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal queue results --format json > reports.jsonl")]
pub struct Args {
    /// Only places that begin like this.
    prefix: Option<String>,
    /// How to print.
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    format: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let store = args.store.read()?;
    let is_json = args.format == "json";
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let mut failed = None;
    let mut is_bad = false;
    let visited = store.visit_tasks(is_json, &mut |task| {
        if !task.location.starts_with(prefix) {
            return true;
        }
        is_bad |= is_bad_news(&task);
        let printed = if is_json {
            ui::print_asked_json(&render_json(&task), Dialect::Kernel)
        } else {
            ui::print_line(&render_line(&task))
        };
        match printed {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    });
    visited?;
    match (failed, is_bad) {
        (Some(error), _) => Err(error),
        (None, true) => Ok(Outcome::Invalid),
        (None, false) => Ok(Outcome::Valid),
    }
}

fn is_bad_news(task: &TaskRecord) -> bool {
    let outcome = task.result.as_ref().map(|result| result.outcome.as_str());
    task.state == TaskState::Failed
        || outcome.is_some_and(|outcome| !matches!(outcome, "valid" | "reproduced"))
}

fn render_line(task: &TaskRecord) -> String {
    let word = match &task.result {
        Some(result) => result.outcome.clone(),
        None => task.state.name().to_lowercase(),
    };
    let reason = match &task.reason {
        Some(reason) => format!("  {}", one_line(reason)),
        None => String::new(),
    };
    let place = one_line(&task.location);
    format!("{} {word:<14} {place}{reason}", task.kind.name())
}

fn render_json(task: &TaskRecord) -> Value {
    let mut printed = Value::object([
        ("task_id", task.task_id.as_str()),
        ("kind", task.kind.name()),
        ("path", task.location.as_str()),
        ("state", task.state.name()),
    ]);
    printed.insert("worker", task.worker_id.as_deref());
    printed.insert("reason", task.reason.as_deref());
    printed.insert("attempts", task.attempts);
    if let Some(result) = &task.result {
        printed.insert("outcome", result.outcome.as_str());
        printed.insert("content", result.content.as_str());
        let report = parse_document(result.report.as_bytes(), &ReadOptions::default());
        let report = report.ok().map(|document| document.root().to_value());
        printed.insert("report", report.unwrap_or(Value::Null));
    }
    printed
}

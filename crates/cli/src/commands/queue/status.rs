//! `runseal queue status`: the queue's progress, once or continuously.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

use runseal_core::canon::{Dialect, Value};
use runseal_core::hidden::{one_line, reveal};
use runseal_core::verify::Outcome;
use runseal_store::store::{QueueStatus, StoreReader, TaskState};

use super::super::job::place::StoreArgs;
use crate::error::CliError;
use crate::ui;

/// The window over which the rate is measured, in seconds.
const LATELY: f64 = 60.0;
/// The pause between two refreshes.
const BETWEEN: Duration = Duration::from_secs(1);

/// Show how far the queue is: tasks by state, results, rate, workers, the oldest lease, time left.
///
/// On a terminal the display is updated until nothing is open; Ctrl-C ends only the display.
/// Elsewhere the status is printed once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal queue status")]
pub struct Args {
    /// Print once, even on a terminal.
    #[arg(long)]
    once: bool,
    /// How to print the status, when it is printed once.
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    format: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let store = args.store.read()?;
    let is_live = std::io::stdout().is_terminal() && !args.once && args.format == "human";
    if is_live {
        watch(&*store)?;
    } else {
        let status = look(&*store)?;
        match args.format.as_str() {
            "json" => ui::print_asked_json(&render_json(&status), Dialect::Kernel)?,
            _ => ui::print_text(&render_text(&status))?,
        }
    }
    Ok(Outcome::Valid)
}

fn look(store: &dyn StoreReader) -> Result<QueueStatus, CliError> {
    store.queue_status(LATELY).map_err(CliError::from)
}

/// Redraws the status in place until nothing is open.
fn watch(store: &dyn StoreReader) -> Result<(), CliError> {
    let mut drawn = 0;
    loop {
        let status = look(store)?;
        let text = render_text(&status);
        let text = reveal(&text);
        let mut frame = String::new();
        if drawn > 0 {
            // Move up to the first line of the last frame.
            let _ = write!(frame, "\x1b[{drawn}A");
        }
        for line in text.lines() {
            let _ = writeln!(frame, "\x1b[2K{line}");
        }
        // Erase what the last frame had below this one.
        frame.push_str("\x1b[J");
        ui::print_bytes(frame.as_bytes())?;
        drawn = text.lines().count();
        if status.open() == 0 {
            return Ok(());
        }
        thread::sleep(BETWEEN);
    }
}

fn render_json(status: &QueueStatus) -> Value {
    let states = TaskState::ALL.map(|state| (state.name(), status.count(state)));
    let mut printed = Value::object([("tasks", Value::object(states))]);
    let outcomes = status.outcomes.iter().map(|(name, count)| {
        let mut outcome = Value::object([("outcome", name.as_str())]);
        outcome.insert("count", *count);
        outcome
    });
    printed.insert("results", Value::array(outcomes));
    printed.insert("ended_lately", status.recent);
    printed.insert("expired_leases", status.expired);
    // Integers only (a rate per 1000 seconds, whole seconds), which every JSON reader reads alike.
    printed.insert("per_1000_seconds", (status.rate() * 1000.0).round() as u64);
    let whole = |seconds: f64| seconds.max(0.0).round() as u64;
    printed.insert("oldest_lease_seconds", status.oldest_lease.map(whole));
    printed.insert("seconds_left", status.seconds_left().map(whole));
    let workers = status.workers.iter().map(|(name, load)| {
        let mut worker = Value::object([("worker", name.as_str())]);
        worker.insert("leased", load.leased);
        worker.insert("ended_lately", load.ended);
        worker
    });
    printed.insert("workers", Value::array(workers));
    printed
}

fn render_text(status: &QueueStatus) -> String {
    let mut text = String::new();
    let all: u64 = status.states.values().sum();
    let ended = all - status.open();
    let _ = writeln!(text, "{}  {ended} of {all} tasks ended", bar(ended, all));
    let states = TaskState::ALL.map(|state| {
        let name = state.name().to_lowercase();
        format!("{} {name}", status.count(state))
    });
    let _ = writeln!(text, "tasks     {}", states.join(", "));
    let outcomes: Vec<_> = status
        .outcomes
        .iter()
        .map(|(name, count)| format!("{count} {}", one_line(name)))
        .collect();
    let outcomes = if outcomes.is_empty() {
        "none yet".to_owned()
    } else {
        outcomes.join(", ")
    };
    let _ = writeln!(text, "results   {outcomes}");
    let _ = writeln!(
        text,
        "rate      {:.1} a second in the last minute",
        status.rate()
    );
    let left = match status.seconds_left() {
        _ if status.open() == 0 => "nothing is open".to_owned(),
        Some(seconds) => format!("about {}", duration(seconds)),
        None => "unknown: nothing has ended lately".to_owned(),
    };
    let _ = writeln!(text, "time left {left}");
    if let Some(age) = status.oldest_lease {
        let expired = match status.expired {
            0 => String::new(),
            count => format!("; {count} have run out and wait to be taken over"),
        };
        let _ = writeln!(
            text,
            "leases    the oldest is {} old{expired}",
            duration(age)
        );
    }
    let _ = writeln!(text, "workers   {}", status.workers.len());
    for (name, load) in status.workers.iter().take(16) {
        let name = one_line(name);
        let _ = writeln!(
            text,
            "  {name}: {} in hand, {} lately",
            load.leased, load.ended
        );
    }
    text
}

/// A progress bar of thirty characters.
fn bar(done: u64, all: u64) -> String {
    let filled = match all {
        0 => 30,
        all => (done * 30 / all) as usize,
    };
    format!("{}{}", "█".repeat(filled), "░".repeat(30 - filled))
}

fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_shown_in_words_and_numbers() {
        let mut status = QueueStatus {
            recent: 30,
            recent_seconds: 10.0,
            oldest_lease: Some(75.0),
            expired: 1,
            ..QueueStatus::default()
        };
        status.states.insert("PENDING", 27);
        status.states.insert("LEASED", 3);
        status.states.insert("DONE", 30);
        status.outcomes.insert("valid".to_owned(), 30);
        status
            .workers
            .entry("w\x1b[1m".to_owned())
            .or_default()
            .leased = 3;
        let text = render_text(&status);
        for part in [
            "30 of 60",
            "27 pending",
            "3.0 a second",
            "about 10 s",
            "1 min 15 s",
            "30 valid",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\x1b'), "{text:?}");
        assert!(render_text(&QueueStatus::default()).contains("nothing is open"));
    }
}

//! A progress bar on a terminal, and nothing anywhere else.

use std::fmt::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use runseal_fs::survey::Tally;

use crate::ui;

/// How long work must take before a bar is shown.
const FIRST: Duration = Duration::from_millis(300);
const BETWEEN: Duration = Duration::from_millis(100);

/// Does `work`; on a terminal, shows progress with rate and time left.
pub fn with_progress<T>(tally: &Tally, work: impl FnOnce() -> T) -> T {
    if !ui::shows_progress() {
        return work();
    }
    let (ended, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let show = move || {
            if waiting.recv_timeout(FIRST) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new(0).with_style(style());
            while waiting.recv_timeout(BETWEEN) == Err(RecvTimeoutError::Timeout) {
                bar.set_length(tally.found());
                bar.set_position(tally.done());
            }
            bar.finish_and_clear();
        };
        // If the system refuses another thread, the work continues without a bar.
        let _ = thread::Builder::new().spawn_scoped(scope, show);
        let result = work();
        drop(ended);
        result
    })
}

fn style() -> ProgressStyle {
    let template = "{bar:30} {pos}/{len} checked, {rate}, {eta} left";
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
        // If writing to the terminal fails, nothing can be done about it.
        let _ = out.write_str(&rate(state.per_sec()));
    })
}

/// A rate for people: per second with at most one decimal, or per minute if slower than that.
fn rate(per_second: f64) -> String {
    match per_second {
        fast if fast >= 10.0 => format!("{fast:.0} a second"),
        slow if slow >= 1.0 => format!("{slow:.1} a second"),
        rare if rare > 0.0 => format!("{:.0} a minute", rare * 60.0),
        _ => "just begun".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_few_digits() {
        assert_eq!(rate(4211.26), "4211 a second");
        assert_eq!(rate(2.04), "2.0 a second");
        assert_eq!(rate(0.25), "15 a minute");
        assert_eq!(rate(0.0), "just begun");
    }
}

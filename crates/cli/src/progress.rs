//! A progress bar on a terminal, and nothing anywhere else.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use runseal_engine::survey::Tally;

use crate::ui;

/// Short work shows no bar.
const FIRST: Duration = Duration::from_millis(300);
const BETWEEN: Duration = Duration::from_millis(100);

/// Does `work`; shows how far it is, with rate and time left, where a person looks on.
pub fn with_progress<T>(tally: &Tally, work: impl FnOnce() -> T) -> T {
    if !ui::shows_progress() {
        return work();
    }
    let (ended, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(FIRST) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new(0).with_style(style());
            while waiting.recv_timeout(BETWEEN) == Err(RecvTimeoutError::Timeout) {
                bar.set_length(tally.found());
                bar.set_position(tally.done());
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(ended);
        result
    })
}

fn style() -> ProgressStyle {
    let template = "{bar:30} {pos}/{len} checked, {per_sec}, {eta} left";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

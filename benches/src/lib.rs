//! Timing and tables for the benchmarks beside it.
//!
//! Contenders are run in turns, round after round, and the best round of each counts: what the
//! machine does beside us then hits all of them alike. There are no timed asserts anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark stops where it cannot go on"
)]

pub mod bare;
pub mod data;
pub mod plain;
pub mod process;

use std::time::{Duration, Instant};

/// Something to measure: a name and what to do once.
pub struct Contender<'a> {
    /// The name in the table.
    pub name: &'static str,
    /// What to do once; what it gives is kept from being optimized away.
    pub run: Box<dyn FnMut() -> Option<u64> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender that gives a number, or `None` where it cannot do the job.
    pub fn new(name: &'static str, run: impl FnMut() -> Option<u64> + 'a) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }
}

/// The best time of each contender for one run, `None` where it cannot do the job.
pub fn race(contenders: &mut [Contender<'_>], rounds: u32) -> Vec<Option<Duration>> {
    const ROUND: Duration = Duration::from_millis(40);
    let repeats: Vec<Option<u32>> = contenders
        .iter_mut()
        .map(|contender| {
            (contender.run)()?;
            let start = Instant::now();
            (contender.run)()?;
            let once = start.elapsed().max(Duration::from_nanos(50));
            Some((ROUND.as_nanos() / once.as_nanos()).clamp(1, 1_000_000) as u32)
        })
        .collect();
    let mut best = vec![None::<Duration>; contenders.len()];
    for _ in 0..rounds {
        for (at, contender) in contenders.iter_mut().enumerate() {
            let Some(repeats) = repeats[at] else { continue };
            let start = Instant::now();
            for _ in 0..repeats {
                std::hint::black_box((contender.run)());
            }
            let once = start.elapsed() / repeats;
            best[at] = Some(best[at].map_or(once, |before| before.min(once)));
        }
    }
    best
}

/// The best of some rounds of things that take long enough to be timed one by one.
pub fn best(rounds: usize, contenders: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    let found = best_and_median(rounds, contenders);
    found.into_iter().map(|[best, _]| best).collect()
}

/// The best of some rounds and the one in their middle.
pub fn best_and_median(rounds: usize, contenders: &mut [&mut dyn FnMut()]) -> Vec<[Duration; 2]> {
    let mut found = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (times, contender) in found.iter_mut().zip(contenders.iter_mut()) {
            let begun = Instant::now();
            contender();
            times.push(begun.elapsed());
        }
    }
    let sorted = found.into_iter().map(|mut times| {
        times.sort_unstable();
        [times[0], times[times.len() / 2]]
    });
    sorted.collect()
}

/// How long something takes once.
pub fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// A time as it stands in a table.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

/// How many times longer `a` took than `b`.
pub fn times(a: Duration, b: Duration) -> String {
    format!("{:.2} ×", a.as_secs_f64() / b.as_secs_f64())
}

/// Megabytes a second for `bytes` in `time`.
pub fn megabytes_per_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e6
}

/// A table in Markdown, with its columns aligned.
pub fn render_table(header: &[String], rows: &[Vec<String>]) -> String {
    let length = |row: &[String], column: usize| row[column].chars().count();
    let width = |column: usize| {
        rows.iter()
            .map(|row| length(row, column))
            .max()
            .unwrap_or(0)
            .max(length(header, column))
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, &width))| {
                if at == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(at, &width)| {
            if at == 0 {
                "-".repeat(width)
            } else {
                format!("{}:", "-".repeat(width - 1))
            }
        })
        .collect();
    let mut table = line(header);
    table.push_str(&line(&rule));
    rows.iter().for_each(|row| table.push_str(&line(row)));
    table
}

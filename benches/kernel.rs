//! Intent text to the canonical bytes of its bundle: a small intent, and growth over 10 to 10,000
//! constraints, for intents where nothing is open (and there the kernel alone, without reading the
//! intent and writing the bundle) and for intents full of open points.
//!
//! `cargo bench --bench kernel` prints the tables of docs/performance.md; numbers after `--` run
//! only those sizes.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use runseal_benches::process::parts;
use runseal_benches::{Contender, race, render_table};
use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_kernel::{parse_intent, transform};

const ROUNDS: u32 = 9;
const SIZES: [usize; 5] = [5, 10, 100, 1_000, 10_000];

fn main() {
    let header = [
        "constraints",
        "clear",
        "per constraint",
        "the kernel alone",
        "per constraint",
        "open points",
        "per constraint",
    ];
    let wants = parts();
    let mut rows = Vec::new();
    for size in SIZES.into_iter().filter(|size| wants(&size.to_string())) {
        let clear = intent_text(size, false);
        let open = intent_text(size, true);
        let document = parse_document(clear.as_bytes(), &ReadOptions::INTENT).ok();
        let intent = document
            .as_ref()
            .and_then(|document| parse_intent(document).ok());
        let mut contenders = vec![
            Contender::new("clear", || run(&clear)),
            Contender::new("alone", || {
                let bundle = transform(intent.as_ref()?).ok()?;
                Some(bundle.questions.len() as u64)
            }),
            Contender::new("open", || run(&open)),
        ];
        let times = race(&mut contenders, ROUNDS);
        let mut row = vec![size.to_string()];
        for time in times.into_iter().flatten() {
            let micros = time.as_secs_f64() * 1e6;
            row.push(format!("{micros:.0} µs"));
            row.push(format!("{:.2} µs", micros / size as f64));
        }
        rows.push(row);
    }
    println!("\nIntent text to canonical bundle:\n");
    println!("{}", render_table(&header.map(str::to_owned), &rows));
}

fn run(text: &str) -> Option<u64> {
    let document = parse_document(text.as_bytes(), &ReadOptions::INTENT).ok()?;
    let bundle = transform(&parse_intent(&document).ok()?).ok()?;
    let bytes = canonical_bytes(bundle.value(), Dialect::Kernel).ok()?;
    Some(bytes.len() as u64)
}

/// An intent with `size` constraints of the kind people write; every fourth is doubtful where
/// `open`, and every tenth contradicts the one before.
fn intent_text(size: usize, open: bool) -> String {
    let mut constraints = Vec::new();
    for n in 0..size {
        let (doubt, clash) = (open && n % 4 == 1, open && n % 10 == 3);
        constraints.push(match n % 5 {
            _ if doubt => {
                format!("\"Report {n} is written as PDF or maybe as HTML, limit <N{n}>\"")
            }
            _ if clash => format!("\"Field code_{} is never shown in list {}\"", n - 1, n - 1),
            0 => {
                format!("\"Python 3.12 module billing_{n} with pandas, used by the office clerks\"")
            }
            1 => format!("\"Table meter_{n} has number, day, value and state\""),
            2 => format!("\"Field code_{n} is shown in list {n} with two decimals\""),
            3 => format!(
                "\"If file data_{n}.csv is missing, stop with exit code {}\"",
                n % 250
            ),
            _ => format!(
                "\"Request {n} answers within {} ms and returns JSON\"",
                100 + n
            ),
        });
    }
    format!(
        "{{\"goal\":\"Build the billing service of the waterworks\",\"constraints\":[{}]}}",
        constraints.join(",")
    )
}

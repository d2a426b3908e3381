//! What large intents cost. Prints times, processor times and peak memory (build with `--release`
//! for meaningful figures), and checks that the size of the output is bounded.

use std::time::Instant;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_kernel::{Intent, transform};

/// A megabyte; less in a debug build, which would take minutes.
const LARGE: usize = if cfg!(debug_assertions) {
    1 << 16
} else {
    1 << 20
};

fn intent(goal: &str, constraints: &[String]) -> Intent {
    Intent::new(goal, constraints, Value::object::<Value>([])).unwrap()
}

/// The peak memory of the process, if the system reports it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap_or("unknown").trim().to_owned()
}

/// The processor time of this thread in seconds, if the system reports it: it varies little on a
/// busy machine.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split_whitespace()
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// Transforms, prints the time, and checks that the output is no larger than a few copies of the
/// input.
fn measure(name: &str, intent: &Intent, bytes: usize) {
    let (mut best, mut best_processor) = (f64::MAX, f64::MAX);
    let mut size = 0;
    for _ in 0..if cfg!(debug_assertions) { 1 } else { 3 } {
        let (start, processor) = (Instant::now(), processor_seconds());
        let bundle = transform(intent).unwrap();
        best = best.min(start.elapsed().as_secs_f64());
        best_processor = best_processor.min(processor_seconds() - processor);
        size = canonical_bytes(bundle.value(), Dialect::Kernel)
            .unwrap()
            .len();
    }
    println!(
        "{name:45} {:>9.3} ms, {:>9.3} ms of processor  {size:>9} bytes out",
        best * 1e3,
        best_processor * 1e3
    );
    // Root and leaf, each with its output and its sources; questions; the tree's budget, written
    // twice.
    let most = 8 * bytes + 16 * (1 << 20);
    assert!(size <= most, "{name}: {size} bytes out of {bytes}");
}

#[test]
fn cost_of_a_megabyte_of_repeated_text() {
    let units = [
        "`",
        "\"",
        "“",
        "[",
        "{",
        "<",
        "%A",
        "?",
        "? ",
        "???",
        "(",
        "a ",
        "a or b ",
        "either a or b ",
        "either a or b. ",
        "TBD ",
        "TBD. ",
        "not ",
        "never a ",
        "only a can b ",
        "at most 5 s ",
        "if a, ",
        "<x> ",
        "{{a}} ",
        "[insert name] ",
        "maybe ",
        "é",
        "\u{a0}",
        "\n",
        "a\n",
        "no a. ",
        "a is not b. ",
        "as discussed ",
        "to be ",
        "x",
        "1",
        "1,",
        "a.",
        "a-",
        "Decided: “a” ",
        "TODO list ",
        "at most N s. ",
        "might stay open ",
        "is to be seen by the user ",
        "[a ",
        "<a ",
        "a? ",
    ];
    for unit in units {
        let text = format!("x {}", unit.repeat(LARGE / unit.len()));
        measure(
            &format!("{LARGE} bytes of {unit:?} as a goal"),
            &intent(&text, &[]),
            text.len(),
        );
        measure(
            &format!("{LARGE} bytes of {unit:?} as a constraint"),
            &intent("Build it", std::slice::from_ref(&text)),
            text.len(),
        );
    }
    println!("peak memory {}", peak());
}

/// Constraints of many shapes, all different.
fn constraints(count: usize) -> Vec<String> {
    let line = |n: usize| match n % 8 {
        0 => format!("Field {n} of the order is required in every row of the table"),
        1 => format!("Field {} of the order is optional", n - 1),
        2 => format!("Request {n} answers within {n} ms for every user of the service"),
        3 => format!("The report of shop {n} is never deleted by the nightly job"),
        4 => format!("Only the manager of shop {n} may change the price of an article"),
        5 => format!("When the link to shop {n} is down, the till shows the last price"),
        6 => format!("Table t{n} has the columns code, name, amount and unit"),
        _ => format!("Shop {n} sends its sales to the server in Hamburg at night"),
    };
    (0..count).map(line).collect()
}

#[test]
fn cost_of_many_constraints() {
    for count in [5, 100, 1_000, 10_000] {
        let constraints = constraints(count);
        let bytes = constraints.iter().map(String::len).sum();
        measure(
            &format!("{count} constraints"),
            &intent("Build the shop system", &constraints),
            bytes,
        );
    }
    let same: Vec<String> = (0..10_000)
        .map(|n| format!("The rate {n} is never cached and is cached"))
        .collect();
    measure(
        "10000 constraints that all share their words",
        &intent("Build it", &same),
        500_000,
    );
    println!("peak memory {}", peak());
}

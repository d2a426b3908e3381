//! Measures how long a sandboxed `true` takes from call to outcome: the median, the fastest and
//! the slowest of so many runs (`cargo run --release --example start_up -- 200`).

#![allow(clippy::print_stdout, reason = "a measuring tool prints its figures")]

use std::time::Instant;

use runseal_sandbox::{Sandbox, Spec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 200_usize,
    };
    let sandbox = Sandbox::probe()?;
    let folder = tempfile::tempdir()?;
    let spec = Spec::new(["/usr/bin/true"], folder.path());
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let began = Instant::now();
        sandbox.run(&spec)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    if let (Some(fastest), Some(slowest)) = (times.first(), times.last()) {
        let median = times.get(times.len() / 2).unwrap_or(slowest);
        println!("median {median:?}, fastest {fastest:?}, slowest {slowest:?}");
    }
    Ok(())
}

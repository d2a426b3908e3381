//! Measures what watching costs: runs a command in the current folder by itself, in the sandbox
//! with a layer, and with observation besides, in turns, and prints the medians
//! (`cargo run --release --example observing -- ROUNDS COMMAND ARGUMENTS…`). Interpreters outside
//! the system's folders are named in `SHOW`, separated by colons.

#![allow(clippy::print_stdout, reason = "a measuring tool prints its figures")]

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use runseal_sandbox::{Observe, Sandbox, Spec};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().ok_or("how many rounds?")?.parse()?;
    let command: Vec<String> = arguments.collect();
    let program = command.first().ok_or("which command?")?;
    let folder = std::env::current_dir()?.canonicalize()?;
    let store = tempfile::tempdir()?;
    let sandbox = Sandbox::probe()?;
    let mut layered = Spec::in_folder(&command, &folder, store.path());
    if let Ok(path) = std::env::var("PATH") {
        layered.env.insert("PATH".to_owned(), path);
    }
    if let Ok(show) = std::env::var("SHOW") {
        show.split(':').for_each(|path| layered.view.show(path));
    }
    let mut observed = layered.clone();
    observed.observe = Some(Observe::default());

    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut calls = 0;
    let mut files = 0;
    for _ in 0..rounds {
        let [bare, with_layer, with_observer] = &mut times;
        let began = Instant::now();
        let status = Command::new(program)
            .args(command.get(1..).unwrap_or_default())
            .stdout(Stdio::null())
            .status()?;
        bare.push(began.elapsed());
        if !status.success() {
            return Err(status.to_string().into());
        }
        for (spec, times) in [(&layered, with_layer), (&observed, with_observer)] {
            let began = Instant::now();
            let recorded = sandbox.record(spec)?;
            times.push(began.elapsed());
            if !recorded.outcome.success() {
                return Err(format!("{:?}", recorded.outcome).into());
            }
            if let Some(observation) = recorded.observation {
                calls = observation.notifications;
                files = observation.files.len();
            }
        }
    }
    for (name, mut times) in ["bare", "layered", "observed"].into_iter().zip(times) {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("{name:>9}: median {median:?}");
    }
    println!("{calls} calls looked at, {files} paths");
    Ok(())
}

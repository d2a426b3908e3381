//! Measures how long `true` takes from call to outcome: by itself, below bubblewrap where that is
//! installed, in the sandbox, recorded in a layered folder, and at the weaker levels. The ways
//! take turns, so that all meet the same machine
//! (`cargo run --release --example start_up -- 200`).

#![allow(clippy::print_stdout, reason = "a measuring tool prints its figures")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use runseal_sandbox::{Isolation, Observe, Sandbox, Spec};

type Way = (&'static str, Box<dyn Fn() -> Result<(), Box<dyn Error>>>);

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 200_usize,
    };
    let ways = ways()?;
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(rounds); ways.len()];
    for _ in 0..rounds {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let began = Instant::now();
            way()?;
            times.push(began.elapsed());
        }
    }
    for ((name, _), mut times) in ways.iter().zip(times) {
        times.sort_unstable();
        if let (Some(fastest), Some(slowest)) = (times.first(), times.last()) {
            let median = times.get(times.len() / 2).unwrap_or(slowest);
            println!("{name:>12}: median {median:?}, fastest {fastest:?}, slowest {slowest:?}");
        }
    }
    Ok(())
}

fn ways() -> Result<Vec<Way>, Box<dyn Error>> {
    let mut ways: Vec<Way> = vec![(
        "bare",
        Box::new(|| spawn(&mut Command::new("/usr/bin/true"))),
    )];
    if Path::new("/usr/bin/bwrap").exists() {
        ways.push(("bubblewrap", Box::new(|| spawn(&mut bubblewrap()))));
    }
    let (folder, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let folder_path = folder.keep();
    let store_path = store.keep();
    let plain = Spec::new(["/usr/bin/true"], &folder_path);
    let sandbox = Sandbox::probe()?;
    let (one, spec) = (sandbox.clone(), plain.clone());
    ways.push(("sandbox", Box::new(move || run(&one, &spec))));
    let mut layered = Spec::in_folder(["/usr/bin/true"], folder_path.canonicalize()?, store_path);
    let (one, spec) = (sandbox.clone(), layered.clone());
    ways.push(("layered", Box::new(move || run(&one, &spec))));
    layered.observe = Some(Observe::default());
    let (one, spec) = (sandbox, layered.clone());
    ways.push(("recorded", Box::new(move || run(&one, &spec))));
    for (name, level) in [("landlock", Isolation::Landlock), ("none", Isolation::None)] {
        let (sandbox, spec) = (Sandbox::at(level)?, layered.clone());
        ways.push((name, Box::new(move || run(&sandbox, &spec))));
    }
    Ok(ways)
}

fn run(sandbox: &Sandbox, spec: &Spec) -> Result<(), Box<dyn Error>> {
    let recorded = sandbox.record(spec)?;
    if recorded.outcome.success() {
        Ok(())
    } else {
        Err(format!("{:?}", recorded.outcome).into())
    }
}

fn spawn(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(status.to_string().into())
    }
}

/// The nearest that bubblewrap has to the sandbox: the same namespaces and folders.
fn bubblewrap() -> Command {
    let mut command = Command::new("/usr/bin/bwrap");
    let arguments = "--unshare-all --die-with-parent --new-session --clearenv \
        --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
        --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin --proc /proc --dev /dev \
        --tmpfs /tmp --tmpfs /work --chdir /work /usr/bin/true";
    command.args(arguments.split_ascii_whitespace());
    command
}

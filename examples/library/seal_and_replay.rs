//! Seals an output that an engine gave elsewhere, and replays the bundle with that engine.
//!
//! `cargo run -p runseal --example seal_and_replay -- ENGINE INPUT.json OUTPUT.json OUT [ARTIFACTS]`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use runseal::{ReplayOptions, SealOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<_> = std::env::args_os().skip(1).collect();
    let [engine, input, output, out, artifacts @ ..] = given.as_slice() else {
        return Err("usage: seal_and_replay ENGINE INPUT.json OUTPUT.json OUT [ARTIFACTS]".into());
    };
    let (input, output) = (std::fs::read(input)?, std::fs::read(output)?);
    let mut options = SealOptions::new();
    if let [artifacts] = artifacts {
        options = options.artifacts(artifacts);
    }
    let sealed = runseal::seal(engine, &input, &output, out, &options)?;
    println!("sealed {}", sealed.path().display());

    let replay = runseal::replay(sealed.path(), &ReplayOptions::new().engine(engine))?;
    print!("{replay}");
    match replay.is_reproduced() {
        true => Ok(()),
        false => Err(replay.verdict().name().into()),
    }
}

//! A program that describes its own run and seals it: parameters, what it measured, what it made.
//!
//! `cargo run -p runseal --example describe_a_run -- OUT`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::args_os().nth(1).unwrap_or_else(|| "runs".into());
    let mut run = runseal::Recorder::begin("SQUARE_ROOT", env!("CARGO_PKG_VERSION"))?;
    run.param("of", 2)?;
    run.param("steps", 6)?;

    // Newton's way to the square root of two.
    let mut guess = 1.0_f64;
    let mut table = String::from("step,guess\n");
    for step in 1..=6 {
        guess = (guess + 2.0 / guess) / 2.0;
        run.metric("error", (guess * guess - 2.0).abs(), Some(step))?;
        table.push_str(&format!("{step},{guess}\n"));
    }
    run.metric("root", guess, None)?;
    run.artifact_bytes("guesses.csv", table.as_bytes())?;

    let sealed = run.seal(&out)?;
    println!("{}", sealed.path().display());
    print!("{}", runseal::verify_path(sealed.path()));
    Ok(())
}

//! Links the program so that it starts fast: most runs of it are shorter than what the loader
//! did for a common executable (docs/performance.md, "Start").

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUNSEAL_PIE");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    // A program without any library has nothing to gain, and is linked in another way.
    if env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|has| has.contains("crt-static")) {
        return;
    }
    // 26,000 addresses in tables are then written by the linker instead of at every start.
    // SECURITY.md says what is given up, and that RUNSEAL_PIE=1 keeps it.
    if !is("RUNSEAL_PIE", "1") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // The code that unwinds panics, as a part of the program instead of a library to be found,
    // mapped and set up.
    if has_static_unwinder() {
        println!("cargo::rustc-link-lib=static=gcc_eh");
    }
}

/// Whether the compiler that links has the unwinder as an archive.
fn has_static_unwinder() -> bool {
    let linker = match env::var_os("RUSTC_LINKER") {
        Some(linker) => linker,
        None if env::var_os("HOST") == env::var_os("TARGET") => "cc".into(),
        None => return false,
    };
    let asked = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    asked.is_ok_and(|told| {
        let path = String::from_utf8_lossy(&told.stdout);
        // Where there is none, the bare name comes back.
        Path::new(path.trim()).is_absolute() && Path::new(path.trim()).is_file()
    })
}

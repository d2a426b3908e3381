//! Any bytes: reading them as .tar.gz keeps its laws.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::targets::gz(bytes));

//! Any bytes: the reader keeps its law.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::check_reader(bytes));

//! Any bytes: the jcs dialect keeps its laws.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::targets::jcs(bytes));

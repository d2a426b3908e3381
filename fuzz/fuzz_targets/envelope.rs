//! Any bytes: as a file of signatures they are checked within the budget, and only what the key signed counts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::trust::check_signature_file(bytes));

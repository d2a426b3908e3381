//! Any bytes: as a proof, a checkpoint or an entry of a log they write back to the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::trust::check_proof(bytes));

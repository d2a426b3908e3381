//! Any bytes: as a time stamp they are checked within the budget.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::trust::check_timestamp(bytes));

//! Any bytes: a schema on the first line and a document behind it are judged within the budget.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::schemas::check_schema(bytes));

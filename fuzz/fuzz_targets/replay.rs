//! Any bytes: as a RUN_ENVIRONMENT.json they make a replay look at nothing but the system, and write in proportion.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::replay::check_replay(bytes));

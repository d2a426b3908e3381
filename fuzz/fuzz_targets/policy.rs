//! Any bytes: as a trust policy or a chain of policies they are sound or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::trust::check_policy(bytes));

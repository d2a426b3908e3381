//! Any bytes: the job dialect keeps its laws.
#![no_main]

use runseal_core::canon::Dialect;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    runseal_laws::check_dialect(bytes, Dialect::Job);
    runseal_laws::check_spelling(bytes, Dialect::Job);
});

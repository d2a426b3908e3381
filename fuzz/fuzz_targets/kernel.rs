//! Any bytes: the kernel dialect keeps its laws.
#![no_main]

use runseal_core::canon::Dialect;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    runseal_laws::check_dialect(bytes, Dialect::Kernel);
    runseal_laws::check_spelling(bytes, Dialect::Kernel);
});

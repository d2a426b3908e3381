//! A request and its body: its target stays below the upstream, and nothing secret is written.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::messages::check_http(bytes));

//! A line of MCP: what is recorded of it is valid, holds no secret, and is found again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| runseal_laws::messages::check_mcp(bytes));

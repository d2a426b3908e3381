//! Any bytes: reading them as .tar keeps its laws.
#![no_main]

use runseal_archive::Container;
use runseal_laws::archives;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    archives::check_archive(Container::Tar, bytes);
});

//! Any bytes: reading them as .tar.gz keeps its laws.
#![no_main]

use runseal_archive::Container;
use runseal_laws::archives;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    archives::check_gzip(bytes);
    archives::check_archive(Container::TarGz, bytes);
});

//! A stopped clock, as far as possible without changing programs.
//!
//! The kernel cannot give one process a different time of day. Build tools honour
//! SOURCE_DATE_EPOCH; if libfaketime is installed, it is loaded into dynamically linked programs.
//! Static programs see the true time, and what was not possible is reported.

use std::path::{Path, PathBuf};

/// Where distributions put libfaketime.
const PLACES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// What a command gets to stop its clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FixedTime {
    /// The seconds since 1970, if the clock is to be fixed.
    pub(crate) seconds: Option<i64>,
    /// Variables for the command.
    pub(crate) variables: Vec<(String, String)>,
    /// What is not fixed, for people.
    pub(crate) gap: Option<String>,
}

/// How to fix the clock at `seconds` on this machine.
pub(crate) fn fix_time(seconds: Option<i64>) -> FixedTime {
    let library = PLACES.iter().map(PathBuf::from).find(|path| path.exists());
    fix_with(seconds, library.as_deref())
}

fn fix_with(seconds: Option<i64>, library: Option<&Path>) -> FixedTime {
    let Some(seconds) = seconds else {
        return FixedTime::default();
    };
    let mut variables = vec![("SOURCE_DATE_EPOCH".to_owned(), seconds.to_string())];
    let gap = match library.and_then(Path::to_str) {
        Some(library) => {
            // Without a sign the clock is stopped; with one it would only be shifted.
            let moment = seconds.to_string();
            for (name, value) in [
                ("LD_PRELOAD", library),
                ("FAKETIME", moment.as_str()),
                ("FAKETIME_FMT", "%s"),
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
                ("FAKETIME_NO_CACHE", "1"),
                ("NO_FAKE_STAT", "1"),
            ] {
                variables.push((name.to_owned(), value.to_owned()));
            }
            "programs that are linked statically, and those that ask for the time without the C library \
             (Go programs), saw the true time; so did all who looked at the times of files"
        }
        None => {
            "libfaketime is not installed, so only programs that ask SOURCE_DATE_EPOCH saw the fixed \
             time; the package is called `faketime` or `libfaketime`. Times of files are the true ones \
             in any case"
        }
    };
    FixedTime {
        seconds: Some(seconds),
        variables,
        gap: Some(gap.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_time_says_what_it_cannot_fix() {
        assert_eq!(fix_with(None, None), FixedTime::default());
        let bare = fix_with(Some(7), None);
        assert_eq!(
            bare.variables,
            [("SOURCE_DATE_EPOCH".to_owned(), "7".to_owned())]
        );
        let gap = bare.gap.unwrap();
        assert!(
            gap.contains("not installed") && gap.contains("Times of files"),
            "{gap}"
        );
        let full = fix_with(Some(7), Some(Path::new("/l/libfaketime.so.1")));
        assert!(
            full.variables
                .contains(&("FAKETIME".to_owned(), "7".to_owned()))
        );
        let gap = full.gap.unwrap();
        assert!(
            gap.contains("statically") && gap.contains("times of files"),
            "{gap}"
        );
    }
}

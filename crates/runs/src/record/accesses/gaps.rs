//! Describes what observation missed, and how paths are named in the descriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_sandbox::{Gap, LeftProcess, NetworkAttempt, Observation};

/// The most examples that a gap names.
const SHOWN: usize = 5;

/// What the observation itself reports as missed, and what the command was refused.
pub(crate) fn observed_gaps(observation: &Observation) -> BTreeSet<CaptureGap> {
    let mut gaps: BTreeSet<CaptureGap> = observation.network.iter().map(network_gap).collect();
    let mut add = |kind: &str, detail: String| {
        gaps.insert(CaptureGap {
            kind: kind.to_owned(),
            detail,
        });
    };
    for gap in &observation.gaps {
        let (kind, detail) = match gap {
            Gap::NotObserved { reason } => {
                ("not-observed", format!("nothing was observed: {reason}"))
            }
            Gap::TooManyFiles { not_kept } => (
                "too-many-files",
                format!("{not_kept} opens of further files were not kept"),
            ),
            Gap::TooManyLooks { not_kept } => (
                "too-many-files",
                format!(
                    "{not_kept} looks at further names, whether something is there, were not kept"
                ),
            ),
            Gap::TooManyPrograms => (
                "too-many-programs",
                "more programs used randomness, threads or the network than are kept".to_owned(),
            ),
            Gap::Unresolved { count } => (
                "unresolved",
                match count {
                    1 => "an open could not be told: its process was gone or changed the name"
                        .to_owned(),
                    _ => format!(
                        "{count} opens could not be told: their process was gone or changed the name"
                    ),
                },
            ),
            Gap::SplitNames { path } => (
                "split-names",
                format!(
                    "`{}` was written to; under its other names (hard links) it stayed what it was",
                    path.display().to_string().escape_debug()
                ),
            ),
            Gap::MountBelow { path } => (
                "mount",
                format!(
                    "`{}` is another file system and was not shown",
                    path.display()
                ),
            ),
            Gap::LeftRunning { processes } => {
                let name = |process: &LeftProcess| match process.started_as.as_str() {
                    "" => format!("`{}`", process.name.escape_debug()),
                    word => format!(
                        "`{}` (started as `{}`)",
                        process.name.escape_debug(),
                        word.escape_debug()
                    ),
                };
                let names: Vec<String> = processes.iter().map(name).collect();
                (
                    "left-running",
                    format!(
                        "still running when the command ended, and ended with it: {}",
                        some_of(&names)
                    ),
                )
            }
            Gap::PartialProc => (
                "proc",
                "of /proc the command saw only processes: a container around it covers parts of its own"
                    .to_owned(),
            ),
            Gap::NoOverlay { reason } => (
                "view",
                format!(
                    "hidden files were covered and Unix sockets were refused, since no overlay can be had \
                     here: {reason}"
                ),
            ),
            // The location of the copy has no meaning for readers.
            Gap::CopiedFolder { .. } => (
                "copied-folder",
                "the command ran in a copy of the folder, under another path".to_owned(),
            ),
        };
        add(kind, detail);
    }
    gaps
}

/// The gap that files are which the command tried to read, although the sandbox did not show them or their
/// rights forbid it.
pub(crate) fn not_shown_gap(paths: &[String]) -> Option<CaptureGap> {
    let what = some_of(paths);
    (!paths.is_empty()).then(|| CaptureGap {
        kind: "unreadable".to_owned(),
        detail: format!(
            "opened, but not shown to the command or closed to it, so not hashed: {what}"
        ),
    })
}

/// The gap that an attempt to reach the network is.
pub(crate) fn network_gap(attempt: &NetworkAttempt) -> CaptureGap {
    let program = attempt.program.display();
    let ending = match attempt.is_refused {
        true => "and was refused",
        false => "and got it",
    };
    CaptureGap {
        kind: "network".to_owned(),
        detail: format!("{program} asked for {} {ending}", attempt.target),
    }
}

/// Programs that requested network access and were refused, each once with all its requests. Unix
/// sockets do not count: the C library opens one whenever it looks up a user.
pub(crate) fn refused_network(observation: Option<&Observation>) -> Vec<String> {
    let mut asked: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let attempts = observation.into_iter().flat_map(|it| &it.network);
    for attempt in attempts.filter(|it| it.is_refused && !it.target.starts_with("a Unix")) {
        let program = attempt.program.display().to_string();
        asked.entry(program).or_default().push(&attempt.target);
    }
    let line = |(program, targets): (String, Vec<&str>)| {
        format!("`{program}` asked for {}", targets.join(", "))
    };
    asked.into_iter().map(line).collect()
}

/// `/proc/17/stat` as `/proc/<process>/stat`: process ids have no meaning later.
pub(super) fn general_name(path: &Path) -> String {
    let part = |part: &OsStr| match part.to_str() {
        Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            "<process>".to_owned()
        }
        _ => part.to_string_lossy().into_owned(),
    };
    path.iter()
        .map(part)
        .collect::<Vec<_>>()
        .join("/")
        .replacen("//", "/", 1)
}

/// How many files lie below /tmp and /dev/shm: names of temporary files are made up by chance, and two
/// runs of the same are to give the same bundle.
pub(super) fn count_below(paths: &[&Path]) -> String {
    let mut tops: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let top = match path.starts_with("/dev/shm") {
            true => "/dev/shm",
            false => "/tmp",
        };
        *tops.entry(top).or_default() += 1;
    }
    let shown = tops.into_iter().map(|(top, count)| match count {
        1 => format!("1 file below {top}"),
        count => format!("{count} files below {top}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The first few names, and how many more there are.
pub(super) fn some_of(names: &[String]) -> String {
    let shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_counted_without_their_names() {
        let paths = ["/tmp/tmpk2x9", "/tmp/a/b", "/dev/shm/sem.x"].map(Path::new);
        assert_eq!(
            count_below(&paths),
            "1 file below /dev/shm, 2 files below /tmp"
        );
    }

    #[test]
    fn general_name_has_no_process_numbers() {
        assert_eq!(
            general_name(Path::new("/proc/17/stat")),
            "/proc/<process>/stat"
        );
        assert_eq!(general_name(Path::new("/sys/x1")), "/sys/x1");
    }
}

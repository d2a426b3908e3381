//! Why a command may not do the same twice, as far as observation can tell.
//!
//! These are leads to follow up, ordered by how much they explain; none is a proof.

use std::path::Path;

use runseal_core::formats::model_io::asked::PLACEHOLDER;
use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_sandbox::{NetworkAttempt, Observation, ObservedKind};

use super::accesses::network_gap;
use crate::run::replay::Divergence;

/// Devices that give random bytes.
const RANDOM: [&str; 2] = ["/dev/urandom", "/dev/random"];

/// How the sentence begins that is said where no reason was found.
pub(crate) const UNEXPLAINED: &str = "nothing that was seen explains it";

/// Programs that go by the times of files, or write them down.
const BY_FILE_TIMES: [&str; 7] = ["git", "gmake", "make", "ninja", "rsync", "tar", "zip"];

/// Kinds of gaps that leave out something that a replay then lacks.
const TELLING_GAPS: [&str; 5] = [
    "changed",
    "left-running",
    "listing",
    "too-many-files",
    "unresolved",
];

/// What is known of the run that another one is compared with.
#[derive(Debug, Default)]
pub(crate) struct Before<'a> {
    /// What was not captured of it.
    pub(crate) gaps: Vec<&'a CaptureGap>,
    /// Whether its clock was to be stopped.
    pub(crate) has_fixed_time: bool,
}

/// Explains why the results of a run may vary from those of the one before.
pub(crate) fn explain(
    observation: Option<&Observation>,
    divergences: &[Divergence],
    before: &Before<'_>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if divergences.iter().any(misses_something) {
        reasons.push(
            "it missed something that was there: of files outside the folder and of times it cannot be \
             seen whether the command looked at them"
                .to_owned(),
        );
    }
    if divergences.iter().any(has_placeholder) {
        reasons.push("the recorded answer has a placeholder where a secret was".to_owned());
    }
    if divergences.iter().any(looks_like_time) {
        reasons.push(match before.has_fixed_time {
            true => {
                "what differs looks like a time: the times of files, and the clock of programs that \
                 `--fixed-time` does not reach, are the true ones"
            }
            false => {
                "what differs looks like a time: the command read the clock (`--fixed-time` gives it \
                 a constant one), or times of files other than when an input was modified, which no bundle keeps"
            }
        }
        .to_owned());
    }
    for gap in &before.gaps {
        if TELLING_GAPS.contains(&gap.kind.as_str()) {
            reasons.push(format!("the recording lacks something: {}", gap.detail));
        }
    }
    let Some(observation) = observation else {
        reasons.push("nothing was observed, so nothing can be said about the cause".to_owned());
        return reasons;
    };
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let names = |paths: Vec<String>| {
        let mut paths = paths;
        paths.sort();
        paths.dedup();
        paths.join(", ")
    };
    let random_file = observation
        .files
        .iter()
        .any(|file| file.is_read && RANDOM.iter().any(|device| file.path == Path::new(device)));
    if !observation.randomness.is_empty() {
        let programs = names(
            observation
                .randomness
                .keys()
                .map(|path| name(path))
                .collect(),
        );
        reasons.push(format!(
            "{programs} asked the kernel for random bytes: fix the seed"
        ));
    } else if random_file {
        reasons.push("the command read /dev/urandom: fix the seed".to_owned());
    }
    let executed = observation.files.iter().filter(|file| file.is_executed);
    let by_times: Vec<String> = executed
        .map(|file| name(&file.path))
        .filter(|name| BY_FILE_TIMES.contains(&name.as_str()))
        .collect();
    if !by_times.is_empty() {
        reasons.push(format!(
            "{} may go by the times of files: a replay sets when inputs were modified, and all others are new",
            names(by_times)
        ));
    }
    // What was refused both times cannot have made a difference.
    let was_refused_too = |attempt: &NetworkAttempt| {
        let gap = network_gap(attempt);
        attempt.is_refused && before.gaps.iter().any(|known| **known == gap)
    };
    for (is_refused, ending) in [(true, "was refused"), (false, "it got")] {
        let attempts = observation.network.iter();
        let attempts = attempts.filter(|it| it.is_refused == is_refused && !was_refused_too(it));
        let targets = names(attempts.map(|attempt| attempt.target.clone()).collect());
        if !targets.is_empty() {
            reasons.push(format!(
                "the command asked for the network ({targets}), which {ending}"
            ));
        }
    }
    let of_kernel: Vec<String> = observation
        .files
        .iter()
        .filter(|file| file.is_read && file.kind != ObservedKind::Folder)
        .filter(|file| is_of_the_moment(&file.path))
        .map(|file| name(&file.path))
        .collect();
    if !of_kernel.is_empty() {
        reasons.push(format!(
            "the command read what the running kernel says ({})",
            names(of_kernel)
        ));
    }
    if !observation.threads.is_empty() {
        let programs = names(observation.threads.keys().map(|path| name(path)).collect());
        reasons.push(format!(
            "{programs} ran several threads, whose order may vary"
        ));
    }
    if reasons.is_empty() {
        reasons.push(format!(
            "{UNEXPLAINED}; reading the clock, the times of files, the process number, what the kernel says \
             about processors, memory and limits, and the order of names in a folder cannot be seen, nor what a \
             program makes of them (a shell's `$RANDOM`)"
        ));
    }
    reasons
}

/// Files of /proc and /sys whose content changes all the time. Programs read others of them at
/// every start, without consequences.
fn is_of_the_moment(path: &Path) -> bool {
    let last = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    path.starts_with("/proc")
        && matches!(
            last,
            "stat"
                | "uptime"
                | "loadavg"
                | "meminfo"
                | "uuid"
                | "boot_id"
                | "random"
                | "statm"
                | "status"
                | "schedstat"
                | "cpuinfo"
                | "version"
                | "diskstats"
                | "vmstat"
        )
}

/// Whether a run says that something is not there which the other one found.
fn misses_something(divergence: &Divergence) -> bool {
    let difference = divergence.difference.as_deref().unwrap_or_default();
    let mut lines = difference.lines().filter(|line| !line.starts_with(' '));
    lines.any(|line| line.contains("No such file"))
}

/// Whether what came now has a placeholder of the recording's where something else was sealed.
fn has_placeholder(divergence: &Divergence) -> bool {
    let difference = divergence.difference.as_deref().unwrap_or_default();
    difference.lines().any(|line| {
        let now = match line.split_once(", now ") {
            Some((_, now)) => now,
            None => line.strip_prefix('+').unwrap_or_default(),
        };
        now.contains(PLACEHOLDER)
    })
}

/// Whether the texts that differ have a time of day, a date or a count of seconds where they do.
fn looks_like_time(divergence: &Divergence) -> bool {
    let Some(difference) = &divergence.difference else {
        return false;
    };
    difference.lines().any(|line| {
        let is_changed = (line.starts_with('+') || line.starts_with('-'))
            && !line.starts_with("+++")
            && !line.starts_with("---");
        (is_changed || line.contains(", now ")) && has_time(line)
    })
}

/// Whether a line has a time of day, a date, or a number of 10, 13 or 19 digits that may be a count
/// since 1970.
fn has_time(line: &str) -> bool {
    let bytes = line.as_bytes();
    let shape = |at: usize, pattern: &[u8]| {
        bytes.get(at..at + pattern.len()).is_some_and(|piece| {
            piece
                .iter()
                .zip(pattern)
                .all(|(byte, wanted)| match wanted {
                    b'9' => byte.is_ascii_digit(),
                    other => byte == other,
                })
        })
    };
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).any(|at| {
        // Digits behind a point are a fraction.
        let is_begin = at == 0 || !is_digit(at - 1) && bytes[at - 1] != b'.';
        let digits = (at..bytes.len()).take_while(|at| is_digit(*at)).count();
        let counts = matches!(digits, 10 | 13 | 16 | 19) && bytes[at] == b'1';
        is_begin && (shape(at, b"99:99:99") || shape(at, b"9999-99-99") || counts)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn divergence(difference: &str) -> Divergence {
        Divergence {
            path: "logs/stdout.txt".to_owned(),
            pointer: None,
            sealed: String::new(),
            now: String::new(),
            difference: Some(difference.to_owned()),
        }
    }

    fn an_observed_file() -> runseal_sandbox::ObservedFile {
        runseal_sandbox::ObservedFile {
            is_renamed: false,
            path: "/x".into(),
            kind: ObservedKind::File,
            is_read: false,
            is_written: false,
            is_executed: false,
            first: runseal_sandbox::FirstUse::Read,
            needs_original: true,
            bytes: 0,
            modified_ns: 0,
            status_changed_ns: 0,
            also_as: Vec::new(),
        }
    }

    #[test]
    fn time_is_told_from_other_numbers() {
        for text in [
            "-at 12:00:01\n+at 12:00:02",
            "+1763338000.25",
            "/t: 1763338000123, now 1763338000456",
            "row 2, column `day`: 2026-11-16, now 2026-11-17",
        ] {
            assert!(looks_like_time(&divergence(text)), "{text}");
        }
        for text in [
            "-0.123\n+0.456",
            "-0.1234567890123456\n+0.1876543210987654",
            " at 12:00:01\n-a\n+b",
            "+12345",
            "--- 2026-11-16",
        ] {
            assert!(!looks_like_time(&divergence(text)), "{text}");
        }
    }

    #[test]
    fn what_is_missing_now_is_named_first() {
        let missing = divergence("+cat: x: No such file or directory");
        let reasons = explain(
            Some(&Observation::default()),
            &[missing],
            &Before::default(),
        );
        assert!(reasons[0].contains("it missed something"), "{reasons:?}");
        let same = divergence(" cat: x: No such file or directory\n-a\n+b");
        let reasons = explain(Some(&Observation::default()), &[same], &Before::default());
        assert!(reasons[0].contains("nothing that was seen"), "{reasons:?}");
    }

    #[test]
    fn placeholder_where_a_secret_was_is_a_reason() {
        let told = "the recorded answer has a placeholder where a secret was";
        for text in [
            "-sk-abc\n+[redacted:openai-key:0011223344556677]",
            "/t: sk-abc, now [redacted:openai-key:0011223344556677]",
        ] {
            let reasons = explain(None, &[divergence(text)], &Before::default());
            assert_eq!(reasons[0], told, "{text}");
        }
        let before = "-[redacted:openai-key:0011223344556677]\n+other";
        let reasons = explain(None, &[divergence(before)], &Before::default());
        assert_ne!(reasons[0], told);
    }

    #[test]
    fn reasons_name_what_was_seen() {
        let observation = Observation {
            randomness: BTreeMap::from([("/usr/bin/python3.11".into(), 2)]),
            threads: BTreeMap::from([("/usr/bin/node".into(), 4)]),
            ..Observation::default()
        };
        let reasons = explain(Some(&observation), &[], &Before::default()).join("\n");
        assert!(
            reasons.contains("python3.11 asked the kernel for random bytes"),
            "{reasons}"
        );
        assert!(reasons.contains("node ran several threads"), "{reasons}");
        let reasons = explain(Some(&Observation::default()), &[], &Before::default());
        assert!(reasons[0].contains("nothing that was seen"), "{reasons:?}");
        assert!(reasons[0].contains("the times of files"), "{reasons:?}");
    }

    #[test]
    fn what_was_refused_both_times_is_not_a_reason() {
        let observation = Observation {
            network: vec![NetworkAttempt {
                program: "/usr/bin/bash".into(),
                target: "a Unix socket".to_owned(),
                is_refused: true,
            }],
            ..Observation::default()
        };
        let reasons = explain(Some(&observation), &[], &Before::default());
        assert!(reasons[0].contains("a Unix socket"), "{reasons:?}");
        let gap = network_gap(&observation.network[0]);
        let before = Before {
            gaps: vec![&gap],
            has_fixed_time: false,
        };
        let reasons = explain(Some(&observation), &[], &before);
        assert!(reasons[0].starts_with(UNEXPLAINED), "{reasons:?}");
    }

    #[test]
    fn programs_that_go_by_file_times_and_the_recordings_gaps_are_reasons() {
        let make = runseal_sandbox::ObservedFile {
            path: "/usr/bin/make".into(),
            is_executed: true,
            ..an_observed_file()
        };
        let observation = Observation {
            files: vec![make],
            ..Observation::default()
        };
        let gap = CaptureGap {
            kind: "listing".to_owned(),
            detail: "`d` was listed and has 7 more names than are kept".to_owned(),
        };
        let before = Before {
            gaps: vec![&gap],
            has_fixed_time: true,
        };
        let time = divergence("-at 12:00:01\n+at 12:00:02");
        let reasons = explain(Some(&observation), &[time], &before).join("\n");
        assert!(
            reasons.contains("make may go by the times of files"),
            "{reasons}"
        );
        assert!(reasons.contains("7 more names than are kept"), "{reasons}");
        assert!(!reasons.contains("gives it a constant one"), "{reasons}");
    }
}

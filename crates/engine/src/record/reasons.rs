//! Why a command may not do the same twice, as far as observation can tell.
//!
//! These are leads to follow up, ordered by how much they explain; none is a proof.

use std::path::Path;

use runseal_core::formats::model_io::asked::PLACEHOLDER;
use runseal_sandbox::{Observation, ObservedKind};

use crate::run::replay::Divergence;

/// Devices that give random bytes.
const RANDOM: [&str; 2] = ["/dev/urandom", "/dev/random"];

/// Explains why the results of a run may vary.
pub(crate) fn explain(
    observation: Option<&Observation>,
    divergences: &[Divergence],
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
        reasons.push(
            "what differs looks like a time: the command read the clock (`--fixed-time` gives it a constant one)"
                .to_owned(),
        );
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
    if !observation.network.is_empty() {
        let targets = names(
            observation
                .network
                .iter()
                .map(|attempt| attempt.target.clone())
                .collect(),
        );
        reasons.push(format!(
            "the command asked for the network ({targets}), which was refused"
        ));
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
        reasons.push(
            "nothing that was seen explains it; reading the clock, the process number and the order of names \
             in a folder cannot be seen"
                .to_owned(),
        );
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
        let reasons = explain(Some(&Observation::default()), &[missing]);
        assert!(reasons[0].contains("it missed something"), "{reasons:?}");
        let same = divergence(" cat: x: No such file or directory\n-a\n+b");
        let reasons = explain(Some(&Observation::default()), &[same]);
        assert!(reasons[0].contains("nothing that was seen"), "{reasons:?}");
    }

    #[test]
    fn placeholder_where_a_secret_was_is_a_reason() {
        let told = "the recorded answer has a placeholder where a secret was";
        for text in [
            "-sk-abc\n+[redacted:openai-key:0011223344556677]",
            "/t: sk-abc, now [redacted:openai-key:0011223344556677]",
        ] {
            assert_eq!(explain(None, &[divergence(text)])[0], told, "{text}");
        }
        let before = "-[redacted:openai-key:0011223344556677]\n+other";
        assert_ne!(explain(None, &[divergence(before)])[0], told);
    }

    #[test]
    fn reasons_name_what_was_seen() {
        let observation = Observation {
            randomness: BTreeMap::from([("/usr/bin/python3.11".into(), 2)]),
            threads: BTreeMap::from([("/usr/bin/node".into(), 4)]),
            ..Observation::default()
        };
        let reasons = explain(Some(&observation), &[]).join("\n");
        assert!(
            reasons.contains("python3.11 asked the kernel for random bytes"),
            "{reasons}"
        );
        assert!(reasons.contains("node ran several threads"), "{reasons}");
        let reasons = explain(Some(&Observation::default()), &[]);
        assert!(reasons[0].contains("nothing that was seen"), "{reasons:?}");
    }
}

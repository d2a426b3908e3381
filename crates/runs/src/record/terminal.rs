//! What a command's standard streams led to, as a bundle says it, and what it showed on a terminal as an asciicast.

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, NoCanonicalForm, Node, Value, canonical_bytes};
use runseal_core::formats::run_bundle::recorded::{
    CaptureGap, TERMINAL_MEMBER, TERMINAL_RECORDING, parse_gaps,
};
use runseal_sandbox::{
    Outcome, Stdin, Stream, Terminal, TerminalChange, TerminalLog, TerminalSize,
};

use super::documents::FileEntry;

/// Variables that say what a terminal can do. A command on a terminal has the caller's.
pub const TERMINAL_VARIABLES: [&str; 2] = ["COLORTERM", "TERM"];

/// The kind of the gap that says that something was typed: it is not in the bundle, since it may be a password.
pub(crate) const TYPED: &str = "terminal-input";

/// What a command's standard streams lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamKinds {
    pub(crate) stdin: &'static str,
    stdout: &'static str,
    stderr: &'static str,
}

impl StreamKinds {
    pub(crate) fn of(stdin: &Stdin, terminal: Option<&Terminal>) -> Self {
        let given = match stdin {
            Stdin::Null => "null",
            Stdin::Bytes(_) | Stdin::File(_) => "file",
            Stdin::Pipe(_) => "pipe",
        };
        let kind = |is_terminal: bool, otherwise| match is_terminal {
            true => "terminal",
            false => otherwise,
        };
        let is_on = |stream: fn(&Terminal) -> bool| terminal.is_some_and(stream);
        Self {
            stdin: kind(is_on(|it| it.stdin), given),
            stdout: kind(is_on(|it| it.stdout), "pipe"),
            stderr: kind(is_on(|it| it.stderr), "pipe"),
        }
    }

    pub(crate) fn to_value(self) -> Value {
        Value::object([
            ("stdin", self.stdin),
            ("stdout", self.stdout),
            ("stderr", self.stderr),
        ])
    }
}

/// The member [`TERMINAL_MEMBER`] of RUN_ENVIRONMENT.json.
pub(crate) fn terminal_value(size: TerminalSize, recording: Option<&FileEntry>) -> Value {
    let mut value = Value::object([
        ("columns", u64::from(size.columns)),
        ("rows", u64::from(size.rows)),
    ]);
    if let Some(recording) = recording {
        value.insert(TERMINAL_RECORDING, recording.to_value());
    }
    value
}

/// What a bundle cannot say about a terminal.
pub(crate) fn terminal_gaps(log: &TerminalLog) -> impl Iterator<Item = CaptureGap> {
    let typed = (log.typed > 0).then(|| CaptureGap {
        kind: TYPED.to_owned(),
        detail: format!(
            "{} bytes of what was typed on the terminal were read; but for what it showed of them they are not kept, \
             since they may be a password",
            log.typed
        ),
    });
    let is_resized = |what: TerminalChange| matches!(what, TerminalChange::Resized(_));
    let resized = log.events.iter().any(|event| is_resized(event.what));
    let resized = resized.then(|| CaptureGap {
        kind: "terminal-size".to_owned(),
        detail: "the terminal got another size; a replay has the first one".to_owned(),
    });
    typed.into_iter().chain(resized)
}

/// The terminal that a recorded command had, without anybody to type.
pub(crate) fn recorded_terminal(environment: Node<'_>) -> Option<Terminal> {
    let terminal = environment.get(TERMINAL_MEMBER)?;
    let streams = environment.get("streams");
    let is_terminal = |name: &str| {
        let kind = streams.and_then(|streams| streams.get(name)?.as_str());
        kind.as_deref() == Some("terminal")
    };
    let usual = TerminalSize::default();
    let count = |name: &str| {
        let count = terminal.get(name)?.as_number()?.to_exact_i64()?;
        u16::try_from(count).ok().filter(|count| *count > 0)
    };
    Some(Terminal {
        stdin: is_terminal("stdin"),
        stdout: is_terminal("stdout"),
        stderr: is_terminal("stderr"),
        size: TerminalSize {
            columns: count("columns").unwrap_or(usual.columns),
            rows: count("rows").unwrap_or(usual.rows),
        },
        own: None,
    })
}

/// The variables of a recorded command that describe its terminal.
pub(crate) fn recorded_variables(environment: Node<'_>) -> BTreeMap<String, String> {
    let variables = environment.get("variables");
    let one = |name: &str| {
        let value = variables.and_then(|variables| variables.get(name)?.as_str());
        Some((name.to_owned(), value?.into_owned()))
    };
    TERMINAL_VARIABLES.into_iter().filter_map(one).collect()
}

/// What a recorded command's standard input led to; nothing if the bundle does not say.
pub(crate) fn recorded_stdin(environment: Option<Node<'_>>) -> Option<String> {
    let streams = environment.and_then(|environment| environment.get("streams"))?;
    Some(streams.get("stdin")?.as_str()?.into_owned())
}

/// Whether something was typed when the run was recorded, by what the bundle says.
pub(crate) fn was_typed(environment: Node<'_>) -> Option<CaptureGap> {
    let gaps = parse_gaps(environment);
    gaps.into_iter().find(|gap| gap.kind == TYPED)
}

/// What was shown on a terminal, with times, as an asciicast of version 2. What is not UTF-8 is replaced there; the
/// plain log has the bytes.
pub(crate) fn make_cast(
    outcome: &Outcome,
    log: &TerminalLog,
    size: TerminalSize,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<u8>, NoCanonicalForm> {
    let shown = match log.stream {
        Some(Stream::Stdout) => &outcome.stdout.bytes,
        Some(Stream::Stderr) => &outcome.stderr.bytes,
        Some(Stream::Terminal) | None => &log.alone,
    };
    let mut header = Value::object([
        ("version", 2_u64),
        ("width", u64::from(size.columns)),
        ("height", u64::from(size.rows)),
    ]);
    if let Some(term) = variables.get("TERM") {
        header.insert("env", Value::object([("TERM", term.as_str())]));
    }
    let mut lines = canonical_bytes(&header, Dialect::Jcs)?;
    lines.push(b'\n');
    let mut rest = shown.as_slice();
    // The first bytes of a character that is not whole yet.
    let mut begun: Vec<u8> = Vec::new();
    for (at, event) in log.events.iter().enumerate() {
        let (kind, text) = match event.what {
            TerminalChange::Shown(count) => {
                let (piece, after) = rest.split_at(count.min(rest.len()));
                rest = after;
                begun.extend_from_slice(piece);
                let is_last = !log.events[at + 1..]
                    .iter()
                    .any(|event| matches!(event.what, TerminalChange::Shown(_)));
                let whole = match is_last {
                    true => begun.len(),
                    false => begun.len() - length_of_begun(&begun),
                };
                let text = String::from_utf8_lossy(&begun[..whole]).into_owned();
                begun.drain(..whole);
                ("o", text)
            }
            TerminalChange::Resized(size) => ("r", format!("{}x{}", size.columns, size.rows)),
        };
        if text.is_empty() {
            continue;
        }
        let text = canonical_bytes(&Value::from(text.as_str()), Dialect::Jcs)?;
        let seconds = event.at.as_secs();
        let micros = event.at.subsec_micros();
        lines.extend_from_slice(format!("[{seconds}.{micros:06},\"{kind}\",").as_bytes());
        lines.extend_from_slice(&text);
        lines.extend_from_slice(b"]\n");
    }
    Ok(lines)
}

/// How many bytes at the end are the beginning of a character.
fn length_of_begun(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let first = bytes[bytes.len() - back];
        let length = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_sandbox::{Captured, Ending, Enforcement, Enforcer, TerminalEvent};
    use std::time::Duration;

    fn cast(shown: &[u8], events: &[(u64, TerminalChange)]) -> String {
        let outcome = Outcome {
            ending: Ending::Exited(0),
            stdout: Captured {
                bytes: shown.to_vec(),
                truncated: false,
            },
            stderr: Captured::default(),
            duration: Duration::ZERO,
            enforcement: Enforcement {
                memory: Enforcer::Nobody,
                work_folder: Enforcer::Nobody,
            },
            input: None,
            terminal: None,
            interrupted: None,
        };
        let log = TerminalLog {
            stream: Some(Stream::Stdout),
            events: events
                .iter()
                .map(|(at, what)| TerminalEvent {
                    at: Duration::from_micros(*at),
                    what: *what,
                })
                .collect(),
            ..TerminalLog::default()
        };
        let size = TerminalSize {
            columns: 100,
            rows: 30,
        };
        let variables = BTreeMap::from([("TERM".to_owned(), "xterm".to_owned())]);
        String::from_utf8(make_cast(&outcome, &log, size, &variables).unwrap()).unwrap()
    }

    #[test]
    fn cast_has_times_and_whole_characters() {
        let size = TerminalSize {
            columns: 80,
            rows: 24,
        };
        let events = [
            (5, TerminalChange::Shown(2)),
            (1_500_000, TerminalChange::Resized(size)),
            (2_000_001, TerminalChange::Shown(4)),
            (3_000_000, TerminalChange::Shown(1)),
        ];
        assert_eq!(
            cast("aä\u{1b}[m".as_bytes(), &events),
            "{\"env\":{\"TERM\":\"xterm\"},\"height\":30,\"version\":2,\"width\":100}\n\
             [0.000005,\"o\",\"a\"]\n\
             [1.500000,\"r\",\"80x24\"]\n\
             [2.000001,\"o\",\"ä\\u001b[m\"]\n"
        );
        let events = [(0, TerminalChange::Shown(1)), (9, TerminalChange::Shown(1))];
        assert!(cast(b"\xe2x", &events).ends_with("[0.000009,\"o\",\"\u{fffd}x\"]\n"));
    }
}

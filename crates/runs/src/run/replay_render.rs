//! The result of a replay, for people and for programs.

use std::fmt::Write as _;

use runseal_core::canon::Value;
use runseal_core::verify::one_line;
use runseal_sandbox::Isolation;

use super::replay::{Comparison, Divergence, REPLAY_RULES, Replay, Verdict};
use crate::record::machine::Here;
use crate::record::repeat::Varying;

/// The most differing files of the machine that are shown to people.
const SHOWN_FILES: usize = 20;

/// The most lines about what differs that are shown to people.
const SHOWN_LINES: usize = 40;

/// The replay as JSON.
pub fn render_json(replay: &Replay) -> Value {
    let verdict = replay.verdict();
    let rules = REPLAY_RULES.iter().zip(&replay.rules).enumerate();
    let rules = rules.map(|(at, (title, faults))| {
        let mut rule = Value::object([("rule", at + 1)]);
        rule.insert("title", *title);
        match replay.was_checked(at) {
            true => rule.insert("ok", faults.is_empty()),
            false => rule.insert("ok", Value::Null),
        };
        rule.insert(
            "violations",
            Value::array(faults.iter().map(String::as_str)),
        );
        rule
    });
    let rules_json = replay.rules_json();
    let runs = replay.runs.iter().map(|run| {
        let divergences = run.divergences.iter().map(divergence_json);
        let mut one = Value::object([("divergences", Value::array(divergences))]);
        one.insert("same_artifacts", run.same_artifacts);
        if rules_json.is_some() {
            run.rules_json(&mut one);
        }
        one
    });
    let mut printed = Value::object([("verdict", verdict.name())]);
    printed.insert("ok", verdict == Verdict::Reproduced);
    printed.insert("text", replay.verdict_text());
    if let Verdict::NotReplayable { rule } = verdict {
        printed.insert("rule", rule);
    }
    if let Some(fork) = &replay.fork {
        let mut forked = Value::object([("at", fork.at), ("live", fork.live)]);
        forked.insert("answered", fork.answered);
        forked.insert("recording", fork.recording.display().to_string());
        printed.insert("fork", forked);
    }
    printed.insert("rules", Value::array(rules));
    printed.insert("runs", Value::array(runs));
    if let Some(rules) = rules_json.clone() {
        printed.insert("compared_by", rules);
    }
    if let Some(check) = &replay.environment {
        let differs = check.differs.iter().map(|file| {
            let mut one = Value::object([
                ("path", file.path.as_str()),
                ("sealed", file.sealed.as_str()),
            ]);
            match &file.here {
                Here::File(here) => {
                    one.insert("here", here.as_str());
                }
                Here::Size(bytes) => {
                    one.insert("bytes_here", *bytes);
                }
                Here::Nothing | Here::Unreadable(_) => {}
            }
            if let Some(package) = &file.package {
                one.insert("package", package.as_str());
            }
            one
        });
        let is_same = check.differs.is_empty() && check.not_looked_at.is_none();
        let mut environment = Value::object([("same", is_same)]);
        environment.insert("compared", check.compared);
        if let Some((count, _)) = check.not_looked_at {
            environment.insert("not_looked_at", count);
        }
        environment.insert("differs", Value::array(differs));
        if let Some(name) = check.other_name() {
            environment.insert("on_another", name);
        }
        printed.insert("environment", environment);
    }
    printed.insert(
        "reasons",
        Value::array(replay.reasons.iter().map(String::as_str)),
    );
    let gap = |gap: &runseal_core::formats::run_bundle::recorded::CaptureGap| {
        Value::object([("kind", gap.kind.as_str()), ("detail", gap.detail.as_str())])
    };
    printed.insert("capture_gaps", Value::array(replay.gaps.iter().map(gap)));
    if let Some(isolation) = replay.isolation {
        printed.insert("sandbox", isolation.name());
        let shown = replay.shown.iter().map(|path| path.display().to_string());
        printed.insert("shown", Value::array(shown.collect::<Vec<_>>()));
    }
    if replay.has_failed {
        printed.insert("failed_run", true);
    }
    if replay.is_redacted || !replay.not_compared.is_empty() {
        let places = replay.not_compared.iter().map(String::as_str);
        printed.insert("not_compared", Value::array(places));
    }
    if !replay.unused_files.is_empty() {
        let files = replay.unused_files.iter().map(String::as_str);
        printed.insert("unused_files", Value::array(files));
    }
    printed
}

fn divergence_json(divergence: &Divergence) -> Value {
    let mut one = Value::object([
        ("path", divergence.path.as_str()),
        ("sealed", divergence.sealed.as_str()),
        ("now", divergence.now.as_str()),
    ]);
    if let Some(pointer) = &divergence.pointer {
        one.insert("pointer", pointer.as_str());
    }
    if let Some(difference) = &divergence.difference {
        one.insert("difference", difference.as_str());
    }
    one
}

/// The replay for people.
pub fn render_human(replay: &Replay, shown: &str) -> String {
    let mut text = String::new();
    let shown = one_line(shown);
    // Writing into a string cannot fail.
    let _ = match replay.verdict() {
        Verdict::NotReplayable { rule } => {
            writeln!(
                text,
                "{shown}: NOT REPLAYABLE: replay rule {rule} does not hold"
            )
        }
        _ => writeln!(text, "{shown}: {}", one_line(&replay.verdict_text())),
    };
    if replay.has_failed {
        let _ = writeln!(text, "  the sealed run is one of a command that FAILED");
    }
    for (at, (title, faults)) in REPLAY_RULES.iter().zip(&replay.rules).enumerate() {
        let state = match (faults.is_empty(), replay.was_checked(at)) {
            (true, true) => "holds",
            (true, false) if replay.is_redacted => "NOT CHECKED in a redacted copy",
            (true, false) => "NOT CHECKED, because what it needs is missing",
            (false, _) => "DOES NOT HOLD",
        };
        let _ = writeln!(text, "  rule {} {state}: {title}", at + 1);
        for fault in faults {
            let _ = writeln!(text, "    {}", one_line(fault));
        }
    }
    let mut lines = DifferenceLines::default();
    for (at, run) in replay.runs.iter().enumerate() {
        let number = (at, replay.runs.len());
        render_run(&mut text, number, run, &replay.outputs_hash, &mut lines);
    }
    let rest = "`--format json` has all of them, and `--out DIR` keeps the new files";
    lines.tell_rest(&mut text, rest);
    replay.render_rules(&mut text);
    render_circumstances(&mut text, replay);
    text
}

fn render_circumstances(text: &mut String, replay: &Replay) {
    for reason in &replay.reasons {
        let _ = writeln!(text, "  why: {}", one_line(reason));
    }
    if let Some(check) = &replay.environment {
        for file in check.differs.iter().take(SHOWN_FILES) {
            let _ = writeln!(text, "  warning: {}", one_line(&file.to_string()));
        }
        if check.differs.len() > SHOWN_FILES {
            let more = check.differs.len() - SHOWN_FILES;
            let _ = writeln!(
                text,
                "  warning: and {more} more files of the machine differ"
            );
        }
    }
    for place in &replay.not_compared {
        let _ = writeln!(text, "  not compared: {}", one_line(place));
    }
    for path in replay.unused_files.iter().take(SHOWN_FILES) {
        let path = one_line(path);
        let _ = writeln!(
            text,
            "  not part of the run: {path} (neither given to the command nor compared)"
        );
    }
    if replay.unused_files.len() > SHOWN_FILES {
        let more = replay.unused_files.len() - SHOWN_FILES;
        let _ = writeln!(text, "  not part of the run: and {more} more files");
    }
    for note in &replay.notes {
        let _ = writeln!(text, "  note: {}", one_line(note));
    }
    for path in &replay.shown {
        let path = one_line(&path.display().to_string());
        let _ = writeln!(text, "  shown to the command: {path}");
    }
    if let Some(isolation) = replay.isolation
        && isolation != Isolation::Full
    {
        let _ = writeln!(
            text,
            "  sandbox level {isolation}: {}",
            isolation.weakness()
        );
    }
    let level = replay.isolation.map(|isolation| isolation.weakness());
    let specific = replay.gaps.iter().filter(|gap| gap.kind != "never-seen");
    for gap in specific {
        // The level of this run is said already, and mostly the recording's is the same.
        if gap.kind == "sandbox" && level.is_some_and(|level| gap.detail.ends_with(level)) {
            continue;
        }
        let _ = writeln!(text, "  not captured: {}", one_line(&gap.detail));
    }
}

fn render_run(
    text: &mut String,
    (at, of): (usize, usize),
    run: &Comparison,
    outputs_hash: &str,
    lines: &mut DifferenceLines,
) {
    let number = match of > 1 {
        true => format!("run {} of {of}: ", at + 1),
        false => String::new(),
    };
    let artifacts = run.same_artifacts;
    let outputs_hash = match outputs_hash {
        "" => "withheld",
        hash => hash,
    };
    let is_under_rules = !run.within.is_empty() || !run.exempt.is_empty();
    let _ = match run.divergences.first() {
        None if is_under_rules => writeln!(
            text,
            "  {number}no difference beyond the rules{}",
            match artifacts {
                0 => String::new(),
                1 => "; 1 artifact is the same to the byte".to_owned(),
                several => format!("; {several} artifacts are the same to the byte"),
            }
        ),
        None => writeln!(
            text,
            "  {number}the same output (outputs_hash {outputs_hash}){}",
            match artifacts {
                0 => " and no artifacts".to_owned(),
                1 => " and the same artifact".to_owned(),
                several => format!(" and the same {several} artifacts"),
            }
        ),
        Some(first) => {
            writeln!(text, "  {number}first divergence: {}", place_of(first))
        }
    };
    run.render_rules(text);
    lines.render(text, &run.divergences);
}

/// The file that differs, and where in it.
fn place_of(divergence: &Divergence) -> String {
    let pointer = divergence.pointer.as_deref().unwrap_or_default();
    let place = format!("{} {pointer}", divergence.path);
    one_line(place.trim_end())
}

/// What differs, up to the most lines that are shown.
#[derive(Default)]
struct DifferenceLines {
    shown: usize,
    more: usize,
}

impl DifferenceLines {
    fn add(&mut self, text: &mut String, line: &str) {
        if self.shown == SHOWN_LINES {
            self.more += 1;
            return;
        }
        self.shown += 1;
        let _ = writeln!(text, "{line}");
    }

    fn render(&mut self, text: &mut String, divergences: &[Divergence]) {
        for divergence in divergences {
            let (sealed, now) = (one_line(&divergence.sealed), one_line(&divergence.now));
            let place = place_of(divergence);
            self.add(text, &format!("    {place}: sealed {sealed}, now {now}"));
            for line in divergence.difference.iter().flat_map(|it| it.lines()) {
                self.add(text, &format!("      {}", one_line(line)));
            }
        }
    }

    fn tell_rest(&self, text: &mut String, rest: &str) {
        let _ = match self.more {
            0 => return,
            1 => writeln!(text, "    and 1 more line: {rest}"),
            more => writeln!(text, "    and {more} more lines: {rest}"),
        };
    }
}

/// Describes what varies between several runs.
pub fn render_varying(varying: &Varying, times: u32) -> String {
    let mut text =
        format!("warning: {times} runs did not give the same; the first one is sealed\n");
    let mut lines = DifferenceLines::default();
    for (at, divergences) in varying.runs.iter().enumerate() {
        if !divergences.is_empty() {
            let _ = writeln!(text, "  run {} of {times}:", at + 2);
            lines.render(&mut text, divergences);
        }
    }
    lines.tell_rest(
        &mut text,
        "`runseal replay --format json` has all that differs from what is sealed",
    );
    for reason in &varying.reasons {
        let _ = writeln!(text, "  why: {}", one_line(reason));
    }
    text
}

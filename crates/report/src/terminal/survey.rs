//! A survey for people: what failed, where, expected and actual, what it means, and what to do.

use std::fmt::Write as _;

use runseal_core::formats::Format;
use runseal_core::verify::answer::{meaning_of, named_place, rule_of, unlisted_note};
use runseal_core::verify::{EXPECTED, Finding, Level, Outcome, Survey, UnitResult, Verdict};

use super::{Screen, columns, fit, pad, plain, wrap};
use crate::answers::Tone;

/// The most valid units that are listed one by one.
const FEW: usize = 20;
/// The most withheld places that are listed one by one.
const WITHHELD: usize = 100;
/// The most findings of one rule that are shown.
const SHOWN: usize = 10;

/// Renders the survey as text. Findings beyond the tenth of a rule are counted, not shown.
pub fn render_survey_human(survey: &Survey, screen: Screen) -> String {
    let mut text = Text {
        out: String::new(),
        screen,
    };
    let few = survey.results().len() <= FEW;
    let layout = Layout::of(survey, few, screen);
    for result in survey.results() {
        let is_shown = few || !result.is_valid() || !survey.is_ok(result);
        if is_shown {
            write_result(&mut text, survey, result, &layout);
        }
        if few || !survey.is_ok(result) {
            write_withheld(&mut text, result);
            write_authenticity(&mut text, survey, result);
            for gap in &result.identity.not_captured {
                text.line(1, &format!("not captured: {}", plain(gap)));
            }
            for caveat in &result.identity.caveats {
                text.line(1, &format!("note: {}", plain(caveat)));
            }
        }
    }
    let tone = match survey.outcome() {
        Outcome::Valid => Tone::Good,
        _ => Tone::Bad,
    };
    text.toned(tone, 0, &summary(survey));
    if let Some(words) = survey.level().unchecked_words() {
        text.line(0, words);
    }
    text.out
}

/// Lines for a screen, in its width and colours.
struct Text {
    out: String,
    screen: Screen,
}

impl Text {
    fn line(&mut self, depth: usize, content: &str) {
        self.toned(Tone::Neutral, depth, content);
    }

    /// Adds advice on what to do next, unless the screen is quiet.
    fn hint(&mut self, depth: usize, advice: &str) {
        if !self.screen.is_quiet {
            self.line(depth, &format!("hint: {advice}"));
        }
    }

    fn toned(&mut self, tone: Tone, depth: usize, content: &str) {
        let indent = "  ".repeat(depth);
        let lines = wrap(content, self.screen.room(indent.len() + 2));
        for (at, line) in lines.iter().enumerate() {
            // Continuation lines are indented a little more.
            let hanging = if at == 0 { "" } else { "  " };
            // Writing into a string cannot fail.
            let _ = writeln!(
                self.out,
                "{indent}{hanging}{}",
                self.screen.tint(tone, line)
            );
        }
    }
}

/// The widths of the columns on a screen.
struct Layout {
    path: usize,
    format: usize,
    outcome: usize,
}

impl Layout {
    fn of(survey: &Survey, few: bool, screen: Screen) -> Option<Self> {
        let width = screen.width?;
        let shown = survey
            .results()
            .iter()
            .filter(|result| few || !survey.is_ok(result));
        let shown = shown.take(10_000);
        let widest = |cell: fn(&UnitResult) -> String| {
            shown
                .clone()
                .map(|result| columns(&cell(result)))
                .max()
                .unwrap_or(0)
        };
        let format = widest(|result| title(result).to_owned());
        let outcome =
            widest(|result| plain(result.identity.outcome.as_deref().unwrap_or_default())).min(20);
        let path = widest(|result| plain(&result.path));
        // The state at the left, signatures at the right, and two blanks between columns.
        let room = width.saturating_sub(11 + format + outcome + 36).max(16);
        Some(Self {
            path: path.min(room),
            format,
            outcome,
        })
    }
}

fn write_result(text: &mut Text, survey: &Survey, result: &UnitResult, layout: &Option<Layout>) {
    let is_refused = result.is_valid() && !survey.is_ok(result);
    let (word, tone) = match &result.verdict {
        Verdict::Valid if is_refused => ("REFUSED", Tone::Bad),
        Verdict::Valid => ("ok", Tone::Good),
        Verdict::Invalid { .. } => ("INVALID", Tone::Bad),
        Verdict::NotChecked(reason) => {
            let line = format!("NOT CHECKED  {}: {}", plain(&result.path), plain(reason));
            text.toned(Tone::Bad, 0, &line);
            return;
        }
    };
    let word = pad(word, 8);
    let word = text.screen.tint(tone, &word);
    let path = plain(&result.path);
    let answers = answers(survey, result);
    match layout {
        None => {
            let about = format!("{}{}", title(result), ended(result));
            let colon = if answers.is_empty() { "" } else { ": " };
            text.line(0, &format!("{word} {path} ({about}){colon}{answers}"));
        }
        Some(layout) => {
            let screen = text.screen;
            let outcome = plain(result.identity.outcome.as_deref().unwrap_or_default());
            let line = format!(
                "{word}  {}  {}  {}  {}",
                pad(&fit(&path, layout.path), layout.path),
                screen.dim(&pad(title(result), layout.format)),
                pad(&fit(&outcome, layout.outcome), layout.outcome),
                answers,
            );
            // Writing into a string cannot fail.
            let _ = writeln!(text.out, "{}", line.trim_end());
        }
    }
    if let Verdict::Invalid { findings, not_run } = &result.verdict {
        write_findings(text, result, findings);
        for (rule, because) in not_run {
            text.line(1, &format!("{rule} was not checked: {because}"));
        }
    }
}

/// The three answers in a few words, if signatures were looked for.
fn answers(survey: &Survey, result: &UnitResult) -> String {
    let Some(found) = survey.authenticity_of(result) else {
        return String::new();
    };
    let intact = match (result.is_valid(), survey.level()) {
        (false, _) => "NOT intact",
        // No rule was asked that would show it.
        (true, Level::Document) => "meets its document",
        (true, _) => "intact",
    };
    let trusted = match &found.trusted {
        None => "",
        Some(trust) if trust.is_trusted => ", trusted",
        Some(_) => ", NOT trusted",
    };
    format!("{intact}, {}{trusted}", found.signed.phrase())
}

fn write_withheld(text: &mut Text, result: &UnitResult) {
    let places = &result.identity.withheld;
    for (place, reason) in places.iter().take(WITHHELD) {
        let line = format!("withheld: {}: {}", plain(place), plain(reason));
        text.line(1, &line);
    }
    if let Some(more) = places.len().checked_sub(WITHHELD).filter(|more| *more > 0) {
        text.line(1, &format!("withheld: {more} more places"));
    }
}

/// Writes who signed it and when, by whose clock, and what the policy and the log say; nothing without
/// a signature, policy or log.
fn write_authenticity(text: &mut Text, survey: &Survey, result: &UnitResult) {
    let Some(found) = survey.authenticity_of(result) else {
        return;
    };
    if found.signatures.is_empty() && found.trusted.is_none() && found.logged.is_none() {
        return;
    }
    for content in found.lines() {
        text.line(1, &plain(&content));
    }
}

/// The outcome that it records: a valid record of a failed run is still of a failed run.
fn ended(result: &UnitResult) -> String {
    let outcome = result.identity.outcome.as_deref();
    outcome.map_or(String::new(), |outcome| format!(", {}", plain(outcome)))
}

fn title(result: &UnitResult) -> &'static str {
    result.format.map_or("unknown format", Format::title)
}

fn write_findings(text: &mut Text, result: &UnitResult, findings: &[Finding]) {
    let format = result.format;
    for of_rule in findings.chunk_by(|a, b| a.rule_id == b.rule_id) {
        let id = of_rule[0].rule_id;
        let rule = rule_of(format, id);
        match rule {
            Some(rule) => text.toned(
                Tone::Warning,
                1,
                &format!("{id}: {} ({})", rule.title, rule.section),
            ),
            None => text.toned(Tone::Warning, 1, &format!("{id}: {}", meaning_of(id).0)),
        }
        for finding in of_rule.iter().take(SHOWN) {
            write_finding(text, finding);
        }
        if of_rule.len() > SHOWN {
            text.line(2, &format!("… and {} more", of_rule.len() - SHOWN));
        }
        match rule {
            Some(rule) => text.line(2, &format!("means: {}", rule.explanation)),
            None => text.hint(2, meaning_of(id).1),
        }
    }
    if let Some(advice) = advice(result, findings) {
        text.hint(1, &advice);
    }
}

fn write_finding(text: &mut Text, finding: &Finding) {
    let place = named_place(finding);
    text.line(2, &plain(&format!("{place}: {}", finding.headline())));
    if let Some(difference) = &finding.difference {
        let values = [
            ("expected ", &difference.expected),
            ("actual   ", &difference.actual),
        ];
        for (label, value) in values {
            text.line(3, &plain(&format!("{label} {value}")));
        }
    }
}

/// What to do about broken rules.
fn advice(result: &UnitResult, findings: &[Finding]) -> Option<String> {
    // The path is the reader's, not the maker's.
    let is_of_path =
        |finding: &Finding| finding.rule_id == "PK7" && finding.path() == Some(&result.path);
    if findings.iter().all(is_of_path) {
        let again = "name it by a path without `..`, `.` and `//`; nothing in it is wrong";
        return Some(again.to_owned());
    }
    if findings
        .iter()
        .all(|finding| finding.rule_id.starts_with("AR"))
    {
        let again = "get the archive again from whoever made it, or pack the folder again";
        return Some(again.to_owned());
    }
    if findings.iter().any(|finding| finding.rule_id == EXPECTED) {
        return None;
    }
    let title = result.format?.title();
    Some(format!(
        "do not rely on this {title}; ask its maker for it, or make it again and compare with \
         `runseal diff`"
    ))
}

fn summary(survey: &Survey) -> String {
    let checked = survey.checked();
    let mut text = format!(
        "{checked} checked: {} valid, {} invalid",
        survey.valid(),
        survey.invalid() - survey.unmet()
    );
    match survey.unmet() {
        0 => {}
        1 => text.push_str("; 1 demand NOT MET"),
        many => {
            let _ = write!(text, "; {many} demands NOT MET");
        }
    }
    if survey.refused() > 0 {
        let _ = write!(text, "; {} REFUSED", survey.refused());
    }
    if survey.not_checked() > 0 {
        let _ = write!(text, "; {} NOT CHECKED", survey.not_checked());
    }
    if let Some(note) = unlisted_note(survey) {
        let _ = write!(text, "; {note}");
    }
    match survey.passed_over() {
        0 => {}
        1 => text.push_str("; 1 other file passed over"),
        many => {
            let _ = write!(text, "; {many} other files passed over");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use runseal_core::formats::definition::Identity;
    use runseal_core::limits::FINDINGS_A_SURVEY;
    use runseal_core::verify::authenticity::Authenticity;
    use runseal_core::verify::{Difference, Place};

    use super::*;

    fn survey() -> Survey {
        let difference = Difference {
            subject: "the SHA-256 is not the declared one".to_owned(),
            expected: "aa".to_owned(),
            actual: "bb".to_owned(),
        };
        let finding = Finding {
            rule_id: "JB4",
            place: Place::file("artifacts/x.txt"),
            message: "the SHA-256 is not the declared one: expected `aa`, actual `bb`".to_owned(),
            difference: Some(difference),
        };
        let invalid = UnitResult {
            path: "runs/<b> & c\u{1}\u{202e}".to_owned(),
            raw_path: None,
            format: Some(Format::JobBundle),
            verdict: Verdict::Invalid {
                findings: vec![finding],
                not_run: vec![],
            },
            identity: Identity::default(),
        };
        let valid = UnitResult {
            path: "runs/a".to_owned(),
            raw_path: None,
            format: Some(Format::Patch),
            verdict: Verdict::Valid,
            identity: Identity::default(),
        };
        let lost = UnitResult::not_checked("runs/c", None, "no permission");
        Survey::new(Level::Integrity, vec![lost, invalid, valid], 3)
    }

    #[test]
    fn survey_human_calls_nothing_intact_below_integrity_level() {
        let valid = |level| {
            let result = UnitResult {
                path: "a".to_owned(),
                raw_path: None,
                format: Some(Format::Patch),
                verdict: Verdict::Valid,
                identity: Identity::default(),
            };
            let found = [("a".to_owned(), Authenticity::unsigned())];
            let survey = Survey::new(level, vec![result], 1);
            let survey = survey.with_authenticity(found.into(), Default::default());
            render_survey_human(&survey, Screen::default())
        };
        let text = valid(Level::Document);
        assert!(text.contains("meets its document, unsigned"), "{text}");
        assert!(!text.contains("intact"), "{text}");
        assert!(text.contains("1 other file passed over"), "{text}");
        assert!(valid(Level::Integrity).contains("intact, unsigned"));
    }

    #[test]
    fn survey_human_shows_rule_place_expected_actual_meaning_and_advice() {
        let text = render_survey_human(&survey(), Screen::default());
        for wanted in [
            "INVALID  runs/<b> & c\\u{1}\\u{202e} (job bundle)",
            "  JB4: Every artifact has the content it declares (001 §3.2, §8 check 4)",
            "      expected  aa",
            "      actual    bb",
            "    means: ",
            "  hint: do not rely on this job bundle",
            "ok       runs/a (patch set)",
            "NOT CHECKED  runs/c: no permission",
            "2 checked: 1 valid, 1 invalid; 1 NOT CHECKED; 3 other files passed over",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
        let screen = Screen {
            is_quiet: true,
            ..Screen::default()
        };
        let quiet = render_survey_human(&survey(), screen);
        let without_hints = text.lines().filter(|line| !line.contains("hint: "));
        assert!(quiet.lines().eq(without_hints), "{quiet}");
    }

    #[test]
    fn survey_on_a_screen_is_aligned_coloured_and_fits() {
        let screen = Screen {
            width: Some(72),
            ..Screen::default()
        };
        let text = render_survey_human(&survey(), screen);
        assert!(text.lines().all(|line| columns(line) <= 72), "{text}");
        let column = |word: &str| {
            let line = text
                .lines()
                .find(|line| line.contains(word))
                .unwrap_or_default();
            columns(&line[..line.find(word).unwrap_or(0)])
        };
        assert_eq!(column("job bundle"), column("patch set"), "{text}");
        let screen = Screen {
            has_colour: true,
            ..screen
        };
        let text = render_survey_human(&survey(), screen);
        assert!(text.contains("\u{1b}[1;31mINVALID"), "{text}");
    }

    #[test]
    fn survey_without_a_screen_has_colour_only_if_asked() {
        let plain = render_survey_human(&survey(), Screen::default());
        assert!(!plain.contains('\u{1b}'));
        let coloured = Screen {
            has_colour: true,
            ..Screen::default()
        };
        let coloured = render_survey_human(&survey(), coloured);
        assert!(coloured.contains("\u{1b}[32mok      \u{1b}[0m runs/a"));
        assert!(coloured.contains("\u{1b}[1;31mINVALID \u{1b}[0m runs/"));
    }

    #[test]
    fn survey_findings_beyond_the_limit_are_counted() {
        let more = FINDINGS_A_SURVEY + 3;
        let results =
            (0..more).map(|at| UnitResult::invalid(format!("{at:06}"), None, "FORMAT", "what"));
        let survey = Survey::new(Level::Document, results.collect(), 0);
        let human = render_survey_human(&survey, Screen::default());
        assert!(human.contains("3 more findings not listed: the limit is 20000"));
        assert_eq!(human.matches("INVALID").count(), more);
    }
}

//! The four answers about an exhibit: intact, signed, trusted, and the outcome that it records.
//!
//! All four are decided together here, so they never contradict each other: nothing is trusted unless
//! it is intact, and the outcome of something that is not intact is only a claim.

use runseal_core::canon::Node;
use runseal_core::formats::Format;
use runseal_core::formats::redacted::redactable::redactable;
use runseal_core::formats::run_bundle::layout::RUN_OUTPUT;
use runseal_core::formats::run_bundle::reading::{RunEnding, RunKind, RunReading};
use runseal_core::verify::authenticity::{Authenticity, CARRIED, SignatureNote, SignedState};
use runseal_core::verify::{Level, RuleState};

use crate::describe::is_bar;
use crate::exhibit::Exhibit;
use crate::reveal::{counted, cut};

/// How good an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// Good.
    Good,
    /// Nothing for or against.
    Neutral,
    /// Needs a look.
    Warning,
    /// Bad.
    Bad,
}

impl Tone {
    /// A sign that says the same as the colour.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Neutral => "–",
            Self::Warning => "!",
            Self::Bad => "✗",
        }
    }

    /// Its name in style sheets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Neutral => "neutral",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question, in a word.
    pub question: &'static str,
    /// How good it is.
    pub tone: Tone,
    /// The answer in a few words.
    pub word: String,
    /// The reason, in a sentence.
    pub detail: String,
}

/// The four answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// Whether the rules passed.
    pub intact: Answer,
    /// Whether it is signed.
    pub signed: Answer,
    /// Whether a policy trusts the signer.
    pub trusted: Answer,
    /// The outcome that it records.
    pub outcome: Answer,
}

impl Answers {
    /// The answers about an exhibit.
    pub fn of(exhibit: &Exhibit<'_>) -> Self {
        let intact = intact_answer(exhibit);
        let is_intact = exhibit.is_valid();
        let mut outcome = outcome_answer(exhibit);
        if !is_intact && outcome.tone != Tone::Neutral {
            // A forged success is not a success. A failure that something broken reports is still worth
            // a look.
            outcome.tone = outcome.tone.max(Tone::Warning);
            outcome.word = format!("Claims: {}", lower_first(&outcome.word));
            outcome.detail = "do not rely on it: what says so is not intact".to_owned();
        }
        Self {
            signed: signed_answer(exhibit.authenticity, is_intact),
            trusted: trusted_answer(exhibit.authenticity, is_intact),
            intact,
            outcome,
        }
    }

    /// All four, in the order in which they are shown.
    pub fn all(&self) -> [&Answer; 4] {
        [&self.intact, &self.signed, &self.trusted, &self.outcome]
    }

    /// The worst tone of all four.
    pub fn tone(&self) -> Tone {
        let tones = self.all().map(|answer| answer.tone);
        tones.into_iter().max().unwrap_or(Tone::Neutral)
    }

    /// All four in a sentence.
    pub fn summary(&self, format: Format) -> String {
        let title = format.title();
        if self.intact.tone == Tone::Bad {
            return format!("Do not rely on this {title}: it is not intact");
        }
        let signed = match (self.signed.tone, self.signed.word.as_str()) {
            (Tone::Good, _) => "signed",
            (Tone::Bad, _) => "with an invalid signature",
            (Tone::Warning, CANNOT_TELL) => "perhaps signed",
            (Tone::Warning, _) => "signed with a key that is not known here",
            (Tone::Neutral, NOT_LOOKED_FOR) => "signatures not looked for",
            (Tone::Neutral, _) => "unsigned",
        };
        let trusted = match self.trusted.tone {
            Tone::Good => ", trusted",
            Tone::Bad => ", NOT trusted",
            _ => "",
        };
        let subject = match format {
            Format::Evidence => "Evidence".to_owned(),
            Format::Engine | Format::Archive => format!("An {title}"),
            _ => format!("A {title}"),
        };
        let about = match self.outcome.tone {
            Tone::Neutral => String::new(),
            _ => format!(". Outcome: {}", lower_first(&self.outcome.word)),
        };
        let intact = match self.intact.tone {
            Tone::Good => "intact",
            _ => "only partly checked",
        };
        format!("{subject}: {intact}, {signed}{trusted}{about}")
    }
}

/// The answer if signatures were not looked for.
pub(crate) const NOT_LOOKED_FOR: &str = "Not looked for";

/// The answer if there may be signatures that could not be read.
pub(crate) const CANNOT_TELL: &str = "Cannot tell";

/// The answer if a signature is valid, but the content changed since.
pub(crate) const CHANGED_SINCE: &str = "Signed, then changed";

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

fn answer(question: &'static str, tone: Tone, word: impl Into<String>, detail: String) -> Answer {
    Answer {
        question,
        tone,
        word: word.into(),
        detail,
    }
}

fn intact_answer(exhibit: &Exhibit<'_>) -> Answer {
    let answer = |tone, word: &str, detail| answer("Intact", tone, word, detail);
    let findings = exhibit.findings().count();
    if findings > 0 {
        let what = counted(findings, "finding");
        return answer(Tone::Bad, "Not intact", format!("{what}, listed below"));
    }
    if !exhibit.is_valid() {
        let results = exhibit.report.results().iter();
        let open = results
            .filter(|result| result.required && matches!(result.state, RuleState::NotRun(_)));
        let detail = format!(
            "{} could not be run, so nothing is proven",
            counted(open.count(), "rule")
        );
        return answer(Tone::Bad, "Not shown to be intact", detail);
    }
    if exhibit.format == Format::Redacted && exhibit.report.level() > Level::Document {
        return answer(Tone::Good, "Intact", copy_detail(exhibit));
    }
    match exhibit.report.level() {
        // Even if every rule ran: some check more above this level.
        Level::Document => answer(
            Tone::Warning,
            "Only partly checked",
            "hashes and repeated statements were not compared".to_owned(),
        ),
        Level::Integrity => answer(
            Tone::Good,
            "Intact",
            "every rule that was asked for holds".to_owned(),
        ),
        Level::Form => answer(
            Tone::Good,
            "Intact",
            "every rule holds, those about form included".to_owned(),
        ),
    }
}

/// What is known of a redacted copy, and how many rules of the original could not be judged.
fn copy_detail(exhibit: &Exhibit<'_>) -> String {
    let original = exhibit
        .document("REDACTION.json")
        .and_then(|redaction| redaction.get("format")?.as_str());
    let original = original.and_then(|name| redactable(&name));
    let places = exhibit.identity.withheld.iter();
    let places: Vec<_> = places
        .map(|(place, _)| (place.split('#').next().unwrap_or_default(), None))
        .collect();
    let open = original.map_or(0, |format| format.unchecked(&places).len());
    format!(
        "what is shown was sealed and is consistent; {} of the original could not be judged in full",
        counted(open, "rule")
    )
}

/// Who made a signature, in a few words. A signer that no policy knows may use any name, so the key is
/// shown too.
pub(crate) fn signer_text(signature: &SignatureNote) -> String {
    let name = signature.signer().map(|name| cut(&name, 80).into_owned());
    let key = signature
        .key
        .as_deref()
        .filter(|_| !signature.is_known || name.is_none())
        .map(|key| format!("key {}", cut(key, 24)));
    let parts: Vec<_> = name.into_iter().chain(key).collect();
    parts.join(", ")
}

/// The signature that decides the answer.
pub(crate) fn deciding_signature(found: &Authenticity) -> Option<&SignatureNote> {
    found
        .signatures
        .iter()
        .find(|signature| signature.state == found.signed)
}

fn signed_answer(found: Option<&Authenticity>, is_intact: bool) -> Answer {
    let answer = |tone, word: &str, detail| answer("Signed", tone, word, detail);
    let Some(found) = found else {
        return answer(
            Tone::Neutral,
            NOT_LOOKED_FOR,
            "no signature was looked for".to_owned(),
        );
    };
    let telling = deciding_signature(found);
    let detail = telling.map_or_else(String::new, signer_text);
    let is_carried = telling.is_some_and(|signature| signature.form == CARRIED);
    match found.signed {
        SignedState::Unsigned => answer(
            Tone::Neutral,
            "Unsigned",
            "nobody vouches for it: anyone who could write it could make it again".to_owned(),
        ),
        SignedState::CannotTell => answer(
            Tone::Warning,
            CANNOT_TELL,
            "signatures could not be looked for; that is not the same as none".to_owned(),
        ),
        SignedState::UnknownKey if is_carried => {
            let ask = "`runseal receipt verify --trust` says whether it counts";
            answer(
                Tone::Warning,
                "By a key it carries",
                format!("{detail}; {ask}"),
            )
        }
        SignedState::UnknownKey => answer(Tone::Warning, "By an unknown key", detail),
        SignedState::OtherSubject => answer(
            Tone::Bad,
            "Of something else",
            "the signature is over different content".to_owned(),
        ),
        SignedState::Broken => answer(
            Tone::Bad,
            "Broken",
            "there is a signature, but it is not valid".to_owned(),
        ),
        SignedState::Rejected => answer(
            Tone::Bad,
            "As a rejection",
            format!("{detail}; the signature is valid, and its signer refuses this"),
        ),
        // The signed list of hashes may be unchanged while a file is not.
        SignedState::Signed if !is_intact => answer(
            Tone::Bad,
            CHANGED_SINCE,
            "the signature is valid for what was there before".to_owned(),
        ),
        SignedState::Signed => answer(Tone::Good, "Signed", detail),
    }
}

fn trusted_answer(found: Option<&Authenticity>, is_intact: bool) -> Answer {
    let answer = |tone, word: &str, detail| answer("Trusted", tone, word, detail);
    match found.and_then(|found| found.trusted.as_ref()) {
        None => answer(
            Tone::Neutral,
            "Not asked",
            "no trust policy was given".to_owned(),
        ),
        Some(_) if !is_intact => answer(
            Tone::Bad,
            "Not trusted",
            "nothing is trusted unless it is intact".to_owned(),
        ),
        Some(trust) if trust.is_trusted => answer(Tone::Good, "Trusted", trust.reason.clone()),
        Some(trust) => answer(Tone::Bad, "Not trusted", trust.reason.clone()),
    }
}

/// The outcome that it records.
fn outcome_answer(exhibit: &Exhibit<'_>) -> Answer {
    said_outcome(exhibit, exhibit.format, exhibit.identity.outcome.as_deref())
}

/// The outcome that something of this format records, from the word that it may use for it.
fn said_outcome(exhibit: &Exhibit<'_>, format: Format, said: Option<&str>) -> Answer {
    let answer = |tone, word: &str, detail: &str| answer("Outcome", tone, word, detail.to_owned());
    match (format, said) {
        (Format::RunBundle, _) => run_outcome(exhibit),
        (Format::Redacted, counts) => redacted_outcome(exhibit, counts),
        (Format::Runner, _) => runner_outcome(exhibit.document("")),
        (Format::Pack, Some("accepted")) => answer(Tone::Good, "Accepted", "the run was accepted"),
        (Format::Pack, Some("not accepted")) => answer(
            Tone::Bad,
            "Not accepted",
            "the run was rejected or is for review",
        ),
        (Format::Pack | Format::ContextBundle, Some("CLARIFY")) => answer(
            Tone::Warning,
            "Asked back",
            "questions are open, nothing was executed",
        ),
        (Format::Pack | Format::ContextBundle, Some("REFUSE")) => {
            answer(Tone::Bad, "Refused", "the intent was refused")
        }
        (Format::ContextBundle, Some("BUNDLE")) => {
            answer(Tone::Good, "Complete", "no question is open")
        }
        (Format::Evidence, Some("complete")) => {
            answer(Tone::Good, "Complete", "every action and test succeeded")
        }
        (Format::Evidence, Some("partial")) => {
            answer(Tone::Warning, "Partial", "some actions or tests failed")
        }
        (Format::Evidence, Some("failed")) => {
            answer(Tone::Bad, "Failed", "what it was made for was not reached")
        }
        (Format::Receipt, Some("SUCCESS")) => {
            answer(Tone::Good, "Replayed", "the replay read the same bytes")
        }
        (Format::Receipt, Some("FAILURE")) => answer(Tone::Bad, "Replay failed", "by its own word"),
        (Format::JobBundle, _) => answer(
            Tone::Neutral,
            "None recorded",
            "it contains what a job read, not how the job ended",
        ),
        (_, Some(other)) => {
            let word = format!("Says “{}”", cut(other, 40));
            answer(Tone::Neutral, &word, "a word that is not known here")
        }
        (Format::Pack | Format::ContextBundle | Format::Evidence | Format::Receipt, None) => {
            answer(
                Tone::Neutral,
                "Not known",
                "how it ended is not recorded, or cannot be read",
            )
        }
        (_, None) => answer(Tone::Neutral, "Does not apply", "it does not record a run"),
    }
}

/// The outcome of the original of a redacted copy, as far as the copy shows it.
fn redacted_outcome(exhibit: &Exhibit<'_>, counts: Option<&str>) -> Answer {
    let original = exhibit
        .document("REDACTION.json")
        .and_then(|redaction| redaction.get("format")?.as_str());
    let mut found = match original.as_deref() {
        Some("job-bundle") => said_outcome(exhibit, Format::JobBundle, None),
        Some("pack") => {
            let run = exhibit.document("run.json");
            let kind = run.and_then(|run| run.get("kernel_result_kind")?.as_str());
            let accepted = run.and_then(|run| run.get("decision")?.get("accepted")?.as_bool());
            match (kind.as_deref(), accepted) {
                (Some("BUNDLE"), Some(true)) => {
                    said_outcome(exhibit, Format::Pack, Some("accepted"))
                }
                (Some("BUNDLE"), Some(false)) => {
                    said_outcome(exhibit, Format::Pack, Some("not accepted"))
                }
                (Some(kind @ ("CLARIFY" | "REFUSE")), _) => {
                    said_outcome(exhibit, Format::Pack, Some(kind))
                }
                _ => withheld_outcome(),
            }
        }
        _ => run_outcome(exhibit),
    };
    // The part before the counts is the outcome, which is already there.
    if let Some(counts) = counts.and_then(|said| said.rsplit("; ").next()) {
        found.detail = format!("{}; {counts} values, each with its reason", found.detail);
    }
    found
}

fn withheld_outcome() -> Answer {
    let detail = "how it ended is withheld, or not recorded";
    answer("Outcome", Tone::Neutral, "Not shown", detail.to_owned())
}

fn run_outcome(exhibit: &Exhibit<'_>) -> Answer {
    let answer =
        |tone, word: String, detail: &str| answer("Outcome", tone, word, detail.to_owned());
    let run = RunReading::new(|name| exhibit.document(name));
    let output = exhibit.document(RUN_OUTPUT);
    let is_withheld = |name: &&str| {
        let member = output.and_then(|output| output.get(name));
        member.is_some_and(is_bar)
    };
    let is_hidden = ["failed", "exit_status", "signal"].iter().any(is_withheld);
    if is_hidden && run.ending() != RunEnding::Failed {
        return withheld_outcome();
    }
    match run.ending() {
        RunEnding::Signaled(signal) => answer(
            Tone::Bad,
            format!("Ended by signal {signal}"),
            "the command did not finish",
        ),
        RunEnding::Exited(0) => answer(
            Tone::Good,
            "Succeeded".to_owned(),
            "the command ended with exit status 0",
        ),
        RunEnding::Exited(status) => answer(
            Tone::Bad,
            format!("Failed with status {status}"),
            "the command failed",
        ),
        RunEnding::Interrupted(signal) => answer(
            Tone::Bad,
            format!("Interrupted by signal {signal}"),
            "somebody interrupted the command before it had done its work",
        ),
        RunEnding::Failed => answer(Tone::Bad, "Failed".to_owned(), "the run failed"),
        RunEnding::Unknown => answer(
            Tone::Neutral,
            "Not known".to_owned(),
            "how it ended is not recorded, or cannot be read",
        ),
        RunEnding::Completed if run.kind() == RunKind::Declared => answer(
            Tone::Good,
            "Completed".to_owned(),
            "the program that described it says so",
        ),
        RunEnding::Completed => answer(
            Tone::Good,
            "Completed".to_owned(),
            "the engine answered; a run that fails is never sealed",
        ),
    }
}

fn runner_outcome(root: Option<Node<'_>>) -> Answer {
    let answer =
        |tone, word: String, detail: &str| answer("Outcome", tone, word, detail.to_owned());
    let exit = root.and_then(|root| root.get("exit"));
    let is = |name: &str| exit.and_then(|exit| exit.get(name)?.as_bool()) == Some(true);
    let code = exit.and_then(|exit| exit.get("code")?.as_number()?.to_exact_i64());
    match code {
        _ if is("timeout_killed") => answer(
            Tone::Bad,
            "Killed".to_owned(),
            "it took longer than allowed",
        ),
        _ if is("oom_killed") => answer(
            Tone::Bad,
            "Killed".to_owned(),
            "it took more memory than allowed",
        ),
        Some(0) => answer(Tone::Good, "Exit code 0".to_owned(), "it ended normally"),
        Some(code) => answer(Tone::Bad, format!("Exit code {code}"), "it failed"),
        None => answer(
            Tone::Neutral,
            "Not known".to_owned(),
            "no exit code is recorded",
        ),
    }
}

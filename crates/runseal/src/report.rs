//! Verifies, and reports the results.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use runseal_core::formats::Format;
use runseal_core::timestamp::parse_utc;
use runseal_core::verify::answer::{render_survey_json, render_survey_junit, render_survey_sarif};
use runseal_core::verify::{
    Demands, Finding, Level, SignatureDemand, Surface, Survey, UnitResult, Verdict, exit_code,
};
use runseal_fs::clock::ClockError;
use runseal_fs::signing::{LoadedPolicy, SignatureJudge, TrustQuestion, load_policy};
use runseal_fs::survey::{LocalFiles, Tally, VerifyOptions, survey_paths_seen};
use runseal_report::terminal::{Screen, render_survey_human};

use crate::{Error, json_text};

/// Verifies whatever is at `path`: a folder, a document, an archive, or a tree of them. Checks document
/// and integrity rules; no trust policy is asked.
///
/// What could not be read is in the report, which is then not valid.
pub fn verify_path(path: impl AsRef<Path>) -> Report {
    Verify::new().paths(&[path])
}

/// How to verify.
///
/// ```no_run
/// use runseal::{Level, Verify};
///
/// let report = Verify::new()
///     .level(Level::Form)
///     .trusted_by("trust.toml")?
///     .paths(&["evidence.zip", "more/"]);
/// # Ok::<(), runseal::Error>(())
/// ```
#[derive(Debug)]
pub struct Verify {
    level: Level,
    threads: Option<usize>,
    policy: Option<(LoadedPolicy, i64)>,
    is_signature_demanded: bool,
    demands: Demands,
}

impl Default for Verify {
    fn default() -> Self {
        Self::new()
    }
}

impl Verify {
    /// Verifies as `runseal verify` does without options: document and integrity rules.
    pub fn new() -> Self {
        Self {
            level: Level::Integrity,
            threads: None,
            policy: None,
            is_signature_demanded: false,
            demands: Demands::default(),
        }
    }

    /// Sets the level up to which rules are demanded.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Sets the number of threads; by default the number of processors.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Demands that the trust policy in this file accepts everything, as of now.
    ///
    /// # Errors
    /// If the policy cannot be read, or the clock is set before 1970.
    pub fn trusted_by(mut self, policy: impl AsRef<Path>) -> Result<Self, Error> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_err(|_| ClockError::Before1970)?.as_millis();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        self.policy = Some((load_policy(policy.as_ref(), now)?, now));
        Ok(self)
    }

    /// As [`Verify::trusted_by`], as of a time in UTC, such as `2026-01-01T00:00:00Z`.
    ///
    /// # Errors
    /// If the policy cannot be read, or the text is not a time.
    pub fn trusted_by_at(mut self, policy: impl AsRef<Path>, at: &str) -> Result<Self, Error> {
        let now = parse_utc(at).ok_or_else(|| {
            let message = format!("`{}` is not a time in UTC", at.escape_debug());
            Error::new("TIME", message)
        })?;
        self.policy = Some((load_policy(policy.as_ref(), now)?, now));
        Ok(self)
    }

    /// Demands a valid signature, whoever's it is.
    pub fn require_signed(mut self) -> Self {
        self.is_signature_demanded = true;
        self
    }

    /// Demands that something of this format is there.
    pub fn expect_format(mut self, format: Format) -> Self {
        self.demands = self.demands.expecting_format(format);
        self
    }

    /// Demands a pack, and that every pack records an accepted run.
    pub fn require_accepted(mut self) -> Self {
        self.demands = self.demands.expecting_accepted(true);
        self
    }

    /// Verifies everything at `paths`.
    pub fn paths<P: AsRef<Path>>(&self, paths: &[P]) -> Report {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        let options = VerifyOptions {
            level: self.level,
            threads: self.threads,
        };
        let question = TrustQuestion {
            policy: self.policy.as_ref().map(|(policy, _)| policy),
            keys: &[],
            now: self.policy.as_ref().map_or(0, |(_, now)| *now),
            log: None,
        };
        let judge = SignatureJudge::new(&LocalFiles, question);
        let survey = survey_paths_seen(&paths, options, &Tally::default(), &judge);
        let demand = SignatureDemand {
            signed: self.is_signature_demanded,
            trusted: self.policy.is_some(),
            logged: false,
        };
        let survey = judge.answer(survey, demand).demanding(&self.demands);
        Report { survey }
    }
}

/// The result of verifying. Shown with `{}`, it reads as on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    survey: Survey,
}

impl Report {
    /// Whether everything that was found is valid, and everything demanded is there. Finding nothing is
    /// never valid.
    pub fn is_valid(&self) -> bool {
        self.exit_code() == 0
    }

    /// The exit code of `runseal verify`: 0 valid, 1 not, 2 something could not be read.
    pub fn exit_code(&self) -> u8 {
        exit_code(Surface::Verify, self.survey.outcome())
    }

    /// The units, sorted by path.
    pub fn units(&self) -> impl Iterator<Item = Unit<'_>> {
        self.survey.results().iter().map(Unit)
    }

    /// What `runseal verify --format json` prints, without the line's end.
    ///
    /// # Errors
    /// If a text in it has no canonical form.
    pub fn to_json(&self) -> Result<String, Error> {
        json_text(&render_survey_json(&self.survey))
    }

    /// The report as SARIF 2.1.0, for code hosts.
    ///
    /// # Errors
    /// If a text in it has no canonical form.
    pub fn to_sarif(&self) -> Result<String, Error> {
        let folder = std::env::current_dir().ok();
        let folder = folder.as_deref().and_then(Path::to_str);
        json_text(&render_survey_sarif(&self.survey, folder))
    }

    /// The report as JUnit XML, for CI systems.
    pub fn to_junit(&self) -> String {
        render_survey_junit(&self.survey)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render_survey_human(&self.survey, Screen::default()))
    }
}

/// One unit of a report.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a>(&'a UnitResult);

impl<'a> Unit<'a> {
    /// Its path, as given or below a given one; inside an archive as `evidence.zip!/run`.
    pub fn path(&self) -> &'a str {
        &self.0.path
    }

    /// Its format, if known.
    pub fn format(&self) -> Option<Format> {
        self.0.format
    }

    /// Whether every rule that was asked passed.
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// Its findings, in order.
    pub fn findings(&self) -> &'a [Finding] {
        self.0.findings()
    }

    /// Why it could not be checked, if so.
    pub fn not_checked(&self) -> Option<&'a str> {
        match &self.0.verdict {
            Verdict::NotChecked(reason) => Some(reason),
            _ => None,
        }
    }
}

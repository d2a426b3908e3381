//! Rules for comparing what two runs gave, where it need not be the same to the byte.
//!
//! A rule names files with a glob, or `stdout` or `stderr`, and says how they are compared. The rules for a file add up in
//! the order in which they were given, those of the bundle first: `drop` takes text out of both versions, `rel` and `abs`
//! let numbers differ, `skip` exempts the content, and `exact` takes back all before it. What is there only once is a
//! difference under every rule.
//!
//! Rules in a bundle are a stranger's. They are parsed by the same bounds as those that were given, and the verdict names
//! each that made a difference.

mod compared;
mod drop;
mod json;
mod npy;
mod number;
mod text;

use std::borrow::Cow;
use std::fmt;

use runseal_core::canon::{Node, Value};

use super::keep::{Keep, KeepError};
use super::snapshot::STREAMS;
pub use compared::{Exempt, Largest, Place, Within};
pub(crate) use compared::{Judged, Version, judge_under};
use drop::Pattern;
use number::Tolerance;

/// The most rules of a bundle or a command line.
const MOST_RULES: usize = 100;

/// The names by which rules know the two streams.
const STREAM_NAMES: [&str; 2] = ["stdout", "stderr"];

/// Who gave a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It was given when the run was recorded, and is covered by the hashes of the bundle.
    Bundle,
    /// It was given to the replay.
    Replay,
}

impl Origin {
    /// The word for it in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Replay => "replay",
        }
    }
}

/// Why a rule is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// There are too many.
    #[error("there are more than {MOST_RULES} rules")]
    TooMany,
    /// It has no `=` before a known rule.
    #[error("it is not GLOB=RULE, with `exact`, `rel:X`, `abs:X`, `drop:REGEX` or `skip` as RULE")]
    Form,
    /// The glob is empty.
    #[error("it names no file")]
    NoGlob,
    /// The number of `rel` or `abs` is not one.
    #[error("`{0}` is not a number such as 1e-9")]
    Number(String),
    /// A relative tolerance that any two numbers meet.
    #[error(
        "`rel:{0}` is not between 0 and 1: from 1 on, any two numbers of the same sign would be the same"
    )]
    Relative(String),
    /// An absolute tolerance that is not one.
    #[error("`abs:{0}` is not a finite number from 0 on")]
    Absolute(String),
    /// The glob is malformed or too large.
    #[error(transparent)]
    Glob(#[from] KeepError),
    /// The regular expression is malformed or too large.
    #[error("{0}")]
    Regex(String),
}

/// How two versions are compared.
#[derive(Debug, Clone)]
enum Kind {
    Exact,
    Relative(f64),
    Absolute(f64),
    Drop(Box<Pattern>),
    Skip,
}

impl Kind {
    fn parse(text: &str) -> Result<Self, RuleError> {
        let number = |text: &str| {
            let value = text.parse::<f64>();
            value.map_err(|_| RuleError::Number(text.to_owned()))
        };
        match text.split_once(':') {
            None if text == "exact" => Ok(Self::Exact),
            None if text == "skip" => Ok(Self::Skip),
            Some(("rel", tolerance)) => match number(tolerance)? {
                value if (0.0..1.0).contains(&value) => Ok(Self::Relative(value)),
                _ => Err(RuleError::Relative(tolerance.to_owned())),
            },
            Some(("abs", tolerance)) => match number(tolerance)? {
                value if value.is_finite() && value >= 0.0 => Ok(Self::Absolute(value)),
                _ => Err(RuleError::Absolute(tolerance.to_owned())),
            },
            Some(("drop", regex)) => Ok(Self::Drop(Box::new(Pattern::parse(regex)?))),
            _ => Err(RuleError::Form),
        }
    }
}

/// Which results of a run a rule is for.
#[derive(Debug, Clone)]
enum Target {
    /// One stream, named as such.
    Stream(&'static str),
    /// Files, and the streams whose names match unless the glob can only mean a path.
    Glob { keep: Keep, has_streams: bool },
}

impl Target {
    fn parse(glob: &str) -> Result<Self, RuleError> {
        if let Some(name) = STREAM_NAMES.into_iter().find(|name| *name == glob) {
            return Ok(Self::Stream(name));
        }
        let keep = Keep::parse_given(&[glob.to_owned()])?.ok_or(RuleError::NoGlob)?;
        let has_streams = glob != "." && !glob.starts_with("./");
        Ok(Self::Glob { keep, has_streams })
    }

    fn is_for(&self, output: Output<'_>) -> bool {
        match (self, output) {
            (Self::Stream(name), Output::Stream(stream)) => *name == stream,
            (Self::Stream(_), Output::File(_)) => false,
            (Self::Glob { keep, has_streams }, Output::Stream(name)) => {
                *has_streams && keep.keeps(name.as_ref())
            }
            (Self::Glob { keep, .. }, Output::File(path)) => keep.keeps(path.as_ref()),
        }
    }
}

/// One thing that a run gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output<'a> {
    Stream(&'static str),
    /// A file, by its path below the folder.
    File(&'a str),
}

impl<'a> Output<'a> {
    /// What is at this place of a bundle.
    fn at(place: &'a str) -> Self {
        let streams = STREAMS.into_iter().zip(STREAM_NAMES);
        match streams.into_iter().find(|(at, _)| *at == place) {
            Some((_, name)) => Self::Stream(name),
            None => Self::File(place.strip_prefix("artifacts/").unwrap_or(place)),
        }
    }
}

/// The name by which people know what is at this place of a bundle.
pub(crate) fn name_of(place: &str) -> Cow<'_, str> {
    match Output::at(place) {
        Output::Stream(name) => Cow::Borrowed(name),
        Output::File(path) if STREAM_NAMES.contains(&path) => Cow::Owned(format!("./{path}")),
        Output::File(path) => Cow::Borrowed(path),
    }
}

/// One rule, as it was given.
#[derive(Debug, Clone)]
pub struct CompareRule {
    glob: String,
    rule: String,
    origin: Origin,
    target: Target,
    kind: Kind,
}

impl CompareRule {
    /// Parses `GLOB=RULE`. The glob ends at the first `=` before a rule, so that either may have one in it.
    ///
    /// # Errors
    /// When it is not that, or more than anybody needs.
    pub fn parse_given(text: &str, origin: Origin) -> Result<Self, RuleError> {
        let begins = |rule: &str| {
            let name = rule.split(':').next().unwrap_or_default();
            match rule.contains(':') {
                true => ["rel", "abs", "drop"].contains(&name),
                false => ["exact", "skip"].contains(&name),
            }
        };
        let mut cuts = text.match_indices('=').map(|(at, _)| at);
        let cut = cuts
            .find(|at| begins(&text[at + 1..]))
            .ok_or(RuleError::Form)?;
        Self::parse(&text[..cut], &text[cut + 1..], origin)
    }

    fn parse(glob: &str, rule: &str, origin: Origin) -> Result<Self, RuleError> {
        if glob.is_empty() {
            return Err(RuleError::NoGlob);
        }
        Ok(Self {
            target: Target::parse(glob)?,
            kind: Kind::parse(rule)?,
            glob: glob.to_owned(),
            rule: rule.to_owned(),
            origin,
        })
    }

    /// Which results it is for.
    pub fn glob(&self) -> &str {
        &self.glob
    }

    /// How they are compared.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Who gave it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    fn to_value(&self) -> Value {
        Value::object([("files", self.glob.as_str()), ("rule", self.rule.as_str())])
    }
}

impl fmt::Display for CompareRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.glob, self.rule)
    }
}

/// All rules of a comparison, in order.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<CompareRule>);

impl Rules {
    /// Parses what somebody wrote.
    ///
    /// # Errors
    /// For the first that is not a rule, with its text.
    pub fn parse_given(given: &[String], origin: Origin) -> Result<Self, (String, RuleError)> {
        if given.len() > MOST_RULES {
            return Err((String::new(), RuleError::TooMany));
        }
        let rules = given.iter().map(|text| {
            CompareRule::parse_given(text, origin).map_err(|error| (text.clone(), error))
        });
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Parses the member of a bundle; none if it has none.
    ///
    /// # Errors
    /// For the first that is not a rule.
    pub(crate) fn parse_sealed(list: Option<Node<'_>>) -> Result<Self, RuleError> {
        let Some(list) = list else {
            return Ok(Self::default());
        };
        if list.len() > MOST_RULES {
            return Err(RuleError::TooMany);
        }
        let rules = list.items().map(|item| {
            let text = |name| item.get(name).and_then(|text| text.as_str());
            let (glob, rule) = (text("files"), text("rule"));
            let (glob, rule) = glob.zip(rule).ok_or(RuleError::Form)?;
            CompareRule::parse(&glob, &rule, Origin::Bundle)
        });
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// As a bundle has them; `None` if there are none.
    pub(crate) fn to_value(&self) -> Option<Value> {
        let list = self.0.iter().map(CompareRule::to_value);
        (!self.0.is_empty()).then(|| Value::array(list))
    }

    /// These, and then others.
    #[must_use]
    pub(crate) fn followed_by(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    /// The rules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &CompareRule> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules that are for none of these places of a bundle.
    pub fn find_unmatched<'s>(
        &'s self,
        places: impl Iterator<Item = &'s str> + Clone,
    ) -> impl Iterator<Item = &'s CompareRule> {
        self.0.iter().filter(move |rule| {
            let mut places = places.clone();
            !places.any(|place| rule.target.is_for(Output::at(place)))
        })
    }

    /// How what is at this place of a bundle is compared.
    pub(crate) fn treatment_of(&self, place: &str) -> Treatment<'_> {
        let output = Output::at(place);
        let mut treatment = Treatment::default();
        for rule in self.0.iter().filter(|rule| rule.target.is_for(output)) {
            treatment.add(rule);
        }
        treatment
    }
}

/// What the rules for one result come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Treatment<'r> {
    skip: Option<&'r CompareRule>,
    relative: Option<(f64, &'r CompareRule)>,
    absolute: Option<(f64, &'r CompareRule)>,
    drops: Vec<(&'r Pattern, &'r CompareRule)>,
}

impl<'r> Treatment<'r> {
    fn add(&mut self, rule: &'r CompareRule) {
        // Whatever comes after `skip` compares again, from the beginning.
        if self.skip.is_some() || matches!(rule.kind, Kind::Exact | Kind::Skip) {
            *self = Self::default();
        }
        match &rule.kind {
            Kind::Exact => {}
            Kind::Skip => self.skip = Some(rule),
            Kind::Relative(value) => self.relative = Some((*value, rule)),
            Kind::Absolute(value) => self.absolute = Some((*value, rule)),
            Kind::Drop(pattern) => self.drops.push((pattern, rule)),
        }
    }

    /// The rule that exempts the content, if one does.
    pub(crate) fn exempts(&self) -> Option<&'r CompareRule> {
        self.skip
    }

    /// Whether only the same bytes are the same.
    pub(crate) fn is_exact(&self) -> bool {
        self.rules().is_empty()
    }

    fn tolerance(&self) -> Option<Tolerance> {
        let relative = self.relative.map(|(value, _)| value);
        let absolute = self.absolute.map(|(value, _)| value);
        (relative.is_some() || absolute.is_some()).then_some(Tolerance { relative, absolute })
    }

    /// The rules that count, in the order in which they are applied.
    fn rules(&self) -> Vec<&'r CompareRule> {
        let drops = self.drops.iter().map(|(_, rule)| *rule);
        let numbers = [self.relative, self.absolute].into_iter().flatten();
        let numbers = numbers.map(|(_, rule)| rule);
        self.skip.into_iter().chain(drops).chain(numbers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(given: &[&str]) -> Rules {
        let given: Vec<String> = given.iter().map(|it| (*it).to_owned()).collect();
        Rules::parse_given(&given, Origin::Replay).unwrap()
    }

    fn applied(given: &[&str], place: &str) -> String {
        let rules = rules(given);
        let treatment = rules.treatment_of(place);
        let rules: Vec<&str> = treatment.rules().iter().map(|it| it.rule()).collect();
        rules.join(" ")
    }

    #[test]
    fn rules_for_a_file_add_up_in_order() {
        let all = &["*=rel:1e-9", "*.json=abs:0.5", "*=drop:x", "*.json=drop:y"];
        assert_eq!(
            applied(all, "artifacts/a/m.json"),
            "drop:x drop:y rel:1e-9 abs:0.5"
        );
        assert_eq!(applied(all, "logs/stdout.txt"), "drop:x rel:1e-9");
        assert_eq!(
            applied(&["*=rel:0.1", "*=rel:0.2"], "artifacts/a"),
            "rel:0.2"
        );
        assert_eq!(applied(&["*=skip", "a=rel:0.2"], "artifacts/a"), "rel:0.2");
        assert_eq!(applied(&["a=rel:0.2", "*=skip"], "artifacts/a"), "skip");
        assert_eq!(
            applied(&["*=skip", "*=drop:x", "a=exact"], "artifacts/a"),
            ""
        );
    }

    #[test]
    fn stream_and_a_file_of_its_name_are_told_apart() {
        let at = |glob: &str, place: &str| applied(&[&format!("{glob}=skip")], place) == "skip";
        for (glob, file, stream) in [
            ("stdout", false, true),
            ("./stdout", true, false),
            ("std*", true, true),
            ("*", true, true),
            ("**", true, true),
            (".", true, false),
            ("stderr", false, false),
        ] {
            assert_eq!(at(glob, "artifacts/stdout"), file, "{glob}");
            assert_eq!(at(glob, "logs/stdout.txt"), stream, "{glob}");
        }
        assert!(at("out", "artifacts/out/a/b.csv"));
        assert!(!at("logs/stdout.txt", "logs/stdout.txt"));
        assert!(at("logs/stdout.txt", "artifacts/logs/stdout.txt"));
    }

    #[test]
    fn glob_and_rule_may_have_equals_signs() {
        let rule = |text: &str| {
            let rule = CompareRule::parse_given(text, Origin::Replay).unwrap();
            (rule.glob, rule.rule)
        };
        let pair = |glob: &str, rule: &str| (glob.to_owned(), rule.to_owned());
        assert_eq!(rule("a=b.csv=exact"), pair("a=b.csv", "exact"));
        assert_eq!(rule("x=drop:t=[0-9]+"), pair("x", "drop:t=[0-9]+"));
        assert_eq!(rule("x=drop:a=rel:1"), pair("x", "drop:a=rel:1"));
    }

    #[test]
    fn invalid_rule_is_refused() {
        let parse = |text: &str| CompareRule::parse_given(text, Origin::Replay).map(drop);
        for text in ["a", "a=", "a=about", "a=skip:", "rel:1e-9", "a=exact:x"] {
            assert_eq!(parse(text), Err(RuleError::Form), "{text}");
        }
        assert_eq!(parse("=skip"), Err(RuleError::NoGlob));
        for text in ["rel:nan", "rel:-1e-9", "rel:1", "rel:inf", "rel:1e308"] {
            let parsed = parse(&format!("a={text}"));
            assert!(matches!(parsed, Err(RuleError::Relative(_))), "{text}");
        }
        for text in ["abs:NaN", "abs:-0.1", "abs:inf", "abs:1e999"] {
            let parsed = parse(&format!("a={text}"));
            assert!(matches!(parsed, Err(RuleError::Absolute(_))), "{text}");
        }
        assert!(matches!(parse("a=rel:"), Err(RuleError::Number(_))));
        assert!(matches!(parse("a=rel:x"), Err(RuleError::Number(_))));
        for regex in ["", "(", "a{1000}{1000}{1000}", &"(".repeat(100_000)] {
            let parsed = parse(&format!("a=drop:{regex}"));
            assert!(matches!(parsed, Err(RuleError::Regex(_))), "{regex:.20}");
        }
        assert!(matches!(parse("{a=skip"), Err(RuleError::Glob(_))));
        let many = vec!["a=skip".to_owned(); 101];
        assert!(Rules::parse_given(&many, Origin::Replay).is_err());
    }
}

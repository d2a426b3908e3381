//! What comparing two versions of a result under rules gives.

use std::fmt;
use std::io::{self, Read};

use super::drop::Dropping;
use super::json::{self, compare_documents};
use super::npy::{ArrayFault, Element, compare_arrays};
use super::number::{Close, Tolerance};
use super::text::{TextFault, compare_texts};
use super::{CompareRule, Origin, Treatment, name_of};
use crate::record::notebook;
use crate::record::png::{self, CHANNELS, ImageFault};

/// The most numbers beyond a tolerance that are shown.
const MOST_SHOWN: usize = 10;

/// The most characters of a number that are shown.
const SHOWN: usize = 40;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A JSON Pointer.
    Pointer(String),
    /// A line of a text, from 1, and the cell of a table in it.
    Line {
        /// The line's number.
        line: u64,
        /// The cell's number.
        column: Option<u64>,
    },
    /// A JSON Pointer into a notebook, which is shown by cell and output.
    Notebook(String),
    /// The index of an array's element.
    Index(Vec<u64>),
    /// A part of a pixel of an image.
    Pixel {
        /// Its column, from 0.
        x: u32,
        /// Its row, from 0.
        y: u32,
        /// The number of the part: red, green, blue or alpha.
        channel: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(pointer) => write!(f, "#{pointer}"),
            Self::Notebook(pointer) => match notebook::name_place(pointer) {
                Some(name) => write!(f, ", {name}"),
                None => write!(f, "#{pointer}"),
            },
            Self::Pixel { x, y, channel } => {
                let channel = CHANNELS.get(*channel).copied().unwrap_or_default();
                write!(f, ", pixel {x}, {y}, {channel}")
            }
            Self::Line { line, column: None } => write!(f, ", line {line}"),
            Self::Line {
                line,
                column: Some(column),
            } => write!(f, ", line {line}, column {column}"),
            Self::Index(index) => {
                let index: Vec<String> = index.iter().map(u64::to_string).collect();
                write!(f, "[{}]", index.join(", "))
            }
        }
    }
}

/// The largest difference of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Largest {
    /// How large it is.
    pub difference: f64,
    /// Where it is.
    pub place: Place,
}

/// How a result that is the same under its rules differs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Within {
    /// Its place in the bundle.
    pub path: String,
    /// The rules that were applied, as their globs, texts and origins.
    pub rules: Vec<(String, String, Origin)>,
    /// How many numbers differ.
    pub differing: u64,
    /// The largest relative difference, of numbers within a relative tolerance.
    pub relative: Option<Largest>,
    /// The largest difference of numbers that are within an absolute tolerance alone.
    pub absolute: Option<Largest>,
    /// Whether rules left nothing of it to compare.
    pub is_nothing_left: bool,
}

/// A result whose content a rule exempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exempt {
    /// Its place in the bundle.
    pub path: String,
    /// Whose rule it is.
    pub origin: Origin,
}

impl Exempt {
    pub(crate) fn by(rule: &CompareRule, place: &str) -> Self {
        Self {
            path: place.to_owned(),
            origin: rule.origin,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judged {
    /// It is the same under its rules.
    Same(Within),
    /// It differs; says how, if that can be described.
    Differs(Option<String>),
}

/// One version of a result.
pub(crate) trait Version {
    /// Opens it at its beginning.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

/// Collects how numbers differ.
#[derive(Debug)]
pub(super) struct Measure {
    tolerance: Tolerance,
    within: Within,
    beyond: u64,
    shown: Vec<String>,
}

impl Measure {
    pub(super) fn new(tolerance: Tolerance) -> Self {
        Self {
            tolerance,
            within: Within::default(),
            beyond: 0,
            shown: Vec::new(),
        }
    }

    pub(super) fn tolerance(&self) -> Tolerance {
        self.tolerance
    }

    #[cfg(test)]
    pub(super) fn differing(&self) -> u64 {
        self.within.differing
    }

    pub(super) fn add(&mut self, before: &str, now: &str, place: impl FnOnce() -> Place) {
        let close = self.tolerance.compare_texts(before, now);
        self.add_close(close, before, now, place);
    }

    pub(super) fn compare(&self, before: Element, now: Element) -> Close {
        match (before, now) {
            (Element::Integer(a), Element::Integer(b)) => self.tolerance.compare_integers(a, b),
            (Element::Double(a), Element::Double(b)) => self.tolerance.compare_doubles(a, b),
            _ => Close::Beyond(f64::INFINITY),
        }
    }

    pub(super) fn add_close(
        &mut self,
        close: Close,
        before: &str,
        now: &str,
        place: impl FnOnce() -> Place,
    ) {
        let (largest, difference) = match close {
            Close::Same => return,
            Close::Relative(difference) => (&mut self.within.relative, difference),
            Close::Absolute(difference) => (&mut self.within.absolute, difference),
            Close::Beyond(difference) => {
                self.beyond += 1;
                if self.shown.len() < MOST_SHOWN {
                    let place = place().to_string();
                    let place = place.trim_start_matches(", ");
                    let (before, now) = (shorten(before), shorten(now));
                    let line = format!("{place}: {before}, now {now} (differs by {difference:e})");
                    self.shown.push(line);
                }
                return;
            }
        };
        self.within.differing += 1;
        if largest.as_ref().is_none_or(|it| difference > it.difference) {
            let place = place();
            *largest = Some(Largest { difference, place });
        }
    }

    /// Adds what was found in a text of a document, at the place of that text.
    pub(super) fn absorb(&mut self, other: Self, place: &Place) {
        self.within.differing += other.within.differing;
        let mine = [&mut self.within.relative, &mut self.within.absolute];
        for (mine, other) in mine
            .into_iter()
            .zip([other.within.relative, other.within.absolute])
        {
            if let Some(other) = other
                && mine
                    .as_ref()
                    .is_none_or(|it| other.difference > it.difference)
            {
                *mine = Some(Largest {
                    place: place.clone(),
                    ..other
                });
            }
        }
        self.beyond += other.beyond;
        let room = MOST_SHOWN.saturating_sub(self.shown.len());
        let place = place.to_string();
        let place = place.trim_start_matches(", ");
        let shown = other.shown.into_iter().take(room);
        self.shown
            .extend(shown.map(|line| format!("{place} {line}")));
    }

    /// The numbers beyond the tolerance, if there are any.
    pub(super) fn beyond(&self) -> Option<String> {
        let count = match self.beyond {
            0 => return None,
            1 => "a number differs by more".to_owned(),
            count => format!("{count} numbers differ by more"),
        };
        Some(format!("{count}\n{}", self.shown.join("\n")))
    }
}

fn shorten(number: &str) -> String {
    match number.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &number[..at]),
        None => number.to_owned(),
    }
}

/// Judges two versions of what is at this place of a bundle, which do not have the same bytes. `describe` says how they
/// differ without any rule.
pub(crate) fn judge_under(
    treatment: &Treatment<'_>,
    place: &str,
    (before, now): (&dyn Version, &dyn Version),
    describe: impl FnOnce() -> Option<String>,
) -> Judged {
    if treatment.is_exact() {
        return Judged::Differs(describe());
    }
    match compare_under(treatment, &name_of(place), before, now) {
        Judged::Same(within) => Judged::Same(Within {
            path: place.to_owned(),
            ..within
        }),
        Judged::Differs(how) => {
            let texts: Vec<String> = how.into_iter().chain(describe()).collect();
            Judged::Differs(Some(texts.join("\n")))
        }
    }
}

/// Compares two versions of the result called `name` under its rules.
fn compare_under(
    treatment: &Treatment<'_>,
    name: &str,
    before: &dyn Version,
    now: &dyn Version,
) -> Judged {
    let comparing = Comparing {
        treatment,
        name,
        before,
        now,
    };
    match comparing.compare() {
        Ok(judged) => judged,
        Err(error) => comparing.differs(&format!("it could not be compared: {error}")),
    }
}

struct Comparing<'a> {
    treatment: &'a Treatment<'a>,
    name: &'a str,
    before: &'a dyn Version,
    now: &'a dyn Version,
}

impl Comparing<'_> {
    /// The rules as they were given.
    fn applied(&self) -> String {
        let rules = self.treatment.rules();
        let rules: Vec<&str> = rules.iter().map(|rule| rule.rule()).collect();
        rules.join(" ")
    }

    fn ends_with(&self, endings: &[&str]) -> bool {
        let ending = self.name.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| endings.iter().any(|it| it.eq_ignore_ascii_case(ending)))
    }

    fn open<'v>(&'v self, version: &'v dyn Version) -> io::Result<Box<dyn Read + 'v>> {
        let reader = version.open()?;
        let patterns: Vec<_> = self.treatment.drops.iter().map(|(it, _)| *it).collect();
        Ok(match patterns.is_empty() {
            true => reader,
            false => Box::new(Dropping::new(reader, patterns)),
        })
    }

    fn same(&self, within: Within) -> io::Result<Judged> {
        let origin = |rule: &&CompareRule| (rule.glob.clone(), rule.rule.clone(), rule.origin);
        let is_nothing_left =
            !self.treatment.drops.is_empty() && has_no_text(self.open(self.before)?)?;
        Ok(Judged::Same(Within {
            rules: self.treatment.rules().iter().map(origin).collect(),
            is_nothing_left,
            ..within
        }))
    }

    fn differs(&self, how: &str) -> Judged {
        Judged::Differs(Some(format!("{}: {how}", self.applied())))
    }

    fn compare(&self) -> io::Result<Judged> {
        let Some(tolerance) = self.treatment.tolerance() else {
            return match is_same(self.open(self.before)?, self.open(self.now)?)? {
                true => self.same(Within::default()),
                false => Ok(self.differs("what is left differs")),
            };
        };
        let mut measure = Measure::new(tolerance);
        if self.ends_with(&["npy"]) {
            let (before, now) = (self.before.open()?, self.now.open()?);
            let how = match compare_arrays(before, now, &mut measure) {
                Ok(()) => return self.judge(measure),
                Err(ArrayFault::NoNumbers) => {
                    "it is not an array of numbers, so it is compared exactly"
                }
                Err(ArrayFault::Header) => "the type, order or shape of the array differs",
                Err(ArrayFault::Length) => "the array has another number of bytes",
                Err(ArrayFault::Read(error)) => return Err(error),
            };
            return Ok(self.differs(how));
        }
        if self.ends_with(&["png"]) {
            return self.compare_images(measure);
        }
        let is_notebook = self.ends_with(&["ipynb"]);
        if is_notebook || self.ends_with(&["json", "geojson", "jsonld"]) {
            let (before, now) = (self.open(self.before)?, self.open(self.now)?);
            let (before, now) = (json::read_text(before)?, json::read_text(now)?);
            let texts = before.zip(now);
            let texts = texts.map(|(a, b)| (json::admit_bare(a), json::admit_bare(b)));
            let texts = texts.as_ref().map(|(a, b)| (a.as_slice(), b.as_slice()));
            let documents = texts.and_then(|(a, b)| json::parse(a).zip(json::parse(b)));
            if let Some((before, now)) = documents {
                let compared = compare_documents(&before, &now, is_notebook, &mut measure);
                return self.judge_place(measure, compared);
            }
        }
        let separator = match (self.ends_with(&["csv"]), self.ends_with(&["tsv"])) {
            (true, _) => Some(b','),
            (_, true) => Some(b'\t'),
            _ => None,
        };
        let (before, now) = (self.open(self.before)?, self.open(self.now)?);
        match compare_texts(before, now, separator, &mut measure) {
            Ok(()) => self.judge(measure),
            Err(TextFault::Differs(place)) => self.judge_place(measure, Err(place)),
            Err(TextFault::NoText) => Ok(self.differs(
                "numbers are compared in texts, JSON, .npy and .png; this is something else, so it is compared exactly",
            )),
            Err(TextFault::Read(error)) => Err(error),
        }
    }

    /// Compares two images, of which the parts of pixels are numbers.
    fn compare_images(&self, mut measure: Measure) -> io::Result<Judged> {
        let (before, now) = (self.before.open()?, self.now.open()?);
        let compared = png::compare(before, now, |(x, y), old, new, _| {
            for (channel, (old, new)) in old.into_iter().zip(new).enumerate() {
                let element = |value: u16| Element::Integer(value.into());
                let close = measure.compare(element(old), element(new));
                if close != Close::Same {
                    let place = || Place::Pixel { x, y, channel };
                    measure.add_close(close, &old.to_string(), &new.to_string(), place);
                }
            }
        });
        Ok(self.differs(match compared {
            Ok(_) => return self.judge(measure),
            Err(ImageFault::Sizes([old, new])) => {
                let how = format!(
                    "an image of {} × {}, now {} × {}",
                    old.0, old.1, new.0, new.1
                );
                return Ok(self.differs(&how));
            }
            Err(ImageFault::NoImage) => "it is no image in PNG, so it is compared exactly",
            Err(ImageFault::TooLarge) => "it is too large to compare its pixels",
            Err(ImageFault::Order) => "one of the images is interlaced, and the other is not",
            Err(ImageFault::Read(error)) => return Err(error),
        }))
    }

    fn judge(&self, measure: Measure) -> io::Result<Judged> {
        match measure.beyond() {
            Some(told) => Ok(self.differs(&told)),
            None => self.same(measure.within),
        }
    }

    fn judge_place(&self, measure: Measure, compared: Result<(), Place>) -> io::Result<Judged> {
        let Err(place) = compared else {
            return self.judge(measure);
        };
        let place = place.to_string();
        let place = match place.trim_start_matches(", ") {
            "#" => "the document",
            place => place,
        };
        Ok(self.differs(&format!("more than numbers differs, first at {place}")))
    }
}

/// Whether two readers give the same.
fn is_same(mut before: impl Read, mut now: impl Read) -> io::Result<bool> {
    const PIECE: usize = 64 << 10;
    let (mut a, mut b) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let old = runseal_archive::fill(&mut before, &mut a)?;
        let new = runseal_archive::fill(&mut now, &mut b)?;
        if a[..old] != b[..new] {
            return Ok(false);
        }
        if old == 0 {
            return Ok(true);
        }
    }
}

/// Whether a reader gives nothing but white space.
fn has_no_text(mut reader: impl Read) -> io::Result<bool> {
    let mut piece = vec![0; 64 << 10];
    loop {
        match runseal_archive::fill(&mut reader, &mut piece)? {
            0 => return Ok(true),
            count if piece[..count].iter().all(u8::is_ascii_whitespace) => {}
            _ => return Ok(false),
        }
    }
}

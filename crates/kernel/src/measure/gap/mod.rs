//! Schema gaps (G): what this kind of goal needs and nobody gave.
//!
//! Six elements can be missing. Each has a recogniser that looks through the whole intent and is generous: an element
//! is missing only where nothing in the text could stand for it. Which elements are needed is the goal's kind.

mod data;
mod failure;
mod goal;
mod product;
pub(super) mod signals;
mod users;

use self::goal::{GoalKind, goal_kind};
use self::signals::{Signals, is_file_name, read_signals};
use super::closed::Closed;
use super::{Finding, FindingKind, Source};
use crate::lexicon::class;

/// What a goal may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// Languages, products, platforms.
    Technology,
    /// What is worked on: records, files, fields, sources.
    Data,
    /// Who or what uses the result.
    Users,
    /// What happens when something goes wrong.
    FailureHandling,
    /// What is delivered, in which form.
    Output,
    /// When it is good enough.
    SuccessMeasure,
}

impl Element {
    /// All elements, in the order they are asked for.
    pub const ALL: [Element; 6] = [
        Element::Technology,
        Element::Data,
        Element::Users,
        Element::FailureHandling,
        Element::Output,
        Element::SuccessMeasure,
    ];

    /// The name used in questions.
    pub fn name(self) -> &'static str {
        match self {
            Element::Technology => "technology",
            Element::Data => "data",
            Element::Users => "users",
            Element::FailureHandling => "failure handling",
            Element::Output => "output",
            Element::SuccessMeasure => "success measure",
        }
    }
}

/// Sentences from which a small change is told in full.
const TOLD: usize = 4;

/// What the recognisers saw, also the base of the density.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Profile {
    /// Constraints that name something concrete: a number, a product, a format, a file.
    pub concrete_constraints: usize,
    /// Texts that speak of a result.
    pub specified_outputs: usize,
    /// Words a constraint has on average.
    pub constraint_depth: usize,
    /// Elements that were seen, by position in [`Element::ALL`].
    pub seen: [bool; 6],
}

/// Adds a finding for each needed element that nothing in the intent stands for.
pub(super) fn find_gaps(
    goal: &Source<'_>,
    sources: &[Source<'_>],
    decisions: &[Source<'_>],
    closed: &Closed,
    out: &mut Vec<Finding>,
) -> Profile {
    let (kind, built) = match goal_kind(&goal.tagged) {
        (GoalKind::Software | GoalKind::Change, built) if runs_in_device(sources) => {
            (GoalKind::Device, built)
        }
        other => other,
    };
    let own = read_signals(&goal.tagged);
    // A long goal carries its own constraints; a short one only names the thing.
    let long_goal = own.words > 22;
    let mut profile = Profile::default();
    let mut points = if long_goal { own.data } else { 0 };
    let mut seen = Signals {
        technology: own.technology,
        users: own.users,
        failure: long_goal && own.failure,
        output: long_goal && own.output,
        measure: own.measure,
        ..Signals::default()
    };
    let mut words = 0;
    for source in sources.iter().chain(decisions) {
        let s = read_signals(&source.tagged);
        points += s.data;
        seen.technology |= s.technology;
        seen.users |= s.users;
        seen.failure |= s.failure;
        seen.output |= s.output;
        seen.measure |= s.measure;
        profile.concrete_constraints += usize::from(s.concrete);
        profile.specified_outputs += usize::from(s.output);
        words += s.words;
    }
    let texts = sources.len() + decisions.len();
    profile.constraint_depth = words.checked_div(texts).unwrap_or(0);
    let technology = seen.technology
        || kind == GoalKind::Fix && (has_location(goal, sources) || has_location(goal, decisions));
    // What is moved is there already: it is enough to name it.
    let enough = if matches!(kind, GoalKind::Document | GoalKind::Migrate) {
        data::ENOUGH_TO_WRITE
    } else {
        data::ENOUGH
    };
    profile.seen = [
        technology,
        points >= enough,
        seen.users,
        seen.failure,
        seen.output,
        seen.measure,
    ];
    for (i, element) in Element::ALL.into_iter().enumerate() {
        profile.seen[i] |= closed.has_element(element);
    }
    let missing = |i: usize| kind.needs().contains(&Element::ALL[i]) && !profile.seen[i];
    // A small change that is told in several sentences needs no more than it says.
    let sentences = |list: &[Source<'_>]| -> usize {
        list.iter().map(|s| s.tagged.lexed.sentences.len()).sum()
    };
    let told = sentences(sources) + sentences(decisions) >= TOLD
        && (0..Element::ALL.len()).filter(|&i| missing(i)).count() == 1
        && (0..Element::ALL.len()).any(|i| missing(i) && kind.may_lack(Element::ALL[i], built));
    for (i, element) in Element::ALL.into_iter().enumerate() {
        if missing(i) && !told {
            let (start, end) = goal.tagged.lexed.span((0, goal.tagged.lexed.tokens.len()));
            out.push(Finding {
                kind: FindingKind::Gap,
                places: vec![goal.place(start, end)],
                sentence: None,
                element: Some(element),
                topic: None,
                options: Vec::new(),
            });
        }
    }
    profile
}

/// Pins, buses and controllers are named: it works on signals, whatever the goal calls it.
fn runs_in_device(sources: &[Source<'_>]) -> bool {
    sources.iter().any(|s| {
        let lexed = &s.tagged.lexed;
        (0..lexed.tokens.len()).any(|i| {
            let word = lexed.word(i);
            // `STM32F4`, `ESP32-C3`, `ATtiny85`, `S7-1200`
            [
                "stm32", "esp32", "esp8266", "rp2040", "nrf5", "attiny", "atmega", "s7-1", "pic1",
                "pic3", "msp430", "samd",
            ]
            .iter()
            .any(|chip| word.starts_with(chip))
                || any_of!(word,
                "arduino" "plc" "i2c" "gpio" "uart" "rs-485"
                "rs485" "micropython" "zephyr" "freertos" "codesys" "pwm" "eeprom" "firmware")
                || lexed.word(i) == "structured" && lexed.word(i + 1) == "text"
        })
    })
}

fn has_location(goal: &Source<'_>, sources: &[Source<'_>]) -> bool {
    std::iter::once(goal).chain(sources).any(|s| {
        s.tagged
            .lexed
            .tokens
            .iter()
            .enumerate()
            .any(|(i, _)| is_file_name(&s.tagged.lexed, i) || s.tagged.is(i, class::FORMAT))
    })
}

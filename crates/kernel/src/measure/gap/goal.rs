//! What kind of goal it is: the main verb and its object decide, because a runbook needs no database and a bug fix
//! needs no audience.

use super::Element;
use crate::lexicon::{Tagged, class};
use crate::text::lex::TokenKind;

/// Kinds of goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoalKind {
    /// Something new that runs.
    Software,
    /// A change to something that runs.
    Change,
    /// Repair and upkeep.
    Fix,
    /// A text, a plan, an estimate.
    Document,
    /// Better than now.
    Improve,
    /// From here to there.
    Migrate,
    /// An answer to a question about data.
    Analyse,
    /// Set up and run.
    Operate,
    /// Take over what people do by hand.
    Automate,
    /// Firmware, controllers and code for programmers: they work on signals and arguments, not on records.
    Device,
}

impl GoalKind {
    /// What a goal of this kind needs.
    pub fn needs(self) -> &'static [Element] {
        use Element::{Data, FailureHandling, Output, SuccessMeasure, Technology, Users};
        match self {
            GoalKind::Software | GoalKind::Change => &[Technology, Data, Users, FailureHandling],
            GoalKind::Fix => &[Technology],
            GoalKind::Document => &[Users, Output, Data],
            GoalKind::Improve => &[SuccessMeasure, Technology],
            GoalKind::Migrate => &[Technology, Data, FailureHandling],
            GoalKind::Analyse => &[Data, Output, Users],
            GoalKind::Operate => &[Technology, FailureHandling],
            GoalKind::Device => &[Technology, Users, FailureHandling],
            GoalKind::Automate => &[Technology, Data, Users, Output, FailureHandling],
        }
    }

    /// Whether an intent that says all the rest may leave the element out: who changes, configures or documents what
    /// is there need not say who uses it, and whose table is in the paper is told by the paper.
    pub fn may_lack(self, element: Element, built: bool) -> bool {
        use Element::{FailureHandling, Output, SuccessMeasure, Technology, Users};
        match self {
            GoalKind::Software | GoalKind::Change | GoalKind::Device => {
                !built && element != Technology
            }
            GoalKind::Operate => !built && element == FailureHandling,
            GoalKind::Improve => element == SuccessMeasure,
            GoalKind::Document => matches!(element, Users | Output),
            GoalKind::Analyse => element == Output,
            GoalKind::Fix | GoalKind::Migrate | GoalKind::Automate => false,
        }
    }
}

const VERBS: u64 = class::BUILD
    | class::CHANGE
    | class::FIX
    | class::DESCRIBE
    | class::IMPROVE
    | class::MIGRATE
    | class::ANALYSE
    | class::OPERATE;

/// Words between a verb and the end of its object.
const OBJECT_ENDS: &[&str] = &[
    "for", "of", "that", "which", "who", "with", "to", "on", "in", "from", "by", "so", "and", "at",
    "into", "without", "as", "about", "using", "when", "under", "behind", "between",
];

/// Decides the kind of a goal, and whether it is about something that is built anew.
pub(super) fn goal_kind(goal: &Tagged<'_>) -> (GoalKind, bool) {
    let lexed = &goal.lexed;
    let n = lexed.tokens.len().min(400);
    let first = (0..n.min(10)).find(|&i| !is_opener(goal, i));
    // `Set up a portal` builds one; `set up the secrets` and `provide test data` do not.
    let built = first.is_none_or(|i| {
        goal.is(i, class::BUILD) && !any_of!(lexed.word(i), "provide" "set")
            || i > 1 && any_of!(lexed.word(i - 1), "a" "an")
            || lexed.word(i) == "set" && any_of!(lexed.word(i + 2), "a" "an")
    });
    (verb_kind(goal, first), built)
}

/// Words of politeness and wishing before the verb.
fn is_opener(goal: &Tagged<'_>, i: usize) -> bool {
    let lexed = &goal.lexed;
    any_of!(lexed.word(i),
        "please" "can" "could" "would" "will" "you" "we" "i" "need" "want" "like" "to"
        "let's" "lets" "let" "us" "have" "must" "should" "help" "me" "our" "a" "an" "the"
        "i'd" "someone" "somebody" "task" "goal" "is" "get" "id")
        || lexed.tokens[i].kind == TokenKind::Symbol
}

/// The kind by the verb at `first` and its object.
fn verb_kind(goal: &Tagged<'_>, first: Option<usize>) -> GoalKind {
    let lexed = &goal.lexed;
    let n = lexed.tokens.len().min(400);
    let fixes = (0..n).any(|i| {
        any_of!(lexed.word(i), "fix" "repair" "bug" "bugs" "bugfix" "crashes" "typo" "regression" "hotfix")
    });
    let verb = first.filter(|&i| goal.is(i, VERBS));
    let object_end = |from: usize| {
        (from..n)
            .find(|&i| {
                OBJECT_ENDS.contains(&lexed.word(i)) || lexed.tokens[i].kind == TokenKind::Symbol
            })
            .unwrap_or(n)
    };
    let Some(v) = verb else {
        // A noun phrase: `small script to check phone numbers`.
        let end = object_end(0).max(first.map_or(0, |f| f + 1)).min(n);
        let to = if end == 0 { n } else { end };
        return if fixes {
            GoalKind::Fix
        } else if is_device(goal, 0, n.min(10)) {
            GoalKind::Device
        } else if goal.any((0, to), class::DOCUMENT) && !goal.any((0, to), class::SOFTWARE) {
            GoalKind::Document
        } else {
            GoalKind::Software
        };
    };
    let word = lexed.word(v);
    let end = object_end(v + 1);
    let head = (v + 1..end)
        .rev()
        .find(|&i| lexed.tokens[i].kind == TokenKind::Word);
    // `Build a stock report in Qlik Sense` is a program, `Write a report` a document.
    let document_object = !any_of!(word, "build" "develop" "implement")
        && (head.is_some_and(|h| goal.is(h, class::DOCUMENT))
            || any_of!(word, "write" "draft")
                && goal.any((v + 1, end), class::DOCUMENT)
                && !goal.any((v + 1, end), class::SOFTWARE))
        && !(v + 1..end).any(|i| {
            any_of!(lexed.word(i),
                "generator" "tool" "script" "service" "app" "application" "page" "exporter")
        });
    let c = goal.classes[v];
    if any_of!(word, "automate" "digitise" "digitize") {
        return GoalKind::Automate;
    }
    // A pipeline is set up, but what flows through it must be said.
    if word == "set"
        && (v + 1..n).any(|i| any_of!(lexed.word(i), "pipeline" "pipelines" "warehouse" "etl"))
    {
        return GoalKind::Software;
    }
    if word == "set" || word == "back" && lexed.word(v + 1) == "up" {
        return GoalKind::Operate;
    }
    if c & class::DESCRIBE != 0 && c & class::ANALYSE == 0
        || document_object && c & (class::BUILD | class::CHANGE | class::DESCRIBE | class::FIX) != 0
    {
        return GoalKind::Document;
    }
    if word == "find"
        || word == "why"
        || c & class::ANALYSE != 0 && c & (class::BUILD | class::CHANGE | class::FIX) == 0
    {
        return GoalKind::Analyse;
    }
    if is_device(goal, v + 1, n.min(v + 14)) && c & (class::BUILD | class::CHANGE) != 0 {
        return GoalKind::Device;
    }
    let better = (v + 1..n).any(|i| {
        any_of!(lexed.word(i), "faster" "better" "quicker" "cheaper" "smaller" "easier" "safer" "leaner")
    });
    if c & class::IMPROVE != 0 && (is_quality_verb(word) || names_quality(goal, v + 1, n))
        || matches!(word, "make" | "get") && better
    {
        return GoalKind::Improve;
    }
    // What it does stays the same: nothing new can fail, and nobody new uses it.
    if (v..n).any(|i| {
        lexed.word(i) == "without" && any_of!(lexed.word(i + 1), "changing" "touching" "altering")
    }) {
        return GoalKind::Fix;
    }
    if c & class::FIX != 0 {
        return if c & class::OPERATE != 0 {
            GoalKind::Operate
        } else {
            GoalKind::Fix
        };
    }
    if fixes {
        return GoalKind::Fix;
    }
    if c & class::MIGRATE != 0 && c & (class::BUILD | class::OPERATE) == 0 {
        return GoalKind::Migrate;
    }
    if c & class::BUILD != 0 {
        return GoalKind::Software;
    }
    if c & class::OPERATE != 0 {
        return GoalKind::Operate;
    }
    GoalKind::Change
}

/// Verbs that ask for better, whatever the object.
fn is_quality_verb(word: &str) -> bool {
    any_of!(word,
        "improve" "optimise" "optimize" "accelerate" "speed" "enhance" "modernise" "modernize" "streamline" "tune" "boost"
        "scale" "better" "faster")
}

/// `Raise the Python version` is a change; `raise the hit rate` wants a number.
fn names_quality(goal: &Tagged<'_>, from: usize, to: usize) -> bool {
    (from..to).any(|i| {
        any_of!(goal.lexed.word(i),
            "time" "times" "performance" "latency" "cost" "costs" "speed" "memory" "load" "size" "errors" "rate" "rates"
            "quality" "energy" "traffic" "conversion" "satisfaction" "consumption" "waste" "usage" "delay" "delays" "noise"
            "minutes" "seconds" "hours" "percent" "accuracy" "throughput" "effort" "bill" "bills" "duration" "number" "calls" "tickets" "complaints" "footprint")
    })
}

/// The object runs in a device, or is code for other programs.
fn is_device(goal: &Tagged<'_>, from: usize, to: usize) -> bool {
    (from..to).any(|i| {
        any_of!(goal.lexed.word(i),
            "firmware" "controller" "thermostat" "microcontroller" "lamp" "lamps" "plc" "sdk" "linter" "lint" "macro" "hook"
            "makefile" "justfile")
            || goal.lexed.word(i) == "class" && i > 0 && goal.is(i - 1, class::TECH)
    })
}

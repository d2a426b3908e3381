//! Schema gaps (G): what this kind of goal needs and nobody gave.
//!
//! Six elements can be missing. Each has a recogniser that looks through the whole intent and is generous: an element
//! is missing only where nothing in the text could stand for it. Which elements are needed is the goal's kind.

use super::closed::Closed;
use super::goal::goal_kind;
use super::{Finding, FindingKind, Source};
use crate::lexicon::{Cue, Tagged, class, is_listed};
use crate::text::lex::{Lexed, TokenKind};

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

/// Signals of one text.
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    technology: bool,
    data: u32,
    users: bool,
    failure: bool,
    output: bool,
    measure: bool,
    concrete: bool,
    words: usize,
}

/// Words that are products only when written like a name.
const AMBIGUOUS: &[&str] = &[
    "access",
    "ada",
    "age",
    "alpine",
    "apex",
    "arch",
    "axe",
    "beam",
    "beats",
    "black",
    "blade",
    "boost",
    "can",
    "c",
    "chai",
    "chef",
    "chi",
    "click",
    "compose",
    "composer",
    "conan",
    "consul",
    "crystal",
    "dart",
    "dash",
    "deadline",
    "discord",
    "drizzle",
    "echo",
    "edge",
    "exchange",
    "express",
    "fiber",
    "fish",
    "flux",
    "ghost",
    "gin",
    "glue",
    "go",
    "hive",
    "iso",
    "jack",
    "julia",
    "knex",
    "less",
    "liquid",
    "lisp",
    "locust",
    "loki",
    "make",
    "metal",
    "moment",
    "mustache",
    "nest",
    "net",
    "ninja",
    "node",
    "notebook",
    "parcel",
    "pest",
    "phoenix",
    "pic",
    "play",
    "prefect",
    "puppet",
    "r",
    "raid",
    "realm",
    "reason",
    "relay",
    "remix",
    "render",
    "requests",
    "rest",
    "rocket",
    "root",
    "sage",
    "salt",
    "san",
    "sap",
    "scheme",
    "shell",
    "shiny",
    "slack",
    "slim",
    "spark",
    "spring",
    "stripe",
    "swift",
    "teams",
    "temporal",
    "tempo",
    "tornado",
    "transformers",
    "unity",
    "vault",
    "warp",
    "whisper",
    "word",
    "zoom",
    "google",
    "edge",
    "sed",
    "swagger",
    "viper",
    "cobra",
    "polly",
    "beats",
    "airflow",
    "rollup",
    "google",
    "oracle",
    "hana",
    "hapi",
    "yarn",
    "poetry",
    "boost",
    "dask",
    "excel",
];

/// Endings of source files and scripts.
const CODE_ENDINGS: &[&str] = &[
    ".py", ".sh", ".js", ".ts", ".tsx", ".jsx", ".go", ".rs", ".c", ".h", ".cpp", ".java", ".kt",
    ".rb", ".php", ".sql", ".tf", ".ps1", ".css", ".html", ".tex", ".vue", ".cs", ".swift",
    ".scala", ".ipynb",
];

fn is_product(t: &Tagged<'_>, i: usize, sentence_start: bool) -> bool {
    if !t.is(i, class::TECH) {
        return false;
    }
    let lexed = &t.lexed;
    let word = lexed.word(i);
    let bare = word.strip_suffix("'s").unwrap_or(word);
    if !AMBIGUOUS.contains(&bare) {
        return true;
    }
    // `Google Apps Script`: a name of several words.
    let named =
        lexed.tokens[i].upper && lexed.tokens.get(i + 1).is_some_and(|n| n.upper && n.spaced);
    let number_follows = lexed
        .tokens
        .get(i + 1)
        .is_some_and(|n| n.kind == TokenKind::Number);
    let company = lexed.word(i + 1) == "with"
        || matches!(lexed.raw(i + 1), "," | "+" | "/")
        || i > 0 && matches!(lexed.word(i - 1), "in" | "with" | "using");
    let language = lexed.tokens[i].upper
        && (!sentence_start
            || company
            || any_of!(lexed.word(i + 1),
                "service" "script" "program" "module" "library" "api" "front" "on"));
    // Single letters and plain words in the middle of a sentence must look like names.
    number_follows || named || language
}

/// A file name: a dot between letters with a short ending, or a path.
fn is_file_name(lexed: &Lexed<'_>, i: usize) -> bool {
    let word = lexed.word(i);
    let Some((base, ending)) = word.rsplit_once('.') else {
        return false;
    };
    !base.is_empty()
        && (1..=5).contains(&ending.len())
        && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        && ending.bytes().any(|b| b.is_ascii_alphabetic())
        && !any_of!(word, "e.g" "i.e" "a.m" "p.m")
}

fn is_person(t: &Tagged<'_>, i: usize) -> bool {
    let c = t.classes[i];
    if c & class::THING != 0 {
        // `installers` found through the thing `installer` is a word for people.
        let word = t.lexed.word(i);
        return word.len() > 6 && word.ends_with("ers") && !is_listed(word);
    }
    if c & class::PERSON != 0 {
        return true;
    }
    // Plurals of agent nouns nobody listed: beekeepers, wholesalers, hydrologists.
    let word = t.lexed.word(i);
    c == 0
        && word.len() > 6
        && word.is_ascii()
        && (word.ends_with("ists")
            || word.ends_with("ians")
            || word.ends_with("eers")
            || word.ends_with("ers")
            || word.ends_with("keepers")
            || word.ends_with("ologist"))
}

fn read_signals(t: &Tagged<'_>) -> Signals {
    let lexed = &t.lexed;
    let mut s = Signals::default();
    let mut data_words: Vec<u64> = Vec::new();
    for &(from, to) in &lexed.sentences {
        let (mut commas, mut negated, mut conditional) = (0u32, false, false);
        for i in from..to {
            let token = lexed.tokens[i];
            match token.kind {
                TokenKind::Symbol => {
                    let raw = lexed.raw(i);
                    if raw == "," {
                        commas += 1;
                    }
                    if raw == "/"
                        && token.spaced
                        && lexed
                            .tokens
                            .get(i + 1)
                            .is_some_and(|n| !n.spaced && n.kind == TokenKind::Word)
                    {
                        s.data += 2;
                        s.concrete = true;
                    }
                    continue;
                }
                TokenKind::Number => {
                    s.concrete = true;
                    let failing_code = any_of!(lexed.word(i),
                        "400" "401" "403" "404" "409" "410" "413" "422" "429" "500" "502" "503"
                        "504");
                    s.failure |= failing_code;
                    s.measure |= t.is(
                        i + 1,
                        class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT,
                    ) || lexed.is_symbol(i + 1, "%");
                    if t.is(i + 1, class::DATA | class::SIZE_UNIT) || t.is(i + 2, class::DATA) {
                        s.data += 1;
                    }
                    continue;
                }
                TokenKind::Word => s.words += 1,
            }
            let c = t.classes[i];
            let word = lexed.word(i);
            negated |= c & class::NEG != 0;
            conditional |= c & class::CONDITION != 0
                || any_of!(word, "that" "which" "who" "otherwise" "where" "else");
            if is_product(t, i, i == from)
                || CODE_ENDINGS
                    .iter()
                    .any(|e| word.ends_with(e) && word.len() > e.len())
                || is_coined(t, i, i == from)
            {
                s.technology = true;
                s.concrete = true;
            }
            if is_file_name(lexed, i) || word.contains('_') {
                s.data += 2;
                s.concrete = true;
                s.output = true;
            }
            if c & class::FORMAT != 0 {
                s.data += 2;
                s.concrete = true;
                s.output = true;
            }
            if c & class::DATABASE != 0 && !AMBIGUOUS.contains(&word) {
                s.data += 1;
            }
            if c & class::DATA != 0 && !data_words.contains(&token.key) && data_words.len() < 8 {
                data_words.push(token.key);
                s.data += 1;
            }
            s.users |= is_person(t, i) || is_consumer(t, i);
            s.failure |= word == "out" && lexed.word(i + 1) == "of" && i <= from + 1;
            s.failure |= word == "if"
                || word.len() > 5 && (word.ends_with("error") || word.ends_with("exception"));
            s.failure |= c & class::FAILURE != 0 && !is_quiet_failure(t, i);
            s.output |= c & class::OUTPUT != 0;
        }
        s.failure |= negated && conditional || is_lacking_subject(t, from, to);
        if commas >= 2 {
            s.data += 1;
        }
    }
    s.measure |= t.hits.iter().any(|h| {
        matches!(h.cue, Cue::Upper | Cue::Lower)
            && (h.to..(h.to + 3).min(lexed.tokens.len()))
                .any(|k| lexed.tokens[k].kind == TokenKind::Number)
    });
    s
}

/// `Records without an operator are left out`: the subject lacks something, and the sentence says what happens.
fn is_lacking_subject(t: &Tagged<'_>, from: usize, to: usize) -> bool {
    let lexed = &t.lexed;
    if lexed.word(from) == "without" && to - from >= 6 {
        return true;
    }
    let Some(lack) = (from..to.min(from + 7)).find(|&i| lexed.word(i) == "without") else {
        return false;
    };
    (lack + 2..to).any(|i| {
        let word = lexed.word(i);
        any_of!(word, "is" "are" "gets" "get" "has" "stays")
            || word.len() > 3
                && word.ends_with('s')
                && !word.ends_with("ss")
                && t.is(
                    i,
                    class::OUTPUT | class::FAILURE | class::USE_VERB | class::CHANGE,
                )
    })
}

/// `no warnings`, `0 errors`: a measure, not what happens on failure.
fn is_quiet_failure(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let prev = if i > 0 { lexed.word(i - 1) } else { "" };
    match lexed.word(i) {
        "warning" | "warnings" | "error" | "errors" => {
            any_of!(prev, "no" "without" "zero" "0")
        }
        "down" => any_of!(prev,
            "drop" "break" "slow" "scroll" "write" "speed" "narrow" "slows" "cut" "top" "shuts"),
        "exit" => {
            !lexed.word(i + 1).starts_with("code")
                && lexed
                    .tokens
                    .get(i + 1)
                    .is_none_or(|n| n.kind != TokenKind::Number)
        }
        "blank" | "silent" | "dead" | "lost" | "duplicate" | "drop" | "repeat" | "restore"
        | "offline" | "alert" | "alarm" | "alerts" | "alarms" | "timed" | "locked" | "blocked"
        | "repeats" => {
            !(t.any(t.lexed.sentence_of(i), class::CONDITION | class::NEG)
                || (t.lexed.sentence_of(i).0..t.lexed.sentence_of(i).1).any(|k| {
                    any_of!(lexed.word(k),
                        "that" "which" "is" "are" "after" "from" "to" "twice" "for")
                }))
        }
        _ => false,
    }
}

/// A program that uses the result: `used by the gate software`, `the storefront calls it`.
fn is_consumer(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let word = lexed.word(i);
    let next = lexed.word(i + 1);
    match word {
        "used" | "called" | "consumed" | "scraped" | "polled" | "queried" | "invoked"
        | "imported" | "triggered" | "started" | "run" | "read" | "reads" | "loaded" | "opened" => {
            matches!(next, "by" | "from")
                && !any_of!(lexed.word(i + 2), "hand" "cron" "systemd" "default" "a" "disk")
        }
        "call" | "calls" | "use" | "uses" | "query" | "queries" | "poll" | "polls" => {
            next == "it" || next == "this"
        }
        "we" | "i" => any_of!(next, "use" "run" "read" "call" "open" "see"),
        "caller" | "callers" | "consumer" | "consumers" | "who" | "whoever" | "yourself"
        | "myself" | "ourselves" => true,
        _ => false,
    }
}

/// A product name nobody listed: capitals or digits inside the word, or a capital before a version number.
fn is_coined(t: &Tagged<'_>, i: usize, sentence_start: bool) -> bool {
    let lexed = &t.lexed;
    let raw = lexed.raw(i);
    let token = lexed.tokens[i];
    if token.quoted || raw.len() < 3 {
        return false;
    }
    let inner_capital = raw.chars().next().is_some_and(char::is_uppercase)
        && raw.chars().skip(1).any(char::is_uppercase)
        && raw.chars().any(char::is_lowercase);
    let versioned = token.upper
        && !sentence_start
        && lexed
            .tokens
            .get(i + 1)
            .is_some_and(|n| n.kind == TokenKind::Number && n.end - n.start <= 6)
        && t.classes[i] & (class::TIME_UNIT | class::STOP | class::DATA | class::OUTPUT) == 0
        && !is_month(lexed.word(i));
    inner_capital && !raw.contains('\'') && t.classes[i] & class::PERSON == 0 || versioned
}

fn is_month(word: &str) -> bool {
    any_of!(word,
        "january" "february" "march" "april" "may" "june" "july" "august" "september" "october"
        "november" "december" "page" "chapter" "section" "step" "room" "building" "version"
        "phase" "day" "week")
}

/// Adds a finding for each needed element that nothing in the intent stands for.
pub(super) fn find_gaps(
    goal: &Source<'_>,
    sources: &[Source<'_>],
    decisions: &[Source<'_>],
    closed: &Closed,
    out: &mut Vec<Finding>,
) -> Profile {
    let kind = goal_kind(&goal.tagged);
    let own = read_signals(&goal.tagged);
    // A long goal carries its own constraints; a short one only names the thing.
    let long_goal = own.words > 22;
    let mut profile = Profile::default();
    let mut data = if long_goal { own.data } else { 0 };
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
        data += s.data;
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
        || kind == super::goal::GoalKind::Fix
            && (has_location(goal, sources) || has_location(goal, decisions));
    profile.seen = [
        technology,
        data >= 2,
        seen.users,
        seen.failure,
        seen.output,
        seen.measure,
    ];
    for (i, element) in Element::ALL.into_iter().enumerate() {
        profile.seen[i] |= closed.has_element(element);
        if kind.needs().contains(&element) && !profile.seen[i] {
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

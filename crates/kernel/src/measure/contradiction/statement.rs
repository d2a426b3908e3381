//! One sentence as the detectors see it.

use super::super::Source;
use super::synonym::canonical;
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A sentence of a constraint.
#[derive(Debug)]
pub(super) struct Statement {
    /// Index into the sources.
    pub source: usize,
    /// Its tokens.
    pub range: (usize, usize),
    /// Keys of all content words, sorted, no repeats.
    pub content: Vec<u64>,
    /// Keys among `content` that are too general to be a subject.
    pub generic: Vec<u64>,
    /// Keys of the words of the main clause, in order.
    pub main: Vec<u64>,
    /// The main clause is negated.
    pub negative: bool,
    /// Holds under a condition or with an exception only.
    pub conditional: bool,
    /// Words of the condition, sorted.
    pub condition: Vec<u64>,
    /// First telling word of the main clause: what the sentence is about.
    pub subject: Option<u64>,
    /// Where the first auxiliary stands; the start of the range where none is near.
    pub verb_at: usize,
    /// Holds at a number: `opens at 3 bar`.
    pub at_number: bool,
    /// Speaks of all, every, always, only, must.
    pub universal: bool,
    /// People named in it.
    pub persons: Vec<u64>,
    /// Environments that scope it.
    pub scopes: Vec<u64>,
    /// Names of single things: `Shelf 12`, `code_7`, `K2`.
    pub labels: Vec<u64>,
    /// Methods of requests: GET, POST.
    pub methods: Vec<u64>,
    /// Paths: `/v1/raw`, `tests/`.
    pub paths: Vec<u64>,
    /// The words before a colon, where what follows is a fragment: `Guest Wi-Fi: internet allowed`.
    pub heading: Vec<u64>,
    /// The noun phrase before the first auxiliary, sorted; empty where none is near.
    pub phrase: Vec<u64>,
    /// Says that there is no exception: always, never, at all times, under any circumstances.
    pub emphatic: bool,
    /// The subject is narrowed: `posts older than a year`, `records without a number`.
    pub narrowed: bool,
    /// Speaks of a part of its subject or of a case only: `a line that does not parse`, `Sync error: …`.
    pub limited: bool,
    /// The words of that part: `pupils who left during the year`.
    pub limit: Vec<u64>,
    /// The head of the subject, and whether what follows it is `of …`.
    pub head: Option<u64>,
    /// Both sides of `of` in the subject: the words behind it.
    pub of: Vec<u64>,
    /// What follows the head begins with `of`.
    pub owned: bool,
    /// The head is a part of what follows `of`: `each entry of the list`.
    pub partitive: bool,
    /// Has a bound or another number with a unit.
    pub measured: bool,
    /// What tells this case from its counterpart: `before the deadline`, `over 100 euros`; (what, side).
    pub contrasts: Vec<(u64, bool)>,
    /// Nouns that a quantifier stands before: `every patient`, sorted.
    pub quantified: Vec<u64>,
    /// Says that there is no exception at all: `without exception`, `always`, `never`.
    pub unexcepted: bool,
    /// Nouns behind a preposition with the word before them: `in the beta build`.
    pub places: Vec<(u64, u64)>,
    /// Heads of the noun phrases behind `in`, `on`, `from`, `to`, `into`, `at`: where something is or goes.
    pub landmarks: Vec<u64>,
    /// Tells how it was: no demand.
    pub past: bool,
    /// Something is done to its subject: `files are never changed`.
    pub passive: bool,
    /// Speaks of all others only.
    pub complement: bool,
    /// Has a word that may let through one thing and nothing else.
    pub limiting: bool,
    /// Where the verb of the sentence begins.
    pub finite: Option<usize>,
    /// The place a sentence begins with: `On the public page …`.
    pub fronted: Vec<u64>,
    /// What is done: the verb, or the participle behind the auxiliary.
    pub act: Option<u64>,
    /// Gives a length of time: `30 days`, `a year`.
    pub timed: bool,
    /// Its condition is what sets it off (`when they are submitted`), no case among others.
    pub triggered: bool,
    /// Names a time of day.
    pub clocked: bool,
    /// The same for the time before and after something.
    pub phases: Vec<(u64, bool)>,
    /// The words that narrow the noun of the subject, before and behind it; see `part`.
    pub narrow: Vec<u64>,
    /// The preposition behind the noun of the subject, and what follows it: `uploads by singers`.
    pub post: (u64, Vec<u64>),
    /// It begins with `after` or `before`.
    pub phased: bool,
    /// The words of its exception: `except typo fixes in the help pages`.
    pub except: Vec<u64>,
    /// Has a word of negation, wherever it stands.
    pub denies: bool,
    /// Keys of its numbers.
    pub numbers: Vec<u64>,
    /// The numbers of its common words, sorted; see `weigh`.
    pub words: Vec<u16>,
}

/// Word keys to statements, sorted by key.
pub(super) struct Index {
    entries: Vec<(u64, u32)>,
}

impl Index {
    pub fn new(statements: &[Statement]) -> Self {
        let mut entries: Vec<(u64, u32)> = statements
            .iter()
            .enumerate()
            .flat_map(|(i, s)| s.content.iter().map(move |k| (*k, i as u32)))
            .collect();
        entries.sort_unstable();
        Index { entries }
    }

    /// Statements that hold the word.
    pub fn of(&self, key: u64) -> &[(u64, u32)] {
        let from = self.entries.partition_point(|e| e.0 < key);
        let to = from + self.entries[from..].partition_point(|e| e.0 <= key);
        &self.entries[from..to]
    }
}

/// A word with a digit or an underscore in it, or a number that names the noun before it.
pub(super) fn is_label(source: &Source<'_>, range: (usize, usize), i: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let token = lexed.tokens[i];
    let word = lexed.word(i);
    match token.kind {
        TokenKind::Symbol => false,
        TokenKind::Word => {
            token.coded
                && word.bytes().any(|b| b == b'_' || b.is_ascii_digit())
                && t.classes[i] & (class::TECH | class::ENCODING | class::FORMAT | class::NAMING)
                    == 0
        }
        TokenKind::Number => {
            let noun = i > range.0
                && lexed.tokens[i - 1].kind == TokenKind::Word
                && !t.is(i - 1, class::STOP | class::TECH | class::UNIVERSAL)
                && token.spaced;
            let next = i + 1;
            if any_of!(lexed.raw(next), "°" "%" "€" "$") {
                return false;
            }
            let counts = next < range.1
                && lexed.tokens[next].kind == TokenKind::Word
                && !t.is(next, class::STOP | class::MODAL);
            let unit = t.is(
                next,
                class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT,
            );
            noun && !unit && !word.contains(':') && (!counts || i <= range.0 + 2)
        }
    }
}

/// Words that may let through one thing and nothing else.
fn is_limiting(word: &str) -> bool {
    any_of!(word, "only" "exclusively" "solely" "alone" "else" "just" "reserved" "restricted" "limited" "confined" "exclusive"
        "entrusted" "preserve" "privilege" "prerogative" "other" "nobody" "none" "one" "apart" "except" "besides" "anyone" "anybody")
}

/// Words of permission and emphasis: they say how a statement holds, not what it is about.
pub(super) fn is_filler(word: &str) -> bool {
    any_of!(word, "anywhere" "elsewhere" "somewhere" "permitted" "allowed" "possible" "circumstances" "circumstance" "exception" "exceptions" "able" "ever" "happens" "happen" "takes" "taken" "made" "done" "performed" "carried" "place" "throughout" "anyway" "strictly" "simply" "really")
}

/// Words that begin a reason or an aside, after which the main clause is over.
const ASIDE: &[&str] = &[
    "because", "since", "so", "for", "as", "which", "who", "whose", "where",
];

/// Reads all statements.
pub(super) fn read_statements(sources: &[Source<'_>]) -> Vec<Statement> {
    let mut out = Vec::with_capacity(sources.len());
    for (n, source) in sources.iter().enumerate() {
        for &range in &source.tagged.lexed.sentences {
            let range = (behind_marker(source, range), range.1);
            out.push(read_statement(source, n, range));
        }
    }
    out
}

/// Where a sentence begins behind the mark of a list: `(b) The report …`, `2) The report …`.
fn behind_marker(source: &Source<'_>, (start, end): (usize, usize)) -> usize {
    let lexed = &source.tagged.lexed;
    let at = start + usize::from(lexed.raw(start) == "(");
    let short = at < end && lexed.tokens[at].kind != TokenKind::Symbol && lexed.raw(at).len() <= 2;
    if short && lexed.raw(at + 1) == ")" && at + 2 < end {
        at + 2
    } else {
        start
    }
}

/// Where the main clause begins behind a condition without a comma: `If the power fails the valve opens`.
fn main_clause(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    if (range.0..range.1).any(|i| lexed.raw(i) == ",") {
        return None;
    }
    (range.0 + 3..range.1.saturating_sub(1)).rev().find(|&i| {
        any_of!(lexed.word(i), "the" "a" "an" "every" "each" "all" "no" "it" "they" "its" "their")
            && lexed.tokens[i - 1].kind == TokenKind::Word
            && !t.is(i - 1, class::STOP | class::CONDITION)
            && !super::grammar::is_preposition(lexed.word(i - 1))
    })
}

fn read_statement(source: &Source<'_>, n: usize, range: (usize, usize)) -> Statement {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut s = Statement {
        source: n,
        range,
        content: Vec::new(),
        generic: Vec::new(),
        main: Vec::new(),
        negative: false,
        conditional: false,
        condition: Vec::new(),
        subject: None,
        verb_at: range.0,
        at_number: false,
        universal: false,
        persons: Vec::new(),
        scopes: Vec::new(),
        labels: Vec::new(),
        methods: Vec::new(),
        paths: Vec::new(),
        heading: Vec::new(),
        phrase: Vec::new(),
        emphatic: false,
        narrowed: false,
        limited: false,
        limit: Vec::new(),
        head: None,
        of: Vec::new(),
        partitive: false,
        owned: false,
        measured: false,
        contrasts: Vec::new(),
        phases: Vec::new(),
        clocked: false,
        limiting: false,
        act: None,
        fronted: Vec::new(),
        timed: false,
        triggered: false,
        finite: super::grammar::verb_of(source, range),
        complement: false,
        places: Vec::new(),
        landmarks: Vec::new(),
        passive: false,
        past: false,
        quantified: Vec::new(),
        unexcepted: false,
        narrow: Vec::new(),
        except: Vec::new(),
        post: (0, Vec::new()),
        phased: false,
        denies: false,
        numbers: Vec::new(),
        words: Vec::new(),
    };
    super::naming::read_names(source, range, &mut s);
    super::part::read_part(source, range, &mut s);
    let mut in_main = !any_of!(lexed.word(range.0),
        "if" "when" "whenever" "unless" "once" "while" "where");
    let mut main_done = false;
    let main_at = if in_main {
        None
    } else {
        main_clause(source, range)
    };
    // The clause after if, when, unless … up to a comma.
    let mut in_condition = false;
    for i in range.0..range.1 {
        let token = lexed.tokens[i];
        let c = t.classes[i];
        if main_at == Some(i) {
            (in_main, in_condition) = (true, false);
        }
        if token.kind == TokenKind::Symbol {
            if lexed.raw(i) == "," {
                in_condition = false;
                if !in_main {
                    in_main = true;
                } else if s.main.len() >= 2
                    && (ASIDE.contains(&lexed.word(i + 1))
                        || t.is(i + 1, class::STOP) && !matches!(lexed.word(i + 1), "and" | "or")
                        || s.main.len() >= 5)
                {
                    main_done = true;
                }
            }
            continue;
        }
        let word = lexed.word(i);
        s.limiting |= is_limiting(word);
        let key = canonical(token.key);
        if !token.quoted {
            s.denies |= c & class::NEG != 0;
            match token.kind {
                TokenKind::Number => s.numbers.push(token.key),
                _ => s.words.extend(super::weigh::word_number(token.key)),
            }
            if c & class::NEG != 0 && in_main && !main_done {
                // `without` and `no` inside a noun phrase narrow it; they do not negate the sentence.
                let relative = s.finite.is_some_and(|v| i < v)
                    && (range.0..i).any(|k| any_of!(lexed.word(k), "who" "that" "which" "whose"));
                let post = relative
                    || word == "no" && lexed.word(i + 1) == "other"
                    || word == "without" && (s.main.len() >= 2 || s.narrowed)
                    || word == "no"
                        && s.main.len() >= 3
                        && !any_of!(lexed.word(i.wrapping_sub(1)),
                            "is" "are" "has" "have" "uses" "makes" "needs" "sends");
                if !post {
                    s.negative = !s.negative;
                }
            }
            // `no dependencies beyond the JDK` leaves no exception that matters here.
            let opens = c & class::CONDITION != 0
                && !(i > range.0 && any_of!(lexed.word(i - 1), "even" "also"))
                && !(any_of!(word, "where" "once" "provided" "until" "during")
                    || s.negative && any_of!(word, "beyond" "besides" "apart")
                    || word == "whenever" && s.main.len() >= 2
                    || word == "apart" && lexed.word(i + 1) != "from");
            let at_start = any_of!(word, "once" "provided") && i == range.0;
            // `for every other crop`, `the one exception`: all but those that another statement is about.
            let rest = any_of!(word, "other" "remaining")
                && i > range.0
                && any_of!(lexed.word(i - 1), "every" "all" "any" "the")
                // `one after the other`
                && !(i > range.0 + 2
                    && any_of!(lexed.word(i - 2), "after" "to" "behind" "against")
                    && lexed.word(i - 1) == "the")
                || i == range.0
                    && any_of!(word, "below" "above" "beyond" "over" "under")
                    && any_of!(lexed.word(i + 1), "that" "this")
                || any_of!(word, "after" "before" "beyond" "above" "below")
                    && lexed.word(i + 1) == "that"
                    && (i + 2 >= range.1
                        || lexed.tokens[i + 2].kind == TokenKind::Symbol
                        || t.is(i + 2, class::STOP | class::MODAL)
                        || lexed.word(i + 2).ends_with('s'))
                || any_of!(word, "exception" "exceptions")
                    && i > range.0
                    && !any_of!(lexed.word(i - 1), "without" "no" "any");
            s.conditional |= rest;
            s.complement |= rest;
            let only =
                word == "only" && any_of!(lexed.word(i + 1), "if" "when" "for" "during" "in" "at");
            if opens || at_start || only {
                s.conditional = true;
                in_condition = true;
            }
            s.universal |= c & class::UNIVERSAL != 0 && !matches!(word, "any" | "each")
                || matches!(word, "must" | "shall");
        }
        if c & class::PERSON != 0
            && c & class::NEG == 0
            && c & (class::THING | class::UNIVERSAL | class::GENERIC) == 0
            && !any_of!(word, "person" "persons")
            && word != "public"
            && word != "people"
        {
            s.persons.push(token.key);
        }
        if is_label(source, range, i) {
            s.labels.push(token.key);
        }
        if c & class::SCOPE != 0 {
            s.scopes.push(token.key);
        }
        let telling = c
            & (class::STOP | class::NEG | class::UNIVERSAL | class::CONDITION | class::NUMERAL)
            == 0
            && !is_filler(word)
            && !(word == "case" && i > range.0 && any_of!(lexed.word(i - 1), "every" "any" "no"));
        if telling {
            if in_condition {
                s.condition.push(key);
            }
            s.content.push(key);
            if c & class::GENERIC != 0 {
                s.generic.push(key);
            }
            if in_main && !main_done {
                s.main.push(key);
                if s.subject.is_none() {
                    s.subject = Some(key);
                }
            }
        }
    }
    s.conditional |= s.limited;
    s.words.sort_unstable();
    s.words.dedup();
    s.condition.sort_unstable();
    s.condition.dedup();
    s.content.sort_unstable();
    s.content.dedup();
    s.generic.sort_unstable();
    s.generic.dedup();
    s.persons.sort_unstable();
    s.persons.dedup();
    s.scopes.sort_unstable();
    s.scopes.dedup();
    s.labels.sort_unstable();
    s.labels.dedup();
    s
}

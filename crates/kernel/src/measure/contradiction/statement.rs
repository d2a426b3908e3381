//! One sentence as the detectors see it.

use super::super::Source;
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A sentence of a constraint.
#[derive(Debug)]
pub(super) struct Statement {
    /// Index into the sources.
    pub source: usize,
    /// Its tokens.
    pub range: (usize, usize),
    /// Token to quote around when the sentence is long.
    pub focus: usize,
    /// Keys of all content words, sorted, no repeats.
    pub content: Vec<u64>,
    /// Keys among `content` that are too general to be a subject.
    pub generic: Vec<u64>,
    /// Keys of the words of the main clause, in order.
    pub main: Vec<u64>,
    /// The main clause is negated.
    pub negative: bool,
    /// Negated without exception: never, no, none.
    pub absolute: bool,
    /// Holds under a condition or with an exception only.
    pub conditional: bool,
    /// Words of the condition, sorted.
    pub condition: Vec<u64>,
    /// First telling word of the main clause: what the sentence is about.
    pub subject: Option<u64>,
    /// How many of `main` come before the first preposition behind them.
    pub core: usize,
    /// The denied predicate: subject words and the words behind the negation, sorted.
    pub denied: Vec<u64>,
    /// Speaks of all, every, always, only, must.
    pub universal: bool,
    /// People named in it.
    pub persons: Vec<u64>,
    /// Environments that scope it.
    pub scopes: Vec<u64>,
    /// Names of single things: `Shelf 12`, `code_7`, `K2`.
    pub labels: Vec<u64>,
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

/// Size of the intersection of two sorted lists.
pub(super) fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                n += 1;
                i += 1;
                j += 1;
            }
        }
    }
    n
}

/// `list` without the keys in `drop`, sorted.
pub(super) fn without(list: &[u64], drop: &[u64]) -> Vec<u64> {
    list.iter().copied().filter(|k| !drop.contains(k)).collect()
}

impl Statement {
    /// Two points for a shared telling word, one for a shared general word.
    pub fn shared_weight(&self, other: &Statement, ignore: &[u64]) -> usize {
        let (mut i, mut j, mut weight) = (0, 0, 0);
        while i < self.content.len() && j < other.content.len() {
            match self.content[i].cmp(&other.content[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    let key = self.content[i];
                    if !ignore.contains(&key) {
                        weight += if self.generic.contains(&key) { 1 } else { 2 };
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        weight
    }

    /// Share of the shorter statement's words (without `ignore`) that the other has too, in percent.
    pub fn coverage(&self, other: &Statement, ignore: &[u64]) -> usize {
        let a = without(&self.content, ignore);
        let b = without(&other.content, ignore);
        let least = a.len().min(b.len());
        (common(&a, &b) * 100).checked_div(least).unwrap_or(0)
    }

    /// Both unconditional, or both under the same condition.
    pub fn same_condition(&self, other: &Statement) -> bool {
        if !self.conditional && !other.conditional {
            return true;
        }
        if self.conditional != other.conditional
            || self.condition.is_empty()
            || other.condition.is_empty()
        {
            return false;
        }
        let both = common(&self.condition, &other.condition);
        both * 10 >= self.condition.len().max(other.condition.len()) * 7
    }

    /// About different people or different environments: `read-only for gardeners`, `agronomists can write`.
    pub fn apart(&self, other: &Statement) -> bool {
        let differ = |a: &[u64], b: &[u64]| !a.is_empty() && !b.is_empty() && common(a, b) == 0;
        differ(&self.persons, &other.persons)
            || differ(&self.scopes, &other.scopes)
            || differ(&self.labels, &other.labels)
    }

    /// About different people.
    pub fn apart_in_people(&self, other: &Statement) -> bool {
        !self.persons.is_empty()
            && !other.persons.is_empty()
            && common(&self.persons, &other.persons) == 0
    }
}

/// `Reservations are binding and cannot be cancelled`: reservation, cancel.
fn read_denied(source: &Source<'_>, range: (usize, usize)) -> Vec<u64> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let denial = (range.0..range.1).find(|&i| {
        !lexed.tokens[i].quoted && any_of!(lexed.word(i), "not" "cannot" "never" "nobody" "can't" "don't" "doesn't" "won't" "mustn't")
    });
    let Some(at) = denial else { return Vec::new() };
    // `their own payment`, `posts of others`: the denial is about a part.
    if (at..range.1)
        .any(|i| any_of!(lexed.word(i), "own" "others" "other" "another" "twice" "more" "than"))
    {
        return Vec::new();
    }
    let telling = |i: &usize| {
        lexed.tokens[*i].kind == TokenKind::Word
            && !t.is(
                *i,
                class::STOP | class::NEG | class::UNIVERSAL | class::CONDITION | class::NUMERAL,
            )
    };
    let mut words = Vec::new();
    // The subject: up to the first auxiliary.
    let auxiliary = |i: &usize| {
        !t.is(*i, class::MODAL)
            && !any_of!(lexed.word(*i), "is" "are" "was" "has" "have" "do" "does" "be")
    };
    words.extend(
        (range.0..at)
            .take_while(auxiliary)
            .filter(telling)
            .take(3)
            .map(|i| lexed.tokens[i].key),
    );
    let bare = lexed.word(at) == "nobody";
    let from = if bare {
        (at..range.1).find(|&i| t.is(i, class::MODAL)).unwrap_or(at)
    } else {
        at
    };
    let behind = (from + 1..range.1).take_while(|&i| {
        lexed.tokens[i].kind != TokenKind::Symbol && !any_of!(lexed.word(i), "and" "or" "of" "in" "on" "at" "from" "for" "by" "with" "before" "until" "after" "unless" "if" "when" "without" "because" "than")
    });
    let predicate: Vec<u64> = behind
        .filter(telling)
        .take(4)
        .map(|i| lexed.tokens[i].key)
        .collect();
    if predicate.is_empty() {
        return Vec::new();
    }
    words.extend(predicate);
    words.sort_unstable();
    words.dedup();
    words
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
            let coded = word.contains('_') || word.bytes().any(|b| b.is_ascii_digit());
            coded
                && t.classes[i] & (class::TECH | class::ENCODING | class::FORMAT | class::NAMING)
                    == 0
        }
        TokenKind::Number => {
            let noun = i > range.0
                && lexed.tokens[i - 1].kind == TokenKind::Word
                && !t.is(i - 1, class::STOP | class::TECH | class::UNIVERSAL)
                && token.spaced;
            let next = i + 1;
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

/// Words that begin a reason or an aside, after which the main clause is over.
const ASIDE: &[&str] = &[
    "because", "since", "so", "for", "as", "which", "who", "whose", "where",
];

/// Reads all statements.
pub(super) fn read_statements(sources: &[Source<'_>]) -> Vec<Statement> {
    let mut out = Vec::with_capacity(sources.len());
    for (n, source) in sources.iter().enumerate() {
        for &range in &source.tagged.lexed.sentences {
            out.push(read_statement(source, n, range));
        }
    }
    out
}

fn read_statement(source: &Source<'_>, n: usize, range: (usize, usize)) -> Statement {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut s = Statement {
        source: n,
        range,
        focus: range.0,
        content: Vec::new(),
        generic: Vec::new(),
        main: Vec::new(),
        negative: false,
        absolute: false,
        conditional: false,
        condition: Vec::new(),
        subject: None,
        core: 0,
        denied: Vec::new(),
        universal: false,
        persons: Vec::new(),
        scopes: Vec::new(),
        labels: Vec::new(),
    };
    let mut in_main = !any_of!(lexed.word(range.0),
        "if" "when" "whenever" "unless" "once" "while" "where");
    let mut main_done = false;
    // The clause after if, when, unless … up to a comma.
    let mut in_condition = false;
    let mut core_done = false;
    for i in range.0..range.1 {
        let token = lexed.tokens[i];
        let c = t.classes[i];
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
        if !token.quoted {
            if c & class::NEG != 0 && in_main && !main_done {
                // `without` and `no` inside a noun phrase narrow it; they do not negate the sentence.
                let post = matches!(word, "without") && s.main.len() >= 2
                    || word == "no"
                        && s.main.len() >= 3
                        && !any_of!(lexed.word(i.wrapping_sub(1)),
                            "is" "are" "has" "have" "uses" "makes" "needs" "sends");
                if !post {
                    s.negative = !s.negative;
                    s.absolute |= any_of!(word, "never" "no" "none" "nothing" "nobody" "without")
                        || lexed.word(i.wrapping_sub(1)) == "must";
                }
            }
            if c & class::CONDITION != 0
                && !any_of!(word, "where" "once" "provided" "until" "during")
                || matches!(word, "once") && i == range.0
                || matches!(word, "provided") && i == range.0
                || word == "only"
                    && any_of!(lexed.word(i + 1), "if" "when" "for" "during" "in" "at")
            {
                s.conditional = true;
                in_condition = true;
            }
            if s.main.len() >= 2
                && any_of!(word,
                    "of" "in" "on" "at" "to" "from" "for" "by" "with" "into" "before" "until"
                    "after" "during" "unless" "if" "when")
            {
                core_done = true;
            }
            s.universal |= c & class::UNIVERSAL != 0 && !matches!(word, "any" | "each")
                || matches!(word, "must" | "shall");
        }
        if c & class::PERSON != 0
            && c & (class::THING | class::UNIVERSAL | class::GENERIC) == 0
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
            == 0;
        if telling {
            if in_condition {
                s.condition.push(token.key);
            }
            s.content.push(token.key);
            if c & class::GENERIC != 0 {
                s.generic.push(token.key);
            }
            if in_main && !main_done {
                s.main.push(token.key);
                if !core_done {
                    s.core = s.main.len();
                }
                if s.subject.is_none() {
                    s.subject = Some(token.key);
                }
            }
        }
    }
    s.denied = read_denied(source, range);
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

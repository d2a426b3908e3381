//! Facets: two statements that give one thing two positions in a matter where it can have one only, or say that one
//! position is the only one and name another (`all PCs run Ubuntu`, `installed by an MSI`).
//!
//! What keeps two positions apart: conditions, people, environments, different components (`the server`, `the desktop
//! client`), and for times different acts (stored in UTC, shown in local time).

use super::super::Source;
use super::relation::common;
use super::statement::Statement;
use super::synonym::canonical;
use super::topics::facets::{FACETS, ORDER, Reach, TONGUE, ZONE};
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// A word of a position.
struct Sign {
    key: u64,
    /// The word behind it, 0 where none.
    next: u64,
    facet: u8,
    position: u8,
}

/// Signs by the key of their first word, and a bit set that tells most other words at once.
struct Table {
    signs: Vec<Sign>,
    bits: Vec<u64>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut signs = Vec::new();
        for (f, facet) in FACETS.iter().enumerate() {
            for (p, list) in facet.positions.iter().enumerate() {
                for text in list.split('|') {
                    let mut words = text.split(' ').map(|w| fnv(stem(w)));
                    let (key, next) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
                    signs.push(Sign {
                        key,
                        next,
                        facet: f as u8,
                        position: p as u8,
                    });
                }
            }
        }
        signs.sort_by_key(|s| (s.key, s.facet, s.position, s.next));
        let mut bits = vec![0; 64];
        for sign in &signs {
            bits[(sign.key >> 6 & 63) as usize] |= 1 << (sign.key & 63);
        }
        Table { signs, bits }
    })
}

/// A statement's position in a facet.
struct Position {
    facet: u8,
    statement: u32,
    /// Bits of its positions, or the key of a language.
    values: u64,
    /// Says that there is no other.
    only: bool,
    /// Keys of its words.
    cue: Vec<u64>,
}

/// The number of the facet of languages: behind all of the table.
const TONGUES: u8 = 255;

/// Finds statements with different positions.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Position> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        read(&sources[s.source], s, n as u32, &mut all);
    }
    all.sort_by_key(|p| (p.facet, !p.only, p.statement));
    for (i, a) in all.iter().enumerate() {
        let others = all[i + 1..].iter().take_while(|b| b.facet == a.facet);
        for b in others.take(CANDIDATES) {
            let (x, y) = (a.statement as usize, b.statement as usize);
            let (s, o) = (&statements[x], &statements[y]);
            if s.source != o.source
                && !pairs.has(x, y)
                && excludes(a, b)
                && about_one(sources, (s, a), (o, b))
            {
                pairs.add(x, y, name(a.facet));
            }
        }
    }
}

fn name(facet: u8) -> &'static str {
    FACETS.get(usize::from(facet)).map_or(TONGUE, |f| f.name)
}

fn excludes(a: &Position, b: &Position) -> bool {
    if a.values & b.values != 0 {
        return false;
    }
    let one = FACETS
        .get(usize::from(a.facet))
        .is_none_or(|f| f.reach == Reach::One);
    one || a.only || b.only
}

/// Words that say that there is no other.
fn is_only(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "only" "exclusively" "solely" "entirely" "all" "every" "everything" "always" "throughout" "pure" "purely" "must" "nothing" "everywhere" "stays" "stay" "remains" "without" "completely" "wholly" "never" "alone" "sole" "consistently")
            || lexed.word(i) == "no" && lexed.word(i + 1) == "other"
    })
}

fn read(source: &Source<'_>, s: &Statement, n: u32, out: &mut Vec<Position>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let table = table();
    let start = out.len();
    let mut add = |facet: u8, value: u64, keys: &[u64]| match out[start..]
        .iter_mut()
        .find(|p| p.facet == facet)
    {
        Some(known) => {
            known.values |= value;
            known.cue.extend(keys);
        }
        None => out.push(Position {
            facet,
            statement: n,
            values: value,
            only: false,
            cue: keys.to_vec(),
        }),
    };
    for i in s.range.0..s.range.1 {
        let token = lexed.tokens[i];
        if token.quoted || token.kind == TokenKind::Symbol {
            continue;
        }
        let listed = table.bits[(token.key >> 6 & 63) as usize] >> (token.key & 63) & 1 == 1;
        let tongue = t.is(i, class::TONGUE);
        if !listed && !tongue {
            continue;
        }
        // What is denied is no position.
        if (i.saturating_sub(3).max(s.range.0)..i).any(|k| t.is(k, class::NEG)) {
            continue;
        }
        // What goes away is none either: `Vue is removed`.
        if (i + 1..(i + 4).min(s.range.1)).any(
            |k| any_of!(lexed.word(k), "removed" "replaced" "dropped" "retired" "gone" "abandoned"),
        ) {
            continue;
        }
        if tongue && reads_tongue(source, s, i) {
            add(TONGUES, 1 << (token.key >> 58), &[canonical(token.key)]);
        }
        let from = table.signs.partition_point(|e| e.key < token.key);
        for sign in table.signs[from..]
            .iter()
            .take_while(|e| e.key == token.key)
        {
            let behind = lexed.tokens.get(i + 1).map_or(0, |t| t.key);
            if sign.next != 0 && sign.next != behind {
                continue;
            }
            let order = FACETS[usize::from(sign.facet)].name == ORDER;
            if !order || orders(source, s, i) {
                let keys = [canonical(token.key), canonical(behind)];
                let keys = &keys[..1 + usize::from(sign.next != 0)];
                add(sign.facet, 1 << sign.position, keys);
            }
        }
    }
    if out.len() > start {
        let only = is_only(source, s);
        for position in &mut out[start..] {
            position.only = only;
        }
    }
}

/// `Menu items are in English`: the language in which something is written or spoken, not of whom.
fn reads_tongue(source: &Source<'_>, s: &Statement, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let before = if i > s.range.0 { lexed.word(i - 1) } else { "" };
    let ends = i + 1 >= s.range.1
        || lexed.tokens[i + 1].kind == TokenKind::Symbol
        || source
            .tagged
            .is(i + 1, class::STOP | class::UNIVERSAL | class::NEG);
    ends && (any_of!(before, "in" "is" "are" "entirely" "only" "into" "speaks" "speak" "and" "exclusively" "purely" "completely"))
        && texts(source, s).is_some()
}

/// What is written in a language: all of the product's texts, or a kind of text.
fn texts(source: &Source<'_>, s: &Statement) -> Option<bool> {
    let t = &source.tagged;
    let mut found = None;
    for i in s.range.0..s.range.1 {
        let word = t.lexed.word(i);
        if any_of!(word, "interface" "texts" "ui" "everything" "wording" "app" "site" "website" "page" "pages" "program" "game" "portal" "tool" "text")
        {
            return Some(true);
        }
        if any_of!(word, "menu" "menus" "label" "labels" "message" "messages" "button" "buttons" "question" "questions" "title" "titles" "caption" "captions" "dialog" "dialogs" "prompt" "prompts" "announcement" "announcements" "mail" "mails" "letter" "letters" "answers" "answered" "form" "forms" "headings" "instructions" "error")
        {
            found = Some(false);
        }
    }
    found
}

/// The word at `i` tells by what something is sorted.
fn orders(source: &Source<'_>, s: &Statement, i: usize) -> bool {
    let lexed = &source.tagged.lexed;
    let word = lexed.word(i);
    let near = |from: usize, to: usize, list: &[&str]| {
        (from.max(s.range.0)..to.min(s.range.1)).any(|k| list.contains(&lexed.word(k)))
    };
    const SORTED: &[&str] = &[
        "sorted", "ordered", "listed", "ranked", "arranged", "sort", "order", "sorts", "orders",
        "lists", "shown",
    ];
    if any_of!(word, "alphabetically" "chronologically" "alphabetical" "chronological" "shuffled" "lexicographically" "numerically")
    {
        return true;
    }
    if word == "by" {
        return near(i.saturating_sub(4), i, SORTED);
    }
    near(
        i + 1,
        i + 8,
        &["first", "top", "beginning", "front", "head"],
    ) || near(
        i.saturating_sub(6),
        i,
        &[
            "first",
            "top",
            "from",
            "begins",
            "starts",
            "starting",
            "beginning",
        ],
    ) && near(s.range.0, s.range.1, SORTED)
        || near(i.saturating_sub(5), i, &["sorted", "ordered"])
}

/// The act that a time or text is named for: stored, shown, sent.
pub(super) fn act_of(source: &Source<'_>, s: &Statement) -> u8 {
    let lexed = &source.tagged.lexed;
    let mut acts = 0;
    for i in s.range.0..s.range.1 {
        acts |= match lexed.word(i) {
            "stored" | "stores" | "store" | "saved" | "saves" | "kept" | "database" | "column"
            | "columns" | "written" | "table" | "logged" | "log" | "logs" | "recorded"
            | "internally" => 1,
            "shown" | "shows" | "show" | "displayed" | "displays" | "screen" | "page"
            | "printed" | "see" | "sees" | "rendered" | "view" | "report" | "reports"
            | "interface" => 2,
            "api" | "response" | "json" | "export" | "exported" | "sent" => 4,
            "entered" | "typed" | "input" | "enter" | "enters" => 8,
            _ => 0,
        };
    }
    acts
}

/// Different people, environments, names, times; a name that is a sign of the position does not count.
fn apart(s: &Statement, a: &Position, o: &Statement, b: &Position) -> bool {
    let differ = |x: &[u64], y: &[u64]| !x.is_empty() && !y.is_empty() && common(x, y) == 0;
    let names = |st: &Statement, p: &Position| -> Vec<u64> {
        let own = |k: &&u64| !p.cue.contains(&canonical(**k));
        st.labels.iter().filter(own).copied().collect()
    };
    s.apart_in_people(o)
        || differ(&s.scopes, &o.scopes)
        || differ(&names(s, a), &names(o, b))
        || s.apart_in_name(o)
        || s.apart_in_time(o)
}

/// Both statements are about one thing.
fn about_one(
    sources: &[Source<'_>],
    (s, a): (&Statement, &Position),
    (o, b): (&Statement, &Position),
) -> bool {
    let (p, q) = (&sources[s.source], &sources[o.source]);
    if s.past || o.past || s.complement || o.complement || apart(s, a, o, b) {
        return false;
    }
    if !(s.same_condition(o) || s.emphatic && !s.conditional || o.emphatic && !o.conditional) {
        return false;
    }
    if s.conditional && !o.emphatic || o.conditional && !s.emphatic {
        return false;
    }
    let (done, did) = (act_of(p, s), act_of(q, o));
    let facet = name(a.facet);
    if any_of!(facet, "the time zone" "the units") && done != 0 && did != 0 && done & did == 0 {
        return false;
    }
    let aside = |source: &Source<'_>, st: &Statement| {
        (st.range.0..st.range.1).any(|i| {
            any_of!(source.tagged.lexed.word(i),
                "test" "tests" "ci" "development" "developers" "comments" "documentation" "docs" "example" "within"
                "ties" "tie" "then" "old" "previous" "currently" "today" "instead" "migrate" "migrated" "replaces" "replaced" "converted" "from" "besides" "also" "or" "translated" "translations" "choose" "switch" "optional" "optionally")
        })
    };
    let mut cue = a.cue.clone();
    cue.extend(&b.cue);
    let weight = s.shared_weight(o, &cue);
    if facet == ORDER {
        cue.extend(sorting());
        let weight = s.shared_weight(o, &cue);
        let inner = |source: &Source<'_>, st: &Statement| {
            (st.range.0..st.range.1).any(|i| {
                any_of!(source.tagged.lexed.word(i), "within" "ties" "tie" "then" "equal" "among" "same")
            })
        };
        // `in the news box`, `the index lists …`
        let places = |x: &Statement, y: &Statement| {
            !x.landmarks.is_empty()
                && common(&x.landmarks, &y.content) == 0
                && y.head.is_some()
                && y.head.is_some_and(|h| x.content.binary_search(&h).is_err())
        };
        return !inner(p, s)
            && !inner(q, o)
            && !places(s, o)
            && !places(o, s)
            && (weight >= 1 || is_list(p, s) || is_list(q, o));
    }
    if aside(p, s) != aside(q, o) || aside(p, s) && weight < 2 {
        return false;
    }
    if facet == TONGUE {
        let (wide, narrow) = (texts(p, s), texts(q, o));
        return wide == Some(true) && (a.only || narrow == Some(true) || weight >= 1)
            || narrow == Some(true) && (b.only || weight >= 1)
            || weight >= 2 && (a.only || b.only);
    }
    if components_differ(p, s, q, o) {
        return false;
    }
    let reach = FACETS[usize::from(a.facet)].reach;
    if facet == ZONE {
        return weight >= 1 || done & did != 0 || is_bare(p, s, a) || is_bare(q, o, b);
    }
    match reach {
        Reach::One => {
            (a.only || b.only) && (weight >= 2 || is_bare(p, s, a) || is_bare(q, o, b))
                || weight >= 4
        }
        // `All counter PCs run Ubuntu`: said of all machines or of the whole.
        Reach::Many => {
            let wide = |source: &Source<'_>, st: &Statement, x: &Position| {
                x.only && (is_bare(source, st, x) || speaks_of_machines(source, st))
            };
            wide(p, s, a) || wide(q, o, b) || weight >= 2 && (a.only || b.only)
        }
    }
}

/// Keys of verbs of sorting: they do not tell what is sorted.
fn sorting() -> &'static [u64] {
    static KEYS: OnceLock<Vec<u64>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let words =
            "sort order list rank arrange come stand show first top appear name date price time";
        words.split(' ').map(|w| canonical(fnv(stem(w)))).collect()
    })
}

/// Speaks of a list without saying of what.
fn is_list(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1)
        .any(|i| any_of!(lexed.word(i), "list" "table" "results" "ranking" "overview" "it" "they" "hits"))
}

/// The subject is the whole, a word like `it`, or not named.
fn is_bare(source: &Source<'_>, s: &Statement, position: &Position) -> bool {
    let t = &source.tagged;
    let to = s.finite.unwrap_or(s.range.1.min(s.range.0 + 3));
    (s.range.0..to).all(|i| {
        t.is(i, class::STOP | class::UNIVERSAL | class::WHOLE | class::MODAL | class::SOFTWARE | class::TECH)
            || t.lexed.tokens[i].kind == TokenKind::Symbol
            || position.cue.contains(&canonical(t.lexed.tokens[i].key))
            || any_of!(t.lexed.word(i), "time" "times" "timestamps" "timestamp" "everything" "front" "end" "front-end" "frontend" "project" "code" "software" "amounts" "quantities")
    })
}

/// All machines there are.
fn speaks_of_machines(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "pcs" "machines" "computers" "nodes" "hosts" "laptops" "workstations" "desktops" "devices" "servers" "phones" "tablets" "fleet")
    })
}

/// Each speaks of a component of its own: `the server`, `the desktop client`.
pub(super) fn components_differ(
    p: &Source<'_>,
    s: &Statement,
    q: &Source<'_>,
    o: &Statement,
) -> bool {
    let component = |source: &Source<'_>, st: &Statement| -> Vec<u64> {
        let lexed = &source.tagged.lexed;
        (st.range.0..st.range.1)
            .filter(|&i| {
                any_of!(lexed.word(i), "server" "servers" "client" "clients" "backend" "frontend" "front-end" "back-end" "gateway" "sensor" "sensors" "agent" "app" "database" "website" "worker" "workers" "laptop" "laptops" "phone" "phones" "tablet" "tablets" "pcs" "pc" "kiosk" "till" "tills" "printer" "emulator" "simulator" "controller" "dashboard" "desktop")
            })
            .map(|i| canonical(lexed.tokens[i].key))
            .collect()
    };
    let (a, b) = (component(p, s), component(q, o));
    let machines =
        |st: &Statement, source: &Source<'_>| speaks_of_machines(source, st) && st.universal;
    !a.is_empty()
        && !b.is_empty()
        && !a.iter().any(|k| b.contains(k))
        && !machines(s, p)
        && !machines(o, q)
}

//! One or several, own or shared: `one repository for all` against `each service has a repository of its own`, `exactly
//! one class` against `two classes at once`, `a unique number` against `several share a number`.
//!
//! A statement is read for nouns that it counts as one, counts as several, gives to each, shares among all, or calls
//! unique. Two of them about the same noun that cannot both hold are a contradiction where their owners are the same too,
//! or where one leaves no room (`one single file`).
//!
//! Numbers beyond that are the business of `bounds`.

use super::super::Source;
use super::grammar::{is_boundary, is_preposition};
use super::relation::common;
use super::statement::{Statement, is_filler};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::{TokenKind, fnv};

/// What is said about how many there are of a noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One for all.
    One,
    /// One for each of something.
    OneEach,
    /// Two or more.
    Many,
    /// Each has its own.
    Own,
    /// Several have the same one.
    Shared,
    /// No two have the same one.
    Unique,
}

#[derive(Debug)]
struct Count {
    statement: usize,
    noun: u64,
    /// The word right before the noun, 0 where none.
    modifier: u64,
    kind: Kind,
    /// Says that there is no other: `one single`, `exactly one`, `of its own`.
    strict: bool,
}

/// Finds nouns that are counted in two ways.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut all: Vec<Count> = Vec::new();
    for (n, s) in statements.iter().enumerate() {
        read(&sources[s.source], s, n, &mut all);
    }
    all.sort_by_key(|c| (c.noun, c.statement));
    for (i, a) in all.iter().enumerate() {
        for b in all[i + 1..]
            .iter()
            .take_while(|b| b.noun == a.noun)
            .take(CANDIDATES)
        {
            let (s, o) = (&statements[a.statement], &statements[b.statement]);
            if s.source != o.source && (excludes(s, a, o, b) || excludes(o, b, s, a)) {
                pairs.add(a.statement, b.statement, "one or several");
            }
        }
    }
}

fn excludes(s: &Statement, a: &Count, o: &Statement, b: &Count) -> bool {
    let differ = |p: &[u64], q: &[u64]| !p.is_empty() && !q.is_empty() && common(p, q) == 0;
    // `one main pump`, `two spare pumps`
    let other = a.modifier != 0
        && b.modifier != 0
        && a.modifier != b.modifier
        && o.content.binary_search(&a.modifier).is_err()
        && s.content.binary_search(&b.modifier).is_err();
    if other
        || s.past
        || o.past
        || s.complement
        || o.complement
        || differ(&s.scopes, &o.scopes)
        || differ(&s.labels, &o.labels)
        || s.apart_in_time(o)
        || !s.may_meet(o)
    {
        return false;
    }
    // What they share beside the noun.
    let owner = s.shared_weight(o, &[a.noun]) >= 2;
    let general = s.generic.contains(&a.noun);
    match (a.kind, b.kind) {
        (Kind::One, Kind::Own) => owner || a.strict && !general,
        (Kind::One, Kind::Many) if b.strict => a.strict && !general,
        (Kind::One, Kind::Many) => {
            let people = s.persons.iter().any(|k| canonical(*k) == a.noun);
            owner && (a.strict || s.same_subject(o)) || a.strict && s.same_subject(o) && !people
        }
        (Kind::OneEach, Kind::Many) => owner,
        (Kind::Shared, Kind::Own | Kind::Unique) => owner || s.same_subject(o),
        _ => false,
    }
}

/// The noun behind `at`: the last of up to three words of one phrase, and the word before it.
fn noun_behind(source: &Source<'_>, at: usize, end: usize) -> Option<(u64, u64)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut found: Option<usize> = None;
    let mut modifier = 0;
    for i in at + 1..(at + 5).min(end) {
        let plain = lexed.tokens[i].kind == TokenKind::Word && !lexed.tokens[i].quoted;
        if !plain || is_boundary(source, i) || is_preposition(lexed.word(i)) {
            break;
        }
        if t.is(i, class::MODAL) {
            break;
        }
        if t.is(i, class::STOP | class::UNIVERSAL | class::NUMERAL) || is_filler(lexed.word(i)) {
            if found.is_some() {
                break;
            }
            continue;
        }
        // The verb of the sentence ends the phrase.
        let object = any_of!(lexed.word(i + 1), "the" "a" "an" "all" "its" "their" "every" "each");
        if found.is_some()
            && (object && lexed.word(i).ends_with('s')
                || super::grammar::is_verb(lexed.tokens[i].key) && !lexed.word(i).ends_with("ing"))
        {
            break;
        }
        modifier = found.map_or(0, |k| canonical(lexed.tokens[k].key));
        found = Some(i);
        if found.is_some() && i >= at + 4 {
            break;
        }
    }
    let found = found?;
    if t.is(
        found,
        class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT,
    ) && !t.is(found, class::THING)
    {
        return None;
    }
    Some((canonical(lexed.tokens[found].key), modifier))
}

fn read(source: &Source<'_>, s: &Statement, n: usize, out: &mut Vec<Count>) {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = s.range;
    let word = |i: usize| lexed.word(i);
    let each = |from: usize, to: usize| {
        (from..to)
            .any(|i| any_of!(word(i), "each" "every" "per" "a" "an") && !lexed.tokens[i].quoted)
    };
    let denied = |i: usize| (i.saturating_sub(3).max(start)..i).any(|k| t.is(k, class::NEG));
    let mut push = |noun: Option<(u64, u64)>, kind: Kind, strict: bool| {
        if let Some((noun, modifier)) = noun {
            out.push(Count {
                statement: n,
                noun,
                modifier,
                kind,
                strict,
            });
        }
    };
    for i in start..end {
        if lexed.tokens[i].quoted || lexed.tokens[i].kind == TokenKind::Symbol {
            continue;
        }
        let before = if i > start { word(i - 1) } else { "" };
        let earlier = if i > start + 1 { word(i - 2) } else { "" };
        match word(i) {
            "one" | "single" => {
                let next = word(i + 1);
                // `one of them`, `no one`, `one after`, `each one`, `one or two`
                if any_of!(next, "of" "after" "at" "by" "or" "and" "another" "who" "that" "is" "single" "more" "from")
                    && !(next == "and" && word(i + 3) == "same")
                    || any_of!(before, "no" "each" "every" "this" "that" "the" "any" "not" "or" "which")
                        && word(i) == "one"
                {
                    continue;
                }
                let strict = word(i) == "single"
                    || any_of!(before, "exactly" "only" "just" "most")
                    || before == "than" && earlier == "more"
                    || next == "and";
                let from = if next == "and" { i + 3 } else { i };
                let noun = noun_behind(source, from, end);
                let behind = each(i + 1, (i + 6).min(end))
                    && (i + 1..(i + 6).min(end)).any(|k| any_of!(word(k), "per" "each" "every"));
                let distributed = behind
                    || (start..i).any(|k| any_of!(word(k), "each" "every" "per"))
                    || any_of!(word(start), "a" "an");
                let shares = (start..i).any(|k| any_of!(word(k), "share" "shares" "shared"));
                let kind = if shares || next == "and" {
                    Kind::Shared
                } else if distributed {
                    Kind::OneEach
                } else {
                    Kind::One
                };
                if kind == Kind::Shared {
                    push(noun, Kind::One, true);
                }
                push(noun, kind, strict);
            }
            "both" | "several" | "multiple" | "many" | "various" | "two" | "three" | "four"
            | "five" | "six" | "seven" | "eight" | "ten" | "dozen"
                if !denied(i)
                    && !any_of!(before, "no" "first" "last" "within" "after" "every" "than" "least" "these" "those" "of" "for") =>
            {
                push(noun_behind(source, i, end), Kind::Many, word(i) == "both");
            }
            "own" => {
                let apart = any_of!(before, "its" "their" "his" "her");
                if earlier == "of" && apart {
                    // `a repository of its own`
                    let noun = (start..i - 2).rev().find(|&k| {
                        lexed.tokens[k].kind == TokenKind::Word && !t.is(k, class::STOP)
                    });
                    let noun = noun.map(|k| {
                        let next = k > start && !t.is(k - 1, class::STOP | class::UNIVERSAL);
                        let modifier = if next { canonical(lexed.tokens[k - 1].key) } else { 0 };
                        (canonical(lexed.tokens[k].key), modifier)
                    });
                    // `a PDF file of its own`: the file, and the PDF.
                    push(noun, Kind::Own, true);
                    if let Some((_, modifier)) = noun.filter(|n| n.1 != 0) {
                        push(Some((modifier, 0)), Kind::Own, true);
                    }
                } else if apart && (start..i).any(|k| any_of!(word(k), "each" "every" "all")) && before != "on" {
                    push(noun_behind(source, i, end), Kind::Own, true);
                }
            }
            // `Every tenant database is separate`
            // `Every class has a room to itself`
            "itself" | "himself" | "herself"
                if any_of!(before, "to" "for")
                    && i > start + 2
                    && !t.is(i - 2, class::STOP)
                    && each(start, end) =>
            {
                let noun = canonical(lexed.tokens[i - 2].key);
                push(Some((noun, 0)), Kind::Own, true);
            }
            "separate" | "individual" if any_of!(before, "is" "are" "stays" "stay") => {
                push(s.head.map(|h| (h, 0)), Kind::Own, true);
            }
            "separate" | "individual" | "dedicated" | "distinct" if each(start, end) && !denied(i) => {
                push(noun_behind(source, i, end), Kind::Own, true);
            }
            "only" if before == "the" && !any_of!(word(i + 1), "one" "ones") => {
                push(noun_behind(source, i, end), Kind::One, true);
            }
            // `no table is shared`
            "shared" if denied(i) && any_of!(before, "is" "are" "be") => {
                push(s.head.map(|h| (h, 0)), Kind::Unique, true);
            }
            "share" | "shares" | "shared" | "common" | "joint" if !denied(i) => {
                push(noun_behind(source, i, end), Kind::Shared, true);
            }
            "same" if !denied(i)
                && before == "the"
                && !any_of!(word(i + 1), "time" "day" "way" "moment" "order" "place" "as" "for" "manner" "minute") =>
            {
                let many = (start..end).any(|k| any_of!(word(k), "all" "several" "two" "many" "multiple" "share" "more" "both"));
                if many {
                    push(noun_behind(source, i, end), Kind::Shared, true);
                }
            }
            "same" if denied(i) => push(noun_behind(source, i, end), Kind::Unique, true),
            "unique"
                if !denied(i)
                    && !(i + 1..end).any(|k| any_of!(word(k), "within" "per" "inside" "each" "every")) =>
            {
                push(s.head.map(|h| (h, 0)), Kind::Unique, true);
                push(noun_behind(source, i, end), Kind::Unique, true);
            }
            "once" if any_of!(before, "only" "just" "exactly" "most")
                && (start..i).any(|k| any_of!(word(k), "exist" "exists" "occur" "occurs" "appear" "appears" "used" "given" "assigned")) =>
            {
                push(s.head.map(|h| (h, 0)), Kind::Unique, true);
            }
            _ => {}
        }
    }
    if (start..end).any(|i| lexed.tokens[i].key == fnv("per") && word(i) == "per")
        && (start..end).any(|i| word(i) == "own")
    {
        out.retain(|c| c.statement != n || c.kind != Kind::One);
    }
}

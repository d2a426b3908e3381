//! What a statement does without and another demands; one sentence said twice; what happens only when, and by itself.

use super::super::Source;
use super::relation::common;
use super::statement::{Index, Statement, mark};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// Finds pairs of opposite polarity.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    frames(sources, statements, index, pairs);
    triggers(sources, statements, index, pairs);
    for i in 0..statements.len() {
        lacking(sources, statements, index, i, pairs);
    }
}

/// `Users can register without an e-mail address` against `the e-mail address is required`.
fn lacking(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    i: usize,
    pairs: &mut Pairs<'_, '_>,
) {
    let s = &statements[i];
    if s.marks & mark::WITHOUT == 0 {
        return;
    }
    let t = &sources[s.source].tagged;
    let lexed = &t.lexed;
    let Some(at) =
        (s.range.0 + 1..s.range.1).find(|&k| lexed.word(k) == "without" && !lexed.tokens[k].quoted)
    else {
        return;
    };
    // `Rows without a date are imported as well`
    let welcome = (at..s.range.1).any(|k| {
        any_of!(lexed.word(k), "imported" "accepted" "loaded" "processed" "valid" "taken" "fine" "welcome")
    });
    if (s.limited || s.conditional) && (!welcome || s.negative) {
        return;
    }
    let mut thing: Vec<u64> = (at + 1..s.range.1)
        .take_while(|&k| {
            lexed.tokens[k].kind == TokenKind::Word
                && !any_of!(lexed.word(k), "and" "or" "of" "in" "on" "for" "by" "from" "to" "at" "during" "while" "when" "until")
        })
        .filter(|&k| {
            !(t.is(k, class::STOP | class::UNIVERSAL)
                || k == at + 1 && lexed.word(k).ends_with("ing"))
        })
        .take(2)
        .map(|k| canonical(lexed.tokens[k].key))
        .collect();
    thing.sort_unstable();
    let Some(&rarest) = thing.iter().min_by_key(|k| (index.of(**k).len(), **k)) else {
        return;
    };
    for &(_, j) in index.of(rarest).iter().take(CANDIDATES) {
        let o = &statements[j as usize];
        if o.source == s.source
            || o.negative
            || o.conditional
            || s.apart(o)
            || common(&thing, &o.content) < thing.len()
            || s.shared_weight(o, &thing) == 0
                && (foreign_beside(s, o, &thing) || for_others(&sources[o.source], s, o))
        {
            continue;
        }
        let words = &sources[o.source].tagged.lexed;
        let needed = (o.range.0..o.range.1).any(|k| {
            any_of!(words.word(k), "required" "mandatory" "needed" "needs" "need" "requires" "require" "compulsory" "obligatory" "necessary" "must" "essential" "prescribed")
                || any_of!(words.word(k), "has" "have") && words.word(k + 1) == "to"
                || words.word(k) == "only" && any_of!(words.word(k + 1), "after" "with" "once" "by" "in" "through" "via")
        });
        if needed {
            pairs.add(i, j as usize, "whether it is required");
        }
    }
}

/// `Obligatory for damage reports`: said of things that the other does not name, and that one has a subject of its own.
fn for_others(source: &Source<'_>, s: &Statement, o: &Statement) -> bool {
    let t = &source.tagged;
    let named = (o.range.0 + 1..o.range.1).any(|i| {
        t.lexed.word(i - 1) == "for"
            && t.lexed.tokens[i].kind == TokenKind::Word
            && !t.is(i, class::STOP | class::UNIVERSAL)
    });
    named && s.head.is_some_and(|h| o.content.binary_search(&h).is_err())
}

/// Each is about something else, beside the thing: `the report is made without X`, `X must be there during the test`.
fn foreign_beside(s: &Statement, o: &Statement, thing: &[u64]) -> bool {
    let strange = |a: &Statement, b: &Statement| {
        a.main.iter().any(|k| {
            !thing.contains(k) && !a.generic.contains(k) && b.content.binary_search(k).is_err()
        })
    };
    thing
        .iter()
        .any(|k| o.persons.iter().any(|p| canonical(*p) == *k))
        && strange(s, o)
        && strange(o, s)
}

/// One sentence said twice with another ending: same subject, most words the same, a few exchanged.
fn frames(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements.iter().enumerate() {
        let Some(subject) = s.subject else { continue };
        if s.content.len() < 3 || s.content.len() > 12 {
            continue;
        }
        for &(_, j) in index.of(subject).iter().take(CANDIDATES) {
            let o = &statements[j as usize];
            if j as usize <= i
                || o.subject != s.subject
                || o.source == s.source
                || o.content.len() < 3
                || o.content.len() > 12
            {
                continue;
            }
            let both = common(&s.content, &o.content);
            let (left, right) = (s.content.len() - both, o.content.len() - both);
            let union = both + left + right;
            let close = both >= 2
                && left <= 2
                && right <= 2
                && left + right >= 1
                && both * 100 >= union * 50;
            if close
                && left >= 1
                && right >= 1
                && s.same_condition(o)
                && s.negative == o.negative
                && s.clocked == o.clocked
                && !(s.measured || o.measured)
                && !(is_enumeration(&sources[s.source], s) || is_enumeration(&sources[o.source], o))
                && !s.apart(o)
                && s.shared_weight(o, &[]) >= 4
                && !is_list_item(sources, s, o)
            {
                pairs.add(i, j as usize, "the same thing said in two ways");
            }
        }
    }
}

/// Two commas make a list.
fn is_enumeration(source: &Source<'_>, s: &Statement) -> bool {
    (s.range.0..s.range.1)
        .filter(|&i| source.tagged.lexed.raw(i) == ",")
        .count()
        >= 2
}

/// `GET /a returns …`, `GET /b returns …`: parallel items of a list name different things behind the same first word.
fn is_list_item(sources: &[Source<'_>], s: &Statement, o: &Statement) -> bool {
    let second = |st: &Statement| {
        let t = &sources[st.source].tagged;
        let mut words =
            (st.range.0..st.range.1).filter(|&i| t.lexed.tokens[i].kind != TokenKind::Symbol);
        words.find(|&i| Some(canonical(t.lexed.tokens[i].key)) == st.subject);
        words
            .next()
            .map(|i| (t.lexed.tokens[i].key, t.is(i, class::STOP)))
    };
    match (second(s), second(o)) {
        // The subject goes on with a different word before any verb: another subject.
        (Some((a, a_stop)), Some((b, b_stop))) => a != b && !(a_stop && b_stop),
        _ => true,
    }
}

/// `Valves open only when a gardener presses the button` against `valves open by themselves every morning`.
fn triggers(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    pairs: &mut Pairs<'_, '_>,
) {
    for (i, s) in statements.iter().enumerate() {
        if s.marks & mark::ONLY == 0 {
            continue;
        }
        let lexed = &sources[s.source].tagged.lexed;
        let only = (s.range.0 + 1..s.range.1).find(|&k| {
            lexed.word(k) == "only"
                && matches!(lexed.word(k + 1), "when" | "if" | "after" | "on" | "by")
        });
        let Some(only) = only else { continue };
        let before: Vec<u64> = (s.range.0..only)
            .map(|k| canonical(lexed.tokens[k].key))
            .filter(|k| s.content.binary_search(k).is_ok())
            .collect();
        let Some(&first) = before.first().filter(|_| before.len() >= 2) else {
            continue;
        };
        for &(_, j) in index.of(first).iter().take(CANDIDATES) {
            let o = &statements[j as usize];
            let words = &sources[o.source].tagged.lexed;
            let free = (o.range.0..o.range.1).any(|k| {
                any_of!(words.word(k), "every" "each" "always" "automatically" "themselves" "itself" "anytime" "daily" "hourly" "nightly" "immediately" "any")
            });
            let all = before.iter().all(|k| o.content.binary_search(k).is_ok());
            if o.source != s.source && free && all && !o.negative && !o.conditional && !s.apart(o) {
                pairs.add(i, j as usize, "when it happens");
            }
        }
    }
}

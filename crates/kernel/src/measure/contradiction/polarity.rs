//! Said and denied: the same words once with and once without a negation, and a thing forbidden here and used there.

use super::super::Source;
use super::statement::{Index, Statement, common};
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
    for (i, s) in statements.iter().enumerate() {
        if s.negative {
            denied(sources, statements, index, i, pairs);
        }
        forbidden(sources, statements, index, i, pairs);
        lacking(sources, statements, index, i, pairs);
    }
}

/// All words of the denial (but at most one of five) stand in a positive statement.
fn denied(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    i: usize,
    pairs: &mut Pairs<'_, '_>,
) {
    let s = &statements[i];
    let mut words = s.main.clone();
    words.sort_unstable();
    words.dedup();
    if words.len() < 2 || words.iter().all(|k| s.generic.contains(k)) {
        return;
    }
    // The two rarest words are enough to meet every candidate: at most one word may be missing.
    let mut rare: Vec<(usize, u64)> = words.iter().map(|k| (index.of(*k).len(), *k)).collect();
    rare.sort_unstable();
    let core: Vec<u64> = s.main[..s.core].to_vec();
    let first_two: Vec<u64> = rare.iter().take(2).map(|r| r.1).collect();
    let mut keys = first_two.clone();
    // The rarest word of the core meets the statements that share only the core.
    keys.extend(
        rare.iter()
            .map(|r| r.1)
            .filter(|k| core.contains(k) && !first_two.contains(k))
            .take(1),
    );
    keys.extend(s.head.filter(|_| s.denied_verb.is_some()));
    let rarest = s
        .denied
        .iter()
        .min_by_key(|k| (index.of(**k).len(), **k))
        .copied();
    keys.extend(rarest.filter(|k| !first_two.contains(k)));
    for key in keys {
        for &(_, j) in index.of(key).iter().take(CANDIDATES) {
            let other = &statements[j as usize];
            if other.negative || other.source == s.source || s.apart_in_time(other) {
                continue;
            }
            let held = words
                .iter()
                .filter(|k| other.content.binary_search(k).is_ok())
                .count();
            let enough = held == words.len() || (words.len() >= 5 && held + 1 == words.len());
            let firm = s.may_meet(other) && (s.limited || other.limited) && !s.limit.is_empty()
                || s.same_condition(other)
                || !s.condition.is_empty()
                    && !s.limited
                    && common(&s.condition, &other.content) == s.condition.len()
                || !s.conditional
                    && (s.absolute || s.emphatic || other.emphatic)
                    && !other.limited
                    && held == words.len();
            if enough && firm && !s.apart(other) {
                pairs.add(i, j as usize, "whether it happens at all");
                continue;
            }
            let shared = s
                .denied
                .iter()
                .filter(|k| other.content.binary_search(k).is_ok())
                .count();
            let predicate = s.denied.len() >= 2
                && !s.denied.iter().all(|k| s.generic.contains(k))
                && (shared == s.denied.len()
                    || s.denied.len() >= 4 && shared + 1 == s.denied.len())
                && !s.narrowed
                && !is_reduced(&sources[other.source], other, &s.denied);
            let firm = firm || !s.conditional && s.absolute && other.emphatic;
            if predicate && firm && !s.apart(other) {
                pairs.add(i, j as usize, "whether it happens at all");
                continue;
            }
            // Verb and object of the denial, or its predicate against a statement about all.
            let acts = s.predicate.len() >= 2 || s.predicate.len() == 1 && s.denied.len() >= 2;
            let whole = acts
                && common(&s.predicate, &other.content) == s.predicate.len()
                && !s.predicate.iter().all(|k| s.generic.contains(k))
                && !is_reduced(&sources[other.source], other, &s.predicate);
            let about = shared > s.predicate.len();
            let wide = other.emphatic && about && !other.conditional && !s.limited
                || s.predicate.len() >= 2
                    && s.same_condition(other)
                    && !s.narrowed
                    && (about || !s.foreign(other));
            // `The tool never asks questions` against `the tool asks for confirmation`.
            let never = s.denied_verb.is_some_and(|v| other.main.contains(&v))
                && s.same_subject(other)
                && !s.conditional
                && !other.conditional;
            if (whole && wide || never) && !s.apart(other) {
                pairs.add(i, j as usize, "whether it happens at all");
                continue;
            }
            // `No participant is left out of …` against `participants with … are left out`.
            let core = &s.main[..s.core];
            let in_core = core.len() >= 2
                && s.subject == other.subject
                && core.iter().all(|k| other.content.binary_search(k).is_ok());
            if in_core
                && s.absolute
                && !s.conditional
                && (!other.conditional || other.limited)
                && !s.apart(other)
            {
                pairs.add(i, j as usize, "whether it happens at all");
            } else if in_core
                && waits(&sources[s.source], s)
                && hurries(&sources[other.source], other)
            {
                pairs.add(i, j as usize, "when it happens");
            }
        }
    }
}

/// `a post reported by three members is hidden`: the word describes the subject, it is not what the statement says.
fn is_reduced(source: &Source<'_>, s: &Statement, words: &[u64]) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let auxiliary = |i: usize| {
        t.is(i, class::MODAL)
            || any_of!(lexed.word(i), "is" "are" "was" "be" "has" "have" "been" "get" "gets")
    };
    (s.range.0 + 1..s.range.1).any(|i| {
        words.contains(&canonical(lexed.tokens[i].key))
            && lexed.word(i).ends_with("ed")
            && !(s.range.0..i).any(auxiliary)
            && (i + 1..s.range.1).any(auxiliary)
    })
}

/// `must not be sent before …`
fn waits(source: &Source<'_>, s: &Statement) -> bool {
    (s.range.0..s.range.1).any(|i| matches!(source.tagged.lexed.word(i), "before" | "until"))
}

/// `within 1 minute`, `at once`
fn hurries(source: &Source<'_>, s: &Statement) -> bool {
    (s.range.0..s.range.1).any(|i| {
        any_of!(source.tagged.lexed.word(i),
            "within" "immediately" "instantly" "once" "straight" "seconds" "directly")
    })
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
                && !any_of!(lexed.word(k), "and" "or" "of" "in" "on" "for" "by" "from" "to")
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
        {
            continue;
        }
        let words = &sources[o.source].tagged.lexed;
        let needed = (o.range.0..o.range.1).any(|k| {
            any_of!(words.word(k), "required" "mandatory" "needed" "needs" "need" "requires" "require" "compulsory" "obligatory" "necessary" "must" "essential" "prescribed")
                || any_of!(words.word(k), "has" "have") && words.word(k + 1) == "to"
        });
        if needed {
            pairs.add(i, j as usize, "whether it is required");
        }
    }
}

/// `No cookies are set`, `must not use sudo`, `cookies are forbidden` against a statement that uses the thing.
fn forbidden(
    sources: &[Source<'_>],
    statements: &[Statement],
    index: &Index,
    i: usize,
    pairs: &mut Pairs<'_, '_>,
) {
    let s = &statements[i];
    let Some(thing) = forbidden_thing(&sources[s.source], s) else {
        return;
    };
    let Some(&rarest) = thing.iter().min_by_key(|k| (index.of(**k).len(), **k)) else {
        return;
    };
    for &(_, j) in index.of(rarest).iter().take(CANDIDATES) {
        let other = &statements[j as usize];
        if other.negative || other.conditional || other.source == s.source || s.apart(other) {
            continue;
        }
        if thing.iter().all(|k| other.content.binary_search(k).is_ok())
            && is_used(&sources[other.source], other, &thing)
        {
            pairs.add(i, j as usize, "whether it may be used");
        }
    }
}

/// The noun phrase that a statement rules out for the whole.
fn forbidden_thing(source: &Source<'_>, s: &Statement) -> Option<Vec<u64>> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for i in s.range.0..s.range.1 {
        if lexed.tokens[i].quoted {
            continue;
        }
        let clause_start = i == s.range.0 || any_of!(lexed.raw(i - 1), "," ":" "-" "–");
        let after_use = |k: usize| {
            any_of!(lexed.word(k),
                "use" "uses" "using" "contain" "depend" "rely" "require" "set" "need")
        };
        let from = match lexed.word(i) {
            "no" if clause_start && !denies_act(source, s, i) => i + 1,
            "without"
                if clause_start
                    || i > 0
                        && any_of!(lexed.word(i - 1),
                            "work" "works" "run" "runs" "operate" "function" "functions" "do"
                            "done" "made" "built") =>
            {
                i + 1
            }
            "not" | "never" | "don't" if after_use(i + 1) && !s.conditional => {
                i + 2 + usize::from(lexed.word(i + 2) == "on")
            }
            "avoid" if clause_start => i + 1,
            _ => continue,
        };
        let mut thing = Vec::new();
        let mut k = from;
        while k < s.range.1 && thing.len() < 3 && lexed.tokens[k].kind == TokenKind::Word {
            if t.is(k, class::STOP | class::NEG) && !t.is(k, class::UNIVERSAL) {
                break;
            }
            if any_of!(lexed.word(k),
                "new" "additional" "further" "other" "more" "extra" "longer" "client-side"
                "external" "server-side")
            {
                // `no new packages` leaves the old ones.
                return None;
            }
            if !t.is(k, class::UNIVERSAL) {
                thing.push(canonical(lexed.tokens[k].key));
            }
            k += 1;
        }
        // `No update between 17:00 and 20:00` holds for a while.
        if any_of!(lexed.word(k), "between" "during" "before" "until" "outside") {
            return None;
        }
        // `No street at all: …` names a case.
        let case = lexed.is_symbol(k, ":")
            || matches!(lexed.raw(k), "->" | "=>" | "→")
            || any_of!(lexed.word(k), "gives" "means" "at" "shows" "than" "found" "after" "counts")
            || any_of!(lexed.word(k), "for" "from" "in" "within" "on")
                && (k..s.range.1)
                    .any(|i| any_of!(lexed.word(i), "is" "are" "counts" "means" "gives" "shows"));
        if thing.is_empty() || case || thing.iter().all(|x| s.generic.contains(x)) {
            return None;
        }
        thing.sort_unstable();
        thing.dedup();
        return Some(thing);
    }
    None
}

/// `No rule may be switched off`: the act is denied, not the thing; `no cookies are set` denies the thing.
fn denies_act(source: &Source<'_>, s: &Statement, no: usize) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let auxiliary = |i: &usize| {
        t.is(*i, class::MODAL) || any_of!(lexed.word(*i), "is" "are" "gets" "get" "has" "have")
    };
    let Some(at) = (no + 1..s.range.1).take(5).find(auxiliary) else {
        return false;
    };
    let verb = (at..s.range.1).find(|i| !auxiliary(i) && lexed.word(*i) != "be");
    !verb.is_some_and(|v| {
        any_of!(lexed.word(v), "set" "used" "sent" "stored" "written" "made" "created" "kept" "shown" "allowed"
            "permitted" "needed" "required" "given" "asked" "collected" "taken" "printed" "opened" "installed"
            "loaded" "saved" "recorded" "charged" "added")
    })
}

/// The thing is put to use: behind a verb or preposition of use, or as the subject.
fn is_used(source: &Source<'_>, other: &Statement, thing: &[u64]) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    (other.range.0..other.range.1).any(|i| {
        thing.contains(&canonical(lexed.tokens[i].key)) && !lexed.tokens[i].quoted && {
            let near = i.saturating_sub(4).max(other.range.0)..i;
            let used = near.clone().any(|k| {
                any_of!(lexed.word(k),
                    "use" "uses" "used" "using" "with" "in" "via" "by" "through" "set" "sets"
                    "as" "needs" "requires" "send" "sends" "store" "stores" "every" "each" "all"
                    "from" "to" "show" "shows" "print" "prints" "write" "writes" "keep" "keeps"
                    "add" "adds" "make" "makes" "open" "opens" "into")
            });
            let narrowed = (i..(i + 3).min(other.range.1)).any(|k| t.is(k, class::NEG))
                || near.clone().any(|k| t.is(k, class::NEG));
            (used || i <= other.range.0 + 2) && !narrowed
        }
    })
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

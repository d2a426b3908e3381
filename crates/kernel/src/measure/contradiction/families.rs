//! Families of opposites: stateless and stateful, offline and upload, required and optional (see `lexicon/phrases`).

use super::super::Source;
use super::acts::{alike_acts, compound, different_acts};
use super::claims;
use super::relation::{common, without};
use super::stands::{Stand, is_claim, read_stands, traits};
use super::statement::Statement;
use super::topics::order::{ANYTIME, OF_ONE_ACT};
use super::topics::tech::is_strong;
use super::weigh::Sides;
use super::whole::{is_whole, rules_out, two_names};
use super::{CANDIDATES, Pairs};
use crate::lexicon::{Scope, Side, families};
use crate::text::lex::fnv;
use std::collections::BTreeSet;

/// Finds statements on opposite sides of a family.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let mut stands = read_stands(sources, statements);
    // By family and side; the order of statements stays.
    stands.sort_by_key(|stand| (stand.family, stand.statement, stand.side));
    // `lock and unlock a quiz`: a statement on both sides stands nowhere.
    keep_denials(&mut stands);
    let both: BTreeSet<(u16, u32)> = stands
        .windows(2)
        .filter(|w| (w[0].family, w[0].statement) == (w[1].family, w[1].statement))
        .filter(|w| {
            let (_, scope, flips) = traits(w[0].family);
            let composed = usize::from(w[0].family) >= families().len();
            let wide = matches!(scope, Scope::Near | Scope::Close) && flips
                || composed
                || traits(w[0].family).0 == "time zone";
            w[0].side != w[1].side && (wide || w[0].at.abs_diff(w[1].at) == 2)
        })
        .map(|w| (w[0].family, w[0].statement))
        .collect();
    stands.retain(|stand| !both.contains(&(stand.family, stand.statement)));
    stands.sort_by_key(|stand| (stand.family, stand.side));
    let mut rest = stands.as_slice();
    while let Some(first) = rest.first() {
        let (name, scope, _) = traits(first.family);
        let (group, after) =
            rest.split_at(rest.partition_point(|stand| stand.family == first.family));
        rest = after;
        let (a, b) = group.split_at(group.partition_point(|stand| stand.side == Side::A));
        note_sides(a, b, pairs);
        if a.is_empty() || b.is_empty() {
            continue;
        }
        if is_claim(first.family) && a.len() * b.len() <= CANDIDATES * CANDIDATES {
            for x in a {
                for y in b {
                    let (i, j) = (x.statement as usize, y.statement as usize);
                    let (s, o) = (&statements[i], &statements[j]);
                    if s.source != o.source
                        && !pairs.has(i, j)
                        && claims::opposed(sources, (s, x), (o, y), name)
                    {
                        pairs.add(i, j, name);
                    }
                }
            }
            continue;
        }
        if scope == Scope::Whole {
            for x in a.iter().take(CANDIDATES) {
                for y in b.iter().take(CANDIDATES) {
                    let (s, o) = (
                        &statements[x.statement as usize],
                        &statements[y.statement as usize],
                    );
                    let mut cue = x.cue.clone();
                    cue.extend(&y.cue);
                    if s.source != o.source
                        && (is_whole(sources, (s, x.at), (o, y.at), &cue, name)
                            || is_strong(name) && rules_out(sources, (s, x.at), (o, y.at), name))
                    {
                        pairs.add(x.statement as usize, y.statement as usize, name);
                    }
                }
            }
            continue;
        }
        // Index side B by subject word.
        let mut by_key: Vec<(u64, u32)> = b
            .iter()
            .enumerate()
            .flat_map(|(n, y)| {
                statements[y.statement as usize]
                    .content
                    .iter()
                    .map(move |k| (*k, n as u32))
            })
            .collect();
        by_key.sort_unstable();
        for x in a {
            let s = &statements[x.statement as usize];
            let mut tried: Vec<u32> = Vec::new();
            for key in s
                .content
                .iter()
                .filter(|k| !x.cue.contains(k) || s.head == Some(**k))
            {
                let from = by_key.partition_point(|e| e.0 < *key);
                for &(_, n) in by_key[from..]
                    .iter()
                    .take_while(|e| e.0 == *key)
                    .take(CANDIDATES)
                {
                    if tried.contains(&n) || tried.len() > CANDIDATES * 4 {
                        continue;
                    }
                    tried.push(n);
                    let y = &b[n as usize];
                    let o = &statements[y.statement as usize];
                    let meets = |(s, x): (&Statement, &Stand), (o, y): (&Statement, &Stand)| {
                        match is_claim(first.family) {
                            true => claims::opposed(sources, (s, x), (o, y), name),
                            false => {
                                let cue = || [x.cue.as_slice(), &y.cue].concat();
                                opposed(s, o, x, y, scope, name)
                                    && !two_names(sources, s, o, name)
                                    && !(any_of!(name, "permission" "who may")
                                        && claims::strange_acts(sources, s, o, &cue()))
                                    && !(name == claims::REQUIRED
                                        && s.foreign(o)
                                        && claims::strange_acts(sources, s, o, &[]))
                            }
                        }
                    };
                    if s.source != o.source && meets((s, x), (o, y)) {
                        pairs.add(x.statement as usize, y.statement as usize, name);
                    }
                }
            }
        }
    }
}

/// Notes for each pair of statements whether they stand on the same side or on opposite ones.
fn note_sides(a: &[Stand], b: &[Stand], pairs: &mut Pairs<'_, '_>) {
    for side in [a, b] {
        for (n, x) in side.iter().take(CANDIDATES).enumerate() {
            for y in side[n + 1..].iter().take(CANDIDATES) {
                pairs.note_sides(x.statement, y.statement, Sides::Same);
            }
        }
    }
    for x in a.iter().take(CANDIDATES) {
        for y in b.iter().take(CANDIDATES) {
            pairs.note_sides(x.statement, y.statement, Sides::Opposite);
        }
    }
}

/// A claim on both sides of its topic, denied on one of them, stands there: `the identity of … is not linked`.
fn keep_denials(stands: &mut Vec<Stand>) {
    let mut denied: Vec<(u16, u32, bool, bool)> = Vec::new();
    for stand in stands.iter().filter(|x| x.denies && is_claim(x.family)) {
        let (a, b) = (stand.side == Side::A, stand.side == Side::B);
        match denied.last_mut() {
            Some(last) if (last.0, last.1) == (stand.family, stand.statement) => {
                last.2 |= a;
                last.3 |= b;
            }
            _ => denied.push((stand.family, stand.statement, a, b)),
        }
    }
    stands.retain(|stand| {
        let at = denied.binary_search_by_key(&(stand.family, stand.statement), |d| (d.0, d.1));
        at.map_or(true, |at| match (denied[at].2, denied[at].3) {
            (true, false) => stand.side == Side::A,
            (false, true) => stand.side == Side::B,
            _ => true,
        })
    });
}

fn opposed(s: &Statement, o: &Statement, x: &Stand, y: &Stand, scope: Scope, name: &str) -> bool {
    let mut cue = x.cue.clone();
    cue.extend(&y.cue);
    // `local time`: a cue that holds the subject of both does not take it away.
    if s.subject == o.subject {
        cue.retain(|k| Some(*k) != s.subject);
    }
    // A word in one cue only, which the other statement has too, is what both speak of.
    if usize::from(x.family) >= families().len() {
        let (only_x, only_y) = (
            |k: &u64| !y.cue.contains(k) && o.content.binary_search(k).is_ok(),
            |k: &u64| !x.cue.contains(k) && s.content.binary_search(k).is_ok(),
        );
        cue.retain(|k| !(x.cue.contains(k) && only_x(k) || y.cue.contains(k) && only_y(k)));
    }
    // `Fields name and mail are required`, `the field phone is optional`
    if name == "whether it is required" {
        let mut beside = cue.clone();
        beside.extend([fnv("field"), fnv("column")]);
        if s.shared_weight(o, &beside) == 0 && s.shared_weight(o, &cue) > 0 {
            return false;
        }
    }
    let ordering = |stand: &Stand| {
        stand
            .cue
            .iter()
            .any(|k| *k == fnv("before") || *k == fnv("after"))
    };
    let timing = any_of!(name, "timing" "when it is answered") || ordering(x) || ordering(y);
    // `nobody cancels after it`, `guests cancel before it` agree.
    if name == "before or after" && (!s.apart_in_time(o) || s.negative != o.negative) {
        return false;
    }
    if !timing && s.apart_in_time(o) {
        return false;
    }
    // `read access to the fleet database` says nothing about a file.
    let writes = any_of!(name, "write access" "whether it may change");
    // What both name as the place is what they are about.
    let beside =
        writes && (common(&s.landmarks, &o.landmarks) >= 1 || common(&s.phrase, &o.content) >= 2);
    let elsewhere = writes
        && !o.landmarks.is_empty()
        && common(&o.landmarks, &s.content) == 0
        && common(&s.landmarks, &o.content) == 0
        && !(s.passive && s.head.is_some_and(|h| o.content.binary_search(&h).is_ok()));
    // `Numbers are never written to the log`, `no changes to the photos are logged`: about the log.
    let into = writes
        && s.passive
        && (x.cue.contains(&fnv("writ")) && common(&s.landmarks, &o.content) == 0
            || s.head == Some(fnv("chang")));
    // `Passwords are never written to the log`, `every login is written to the log`
    let into = into || writes && s.passive && o.passive && s.foreign(o);
    // A copy is not the thing itself; `the backup log` is not the backup.
    let copy = writes && o.head == Some(fnv("cop")) && s.head != o.head
        || any_of!(name, "encryption" "write access") && compound(s, o);
    // What one keeps another may forget.
    let other_actor = name == "state"
        && !o.passive
        && s.head.is_some()
        && o.head.is_some_and(|h| s.content.binary_search(&h).is_err())
        && s.head
            .is_some_and(|h| o.landmarks.binary_search(&h).is_err());
    // `the script updates its own log`: not what it must not touch.
    let own_thing = name == "write access"
        && !beside
        && if s.passive {
            s.head.is_some_and(|h| o.content.binary_search(&h).is_err())
                && s.shared_weight(o, &cue) < 4
        } else {
            let mut known = cue.clone();
            known.extend(s.head);
            let things = without(&s.content, &known);
            s.head.is_some()
                && (s.head == o.head || o.head.is_none() && s.subject == o.subject)
                && !things.is_empty()
                && common(&things, &o.content) == 0
        };
    // `The container's file system is read-only`, `saved inside the container`
    let own_thing = own_thing && common(&s.phrase, &o.content) < 2;
    // `Readers have read-only access`: what the system itself writes is another matter.
    let theirs = name == "write access"
        && !s.persons.is_empty()
        && !s.passive
        && o.head.is_some()
        && o.head != s.head
        && (o.limited || o.persons.is_empty() && !o.passive && !o.unexcepted);
    // `A helper may hold at most two shifts`, `the reserve team may hold any number`: two who act.
    let other_actors = name == "limits" && !s.passive && !o.passive && s.foreign(o);
    // `push to main`, `push to the feature branches`
    let other_place = name == "permission"
        && !s.landmarks.is_empty()
        && !o.landmarks.is_empty()
        && common(&s.landmarks, &o.content) == 0
        && common(&o.landmarks, &s.content) == 0;
    // `In a power cut it opens`, `at night it is closed`: two cases.
    let cases = any_of!(name, "locked or open" "up or down" "running or stopped" "whether it moves" "on or off" "on or off from the start" "on or off at first")
        && (s.clocked
            || o.clocked
            || s.measured && o.measured
            || !s.fronted.is_empty() && common(&s.fronted, &o.content) == 0
            || !o.fronted.is_empty() && common(&o.fronted, &s.content) == 0);
    // `the source table`, `the target table`
    let other_one = writes
        && s.phrase.len() > 1
        && o.places
            .iter()
            .any(|p| Some(p.0) == s.head && !s.phrase.contains(&p.1));
    // `at once when they are submitted`: when it begins to count, not a case among others.
    let set_off = any_of!(name, "when it happens" "whether it waits" "without delay" "whether it is kept" "how fast it appears")
        && (s.triggered || !s.conditional)
        && (o.triggered || !o.conditional)
        && !(s.limited || o.limited);
    // The places are what they disagree about.
    let opposed_places = s.fronted.is_empty() && o.fronted.is_empty();
    // The one who chooses and the one who is chosen for are two.
    let chosen = any_of!(name, "chosen or assigned" "chosen or drawn" "elected or appointed" "at any time or only then");
    let apart = if chosen {
        s.apart_in_name(o)
    } else if any_of!(name, "which day" "which comes first" "open or closed that day")
        && opposed_places
    {
        s.apart_in_people(o)
    } else {
        s.apart(o)
    };
    // `push to main`, `push to branches`: done to different things.
    let aimed = name == "permission"
        && !s.landmarks.is_empty()
        && !o.landmarks.is_empty()
        && common(&s.landmarks, &o.content) == 0
        && common(&o.landmarks, &s.content) == 0;
    // `The game can be saved only at night`, `players save at any time`
    let same_deed = name == ANYTIME
        && s.act
            .is_some_and(|k| !s.generic.contains(&k) && o.content.binary_search(&k).is_ok());
    // `A bike in repair cannot be …`: not every bike.
    let some = |a: &Statement, b: &Statement| a.is_part_of(b) && !b.emphatic;
    if elsewhere
        || some(s, o)
        || some(o, s)
        || any_of!(name, "who sees it" "price" "visibility") && claims::other_people(s, o)
        || name != "which day" && s.apart_in_days(o)
        || aimed
        || s.past
        || o.past
        || into
        || other_one
        || own_thing
        || theirs
        || other_place
        || other_actors
        || copy
        || other_actor
        || cases
        || apart
        || s.foreign(o) && !beside && !same_deed && s.shared_weight(o, &cue) < 4
        || !set_off
            && !s.may_meet(o)
            && (s.conditional || !(writes || any_of!(name, "approval" "on or off at first")))
            && !any_of!(name, "on or off at first" "whether it goes on by itself")
            && !(name == "whether it is removed" && !s.conditional && o.limited)
            && !(name == "state" && s.emphatic)
    {
        return false;
    }
    // What it does in one case: both name the case.
    if name == "what it does then" && !(s.conditional && o.conditional && s.same_condition(o)) {
        return false;
    }
    // `kept for a year`, `deleted after 30 days`: the numbers decide (`bounds`).
    // `at least 5 open`, `never more than 20`: the bounds decide.
    if name == "opposite statements"
        && (s.measured && o.measured || s.same_subject(o) && (s.measured || o.measured))
    {
        return false;
    }
    if any_of!(name, "whether it is kept" "how long it is valid" "opposite statements" "whether it can be undone" "locked or open")
        && s.timed
        && o.timed
    {
        return false;
    }
    let scheduled = any_of!(name,
        "timing" "when it is answered" "when it happens" "how fast it appears" "speed of delivery" "how often"
        "used again" "how many times" "whether it waits" "without delay");
    // `at once` and `the next day` are opposites of one act only.
    let hurried = name == "opposite statements"
        && cue
            .iter()
            .any(|k| [fnv("next"), fnv("later"), fnv("once"), fnv("immediate")].contains(k));
    let of_one_act = OF_ONE_ACT.contains(&name);
    // `The camera records around the clock`, `the guard watches it during opening hours`
    let done =
        |a: &Statement, b: &Statement| a.act.is_some_and(|k| b.content.binary_search(&k).is_ok());
    if name == ANYTIME && !(done(s, o) || done(o, s) || alike_acts(s, o)) {
        return false;
    }
    if (scheduled || hurried || of_one_act) && (different_acts(s, o) || compound(s, o)) {
        return false;
    }
    let clocks = s.clocked && o.clocked;
    if clocks || s.at_number && o.at_number {
        return false;
    }
    let weight = s.subject_weight(o, &cue);
    match scope {
        Scope::Close => {
            weight >= 4 && s.coverage(o, &cue) >= 75
                || weight >= 2 && s.coverage(o, &cue) == 100
                || s.same_subject(o) && s.coverage(o, &cue) >= 50
                || weight >= 2
                    && (s.emphatic || o.emphatic)
                    && !(s.limited || o.limited)
                    && s.coverage(o, &cue) >= 50
        }
        Scope::Near => {
            let coverage = s.coverage(o, &cue);
            let same = s.same_subject(o);
            // `the free plan`, `the paid plan`: the opposites tell two things apart.
            let qualifiers = x.next != 0 && x.next == y.next;
            !qualifiers
                && (weight >= 4 && coverage >= 50
                    || weight >= 2 && coverage >= 66
                    || same && coverage >= 50
                    || same && scheduled && alike_acts(s, o))
        }
        _ if name == "who acts" => weight >= 4 || weight >= 2 && s.coverage(o, &cue) >= 50,
        _ => weight >= 2 && (weight >= 4 || s.coverage(o, &cue) >= 25),
    }
}

//! What stays inside and what goes out: `pictures never leave the phone`, `the picture is sent to our server`.

use super::super::Source;
use super::grammar::is_boundary;
use super::statement::{Statement, mark};
use super::synonym::canonical;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A statement that keeps something in a place.
struct Stay {
    statement: u32,
    /// Words behind `leave`, `stay on`: the place.
    place: Vec<u64>,
    /// Telling words of the clause before that.
    about: Vec<u64>,
    /// Holds for all data: `nothing`, `all data`.
    wide: bool,
}

/// Finds what leaves the place it must stay in.
pub(super) fn find(sources: &[Source<'_>], statements: &[Statement], pairs: &mut Pairs<'_, '_>) {
    let stays: Vec<Stay> = statements
        .iter()
        .enumerate()
        .filter_map(|(n, s)| read_stay(&sources[s.source], s, n as u32))
        .take(CANDIDATES)
        .collect();
    if stays.is_empty() {
        return;
    }
    for (j, o) in statements.iter().enumerate() {
        let Some(target) = goes_out(&sources[o.source], o) else {
            continue;
        };
        for stay in &stays {
            let s = &statements[stay.statement as usize];
            let inside = target.iter().any(|k| stay.place.contains(k));
            let about = stay.wide
                || stay
                    .about
                    .iter()
                    .any(|k| o.content.binary_search(k).is_ok());
            if s.source != o.source
                && about
                && !inside
                && !s.apart_in_people(o)
                && !s.apart_in_name(o)
                && (s.may_meet(o) || s.conditional && !o.conditional)
            {
                pairs.add(stay.statement as usize, j, "whether it leaves its place");
            }
        }
    }
}

fn read_stay(source: &Source<'_>, s: &Statement, n: u32) -> Option<Stay> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = s.range;
    if s.marks & (mark::STAYS | mark::ONLY) == 0 {
        return None;
    }
    let timed = (start..end).any(|i| t.is(i, class::TIME_UNIT) || lexed.word(i) == "until");
    let only_in = |i: usize| lexed.word(i) == "only" && any_of!(lexed.word(i + 1), "in" "at");
    if timed || s.conditional && !(start..end).any(only_in) {
        return None;
    }
    let denied = |i: usize| {
        (i.saturating_sub(6).max(start)..i)
            .rev()
            .take_while(|&k| !is_boundary(source, k))
            .any(|k| t.is(k, class::NEG))
    };
    let at = (start + 1..end).find(|&i| {
        let (word, next) = (lexed.word(i), lexed.word(i + 1));
        (any_of!(word, "leave" "leaves" "outside" "outsiders")
            || word == "third" && any_of!(next, "parties" "party"))
            && denied(i)
            || any_of!(word, "stay" "stays" "remain" "remains")
                && !denied(i)
                && any_of!(next, "on" "in" "inside" "within" "at")
            || any_of!(word, "stored" "kept" "hosted" "processed" "held" "saved" "located" "lie" "live" "computed" "evaluated")
                && !denied(i)
                && (any_of!(next, "only" "exclusively" "solely")
                    || any_of!(next, "on" "in" "inside" "within" "at")
                        && (i + 2..(i + 9).min(end)).any(|k| any_of!(lexed.word(k), "only" "exclusively" "solely" "nowhere" "alone")))
    })?;
    let place: Vec<u64> = (at + 1..end)
        .take_while(|&i| !is_boundary(source, i))
        .filter(|&i| lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP))
        .map(|i| canonical(lexed.tokens[i].key))
        .collect();
    // A place somewhere: a building, a device, a network; not a queue or a list.
    let somewhere = (at..end).take_while(|&i| !is_boundary(source, i)).any(|i| {
        any_of!(lexed.word(i), "phone" "phones" "device" "devices" "laptop" "laptops" "machine" "machines" "computer" "building" "house" "plant" "site" "network" "company" "hospital" "hospital's" "country" "eu" "germany" "austria" "switzerland" "europe" "premises" "room" "office" "server" "servers" "recorder" "vehicle" "car" "campus" "school" "centre" "center" "ward" "browser" "intranet" "lan" "tablet" "tablets" "watch" "camera" "factory" "lab" "laboratory" "institute" "university" "clinic" "practice" "bank" "ship" "outsiders" "parties" "party" "host" "cluster" "union" "city" "town" "museum" "archive" "workstation" "box" "hardware" "control" "hands" "region" "state" "land")
    });
    let somewhere = somewhere
        || (at + 1..end)
            .take_while(|&i| !is_boundary(source, i))
            .any(|i| is_place_name(source, i));
    if !somewhere {
        return None;
    }
    let all = any_of!(lexed.word(start), "all" "no" "any");
    let wide = (start..at).any(|i| {
        lexed.word(i) == "nothing"
            || any_of!(lexed.word(i), "copy" "copies") && i > start && lexed.word(i - 1) == "no"
            || any_of!(lexed.word(i), "data" "everything")
                && (i == start
                    || all && i <= start + 2
                    || any_of!(lexed.word(i - 1), "all" "no" "any" "customer" "personal" "the"))
    });
    let clause = (start..at)
        .rev()
        .find(|&i| is_boundary(source, i))
        .unwrap_or(start);
    let about = (clause..at)
        .filter(|&i| {
            lexed.tokens[i].kind == TokenKind::Word
                && t.classes[i] & (class::STOP | class::NEG | class::UNIVERSAL | class::GENERIC)
                    == 0
        })
        .map(|i| canonical(lexed.tokens[i].key))
        .collect();
    // `Files are kept …`: a general word is better than none.
    let about: Vec<u64> = about;
    let about = if about.is_empty() {
        s.head.into_iter().collect()
    } else {
        about
    };
    Some(Stay {
        statement: n,
        about,
        place,
        wide,
    })
}

/// A name in the middle of a sentence that is no product and no abbreviation, or a region of a provider.
fn is_place_name(source: &Source<'_>, i: usize) -> bool {
    let t = &source.tagged;
    let raw = t.lexed.raw(i);
    let name = t.lexed.tokens[i].upper
        && t.lexed.tokens[i].kind == TokenKind::Word
        && raw.bytes().skip(1).all(|b| b.is_ascii_lowercase())
        && raw.len() > 3
        && !t.is(
            i,
            class::TECH | class::FORMAT | class::WEEKDAY | class::TONGUE | class::STOP,
        );
    name || any_of!(raw, "EU" "US" "USA" "UK")
        || any_of!(raw.split('-').next().unwrap_or_default(), "eu" "us" "ap")
            && raw.matches('-').count() == 2
}

/// The words of the target, where the statement sends, copies or stores something elsewhere.
fn goes_out(source: &Source<'_>, o: &Statement) -> Option<Vec<u64>> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let (start, end) = o.range;
    if o.negative {
        return None;
    }
    let denied = |i: usize| (i.saturating_sub(3).max(start)..i).any(|k| t.is(k, class::NEG));
    // Counts without names are other data.
    if (start..end).any(
        |i| any_of!(lexed.word(i), "anonymous" "anonymised" "anonymized" "aggregated" "statistics"),
    ) {
        return None;
    }
    let at = (start..end).find(|&i| {
        let word = lexed.word(i);
        let verb = any_of!(word, "send" "sends" "sent" "uploaded" "uploads" "upload" "transmitted" "transmits" "forwarded" "forwards" "mailed" "e-mailed" "emailed" "pushed" "pushes" "copied" "copies" "transferred" "synced" "synchronised" "posted" "posts" "transfers" "mirrors" "replicates" "forward" "handed" "given" "replicated" "mirrored" "moved" "published" "exported" "shared" "passed" "backed" "goes" "go");
        let to = (i + 1..(i + 6).min(end)).any(|k| any_of!(lexed.word(k), "to" "with" "on" "up"));
        let held = any_of!(word, "stored" "kept" "hosted" "processed" "held" "saved" "computed" "evaluated" "runs" "run" "analysed" "analyzed" "lies" "lie")
            && any_of!(lexed.word(i + 1), "in" "on" "at" "by" "with")
            || i > start
                && any_of!(lexed.word(i - 1), "is" "are" "be" "gets")
                && word.len() > 4
                && word.ends_with("ed");
        let held = held
            && (i + 2..(i + 8).min(end)).any(|k| is_place_name(source, k) || any_of!(lexed.word(k), "abroad" "overseas" "provider" "provider's"));
        (held || verb && to && (word != "go" && word != "goes" || lexed.word(i + 1) == "to") || t.is(i, class::CLOUD) || any_of!(word, "s3" "cloud" "bucket" "google"))
            && !denied(i)
            && !lexed.tokens[i].quoted
    })?;
    Some(
        (at..end)
            .filter(|&i| lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP))
            .map(|i| canonical(lexed.tokens[i].key))
            .collect(),
    )
}

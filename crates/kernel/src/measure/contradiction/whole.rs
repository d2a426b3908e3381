//! What holds for the whole: `no JavaScript`, `works without a network`, against whatever part does it all the same.

use super::super::Source;
use super::claims;
use super::relation::{common, without};
use super::statement::Statement;
use super::synonym::canonical;
use crate::lexicon::class;
use crate::text::lex::TokenKind;

/// A statement about the whole, or both about the same part.
pub(super) fn is_whole(
    sources: &[Source<'_>],
    (s, s_at): (&Statement, usize),
    (o, o_at): (&Statement, usize),
    cue: &[u64],
    name: &str,
) -> bool {
    // `no network while an exam is running`, `during the exam …`
    let same_case = !s.condition.is_empty()
        && common(&s.condition, &o.content) * 2 >= s.condition.len()
        && (!o.conditional || o.limited && common(&s.condition, &o.limit) > 0);
    // `No sound at all` leaves no case out.
    let utter = {
        let lexed = &sources[s.source].tagged.lexed;
        (s.range.0..s.range.1).any(|i| {
            lexed.word(i) == "whatsoever"
                || lexed.word(i) == "at" && lexed.word(i + 1) == "all"
                || lexed.word(i) == "of"
                    && lexed.word(i + 1) == "any"
                    && lexed.word(i + 2) == "kind"
                || any_of!(lexed.word(i), "no" "any") && lexed.word(i + 1) == "circumstances"
        })
    };
    // What is ruled out altogether is ruled out in every case.
    let utter = utter
        || s.emphatic
            && !s.conditional
            && any_of!(name, "sound" "camera and microphone" "cookies" "mail" "paper" "JavaScript" "cash" "pictures" "the processor" "outside dependencies");
    let free =
        !governed(&sources[s.source], s, s_at) && (utter || !governed(&sources[o.source], o, o_at));
    if o.past
        || name != "who wins" && !free && !same_case
        || s.apart_in_people(o)
        || s.apart_in_name(o)
        || !same_case && begins_later(&sources[s.source], s)
    {
        return false;
    }
    if name == "network access"
        && (has_phases(&sources[s.source]) || comes_back(&sources[o.source], o))
    {
        return false;
    }
    if is_part(sources, s, o, name) || s.apart_in_time(o) && name != "network access" {
        return false;
    }
    // `never sends mails on race day`
    let on_day = |st: &Statement| {
        let t = &sources[st.source].tagged;
        (st.range.0 + 2..st.range.1).find(|&i| {
            any_of!(t.lexed.word(i), "day" "days" "weekends" "holidays" "nights")
                && !t.is(i - 1, class::STOP | class::UNIVERSAL)
                && t.lexed.word(i - 2) == "on"
        })
    };
    if let Some(day) = on_day(s)
        && !o.content.contains(&canonical(
            sources[s.source].tagged.lexed.tokens[day - 1].key,
        ))
    {
        return false;
    }
    // `No noise between 22:00 and 06:00`, `the siren is tested at 12:00`: the times decide (`windows`).
    if s.clocked && o.clocked {
        return false;
    }
    // Stored in one zone, shown in another.
    let (done, did) = (act_of(&sources[s.source], s), act_of(&sources[o.source], o));
    if name == "time zone" && done != 0 && did != 0 && done & did == 0 {
        return false;
    }
    if two_names(sources, s, o, name) {
        return false;
    }
    // `without libraries in the chart itself`
    let part = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0..st.range.1).any(|i| lexed.word(i) == "itself")
    };
    if in_tests(sources, s) != in_tests(sources, o) || part(s) {
        return false;
    }
    // Stored under lock, sent in the clear: two matters.
    let sent = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0..st.range.1)
            .any(|i| any_of!(lexed.word(i), "sent" "transmitted" "sends" "served"))
    };
    if name == "protection of stored data"
        && (sent(o) && !sent(s) || !s.universal && !s.emphatic)
        && !s.universal
        && s.foreign(o)
        && s.shared_weight(o, cue) < 2
    {
        return false;
    }
    // Without a database there may be files.
    let database = |st: &Statement| {
        let t = &sources[st.source].tagged;
        (st.range.0..st.range.1)
            .any(|i| t.is(i, class::DATABASE) || any_of!(t.lexed.word(i), "database" "databases"))
    };
    if name == "storage" && database(s) && !database(o) {
        return false;
    }
    // `the public pages`, `the internal editor`
    if two_sides(sources, s, o) {
        return false;
    }
    let mut main = s.main.clone();
    main.retain(|k| !s.generic.contains(k));
    main.sort_unstable();
    // `No login is needed to see the results` says nothing about correcting them.
    let acts = |a: &[u64], b: &[u64]| !a.is_empty() && !b.is_empty() && common(a, b) == 0;
    if name == "accounts" && claims::strange_acts(sources, s, o, cue) {
        return false;
    }
    if name == "accounts" && acts(&without(&s.content, cue), &without(&o.content, cue)) {
        return false;
    }
    common(&main, &o.content) >= 1 || governs_whole(&sources[s.source], s, name)
}

/// Speaks of tests, builds or documents, not of the product.
fn in_tests(sources: &[Source<'_>], st: &Statement) -> bool {
    let t = &sources[st.source].tagged;
    (st.range.0..st.range.1).any(|i| {
        any_of!(t.lexed.word(i),
            "test" "tests" "ci" "build" "documentation" "docs" "example" "examples" "development")
            || t.is(i, class::TEST_TOOL)
    })
}

/// A class ruled out, or a property of the whole, that leaves no case: whatever the two speak of, unless they name
/// different people, places, devices, times or parts.
pub(super) fn rules_out(
    sources: &[Source<'_>],
    (s, s_at): (&Statement, usize),
    (o, _): (&Statement, usize),
    name: &str,
) -> bool {
    let relative = s.limited && s.condition.is_empty();
    let built = any_of!(name, "whether it is repeatable" "fixed versions of parts");
    let differ = |a: &[u64], b: &[u64]| !a.is_empty() && !b.is_empty() && common(a, b) == 0;
    !(s.past || o.past || s.complement || o.complement)
        && (!governed(&sources[s.source], s, s_at) || relative)
        && (!o.limited || o.condition.is_empty())
        && !s.apart_in_people(o)
        && !s.apart_in_time(o)
        && !s.is_elsewhere(o)
        && !differ(&s.scopes, &o.scopes)
        && !differ(&s.heading, &o.heading)
        && !differ(&s.fronted, &o.fronted)
        && s.contrasts
            .iter()
            .all(|c| !o.contrasts.contains(&(c.0, !c.1)))
        && (built || in_tests(sources, s) == in_tests(sources, o))
        && !components_differ(&sources[s.source], s, &sources[o.source], o)
        && !is_part(sources, s, o, name)
        && !two_names(sources, s, o, name)
        && !two_sides(sources, s, o)
        && !begins_later(&sources[s.source], s)
}

/// One speaks of what visitors see, the other of what is internal.
fn two_sides(sources: &[Source<'_>], s: &Statement, o: &Statement) -> bool {
    let side = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0..st.range.1).find_map(|i| match lexed.word(i) {
            "public" => Some(true),
            "internal" | "admin" | "staff" | "back-office" | "intranet" | "back-end" => Some(false),
            "office" if i > 0 && lexed.word(i - 1) == "back" => Some(false),
            _ => None,
        })
    };
    let front = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0..st.range.1)
            .any(|i| any_of!(lexed.word(i), "site" "website" "page" "pages" "shop" "visitors"))
    };
    side(s).is_some_and(|a| side(o) == Some(!a))
        || side(o) == Some(false) && side(s).is_none() && front(s)
}

/// What follows a word that says of what it is said: `the table suppliers`, `the same number`.
pub(super) fn two_names(sources: &[Source<'_>], s: &Statement, o: &Statement, name: &str) -> bool {
    let behind = |st: &Statement, lead: &[&str]| -> Option<u64> {
        let t = &sources[st.source].tagged;
        let at = (st.range.0..st.range.1)
            .find(|&i| lead.contains(&t.lexed.word(i)) && i + 1 < st.range.1)?;
        let named = t.lexed.tokens[at + 1].kind == TokenKind::Word
            && !t.is(at + 1, class::STOP | class::NEG | class::MODAL);
        named.then(|| canonical(t.lexed.tokens[at + 1].key))
    };
    let differ =
        |lead: &[&str]| behind(s, lead).is_some_and(|a| behind(o, lead).is_some_and(|b| a != b));
    // `in the drivers`: a part of the code.
    let part = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0 + 2..st.range.1).any(|i| {
            any_of!(lexed.word(i), "handler" "handlers" "driver" "drivers" "bootloader" "loop" "path" "parser" "routines" "routine")
                && lexed.word(i - 1) != "interrupt"
                || any_of!(lexed.word(i), "handler" "handlers") && lexed.word(i - 2) == "the"
        }) && (st.range.0..st.range.1).any(|i| lexed.word(i) == "in")
    };
    match name {
        // `A commit after each file`: what is one by one is all or nothing.
        "all or nothing" => s.head.is_some_and(|h| o.quantified.contains(&h)),
        "protection of stored data" => {
            let lexed = &sources[o.source].tagged.lexed;
            (o.range.0..o.range.1)
                .any(|i| any_of!(lexed.word(i), "sent" "transmitted" "served" "sends"))
        }
        "header line" | "the separator" => {
            s.apart_in_name(o) || s.phrase != o.phrase && s.same_subject(o)
        }
        "uniqueness" => differ(&["same"]),
        "whether the tables change" | "whether the structure changes" => {
            differ(&["table", "tables"])
        }
        "dynamic memory" | "floating-point numbers" | "recursion" => part(s) && s.foreign(o),
        "compressed or not" | "fixed versions of parts" | "which characters are allowed" => {
            s.foreign(o) && s.shared_weight(o, &[]) < 2
        }
        _ => false,
    }
}

/// The two are about different parts: places, devices, what is left out.
fn is_part(sources: &[Source<'_>], s: &Statement, o: &Statement, name: &str) -> bool {
    let holds = |keys: &[u64], st: &Statement| common(keys, &st.content) > 0;
    // `works offline on the train`, `in the depot it fetches …`
    let placed = |st: &Statement| !st.landmarks.is_empty() || !st.fronted.is_empty();
    let fixed = any_of!(name, "camera and microphone" "sound" "cookies" "paper" "pictures");
    let front =
        !o.fronted.is_empty() && placed(s) && !holds(&o.fronted, s) && !holds(&s.landmarks, o);
    let place = fixed
        && !s.landmarks.is_empty()
        && !o.landmarks.is_empty()
        && !holds(&s.landmarks, o)
        && !holds(&o.landmarks, s);
    // `No photos are taken in the lab`
    let there = name == "pictures" && !s.landmarks.is_empty() && !holds(&s.landmarks, o);
    if front || place || there {
        return true;
    }
    // `The database must not be reachable from the internet`: who may come in, not what it calls.
    let inbound = |st: &Statement| {
        let lexed = &sources[st.source].tagged.lexed;
        (st.range.0..st.range.1)
            .any(|i| any_of!(lexed.word(i), "reachable" "accessible" "exposed" "reached"))
    };
    if any_of!(name, "network access" "requests to others")
        && (inbound(s) || inbound(o))
        && (inbound(s) != inbound(o) || s.foreign(o))
    {
        return true;
    }
    // `No third-party scripts on the checkout page`: on that page.
    let on_page = |st: &Statement| {
        let t = &sources[st.source].tagged;
        (st.range.0 + 2..st.range.1).any(|i| {
            any_of!(t.lexed.word(i), "page" "pages" "screen" "form" "dialog" "view")
                && !t.is(i - 1, class::STOP | class::UNIVERSAL)
                && (st.range.0..i - 1)
                    .rev()
                    .take(2)
                    .any(|k| any_of!(t.lexed.word(k), "on" "in"))
        })
    };
    if any_of!(name, "outside dependencies" "requests to others" "JavaScript" "cookies")
        && on_page(s)
        && !holds(&s.landmarks, o)
    {
        return true;
    }
    // `No third-party scripts`: what a page loads, not what it is built with.
    let loaded = {
        let lexed = &sources[s.source].tagged.lexed;
        (s.range.0 + 1..s.range.1).any(|i| {
            any_of!(lexed.word(i - 1), "third-party" "party" "external")
                && any_of!(lexed.word(i), "script" "scripts" "cookie" "cookies" "font" "fonts" "content" "tracker" "trackers" "tracking"
                    "request" "requests" "server" "servers" "domain" "domains" "data" "access" "ads" "widget" "widgets" "service" "services")
        })
    };
    if name == "outside dependencies" && loaded {
        return true;
    }
    // `The sensor has no Wi-Fi`, `the gateway uploads …`: another device acts.
    let t = &sources[o.source].tagged;
    let acts = o
        .head
        .filter(|h| s.head.is_some() && s.content.binary_search(h).is_err());
    let other_device = acts.is_some_and(|h| {
        !o.passive
            && (o.range.0..o.finite.unwrap_or(o.range.0)).any(|i| {
                canonical(t.lexed.tokens[i].key) == h
                    && (t.is(i, class::WHOLE | class::SOFTWARE)
                        || any_of!(t.lexed.word(i), "area" "control" "dispatcher" "box" "station" "terminal" "phone" "computer" "unit" "office"))
            })
    });
    let ruled_out =
        any_of!(sources[s.source].tagged.lexed.word(s.range.0), "no" "nothing" "nobody");
    let placed_apart = !s.landmarks.is_empty() && !holds(&s.landmarks, o);
    if other_device && (!s.universal || placed_apart) && !ruled_out {
        return true;
    }
    // `no cookies except the session cookie`
    let source = &sources[s.source].tagged;
    let except = (s.range.0..s.range.1)
        .find(|&i| any_of!(source.lexed.word(i), "except" "besides" "beyond" "beside" "apart"));
    let left_out = except.is_some_and(|e| {
        (e + 1..s.range.1).any(|i| {
            source.lexed.tokens[i].kind == TokenKind::Word
                && !source.is(i, class::STOP)
                && !any_of!(source.lexed.word(i), "standard" "library")
                && o.content
                    .binary_search(&canonical(source.lexed.tokens[i].key))
                    .is_ok()
        })
    });
    if left_out {
        return true;
    }
    // The network that is cut off may be used itself.
    let lexed = &source.lexed;
    let says = |word: &str| (s.range.0..s.range.1).any(|i| lexed.word(i) == word);
    let other = &sources[o.source].tagged.lexed;
    let also = |word: &str| (o.range.0..o.range.1).any(|i| other.word(i) == word);
    if name == "network access" {
        return s.head == Some(crate::text::lex::fnv("network"))
            && o.content
                .binary_search(&crate::text::lex::fnv("network"))
                .is_ok();
    }
    if name != "storage" {
        return false;
    }
    // `nothing is written to the stick`, `the report is written to the desktop`
    let general = ["disk", "drive", "hard", "file", "database"]
        .iter()
        .any(|w| says(w));
    let elsewhere = !general
        && !s.landmarks.is_empty()
        && !o.landmarks.is_empty()
        && !holds(&s.landmarks, o)
        && !holds(&o.landmarks, s);
    // `Card numbers are never stored`: only they.
    let only_they = s.passive
        && (s.phrase.len() > 1 && s.phrase.iter().any(|k| o.content.binary_search(k).is_err())
            || s.head
                .is_some_and(|h| !s.generic.contains(&h) && o.content.binary_search(&h).is_err()));
    elsewhere
        || only_they
        || says("temporary") && !also("temporary")
        || says("database") && says("server")
}

/// The condition of a statement covers the cue at `at`: it stands before the cue, or behind it in the same clause.
fn governed(source: &Source<'_>, s: &Statement, at: usize) -> bool {
    if !s.conditional {
        return false;
    }
    let t = &source.tagged;
    let lexed = &t.lexed;
    // `Only modules that ship with Python`, `while it runs`: no case among others.
    let behind = (at..s.range.1).find(|&i| t.is(i, class::CONDITION));
    let running = behind.is_some_and(|i| {
        lexed.word(i) == "while" && any_of!(lexed.word(i + 1), "it" "they") && i + 4 > s.range.1
    });
    if running || s.limited && lexed.word(s.range.0) == "only" {
        return false;
    }
    let before = (s.range.0..at).any(|i| t.is(i, class::CONDITION));
    let Some(behind) = behind.filter(|_| !before && !s.limited && !s.complement) else {
        return true;
    };
    !(at..behind).any(|i| lexed.word(i) == "and" || matches!(lexed.raw(i), "," | "-" | "–"))
}

/// `works without a connection; they are sent as soon as there is one again`: both states are meant.
fn has_phases(source: &Source<'_>) -> bool {
    let lexed = &source.tagged.lexed;
    (0..lexed.tokens.len()).any(|i| {
        any_of!(lexed.word(i), "again" "also" "even" "later" "alone" "except")
            || lexed.word(i) == "as" && lexed.word(i + 1) == "soon"
            // `uploads start when the Wi-Fi is in reach`
            || any_of!(lexed.word(i), "when" "whenever" "once")
                && (i + 1..i + 10).any(|k| any_of!(lexed.word(k), "wi-fi" "wifi" "wlan" "network" "connection" "online" "internet" "signal" "reception"))
    })
}

/// `as soon as it is back online`, `copied by cable`: the other state, or another way.
fn comes_back(source: &Source<'_>, o: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (o.range.0..o.range.1).any(|i| {
        any_of!(lexed.word(i), "back" "again" "reconnects" "reconnected" "returns" "docked" "available" "afterwards" "later" "cable" "usb" "stick")
            || lexed.word(i) == "as" && lexed.word(i + 1) == "soon"
    })
}

/// `works offline once the area has been downloaded`: holds from some point on.
fn begins_later(source: &Source<'_>, s: &Statement) -> bool {
    (s.range.0 + 1..s.range.1)
        .any(|i| any_of!(source.tagged.lexed.word(i), "once" "after" "until" "when" "while"))
}

/// The subject before the cue is the whole (`the app`, `it`) or not named at all (`Must run offline`).
fn governs_whole(source: &Source<'_>, s: &Statement, name: &str) -> bool {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let subject = (s.range.0..s.range.1).take_while(|&i| {
        s.finite != Some(i)
            && !t.is(
                i,
                class::MODAL | class::NEG | class::UNIVERSAL | class::USE_VERB,
            )
            && lexed.tokens[i].kind != TokenKind::Symbol
            && !any_of!(lexed.word(i),
                "is" "are" "works" "work" "has" "have" "stays" "stay" "keeps" "needs")
    });
    let words: Vec<usize> = subject
        .filter(|&i| lexed.tokens[i].kind == TokenKind::Word && !t.is(i, class::STOP))
        .collect();
    words.is_empty()
        || name == "storage" && words.iter().all(|&i| t.is(i, class::WHOLE))
        || name != "storage"
            && words.iter().any(|&i| {
                t.is(
                    i,
                    class::WHOLE | class::TECH | class::PERSON | class::LANGUAGE | class::DATA,
                )
            })
        || words.len() <= 2 && name != "storage"
}

/// The act that a time or text is named for: stored, shown, sent.
fn act_of(source: &Source<'_>, s: &Statement) -> u8 {
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

/// Each speaks of a component of its own: `the server`, `the desktop client`.
fn components_differ(p: &Source<'_>, s: &Statement, q: &Source<'_>, o: &Statement) -> bool {
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

/// All machines there are.
fn speaks_of_machines(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|i| {
        any_of!(lexed.word(i), "pcs" "machines" "computers" "nodes" "hosts" "laptops" "workstations" "desktops" "devices" "servers" "phones" "tablets" "fleet")
    })
}

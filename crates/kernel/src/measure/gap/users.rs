//! Who uses the result: words for people, agent nouns, the subjects of what people do, and programs that call it.

use crate::lexicon::{Tagged, class, is_listed};
use crate::text::lex::TokenKind;

/// What only people do with a result.
fn is_human_act(word: &str) -> bool {
    any_of!(word,
        "see" "read" "use" "notice" "type" "choose" "fill" "watch" "hear" "look" "know" "want" "ask" "press" "tap" "click"
        "browse" "subscribe" "pick" "swap" "enter" "book" "buy" "play" "visit" "learn" "wait" "decide" "understand" "vote"
        "sign" "order" "pay" "edit" "search" "open" "scan" "try")
}

/// Whether token `i` is a word for people.
pub(super) fn is_person(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let c = t.classes[i];
    let word = lexed.word(i);
    // `Recreational divers read them`, `Policy holders see the limit`: a plural that does what only people do.
    const NO_PEOPLE: u64 = class::DATA
        | class::FORMAT
        | class::TECH
        | class::OUTPUT
        | class::TIME_UNIT
        | class::STOP
        | class::THING;
    if word.ends_with("holders") && word != "placeholders" {
        return true;
    }
    if word.len() > 4
        && word.ends_with('s')
        && !word.ends_with("ss")
        && c & NO_PEOPLE == 0
        && is_human_act(lexed.word(i + 1))
    {
        return true;
    }
    // `the harbour master`, `the noise officer`, `the shopkeeper`
    let man = word.len() > 5
        && (word.ends_with("man") || word.ends_with("men"))
        && !any_of!(word, "german" "roman" "human" "specimen" "regimen" "acumen" "abdomen" "ottoman" "talisman");
    if man
        || any_of!(word, "master" "officer" "warden" "keeper" "holder" "commissioner")
        || word.ends_with("keeper")
        || word.ends_with("master") && word != "webmaster"
    {
        // `Foremen see the count`
        return if i == 0 {
            man
        } else {
            !any_of!(lexed.word(i - 1), "to" "on" "from" "place" "in")
        };
    }
    if c & class::THING != 0 {
        // `tells the player`, `Controllers read it in Looker`: a thing or a person, and here it is a person.
        let either = any_of!(word,
            "player" "players" "driver" "drivers" "reader" "readers" "controller" "controllers" "dispatcher" "planner" "conductor"
            "speaker" "viewer" "viewers");
        let told = i >= 2
            && any_of!(lexed.word(i - 1), "the" "a" "each" "every")
            && any_of!(lexed.word(i - 2), "tells" "asks" "warns" "informs" "reminds" "lets" "told");
        let reads =
            is_human_act(lexed.word(i + 1)) && any_of!(lexed.word(i + 2), "it" "them" "this");
        if either && (told || reads) {
            return true;
        }
        // `installers` found through the thing `installer` is a word for people.
        return word.len() > 6 && word.ends_with("ers") && !is_listed(word);
    }
    if c & class::PERSON != 0 {
        return !any_of!(word, "operations" "broker" "brokers" "board" "agent" "agents")
            || is_a_body(t, i);
    }
    if word.len() < 5 || !word.is_ascii() {
        return false;
    }
    // Plurals of agent nouns nobody listed: beekeepers, wholesalers, hydrologists.
    c & !class::DEFER == 0
        && word.len() > 6
        && (word.ends_with("ists")
            || word.ends_with("tors")
            || word.ends_with("yors")
            || word.ends_with("yees")
            || word.ends_with("folk")
            || word.ends_with("folks")
            || word.ends_with("ians")
            || word.ends_with("eers")
            || word.ends_with("ers")
            || word.ends_with("ologist"))
}

/// `the board`, `by operations`: a group of people, not a circuit board or a message broker.
fn is_a_body(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let number = lexed
        .tokens
        .get(i + 1)
        .is_some_and(|n| n.kind == TokenKind::Number);
    let possessed = i > 0 && lexed.word(i - 1).ends_with("'s");
    !number
        && i > 0
        && (possessed
            || any_of!(lexed.word(i - 1), "the" "our" "by" "for" "to" "support" "sales" "insurance" "service" "school" "desk" "call"))
}

/// A program that uses the result: `used by the gate software`, `the storefront calls it`.
pub(super) fn is_consumer(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let word = lexed.word(i);
    let next = lexed.word(i + 1);
    match word {
        "used" | "called" | "consumed" | "scraped" | "polled" | "queried" | "invoked"
        | "imported" | "triggered" | "started" | "run" | "read" | "reads" | "loaded" | "opened" => {
            word == "used" && next == "in" && any_of!(lexed.word(i + 2), "the" "our" "all" "both")
                || matches!(next, "by" | "from")
                    && !any_of!(lexed.word(i + 2), "hand" "cron" "systemd" "default" "a" "disk")
        }
        "call" | "calls" | "use" | "uses" | "query" | "queries" | "poll" | "polls" => {
            any_of!(next, "it" "this" "them")
        }
        // `gives the parking app the number of free spaces`
        "gives" | "feeds" | "serves" | "supplies" | "tells" => {
            matches!(next, "the" | "our" | "their")
                && (i + 2..i + 5).any(|k| {
                    any_of!(lexed.word(k),
                        "app" "apps" "website" "site" "portal" "frontend" "front-end" "shop" "storefront" "software" "program"
                        "client" "clients" "kiosk" "terminal" "terminals")
                })
        }
        "links" | "imports" | "consumes" | "loads" | "embeds" => any_of!(next, "the" "it" "them"),
        "decodes" | "fetches" | "embed" => any_of!(next, "it" "them"),
        // `the support lead gets the count`
        "lead" | "chief" | "crew" => {
            i >= 2
                && any_of!(lexed.word(i - 2), "the" "our" "a")
                && any_of!(next, "gets" "sees" "reads" "opens" "uses" "decides" "approves" "looks" "receives" "checks")
        }
        "we" | "i" => any_of!(next, "use" "run" "read" "call" "open" "see"),
        "caller" | "callers" | "consumer" | "consumers" | "who" | "whoever" | "yourself"
        | "myself" | "ourselves" => true,
        _ => false,
    }
}

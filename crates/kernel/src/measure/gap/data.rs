//! Which data is worked on: fields that are listed, sources that are named, things that are counted.
//!
//! What is delivered says nothing about what goes in: a file or format behind `written to`, `exported as`, `report` is no
//! data. A sentence is read from left to right, and its last cue tells which side it speaks of.

use super::product::is_ambiguous;
use super::signals::is_file_name;
use crate::lexicon::{Tagged, class};
use crate::text::lex::{Lexed, TokenKind};

/// Points from which the data is known.
pub(super) const ENOUGH: u32 = 4;

/// Points from which a document knows what it is about.
pub(super) const ENOUGH_TO_WRITE: u32 = 2;

/// A named source or a list of fields.
const STRONG: u32 = 4;
/// Counted things, a plain list.
const MEDIUM: u32 = 2;
/// Words for data that one text can count.
const WORDS: usize = 2;

/// What the sentence speaks of at a place.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Unsaid,
    Input,
    Output,
}

fn is_output_cue(word: &str) -> bool {
    any_of!(word,
        "output" "outputs" "deliver" "delivers" "delivered" "export" "exports" "exported" "report" "reports" "answers"
        "answered" "response" "responses" "result" "results" "written" "writes" "printed" "prints" "shown" "shows"
        "documentation" "openapi" "swagger" "readme" "logged" "mailed" "artifact" "dashboard" "chart" "charts"
        "rejected" "listed" "produces" "returns" "gets" "card" "docs" "published" "release")
}

fn is_input_cue(word: &str) -> bool {
    any_of!(word,
        "input" "inputs" "source" "sources" "reads" "read" "from" "comes" "come" "arrive" "arrives" "stored" "stores" "loaded"
        "imported" "records" "holds" "has" "have" "contains" "contain" "uses" "fields" "columns" "data" "enter"
        "collects" "schema" "receives" "posted" "send" "sends" "fill" "stays" "stay")
}

/// `Three tabs: overview, comparison, trend`: a list of what is shown.
fn is_view(word: &str) -> bool {
    any_of!(word,
        "tabs" "pages" "views" "roles" "languages" "colours" "colors" "sheets" "steps" "screens" "buttons" "sections" "charts"
        "tones" "levels" "phases" "chapters")
}

/// Words of protocols and screens: they name no data.
fn is_quiet(word: &str) -> bool {
    any_of!(word,
        "request" "requests" "response" "id" "ids" "key" "keys" "endpoint" "endpoints" "url" "urls" "header" "headers" "token"
        "tokens" "title" "titles" "label" "labels" "level" "levels" "flag" "flags" "size" "length" "weight" "speed" "name"
        "names" "path" "paths" "screenshot" "screenshots" "config" "settings" "setting" "hours" "role" "roles" "index" "log"
        "logs" "message" "messages" "section" "sections" "password" "passwords" "backup" "backups" "score" "scores" "value"
        "query" "queries" "map" "maps" "event" "commit" "branch")
}

/// The points of one text.
pub(super) fn read_data(t: &Tagged<'_>) -> u32 {
    let lexed = &t.lexed;
    let mut points = 0;
    let mut words: [u64; WORDS] = [0; WORDS];
    let mut found = 0;
    for &(from, to) in &lexed.sentences {
        let mut side = Side::Unsaid;
        let mut commas = 0;
        let mut fields = false;
        let mut closed = false;
        for i in from..to {
            let token = lexed.tokens[i];
            let word = lexed.word(i);
            // `modules.json exported by the registry`: it comes from somebody else.
            let given = |k: usize| {
                any_of!(lexed.word(k), "exported" "delivered" "published" "written" "mailed")
                    && any_of!(lexed.word(k + 1), "by" "from")
            };
            // `docs/serial.md` is a path.
            if is_output_cue(word) && !given(i) && lexed.raw(i + 1) != "/" {
                side = Side::Output;
            } else if is_input_cue(word) {
                side = Side::Input;
                fields |= any_of!(word, "has" "have" "fields" "columns" "holds" "contains");
            }
            let open = side != Side::Output && (!is_output_cue(lexed.word(i + 1)) || given(i + 1));
            match token.kind {
                TokenKind::Symbol => {
                    let raw = lexed.raw(i);
                    commas += u32::from(raw == ",");
                    fields |= raw == ":" && !(i > from && is_view(lexed.word(i - 1)));
                    // `reads https://api.print.example/v1/orders`
                    let address = raw == ":"
                        && (side == Side::Input
                            || i >= 2
                                && any_of!(lexed.word(i - 2),
                                    "search" "searches" "opens" "calls" "queries" "fetches" "polls" "watches" "checks" "of"))
                        && any_of!(lexed.word(i.saturating_sub(1)), "https" "http" "ftp" "sftp" "wss" "mqtt")
                        && lexed.text[token.end..].starts_with("//");
                    if raw == "/" && open && is_path(t, i) || address {
                        points += STRONG;
                    }
                }
                TokenKind::Number => {
                    let page = (i + 2..i + 5).any(|k| lexed.word(k) == "page");
                    if open && !page && is_counted(t, i) {
                        points += MEDIUM;
                    }
                }
                TokenKind::Word => {
                    let c = t.classes[i];
                    fields |= word == "with" && commas == 0 && !t.is(i + 1, class::TECH);
                    closed |= commas > 0 && word == "and";
                    if open && (is_file_name(lexed, i) || c & class::FORMAT != 0) {
                        points += STRONG;
                    } else if open
                        && (word.contains('_') || is_named_store(t, i) || is_described(lexed, i))
                        || is_source(t, i)
                        || is_gathered(lexed, i)
                    {
                        points += MEDIUM;
                    } else if c & class::DATABASE != 0 && !is_ambiguous(word) {
                        points += 1;
                    } else if c & class::DATA != 0
                        && open
                        && !is_quiet(word)
                        && !any_of!(lexed.word(i + 1), "team" "teams" "desk" "protection")
                        && found < WORDS
                        && !words.contains(&token.key)
                    {
                        words[found] = token.key;
                        found += 1;
                        points += 1;
                    }
                }
            }
        }
        if commas >= 2 {
            points += if fields { STRONG } else { MEDIUM };
        } else if commas == 1 && fields && closed {
            points += MEDIUM;
        }
    }
    // A pattern or a signature says what the values look like.
    let shape = ["^[", "::", "->", "{\""]
        .iter()
        .any(|sign| lexed.text.contains(sign));
    // `parse(line: str) -> Sentence` says what goes in as well.
    let signature = lexed.text.contains(") ->");
    points
        + if signature {
            STRONG
        } else if shape {
            MEDIUM
        } else {
            0
        }
}

/// `table orders`, `the bucket riding-backup`: a store and its name.
fn is_named_store(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    any_of!(lexed.word(i), "table" "view" "bucket" "topic" "collection" "dataset" "project" "realm")
        && lexed.tokens.get(i + 1).is_some_and(|n| {
            // `the table PASS`; not `table Orders` at the start of a title.
            let capitals = lexed.raw(i + 1).bytes().all(|b| b.is_ascii_uppercase());
            n.kind == TokenKind::Word && (!n.upper || capitals)
        })
        && !t.is(i + 1, class::STOP | class::MODAL | class::NEG)
        && !crate::measure::grammar::is_finite(t, i + 1)
}

/// `have a mail ending in @test.example`: what a field holds.
fn is_described(lexed: &Lexed<'_>, i: usize) -> bool {
    any_of!(lexed.word(i), "ending" "starting" "beginning")
        && any_of!(lexed.word(i + 1), "in" "with")
}

/// `come by WebSocket from the ticket system`, `numbers from the Qmatic API`: somebody else's system gives them.
fn is_source(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    lexed.word(i) == "from"
        && (i + 2..i + 5).any(|n| {
            any_of!(lexed.word(n),
                "system" "systems" "api" "interface" "server" "service" "controller" "controllers" "software" "register"
                "registry" "gateway" "backend" "back-end" "feed" "erp" "crm")
        })
}

/// `Measured with Macrobenchmark`: how the data comes about.
fn is_gathered(lexed: &Lexed<'_>, i: usize) -> bool {
    any_of!(lexed.word(i), "measured" "recorded" "sampled" "surveyed" "logged")
        && any_of!(lexed.word(i + 1), "with" "by" "on" "using")
}

/// `/var/tide`, `in site/public`, `from the folder photos/kit-b`.
fn is_path(t: &Tagged<'_>, slash: usize) -> bool {
    let lexed = &t.lexed;
    let name = lexed.tokens.get(slash + 1).is_some_and(|n| {
        !n.spaced && (n.kind == TokenKind::Word || lexed.is_symbol(slash + 1, "*"))
    });
    let rooted = lexed.tokens[slash].spaced || lexed.is_symbol(slash + 1, "*");
    let led = slash >= 2
        && any_of!(lexed.word(slash - 2), "in" "from" "under" "folder" "directory" "of" "file");
    name && (rooted || led)
}

/// `2,600 games`, `18,400 labelled images`, `90 TB`: a number of things that somebody has.
fn is_counted(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    if t.is(i + 1, class::DATA | class::SIZE_UNIT) || t.is(i + 2, class::DATA) {
        return true;
    }
    // `30 runs each`, `12 interviews`: what is gathered for the question.
    let gathered = any_of!(lexed.word(i + 1), "runs" "measurements" "trials" "samples" "interviews" "recordings" "sessions"
        "readings" "repetitions" "participants" "respondents" "observations" "responses");
    if gathered {
        return true;
    }
    // A large number before a plural.
    let raw = lexed.raw(i);
    let large = raw.len() >= 3 && !raw.contains('.') && !raw.contains(':');
    let plural = lexed.word(i + 1);
    large
        && plural.len() > 3
        && plural.ends_with('s')
        && !t.is(
            i + 1,
            class::TIME_UNIT | class::SIZE_UNIT | class::OTHER_UNIT | class::CURRENCY | class::STOP,
        )
}

//! A value that is put off: `we do not have the number yet`, `to be measured in June`, `(attachment missing)`.
//!
//! Clauses (between commas, brackets, dashes, colons and sentence ends) are looked at, each by the rules of `RULES`; one
//! that holds is enough. What a program does under a condition, and a description of things (`a file still being written
//! is left alone`), is no gap of its author.

use super::finding;
use crate::lexicon::{Tagged, class};
use crate::measure::grammar::{describes_noun, has_finite};
use crate::measure::{Finding, Source};
use crate::text::lex::TokenKind;

/// Longest clause that is looked at, in words: people put things off in few words.
const LONGEST: usize = 18;

/// A clause and what is often asked about it.
struct Clause<'s> {
    t: &'s Tagged<'s>,
    from: usize,
    to: usize,
    /// It has a word for something that can be filled in.
    value: bool,
    /// The author speaks of themselves.
    us: bool,
    denied: bool,
    yet: bool,
    later: bool,
    person: bool,
    /// Opened by a round bracket.
    bracketed: bool,
    /// Behind a label: a colon, an equals sign, a dash or an opening bracket.
    labelled: bool,
    /// The sentence ends with it.
    last: bool,
}

/// Each rule says that the clause puts a value off.
const RULES: &[fn(&Clause<'_>) -> bool] = &[
    not_there,
    still_needed,
    not_settled,
    not_now,
    state_of_value,
    pending_from,
    with_somebody,
    passive_later,
    passive_by_somebody,
    given_later,
    elsewhere,
    promised,
    asked_of_reader,
    when_we_know,
];

/// Adds the clauses that put a value off.
pub(super) fn find_deferrals(source: &Source<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    if t.seen & class::DEFER == 0 {
        return;
    }
    let lexed = &t.lexed;
    for &(from, to) in &lexed.sentences {
        let mut start = from;
        let mut triggered = false;
        for i in from..=to {
            let cut = i == to
                || lexed.tokens[i].kind == TokenKind::Symbol
                    && !lexed.tokens[i].quoted
                    && (any_of!(lexed.raw(i), "," "(" ")" ":" "." ";" "!" "\n" "=")
                        || any_of!(lexed.raw(i), "-" "–" "—" "--") && lexed.tokens[i].spaced);
            if !cut {
                triggered |= t.classes[i] & class::DEFER != 0;
                continue;
            }
            if triggered && puts_off(t, (from, to), (start, i)) {
                let (mut a, mut b) = lexed.span((start, i));
                // A clause in brackets is quoted with them.
                if start > from && lexed.raw(start - 1) == "(" && i < to && lexed.raw(i) == ")" {
                    (a, b) = (lexed.tokens[start - 1].start, lexed.tokens[i].end);
                }
                out.push(finding(source, a, b, start));
            }
            start = i + 1;
            triggered = false;
        }
    }
}

fn puts_off(t: &Tagged<'_>, sentence: (usize, usize), (from, to): (usize, usize)) -> bool {
    let lexed = &t.lexed;
    if to - from > LONGEST || (from..to).any(|i| lexed.tokens[i].quoted) {
        return false;
    }
    let opener = if from > sentence.0 {
        lexed.raw(from - 1)
    } else {
        ""
    };
    let mut c = Clause {
        t,
        from,
        to,
        value: t.any((from, to), class::BLANK),
        us: false,
        denied: false,
        yet: false,
        later: false,
        person: t.any((from, to), class::PERSON),
        bracketed: opener == "(",
        labelled: any_of!(opener, ":" "=" "(" "-" "–" "—"),
        last: to >= sentence.1 || any_of!(lexed.raw(to), "." ";" "\n"),
    };
    let mut relative = false;
    for i in from..to {
        let next = lexed.word(i + 1);
        match lexed.word(i) {
            "one" | "it" | "this" | "rest" | "details" | "version" | "attachment" | "figure"
            | "figures" | "n" | "x" | "it's" => c.value = true,
            "we" | "i" | "us" => c.us = true,
            "nobody" => (c.us, c.denied) = (true, true),
            "not" | "no" | "n't" | "haven't" | "hasn't" | "isn't" | "aren't" | "don't"
            | "doesn't" => c.denied = true,
            "yet" | "still" => c.yet = true,
            "so" if next == "far" => c.yet = true,
            "for" if next == "now" => c.yet = true,
            "at" if next == "the" && lexed.word(i + 2) == "moment" => c.yet = true,
            // `Which of the columns are obligatory has not been settled`: an open question as the subject.
            "which" | "who" | "whose" | "without" => relative |= i > from,
            "that" => relative |= any_of!(next, "have" "has" "are" "is" "was" "were" "do" "does"),
            _ => {}
        }
        c.later |= is_later(t, i);
    }
    if relative || !RULES.iter().any(|rule| rule(&c)) {
        return false;
    }
    // What a program does under a condition.
    let conditional = (sentence.0..to).any(|i| {
        any_of!(lexed.word(i), "if" "when" "whenever" "unless" "while" "until")
            && !any_of!(lexed.word(i + 1), "we" "i")
    });
    if conditional && !c.bracketed && !c.has(|w| any_of!(w, "n" "x")) {
        return false;
    }
    // `What the customer has not decided yet is asked again`
    if any_of!(lexed.word(from), "what" "whatever" "whoever" "whichever")
        && lexed.word(to - 1) != "yet"
        && (from..to).any(|i| lexed.word(i) == "yet" && has_finite(t, (i + 1, to)))
    {
        return false;
    }
    // A description of the noun before it.
    let cue = (from..to).find(|&i| any_of!(lexed.word(i), "still" "not" "pending" "awaiting" "waiting" "to" "missing" "outstanding"));
    let end = |cue: usize| {
        // `stock list to come from the depot`: the words are the statement.
        let verb = any_of!(lexed.word(cue + 1), "come" "follow" "arrive");
        cue + 1 + usize::from(verb)
    };
    !cue.is_some_and(|cue| !c.us && !c.labelled && cue > from && describes_noun(t, cue, end(cue)))
}

impl<'s> Clause<'s> {
    fn word(&self, i: usize) -> &'s str {
        self.t.lexed.word(i)
    }

    fn len(&self) -> usize {
        self.to - self.from
    }

    fn has(&self, is: impl Fn(&str) -> bool) -> bool {
        (self.from..self.to).any(|i| is(self.word(i)))
    }

    fn any(&self, at: impl Fn(usize) -> bool) -> bool {
        (self.from..self.to).any(at)
    }

    /// `to be measured`, `will be sent`.
    fn passive(&self) -> Option<usize> {
        (self.from..self.to).find(|&i| {
            let act = self.word(i + 2);
            any_of!(self.word(i), "to" "will" "shall")
                && self.word(i + 1) == "be"
                && (act.ends_with("ed")
                    || self.t.is(i + 2, class::UNSETTLED)
                    || any_of!(act, "found" "told" "sent" "added" "done" "drawn"))
        })
    }
}

/// Words that put an act into the future of the project.
fn is_later(t: &Tagged<'_>, i: usize) -> bool {
    let lexed = &t.lexed;
    let next = lexed.word(i + 1);
    match lexed.word(i) {
        // `7 days later than the due date`: counted from an event.
        "later" if next == "than" || i > 0 && t.is(i - 1, class::TIME_UNIT) => false,
        "later" | "soon" | "tomorrow" | "shortly" | "separately" | "eventually" => true,
        "next" => any_of!(next,
            "week" "month" "year" "monday" "tuesday" "wednesday" "thursday" "friday" "quarter" "spring" "summer" "autumn"
            "winter" "meeting" "sprint"),
        "in" | "by" | "until" | "after" | "mid" | "end" | "early" | "late" => {
            let second = lexed.word(i + 2);
            is_month(next)
                || is_month(second)
                || any_of!(second, "meeting" "vote" "audit" "kick-off" "workshop" "tender" "board" "review")
        }
        _ => false,
    }
}

fn is_month(word: &str) -> bool {
    any_of!(word,
        "january" "february" "march" "april" "june" "july" "august" "september" "october" "november" "december" "spring"
        "autumn")
}

/// `we do not have it`, `has not told us yet`, `(not received)`.
fn not_there(c: &Clause<'_>) -> bool {
    // `a document we have yet to receive`
    if c.us && c.any(|i| c.word(i) == "yet" && c.word(i + 1) == "to" && any_of!(c.word(i + 2), "receive" "get" "hear" "agree" "define" "measure" "learn" "find")) {
        return true;
    }
    if !c.denied {
        return false;
    }
    let had = c.has(
        |w| any_of!(w, "have" "had" "know" "received" "got" "exist" "exists" "haven't" "hasn't"),
    );
    let told = c.us
        && c.yet
        && c.has(|w| any_of!(w, "told" "sent" "given" "said" "answered" "replied" "named" "shown"));
    let here = c.bracketed
        && c.len() <= 6
        && c.has(|w| any_of!(w, "available" "attached" "received" "here" "enclosed" "included"));
    had && (c.us || c.yet || c.bracketed && c.value) || told || here
}

/// `we still need the amount from accounting`
fn still_needed(c: &Clause<'_>) -> bool {
    c.us && c.yet && c.value && c.has(|w| any_of!(w, "need" "lack" "miss" "await" "want"))
}

/// `has not been agreed`, `not decided` as the end of a clause about a value.
fn not_settled(c: &Clause<'_>) -> bool {
    if !c.denied {
        return false;
    }
    // `nobody writes there any more` is no gap.
    let unsettled = c.any(|i| {
        c.t.is(i, class::UNSETTLED)
            && (c.word(i) != "there"
                || i > c.from && any_of!(c.word(i - 1), "not" "yet" "is" "are"))
    });
    let ends = (c.value || c.labelled)
        && c.to >= c.from + 2
        && c.word(c.to - 2) == "not"
        && any_of!(c.word(c.to - 1),
            "known" "decided" "defined" "agreed" "fixed" "clear" "specified" "settled" "chosen" "final" "finalised"
            "finalized" "named");
    // `How many levels are shown has not been settled`
    let asked = any_of!(c.word(c.from), "how" "which" "who" "what" "whether" "when" "where");
    unsettled && (c.yet || c.us || (c.value || asked) && c.has(|w| w == "been")) || ends
}

/// `not yet`, `n/a yet`.
fn not_now(c: &Clause<'_>) -> bool {
    c.word(c.to - 1) == "yet"
        && c.len() <= 5
        && (c.denied || c.has(|w| any_of!(w, "n" "n/a" "na" "none")))
        || (c.yet || c.later) && c.any(|i| c.word(i) == "n" && c.t.lexed.raw(i + 1) == "/")
}

/// `Budget: pending`, `(attachment missing)`, `the list is missing`.
fn state_of_value(c: &Clause<'_>) -> bool {
    let end = c.to - 1;
    // `codes ??? (door sensor unclear)`: a bracket behind a sign explains it.
    if c.bracketed && c.from >= 2 && c.t.lexed.tokens[c.from - 2].kind == TokenKind::Symbol {
        return false;
    }
    // `?state=pending`
    if c.from > 0
        && c.t.lexed.raw(c.from - 1) == "="
        && !c.t.lexed.tokens[c.from].spaced
        && !c.t.lexed.tokens[c.from - 1].spaced
    {
        return false;
    }
    let state = any_of!(c.word(end), "missing" "pending" "outstanding" "unknown" "undecided" "open" "unclear");
    let short = c.labelled
        && c.len() <= 4
        && c.t.lexed.raw(c.to) != ","
        && (c.value || c.bracketed || c.len() == 1)
        && !(c.t.lexed.tokens[end].upper && c.len() > 1);
    let missing = c.value
        && c.last
        && c.word(end) == "missing"
        && any_of!(c.word(end.saturating_sub(1)), "is" "are" "still");
    // `The maximum number of loans is open`, `…, which is outstanding`, `…, model unknown`.
    let opener = if c.from > 0 {
        c.t.lexed.raw(c.from - 1)
    } else {
        ""
    };
    let states = c.last
        && c.len() >= 3
        && any_of!(c.word(end - 1), "is" "are" "remains" "remain")
        && (c.word(c.from) == "which" || c.any(|i| is_strong_value(c.word(i))));
    let aside =
        c.last && opener == "," && c.len() <= 3 && c.len() >= 2 && is_strong_value(c.word(c.from));
    // `Rate limit: decision outstanding`
    let answer = c.labelled
        && c.len() <= 3
        && c.has(|w| any_of!(w, "decision" "answer" "approval" "confirmation" "reply" "quote" "offer" "feedback" "contract"));
    state && (short || states || aside || answer) || missing
}

/// What is left open in so many words is a value of one of these.
fn is_strong_value(word: &str) -> bool {
    any_of!(word, "number" "limit" "amount" "price" "prices" "fee" "fees" "budget" "deadline" "date" "name" "rate" "threshold" "size"
        "duration" "period" "address" "wording" "owner" "location" "version" "model" "supplier" "vendor" "quantity" "capacity"
        "maximum" "minimum" "interval" "retention" "scope" "layout" "colour" "title" "currency" "contact" "percentage" "length"
        "width" "height" "weight" "tolerance" "value" "values" "figures" "logo" "encoding" "port" "host" "domain" "salary" "tariff" "discount" "quota" "frequency")
}

/// `pending from the client`, `still awaiting the answer`, `pending a decision by the board`.
fn pending_from(c: &Clause<'_>) -> bool {
    if c.us && c.has(|w| any_of!(w, "waiting" "await" "awaiting")) {
        return true;
    }
    let waits = c.any(|i| match c.word(i) {
        // `active, paused or waiting for approval` are states.
        "pending" | "waiting" | "outstanding" => {
            !(i > c.from && any_of!(c.word(i - 1), "or" "and"))
                && any_of!(c.word(i + 1), "from" "for" "on" "with" "at" "until" "a" "an" "the")
        }
        "awaiting" => true,
        _ => false,
    });
    waits
        && (c.labelled
            || c.yet
            || c.value && c.person
            || c.value && has_finite(c.t, (c.from, c.to)))
}

/// `is still with legal`, `still being negotiated`, `that is up to the officer and not known`.
fn with_somebody(c: &Clause<'_>) -> bool {
    let still = c.any(|i| {
        let next = c.word(i + 1);
        c.word(i) == "still"
            && (any_of!(next, "with" "being" "to")
                || any_of!(next, "at" "in" "under" "negotiating" "looking" "waiting" "needs" "has")
                    && any_of!(c.word(i.saturating_sub(1)), "is" "are" "we" "this" "be" "being"))
    });
    // `recovery time still under discussion`; alternatives make it a choice.
    let discussed = c.value
        && c.any(|i| {
            c.word(i) == "still"
                && c.word(i + 1) == "under"
                && any_of!(c.word(i + 2), "discussion" "negotiation" "review" "clarification" "consideration")
        })
        && !c.has(|w| any_of!(w, "or" "vs" "versus"));
    let left = (c.yet || c.denied)
        && c.any(|i| {
            any_of!(c.word(i), "up" "left")
                && c.word(i + 1) == "to"
                && (i + 3..i + 6).any(|k| c.t.is(k, class::PERSON))
        });
    // `the final value is with the acoustics group`
    let held = c.has(|w| any_of!(w, "final" "exact" "real" "actual" "correct"))
        && c.any(|i| {
            any_of!(c.word(i), "is" "are" "lies" "sits")
                && any_of!(c.word(i + 1), "with" "at")
                && c.word(i + 2) == "the"
        });
    still && (c.person || c.value) || discussed || left || held
}

/// `to be measured in June`, `n to be fixed later`, `(logo to follow)`.
fn passive_later(c: &Clause<'_>) -> bool {
    let passive = c.passive().is_some();
    let short = c.bracketed
        && c.len() <= 5
        && c.value
        && c.has(|w| w == "to")
        && c.has(|w| any_of!(w, "be" "follow" "come" "add" "check" "confirm" "insert" "replace"));
    let follows = (c.labelled || c.value)
        && c.any(|i| {
            c.word(i) == "to"
                && any_of!(c.word(i + 1), "come" "follow" "arrive")
                && any_of!(c.word(i + 2), "from" "by" "with" "in" "next" "later" "soon" "")
        });
    passive && c.later && (c.value || c.labelled || c.word(c.from) == "to") || short || follows
}

/// `Allergens: list to be handed in by the kitchen`: no other verb, behind a label, and somebody is to do it.
fn passive_by_somebody(c: &Clause<'_>) -> bool {
    let Some(at) = c.passive().filter(|&at| c.word(at) == "to") else {
        return false;
    };
    let by = (at + 3..c.to).find(|&i| c.word(i) == "by");
    c.labelled
        && c.value
        && by.is_some_and(|by| !c.word(by + 1).ends_with("ing"))
        && !has_finite(c.t, (c.from, at))
}

/// `the office names it next week`, `the real one follows later`, `exact wording comes from marketing`.
fn given_later(c: &Clause<'_>) -> bool {
    let gives = c.later && c.any(|i| c.t.is(i, class::GIVING));
    let final_one = c.has(|w| any_of!(w, "exact" "final" "real" "actual" "correct"));
    let comes =
        final_one && c.any(|i| any_of!(c.word(i), "comes" "come") && c.word(i + 1) == "from");
    let expected =
        c.value && c.later && c.has(|w| any_of!(w, "expected" "due" "announced" "promised"));
    let follows = c.any(|i| {
        any_of!(c.word(i), "follows" "follow")
            && any_of!(c.word(i + 1), "from" "later" "soon" "by" "next" "in" "shortly")
    }) && (final_one || c.has(|w| any_of!(w, "one" "details" "rest")));
    // `Terms: text follows`
    let announced =
        c.labelled && c.len() <= 3 && any_of!(c.word(c.to - 1), "follows" "follow") && c.value;
    // `Details follow`
    let announced = announced
        || c.last
            && c.len() == 2
            && c.word(c.to - 1) == "follow"
            && any_of!(c.word(c.from), "details" "figures" "names" "numbers" "values" "dates" "texts" "addresses" "specifications" "limits")
        // `gets added later by the lawyer`
        || c.any(|i| {
            c.word(i).ends_with("ed")
                && any_of!(c.word(i + 1), "later" "afterwards")
                && c.word(i + 2) == "by"
                && (i + 3..c.to).any(|k| c.t.is(k, class::PERSON))
        });
    // `Threshold value follows`, `list coming from customer care`, `placeholder.png until marketing delivers`
    let announced = announced
        || c.last
            && c.len() <= 5
            && c.len() >= 2
            && c.word(c.to - 1) == "follows"
            && is_value_noun(c, c.to - 2)
        || c.labelled
            && c.any(|i| {
                c.word(i) == "coming" && any_of!(c.word(i + 1), "from" "soon" "later" "next")
            })
        || c.labelled
            && c.t.is(c.to - 1, class::GIVING)
            && c.any(|i| {
                c.word(i) == "until" && i + 4 >= c.to && c.t.is(i + 1, class::PERSON | class::STOP)
            });
    announced
        || gives && (c.person || c.value) && (c.value || c.labelled || c.has(|w| w == "more"))
        || comes
        || expected
        || follows
}

fn is_value_noun(c: &Clause<'_>, i: usize) -> bool {
    c.t.is(i, class::BLANK) || is_strong_value(c.word(i))
}

/// `the file Jonas is going to send`, `the list that sales promised to give us`.
fn promised(c: &Clause<'_>) -> bool {
    // `the schema that IT will provide`
    let will = c.to >= c.from + 4
        && c.word(c.to - 2) == "will"
        && c.last
        && any_of!(c.word(c.to - 1), "provide" "supply" "deliver" "send" "define" "name" "choose" "specify")
        && (c.t.is(c.to - 3, class::PERSON)
            || c.word(c.to - 3) == "we"
            || c.t.lexed.raw(c.to - 3) == "IT");
    if will {
        return true;
    }
    c.any(|i| {
        any_of!(c.word(i), "going" "wants" "promised" "meant" "supposed")
            && c.word(i + 1) == "to"
            && any_of!(c.word(i + 2), "send" "give" "provide" "name" "tell" "share" "deliver" "upload" "forward" "write" "issue" "buy" "order" "choose" "decide" "announce" "pick")
    })
}

/// `see the e-mail from Petra`, `values from the attachment`: said somewhere that is not here.
fn elsewhere(c: &Clause<'_>) -> bool {
    let mail = c.labelled
        && c.len() <= 9
        && any_of!(c.word(c.from), "see" "as" "from" "like" "per" "same")
        && c.has(|w| {
            any_of!(w, "mail" "e-mail" "email" "attachment" "chat" "minutes" "meeting" "phone" "call" "appendix")
        });
    // `Port: see the other document`
    let other = c.labelled
        && c.len() <= 6
        && any_of!(c.word(c.from), "see" "as" "from" "per" "in")
        && c.any(|i| {
            any_of!(c.word(i), "other" "separate" "second" "old" "previous" "internal")
                && any_of!(c.word(i + 1),
                    "document" "doc" "file" "sheet" "list" "paper" "specification" "spec" "page" "contract" "offer" "order")
        });
    // `the link in our last e-mail`
    let ours = c.any(|i| {
        any_of!(c.word(i), "our" "your" "last" "latest" "yesterday's" "monday's")
            && i > c.from
            && any_of!(c.word(i - 1), "in" "from" "per" "our" "by")
            && (i + 1..i + 3).any(|k| {
                any_of!(c.word(k), "mail" "e-mail" "email" "chat" "call" "meeting" "conversation")
                    && (k + 1 >= c.to || any_of!(c.word(k + 1), "with" "about" "of" "on" "from"))
            })
    });
    ours || mail
        || other
        || c.any(|i| {
            any_of!(c.word(i), "from" "in" "see")
                && c.word(i + 1) == "the"
                && any_of!(c.word(i + 2), "attachment" "attached" "enclosure")
        })
}

/// `(please confirm)`, `(replace)`, `(guess)`.
fn asked_of_reader(c: &Clause<'_>) -> bool {
    c.bracketed
        && match c.word(c.from) {
            "please" => c.len() <= 5,
            // `(replace with the real host)`
            "replace" | "change" | "swap" if any_of!(c.word(c.from + 1), "with" "by" "this" "for") => {
                c.len() <= 8
            }
            "replace" | "insert" | "placeholder" | "dummy" | "example" | "guess" | "guessed"
            | "provisional" => c.len() <= 3,
            _ => false,
        }
}

/// `as soon as we know`, `once we have it`.
fn when_we_know(c: &Clause<'_>) -> bool {
    c.any(|i| {
        let we =
            any_of!(c.word(i + 1), "we" "i") && any_of!(c.word(i + 2), "know" "have" "get" "hear");
        any_of!(c.word(i), "once" "when" "until") && we
            || c.word(i) == "soon" && c.word(i + 1) == "as" && any_of!(c.word(i + 2), "we" "i")
    })
}

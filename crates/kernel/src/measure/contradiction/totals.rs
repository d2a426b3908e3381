//! Sums, products and parts: `at most 12 pages` against `each of the eight groups gets two pages`.
//!
//! Two amounts of one unit (`amounts`) exclude each other where one is a cap or a floor and the other, times how often it
//! is meant and in the same span of time, is beyond it. What they measure must be one thing: a shared telling word, a
//! whole (`in total`, `the whole project`) and a part of it, a sentence that goes on with `it` or `its`, or the thing
//! counted itself. It does not know what things weigh or cost.

use super::super::Source;
use super::acts::compound;
use super::amounts::{Amount, Unit};
use super::quantity::Bound;
use super::relation::common;
use super::statement::Statement;
use super::units::seconds;
use super::{CANDIDATES, Pairs};
use crate::lexicon::class;
use crate::text::lex::fnv;

const TOPIC: &str = "numbers that exclude each other";

/// Finds amounts that cannot both hold.
pub(super) fn find(
    sources: &[Source<'_>],
    statements: &[Statement],
    amounts: &[Amount],
    pairs: &mut Pairs<'_, '_>,
) {
    let mut all = amounts.to_vec();
    if all.len() < 2 {
        return;
    }
    all.sort_by_key(|a| (a.unit, a.statement, a.at));
    for (n, a) in all.iter().enumerate() {
        let rest = all[n + 1..].iter().take_while(|b| b.unit == a.unit);
        for b in rest.take(CANDIDATES) {
            let (i, j) = (a.statement as usize, b.statement as usize);
            let (s, o) = (&statements[i], &statements[j]);
            if s.source == o.source || pairs.has(i, j) {
                continue;
            }
            let side = |st: &'_ Statement| &sources[st.source];
            if exceeds((side(s), s, a), (side(o), o, b))
                || exceeds((side(o), o, b), (side(s), s, a))
                || of_age((side(s), s, a), (side(o), o, b))
            {
                pairs.add(i, j, TOPIC);
            }
        }
    }
}

type Side<'a, 'b> = (&'a Source<'b>, &'a Statement, &'a Amount);

/// `a` is a cap or a floor, and `b` lies beyond it.
fn exceeds((sa, s, a): Side<'_, '_>, (sb, o, b): Side<'_, '_>) -> bool {
    if a.unit == Unit::Age || a.times > 1.0 || s.conditional || o.negative && b.times <= 1.0 {
        return false;
    }
    // `on the first Monday of each month it is off for two hours`
    let per = if a.per > 0.0 && b.per == 0.0 && is_down(sb, o) {
        (o.range.0..o.range.1)
            .filter(|&k| any_of!(sb.tagged.lexed.word(k), "each" "every" "a" "per"))
            .find_map(|k| seconds(sb.tagged.lexed.word(k + 1)))
            .unwrap_or(0.0)
    } else {
        b.per
    };
    // `a lesson`, `three lessons of 40 minutes`: the cap is that of one of them.
    let times = if s.head == Some(b.counted) {
        1.0
    } else {
        b.times
    };
    let b = &Amount { per, times, ..*b };
    let (cap, least, most) = match (a.per > 0.0, b.per > 0.0) {
        (true, true) => (
            a.low / a.per,
            b.low * b.times / b.per,
            b.high * b.times / b.per,
        ),
        (false, false) => (a.low, b.low * b.times, b.high * b.times),
        _ => return false,
    };
    let product = b.times > 1.0;
    let over = match a.bound {
        Bound::Upper => {
            matches!(b.bound, Bound::Value | Bound::Takes | Bound::Lower) && least > cap * 1.001
        }
        Bound::Lower => {
            matches!(b.bound, Bound::Value | Bound::Takes | Bound::Upper)
                && most < cap * 0.999
                && !product
        }
        // `consists of 20 questions`, `five rounds of six questions`
        Bound::Value | Bound::Exact => {
            product && b.bound == Bound::Value && (least - cap).abs() > 0.001 * cap
        }
        Bound::Takes => false,
    };
    over && one_thing((sa, s, a), (sb, o, b))
}

/// Both amounts measure one thing, or a whole and a part of it.
fn one_thing((sa, s, a): Side<'_, '_>, (sb, o, b): Side<'_, '_>) -> bool {
    let own = own_keys(sa, a, sb, b);
    let differ = |x: &[u64], y: &[u64]| !x.is_empty() && !y.is_empty() && common(x, y) == 0;
    if differ(&s.scopes, &o.scopes)
        || differ(&s.labels, &o.labels)
        || differ(&s.heading, &o.heading)
        || s.complement
        || o.complement
        || o.past
    {
        return false;
    }
    let weight = s.shared_weight(o, &own);
    let whole = says_whole(sa, s);
    let counts = matches!(a.unit, Unit::Things(_));
    let goes_on = refers_back(sb, o);
    // `the description of duties alone`
    let alone = (o.range.0..b.at).any(|k| sb.tagged.lexed.word(k) == "alone");
    if alone && a.bound == Bound::Upper && (whole || !counts) {
        return true;
    }
    if b.times > 1.0 {
        let extensive = counts || a.unit == Unit::Known("page") || a.unit == Unit::Known("word");
        return match a.bound {
            Bound::Upper => weight >= 2 || extensive || goes_on || whole || lasts(sa, s),
            _ => s.same_subject(o) || weight >= 2 && goes_on,
        };
    }
    // A cost that a relative clause gives is no case: `a modem that costs 38 euros`.
    if o.conditional && !s.emphatic && !(o.limited && o.condition.is_empty()) {
        return false;
    }
    if a.unit == Unit::Things(fnv("people")) && a.bound == Bound::Upper {
        return holds(sa, s) && sells(sb, o);
    }
    let money = matches!(a.unit, Unit::Known("euro" | "usd" | "gbp" | "chf"));
    if money && a.bound == Bound::Upper {
        return spends(sa, s) && spends(sb, o) && !is_paid(sb, o) && !is_paid(sa, s)
            || whole && weight >= 2 && !s.apart(o);
    }
    if a.unit == Unit::Bytes
        && a.bound == Bound::Upper
        && s.phrase.len() <= 1
        && carries(sa, s)
        && carries(sb, o)
    {
        return !s.apart(o);
    }
    // A part of the image, or another user of the same memory.
    if a.unit == Unit::Bytes
        && a.bound == Bound::Upper
        && matches!(b.bound, Bound::Value | Bound::Takes)
        && weight >= 2
    {
        // `upload of photos is limited to 4 MB`, `photos have 12 MB`
        let of = s.owned && o.head.is_some_and(|h| s.of.contains(&h));
        return of && !s.apart_in_people(o) || !s.apart(o);
    }
    // `a stage of the pipeline runs for 25 minutes`
    let lasting =
        (b.at.saturating_sub(3).max(o.range.0)..b.at).any(|k| sb.tagged.lexed.word(k) == "for");
    if a.unit == Unit::Time && a.bound == Bound::Upper && lasting && lasts(sa, s) {
        let named = !o.conditional && s.head.is_some_and(|h| o.content.binary_search(&h).is_ok());
        return named && !s.same_subject(o) && (weight >= 4 || s.content.len() <= 6);
    }
    let rare = matches!(a.unit, Unit::Known(_))
        && !matches!(
            a.unit,
            Unit::Known("percent" | "m" | "page" | "word" | "character")
        );
    let typed = |st: &Statement, src: &Source<'_>| {
        (st.range.0..st.range.1)
            .any(|k| any_of!(src.tagged.lexed.word(k), "text" "font" "letters" "type" "lettering"))
    };
    // No text at all may be smaller.
    let general = a.unit == Unit::Known("pt") && s.emphatic && s.phrase.len() <= 1 && typed(s, sa);
    general
        || rare && s.emphatic && goes_on
        || whole && goes_on && a.bound == Bound::Upper && rare
        || a.per > 0.0 && weight >= 2 && !s.apart(o)
        || a.per > 0.0 && is_down(sa, s) && is_down(sb, o)
        || !s.apart(o) && weight >= 2 && {
            let joined = a.at == a.unit_at || b.at == b.unit_at;
            let lexed = &sb.tagged.lexed;
            let after = lexed.word(b.unit_at + 1) == "after";
            // `empty after six hours`
            let ends = b.bound == Bound::Upper && lexed.word(b.at.wrapping_sub(1)) == "after";
            let late = (s.range.0..s.range.1).any(|k| {
                any_of!(sa.tagged.lexed.word(k), "delayed" "delay" "late" "lag" "latency" "behind")
            });
            let one_act = (late || s.act.is_some() && s.act == o.act) && !compound(s, o);
            joined && !s.foreign(o)
                || b.low < b.high
                || a.unit == Unit::Time && s.same_subject(o) && after && one_act
                || a.bound == Bound::Lower && ends
        }
}

/// Keys of the units and of words that only say how much: no part of what is measured.
fn own_keys(sa: &Source<'_>, a: &Amount, sb: &Source<'_>, b: &Amount) -> Vec<u64> {
    let key = |source: &Source<'_>, at: usize| {
        source
            .tagged
            .lexed
            .tokens
            .get(at)
            .map_or(0, |t| super::synonym::canonical(t.key))
    };
    vec![
        key(sa, a.at),
        key(sa, a.unit_at),
        key(sb, b.at),
        key(sb, b.unit_at),
    ]
}

/// `in total`, `the whole project`, `altogether`.
fn says_whole(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "whole" "total" "altogether" "overall" "entire" "together" "combined" "budget" "sum" "complete")
            || lexed.word(k) == "in" && lexed.word(k + 1) == "all"
    })
}

/// `the game is over after`, `lasts`: the time of something as a whole.
fn lasts(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1)
        .any(|k| any_of!(lexed.word(k), "over" "last" "lasts" "ends" "finished" "takes" "long" "duration" "length"))
}

/// The sentence goes on about what was named before: `It has …`, `Its two servos …`.
fn refers_back(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.finite.map_or(s.range.0 + 1, |v| v + 1).min(s.range.1))
        .any(|k| any_of!(lexed.word(k), "it" "its" "they" "their"))
}

/// Files that are handed in.
fn carries(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "attachment" "attachments" "upload" "uploads" "uploaded" "attached" "file" "files" "scans" "scan")
    })
}

/// A room or a vehicle with so many places.
fn holds(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "holds" "hold" "seats" "capacity" "room" "space" "accommodates" "fits" "fit" "hall" "licence" "license" "limited" "course"
            "allowed" "admitted" "permitted" "approved")
    })
}

/// Places that are sold or given away.
fn sells(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "sale" "sold" "sell" "sells" "booked" "book" "bookable" "bookings" "offered" "invited" "admitted" "registered" "accepted"
            "tickets" "expected" "places" "enrolled" "registrations")
    })
}

/// What is spent on something.
fn spends(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "cost" "costs" "costing" "budget" "spend" "spent" "order" "buy" "bought" "purchase" "licence" "license" "rent"
            "hire" "hosting" "subscription" "expenses" "spending" "reserved" "instance" "server" "hardware" "expenditure" "bill" "project")
    })
}

/// What customers or members pay is no cost.
fn is_paid(source: &Source<'_>, s: &Statement) -> bool {
    let t = &source.tagged;
    (s.range.0..s.range.1).any(|k| {
        any_of!(t.lexed.word(k), "pay" "pays" "paid" "fee" "fees" "ticket" "tickets" "donation" "donations" "refund" "refunds" "voucher" "vouchers"
            "deposit" "fine" "fines" "discount" "booking" "orders" "basket" "invoice" "invoices")
            || t.is(k, class::PERSON) && any_of!(t.lexed.word(k), "customers" "customer" "members" "guests" "visitors" "pupils" "students" "parents")
    })
}

/// Not there for its users.
fn is_down(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "downtime" "outage" "outages" "unavailability" "interruption" "interruptions" "off" "down" "unavailable" "offline" "unreachable" "interrupted")
    })
}

/// `aged 16 and over` against `from the age of 12`.
fn of_age((sa, s, a): Side<'_, '_>, (sb, o, b): Side<'_, '_>) -> bool {
    if a.unit != Unit::Age || s.conditional || o.conditional || s.negative != o.negative {
        return false;
    }
    let apart = match (a.bound, b.bound) {
        (Bound::Lower, Bound::Lower) => (a.low - b.low).abs() > 0.5,
        (Bound::Lower, _) => b.high < a.low,
        (_, Bound::Lower) => a.high < b.low,
        _ => false,
    };
    let own = own_keys(sa, a, sb, b);
    apart && (s.shared_weight(o, &own) >= 2 || joins(sa, s) && joins(sb, o))
}

/// Signs up, takes part, is let in.
fn joins(source: &Source<'_>, s: &Statement) -> bool {
    let lexed = &source.tagged.lexed;
    (s.range.0..s.range.1).any(|k| {
        any_of!(lexed.word(k), "sign" "register" "registration" "join" "enrol" "enroll" "apply" "participate" "part" "account" "enter" "admitted"
            "admission" "attend" "book" "play" "registered" "accepted" "allowed" "membership" "entry" "entrance" "ticket" "welcome")
    })
}

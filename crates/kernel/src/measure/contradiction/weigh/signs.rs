//! The signs of two statements: what a careful reader would look at before asking whether they can both hold.
//!
//! A sign is there or not; none of them decides. What each is worth stands in `points`.

use super::super::relation::common as words_in_common;
use super::super::statement::Statement;
use super::Sides;

macro_rules! signs {
    ($($sign:ident $text:literal,)+) => {
        /// A sign of a pair.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sign { $($sign),+ }

        /// What each sign says, in the order of [`Sign`].
        pub(crate) const SIGNS: &[&str] = &[$($text),+];
    };
}

signs! {
    Always "(of every pair)",
    Cover0 "the shorter has under 15 % of its weight in common with the other",
    Cover15 "15 to 29 %",
    Cover30 "30 to 44 %",
    Cover45 "45 to 59 %",
    Cover60 "60 to 79 %",
    Cover80 "80 % and more",
    Whole0 "the longer has under 10 % of its weight in common with the other",
    Whole10 "10 to 19 %",
    Whole20 "20 to 34 %",
    Whole35 "35 to 54 %",
    Whole55 "55 % and more",
    Telling0 "no telling word in common",
    Telling1 "one",
    Telling2 "two",
    Telling3 "three",
    Telling4 "four and more",
    SameHead "the same noun is their subject",
    SameSubject "they begin with the same telling word",
    HeadsMeet "each has the other's subject",
    HeadMeets "one has the other's subject",
    Foreign "neither has the other's subject",
    SameAct "the same is done",
    ActMeets "one has what the other does among its words",
    OtherAct "both do something, not the same",
    OneNegative "one main clause is negated",
    BothNegative "both are",
    NoneDeniesLow "neither has a word of negation, and under 30 % in common",
    NoneDeniesMid "neither has one, 30 to 59 %",
    NoneDeniesHigh "neither has one, 60 % and more",
    OneDeniesLow "one has a word of negation, and under 30 % in common",
    OneDeniesMid "one has one, 30 to 59 %",
    OneDeniesHigh "one has one, 60 % and more",
    BothDenyLow "both have a word of negation, and under 30 % in common",
    BothDenyMid "both have one, 30 to 59 %",
    BothDenyHigh "both have one, 60 % and more",
    OneUniversal "one speaks of all, every, must",
    BothUniversal "both do",
    OneEmphatic "one leaves no exception",
    BothEmphatic "neither leaves one",
    OneConditional "one holds under a condition",
    SameCondition "both do, under the same",
    OtherCondition "both do, under different ones",
    ConditionMeets "one has the other's condition among its words",
    OneLimited "one is about a part of its subject",
    BothLimited "both are",
    OneExcepts "one names an exception or speaks of all others",
    Apart "a name, label, environment or person tells them apart",
    ApartInTime "one holds before something, one after it",
    ApartInDays "they name different days",
    ApartInPeople "they name different people",
    SamePeople "they name the same people",
    OnePeople "one names people",
    MayMeet "their conditions let them meet",
    BothMeasured "both have a number with a unit",
    OneMeasured "one has",
    SameNumber "they have a number in common",
    OtherNumber "both have numbers, none in common",
    OneNumber "one has a number",
    BothTimed "both give a length of time",
    BothClocked "both name a time of day",
    OnePassive "something is done to the subject of one",
    BothPassive "of both",
    OnePast "one tells how it was",
    OneHeading "one has a heading",
    SameLabel "they have a label or path in common",
    Short3 "the shorter has up to three words that count",
    Short5 "four or five",
    Short8 "six to eight",
    ShortMore "more",
    Long6 "the longer has up to six words that count",
    Long10 "seven to ten",
    Long16 "eleven to sixteen",
    LongMore "more",
    SameSide "they stand on the same side of a family, and on opposite ones of none",
    Opposite "they stand on opposite sides of a family",
    OppositeMid "they do, with 20 % and more in common",
    OppositeHigh "they do, with 45 % and more in common",
}

/// Two points a telling word, one a general one.
fn weight_of(s: &Statement) -> usize {
    s.content.len() * 2 - s.generic.len()
}

/// How much the two have in common: of the shorter, of the longer, and how many telling words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub cover: usize,
    whole: usize,
    telling: usize,
}

pub(crate) fn measure_common(a: &Statement, b: &Statement) -> Common {
    let shared = a.shared_weight(b, &[]);
    let (wa, wb) = (weight_of(a), weight_of(b));
    let percent = |of: usize| (shared * 100).checked_div(of).unwrap_or(0);
    let all = words_in_common(&a.content, &b.content);
    Common {
        cover: percent(wa.min(wb)),
        whole: percent(wa.max(wb)),
        telling: shared - all,
    }
}

/// Tells every sign of the pair.
pub(crate) fn read_signs(
    a: &Statement,
    b: &Statement,
    common: Common,
    sides: Option<Sides>,
    mut tell: impl FnMut(Sign),
) {
    use Sign as S;
    let Common {
        cover,
        whole,
        telling,
    } = common;
    tell(S::Always);
    tell(match cover {
        0..15 => S::Cover0,
        15..30 => S::Cover15,
        30..45 => S::Cover30,
        45..60 => S::Cover45,
        60..80 => S::Cover60,
        _ => S::Cover80,
    });
    tell(match whole {
        0..10 => S::Whole0,
        10..20 => S::Whole10,
        20..35 => S::Whole20,
        35..55 => S::Whole35,
        _ => S::Whole55,
    });
    tell(match telling {
        0 => S::Telling0,
        1 => S::Telling1,
        2 => S::Telling2,
        3 => S::Telling3,
        _ => S::Telling4,
    });
    let counted = [
        (a.negative, b.negative, S::OneNegative, S::BothNegative),
        (a.universal, b.universal, S::OneUniversal, S::BothUniversal),
        (a.emphatic, b.emphatic, S::OneEmphatic, S::BothEmphatic),
        (a.limited, b.limited, S::OneLimited, S::BothLimited),
        (a.measured, b.measured, S::OneMeasured, S::BothMeasured),
        (a.passive, b.passive, S::OnePassive, S::BothPassive),
    ];
    for (here, there, of_one, of_both) in counted {
        match (here, there) {
            (true, true) => tell(of_both),
            (false, false) => {}
            _ => tell(of_one),
        }
    }
    let by_cover = |low, mid, high| match cover {
        0..30 => low,
        30..60 => mid,
        _ => high,
    };
    tell(match (a.denies, b.denies) {
        (false, false) => by_cover(S::NoneDeniesLow, S::NoneDeniesMid, S::NoneDeniesHigh),
        (true, true) => by_cover(S::BothDenyLow, S::BothDenyMid, S::BothDenyHigh),
        _ => by_cover(S::OneDeniesLow, S::OneDeniesMid, S::OneDeniesHigh),
    });
    let mut when = |holds: bool, sign: Sign| {
        if holds {
            tell(sign);
        }
    };
    let holds = |s: &Statement, key: Option<u64>| {
        key.is_some_and(|key| s.content.binary_search(&key).is_ok())
    };
    let (mine, theirs) = (a.head.or(a.subject), b.head.or(b.subject));
    when(a.head.is_some() && a.head == b.head, S::SameHead);
    when(
        a.subject.is_some() && a.subject == b.subject,
        S::SameSubject,
    );
    match (holds(b, mine), holds(a, theirs)) {
        (true, true) => when(true, S::HeadsMeet),
        (false, false) => when(true, S::Foreign),
        _ => when(true, S::HeadMeets),
    }
    match (a.act, b.act) {
        (Some(x), Some(y)) if x == y => when(true, S::SameAct),
        (Some(_), Some(_)) => when(true, S::OtherAct),
        _ => {}
    }
    when(holds(b, a.act) || holds(a, b.act), S::ActMeets);
    match (a.conditional, b.conditional) {
        (true, true) if a.same_condition(b) => when(true, S::SameCondition),
        (true, true) => when(true, S::OtherCondition),
        (false, false) => {}
        _ => when(true, S::OneConditional),
    }
    let within = |x: &Statement, y: &Statement| {
        !x.condition.is_empty() && words_in_common(&x.condition, &y.content) == x.condition.len()
    };
    when(within(a, b) || within(b, a), S::ConditionMeets);
    let excepts = |s: &Statement| s.complement || !s.except.is_empty();
    when(excepts(a) || excepts(b), S::OneExcepts);
    when(a.apart(b), S::Apart);
    when(a.apart_in_time(b), S::ApartInTime);
    when(a.apart_in_days(b), S::ApartInDays);
    match (a.persons.is_empty(), b.persons.is_empty()) {
        (true, true) => {}
        (false, false) if a.apart_in_people(b) => when(true, S::ApartInPeople),
        (false, false) => when(true, S::SamePeople),
        _ => when(true, S::OnePeople),
    }
    when(a.may_meet(b), S::MayMeet);
    match (a.numbers.is_empty(), b.numbers.is_empty()) {
        (true, true) => {}
        (false, false) if a.numbers.iter().any(|n| b.numbers.contains(n)) => {
            when(true, S::SameNumber);
        }
        (false, false) => when(true, S::OtherNumber),
        _ => when(true, S::OneNumber),
    }
    when(a.timed && b.timed, S::BothTimed);
    when(a.clocked && b.clocked, S::BothClocked);
    when(a.past || b.past, S::OnePast);
    when(
        !a.heading.is_empty() || !b.heading.is_empty(),
        S::OneHeading,
    );
    let same = |x: &[u64], y: &[u64]| x.iter().any(|k| y.contains(k));
    when(
        same(&a.labels, &b.labels) || same(&a.paths, &b.paths),
        S::SameLabel,
    );
    let (short, long) = (
        a.content.len().min(b.content.len()),
        a.content.len().max(b.content.len()),
    );
    when(
        true,
        match short {
            0..4 => S::Short3,
            4..6 => S::Short5,
            6..9 => S::Short8,
            _ => S::ShortMore,
        },
    );
    when(
        true,
        match long {
            0..7 => S::Long6,
            7..11 => S::Long10,
            11..17 => S::Long16,
            _ => S::LongMore,
        },
    );
    let opposite = sides == Some(Sides::Opposite);
    when(sides == Some(Sides::Same), S::SameSide);
    when(opposite, S::Opposite);
    when(opposite && cover >= 20, S::OppositeMid);
    when(opposite && cover >= 45, S::OppositeHigh);
}

//! Weighing: how likely two statements are a contradiction, by everything that can be seen of them at once.
//!
//! The detectors know what they look for and are blind to all else. This is the other way round: some eighty signs
//! (`signs`) and a few hundred common words (`points`), each worth points for or against, are added up. The points were
//! fitted to the labelled intents (`fit`), so that 100 points more make a contradiction e times as likely. The sum has the last
//! word in two cases only: a pair that is more likely a contradiction than not is asked about although no detector saw it, and a pair with
//! very few is not, whatever a detector saw.
//!
//! Only whole numbers are added, so the verdict is the same on every machine.

#[cfg(test)]
mod fit;
mod points;
mod signs;

use super::super::MAX_PER_TEXT;
use super::statement::{Index, Statement};
use super::{CANDIDATES, Pairs};
use crate::text::keyed::Keyed;
use crate::text::lex::fnv;
use crate::text::stem::stem;
use points::{COUPLES, SIGN_POINTS, WORDS};
use signs::{Common, SIGNS, Sign, measure_common, read_signs};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// How two statements stand to each other in a family of opposites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Same,
    Opposite,
}

/// How the statements of one text stand to each other, the smaller number first.
type AllSides = BTreeMap<(u32, u32), Sides>;

fn sides_of(all: &AllSides, i: usize, j: usize) -> Option<Sides> {
    all.get(&(i.min(j) as u32, i.max(j) as u32)).copied()
}

/// From this many points on a pair is asked about, whatever the detectors say.
const ASK_FROM: i32 = 0;

/// Below this many points a pair is not asked about, whatever the detectors say.
const KEEP_FROM: i32 = -300;

/// Pairs with less in common, in percent of the shorter, are not worth weighing.
const LEAST_COVER: usize = 10;

/// From this share on a word that only one of them has weighs by its third column as well.
const NEAR: usize = 45;

/// The number of a word in the table, by the key of its stem.
pub(super) fn word_number(key: u64) -> Option<u16> {
    static NUMBERS: OnceLock<Keyed<u16>> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| {
        let entry = |(n, (word, ..)): (usize, &(&str, i16, i16, i16))| (fnv(stem(word)), n as u16);
        Keyed::new(WORDS.iter().enumerate().map(entry).collect())
    });
    numbers.find(key).copied()
}

/// The key of a couple of words, whichever comes first; spread, because the table places by its lowest bits.
fn couple_key(x: u16, y: u16) -> u64 {
    let couple = u64::from(x.min(y)) << 16 | u64::from(x.max(y));
    couple.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(24)
}

/// The points of couples of words, and which words stand in any.
fn couples() -> &'static (Keyed<i16>, Vec<bool>) {
    static TABLE: OnceLock<(Keyed<i16>, Vec<bool>)> = OnceLock::new();
    TABLE.get_or_init(|| {
        let number = |word: &str| word_number(fnv(stem(word)));
        let mut coupled = vec![false; WORDS.len()];
        let mut entries = Vec::with_capacity(COUPLES.len());
        for (first, second, points) in COUPLES {
            if let (Some(x), Some(y)) = (number(first), number(second)) {
                coupled[usize::from(x)] = true;
                coupled[usize::from(y)] = true;
                entries.push((couple_key(x, y), *points));
            }
        }
        (Keyed::new(entries), coupled)
    })
}

/// The numbers of `list` that `other` lacks and that stand in couples; both lists are sorted.
fn own_coupled<'l>(
    list: &'l [u16],
    other: &'l [u16],
    coupled: &'l [bool],
) -> impl Iterator<Item = u16> {
    let own = |n: &&u16| coupled[usize::from(**n)] && other.binary_search(n).is_err();
    list.iter().filter(own).copied()
}

/// The points of a pair.
fn weigh(a: &Statement, b: &Statement, common: Common, sides: Option<Sides>) -> i32 {
    let mut sum = 0;
    read_signs(a, b, common, sides, |sign: Sign| {
        sum += i32::from(SIGN_POINTS[sign as usize]);
    });
    let of_one = |number: &u16| {
        let (_, one, _, near) = WORDS[usize::from(*number)];
        i32::from(one) + i32::from(if common.cover >= NEAR { near } else { 0 })
    };
    for number in &a.words {
        sum += match b.words.binary_search(number) {
            Ok(_) => i32::from(WORDS[usize::from(*number)].2),
            Err(_) => of_one(number),
        };
    }
    let only_there = b.words.iter().filter(|n| a.words.binary_search(n).is_err());
    sum += only_there.map(of_one).sum::<i32>();
    let (points, coupled) = couples();
    for x in own_coupled(&a.words, &b.words, coupled) {
        for y in own_coupled(&b.words, &a.words, coupled) {
            sum += i32::from(points.find(couple_key(x, y)).copied().unwrap_or(0));
        }
    }
    sum
}

/// Pairs of statements worth weighing: they have words in common, or stand on opposite sides of a family.
fn candidates(
    statements: &[Statement],
    index: &Index,
    sides: &AllSides,
    mut each: impl FnMut(usize, usize, Common),
) {
    for (&(i, j), _) in sides.iter().filter(|(_, s)| **s == Sides::Opposite) {
        let (i, j) = (i as usize, j as usize);
        let common = measure_common(&statements[i], &statements[j]);
        if common.cover < LEAST_COVER && statements[i].source != statements[j].source {
            each(i, j, common);
        }
    }
    let mut tried: Vec<usize> = Vec::new();
    for (i, s) in statements.iter().enumerate() {
        tried.clear();
        for key in &s.content {
            let holders = index.of(*key);
            let from = holders.partition_point(|(_, j)| *j as usize <= i);
            for &(_, j) in holders[from..].iter().take(CANDIDATES) {
                let j = j as usize;
                if statements[j].source == s.source || tried.contains(&j) {
                    continue;
                }
                tried.push(j);
                let common = measure_common(s, &statements[j]);
                if common.cover >= LEAST_COVER {
                    each(i, j, common);
                }
            }
            if tried.len() > CANDIDATES * 4 {
                break;
            }
        }
    }
}

/// Both deny, of the same words: `never open at nine`, `must not open at nine`.
fn is_restated(a: &Statement, b: &Statement) -> bool {
    a.negative && b.negative && a.content == b.content
}

/// Takes back what has too few points, and adds what has enough, up to [`MAX_PER_TEXT`] pairs in all: a hundred thousand constraints
/// of one form would fill the memory and ask no better.
pub(super) fn settle(statements: &[Statement], index: &Index, pairs: &mut Pairs<'_, '_>) {
    let sides = std::mem::take(&mut pairs.sides);
    let points = |i: usize, j: usize, common: Common| {
        weigh(
            &statements[i],
            &statements[j],
            common,
            sides_of(&sides, i, j),
        )
    };
    pairs.found.retain(|&(i, j, _)| {
        points(i, j, measure_common(&statements[i], &statements[j])) >= KEEP_FROM
    });
    candidates(statements, index, &sides, |i, j, common| {
        if pairs.found.len() < MAX_PER_TEXT
            && !is_restated(&statements[i], &statements[j])
            && points(i, j, common) >= ASK_FROM
        {
            pairs.add_about(i, j, None);
        }
    });
}

/// The points as a part of the documentation.
pub(crate) fn render_points() -> String {
    let mut out = String::from(
        "\n## Points of a pair\n\n\
         What two statements are weighed by. Pairs from 0 points on are asked about.\n\n\
         | sign | points |\n| --- | ---: |\n",
    );
    for (sign, points) in SIGNS.iter().zip(SIGN_POINTS) {
        out.push_str(&format!("| {sign} | {points} |\n"));
    }
    out.push_str(
        "\n### Words\n\nPoints where one of the two has it / where both have it / added where one has it and they \
         have 45 % and more in common.\n\n",
    );
    let words = WORDS.iter();
    let words: Vec<String> = words
        .map(|(word, one, both, near)| format!("{word} {one}/{both}/{near}"))
        .collect();
    out.push_str(&words.join(" · "));
    out.push_str("\n\n### Couples of words\n\nOne stands here, one there.\n\n");
    let couples = COUPLES.iter();
    let couples: Vec<String> = couples
        .map(|(first, second, points)| format!("{first}, {second} {points}"))
        .collect();
    out.push_str(&couples.join(" · "));
    out.push('\n');
    out
}

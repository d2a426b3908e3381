//! Composed cues: a topic has two sides, and a side is a few patterns of groups of words, so that wordings nobody
//! listed are met as well.
//!
//! Notation: `<may>` any word of that group, `<person>` any word for people, `word` any form of that word, `..` up to
//! three words in between, `...` up to six, `$` the end of the clause. A pattern never reaches over a sign. Where two
//! cues of one topic overlap, the longer one counts (`without an account nobody can …`). Groups are matched by stem
//! through one bit set a token; a pattern is looked up by its first element, so the cost is a probe a token.

use super::super::Source;
use super::grammar::is_boundary;
use super::topics::{people, things, time};
use crate::lexicon::{Scope, Side, class};
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Groups of words that say the same in a pattern.
const GROUPS: &[(&str, &str)] = &[
    ("may", "may can might could allowed permitted able possible"),
    (
        "must",
        "must shall has have required requires require needs need needed mandatory compulsory necessary",
    ),
    (
        "be",
        "be is are stay stays remain remains left stand get gets been lie lies",
    ),
    (
        "not",
        "not never no cannot can't don't doesn't without none nobody nothing neither nor isn't aren't won't mustn't hardly",
    ),
    (
        "empty",
        "empty blank missing absent omitted skipped unfilled vacant",
    ),
    (
        "filled",
        "filled given present stated entered provided supplied indicated specified",
    ),
    ("anyone", "anyone anybody everyone everybody"),
    ("only", "only alone solely exclusively merely"),
    (
        "network",
        "network internet online cloud web wifi wlan connection connectivity",
    ),
    (
        "change",
        "change modify edit alter update correct amend replace rewrite overwrite adjust revise rename touch rework",
    ),
    (
        "fixed",
        "fixed frozen immutable unchanged untouched unaltered sealed unalterable read-only unmodified unedited",
    ),
    (
        "save",
        "save store keep write append log record persist archive retain hold remember",
    ),
    ("kept", "kept retained archived preserved stored"),
    (
        "delete",
        "delete erase remove purge wipe discard destroy shred clear",
    ),
    (
        "forever",
        "forever always permanently indefinitely permanent lifelong",
    ),
    (
        "login",
        "login log-in sign-in signin account password register registration authenticate authentication credentials sign-up",
    ),
    (
        "pay",
        "pay fee charge cost price surcharge billed invoiced chargeable paid",
    ),
    ("free", "free gratis complimentary"),
    (
        "now",
        "immediately instantly promptly live directly instant immediate real-time",
    ),
    (
        "later",
        "later tomorrow overnight nightly afterwards eventually delayed weekly",
    ),
    (
        "wait",
        "wait collected batched bundled deferred withheld postponed queued",
    ),
    ("on", "on enabled active activated"),
    ("off", "off disabled inactive deactivated"),
    ("auto", "automatic automatically unattended autonomously"),
    ("hand", "manual manually hand human"),
    (
        "approve",
        "approve approval release confirm confirmation review authorise authorize countersign",
    ),
    ("again", "again repeatedly anew reused recycled reissued"),
    (
        "secret",
        "secret confidential private hidden internal restricted invisible undisclosed",
    ),
    ("public", "public publicly published visible"),
    ("see", "see view read open access look watch inspect"),
    (
        "anon",
        "anonymous anonymously pseudonymous unnamed nameless",
    ),
    (
        "ident",
        "name names personnel identity surname signed identified",
    ),
    ("same", "same identical equal deterministic reproducible"),
    ("chance", "random randomly shuffled lottery dice"),
    (
        "send",
        "send transmit upload transfer forward mail pass share deliver push copy replicate",
    ),
    ("away", "outside abroad external elsewhere foreign overseas"),
    ("mono", "black monochrome greyscale grayscale"),
    (
        "colour",
        "colour color full-colour coloured colored colourful",
    ),
    ("order", "order sequence"),
    (
        "priority",
        "priority urgent overtake preferred precedence ahead",
    ),
    ("many", "several multiple many various two three four five"),
    ("sure", "always every each all throughout"),
    ("parallel", "parallel simultaneously concurrently"),
    ("print", "print paper letter printout"),
    (
        "digital",
        "digital digitally electronic electronically screen paperless",
    ),
    ("refuse", "refuse reject decline deny block turn"),
    ("accept", "accept admit allow welcome take"),
];

/// A topic with its two sides.
pub(super) struct Topic {
    pub name: &'static str,
    /// What the two statements must share.
    pub scope: Scope,
    /// Adds cues to the family of that name.
    pub joins: bool,
    /// Compared as claims about an act (see `claims`).
    pub claim: bool,
    a: &'static str,
    b: &'static str,
}

/// A topic of statements that share a subject word.
pub(super) const fn topic(name: &'static str, a: &'static str, b: &'static str) -> Topic {
    Topic {
        name,
        scope: Scope::Shared,
        joins: false,
        claim: false,
        a,
        b,
    }
}

/// A topic whose first side, said of the whole, excludes the second wherever it is said.
pub(super) const fn whole(name: &'static str, a: &'static str, b: &'static str) -> Topic {
    Topic {
        name,
        scope: Scope::Whole,
        joins: false,
        claim: false,
        a,
        b,
    }
}

/// More cues of a family of opposites.
pub(super) const fn joined(name: &'static str, a: &'static str, b: &'static str) -> Topic {
    Topic {
        name,
        scope: Scope::Shared,
        joins: true,
        claim: false,
        a,
        b,
    }
}

/// A topic of claims: who may do something to a thing, on which terms.
pub(super) const fn claim(name: &'static str, a: &'static str, b: &'static str) -> Topic {
    Topic {
        name,
        scope: Scope::Shared,
        joins: false,
        claim: true,
        a,
        b,
    }
}

/// A topic of statements that share more than half of the shorter one's words, or the subject.
pub(super) const fn near(name: &'static str, a: &'static str, b: &'static str) -> Topic {
    Topic {
        name,
        scope: Scope::Near,
        joins: false,
        claim: false,
        a,
        b,
    }
}

/// Every topic; its number is its place.
pub(super) fn topics() -> &'static [&'static Topic] {
    static ALL: OnceLock<Vec<&'static Topic>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lists = [TOPICS, people::TOPICS, time::TOPICS, things::TOPICS];
        lists.into_iter().flatten().collect()
    })
}

/// Every group with its words; its number is its place.
fn all_groups() -> &'static [(&'static str, &'static str)] {
    static ALL: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lists = [GROUPS, people::GROUPS, time::GROUPS, things::GROUPS];
        lists.into_iter().flatten().copied().collect()
    })
}

/// Topics; patterns of a side are separated by `|`.
const TOPICS: &[Topic] = &[
    claim(
        "whether it is required",
        "<must> .. <filled>|<not> .. <be> <empty>|<must> .. a value|<not> accepted without|<must> state|<must> .. fill|<not> .. <empty>|only with",
        "<may> .. <be> <empty>|<may> .. <empty>|need not|<be> optional|<may> .. left out|<may> .. do without|without giving|voluntary|<not> <must>",
    ),
    topic(
        "whether it may change",
        "<be> <fixed>|<not> .. <change>|<not> .. <change> once|stands as|written in stone|<be> final",
        "<may> .. <change>|<be> <change>|<change> .. afterwards|<change> .. later|<change> .. time",
    ),
    claim(
        "accounts",
        "<not> .. <login>|<anyone> .. without|<not> .. log in|<not> .. sign in",
        "<must> .. <login>|<only> .. <login>|<login> .. <must>|behind .. <login>|<must> .. log in|<must> .. sign in|after .. <login>",
    ),
    claim(
        "price",
        "<free> of charge|<not> .. <pay>|<be> <free>|cost nothing|costs nothing|<free> for|for <free>|at <not> cost",
        "<must> .. <pay>|<pay> .. euros|<pay> .. euro|<pay> .. cents|<be> <pay>|a fee|<pay> for|per month|half price|full price",
    ),
    topic(
        "when it happens",
        "<now>|at once|as soon as|straight away|right away|the moment|without delay|the same minute|the same day|on the spot",
        "<wait> .. and|next day|next morning|following day|<not> .. until|<not> .. before|only after|once a day|<later>|at night|end of the day|end of the month|a week|held back|once a week",
    ),
    topic(
        "on or off from the start",
        "<on> .. default|<on> from the start|unless .. <off>|default .. <on>|<on> until|opt-out|opt out",
        "<off> .. default|<off> from the start|unless .. <on>|default .. <off>|<off> until|opt-in|opt in|only if .. <on>|has to be switched <on>",
    ),
    claim(
        "who acts",
        "<auto>|by itself|by themselves|on its own|without .. <hand>|without .. <approve>|<not> .. <approve>|without anybody|without anyone|without asking",
        "by <hand>|<hand> .. <approve>|<must> .. <approve>|<be> <hand>|<approve> .. each|<approve> .. every|is pressed|asks .. before|has to agree|has agreed",
    ),
    claim(
        "who sees it",
        "<anyone> .. <see>|<be> <public>|<see> .. <anyone>|<may> .. <see> .. all|in the open|for all to <see>|shown to all|on the internet|on the public",
        "<only> .. <see>|<be> <secret>|<not> .. <see>|<not> .. <public>|<secret> .. to|<not> .. shown|<not> .. outside|kept from|under lock|<see> .. own",
    ),
    topic(
        "whether it is kept",
        "<save> .. <forever>|<not> .. <delete>|all .. <be> <kept>|<not> .. thrown away|<be> <kept>|for ever|nothing .. lost",
        "<be> <delete>|<delete> .. after|<delete> .. older|thrown away|overwritten|<delete> every|<not> .. <save>|<save> none|<delete> .. once",
    ),
    topic(
        "chance",
        "<same> .. result|<same> .. output|<same> .. order|identical results|<be> <same>|predictable|byte for byte",
        "<chance>|seed .. clock|by lot|at <chance>|different .. time|different .. run|current time",
    ),
    topic(
        "used again",
        "<not> .. <again>|<not> .. another|<not> .. second|at most once|exactly once|only once|once and|<not> .. twice|one .. and no more|<not> more than one|one use|after the first|never reused|one time",
        "<again>|given to the next|given .. next|second time|as often as|any number of times|as many times|<many> times|twice|as many .. as|combine",
    ),
    claim(
        "how many do it",
        "two different|two people|two persons|second person|four eyes|by two|both .. <approve>|two signatures|two of them",
        "one .. alone|alone <may>|single .. enough|one person|by one|one signature|<may> .. alone|one is enough",
    ),
    topic(
        "from where",
        "from anywhere|from any|anywhere in|from everywhere|from home|world-wide|worldwide|on the road",
        "from the .. only|only from|in the office only|only inside|only in the|inside the .. only|within the .. only|from inside",
    ),
    topic(
        "colour",
        "<mono> .. white|<mono> .. only|<mono> ink|<not> .. <colour>|one <colour>|<mono>",
        "full <colour>|in <colour>|<colour> photos|<colour> pictures|red and|green and|full-colour|<colour> .. print",
    ),
    topic(
        "who goes first",
        "in the <order>|first come|<order> of arrival|<order> in which|strictly in|in turn|nobody .. preferred|<not> .. <priority>",
        "<priority>|to the front|<be> served first|goes first|go first|comes first|come first|before all|before the others|jump",
    ),
    claim(
        "names or none",
        "<be> <anon>|<not> .. who|<not> .. traced|under a number only|stay <anon>",
        "with .. <ident>|<ident> .. <be> shown|<ident> of|together with .. <ident>|<ident> .. <be> stored|full <ident>|real <ident>|<be> <ident>",
    ),
    topic(
        "one after the other",
        "one at a time|one after|one by one|<not> .. <parallel>|never two|in turn|strictly one|<not> .. same time",
        "<parallel>|at the same time|all at once|side by side|<many> at a time|<many> .. at once",
    ),
    topic(
        "paper or screen",
        "<not> .. <print>|<digital> only|<only> <digital>|<not> .. on paper|purely <digital>",
        "<be> <print>|on paper|by post|by letter|<print> .. and|signed .. pen",
    ),
    topic(
        "taken or turned down",
        "<be> <accept>|<accept> .. all|<accept> .. any|come in|welcome",
        "<be> <refuse>|<not> .. <accept>|turned away|turned down|sent back|<refuse> .. all",
    ),
    topic(
        "where it goes",
        "<not> .. leave|<not> .. <away>|stay .. inside|stays .. inside|remain .. inside|kept inside",
        "<send> .. to|in .. us-east-1|in .. ireland|<be> <send>|to .. <away>|second .. region|third party|third parties|to the partner",
    ),
];

/// One element of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Group(u8),
    Word(u64),
    /// Up to so many words.
    Gap(u8),
    /// Nothing but a sign or the end of the sentence follows.
    End,
}

struct Pattern {
    elements: Vec<Element>,
    topic: u16,
    side: Side,
    /// The groups it needs, and its words as bits: most sentences lack one.
    groups: u128,
    words: u64,
}

/// A word as one of 64 bits.
fn word_bit(key: u64) -> u64 {
    1 << (key >> 58)
}

struct Table {
    /// (stem, groups), sorted.
    groups: Vec<(u64, u128)>,
    /// (first element, pattern), sorted.
    first: Vec<(u64, u32)>,
    patterns: Vec<Pattern>,
    /// Bit of the group `person`.
    person: u128,
}

/// A group as the key of a first element; words are keyed by their stem, which never is this small.
fn group_key(group: u8) -> u64 {
    u64::from(group)
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(build)
}

fn build() -> Table {
    let mut list: Vec<(u64, u128)> = Vec::new();
    for (n, (_, words)) in all_groups().iter().enumerate() {
        list.extend(words.split(' ').map(|w| (fnv(stem(w)), 1 << n)));
    }
    list.sort_unstable();
    let mut merged: Vec<(u64, u128)> = Vec::with_capacity(list.len());
    for (key, bits) in list {
        match merged.last_mut() {
            Some(last) if last.0 == key => last.1 |= bits,
            _ => merged.push((key, bits)),
        }
    }
    let mut out = Table {
        groups: merged,
        first: Vec::new(),
        patterns: Vec::new(),
        person: (all_groups().iter())
            .position(|g| g.0 == "person")
            .map_or(0, |n| 1 << n),
    };
    for (n, topic) in topics().iter().enumerate() {
        for (side, list) in [(Side::A, topic.a), (Side::B, topic.b)] {
            for text in list.split('|') {
                let elements: Vec<Element> = text.split(' ').filter_map(element).collect();
                let first = match elements.first() {
                    Some(Element::Group(g)) => group_key(*g),
                    Some(Element::Word(key)) => *key,
                    _ => continue,
                };
                out.first.push((first, out.patterns.len() as u32));
                let (mut groups, mut words) = (0, 0);
                for e in &elements {
                    match e {
                        Element::Group(g) => groups |= 1 << g,
                        Element::Word(key) => words |= word_bit(*key),
                        Element::Gap(_) | Element::End => {}
                    }
                }
                out.patterns.push(Pattern {
                    elements,
                    topic: n as u16,
                    side,
                    groups,
                    words,
                });
            }
        }
    }
    out.first.sort_unstable();
    out
}

fn element(text: &str) -> Option<Element> {
    match text {
        ".." => return Some(Element::Gap(3)),
        "..." => return Some(Element::Gap(6)),
        "$" => return Some(Element::End),
        _ => {}
    }
    match text.strip_prefix('<').and_then(|t| t.strip_suffix('>')) {
        Some(name) => {
            let at = all_groups().iter().position(|g| g.0 == name)?;
            Some(Element::Group(at as u8))
        }
        None => Some(Element::Word(fnv(stem(text)))),
    }
}

/// A cue in a sentence: topic, side, and the tokens of its elements.
pub(super) struct Found {
    pub topic: u16,
    pub side: Side,
    pub tokens: Vec<usize>,
}

/// The composed cues of a sentence.
pub(super) fn find_cues(source: &Source<'_>, range: (usize, usize)) -> Vec<Found> {
    let table = table();
    let t = &source.tagged;
    let tokens = &t.lexed.tokens;
    let bits: Vec<u128> = (range.0..range.1)
        .map(|i| {
            let at = table.groups.partition_point(|g| g.0 < tokens[i].key);
            let person = if t.is(i, class::PERSON) && !t.is(i, class::NEG | class::THING) {
                table.person
            } else {
                0
            };
            match table.groups.get(at) {
                Some(g) if g.0 == tokens[i].key && tokens[i].kind == TokenKind::Word => {
                    g.1 | person
                }
                _ => person,
            }
        })
        .collect();
    // What stands from each token on.
    let mut ahead: Vec<(u128, u64)> = vec![(0, 0); bits.len() + 1];
    for i in (0..bits.len()).rev() {
        let (groups, words) = ahead[i + 1];
        ahead[i] = (groups | bits[i], words | word_bit(tokens[range.0 + i].key));
    }
    let is = |e: Element, i: usize| match e {
        Element::Group(g) => bits[i - range.0] & (1 << g) != 0,
        Element::Word(key) => tokens[i].key == key && tokens[i].kind == TokenKind::Word,
        Element::Gap(_) | Element::End => false,
    };
    // `No measurement …` denies all of its clause.
    let opening = match any_of!(t.lexed.word(range.0), "no" "none" "nobody" "nothing" "neither") {
        true => (range.0 + 1..range.1)
            .find(|&i| is_boundary(source, i) || any_of!(t.lexed.word(i), "until" "before" "after"))
            .unwrap_or(range.1),
        false => range.0,
    };
    // A gap holds no sign, and no negation: `needs no login`.
    let skips = |i: usize| tokens[i].kind != TokenKind::Symbol && !t.is(i, class::NEG);
    let mut out = Vec::new();
    let mut met = Vec::new();
    for i in range.0..range.1 {
        if tokens[i].quoted {
            continue;
        }
        let own = bits[i - range.0];
        let mut rest = own;
        let groups = std::iter::from_fn(move || {
            let group = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
            rest &= rest - 1;
            Some(group)
        });
        let firsts = std::iter::once(tokens[i].key).chain(groups.map(group_key));
        for key in firsts {
            let from = table.first.partition_point(|e| e.0 < key);
            for &(_, n) in table.first[from..].iter().take_while(|e| e.0 == key) {
                let pattern = &table.patterns[n as usize];
                let (groups, words) = ahead[i - range.0];
                if pattern.groups & !groups != 0 || pattern.words & !words != 0 {
                    continue;
                }
                met.clear();
                met.push(i);
                // `No part of the tool may …`: a negation at the start covers the sentence.
                let opens = i == range.0
                    && matches!(pattern.elements[0], Element::Group(g) if all_groups()[usize::from(g)].0 == "not");
                if follow(
                    &pattern.elements[1..],
                    i + 1,
                    (range.1, if opens { 4 } else { 0 }),
                    &is,
                    &skips,
                    tokens,
                    &mut met,
                ) {
                    let denies = t.is(i, class::NEG);
                    let denied = i < opening
                        || (i.saturating_sub(3).max(range.0)..i).any(|k| t.is(k, class::NEG));
                    // `a file that cannot be removed is logged`: the clause tells which file.
                    let relative = (i.saturating_sub(2).max(range.0)..i.min(range.0 + 5))
                        .any(|k| any_of!(t.lexed.word(k), "that" "which" "who" "whose"));
                    if denies && !relative || !denies && !denied {
                        out.push(Found {
                            topic: pattern.topic,
                            side: pattern.side,
                            tokens: met.clone(),
                        });
                    }
                }
            }
        }
    }
    drop_covered(&mut out);
    out
}

/// Of two cues of one topic on different sides, the one whose words all belong to the other says nothing.
fn drop_covered(found: &mut Vec<Found>) {
    let covered = |f: &Found, all: &[Found]| {
        all.iter().any(|g| {
            g.topic == f.topic
                && g.side != f.side
                && g.tokens.len() > f.tokens.len()
                && f.tokens.iter().all(|i| g.tokens.contains(i))
        })
    };
    let keep: Vec<bool> = found.iter().map(|f| !covered(f, found)).collect();
    let mut at = keep.iter();
    found.retain(|_| at.next().copied().unwrap_or(true));
}

/// Matches the rest of a pattern from token `at` on.
fn follow(
    elements: &[Element],
    at: usize,
    (end, more): (usize, usize),
    is: &impl Fn(Element, usize) -> bool,
    skips: &impl Fn(usize) -> bool,
    tokens: &[crate::text::lex::Token],
    met: &mut Vec<usize>,
) -> bool {
    let Some((&first, rest)) = elements.split_first() else {
        return true;
    };
    if first == Element::End {
        return (at >= end || tokens[at].kind == TokenKind::Symbol)
            && follow(rest, at, (end, more), is, skips, tokens, met);
    }
    if let Element::Gap(most) = first {
        for skip in 0..=usize::from(most) + more {
            let next = at + skip;
            if next > at && (next > end || !skips(next - 1)) {
                return false;
            }
            let length = met.len();
            if follow(rest, next, (end, 0), is, skips, tokens, met) {
                return true;
            }
            met.truncate(length);
        }
        return false;
    }
    if at >= end || !is(first, at) {
        return false;
    }
    met.push(at);
    follow(rest, at + 1, (end, more), is, skips, tokens, met)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::families;

    #[test]
    fn patterns_use_known_groups_only() {
        let named = |text: &str| text.starts_with('<');
        for topic in topics() {
            for text in topic.a.split('|').chain(topic.b.split('|')) {
                assert!(
                    !topic.joins || families().iter().any(|f| f.name == topic.name),
                    "{}",
                    topic.name
                );
                for part in text.split(' ').filter(|p| named(p)) {
                    assert!(matches!(element(part), Some(Element::Group(_))), "{part}");
                }
            }
        }
        assert!(all_groups().len() <= 128);
    }
}

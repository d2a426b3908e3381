//! Composed cues: a topic has two sides, and a side is a few patterns of groups of words, so that wordings nobody
//! listed are met as well.
//!
//! Notation: `<may>` any word of that group, `<person>` any word for people, `word` any form of that word, `..` up to
//! three words in between, `...` up to six, `$` the end of the clause, `#` a number, `[a/b]` one of these words. A pattern never reaches over a sign. Where two
//! cues of one topic overlap, the longer one counts (`without an account nobody can …`). Here are the tables; `patterns`
//! matches them.

use super::topics::{number, order, people, tech, things, time};
use crate::lexicon::Scope;
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
    ("ident", "name names personnel identity surname identified"),
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
    pub a: &'static str,
    pub b: &'static str,
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
        let lists = [
            TOPICS,
            people::TOPICS,
            time::TOPICS,
            things::TOPICS,
            order::TOPICS,
            tech::TOPICS,
            number::TOPICS,
        ];
        lists.into_iter().flatten().collect()
    })
}

/// Every group with its words; its number is its place.
pub(super) fn all_groups() -> &'static [(&'static str, &'static str)] {
    static ALL: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lists = [
            GROUPS,
            people::GROUPS,
            time::GROUPS,
            things::GROUPS,
            order::GROUPS,
            number::GROUPS,
        ];
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

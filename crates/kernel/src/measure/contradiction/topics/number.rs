//! How often, how many at a time, how exact, first or all: matters of number that are worded rather than counted.

use super::super::cues::{Topic, near, topic};

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    (
        "renew",
        "replace renew rotate retrain relearn recompute recalculate rebuild regenerate refresh reissue exchange swap reset rewrite update change re-trained",
    ),
    (
        "often",
        "nightly daily weekly monthly hourly yearly quarterly regularly periodically continually continuously annually",
    ),
    (
        "still",
        "frozen unchanged fixed constant untouched static same unaltered",
    ),
    (
        "fault",
        "error failure fault mistake problem violation finding defect",
    ),
    (
        "report",
        "list report show print collect name output display",
    ),
    (
        "coin",
        "cent cents penny pence decimal decimals hundredth hundredths fraction fractions",
    ),
    (
        "coarse",
        "euro euros dollar dollars pound pounds hundred hundreds thousand thousands franc francs hour hours minute minutes metre metres kilo kilos kilogram percent degree degrees number numbers",
    ),
    ("pair", "two three four several both multiple many"),
    (
        "joint",
        "together simultaneously jointly concurrently parallel",
    ),
];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[
    near(
        "whether it is renewed",
        "<renew> every <unit>|<renew> every .. <unit>|<renew> each <unit>|<renew> <often>|<renew> once a <unit>|<renew> .. every <unit>|new .. every <unit>|new .. each <unit>|<often> <renew>|<renew> after .. <unit>|<renew> before each|<renew> before every|<renew> at each|<renew> at every|<renew> with each|<renew> with every|<renew> twice a <unit>|<renew> .. a <unit>",
        "stays <still>|stay <still>|remains <still>|remain <still>|is <still>|are <still>|kept <still>|<not> <renew>|<not> .. <renew>|whole life|for life|lifetime of|one and the same|for all time|once and for all|chosen once|set once|made once|created once|trained once|never .. new|for the whole <unit>|for the entire|until the end of",
    ),
    near(
        "how exact it is",
        "round .. whole <coarse>|round .. full <coarse>|round .. nearest <coarse>|whole <coarse>|full <coarse>|<not> .. <coin>|even <coarse>|in thousands|without <coin>|to the nearest <coarse>|to the full <coarse>|<coin> .. dropped|<coin> .. cut|<coin> .. left out",
        "with .. <coin>|to the <coin>|its <coin>|their <coin>|down to the <coin>|two <coin>|<pair> <coin>|in <coin>|exact .. <coin>|<coin> .. kept|<coin> .. shown|including the <coin>|and <coin>|to .. <coin>",
    ),
    near(
        "first or all",
        "stop .. first <fault>|stop at the first|end .. first <fault>|abort .. first <fault>|abort on the first|first <fault> ends|first <fault> stops|first <fault> only|only the first|<not> .. second <fault>|break .. first <fault>",
        "all <fault>|every <fault>|all .. <fault>|each <fault> .. <report>|every .. <fault>|complete list of <fault>|full list of <fault>|<fault> .. <report> together|all of them",
    ),
    topic(
        "whether warnings count",
        "warning breaks|warning fails|warning stops|warnings break|warnings fail|warnings stop|warnings .. errors|warning .. error|zero warnings|<not> .. warnings|free of warnings|every warning .. fixed",
        "up to .. warnings|with warnings|warnings .. tolerated|warnings .. allowed|warnings .. ignored|warnings .. accepted|warnings .. permitted|warnings <not>|few warnings|despite .. warnings|warnings .. fine",
    ),
    topic(
        "how many at once",
        "at most one|only one .. at|never more than one|<not> more than one|never two|<not> two|exactly one .. at|one .. at a time|one holder|alone at|<not> .. <joint>",
        "<pair> .. <joint>|<pair> .. at the same time|<pair> .. at once|both .. at the same time|<pair> .. the same time|<joint> by <pair>|any number .. at|<pair> at a time",
    ),
];

//! How people deal with each other: the same for all or made for each, in person or from afar, by election or appointment,
//! with or without notice, who may pass something on, and when it is possible at all.

use super::super::cues::{Topic, joined, near, topic};

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    (
        "tailored",
        "individually independently personalised personalized tailored customised customized individual separately differently bespoke adapted",
    ),
    (
        "event",
        "tour visit course lesson concert meeting appointment class training session workshop market performance rehearsal service reading guided event \
         lecture surgery consultation hearing opening delivery collection sale",
    ),
];

/// Name of the topic about when something is possible.
pub(crate) const ANYTIME: &str = "at any time or only then";

/// Topics of which one act on one thing is told in two ways: two acts are no pair.
pub(crate) const OF_ONE_ACT: &[&str] = &[
    ANYTIME,
    "in person or not",
    "in writing or not",
    "with or without notice",
    "with or without an appointment",
    "together or each for himself",
];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[
    topic(
        "the same for all",
        "<every> ... the same|the same ... <every>|same .. for <every>|same for <everybody>|<everybody> ... the same|share one|share a single|share the same|treated alike\
        |<every> ... equal|no difference between|uniform|identical for|one size|<be> uniform",
        "<tailored>|for each .. from|depends on the|depending on|by .. own|own mistakes|own level|differ .. between|differ .. by|differs from .. to|different for|different ones\
        |varies|vary|according to .. <person>|to measure|picked by|chosen by|chosen for|composed for|adapted to|to suit",
    ),
    joined(
        "whether it may change",
        "letter by letter|letter for letter|word for word|exactly as .. went|exactly as .. came|exactly as .. arrived|true to the original|<be> kept as|in the original spelling|<be> frozen|stays frozen|stay frozen",
        "<be> wrapped|<be> modernised|<be> normalised|<be> retrained|retrained every|<be> shortened|<be> reformatted|<be> reworded|<be> retouched|<be> renumbered|<be> rounded|<be> straightened|<be> polished",
    ),
    near(
        "open or closed that day",
        "<be> closed|<be> shut|closed on|closed every|closed all|day of rest|rest day|<not> open|<not> .. visitor|no staff|nobody .. there|no one .. there|unstaffed|unattended\
        |stays closed|remains closed|stays shut|<be> deserted|no <person> in|no <person> on",
        "<event> ... take place|<event> ... takes place|<event> ... held|<event> ... begin|<event> ... begins|<event> ... start|<event> ... starts|<be> open|opens at|open from\
        |opens from|<event> on|<event> every|<event> each|hand out|hands out|is staffed|are staffed|is served|are served|can be visited|on duty|receives|welcomes",
    ),
    topic(
        ANYTIME,
        "at any time|anytime|any time of|at any hour|at all hours|whenever|around the clock|round the clock|day and night|at any moment|any day|at all times|24/7|from anywhere|anywhere",
        "only in|only at|only on|only during|only between|only from|only while|only inside|only within|only before|in the .. only|at the .. only|on .. only|during .. only|between .. only\
        |at night only|once a <unit>|once per <unit>|on fixed days|office hours|opening hours",
    ),
    near(
        "one or two at a time",
        "<not> .. booked twice|<not> .. assigned twice|<not> .. given twice|<not> .. used twice|no double|<not> .. double|<not> overlap|no overlap|<not> .. taken twice",
        "<many> ... same|double-booked|double booking|overlap|overlapping|doubly|twice",
    ),
    near(
        "in person or not",
        "in person|personally|face to face|on site|on the spot|physically present|at the counter|at the desk|at the office",
        "by phone|by telephone|over the phone|by video|remotely|from home|by post|by proxy|by mail|online|through the website|by messenger|<may> send a substitute|<may> send somebody",
    ),
    near(
        "in writing or not",
        "in writing|written form|by letter|on paper|in text form|written",
        "orally|verbally|by phone|by telephone|by word of mouth|spoken|by shouting|on call|informally|verbal|oral",
    ),
    near(
        "with or without notice",
        "without notice|without telling|without informing|without being told|untold|unannounced|without warning|without prior|without announcement|<not> announced|<not> .. in advance|by surprise|no notice|no warning",
        "notice of|prior notice|announced|told beforehand|informed beforehand|told before|informed before|in advance|beforehand|<unit> before|ahead of time|with notice|is warned|are warned|gives notice",
    ),
    near(
        "with or without an appointment",
        "by appointment|appointment only|only with .. appointment|only after booking|only with .. reservation|reservation .. <must>|booking .. <must>|<must> .. reserve|<must> .. book|<must> .. appointment\
        |<must> .. reservation|only those who .. booked|booked in advance|<not> .. without .. appointment|<not> .. without .. reservation|<not> .. without .. booking|only on reservation|register beforehand|<must> .. sign up",
        "without .. appointment|without .. reservation|without .. booking|no appointment|no reservation|no booking|walk in|walk-in|just turn up|simply come|just come|turn up without|spontaneously\
        |drop in|drop-in|<not> .. book|<not> .. reserve|without .. registration|no registration",
    ),
    near(
        "together or each for himself",
        "pooled|pool|shared among|split among|divided among|split evenly|divided equally|shared equally|jointly|collectively|into one pot|common fund|common purse|goes to all|belong to all|belongs to all",
        "each ... keep|each ... keeps|every ... keeps|each .. his own|each .. own|for himself|for herself|for themselves|separately|individually|keep what|keeps what|whoever .. keeps",
    ),
    near(
        "chosen or assigned",
        "<be> assigned|<be> allocated|<be> allotted|assigned by|fixed by|prescribed|is told which|are told which|determined by|decided by|laid down by|<be> given",
        "free choice|free to choose|choose .. themselves|choose .. himself|choose .. freely|chooses .. freely|freely chosen|of their choice|of his choice|of her choice|whichever they|wherever they|whatever they|as they like\
        |as they please|at will|pick .. own|pick .. themselves|choose .. own|choose their|chooses his|chooses her|free seating|sit where",
    ),
    topic(
        "whether it may be passed on",
        "not transferable|non-transferable|personal to|tied to the person|tied to one|<not> .. passed on|<not> .. pass .. on|<not> .. given to|<not> .. lend|<not> .. lent|<not> .. resell|<not> .. resold|<not> .. transfer|strictly personal|<not> .. hand .. on|<not> .. sell on",
        "<be> transferable|pass .. on|passed on|<may> .. lend|<may> .. give .. to|<may> .. given to|resell|resold|<may> .. transfer|used by others|<may> .. used by another|handed on|hand .. on to|swap|swapped",
    ),
    topic(
        "whether money comes back",
        "non-refundable|nonrefundable|<not> refund|<not> .. refund|<not> .. money back|<not> .. paid back|<not> .. reimburse|<not> .. given back|<not> .. returned|forfeit|forfeited|<be> lost",
        "<be> refunded|full refund|get ... back|gets ... back|paid back|pay .. back|pays .. back|money back|<be> reimbursed|reimbursement|<may> .. refund|<be> returned|is credited|are credited|a refund",
    ),
    near(
        "whether it goes on by itself",
        "ends by itself|end by itself|ends automatically|ends without|end without|<not> .. renew|<not> .. extend|<not> .. prolong|<not> .. extension|runs out by itself|<be> final",
        "renews|renewed|renew|<be> extended|extends|<be> prolonged|continues|goes on|another year|another <unit>|further <unit>|unless .. cancel|tacitly",
    ),
    topic(
        "how people are addressed",
        "formally|formal address|address .. surname|addressed .. surname|title and surname|family name only|surname only|polite form|greet .. surname",
        "address .. first name|addressed .. first name|greet .. first name|by .. first name|first-name terms|informally|by nickname|as among friends|christian name",
    ),
    near(
        "when it is paid",
        "in advance|up front|upfront|prepaid|beforehand|before delivery|before .. shipped|before .. begins|when booking|on booking|at booking",
        "after delivery|afterwards|in arrears|on delivery|after receipt|on account|at the end|after .. ended|after .. over|after .. visit|when leaving|on departure|at departure|by invoice|at the gate|on arrival",
    ),
    near(
        "chosen or drawn",
        "chosen by|selected by|picked by|decided by|by merit|by points|best <person>|appointed by|by the jury",
        "by lot|drawn|at random|randomly|lottery|by dice|by chance|tossed",
    ),
    topic(
        "elected or appointed",
        "<be> elected|elected by|elect .. from|by election|by vote|by ballot|voted in|vote for|choose by vote|<be> chosen by the members",
        "<be> appointed|appointed by|appoints|<be> nominated by|named by the|<be> named by|installed by|inherits|drawn by lot|by lot",
    ),
    topic(
        "how votes are cast",
        "secret ballot|in secret|secretly|anonymous vote|ballot box|<be> secret|ballot papers|<not> .. how .. voted",
        "show of hands|by hand sign|openly|by acclamation|raise .. hand|raising .. hand|roll call|by name|aloud|in the open",
    ),
    topic(
        "how many must agree",
        "unanimous|unanimously|all members agree|everyone agrees|<every> .. must agree|<every> .. has to agree|all .. agree|veto|without a single objection|consensus",
        "majority|more than half|two thirds|simple vote|half of the|outvoted|most votes",
    ),
    near(
        "with or without an audience",
        "in public|open to the public|<be> public|guests are welcome|visitors are welcome|anyone may attend|anyone may listen|audience|in front of",
        "behind closed doors|in private|closed session|<not> public|without .. audience|excluding the public|<not> open to|among themselves|no visitors|no guests|no audience",
    ),
    near(
        "paid or unpaid work",
        "unpaid|honorary|without pay|without payment|for no money|<not> .. paid|no wage|no pay|no salary|voluntarily|without remuneration|for nothing",
        "an hour|per hour|hourly|wage|salary|<be> paid|<person> paid|gets .. euros|get .. euros|receive .. euros|receives .. euros|remuneration|allowance|earn|earns",
    ),
    near(
        "alone or accompanied",
        "always accompanied|accompanied by|<not> .. alone|<not> .. unattended|<not> .. unaccompanied|under supervision|supervised|in pairs|with an adult|never alone|escorted|only with .. escort",
        "unaccompanied|unsupervised|without supervision|without .. escort|alone|on their own|by themselves|unescorted|without .. adult|without .. company",
    ),
];

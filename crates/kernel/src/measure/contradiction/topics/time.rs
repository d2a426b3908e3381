//! When, how long, how often, in which order, how much; what is kept and what is deleted.

use super::super::cues::{Topic, near, topic};

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    (
        "unit",
        "second minute hour day week month year quarter fortnight night",
    ),
    (
        "short",
        "second seconds minute minutes ms millisecond milliseconds s moments",
    ),
    (
        "slow",
        "day morning week month evening night weekend quarter year monday tuesday wednesday thursday friday saturday sunday noon midnight",
    ),
    ("newest", "newest latest youngest"),
    ("oldest", "oldest earliest"),
    (
        "highest",
        "highest largest biggest dearest heaviest longest",
    ),
    ("lowest", "lowest smallest cheapest lightest shortest"),
    ("top", "top head beginning front"),
    ("bottom", "bottom last end"),
    (
        "gather",
        "collect gather batch bundle pool accumulate queue hold park buffer defer postpone delay withhold",
    ),
    (
        "cache",
        "cache redis varnish memcached buffered precomputed",
    ),
    (
        "fresh",
        "fresh freshly afresh anew newly recalculated refetched",
    ),
    (
        "times",
        "two three four five six seven eight nine ten several many multiple twelve dozen",
    ),
    (
        "part",
        "step stage phase wave portion instalment tranche section group",
    ),
    (
        "gone",
        "delete erase purge wipe remove discard destroy drop overwrite vanish disappear forget thrown clear shred prune lost",
    ),
    (
        "answer",
        "answer reply respond return response confirm acknowledge come",
    ),
    (
        "done",
        "done ready finished complete completed stored written saved posted processed sent booked over through",
    ),
    ("expire", "expire lapse end invalid timeout outdated void"),
    (
        "measure",
        "number kilogram kilo gram euro cent percent degree minute metre hour second point unit litre kilometre centimetre millimetre dollar pound day kg figure",
    ),
    ("stop", "stop pause rest sleep halt interrupt"),
    (
        "undo",
        "restore recover undo undone retrieve reverse revert resurrect reinstate undelete bring",
    ),
];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[
    topic(
        "which comes first",
        "<newest> .. first|<newest> .. <top>|<newest> .. at the <top>|<newest> .. on <top>|from <newest>|from the <newest>|<newest> to .. <oldest>|begin with .. <newest>|start with .. <newest>|most recent first|most recent .. <top>|begin with .. most recent|start with .. most recent|descending|<oldest> .. last|<oldest> .. <bottom>|<oldest> .. at the <bottom>|in reverse|new ones first|backwards in time|from new to old|new to old",
        "<oldest> .. first|<oldest> .. <top>|<oldest> .. at the <top>|<oldest> .. on <top>|from <oldest>|from the <oldest>|<oldest> to .. <newest>|begin with .. <oldest>|start with .. <oldest>|ascending|<newest> .. last|<newest> .. <bottom>|<newest> .. at the <bottom>|in chronological|chronologically|most recent last|most recent .. <bottom>|old ones first|forwards in time|old to new",
    ),
    topic(
        "which comes first",
        "<highest> .. first|<highest> .. <top>|<highest> .. at the <top>|<highest> .. on <top>|<highest> to .. <lowest>|begin with .. <highest>|start with .. <highest>|most expensive first|most expensive .. <top>|<lowest> .. last|<lowest> .. <bottom>|<lowest> .. at the <bottom>|large to small|high to low|descending|z to a",
        "<lowest> .. first|<lowest> .. <top>|<lowest> .. at the <top>|<lowest> .. on <top>|<lowest> to .. <highest>|begin with .. <lowest>|start with .. <lowest>|least expensive first|<highest> .. last|<highest> .. <bottom>|<highest> .. at the <bottom>|small to large|low to high|ascending|a to z",
    ),
    near(
        "how many times",
        "exactly once|only once|just once|once only|once and|at most once|exactly one|one single|a single time|one time|<not> more than once|<not> more than one|<not> .. twice|<not> .. again|<not> .. second time|<not> .. repeat|<not> .. retry|<not> .. reuse|<not> .. a second|one .. and <not> more|one .. only|only one|at most one|<not> .. anew|one attempt|a single attempt|first attempt only|a single|single use|once $|once per|once in|one .. per|single-use",
        "<times> times|twice|again|repeat|repeatedly|second time|third time|as often as|any number|as many times|more than once|every time|each time|retry|reuse|anew|until .. succeed|until .. work|over and over|once more|<times> attempts|up to .. times|further attempts|another attempt|as many .. as|unlimited number|any number of times|unlimited|every <unit>|at every|at each|on every|on each|with every|with each|after every|after each|before every|before each",
    ),
    near(
        "when it happens",
        "at once|immediately|instantly|straight away|right away|without delay|the moment|on the spot|as soon as|the instant|within .. <short>|in real time|real-time|less than .. <short>|under .. <short>|within .. hour|<not> .. wait|later than .. <short>|promptly|most .. <short> after|<short> after|same minute|same second|without waiting|the same day|same hour|most .. <short>|while .. wait|then and there|without .. delay|at the same time as|very moment|the second the|the minute the|this very|on the day they|on the day it|on the day the|on the same day|same evening|same night",
        "next day|next morning|following day|following morning|next working|next week|next run|next night|next month|once a <unit>|once an hour|once per <unit>|<not> .. until|<not> .. before|only after|only once|<gather> .. and|<be> <gather>|in batches|overnight|at night|nightly|night run|end of .. <slow>|every <slow>|each <slow>|every .. minutes|every .. hours|every .. days|weekly|monthly|daily|at the earliest|wait for|wait until|wait at least|wait .. before|held back|with .. delay|in the evening|at midnight|<unit> later|later|hours after|days after|the day after|<gather> until|first .. approved|<gather> for|<unit> old|quarter of an hour|end of the|from the following|following <slow>|next <slow>|from next|from <slow> on|from the next|maintenance window",
    ),
    near(
        "without delay",
        "without delay|immediately|at once|instantly|straight away|right away|without waiting|<not> .. wait|on the spot|the instant|the moment|as soon as|without .. delay|very moment|the second the|the minute the",
        "<unit> after|<unit> later|after .. <unit>|wait .. <unit>|with .. delay|delay of|delayed|delay by|pause of|hold .. for .. <unit>|following <slow>|next <slow>|from the following|next .. window",
    ),
    near(
        "whether it waits",
        "synchronous|synchronously|wait for|wait until|block until|same response|same request|same call|same connection|before .. <answer>|only then|<answer> .. when .. <done>|<answer> .. after .. <done>|<answer> .. once .. <done>|<answer> .. only when|<answer> .. only after|<answer> with .. result|<not> .. <answer> until|<not> .. <answer> before|stay open until|directly in .. response|waits",
        "asynchronous|asynchronously|in the background|<answer> .. immediately|<answer> .. at once|<answer> .. straight|<answer> .. right away|<answer> .. without waiting|<not> .. wait|after .. has answered|after .. answered|after the response|after the answer|queue|fetch .. later|follow .. later|poll|job id|job number|ticket number|callback|webhook|later by|sent later|fire and forget|without waiting|separate request|second request|follow by|delivered later",
    ),
    topic(
        "whether it is kept",
        "<not> .. <gone>|<save> .. unlimited|<save> .. indefinitely|<save> .. for ever|<save> .. forever|<save> .. permanently|<save> .. for good|<save> .. without end|all .. <be> <kept>|every .. <be> <kept>|<be> never lost|stay .. available|remain .. available|stay .. for ever|stay in the|remain in the|full history|complete history|whole history|all earlier versions|for all time|<save> .. for life|<not> .. out of|without .. limit|without any .. limit|without end|unlimited time",
        "<be> <gone>|<gone> .. after|<gone> .. older|<gone> every|<gone> .. as soon|<gone> .. when|<not> .. kept|<not> .. retained|<not> .. archived|replaces the|<gone> at|gone after|gone for good|<not> .. history|only the last|only the latest|only the <newest>|<gone> from|<gone> without trace|<save> none|destroyed|<gone> two|<gone> .. later",
    ),
    near(
        "whether it can be undone",
        "<not> .. <undo>|irreversible|irrevocable|irrevocably|gone for good|<be> final|<gone> for good|<not> .. way back|<not> .. brought back|<not> .. taken back|<not> .. reopened",
        "<may> .. <undo>|<may> .. brought back|<may> .. taken back|reversible|recycle bin|waste bin|trash|<be> <undo>|<undo> button|<may> .. reopened|<may> .. cancelled",
    ),
    topic(
        "caching",
        "<not> .. <cache>|<fresh> from|always .. <fresh>|<fresh> .. each|<fresh> .. every|every .. <fresh>|each .. <fresh>|<not> .. held in between|<not> .. in between|compute .. <fresh>|each .. anew|<not> .. intermediate storage|<not> .. buffer|goes .. to the origin|on every request|at every request|with every request|for every request|with each call|for each call|at each call|directly from the source|<not> .. older than|no-store|bypass",
        "<be> <cache>|<cache> .. for|from .. <cache>|in .. <cache>|<kept> .. and reused|reuse .. for|<kept> in memory for|<kept> for .. <short>|<kept> for .. hours|held in .. for|<cache> .. expire|a <cache> of|with a <cache>|<cache> it|refreshed every",
    ),
    topic(
        "one after the other",
        "one after|one by one|one at a time|strictly one|sequential|serial|serially|single thread|single-threaded|<not> .. <parallel>|<not> .. same time|never two|never more than one|in turn|only one .. at|next .. only when|next .. only after|<not> .. side by side|<not> .. overlap|single file",
        "<parallel>|at the same time|side by side|<times> .. at once|<times> at a time|concurrent|<times> threads|<times> workers|<times> processes|<times> .. same time|all together|overlap|thread pool|multi-threaded|on all cores|all cores",
    ),
    near(
        "in which order",
        "in the given|given order|fixed order|prescribed order|in this order|strict order|set order|in sequence|given sequence|fixed sequence|prescribed sequence|order <be> fixed|strictly in",
        "in any order|any order|any sequence|order .. <not> matter|order .. free|<not> .. order|whatever order|order of their choice|freely chosen order|in random order|order .. chosen",
    ),
    near(
        "which day",
        "first day of|first of the month|first of each|beginning of the|start of the|first <slow> of|begin of",
        "last day of|end of the|last of the month|last of each|last <slow> of|middle of the|15th of",
    ),
    near(
        "in one go",
        "all at once|in one go|in one step|in one night|in one day|single step|big bang|in a single|at one stroke|everywhere at the same time|for all .. same time|on one day|on the same day|one .. weekend|in one piece|as a whole",
        "in <times> <part>|in <part>|<part> by <part>|gradually|bit by bit|little by little|one <part> after|over <times> months|over <times> weeks|over .. months|over .. weeks|pilot .. first|first .. then|piece by piece|shop by shop|in <times> parts|spread over|one after another|in turn",
    ),
    near(
        "how exact it is",
        "whole <measure>|whole numbers|without decimal|no decimals|<not> .. decimal|integer|to whole|full <measure> only|nearest whole|<not> .. fraction|32-bit|single precision|float32|32 bit|without .. decimal",
        "<times> decimal|one decimal|decimal places|with decimals|to the cent|hundredth|thousandth|tenth of|fraction of|<times> digits after|double precision|float64|64-bit|64 bits|<times> places|a decimal",
    ),
    topic(
        "how long it is valid",
        "<not> .. <expire>|valid .. for ever|valid forever|valid .. indefinitely|valid .. unlimited|unlimited validity|no expiry|no end date|for life|lifelong|unlimited in time|<not> .. run out|<not> .. time out|<not> .. renewed|without .. time limit|without expiry|valid without",
        "<expire> after|<expire> on|<expire> at|<expire> .. <unit>|valid for|valid until|time out|run out|be renewed|renewed every|<unit> .. inactivity|valid .. <unit>|good for .. <unit>|lose .. validity|end date|<expire> with",
    ),
    topic(
        "whether it pauses",
        "never <stop>|never .. switched off|never .. turned off|never .. shut|continuously|all night|all the time|round the clock|around the clock|24/7|day and night|permanently on|without interruption|without a break|uninterrupted|always on|at all times|non-stop|always running|always run|<not> .. <stop>|without .. pause|whole night|every hour of the day",
        "<be> switched off|<be> turned off|<be> shut down|switch off|go off|goes out|go out|off .. night|<stop> .. night|<be> paused|<stop> for|<stop> between|<stop> from|closed .. night|shut down .. every|shut down at|off between|off from|break of|<stop> every|<be> stopped|rest between|off for",
    ),
    topic(
        "who goes first",
        "in the order|in order of|first come|order of arrival|as they arrive|as they come|fifo|in turn|strictly in|nobody .. preferred|<not> .. overtake|<not> .. jump|<not> .. <priority>|<not> .. preference|same for all|in sequence|first in",
        "<priority>|overtake|to the front|ahead of|before all|before the others|jump|express|preferred|served first|handled first|processed first|goes first|go first|come first|comes first|done first|most urgent|ahead|skip the queue|skips the queue|top of the queue|before everyone|by importance|by urgency",
    ),
    topic(
        "time zone",
        "<save> .. utc|<be> .. utc|are .. utc|in utc",
        "<save> .. local time|<save> .. central european|local time of|<save> .. cet|<be> .. local time|<be> in cet|hold .. local time|stored .. summer time|written .. local time|in local time",
    ),
];

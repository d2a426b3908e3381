//! What is used, where it is, in which form or state, on or off, with or without.

use super::super::cues::{Topic, joined, topic, whole};

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    (
        "net",
        "network networks internet connection connections connectivity reception coverage wifi wi-fi wlan uplink broadband lte modem web outside-world",
    ),
    (
        "reach",
        "open use need reach access touch contact establish require have get set make see call go connect depend rely want assume",
    ),
    (
        "parted",
        "cut isolated separated disconnected detached sealed severed decoupled unplugged shielded",
    ),
    (
        "fetch",
        "fetch download retrieve load pull query request ask look get obtain check validate verify compare receive read stream take compute calculate identify recognise",
    ),
    (
        "remote",
        "server servers api online website web-site cloud portal backend endpoint web register provider vendor maker hub broker saas data-centre datacentre internet",
    ),
    (
        "dep",
        "dependency library crate package gem framework third-party requirement add-on",
    ),
    (
        "disk",
        "disk disc card drive filesystem file flash stick ssd hdd eeprom folder harddisk",
    ),
    (
        "earlier",
        "previous earlier last former past prior preceding",
    ),
    (
        "call",
        "call request job run message query visit session task invocation order ticket conversation caller",
    ),
    (
        "memory",
        "memory ram map cache dictionary heap variable table array list buffer folder",
    ),
    ("forget", "forget forgets forgotten drop discard lose"),
    ("rest", "stay remain keep hold"),
    (
        "mend",
        "merge correct fix repair complete fill mark flag insert add write delete remove update move rename clean tidy replace reassign assign set reset clear append enter edit change alter modify overwrite normalise adjust amend",
    ),
    (
        "alter",
        "change modify edit alter update correct amend adjust revise touch",
    ),
    (
        "first",
        "first start beginning outset installation install installed new fresh delivery delivered factory box setup launch",
    ),
    (
        "lit",
        "enabled active activated ticked checked preselected pre-ticked switched-on",
    ),
    (
        "dark",
        "disabled inactive deactivated unticked unchecked switched-off",
    ),
    (
        "raise",
        "rise rises raised lift lifts lifted opens open opened unlock unlocks unlocked release releases released extends",
    ),
    ("shown", "show display print present output give"),
];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[
    joined(
        "network access",
        "<not> <net>|no signal|without .. signal|<not> mobile <net>|<net> .. <not> available|<net> .. <not> allowed|<net> .. <not> permitted|<net> .. <not> be used|<net> .. <not> used|<net> .. forbidden|<net> .. <not> exist|no outside <net>|no outgoing <net>|no data <net>|no working <net>|no kind of <net>|not any <net>|<not> .. <reach> .. <net>|without .. <net>|without mobile|<parted> .. from .. <net>|<parted> off from|<parted> from the outside|<not> connected to|<not> .. attached to .. <net>|flight mode|airplane mode|aeroplane mode|dead zone|far from any|out of reach of|out of range|outside .. coverage|off the grid|radio silence|air gap|<not> .. go online|<not> .. phone home|<not> .. <net> is used|<not> .. <net> .. available|no link to the outside|self-sufficient|<net> .. <be> unplugged",
        "<fetch> .. from .. <remote>|<fetch> .. at .. <remote>|<fetch> .. <remote> .. for|<fetch> .. online|online service|online <fetch>|<fetch> online|by the server|over .. mobile|over .. <net>|via .. <net>|by lte|via lte|by satellite|via satellite|by gsm|over gsm|google drive|web site|web service|asks the server|<remote> .. <be> asked|<send> .. to .. <remote>|report .. to .. <remote>|ask .. <remote>|licence server|license server|to the head office|to headquarters|to the cloud|in the cloud|live .. from|over mqtt|by mqtt|to the central|from the central|map service|weather service|remote server|stream to|by push|<remote> decides|<remote> computes",
    ),
    joined(
        "outside dependencies",
        "only .. standard library|standard library .. only|nothing .. standard library|<not> .. beyond .. standard|<not> .. besides .. standard|<not> .. outside .. standard|<not> but .. standard|solely .. standard library|what .. ships with|what .. comes with|what .. brings|what .. includes|<not> .. third-party|<not> .. third party|free of .. <dep>|without foreign|without .. code|only .. ship with|only .. ships with|only .. come with|only .. comes with|free from .. <dep>|without .. <dep>|without any <dep>|<not> list any <dep>|<not> .. external <dep>|<not> .. foreign <dep>|<not> .. outside <dep>|<not> .. on .. <dep>|<not> need .. <dep>|<not> pull .. in|built-in .. only|only built-in|on-board means|<not> <dep> .. <be> used|<not> <dep> .. allowed",
        "from pypi|from crates.io|from npm|from maven|from nuget|from the registry|on github|npm module|third-party .. <be> used|vendored",
    ),
    joined(
        "storage",
        "<not> .. <save> .. <disk>|<save> no data|<save> no file|<save> no personal|leave no file|leave no trace|<not> create .. file|<not> .. file .. written|<not> .. file .. created|<not> file|leave nothing|<not> .. <save> anything|<save> nothing .. <disk>|nothing .. <save> .. <disk>|<not> .. to disk|diskless|<not> .. touch .. <disk>|<not> leave .. trace|<not> leave .. file|<not> .. <disk> .. <be> written|nothing .. reach .. <disk>",
        "append to|<save> .. in a <disk>|<save> .. in the <disk>|<save> .. on .. <disk>|<save> .. to .. <disk>|written to|<save> .. into .. <disk>|write a file|write a log file|write a .. file|create a .. file|temporary file",
    ),
    joined(
        "write access",
        "<only> read|may only look|<only> .. read access|<only> has read|<only> .. select|<only> .. reading|reading only|<only> allow reading|<only> be read|<only> ever read|<only> .. queried|nothing .. <alter>|leave .. untouched|leaves .. untouched|left untouched|<not> .. touched|<not> .. touch|no write|<not> write to|<not> write anything|<not> .. write access|off limits|closed for writing|<not> .. writing|select .. only|select rights|left as|<not> <alter>|<not> .. <alter> by|hands off|stay as they are|stays as it is|remains as it is|<be> left alone|looks but|<not> .. <be> <alter>|<not> .. altered",
        "merge|put right|up to date|set to|<delete> from|<be> <delete>|add .. column|fill in|<be> marked|<be> flagged|cleans up|<mend> .. in the|<mend> .. from the|<mend> .. of the|<mend> .. to the table|brings .. up|<be> filled|<be> merged|<be> entered|gets a column|<save> as .. files|<save> .. inside the|<save> .. into the",
    ),
    topic(
        "state",
        "stateless|<save> nothing|<save> no|<save> no data|nothing .. <save> .. between|<forget> everything|<forget> all|without any stored|without stored|without .. state|<not> .. remember|<not> .. memory of|<not> .. state|knows nothing|nothing .. survives|from a clean|starts .. clean|starts .. empty|starts .. fresh|as if .. first|independent of .. <earlier>|independent of <earlier> <call>|<not> .. <save> .. between|nothing .. carried over|without memory|<save> .. nothing",
        "remember|in .. <memory> between|in its <memory>|in ram|in the ram|ram of|local <memory>|in .. memory|in process|<earlier> <call>|<earlier> .. <call>|the <earlier> ones|<save> the <earlier>|of the <earlier>|table of the node|own <memory>|between .. <call>|across <call>|from one <call>|the next <call>|learns from|keeps track|counts how|knows from|<save> .. <earlier>|continues .. from|where .. left off|in-memory|in a local",
    ),
    topic(
        "whether it is removed",
        "<not> .. <delete>|<not> .. removed|<not> .. disappear|nothing .. <delete>|<rest> .. even|<not> .. lose|<not> .. lost|<not> .. thrown",
        "<be> <delete>|<delete> from|<delete> .. from all|<delete> .. from the|<be> dropped|disappear|<delete> it|<delete> them|<delete> that|<delete> all|<delete> old|<delete> every|<delete> the|<delete> .. older|<delete> .. that|<delete> .. without|<delete> .. from|<be> emptied|cleared out|gets <delete>",
    ),
    topic(
        "on or off at first",
        "<be> on for|<be> on from|on by default|<be> on when ... first time|on when .. <first>|on after <first>|<first> .. switched on|<first> .. turned on|starts with .. on|start with .. switched on|<lit> .. default|<lit> from|default .. <lit>|<lit> .. <first>|<first> .. <lit>|unless .. switch them off|unless .. switch it off|unless .. switches .. off|unless .. turn .. off|unless .. turns .. off|until .. switch .. off|until .. turns .. off|default is on|defaults to on|on unless|opt-out|opt out|<be> on right|run from the <first>|work from the <first>|record from the <first>|<lit> from the <first>|on at <first>|on straight away|on out of the box|switched on <first>|unless .. object|unless .. objects",
        "off by default|<be> off when ... first time|<be> off ... newly|off when .. <first>|off after <first>|<first> .. switched off|<first> .. turned off|starts with .. off|start with .. off|start with .. switched off|<dark> .. default|<dark> from|default .. <dark>|<dark> .. <first>|<first> .. <dark>|unless .. switch .. on|unless .. turns .. on|until .. turn .. on|until .. switch .. on|until .. switches .. on|off until|default is off|defaults to off|off unless|opt-in|opt in|<be> off from|off at <first>|off out of the box|<be> off for|only if .. switched .. on|<must> .. switched on|<must> .. switch .. on|<must> .. turned on|only when .. agree|only <lit> if|only <lit> when|only <lit> after|<only> .. with .. consent|only if .. agree|only after .. agree",
    ),
    topic(
        "up or down",
        "go up|goes up|moves up|<raise> by itself|<be> raised|swing open|swings open|<rest> up|<rest> raised|spring open|come up|drive up",
        "<rest> down|<rest> closed|<rest> shut|<rest> lowered|<rest> locked|go down|goes down|<be> lowered|come down|falls shut|lock itself|drop down",
    ),
    topic(
        "whether it moves",
        "close by itself|closes by itself|opens by itself|open by itself|goes up|goes down|moves to|drives to|starts by itself|stops by itself|turns to|shuts by itself|switches to|<be> closed|<be> opened|<be> stopped",
        "stays as it is|stay as they are|stays where it is|remains as it is|remain as they are|keeps its position|<not> move|does nothing|<rest> in .. position|nothing happens|<not> .. react|stays put|remains where",
    ),
    topic(
        "running or stopped",
        "<rest> running|keeps running|go on running|goes on|keep working|runs on|continue to run|continues to run|<not> .. stop|<not> .. interrupted|<be> running|carry on|carries on",
        "<be> off|<be> stopped|stands still|stand still|<rest> off|<be> switched off|switches off|stop at once|stops at once|<be> halted|<rest> stopped|<be> shut down|<not> run|comes to a stop",
    ),
    topic(
        "what it does then",
        "<raise>|go up|goes up|swing open|swings open",
        "<rest> down|<rest> closed|<rest> shut|<rest> lowered|<rest> locked|go down|goes down|lock itself|is locked|are locked|is closed|are closed",
    ),
    topic(
        "what it does then",
        "close|lock|shut|go down|goes down",
        "<rest> open|<rest> up|<rest> raised|<rest> unlocked|<rest> released|is open|are open|is unlocked|are unlocked",
    ),
    topic(
        "what it does then",
        "run|runs|start|starts|<rest> running|<rest> on|go on|goes on|continue|burn|flash|light up|lights up|<be> running|<be> started|is switched on|are switched on|rings|sounds",
        "stop|stops|<be> off|<rest> off|switch off|switches off|turn off|turns off|go out|goes out|halt|stand still|stands still|<be> stopped|<rest> dark|<rest> silent|<rest> still|<be> switched off|is dark",
    ),
    topic(
        "decimals",
        "in whole|without decimals|no decimals|without decimal|no decimal|rounded to whole|whole numbers|as integers|to the full|in full euros|without cents|no fractions",
        "decimal places|two decimals|one decimal|three decimals|with decimals|to the cent|with cents|tenths|hundredths|a decimal|after the comma|after the point|decimal place",
    ),
    joined(
        "mail",
        "<not> <send> .. mail|<not> .. <send> mail|no mail|without .. mail",
        "mail go|a mail|<send> .. mail to|<be> mailed|by mail|mail .. <be> <send>|mail .. arrives|receive .. mail|gets .. mail|get .. mail",
    ),
    joined(
        "sound",
        "<rest> silent|<be> silent|<not> beep|no loudspeaker|<not> .. make .. sound|<not> .. make .. noise|<not> .. be heard|no sound|without .. sound|<not> ring",
        "tone sound|melody|alarm tone|beep|bell .. ring|<be> announced|plays .. sound|play .. tone|warning tone|<be> spoken|gong|jingle",
    ),
    joined(
        "storage",
        "<not> in .. database|<not> in a database",
        "in .. database",
    ),
    joined(
        "chance",
        "identical on|identical .. run|<same> .. every time|<same> .. each time|<same> .. every run|<same> .. each run|always the same|<same> on every|<same> on each",
        "differ .. each|differ .. every|differ from|random order|vary from|change .. each run|new .. each run",
    ),
    joined(
        "JavaScript",
        "no script|without script|without any script|<not> contain .. script|script .. switched off|script .. turned off|script .. disabled|javascript .. <not> .. used|javascript .. forbidden|javascript .. <not> allowed|javascript .. blocked|<not> .. javascript",
        "need javascript|require javascript|javascript widget|by javascript|in javascript|with javascript|a script in|script .. browser|javascript .. page|javascript .. draw|javascript .. compute",
    ),
    joined(
        "colour",
        "black ink|black only|<mono> .. only|only .. black|<not> .. <colour>",
        "full-colour|full colour|<colour> photo|<colour> picture|<colour> print|in .. colours",
    ),
    whole(
        "time zone",
        "<save> .. utc|<save> .. gmt|<save> .. universal time|times .. <be> utc|timestamps .. utc",
        "<save> .. local time|<save> as .. local time|<save> .. european|<save> .. summer time|times .. <be> local|timestamps .. local|<save> .. cet|<save> .. wall clock",
    ),
    whole(
        "the build of a library",
        "header-only|headers only|only headers|nothing to compile|nothing to link|single header",
        "link .. against|linked against|compiled library|shared library|static library|has to be linked|must be linked",
    ),
    whole(
        "camera and microphone",
        "camera .. forbidden|camera .. <not> .. used|camera .. <not> allowed|microphone .. forbidden|microphone .. <not> .. used|no camera|without .. camera|<not> .. camera|no microphone|without .. microphone|<not> .. microphone|<not> .. record .. sound|<not> .. filmed|<not> .. photographed",
        "camera .. record|by camera|with .. camera|the camera|a camera|microphone .. record|with .. microphone|by microphone|the microphone|is filmed|are filmed|listens for|webcam|takes a photo|take a photo",
    ),
    whole(
        "cookies",
        "cookie .. <not> .. set|cookie .. <not> .. used|cookie .. forbidden|no cookie|no cookies|without cookies|without .. cookie|<not> .. cookie|cookie-free|cookieless",
        "in a cookie|in the cookie|by cookie|a cookie .. set|sets a cookie|session cookie|with a cookie|by a cookie|the cookie|cookies .. <be> set|cookie .. holds|cookie .. keeps",
    ),
];

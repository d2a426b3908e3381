//! Families of opposites: two sides, each with its cues (written as in `cues`).

use std::sync::OnceLock;

/// What two statements must share before a family makes them a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A subject word in common.
    Shared,
    /// Most of the shorter statement's words in common.
    Close,
    /// Nothing, unless a statement is about a part only: it holds for the whole.
    Whole,
    /// More than half of the shorter statement's words: for plain antonyms.
    Near,
}

/// A family of opposites.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    /// What the family is about, as the question names it.
    pub name: &'static str,
    pub scope: Scope,
    /// A negated cue of one side counts as the other side.
    pub flips: bool,
    pub a: &'static str,
    pub b: &'static str,
}

pub(super) const fn family(
    name: &'static str,
    scope: Scope,
    flips: bool,
    a: &'static str,
    b: &'static str,
) -> Family {
    Family {
        name,
        scope,
        flips,
        a,
        b,
    }
}

use Scope::{Close, Shared, Whole};

/// The first families of opposites; `opposites` has more. Order is the order of their numbers.
const FAMILIES: &[Family] = &[
    family(
        "timing",
        Shared,
        true,
        "synchronous|synchronously|blocking|blocks until|waits for the answer|waits for the result|waits until the answer|inline",
        "asynchronous|asynchronously|non-blocking|nonblocking|fire-and-forget|in the background|through a queue|later in the background|via a queue|over a queue|put on a queue|background job|background task|does not wait",
    ),
    family(
        "state",
        Shared,
        true,
        "stateless|no state|keeps no state|holds no state|without state|stores no state|no session state|no server-side state|no server-side session",
        "stateful|session state|the previous|from the last|earlier requests|last request|earlier calls|previous call|across calls|across requests|in memory between|between requests|between calls|sticky sessions|sticky session|server-side session|server-side sessions|keeps the session|in its memory|remembers|in the session|session store|in process memory|keeps per-user state|local session",
    ),
    family(
        "write access",
        Shared,
        false,
        "read-only|readonly|read only|changes nothing|alters nothing|moves nothing|writes nothing|touches nothing|deletes nothing|leaves everything as it is|changes no|modifies nothing|nothing is changed|nothing is moved|only reads|only ever reads|only reading|reads only|never writes|must not write|no write access|no writes|never modifies|never modify|must not modify|must not change|does not change|not be changed|not be modified|stays untouched|stay untouched|no changes to|without changing|select only|select statements only",
        "~write|~modify|~update|~edit|~delete|~insert|~overwrite|~alter|~truncate|writes back|write back|~correct|~rename|~append|~drop|~change|~move|is set to|are set to|sets the",
    ),
    family(
        "visibility",
        Shared,
        true,
        "public|publicly|everybody on the internet|everyone on the internet|anyone on the internet|the whole world|everybody can see|anyone can see|anybody can see|everyone can see|to the public|for anyone to|open to the public|publicly available|open to anyone|open to all|visible to everyone|visible to all|visible to anyone|accessible to anyone|accessible to everyone|for everyone|to the internet|without authentication|no authentication|unauthenticated|without logging in|world-readable|anyone can read|everyone can read|anyone can see|everyone can see",
        "private|privately|internal only|only after login|after login|only with a login|after logging in|internal network only|intranet only|only from the cluster|only from the intranet|confidential|secret|authenticated|authentication|behind a login|behind the login|login required|requires a login|requires login|requires authentication|vpn only|only over the vpn|only through the vpn|restricted|signed-in|logged-in|not visible to|only visible to|visible only to|only admins|only administrators|admins only|bearer token",
    ),
    family(
        "whether it is required",
        Shared,
        true,
        "required|mandatory|compulsory|obligatory|needs a value|need a value|must have a value|must be filled|has to be filled|must not be empty|must not be blank|never empty|always filled|must be present|has to be present|have to be present|has to be given|have to be given|have to state|has to state|must state|must be stated|must give|have to give|has to give|must enter|have to enter|has to enter|must name|have to name|has to name|has to be filled|has to contain|must contain|must have|always has|always have|always carries|is needed|are needed|must be attached|has to be attached|has to be set|must fill|must be given|must be filled|must be filled in|must be present|must be set|must be supplied|must be provided|must always be|must have a|always present|always filled|not null|may not be empty|cannot be empty|must not be empty|can't be empty|never empty|is never null|never null|non-null|must not be null|must not be blank",
        "without giving|without creating|without having|without opening|without entering|without providing|without stating|without naming|without filling|optional|left blank|stay blank|be blank|stay empty|be missing|need not|can be skipped|may be skipped|left open|not obligatory|can be left empty|may be left out|can be left out|can be omitted|may be omitted|may omit|can omit|may leave out|can leave out|may leave|can leave|may skip|can skip|is voluntary|free to give|do not have to|does not have to|may be absent|can be absent|may be dropped|without it|may be empty|can be empty|may be missing|can be missing|may be blank|can be blank|can be left blank|may be left blank|voluntary|nullable|may be null|can be null|can be skipped|may be skipped|need not be|needs not be|not needed|no need to|not necessary|may stay empty|can stay empty",
    ),
    family(
        "encryption",
        Shared,
        true,
        "encrypted|encrypt|encrypts|encryption|hashed|https only|only over https|over tls|tls only|with tls|ciphertext|aes-256|bcrypt|argon2",
        "plain text|plaintext|plain-text|unencrypted|in the clear|clear text|cleartext|in clear|plain http|unhashed|readable form|over http|readable by anyone with",
    ),
    family(
        "order",
        Shared,
        false,
        "in the order|in order|in sequence|order is kept|keeps the order|keep the order|in their order|ordered by|ascending|oldest first|smallest first|lowest first|alphabetical|alphabetically|a to z|cheapest first|earliest first|fifo|first in first out|chronological|chronologically|low to high",
        "order does not matter|in any order|any order|out of order|in parallel|descending|newest first|latest first|largest first|highest first|z to a|most expensive first|random order|reverse chronological|by lot|at random|before all others|ahead of all others|first served|by priority|jump the queue|precedence|lifo|last in first out|most recent first|unsorted|shuffled|unordered|high to low|by popularity|randomly",
    ),
    family(
        "whether it may change",
        Shared,
        false,
        "locked|read-only|immutable|append-only|append only|write-once|write once|never changed|never change|never be changed|never edited|never modified|cannot be changed|cannot be edited|cannot be modified|cannot be altered|can not be changed|must not be changed|must not be edited|may not be changed|unchangeable|tamper-proof|tamperproof|never overwritten|never overwrite|is final|are final|frozen|never updated|unchanged|as is|verbatim|kept as written|exactly as written|not altered|nothing is altered|nothing is changed|never altered|binding",
        "~replace|masked|rotated|renewed|exchanged|regenerated|rotates|redacted|~truncate|~shorten|~strip|~normalise|~normalize|~translate|~round|editable|~edit|can be changed|may be changed|can be edited|may be edited|~overwrite|in place|can correct|can be corrected|may correct|~modify|can change|may change|~change|can delete|can be deleted|~rewrite|mutable|~update|afterwards",
    ),
    family(
        "whether it is kept",
        Shared,
        false,
        "stay online|stays online|for ever|stay in the|stays in the|remain in the|remains in the|nothing is removed|nothing is deleted|nothing is thrown away|remain online|stay available|remain available|remains online|stay accessible|remain accessible|~keep forever|~keep for ever|~keep permanently|~keep indefinitely|~store permanently|~store forever|~store indefinitely|~retain forever|~retain indefinitely|never deleted|never delete|never be deleted|never removed|never purged|must not be deleted|must never be deleted|may not be deleted|is not deleted|are not deleted|archived permanently|no deletion|are kept|is kept|are retained|is retained|are archived|stay available|remains available|must be preserved|are preserved|forever|for good|indefinitely|permanently",
        "~delete|~purge|~erase|~wipe|~discard|~expire|replaces the|is replaced by|overwrites the|are overwritten|is overwritten|thrown away|~remove|taken down|take down|takes down|~withdraw|~unpublish|taken offline",
    ),
    family(
        "personal data",
        Whole,
        false,
        "anonymous|anonymously|pseudonym|pseudonyms|under a pseudonym|nickname|nicknames|initials only|anonymised|anonymized|no personal data|no personal information|no name is|not traceable|be traced to|without personal data|no personally identifiable|no names|without names|no user data|no pii|pseudonymous|no identifying|cannot be traced|no tracking|not be identifiable|personal data is never|personal data must not|must not contain personal|contain no personal",
        "with the name|names are|names of|patient names|customer names|children's names|photographer's name|personnel number|employee number|customer number|student number|matriculation number|with their name|with his name|with her name|linked to the person|verified name|verified real name|user name|username|full name|full names|names are shown|names in full|shown in full|name is shown|names appear|real name|real names|name and e-mail|name and email|name and mail|name and address|names and addresses|e-mail address|email address|mail address|e-mail addresses|email addresses|ip address|ip addresses|date of birth|phone number|phone numbers|user's name|customer's name|participant's name|identified by name|social security|first and last name|who voted|by name|user id and|home address|identity card|passport number",
    ),
    family(
        "threads",
        Shared,
        true,
        "single-threaded|single threaded|one thread|single thread|a single thread|no threads|without threads|sequentially|one after the other|one after another|one at a time|one by one|strictly in sequence|serially|never in parallel|not in parallel",
        "multi-threaded|multithreaded|multi threaded|worker threads|thread pool|in parallel|parallel|concurrently|concurrent|several threads|# threads|# workers|simultaneously|at the same time|all at once",
    ),
    family(
        "price",
        Shared,
        false,
        "free of charge|for free|free entry|free admission|free use|free access|free delivery|free shipping|free parking|no charge|no fee|no fees|costs nothing|without charge|at no cost|no cost|is free|are free|stays free|free for|nothing is charged|without payment|without paying",
        "~pay|~charge|fee|fees|costs #|cost #|# euros|# euro|# cents|~invoice for|euro per|euros per|cents for|cents per|paid plan|subscription|per month|surcharge|a price of|billed",
    ),
    family(
        "network access",
        Whole,
        false,
        "offline|without network|without a network|without any network|no network|without internet|no internet|without an internet|no connection to the internet|no internet connection|no network connection|no network access|air-gapped|airgapped|air gapped|not connected to|no outbound|no outgoing|no external calls|no external connections|no connection to the outside|no calls to the outside|never contacts|must not contact|must not connect|never connects|without connectivity|without a connection|no online|no traffic leaves|must not leave the building|must not leave the network|must not leave our network|must not leave the site|never leaves the building|never leave|never leaves|must not leave|may not leave|must never leave|do not leave|does not leave|stays on the phone|stay on the phone|never leave the building|never leaves the device|never leave the device|never leaves the network|stays on the device|stay on the device|no data leaves|isolated network|no remote|network access is forbidden|network is not available|no wifi|no wi-fi",
        "~upload|cloud|internet|central server|against the server|asks the central|on the central|loaded from|openstreetmap|from a server|live map|over the mobile network|mobile network|on our server|from our server|asks the server|on the central server|calls the server|sends to the server|server answers|online|web api|remote server|remote api|from the api|rest api|vendor's api|~download|fetched from|fetches from|fetch from|fetched live|loaded from the cdn|from a cdn|cdn|saas|over the internet|to the internet|over https|via https|live from the|streams to|syncs with|synchronised with the server|synchronized with the server|telemetry|synchronised|synchronized|synced|~sync|to the server|from the server|web service|hosted|google|openai|aws|azure|s3|datadog|twilio|sendgrid|stripe|webhook|slack|by mail|by e-mail|by email|sends an e-mail|push notification|push notifications",
    ),
    family(
        "outside dependencies",
        Whole,
        false,
        "standard library only|only standard library|only the stdlib|standard library modules|only built-in modules|built-in modules only|only the standard library|stdlib only|only stdlib|standard library and nothing|nothing but the standard library|no third-party|no third party|without third-party|without third party|no external dependencies|no external libraries|no external packages|no dependencies|no runtime dependencies|zero dependencies|zero runtime dependencies|zero third-party|without dependencies|without external dependencies|without external libraries|dependency-free|no frameworks|no framework|without a framework|without frameworks|no libraries|without libraries|no npm|no packages|vanilla|plain javascript only|no third-party modules|no additional libraries|no other libraries",
        "github.com|third-party library|third-party libraries|external library|npm install|npm package|npm packages|npm|pip install|from npm|from pypi|pypi|crates.io|maven central|nuget|@library|cargo add|go get|composer require|gem install",
    ),
    family(
        "storage",
        Whole,
        false,
        "no database|without a database|no temporary files|not create temporary files|must not create files|creates no files|no temp files|without database|no persistent storage|no persistence|nothing is stored|nothing is saved|nothing is written to disk|stores nothing|saves nothing|in memory only|only in memory|memory only|no data is stored|no data is saved|no data is kept|not stored anywhere|never stored|not persisted|never persisted|never written to disk|not written to disk|must not be stored|must not be saved|must not store|must not persist|never saved|not saved|are not stored|is not stored|no files are written|leaves no trace|writes no files|never touches the disk",
        "stored in|saved in|are written to|is written to|temporary file|saves to|saved to|stores in|stored on|saved on|written to disk|to disk|on disk|persisted|persists|database table|in a database|in the database|~archive|are stored|is stored|are saved|is saved|@database|stores the|saves the|stores all|saves all|stores every|saves every|keeps a copy|history of all|full history",
    ),
    family(
        "JavaScript",
        Whole,
        false,
        "javascript switched off|javascript turned off|javascript off|javascript disabled|disabled javascript|switched-off javascript|blocked scripts|no javascript|without javascript|no client-side javascript|no client-side script|no client-side scripts|javascript-free|works without javascript|javascript disabled|javascript is not|without any javascript|no script tags",
        "react|vue|angular|svelte|jquery|d3|in the browser by|script in the browser|client-side|by a script|in the browser with|htmx|in javascript|javascript in the browser|single-page app|single-page application|single page app|spa|client-side rendering|typescript|rendered in the browser|rendered client-side|drag and drop|by javascript|with javascript|uses javascript",
    ),
    family(
        "where it runs",
        Whole,
        false,
        "on-premises|on premises|on-premise|on premise|on-prem|no cloud|without cloud|not in the cloud|must not use the cloud|no cloud services|own servers|our own servers|own data centre|own data center|our own hardware|own hardware|self-hosted|self hosted|in our data centre|in our data center|in-house|in our server room|no third-party hosting|no us provider|stay in the eu|only in the eu|must not leave the eu|stay in germany|inside the eu",
        "@cloud|to the cloud|in the cloud|cloud storage|cloud bucket|cloud service|cloud services|cloud functions|saas|us-east-1|us-west-2|hosted by|in virginia|in the us|in the usa|american",
    ),
    family(
        "accounts",
        Whole,
        false,
        "no login|without creating an account|without opening an account|no account is|no user account|without any login|without any account|does not need authentication|do not need authentication|needs no authentication|need no authentication|authentication is not|not authenticated|no api key|without an api key|without any key|without a key|without a password|without login|without a login|without logging in|no account|no accounts|without an account|no registration|without registration|without registering|no password|no passwords|no sign-in|no sign-up|no signup|without signing in|must not create an account|need no account|needs no account|no authentication|without authentication|nobody has to log in|do not need an account|does not need an account|anonymous access|guest access only|guest checkout only",
        "authenticated|needs a login|registered account|account is needed|account is required|account is mandatory|needs an account|need an account|account is compulsory|account is necessary|login is required|login is needed|login is mandatory|needs login|needs a valid|bearer token|valid api key|requires an api key|api key is required|log in|logs in|login with|login by|login via|sign in|signs in|signed in|signed-in|with a password|password|passwords|create an account|creates an account|user account|user accounts|must register|must be registered|have to register|has to register|registered users|registered members|oauth|sso|single sign-on|two-factor|must log|logged in|logged-in|after login|credentials|their account",
    ),
    family(
        "who acts",
        Shared,
        true,
        "manually|by hand|@by-person|manual|by a person|by a human|by an employee|a person decides|a human decides|human review",
        "automatically|automatic|unattended|without human|no human|no manual|fully automated|automated|without anyone|without intervention|without any intervention|without any manual|without manual|by itself|by themselves|on its own|on their own|by a cron job|by cron",
    ),
    family(
        "approval",
        Shared,
        false,
        "without moderation|as soon as|without approval|no approval|without review|without any manual confirmation|without any confirmation|without any approval|without manual confirmation|without a second person|nobody has to confirm|nobody needs to confirm|without any review|no review|no moderation|without confirmation|no confirmation|without asking|without further checks|without check|unmoderated|at once|immediately|instantly|straight away|right away|without delay",
        "approved|approves|approve|needs a review|needs review|reviewed by|review by|needs approval|needs an approval|must be reviewed|have to be reviewed|signed by a second|has to confirm every|confirm every|confirm each|confirms each|confirms every|by hand before|second person|clerk's approval|waits for the|approval by|approval of|must be approved|moderated|four-eyes|four eyes|reviewed|confirmed by|must confirm|has to confirm|signed off|sign-off|after review|waits for|held for|released by|asks for confirmation|ask for confirmation|confirmation dialog|confirmation dialogue|delayed|with a delay|after a delay|waiting period",
    ),
    family(
        "letter case",
        Shared,
        true,
        "case-sensitive|case sensitive|exact case|upper and lower case differ|case matters",
        "case-insensitive|case insensitive|ignores case|ignoring case|ignore case|regardless of case|case is ignored|case does not matter|make no difference|makes no difference|treated alike|treated the same|treated as equal|are equal",
    ),
    family(
        "uniqueness",
        Shared,
        true,
        "once per|once a|once every|a single time|one time only|unique|no duplicates|without duplicates|only once|exactly once|at most once|no two|must not occur twice|appears once|never twice|must be unique|one per",
        "duplicates allowed|duplicates are allowed|duplicates are fine|may occur more than once|can occur more than once|may be repeated|may repeat|can be repeated|same # twice|several times|may be used twice|can be used twice|may share|can share|more than once|any number of times|multiple times|share the same|the same number|as often as|several per|at least once",
    ),
    family(
        "interruption",
        Whole,
        false,
        "no downtime|zero downtime|zero-downtime|without downtime|without interruption|without any interruption|no interruption|uninterrupted|around the clock|24/7|always available|available at all times|never be unavailable|never stops|must never stop|without stopping|must stay online|stays online|stay online|must remain available|no maintenance window|never restarted|without a restart|without restart|no restart",
        "maintenance window|~shut down|is stopped|are stopped|~stop the|taken offline|take it offline|take offline|unavailable for|unavailable from|downtime of|hours of downtime|minutes of downtime|scheduled downtime|is restarted|are restarted|restarts every|restarted every|restart every|restarts each|restarted each|reboots|reboot|switched off|is closed from|offline for|offline from|offline between|maintenance mode",
    ),
    family(
        "how many instances",
        Shared,
        false,
        "single instance|one instance|a single server|one server|single node|one node|only one process|a single process|single process|single replica|one replica|only one copy|exactly one instance|one machine|single machine|single host",
        "replicas|three instances|two instances|several instances|multiple instances|# instances|# replicas|# nodes|cluster|several servers|multiple servers|scales out|scale out|horizontally|load balancer|load-balanced|autoscaling|across # |two servers|three servers|three nodes|two nodes|instances run|instances of the|failover",
    ),
    family(
        "licence",
        Whole,
        false,
        "open source only|open-source only|only open source|only open-source|open source software only|no proprietary|no commercial|without licence fees|without license fees|no licence fees|no license fees|no licence costs|no paid|free software only|only free software|osi-approved|no closed-source",
        "oracle|matlab|sql server|proprietary|commercial licence|commercial license|licensed per|paid licence|paid license|sap|photoshop|splunk|tableau|closed-source|enterprise edition|enterprise licence|enterprise license|windows server|autocad|adobe",
    ),
    family(
        "privileges",
        Whole,
        true,
        "without root|no root|not as root|non-root|rootless|unprivileged|without admin rights|no admin rights|without administrator rights|no administrator rights|without sudo|no sudo|must not run as root|no privileged|ordinary user",
        "as root|with root|needs root|need root|requires root|root is needed|needs sudo|needs administrator|needs admin|root rights|sudo|admin rights|administrator rights|administrator privileges|privileged container|privileged mode|privileged|port 80|port 443|setuid|cap_sys_admin|/etc|root access|as administrator",
    ),
    family(
        "user interface",
        Whole,
        false,
        "command line only|command-line only|no gui|without a gui|headless|no graphical|without a graphical|no user interface|without a user interface|terminal only|no web interface|without a web interface|no front end|no frontend|no screen|without a screen|cli only|no display|no buttons",
        "gui|graphical|window with|dialog box|dialogue box|buttons|a button|web interface|web ui|drag and drop|drop-down|dropdown|touch screen|touchscreen|mouse|desktop window|clicks|menu bar",
    ),
    family(
        "architecture",
        Shared,
        false,
        "monolith|monolithic|single binary|one binary|one process|a single executable|one executable|single jar|one container|a single container",
        "microservices|micro-services|separate services|several services|services that|own container|separate containers|own service|separate process|separate processes",
    ),
    family(
        "time zone",
        Shared,
        false,
        "utc|gmt",
        "local time|local timezone|local time zone|browser's time zone|user's time zone|cet|cest|mez|est|pst|time zone of the",
    ),
    family(
        "units",
        Shared,
        false,
        "metric|celsius|grams|kilometres|kilometers|kilograms|metres|24-hour|24 hour",
        "imperial|fahrenheit|miles|pounds|feet|inches|12-hour|12 hour|am/pm|am and pm",
    ),
    family(
        "caching",
        Shared,
        false,
        "never cached|not cached|no caching|no cache|no-cache|no-store|uncached|without caching|without a cache|must not be cached|never from a cache|always fresh|always read fresh|read fresh|read from the source each time|always queried live|queried live|always live|computed on every|recomputed on every|never served from|must not cache|fresh on every|on every request",
        "~cache",
    ),
    family(
        "on or off",
        Close,
        true,
        "enabled|enable|enables|switched on|turned on|turn on|switch on|active|activated|on by default|opt-out",
        "disabled|disable|disables|switched off|turned off|turn off|switch off|inactive|deactivated|off by default|opt-in",
    ),
    family(
        "permission",
        Close,
        true,
        "allowed|permitted|allow|allows|possible|granted|supported|available|offered|provided|can|may|permit|permits|accepted|accept|accepts|is fine|are fine|welcome|may be used|can be used",
        "forbidden|prohibited|banned|disallowed|impossible|unavailable|unsupported|are closed|is closed|ruled out|not granted|not supported|not possible|not offered|not available|not provided|not permitted|not allowed|rejected|reject|rejects|refused|refuse|refuses|denied|blocked|must not be used|may not be used|never used|not accepted|never accepted|are not accepted|excluded",
    ),
    family(
        "included or not",
        Close,
        false,
        "part of|including|covers|count|counts|counted|taken into account|included|include|includes|contains|contain|shown|show|shows|visible|displayed|listed|appears|appear",
        "excluded|exclude|excludes|left out|dropped|not counted|disregarded|do not count|does not count|ignored|leave out|hidden|hide|hides|invisible|not shown|never shown|omitted|omit|omits|removed|not listed|not included|not part of|no part of|not contained|not exported|not covered|not visible|not displayed|never displayed|must not appear|never appear|never appears|masked|redacted",
    ),
    family(
        "locked or open",
        Shared,
        false,
        "~lock|stay locked|stays locked|remain closed|stay closed|stays closed|~close|~shut",
        "~unlock|open|opens|opened|stay open|stays open|unlocked",
    ),
    family(
        "secrecy",
        Shared,
        false,
        "secret|nobody can see|nobody sees|no one can see|no one sees|nobody can find out|nobody knows|nobody can tell|hidden from|cannot see|can not see|cannot be seen|must not see|may not see|never see|never sees|cannot read|can not read|must not read|may not read|end-to-end encrypted|blind|not visible|invisible to",
        "sees|can see|may see|can read|may read|is shown to|are shown to|visible to|scans|analyses|analyzes|inspects|displays|reads the|is listed with|are listed with",
    ),
    family(
        "before or after",
        Close,
        false,
        "before",
        "after|only after|once",
    ),
    family(
        "orientation",
        Close,
        false,
        "portrait|horizontal|horizontally|left-aligned|top|left|light|landscape-free",
        "landscape|vertical|vertically|right-aligned|bottom|right|dark",
    ),
    family(
        "speed of delivery",
        Shared,
        false,
        "real time|real-time|within # minutes|within # seconds|within a minute|within one minute|within # s|realtime|in real time|live|as it happens|as they happen|within seconds|streaming|streamed|immediately|instantly|the moment",
        "with a delay|delay of|last night's|yesterday's|the night before|from the previous day|with delay|minutes late|hours late|minutes old|hours old|nightly batch|nightly|overnight|once a day|once per day|once a week|daily batch|in batches|weekly|monthly|next day|next morning|the day after|end of the day|once an hour|every night|at midnight|with a day's delay|batch",
    ),
    family(
        "who may",
        Shared,
        false,
        "@only-person|limited to|restricted to|reserved for|reserved to|exclusively for|exclusive to|open only to|for nobody but|nobody but|no one but|nobody except|no one except",
        "everyone can|by anyone|by everyone|by everybody|by anybody|by all|open for everyone|anyone can|everybody can|all users can|all users may|every user can|every user may|any user can|any user may|everyone may|anyone may|anybody can|anybody may|all employees|all members can|all members may|every member|any visitor|every visitor|all visitors|any employee|every employee|all staff|any customer|every customer|all customers|any guest|all students|every student|everybody may|@other-person",
    ),
    family(
        "number formats",
        Close,
        false,
        "yyyy-mm-dd|iso 8601|iso-8601|iso dates|iso format|decimal point|rounded up|rounded to whole|rounded to full|full euros|whole euros|whole euro|as integers|whole numbers|in cents|upper case|uppercase|capital letters",
        "dd.mm.yyyy|mm/dd/yyyy|dd/mm/yyyy|unix timestamp|unix timestamps|epoch seconds|decimal comma|rounded down|truncated|not rounded|unrounded|two decimals|as decimals|decimal places|in euros|lower case|lowercase|small letters|us format|dd-mm-yyyy",
    ),
    family(
        "who owns the process",
        Close,
        true,
        "in-house|internally|by our own|ourselves|by us",
        "outsourced|externally|by an external|by a contractor|by an agency|by the vendor|by a partner",
    ),
    family(
        "installation",
        Whole,
        false,
        "no runtime dependencies|nothing to install|no installation|without installation|without installing|self-contained|no runtime|standalone|nothing has to be installed|need not be installed|runs from a usb stick|no setup",
        "to be installed|must be installed|be installed on|has to be installed|have to be installed|needs to be installed|requires an installation|installer|requires java|needs java|requires python|needs python|requires docker|needs docker",
    ),
    family(
        "protection of stored data",
        Whole,
        false,
        "encrypted|encrypts|encryption|end-to-end encrypted|encrypted at rest|ciphertext",
        "in the clear|in plain text|in plaintext|unencrypted|in clear text|cleartext|without encryption|not encrypted|plain http|readable for everyone",
    ),
    family(
        "whether it can be undone",
        Shared,
        false,
        "binding|irrevocable|irreversible|final|cannot be undone|cannot be cancelled|can not be cancelled|cannot be withdrawn|cannot be revoked|no cancellation|no refund|no refunds|not refundable|non-refundable|no returns|cannot be returned",
        "can cancel|may cancel|can be restored|may be restored|be restored|be recovered|brought back|can be reversed|can be taken back|can be cancelled|may be cancelled|cancel at any time|can undo|can be undone|can withdraw|can be withdrawn|can revoke|refunded|refund|can return|can be returned|money back",
    ),
    family(
        "where it can be reached from",
        Shared,
        false,
        "company network only|only in the company network|only from the office|only inside the building|on site only|on-site only|only on site|intranet|internal network|local network only|only in the lan|inside the lan|outside the company network|outside the network|outside the office",
        "from any place|from anywhere|from everywhere|from home|on the internet|over the internet|from the internet|without vpn|worldwide|publicly reachable|remotely|remote access|from outside",
    ),
    family(
        "strictness",
        Shared,
        false,
        "strict|strictly|all or nothing|at the first error|all-or-nothing|as a whole|entire file is refused|whole file is refused|whole file is rejected|whole batch|entire batch|aborts the whole|stops at the first|stop at the first|abort on the first|aborts on the first|fails fast|fail fast|stops immediately|abort immediately|aborts immediately|stop on the first",
        "lenient|best effort|all errors|every error|errors are collected|best-effort|skipped|skip|skips|ignored|ignore|ignores|continue|continues|goes on|go on|carries on|remaining rows|other rows|partial|partially|never stop|never stops|never aborts",
    ),
];

/// All families of opposites; a family's number is its position.
pub(crate) fn families() -> &'static [Family] {
    static ALL: OnceLock<Vec<Family>> = OnceLock::new();
    ALL.get_or_init(|| {
        FAMILIES
            .iter()
            .chain(super::opposites::MORE)
            .copied()
            .chain(super::opposites::antonyms())
            .collect()
    })
}

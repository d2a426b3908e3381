//! Who may do, see or decide something, how many of them, and all, some or none.

use super::super::claims::{ACCOUNTS, ALL, APPROVAL, PARTS, PRICE, REQUIRED};
use super::super::cues::{Topic, claim};

/// Groups of words that only these topics use. `person` holds every word for people as well.
pub(crate) const GROUPS: &[(&str, &str)] = &[
    ("person", "person people human somebody someone"),
    (
        "account",
        "login log-in logon sign-in signin account password passcode pin registration credentials authentication sign-up signup identification username token api-key key keys sign-on sso profile",
    ),
    ("sign", "sign log signing logging signed logged"),
    ("authed", "signed-in logged-in registered authenticated"),
    (
        "identify",
        "register authenticate identify registering authenticating",
    ),
    ("every", "every each all any"),
    (
        "everybody",
        "everyone everybody anyone anybody all public whoever outsiders",
    ),
    (
        "mandatory",
        "mandatory compulsory obligatory required prescribed essential indispensable obliged",
    ),
    (
        "supply",
        "state give enter fill carry contain have name supply provide submit include indicate specify write hold bear attach add type exist",
    ),
    (
        "has",
        "has have carry contain bear hold come include show comes carries",
    ),
    (
        "turned",
        "refused rejected invalid declined returned error fails bounced discarded stopped 401 403 unauthorized unauthorised forbidden",
    ),
    (
        "fine",
        "valid accepted fine okay ok allowed permitted possible imported welcome taken processed loaded correct legal sent submitted saved handed go through",
    ),
    ("omit", "skip omit drop leave"),
    (
        "reach",
        "open visible accessible available reachable readable shown viewable seen viewed read reached opened displayed accessed view see look watch browse access find found",
    ),
    (
        "closed",
        "private confidential secret internal restricted classified non-public unlisted",
    ),
    (
        "cost",
        "cost costs pay pays paid charge charged bill billed invoice invoiced buy buys bought price fee fees due surcharge payable",
    ),
    (
        "money",
        "euro euros eur cent cents dollar dollars usd pound pounds franc francs chf fee charge",
    ),
    (
        "approval",
        "approve approval release confirm confirmation review authorise authorize authorisation sign-off consent agree agreement check signature sign signed look moderate moderation permission vet inspect decide clearance countersign acknowledge vote ok press verify accept examine judge",
    ),
    ("two", "two both second three"),
    ("one", "one single"),
    ("nobody", "no nobody none without"),
    (
        "fee",
        "pay paying paid charge charged fee fees cost costs payment billed invoiced",
    ),
    (
        "include",
        "go enter count part include cover use taken considered contained account goes based covered into list show appear contain print display export get receive belong write record store save log trigger send cause apply",
    ),
    (
        "out",
        "exclude drop ignore disregard remove skip omit exempt discard filter missing pass",
    ),
    ("enough", "enough sufficient suffices sufficient suffice"),
    (
        "trace",
        "traced trace attributed identify identified identifiable",
    ),
];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[
    claim(
        ACCOUNTS,
        "without ... <account>|no .. <account>|no .. <account> .. <must>|<not> .. <must> .. <account>|<account> .. <be> not|<account> .. <not> .. <must>|<not> .. ask .. <account>\
        |without .. <sign> in|without .. <identify>|<not> .. <sign> in|<not> .. <identify>|never registered|<account> .. not exist|unauthenticated\
        |<not> .. <authed>|<not> .. say who|<not> <account>|without .. <sign> up|without .. <sign> on|no user management|<account> .. not used|as a guest|<account> .. not asked|no need to <sign>|no need to <identify>",
        "<must> ... <account>|<must> .. <sign> in|<must> .. <identify>|<must> .. <authed>|<only> .. <authed>|<only> ... <sign> in|<authed> .. only|<authed>|<sign> in|<account> .. <must>\
        |behind .. <account>|ask .. <account>|with .. <account>|after .. <account>|enter ... <account>|type ... <account>|<account> .. precondition|<sign> in with\
        |without ... <account> .. <not>|<not> ... without .. <account>|<not> ... without .. <sign> in|unless .. <sign> in|unless .. <account>|<not> .. before ... <sign> in|<not> .. until ... <sign> in|<account> .. asked|<identify>|<not> ... unless .. <account>|<must> .. <sign> up|<sign> up|without ... <account> ... <turned>|without ... <account> ... answered|without ... <account> ... #|without ... <account> .. get|<not> .. as a guest|through ... <account>|via .. <account>|over .. <account>|create .. <account>|open .. <account>",
    ),
    claim(
        REQUIRED,
        "<mandatory>|<must> .. <filled>|<must> .. <supply>|<every> ... <has>|<not> ... <empty>|<not> .. lack|without ... <turned>|<turned> ... without|<not> ... without\
        |<not> ... until ... <filled>|<not> ... until ... attached|<not> ... before ... <filled>|only with|<must> .. there|<must> .. value|<must> <not> .. <empty>|always .. <has>|always .. <filled>|<every> ... <must>\
        |<not> .. optional|<must> .. come|<only> .. if .. <filled>|<must> .. chosen|<must> .. selected|<must> .. answered|<must> .. picked|not null|<every> ... come with|<not> .. null|without ... <not> .. <fine>|without ... cannot|<nobody> ... without|whoever .. <not> ... <not>|who .. <not> ... <not>|only those who|only <person> who",
        "<may> ... <empty>|<may> .. <omit>|<may> ... out $|optional|voluntary|need not|<not> .. have to|<not> .. <mandatory>|<not> .. needed|without ... <fine>|<may> ... without|<may> .. without|come without\
        |free to <omit>|fine to <omit>|<empty> ... accepted|<empty> ... fine|<empty> ... valid|decide whether|<not> .. obliged|<fine> without|<fine> ... without|<be> <empty> .. accepted|<not> <must> .. <supply>|missing ... accepted|even .. missing|even without|not always|<may> .. null|nullable|<be> <empty>|<may> leave ... open|<may> .. leave ... open|<be> left open|with or without|<not> asked|<not> .. asked for|<may> .. unknown|<may> .. unspecified|<may> .. undefined|<may> .. ignore|<may> .. stay away|<may> .. refuse|<may> .. decline|if they like|if they want|if they wish|as they like|nobody .. <must>|no one .. <must>",
    ),
    claim(
        "who sees it",
        "<be> public|<reach> .. <every> <person>|<every> <person> ... <reach>|<everybody> ... <reach>|<reach> .. <everybody>|<reach> ... <everybody>|open to .. public|whole world|whole internet|on the internet|on the web|freely <reach>|from outside|world-readable\
        |for all to see|<every> visitors ... <reach>|<every> visitor ... <reach>|publicly|published|from the .. internet|to the public|no secret|from anywhere|<reach> .. world|<reach> .. internet|<reach> ... web|public internet|open internet|open source|<be> .. website|published on|on .. website|on .. noticeboard|on .. notice board|on .. board $|hang on|hangs on|on display|hang in|hangs in|on the wall|in .. newspaper|in .. newsletter|read out|in .. window|in the canteen|in the lobby|in the foyer|in the corridor|at the entrance|in the street",
        "<be> <closed>|<only> ... <reach>|<reach> ... <only>|<not> ... <reach>|<reach> .. <not> <everybody>|restricted to|reserved for|reserved to|limited to|internal use|vpn|intranet|inside .. network\
        |kept from|hidden from|<everybody> ... cannot|nobody outside|<not> .. published|<not> ... public|eyes only|private to|<person> alone|<person> only|stay .. <closed>|remain .. <closed>|network only|not open to|behind .. firewall|<only> ... network|for .. <person> only|stay among|stay within|stay inside|stays inside|remain among|remain within|<reach> in .. only|known to .. only|among .. only|not for|<not> ... outside|<not> ... leave|known to .. alone|known to .. only|sealed from|stay sealed|<be> sealed|no insight|for <authed>|get a 403|gets a 403|<be> 403|access denied|locked out|shut out|no access|between .. and the",
    ),
    claim(
        PRICE,
        "<free> of charge|<be> <free>|for <free>|<free> for|<free> $|<not> .. <fee>|without .. <fee>|without payment|cost nothing|costs nothing|<not> ... <fee>|gratis|at no .. <cost>|<free> use|use .. <free>|<cost> .. nothing|<not> .. fee|<free> on|<free> at|included in|no extra <fee>",
        "<cost> ... <money>|<money> ... <cost>|<must> .. <cost>|<be> <cost>|subject to .. <cost>|not <free>|not for <free>|<cost> .. <be> due|<money> .. added|<cost> for|a <cost>|the <cost> for|<money> a day|<money> per|<cost> per|<person> <cost>",
    ),
    claim(
        APPROVAL,
        "<auto>|by itself|by themselves|itself|themselves|<approval> .. by nobody|<approval> .. by no|without ... <approval>|<nobody> .. <approval>|<nobody> <approval> .. <must>|<not> .. <must> .. <approval>|without anyone|without anybody|without asking|as soon as|the moment|<not> .. <person> ... involved|<not> .. <hand>\
        |at once|immediately|straight away|right away|instantly|directly|without .. action|without .. intervention|without .. involvement|without .. input|without .. help|without .. <hand>|by the system|by software|<approval> .. by the system|<approval> .. by software|<approval> .. by the program|by .. algorithm|by .. program|by the machine|no human|no person|by machine|machine translation|by ai|<person> .. not .. to",
        "<approval> ... before|before ... <approval>|until ... <approval>|after ... <approval>|<must> ... <approval>|<approval> .. by|by hand|manually|wait .. <approval>|<approval> .. <every>|<every> ... <approval> .. by|hands of\
        |<must> ... consent|<not> ... until ... <approval>|<not> ... before ... <approval>|<not> ... without ... <approval>|<person> <approval>|<person> .. to <approval>|only after ... <approval>|<hand>|<person> decides|vote on|<approval> on <every>|pass .. <person>|passes .. <person>|past .. <person>|through the hands|seen by .. <person>|<approval> .. <person> first|valid with .. <approval>|<must> .. <person> to|only when ... <approval>|only once ... <approval>|<approval> ... first|by .. <hand>|<hand> <person>|sworn <person>",
    ),
    claim(
        PARTS,
        "<every> ... <include>|<include> ... <every>|<not> ... <out>|<not> ... left out|<not> ... leave out|<every> single|<every> <person> ... <must>|no exception",
        "<be> <out>|<out>|left out|leave out|<not> .. <include>|<not> ... <include>|only ... <include>|<be> ... without the|restricted to|limited to|<not> .. have to|<not> <must>|<not> .. <must>",
    ),
    claim(
        ALL,
        "<every> .. <be>|<every> <person> .. <be>",
        "<be> ignored|<be> skipped|left out|<be> exempt|<be> excluded|<be> omitted|<be> disregarded|<be> passed over|<be> spared",
    ),
    claim(
        "how many do it",
        "two different|two signatures|two <person>|<two> <person> ... <approval>|second <person>|second signature|four-eyes|four eyes|<not> ... alone|<not> ... on .. own|both <person>|<must> two|by two|two .. together|<two> .. must|<approval> ... second|two <approval>|two keys|different <person>|two .. <approval>",
        "one <person>|single <person>|<one> .. <enough>|<one> signature|<person> alone|alone <may>|<may> .. alone|<may> ... alone|<person> ... alone|on .. own $|on .. own and|without .. second|by one|<one> ... <enough>|a single|own authority|one <approval>|<one> <person> ... <approval>",
    ),
    claim(
        "names or none",
        "<anon>|<not> ... who|<not> ... <trace>|<save> ... without ... <ident>|<be> ... without ... <ident>|no .. <ident>|not .. <ident>|never ... <ident>|nobody ... <ident>|<not> .. linked to|<not> .. personal|<be> secret|no names|<ident> .. not|<not> ... identity",
        "with ... <ident>|<ident> ... <be> shown|show who|shows who|<be> linked to|signed with|by ... <ident>|which <person>|under ... <ident>|full <ident>|real <ident>|<ident> ... beside|<ident> .. appear|<ident> .. printed|<ident> ... shown|carry ... <ident>|<ident> of .. <person>|<person> ... <ident>|together with|sees who|see who|how .. voted|show how|shows how|who voted|show ... <ident>",
    ),
];

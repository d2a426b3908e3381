//! Products by list and by shape: a listed name, capitals or digits inside a word, a name before a version number.

use crate::lexicon::{Tagged, class, classes_of};
use crate::text::lex::TokenKind;

/// Words that are products only when written like a name.
const AMBIGUOUS: &[&str] = &[
    "access",
    "ada",
    "age",
    "airflow",
    "alpine",
    "apex",
    "arch",
    "axe",
    "beam",
    "beats",
    "black",
    "blade",
    "boost",
    "c",
    "can",
    "chai",
    "chef",
    "chi",
    "click",
    "cobra",
    "compose",
    "composer",
    "conan",
    "consul",
    "crystal",
    "dart",
    "dash",
    "dask",
    "deadline",
    "discord",
    "drizzle",
    "echo",
    "edge",
    "excel",
    "exchange",
    "express",
    "fiber",
    "fish",
    "flux",
    "ghost",
    "gin",
    "glue",
    "go",
    "google",
    "hana",
    "hapi",
    "hive",
    "iso",
    "jack",
    "julia",
    "knex",
    "less",
    "liquid",
    "lisp",
    "locust",
    "loki",
    "make",
    "metal",
    "moment",
    "mustache",
    "nest",
    "net",
    "ninja",
    "node",
    "notebook",
    "oracle",
    "parcel",
    "pest",
    "phoenix",
    "pic",
    "play",
    "poetry",
    "polly",
    "prefect",
    "puppet",
    "r",
    "raid",
    "realm",
    "reason",
    "relay",
    "remix",
    "render",
    "requests",
    "rest",
    "rocket",
    "rollup",
    "root",
    "sage",
    "salt",
    "san",
    "sap",
    "scheme",
    "sed",
    "shell",
    "shiny",
    "slack",
    "slim",
    "spark",
    "spreadsheet",
    "spring",
    "stripe",
    "swagger",
    "swift",
    "teams",
    "tempo",
    "temporal",
    "tornado",
    "transformers",
    "unity",
    "vault",
    "viper",
    "warp",
    "whisper",
    "word",
    "yarn",
    "zoom",
];

/// Whether a word is the name of a source file or script.
pub(super) fn is_source_file(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(base, ending)| {
        !base.is_empty()
            && any_of!(ending,
                "py" "sh" "js" "ts" "tsx" "jsx" "go" "rs" "c" "h" "cpp" "java" "kt" "rb" "php" "sql" "tf" "ps1" "css" "html"
                "tex" "vue" "cs" "swift" "scala" "ipynb" "lua" "pl")
    })
}

/// Whether token `i` is a listed product, written like one.
pub(super) fn is_product(t: &Tagged<'_>, i: usize, sentence_start: bool) -> bool {
    if !t.is(i, class::TECH) {
        // `python-chess`, `go-redis`: named after what it is made for.
        let word = t.lexed.word(i);
        return t.classes[i] == 0
            && word
                .split_once('-')
                .is_some_and(|(first, rest)| rest.len() > 2 && is_plain_tech(first));
    }
    let lexed = &t.lexed;
    let word = lexed.word(i);
    let bare = word.strip_suffix("'s").unwrap_or(word);
    if AMBIGUOUS.binary_search(&bare).is_err() {
        return true;
    }
    // `Google Apps Script`: a name of several words.
    let named =
        lexed.tokens[i].upper && lexed.tokens.get(i + 1).is_some_and(|n| n.upper && n.spaced);
    let number_follows = lexed
        .tokens
        .get(i + 1)
        .is_some_and(|n| n.kind == TokenKind::Number);
    let company = lexed.word(i + 1) == "with"
        || matches!(lexed.raw(i + 1), "," | "+" | "/")
        || i > 0 && matches!(lexed.word(i - 1), "in" | "with" | "using");
    let language = lexed.tokens[i].upper
        && (!sentence_start
            || company
            || any_of!(lexed.word(i + 1),
                "service" "script" "program" "module" "library" "api" "front" "on"));
    // Single letters and plain words in the middle of a sentence must look like names.
    number_follows || named || language
}

fn is_plain_tech(word: &str) -> bool {
    word.len() > 2 && classes_of(word) & class::TECH != 0 && !is_ambiguous(word)
}

/// A product name nobody listed: capitals or digits inside the word, or a capital before a version number.
pub(super) fn is_coined(t: &Tagged<'_>, i: usize, sentence_start: bool) -> bool {
    let lexed = &t.lexed;
    let raw = lexed.raw(i);
    let token = lexed.tokens[i];
    if token.quoted || raw.len() < 3 {
        return false;
    }
    let inner_capital = raw.chars().next().is_some_and(char::is_uppercase)
        && raw.chars().skip(1).any(char::is_uppercase)
        && raw.chars().any(char::is_lowercase);
    let plain_noun =
        t.classes[i] & (class::TIME_UNIT | class::STOP | class::DATA | class::OUTPUT) != 0;
    let next = lexed.raw(i + 1);
    let number = lexed
        .tokens
        .get(i + 1)
        .is_some_and(|n| n.kind == TokenKind::Number && n.end - n.start <= 6);
    // A point in the number, or `V18`, is a version even behind the first word of a sentence.
    let version = number && next.contains('.')
        || next.len() >= 2
            && next.starts_with(['V', 'v'])
            && next[1..].bytes().all(|b| b.is_ascii_digit() || b == b'.');
    // `Zammad 6, rule set in YAML`: an unknown name, a short number and then a pause.
    let after = lexed.word(i + 2);
    let opens = number
        && t.classes[i] == 0
        && next.len() <= 3
        && any_of!(after, "," "." ";" "with" "on" "at" "and" "in" "");
    let versioned = token.upper
        && (number && !sentence_start || opens || version)
        && !plain_noun
        && !names_part(lexed.word(i));
    // `Genesys Cloud`, `eAU`
    let suite = token.upper
        && t.classes[i] & class::STOP == 0
        && any_of!(next, "Cloud" "Studio" "Suite" "Enterprise" "Desktop" "CMS" "ERP" "CRM" "Online" "Workspace");
    let lead = raw.len() - raw.trim_start_matches(|c: char| c.is_lowercase()).len();
    let small = !any_of!(raw, "vCPU" "vCPUs" "dBA" "kVA" "mAH" "eMMC" "vRAM")
        && (1..=2).contains(&lead)
        && raw.len() - lead >= 2
        && raw[lead..].bytes().all(|b| b.is_ascii_uppercase());
    if suite || small {
        return true;
    }
    inner_capital && !raw.contains('\'') && t.classes[i] & class::PERSON == 0
        || versioned
        || is_type_number(raw) && i > 0 && lexed.tokens[i - 1].upper
        || is_type_number(raw) && raw.len() >= 6
}

/// `S7-1500`, `PT100`, `MSP430`: capitals, then digits.
fn is_type_number(raw: &str) -> bool {
    let letters = raw.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = raw.bytes().filter(u8::is_ascii_digit).count();
    letters >= 1
        && digits >= 2
        && raw.len() >= 4
        && raw
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-')
}

/// Months and words that a number follows as the name of one of many.
fn names_part(word: &str) -> bool {
    any_of!(word,
        "january" "february" "march" "april" "may" "june" "july" "august" "september" "october"
        "november" "december" "page" "chapter" "section" "step" "room" "building" "version"
        "phase" "day" "week" "shelf" "gate" "hall" "table" "line" "level" "floor" "house" "unit"
        "track" "platform" "desk" "counter" "zone" "area" "stage" "round" "team" "group" "class"
        "seed" "board" "horizon" "tests" "release" "priority" "ward" "pump" "tank" "pier" "berth" "court" "lane" "dock" "bus" "article" "paragraph")
}

/// Whether a word is a product only when written like a name.
pub(super) fn is_ambiguous(word: &str) -> bool {
    AMBIGUOUS.binary_search(&word).is_ok()
}

//! Things used by name: a library nobody listed (`parsed with yargs`), an address on the internet (`at api.tides.org`).
//!
//! A name is told from a plain word by its place: behind a verb of programming and `with`, `using`, `via`, or behind
//! `the package`. What comes with a language or a system is no name here.

use super::super::Source;
use crate::lexicon::{Side, class};
use crate::text::lex::{TokenKind, fnv};
use crate::text::stem::stem;
use std::sync::OnceLock;

/// Verbs of what a library does for a program.
const WORK: &str = "parse read write render draw colour color format validate log highlight route serialise serialize \
    deserialise deserialize decode encode compress unpack plot compute handle do generate implement convert load query \
    fetch hash sign encrypt decrypt animate display show print test build make realise realize schedule lay style check \
    extract calculate create send talk connect process animate split sort store cache map scan speak translate localise \
    merge mock inject bind bundle retry resolve paint chart diff watch expose serve draw argument option request";

/// What comes with a language or a system, and plain words behind `with`.
const PLAIN: &str = "argparse getopt getopts optparse flag sqlite3 urllib unittest tomllib csv re os io sys asyncio logging fs \
    path crypto std core bufio fmt net encoding standard plain pure care help regular simple built-in native vanilla semantic \
    inline modern stdin stdout stderr pipes loops recursion regex regexes curl make git gcc clang cargo cmake awk sed grep find \
    tar rsync ssh bash tls https http gzip zip stdlib libc posix ease delay priority caution permission colours colors zeros \
    blanks spaces commas semicolons quotes canvas css fetch intl dom struct dataclasses pathlib datetime json tkinter curses \
    javac maven gradle npm pip python unicode utf-8 lf crlf ansi little big exponential linear";

/// Nouns that a name follows.
const NOUN: &str =
    "package library crate gem module framework plugin dependency packages libraries crates gems";

/// Last parts of addresses.
fn is_domain(word: &str) -> bool {
    let Some((host, last)) = word.rsplit_once('.') else {
        return false;
    };
    let top = any_of!(last, "com" "org" "net" "io" "de" "eu" "uk" "fr" "ch" "at" "nl" "se" "no" "dk" "pl" "it" "es" "us" "gov" "edu" "info" "cloud" "app" "dev" "example");
    top && host.len() > 3 && !any_of!(host, "asp" "vb") && !host.starts_with("system")
}

struct Words {
    work: Vec<u64>,
    plain: Vec<u64>,
    noun: Vec<u64>,
}

fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    let list = |text: &str| {
        let keys = text.split_ascii_whitespace().map(|w| fnv(stem(w)));
        let mut keys: Vec<u64> = keys.collect();
        keys.sort_unstable();
        keys
    };
    WORDS.get_or_init(|| Words {
        work: list(WORK),
        plain: list(PLAIN),
        noun: list(NOUN),
    })
}

/// A word that no list of the lexicon holds and that looks like a name.
fn is_name(source: &Source<'_>, i: usize) -> bool {
    let t = &source.tagged;
    let Some(token) = t.lexed.tokens.get(i) else {
        return false;
    };
    let word = t.lexed.word(i);
    let known = class::STOP
        | class::NEG
        | class::UNIVERSAL
        | class::NUMERAL
        | class::CONDITION
        | class::GENERIC
        | class::PERSON
        | class::DATA
        | class::OUTPUT
        | class::FORMAT
        | class::LANGUAGE
        | class::SYSTEM
        | class::TEST_TOOL
        | class::DATABASE
        | class::TONGUE
        | class::ENCODING
        | class::WHOLE
        | class::THING
        | class::TIME_UNIT;
    let english = any_of!(word, "which" "each" "their")
        || [
            "ing", "tion", "ness", "ity", "ment", "ly", "ance", "ence", "ure", "ed", "al", "ive",
            "ous", "able",
        ]
        .iter()
        .any(|end| word.len() > 4 && word.ends_with(end));
    // `textContent`: a name of the language itself.
    let raw = t.lexed.raw(i);
    let member = raw.starts_with(char::is_lowercase) && raw.bytes().any(|b| b.is_ascii_uppercase());
    token.kind == TokenKind::Word
        && !token.quoted
        && !english
        && !member
        && (t.classes[i] & known == 0 || t.is(i, class::LIBRARY))
        && word.len() >= 3
        && words().plain.binary_search(&token.key).is_err()
}

/// Where a sentence uses a library by name (side B), or says that its list of dependencies is empty (side A).
pub(super) fn find_parts(source: &Source<'_>, range: (usize, usize)) -> Vec<(usize, Side)> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let words = words();
    let holds = |list: &[u64], i: usize| {
        i < range.1
            && lexed.tokens[i].kind == TokenKind::Word
            && list.binary_search(&lexed.tokens[i].key).is_ok()
    };
    let denied = |i: usize| (i.saturating_sub(4).max(range.0)..i).any(|k| t.is(k, class::NEG));
    let mut out = Vec::new();
    for i in range.0..range.1 {
        if lexed.tokens[i].quoted {
            continue;
        }
        let word = lexed.word(i);
        if word == "empty"
            && (i.saturating_sub(6).max(range.0)..(i + 4).min(range.1))
                .any(|k| any_of!(lexed.word(k), "dependencies" "dependency" "requirements" "requirements.txt" "require"))
        {
            out.push((i, Side::A));
            continue;
        }
        let lead = any_of!(word, "with" "using" "via" "through" "by" "uses" "use" "install" "import" "add")
            || word == "from" && t.is(i + 1, class::LIBRARY)
            || word == "of" && i > range.0 && lexed.word(i - 1) == "means";
        if !lead || denied(i) {
            continue;
        }
        let bare = any_of!(word, "uses" "use" "using" "install" "import");
        let works = bare
            || (i.saturating_sub(7).max(range.0)..i).any(|k| holds(&words.work, k)) && word != "by"
            || word == "by" && i > range.0 && holds(&words.work, i - 1);
        // `the crates toml and serde`
        let mut at = i + 1 + usize::from(any_of!(lexed.word(i + 1), "the" "a" "an"));
        let called = holds(&words.noun, at);
        at += usize::from(called);
        let article = at > i + 1 && !called;
        let coined = |k: usize| {
            let word = lexed.word(k);
            word.contains(['.', '_'])
                || t.is(k, class::LIBRARY)
                || lexed.is_symbol(k + 1, "/") && !lexed.tokens[k + 1].spaced
                || lexed.raw(k).bytes().skip(1).any(|b| b.is_ascii_uppercase())
        };
        let ends = at + 1 >= range.1
            || lexed.tokens[at + 1].kind == TokenKind::Symbol
            || any_of!(lexed.word(at + 1), "and" "or" "for" "to" "in" "on" "as" "from" "at" "into" "which");
        if at < range.1
            && (is_name(source, at) || called && t.is(at, class::FORMAT))
            && (called || coined(at) || works && ends && !article && word != "by")
            && (works || called || t.is(at, class::LIBRARY))
            && !is_domain(lexed.word(at))
        {
            out.push((at, Side::B));
        }
        // `the yargs package`
        if article && is_name(source, at) && holds(&words.noun, at + 1) {
            out.push((at, Side::B));
        }
    }
    out
}

/// Where a sentence names an address on the internet.
pub(super) fn find_addresses(source: &Source<'_>, range: (usize, usize)) -> Vec<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    let mut out = Vec::new();
    for i in range.0 + 1..range.1 {
        let asked = any_of!(lexed.word(i - 1), "at" "from" "to" "via" "on" "by" "with" "through" "and" "of")
            || lexed.raw(i - 1) == "/";
        if asked
            && is_domain(lexed.word(i))
            && !(i.saturating_sub(5).max(range.0)..i).any(|k| t.is(k, class::NEG))
        {
            out.push(i);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::is_domain;

    #[test]
    fn domain_names_are_told_from_versions_and_files() {
        for name in ["api.tides.org", "tides.example", "maps.harbour.de"] {
            assert!(is_domain(name), "{name}");
        }
        for name in ["asp.net", "moment.js", "index.html", "log.csv", "e.g"] {
            assert!(!is_domain(name), "{name}");
        }
    }
}

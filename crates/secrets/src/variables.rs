//! Whether a variable that somebody wants to hand on has a secret for its value, or in it.

use std::sync::{LazyLock, Mutex};

use crate::certain::Searcher;

/// Words in the names of variables whose values usually are secrets.
const NAMES: [&str; 11] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
    "AUTH",
];

/// Prefixes of well-known services' keys.
const PREFIXES: [&str; 16] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "-----BEGIN",
];

/// From this length on, a text of letters and digits without a word in it may be a key.
const LONG: usize = 24;

/// Why the value of the variable `name` looks like a secret, if it does.
pub fn find_secret(name: &str, value: &str) -> Option<&'static str> {
    if value.is_empty() {
        return None;
    }
    // Who wrote something is no secret; what authorizes is.
    let upper = name.to_ascii_uppercase().replace("AUTHORI", "AUTH-");
    let upper = upper.replace("AUTHOR", "");
    if is_telling(&upper) {
        return Some("its name says so");
    }
    if PREFIXES.iter().any(|prefix| value.starts_with(prefix)) {
        return Some("it begins as keys of a known service do");
    }
    if holds_password(value) {
        return Some("it has a password in it");
    }
    if holds_key(value) {
        return Some("there is a key in it");
    }
    looks_random(value).then_some("it looks like a key: long, without words, of mixed characters")
}

/// Words behind one of [`NAMES`] that say that the value is no secret: `MAX_TOKEN_LENGTH`, `AUTH_ENABLED`.
const MEASURES: [&str; 14] = [
    "COUNT",
    "ENABLED",
    "EXPIRY",
    "ISSUER",
    "LENGTH",
    "LIMIT",
    "MAX",
    "MIN",
    "MODE",
    "PARALLELISM",
    "SIZE",
    "TIMEOUT",
    "TTL",
    "TYPE",
];

/// Whether a name in capitals tells that its value is a secret.
fn is_telling(upper: &str) -> bool {
    let last = upper.rsplit('_').next().unwrap_or(upper);
    let is_measure =
        MEASURES.contains(&last) || matches!(last, "TOKENS" | "TOKENIZER" | "TOKENIZERS");
    let is_named =
        NAMES.iter().any(|word| upper.contains(word)) || upper.ends_with("_KEY") || upper == "KEY";
    is_named && !is_measure
}

/// Whether a key of a known form is somewhere in a value, such as in `Authorization: token …`.
fn holds_key(value: &str) -> bool {
    static SEARCHER: LazyLock<Mutex<Option<Searcher>>> =
        LazyLock::new(|| Mutex::new(Searcher::new()));
    if value.len() < SHORTEST_KEY {
        return false;
    }
    let mut searcher = match SEARCHER.lock() {
        Ok(searcher) => searcher,
        Err(poisoned) => poisoned.into_inner(),
    };
    // Without its tables nothing can be told apart.
    searcher
        .as_mut()
        .is_none_or(|searcher| !searcher.search_text(value).is_empty())
}

/// No key of a known form is shorter.
const SHORTEST_KEY: usize = 12;

/// Names in what a program connects with, such as `Server=…;Password=…`, whose values open something.
const CONNECTION_SECRETS: [&str; 5] =
    ["password", "passwd", "pwd", "accountkey", "sharedaccesskey"];

/// Whether a value is what a program connects with and has a password or key in it: pairs, or an address
/// such as `scheme://user:password@host`.
fn holds_password(value: &str) -> bool {
    let mut pairs = value
        .split([';', '&', '?', ' '])
        .filter_map(|part| part.split_once('='));
    let is_secret = |(name, value): (&str, &str)| {
        let name = name.trim().to_ascii_lowercase();
        CONNECTION_SECRETS.contains(&name.as_str()) && !value.trim().is_empty()
    };
    let in_address = || {
        let authority = value.split_once("://")?.1.split(['/', '?', '#']).next()?;
        let (user, _) = authority.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(!password.is_empty())
    };
    pairs.any(is_secret) || in_address().unwrap_or(false)
}

/// Whether a text is one long run of mixed letters and digits, like a key and unlike words.
fn looks_random(value: &str) -> bool {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-');
    if value.len() < LONG || !value.chars().all(is_key) || value.contains("//") {
        return false;
    }
    if value.starts_with('/') {
        return false;
    }
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let upper = value.chars().filter(char::is_ascii_uppercase).count();
    let lower = value.chars().filter(char::is_ascii_lowercase).count();
    let is_hex = value.chars().all(|c| c.is_ascii_hexdigit());
    // In a key the kind of character changes every one or two characters, in a text after each
    // word.
    let runs = count_runs(value);
    digits > 0
        && upper + lower > 0
        && (is_hex || (upper > 0 && lower > 0))
        && runs * 3 > value.len()
}

/// How often the kind of character (digit, upper, lower, other) changes, plus one.
fn count_runs(value: &str) -> usize {
    let kind = |c: char| match c {
        c if c.is_ascii_digit() => 0,
        c if c.is_ascii_uppercase() => 1,
        c if c.is_ascii_lowercase() => 2,
        _ => 3,
    };
    let kinds: Vec<_> = value.chars().map(kind).collect();
    1 + kinds.windows(2).filter(|two| two[0] != two[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_told_by_name_prefix_or_look_and_ordinary_values_are_not() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("my_api_key", "1"),
            ("AWS_SECRET_ACCESS_KEY", "abc"),
            ("X", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
            ("X", "wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY9"),
            (
                "X",
                "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            ),
            ("X", "-----BEGIN OPENSSH PRIVATE KEY-----"),
            ("HTTP_AUTHORIZATION", "x"),
            ("DATABASE_URL", "postgres://me:abc@db.example/x"),
            (
                "HDR",
                "Authorization: token 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",
            ),
            (
                "CFLAGS",
                "-O2 -DTOKEN=\"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\"",
            ),
            ("DB_CONNECTION_STRING", "Server=db;User Id=me;Password=abc"),
            ("STORE", "AccountName=a;AccountKey=q83v=="),
        ] {
            assert!(find_secret(name, value).is_some(), "{name}={value}");
        }
        for (name, value) in [
            ("LANG", "de_DE.UTF-8"),
            ("MODE", "production"),
            ("DATA", "/home/someone/projects/2024-results/run-17"),
            ("SEED", "42"),
            ("TITLE", "a-rather-long-name-of-an-experiment-with-words-17"),
            ("TOKEN", ""),
            ("XDG_SESSION_ID", "3"),
            ("GIT_AUTHOR_DATE", "2024-01-02"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("MAX_TOKENS", "1000"),
            ("TOKEN_LIMIT", "4096"),
            ("AUTH_ENABLED", "false"),
            ("PASSWORD_MIN_LENGTH", "8"),
            ("CFLAGS", "-O2 -g -fstack-protector-strong"),
            ("DATABASE_URL", "postgres://me@db.example:5432/x"),
            ("PAGE", "http://localhost:8080/package@2.0"),
            ("DB_CONNECTION_STRING", "Server=db;Integrated Security=true"),
        ] {
            assert_eq!(find_secret(name, value), None, "{name}={value}");
        }
    }
}

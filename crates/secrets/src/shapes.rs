//! Secrets that are recognized by their shape rather than a prefix.

use crate::find::{Found, position};
use crate::kinds::Alphabet;

/// How far the end of a private key is searched for.
const LONGEST_PRIVATE_KEY: usize = 32 << 10;
/// How much of an address is searched for a password.
const LONGEST_ADDRESS: usize = 512;

/// Adds whatever has the shape of a secret.
pub fn find_shapes(bytes: &[u8], found: &mut Vec<Found>) {
    find_tokens(bytes, found);
    find_private_keys(bytes, found);
    find_passwords_in_addresses(bytes, found);
    find_mailgun_keys(bytes, found);
    find_telegram_tokens(bytes, found);
    find_discord_tokens(bytes, found);
}

/// Counts the bytes from `at` on that are in the alphabet.
fn run_length(bytes: &[u8], at: usize, alphabet: Alphabet) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| alphabet.has(**byte)).count()
}

/// Counts the bytes before `at` that are in the alphabet, up to `most`.
fn run_length_before(bytes: &[u8], at: usize, alphabet: Alphabet, most: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    before
        .iter()
        .rev()
        .take(most)
        .take_while(|byte| alphabet.has(**byte))
        .count()
}

/// Finds tokens of three parts, each base64 of JSON or of a signature.
fn find_tokens(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"eyJ", from) {
        let length = run_length(bytes, at, Alphabet::Dotted);
        let text = bytes.get(at..at + length).unwrap_or_default();
        let parts: Vec<&[u8]> = text.split(|byte| *byte == b'.').collect();
        if let [_, second, ..] = parts.as_slice()
            && second.starts_with(b"eyJ")
            && length >= 30
        {
            found.push(Found::plain(at..at + length, "jwt"));
        }
        from = at + length.max(3);
    }
}

/// Finds whole PEM private keys; one without an end is taken to be `LONGEST_PRIVATE_KEY` long.
fn find_private_keys(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"-----BEGIN ", from) {
        from = at + 11;
        let head = bytes.get(at..bytes.len().min(at + 80)).unwrap_or_default();
        let Some(named) = position(head, b"PRIVATE KEY", 0) else {
            continue;
        };
        let body = at + named;
        let limit = bytes.len().min(at + LONGEST_PRIVATE_KEY);
        let area = bytes.get(..limit).unwrap_or_default();
        let end = position(area, b"-----END ", body)
            .and_then(|end| Some(position(area, b"-----", end + 9)? + 5))
            .unwrap_or(limit);
        found.push(Found::plain(at..end, "private-key"));
        from = end;
    }
}

/// Finds the password in `scheme://user:password@host`. It may contain an unescaped `/` or `@`,
/// which is wrong but common.
fn find_passwords_in_addresses(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"://", from) {
        from = at + 3;
        let rest = bytes
            .get(from..bytes.len().min(from + LONGEST_ADDRESS))
            .unwrap_or_default();
        let is_inside = |byte: &u8| byte.is_ascii_graphic() && !b"\"'<>\\`?#{}".contains(byte);
        let length = rest.iter().take_while(|byte| is_inside(byte)).count();
        let address = rest.get(..length).unwrap_or_default();
        let slash = address.iter().position(|byte| *byte == b'/');
        let authority = address.get(..slash.unwrap_or(length)).unwrap_or_default();
        let Some(colon) = authority.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let user = authority.get(..colon).unwrap_or_default();
        let behind = authority.get(colon + 1..).unwrap_or_default();
        let end = match authority.iter().rposition(|byte| *byte == b'@') {
            Some(end) => Some(end),
            // Digits are a port, and a path follows.
            None if behind.iter().all(u8::is_ascii_digit) => None,
            None => address.iter().rposition(|byte| *byte == b'@'),
        };
        if let Some(end) = end
            && !user.contains(&b'@')
            && end > colon + 3
        {
            found.push(Found::plain(
                from + colon + 1..from + end,
                "address-password",
            ));
        }
    }
}

/// Finds `key-` and 32 hex digits, as a whole word.
fn find_mailgun_keys(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"key-", from) {
        from = at + 4;
        let digits = run_length(bytes, from, Alphabet::Hex);
        let is_whole = run_length(bytes, from, Alphabet::Word) == 32
            && run_length_before(bytes, at, Alphabet::Word, 1) == 0;
        if digits == 32 && is_whole {
            found.push(Found::plain(at..from + 32, "mailgun-key"));
        }
    }
}

/// Finds the number of a bot, a colon and 35 characters that begin with `AA`.
fn find_telegram_tokens(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b":AA", from) {
        from = at + 3;
        let before = bytes.get(..at).unwrap_or_default();
        let number = before
            .iter()
            .rev()
            .take(11)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let length = run_length(bytes, at + 1, Alphabet::Word);
        if (8..=10).contains(&number) && (34..=36).contains(&length) {
            found.push(Found::plain(at - number..at + 1 + length, "telegram-token"));
        }
    }
}

/// Finds the number of a bot in base64, six characters and a signature, with dots between.
fn find_discord_tokens(bytes: &[u8], found: &mut Vec<Found>) {
    for dot in memchr::memchr_iter(b'.', bytes) {
        if bytes.get(dot + 7) != Some(&b'.') || run_length(bytes, dot + 1, Alphabet::Word) != 6 {
            continue;
        }
        let number = run_length_before(bytes, dot, Alphabet::Word, 29);
        let signature = run_length(bytes, dot + 8, Alphabet::Word);
        let first = bytes.get(dot - number);
        if (23..=28).contains(&number)
            && signature >= 27
            && first.is_some_and(|first| b"MNO".contains(first))
        {
            found.push(Found::plain(
                dot - number..dot + 8 + signature,
                "discord-token",
            ));
        }
    }
}

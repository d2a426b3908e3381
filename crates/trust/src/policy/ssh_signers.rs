//! OpenSSH's allowed signers: lines of `principals [options] keytype base64 [comment]`.
//!
//! Lines are read as `ssh-keygen -Y verify` reads them. What has no meaning here is refused:
//! patterns as principals, because rules name signers; certificate authorities; unknown options.

use runseal_core::timestamp::parse_utc;

use super::PolicyError;
use crate::keys::{PublicKey, ssh, sshsig};

/// One line of an OpenSSH file of allowed signers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedSigner {
    /// The first principal of the line.
    pub name: String,
    /// The key of the line.
    pub key: PublicKey,
    /// The start of validity, in milliseconds since 1970.
    pub from: Option<i64>,
    /// The end of validity, in milliseconds since 1970.
    pub until: Option<i64>,
}

/// Reads the lines; `line` is where the text begins in its file. Lines for namespaces other than
/// ours are skipped; certificate authorities are refused.
///
/// # Errors
/// The first malformed line.
pub fn parse_allowed_signers(text: &str, line: usize) -> Result<Vec<AllowedSigner>, PolicyError> {
    let mut found = Vec::new();
    for (at, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let place = line + at;
        if let Some(signer) = parse_line(text).map_err(|fault| PolicyError::new(place, fault))? {
            found.push(signer);
        }
    }
    Ok(found)
}

fn parse_line(text: &str) -> Result<Option<AllowedSigner>, String> {
    let words = split_words(text);
    let at = words.iter().position(|word| {
        ["ssh-", "ecdsa-", "sk-"]
            .iter()
            .any(|start| word.starts_with(start))
    });
    let (Some(at @ 1..=2), Some(first)) = (at, words.first()) else {
        return Err("expected `principal [options] keytype key`".to_owned());
    };
    let key = words[at..]
        .iter()
        .take(2)
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    let key = ssh::parse_public_line(&key).map_err(|error| error.to_string())?;
    let mut signer = AllowedSigner {
        name: parse_principals(first)?.to_owned(),
        key,
        from: None,
        until: None,
    };
    let options = if at == 2 { words[1] } else { "" };
    let is_ours = parse_options(options, &mut signer)?;
    Ok(is_ours.then_some(signer))
}

/// Returns the first of the principals. All of them must be names: a rule cannot name a pattern.
fn parse_principals(word: &str) -> Result<&str, String> {
    let inside = word
        .strip_prefix('"')
        .and_then(|word| word.strip_suffix('"'));
    let list = inside.unwrap_or(word);
    if list.contains('"') {
        return Err("unexpected quote in the principals".to_owned());
    }
    let mut names = list.split(',');
    if let Some(pattern) = names.find(|name| name.is_empty() || name.contains(['!', '*', '?'])) {
        return Err(format!(
            "`{}` is a pattern, and a policy names its signers: expected the name of a principal",
            pattern.escape_debug()
        ));
    }
    Ok(list.split(',').next().unwrap_or_default())
}

/// Reads the options into `signer`. Returns whether the line is for our namespace.
fn parse_options(options: &str, signer: &mut AllowedSigner) -> Result<bool, String> {
    let mut namespaces = None;
    if options.is_empty() {
        return Ok(true);
    }
    for option in split_outside_quotes(options, |character| character == ',') {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let name = name.to_ascii_lowercase();
        let shown = option.escape_debug();
        let quoted = || {
            let value = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
            let value = value.filter(|value| !value.contains(['"', '\\']));
            value.ok_or_else(|| format!("expected `{name}=\"…\"`, actual `{shown}`"))
        };
        let is_new = match name.as_str() {
            "namespaces" => namespaces.replace(quoted()?).is_none(),
            "valid-after" => signer.from.replace(parse_time(quoted()?)?).is_none(),
            "valid-before" => signer.until.replace(parse_time(quoted()?)?).is_none(),
            "cert-authority" => {
                return Err("SSH certificate authorities are not supported".to_owned());
            }
            _ => return Err(format!("unknown option `{shown}`")),
        };
        if !is_new {
            return Err(format!("duplicate option `{name}`"));
        }
    }
    if let (Some(from), Some(until)) = (signer.from, signer.until)
        && from >= until
    {
        return Err("`valid-after` is not before `valid-before`".to_owned());
    }
    Ok(namespaces.is_none_or(|list| matches_list(list, sshsig::NAMESPACE)))
}

/// Matches OpenSSH's pattern lists: one pattern must match, and none with a leading `!` may.
fn matches_list(list: &str, text: &str) -> bool {
    let mut is_matched = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches_pattern(pattern, text) => return false,
            Some(_) => {}
            None => is_matched |= matches_pattern(pattern, text),
        }
    }
    is_matched
}

/// Matches OpenSSH's patterns: `*` is any text, `?` any character, and case matters.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    // The lengths of the text at which the pattern so far can end.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for wanted in pattern.bytes() {
        let mut next = vec![false; text.len() + 1];
        for length in 0..=text.len() {
            let before = length.checked_sub(1);
            next[length] = match wanted {
                b'*' => reached[length] || before.is_some_and(|before| next[before]),
                wanted => before.is_some_and(|before| {
                    reached[before] && (wanted == b'?' || text.as_bytes()[before] == wanted)
                }),
            };
        }
        reached = next;
    }
    reached[text.len()]
}

/// Splits words at spaces, except inside quotes.
fn split_words(text: &str) -> Vec<&str> {
    let words = split_outside_quotes(text, |character| character == ' ' || character == '\t');
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

fn split_outside_quotes(text: &str, parts: impl Fn(char) -> bool) -> Vec<&str> {
    let mut is_quoted = false;
    let split = text.split(move |character| {
        is_quoted ^= character == '"';
        !is_quoted && parts(character)
    });
    split.collect()
}

/// Reads `YYYYMMDD[HHMM[SS]][Z]`, always as UTC, so that the verdict is the same everywhere.
fn parse_time(text: &str) -> Result<i64, String> {
    let digits = text.strip_suffix('Z').unwrap_or(text);
    let fault = || format!("`{}` is not a time such as 20260101Z", text.escape_debug());
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || ![8, 12, 14].contains(&digits.len()) {
        return Err(fault());
    }
    let padded = format!("{digits:0<14}");
    let part = |from: usize, to: usize| &padded[from..to];
    let written = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    );
    parse_utc(&written).ok_or_else(fault)
}

#[cfg(test)]
mod tests {
    use super::matches_list;

    #[test]
    fn pattern_lists_match_like_openssh() {
        // Each was also tried with `ssh-keygen -Y verify -n runseal`.
        for (list, expected) in [
            ("runseal", true),
            ("git,runseal", true),
            ("*", true),
            ("run*", true),
            ("r?nseal", true),
            ("*seal*", true),
            ("!git,*", true),
            ("!runseal,*", false),
            ("*,!runseal", false),
            ("!run*,runseal", false),
            ("!git", false),
            ("Runseal", false),
            ("runsea", false),
            ("runseal ", false),
            ("?runseal", false),
            ("", false),
        ] {
            assert_eq!(matches_list(list, "runseal"), expected, "{list}");
        }
    }
}

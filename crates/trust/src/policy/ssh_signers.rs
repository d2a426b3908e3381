//! OpenSSH's allowed signers: `principals [options] keytype base64 [comment]`, a line each.

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
    /// Milliseconds since 1970.
    pub from: Option<i64>,
    /// Milliseconds since 1970.
    pub until: Option<i64>,
}

/// Reads the lines; `line` is where the text begins in its file. Lines for other namespaces than
/// ours are passed over; certificate authorities are refused.
///
/// # Errors
/// When a line is none of theirs.
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
    let name = first
        .trim_matches('"')
        .split(',')
        .next()
        .unwrap_or_default();
    let mut signer = AllowedSigner {
        name: name.to_owned(),
        key,
        from: None,
        until: None,
    };
    let options = if at == 2 { words[1] } else { "" };
    for option in split_options(options) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let value = value.trim_matches('"');
        match key.to_ascii_lowercase().as_str() {
            "namespaces" => {
                let mut patterns = value.split(',');
                if !patterns.any(|pattern| super::glob::matches(pattern, sshsig::NAMESPACE)) {
                    return Ok(None);
                }
            }
            "valid-after" => signer.from = Some(parse_time(value)?),
            "valid-before" => signer.until = Some(parse_time(value)?),
            "cert-authority" => {
                return Err("certificate authorities of SSH are not known here".to_owned());
            }
            other => return Err(format!("unknown option `{}`", other.escape_debug())),
        }
    }
    Ok(Some(signer))
}

/// Words that spaces part, where quotes keep spaces together.
fn split_words(text: &str) -> Vec<&str> {
    split_outside_quotes(text, |character| character == ' ' || character == '\t')
}

fn split_options(text: &str) -> Vec<&str> {
    split_outside_quotes(text, |character| character == ',')
}

fn split_outside_quotes(text: &str, parts: impl Fn(char) -> bool) -> Vec<&str> {
    let mut is_quoted = false;
    let split = text.split(move |character| {
        is_quoted ^= character == '"';
        !is_quoted && parts(character)
    });
    split.filter(|word| !word.is_empty()).collect()
}

/// `YYYYMMDD[HHMM[SS]][Z]`; taken as UTC, which a verdict that is the same everywhere needs.
fn parse_time(text: &str) -> Result<i64, String> {
    let digits = text.strip_suffix('Z').unwrap_or(text);
    let fault = || format!("`{}` is no time such as 20260101Z", text.escape_debug());
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

//! A redaction file: the user's own patterns for secrets.
//!
//! There is one rule per line, `NAME = PATTERN`: a regular expression over bytes, whose first
//! group, or else whole match, is the secret. Empty lines and lines that begin with `#` are
//! skipped.

use std::ops::Range;

use regex::bytes::Regex;

/// The user's own patterns, by name.
#[derive(Debug, Clone, Default)]
pub struct RedactionRules {
    rules: Vec<(String, Regex)>,
}

/// Why a redaction file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct RulesError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl RedactionRules {
    /// Parses a redaction file.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let mut rules = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fault = |reason: String| RulesError {
                line: at + 1,
                reason,
            };
            let (name, pattern) = line
                .split_once('=')
                .ok_or_else(|| fault("expected `NAME = PATTERN`".to_owned()))?;
            let name = name.trim();
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            if name.is_empty() || !name.bytes().all(is_plain) {
                let reason = format!("a name is letters, digits and hyphens, not `{name}`");
                return Err(fault(reason));
            }
            let regex = Regex::new(pattern.trim())
                .map_err(|error| fault(format!("not a regular expression: {error}")))?;
            if regex.is_match(b"") {
                return Err(fault(format!("`{name}` matches the empty text")));
            }
            rules.push((name.to_owned(), regex));
        }
        Ok(Self { rules })
    }

    /// Whether there are no rules.
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Finds every match: the rule's name and the range of the secret.
    pub(super) fn find<'r>(
        &'r self,
        bytes: &'r [u8],
    ) -> impl Iterator<Item = (&'r str, Range<usize>)> + 'r {
        self.rules.iter().flat_map(move |(name, regex)| {
            regex.captures_iter(bytes).filter_map(move |captures| {
                let secret = captures.get(1).or_else(|| captures.get(0))?;
                (!secret.is_empty()).then(|| (name.as_str(), secret.range()))
            })
        })
    }
}

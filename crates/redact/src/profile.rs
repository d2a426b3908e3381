//! Redaction profiles: what is withheld routinely, with reasons, in one TOML file.

use serde::Deserialize;
use thiserror::Error;

use super::{Drop, DropKind};

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ProfileError(pub String);

/// What to withhold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What is withheld, in the order of the file.
    pub drops: Vec<Drop>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProfileText {
    runseal_redaction: u32,
    #[serde(default)]
    drop: Vec<DropText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropText {
    place: Option<String>,
    #[serde(rename = "match")]
    pattern: Option<String>,
    reason: String,
}

impl Profile {
    /// Parses a profile.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: ProfileText = toml::from_str(text).map_err(|error| {
            // The parser's own output quotes the text over several lines.
            let message = error.message().replace('\n', "; ");
            let line = error.span().map(|span| {
                let before = text.as_bytes().iter().take(span.start);
                1 + before.filter(|byte| **byte == b'\n').count()
            });
            ProfileError(match line {
                Some(line) => format!("line {line}: {message}"),
                None => message,
            })
        })?;
        if file.runseal_redaction != 1 {
            let fault = format!("version {} is unknown", file.runseal_redaction);
            return Err(ProfileError(fault));
        }
        let mut drops = Vec::new();
        for (at, drop) in file.drop.into_iter().enumerate() {
            let kind = match (drop.place, drop.pattern) {
                (Some(place), None) => DropKind::Place(place),
                (None, Some(pattern)) => DropKind::Match(pattern),
                _ => {
                    let fault = format!("drop {} needs either `place` or `match`", at + 1);
                    return Err(ProfileError(fault));
                }
            };
            if drop.reason.trim().is_empty() {
                return Err(ProfileError(format!("drop {} has no reason", at + 1)));
            }
            drops.push(Drop {
                kind,
                reason: drop.reason,
            });
        }
        Ok(Self { drops })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_profile_error_is_one_line() {
        for (text, begins) in [
            (
                "runseal-redaction = 1\n\n[[drop]]\nplace = \"a\nreason = 1",
                "line 4: ",
            ),
            (
                "runseal-redaction = 1\n[[drop]]\nplac = \"a\"\nreason = \"b\"\n",
                "line 3: ",
            ),
            ("runseal-redaction = 2\n", "version 2 is unknown"),
            ("", "line 1: "),
        ] {
            let message = Profile::parse(text).unwrap_err().to_string();
            assert!(
                message.starts_with(begins) && !message.contains('\n'),
                "{message}"
            );
        }
    }
}

//! Addresses in object storage: `s3://BUCKET/KEY[@sha256:DIGEST]`.

use std::fmt;

use runseal_core::digest::{ContentHash, Digest};

use crate::error::{RemoteError, shown_address};

/// The scheme of every address.
pub(crate) const SCHEME: &str = "s3://";

/// The longest key that object storage accepts, in bytes.
const MAX_KEY: usize = 1024;

/// An address in object storage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct S3Address {
    /// The bucket.
    pub bucket: String,
    /// The key, without a slash at either end; empty for the bucket itself.
    pub key: String,
    /// The digest that the run must have, if the address gives one.
    pub pin: Option<Pin>,
}

/// Requires the manifest of a run to have this digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// The key of the run. The address names this run or something in it.
    key: String,
    /// The digest.
    pub hash: ContentHash,
}

impl Pin {
    /// Pins the run at `key`.
    pub(crate) fn of(key: &str, hash: ContentHash) -> Self {
        Self {
            key: key.to_owned(),
            hash,
        }
    }
}

impl S3Address {
    /// Parses an address.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        let refuse = |problem| RemoteError::Address {
            address: shown_address(text).escape_debug().to_string(),
            problem,
        };
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return Err(refuse("it does not begin with `s3://`"));
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
        // Some servers accept longer and other names than S3 does, but none accepts these.
        if bucket.is_empty() || !bucket.chars().all(is_name) {
            return Err(refuse(
                "the bucket's name is missing or has invalid characters",
            ));
        }
        let (key, pin) = take_pin(key).map_err(refuse)?;
        let key = key.trim_end_matches('/');
        if key.len() > MAX_KEY {
            return Err(refuse("the key is longer than object storage accepts"));
        }
        let is_bad = |part: &str| matches!(part, "" | "." | "..");
        if !key.is_empty() && key.split('/').any(is_bad) {
            return Err(refuse("the key has an empty, `.` or `..` segment"));
        }
        if key.chars().any(char::is_control) {
            return Err(refuse("the key contains a control character"));
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            pin,
        })
    }

    /// Returns the address without its pin, as a cache key.
    pub(crate) fn unpinned(&self) -> Self {
        Self {
            pin: None,
            ..self.clone()
        }
    }

    /// Returns the address of something in this folder.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self {
            bucket: self.bucket.clone(),
            key: join(&self.key, name),
            pin: None,
        }
    }

    /// Returns the folder around this address, and the name in it; `None` for the bucket itself.
    pub(crate) fn parent(&self) -> Option<(Self, &str)> {
        if self.key.is_empty() {
            return None;
        }
        let (folder, name) = self.key.rsplit_once('/').unwrap_or(("", &self.key));
        let folder = Self {
            bucket: self.bucket.clone(),
            key: folder.to_owned(),
            pin: self.pin.clone().filter(|pin| pin.key.len() <= folder.len()),
        };
        Some((folder, name))
    }
}

/// Separates a run's key from its digest.
const PIN: &str = "@sha256:";

/// Splits the digest from a key. It follows the run's name, before any path inside the run.
fn take_pin(key: &str) -> Result<(String, Option<Pin>), &'static str> {
    let Some((run, rest)) = key.split_once(PIN) else {
        return Ok((key.to_owned(), None));
    };
    let (digest, rest) = rest.split_at_checked(64).unwrap_or((rest, ""));
    let digest = Digest::parse_hex(digest).map_err(|_| "what follows `@` is not a digest")?;
    let whole = format!("{run}{rest}");
    // A key that only begins with the run's name, such as its signature's, is not part of the run.
    let is_of_run = rest.is_empty() || rest.starts_with('/');
    let pin = is_of_run.then(|| Pin::of(run, ContentHash::from(digest)));
    Ok((whole, pin))
}

/// Returns the key of `name` in a folder.
pub(crate) fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

impl fmt::Display for S3Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.bucket)?;
        let key = match &self.pin {
            None => self.key.clone(),
            Some(Pin { key, hash }) => {
                let rest = self.key.strip_prefix(key.as_str()).unwrap_or_default();
                format!("{key}@{hash}{rest}")
            }
        };
        match key.as_str() {
            "" => Ok(()),
            key => write!(f, "/{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_round_trips() {
        let digest = "0".repeat(64);
        for text in [
            "s3://bucket",
            "s3://bucket/a",
            "s3://bucket/a/b c/d@e",
            &format!("s3://bucket/a/run@sha256:{digest}"),
            &format!("s3://bucket/a/run@sha256:{digest}/b/c"),
        ] {
            assert_eq!(S3Address::parse(text).unwrap().to_string(), text);
        }
        let address = S3Address::parse("s3://bucket/a/b/").unwrap();
        assert_eq!(address.key, "a/b");
        let (folder, name) = address.parent().unwrap();
        assert_eq!((folder.key.as_str(), name), ("a", "b"));
        assert_eq!(folder.child("c").key, "a/c");
        let beside = format!("s3://bucket/run@sha256:{digest}.intoto.jsonl");
        let beside = S3Address::parse(&beside).unwrap();
        assert_eq!(
            (beside.key.as_str(), beside.pin),
            ("run.intoto.jsonl", None)
        );
    }

    #[test]
    fn invalid_address_is_refused() {
        for text in [
            "s3:/bucket",
            "s3://",
            "s3:///key",
            "s3://Bucket!/key",
            "s3://me:secret@host/key",
            "s3://bucket/a//b",
            "s3://bucket/../b",
            "s3://bucket/a@sha256:12",
        ] {
            assert!(S3Address::parse(text).is_err(), "{text}");
        }
    }
}

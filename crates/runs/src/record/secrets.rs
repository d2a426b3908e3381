//! Keeps the values of secret variables out of what is shown of a run.

use std::collections::BTreeMap;
use std::io;

use runseal_secrets::known::{KnownSecrets, can_be_found};

use super::difference::describe_difference;
use super::error::{RecordError, work_error};
use crate::run::replay::Divergence;

/// Keeps secrets out of what is shown of a run.
///
/// A secret counts as found by its whole value or by one of its lines, as it is, as JSON writes it, in hex, in base64 or
/// percent-encoded, however white space breaks it up. Where one is found, nothing of the text is shown: what else of it is
/// secret cannot be told.
pub(crate) struct HiddenSecrets(KnownSecrets);

impl HiddenSecrets {
    pub(crate) fn of(secrets: &BTreeMap<String, String>) -> Self {
        let mut known = KnownSecrets::default();
        for (name, value) in secrets
            .iter()
            .filter(|(_, value)| !squeeze(value).is_empty())
        {
            known.learn_given(name, value);
            // White space may break up what had none.
            for text in value
                .lines()
                .filter(|line| can_be_found(line.trim()))
                .chain([value.as_str()])
            {
                known.learn_given(name, &String::from_utf8_lossy(&squeeze(text)));
            }
        }
        Self(known)
    }

    /// The variable whose value stands in `bytes`, if one does.
    fn find(&self, bytes: &[u8]) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let found = self.0.find_layered(bytes);
        let found = found.or_else(|| self.0.find_layered(&squeeze(bytes)));
        found.map(|(name, _)| name)
    }

    /// Says where two versions of the file at `place` differ, as [`describe_difference`] does.
    pub(crate) fn describe(&self, place: &str, before: &[u8], now: &[u8]) -> Option<String> {
        match self.find(before).or_else(|| self.find(now)) {
            Some(name) => Some(format!("[secret {name}] is in it, so it is not shown")),
            None => describe_difference(place, before, now),
        }
    }

    /// Whether the value of a secret is in what `reader` gives, broken up by no white space.
    pub(crate) fn is_in(&self, reader: &mut impl io::Read) -> Result<bool, RecordError> {
        let found = self.0.find_in(reader).map_err(work_error)?;
        Ok(found.is_some())
    }

    /// Replaces a text with a secret in it.
    pub(crate) fn hide(&self, text: &mut String) {
        if let Some(name) = self.find(text.as_bytes()) {
            *text = format!("[secret {name}]");
        }
    }

    /// Replaces the texts of places that differ if a secret is in them.
    pub(crate) fn hide_in(&self, divergences: &mut [Divergence]) {
        for found in divergences {
            let texts = [&mut found.path, &mut found.sealed, &mut found.now];
            let optional = found.pointer.iter_mut().chain(&mut found.difference);
            texts
                .into_iter()
                .chain(optional)
                .for_each(|it| self.hide(it));
        }
    }
}

/// Without white space, which tools put into long texts wherever a line is full.
fn squeeze(text: impl AsRef<[u8]>) -> Vec<u8> {
    let kept = text
        .as_ref()
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace());
    kept.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        values.iter().map(own).collect()
    }

    #[test]
    fn hidden_secret_is_found_by_value_or_line_in_every_spelling_and_nothing_else_is() {
        let secrets = variables(&[
            ("KEY", "first line/+\r\nsecond \"line\"\n}\n"),
            ("PIN", "42"),
        ]);
        let hidden = HiddenSecrets::of(&secrets);
        for text in [
            "x first line/+ y",
            "+second \"line\"",
            r#"{"a":"second \"line\""}"#,
            "66697273 74206c69\n6e652f2b",
            "66697273 74206C69 6E652F2B",
            "first%20line%2F%2B",
            "Zmlyc3QgbGlu\nZS8r",
            "eGZpcnN0IGxpbmUvKw==",
            "eHhmaXJzdCBsaW5lLys=",
            "the pin is 42",
        ] {
            let told = hidden.describe("a.txt", b"other", text.as_bytes()).unwrap();
            assert!(told.starts_with("[secret "), "{text}: {told}");
            let mut shown = text.to_owned();
            hidden.hide(&mut shown);
            assert!(shown.starts_with("[secret "), "{text}: {shown}");
        }
        for text in ["}", "first", "34 32", "NDI="] {
            let told = hidden.describe("a.txt", b"other", text.as_bytes()).unwrap();
            assert!(told.contains(text), "{text}: {told}");
        }
    }
}

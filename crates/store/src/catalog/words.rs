//! Splits texts into search words, in the same way for every database.
//!
//! A word is a run of letters and digits, in lower case. The database stores and searches only such
//! words, so that its own language rules never matter.

use std::collections::BTreeSet;

use super::entry::{Entry, Scalar};

/// The most words per entry; bounds the index.
const MOST: usize = 2000;
/// The longest word in characters; the rest of a longer one cannot be searched for.
const LONGEST: usize = 64;

/// Returns the words of a text, in order and with repetitions.
pub fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.chars()
                .take(LONGEST)
                .collect::<String>()
                .to_lowercase()
        })
}

/// Returns the words by which an entry is found: names and texts of its values, integers, tags, id,
/// format, engine and outcome.
pub fn words_of_entry(entry: &Entry) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut take = |text: &str| {
        for word in words_of(text) {
            if words.len() < MOST {
                words.insert(word);
            }
        }
    };
    take(&entry.format);
    for text in [&entry.id, &entry.engine, &entry.outcome] {
        take(text.as_deref().unwrap_or_default());
    }
    for tag in &entry.tags {
        take(tag);
    }
    for (name, scalar) in &entry.values {
        take(name.as_str());
        match scalar {
            Scalar::Text(text) => take(text),
            Scalar::Number(number) if number.fract() == 0.0 => take(&scalar.shown()),
            Scalar::Number(_) | Scalar::Flag(_) => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_in_lower_case() {
        let words: Vec<_> = words_of("Run-Bundle: \"Größe\" *' 3.14 \u{0}é").collect();
        assert_eq!(words, ["run", "bundle", "größe", "3", "14", "é"]);
        assert_eq!(words_of("-- ' :*").count(), 0);
    }
}

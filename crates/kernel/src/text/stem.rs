//! A small suffix stripper for English, good enough to see that `cached`, `caches` and `caching`
//! are one word.
//!
//! It returns a prefix of the word, so it allocates nothing. It need not be linguistically right:
//! both sides of every comparison go through it. Irregular forms are in `rules/words.toml`.

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// `stopp` becomes `stop`; `pass`, `call`, `free` and `too` stay.
fn undouble(word: &str) -> &str {
    let b = word.as_bytes();
    let n = b.len();
    if n > 3 && b[n - 1] == b[n - 2] && !matches!(b[n - 1], b's' | b'l' | b'e' | b'o') {
        &word[..n - 1]
    } else {
        word
    }
}

/// `bookings` becomes `booking`, `boxes` `box`; `status` and `access` stay.
fn singular(word: &str) -> &str {
    let b = word.as_bytes();
    let n = b.len();
    let hissing = ["sses", "shes", "ches", "xes", "zes"];
    if n > 4 && hissing.iter().any(|e| word.ends_with(e)) {
        &word[..n - 2]
    } else if n > 3 && word.ends_with('s') && !matches!(b[n - 2], b's' | b'u' | b'i') {
        &word[..n - 1]
    } else {
        word
    }
}

/// Strips the ending of a verb form: `caching`, `cached`.
fn without_verb_ending(word: &str) -> &str {
    let n = word.len();
    if n > 5 && word.ends_with("ing") && word.bytes().take(n - 3).any(is_vowel) {
        undouble(&word[..n - 3])
    } else if n > 4 && word.ends_with("ed") && !word.ends_with("eed") {
        undouble(&word[..n - 2])
    } else {
        word
    }
}

/// Returns the stem of a lower-case word: a prefix of it.
pub(crate) fn stem(word: &str) -> &str {
    let word = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    let n = word.len();
    if !word.is_ascii() || n < 3 {
        return word;
    }
    if n > 4 && (word.ends_with("ies") || word.ends_with("ied")) {
        return &word[..n - 3];
    }
    let mut cut = without_verb_ending(singular(word));
    // encryption, deletion, authentication: the noun of the verb.
    for (ending, least) in [("ship", 9), ("ion", 7), ("ment", 8), ("ity", 8), ("ly", 6)] {
        if cut.len() >= least && cut.ends_with(ending) {
            cut = &cut[..cut.len() - ending.len()];
            break;
        }
    }
    let c = cut.as_bytes();
    let n = c.len();
    if n > 3 && (c[n - 1] == b'e' || c[n - 1] == b'y' && !is_vowel(c[n - 2])) {
        &cut[..n - 1]
    } else {
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn forms_of_one_word_have_the_same_stem() {
        let words = "cached caches caching cache|deletion deleted delete deletes|booking bookings booked \
                     books|stopped stops stopping|retries retry retried|confidentiality confidential";
        for forms in words.split('|') {
            let first = forms.split_whitespace().next().unwrap();
            assert!(
                forms
                    .split_whitespace()
                    .all(|form| stem(form) == stem(first)),
                "{forms}"
            );
        }
    }

    #[test]
    fn short_and_foreign_words_are_not_stemmed() {
        for word in ["is", "bus", "status", "é", "", "s", "access"] {
            assert_eq!(stem(word), word);
        }
    }
}

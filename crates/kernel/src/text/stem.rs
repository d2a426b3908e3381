//! A small suffix stripper for English, good enough to see that `cached`, `caches` and `caching` are one word.
//!
//! It returns a prefix of the word (or one of a few irregular forms), so it allocates nothing. It does not try to
//! be a linguist's stemmer: both sides of every comparison go through it.

/// Irregular forms that people use in requirements.
const IRREGULAR: &[(&str, &str)] = &[
    ("been", "be"),
    ("began", "begin"),
    ("begun", "begin"),
    ("borne", "bear"),
    ("bought", "buy"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("cancelled", "cancel"),
    ("cancelling", "cancel"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choos"),
    ("chosen", "choos"),
    ("controlled", "control"),
    ("controlling", "control"),
    ("cookie", "cooki"),
    ("cookies", "cooki"),
    ("cost", "cost"),
    ("data", "data"),
    ("done", "do"),
    ("drawn", "draw"),
    ("drew", "draw"),
    ("driven", "driv"),
    ("drove", "driv"),
    ("every", "every"),
    ("fed", "feed"),
    ("forgave", "forgiv"),
    ("forgiven", "forgiv"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("found", "find"),
    ("gave", "giv"),
    ("given", "giv"),
    ("gone", "go"),
    ("has", "hav"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hidden", "hid"),
    ("https", "https"),
    ("ids", "id"),
    ("kept", "keep"),
    ("knew", "know"),
    ("known", "know"),
    ("labelled", "label"),
    ("labelling", "label"),
    ("left", "leav"),
    ("lent", "lend"),
    ("levelled", "level"),
    ("levelling", "level"),
    ("lost", "los"),
    ("made", "mak"),
    ("media", "media"),
    ("men", "man"),
    ("met", "meet"),
    ("modelled", "model"),
    ("modelling", "model"),
    ("news", "news"),
    ("overwritten", "overwrit"),
    ("overwrote", "overwrit"),
    ("paid", "pay"),
    ("ran", "run"),
    ("rang", "ring"),
    ("rung", "ring"),
    ("said", "say"),
    ("sat", "sit"),
    ("seen", "see"),
    ("sent", "send"),
    ("series", "series"),
    ("shown", "show"),
    ("signalled", "signal"),
    ("signalling", "signal"),
    ("slept", "sleep"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("spoken", "speak"),
    ("stood", "stand"),
    ("taken", "tak"),
    ("taught", "teach"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "tak"),
    ("travelled", "travel"),
    ("travelling", "travel"),
    ("understood", "understand"),
    ("undone", "undo"),
    ("use", "use"),
    ("used", "use"),
    ("uses", "use"),
    ("using", "use"),
    ("went", "go"),
    ("withdrawn", "withdraw"),
    ("withdrew", "withdraw"),
    ("withheld", "withhold"),
    ("women", "woman"),
    ("won", "win"),
    ("worn", "wear"),
    ("written", "writ"),
    ("wrote", "writ"),
];

/// Where the words of each first letter begin in [`IRREGULAR`], which is sorted; found when this is compiled.
const FIRST: [u8; 27] = {
    let mut first = [0; 27];
    let mut letter = 1;
    while letter < 27 {
        let mut at = first[letter - 1];
        while (at as usize) < IRREGULAR.len()
            && IRREGULAR[at as usize].0.as_bytes()[0] < b'a' + letter as u8
        {
            at += 1;
        }
        first[letter] = at;
        letter += 1;
    }
    first
};

fn irregular(word: &str) -> Option<&'static str> {
    let letter = usize::from(word.as_bytes().first()?.checked_sub(b'a')?);
    let (from, to) = (*FIRST.get(letter)?, *FIRST.get(letter + 1)?);
    let mut same = IRREGULAR[usize::from(from)..usize::from(to)].iter();
    same.find(|(form, _)| *form == word).map(|(_, stem)| *stem)
}

fn undouble(word: &str) -> &str {
    let b = word.as_bytes();
    let n = b.len();
    if n > 3 && b[n - 1] == b[n - 2] && !matches!(b[n - 1], b's' | b'l' | b'e' | b'o') {
        &word[..n - 1]
    } else {
        word
    }
}

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// The stem of a lower-case word: a prefix of it, or the stem of the regular form.
pub(crate) fn stem(word: &str) -> &str {
    let word = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    if !word.is_ascii() || word.len() < 3 {
        return word;
    }
    if let Some(stem) = irregular(word) {
        return stem;
    }
    let b = word.as_bytes();
    let n = b.len();
    if n > 4 && (word.ends_with("ies") || word.ends_with("ied")) {
        return &word[..n - 3];
    }
    // Plural first: bookings, booking, book.
    let doubled = ["sses", "shes", "ches", "xes", "zes"];
    let word = if n > 4 && doubled.iter().any(|e| word.ends_with(e)) {
        &word[..n - 2]
    } else if n > 3 && word.ends_with('s') && !matches!(b[n - 2], b's' | b'u' | b'i') {
        &word[..n - 1]
    } else {
        word
    };
    let n = word.len();
    let cut = if n > 5 && word.ends_with("ing") && b[..n - 3].iter().any(|c| is_vowel(*c)) {
        undouble(&word[..n - 3])
    } else if n > 4 && word.ends_with("ed") && !word.ends_with("eed") {
        undouble(&word[..n - 2])
    } else {
        word
    };
    // membership: the noun of members.
    let cut = if cut.len() > 8 && cut.ends_with("ship") {
        &cut[..cut.len() - 4]
    } else {
        cut
    };
    // encryption, deletion, authentication: the noun of the verb.
    let cut = if cut.len() > 6 && cut.ends_with("ion") {
        &cut[..cut.len() - 3]
    } else {
        cut
    };
    let n = cut.len();
    let c = cut.as_bytes();
    let cut = if n > 3 && (c[n - 1] == b'e' || c[n - 1] == b'y' && !is_vowel(c[n - 2])) {
        &cut[..n - 1]
    } else {
        cut
    };
    // confirmation, confirm; authentication, authenticate.
    if cut.len() >= 8 && cut.ends_with("at") {
        &cut[..cut.len() - 2]
    } else {
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_table_is_sorted() {
        assert!(IRREGULAR.windows(2).all(|w| w[0].0 < w[1].0));
    }

    #[test]
    fn stem_inflected_forms_agree() {
        for group in [
            &["cache", "cached", "caches", "caching"][..],
            &["log", "logs", "logged", "logging"],
            &["write", "writes", "written", "writing"],
            &["entry", "entries"],
            &["delete", "deleted", "deletes", "deleting"],
            &["store", "stored", "stores"],
            &["partner's", "partners", "partner"],
            &["confirm", "confirmed", "confirmation"],
            &["authenticate", "authenticated", "authentication"],
        ] {
            for w in group {
                assert_eq!(stem(w), stem(group[0]), "{w}");
            }
        }
    }
}

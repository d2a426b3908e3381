//! Whether a text is random, as keys are, or was made up by somebody as an example.

/// What the keys of examples say, in lower case.
const MADE_UP: [&[u8]; 17] = [
    b"example",
    b"placeholder",
    b"changeme",
    b"change-me",
    b"change_me",
    b"redacted",
    b"xxxx",
    b"****",
    b"your-",
    b"your_",
    b"dummy",
    b"not-a-",
    b"insert",
    b"abcdefgh",
    b"12345678",
    b"000000",
    b"deadbeef",
];

/// Whether a body of letters and digits is as varied as random ones are, and not made up.
pub(super) fn is_random(body: &[u8]) -> bool {
    let least = (body.len() * 2 / 5).clamp(7, 14);
    distinct(body) >= least && !is_made_up(body)
}

/// The same for hex digits, of which there are few.
pub(super) fn is_random_hex(body: &[u8]) -> bool {
    distinct(body) >= 9 && !is_made_up(body)
}

/// Whether a text says that it is an example, repeats itself or counts.
pub(super) fn is_made_up(body: &[u8]) -> bool {
    let lower = body.to_ascii_lowercase();
    let says = |word: &&[u8]| memchr::memmem::find(&lower, word).is_some();
    // Steps to the same or the next character.
    let steps = body
        .windows(2)
        .filter(|two| matches!(two, [a, b] if b.wrapping_sub(*a) <= 1));
    MADE_UP.iter().any(says) || steps.count() * 2 > body.len()
}

fn distinct(body: &[u8]) -> usize {
    let mut seen = [false; 256];
    for byte in body {
        if let Some(seen) = seen.get_mut(usize::from(*byte)) {
            *seen = true;
        }
    }
    seen.iter().filter(|seen| **seen).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_keys_are_not_random() {
        for text in [
            "abcdefghijklmnopqrstuvwxyz012345",
            "AbcdefExampleKeyForTheManual1234",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "aaaaaaaaaabbbbbbbbbbcccccccccc12",
            "1234567890abcdef1234567890abcdef",
        ] {
            assert!(!is_random(text.as_bytes()), "{text}");
        }
        for text in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "wJalrXUtnFEMIK7MDENGbPxRfiCY",
        ] {
            assert!(is_random(text.as_bytes()), "{text}");
        }
        assert!(is_random_hex(b"9f86d081884c7d659a2feaa0c55ad015"));
    }
}

//! Private keys in PEM and in PuTTY's form: only those whose body can be read as a key, since
//! documentation and programs are full of headers.

use crate::find::position;

/// How long the text of a private key can be.
pub(super) const LONGEST: usize = 32 << 10;
/// The longest line with its name.
const LONGEST_HEAD: usize = 80;
/// How much of a body is decoded: enough to tell what it is.
const DECODED: usize = 24 << 10;
/// The fewest bytes of a key: one of 32 bytes has 48 with what it is wrapped in.
const LEAST: usize = 46;

/// The name of the kind of the private key that begins at `at` with `-----BEGIN `, if it is one.
pub(super) fn judge_pem(bytes: &[u8], at: usize) -> Option<&'static str> {
    let area = bytes.get(at..bytes.len().min(at + LONGEST))?;
    let head = area.get(..area.len().min(LONGEST_HEAD))?;
    let label_end = position(head, b"-----", 11)?;
    let label = head.get(11..label_end)?;
    let is_pgp = label == b"PGP PRIVATE KEY BLOCK";
    if !is_pgp && !label.ends_with(b"PRIVATE KEY") {
        return None;
    }
    let start = label_end + 5;
    // Whatever begins with dashes; so no two keys are read over the same bytes.
    let end = position(area, b"-----", start).unwrap_or(area.len());
    let body = area.get(start..end)?;
    if position(body, b"ENCRYPTED", 0).is_some_and(|at| at < 120) {
        // The older form says so in a header, and the rest cannot be told from chance.
        return (read_body(body).len() >= LEAST).then_some("encrypted private key");
    }
    let decoded = read_body(body);
    let is_key = match decoded.as_slice() {
        it if it.len() < LEAST => false,
        it if it.starts_with(b"openssh-key-v1\0") => true,
        [first, ..] if is_pgp => {
            // A secret key or subkey, in the old or the new form of packets.
            let tag = if first & 0x40 != 0 {
                first & 0x3f
            } else {
                first >> 2 & 0xf
            };
            first & 0x80 != 0 && matches!(tag, 5 | 7)
        }
        it => is_whole_sequence(it),
    };
    let is_encrypted = label.starts_with(b"ENCRYPTED");
    (is_key && !is_published(&decoded)).then_some(match is_encrypted {
        true => "encrypted private key",
        false => "private key",
    })
}

/// Whether a private key in PuTTY's form follows `Private-Lines: `, which ends at `at`.
pub(super) fn judge_putty(bytes: &[u8], at: usize) -> bool {
    let area = bytes.get(at..bytes.len().min(at + 256)).unwrap_or_default();
    let digits = area.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = area.get(digits..).unwrap_or_default();
    digits > 0 && rest.starts_with(b"\n") && read_body(rest).len() >= 20
        || rest.starts_with(b"\r\n") && read_body(rest).len() >= 20
}

/// Decodes the base64 of a body, in whatever notation of a program or document its lines are: broken, indented,
/// quoted, or with `\n` between them. Headers are left out.
fn read_body(body: &[u8]) -> Vec<u8> {
    let mut letters = Vec::with_capacity(body.len().min(DECODED));
    let mut line_start = 0;
    let mut at = 0;
    while let Some(byte) = body.get(at)
        && letters.len() < DECODED
    {
        match byte {
            b'\\' => {
                // `\n`, `\\n`, `\r`.
                let slashes = body.get(at..).unwrap_or_default();
                let slashes = slashes.iter().take_while(|byte| **byte == b'\\').count();
                at += slashes;
                if matches!(body.get(at), Some(b'n' | b'r')) {
                    at += 1;
                }
                line_start = letters.len();
                continue;
            }
            b'\n' => line_start = letters.len(),
            // A header such as `Proc-Type: 4,ENCRYPTED`, to the end of its line.
            b':' => {
                letters.truncate(line_start);
                let rest = body.get(at..).unwrap_or_default();
                let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\\'));
                at += end.unwrap_or(rest.len());
                continue;
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => letters.push(*byte),
            b'=' => {
                // Padding, or the checksum of PGP: the end in both cases.
                break;
            }
            // A line of its own in a program: `"…" +`.
            b'\r' | b' ' | b'\t' | b'"' | b'\'' | b',' | b'#' | b'*' | b'>' | b'|' | b'-' => {}
            _ => break,
        }
        at += 1;
    }
    let lines = std::iter::once(0..letters.len()).collect::<Vec<_>>();
    crate::encoded::decode_base64_from(&letters, &lines, 0, usize::MAX)
}

/// Whether bytes are one DER sequence, whole and with no more than padding behind it.
fn is_whole_sequence(bytes: &[u8]) -> bool {
    let (head, length) = match bytes {
        [0x30, short @ 0..=0x7f, ..] => (2, usize::from(*short)),
        [0x30, 0x81, a, ..] => (3, usize::from(*a)),
        [0x30, 0x82, a, b, ..] => (4, usize::from(*a) << 8 | usize::from(*b)),
        _ => return false,
    };
    // It begins with a number or another sequence, and is neither cut off nor of one byte only.
    let rest = bytes.len().checked_sub(head + length);
    matches!(bytes.get(head), Some(0x02 | 0x30))
        && (rest.is_some_and(|more| more <= 3) || bytes.len() + 8 > DECODED * 3 / 4)
}

/// Whether the key is one that a standard gives as an example.
fn is_published(decoded: &[u8]) -> bool {
    // RFC 8410, section 10.3.
    const SEED: [u8; 8] = [0xd4, 0xee, 0x72, 0xdb, 0xf9, 0x13, 0x58, 0x4a];
    position(decoded, &SEED, 0).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of no use to anybody: 32 counted bytes.
    fn pem(label: &str, between: &str) -> String {
        let mut der = vec![
            0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
        ];
        der.extend((0..32_u8).map(|byte| byte.wrapping_mul(37) ^ 0x5a));
        let text = <base64ct::Base64 as base64ct::Encoding>::encode_string(&der);
        let (first, second) = text.split_at(40);
        format!(
            "-----BEGIN {label}-----{between}{first}{between}{second}{between}-----END {label}-----"
        )
    }

    #[test]
    fn key_in_any_notation_is_told() {
        for between in [
            "\n",
            "\r\n",
            "\\n",
            "\\\\n",
            "\n    ",
            "\\n\"\n  \"",
            "\n# ",
        ] {
            let text = pem("PRIVATE KEY", between);
            assert_eq!(judge_pem(text.as_bytes(), 0), Some("private key"), "{text}");
            let text = pem("ENCRYPTED PRIVATE KEY", between);
            assert_eq!(
                judge_pem(text.as_bytes(), 0),
                Some("encrypted private key"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_key_is_not_told() {
        let cut = pem("PRIVATE KEY", "\n").replace("-----END", "...\n-----END");
        for text in [
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ...\n-----END PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----",
            "`-----BEGIN PRIVATE KEY-----` begins a key, and whatever is long enough follows it here",
            "-----BEGIN PRIVATE KEY-----\nyour key here, your key here, your key here, your key here\n",
            &pem("CERTIFICATE", "\n"),
            &pem("PUBLIC KEY", "\n"),
        ] {
            assert_eq!(judge_pem(text.as_bytes(), 0), None, "{text}");
        }
        // Something behind the last line does not make it another one.
        assert!(judge_pem(cut.as_bytes(), 0).is_some());
        let published = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----";
        assert_eq!(judge_pem(published.as_bytes(), 0), None);
    }
}

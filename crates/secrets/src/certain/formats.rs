//! Formats in which services give out keys, as a table: a prefix, then pieces of a length and an alphabet.
//!
//! Keys for tests and for publication (`sk_test_…`, `pk_live_…`), ids that open nothing and prefixes that words
//! begin with are left out.

use super::random::{is_random, is_random_hex};
use crate::kinds::Alphabet;
use Alphabet::{Alphanumeric, Base64, Capital, Digit, Hex, Word};

/// Some characters of an alphabet, and the text that follows them.
type Piece = (Alphabet, usize, usize, &'static str);

/// A format of one service.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) prefix: &'static str,
    pieces: &'static [Piece],
    is_real: fn(&[u8]) -> bool,
}

const fn format(
    name: &'static str,
    prefix: &'static str,
    pieces: &'static [Piece],
    is_real: fn(&[u8]) -> bool,
) -> Format {
    Format {
        name,
        prefix,
        pieces,
        is_real,
    }
}

/// As many characters as there are, since services have made their keys longer; so many are looked at.
const ANY: usize = 512;

/// The formats; a longer prefix comes before any prefix of it.
pub(super) static FORMATS: &[Format] = &[
    format(
        "Anthropic key",
        "sk-ant-",
        &[(Word, 40, ANY, "")],
        is_random,
    ),
    format(
        "OpenRouter key",
        "sk-or-v1-",
        &[(Hex, 64, 64, "")],
        is_random_hex,
    ),
    format("OpenAI key", "sk-proj-", &[(Word, 40, ANY, "")], is_random),
    format(
        "OpenAI key",
        "sk-svcacct-",
        &[(Word, 40, ANY, "")],
        is_random,
    ),
    format("OpenAI key", "sk-admin-", &[(Word, 40, ANY, "")], is_random),
    format("API key", "sk-", &[(Alphanumeric, 32, ANY, "")], is_mixed),
    format(
        "Stripe key",
        "sk_live_",
        &[(Alphanumeric, 24, ANY, "")],
        is_random,
    ),
    format(
        "Stripe key",
        "rk_live_",
        &[(Alphanumeric, 24, ANY, "")],
        is_random,
    ),
    format(
        "webhook secret",
        "whsec_",
        &[(Base64, 32, ANY, "")],
        is_random,
    ),
    format(
        "Groq key",
        "gsk_",
        &[(Alphanumeric, 48, ANY, "")],
        is_random,
    ),
    format("xAI key", "xai-", &[(Alphanumeric, 70, ANY, "")], is_random),
    format(
        "Perplexity key",
        "pplx-",
        &[(Alphanumeric, 40, ANY, "")],
        is_random,
    ),
    format(
        "Replicate key",
        "r8_",
        &[(Alphanumeric, 37, 37, "")],
        is_random,
    ),
    format(
        "Hugging Face token",
        "hf_",
        &[(Alphanumeric, 34, 34, "")],
        is_random,
    ),
    format("NVIDIA key", "nvapi-", &[(Word, 60, ANY, "")], is_random),
    format(
        "LangSmith key",
        "lsv2_pt_",
        &[(Hex, 32, 32, "_"), (Hex, 10, 10, "")],
        is_random,
    ),
    format(
        "LangSmith key",
        "lsv2_sk_",
        &[(Hex, 32, 32, "_"), (Hex, 10, 10, "")],
        is_random,
    ),
    format(
        "Docker token",
        "dckr_pat_",
        &[(Word, 27, ANY, "")],
        is_random,
    ),
    format("AWS key id", "AKIA", &[(Capital, 16, 16, "")], is_aws_id),
    format("AWS key id", "ASIA", &[(Capital, 16, 16, "")], is_aws_id),
    format("Google API key", "AIza", &[(Word, 35, 35, "")], is_mixed),
    format("Google token", "ya29.", &[(Word, 60, ANY, "")], is_random),
    format(
        "Google client secret",
        "GOCSPX-",
        &[(Word, 28, 28, "")],
        is_random,
    ),
    format(
        "GitHub token",
        "github_pat_",
        &[(Alphanumeric, 22, 22, "_"), (Alphanumeric, 59, ANY, "")],
        is_random,
    ),
    format(
        "GitHub token",
        "ghp_",
        &[(Alphanumeric, 36, ANY, "")],
        is_github,
    ),
    format(
        "GitHub token",
        "gho_",
        &[(Alphanumeric, 36, ANY, "")],
        is_github,
    ),
    format(
        "GitHub token",
        "ghu_",
        &[(Alphanumeric, 36, ANY, "")],
        is_github,
    ),
    format(
        "GitHub token",
        "ghs_",
        &[(Alphanumeric, 36, ANY, "")],
        is_github,
    ),
    format(
        "GitHub token",
        "ghr_",
        &[(Alphanumeric, 36, ANY, "")],
        is_github,
    ),
    format("GitLab token", "glpat-", &[(Word, 20, ANY, "")], is_random),
    format(
        "Slack token",
        "xoxb-",
        &[
            (Digit, 9, 14, "-"),
            (Digit, 9, 14, "-"),
            (Alphanumeric, 20, 40, ""),
        ],
        is_random,
    ),
    format(
        "Slack token",
        "xoxp-",
        &[
            (Digit, 9, 14, "-"),
            (Digit, 9, 14, "-"),
            (Word, 24, ANY, ""),
        ],
        is_random,
    ),
    format(
        "Slack token",
        "xapp-1-",
        &[
            (Capital, 8, 14, "-"),
            (Digit, 9, 14, "-"),
            (Hex, 40, ANY, ""),
        ],
        is_random,
    ),
    format(
        "Slack webhook",
        "hooks.slack.com/services/",
        &[
            (Capital, 8, 14, "/"),
            (Capital, 8, 14, "/"),
            (Alphanumeric, 24, 24, ""),
        ],
        is_random,
    ),
    format("npm token", "npm_", &[(Alphanumeric, 36, 36, "")], is_mixed),
    format("PyPI token", "pypi-AgE", &[(Word, 80, ANY, "")], is_random),
    format(
        "SendGrid key",
        "SG.",
        &[(Word, 22, 22, "."), (Word, 43, 43, "")],
        is_random,
    ),
    format(
        "DigitalOcean token",
        "dop_v1_",
        &[(Hex, 64, 64, "")],
        is_random_hex,
    ),
    format(
        "Shopify token",
        "shpat_",
        &[(Hex, 32, 32, "")],
        is_random_hex,
    ),
    format(
        "Databricks token",
        "dapi",
        &[(Hex, 32, 32, "")],
        is_random_hex,
    ),
    format(
        "Linear key",
        "lin_api_",
        &[(Alphanumeric, 40, 40, "")],
        is_random,
    ),
    format(
        "age key",
        "AGE-SECRET-KEY-1",
        &[(Capital, 58, 58, "")],
        is_random,
    ),
    format("Vault token", "hvs.", &[(Word, 24, ANY, "")], is_mixed),
    format(
        "Azure storage key",
        "AccountKey=",
        &[(Base64, 88, 88, "")],
        is_azure,
    ),
];

impl Format {
    /// The length of the key whose prefix ends at `at`, if one of this format is there. In a binary file, what follows
    /// it may be the next field.
    pub(super) fn match_at(&self, bytes: &[u8], at: usize, is_binary: bool) -> Option<usize> {
        let rest = bytes.get(at..)?;
        let mut length = 0;
        for (alphabet, least, most, after) in self.pieces {
            let piece = rest.get(length..)?;
            let count = piece.iter().take(most + 1);
            let mut count = count.take_while(|byte| alphabet.has(**byte)).count();
            if count > *most && *most != ANY {
                if !is_binary {
                    return None;
                }
                count = *most;
            }
            if count < *least {
                return None;
            }
            length += count;
            if !rest.get(length..)?.starts_with(after.as_bytes()) {
                return None;
            }
            length += after.len();
        }
        let body = rest.get(..length)?;
        (self.is_real)(body).then_some(length)
    }
}

/// Random, with letters of both cases and digits: shorter prefixes also begin words.
fn is_mixed(body: &[u8]) -> bool {
    let has = |what: fn(&u8) -> bool| body.iter().any(what);
    let is_hex = body.iter().all(u8::is_ascii_hexdigit);
    let has_letters = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    has(u8::is_ascii_digit) && (has_letters || is_hex) && is_random(body)
}

/// Base32 without the digits 0, 1, 8 and 9, and with at least one digit: proteins are written in capitals too.
fn is_aws_id(body: &[u8]) -> bool {
    body.iter().all(|byte| !b"0189".contains(byte))
        && body.iter().any(u8::is_ascii_digit)
        && is_random(body)
}

/// 64 bytes, and not the key that every emulator has.
fn is_azure(body: &[u8]) -> bool {
    body.ends_with(b"==")
        && !body.starts_with(b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1")
        && is_random(body)
}

/// The last six of 36 characters are the CRC-32 of the others, in base 62. Longer ones have another form.
fn is_github(body: &[u8]) -> bool {
    match body.split_at_checked(30) {
        Some((random, checksum)) if checksum.len() == 6 => {
            checksum == base62(crc32(random)) && is_random(random)
        }
        _ => is_random(body),
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

fn base62(mut number: u32) -> [u8; 6] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = [b'0'; 6];
    for place in text.iter_mut().rev() {
        let digit = usize::try_from(number % 62).unwrap_or(0);
        *place = DIGITS.get(digit).copied().unwrap_or(b'0');
        number /= 62;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_longer_prefixes_come_first() {
        for (at, format) in FORMATS.iter().enumerate() {
            for before in &FORMATS[..at] {
                assert!(
                    !format.prefix.starts_with(before.prefix) || format.prefix == before.prefix
                );
            }
        }
    }

    #[test]
    fn github_token_is_told_by_its_checksum() {
        let random = b"zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ";
        assert_eq!(&base62(crc32(random)), b"0mLq17");
        // From a page of documentation; its checksum is wrong.
        assert!(!is_github(b"16C7e42F292c6912E7710c838347Ae178B4a"));
    }

    #[test]
    fn protein_is_no_key_of_aws() {
        assert!(!is_aws_id(b"MKTAYIAKQRQISFVK"));
        assert!(!is_aws_id(b"IOSFODNN7EXAMPLE"));
        assert!(is_aws_id(b"Q3EGRFOX7TMUWJ2H"));
    }
}

//! Known kinds of secrets, as a table; a test makes an example of each row.
//!
//! A secret of this table begins with a distinctive prefix and continues with a minimum number of
//! characters of an alphabet. Other shapes (private keys, tokens in three parts, passwords in
//! addresses) have matchers in `shapes.rs`; telling names are in `names.rs`.

/// The characters that may follow a secret's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// ASCII letters and digits.
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Standard base64: letters, digits, `+`, `/` and `=`.
    Base64,
    /// Hex digits of either case.
    Hex,
    /// Digits.
    Digit,
    /// Capital letters and digits.
    Capital,
    /// The characters of a URL: letters, digits, `_`, `-`, `.` and `/`.
    Address,
}

impl Alphabet {
    /// Whether the alphabet contains this character.
    pub const fn has(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() && !matches!(self, Self::Hex | Self::Digit | Self::Capital)
            || match self {
                Self::Digit => byte.is_ascii_digit(),
                Self::Capital => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
                Self::Alphanumeric => false,
                Self::Word => matches!(byte, b'_' | b'-'),
                Self::Dotted => matches!(byte, b'_' | b'-' | b'.'),
                Self::Base64 => matches!(byte, b'+' | b'/' | b'='),
                Self::Hex => byte.is_ascii_hexdigit(),
                Self::Address => matches!(byte, b'_' | b'-' | b'.' | b'/'),
            }
    }
}

/// A kind of secret with a distinctive prefix.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name in placeholders.
    pub name: &'static str,
    /// The prefix.
    pub prefix: &'static str,
    /// The characters after the prefix.
    pub alphabet: Alphabet,
    /// The minimum number of characters after the prefix.
    pub least: usize,
    /// Whether one of them must be a digit, which distinguishes a key from hyphenated words.
    pub has_digit: bool,
}

const fn kind(
    name: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    has_digit: bool,
) -> Kind {
    Kind {
        name,
        prefix,
        alphabet,
        least,
        has_digit,
    }
}

use crate::names;
use Alphabet::{Address, Alphanumeric, Base64, Dotted, Hex, Word};

/// The kinds; a longer prefix comes before any prefix of it.
pub static KINDS: &[Kind] = &[
    kind("anthropic-key", "sk-ant-", Word, 16, false),
    kind("openrouter-key", "sk-or-", Word, 20, true),
    kind("openai-key", "sk-proj-", Word, 16, false),
    kind("openai-key", "sk-svcacct-", Word, 16, false),
    kind("openai-key", "sk-admin-", Word, 16, false),
    kind("openai-key", "sk-", Word, 20, true),
    kind("stripe-key", "sk_live_", Alphanumeric, 16, false),
    kind("stripe-key", "sk_test_", Alphanumeric, 16, false),
    kind("stripe-key", "rk_live_", Alphanumeric, 16, false),
    kind("stripe-key", "rk_test_", Alphanumeric, 16, false),
    kind("webhook-secret", "whsec_", Base64, 16, false),
    kind("groq-key", "gsk_", Alphanumeric, 30, false),
    kind("xai-key", "xai-", Alphanumeric, 40, false),
    kind("perplexity-key", "pplx-", Alphanumeric, 30, false),
    kind("replicate-key", "r8_", Alphanumeric, 30, false),
    kind("huggingface-token", "hf_", Alphanumeric, 20, false),
    kind("tavily-key", "tvly-", Word, 20, true),
    kind("nvidia-key", "nvapi-", Word, 40, true),
    kind("cerebras-key", "csk-", Alphanumeric, 40, true),
    kind("fireworks-key", "fw_", Alphanumeric, 20, true),
    kind("langsmith-key", "lsv2_pt_", Word, 32, true),
    kind("langsmith-key", "lsv2_sk_", Word, 32, true),
    kind("docker-token", "dckr_pat_", Word, 20, false),
    kind("aws-key-id", "AKIA", Alphanumeric, 16, true),
    kind("aws-key-id", "ASIA", Alphanumeric, 16, true),
    kind("google-key", "AIza", Word, 30, false),
    kind("google-token", "ya29.", Dotted, 20, false),
    kind("google-secret", "GOCSPX-", Word, 20, false),
    kind("github-token", "github_pat_", Word, 30, false),
    kind("github-token", "ghp_", Alphanumeric, 30, false),
    kind("github-token", "gho_", Alphanumeric, 30, false),
    kind("github-token", "ghu_", Alphanumeric, 30, false),
    kind("github-token", "ghs_", Alphanumeric, 30, false),
    kind("github-token", "ghr_", Alphanumeric, 30, false),
    kind("gitlab-token", "glpat-", Word, 18, false),
    kind("gitlab-token", "glcbt-", Word, 16, true),
    kind("slack-token", "xoxb-", Word, 16, true),
    kind("slack-token", "xoxp-", Word, 16, true),
    kind("slack-token", "xoxa-", Word, 16, true),
    kind("slack-token", "xoxs-", Word, 16, true),
    kind("slack-token", "xapp-", Word, 16, true),
    kind(
        "slack-webhook",
        "hooks.slack.com/services/",
        Address,
        20,
        true,
    ),
    kind("npm-token", "npm_", Alphanumeric, 30, false),
    kind("pypi-token", "pypi-AgE", Word, 30, false),
    kind("sendgrid-key", "SG.", Dotted, 40, true),
    kind("twilio-key", "SK", Hex, 32, true),
    kind("digitalocean-token", "dop_v1_", Hex, 40, false),
    kind("shopify-token", "shpat_", Hex, 30, false),
    kind("databricks-token", "dapi", Hex, 32, true),
    kind("linear-key", "lin_api_", Alphanumeric, 30, false),
    kind("notion-key", "ntn_", Alphanumeric, 30, false),
    kind("age-key", "AGE-SECRET-KEY-1", Alphanumeric, 40, false),
    kind("vault-token", "hvs.", Word, 20, false),
    kind("azure-key", "AccountKey=", Base64, 40, false),
    kind("bearer-token", "Bearer ", Dotted, 16, true),
    kind("bearer-token", "bearer ", Dotted, 16, true),
];

/// Whether the whole value of a header is a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    // The rest of a token allowance is not a token, and not every key opens something. The id of an
    // MCP session is needed to continue it, also in a replay.
    let is_public = [
        "mcp-session-id",
        "ratelimit",
        "rate-limit",
        "idempotency-key",
        "cache-key",
        "surrogate-key",
    ]
    .iter()
    .any(|part| name.contains(part));
    if is_public {
        return false;
    }
    let is_word = name
        .split('-')
        .any(|word| matches!(word, "auth" | "passphrase"));
    // Names of headers that contain nothing but an access key.
    let is_access = matches!(name.as_str(), "access" | "x-access");
    is_word
        || is_access
        || names::judge(&name).is_some()
        || [
            "authorization",
            "cookie",
            "api-key",
            "apikey",
            "token",
            "secret",
            "password",
            "credential",
            "signature",
        ]
        .iter()
        .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_secret_header_accepts_keys_except_those_that_open_nothing() {
        for name in [
            "Authorization",
            "Ocp-Apim-Subscription-Key",
            "X-Auth-Key",
            "X-Auth",
            "x-functions-key",
            "X-Master-Key",
            "X-Passphrase",
            "x-goog-api-key",
            "x-amz-security-token",
            "Set-Cookie",
            "X-Session-Id",
            "X-Access",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in [
            "Idempotency-Key",
            "x-ratelimit-remaining-tokens",
            "content-type",
            "Mcp-Session-Id",
            "Access-Control-Allow-Origin",
            "X-Access-Level",
            "www-authenticate",
            "x-stainless-retry-count",
        ] {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}

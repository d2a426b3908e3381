//! Known kinds of secrets: a table in which each row has examples that serve as its tests.
//!
//! A secret in this table begins with a distinctive prefix, followed by a minimum number of
//! characters of an alphabet. Other shapes (private keys, tokens in three parts, passwords in URLs,
//! members with telling names) have matchers in `find.rs`.

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
    /// What may stand in a URL: letters, digits, `_`, `-`, `.` and `/`.
    Address,
}

impl Alphabet {
    /// Whether the alphabet contains this character.
    pub const fn has(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() && !matches!(self, Self::Hex)
            || match self {
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
    kind("webhook-secret", "whsec_", Base64, 16, false),
    kind("groq-key", "gsk_", Alphanumeric, 30, false),
    kind("xai-key", "xai-", Alphanumeric, 40, false),
    kind("perplexity-key", "pplx-", Alphanumeric, 30, false),
    kind("replicate-key", "r8_", Alphanumeric, 30, false),
    kind("huggingface-token", "hf_", Alphanumeric, 20, false),
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
];

/// Members whose values are secrets whatever they look like, in lower case, with `-` as `_`.
pub static SECRET_MEMBERS: &[&str] = &[
    "access_token",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "aws_secret_access_key",
    "client_secret",
    "id_token",
    "passwd",
    "password",
    "private_key",
    "refresh_token",
    "secret",
    "secret_access_key",
    "secret_key",
    "secretaccesskey",
    "session_token",
    "x_api_key",
];

/// Parameters of an address or form whose values are secrets, in lower case, with `-` as `_`.
pub static SECRET_PARAMETERS: &[&str] = &[
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "client_secret",
    "id_token",
    "key",
    "password",
    "refresh_token",
    "sig",
    "signature",
    "token",
    "x_amz_credential",
    "x_amz_security_token",
    "x_amz_signature",
];

/// Whether a header's value is a secret as a whole.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    // What remains of a token quota is not a token.
    if name.contains("ratelimit") || name.contains("rate-limit") {
        return false;
    }
    [
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

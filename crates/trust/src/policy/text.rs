//! The members of a policy file, as they are written.

use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileText {
    #[serde(rename = "runseal-trust")]
    pub(super) format: Spanned<u32>,
    pub(super) version: Spanned<u64>,
    pub(super) name: Option<String>,
    pub(super) expires: Option<Spanned<Datetime>>,
    pub(super) allowed_signers: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) signer: Vec<Spanned<SignerText>>,
    #[serde(default)]
    pub(super) rule: Vec<Spanned<RuleText>>,
    pub(super) root: Option<Spanned<RequirementText>>,
    #[serde(default)]
    pub(super) deny: DenyText,
    pub(super) timestamps: Option<TimestampsText>,
    pub(super) sigstore: Option<SigstoreText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignerText {
    pub(super) name: Spanned<String>,
    pub(super) key: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) keys: Vec<Spanned<String>>,
    pub(super) identity: Option<Spanned<String>>,
    pub(super) issuer: Option<String>,
    pub(super) from: Option<Spanned<Datetime>>,
    pub(super) until: Option<Spanned<Datetime>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) formats: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) engines: Vec<String>,
    #[serde(default)]
    pub(super) outcomes: Vec<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    pub(super) signers: Vec<Spanned<String>>,
    pub(super) threshold: Option<Spanned<usize>>,
    #[serde(default)]
    pub(super) meanings: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) predicates: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) timestamp: bool,
    #[serde(default)]
    pub(super) also: Vec<Spanned<RequirementText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequirementText {
    pub(super) signers: Vec<Spanned<String>>,
    pub(super) threshold: Option<Spanned<usize>>,
    #[serde(default)]
    pub(super) meanings: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) predicates: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) timestamp: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct DenyText {
    #[serde(default)]
    pub(super) keys: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) digests: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimestampsText {
    pub(super) roots: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SigstoreText {
    pub(super) trusted_root: Spanned<String>,
}

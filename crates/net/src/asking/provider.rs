//! The providers of models: where they are, how they are asked, and with which key.

use runseal_core::canon::Value;
use runseal_core::formats::model_io::reading::Api;

use crate::NetError;
use crate::proxy::{Keys, Upstream};

/// The most tokens of an answer of Anthropic's, which has to be told.
const MOST_TOKENS: u64 = 8192;
/// The version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// An API of models, of its maker or of whoever speaks it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI's chat completions, which many servers speak.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    /// The name on the command line and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The model that is asked if none is named.
    pub const fn default_model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-5",
            Self::Anthropic => "claude-sonnet-4-5",
        }
    }

    /// The variable with the key, as in the provider's own SDKs.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    /// The variable with the address, as in the provider's own SDKs.
    pub const fn base_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
        }
    }

    /// The provider's own address.
    pub const fn own_base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// Parses the address of a server that speaks this API. As in the SDKs, OpenAI's ends with `/v1`, and Anthropic's does
    /// not have to.
    ///
    /// # Errors
    /// When it is not an address.
    pub fn parse_base(self, url: &str) -> Result<Upstream, NetError> {
        let url = url.trim_end_matches('/');
        let below = match self {
            Self::OpenAi => url,
            Self::Anthropic => url.strip_suffix("/v1").unwrap_or(url),
        };
        Upstream::parse(below)
    }

    /// The provider that a recorded request was for.
    pub fn of_path(path: &str) -> Option<Self> {
        let api = Api::of_request(path, None);
        Self::ALL.into_iter().find(|provider| provider.api() == api)
    }

    pub(super) const fn api(self) -> Api {
        match self {
            Self::OpenAi => Api::OpenAiChat,
            Self::Anthropic => Api::AnthropicMessages,
        }
    }

    /// The path below the address.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    pub(super) fn keys(self, key: Option<String>) -> Keys {
        match self {
            Self::OpenAi => Keys {
                openai: key,
                anthropic: None,
            },
            Self::Anthropic => Keys {
                openai: None,
                anthropic: key,
            },
        }
    }

    /// The headers of a request of whoever holds `token`.
    pub(super) fn headers(self, token: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::OpenAi => vec![("authorization", format!("Bearer {token}"))],
            Self::Anthropic => vec![
                ("x-api-key", token.to_owned()),
                ("anthropic-version", ANTHROPIC_VERSION.to_owned()),
            ],
        }
    }

    /// A request. It has only members that every server of the API knows: no temperature, which some models refuse,
    /// and no form of the answer, which some servers refuse.
    pub(super) fn request(self, model: &str, system: &str, words: &str) -> Value {
        let message = |role: &str, text: &str| Value::object([("role", role), ("content", text)]);
        match self {
            Self::OpenAi => Value::object([
                ("model", Value::from(model)),
                (
                    "messages",
                    Value::array([message("system", system), message("user", words)]),
                ),
            ]),
            Self::Anthropic => Value::object([
                ("model", Value::from(model)),
                ("max_tokens", Value::from(MOST_TOKENS)),
                ("system", Value::from(system)),
                ("messages", Value::array([message("user", words)])),
            ]),
        }
    }
}

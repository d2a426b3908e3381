//! What answers of known APIs say: model, text, tool calls and usage, read from the exact bytes.
//!
//! Reading never fails: what is not understood is left out. The exact bytes are kept too, and MI16
//! reads them again: what is read from an answer can change only together with the version that
//! recordings state.

use super::events::{Event, parse_events};
use crate::canon::{
    Dialect, Kind, Members, Node, ReadOptions, Value, canonical_bytes, parse_document,
};

/// Answers larger than this are not read, only recorded.
pub const LARGEST_READ: u64 = 32 << 20;

/// A known API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// OpenAI's embeddings.
    OpenAiEmbeddings,
    /// The list of models, of either provider.
    Models,
    /// Anthropic's messages.
    AnthropicMessages,
    /// Anthropic's token counting.
    AnthropicCountTokens,
    /// JSON-RPC messages of MCP.
    Mcp,
    /// Anything else over HTTP.
    Http,
}

impl Api {
    /// The name in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai.chat",
            Self::OpenAiResponses => "openai.responses",
            Self::OpenAiEmbeddings => "openai.embeddings",
            Self::Models => "models",
            Self::AnthropicMessages => "anthropic.messages",
            Self::AnthropicCountTokens => "anthropic.count_tokens",
            Self::Mcp => "mcp",
            Self::Http => "http",
        }
    }

    /// Detects the API by the path, and by the body if it is JSON.
    pub fn of_request(path: &str, body: Option<&Value>) -> Self {
        if body.is_some_and(is_rpc) {
            Self::Mcp
        } else {
            Self::of_path(path)
        }
    }

    /// Like [`Self::of_request`], for a body that is part of a parsed document.
    pub fn of_recorded_request(path: &str, body: Option<Node<'_>>) -> Self {
        let message = body.and_then(|body| match body.kind() {
            Kind::Array => body.item(0),
            _ => Some(body),
        });
        let version = message.and_then(|message| message.get("jsonrpc")?.as_str());
        if version.as_deref() == Some(RPC_VERSION) {
            Self::Mcp
        } else {
            Self::of_path(path)
        }
    }

    fn of_path(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        if path.ends_with("/chat/completions") {
            Self::OpenAiChat
        } else if path.ends_with("/responses") {
            Self::OpenAiResponses
        } else if path.ends_with("/embeddings") {
            Self::OpenAiEmbeddings
        } else if path.ends_with("/messages/count_tokens") {
            Self::AnthropicCountTokens
        } else if path.ends_with("/messages") {
            Self::AnthropicMessages
        } else if path.ends_with("/models") || path.contains("/models/") {
            Self::Models
        } else {
            Self::Http
        }
    }

    /// Detects the API by the adapter, as recordings name it, and by the request.
    pub fn of_exchange(adapter: &str, path: &str, body: Option<&Value>) -> Self {
        if adapter.starts_with("mcp-") {
            Self::Mcp
        } else {
            Self::of_request(path, body)
        }
    }

    /// The provider, by its OpenTelemetry name.
    pub const fn provider(self) -> Option<&'static str> {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::OpenAiEmbeddings => Some("openai"),
            Self::AnthropicMessages | Self::AnthropicCountTokens => Some("anthropic"),
            Self::Models | Self::Mcp | Self::Http => None,
        }
    }
}

/// The version of JSON-RPC that MCP speaks.
const RPC_VERSION: &str = "2.0";

fn is_rpc(body: &Value) -> bool {
    let message = match body {
        Value::Array(messages) => messages.first(),
        other => Some(other),
    };
    message.and_then(|message| message.get("jsonrpc")?.as_str()) == Some(RPC_VERSION)
}

/// A tool call that a model requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The id under which the result is returned.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, a JSON text.
    pub arguments: String,
}

/// What an answer says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The model that answered.
    pub model: Option<String>,
    /// All text of the model, joined.
    pub text: String,
    /// The tools that it called.
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped, in the words of the API.
    pub finish_reason: Option<String>,
    /// Input tokens.
    pub tokens_input: Option<u64>,
    /// Output tokens.
    pub tokens_output: Option<u64>,
    /// The error that was returned instead.
    pub error: Option<String>,
}

impl Reading {
    /// Reads an answer.
    pub fn of_answer(api: Api, content_type: &str, body: &[u8]) -> Self {
        let mut reading = Self::default();
        let Ok(text) = std::str::from_utf8(body) else {
            return reading;
        };
        if content_type.starts_with("text/event-stream") {
            for event in parse_events(text) {
                reading.take_event(api, &event);
            }
            reading.tool_calls.retain(|call| !call.name.is_empty());
        } else if let Ok(document) = parse_document(body, &ReadOptions::TEXT) {
            reading.take_whole(api, document.root());
        }
        reading
    }

    /// The reading as recordings state it, without absent members.
    pub fn to_value(&self, api: Api) -> Value {
        let mut value = Value::object([("api", api.name())]);
        if let Some(model) = &self.model {
            value.insert("model", model.as_str());
        }
        if !self.text.is_empty() {
            value.insert("text", self.text.as_str());
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().map(|call| {
                Value::object([
                    ("id", call.id.as_str()),
                    ("name", call.name.as_str()),
                    ("arguments", call.arguments.as_str()),
                ])
            });
            value.insert("tool_calls", Value::array(calls));
        }
        for (name, text) in [
            ("finish_reason", &self.finish_reason),
            ("error", &self.error),
        ] {
            if let Some(text) = text {
                value.insert(name, text.as_str());
            }
        }
        let usage = [
            ("input_tokens", self.tokens_input),
            ("output_tokens", self.tokens_output),
        ];
        let usage: Members = usage
            .into_iter()
            .filter_map(|(name, count)| Some((name.into(), Value::from(count?))))
            .collect();
        if !usage.is_empty() {
            value.insert("usage", Value::Object(usage));
        }
        value
    }

    fn take_whole(&mut self, api: Api, root: Node<'_>) {
        self.model = text(root, "model").or(self.model.take());
        if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
            self.error = text(error, "message").or_else(|| Some(error.as_str()?.into_owned()));
        }
        if let Some(usage) = root.get("usage") {
            self.take_usage(usage);
        }
        match api {
            Api::OpenAiChat => {
                for choice in list(root, "choices") {
                    if let Some(message) = choice.get("message") {
                        self.text
                            .push_str(&text(message, "content").unwrap_or_default());
                        for call in list(message, "tool_calls") {
                            self.tool_calls.push(function_call(call));
                        }
                    }
                    self.finish_reason =
                        text(choice, "finish_reason").or(self.finish_reason.take());
                }
            }
            Api::OpenAiResponses => self.take_response(root),
            Api::AnthropicMessages => {
                for block in list(root, "content") {
                    self.take_block(block);
                }
                self.finish_reason = text(root, "stop_reason");
            }
            Api::AnthropicCountTokens => {
                self.tokens_input = count(root, "input_tokens").or(self.tokens_input);
            }
            Api::OpenAiEmbeddings | Api::Models | Api::Mcp | Api::Http => {}
        }
    }

    fn take_response(&mut self, root: Node<'_>) {
        self.text.clear();
        self.tool_calls.clear();
        for item in list(root, "output") {
            for part in list(item, "content") {
                self.text.push_str(&text(part, "text").unwrap_or_default());
            }
            if text(item, "type").as_deref() == Some("function_call") {
                self.tool_calls.push(ToolCall {
                    id: text(item, "call_id").unwrap_or_default(),
                    name: text(item, "name").unwrap_or_default(),
                    arguments: text(item, "arguments").unwrap_or_default(),
                });
            }
        }
        self.finish_reason = text(root, "status");
    }

    fn take_block(&mut self, block: Node<'_>) {
        match text(block, "type").as_deref() {
            Some("text") => self.text.push_str(&text(block, "text").unwrap_or_default()),
            Some("tool_use") => {
                let arguments = block.get("input").and_then(|input| {
                    let dialect = Dialect::Kernel;
                    let bytes = canonical_bytes(input, dialect).ok()?;
                    String::from_utf8(bytes).ok()
                });
                self.tool_calls.push(ToolCall {
                    id: text(block, "id").unwrap_or_default(),
                    name: text(block, "name").unwrap_or_default(),
                    // A stream begins without arguments and adds them piece by piece.
                    arguments: arguments.filter(|text| text != "{}").unwrap_or_default(),
                });
            }
            _ => {}
        }
    }

    fn take_usage(&mut self, usage: Node<'_>) {
        let either = |names: [&str; 2]| names.iter().find_map(|name| count(usage, name));
        self.tokens_input = either(["input_tokens", "prompt_tokens"]).or(self.tokens_input);
        self.tokens_output = either(["output_tokens", "completion_tokens"]).or(self.tokens_output);
    }

    fn take_event(&mut self, api: Api, event: &Event) {
        let Ok(document) = parse_document(event.data.as_bytes(), &ReadOptions::TEXT) else {
            return;
        };
        let root = document.root();
        if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
            self.error = text(error, "message");
        }
        match api {
            Api::OpenAiChat => self.take_chat_chunk(root),
            Api::OpenAiResponses => {
                if let Some(response) = root.get("response") {
                    self.take_whole(api, response);
                }
                if text(root, "type").as_deref() == Some("response.output_text.delta") {
                    self.text.push_str(&text(root, "delta").unwrap_or_default());
                }
            }
            Api::AnthropicMessages => self.take_message_event(root),
            _ => {}
        }
    }

    fn take_chat_chunk(&mut self, root: Node<'_>) {
        self.model = text(root, "model").or(self.model.take());
        if let Some(usage) = root.get("usage") {
            self.take_usage(usage);
        }
        for choice in list(root, "choices") {
            self.finish_reason = text(choice, "finish_reason").or(self.finish_reason.take());
            let Some(delta) = choice.get("delta") else {
                continue;
            };
            self.text
                .push_str(&text(delta, "content").unwrap_or_default());
            for call in list(delta, "tool_calls") {
                let at = count(call, "index").unwrap_or(0);
                let at = usize::try_from(at).unwrap_or(usize::MAX).min(1000);
                if self.tool_calls.len() <= at {
                    self.tool_calls.resize(at + 1, ToolCall::default());
                }
                let piece = function_call(call);
                if let Some(whole) = self.tool_calls.get_mut(at) {
                    whole.id.push_str(&piece.id);
                    whole.name.push_str(&piece.name);
                    whole.arguments.push_str(&piece.arguments);
                }
            }
        }
    }

    fn take_message_event(&mut self, root: Node<'_>) {
        match text(root, "type").as_deref() {
            Some("message_start") => {
                if let Some(message) = root.get("message") {
                    self.take_whole(Api::AnthropicMessages, message);
                }
            }
            Some("content_block_start") => {
                if let Some(block) = root.get("content_block") {
                    self.take_block(block);
                }
            }
            Some("content_block_delta") => {
                let Some(delta) = root.get("delta") else {
                    return;
                };
                self.text.push_str(&text(delta, "text").unwrap_or_default());
                if let (Some(piece), Some(call)) =
                    (text(delta, "partial_json"), self.tool_calls.last_mut())
                {
                    call.arguments.push_str(&piece);
                }
            }
            Some("message_delta") => {
                if let Some(usage) = root.get("usage") {
                    self.take_usage(usage);
                }
                if let Some(delta) = root.get("delta") {
                    self.finish_reason = text(delta, "stop_reason").or(self.finish_reason.take());
                }
            }
            _ => {}
        }
    }
}

fn text(node: Node<'_>, name: &str) -> Option<String> {
    Some(node.get(name)?.as_lossy_str()?.into_owned())
}

fn count(node: Node<'_>, name: &str) -> Option<u64> {
    u64::try_from(node.get(name)?.as_number()?.to_exact_i64()?).ok()
}

fn list<'a>(node: Node<'a>, name: &str) -> impl Iterator<Item = Node<'a>> + use<'a> {
    node.get(name).into_iter().flat_map(|list| list.items())
}

fn function_call(call: Node<'_>) -> ToolCall {
    let function = call.get("function");
    let of = |name: &str| {
        function
            .and_then(|function| text(function, name))
            .unwrap_or_default()
    };
    ToolCall {
        id: text(call, "id").unwrap_or_default(),
        name: of("name"),
        arguments: of("arguments"),
    }
}

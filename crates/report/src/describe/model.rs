//! Recorded model calls as a conversation.

use std::borrow::Cow;

use runseal_core::canon::{Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::model_io::asked::{Asked, Volatile};
use runseal_core::formats::model_io::reading::{Api, Reading};
use runseal_core::formats::model_io::{PROMPT_CONTENT, is_of_proxy};

use super::content::words_of;
use super::members::{List, integer_at, list_at, string_at, text_at, text_of};
use super::{About, Block, Body, Description, Turn, Words};
use crate::exhibit::Exhibit;
use crate::limits::{MESSAGES, PARTS, STEPS, TEXT};
use crate::reveal::counted;

pub(super) fn describe_model_io<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    let text = |path| text_at(root, path).unwrap_or_default();
    let calls = list_at(root, "interactions").len();
    description.headline = Some(format!(
        "{calls} call{}{} through {}",
        if calls == 1 { "" } else { "s" },
        // Calls to tools and for a list of models name no model.
        match text("model_id").as_ref() {
            "" | "none" => String::new(),
            model => format!(" to {model}"),
        },
        text("adapter_id")
    ));
    description.add_facts(
        root,
        &[
            ("model_id", "model"),
            ("adapter_id", "adapter"),
            ("mode", "mode"),
            ("model_io_schema_version", "schema version"),
            ("created_at_utc", "begun"),
            ("ended_at_utc", "ended"),
        ],
    );
    description
        .done
        .extend(conversation_block(exhibit, "", root));
}

/// The calls of a recording as a conversation.
pub(super) fn conversation_block<'a>(
    exhibit: &Exhibit<'a>,
    file: &str,
    root: Node<'a>,
) -> Option<Block<'a>> {
    let calls = list_at(root, "interactions");
    if calls.is_empty() {
        return None;
    }
    let is_of_proxy = is_of_proxy(root);
    let volatile = Volatile::of_recording(root).unwrap_or_default();
    let mut turns = Vec::new();
    for (at, call) in calls.iter().enumerate().take(STEPS) {
        let place = |member: &str| vec![About::place(file, format!("/interactions/{at}/{member}"))];
        let asked = asked_turns(exhibit, call, &volatile, is_of_proxy);
        let asked = asked.into_iter().map(|turn| Turn {
            about: [place("prompt_hash"), place("i")].concat(),
            ..turn
        });
        turns.extend(asked);
        let note = note_of(call);
        let content = string_at(call, "response_content");
        let answered = match proxied_turns(exhibit, call).filter(|_| is_of_proxy) {
            Some(turns) => turns,
            None => content.map_or_else(Vec::new, answered_turns),
        };
        let answered = answered.into_iter().map(|turn| Turn {
            about: [place("response_hash"), place("response_content")].concat(),
            note: note.clone(),
            ..turn
        });
        turns.extend(answered);
    }
    let mut remarks = Vec::new();
    if calls.len() > STEPS {
        remarks.push(format!("the first {STEPS} of {} calls", calls.len()));
    }
    remarks.extend(volatile.tell().filter(|_| is_of_proxy));
    let remark = remarks.join("; ");
    let title = "What was said to and by the model";
    let block = Block::new(title, Body::Conversation(turns)).remark(remark);
    Some(block.about(About::file(file)))
}

fn turn<'a>(role: impl Into<Cow<'a, str>>, said: Words<'a>) -> Turn<'a> {
    Turn {
        role: role.into(),
        said,
        note: String::new(),
        about: Vec::new(),
    }
}

/// What the model was asked, as far as `prompt_hash` holds it fast: a recording may say anything else besides.
fn asked_turns<'a>(
    exhibit: &Exhibit<'a>,
    call: Node<'a>,
    volatile: &Volatile,
    is_of_proxy: bool,
) -> Vec<Turn<'a>> {
    if let Some(turns) = requested_turns(exhibit, call, volatile).filter(|_| is_of_proxy) {
        return turns;
    }
    if let Some(text) = string_at(call, PROMPT_CONTENT) {
        return vec![turn("user", Words::Plain(text))];
    }
    let hash = text_at(call, "prompt_hash").unwrap_or_default();
    let said = match exhibit.content_of(&hash) {
        Some((_, bytes)) => words_of(bytes),
        None => Words::Missing(format!("only the hash of the prompt was kept: {hash}")),
    };
    vec![turn("user", said)]
}

/// What a client sent, where the proxy recorded it: the messages of a model's API, or the body as it is. Of a body that
/// is not compared as it stands, only what is compared.
fn requested_turns<'a>(
    exhibit: &Exhibit<'a>,
    call: Node<'a>,
    volatile: &Volatile,
) -> Option<Vec<Turn<'a>>> {
    let request = call.get("request")?;
    let method = text_at(request, "method")?;
    let path = text_at(request, "path").unwrap_or_default();
    let file = request
        .get("body_file")
        .map(|file| kept_body(exhibit, file));
    let file = match file.transpose() {
        Ok(bytes) => bytes,
        Err(reason) => return Some(vec![turn("client", Words::Missing(reason))]),
    };
    let messages_in = |text: &[u8]| -> Vec<Turn<'a>> {
        let parsed = parse_document(text, &ReadOptions::default()).ok();
        parsed.map_or_else(Vec::new, |document| {
            let turns = message_turns(document.root()).into_iter();
            turns.map(own_turn).collect()
        })
    };
    let is_large = Asked::is_large(request, file);
    if is_large && !volatile.is_empty() {
        let reason = "the body is too large to show what of it is compared";
        return Some(vec![turn("client", Words::Missing(reason.to_owned()))]);
    }
    let marked = if is_large {
        None
    } else {
        let asked = Asked::parse(request, file).ok();
        asked.and_then(|asked| asked.marked_body(volatile))
    };
    if let Some(text) = marked.filter(|text| file != Some(text.as_bytes())) {
        let turns = messages_in(text.as_bytes());
        if !turns.is_empty() {
            return Some(turns);
        }
        let said = format!("{method} {path} {text}");
        return Some(vec![turn("client", Words::Plain(said.into()))]);
    }
    if let Some(bytes) = file {
        let turns = messages_in(bytes);
        return Some(if turns.is_empty() {
            vec![turn("client", words_of(bytes))]
        } else {
            turns
        });
    }
    let turns = request.get("body").map_or_else(Vec::new, message_turns);
    if !turns.is_empty() {
        return Some(turns);
    }
    let body = ["body", "body_text", "body_base64"];
    let body = body.iter().find_map(|member| text_at(request, member));
    let said = format!("{method} {path} {}", body.unwrap_or_default());
    Some(vec![turn(
        "client",
        Words::Plain(said.trim_end().to_owned().into()),
    )])
}

/// A body that is stored as a separate file, if it was kept.
fn kept_body<'a>(exhibit: &Exhibit<'a>, file: Node<'_>) -> Result<&'a [u8], String> {
    let hash = text_at(file, "sha256").unwrap_or_default();
    let kept = exhibit.content_of(&hash).map(|(_, bytes)| bytes);
    kept.ok_or_else(|| format!("the body is a separate file, not shown: {hash}"))
}

fn own_turn(turn: Turn<'_>) -> Turn<'static> {
    let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
    Turn {
        role: own(turn.role),
        said: match turn.said {
            Words::Plain(text) => Words::Plain(own(text)),
            Words::Markdown(text) => Words::Markdown(own(text)),
            Words::Missing(reason) => Words::Missing(reason),
        },
        note: turn.note,
        about: turn.about,
    }
}

/// The last messages of a request, which earlier requests did not have, and the number of the others.
fn last_messages<'a>(messages: List<'a>, said: impl Fn(Node<'a>) -> Turn<'a>) -> Vec<Turn<'a>> {
    let left_out = messages.len().saturating_sub(MESSAGES);
    let mut turns = Vec::new();
    if left_out > 0 {
        let note = format!("{} not shown", counted(left_out, "earlier message"));
        turns.push(turn("client", Words::Missing(note)));
    }
    turns.extend(messages.iter().skip(left_out).map(said));
    turns
}

/// The messages in the body of a request to a model.
fn message_turns(body: Node<'_>) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    for member in ["system", "instructions"] {
        if let Some(system) = body.get(member) {
            turns.push(turn("system", words_of_content(system)));
        }
    }
    for member in ["messages", "input"] {
        turns.extend(last_messages(list_at(body, member), |message| {
            let role = text_at(message, "role").or_else(|| text_at(message, "type"));
            turn(role.unwrap_or("user".to_owned()), content_words(message))
        }));
        if let Some(text) = string_at(body, member) {
            turns.push(turn("user", Words::Plain(text)));
        }
    }
    turns
}

/// What came back, if the proxy recorded it: read from the exact bytes, never from `reading`, which no hash
/// binds.
fn proxied_turns(exhibit: &Exhibit<'_>, call: Node<'_>) -> Option<Vec<Turn<'static>>> {
    let response = call.get("response")?;
    let request = call.get("request")?;
    let path = text_at(request, "path").unwrap_or_default();
    let status = integer_at(response, "status").unwrap_or_default();
    let missing = |what: String| Some(vec![turn("assistant", Words::Missing(what))]);
    let content = match response.get("body_file") {
        None => string_at(call, "response_content")?,
        Some(file) => match kept_body(exhibit, file) {
            Err(reason) => return missing(format!("status {status}; {reason}")),
            Ok(bytes) => match str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => return missing(format!("status {status}; the body is not text")),
            },
        },
    };
    if string_at(response, "encoding").is_some() {
        return missing(format!("status {status}; the body is not text"));
    }
    let is_type = |pair: &Node<'_>| {
        let name = pair.items().next().and_then(|name| name.as_str());
        name.is_some_and(|name| name.eq_ignore_ascii_case("content-type"))
    };
    let headers = list_at(response, "headers");
    let declared = headers.iter().find(is_type);
    let declared = declared.and_then(|pair| pair.items().nth(1)?.as_str());
    let api = Api::of_recorded_request(&path, request.get("body"));
    let reading = Reading::of_answer(api, &declared.unwrap_or_default(), content.as_bytes());
    let mut turns = Vec::new();
    if !reading.text.is_empty() {
        turns.push(turn("assistant", Words::Markdown(reading.text.into())));
    }
    for called in reading.tool_calls {
        let said = format!("{}({})", called.name, called.arguments);
        turns.push(turn("assistant calls", Words::Plain(said.into())));
    }
    if let Some(error) = reading.error {
        turns.push(turn(
            "error",
            Words::Plain(format!("status {status}: {error}").into()),
        ));
    }
    if turns.is_empty() {
        let said = format!("status {status}: {content}");
        turns.push(turn("answer", Words::Plain(said.into())));
    }
    let end = text_at(response, "end").filter(|end| end != "complete");
    turns.extend(end.map(|end| turn("answer", Words::Missing(format!("ended: {end}")))));
    Some(turns)
}

/// The words of a string or of a list of parts.
fn words_of_content<'a>(content: Node<'a>) -> Words<'a> {
    if let Some(text) = content.as_lossy_str() {
        return Words::Plain(text);
    }
    let mut texts: Vec<String> = content.items().take(PARTS).map(part_text).collect();
    if content.items().len() > PARTS {
        let left_out = content.items().len() - PARTS;
        texts.push(format!("… and {}", counted(left_out, "more part")));
    }
    if texts.is_empty() {
        Words::Plain(text_of(content).into())
    } else {
        Words::Plain(texts.join("\n").into())
    }
}

/// The content of a message: a string, or a list of parts.
fn content_words<'a>(message: Node<'a>) -> Words<'a> {
    let Some(content) = message.get("content") else {
        return Words::Plain(text_of(message).into());
    };
    words_of_content(content)
}

/// A part of a message: its text, or a call with its arguments.
fn part_text(part: Node<'_>) -> String {
    if let Some(text) = string_at(part, "text") {
        return text.into_owned();
    }
    let name = text_at(part, "name").or_else(|| text_at(part, "type"));
    let input = ["input", "arguments", "content"];
    let input = input.iter().find_map(|member| text_at(part, member));
    match (name, input) {
        (Some(name), Some(input)) => format!("{name}({input})"),
        _ => text_of(part),
    }
}

/// What the model answered. Answers in the shapes of known model APIs are split into turns; any other
/// text is shown unchanged.
fn answered_turns(content: Cow<'_, str>) -> Vec<Turn<'_>> {
    if content.is_empty() {
        return vec![turn(
            "assistant",
            Words::Missing("an empty answer".to_owned()),
        )];
    }
    let is_json = content.len() <= 8 * TEXT && content.trim_start().starts_with('{');
    let parsed = if is_json {
        parse_document(content.as_bytes(), &ReadOptions::default()).ok()
    } else {
        None
    };
    let turns = parsed.map_or_else(Vec::new, |document| turns_of_answer(document.root()));
    if turns.is_empty() {
        vec![turn("assistant", Words::Markdown(content))]
    } else {
        turns
    }
}

fn turns_of_answer(root: Node<'_>) -> Vec<Turn<'static>> {
    let mut turns = Vec::new();
    let mut say = |text: String| {
        if !text.is_empty() {
            turns.push(turn("assistant", Words::Markdown(text.into())));
        }
    };
    let parts = [list_at(root, "content"), list_at(root, "output")];
    let parts = parts.iter().flat_map(|list| list.iter());
    let mut calls = Vec::new();
    for part in parts {
        match text_at(part, "type").as_deref() {
            Some("tool_use" | "function_call") => calls.push(part_text(part)),
            Some("message") => {
                for inner in list_at(part, "content").iter() {
                    say(part_text(inner));
                }
            }
            _ => say(part_text(part)),
        }
    }
    for choice in list_at(root, "choices").iter() {
        if let Some(text) = string_at(choice, "message.content") {
            say(text.into_owned());
        }
        for call in list_at(choice, "message.tool_calls").iter() {
            let function = call.get("function").filter(|f| f.kind() == Kind::Object);
            calls.push(part_text(function.unwrap_or(call)));
        }
    }
    turns.extend(
        calls
            .into_iter()
            .map(|call| turn("tool call", Words::Plain(call.into()))),
    );
    turns
}

fn token_count(tokens: &str) -> String {
    let plural = if tokens == "1" { "" } else { "s" };
    format!("{tokens} token{plural}")
}

fn note_of(call: Node<'_>) -> String {
    let number = |path| text_at(call, path);
    let mut parts = Vec::new();
    if let Some(tokens) = number("tokens_input") {
        parts.push(format!("{} in", token_count(&tokens)));
    }
    if let Some(tokens) = number("tokens_output") {
        parts.push(format!("{} out", token_count(&tokens)));
    }
    if let Some(latency) = number("latency_ms") {
        parts.push(format!("{latency} ms"));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(content: &str) -> Vec<(String, String)> {
        let turns = answered_turns(content.to_owned().into());
        let text = |words: &Words<'_>| match words {
            Words::Plain(text) | Words::Markdown(text) => text.clone().into_owned(),
            Words::Missing(reason) => format!("({reason})"),
        };
        let pair = |turn: &Turn<'_>| (turn.role.clone().into_owned(), text(&turn.said));
        turns.iter().map(pair).collect()
    }

    #[test]
    fn answers_of_known_shapes_are_split_and_others_stay_whole() {
        let one = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        assert_eq!(said("Yes."), [one("assistant", "Yes.")]);
        assert_eq!(said("{\"a\":1}"), [one("assistant", "{\"a\":1}")]);
        assert_eq!(said("{broken"), [one("assistant", "{broken")]);
        let blocks = r#"{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"read","input":{"path":"a"}}]}"#;
        let wanted = [
            one("assistant", "I look."),
            one("tool call", r#"read({"path":"a"})"#),
        ];
        assert_eq!(said(blocks), wanted);
        let choices = r#"{"choices":[{"message":{"content":"I look.","tool_calls":[{"function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}}]}"#;
        assert_eq!(said(choices), wanted);
    }
}

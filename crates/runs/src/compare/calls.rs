//! Finds where two recordings of calls diverge: at which call, and whether in its request or its
//! answer.
//!
//! Two forks of one recording are the same up to that call; later differences follow from it.

use std::borrow::Cow;

use runseal_core::canon::Node;
use runseal_core::formats::Format;

use super::json::compare_nodes;
use super::{Change, Topic};

/// The most characters of an answer that are shown.
const SHOWN: usize = 160;

/// Whether this document of a unit contains recorded calls.
pub(super) fn is_recording(format: Format, file: &str) -> bool {
    format == Format::ModelIo && file.is_empty() || file == "model_io.json"
}

/// The first call that differs; `None` if all are the same.
pub(super) fn find_parting<'a>(file: &str, a: Node<'a>, b: Node<'a>) -> Option<Change> {
    let (old, new) = (a.get("interactions"), b.get("interactions"));
    let call = |list: Option<Node<'a>>, at: usize| Some(Call(list?.item(at)?));
    let same = |at: &usize| match (call(old, *at), call(new, *at)) {
        (Some(a), Some(b)) => a.text("prompt_hash") == b.text("prompt_hash") && a.is_answered_as(b),
        _ => false,
    };
    let count = |list: Option<Node<'a>>| list.map_or(0, |list| list.items().len());
    let at = (0..count(old).max(count(new))).find(|at| !same(at))?;
    let (before, after) = (call(old, at), call(new, at));
    let mut lines = vec![match at {
        0 => "the recordings differ from the first call on".to_owned(),
        1 => "the recordings are the same for one call and part here".to_owned(),
        _ => format!("the recordings are the same for {at} calls and part here"),
    }];
    lines.extend(tell_parents(a, b));
    match (before, after) {
        (Some(before), Some(after)) => lines.extend(tell_difference(before, after)),
        (Some(call), None) => lines.push(format!(
            "the second ends; the first goes on with {}",
            call.asked()
        )),
        (None, Some(call)) => lines.push(format!(
            "the first ends; the second goes on with {}",
            call.asked()
        )),
        (None, None) => {}
    }
    Some(Change {
        topic: Topic::Calls,
        file: file.to_owned(),
        pointer: format!("/interactions/{at}"),
        before: before.map(|call| call.answer().into_owned()),
        after: after.map(|call| call.answer().into_owned()),
        lines: Some(lines.join("\n")),
    })
}

/// One interaction.
#[derive(Clone, Copy)]
struct Call<'a>(Node<'a>);

impl<'a> Call<'a> {
    fn text(self, name: &str) -> Option<Cow<'a, str>> {
        self.0.get(name)?.as_lossy_str()
    }

    /// Whether another call got the same bytes, status and end.
    fn is_answered_as(self, other: Self) -> bool {
        let of_response = |call: Self, name: &str| {
            let member = call
                .0
                .get("response")
                .and_then(|response| response.get(name));
            member.map(|member| member.to_value())
        };
        self.text("response_hash") == other.text("response_hash")
            && ["status", "end"]
                .iter()
                .all(|name| of_response(self, name) == of_response(other, name))
    }

    /// Method and path, if the request is recorded.
    fn asked(self) -> String {
        let request = self.0.get("request");
        let member = |name: &str| {
            let text = request.and_then(|request| request.get(name)?.as_lossy_str());
            text.unwrap_or_default().into_owned()
        };
        let asked = format!("{} {}", member("method"), member("path"));
        match asked.trim() {
            "" => "another call".to_owned(),
            asked => asked.to_owned(),
        }
    }

    /// The answer: its parsed text, or else its bytes.
    fn answer(self) -> Cow<'a, str> {
        let read = self
            .0
            .get("reading")
            .and_then(|reading| reading.get("text")?.as_lossy_str());
        read.or_else(|| self.text("response_content"))
            .unwrap_or_default()
    }
}

fn tell_difference(before: Call<'_>, after: Call<'_>) -> Vec<String> {
    if before.text("prompt_hash") == after.text("prompt_hash") {
        return vec![
            format!(
                "{}: the same was asked and answered otherwise",
                before.asked()
            ),
            format!("- {}", cut(&before.answer())),
            format!("+ {}", cut(&after.answer())),
        ];
    }
    let mut lines = vec![format!(
        "something else was asked: {} and {}",
        before.asked(),
        after.asked()
    )];
    let (Some(old), Some(new)) = (before.0.get("request"), after.0.get("request")) else {
        return lines;
    };
    let mut first = None;
    // Headers do not count as part of the request.
    for name in [
        "method",
        "path",
        "query",
        "body",
        "body_text",
        "body_base64",
        "body_file",
    ] {
        let mut take = |pointer: String, old: Option<String>, new: Option<String>| {
            first.get_or_insert((pointer, old, new));
        };
        let at = format!("/{name}");
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => compare_nodes(old, new, &at, &mut take),
            (None, None) => {}
            (old, new) => {
                let there = |present: bool| present.then(|| "there".to_owned());
                take(at, there(old.is_some()), there(new.is_some()));
            }
        }
    }
    if let Some((pointer, old, new)) = first {
        lines.push(format!(
            "first difference at /interactions/…/request{pointer}"
        ));
        lines.push(format!("- {}", cut(old.as_deref().unwrap_or("nothing"))));
        lines.push(format!("+ {}", cut(new.as_deref().unwrap_or("nothing"))));
    }
    lines
}

/// Which recordings these were forked from.
fn tell_parents(a: Node<'_>, b: Node<'_>) -> Vec<String> {
    let fork = |root: Node<'_>| {
        let fork = root.get("fork")?;
        let parent = fork
            .get("parent_model_io_hash")?
            .as_lossy_str()?
            .into_owned();
        Some((parent, fork.get("at")?.as_number()?.to_exact_i64()?))
    };
    let tell = |which: &str, (parent, at): (String, i64)| {
        format!("{which} forked from {parent} at call {at}")
    };
    match (fork(a), fork(b)) {
        (Some(a), Some(b)) if a == b => vec![tell("both were", a)],
        (a, b) => [
            a.map(|fork| tell("the first was", fork)),
            b.map(|fork| tell("the second was", fork)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

fn cut(text: &str) -> String {
    let text = text.replace('\n', "\\n");
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

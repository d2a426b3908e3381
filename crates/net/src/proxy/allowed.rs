//! Which models may be asked, where a policy names them: another one is refused before the upstream is
//! asked, in the shape of the API's own errors.

use hyper::{Method, Response, StatusCode};
use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_core::formats::model_io::reading::Api;

use super::answer::{self, AnswerBody};
use super::server::Received;

/// Why a request must not go on; none where it may. Whoever sends something and does not say which
/// model it is for is refused too: a batch or an upload may be for any.
pub(super) fn refusal(allowed: &[String], received: &Received) -> Option<String> {
    let only_reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&received.method);
    if allowed.is_empty() || only_reads {
        return None;
    }
    let document = parse_document(&received.body, &ReadOptions::TEXT).ok();
    let model = document
        .as_ref()
        .and_then(|document| Some(document.root().get("model")?.as_str()?.into_owned()));
    let among = allowed.join(", ");
    match model {
        Some(model) if allowed.contains(&model) => None,
        Some(model) => Some(format!(
            "model `{model}` is not among those that the policy allows: {among}"
        )),
        None => Some(format!(
            "the request does not say which model it is for, and the policy allows only: {among}"
        )),
    }
}

/// The answer to a request that must not go on.
pub(super) fn refuse(path: &str, is_anthropic: bool, reason: &str) -> Response<AnswerBody> {
    let message = format!("refused by runseal: {reason}");
    let api = Api::of_request(path, None);
    let is_anthropic = is_anthropic || api.provider() == Some("anthropic");
    let body = match is_anthropic {
        true => Value::object([
            ("type", Value::from("error")),
            (
                "error",
                Value::object([("type", "permission_error"), ("message", message.as_str())]),
            ),
        ]),
        false => Value::object([(
            "error",
            Value::object([
                ("message", Value::from(message.as_str())),
                ("type", Value::from("invalid_request_error")),
                ("param", Value::from("model")),
                ("code", Value::from("model_not_allowed")),
            ]),
        )]),
    };
    answer::json(StatusCode::FORBIDDEN, &body)
}

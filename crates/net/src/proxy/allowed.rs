//! Restricts requests to the models that a policy allows. Others are refused before the upstream is
//! contacted, with an error in the API's own format.

use hyper::{Method, Response, StatusCode};
use runseal_core::canon::{Value, parse_document};
use runseal_core::formats::model_io::reading::Api;

use super::answer::{self, AnswerBody};
use super::server::Received;
use crate::limits::MESSAGE;

/// Returns why a request is refused; `None` if it is allowed. A request whose body does not name a model
/// is refused too, because a batch or an upload may be for any model.
pub(super) fn refusal(allowed: &[String], received: &Received) -> Option<String> {
    let only_reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&received.method);
    if allowed.is_empty() || only_reads {
        return None;
    }
    let document = parse_document(&received.body, &MESSAGE).ok();
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

/// Returns the response to a refused request.
pub(super) fn refuse(path: &str, is_anthropic: bool, reason: &str) -> Response<AnswerBody> {
    let message = format!("refused by runseal: {reason}");
    let api = Api::of_request(path, None);
    let is_anthropic = is_anthropic || api.provider() == Some("anthropic");
    let body = if is_anthropic {
        Value::object([
            ("type", Value::from("error")),
            (
                "error",
                Value::object([("type", "permission_error"), ("message", message.as_str())]),
            ),
        ])
    } else {
        Value::object([(
            "error",
            Value::object([
                ("message", Value::from(message.as_str())),
                ("type", Value::from("invalid_request_error")),
                ("param", Value::from("model")),
                ("code", Value::from("model_not_allowed")),
            ]),
        )])
    };
    answer::json(StatusCode::FORBIDDEN, &body)
}

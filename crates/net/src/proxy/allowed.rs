//! Restricts requests to the models that a policy allows. Others are refused before the upstream is
//! contacted, with an error in the API's own format.

use hyper::{Method, Response, StatusCode};
use runseal_core::canon::{Value, parse_document};
use runseal_core::formats::model_io::reading::Api;

use super::answer::{self, AnswerBody};
use super::server::Received;
use crate::limits::MESSAGE;
use crate::redact::read_percent;

/// The ends of paths, besides those of [`Api`], at which the member `model` of the body is the model that is asked.
const ASKING: [&str; 8] = [
    "/completions",
    "/rerank",
    "/moderations",
    "/images/generations",
    "/audio/speech",
    "/api/chat",
    "/api/generate",
    "/api/embed",
];
/// Parts of a path behind which a model is named.
const BEFORE_MODEL: [&str; 4] = ["models", "model", "deployments", "engines"];
/// Parameters that name a model.
const MODEL_PARAMETERS: [&str; 3] = ["model", "deployment", "deployment_id"];
/// Headers by which a server takes a request for one with another method.
const OTHER_METHOD: [&str; 3] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
];

/// Why a request is refused; `None` if it is allowed. Every model that it names, in its path, its query or its body, has
/// to be allowed. A request that does not name its model, or asks something that is not known here, is refused
/// too: a batch or an upload may be for any model.
pub(super) fn refusal(allowed: &[String], received: &Received) -> Option<String> {
    if allowed.is_empty() {
        return None;
    }
    let among = allowed.join(", ");
    let other = |models: Vec<String>| {
        let other = models.into_iter().find(|model| !allowed.contains(model))?;
        Some(format!(
            "model `{other}` is not among those that the policy allows: {among}"
        ))
    };
    let unclear = |what: &str| Some(format!("{what}, and the policy allows only: {among}"));
    if let Some(other) = other(models_of_query(
        received.query.as_deref().unwrap_or_default(),
    )) {
        return Some(other);
    }
    if OTHER_METHOD
        .iter()
        .any(|name| received.headers.contains_key(*name))
    {
        return unclear("the request names a second method");
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(&received.method) {
        let is_empty = received.body.is_empty();
        return if is_empty {
            None
        } else {
            unclear("the request has a body that its method has not")
        };
    }
    if let Some(other) = other(models_of_path(&received.path)) {
        return Some(other);
    }
    let document = parse_document(&received.body, &MESSAGE).ok();
    let root = document.as_ref().map(|document| document.root());
    let model = root.and_then(|root| Some(root.get("model")?.as_str()?.into_owned()));
    let Some(model) = model else {
        return unclear("the request does not say which model it is for");
    };
    // Tools may ask a model of their own.
    let tools = root.and_then(|root| root.get("tools"));
    let tools = tools.into_iter().flat_map(|tools| tools.items());
    let of_tools = tools.filter_map(|tool| Some(tool.get("model")?.as_str()?.into_owned()));
    if let Some(other) = other(std::iter::once(model).chain(of_tools).collect()) {
        return Some(other);
    }
    let path = received.path.trim_end_matches('/');
    let is_known = match Api::of_request(path, None) {
        Api::Http | Api::Models | Api::Mcp => ASKING.iter().any(|end| path.ends_with(end)),
        _ => true,
    };
    if is_known {
        None
    } else {
        unclear("the request may be for any model")
    }
}

/// The models that parameters name.
fn models_of_query(query: &str) -> Vec<String> {
    let pairs = query.split('&').filter_map(|part| part.split_once('='));
    let pairs = pairs.map(|(name, value)| (read_percent(name), read_percent(value)));
    let named = pairs.filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        MODEL_PARAMETERS.contains(&name.as_str())
    });
    named.map(|(_, model)| model.into_owned()).collect()
}

/// The models that a path names: `/models/MODEL:action`, `/deployments/MODEL/…`.
fn models_of_path(path: &str) -> Vec<String> {
    let parts: Vec<_> = path.split('/').map(read_percent).collect();
    let pairs = parts.windows(2).filter_map(|pair| match pair {
        [before, model] if BEFORE_MODEL.contains(&before.to_ascii_lowercase().as_str()) => {
            Some(model.split(':').next().unwrap_or_default().to_owned())
        }
        _ => None,
    });
    pairs.filter(|model| !model.is_empty()).collect()
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hyper::HeaderMap;

    use super::*;

    fn is_allowed(method: &str, address: &str, body: &str, header: Option<&'static str>) -> bool {
        let (path, query) = match address.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (address, None),
        };
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(header, "POST".parse().unwrap());
        }
        let received = Received {
            method: method.parse().unwrap(),
            path: path.to_owned(),
            query,
            headers,
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        refusal(&["small".to_owned()], &received).is_none()
    }

    #[test]
    fn model_is_compared_wherever_a_request_names_it() {
        let body = r#"{"model":"small"}"#;
        for address in [
            "/v1/chat/completions",
            "/v1/responses?model=small",
            "/v1/messages",
            "/api/chat",
            "/openai/deployments/small/chat/completions",
        ] {
            assert!(is_allowed("POST", address, body, None), "{address}");
        }
        assert!(is_allowed("GET", "/v1/models/large", "", None));
        for address in [
            "/openai/deployments/large/chat/completions",
            "/openai/%64eployments/l%61rge/chat/completions",
            "/v1beta/models/large:generateContent",
            "/v1/responses?mod%65l=large",
            "/v1/batches",
            "/v1/fine_tuning/jobs",
        ] {
            assert!(!is_allowed("POST", address, body, None), "{address}");
        }
        let chat = "/v1/chat/completions";
        let tool = r#"{"model":"small","tools":[{"type":"image","model":"large"}]}"#;
        assert!(!is_allowed("POST", chat, tool, None));
        assert!(!is_allowed("GET", chat, body, None));
        assert!(!is_allowed("HEAD", chat, body, None));
        assert!(!is_allowed("GET", "/v1/realtime?model=large", "", None));
        assert!(!is_allowed("GET", chat, "", Some("x-http-method-override")));
    }
}

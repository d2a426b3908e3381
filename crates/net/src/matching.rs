//! Finds the recorded answer to a request.
//!
//! The key is the hash of a request's normal form as `runseal_core` defines it, which is also a
//! recording's `prompt_hash`. If nothing matches, the most similar recorded request and the first
//! difference are reported.

use runseal_core::canon::{Dialect, JsonPath, Step, Value, canonical_bytes};
pub use runseal_core::formats::model_io::asked::{Asked, BodyForm, Volatile, compute_key};

/// The most characters of a value shown in a difference.
const SHOWN: usize = 120;

/// The place where two values differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// A JSON Pointer into both.
    pub pointer: String,
    /// The recorded value; `None` if absent.
    pub recorded: Option<String>,
    /// The requested value; `None` if absent.
    pub asked: Option<String>,
}

/// Finds the first place, in order of names and elements, where two values differ.
pub fn first_difference(recorded: &Value, asked: &Value) -> Option<Difference> {
    let mut path = JsonPath::ROOT;
    differ(recorded, asked, &mut path)
}

fn differ(recorded: &Value, asked: &Value, path: &mut JsonPath) -> Option<Difference> {
    let at = |path: &JsonPath, recorded: Option<&Value>, asked: Option<&Value>| {
        Some(Difference {
            pointer: path.to_pointer(),
            recorded: recorded.map(show),
            asked: asked.map(show),
        })
    };
    match (recorded, asked) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<_> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            names.into_iter().find_map(|name| {
                let mut path = path.then(Step::from(name.to_lossy().as_str()));
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => differ(left, right, &mut path),
                    (left, right) => at(&path, left, right),
                }
            })
        }
        (Value::Array(left), Value::Array(right)) => {
            (0..left.len().max(right.len())).find_map(|index| {
                let mut path = path.then(Step::from(index));
                match (left.get(index), right.get(index)) {
                    (Some(left), Some(right)) => differ(left, right, &mut path),
                    (left, right) => at(&path, left, right),
                }
            })
        }
        _ if canonical_bytes(recorded, Dialect::Kernel).ok()
            == canonical_bytes(asked, Dialect::Kernel).ok() =>
        {
            None
        }
        _ => at(path, Some(recorded), Some(asked)),
    }
}

/// Returns a short name for a request; MCP requests on standard input have no path.
pub fn name_request(method: &str, path: &str) -> String {
    format!("{method} {path}").trim_end().to_owned()
}

fn show(value: &Value) -> String {
    let bytes = canonical_bytes(value, Dialect::Kernel).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    if text.chars().count() <= SHOWN {
        return text.into_owned();
    }
    let start: String = text.chars().take(SHOWN).collect();
    format!("{start}… ({} bytes)", bytes.len())
}

/// Scores how similar two forms are: the number of equal leaves, plus extra weight for method and path.
pub fn likeness(recorded: &Value, asked: &Value) -> usize {
    let same = |name: &str| recorded.get(name) == asked.get(name);
    let weight = usize::from(same("method")) * 100_000 + usize::from(same("path")) * 1_000_000;
    weight + equal_leaves(recorded, asked)
}

fn equal_leaves(left: &Value, right: &Value) -> usize {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => left
            .iter()
            .filter_map(|(name, value)| Some(equal_leaves(value, right.get(name)?)))
            .sum(),
        (Value::Array(left), Value::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| equal_leaves(left, right))
            .sum(),
        _ => usize::from(left == right),
    }
}

#[cfg(test)]
mod tests {
    use runseal_core::digest::ContentHash;

    use super::*;

    fn asked(body: &str) -> Asked {
        Asked {
            method: "POST".to_owned(),
            path: "/v1/x".to_owned(),
            query: None,
            body: BodyForm::parse("application/json", body.as_bytes()),
        }
    }

    fn key(body: &str, volatile: &[&str]) -> ContentHash {
        compute_key(&asked(body).form(&Volatile::parse(volatile).unwrap())).unwrap()
    }

    #[test]
    fn key_ignores_spelling_and_volatile_members_only() {
        assert_eq!(
            key(r#"{"a":1.0,"b":"é"}"#, &[]),
            key("{ \"b\":\"\\u00e9\", \"a\":1 }", &[])
        );
        assert_ne!(key(r#"{"a":1}"#, &[]), key(r#"{"a":2}"#, &[]));
        assert_ne!(key(r#"{"a":[1,2]}"#, &[]), key(r#"{"a":[2,1]}"#, &[]));
        let (one, other) = (
            r#"{"m":[{"id":1,"t":"x"},{"id":2,"t":"y"}],"n/o":3}"#,
            r#"{"m":[{"id":8,"t":"x"},{"id":9,"t":"y"}],"n/o":4}"#,
        );
        assert_ne!(key(one, &["/m/*/id"]), key(other, &["/m/*/id"]));
        assert_eq!(
            key(one, &["/m/*/id", "/n~1o"]),
            key(other, &["/m/*/id", "/n~1o"])
        );
        assert!(Volatile::parse(&["m"]).is_err() && Volatile::parse(&[""]).is_err());
    }

    #[test]
    fn key_of_json_rpc_request_ignores_id_token_and_trace() {
        let call = |id: &str, token: u32, a: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{a}}},"_meta":{{"progressToken":{token},"traceparent":"00-{token}"}}}}}}"#
            )
        };
        assert_eq!(key(&call("1", 1, 5), &[]), key(&call("\"x\"", 2, 5), &[]));
        assert_ne!(key(&call("1", 1, 5), &[]), key(&call("1", 1, 6), &[]));
        let reply = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_ne!(
            key(&reply(1), &[]),
            key(&reply(2), &[]),
            "the id of a reply counts"
        );
    }

    #[test]
    fn key_ignores_placeholder_digits_and_multipart_boundaries() {
        let said = |placeholder: &str| format!(r#"{{"m":"my key is {placeholder} ok"}}"#);
        let (one, other) = (said("[redacted:jwt:0011]"), said("[redacted:jwt:ffff]"));
        assert_eq!(key(&one, &[]), key(&other, &[]));
        assert_ne!(key(&one, &[]), key(&said("[redacted:age-key:0011]"), &[]));
        let part = |boundary: &str| {
            let body = format!("--{boundary}\r\nx\r\n--{boundary}--");
            BodyForm::parse(
                &format!("multipart/form-data; boundary={boundary}"),
                body.as_bytes(),
            )
        };
        assert_eq!(part("abc123"), part("zzzzzzz"));
    }

    #[test]
    fn first_difference_points_to_the_differing_value() {
        let value = |text: &str| match asked(text).body {
            BodyForm::Json(value) => value,
            other => panic!("{other:?}"),
        };
        let find = |recorded: &str, asked: &str| first_difference(&value(recorded), &value(asked));
        assert_eq!(find(r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1e0}"#), None);
        let found = find(r#"{"a":{"x/y":[1,2]}}"#, r#"{"a":{"x/y":[1,3,4]}}"#).unwrap();
        assert_eq!(found.pointer, "/a/x~1y/1");
        let found = find(r#"{"a":[1]}"#, r#"{"a":[1,2]}"#).unwrap();
        assert_eq!((found.pointer.as_str(), found.recorded), ("/a/1", None));
        let found = find(
            r#"{"long":1}"#,
            &format!(r#"{{"long":"{}"}}"#, "x".repeat(500)),
        )
        .unwrap();
        assert!(found.asked.unwrap().len() < 200);
    }
}

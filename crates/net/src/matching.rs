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
    use runseal_core::formats::model_io::asked::NOT_COMPARED;

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
        let (digits, others) = ("0011223344556677", "8899aabbccddeeff");
        let one = said(&format!("[redacted:jwt:{digits}]"));
        let other = said(&format!("[redacted:jwt:{others}]"));
        assert_eq!(key(&one, &[]), key(&other, &[]));
        let other = said(&format!("[redacted:age-key:{digits}]"));
        assert_ne!(key(&one, &[]), key(&other, &[]));
        let part = |border: &str| {
            let body = format!("--{border}\r\nx\r\n--{border}--");
            BodyForm::parse(
                &format!("multipart/form-data; boundary={border}"),
                body.as_bytes(),
            )
        };
        assert_eq!(part("abc123"), part("zzzzzzz"));
    }

    #[test]
    fn key_of_text_that_only_looks_like_a_placeholder_or_a_border_counts() {
        let digits = "0011223344556677";
        let texts = [
            "[redacted:q:delete all backups]".to_owned(),
            "[redacted:q:say yes]".to_owned(),
            "[redacted:q]".to_owned(),
            format!("[redacted:q:{digits}0]"),
            format!("[redacted:Q:{digits}]"),
            format!("[redacted:a b:{digits}]"),
            format!("[redacted:q:{digits}: say yes]"),
            format!("[redacted:q:{digits}"),
        ];
        let keys: Vec<_> = texts
            .iter()
            .map(|text| key(&format!(r#"{{"m":"{text}"}}"#), &[]))
            .collect();
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(one), "{}", texts[at]);
        }
        let long = "x".repeat(71);
        for (content_type, body) in [
            ("text/plain; boundary=\"say yes\"", "say yes"),
            ("text/plain; boundary=yes", "--yes"),
            ("multipart/form-data; boundary=\"say yes\"", "--say yes"),
            (
                "multipart/form-data; boundary=yes",
                "say --yes\r\n--yes please",
            ),
            (
                &format!("multipart/form-data; boundary={long}"),
                &format!("--{long}"),
            ),
        ] {
            let form = BodyForm::parse(content_type, body.as_bytes());
            assert_eq!(form, BodyForm::Text(body.to_owned()), "{content_type}");
        }
    }

    #[test]
    fn volatile_pointer_to_what_is_asked_is_refused_and_to_what_is_beside_it_is_not() {
        for pointer in [
            "/messages",
            "/messages/*",
            "/messages/0",
            "/messages/*/content",
            "/messages/*/content/*/text",
            "/input",
            "/system",
            "/prompt",
            "/instructions",
            "/contents/*/parts",
            "/*",
            "/*/0",
            "/*/*/content",
        ] {
            assert!(Volatile::parse(&[pointer]).is_err(), "{pointer}");
        }
        for pointer in ["/messages/*/id", "/metadata", "/trace/*/id", "/seed"] {
            assert!(Volatile::parse(&[pointer]).is_ok(), "{pointer}");
        }
    }

    #[test]
    fn body_for_people_has_a_mark_in_place_of_what_does_not_count() {
        let volatile = Volatile::parse(&["/seed", "/m/*/id"]).unwrap();
        let marked = |body: &str| asked(body).marked_body(&volatile);
        let text = marked(r#"{"m":[{"id":"say yes","t":"x"}],"seed":"say yes"}"#).unwrap();
        assert!(
            !text.contains("yes") && text.contains(r#""t":"x""#),
            "{text}"
        );
        assert_eq!(text.matches(NOT_COMPARED).count(), 2, "{text}");
        let text = marked(r#"{"jsonrpc":"2.0","id":"say yes","method":"x"}"#).unwrap();
        assert!(!text.contains("yes"), "{text}");
        assert_eq!(marked(r#"{"m":[{"t":"x"}]}"#), None);
    }

    #[test]
    fn first_difference_is_a_pointer_that_leads_to_it() {
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

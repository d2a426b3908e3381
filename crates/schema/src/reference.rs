//! References, resolved against the id of the part they are in (RFC 3986, section 5.2).

/// The parts of a reference, except its fragment.
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

/// What a reference names: the id of a part of the schema, and a fragment in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub id: String,
    pub fragment: String,
}

/// Resolves `reference` against `base`, an id without a fragment.
pub(crate) fn resolve(base: &str, reference: &str) -> Address {
    let (reference, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let fragment = percent_decode(fragment);
    if reference.is_empty() {
        let id = base.to_owned();
        return Address { id, fragment };
    }
    let (base, given) = (split(base), split(reference));
    let merged;
    let parts = if given.scheme.is_some() {
        given
    } else if given.authority.is_some() {
        Parts {
            scheme: base.scheme,
            ..given
        }
    } else if given.path.is_empty() {
        Parts {
            query: given.query.or(base.query),
            ..base
        }
    } else {
        let path = if given.path.starts_with('/') {
            given.path
        } else {
            merged = merge(&base, given.path);
            &merged
        };
        Parts {
            path,
            query: given.query,
            ..base
        }
    };
    let id = join(&parts);
    Address { id, fragment }
}

fn split(text: &str) -> Parts<'_> {
    let (rest, query) = match text.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (text, None),
    };
    let is_scheme = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    Parts {
        scheme,
        authority,
        path,
        query,
    }
}

fn merge(base: &Parts<'_>, path: &str) -> String {
    match base.path.rfind('/') {
        Some(at) => format!("{}{path}", &base.path[..=at]),
        None if base.authority.is_some() => format!("/{path}"),
        None => path.to_owned(),
    }
}

fn join(parts: &Parts<'_>) -> String {
    let mut id = String::new();
    if let Some(scheme) = parts.scheme {
        id.push_str(scheme);
        id.push(':');
    }
    if let Some(authority) = parts.authority {
        id.push_str("//");
        id.push_str(authority);
    }
    id.push_str(&without_dots(parts.path));
    if let Some(query) = parts.query {
        id.push('?');
        id.push_str(query);
    }
    id
}

/// The path without `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                // The first segment is empty if the path begins with a slash.
                if kept.len() > 1 || kept.first().is_some_and(|first| !first.is_empty()) {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

/// Decodes `%41` and the like.
fn percent_decode(text: &str) -> String {
    let hex = |byte: &u8| char::from(*byte).to_digit(16);
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match after {
            [high, low, ..] if *first == b'%' => hex(high).zip(hex(low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            None => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_is_resolved_as_rfc_3986_says() {
        // The examples of section 5.4, including the unusual ones.
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
        ] {
            assert_eq!(resolve(base, reference).id, expected, "{reference}");
        }
        let inside = resolve("urn:x:y", "#/a%20b/%c3%a9");
        assert_eq!(
            (inside.id.as_str(), inside.fragment.as_str()),
            ("urn:x:y", "/a b/é")
        );
        assert_eq!(resolve("", "other.json#x").id, "other.json");
        assert_eq!(resolve("a/b.json", "c.json").id, "a/c.json");
    }
}

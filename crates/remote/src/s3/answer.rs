//! Interprets a server's answers: the XML of object storage, and its errors.
//!
//! Only the code of an error is used. Its text may repeat what was sent, including signatures.

use roxmltree::{Document, Node};
use ureq::http::StatusCode;

use crate::error::RemoteError;
use crate::http::{Response, host};

/// The most bytes of an XML answer: ten times a page of a thousand long keys.
pub(super) const MAX_ANSWER: u64 = 16 << 20;
/// The most characters of a code that are shown.
const MAX_CODE: usize = 64;

/// Parses an answer and calls `see` with its root element.
///
/// # Errors
/// If it is not XML, or `see` returns `None`.
pub(super) fn read_xml<T>(
    response: Response,
    see: impl FnOnce(Node<'_, '_>) -> Option<T>,
) -> Result<T, RemoteError> {
    let host = host(&response.uri);
    let bytes = response.into_bytes(MAX_ANSWER)?;
    let text = str::from_utf8(&bytes).ok();
    let document = text.and_then(|text| Document::parse(text).ok());
    let found = document.and_then(|document| see(document.root_element()));
    found.ok_or_else(|| RemoteError::Protocol {
        host,
        problem: "its XML is not that of object storage".to_owned(),
    })
}

/// Returns the children with this name.
pub(super) fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

/// Returns the text of the first child with this name.
pub(super) fn child_text<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> Option<&'a str> {
    children(node, name).next()?.text()
}

/// What was requested, for error messages.
pub(super) struct Asked<'a> {
    pub bucket: &'a str,
    /// The address for messages.
    pub place: String,
}

/// Returns the error for a response that is not a success. Reads the body.
pub(super) fn refusal(response: Response, asked: &Asked<'_>) -> RemoteError {
    let host = host(&response.uri);
    let status = response.status;
    let region = response.text_header("x-amz-bucket-region").map(clean);
    let is_redirect = status.is_redirection();
    let body = response.into_bytes(MAX_ANSWER).unwrap_or_default();
    let code = str::from_utf8(&body).ok().and_then(code_of);
    if let (true, Some(region)) = (is_redirect, region) {
        let answer = format!("the bucket is in the region `{region}`; set AWS_REGION");
        return RemoteError::Refused {
            host,
            status: status.as_u16(),
            answer,
        };
    }
    refusal_of(status, code, host, asked)
}

/// Returns the error for a code, which even a successful response may contain.
pub(super) fn refusal_of(
    status: StatusCode,
    code: Option<String>,
    host: String,
    asked: &Asked<'_>,
) -> RemoteError {
    let place = || asked.place.clone();
    let words = status.canonical_reason().unwrap_or("no reason given");
    let answer = code.clone().unwrap_or_else(|| words.to_owned());
    match code.as_deref().unwrap_or_default() {
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "InvalidToken"
        | "AuthorizationHeaderMalformed"
        | "InvalidSecurity"
        | "InvalidClientTokenId" => RemoteError::Unauthorized { host, answer },
        "RequestTimeTooSkewed" => RemoteError::Skewed { host, answer },
        "ExpiredToken" | "TokenRefreshRequired" | "RequestExpired" => RemoteError::Expired { host },
        "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => RemoteError::Forbidden {
            place: place(),
            answer,
        },
        "NoSuchBucket" => RemoteError::NoContainer {
            container: "bucket",
            name: asked.bucket.to_owned(),
            host,
        },
        "NoSuchKey" | "NotFound" => RemoteError::NotFound { place: place() },
        code if is_full(code) => RemoteError::Full { host, answer },
        _ => match status.as_u16() {
            401 => RemoteError::Unauthorized { host, answer },
            403 => RemoteError::Forbidden {
                place: place(),
                answer,
            },
            404 => RemoteError::NotFound { place: place() },
            507 => RemoteError::Full { host, answer },
            status => RemoteError::Refused {
                host,
                status,
                answer,
            },
        },
    }
}

/// Whether a code of any known server means that there is no space left.
fn is_full(code: &str) -> bool {
    let words = [
        "StorageFull",
        "QuotaExceeded",
        "InsufficientStorage",
        "InsufficientCapacity",
    ];
    words.iter().any(|word| code.contains(word))
}

/// Returns the code in an XML error.
pub(super) fn code_of(text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "Error" {
        return None;
    }
    let code = clean(child_text(root, "Code")?);
    (!code.is_empty()).then_some(code)
}

/// Keeps only the plain characters of a code, so that nothing else gets into a message.
fn clean(text: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    text.chars().filter(is_plain).take(MAX_CODE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_of_known_code_is_the_matching_error() {
        let asked = Asked {
            bucket: "b",
            place: "s3://b/k".to_owned(),
        };
        let of = |code: &str| {
            let code = Some(code.to_owned());
            refusal_of(StatusCode::BAD_REQUEST, code, "h".to_owned(), &asked).code()
        };
        assert_eq!(of("SignatureDoesNotMatch"), "UNAUTHORIZED");
        assert_eq!(of("ExpiredToken"), "EXPIRED");
        assert_eq!(of("RequestTimeTooSkewed"), "CLOCK");
        assert_eq!(of("NoSuchBucket"), "NO_SUCH_PLACE");
        assert_eq!(of("XMinioStorageFull"), "SERVER_FULL");
        assert_eq!(of("Whatever"), "REFUSED");
        let status = StatusCode::TEMPORARY_REDIRECT;
        let sent_on = refusal_of(status, None, "h".to_owned(), &asked);
        let said = sent_on.to_string();
        assert_eq!(said, "`h` answered 307: Temporary Redirect");
        assert!(
            sent_on
                .hint()
                .is_some_and(|hint| hint.contains("AWS_ENDPOINT_URL"))
        );
    }

    #[test]
    fn code_of_takes_only_the_code_of_an_error() {
        let text = "<Error><Code>Signature<!-- -->DoesNotMatch</Code><StringToSign>secret\
                    </StringToSign></Error>";
        assert_eq!(code_of(text).as_deref(), Some("Signature"));
        assert_eq!(code_of("<Other><Code>A</Code></Other>"), None);
        assert_eq!(code_of("no xml"), None);
        assert_eq!(clean("A\u{1b}[31m=secret"), "A31msecret");
    }
}

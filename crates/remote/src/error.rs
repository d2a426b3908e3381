//! Errors of remote places, for any kind of server.
//!
//! No message contains a credential: keys, tokens and signatures never enter an error, and
//! addresses are shown without the part before an `@` or after a `?`.

use std::borrow::Cow;
use std::io;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::verify::Outcome;
use runseal_fs::staging::StagingError;
use thiserror::Error;

use crate::http::HttpError;
use crate::oci::reference::LAYOUT_SCHEME;
use crate::verified::Objection;

/// Why a remote place could not be read or written.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The text is not the address of a remote place.
    #[error("`{address}` is not a usable remote address: {problem}")]
    Address {
        /// The address, without its secret parts.
        address: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No key, token or password was found for a server that demands one.
    #[error("no credentials found for `{host}`")]
    NoCredentials {
        /// The server.
        host: String,
    },
    /// A credentials file cannot be used.
    #[error("the credentials in `{path}` cannot be used: {problem}")]
    Credentials {
        /// The file.
        path: String,
        /// What is wrong, without quoting the file.
        problem: String,
    },
    /// The server does not know the credentials, or they are wrong.
    #[error("`{host}` refuses the credentials: {answer}")]
    Unauthorized {
        /// The server.
        host: String,
        /// The server's error code.
        answer: String,
    },
    /// The credentials have expired.
    #[error("the credentials for `{host}` have expired")]
    Expired {
        /// The server.
        host: String,
    },
    /// The request's time is too far from the server's.
    #[error("`{host}` refuses the time of the request: {answer}")]
    Skewed {
        /// The server.
        host: String,
        /// The server's error code.
        answer: String,
    },
    /// The credentials are valid, but do not allow this.
    #[error("these credentials do not allow access to `{place}`: {answer}")]
    Forbidden {
        /// What was requested.
        place: String,
        /// The server's error code.
        answer: String,
    },
    /// There is nothing at this place.
    #[error("`{}` does not exist", cut(.place))]
    NotFound {
        /// What was requested.
        place: String,
    },
    /// The bucket or repository itself is missing.
    #[error("there is no {container} `{name}` at `{host}`")]
    NoContainer {
        /// `bucket` or `repository`.
        container: &'static str,
        /// Its name.
        name: String,
        /// The server.
        host: String,
    },
    /// The server has no room left, or a quota is used up.
    #[error("`{host}` has no space left: {answer}")]
    Full {
        /// The server.
        host: String,
        /// The server's error code.
        answer: String,
    },
    /// Something else already has this name.
    #[error("`{place}` already exists with different content")]
    Taken {
        /// The name.
        place: String,
    },
    /// What the server holds differs from what it or we declared.
    #[error("`{}` is not what was declared: {}", cut(.place), cut(.problem))]
    Corrupt {
        /// What was read.
        place: String,
        /// What differs.
        problem: String,
    },
    /// The server's answer violates its protocol.
    #[error("`{host}` answered in a way that is not understood: {}", cut(.problem))]
    Protocol {
        /// The server.
        host: String,
        /// What was wrong with the answer.
        problem: String,
    },
    /// The server refused for a reason that no other variant covers.
    #[error("`{host}` answered {status}: {}", cut(.answer))]
    Refused {
        /// The server.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The server's error code or message.
        answer: String,
    },
    /// Communication with the server failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// What was pushed or pulled does not verify, or is not one unit.
    #[error("`{path}` {why}")]
    NotValid {
        /// Its path.
        path: String,
        /// The objection to it.
        why: Objection,
    },
    /// The run contains something that cannot be stored remotely.
    #[error("`{path}` cannot be stored remotely: {problem}")]
    Unfit {
        /// The run.
        path: String,
        /// What it contains.
        problem: String,
    },
    /// The target of a pull already exists.
    #[error("`{path}` already exists and is never overwritten")]
    Occupied {
        /// The target.
        path: String,
    },
    /// Another process is fetching the same run to the same place.
    #[error("another process is working in `{path}`")]
    Busy {
        /// The folder that it has locked.
        path: String,
    },
    /// A local file could not be read or written.
    #[error("`{path}` could not be used")]
    Local {
        /// The file.
        path: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl RemoteError {
    /// Recovers the remote error inside an I/O error; any other error becomes a local one about `place`.
    pub fn from_io(error: io::Error, place: &str) -> Self {
        match error.downcast::<Self>() {
            Ok(remote) => remote,
            Err(source) => Self::Local {
                path: place.to_owned(),
                source,
            },
        }
    }

    /// Returns the code that is shown before the message.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "REMOTE_ADDRESS",
            Self::NoCredentials { .. } => "NO_CREDENTIALS",
            Self::Credentials { .. } => "BAD_CREDENTIALS_FILE",
            Self::Unauthorized { .. } => "UNAUTHORIZED",
            Self::Expired { .. } => "EXPIRED",
            Self::Skewed { .. } => "CLOCK",
            Self::Forbidden { .. } => "FORBIDDEN",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::NoContainer { .. } => "NO_SUCH_PLACE",
            Self::Full { .. } => "SERVER_FULL",
            Self::Taken { .. } => "TAKEN",
            Self::Corrupt { .. } => "CORRUPT",
            Self::Protocol { .. } => "PROTOCOL",
            Self::Refused { .. } => "REFUSED",
            Self::Http(error) => error.code(),
            Self::NotValid { .. } => "NOT_VALID",
            Self::Unfit { .. } => "UNFIT",
            Self::Occupied { .. } => "EXISTS",
            Self::Busy { .. } => "BUSY",
            Self::Local { .. } => "IO",
        }
    }

    /// Returns advice, if there is any.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Address { .. } => {
                Some("remote places are `s3://BUCKET/PREFIX` and `oci://HOST/NAME:TAG`")
            }
            Self::NoCredentials { .. } => Some("docs/remote.md says where they are read from"),
            Self::Credentials { .. } => Some("check the file; docs/remote.md says what is read"),
            Self::Unauthorized { .. } => Some("check the key and its secret, or log in again"),
            Self::Expired { .. } => Some("get a new token and try again"),
            Self::Skewed { .. } => Some("set this machine's clock"),
            Self::Forbidden { .. } => Some("ask for permission to use it"),
            Self::NotFound { .. } => Some("check the name"),
            Self::NoContainer { .. } => Some("check its name and the server, or create it first"),
            Self::Full { .. } => Some("nothing became visible; free some space and try again"),
            Self::Taken { .. } => Some("sealed runs are never replaced; choose another name"),
            Self::Corrupt { .. } => Some("it cannot be trusted; get it from another copy"),
            Self::NotValid { why, .. } => Some(why.hint()),
            Self::Unfit { .. } => Some("`runseal verify` says more about it"),
            Self::Occupied { .. } => Some("choose another place, or remove what is there"),
            Self::Busy { .. } => Some("wait until it has ended"),
            Self::Refused { status, .. } if *status >= 300 && *status < 400 => {
                Some("redirects are not followed; set AWS_ENDPOINT_URL to the right server")
            }
            Self::Refused { status, .. } if *status >= 500 => {
                Some("the server's own log says why; a full disk is one common reason")
            }
            Self::Protocol { .. } | Self::Refused { .. } | Self::Local { .. } => None,
            Self::Http(error) => error.hint(),
        }
    }
}

impl Diagnose for RemoteError {
    fn diagnosis(&self) -> Diagnosis {
        let outcome = match self {
            Self::Address { .. } => Outcome::Usage,
            Self::Corrupt { .. } | Self::NotValid { .. } => Outcome::Invalid,
            _ => Outcome::Unreadable,
        };
        Diagnosis {
            location: Location::Named,
            hint: self.hint().map(Cow::Borrowed),
            ..Diagnosis::of(self, outcome, self.code())
        }
    }
}

impl From<StagingError> for RemoteError {
    fn from(error: StagingError) -> Self {
        match error {
            StagingError::Exists(path) => Self::Occupied {
                path: path.display().to_string(),
            },
            StagingError::Write(error) => Self::Local {
                path: error.path.display().to_string(),
                source: error.source,
            },
        }
    }
}

/// The most characters that a message shows of a text from elsewhere.
const SHOWN: usize = 1000;

/// A text from elsewhere, such as a name in an artifact, as messages show it.
pub(crate) fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// An address as it may be shown: without a name or password before its host.
pub fn shown_address(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    // Keys of object storage may contain an `@`; names of artifacts have one only before a digest.
    let end = match scheme.as_str() {
        "s3://" => rest.find('/').unwrap_or(rest.len()),
        _ if text.starts_with(LAYOUT_SCHEME) => 0,
        _ => rest.rfind("@sha256:").unwrap_or(rest.len()),
    };
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}…{}", &rest[at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_is_cut_in_messages() {
        let long = "ä".repeat(SHOWN + 1);
        let error = RemoteError::Corrupt {
            place: long.clone(),
            problem: long,
        };
        assert!(error.to_string().chars().count() < 3 * SHOWN);
        assert_eq!(cut("short"), "short");
    }

    #[test]
    fn address_is_shown_without_what_stands_before_its_host() {
        for (text, shown) in [
            ("me:pass@host/a/b", "…@host/a/b"),
            ("oci://me:p@ss@host:5000/a:v1", "oci://…@host:5000/a:v1"),
            ("s3://me:pass@host", "s3://…@host"),
            ("me:p/ss@host/a@sha256:00", "…@host/a@sha256:00"),
            ("s3://bucket/a@b/c", "s3://bucket/a@b/c"),
            ("a.b/run@sha256:00", "a.b/run@sha256:00"),
            ("oci-layout:folder:v1", "oci-layout:folder:v1"),
        ] {
            assert_eq!(shown_address(text), shown);
        }
    }
}

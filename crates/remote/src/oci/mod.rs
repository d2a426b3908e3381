//! Run bundles as artifacts in an OCI registry or OCI layout: `oci://HOST/NAME:TAG`,
//! `oci-layout:FOLDER:TAG`.
//!
//! A folder becomes the pieces of one tar ([`layers`]) and a manifest without a time, so the same
//! run always has the same digest. Signatures and reports are attached as referrers ([`attached`]).
//! What is read is bounded by its size and checked against its digest; what is written becomes
//! visible with its manifest, which is sent last. Credentials go only to permitted hosts
//! ([`challenge`], [`credentials`]).
//!
//! A local layout is used without opening a socket.

pub mod artifact;
pub mod attached;
pub mod challenge;
pub mod credentials;
mod download;
pub mod file_layers;
pub mod files;
pub mod image;
pub mod layers;
pub mod layout;
pub mod layout_tar;
pub mod leftovers;
pub mod manifest;
pub mod pull;
pub mod push;
pub mod reference;
pub mod registry;
pub mod repository;
pub mod tarball;
mod tokens;
pub mod unpack;
mod upload;

use std::borrow::Cow;
use std::io;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::source::SourceError;
use runseal_core::verify::Outcome;
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::StagingError;
use thiserror::Error;

use crate::error::cut;
use crate::verified::Objection;
use reference::ReferenceError;

/// Why an artifact could not be pushed, pulled or read.
#[derive(Debug, Error)]
pub enum OciError {
    /// The text does not name an artifact.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A local file could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A local file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The pulled files could not be moved into place.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// Something cannot be pushed.
    #[error("`{what}`: {why}")]
    Refused {
        /// The name of the thing.
        what: String,
        /// Why it is refused.
        why: String,
    },
    /// The tag names another artifact, and may not be moved.
    #[error("the tag `{tag}` of `{place}` is taken: it names {}", ContentHash::from(*.digest))]
    Taken {
        /// The repository or layout.
        place: String,
        /// The tag.
        tag: String,
        /// The digest of the manifest that it names.
        digest: Digest,
    },
    /// What was pushed or pulled does not verify, or could not be verified.
    #[error("`{path}` {why}")]
    NotValid {
        /// Its path.
        path: String,
        /// The objection to it.
        why: Objection,
    },
    /// A registry wants the password to be sent to a foreign host.
    #[error(
        "`{registry}` issues tokens at `{realm}`, which is not its own host; the password was not sent"
    )]
    ForeignTokens {
        /// The registry.
        registry: String,
        /// The host of its token service.
        realm: String,
    },
    /// A file has changed since it was verified.
    #[error("`{0}` changed while it was being pushed")]
    Changed(String),
    /// A manifest or configuration cannot be written.
    #[error("{what} cannot be written: {why}")]
    Unwritable {
        /// The document.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// A document or artifact that cannot be used.
    #[error("`{}` cannot be used: {}", cut(.what), cut(.why))]
    Malformed {
        /// The document or artifact.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing has this name.
    #[error("there is no `{}`", cut(.0))]
    NotFound(String),
    /// There is no OCI layout of this name.
    #[error("`{0}` is not an OCI layout: no folder with `oci-layout` and `index.json` in it")]
    NoLayout(String),
    /// The content has a different digest than was requested.
    #[error(
        "{what} is not what was requested: expected {}, got {}",
        ContentHash::from(*.expected),
        ContentHash::from(*.actual)
    )]
    OtherContent {
        /// What was read.
        what: String,
        /// The requested digest.
        expected: Digest,
        /// The digest of the content.
        actual: Digest,
    },
    /// The content is longer or shorter than its descriptor says.
    #[error("the blob {what} should have {expected} bytes and has {actual}")]
    OtherSize {
        /// Its digest.
        what: String,
        /// The size in its descriptor.
        expected: u64,
        /// What arrived instead.
        actual: String,
    },
    /// A remote server, or the connection to it, failed.
    #[error(transparent)]
    Remote(#[from] crate::RemoteError),
    /// Reading failed.
    #[error("reading failed")]
    Io(#[source] io::Error),
}

impl From<io::Error> for OciError {
    /// Recovers an error of ours that passed through the standard library.
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Io)
    }
}

impl Diagnose for OciError {
    fn diagnosis(&self) -> Diagnosis {
        let outcome = match self {
            Self::Reference(_) => Outcome::Usage,
            Self::NotValid { .. }
            | Self::Malformed { .. }
            | Self::OtherContent { .. }
            | Self::OtherSize { .. } => Outcome::Invalid,
            Self::Remote(error) => return error.diagnosis(),
            _ => Outcome::Unreadable,
        };
        Diagnosis {
            location: Location::Named,
            hint: self.hint().map(Cow::Borrowed),
            ..Diagnosis::of(self, outcome, self.code())
        }
    }
}

impl OciError {
    /// Returns the code that is shown before the message.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Reference(_) => "REFERENCE",
            Self::Source(_) | Self::Io(_) => "IO",
            Self::Write(_) => "WRITE",
            Self::Staging(StagingError::Exists(_)) => "EXISTS",
            Self::Staging(StagingError::Write(_)) => "WRITE",
            Self::Refused { .. } | Self::Unwritable { .. } => "REFUSED",
            Self::NotValid { .. } => "NOT_VALID",
            Self::Taken { .. } => "TAKEN",
            Self::ForeignTokens { .. } => "FOREIGN_TOKENS",
            Self::Changed(_) => "CHANGED",
            Self::Malformed { .. } => "MALFORMED",
            Self::NotFound(_) | Self::NoLayout(_) => "NOT_FOUND",
            Self::OtherContent { .. } | Self::OtherSize { .. } => "CORRUPT",
            Self::Remote(error) => error.code(),
        }
    }

    /// Returns advice, if there is any.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Reference(ReferenceError::Credentials) => {
                Some("`docker login` keeps them off the command line; docs/remote.md says more")
            }
            Self::Reference(_) => Some(
                "a reference is `host/name:tag` or `oci-layout:FOLDER:tag`; docs/remote.md has more",
            ),
            Self::Staging(StagingError::Exists(_)) => {
                Some("choose another name; what exists is never replaced")
            }
            Self::NotValid { why, .. } => Some(why.hint()),
            Self::Taken { .. } => Some(
                "choose another tag, or move this one with `--move-tag` and the digest it names",
            ),
            Self::ForeignTokens { .. } => {
                Some("if you trust that host, name it in RUNSEAL_TOKEN_HOSTS")
            }
            Self::Changed(_) => Some("nothing became visible; push again when nothing changes it"),
            Self::OtherContent { .. } | Self::OtherSize { .. } => {
                Some("it cannot be trusted; get it from another copy")
            }
            Self::NotFound(_) | Self::NoLayout(_) => Some("check the name and the tag"),
            Self::Remote(error) => error.hint(),
            _ => None,
        }
    }
}

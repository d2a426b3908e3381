//! References to artifacts: `host[:port]/name[:tag][@sha256:…]` on a registry,
//! `oci-layout:PATH[:tag][@sha256:…]` in a local folder or tar.
//!
//! A reference always names its host: there is no default registry, so a mistyped name never goes
//! to an unintended place.

use std::fmt;
use std::path::{Path, PathBuf};

use runseal_core::digest::{ContentHash, Digest};

use crate::error::shown_address;

/// The optional scheme of a reference to a registry.
pub const SCHEME: &str = "oci://";

/// The scheme of a reference to a local layout.
pub const LAYOUT_SCHEME: &str = "oci-layout:";

/// The tag if none is given.
pub const DEFAULT_TAG: &str = "latest";

/// Why a text is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No host precedes the name.
    #[error("`{0}` names no registry")]
    NoHost(String),
    /// The host is invalid.
    #[error("`{0}` is not a host with an optional port")]
    Host(String),
    /// The name breaks the registries' rules.
    #[error(
        "`{0}` is not the name of a repository: lower-case letters, digits and `.`, `_`, `-`, `/` between them"
    )]
    Name(String),
    /// The tag breaks the registries' rules.
    #[error("`{0}` is not a tag: letters, digits, `_`, `.` and `-`, at most 128")]
    Tag(String),
    /// What follows `@` is not a digest.
    #[error("`{0}` is not a digest: `sha256:` and 64 lower-case hex digits")]
    Digest(String),
    /// What precedes the host may be a password, so it is not shown.
    #[error("a reference must not contain a name or password")]
    Credentials,
    /// Nothing follows `oci-layout:`.
    #[error("`oci-layout:` names no folder")]
    NoFolder,
}

/// A host that speaks the registry protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// Returns the host with its port.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name without the port.
    pub fn name(&self) -> &str {
        match self.0.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(rest),
            None => self.0.split(':').next().unwrap_or(&self.0),
        }
    }

    /// Whether the host is this machine, where plain HTTP cannot be intercepted on the network.
    pub fn is_loopback(&self) -> bool {
        let name = self.name();
        name == "localhost"
            || name
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The place of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactHome {
    /// A repository on a registry.
    Registry {
        /// The registry.
        host: Host,
        /// The repository's name.
        name: String,
    },
    /// A layout: a folder, or a tar of one.
    Layout(PathBuf),
}

/// A reference to an artifact at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The place of the artifact.
    pub home: ArtifactHome,
    /// Its tag, if given.
    pub tag: Option<String>,
    /// The digest of its manifest, if given. Then no other manifest is accepted.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Parses a typed reference.
    ///
    /// # Errors
    /// If it is not a reference.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if let Some(rest) = text.strip_prefix(LAYOUT_SCHEME) {
            return Self::parse_layout(rest);
        }
        let rest = text.strip_prefix(SCHEME).unwrap_or(text);
        if shown_address(rest) != rest {
            return Err(ReferenceError::Credentials);
        }
        let (rest, digest) = split_digest(rest)?;
        let (host, path) = rest
            .split_once('/')
            .ok_or_else(|| ReferenceError::NoHost(rest.to_owned()))?;
        let host = parse_host(host)?;
        let (name, tag) = match path.rsplit_once(':') {
            Some((name, tag)) => (name, Some(parse_tag(tag)?)),
            None => (path, None),
        };
        check_name(name)?;
        Ok(Self {
            home: ArtifactHome::Registry {
                host,
                name: name.to_owned(),
            },
            tag,
            digest,
        })
    }

    fn parse_layout(rest: &str) -> Result<Self, ReferenceError> {
        let (rest, digest) = split_digest(rest)?;
        // A colon before the last `/` is part of a folder's name.
        let (path, tag) = match rest.rsplit_once(':') {
            Some((path, tag)) if !tag.contains('/') => (path, Some(parse_tag(tag)?)),
            _ => (rest, None),
        };
        if path.is_empty() {
            return Err(ReferenceError::NoFolder);
        }
        Ok(Self {
            home: ArtifactHome::Layout(PathBuf::from(path)),
            tag,
            digest,
        })
    }

    /// Refers to the layout at a path, without a tag or digest.
    pub fn of_layout(path: &Path) -> Self {
        Self {
            home: ArtifactHome::Layout(path.to_owned()),
            tag: None,
            digest: None,
        }
    }

    /// Returns the last part of the name, which is the default name of a pulled folder.
    pub fn short_name(&self) -> String {
        match &self.home {
            ArtifactHome::Registry { name, .. } => {
                name.rsplit('/').next().unwrap_or(name).to_owned()
            }
            ArtifactHome::Layout(path) => match &self.tag {
                Some(tag) => tag.clone(),
                None => path
                    .file_stem()
                    .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            },
        }
    }

    /// Pins the reference to one artifact, whatever its tag refers to later.
    pub fn pinned_to(&self, digest: Digest) -> Self {
        Self {
            digest: Some(digest),
            ..self.clone()
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.home {
            ArtifactHome::Registry { host, name } => write!(f, "{host}/{name}")?,
            ArtifactHome::Layout(path) => write!(f, "{LAYOUT_SCHEME}{}", path.display())?,
        }
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = self.digest {
            write!(f, "@{}", ContentHash::from(digest))?;
        }
        Ok(())
    }
}

fn split_digest(text: &str) -> Result<(&str, Option<Digest>), ReferenceError> {
    match text.rsplit_once('@') {
        Some((rest, digest)) => {
            let parsed = ContentHash::parse(digest)
                .map_err(|_| ReferenceError::Digest(digest.to_owned()))?;
            Ok((rest, Some(parsed.digest())))
        }
        None => Ok((text, None)),
    }
}

/// Parses a host: a name with a dot or a port, `localhost`, or an IP address. This distinguishes a
/// host from the first part of a repository's name.
fn parse_host(text: &str) -> Result<Host, ReferenceError> {
    if text.is_empty() {
        return Err(ReferenceError::NoHost(text.to_owned()));
    }
    let refuse = || ReferenceError::Host(text.to_owned());
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or_else(refuse)?;
            let is_address = address.parse::<std::net::Ipv6Addr>().is_ok();
            if !is_address {
                return Err(refuse());
            }
            match port {
                "" => (address, None),
                port => (address, Some(port.strip_prefix(':').ok_or_else(refuse)?)),
            }
        }
        None => {
            let (name, port) = match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            };
            let is_label = |label: &str| {
                !label.is_empty()
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            if name.len() > 253 || !name.split('.').all(is_label) {
                return Err(refuse());
            }
            if port.is_none() && !name.contains('.') && name != "localhost" {
                return Err(ReferenceError::NoHost(text.to_owned()));
            }
            (name, port)
        }
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    if name.is_empty() || port.is_some_and(|port| !is_port(port)) {
        return Err(refuse());
    }
    Ok(Host(text.to_ascii_lowercase()))
}

/// Checks a name by the rule of the distribution specification.
fn check_name(name: &str) -> Result<(), ReferenceError> {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        let ends_well = bytes.first().is_some_and(|byte| is_word(*byte))
            && bytes.last().is_some_and(|byte| is_word(*byte));
        let separators = part.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let is_separator = |between: &str| {
            matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-')
        };
        let mut separators = separators;
        ends_well && separators.all(is_separator)
    };
    if name.len() <= 255 && name.split('/').all(is_part) {
        Ok(())
    } else {
        Err(ReferenceError::Name(name.to_owned()))
    }
}

fn parse_tag(tag: &str) -> Result<String, ReferenceError> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = tag.as_bytes();
    let is_valid = (1..=128).contains(&bytes.len())
        && is_word(bytes[0])
        && bytes
            .iter()
            .all(|byte| is_word(*byte) || matches!(byte, b'.' | b'-'));
    if is_valid {
        Ok(tag.to_owned())
    } else {
        Err(ReferenceError::Tag(tag.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_parses_and_prints_back() {
        let digest = "0".repeat(64);
        for text in [
            "registry.example/team/run",
            "registry.example:5000/run:v1",
            "localhost/run:v1",
            "127.0.0.1:5000/a/b/c:1.0",
            "[::1]:5000/run",
            "oci-layout:folder",
            "oci-layout:/a:b/folder:tag",
            &format!("registry.example/run:v1@sha256:{digest}"),
            &format!("oci-layout:folder@sha256:{digest}"),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!(reference.to_string(), text);
            if !text.starts_with(LAYOUT_SCHEME) {
                let with_scheme = Reference::parse(&format!("oci://{text}")).unwrap();
                assert_eq!(with_scheme, reference);
            }
        }
    }

    #[test]
    fn malformed_reference_is_refused_with_its_reason() {
        use ReferenceError as E;
        let refused = |text: &str| Reference::parse(text).unwrap_err();
        assert!(matches!(refused("run:v1"), E::NoHost(_)));
        assert!(matches!(refused("team/run:v1"), E::NoHost(_)));
        assert!(matches!(refused("/run"), E::NoHost(_)));
        for text in [
            "user@host.example/run",
            "oci://me:pa/ss@host.example/run:v1",
        ] {
            assert!(matches!(refused(text), E::Credentials), "{text}");
        }
        assert!(matches!(refused("a.b:port/run"), E::Host(_)));
        assert!(matches!(refused("a..b/run"), E::Host(_)));
        assert!(matches!(refused("[zz]/run"), E::Host(_)));
        for name in ["Run", "run//x", "-run", "run-", "a..b", "a___b", "", "a b"] {
            assert!(
                matches!(refused(&format!("a.b/{name}")), E::Name(_)),
                "{name}"
            );
        }
        assert!(matches!(refused("a.b/run:"), E::Tag(_)));
        assert!(matches!(refused("a.b/run:-x"), E::Tag(_)));
        assert!(matches!(refused("a.b/run@sha256:12"), E::Digest(_)));
        assert!(matches!(refused("oci-layout:folder@v1"), E::Digest(_)));
        assert!(matches!(refused("oci-layout:"), E::NoFolder));
    }

    #[test]
    fn is_loopback_distinguishes_this_machine_from_others() {
        let host = |text: &str| parse_host(text).unwrap();
        for own in ["localhost", "localhost:5000", "127.0.0.1:1", "[::1]:5000"] {
            assert!(host(own).is_loopback(), "{own}");
        }
        for other in ["registry.example", "128.0.0.1:80", "[2001:db8::1]:5000"] {
            assert!(!host(other).is_loopback(), "{other}");
        }
    }
}

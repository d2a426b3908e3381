//! Reads credentials from Docker's configuration file and the helpers named there.
//!
//! The file is `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`. The host's own helper
//! comes first, then the helper for all hosts, then the entry in the file itself. Nothing is ever
//! written there, and nothing from it appears in a message.

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64ct::{Base64, Encoding};
use runseal_core::canon::{Node, ReadOptions, parse_document};
use runseal_core::source::SourceError;
use runseal_fs::input::read_file;
use zeroize::Zeroizing;

use super::reference::Host;
use crate::RemoteError;

/// The most bytes of a configuration file or a helper's answer.
const MAX_FILE: u64 = 1 << 20;

/// The user name by which a helper marks its secret as an identity token.
const TOKEN_USER: &str = "<token>";

/// Docker Hub's key in configuration files.
const HUB_KEY: &str = "https://index.docker.io/v1/";

/// A credential for a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A user name and a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: Zeroizing<String>,
    },
    /// A token that is exchanged for access tokens.
    IdentityToken(Zeroizing<String>),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "Password(…)",
            Self::IdentityToken(_) => "IdentityToken(…)",
        })
    }
}

impl Credential {
    /// Returns the value of an `Authorization: Basic` header, if this is a password.
    pub fn to_basic(&self) -> Option<Zeroizing<String>> {
        match self {
            Self::Password { user, password } => {
                let plain = Zeroizing::new(format!("{user}:{}", password.as_str()));
                let encoded = Base64::encode_string(plain.as_bytes());
                Some(Zeroizing::new(format!("Basic {encoded}")))
            }
            Self::IdentityToken(_) => None,
        }
    }
}

/// Returns the path of the configuration file that Docker would read.
pub fn config_path() -> Option<PathBuf> {
    let folder = match std::env::var_os("DOCKER_CONFIG").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".docker"),
    };
    Some(folder.join("config.json"))
}

/// Finds the credential for a host; returns `None` if there is none.
///
/// # Errors
/// If the file or a helper that it names cannot be used.
pub fn find_credential(
    config: Option<&Path>,
    host: &Host,
) -> Result<Option<Credential>, RemoteError> {
    let Some(path) = config else {
        return Ok(None);
    };
    let refuse = |problem: String| RemoteError::Credentials {
        path: path.display().to_string(),
        problem,
    };
    let bytes = match read_file(path, MAX_FILE) {
        Ok(bytes) => Zeroizing::new(bytes),
        Err(SourceError::NotFound { .. }) => return Ok(None),
        Err(SourceError::Io { source, .. }) => return Err(refuse(source.to_string())),
        Err(error) => return Err(refuse(error.to_string())),
    };
    let document = parse_document(&bytes, &ReadOptions::default())
        .map_err(|error| refuse(format!("not JSON {}", error.position)))?;
    let root = document.root();
    let keys = keys_of(host);
    let helper = keys
        .iter()
        .find_map(|key| root.get("credHelpers")?.get(key)?.as_str())
        .or_else(|| root.get("credsStore")?.as_str())
        .filter(|name| !name.is_empty());
    if let Some(helper) = helper {
        for key in &keys {
            if let Some(found) = ask_helper(&helper, key).map_err(refuse)? {
                return Ok(Some(found));
            }
        }
    }
    let auths = root.get("auths");
    for key in &keys {
        if let Some(entry) = auths.and_then(|auths| auths.get(key))
            && let Some(found) = parse_entry(entry).map_err(refuse)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the names of a host in configuration files.
fn keys_of(host: &Host) -> Vec<String> {
    let host = host.as_str();
    let mut keys = vec![
        host.to_owned(),
        format!("https://{host}"),
        format!("http://{host}"),
        format!("https://{host}/v2/"),
    ];
    if is_docker_hub(host) {
        keys.insert(0, HUB_KEY.to_owned());
    }
    keys
}

/// Whether a host is one of Docker Hub's three names.
pub fn is_docker_hub(host: &str) -> bool {
    matches!(
        host,
        "docker.io" | "index.docker.io" | "registry-1.docker.io"
    )
}

fn parse_entry(entry: Node<'_>) -> Result<Option<Credential>, String> {
    let text = |name: &str| {
        let text = entry.get(name)?.as_str()?;
        (!text.is_empty()).then(|| Zeroizing::new(text.into_owned()))
    };
    if let Some(token) = text("identitytoken") {
        return Ok(Some(Credential::IdentityToken(token)));
    }
    if let Some(encoded) = text("auth") {
        let broken = || "an `auth` is not base64 of `user:password`".to_owned();
        let plain = Base64::decode_vec(encoded.trim()).map_err(|_| broken())?;
        let plain = Zeroizing::new(plain);
        let plain = str::from_utf8(&plain).map_err(|_| broken())?;
        let (user, password) = plain.split_once(':').ok_or_else(broken)?;
        return Ok(Some(Credential::Password {
            user: user.to_owned(),
            // Some tools append a NUL.
            password: Zeroizing::new(password.trim_end_matches('\0').to_owned()),
        }));
    }
    let (user, password) = (text("username"), text("password"));
    Ok(user
        .zip(password)
        .map(|(user, password)| Credential::Password {
            user: user.to_string(),
            password,
        }))
}

/// Runs `docker-credential-<name> get`; returns `None` if the helper has nothing for the host.
fn ask_helper(name: &str, key: &str) -> Result<Option<Credential>, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.bytes().all(is_plain) {
        return Err("the name of a credential helper is not a plain word".to_owned());
    }
    let program = format!("docker-credential-{name}");
    let failed = |error: std::io::Error| format!("`{program}` cannot be run: {error}");
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // If the helper does not read its input, its answer shows what is wrong.
        let _ = input.write_all(key.as_bytes());
    }
    let mut answer = Zeroizing::new(Vec::new());
    if let Some(output) = child.stdout.take() {
        output
            .take(MAX_FILE)
            .read_to_end(&mut answer)
            .map_err(failed)?;
    }
    if !child.wait().map_err(failed)?.success() {
        // This is how helpers report that they have nothing for the host.
        return Ok(None);
    }
    let broken = || format!("`{program}` did not return a credential");
    let document = parse_document(&answer, &ReadOptions::default()).map_err(|_| broken())?;
    let text = |name: &str| Some(document.root().get(name)?.as_str()?.into_owned());
    let (user, secret) = text("Username")
        .zip(text("Secret").map(Zeroizing::new))
        .ok_or_else(broken)?;
    Ok(Some(match user.as_str() {
        TOKEN_USER => Credential::IdentityToken(secret),
        _ => Credential::Password {
            user,
            password: secret,
        },
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::oci::reference::{ArtifactHome, Reference};

    fn host(name: &str) -> Host {
        match Reference::parse(&format!("{name}/x")).unwrap().home {
            ArtifactHome::Registry { host, .. } => host,
            ArtifactHome::Layout(_) => unreachable!(),
        }
    }

    fn find(text: &str, name: &str) -> Result<Option<Credential>, RemoteError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        fs::write(&path, text).unwrap();
        find_credential(Some(&path), &host(name))
    }

    fn password(user: &str, password: &str) -> Option<Credential> {
        Some(Credential::Password {
            user: user.to_owned(),
            password: Zeroizing::new(password.to_owned()),
        })
    }

    #[test]
    fn credential_is_found_only_for_its_host() {
        // The password of the first is `secret`.
        let text = r#"{"auths":{"a.example":{"auth":"dXNlcjpzZWNyZXQ="},
            "https://b.example:5000":{"username":"u","password":"p"},
            "https://index.docker.io/v1/":{"identitytoken":"t"},"c.example":{}}}"#;
        assert_eq!(find(text, "a.example").unwrap(), password("user", "secret"));
        assert_eq!(find(text, "b.example:5000").unwrap(), password("u", "p"));
        let hub = Some(Credential::IdentityToken(Zeroizing::new("t".to_owned())));
        assert_eq!(find(text, "docker.io").unwrap(), hub);
        for other in ["c.example", "b.example", "x.a.example", "a.example:5000"] {
            assert_eq!(find(text, other).unwrap(), None, "{other}");
        }
        assert_eq!(find_credential(None, &host("a.example")).unwrap(), None);
    }

    #[test]
    fn broken_credential_file_is_refused_without_quoting_it() {
        for text in [
            r#"{"auths":{"a.example":{"auth":"c2VjcmV0"}}}"#,
            r#"{"auths":{"a.example":{"auth":"secret!"}}}"#,
            r#"{"secret":"#,
            r#"{"credsStore":"../secret"}"#,
        ] {
            let refused = find(text, "a.example").unwrap_err();
            let message = format!("{refused} {refused:?}");
            assert!(matches!(refused, RemoteError::Credentials { .. }), "{text}");
            assert!(
                !message.contains("secret") && !message.contains("c2Vj"),
                "{message}"
            );
        }
    }

    #[test]
    fn debug_output_of_credential_has_no_secret() {
        let shown = format!("{:?}", password("user", "hidden"));
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

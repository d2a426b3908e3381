//! What a registry demands when it answers 401: `Basic`, or `Bearer` with the address of a token
//! service.
//!
//! A registry decides where its clients send their passwords, and a registry may lie. So a password
//! goes only to the registry's own host, to a parent domain of it (`registry.gitlab.com` to
//! `gitlab.com`), from Docker Hub to its token host, and to hosts that the user named. It goes in
//! plain text only to the registry's own port, if that uses plain HTTP, and to other ports of this
//! machine.

use ureq::http::Uri;

use super::credentials::is_docker_hub;
use super::reference::Host;

/// How a registry wants requests to be authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// User and password with every request.
    Basic,
    /// A token from a token service.
    Bearer {
        /// The address of the token service.
        realm: String,
        /// What the token is for.
        service: Option<String>,
        /// What the token allows.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Parses a `WWW-Authenticate` header; returns the first challenge that is understood.
    pub fn parse(header: &str) -> Option<Self> {
        let mut rest = header.trim();
        while !rest.is_empty() {
            let (scheme, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let scheme = scheme.trim_end_matches(',').to_ascii_lowercase();
            let (parameters, next) = parse_parameters(after)?;
            let get = |name: &str| {
                let mut found = parameters.iter();
                found
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            };
            match scheme.as_str() {
                "basic" => return Some(Self::Basic),
                "bearer" => {
                    return Some(Self::Bearer {
                        realm: get("realm")?,
                        service: get("service"),
                        scope: get("scope"),
                    });
                }
                _ => rest = next.trim_start_matches([',', ' ']),
            }
        }
        None
    }
}

type Parameters = Vec<(String, String)>;

/// Parses comma-separated `key="value"` pairs, up to the next scheme.
fn parse_parameters(text: &str) -> Option<(Parameters, &str)> {
    let mut parameters = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let name_end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c)));
        let Some(name_end) = name_end else {
            return Some((parameters, rest));
        };
        // A word without `=` begins the next challenge.
        let Some(value) = rest[name_end..].strip_prefix('=') else {
            return Some((parameters, rest));
        };
        let name = rest[..name_end].to_ascii_lowercase();
        let after = match value.strip_prefix('"') {
            Some(quoted) => {
                let mut text = String::new();
                let mut characters = quoted.char_indices();
                let end = loop {
                    match characters.next()? {
                        (at, '"') => break at + 1,
                        (_, '\\') => text.push(characters.next()?.1),
                        (_, other) => text.push(other),
                    }
                };
                parameters.push((name, text));
                &quoted[end..]
            }
            None => {
                let end = value.find([',', ' ']).unwrap_or(value.len());
                parameters.push((name, value[..end].to_owned()));
                &value[end..]
            }
        };
        rest = after.trim_start_matches([',', ' ']);
        if rest.is_empty() {
            return Some((parameters, rest));
        }
    }
}

/// Whether the password for `registry` may be sent to the token service at `realm`.
pub fn may_have_password(registry: &Uri, host: &Host, realm: &Uri, named: &[String]) -> bool {
    let Some(name) = realm.host().map(str::to_ascii_lowercase) else {
        return false;
    };
    let is_secure = realm.scheme_str() == Some("https");
    if crate::http::is_same_origin(registry, realm) {
        return true;
    }
    // Plain text cannot be intercepted on this machine, whatever the port.
    let is_own_plain = host.is_loopback()
        && registry.scheme_str() == Some("http")
        && realm.scheme_str() == Some("http")
        && name == host.name();
    let is_above = {
        let above = host.name().strip_suffix(&name);
        // An IP address has no parent domain.
        let is_address = host.name().parse::<std::net::IpAddr>().is_ok();
        !is_address && name.contains('.') && above.is_some_and(|above| above.ends_with('.'))
    };
    let is_hub = is_docker_hub(host.as_str()) && name == "auth.docker.io";
    let is_named = named.contains(&name);
    is_own_plain || (is_secure && (name == host.name() || is_above || is_hub || is_named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::reference::{ArtifactHome, Reference};

    #[test]
    fn challenge_of_common_registries_is_parsed() {
        let bearer = |realm: &str, service: &str, scope: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Some(Challenge::Bearer {
                realm: realm.to_owned(),
                service: some(service),
                scope: some(scope),
            })
        };
        for (header, challenge) in [
            (r#"Basic realm="x""#, Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                r#"Bearer realm="https://a/t",service="a",scope="repository:x:pull,push""#,
                bearer("https://a/t", "a", "repository:x:pull,push"),
            ),
            (
                r#"Negotiate, Bearer realm="https://a/t", service=a"#,
                bearer("https://a/t", "a", ""),
            ),
            (r#"Bearer service="a""#, None),
            (r#"Bearer realm="unclosed"#, None),
            ("", None),
            ("Digest realm=\"x\"", None),
        ] {
            assert_eq!(Challenge::parse(header), challenge, "{header}");
        }
    }

    #[test]
    fn password_goes_to_the_registry_and_not_to_hosts_it_names() {
        let may = |registry: &str, realm: &str| {
            let base: Uri = registry.parse().unwrap();
            let reference = format!("{}/x", base.authority().unwrap());
            let ArtifactHome::Registry { host, .. } = Reference::parse(&reference).unwrap().home
            else {
                unreachable!()
            };
            let named = ["sso.example".to_owned()];
            may_have_password(&base, &host, &realm.parse().unwrap(), &named)
        };
        assert!(may("https://ghcr.io", "https://ghcr.io/token"));
        assert!(may(
            "https://registry.gitlab.com",
            "https://gitlab.com/jwt/auth"
        ));
        assert!(may("https://docker.io", "https://auth.docker.io/token"));
        assert!(may("http://localhost:5000", "http://localhost:5001/token"));
        assert!(may("https://registry.example", "https://sso.example/token"));
        for realm in [
            "https://evil.example/token",
            "http://ghcr.io/token",
            "https://io/token",
            "https://xghcr.io/token",
            "https://ghcr.io.evil.example/token",
            "http://sso.example/token",
        ] {
            assert!(!may("https://ghcr.io", realm), "{realm}");
        }
        assert!(!may("http://127.0.0.1:5000", "http://evil.example/token"));
        assert!(may("http://10.0.0.1:5000", "http://10.0.0.1:5000/token"));
        assert!(!may("http://10.0.0.1:5000", "http://10.0.0.1:5001/token"));
        assert!(!may("https://10.0.0.1:5000", "https://0.0.1/token"));
    }
}

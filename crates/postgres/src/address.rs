//! The address of a server: parsing `postgres://…`, and showing it without its password.
//!
//! The URL is parsed like in libpq, as far as it matters here. The password never leaves this module
//! except to the server: not in messages, not in debug output.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};
use runseal_store::store::{ServerFault, StoreError};
use thiserror::Error;

/// The longest time that connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a peer may not answer before it counts as gone.
const SILENCE: Duration = Duration::from_secs(15);

/// How the server has to prove its identity, as libpq defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Not at all: no TLS, or TLS with an unchecked certificate (`disable`, `prefer`, `require`).
    None,
    /// By a certificate that chains to a known root (`verify-ca`).
    Authority,
    /// By such a certificate for this host (`verify-full`).
    Host,
}

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Not needed: a Unix socket, which others cannot read.
    Needless,
    /// Never: the user disabled it (`disable`).
    Never,
    /// If the server offers it, on this machine's loopback.
    IfOffered,
    /// Always. Includes `prefer`, the default in libpq: a server without encryption may be an impostor.
    Always,
}

/// The address of a server, and how to connect to it.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) proof: Proof,
    pub(crate) encryption: Encryption,
    /// A file of root certificates to use instead of the system's.
    pub(crate) roots: Option<PathBuf>,
    shown: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// What is wrong with an address, which is never quoted.
#[derive(Debug, Error)]
enum AddressFault {
    #[error("expected postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?OPTION=VALUE&…]")]
    Form,
    #[error("sslmode must be disable, prefer, require, verify-ca or verify-full")]
    Mode,
    #[error("it has no host")]
    NoHost,
}

impl Address {
    /// Parses a `postgres://` URL. Errors never repeat the password.
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let (rest, query) = url.split_once('?').unwrap_or((url, ""));
        // Schemes are not case-sensitive.
        let rest = &match rest.split_once("://") {
            Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
            None => rest.to_owned(),
        };
        let mut proof = Proof::None;
        let mut encryption = None;
        let mut roots = None;
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => {
                    (encryption, proof) = match value {
                        "disable" => (Some(Encryption::Never), Proof::None),
                        "prefer" | "allow" => (None, Proof::None),
                        "require" => (Some(Encryption::Always), Proof::None),
                        "verify-ca" => (Some(Encryption::Always), Proof::Authority),
                        "verify-full" => (Some(Encryption::Always), Proof::Host),
                        _ => return Err(refuse(AddressFault::Mode)),
                    };
                }
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(decode(value)?)),
                _ => kept.push(pair),
            }
        }
        // As in libpq: if a root is named, the certificate is checked against it.
        if roots.is_some() && encryption == Some(Encryption::Always) && proof == Proof::None {
            proof = Proof::Authority;
        }
        let url = if kept.is_empty() {
            rest.clone()
        } else {
            format!("{rest}?{}", kept.join("&"))
        };
        // The parser's error may quote parts of the address, so it is not repeated.
        let mut config = Config::from_str(&url).map_err(|_| refuse(AddressFault::Form))?;
        if config.get_hosts().is_empty() {
            return Err(refuse(AddressFault::NoHost));
        }
        let is_unix = |host: &Host| matches!(host, Host::Unix(_));
        let encryption = match encryption {
            None | Some(Encryption::Never) if config.get_hosts().iter().all(is_unix) => {
                Encryption::Needless
            }
            Some(encryption) => encryption,
            None if is_loopback(&config) => Encryption::IfOffered,
            None => Encryption::Always,
        };
        config.ssl_mode(match encryption {
            Encryption::Needless => SslMode::Disable,
            _ => SslMode::Require,
        });
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.as_encoded_bytes());
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(3);
        if config.get_application_name().is_none() {
            config.application_name("runseal");
        }
        let shown = shown(&config);
        Ok(Self {
            config,
            proof,
            encryption,
            roots,
            shown,
        })
    }

    /// Returns the address for messages, without the password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
}

/// Whether every host of the address is this machine's loopback.
fn is_loopback(config: &Config) -> bool {
    let is_own = |host: &Host| match host {
        Host::Tcp(name) if name.eq_ignore_ascii_case("localhost") => true,
        Host::Tcp(name) => IpAddr::from_str(name).is_ok_and(|address| address.is_loopback()),
        Host::Unix(_) => false,
    };
    config.get_hosts().iter().all(is_own) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn shown(config: &Config) -> String {
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let ports = config.get_ports();
        match ports.get(at).or(ports.first()) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    });
    let hosts: Vec<_> = hosts.collect();
    let user = match config.get_user() {
        Some(user) => format!("{user}@"),
        None => String::new(),
    };
    let database = config.get_dbname().unwrap_or_default();
    format!("postgres://{user}{}/{database}", hosts.join(","))
}

fn refuse(fault: AddressFault) -> StoreError {
    StoreError::Server {
        place: "postgres://…".to_owned(),
        fault: ServerFault::Failed,
        problem: "is not a usable address",
        source: Box::new(fault),
    }
}

fn decode(text: &str) -> Result<String, StoreError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|pair| str::from_utf8(pair).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(|| refuse(AddressFault::Form))?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| refuse(AddressFault::Form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_shown_without_its_password() {
        let address = Address::parse("postgres://me:s3cret%40x@db.example:5433/jobs").unwrap();
        assert_eq!(address.shown(), "postgres://me@db.example:5433/jobs");
        assert_eq!(address.config.get_password(), Some(&b"s3cret@x"[..]));
        assert!(!format!("{address:?}").contains("s3cret"));
    }

    #[test]
    fn sslmode_is_that_of_libpq_except_that_prefer_means_require() {
        let of = |query: &str| {
            let address = Address::parse(&format!("postgres://h/d?{query}")).unwrap();
            (address.encryption, address.proof)
        };
        let encrypted = (Encryption::Always, Proof::None);
        for query in ["", "sslmode=prefer", "sslmode=allow", "sslmode=require"] {
            assert_eq!(of(query), encrypted, "{query}");
        }
        assert_eq!(of("sslmode=disable"), (Encryption::Never, Proof::None));
        let ca = (Encryption::Always, Proof::Authority);
        assert_eq!(of("sslmode=verify-ca&connect_timeout=3"), ca);
        assert_eq!(of("sslrootcert=/a%20b&sslmode=require"), ca);
        assert_eq!(of("sslmode=verify-full"), (Encryption::Always, Proof::Host));
    }

    #[test]
    fn server_on_loopback_may_lack_encryption() {
        let of = |url: &str| Address::parse(url).unwrap().encryption;
        for host in [
            "localhost",
            "127.0.0.1",
            "127.8.0.1",
            "[::1]",
            "LOCALHOST:99",
        ] {
            assert_eq!(of(&format!("postgres://{host}/d")), Encryption::IfOffered);
        }
        assert_eq!(of("postgres://%2Frun%2Fpg/d"), Encryption::Needless);
        for host in ["localhost.example", "10.0.0.1", "127.0.0.1,db.example"] {
            assert_eq!(of(&format!("postgres://{host}/d")), Encryption::Always);
        }
        let elsewhere = "postgres://localhost/d?hostaddr=10.0.0.1";
        assert_eq!(of(elsewhere), Encryption::Always);
        let demanded = "postgres://localhost/d?sslmode=require";
        assert_eq!(of(demanded), Encryption::Always);
    }

    #[test]
    fn invalid_address_is_not_quoted() {
        for url in [
            "postgres://me:s3cret@host:port/db",
            "postgres://me:s3cret@h/d?sslmode=s3cret",
            "postgres://me:s3cret@h/d?s3cret=1",
            "postgres:///d",
        ] {
            let error = Address::parse(url).unwrap_err();
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(!format!("{error} {source} {error:?}").contains("s3cret"));
        }
    }
}

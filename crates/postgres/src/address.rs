//! The address of a server: parsing `postgres://…`, and showing it without its password.
//!
//! The URL is understood as libpq understands it, as far as it matters here. The password never
//! leaves this module except to the server: not in messages, not in debug output.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};
use runseal_engine::store::{ServerFault, StoreError};
use thiserror::Error;

/// The longest time that connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// A peer that does not answer for this long counts as gone.
const SILENCE: Duration = Duration::from_secs(15);

/// How the server has to prove its identity, as libpq defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Not at all: no TLS, or TLS with an unchecked certificate (`disable`, `prefer`, `require`).
    None,
    /// By a certificate that chains to a known root (`verify-ca`).
    Authority,
    /// By such a certificate for this very host (`verify-full`).
    Host,
}

/// Where the server is, and how to connect to it.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) proof: Proof,
    /// A file of root certificates to use instead of the system's.
    pub(crate) roots: Option<PathBuf>,
    shown: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// What is wrong with an address; it is never quoted.
#[derive(Debug, Error)]
enum AddressFault {
    #[error("expected postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?OPTION=VALUE&…]")]
    Form,
    #[error("sslmode must be disable, prefer, require, verify-ca or verify-full")]
    Mode,
    #[error("it names no host")]
    NoHost,
}

impl Address {
    /// Parses a `postgres://` URL. Errors never repeat the password.
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let (rest, query) = url.split_once('?').unwrap_or((url, ""));
        // A scheme is the same in capital letters.
        let rest = &match rest.split_once("://") {
            Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
            None => rest.to_owned(),
        };
        let mut proof = Proof::None;
        let mut mode = SslMode::Prefer;
        let mut roots = None;
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => {
                    (mode, proof) = match value {
                        "disable" => (SslMode::Disable, Proof::None),
                        "prefer" | "allow" => (SslMode::Prefer, Proof::None),
                        "require" => (SslMode::Require, Proof::None),
                        "verify-ca" => (SslMode::Require, Proof::Authority),
                        "verify-full" => (SslMode::Require, Proof::Host),
                        _ => return Err(refuse(AddressFault::Mode)),
                    };
                }
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(decode(value)?)),
                _ => kept.push(pair),
            }
        }
        // As in libpq: if a root is named, the certificate is checked against it.
        if roots.is_some() && mode == SslMode::Require && proof == Proof::None {
            proof = Proof::Authority;
        }
        let url = match kept.is_empty() {
            true => rest.clone(),
            false => format!("{rest}?{}", kept.join("&")),
        };
        // The parser's error may quote parts of the address, so it is not repeated.
        let mut config = Config::from_str(&url).map_err(|_| refuse(AddressFault::Form))?;
        if config.get_hosts().is_empty() {
            return Err(refuse(AddressFault::NoHost));
        }
        config.ssl_mode(mode);
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
            roots,
            shown,
        })
    }

    /// The address for messages, without the password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
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
        problem: "has no address that can be used",
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
    fn address_with_a_password_is_shown_without_it() {
        let address = Address::parse("postgres://me:s3cret%40x@db.example:5433/jobs").unwrap();
        assert_eq!(address.shown(), "postgres://me@db.example:5433/jobs");
        assert_eq!(address.config.get_password(), Some(&b"s3cret@x"[..]));
        assert!(!format!("{address:?}").contains("s3cret"));
    }

    #[test]
    fn modes_of_tls_are_those_of_libpq() {
        let of = |query: &str| {
            let address = Address::parse(&format!("postgres://h/d?{query}")).unwrap();
            (address.config.get_ssl_mode(), address.proof)
        };
        assert_eq!(of(""), (SslMode::Prefer, Proof::None));
        assert_eq!(of("sslmode=disable"), (SslMode::Disable, Proof::None));
        assert_eq!(of("sslmode=require"), (SslMode::Require, Proof::None));
        let ca = (SslMode::Require, Proof::Authority);
        assert_eq!(of("sslmode=verify-ca&connect_timeout=3"), ca);
        assert_eq!(of("sslrootcert=/a%20b&sslmode=require"), ca);
        assert_eq!(of("sslmode=verify-full"), (SslMode::Require, Proof::Host));
    }

    #[test]
    fn address_that_cannot_be_read_is_not_quoted() {
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

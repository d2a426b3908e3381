//! Values with telling names: in the lines of files that are made for credentials, on command lines, and as
//! passwords of addresses.

use super::random::{is_made_up, is_random};
use crate::names::{SecretWhen, is_reference, judge, split_words};

/// The longest line that is read.
const LONGEST_LINE: usize = 8 << 10;
/// The shortest password and the shortest key.
const LEAST_PASSWORD: usize = 8;
const LEAST_KEY: usize = 16;

/// What a file is for, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Assignments of credentials: `.env`, `.Renviron`, `.npmrc`, `.git/config` and the like.
    Credentials,
    /// `machine … login … password …`.
    Netrc,
    /// Anything else.
    Other,
}

impl Purpose {
    /// What the file at this path is for. Templates for such files are made to be shown.
    pub(super) fn of(path: &str) -> Self {
        let path = path.to_ascii_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_template = [
            "example", "sample", "template", "default", ".dist", "schema",
        ];
        if is_template.iter().any(|word| name.contains(word)) {
            return Self::Other;
        }
        if matches!(name, ".netrc" | "_netrc" | "netrc" | ".authinfo") {
            return Self::Netrc;
        }
        let is_env = name.starts_with(".env") || name.ends_with(".env");
        let is_listed = matches!(
            name,
            ".renviron"
                | "renviron.site"
                | ".npmrc"
                | ".yarnrc"
                | ".pypirc"
                | "pip.conf"
                | ".secrets"
                | "credentials"
                | "credentials.toml"
                | "credentials.ini"
                | "credentials.json"
                | "credentials.yml"
                | "credentials.yaml"
                | "secrets.toml"
                | "secrets.ini"
                | "secrets.json"
                | "secrets.yml"
                | "secrets.yaml"
                | ".git-credentials"
                | ".s3cfg"
                | ".boto"
                | ".my.cnf"
                | ".dockercfg"
                | "rclone.conf"
                | "kubeconfig"
        );
        let is_git = path.ends_with(".git/config");
        let is_wireguard = name.starts_with("wg") && name.ends_with(".conf");
        match is_env || is_listed || is_git || is_wireguard || name.ends_with(".tfvars") {
            true => Self::Credentials,
            false => Self::Other,
        }
    }
}

/// Whether a line assigns a secret to a telling name.
pub(super) fn has_secret(line: &[u8]) -> bool {
    let Ok(line) =
        std::str::from_utf8(line.get(..line.len().min(LONGEST_LINE)).unwrap_or_default())
    else {
        return false;
    };
    let line = line.trim();
    if line.starts_with(['#', ';']) || line.starts_with("//") && !line.contains("/:_") {
        return false;
    }
    let Some(sign) = line.find(['=', ':']) else {
        return false;
    };
    // `//registry.example/:_authToken=…` in .npmrc.
    let sign = match line.starts_with("//") {
        true => line.find('=').unwrap_or(sign),
        false => sign,
    };
    let (name, value) = (line.get(..sign), line.get(sign + 1..));
    let (Some(name), Some(value)) = (name, value) else {
        return false;
    };
    let name = name.trim().trim_start_matches("export ").trim();
    let name = name.trim_matches(['"', '\'']);
    let name = name.rsplit(['/', ' ', '.']).next().unwrap_or(name);
    is_assigned(name, unquote(value))
}

/// The value without quotes, or up to a comment.
fn unquote(value: &str) -> &str {
    let value = value.trim().trim_end_matches(',');
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest.split(quote).next().unwrap_or_default();
        }
    }
    value.split(" #").next().unwrap_or_default().trim()
}

/// Whether a value is certainly a secret, given its name.
pub fn is_assigned(name: &str, value: &str) -> bool {
    let words = split_words(name);
    let Some(last) = words.last().map(String::as_str) else {
        return false;
    };
    const PUBLIC: [&str; 15] = [
        // The name of a key, in the configuration of git.
        "signingkey",
        "public",
        "publishable",
        "pub",
        "primary",
        "foreign",
        "sort",
        "partition",
        "cache",
        "site",
        "test",
        "example",
        "sample",
        "fake",
        "dummy",
    ];
    if words.iter().any(|word| PUBLIC.contains(&word.as_str()))
        || is_reference(name, value.as_bytes())
    {
        return false;
    }
    let is_password = ["password", "passwd", "pass", "passphrase", "pwd"]
        .iter()
        .any(|word| last == *word || last.len() > 6 && last.ends_with(word));
    if is_password {
        return is_password_like(value);
    }
    let is_key = matches!(
        last,
        "key" | "token" | "secret" | "pat" | "apikey" | "auth" | "credential"
    ) || matches!(
        judge(name),
        Some(SecretWhen::Always | SecretWhen::IfKeyLike)
    );
    let is_key = is_key || name.to_ascii_lowercase().contains("secret_key");
    // Signs that are in no path, address or name.
    let is_signed = || {
        value.len() >= 20
            && value.bytes().any(|byte| b"!@#^&*+?|".contains(&byte))
            && !value.contains("://")
            && is_password_like(value)
            && is_random(value.as_bytes())
    };
    is_key && (is_key_like(value) || is_signed())
}

/// Whether somebody may have chosen this for a password: of several kinds of characters, and no word that stands
/// for one.
pub(super) fn is_password_like(value: &str) -> bool {
    const STAND_INS: [&str; 16] = [
        "password", "passw0rd", "secret", "postgres", "mysql", "root", "admin", "user", "test",
        "guest", "mypass", "letmein", "qwerty", "foobar", "hunter2", "default",
    ];
    let lower = value.to_ascii_lowercase();
    let kinds = [
        value.bytes().any(|byte| byte.is_ascii_lowercase()),
        value.bytes().any(|byte| byte.is_ascii_uppercase()),
        value.bytes().any(|byte| byte.is_ascii_digit()),
        value.bytes().any(|byte| byte.is_ascii_punctuation()),
    ];
    value.len() >= LEAST_PASSWORD
        && kinds.iter().filter(|has| **has).count() >= 2
        && !value.contains(['<', '>', '{', '}', '$', '(', ' ', '%'])
        && !value.starts_with(['/', '~', '.'])
        && !STAND_INS.iter().any(|word| lower.contains(word))
        && !is_made_up(value.as_bytes())
}

/// Whether this is a key of an unknown form: long, random, with letters and digits.
pub(super) fn is_key_like(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-.~:".contains(&byte);
    let has = |what: fn(&u8) -> bool| value.as_bytes().iter().any(what);
    // Words with signs between them are a name, whatever it is that they name.
    let mut parts = value.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_random_part = |part: &str| {
        let has = |what: fn(&u8) -> bool| part.as_bytes().iter().any(what);
        part.len() >= 10 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    };
    value.len() >= LEAST_KEY
        && value.bytes().all(is_plain)
        && !value.starts_with(['/', '~', '.'])
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && parts.any(is_random_part)
        && is_random(value.as_bytes())
}

/// The password in the address whose `://` is at `at`, if it is one beyond doubt: random, or any password in a
/// file for credentials.
pub(super) fn has_password(bytes: &[u8], at: usize, purpose: Purpose) -> bool {
    const LONGEST: usize = 512;
    const EXAMPLES: [&str; 4] = ["example.", "localhost", "127.0.0.1", ".test"];
    let rest = bytes.get(at + 3..).unwrap_or_default();
    let is_end = |byte: &u8| !byte.is_ascii_graphic() || b"/?#\"'<>\\`{}$()[],;".contains(byte);
    let length = rest
        .iter()
        .take(LONGEST)
        .take_while(|byte| !is_end(byte))
        .count();
    let Ok(authority) = std::str::from_utf8(rest.get(..length).unwrap_or_default()) else {
        return false;
    };
    let Some((user, host)) = authority.rsplit_once('@') else {
        return false;
    };
    let Some((_, password)) = user.split_once(':') else {
        return false;
    };
    if host.is_empty() || EXAMPLES.iter().any(|example| host.contains(example)) {
        return false;
    }
    match purpose {
        Purpose::Credentials | Purpose::Netrc => is_password_like(password),
        Purpose::Other => password.len() >= 12 && is_key_like_password(password),
    }
}

fn is_key_like_password(password: &str) -> bool {
    let has = |what: fn(&u8) -> bool| password.as_bytes().iter().any(what);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && is_password_like(password)
        && is_random(password.as_bytes())
}

/// Whether the lines of a file of logins have a password at `line`, after the words before it.
pub(super) fn has_login(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    let mut words = line.split_ascii_whitespace();
    words.any(|word| word == "password")
        && words
            .next()
            .is_some_and(|value| value.len() >= 6 && !is_made_up(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purpose_is_told_by_the_name() {
        for path in [
            ".env",
            "a/.env.local",
            "prod.env",
            ".Renviron",
            "x/.git/config",
            "wg0.conf",
        ] {
            assert_eq!(Purpose::of(path), Purpose::Credentials, "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            "config",
            "environment.yml",
            "env.py",
            "key.pem",
        ] {
            assert_eq!(Purpose::of(path), Purpose::Other, "{path}");
        }
        assert_eq!(Purpose::of("home/x/.netrc"), Purpose::Netrc);
    }

    #[test]
    fn lines_with_secrets_are_told_from_others() {
        for line in [
            "DB_PASSWORD=Tr0ub4dor&3",
            "export API_KEY=\"q83vnLkf02MzXe71Rb5T\"",
            "GITHUB_PAT = 'k3JxQ0pZr7Vw9sTbY2mN'",
            "STRIPE_SECRET: 9f86d081884c7d659a2feaa0c55ad015 # live",
            "//registry.npmjs.org/:_authToken=3f0e7c1a-5b9d-4a62-8e1f-7c2d9b6a4e03",
            "PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
            "APP_KEY=base64:k3JxQ0pZr7Vw9sTbY2mNq83vnLkf02MzXe71Rb5TuDo=",
            "SECRET_KEY='d&j#k3x!q0pz*r7vw9s+tby2mn'",
            "SECRET_KEY_BASE=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        ] {
            assert!(has_secret(line.as_bytes()), "{line}");
        }
        for line in [
            "DB_PASSWORD=",
            "DB_PASSWORD=password",
            "DB_PASSWORD=${DB_PASSWORD}",
            "DB_PASSWORD=<your password>",
            "API_KEY=your-api-key-here-0123",
            "API_KEY=changeme-1234567890",
            "TOKENIZER=bert-base-uncased-2018",
            "PUBLIC_KEY=q83vnLkf02MzXe71Rb5T",
            "KEY=results/2024-01-01/run-17.csv",
            "MODEL=9f86d081884c7d659a2feaa0c55ad015",
            "SSH_KEY=/home/me/.ssh/id_ed25519",
            "# API_KEY=q83vnLkf02MzXe71Rb5T",
            "PORT=5432",
            "signingkey = A1B2C3D4E5F60718",
        ] {
            assert!(!has_secret(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn addresses_are_told_by_their_passwords() {
        let told = |text: &str, purpose| {
            let at = crate::find::position(text.as_bytes(), b"://", 0).unwrap();
            has_password(text.as_bytes(), at, purpose)
        };
        for text in [
            "postgres://me:k3JxQ0pZr7Vw9s@db.acme.io/x",
            "https://me:k3JxQ0pZr7Vw9s@git.acme.io",
        ] {
            assert!(told(text, Purpose::Other), "{text}");
        }
        assert!(told(
            "redis://:Tr0ub4dor&3@cache.acme.io",
            Purpose::Credentials
        ));
        for text in [
            "http://user:pass@host/",
            "http://user:pass%20word@www.acme.io",
            "postgres://postgres:postgres@localhost:5432/test",
            "https://me:k3JxQ0pZr7Vw9s@example.com/",
            "http://localhost:8080/package@2.0",
            "https://${USER}:${PASSWORD}@git.acme.io",
        ] {
            assert!(!told(text, Purpose::Other), "{text}");
            assert!(!told(text, Purpose::Credentials), "{text}");
        }
    }

    #[test]
    fn login_is_told() {
        assert!(has_login(b"machine api.acme.io login me password s3same!x"));
        assert!(has_login(b"  password s3same!x"));
        assert!(!has_login(b"machine api.acme.io login me"));
    }
}

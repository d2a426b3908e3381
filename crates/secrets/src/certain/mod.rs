//! What certainly is a secret: enough to stop a recording for.
//!
//! Where `find` asks whether something may be a secret, this module asks for proof: a service's format with its
//! lengths and checksum and a random body, a private key that can be read, the random value of a telling name in
//! a file for credentials, a random password in an address. What says that it is an example is none. A file is
//! read once, in pieces, in time that grows with its length; in binary files only keys and formats count.

mod assigned;
mod formats;
mod private_key;
mod random;

use std::io::{self, Read};

use aho_corasick::{AhoCorasick, MatchKind};

pub use assigned::is_assigned;
use assigned::{Purpose, has_login, has_password, has_secret, is_key_like};
use formats::FORMATS;

use crate::find::begins_word;
use crate::kinds::Alphabet;
use crate::known::decode_base64;

/// How much is read at once.
const BLOCK: usize = 256 << 10;
/// How much of what follows is looked at from the beginning of a secret.
const AHEAD: usize = private_key::LONGEST;
/// How much of what precedes it.
const BEHIND: usize = 64;
/// How much tells whether a file is binary.
const HEAD: usize = 8 << 10;
/// The most findings in one file: after these nobody needs more to know that it is full of them.
const MOST: usize = 20;
/// The longest line of a file for credentials.
const LONGEST_LINE: usize = 64 << 10;

/// A secret that was found, without the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The number of its line, from 1; `None` in a binary file.
    pub line: Option<u64>,
    /// For people: what it is.
    pub kind: &'static str,
}

/// Texts that may begin a secret, beside the prefixes of formats.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Pem,
    /// The beginning of a PEM file in base64.
    PackedPem,
    Putty,
    Address,
    Header,
    AwsSecret,
}

const SIGNS: [(&str, Sign); 9] = [
    ("-----BEGIN ", Sign::Pem),
    ("LS0tLS1CRUdJTi", Sign::PackedPem),
    ("Private-Lines: ", Sign::Putty),
    ("://", Sign::Address),
    ("uthorization", Sign::Header),
    ("UTHORIZATION", Sign::Header),
    ("ws_secret_access_key", Sign::AwsSecret),
    ("WS_SECRET_ACCESS_KEY", Sign::AwsSecret),
    ("ecretAccessKey", Sign::AwsSecret),
];

/// Searches files, one after another, in one buffer.
#[derive(Debug)]
pub struct Searcher {
    matcher: AhoCorasick,
    buffer: Vec<u8>,
}

impl Searcher {
    /// Builds the matcher; returns `None` if the tables are too large for it.
    pub fn new() -> Option<Self> {
        let prefixes = FORMATS.iter().map(|format| format.prefix);
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(prefixes.chain(SIGNS.iter().map(|(text, _)| *text)))
            .ok()?;
        Some(Self {
            matcher,
            buffer: Vec::new(),
        })
    }

    /// Finds the secrets in the file at `path`, whose name decides what it may be, as `reader` gives it.
    ///
    /// # Errors
    /// Those of reading.
    pub fn search(&mut self, path: &str, mut reader: impl Read) -> io::Result<Vec<Finding>> {
        let mut found = Found::new(Purpose::of(path));
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        // What of the buffer was searched before.
        let mut done = 0;
        let mut is_first = true;
        let result = loop {
            let before = buffer.len();
            if let Err(error) = reader.by_ref().take(BLOCK as u64).read_to_end(&mut buffer) {
                break Err(error);
            }
            let is_last = buffer.len() - before < BLOCK;
            if std::mem::take(&mut is_first) {
                let head = buffer.get(..buffer.len().min(HEAD)).unwrap_or_default();
                found.is_binary = memchr::memchr(0, head).is_some();
            }
            let end = match is_last {
                true => buffer.len(),
                false => buffer.len().saturating_sub(AHEAD).max(done),
            };
            self.search_part(&buffer, done..end, &mut found);
            if !found.is_binary {
                found.search_lines(&buffer, is_last);
            }
            if is_last || found.findings.len() >= MOST {
                break Ok(());
            }
            let kept = end.saturating_sub(BEHIND).min(found.line_start(&buffer));
            found.pass(&buffer, kept);
            buffer.drain(..kept);
            done = end - kept;
        };
        self.buffer = buffer;
        result.map(|()| found.finish())
    }

    /// Finds the secrets in a short text.
    pub fn search_text(&mut self, text: &str) -> Vec<Finding> {
        self.search("", text.as_bytes()).unwrap_or_default()
    }

    /// Looks at everything that may begin a secret within a range of the buffer.
    fn search_part(&self, bytes: &[u8], part: std::ops::Range<usize>, found: &mut Found) {
        // A prefix may begin before the end of the range and end after it.
        const LONGEST_PREFIX: usize = 32;
        let area = bytes
            .get(..bytes.len().min(part.end + LONGEST_PREFIX))
            .unwrap_or_default();
        let mut from = part.start;
        while let Some(hit) = area.get(from..).and_then(|rest| self.matcher.find(rest)) {
            let (start, end) = (from + hit.start(), from + hit.end());
            if start >= part.end {
                return;
            }
            let index = hit.pattern().as_usize();
            let sign = index
                .checked_sub(FORMATS.len())
                .and_then(|at| SIGNS.get(at));
            let judged = match (FORMATS.get(index), sign) {
                (Some(format), _) if found.may_begin(format.prefix, bytes, start) => {
                    let length = format.match_at(bytes, end, found.is_binary);
                    length.map(|_| format.name)
                }
                (_, Some((_, sign))) => found.judge(*sign, bytes, start, end),
                _ => None,
            };
            if let Some(kind) = judged {
                found.add(bytes, start, kind);
                if found.findings.len() >= MOST {
                    return;
                }
            }
            from = match sign {
                // So that no text is decoded twice.
                Some((_, Sign::PackedPem)) => end + base64_length(bytes, end),
                _ => end,
            };
        }
    }
}

/// What was found so far, and where in the file the buffer begins.
struct Found {
    purpose: Purpose,
    is_binary: bool,
    findings: Vec<Finding>,
    /// The line breaks before the buffer.
    lines: u64,
    /// Where in the buffer the first line begins that was not read as a line.
    next_line: usize,
}

impl Found {
    fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            is_binary: false,
            findings: Vec::new(),
            lines: 0,
            next_line: 0,
        }
    }

    /// Whether a key with this prefix may begin at `at`. In a binary file the byte before it may be its length or the end
    /// of another field, so that a prefix with a sign in it begins anywhere.
    fn may_begin(&self, prefix: &str, bytes: &[u8], at: usize) -> bool {
        let has_sign = || prefix.bytes().any(|byte| !byte.is_ascii_alphanumeric());
        begins_word(bytes, at) || self.is_binary && has_sign()
    }

    fn judge(&self, sign: Sign, bytes: &[u8], start: usize, end: usize) -> Option<&'static str> {
        match sign {
            Sign::Pem => private_key::judge_pem(bytes, start),
            Sign::PackedPem => {
                let text = bytes.get(start..end + base64_length(bytes, end))?;
                let text = std::str::from_utf8(text).ok()?;
                private_key::judge_pem(&decode_base64(text)?, 0)
            }
            Sign::Putty => private_key::judge_putty(bytes, end).then_some("private key"),
            Sign::Address => {
                let is_secret = !self.is_binary && has_password(bytes, start, self.purpose);
                is_secret.then_some("password in an address")
            }
            Sign::Header if self.is_binary => None,
            Sign::Header => judge_header(bytes.get(end..)?),
            Sign::AwsSecret => judge_aws(bytes.get(end..)?),
        }
    }

    fn add(&mut self, bytes: &[u8], at: usize, kind: &'static str) {
        let before = bytes.get(..at).unwrap_or_default();
        let breaks = memchr::memchr_iter(b'\n', before).count() as u64;
        self.findings.push(Finding {
            line: (!self.is_binary).then_some(self.lines + breaks + 1),
            kind,
        });
    }

    /// Reads the lines of a file for credentials, as far as they are whole.
    fn search_lines(&mut self, bytes: &[u8], is_last: bool) {
        let look: fn(&[u8]) -> bool = match self.purpose {
            Purpose::Other => return,
            Purpose::Credentials => has_secret,
            Purpose::Netrc => has_login,
        };
        while self.findings.len() < MOST
            && let Some(rest) = bytes.get(self.next_line..)
            && !rest.is_empty()
        {
            let length = memchr::memchr(b'\n', rest);
            let Some(length) = length.or_else(|| is_last.then_some(rest.len())) else {
                return;
            };
            if look(rest.get(..length).unwrap_or_default()) {
                self.add(bytes, self.next_line, "secret with a telling name");
            }
            self.next_line += length + 1;
        }
    }

    /// From where on the buffer has to be kept for the line that has begun; lines that no one writes are given up.
    fn line_start(&self, bytes: &[u8]) -> usize {
        match self.purpose {
            Purpose::Other => bytes.len(),
            _ => self.next_line.max(bytes.len().saturating_sub(LONGEST_LINE)),
        }
    }

    /// Forgets the beginning of the buffer.
    fn pass(&mut self, bytes: &[u8], count: usize) {
        let passed = bytes.get(..count).unwrap_or_default();
        self.lines += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.next_line = self.next_line.saturating_sub(count);
    }

    fn finish(mut self) -> Vec<Finding> {
        self.findings.sort();
        // One line with a token is often an assignment too.
        let mut kept: Vec<Finding> = Vec::new();
        for finding in self.findings {
            let is_again = kept
                .last()
                .is_some_and(|last| last.line.is_some() && last.line == finding.line);
            if !is_again {
                kept.push(finding);
            }
        }
        kept
    }
}

/// Counts the letters of base64 from `at` on, as many as a private key may have.
fn base64_length(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let letters = rest.iter().take(AHEAD - BEHIND);
    letters
        .take_while(|byte| Alphabet::Base64.has(**byte))
        .count()
}

/// `Authorization: Bearer …` and `AUTHORIZATION: basic …`, whose name ends where `rest` begins.
fn judge_header(rest: &[u8]) -> Option<&'static str> {
    let skip = |rest: &[u8], signs: &[u8]| {
        let signs = rest.iter().take(8).take_while(|byte| signs.contains(byte));
        signs.count()
    };
    let rest = rest.get(skip(rest, b"\"' \t:=\\,")..)?;
    let schemes = [("basic ", true), ("bearer ", false), ("token ", false)];
    let (is_basic, rest) = schemes.iter().find_map(|(scheme, is_basic)| {
        let (first, rest) = rest.split_at_checked(scheme.len())?;
        first
            .eq_ignore_ascii_case(scheme.as_bytes())
            .then_some((*is_basic, rest))
    })?;
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(byte);
    let length = rest
        .iter()
        .take(4096)
        .take_while(|byte| is_inside(byte))
        .count();
    let value = std::str::from_utf8(rest.get(..length)?).ok()?;
    let is_secret = match is_basic {
        true => {
            let decoded = decode_base64(value)?;
            let colon = decoded.iter().position(|byte| *byte == b':')?;
            let password = std::str::from_utf8(decoded.get(colon + 1..)?).ok()?;
            is_key_like(password)
        }
        false => value.len() >= 20 && is_key_like(value),
    };
    is_secret.then_some("authorization header")
}

/// The 40 characters of a secret key of AWS, behind its name.
fn judge_aws(rest: &[u8]) -> Option<&'static str> {
    let signs = rest
        .iter()
        .take(8)
        .take_while(|byte| b"\"' \t:=\\>".contains(byte))
        .count();
    let value = rest.get(signs..)?;
    let length = value
        .iter()
        .take(41)
        .take_while(|byte| Alphabet::Base64.has(**byte))
        .count();
    let value = value.get(..length)?;
    let is_mixed =
        value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    (signs > 0 && length == 40 && is_mixed && random::is_random(value)).then_some("AWS secret key")
}

/// Whether an argument, or an option with the one after it, is certainly a secret: `--password=…`, `TOKEN=…`.
pub fn is_secret_argument(argument: &str, next: Option<&str>) -> bool {
    match argument.split_once('=') {
        Some((name, value)) => is_assigned(name, value),
        None if argument.starts_with('-') => {
            next.is_some_and(|value| !value.starts_with('-') && is_assigned(argument, value))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "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";

    fn kinds(path: &str, text: &[u8]) -> Vec<(Option<u64>, &'static str)> {
        let found = Searcher::new().unwrap().search(path, text).unwrap();
        found.into_iter().map(|it| (it.line, it.kind)).collect()
    }

    #[test]
    fn search_names_line_and_kind() {
        let text = format!("one\ntwo\nx = \"{TOKEN}\"\n");
        assert_eq!(kinds("a.py", text.as_bytes()), [(Some(3), "GitHub token")]);
        assert_eq!(
            kinds("a.bin", format!("\0{TOKEN}").as_bytes()),
            [(None, "GitHub token")]
        );
        assert_eq!(
            kinds(
                ".env",
                format!("A=1\nGITHUB_TOKEN={TOKEN}\nDB_PASSWORD=Tr0ub4dor&3\n").as_bytes()
            ),
            [
                (Some(2), "GitHub token"),
                (Some(3), "secret with a telling name")
            ]
        );
        assert_eq!(kinds("a.txt", b"DB_PASSWORD=Tr0ub4dor&3\n"), []);
    }

    #[test]
    fn search_finds_secrets_wherever_blocks_end() {
        for before in [
            0,
            1,
            BLOCK - AHEAD - 20,
            BLOCK - AHEAD,
            BLOCK - 20,
            BLOCK,
            2 * BLOCK - 7,
        ] {
            let mut text = vec![b'\n'; before];
            text.extend_from_slice(TOKEN.as_bytes());
            text.extend_from_slice(&[b' '; 100]);
            let line = Some(before as u64 + 1);
            assert_eq!(kinds("a", &text), [(line, "GitHub token")], "{before}");
            let mut text = vec![b'\n'; before];
            text.extend_from_slice(b"DB_PASSWORD=Tr0ub4dor&3\nX=1");
            assert_eq!(
                kinds(".env", &text),
                [(line, "secret with a telling name")],
                "{before}"
            );
        }
    }

    #[test]
    fn what_checkout_writes_into_the_configuration_of_git_is_found() {
        let packed = <base64ct::Base64 as base64ct::Encoding>::encode_string(
            b"x-access-token:ghs_Q3kf0ZrXw7LmNbV9sTyU2cPdA8hJ5eG1oIqR",
        );
        let text = format!(
            "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic {packed}\n"
        );
        assert_eq!(
            kinds(".git/config", text.as_bytes()),
            [(Some(2), "authorization header")]
        );
        assert_eq!(kinds("a", b"Authorization: Basic dXNlcjpwYXNzd29yZA=="), []);
        assert_eq!(
            kinds("a", b"\"Authorization\": \"Bearer YOUR_API_TOKEN\""),
            []
        );
    }

    #[test]
    fn documentation_hashes_and_certificates_are_no_secrets() {
        for text in [
            "export OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "\"integrity\": \"sha512-k3JxQ0pZr7Vw9sTbY2mNk3JxQ0pZr7Vw9sTbY2mNk3JxQ0pZr7Vw9sTbY2mN==\"",
            "task-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            ".sk-toggleable__label-arrow:before #sk-container-id-1",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me@host",
            "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ\nAKIAMKTAYIAKQRQISFVK",
        ] {
            assert_eq!(kinds("a.txt", text.as_bytes()), [], "{text}");
        }
    }

    #[test]
    fn key_is_found_behind_colours_and_beside_other_fields_of_a_binary_file() {
        for before in [
            "\x1b[32m",
            "\x1b[1;36m",
            "\\u001b[0m",
            "\\x1b[33m",
            "\\033[7m",
        ] {
            let text = format!("{before}{TOKEN}\x1b[0m");
            assert_eq!(
                kinds("a", text.as_bytes()),
                [(Some(1), "GitHub token")],
                "{before}"
            );
        }
        // No escape: the end of a word.
        assert_eq!(kinds("a", format!("[32m{TOKEN}").as_bytes()), []);
        for text in [format!("\0k(name{TOKEN}"), format!("\0l{TOKEN}active\0")] {
            assert_eq!(
                kinds("a.db", text.as_bytes()),
                [(None, "GitHub token")],
                "{text}"
            );
        }
        assert_eq!(kinds("a", format!("name{TOKEN}").as_bytes()), []);
    }

    #[test]
    fn arguments_are_told_by_their_names() {
        assert!(is_secret_argument("--password=Tr0ub4dor&3", None));
        assert!(is_secret_argument(
            "--api-key",
            Some("q83vnLkf02MzXe71Rb5T")
        ));
        assert!(is_secret_argument("API_TOKEN=q83vnLkf02MzXe71Rb5T", None));
        assert!(!is_secret_argument("--key", Some("--other")));
        assert!(!is_secret_argument("--sort-key=q83vnLkf02MzXe71Rb5T", None));
        assert!(!is_secret_argument(
            "data.csv",
            Some("q83vnLkf02MzXe71Rb5T")
        ));
    }

    #[test]
    fn a_hostile_file_takes_time_in_proportion_to_its_length() {
        let mut searcher = Searcher::new().unwrap();
        for piece in [
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "Private-Lines: 1\n",
            "sk-ant-",
            "://a:",
            "Authorization: Basic ",
            "LS0tLS1CRUdJTi",
            "\\",
        ] {
            let text = piece.repeat((1 << 20) / piece.len());
            assert_eq!(searcher.search(".env", text.as_bytes()).unwrap(), []);
        }
    }
}

//! The part of a page that checks again: the verifier as a WebAssembly module, and the bundle if the
//! page carries it.
//!
//! Both are data blocks, which no browser runs. The page's policy names the script that calls the
//! module by its hash, and the module imports nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64ct::{Base64, Encoding as _};
use maud::{Markup, PreEscaped, html};
use runseal_core::digest::Digest;
use runseal_core::verify::Level;

use super::finish;

/// The script that calls the module and shows its answer.
pub(super) const SCRIPT: &str = concat!(include_str!("verifier.js"), include_str!("check.js"));

/// What a page needs to check again.
#[derive(Debug, Clone)]
pub struct SelfCheck<'a> {
    /// The verifier, as gzipped WebAssembly, which browsers unpack.
    pub module: &'a [u8],
    /// What the page carries of its subject.
    pub carried: Carried<'a>,
}

/// What a page carries of its subject.
#[derive(Debug, Clone)]
pub enum Carried<'a> {
    /// Nothing.
    Nothing,
    /// All files, with the paths to verify among them.
    Files {
        /// The paths to verify.
        paths: Vec<String>,
        /// Every file by its path; a folder ends with `/`.
        files: Vec<(String, Cow<'a, [u8]>)>,
    },
    /// It is larger than a page may carry.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// The most bytes that a page may carry.
        limit: u64,
    },
}

/// What the page says about its subject, for comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) is_intact: bool,
    /// Whether a trust policy was asked.
    pub(super) has_policy: bool,
}

/// The section with its controls. `said` is `None` on a page without a subject.
pub(super) fn section(check: &SelfCheck<'_>, level: Level, said: Option<Said>) -> Markup {
    let chosen = |name: &str| (level_name(level) == name).then_some("");
    let is_intact = said.map(|said| said.is_intact);
    let has_policy = said.is_some_and(|said| said.has_policy).then_some("");
    html! {
        section.chapter #check data-intact=[is_intact.map(|intact| intact.to_string())]
            data-level=(level_name(level)) data-trust=[has_policy] {
            h2 { @if is_intact.is_some() { "Check again here" } @else { "Check something" } }
            p { "The verifier is part of this page, as WebAssembly that imports nothing: no network, no clock. It is the \
                 same code as " code { "runseal verify" } " and says the same. A page that someone else made could show \
                 anything, its own check included"
                @if is_intact.is_some() {
                    ": what matters is checked with a " code { "verify.html" } " of your own ("
                    code { "runseal report --verifier-only" } ") or on the command line."
                } @else {
                    ": use one that you made yourself (" code { "runseal report --verifier-only" }
                    ") or got from someone you trust."
                }
            }
            p { "A signature is next to what it signs, as " code { "run.intoto.jsonl" } " next to " code { "run" }
                ". A browser that is given the folder " code { "run" } " sees nothing next to it: choose or drop the \
                 folder with both, or an archive of it." }
            @match &check.carried {
                Carried::Nothing => {},
                Carried::Files { files, .. } => p {
                    "This page carries what it is about: "
                    (files.iter().filter(|(path, _)| !path.ends_with('/')).count()) " files, "
                    (files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()) " bytes."
                },
                Carried::TooLarge { bytes, limit } => p {
                    "This page does not carry what it is about: " (bytes) " bytes are more than the " (limit)
                    " that a page may carry. Nothing of it is left out of the verdict above; to check again, choose the \
                     folder or archive itself."
                },
            }
            p #check-needs-script { "The controls need the page's script." }
            div #check-tools hidden {
                @if matches!(check.carried, Carried::Files { .. }) {
                    p { button #check-embedded type="button" { "Check what this page carries" } }
                }
                p.choices {
                    label { "An archive or document " input #check-file type="file" multiple; }
                    label { "A folder " input #check-folder type="file" webkitdirectory multiple; }
                    label { "A trust policy of yours, if any " input #check-policy type="file"; }
                    label { "Level "
                        select #check-level {
                            option value="document" selected[chosen("document").is_some()] { "what documents demand" }
                            option value="integrity" selected[chosen("integrity").is_some()] { "and integrity" }
                            option value="form" selected[chosen("form").is_some()] { "and stored form" }
                        }
                    }
                }
                p.more { "Or drop an archive, a document or a folder anywhere on this page. Nothing leaves it." }
            }
            div #check-result role="status" aria-live="polite" {}
            p.more { "SHA-256 of the packed module: " code.full { (Digest::of(check.module)) } }
        }
    }
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Document => "document",
        Level::Integrity => "integrity",
        Level::Form => "form",
    }
}

/// The module and the bundle, as data blocks at the end of the page.
pub(super) fn blocks(check: &SelfCheck<'_>) -> Markup {
    html! {
        script #runseal-module type="application/octet-stream" {
            (PreEscaped(Base64::encode_string(check.module)))
        }
        @if let Carried::Files { paths, files } = &check.carried {
            script #runseal-bundle type="application/json" { (PreEscaped(bundle_json(paths, files))) }
        }
    }
}

/// The files as ASCII JSON without `<`.
fn bundle_json(paths: &[String], files: &[(String, Cow<'_, [u8]>)]) -> String {
    let mut json = String::from("{\"paths\":[");
    for (at, path) in paths.iter().enumerate() {
        json.push_str(if at == 0 { "" } else { "," });
        push_text(&mut json, path);
    }
    json.push_str("],\"files\":[");
    for (at, (path, bytes)) in files.iter().enumerate() {
        json.push_str(if at == 0 { "[" } else { ",\n[" });
        push_text(&mut json, path);
        json.push_str(",\"");
        json.push_str(&Base64::encode_string(bytes));
        json.push_str("\"]");
    }
    json.push_str("]}");
    json
}

fn push_text(json: &mut String, text: &str) {
    json.push('"');
    for unit in text.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some(plain @ (' '..='~')) if !matches!(plain, '"' | '\\' | '<' | '>' | '&') => {
                json.push(plain);
            }
            // Writing into a string cannot fail.
            _ => drop(write!(json, "\\u{unit:04x}")),
        }
    }
    json.push('"');
}

/// A page with only the verifier, to keep.
pub fn render_verifier(module: &[u8]) -> String {
    let check = SelfCheck {
        module,
        carried: Carried::Nothing,
    };
    let body = html! {
        main {
            header.top.neutral {
                p.kind { "runseal " (env!("CARGO_PKG_VERSION")) }
                h1 #verdict { "Verify evidence offline" }
            }
            (section(&check, Level::Integrity, None))
            footer {
                "This page fetches nothing and sends nothing. Keep it: it is a complete verifier, and what it checks was \
                 not made by it."
            }
        }
    };
    finish("runseal: verify evidence offline", body, Some(&check))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundle_in_a_page_is_ascii_without_markup() {
        let files = [(
            "</script><!--\u{202e}\u{1f600}\"\\".to_owned(),
            Cow::Borrowed(b"<".as_slice()),
        )];
        let json = bundle_json(&["a&b".to_owned()], &files);
        assert!(json.is_ascii() && !json.contains(['<', '>', '&']), "{json}");
        assert!(
            json.contains("\\u202e\\ud83d\\ude00\\u0022\\u005c"),
            "{json}"
        );
    }

    #[test]
    fn verifier_page_names_its_scripts_by_hash_and_allows_webassembly_only_there() {
        let page = render_verifier(b"\0asm");
        let hash = Base64::encode_string(Digest::of(SCRIPT.as_bytes()).as_bytes());
        assert!(page.contains(&hash) && page.contains("'wasm-unsafe-eval'"));
        assert!(page.contains("AGFzbQ=="));
        assert!(!SCRIPT.contains("</script"));
        assert!(!SCRIPT.contains("innerHTML"));
    }
}

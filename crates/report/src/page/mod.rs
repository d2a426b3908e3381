//! One self-contained HTML page about one unit: four answers, what was asked, what was done, what came
//! out, what that proves, every rule, every hash.
//!
//! The page fetches nothing. Its policy names its style sheet and its small script by their hashes and
//! forbids everything else. The script only filters, copies and unfolds; the page is complete without
//! it. Every text from outside goes through the template's escaping, and the finished page through
//! [`reveal`]. The same exhibit always gives the same bytes.

mod blocks;
mod budget;
mod check;
pub(crate) mod csv;
mod head;
mod markdown;
mod rules;
mod svg;
mod tree;

use base64ct::{Base64, Encoding as _};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use runseal_core::digest::Digest;

use crate::answers::Answers;
use crate::describe::describe;
use crate::exhibit::{Exhibit, Faults};
use crate::limits::DIFFERENCES;
use crate::proof::proof_of;
use crate::reveal::{cut, reveal};

pub(crate) use blocks::breakable;
use budget::Budget;
pub use check::{Carried, SelfCheck, render_verifier};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// One difference between two units, as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about, such as `outputs`.
    pub topic: &'static str,
    /// The file and the place in it.
    pub place: String,
    /// What the other unit has; in a replay, what was sealed.
    pub before: Option<String>,
    /// What this unit has; in a replay, what came out now.
    pub after: Option<String>,
    /// The lines that differ, if both are texts.
    pub lines: Option<String>,
}

/// What a unit is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparedWith {
    /// Another unit of its kind.
    Other {
        /// Its path.
        path: String,
        /// Whether it is intact.
        is_intact: bool,
    },
    /// Its replay.
    Replay {
        /// The verdict, such as `REPRODUCED`.
        verdict: String,
        /// Whether everything is the same.
        is_reproduced: bool,
        /// Why it could not be run or compared, or may differ.
        remarks: Vec<String>,
    },
}

/// The differences from another unit or a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What it is compared with.
    pub with: ComparedWith,
    /// The differences, grouped by topic.
    pub differences: Vec<Difference>,
}

/// Renders the page about an exhibit, with a comparison if there is one.
pub fn render_page(exhibit: &Exhibit<'_>, comparison: Option<&Comparison>) -> String {
    render_page_that_checks(exhibit, comparison, None)
}

/// As [`render_page`], with the verifier in the page if there is a `check`.
pub fn render_page_that_checks(
    exhibit: &Exhibit<'_>,
    comparison: Option<&Comparison>,
    check: Option<&SelfCheck<'_>>,
) -> String {
    let answers = Answers::of(exhibit);
    let faults = Faults::of(exhibit);
    let description = describe(exhibit);
    let mut budget = Budget::default();
    let title = format!(
        "{} · {}: {}",
        answers.intact.word,
        exhibit.format.title(),
        cut(exhibit.path, 120)
    );
    let body = html! {
        main {
            (head::head(exhibit, &description, &answers, comparison))
            (head::contents(&description, &faults, exhibit, comparison.is_some()))
            (rules::findings(exhibit))
            (head::authenticity(exhibit))
            (blocks::chapter("asked", "What was asked", &description.asked, &faults, &mut budget))
            (blocks::chapter("done", "What was done", &description.done, &faults, &mut budget))
            (blocks::chapter("came-out", "What came out", &description.came_out, &faults, &mut budget))
            (differences(comparison))
            @if let Some(check) = check {
                (check::section(check, exhibit.report.level(), Some(check::Said {
                    is_intact: exhibit.is_valid(),
                    has_policy: exhibit.authenticity.is_some_and(|found| found.trusted.is_some()),
                })))
            }
            (head::proof(&proof_of(exhibit, &answers), &description.gaps))
            (rules::rules(exhibit))
            (rules::hashes(&description))
            (rules::files(exhibit, &faults))
            (budget.left_out())
            (head::footer(exhibit))
        }
    };
    finish(&title, body, check)
}

/// The whole page around its body.
pub(crate) fn finish(title: &str, body: Markup, check: Option<&SelfCheck<'_>>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(check.is_some()));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                @if let Some(check) = check { (check::blocks(check)) }
                script { (PreEscaped(SCRIPT)) }
                @if check.is_some() { script type="module" { (PreEscaped(check::SCRIPT)) } }
            }
        }
    };
    let page = page.into_string();
    match reveal(&page) {
        std::borrow::Cow::Borrowed(_) => page,
        std::borrow::Cow::Owned(revealed) => revealed,
    }
}

/// The content security policy: the page's own style sheet and script, embedded pictures, nothing else.
fn policy(checks: bool) -> String {
    let hash = |text: &str| {
        let digest = Digest::of(text.as_bytes());
        format!("'sha256-{}'", Base64::encode_string(digest.as_bytes()))
    };
    let mut scripts = hash(SCRIPT);
    if checks {
        scripts = format!("{scripts} {} 'wasm-unsafe-eval'", hash(check::SCRIPT));
    }
    format!(
        "default-src 'none'; style-src {}; script-src {scripts}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE)
    )
}

fn differences(comparison: Option<&Comparison>) -> Markup {
    let Some(comparison) = comparison else {
        return html! {};
    };
    let shown = comparison.differences.iter().take(DIFFERENCES);
    let shown: Vec<&Difference> = shown.collect();
    html! {
        section.chapter #differences {
            (compared_with(comparison))
            @for of_topic in shown.chunk_by(|a, b| a.topic == b.topic) {
                h3 { (of_topic[0].topic) " (" (of_topic.len()) ")" }
                @for difference in of_topic {
                    div.difference {
                        div.mono.place { (cut(&difference.place, 300)) }
                        @match &difference.lines {
                            Some(lines) => (diff_lines(lines)),
                            None => {
                                @if let Some(before) = &difference.before {
                                    div.mono.minus { span.sign { "−" } " " (cut(before, 600)) }
                                }
                                @if let Some(after) = &difference.after {
                                    div.mono.plus { span.sign { "+" } " " (cut(after, 600)) }
                                }
                            }
                        }
                    }
                }
            }
            @if comparison.differences.len() > DIFFERENCES {
                p.more { "… and " (comparison.differences.len() - DIFFERENCES) " more; "
                    code { "runseal diff" } " lists them" }
            }
        }
    }
}

fn compared_with(comparison: &Comparison) -> Markup {
    match &comparison.with {
        ComparedWith::Other { path, is_intact } => html! {
            h2 { "What differs from the other one" }
            p { "Compared with " span.mono { (path) }
                @if !is_intact {
                    " " span.state.failed { "the other one is not intact" }
                }
            }
            @if comparison.differences.is_empty() { p { "Nothing: they are the same." } }
        },
        ComparedWith::Replay {
            verdict,
            is_reproduced,
            remarks,
        } => html! {
            h2 { "What running it again gave" }
            p { (head::replay_verdict(verdict, *is_reproduced)) }
            @for remark in remarks.iter().take(DIFFERENCES) { p { (cut(remark, 600)) } }
        },
    }
}

fn diff_lines(lines: &str) -> Markup {
    html! {
        pre.diff tabindex="0" {
            @for line in lines.lines() {
                @match line.as_bytes().first() {
                    Some(b'+') => span.plus { (line) },
                    Some(b'-') => span.minus { (line) },
                    Some(b'@') => span.hunk { (line) },
                    _ => (line),
                }
                "\n"
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! The top of the page: the four answers, who made it, what it proves.

use maud::{Markup, html};

use super::rules::could_not_run;
use super::{ComparedWith, Comparison};
use crate::answers::{Answers, Tone};
use crate::describe::Description;
use crate::exhibit::{Exhibit, Faults};
use crate::proof::Proof;
use crate::reveal::cut;

/// The most characters of a headline at the top; the whole of it is below.
const HEADLINE: usize = 280;

pub(super) fn head(
    exhibit: &Exhibit<'_>,
    description: &Description<'_>,
    answers: &Answers,
    comparison: Option<&Comparison>,
) -> Markup {
    let replay = comparison.and_then(|comparison| match &comparison.with {
        ComparedWith::Replay {
            verdict,
            is_reproduced,
            ..
        } => Some((verdict, *is_reproduced)),
        ComparedWith::Other { .. } => None,
    });
    // A green top would contradict a replay with another result.
    let tone = match replay {
        Some((_, false)) => Tone::Bad,
        _ => answers.tone(),
    };
    html! {
        header class={ "top " (tone.name()) } {
            p.kind { (exhibit.format.title()) }
            h1 #verdict { (answers.summary(exhibit.format)) }
            ul.answers #answers {
                @for answer in answers.all() {
                    li class={ "answer " (answer.tone.name()) } {
                        span.question { (answer.question) }
                        span.word { span.sign aria-hidden="true" { (answer.tone.sign()) } " "
                            (answer.word) }
                        span.detail { (cut(&answer.detail, 160)) }
                    }
                }
            }
            dl.subject {
                @if let Some((verdict, is_reproduced)) = replay {
                    dt { "Run again" }
                    dd #replayed { (replay_verdict(verdict, is_reproduced)) " "
                        a href="#differences" { "the result" } }
                }
                @if let Some(headline) = &description.headline {
                    dt { "About" }
                    dd.quoted { "“" (cut(headline, HEADLINE)) "”" }
                }
                dt { "File" }
                dd.mono { (exhibit.path) }
                @if let Some(id) = exhibit.identity.ids.first() {
                    dt { "Calls itself" }
                    dd.mono { (cut(id, 120)) }
                }
            }
        }
    }
}

/// The verdict of a replay, as a badge.
pub(super) fn replay_verdict(verdict: &str, is_reproduced: bool) -> Markup {
    let class = if is_reproduced {
        "state good"
    } else {
        "state failed"
    };
    html! { span class=(class) { (verdict) } }
}

/// Links to the parts of the page.
pub(super) fn contents(
    description: &Description<'_>,
    faults: &Faults,
    exhibit: &Exhibit<'_>,
    is_compared: bool,
) -> Markup {
    let findings = exhibit.findings().count();
    let open = could_not_run(exhibit).count();
    html! {
        nav aria-label="Parts of this page" {
            @if findings > 0 { a.bad href="#findings" { "What is wrong (" (findings) ")" } }
            @if open > 0 { a.bad href="#unchecked" { "Could not be checked (" (open) ")" } }
            @if !description.asked.is_empty() { a href="#asked" { "Asked" } }
            @if !description.done.is_empty() { a href="#done" { "Done" } }
            @if !description.came_out.is_empty() { a href="#came-out" { "Came out" } }
            @if is_compared { a href="#differences" { "Differences" } }
            a href="#proof" { "What it proves" }
            a href="#rules" { "Rules" }
            a href="#hashes" { "Ids and hashes" }
            @if !exhibit.files.is_empty() {
                a href="#files" { "Files" @if !faults.is_empty() { " ⚠" } }
            }
        }
    }
}

/// Who signed it and when, by whose clock, and what the policy says.
pub(super) fn authenticity(exhibit: &Exhibit<'_>) -> Markup {
    let Some(found) = exhibit.authenticity else {
        return html! {};
    };
    if found.signatures.is_empty() && found.trusted.is_none() {
        return html! {};
    }
    html! {
        section.chapter #signatures {
            h2 { "Who made it" }
            ul { @for line in found.lines() { li { (cut(&line, 1200)) } } }
        }
    }
}

/// What the evidence proves, and what it does not.
pub(super) fn proof(proof: &Proof, gaps: &[String]) -> Markup {
    html! {
        section.chapter #proof {
            h2 { "What this proves, and what it does not" }
            div.columns {
                @if !proof.shows.is_empty() {
                    div {
                        h3 { "It shows" }
                        ul.shows { @for line in &proof.shows { li { (line) } } }
                    }
                }
                div {
                    h3 { "It does not show" }
                    ul.shows-not { @for line in &proof.does_not { li { (line) } } }
                }
            }
            @if !gaps.is_empty() {
                h3 { "What the recording itself says it did not see" }
                ul.gaps { @for gap in gaps { li { (cut(gap, 600)) } } }
            }
        }
    }
}

pub(super) fn footer(exhibit: &Exhibit<'_>) -> Markup {
    let level = match exhibit.report.level() {
        runseal_core::verify::Level::Document => " --lenient",
        runseal_core::verify::Level::Integrity => "",
        runseal_core::verify::Level::Form => " --strict",
    };
    html! {
        footer {
            "Made by runseal " (env!("CARGO_PKG_VERSION")) " from the bytes that were judged. To check the files \
             again, offline: "
            code { "runseal verify" (level) " " (cut(exhibit.path, 200)) }
        }
    }
}

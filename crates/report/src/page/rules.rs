//! The findings, every rule and its state, every hash, every file.

use maud::{Markup, html};
use runseal_core::formats::archive;
use runseal_core::verify::{Finding, Level, RuleInfo, RuleResult, RuleState};

use super::blocks::{fault_mark, is_hash, value};
use crate::describe::Description;
use crate::exhibit::{Exhibit, Faults};
use crate::limits::{FILES, FINDING, FINDINGS};
use crate::reveal::{counted, cut};

pub(super) fn findings(exhibit: &Exhibit<'_>) -> Markup {
    let findings: Vec<&Finding> = exhibit.findings().collect();
    let open: Vec<&RuleResult> = could_not_run(exhibit).collect();
    if findings.is_empty() && open.is_empty() {
        return html! {};
    }
    let info = |id: &str| {
        let of_format = exhibit.report.results().iter().map(|result| result.rule);
        let of_archive = archive::RULES.iter().map(|rule| &rule.info);
        of_format.chain(of_archive).find(|rule| rule.id == id)
    };
    html! {
        @if !findings.is_empty() { section.chapter.wrong #findings {
            h2 { "What is wrong (" (findings.len()) ")" }
            @for of_rule in findings.chunk_by(|a, b| a.rule_id == b.rule_id).take(FINDINGS) {
                (findings_of_rule(of_rule, info(of_rule[0].rule_id)))
            }
        } }
        @if !open.is_empty() { section.chapter.wrong #unchecked {
            h2 { "Could not be checked (" (open.len()) ")" }
            @for result in open {
                @if let RuleState::NotRun(because) = result.state {
                    div.finding {
                        p { span.state.bad { (result.rule.id) } " " b { (result.rule.title) } }
                        p { "This could not be checked: " (because) "." }
                    }
                }
            }
        } }
    }
}

/// Required rules that could not be run.
pub(super) fn could_not_run<'a>(exhibit: &Exhibit<'a>) -> impl Iterator<Item = &'a RuleResult> {
    let is_open =
        |result: &&RuleResult| result.required && matches!(result.state, RuleState::NotRun(_));
    exhibit.report.results().iter().filter(is_open)
}

/// The most findings of one rule that are shown.
const OF_ONE_RULE: usize = 20;

fn findings_of_rule(findings: &[&Finding], rule: Option<&RuleInfo>) -> Markup {
    html! {
        div.finding {
            p { span.state.bad { (findings[0].rule_id) } " "
                b { @if let Some(rule) = rule { (rule.title) } @else { "A demand is not met" } } }
            @for finding in findings.iter().take(OF_ONE_RULE) {
                div.instance {
                    @if let Some(path) = finding.path() {
                        p.mono.place { (cut(path, FINDING))
                            @if let Some(line) = finding.place.line_number()
                                && path != format!("line {line}") { " (line " (line) ")" } }
                    }
                    @match &finding.difference {
                        Some(difference) => {
                            p { (cut(finding.headline(), FINDING)) }
                            dl.pair {
                                dt { "expected" } dd.mono { (cut(&difference.expected, FINDING)) }
                                dt { "actual" } dd.mono.is { (cut(&difference.actual, FINDING)) }
                            }
                        }
                        None => p { (cut(&finding.message, FINDING)) },
                    }
                }
            }
            @if findings.len() > OF_ONE_RULE {
                p.more { "… and " (findings.len() - OF_ONE_RULE) " more of this rule; "
                    code { "runseal verify" } " lists them" }
            }
            @if let Some(rule) = rule { p.means { (rule.explanation) } }
        }
    }
}

/// The page's name for a rule's state, which tells "not asked" from "could not be run".
fn state_of(result: &RuleResult) -> (&'static str, &'static str, Option<&'static str>) {
    match result.state {
        RuleState::Passed => ("good", "passed", None),
        RuleState::Failed => ("bad", "failed", None),
        RuleState::NotApplicable(reason) => ("neutral", "does not apply", Some(reason)),
        RuleState::NotRun(reason) if result.required => ("bad", "could not be run", Some(reason)),
        RuleState::NotRun(reason) => ("neutral", "not asked", Some(reason)),
    }
}

pub(super) fn rules(exhibit: &Exhibit<'_>) -> Markup {
    let results = exhibit.report.results();
    let count = |word: &str| {
        results
            .iter()
            .filter(|result| state_of(result).1 == word)
            .count()
    };
    let words = [
        "passed",
        "failed",
        "does not apply",
        "could not be run",
        "not asked",
    ];
    let counts = words.map(|word| (word, count(word)));
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<_> = counts
        .map(|(word, count)| match (*word, count) {
            ("does not apply", 2..) => format!("{count} do not apply"),
            (word, count) => format!("{count} {word}"),
        })
        .collect();
    html! {
        section.chapter #rules {
            h2 { "Every rule" }
            p #counts { (counted(results.len(), "rule")) ": " (counts.join(", ")) }
            details open[!exhibit.is_valid()] {
                summary { "All rules and their state" }
                div.scroll tabindex="0" role="group" aria-label="rules" {
                    table data-filter="rules" {
                        thead { tr {
                            th scope="col" { "rule" } th scope="col" { "state" }
                            th scope="col" { "what must hold" } th scope="col" { "document" }
                        } }
                        tbody {
                            @for result in results {
                                @let (class, word, reason) = state_of(result);
                                tr class=[(class == "bad").then_some("fault")] {
                                    td.mono { (result.rule.id) }
                                    td { span class={ "state " (class) } { (word) } }
                                    td { (result.rule.title)
                                        @match result.rule.level {
                                            Level::Document => {},
                                            Level::Integrity => span.remark { "integrity" },
                                            Level::Form => span.remark { "form" },
                                        }
                                        @if let Some(reason) = reason { p.means { (reason) } }
                                    }
                                    td { (result.rule.section) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Ids and hashes, folded: for copying and searching.
pub(super) fn hashes(description: &Description<'_>) -> Markup {
    if description.facts.is_empty() {
        return html! {};
    }
    html! {
        section.chapter #hashes {
            h2 { "Ids and hashes" }
            details {
                summary { (counted(description.facts.len(), "value")) }
                dl.facts {
                    @for fact in &description.facts {
                        dt { (fact.label) }
                        dd { @if is_hash(&fact.value) || fact.value.contains('_') {
                                code.full { (cut(&fact.value, FINDING)) }
                            } @else { (cut(fact.value_or_empty(), FINDING)) } }
                    }
                }
            }
        }
    }
}

/// All files, the wrong ones first, so that no limit hides them.
pub(super) fn files(exhibit: &Exhibit<'_>, faults: &Faults) -> Markup {
    let files = exhibit.files;
    if files.is_empty() {
        return html! {};
    }
    let is_wrong = |file: &&runseal_core::source::MemberFile| {
        faults.of_file(&file.path).is_some() || file.kind.is_some()
    };
    let wrong = files.iter().filter(is_wrong);
    let right = files.iter().filter(|file| !is_wrong(file));
    let count = wrong.clone().count();
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    html! {
        section.chapter #files {
            h2 { "Files" }
            p { (counted(files.len(), "file")) ", " (crate::describe::size_text(bytes))
                @match (count, files.len()) {
                    (0, _) => {},
                    (1, 1) => ", which is wrong",
                    (count, all) if count == all => ", all of them wrong",
                    _ => { ", " (count) " of them wrong and listed first" },
                } }
            details open[count > 0] {
                summary { "All files and the SHA-256 of their bytes" }
                div.scroll tabindex="0" role="group" aria-label="files" {
                    table data-filter="files" {
                        thead { tr {
                            th scope="col" { "file" } th.number scope="col" { "bytes" }
                            th scope="col" { "SHA-256" }
                            @if count > 0 { th scope="col" { "wrong" } }
                        } }
                        tbody {
                            @for file in wrong.chain(right).take(FILES) {
                                @let fault = faults.of_file(&file.path);
                                tr class=[fault.map(|_| "fault")] {
                                    td.mono { (cut(&file.path, 300)) }
                                    td.number { @if file.kind.is_none() { (file.bytes) } }
                                    td { @match (file.sha256, file.kind) {
                                        (Some(digest), _) => (value(&digest.to_string())),
                                        (None, Some(kind)) => (kind),
                                        (None, None) => "not read",
                                    } }
                                    @if count > 0 {
                                        td { @if let Some(rules) = fault { (fault_mark(rules)) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if files.len() > FILES {
                p.more { "… and " (counted(files.len() - FILES, "more file")) "; "
                    code { "runseal inspect --format json" } " lists all" }
            }
        }
    }
}

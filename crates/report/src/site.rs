//! The index of a site of many reports: one row per unit with the four answers, filters, and two runs
//! side by side. It opens from disk: everything that is compared is in the index itself.

use maud::{Markup, html};
use runseal_core::canon::{Dialect, Kind, Node, canonical_digest};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::run_bundle::reading::{RunKind, RunReading};

use crate::answers::{Answer, Answers, Tone, deciding_signature, signer_text};
use crate::describe::describe;
use crate::exhibit::Exhibit;
use crate::limits::{SITE_ROWS, SITE_TEXT, SITE_VALUES};
use crate::page::{breakable, finish};
use crate::reveal::{counted, cut};

/// Characters of a value that is kept for comparing.
const VALUE: usize = 200;

/// One unit of a site.
#[derive(Debug, Clone)]
pub struct SiteEntry {
    /// Its path.
    pub path: String,
    /// Its format, if known.
    pub format: Option<Format>,
    /// Its page, relative to the index; `None` if it could not be loaded.
    pub page: Option<String>,
    /// What it is about.
    pub headline: String,
    /// The four answers; `None` if it could not be loaded.
    pub answers: Option<Answers>,
    /// Who signed it, in a few words; empty if it is unsigned.
    pub signer: String,
    /// Why it has no page.
    pub reason: String,
    /// Whether it was judged. A judged unit without a page is not intact.
    pub is_judged: bool,
    /// Parameters, results and hashes, for comparing.
    pub values: Vec<(String, String)>,
}

impl SiteEntry {
    /// The row of an exhibit whose page has this name.
    pub fn of(exhibit: &Exhibit<'_>, page: String) -> Self {
        let signature = exhibit.authenticity.and_then(deciding_signature);
        let description = describe(exhibit);
        Self {
            path: exhibit.path.to_owned(),
            format: Some(exhibit.format),
            page: Some(page),
            headline: cut(description.headline.as_deref().unwrap_or_default(), 160).into_owned(),
            answers: Some(Answers::of(exhibit)),
            signer: signature.map(signer_text).unwrap_or_default(),
            reason: String::new(),
            is_judged: true,
            values: values_of(exhibit),
        }
    }

    /// The row of something without a page: it could not be read, or it was judged and is so broken that
    /// there is nothing to show.
    pub fn without_page(
        path: String,
        format: Option<Format>,
        reason: String,
        is_judged: bool,
    ) -> Self {
        Self {
            path,
            format,
            page: None,
            headline: String::new(),
            answers: None,
            signer: String::new(),
            reason,
            is_judged,
            values: Vec::new(),
        }
    }
}

/// A digest over everything: two runs that differ anywhere differ here.
fn digest_of_all(exhibit: &Exhibit<'_>) -> Option<Digest> {
    if let Some(document) = exhibit.document("") {
        return canonical_digest(document, Dialect::Jcs).ok();
    }
    let mut lines = String::new();
    for file in exhibit.files {
        let digest = file.sha256.map(|digest| digest.to_string());
        lines.push_str(&format!("{} {}\n", digest.unwrap_or_default(), file.path));
    }
    (!lines.is_empty()).then(|| Digest::of(lines.as_bytes()))
}

/// The values to compare runs by: a digest of everything, parameters and results, then whatever else is in
/// the documents.
fn values_of(exhibit: &Exhibit<'_>) -> Vec<(String, String)> {
    let mut values = Vec::new();
    if let Some(digest) = digest_of_all(exhibit) {
        values.push(("everything, as one digest".to_owned(), digest.to_string()));
    }
    let mut add = |label: &str, node: Option<Node<'_>>| {
        if let Some(node) = node {
            add_leaves(&mut values, label, node, 0);
        }
    };
    match exhibit.format {
        Format::RunBundle => {
            let run = RunReading::new(|name| exhibit.document(name));
            if run.kind() == RunKind::Engine {
                add("parameters", exhibit.document("RUN_PARAMETERS.json"));
            }
            add("output", exhibit.document("RUN_OUTPUT.json"));
            add("input", exhibit.document("RUN_INPUT.json"));
        }
        Format::Pack => {
            let run = exhibit.document("run.json");
            add("decision", run.and_then(|run| run.get("decision")));
            add("execution", run.and_then(|run| run.get("execution")));
            add("policy", run.and_then(|run| run.get("policy")));
        }
        _ => {}
    }
    let description = describe(exhibit);
    for fact in description.facts {
        let is_new = values.iter().all(|(_, known)| *known != fact.value);
        if is_new && values.len() < SITE_VALUES {
            values.push((fact.label, cut(&fact.value, VALUE).into_owned()));
        }
    }
    for file in exhibit
        .files
        .iter()
        .filter(|file| file.path.starts_with("artifacts/"))
    {
        if values.len() >= SITE_VALUES {
            break;
        }
        let digest = file.sha256.map(|digest| digest.to_string());
        values.push((
            cut(&file.path, VALUE).into_owned(),
            digest.unwrap_or_default(),
        ));
    }
    if values.len() >= SITE_VALUES {
        let rest = "not compared here; `runseal diff` compares everything";
        values.push(("further values".to_owned(), rest.to_owned()));
    }
    values
}

fn add_leaves(values: &mut Vec<(String, String)>, label: &str, node: Node<'_>, depth: usize) {
    if values.len() >= SITE_VALUES || depth > 8 {
        return;
    }
    match node.kind() {
        Kind::Object => {
            for (key, value) in node.members().take(SITE_VALUES) {
                let label = format!("{label} · {}", cut(&key.to_lossy(), 60));
                add_leaves(values, &label, value, depth + 1);
            }
        }
        Kind::Array => {
            // Two lists of the same length may still differ.
            let digest = canonical_digest(node, Dialect::Jcs).map(|digest| digest.to_string());
            let digest = digest.unwrap_or_default();
            let short = digest.get(..12).unwrap_or_default();
            values.push((
                label.to_owned(),
                format!("a list of {}, {short}…", node.len()),
            ));
        }
        Kind::String => {
            let text = node.as_lossy_str().unwrap_or_default();
            values.push((label.to_owned(), cut(&text, VALUE).into_owned()));
        }
        Kind::Number => {
            let text = node.as_number().map(|number| number.text().to_owned());
            values.push((label.to_owned(), text.unwrap_or_default()));
        }
        Kind::Null => values.push((label.to_owned(), "null".to_owned())),
        _ => values.push((
            label.to_owned(),
            format!("{:?}", node.as_bool().unwrap_or_default()),
        )),
    }
}

impl SiteEntry {
    /// The worst tone of its answers.
    pub fn tone(&self) -> Tone {
        self.answers.as_ref().map_or(Tone::Bad, Answers::tone)
    }

    /// Whether it is intact; `None` if it was not judged.
    fn intact_tone(&self) -> Option<Tone> {
        match (&self.answers, self.is_judged) {
            (Some(answers), _) => Some(answers.intact.tone),
            (None, true) => Some(Tone::Bad),
            (None, false) => None,
        }
    }
}

/// The counts of all units of a site, including those without a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteCounts {
    units: usize,
    intact: usize,
    broken: usize,
    partly: usize,
    unchecked: usize,
    failed: usize,
    distrusted: usize,
    worst: Option<Tone>,
}

impl SiteCounts {
    /// Counts a unit.
    pub fn add(&mut self, entry: &SiteEntry) {
        self.units += 1;
        *match entry.intact_tone() {
            Some(Tone::Good | Tone::Neutral) => &mut self.intact,
            Some(Tone::Bad) => &mut self.broken,
            Some(Tone::Warning) => &mut self.partly,
            None => &mut self.unchecked,
        } += 1;
        if let Some(answers) = &entry.answers {
            self.failed += usize::from(answers.outcome.tone == Tone::Bad);
            let vouched = answers.signed.tone.max(answers.trusted.tone);
            self.distrusted += usize::from(vouched == Tone::Bad);
        }
        // As on each page: the worst answer of any of them.
        self.worst = self.worst.max(Some(entry.tone()));
    }

    /// The number of units.
    pub fn units(&self) -> usize {
        self.units
    }
}

/// A site.
#[derive(Debug, Clone, Copy)]
pub struct SiteIndex<'a> {
    /// The path that was searched, as given.
    pub root: &'a str,
    /// The units with a row, in the order shown.
    pub entries: &'a [SiteEntry],
    /// The counts of all units.
    pub counts: &'a SiteCounts,
    /// The number of files of no known format.
    pub passed_over: u64,
}

/// The index page.
pub fn render_index(site: &SiteIndex<'_>) -> String {
    let mut text_left = SITE_TEXT;
    let shown = site.entries.iter().take(SITE_ROWS);
    let left_out = site.counts.units.saturating_sub(shown.len());
    let SiteCounts {
        units,
        intact: good,
        broken: bad,
        partly,
        unchecked: lost,
        failed,
        distrusted,
        worst,
    } = *site.counts;
    let worst = worst.unwrap_or(Tone::Neutral);
    let body = html! {
        main {
            header class={ "top " (worst.name()) } {
                p.kind { "Evidence" }
                h1 #verdict { (counted(units, "unit")) ": " (good) " intact, " (bad) " not intact"
                    @if partly > 0 { ", " (partly) " only partly checked" }
                    @if lost > 0 { ", " (lost) " not checked" }
                    @if failed > 0 { "; " (failed) " did not succeed" }
                    @if distrusted > 0 { "; " (distrusted) " not to be trusted" } }
                dl.subject { dt { "Folder" } dd.mono { (cut(site.root, 300)) } }
                @if site.passed_over > 0 {
                    p.more { @match site.passed_over {
                        1 => "1 other file was passed over: it has no known format",
                        more => { (more) " other files were passed over: they have no known format" },
                    } }
                }
            }
            section.chapter {
                h2 { "Everything that was found" }
                div.tools #filters {}
                div.scroll tabindex="0" role="group" aria-label="units" {
                    table.runs #runs {
                        thead { tr {
                            th scope="col" { span.what { "compare" } }
                            th scope="col" { "unit" } th scope="col" { "format" }
                            th scope="col" { "intact" } th scope="col" { "signed" }
                            th scope="col" { "trusted" } th scope="col" { "outcome" }
                        } }
                        tbody { @for entry in shown { (row(entry, &mut text_left)) } }
                    }
                }
                @if left_out > 0 { p.more { "… and " (counted(left_out, "more unit")) ", counted above, which this index leaves out" } }
            }
            section.chapter #compare hidden {
                h2 { "Two runs side by side" }
                div #compared {}
            }
            footer { "Made by runseal " (env!("CARGO_PKG_VERSION")) ". An index is a picture of verdicts; "
                code { "runseal verify " (cut(site.root, 200)) } " is the verdict." }
        }
    };
    finish(&format!("Evidence in {}", cut(site.root, 120)), body, None)
}

fn row(entry: &SiteEntry, text_left: &mut usize) -> Markup {
    let size: usize = entry
        .values
        .iter()
        .map(|(name, value)| name.len() + value.len() + 20)
        .sum();
    let has_values = size <= *text_left && !entry.values.is_empty();
    if has_values {
        *text_left -= size;
    }
    let format = entry.format.map_or("unknown", Format::title);
    let unanswered = if entry.is_judged {
        "Not intact"
    } else {
        "Not checked"
    };
    let word = |answer: fn(&Answers) -> &Answer| {
        let answer = entry.answers.as_ref().map(answer);
        answer.map_or(unanswered, |answer| answer.word.as_str())
    };
    html! {
        tr data-path=(cut(&entry.path, 300)) data-format=(format) data-intact=(word(|a| &a.intact))
            data-signer=(entry.signer) data-trusted=(word(|a| &a.trusted)) data-outcome=(word(|a| &a.outcome)) {
            td {}
            td.path {
                @match &entry.page {
                    Some(page) => a href=(page) { (breakable(&cut(&entry.path, 300))) },
                    None => (breakable(&cut(&entry.path, 300))),
                }
                @if !entry.headline.is_empty() { p.what { (entry.headline) } }
                @if has_values {
                    details { summary.what { "values" }
                        dl.facts { @for (name, value) in &entry.values { dt { (name) } dd { (value) } } }
                    }
                }
            }
            td data-label="format" { (format) }
            @match &entry.answers {
                Some(answers) => {
                    td data-label="intact" { (badge(&answers.intact)) }
                    td data-label="signed" { (badge(&answers.signed))
                        @if !entry.signer.is_empty() { p.what { (entry.signer) } } }
                    td data-label="trusted" { (badge(&answers.trusted)) }
                    td data-label="outcome" { (badge(&answers.outcome)) }
                }
                None => td colspan="4" { span.state.bad { "✗ " (unanswered) } p.what { (cut(&entry.reason, 400)) } },
            }
        }
    }
}

fn badge(answer: &Answer) -> Markup {
    html! {
        span class={ "state " (answer.tone.name()) } {
            @if answer.tone != Tone::Neutral { (answer.tone.sign()) " " }
            (answer.word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(entries: &[SiteEntry], passed_over: u64) -> String {
        let mut counts = SiteCounts::default();
        entries.iter().for_each(|entry| counts.add(entry));
        render_index(&SiteIndex {
            root: "tree",
            entries,
            counts: &counts,
            passed_over,
        })
    }

    #[test]
    fn index_counts_units_without_a_row() {
        let row = |path: &str| SiteEntry::without_page(path.to_owned(), None, String::new(), true);
        let (shown, beyond) = (row("a"), row("b"));
        let mut counts = SiteCounts::default();
        counts.add(&shown);
        counts.add(&beyond);
        let html = render_index(&SiteIndex {
            root: "tree",
            entries: &[shown],
            counts: &counts,
            passed_over: 0,
        });
        assert!(html.contains("2 units: 0 intact, 2 not intact"));
        assert!(html.contains("… and 1 more unit, counted above"));
    }

    #[test]
    fn index_tells_broken_units_from_unreadable_ones() {
        let row = |path: &str, is_judged| {
            let reason = "for a reason".to_owned();
            SiteEntry::without_page(path.to_owned(), None, reason, is_judged)
        };
        let html = index_of(&[row("a.zip", true), row("b.json", false)], 1);
        assert!(html.contains("2 units: 0 intact, 1 not intact, 1 not checked"));
        assert!(html.contains("✗ Not intact</span><p class=\"what\">for a reason"));
        assert!(html.contains("✗ Not checked</span>"));
        assert!(html.contains("1 other file was passed over: it has no known format"));
        let many = index_of(&[], 2);
        assert!(many.contains("2 other files were passed over: they have"));
    }

    #[test]
    fn index_is_as_good_as_the_worst_answer_in_it() {
        let answer = |tone| Answer {
            question: "a question",
            tone,
            word: "a word".to_owned(),
            detail: String::new(),
        };
        let entry = |signed, trusted, outcome| SiteEntry {
            answers: Some(Answers {
                intact: answer(Tone::Good),
                signed: answer(signed),
                trusted: answer(trusted),
                outcome: answer(outcome),
            }),
            ..SiteEntry::without_page("run".to_owned(), None, String::new(), true)
        };
        let good = entry(Tone::Good, Tone::Good, Tone::Good);
        let html = index_of(std::slice::from_ref(&good), 0);
        assert!(html.contains("<header class=\"top good\">"));
        assert!(html.contains("1 unit: 1 intact, 0 not intact</h1>"));
        let failed = entry(Tone::Neutral, Tone::Neutral, Tone::Bad);
        let forged = entry(Tone::Bad, Tone::Bad, Tone::Good);
        let html = index_of(&[good, failed, forged], 0);
        assert!(html.contains("<header class=\"top bad\">"));
        let verdict =
            "3 units: 3 intact, 0 not intact; 1 did not succeed; 1 not to be trusted</h1>";
        assert!(html.contains(verdict), "{html}");
    }
}

//! The blocks of a page: texts, tables, trees, pictures, steps, conversations.

use base64ct::{Base64, Encoding as _};
use maud::{Markup, html};

use super::budget::Budget;
use super::{csv, markdown, svg, tree};
use crate::describe::{About, Block, Body, Fact, Mark, Step, Table, Turn, Words};
use crate::exhibit::Faults;
use crate::limits::TEXT;
use crate::reveal::{counted, cut};

/// The rules that are broken by what a part is about.
pub(super) fn fault_of<'f>(faults: &'f Faults, about: &[About]) -> Option<&'f str> {
    faults.of_any(about)
}

/// A mark next to what is wrong.
pub(super) fn fault_mark(rules: &str) -> Markup {
    html! { span.fault-mark { "⚠ wrong: " (rules) } }
}

/// A chapter of the page; nothing if it would be empty.
pub(super) fn chapter(
    id: &str,
    title: &str,
    blocks: &[Block<'_>],
    faults: &Faults,
    budget: &mut Budget,
) -> Markup {
    if blocks.is_empty() {
        return html! {};
    }
    html! {
        section.chapter id=(id) {
            h2 { (title) }
            @for part in blocks { (block(part, faults, budget)) }
        }
    }
}

fn block(block: &Block<'_>, faults: &Faults, budget: &mut Budget) -> Markup {
    let fault = fault_of(faults, &block.about);
    let content = body(block, faults, budget);
    let class = if fault.is_some() {
        "block fault"
    } else {
        "block"
    };
    let title = cut(&block.title, 200);
    let heading = html! {
        span.title { (title) }
        @if !block.remark.is_empty() { span.remark { (block.remark) } }
        @if let Some(rules) = fault { (fault_mark(rules)) }
    };
    html! {
        div class=(class) {
            // What is wrong is never folded away.
            @if block.is_folded && fault.is_none() {
                details { summary { h3 { (heading) } } (content) }
            } @else {
                h3 { (heading) }
                (content)
            }
        }
    }
}

fn body(block: &Block<'_>, faults: &Faults, budget: &mut Budget) -> Markup {
    match &block.body {
        Body::Words(said) => words(said, &block.title, budget),
        Body::List(lines) => html! {
            ul.lines {
                @for line in &lines.shown { li { (line) } }
                @if lines.left_out > 0 { li.missing { "and " (lines.left_out) " more" } }
            }
        },
        Body::Facts(list) => facts(list),
        Body::Table(rows) => table(rows, &block.title, faults, budget),
        Body::Tree(root) => {
            let file = block.about.first().map_or("", |about| about.file.as_str());
            tree::tree(root, file, &block.title, faults, budget)
        }
        Body::Csv(text) => csv::table(text, &block.title, budget),
        Body::Image(kind, bytes) => {
            if !budget.take_picture(bytes.len()) {
                budget.note(format!("the picture {}", block.title));
                return missing("not shown: the page has reached its limit for pictures");
            }
            let data = Base64::encode_string(bytes);
            let address = format!("data:{};base64,{data}", kind.media_type());
            html! {
                figure {
                    img src=(address) alt=(format!("picture from the bundle: {}", cut(&block.title, 100)))
                        loading="lazy" decoding="async";
                    figcaption { "A picture from the bundle. What it shows is its maker's claim." }
                }
            }
        }
        Body::Steps(list) => html! {
            ol.steps { @for each in list { (step(each, faults, budget)) } }
        },
        Body::Conversation(turns) => html! {
            ol.turns { @for each in turns { (turn(each, faults, budget)) } }
        },
        Body::Picture(picture) => svg::picture(picture, faults),
        Body::Timeline(moments) => svg::timeline(moments),
    }
}

fn missing(reason: &str) -> Markup {
    html! { p.missing { (reason) } }
}

/// A text in its frame, cut if long.
fn words(said: &Words<'_>, title: &str, budget: &mut Budget) -> Markup {
    let text = match said {
        Words::Missing(reason) => return missing(reason),
        Words::Plain(text) | Words::Markdown(text) => text,
    };
    if text.is_empty() {
        return missing("an empty text");
    }
    let fits = budget.take_text(text.len().min(TEXT));
    let shown = &text[..text.floor_char_boundary(fits)];
    let rest = text.len() - shown.len();
    if rest > 0 {
        budget.note(format!("{} of {}", counted(rest, "byte"), cut(title, 120)));
    }
    let is_markdown = matches!(said, Words::Markdown(_));
    html! {
        @if is_markdown {
            div.words.markdown tabindex="0" role="group" aria-label=(cut(title, 100)) { (markdown::render(shown)) }
        } @else if shown.len() < 200 && !shown.trim_end().contains('\n') {
            p.words.short { (shown) }
        } @else {
            pre.words tabindex="0" { (shown) }
        }
        @if rest > 0 { p.more { "… and " (counted(rest, "more byte")) ", left out of this page" } }
    }
}

/// Labels and values.
pub(super) fn facts(list: &[Fact]) -> Markup {
    html! {
        dl.facts {
            @for fact in list {
                dt { (fact.label) }
                dd { (value(fact.value_or_empty())) }
            }
        }
    }
}

/// Whether a text is a hash.
pub(super) fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    digits.len() >= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Names, ids and places of at most this many bytes stay on one line.
const SHORT_NAME: usize = 28;

/// A text that may break after each part of a path or name, rather than inside a word.
pub(crate) fn breakable(text: &str) -> Markup {
    if text.len() <= SHORT_NAME {
        return html! { (text) };
    }
    let parts = text.split_inclusive(['/', '_', ':', '.']);
    html! {
        @for (at, part) in parts.enumerate() { @if at > 0 { wbr; } (part) }
    }
}

/// Whether a text is a time such as `2023-11-14T22:13:20.000Z`.
fn is_time(text: &str) -> bool {
    let shape = text.bytes().map(|byte| match byte {
        b'0'..=b'9' => b'0',
        byte => byte,
    });
    let shape: Vec<u8> = shape.take(41).collect();
    (20..=40).contains(&shape.len()) && shape.starts_with(b"0000-00-00T00:00:00") && text.is_ascii()
}

/// A value: a hash is folded, an id in fixed width, a time on one line, anything else unchanged.
pub(super) fn value(text: &str) -> Markup {
    if is_hash(text) {
        let prefix = if text.starts_with("sha256:") { 7 } else { 0 };
        let short = text.get(..prefix + 12).unwrap_or(text);
        return html! {
            details.hash { summary { code { (short) "…" } } code.full { (text) } }
        };
    }
    if is_time(text) {
        return html! { span.time { (text) } };
    }
    let is_code = (text.contains(['_', '/']) && !text.contains(' ')) || text.starts_with('{');
    html! { @if is_code { span.mono { (breakable(text)) } } @else { (text) } }
}

/// A table; wrong rows are marked.
pub(super) fn table(table: &Table, title: &str, faults: &Faults, budget: &mut Budget) -> Markup {
    let any = table
        .rows
        .iter()
        .any(|row| fault_of(faults, &row.about).is_some());
    let is_number = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.cells.get(column));
        let is_digits = |cell: &String| cell.bytes().all(|byte| byte.is_ascii_digit());
        cells.clone().any(|cell| !cell.is_empty()) && cells.all(is_digits)
    };
    let numbers: Vec<bool> = (0..table.columns.len()).map(is_number).collect();
    let size: usize = table
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .map(String::len)
        .sum();
    let rows = match budget.take_text(size) {
        taken if taken == size => table.rows.len(),
        _ => table.rows.len().min(20),
    };
    let left_out = table.left_out + table.rows.len() - rows;
    if left_out > 0 {
        budget.note(format!(
            "{} of “{}”",
            counted(left_out, "row"),
            cut(title, 120)
        ));
    }
    html! {
        div.scroll tabindex="0" role="group" aria-label=(title) {
            table {
                thead { tr {
                    @for (at, column) in table.columns.iter().enumerate() {
                        th scope="col" class=[numbers[at].then_some("number")] { (column) }
                    }
                    @if any { th scope="col" { "wrong" } }
                } }
                tbody {
                    @for row in table.rows.iter().take(rows) {
                        @let fault = fault_of(faults, &row.about);
                        tr class=[fault.map(|_| "fault")] {
                            @for (at, cell) in row.cells.iter().enumerate() {
                                td class=[numbers.get(at).copied().unwrap_or(false).then_some("number")] {
                                    (value(cell))
                                }
                            }
                            @if any { td { @if let Some(rules) = fault { (fault_mark(rules)) } } }
                        }
                    }
                }
            }
        }
        @if left_out > 0 { p.more { "… and " (counted(left_out, "more row")) } }
    }
}

fn mark_class(mark: Mark) -> &'static str {
    match mark {
        Mark::Plain => "plain",
        Mark::Good => "good",
        Mark::Bad => "bad",
        Mark::Open => "warning",
    }
}

fn step(step: &Step<'_>, faults: &Faults, budget: &mut Budget) -> Markup {
    let fault = fault_of(faults, &step.about);
    html! {
        li class=(if fault.is_some() { "step fault" } else { "step" }) {
            div.step-head {
                code.step-title { (cut(&step.title, 400)) }
                @if let Some(state) = &step.state {
                    span class={ "state " (mark_class(faults.weaken(step.mark))) } { (cut(state, 60)) }
                }
                @if let Some(rules) = fault { (fault_mark(rules)) }
            }
            @if !step.facts.is_empty() { (facts(&step.facts)) }
            @for (label, said) in &step.texts {
                div.said {
                    p.label { (label) }
                    (words(said, &step.title, budget))
                }
            }
        }
    }
}

fn turn(turn: &Turn<'_>, faults: &Faults, budget: &mut Budget) -> Markup {
    let fault = fault_of(faults, &turn.about);
    let side = match &*turn.role {
        "assistant" => "assistant",
        "tool" | "tool call" | "function" => "tool",
        "system" | "developer" => "system",
        _ => "user",
    };
    html! {
        li class={ "turn " (side) @if fault.is_some() { " fault" } } {
            p.label {
                span.role { (cut(&turn.role, 40)) }
                @if !turn.note.is_empty() { span.remark { (cut(&turn.note, 200)) } }
                @if let Some(rules) = fault { (fault_mark(rules)) }
            }
            (words(&turn.said, &turn.role, budget))
        }
    }
}

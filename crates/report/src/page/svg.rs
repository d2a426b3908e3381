//! Draws pictures: lanes and trees as lists that any reader can follow, bars and lines as SVG.
//! Positions are whole numbers, so the same picture always has the same bytes.

use maud::{Markup, html};

use super::blocks::{breakable, fault_mark, fault_of, is_hash};
use crate::describe::{Card, Lane, Mark, Moment, Picture, TreeNode};
use crate::exhibit::Faults;
use crate::limits::POINTS;
use crate::reveal::cut;

/// The most characters of a card's title.
const TITLE: usize = 90;

pub(super) fn picture(picture: &Picture, faults: &Faults) -> Markup {
    match picture {
        Picture::Flow(lanes) => html! {
            ol.flow { @for each in lanes { (lane(each, faults)) } }
        },
        Picture::Tree(root) => html! {
            ul.outline { (tree_node(root, faults)) }
        },
    }
}

/// The class of a box, and its sign for people who do not see colours.
fn mark(mark: Mark, is_wrong: bool) -> (&'static str, &'static str) {
    match (is_wrong, mark) {
        (true, _) => ("card fault", ""),
        (_, Mark::Plain) => ("card", ""),
        (_, Mark::Good) => ("card good", "✓ "),
        (_, Mark::Bad) => ("card bad", "✗ "),
        (_, Mark::Open) => ("card warning", "! "),
    }
}

fn lane(lane: &Lane, faults: &Faults) -> Markup {
    html! {
        li.lane {
            p.lane-title { (lane.title) }
            ul {
                @for each in &lane.cards { li { (card(each, faults)) } }
                @if lane.left_out > 0 { li.more { "… and " (lane.left_out) " more" } }
            }
        }
    }
}

fn card(card: &Card, faults: &Faults) -> Markup {
    let fault = fault_of(faults, &card.about);
    let (class, sign) = mark(faults.weaken(card.mark), fault.is_some());
    html! {
        div class=(class) {
            span.card-title { (sign) (card_title(&card.title)) }
            @if !card.detail.is_empty() { span.card-detail { (cut(&card.detail, TITLE)) } }
            @if let Some(rules) = fault { (fault_mark(rules)) }
        }
    }
}

fn tree_node(node: &TreeNode, faults: &Faults) -> Markup {
    let fault = fault_of(faults, &node.about);
    let (class, sign) = mark(faults.weaken(node.mark), fault.is_some());
    html! {
        li {
            div class=(class) {
                span.card-title { (sign) (cut(&node.title, 2 * TITLE)) }
                span.card-detail { (cut(&node.detail, TITLE)) }
                @if let Some(rules) = fault { (fault_mark(rules)) }
            }
            @if !node.children.is_empty() {
                ul { @for child in &node.children { (tree_node(child, faults)) } }
            }
        }
    }
}

/// The title of a card. A hash is cut: it is in full where it can be copied.
fn card_title(title: &str) -> Markup {
    if is_hash(title) {
        html! { (cut(title, 16)) }
    } else {
        breakable(&cut(title, TITLE))
    }
}

/// Bars on one scale.
pub(super) fn timeline(moments: &[Moment]) -> Markup {
    let end = |moment: &Moment| moment.offset_ms.saturating_add(moment.length_ms);
    let total = moments.iter().map(end).max().unwrap_or(0).max(1);
    let scale = 1000_i64;
    let place = |milliseconds: i64| {
        let scaled = i128::from(milliseconds) * i128::from(scale) / i128::from(total);
        i64::try_from(scaled).unwrap_or(0)
    };
    html! {
        div.timeline {
            @for moment in moments {
                @let x = place(moment.offset_ms).min(scale - 4);
                @let width = place(moment.length_ms).clamp(4, scale - x);
                div.moment {
                    span.moment-label { (cut(&moment.label, 80)) }
                    svg.bar viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true" {
                        rect.track x="0" y="5" width="1000" height="2" {}
                        rect.span x=(x) y="0" width=(width) height="12" rx="2" {}
                    }
                    span.moment-time { (duration(moment.length_ms))
                        @if moment.offset_ms > 0 { ", from +" (duration(moment.offset_ms)) } }
                }
            }
            @if let Some(first) = moments.first() { p.more { "begins at " (cut(&first.begin, 40)) } }
        }
    }
}

/// A duration for people.
fn duration(milliseconds: i64) -> String {
    match milliseconds {
        ..10_000 => format!("{milliseconds} ms"),
        10_000..600_000 => format!("{} s", milliseconds / 1_000),
        600_000..36_000_000 => format!("{} min", milliseconds / 60_000),
        _ => format!("{} h", milliseconds / 3_600_000),
    }
}

/// A line through numbers, without axes.
pub(super) fn sparkline(numbers: &[f64]) -> Markup {
    let step = numbers.len().div_ceil(POINTS).max(1);
    let points: Vec<f64> = numbers.iter().copied().step_by(step).collect();
    let least = points.iter().copied().fold(f64::INFINITY, f64::min);
    let most = points.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = most - least;
    if points.len() < 2 || !height.is_finite() {
        return html! {};
    }
    let (width, tall) = (120.0, 22.0);
    let last = f64::from(u32::try_from(points.len() - 1).unwrap_or(1));
    let mut line = String::new();
    for (at, point) in points.iter().enumerate() {
        let x = f64::from(u32::try_from(at).unwrap_or(0)) / last * width;
        let share = if height > 0.0 {
            (point - least) / height
        } else {
            0.5
        };
        let y = (1.0 - share) * (tall - 2.0) + 1.0;
        if at > 0 {
            line.push(' ');
        }
        line.push_str(&format!("{x:.0},{y:.0}"));
    }
    html! {
        svg.spark viewBox="0 0 120 22" width="120" height="22" aria-hidden="true" {
            polyline points=(line) {}
        }
    }
}

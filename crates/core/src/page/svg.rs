//! Pictures as inline SVG. Positions are whole numbers, so the same picture is the same bytes.

use std::fmt::Write as _;

use super::escape;
use crate::describe::{Card, Lane, Mark, Moment, TreeNode};

/// Characters of a title that fit a box; the whole of it is in the box's tooltip.
const FITS: usize = 30;
const BOX_WIDTH: i64 = 250;
const BOX_HEIGHT: i64 = 44;
const GAP: i64 = 14;
const INDENT: i64 = 36;
const BETWEEN: i64 = 56;
/// Boxes of a lane that are drawn; the rest is counted.
const CARDS: usize = 12;

fn class_of(mark: Mark) -> &'static str {
    match mark {
        Mark::Plain => "box",
        Mark::Good => "box good",
        Mark::Bad => "box bad",
        Mark::Open => "box open",
    }
}

fn cut(text: &str, fits: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= fits {
        return line;
    }
    let kept: String = line.chars().take(fits.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn begin(html: &mut String, width: i64, height: i64, label: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(
        html,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">",
        escape(label)
    );
}

struct Placed<'a> {
    x: i64,
    y: i64,
    width: i64,
    title: &'a str,
    detail: &'a str,
    mark: Mark,
    /// `node` or `card`, so that a reader of the page can find it.
    role: &'a str,
}

fn write_box(html: &mut String, placed: &Placed<'_>) {
    let Placed { x, y, width, .. } = *placed;
    let fits = FITS * usize::try_from(width).unwrap_or(0) / 250;
    let (title_y, detail_y) = match placed.detail.is_empty() {
        true => (y + 27, y),
        false => (y + 19, y + 35),
    };
    let _ = write!(
        html,
        "<g class=\"{}\"><title>{}</title><rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" \
         height=\"{BOX_HEIGHT}\" rx=\"8\"/><text x=\"{}\" y=\"{title_y}\">{}</text>",
        placed.role,
        escape(&format!("{}\n{}", placed.title, placed.detail)),
        class_of(placed.mark),
        x + 12,
        escape(&cut(placed.title, fits))
    );
    if !placed.detail.is_empty() {
        let _ = write!(
            html,
            "<text class=\"detail\" x=\"{}\" y=\"{detail_y}\">{}</text>",
            x + 12,
            escape(&cut(placed.detail, fits + fits / 5))
        );
    }
    html.push_str("</g>\n");
}

/// A tree, one node a line, indented like an outline: deep and wide ones stay readable.
pub(super) fn write_tree(html: &mut String, root: &TreeNode) {
    let mut lines: Vec<(usize, usize, &TreeNode)> = Vec::new();
    place(root, 0, 0, &mut lines);
    let deepest = lines.iter().map(|(depth, ..)| *depth).max().unwrap_or(0);
    let node_width = (960 - number(deepest) * INDENT).max(560);
    let width = number(deepest) * INDENT + node_width + 2;
    let height = number(lines.len()) * (BOX_HEIGHT + GAP) - GAP + 2;
    begin(html, width, height, "decomposition tree");
    let y_of = |line: usize| 1 + number(line) * (BOX_HEIGHT + GAP);
    for (line, (depth, parent, _)) in lines.iter().enumerate().skip(1) {
        let x = 1 + number(depth.saturating_sub(1)) * INDENT + 16;
        let (from, to) = (y_of(*parent) + BOX_HEIGHT, y_of(line) + BOX_HEIGHT / 2);
        let target = 1 + number(*depth) * INDENT;
        let _ = writeln!(
            html,
            "<path class=\"edge\" d=\"M{x} {from}V{}Q{x} {to} {} {to}H{target}\"/>",
            to - 8,
            x + 8
        );
    }
    for (line, (depth, _, node)) in lines.iter().enumerate() {
        let placed = Placed {
            x: 1 + number(*depth) * INDENT,
            y: y_of(line),
            width: node_width,
            title: &node.title,
            detail: &node.detail,
            mark: node.mark,
            role: "node",
        };
        write_box(html, &placed);
    }
    html.push_str("</svg>");
}

fn place<'a>(
    node: &'a TreeNode,
    depth: usize,
    parent: usize,
    lines: &mut Vec<(usize, usize, &'a TreeNode)>,
) {
    let line = lines.len();
    lines.push((depth, parent, node));
    for child in &node.children {
        place(child, depth + 1, line, lines);
    }
}

/// Lanes side by side; what comes in goes through to what comes out.
pub(super) fn write_flow(html: &mut String, lanes: &[Lane]) {
    let lanes: Vec<(&Lane, Vec<Card>)> = lanes.iter().map(|lane| (lane, drawn(lane))).collect();
    let tallest = lanes
        .iter()
        .map(|(_, cards)| cards.len())
        .max()
        .unwrap_or(0)
        .max(1);
    let box_width = match lanes.len() {
        0..=3 => BOX_WIDTH + 30,
        _ => BOX_WIDTH - 30,
    };
    let top = 28;
    let body = number(tallest) * (BOX_HEIGHT + GAP) - GAP;
    let width = number(lanes.len()) * (box_width + BETWEEN) - BETWEEN + 2;
    begin(html, width, top + body + 2, "flow from inputs to outputs");
    let x_of = |lane: usize| 1 + number(lane) * (box_width + BETWEEN);
    let middle = top + body / 2;
    let y_of = |count: usize, card: usize| {
        let block = number(count) * (BOX_HEIGHT + GAP) - GAP;
        top + (body - block) / 2 + number(card) * (BOX_HEIGHT + GAP)
    };
    for (at, (lane, cards)) in lanes.iter().enumerate() {
        let x = x_of(at);
        let _ = writeln!(
            html,
            "<text class=\"lane\" x=\"{x}\" y=\"14\">{}</text>",
            escape(&lane.title)
        );
        for (card_at, card) in cards.iter().enumerate() {
            let y = y_of(cards.len(), card_at);
            let center = y + BOX_HEIGHT / 2;
            // Each box is joined to the middle of the gap beside it.
            if at > 0 {
                let from = x - BETWEEN / 2;
                let _ = writeln!(
                    html,
                    "<path class=\"edge\" d=\"M{from} {middle}C{} {middle} {} {center} {} {center}\"/>\
                     <path class=\"head\" d=\"M{x} {center}l-7 -4v8z\"/>",
                    from + 12,
                    from + 10,
                    x - 6
                );
            }
            if at + 1 < lanes.len() {
                let (from, to) = (x + box_width, x + box_width + BETWEEN / 2);
                let _ = writeln!(
                    html,
                    "<path class=\"edge\" d=\"M{from} {center}C{} {center} {} {middle} {to} {middle}\"/>",
                    from + 14,
                    to - 12
                );
            }
            let placed = Placed {
                x,
                y,
                width: box_width,
                title: &card.title,
                detail: &card.detail,
                mark: card.mark,
                role: "card",
            };
            write_box(html, &placed);
        }
    }
    html.push_str("</svg>");
}

fn drawn(lane: &Lane) -> Vec<Card> {
    let mut cards: Vec<Card> = lane.cards.iter().take(CARDS).cloned().collect();
    if lane.cards.len() > CARDS {
        let more = lane.cards.len() - CARDS;
        cards.push(Card::new(format!("… and {more} more"), "", Mark::Plain));
    }
    if cards.is_empty() {
        cards.push(Card::new("nothing", "", Mark::Open));
    }
    cards
}

/// Bars on one scale.
pub(super) fn write_timeline(html: &mut String, moments: &[Moment]) {
    let total = moments
        .iter()
        .map(|moment| moment.offset_ms.saturating_add(moment.length_ms))
        .max()
        .unwrap_or(0)
        .max(1);
    let (label, scale, row) = (200, 620, 30);
    let height = number(moments.len()) * row + 4;
    begin(html, label + scale + 130, height, "timeline");
    let place = |milliseconds: i64| milliseconds.saturating_mul(scale) / total;
    for (at, moment) in moments.iter().enumerate() {
        let y = number(at) * row;
        let length = place(moment.length_ms).max(3);
        let x = label + place(moment.offset_ms).min(scale - 3);
        let _ = writeln!(
            html,
            "<g class=\"moment\"><title>{}</title><text x=\"0\" y=\"{}\">{}</text>\
             <rect class=\"bar\" x=\"{x}\" y=\"{}\" width=\"{length}\" height=\"14\" rx=\"4\"/>\
             <text class=\"detail\" x=\"{}\" y=\"{}\">{} ms</text></g>",
            escape(&moment.begin),
            y + 19,
            escape(&cut(&moment.label, 28)),
            y + 8,
            x + length + 8,
            y + 19,
            moment.length_ms
        );
    }
    html.push_str("</svg>");
}

/// A count as a coordinate; counts here are bounded far below.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(0)
}

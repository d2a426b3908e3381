//! Numbers of several runs as one SVG picture: a panel per number, a point per run.
//!
//! The same numbers give the same bytes. The picture is self-contained: no script, no font, no link.

use maud::{PreEscaped, html};

use crate::reveal::{cut, reveal};

/// Panels side by side.
const COLUMNS: usize = 3;
/// Size of a panel.
const WIDTH: usize = 260;
const HEIGHT: usize = 150;
/// Room for the title above and the names of runs below the points.
const TOP: usize = 34;
const BOTTOM: usize = 26;
const SIDE: usize = 20;
/// Characters of a title.
const TITLE: usize = 36;
/// The most panels; further numbers are only in the table.
pub const MOST_PANELS: usize = 60;
/// The names of runs are shown if there are at most this many.
const NAMED: usize = 5;

/// One number, as each run has it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotRow {
    /// Its name.
    pub name: String,
    /// The number of each run; `None` if it has none. All are finite.
    pub numbers: Vec<Option<f64>>,
}

/// Draws a panel for each row; `runs` names the points.
pub fn render_plot(runs: &[String], rows: &[PlotRow]) -> String {
    let rows = &rows[..rows.len().min(MOST_PANELS)];
    let across = COLUMNS.min(rows.len()).max(1);
    let down = rows.len().div_ceil(across).max(1);
    let (width, height) = (across * WIDTH, down * HEIGHT);
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img"
            width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            font-family="sans-serif" font-size="10" {
            title { (rows.len()) " numbers of " (runs.len()) " runs" }
            rect width="100%" height="100%" fill="#ffffff" {}
            @for (at, row) in rows.iter().enumerate() {
                g transform={ "translate(" (at % across * WIDTH) " " (at / across * HEIGHT) ")" } {
                    (panel(runs, row))
                }
            }
        }
    };
    let mut text = reveal(&drawn.into_string()).into_owned();
    text.push('\n');
    text
}

fn panel(runs: &[String], row: &PlotRow) -> PreEscaped<String> {
    let known = || row.numbers.iter().flatten().copied();
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    let points = points(row, low, high);
    let line: Vec<_> = points.iter().map(|(x, y, _)| format!("{x},{y}")).collect();
    let name = |at: usize| cut(runs.get(at).map_or("", String::as_str), 10).into_owned();
    html! {
        text x=(SIDE) y="14" font-weight="bold" { (cut(&row.name, TITLE)) }
        text x=(SIDE) y="27" fill="#666666" { (number(low)) " to " (number(high)) }
        line x1=(SIDE) x2=(WIDTH - SIDE) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) stroke="#cccccc" {}
        polyline points=(line.join(" ")) fill="none" stroke="#7a9cc6" {}
        @for (x, y, at) in &points {
            circle cx=(x) cy=(y) r="3" fill="#1f4e8c" {
                title { (name(*at)) ": " (number(row.numbers[*at].unwrap_or_default())) }
            }
            @if runs.len() <= NAMED {
                text x=(x) y=(HEIGHT - BOTTOM + 14) text-anchor="middle" fill="#666666" {
                    (name(*at))
                }
            }
        }
    }
}

/// The positions of the points, with the run of each. Whole numbers, so they are the same everywhere.
fn points(row: &PlotRow, low: f64, high: f64) -> Vec<(usize, usize, usize)> {
    let (room_x, room_y) = (WIDTH - 4 * SIDE, HEIGHT - TOP - BOTTOM - 12);
    let steps = row.numbers.len().saturating_sub(1).max(1);
    let place = |(at, number): (usize, &Option<f64>)| {
        let number = (*number)?;
        // Halved first: the difference of two finite numbers may not be finite.
        let share = if low == high {
            0.5
        } else {
            (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
        };
        let up = (share * room_y as f64).round() as usize;
        Some((
            2 * SIDE + at * room_x / steps,
            TOP + 6 + room_y - up.min(room_y),
            at,
        ))
    };
    row.numbers.iter().enumerate().filter_map(place).collect()
}

/// A number with the digits that a label has room for.
fn number(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{number:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        text.to_owned()
    } else {
        format!("{number:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plot_is_well_formed_and_escapes_what_comes_from_outside() {
        let rows = [PlotRow {
            name: "metrics.<script>\u{202e}".to_owned(),
            numbers: vec![Some(0.25), None, Some(-1e9)],
        }];
        let runs = ["a\"b", "b", "c"].map(str::to_owned);
        let svg = render_plot(&runs, &rows);
        assert!(svg.contains("metrics.&lt;script&gt;"), "{svg}");
        assert!(!svg.contains("<script") && !svg.contains('\u{202e}'));
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg, render_plot(&runs, &rows));
    }

    #[test]
    fn numbers_are_short_on_labels() {
        for (given, shown) in [
            (0.25, "0.25"),
            (440.0, "440"),
            (0.0, "0"),
            (-1e9, "-1.000e9"),
            (0.000_01, "1.000e-5"),
        ] {
            assert_eq!(number(given), shown);
        }
    }
}

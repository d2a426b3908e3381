//! Tables as wide as the screen, and sparklines.

use super::{Screen, columns, fit, pad, plain};

/// Blanks between two columns.
const GAP: usize = 2;
/// The least width of a column, however narrow the screen is.
const NARROWEST: usize = 6;
/// From low to high.
const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Renders a table of texts from outside, one line per row. If the screen is too narrow, the widest columns
/// lose their middle; without a screen nothing is cut.
pub fn render_table(screen: Screen, headers: &[String], rows: &[Vec<String>]) -> String {
    let cells = |row: &[String]| row.iter().map(|cell| plain(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
    let headers = cells(headers);
    let mut widths: Vec<usize> = headers.iter().map(|header| columns(header)).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    if let Some(room) = screen.width {
        narrow(&mut widths, room);
    }
    let line = |row: &[String]| {
        let fitted = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| {
                let cell = fit(cell, *width);
                if at + 1 == row.len() {
                    cell.into_owned()
                } else {
                    pad(&cell, width + GAP)
                }
            });
        fitted.collect::<String>().trim_end().to_owned()
    };
    let mut text = format!("{}\n", screen.bold(&line(&headers)));
    for row in &rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

/// Narrows the widest columns until all fit.
fn narrow(widths: &mut [usize], room: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let Some(widest) = widths.iter_mut().max() else {
            return;
        };
        if *widest <= NARROWEST {
            return;
        }
        *widest -= 1;
    }
}

/// Renders numbers as a sparkline; a missing number is a dot.
pub fn render_spark(numbers: &[Option<f64>]) -> String {
    let known = || numbers.iter().flatten().copied();
    let (low, high) = (
        known().fold(f64::INFINITY, f64::min),
        known().fold(f64::NEG_INFINITY, f64::max),
    );
    let sign = |number: &Option<f64>| match number {
        None => '·',
        Some(_) if low == high => SIGNS[3],
        Some(number) => {
            // Halved first: the difference of two finite numbers may not be finite.
            let share = (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            let steps = (SIGNS.len() - 1) as f64;
            SIGNS[(share * steps).round().clamp(0.0, steps) as usize]
        }
    };
    numbers.iter().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn table_fits_the_screen_and_is_whole_without_one() {
        let headers = texts(&["name", "a long heading"]);
        let rows = [texts(&["x\x1b[1m", "0123456789abcdefghij"])];
        let table = render_table(Screen::default(), &headers, &rows);
        assert!(
            table.contains("0123456789abcdefghij") && !table.contains('\x1b'),
            "{table}"
        );
        let screen = Screen {
            width: Some(20),
            ..Screen::default()
        };
        let table = render_table(screen, &headers, &rows);
        assert!(table.lines().all(|line| columns(line) <= 20), "{table}");
        assert!(table.contains('…'), "{table}");
    }

    #[test]
    fn spark_shows_the_shape_of_numbers() {
        assert_eq!(
            render_spark(&[Some(0.0), Some(1.0), None, Some(0.5)]),
            "▁█·▅"
        );
        assert_eq!(render_spark(&[Some(3.0), Some(3.0)]), "▄▄");
        assert_eq!(render_spark(&[Some(f64::MIN), Some(f64::MAX)]), "▁█");
        assert_eq!(render_spark(&[None]), "·");
    }
}

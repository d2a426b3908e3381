//! Tables of text: CSV by RFC 4180, read leniently. Only for showing and comparing; no verdict depends on it.

/// Splits a text into records. Quoted cells may contain separators and line ends.
///
/// Stops at the end of a record once there are more than `most` cells.
pub fn parse_records(text: &str, separator: char, most: usize) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut cells = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if is_quoted || cell.is_empty() => is_quoted = !is_quoted,
            c if c == separator && !is_quoted => {
                row.push(std::mem::take(&mut cell));
                cells += 1;
            }
            '\r' if !is_quoted && chars.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                cells += 1;
                rows.push(std::mem::take(&mut row));
                if cells > most {
                    return rows;
                }
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_quoted_separators_and_line_ends() {
        let rows = parse_records("a,\"b,\"\"c\"\"\"\r\n\"1\n2\",3", ',', usize::MAX);
        assert_eq!(rows, [vec!["a", "b,\"c\""], vec!["1\n2", "3"]]);
    }

    #[test]
    fn records_end_with_the_one_that_passes_the_limit() {
        let rows = parse_records("1;2\n3;4\n5;6\n", ';', 3);
        assert_eq!(rows, [vec!["1", "2"], vec!["3", "4"]]);
    }
}

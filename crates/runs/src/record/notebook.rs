//! How a place in a notebook is called: by the number of its cell and output, as a reader of the notebook counts them.

/// The words for a JSON Pointer into a notebook, if it leads into a cell.
pub(crate) fn name_place(pointer: &str) -> Option<String> {
    let mut steps = pointer.strip_prefix("/cells/")?.split('/').map(unescape);
    let mut words = vec![format!("cell {}", count_from_one(&steps.next()?)?)];
    let mut above = String::new();
    for step in steps {
        match (above.as_str(), count_from_one(&step)) {
            ("outputs", Some(number)) => {
                words.pop();
                words.push(format!("output {number}"));
            }
            // A text is a list of its lines.
            (_, Some(number)) => words.push(format!("line {number}")),
            // What an output has in one form or several.
            (_, None) if step == "data" => {}
            (_, None) => words.push(step.clone()),
        }
        above = step;
    }
    Some(words.join(", "))
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn count_from_one(step: &str) -> Option<u64> {
    let is_number = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    step.parse::<u64>()
        .ok()
        .filter(|_| is_number)?
        .checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_by_cell_and_output() {
        for (pointer, expected) in [
            ("/cells/0", Some("cell 1")),
            ("/cells/3/source/2", Some("cell 4, source, line 3")),
            ("/cells/3/source", Some("cell 4, source")),
            ("/cells/3/execution_count", Some("cell 4, execution_count")),
            ("/cells/3/outputs/0", Some("cell 4, output 1")),
            ("/cells/3/outputs", Some("cell 4, outputs")),
            (
                "/cells/3/outputs/0/text/9",
                Some("cell 4, output 1, text, line 10"),
            ),
            (
                "/cells/3/outputs/1/data/text~1plain/0",
                Some("cell 4, output 2, text/plain, line 1"),
            ),
            (
                "/cells/3/outputs/1/data/image~1png",
                Some("cell 4, output 2, image/png"),
            ),
            ("/cells/3/metadata/a~0b", Some("cell 4, metadata, a~b")),
            ("/metadata/kernelspec", None),
            ("/cells", None),
            ("/cells/x", None),
            ("/cells/99999999999999999999", None),
        ] {
            assert_eq!(name_place(pointer).as_deref(), expected, "{pointer}");
        }
    }
}

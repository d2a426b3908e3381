//! A comparison as text and as JSON.

use std::fmt::Write as _;

use runseal_core::canon::Value;
use runseal_core::verify::one_line;

use super::Change;

/// The most characters of a value that are shown.
const SHOWN: usize = 160;

/// The differences grouped by topic, for people.
pub fn render_comparison_human(changes: &[Change]) -> String {
    let mut text = String::new();
    if changes.is_empty() {
        return "no difference\n".to_owned();
    }
    // Writing into a string cannot fail.
    for of_topic in changes.chunk_by(|a, b| a.topic == b.topic) {
        let _ = writeln!(text, "{} ({})", of_topic[0].topic.name(), of_topic.len());
        for change in of_topic {
            let place = match (change.file.as_str(), change.pointer.as_str()) {
                ("", "") => "the whole".to_owned(),
                ("", pointer) => pointer.to_owned(),
                (file, pointer) => format!(
                    "{file}{}{pointer}",
                    if pointer.is_empty() { "" } else { " " }
                ),
            };
            let _ = writeln!(text, "  {}", one_line(&place));
            match &change.lines {
                Some(lines) => {
                    for line in lines.lines() {
                        let _ = writeln!(text, "    {}", one_line(line));
                    }
                }
                None => {
                    for (sign, value) in [("-", &change.before), ("+", &change.after)] {
                        if let Some(value) = value {
                            let _ = writeln!(text, "    {sign} {}", cut(&one_line(value)));
                        }
                    }
                }
            }
        }
    }
    let plural = if changes.len() == 1 { "" } else { "s" };
    let _ = writeln!(text, "{} difference{plural}", changes.len());
    text
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// `{"differences":[{"after","before","file","lines","pointer","topic"}],"same"}`; a side without a
/// value is left out.
pub fn render_comparison_json(changes: &[Change]) -> Value {
    let differences = changes.iter().map(|change| {
        let mut object = Value::object([
            ("file", change.file.as_str()),
            ("pointer", change.pointer.as_str()),
            ("topic", change.topic.name()),
        ]);
        for (name, value) in [
            ("before", &change.before),
            ("after", &change.after),
            ("lines", &change.lines),
        ] {
            if let Some(value) = value {
                object.insert(name, value.as_str());
            }
        }
        object
    });
    let mut object = Value::object([("same", changes.is_empty())]);
    object.insert("differences", Value::array(differences));
    object
}

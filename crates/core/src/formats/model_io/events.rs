//! Server-sent events, as far as recordings need them: the data and the names of events.
//!
//! An event ends at a blank line; lines end in CR, LF or CRLF; several `data` lines are joined by
//! LF; a line that begins with a colon is a comment. A last event without its blank line is not
//! dispatched, as in browsers.

/// One server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The name, if it has one.
    pub name: Option<String>,
    /// Its data lines, joined by LF.
    pub data: String,
}

/// Parses every complete event of a stream.
pub fn parse_events(stream: &str) -> Vec<Event> {
    let stream = stream.strip_prefix('\u{feff}').unwrap_or(stream);
    let mut events = Vec::new();
    let mut name = None;
    let mut data: Option<String> = None;
    let mut rest = stream;
    while let Some(end) = rest.find(['\n', '\r']) {
        let (line, after) = rest.split_at(end);
        rest = after
            .strip_prefix("\r\n")
            .unwrap_or_else(|| after.get(1..).unwrap_or_default());
        if line.is_empty() {
            if let Some(data) = data.take() {
                events.push(Event {
                    name: name.take(),
                    data,
                });
            }
            name = None;
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = Some(value.to_owned()),
            "data" => match &mut data {
                None => data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_events_handles_line_ends_and_comments() {
        let stream = ": hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata: x\r\rdata\n\nid: 7\n\ndata: lost";
        let event = |name: Option<&str>, data: &str| Event {
            name: name.map(str::to_owned),
            data: data.to_owned(),
        };
        let expected = [event(Some("a"), "1\n2"), event(None, "x"), event(None, "")];
        assert_eq!(parse_events(stream), expected);
    }
}

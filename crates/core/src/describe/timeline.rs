//! When things happened: the moments that records name, as distances from the first.

use super::members::{at, list_at, text_at};
use super::{Description, Moment};
use crate::canon::Node;
use crate::timestamp::parse_utc;

/// The phases that a runner record has.
pub(super) fn add_timing(description: &mut Description, runner: Node<'_>) {
    if at(runner, "timing.started_at").is_some() {
        if let Some(timing) = runner.get("timing") {
            add_span(description, "runner", timing, "started_at", "completed_at");
        }
        for phase in list_at(runner, "timing.phases") {
            let begin = text_at(phase, "started_at");
            let length = at(phase, "duration_ms").and_then(|node| node.as_number());
            let length = length.and_then(|number| number.to_exact_i64());
            let name = text_at(phase, "name").unwrap_or_default();
            push_moment(description, &name, begin, length);
        }
    }
}

/// A moment with a beginning and an end.
pub(super) fn add_span(
    description: &mut Description,
    label: &str,
    node: Node<'_>,
    from: &str,
    to: &str,
) {
    let (begin, end) = (text_at(node, from), text_at(node, to));
    let millis = |text: &Option<String>| text.as_deref().and_then(parse_utc);
    let length = millis(&end)
        .zip(millis(&begin))
        .map(|(end, begin)| end - begin);
    push_moment(description, label, begin, length);
}

fn push_moment(
    description: &mut Description,
    label: &str,
    begin: Option<String>,
    length: Option<i64>,
) {
    let (Some(begin), Some(length)) = (begin, length) else {
        return;
    };
    if let Some(at) = parse_utc(&begin) {
        description.timeline.push(Moment {
            label: label.to_owned(),
            begin,
            offset_ms: at,
            length_ms: length.max(0),
        });
    }
}

/// Times become distances from the first one.
pub(super) fn finish_timeline(description: &mut Description) {
    let first = description
        .timeline
        .iter()
        .map(|moment| moment.offset_ms)
        .min();
    for moment in &mut description.timeline {
        moment.offset_ms -= first.unwrap_or(0);
    }
    description.timeline.sort_by_key(|moment| moment.offset_ms);
}

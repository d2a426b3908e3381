//! When things happened: the times in records, as offsets from the first.

use runseal_core::canon::Node;
use runseal_core::timestamp::parse_utc;

use super::members::{integer_at, list_at, text_at};
use super::{About, Block, Body, Moment, Words};
use crate::limits::STEPS;
use crate::reveal::counted;

/// Collects moments.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    moments: Vec<Moment>,
    /// The places that the moments come from.
    about: Vec<About>,
    /// The number of phases left out.
    left_out: usize,
}

impl Timeline {
    /// Adds a span of the document `file`, with a beginning and an end.
    pub(super) fn add_span(
        &mut self,
        label: &str,
        (file, node): (&str, Node<'_>),
        from: &str,
        to: &str,
    ) {
        let (begin, end) = (text_at(node, from), text_at(node, to));
        let millis = |text: &Option<String>| text.as_deref().and_then(parse_utc);
        let length = millis(&end).zip(millis(&begin));
        let length = length.map(|(end, begin)| end.saturating_sub(begin));
        self.push(label, begin, length);
        for member in [from, to] {
            let pointer = format!("/{}", member.replace('.', "/"));
            self.about.push(About::place(file, pointer));
        }
    }

    /// Adds the phases of a runner record.
    pub(super) fn add_runner(&mut self, file: &str, runner: Node<'_>) {
        let (from, to) = ("timing.started_at", "timing.completed_at");
        self.add_span("runner", (file, runner), from, to);
        self.about.push(About::place(file, "/timing"));
        let phases = list_at(runner, "timing.phases");
        self.left_out += phases.len().saturating_sub(STEPS);
        for phase in phases.iter().take(STEPS) {
            let name = text_at(phase, "name").unwrap_or_default();
            let begin = text_at(phase, "started_at");
            self.push(&name, begin, integer_at(phase, "duration_ms"));
        }
    }

    /// Adds something with a beginning and a length.
    pub(super) fn push(&mut self, label: &str, begin: Option<String>, length: Option<i64>) {
        let (Some(begin), Some(length)) = (begin, length) else {
            return;
        };
        if let Some(at) = parse_utc(&begin) {
            self.moments.push(Moment {
                label: label.to_owned(),
                begin,
                offset_ms: at,
                length_ms: length.max(0),
            });
        }
    }

    /// The block, if there is anything. Equal spans become one with all their names. If no time passed,
    /// because the clock was fixed, the block says so instead of drawing anything.
    pub(super) fn into_block<'a>(self) -> Option<Block<'a>> {
        let mut merged: Vec<Moment> = Vec::new();
        for moment in self.moments {
            let same = merged.iter_mut().find(|known| {
                known.offset_ms == moment.offset_ms && known.length_ms == moment.length_ms
            });
            match same {
                Some(known) if !known.label.split(", ").any(|label| label == moment.label) => {
                    known.label = format!("{}, {}", known.label, moment.label);
                }
                Some(_) => {}
                None => merged.push(moment),
            }
        }
        let first = merged.iter().map(|moment| moment.offset_ms).min()?;
        for moment in &mut merged {
            moment.offset_ms = moment.offset_ms.saturating_sub(first);
        }
        merged.sort_by_key(|moment| (moment.offset_ms, -moment.length_ms));
        let is_still = merged.iter().all(|m| m.offset_ms == 0 && m.length_ms == 0);
        let body = if is_still {
            let begin = merged.first().map(|moment| moment.begin.clone());
            let text = format!(
                "Every time in the record is {}: its clock was fixed, so there are no durations.",
                begin.unwrap_or_default()
            );
            Body::Words(Words::Missing(text))
        } else {
            Body::Timeline(merged)
        };
        let mut block = Block::new("When", body);
        block.about = self.about;
        if self.left_out > 0 {
            block = block.remark(format!(
                "{} not shown",
                counted(self.left_out, "more phase")
            ));
        }
        Some(block)
    }
}

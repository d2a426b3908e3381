//! Open choices (H): the author has named alternatives or doubts and not decided.
//!
//! Three families, one file each: hedges (`maybe`, `your call`), alternatives (`A or B`) and questions. All are open only
//! in sentences that leave something to the reader; complete statements (`exit 0 or 1`, `could not be created`,
//! `depends on libqt6`) are not.

mod alternative;
mod hedge;
mod options;
mod question;

use self::options::options_of;
use super::{Finding, FindingKind, MAX_PER_TEXT, Source, clip};
use crate::lexicon::Cue;

/// Adds the open choices of a text; sentences that follow each other are one choice (`LaTeX? Word? Typst?`).
pub(super) fn find_choices(source: &Source<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    let mut last: Option<usize> = None;
    let first = out.len();
    for (at, &range) in t.lexed.sentences.iter().enumerate() {
        if out.len() - first >= MAX_PER_TEXT {
            break;
        }
        let Some(token) = open_choice(source, range) else {
            continue;
        };
        let sentence = source.sentence_place(token);
        let mut options = options_of(source, range);
        if at > 0
            && last == Some(at - 1)
            && let Some(previous) = out.last_mut()
            && let Some(place) = previous.places.first_mut()
        {
            place.end = sentence.end;
            place.quote = clip(t.lexed.text, place.start, place.end, place.start);
            previous.sentence = Some(place.clone());
            previous.options.append(&mut options);
            previous
                .options
                .sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            previous.options.dedup();
        } else {
            out.push(Finding {
                kind: FindingKind::Choice,
                places: vec![sentence.clone()],
                sentence: Some(sentence),
                element: None,
                topic: None,
                options,
            });
        }
        last = Some(at);
    }
}

/// The token that makes the sentence an open choice.
fn open_choice(source: &Source<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for hit in t.hits_in(range) {
        if lexed.tokens[hit.from].quoted {
            continue;
        }
        let open = match hit.cue {
            Cue::Open => hedge::is_open(source, range, hit.from, hit.to),
            Cue::Might => hedge::is_open_might(source, range, hit.from),
            Cue::Depends => hedge::is_open_depends(source, range, hit.from),
            Cue::Either => alternative::is_open_either(source, range, hit.from),
            // `VS Code` is a product.
            Cue::Versus => {
                !lexed.tokens[hit.from].upper && alternative::is_open_versus(source, range)
            }
            _ => false,
        };
        if open {
            return Some(hit.from);
        }
    }
    question::open_question(source, range)
        .or_else(|| alternative::open_or(source, range))
        .or_else(|| alternative::open_comment(source, range))
        .or_else(|| alternative::open_attitude(source, range))
        .or_else(|| alternative::open_fragment(source, range))
        .or_else(|| alternative::open_unless(source, range))
}

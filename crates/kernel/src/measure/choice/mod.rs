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
use super::grammar::has_finite;
use super::reference::Known;
use super::{Finding, FindingKind, MAX_PER_TEXT, Source, clip};
use crate::lexicon::Cue;

/// Adds the open choices of a text; sentences that follow each other are one choice (`LaTeX? Word? Typst?`).
pub(super) fn find_choices(source: &Source<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
    let t = &source.tagged;
    let mut last: Option<usize> = None;
    let first = out.len();
    for (at, &range) in t.lexed.sentences.iter().enumerate() {
        if out.len() - first >= MAX_PER_TEXT {
            break;
        }
        let Some(token) = open_choice(source, known, range) else {
            continue;
        };
        let mut sentence = source.sentence_place(token);
        let mut options = options_of(source, range);
        if let Some(start) = listed_before(source, at) {
            // `REST, SFTP or a replica; opinions differ`: the alternatives stand in the sentence before.
            sentence = source.span_place(start, sentence.end);
            options = options_of(source, t.lexed.sentences[at - 1]);
        } else if let Some(end) = remark_behind(source, at) {
            // `Photos or drawings? Both have their merits`
            sentence = source.span_place(sentence.start, end);
        }
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

/// Where the list of alternatives begins that a short sentence of doubt closes.
fn listed_before(source: &Source<'_>, at: usize) -> Option<usize> {
    let lexed = &source.tagged.lexed;
    let (from, to) = lexed.sentences[at];
    let (start, end) = *lexed.sentences.get(at.checked_sub(1)?)?;
    let listed = (start..end).any(|i| any_of!(lexed.word(i), "or" "vs" "versus"));
    (to - from <= 4
        && listed
        && lexed.raw(end - 1) == ";"
        && !has_finite(&source.tagged, (start, end)))
    .then(|| lexed.tokens[start].start)
}

/// Where a short remark ends that follows a question.
fn remark_behind(source: &Source<'_>, at: usize) -> Option<usize> {
    let lexed = &source.tagged.lexed;
    let asked = lexed.raw(lexed.sentences[at].1 - 1).starts_with('?');
    let (from, to) = *lexed.sentences.get(at + 1)?;
    let remark = to - from <= 9
        && any_of!(lexed.word(from),
            "we" "both" "either" "all" "probably" "not" "any" "whatever" "i" "maybe" "no" "hard" "depends" "opinions" "it");
    (asked && remark).then(|| {
        let end = lexed.tokens[to - 1].end;
        end - usize::from(lexed.text[..end].ends_with('.'))
    })
}

/// The token that makes the sentence an open choice.
fn open_choice(source: &Source<'_>, known: &Known<'_>, range: (usize, usize)) -> Option<usize> {
    let t = &source.tagged;
    let lexed = &t.lexed;
    for hit in t.hits_in(range) {
        if lexed.tokens[hit.from].quoted || known.is_mentioned(lexed.word(hit.from)) {
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
        .or_else(|| alternative::open_if(source, range))
}

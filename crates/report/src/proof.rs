//! What a verdict proves about a unit, and what it does not, in words for whoever decides.

use runseal_core::formats::definition::definition;

use crate::answers::{Answers, CANNOT_TELL, CHANGED_SINCE, NOT_LOOKED_FOR, Tone};
use crate::exhibit::Exhibit;

/// Sentences for both columns.
pub(crate) struct Proof {
    pub(crate) shows: Vec<String>,
    pub(crate) does_not: Vec<String>,
}

/// What is proven about an exhibit, and what is not.
pub(crate) fn proof_of(exhibit: &Exhibit<'_>, answers: &Answers) -> Proof {
    let mut shows = Vec::new();
    let mut does_not = Vec::new();
    let title = exhibit.format.title();
    let proves = definition(exhibit.format).proves();
    if answers.intact.tone == Tone::Bad {
        does_not.push(format!(
            "Anything: this {title} contradicts itself or its rules. What the page shows is what it \
             says, not what happened."
        ));
    } else {
        shows.extend(proves.shows.iter().map(|text| (*text).to_owned()));
        if answers.intact.tone == Tone::Warning {
            does_not.push(
                "That hashes and repeated statements agree: only the document level was asked."
                    .to_owned(),
            );
        }
    }
    match answers.signed.tone {
        Tone::Good => shows.push(
            "That the holder of the signing key signed exactly this, and that it was not changed since."
                .to_owned(),
        ),
        Tone::Neutral if answers.signed.word == NOT_LOOKED_FOR => {
            does_not.push("Who made it, or when: no signature was looked for.".to_owned());
        }
        Tone::Neutral => does_not.push(
            "Who made it, or when: it is unsigned, and anyone who could write it could make it again."
                .to_owned(),
        ),
        Tone::Warning if answers.signed.word == CANNOT_TELL => {
            does_not.push("Who made it: its signatures could not be read.".to_owned());
        }
        Tone::Bad if answers.signed.word == CHANGED_SINCE => {
            does_not.push("Who made it: what was signed is not what is here.".to_owned());
        }
        Tone::Warning | Tone::Bad => does_not.push(
            "Who made it: no signature here is valid with a known key.".to_owned(),
        ),
    }
    match answers.trusted.tone {
        Tone::Good => shows.push("That your policy trusts whoever signed it.".to_owned()),
        Tone::Bad => {
            does_not.push("That your policy trusts it: it was asked, and does not.".to_owned())
        }
        _ => {}
    }
    // Caveats that are true of every unit of a format are in the format's own words.
    let is_in_format = |caveat: &&String| {
        let mut known = proves.does_not.iter();
        let end = caveat.rsplit(": ").next().unwrap_or_default();
        known.any(|known| known.contains(end))
    };
    let caveats = exhibit
        .identity
        .caveats
        .iter()
        .filter(|caveat| !is_in_format(caveat));
    does_not.extend(caveats.map(|caveat| format!("All that its format can: {caveat}.")));
    // The signatures already say who made it.
    let of_format = proves.does_not.iter();
    let of_format = of_format.filter(|text| !text.starts_with("Who made it"));
    does_not.extend(of_format.map(|text| (*text).to_owned()));
    does_not.push(
        "Anything by this page alone: a page is a picture of a verdict. `runseal verify` on the \
         files is the verdict."
            .to_owned(),
    );
    Proof { shows, does_not }
}

//! What a verdict shows about something, and what it does not, in words for whoever has to decide.

use runseal_core::formats::Format;

use crate::answers::{Answers, Tone};
use crate::exhibit::Exhibit;

/// Sentences for both columns.
pub(crate) struct Proof {
    pub(crate) shows: Vec<String>,
    pub(crate) does_not: Vec<String>,
}

/// What is shown about an exhibit and what is not.
pub(crate) fn proof_of(exhibit: &Exhibit<'_>, answers: &Answers) -> Proof {
    let mut shows = Vec::new();
    let mut does_not = Vec::new();
    let title = exhibit.format.title();
    if answers.intact.tone == Tone::Bad {
        does_not.push(format!(
            "Anything: this {title} contradicts itself or its rules. What stands below is what it \
             says, not what happened."
        ));
    } else {
        shows.extend(
            shown_by(exhibit.format)
                .iter()
                .map(|text| (*text).to_owned()),
        );
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
        Tone::Neutral => does_not.push(
            "Who made it, or when: it is unsigned, and whoever could write it could make it anew."
                .to_owned(),
        ),
        Tone::Warning | Tone::Bad => does_not.push(
            "Who made it: no signature here holds by a key that is known.".to_owned(),
        ),
    }
    match answers.trusted.tone {
        Tone::Good => shows.push("That your policy trusts whoever signed it.".to_owned()),
        Tone::Bad => {
            does_not.push("That your policy trusts it: it was asked and does not.".to_owned())
        }
        _ => {}
    }
    does_not.extend(
        not_shown_by(exhibit.format)
            .iter()
            .map(|text| (*text).to_owned()),
    );
    does_not.push(
        "Anything by this page alone: a page is a picture of a verdict. `runseal verify` on the \
         files is the verdict."
            .to_owned(),
    );
    Proof { shows, does_not }
}

fn shown_by(format: Format) -> &'static [&'static str] {
    match format {
        Format::RunBundle => &[
            "That input, output, contracts and every artifact are those that were sealed together.",
            "That input and output keep to the schemas that came with them.",
        ],
        Format::Pack => &[
            "That the records agree with each other: the decision with the evidence, the evidence with \
             the proposal, the run with its ledger line.",
            "That the run was decided under the policy it names.",
        ],
        Format::JobBundle => &[
            "That these are the texts that the job's plan refers to, byte for byte.",
            "That nothing was added or left out: the ids and hashes cover every file.",
        ],
        Format::Receipt => {
            &["That a replay said it read these steps with these hashes, in this chain."]
        }
        Format::ContextBundle => &[
            "That its ids, counts and hashes are those of its content, and its tree hangs together.",
        ],
        Format::Proposal => &["That its ids are those of its content and it is well formed."],
        Format::Patch => &["That each content is the one its hash names, at a safe path."],
        Format::ModelIo => &["That each answer is the one its hash names, in this order."],
        Format::Runner => &["That the record is complete and its times and limits are consistent."],
        Format::Evidence => &["That its status follows from the results that it lists."],
        Format::Ledger => &["That its lines are complete, and chained where they carry a chain."],
        Format::Engine => &["That its contracts are complete and consistent."],
        Format::Archive => &["That any unpacker gets the same files out of it."],
    }
}

fn not_shown_by(format: Format) -> &'static [&'static str] {
    match format {
        Format::RunBundle => &[
            "That the engine computes what it should, or that its input was true.",
            "That the run happened at the time it names: that is its maker's clock.",
        ],
        Format::Pack => &[
            "That the execution happened: evidence is the executor's word. `runseal replay` does it again.",
            "That the actions were a good idea.",
        ],
        Format::JobBundle => &[
            "That the texts are true, or that the sources still say so.",
            "What was done with what was read.",
        ],
        Format::Receipt => {
            &["That the replay was done by somebody you trust, unless it is signed."]
        }
        Format::ContextBundle | Format::Proposal => &["That the intent was understood."],
        Format::Patch => &["Where it came from, or that it was ever applied."],
        Format::ModelIo => &[
            "That a model said this: an answer and its hash can both be made anew.",
            "What it was asked, where the prompt is kept as its hash alone.",
        ],
        Format::Runner | Format::Evidence => &["That it happened: it is its maker's word."],
        Format::Ledger => &["That no line was left off the end."],
        Format::Engine => &["That the program does what its contracts say."],
        Format::Archive => &["Anything about what the files in it say."],
    }
}

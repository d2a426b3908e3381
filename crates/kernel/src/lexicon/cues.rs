//! Cues of one or more words. `~word` matches by stem, `#` any number; alternatives are separated by `|`.

use super::phrases::families;

/// The two sides of a family of opposites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    A,
    B,
}

/// What a cue signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cue {
    /// An unresolved reference, whatever stands around it.
    Unresolved,
    /// `to be decided`: unresolved unless a computation follows.
    ToBe,
    /// `will be provided`: unresolved unless a manner follows.
    WillBe,
    /// A choice left open, whatever stands around it.
    Open,
    /// could, might, would: open unless they state a fact about data or a failure.
    Might,
    /// depends: open unless it names a dependency or a rule.
    Depends,
    /// either: open unless it closes a set of values.
    Either,
    /// vs, versus.
    Versus,
    /// An upper bound follows.
    Upper,
    /// A lower bound follows.
    Lower,
    /// A waiting or running time follows.
    Takes,
    /// How long something is kept.
    Retention,
    /// Kept without end.
    Forever,
    /// One side of a family of opposites.
    Family(u16, Side),
}

/// Cues of single kinds.
const CUES: &[(Cue, &str)] = &[
    (
        Cue::Unresolved,
        "not yet known|not known yet|not yet decided|not decided yet|not yet defined|not yet fixed|not yet agreed|not yet available|not yet final|not final yet|not yet chosen|not yet specified|not yet clear|not yet named|not yet confirmed|not yet set|not yet settled|not yet determined|not defined yet|not agreed yet|not chosen yet|not specified yet|not clear yet|not fixed yet|not confirmed yet|not available yet|not set yet|not named yet|still unknown|still missing|still open|still unclear|still to come|still to be|still pending|still outstanding|yet to be|yet to come|to follow|follows later|will follow|to come later|comes later|coming soon|unknown at present|unknown at the moment|unknown so far|unknown at this point|unknown yet|as yet unknown|currently unknown|unknown for now|needs confirmation|needs to be confirmed|needs to be decided|needs to be defined|needs to be clarified|needs clarification|needs to be agreed|awaiting confirmation|awaiting approval|awaiting decision|waiting for confirmation|waiting for approval|waiting for an answer|waiting for feedback|waiting for input|has to be decided|have to be decided|must still be|has yet to|have yet to|remains to be|remains open|tbd|tbc|tba|tbdl|tbs|t.b.d|t.b.c|t.b.a|fixme|changeme|change_me|change-me|replaceme|replace_me|replace-me|fillme|fill_me_in|fill-me-in|tk|lorem ipsum|to fill in|fill in later|fill this in|please fill in|to be filled|insert here|goes here|placeholder for now|as discussed|as agreed|as mentioned|as talked about|we discussed|we talked about|we agreed on|you know which|the one from last time|same as last time|as last time|like last time|the usual one|see attached|see attachment|attached document|the attached|in the attachment|see separate document|see other document|see the other ticket|pending decision|pending confirmation|pending approval from|pending input from|subject to change|subject to confirmation|check with|to check with|to clarify with|to be clarified|ask again|to ask|ask the|ask our|details later|details to follow|more details later|will tell you|will let you know|let you know later|get back to you|somebody knows|someone knows|someone should know|i'll add this later|add later|to add later|specify later|define later|decide later|has it|have it|knows it|writes it|brings it|decides it|delivers it|provides it|chooses it|names it|has them|knows them|knows which|knows who|knows where|is on it|are on it|is working on it|are working on it|separate mail|separate e-mail|separate sheet|separate list|separate document|extra sheet|see excel|knows that|we'll tell|i'll tell|we'll let|i'll let|we'll send|i'll send|we'll add|i'll add|we'll provide|we'll decide|we'll name|we'll give|is being drafted|are being drafted|is being negotiated|are being negotiated|is being clarified|are being clarified|is being finalised|is being finalized|is being worked out|is being prepared|are being prepared|is being agreed|is being tendered|is being procured|subject to negotiation|subject to clarification|has to be defined|have to be defined|has to be agreed|has to be clarified|have to be clarified|has to be settled|has to be negotiated|has to be specified|has to be named|needs to be settled|needs to be specified|needs to be named|needs to be negotiated|needs to be determined|needs to be chosen|need to be decided|need to be clarified|need to be agreed|decide before|decide with|decide when|clarify before|clarify with|settle with|settle before|agree with|find out|look up|check again|the agreed|the discussed|the promised|the usual|working title|dummy value|dummy text|placeholder value|placeholder text|provisional value|see annex|see mail|see e-mail|see email|see chat|see minutes|see ticket|see the mail|see the e-mail|see my mail|see my e-mail|per mail|per e-mail|per our call|ask|decided later|defined later|specified later|determined later|named later|n.n",
    ),
    (
        Cue::ToBe,
        "to be determined|to be decided|to be defined|to be announced|to be confirmed|to be agreed|to be supplied|to be provided|to be specified|to be named|to be filled in|to be clarified|to be chosen|to be discussed|to be advised|to be negotiated|to be settled|to be fixed|to be set|to be delivered|to be added|to be completed|to be selected|to be assigned|to be finalised|to be finalized|to be found|to be sent|to be communicated|to be nominated|to be checked|to be inserted|to be replaced|to be established|to be given",
    ),
    (
        Cue::WillBe,
        "will be provided|will be supplied|will be announced|will be decided|will be determined|will be defined|will be confirmed|will be specified|will be clarified|will be communicated|will be named|will be handed|will be agreed|will be chosen|will be finalised|will be finalized|will be delivered|will be sent|will be shared|will be given|will be told|will be known|will be added|will be set|will be available|will be fixed|will provide|will supply|will send|will deliver|will share|will decide|will define|will specify|will announce|will confirm|will name|will tell|will say|will clarify|will settle|will pick|will determine|will choose|will give you|shall be provided|shall be supplied|gets decided|get decided|is decided by|are decided by|is provided later|is supplied later|are provided later|are supplied later|comes from the client|sends later",
    ),
    (
        Cue::Open,
        "whatever suits|whichever suits|some of us|thinking about|thinking of|we are considering|we consider|toying with|we wonder|permitting|funds allowing|worth a try|worth it|worth trying|worth the effort|leaning to|back and forth|cannot say|some say|others say|colleagues say|people say|members say|others want|some want|some prefer|others prefer|remains to see|all conceivable|have their merits|has its merits|if someone can|if somebody can|still weighing|up for discussion|as you please|one of the two|would be an option|would both be|if somebody has time|if someone has time|conceivably|anywhere from|or we drop|weighing it up|on the table|a matter of taste|matter of taste|either works|leave it to you|we leave that to|whichever you like|have yet to choose|haven't chosen|have not chosen|not chosen|if the budget|if budget|if the money|if money|seems right|seems best|seems better|would be another|another way would|another option|another possibility|also an option|also possible|also conceivable|is conceivable|made up its mind|decide for us|choose for us|pick for us|recommend one|made up our mind|made up our minds|made up their mind|made up their minds|made up my mind|not important which|no matter which|not so important|we need advice|need advice|advice welcome|advise us|whatever the|fine with us|fine by us|fine for us|ok with us|okay with us|all fine|all are fine|works for us|can imagine|could imagine|maybe|perhaps|possibly|probably|presumably|your call|up to you|your choice|you choose|you decide|you pick|your decision|you may choose|you can choose|you can decide|as you like|as you prefer|as you see fit|as you wish|at your discretion|feel free|whatever you|whatever is|whatever works|whatever fits|whatever seems|or whatever|whichever you|whichever is|whichever works|whichever seems|whichever fits|what you like|what you prefer|what you think|what you like best|what suits|open to suggestions|open to ideas|open to proposals|open for suggestions|suggestions welcome|suggestions are welcome|ideas welcome|not sure|unsure|not certain|no idea|don't know|do not know|dont know|haven't decided|have not decided|not decided|hasn't been decided|has not been decided|can't decide|cannot decide|undecided|still deciding|still discussing|still under discussion|under discussion|still being discussed|being discussed|is being debated|still debating|to discuss|we'll see|we will see|let's see|open question|open point|question is whether|the question is|either is fine|either would work|either would do|either is ok|either one|either will do|either way is fine|both are fine|both would be fine|both are ok|both would work|both work|both would do|any of them|any is fine|any will do|any would do|any of these|any of those|no preference|no strong preference|no strong opinion|don't care|do not care|doesn't matter|does not matter which|we are flexible|we're flexible|flexible on|flexible here|if time allows|if time permits|if there is time|if there's time|if we have time|if time remains|time permitting|if budget allows|if budget permits|if the budget allows|if there is money|if there's money|if there is budget|budget permitting|if it is cheap|if affordable|if not too expensive|if it's not too|if it is not too|if possible|if feasible|where possible|nice to have|nice-to-have|would be nice|would be good|would be great|would be cool|would be fine|would be ok|would also work|would also be|would also do|would do too|ideally|or so|or something|or similar|or something similar|or the like|or equivalent|or anything|or both|or neither|or maybe|or perhaps|or possibly|or even|or rather|or alternatively|and/or|alternatively|something like|some kind of|some sort of|somewhere between|somewhere around|anywhere between|i think|we think|i guess|i suppose|we suppose|i believe|i'd say|may or may not|might or might not|to taste|tends to be|leaning towards|leaning toward|we lean|more or less|could live with|can live with|would be happy with|happy with either|happy with any|if you want|if you like|if wanted|if desired|if needed|if necessary|as needed|as appropriate|as necessary|can also be|some people want|some want|others want|others prefer|some prefer|we are torn|torn between|not settled|jury is still out|likely|unclear|remains to be seen|remains unclear|preferably|if anyone wants|unless someone objects|depending on budget|depending on the budget|depending on time|depending on cost|depending on the cost|depending on effort|depending on what|depending on how|depending on who|depending on taste|depending on mood|hard to say|toss-up|tossup|pick one|choose one|take your pick|in two minds|of two minds|opinions differ|opinions vary|no decision|decision pending|decision is open|decision open|make a suggestion|suggest something|suggest one|propose something|what do you think|your suggestion|you tell us|surprise us",
    ),
    (Cue::Might, "could|might|would"),
    (Cue::Depends, "depends|depending"),
    (Cue::Either, "either"),
    (Cue::Versus, "vs|versus|vs."),
    (
        Cue::Upper,
        "at most|no more than|not more than|up to|within|less than|fewer than|under|below|not exceed|never exceed|never exceeds|must not exceed|does not exceed|no longer than|not longer than|limited to|a maximum of|maximum of|max|maximum|capped at|cap of|no later than|not later than|no bigger than|no larger than|no higher than|shorter than|smaller than|lower than|max.|maximum is|room for|space for|seats for|capacity of|capacity is|holds|seats|in under|stays below|stay below|stays under|limit is|limit of|limit",
    ),
    (
        Cue::Lower,
        "at least|no less than|not less than|no fewer than|not fewer than|a minimum of|minimum of|minimum|min|minimum is|must exceed|not below|never below|not under|never less than|no shorter than|not shorter than|not before|must be over|must be above|must be more than|must be longer than|should be over|should be above|no earlier than|waits at least",
    ),
    (
        Cue::Takes,
        "~take|~wait|~last|~sleep|~pause|~need|~require|~run for|~hold|~delay",
    ),
    (
        Cue::Retention,
        "overwritten after|~expire #|~keep for|~store for|~retain for|~archive for|deleted after|removed after|purged after|erased after|expire after|expires after|expired after|dropped after|retention|retention of|retention is|retention period|retention time|available for|wiped after|~keep|discarded after|delete after|remove after|anonymised after|stored at least|valid for|deleted #|removed #|purged #|erased #|kept at least|kept up to|kept #|deleted within|stored #|retained #|wiped #|anonymised #|kept for #|deleted at|disappear after|vanish after",
    ),
    (
        Cue::Forever,
        "forever|indefinitely|permanently|for ever|never deleted|for good",
    ),
];

/// The cues of single kinds.
pub(super) fn cues() -> &'static [(Cue, &'static str)] {
    CUES
}

/// Every cue with its phrases.
pub(super) fn all() -> impl Iterator<Item = (Cue, &'static str)> {
    let families = families().iter().enumerate().flat_map(|(i, f)| {
        let i = i as u16;
        [
            (Cue::Family(i, Side::A), f.a),
            (Cue::Family(i, Side::B), f.b),
        ]
    });
    CUES.iter().map(|(c, t)| (*c, *t)).chain(families)
}

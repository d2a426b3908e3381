//! Deeds: classes of verbs. What is denied in one word of a class is done by the other words of it. Tables only; see
//! `deeds`.

/// Words that deny the whole class where they are denied, and words that do it.
pub(crate) struct Class {
    pub denied: &'static str,
    pub done: &'static str,
}

const fn class(denied: &'static str, done: &'static str) -> Class {
    Class { denied, done }
}

/// The classes; the number of a class is its place, 32 at most.
pub(crate) const CLASSES: &[Class] = &[
    // Seeing and being shown.
    class(
        "see view read know learn hear look show display print publish reveal disclose expose appear list visible accessible readable tell mention \
         recognise recognize discover notice find inspect watch state identify present betray divulge leak known seen shown told",
        "see view read know learn hear look show display print publish reveal disclose expose appear list visible readable mention announce post read-out \
         stand stands tell told told printed listed named recognise recognize watch inspect browse visible highlight state project broadcast search scan analyse analyze hang hangs leaf consult study check moderate monitor examine control",
    ),
    // Changing.
    class(
        "change alter modify edit touch adjust amend revise rewrite tamper manipulate meddle interfere unchanged untouched unaltered frozen immutable constant",
        "change alter modify edit adjust amend revise rewrite correct fill replace wrap convert rename round insert overwrite reset translate modernise \
         modernize normalise normalize trim renumber reformat shorten merge strip reorder swap rescale crop retouch fix patch reword update retrain \
         retune reduce increase raise lower decrease recolour recolor straighten transform transpose reshape capitalise capitalize tidy clean restructure rearrange",
    ),
    // Losing and deleting.
    class(
        "delete remove erase lose lost discard drop throw purge wipe destroy vanish disappear forget shred truncate dispose",
        "delete remove erase lose lost discard drop throw thrown purge wipe destroy vanish disappear overwrite overwritten prune truncate shred evict expunge dispose pulp",
    ),
    // Keeping.
    class(
        "store keep save hold retain record log collect persist archive remember cache gather track note register capture reach enter",
        "store keep save hold retain record log collect persist archive remember cache gather replay note register capture track file",
    ),
    // Giving away.
    class(
        "leave send transmit upload share pass forward disclose hand transfer export sell give supply distribute",
        "send transmit upload share pass forward disclose transfer export stream replicate copy synchronise sync mail e-mail email submit handed sell lend supply distribute publish get receive go reach arrive",
    ),
    // Being written to, called, reminded.
    class(
        "receive get contact notify remind call phone ring disturb wake mail e-mail email message text bother inform write telephone approach send",
        "receive remind notify mail e-mail email send inform alert text call phone ring write wake warn invite message telephone ping page contact deliver tell get go arrive come reach",
    ),
    // Using.
    class(
        "use employ apply need require rely depend involve run consult resort draw",
        "use employ apply need require rely depend run take learn work consult call load fetch train query evaluate",
    ),
    // Paying.
    class(
        "pay cost charge bill invoice owe",
        "pay cost charge bill invoice owe deposit debit collect due transfer",
    ),
    // Letting in.
    class(
        "accept admit allow permit take enter join participate attend register book visit serve let sign enrol enroll apply",
        "accept admit allow permit welcome join participate attend register book visit enrol enroll serve take enter eligible sign apply",
    ),
    // Interrupting.
    class(
        "stop interrupt pause halt suspend cease shut unavailable break",
        "stop interrupt pause halt suspend cease shut restart reboot unavailable offline close taken-down stand-still",
    ),
    // Lengthening.
    class(
        "extend renew prolong lengthen postpone",
        "extend renew prolong lengthen postpone longer",
    ),
    // Giving money back.
    class(
        "refund repay reimburse refundable",
        "refund repay reimburse refundable credited",
    ),
    // Printing.
    class(
        "print",
        "print printed paper letter post printout leaflet poster brochure",
    ),
    // Cancelling.
    class(
        "cancel withdraw revoke terminate annul undo reverse",
        "cancel withdraw revoke terminate annul undo reverse call-off restore",
    ),
    // Asking back.
    class(
        "ask prompt question request demand inquire",
        "ask prompt confirm type answer enter choose request demand",
    ),
    // Joining and sharing.
    class(
        "join merge combine share pool mix aggregate group",
        "join merge combine share pool mix aggregate group common jointly together",
    ),
    // Lending.
    class(
        "lend borrow loan rent hire",
        "lend borrow loan rent hire lent take-home",
    ),
    // Copying.
    class(
        "copy duplicate reproduce photocopy clone replicate mirror",
        "copy duplicate reproduce photocopy clone replicate mirror",
    ),
    // Putting on a machine.
    class(
        "install download deploy",
        "install download deploy set-up register",
    ),
    // Checking.
    class(
        "check verify validate inspect test examine proofread review",
        "check verify validate inspect test examine proofread review compare",
    ),
    // Turning away.
    class(
        "refuse reject decline block deny exclude lock ban suspend bar turn",
        "refuse reject decline block deny exclude lock ban suspend bar dismiss bounce",
    ),
    // Being there.
    class(
        "stay work attend present stand walk sit step",
        "stand sit work stay attend supervise operate wait walk step serve watch hand help",
    ),
    // Travelling.
    class(
        "drive travel move turn rotate go leave",
        "drive travel move turn rotate cruise sail fly cross",
    ),
    // Judging and scoring.
    class(
        "grade rate score rank judge mark evaluate assess",
        "grade rate score rank judge mark evaluate assess",
    ),
    // Beginning by itself.
    class(
        "start begin launch open trigger resume restart",
        "start begin launch open trigger resume restart boot wake",
    ),
    // Selling.
    class(
        "sell buy order purchase trade",
        "sell buy order purchase trade sold bought offer",
    ),
    // Recording pictures and sound.
    class(
        "film photograph record listen capture videotape",
        "film photograph record listen capture recorded camera microphone",
    ),
    // Writing and putting in.
    class(
        "post write submit create add enter upload contribute comment type fill",
        "post write submit create add enter upload contribute appear type fill comment",
    ),
    // Deciding.
    class(
        "decide approve grant authorise authorize sign release confirm settle determine",
        "decide approve grant authorise authorize sign release confirm settle determine allow permit",
    ),
    // Letting somebody off.
    class(
        "forgive waive remit excuse write-off",
        "forgive waive remit excuse write-off cancel drop",
    ),
    // Repeating.
    class(
        "repeat retry resend reuse again recycle reissue",
        "repeat retry resend reuse again recycle reissue anew",
    ),
];

/// The place of the class of being there.
pub(crate) const PRESENCE: usize = 21;

/// Things that are of a kind: who speaks of the kind speaks of each of them.
pub(crate) const KINDS: &[(&str, &str)] = &[
    (
        "personal",
        "name surname birthday birth address phone telephone mail iban passport photo gender nationality salary personnel e-mail age occupation religion diagnosis",
    ),
    (
        "message",
        "mail sms push letter reminder newsletter notification text call invitation",
    ),
    ("notification", "mail sms push reminder message alert"),
    (
        "paper",
        "letter printout form leaflet poster booklet folder sheet brochure",
    ),
    ("money", "euro cent dollar pound cash fee payment coin"),
    (
        "vehicle",
        "car bus truck lorry van bike bicycle tractor motorcycle",
    ),
    ("animal", "dog cat horse cow sheep bird goat pig"),
    ("alcohol", "beer wine spirits liquor whisky"),
    ("weekend", "saturday sunday"),
    ("mail", "newsletter reminder"),
    ("picture", "photo drawing illustration portrait screenshot"),
    ("food", "bread meal lunch breakfast snack sandwich"),
    (
        "staff",
        "employee clerk attendant assistant colleague caretaker technician operator librarian nurse intern trainee apprentice manager",
    ),
    (
        "text",
        "space word spelling line letter sentence paragraph punctuation comma typo heading title wording",
    ),
    ("smartphone", "app ios android"),
    ("child", "pupil toddler baby minor teenager"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence_names_the_class_of_being_there() {
        assert!(CLASSES[PRESENCE].denied.contains("attend present"));
        assert!(CLASSES.len() <= 32);
    }
}

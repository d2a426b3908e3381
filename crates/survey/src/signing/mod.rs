//! The second and third question about what was judged: is it signed, and is it trusted. `runseal-trust`
//! decides what a signature means; this module finds the signatures, and what they must be over.

mod beside;
mod judge;
mod place;
mod target;

pub(crate) use beside::read_beside_entry;
pub use beside::{
    SIGNATURE_FORMS, SignatureForm, files_beside_entry, path_beside, path_with_name, read_beside,
};
pub use judge::{
    ArchiveSignatures, AskedLog, JudgedUnit, LoadedPolicy, PolicyFileError, SignatureJudge,
    TrustQuestion, chain_beside, judge_trust, load_policy,
};
pub use target::{Signable, read_signable};

//! The second and third question about what was judged: is it signed, and is it trusted. What a
//! signature means is decided in `runseal-trust`; here is found what lies beside what it signs, and
//! what has to be signed.

mod beside;
mod judge;
mod place;
mod target;

pub(crate) use beside::read_beside_entry;
pub use beside::{
    BESIDE, SignatureForm, files_beside_entry, path_beside, path_with_name, read_beside,
};
pub use judge::{
    AskedLog, JudgedUnit, LoadedPolicy, OuterFiles, PolicyFileError, SignatureJudge, TrustQuestion,
    chain_beside, judge_trust, load_policy,
};
pub use target::{Signable, read_signable};

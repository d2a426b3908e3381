//! The effects of signing: key files, agents and commands that sign, what is to be signed, and
//! signatures that lie beside it. What a signature means is decided in `runseal-trust`.

mod agent;
mod beside;
mod command;
mod judge;
mod key;
mod target;

pub use agent::AgentSigner;
pub use beside::{BESIDE, SignatureForm, path_beside, read_beside};
pub use command::{CommandError, CommandSigner, run_filter};
pub use judge::{
    LoadedPolicy, PolicyFileError, SignatureJudge, TrustQuestion, chain_beside, judge_signatures,
    load_policy,
};
pub use key::{KeyFileError, KeyWarning, PassphraseSource, open_private_key, read_public_key};
pub use target::{Signable, read_signable};

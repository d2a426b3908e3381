//! Who signs: a key file, and the names that go with it.

use std::path::Path;

use runseal_core::formats::receipt::attestation::{Identity, Key};
use runseal_core::verify::Outcome;
use runseal_engine::input::Input;
use runseal_engine::keys::{MAX_KEY_BYTES, parse_key};

use crate::error::CliError;

/// The names that an attestation carries.
#[derive(Debug, clap::Args)]
pub struct SignerArgs {
    /// Who validates, as the attestation names it.
    #[arg(long, value_name = "ID")]
    validator_id: Option<String>,
    /// The build that validates, such as git:0123abc.
    #[arg(long, value_name = "ID")]
    build_id: Option<String>,
}

impl SignerArgs {
    /// The names.
    pub fn identity(&self) -> Identity {
        Identity {
            validator_id: self.validator_id.clone(),
            build_id: self.build_id.clone(),
        }
    }

    /// Reads a key file.
    pub fn read_key(&self, path: &Path) -> Result<Key, CliError> {
        let input = Input::from_argument(Some(path));
        parse_key(&input.read(MAX_KEY_BYTES)?).map_err(|error| {
            CliError::new(Outcome::Unreadable, "KEY", error.to_string())
                .at(input.shown())
                .hint("`runseal keygen -o FILE` makes a key")
        })
    }
}

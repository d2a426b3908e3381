//! Who signs a receipt: a key file, and the names that go with it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use runseal_core::formats::receipt::attestation::{Identity, Key};
use runseal_core::verify::Outcome;
use runseal_fs::input::Input;
use runseal_fs::keys::{MAX_KEY_BYTES, parse_key};

use crate::error::CliError;
use crate::ui;

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
    /// Whether a name was given.
    pub fn is_given(&self) -> bool {
        self.validator_id.is_some() || self.build_id.is_some()
    }

    /// The names as an attestation carries them.
    pub fn identity(&self) -> Identity {
        Identity {
            validator_id: self.validator_id.clone(),
            build_id: self.build_id.clone(),
        }
    }

    /// Reads a key file, and warns if other users can read it too.
    pub fn read_key(&self, path: &Path) -> Result<Key, CliError> {
        let input = Input::from_argument(Some(path));
        if let Input::File(path) = &input {
            warn_if_shared(path);
        }
        parse_key(&input.read(MAX_KEY_BYTES)?).map_err(|error| {
            CliError::new(Outcome::Unreadable, "KEY", error.to_string())
                .at(input.shown())
                .hint("`runseal keygen -o FILE` makes a key")
        })
    }
}

/// Warns about a private key that other users can read: they could sign with it too.
fn warn_if_shared(path: &Path) {
    // If this fails, reading the file fails too and says why.
    let metadata = std::fs::metadata(path);
    let Some(metadata) = metadata.ok().filter(std::fs::Metadata::is_file) else {
        return;
    };
    let mode = metadata.permissions().mode() & 0o777;
    let readers = match (mode & 0o004 != 0, mode & 0o040 != 0) {
        (true, _) => "everybody on this machine",
        (false, true) => "its group",
        (false, false) => return,
    };
    let shown = path.display();
    ui::tell(&format!(
        "warning: the private key `{shown}` can be read by {readers} (mode {mode:04o})\n\
         hint: `chmod 600 {shown}`, or make a new key if others had access"
    ));
}

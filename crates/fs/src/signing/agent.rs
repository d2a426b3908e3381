//! A key that an SSH agent holds.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use runseal_trust::keys::ssh::{agent_sign_request, parse_agent_signature};
use runseal_trust::keys::{PublicKey, SignError, Signer};

/// The most bytes of an agent's answer: a signature has a few hundred.
const MAX_ANSWER: u32 = 64 << 10;

/// Signs through an agent's socket.
#[derive(Debug)]
pub struct AgentSigner {
    socket: PathBuf,
    key: PublicKey,
}

impl AgentSigner {
    /// The agent at `socket` that holds `key`.
    pub fn new(socket: PathBuf, key: PublicKey) -> Self {
        Self { socket, key }
    }

    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.write_all(request)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > MAX_ANSWER {
            return Err(io::Error::other("its answer is too long"));
        }
        let mut answer = Vec::new();
        stream.take(u64::from(length)).read_to_end(&mut answer)?;
        Ok(answer)
    }
}

impl Signer for AgentSigner {
    fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let answer = self
            .ask(&agent_sign_request(&self.key, message))
            .map_err(|error| SignError(format!("the SSH agent cannot be asked: {error}")))?;
        parse_agent_signature(&self.key, &answer).ok_or_else(|| {
            SignError("the SSH agent does not hold the key, or refuses to sign with it".to_owned())
        })
    }
}

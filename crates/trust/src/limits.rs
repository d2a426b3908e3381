//! Every limit of this crate, with the attack that it stops.

/// The size of a signature file: an envelope of a gigabyte is refused before it is read.
pub const MAX_SIGNATURE_FILE_BYTES: u64 = 16 << 20;

/// Lines read from one signature file.
pub const MAX_SIGNATURE_LINES: usize = 1_000;

/// Signatures in one envelope: each may cost a check with every known key.
pub const MAX_ENVELOPE_SIGNATURES: usize = 64;

/// Distinct signatures checked for one unit.
pub const MAX_SIGNATURES: usize = 256;

/// Signature checks for one unit: 64,000 signatures fit into a small archive, and each could be
/// tried with every key of the policy.
pub const MAX_CHECKS_A_UNIT: u32 = 1_000;

/// Signature checks for everything in one file: an archive may contain thousands of units.
pub const MAX_CHECKS_A_FILE: u32 = 20_000;

/// Signature checks for a chain of policies.
pub const MAX_CHECKS_A_CHAIN: u32 = 20_000;

/// Tokens on one signature.
pub const MAX_TIMESTAMPS: usize = 16;

/// The length of a predicate's type, and of a name, meaning or time that a signer states: each
/// signature of an envelope repeats them.
pub const MAX_STATED_BYTES: usize = 1_000;

/// Subjects of a statement that an answer names.
pub const MAX_NAMED_SUBJECTS: usize = 16;

/// Counter-signed envelopes that one statement names.
pub const MAX_PREVIOUS: usize = 64;

/// Subjects of one statement that are compared.
pub const MAX_SUBJECTS: usize = 100_000;

/// Files of a folder that become subjects one by one; a larger folder has only its directory hash.
pub const MAX_LISTED_FILES: usize = 1_000;

/// The size of a key file.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// The size of a policy.
pub const MAX_POLICY_BYTES: u64 = 1 << 20;

/// Signers of one policy.
pub const MAX_SIGNERS: usize = 1_000;

/// Rules of one policy.
pub const MAX_RULES: usize = 1_000;

/// Versions in one chain of policies.
pub const MAX_CHAIN: usize = 1_024;

/// The size of a time stamping authority's answer.
pub const MAX_TOKEN_BYTES: u64 = 1 << 20;

/// Certificates read from one token, and the length of a path from one to its root.
pub const MAX_CERTIFICATES: usize = 16;

/// The costliest scrypt that a key file may ask for: 2^20 rounds of 8 blocks are one gigabyte.
pub const MAX_SCRYPT_LOG_N: u8 = 20;

/// The costliest bcrypt that a key file may ask for. `ssh-keygen` writes 16 or 24 rounds, and
/// people who want more take 100; 4,000 rounds take minutes.
pub const MAX_BCRYPT_ROUNDS: u32 = 256;

/// The costliest PBKDF2 that a key file may ask for: ten times today's recommendation.
pub const MAX_PBKDF2_ROUNDS: u32 = 10_000_000;

//! Every bound of this crate, with the attack that it stops.

/// The longest signature file: an envelope of a gigabyte is refused before it is read.
pub const MAX_SIGNATURE_FILE_BYTES: u64 = 16 << 20;

/// Lines of one signature file that are looked at.
pub const MAX_SIGNATURE_LINES: usize = 1_000;

/// Signatures of one envelope: each costs a verification with every known key.
pub const MAX_ENVELOPE_SIGNATURES: usize = 64;

/// Tokens on one signature.
pub const MAX_TIMESTAMPS: usize = 16;

/// Subjects of one statement that are compared.
pub const MAX_SUBJECTS: usize = 100_000;

/// Files of a folder that become subjects one by one; a larger folder has its directory hash alone.
pub const MAX_LISTED_FILES: usize = 1_000;

/// The longest key file.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// The longest policy, and the longest chain of policies.
pub const MAX_POLICY_BYTES: u64 = 1 << 20;

/// Signers of one policy.
pub const MAX_SIGNERS: usize = 1_000;

/// Rules of one policy.
pub const MAX_RULES: usize = 1_000;

/// Versions in one chain of policies.
pub const MAX_CHAIN: usize = 1_024;

/// The longest answer of a time stamping authority.
pub const MAX_TOKEN_BYTES: u64 = 1 << 20;

/// Certificates that are looked at between a token and its root.
pub const MAX_CERTIFICATES: usize = 16;

/// The costliest scrypt that a key file may ask for: 2^20 rounds of 8 blocks are one gigabyte.
pub const MAX_SCRYPT_LOG_N: u8 = 20;

/// The costliest bcrypt that a key file may ask for.
pub const MAX_BCRYPT_ROUNDS: u32 = 4_096;

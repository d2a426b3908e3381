//! Landlock, on top of the namespaces: even if a mount were wrong, the command could write only
//! below its writable folders, bind or connect no TCP port, and reach no abstract socket and no
//! process outside.
//!
//! Everything that the running kernel's version knows is asked for and must be enforced in full;
//! best effort is not enough.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::io::Errno;

use super::report::Failure;
use crate::error::{Layer, Missing};
use crate::spec::{INSIDE_TMP, INSIDE_WORK};

/// Versions that brought new rights, newest first; the others changed logging and threads only.
const VERSIONS: [ABI; 7] = [
    ABI::V9,
    ABI::V6,
    ABI::V5,
    ABI::V4,
    ABI::V3,
    ABI::V2,
    ABI::V1,
];

/// Folders a command may change.
const WRITABLE: [&str; 3] = [INSIDE_WORK, INSIDE_TMP, "/dev/shm"];
/// Devices a command may use.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    ZERO,
];
const ZERO: &str = "/dev/zero";

/// The newest version whose every right the kernel handles.
pub(super) fn find_version() -> Result<ABI, Missing> {
    VERSIONS
        .into_iter()
        .find(|abi| create_ruleset(*abi).is_ok())
        .ok_or_else(|| Missing {
            layer: Layer::Landlock,
            reason: "the kernel offers no version of it".to_owned(),
        })
}

fn create_ruleset(abi: ABI) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    // Ports came with the fourth version, scopes with the sixth.
    if abi >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    ruleset.create()
}

/// Restricts this process and all it will start, for good.
pub(super) fn restrict(abi: ABI, unix_sockets: bool) -> Result<(), Failure> {
    match try_restrict(abi, unix_sockets) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure(Layer::Landlock, Errno::NOTSUP)),
        Err(_) => Err(Failure(Layer::Landlock, last_errno())),
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOTSUP)
}

fn try_restrict(abi: ABI, unix_sockets: bool) -> Result<bool, Box<dyn std::error::Error>> {
    let all = AccessFs::from_all(abi);
    let mut see = AccessFs::from_read(abi);
    if unix_sockets {
        see |= all & AccessFs::ResolveUnix;
    }
    let change = all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let device: BitFlags<AccessFs> =
        all & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev);
    // Who may write to it can map it as shared memory that no limit counts.
    let zero = device & !(AccessFs::WriteFile | AccessFs::Truncate);

    let mut ruleset = create_ruleset(abi)?.add_rule(PathBeneath::new(PathFd::new("/")?, see))?;
    for folder in WRITABLE {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(folder)?, change))?;
    }
    for path in DEVICES {
        let rights = if path == ZERO { zero } else { device };
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, rights))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs)
}

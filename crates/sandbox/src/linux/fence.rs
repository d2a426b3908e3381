//! Landlock, on top of the namespaces: even if a mount were wrong, the command could write only
//! below its writable folders, bind no TCP port, connect to none but the one it was given, and reach no abstract socket and no
//! process outside.
//!
//! Everything that the running kernel's version knows is asked for and must be enforced in full;
//! best effort is not enough.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::io::Errno;

use super::report::Failure;
use crate::error::{Layer, Missing};

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

/// Devices a command may use.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    ZERO,
];
const ZERO: &str = "/dev/zero";
/// The controlling terminal of whoever opens it.
pub(super) const OWN_TERMINAL: &str = "/dev/tty";
/// The folder of a sandbox's own terminals.
pub(super) const TERMINALS: &str = "/dev/pts";

/// The newest version whose every right the kernel handles.
pub(super) fn find_version() -> Result<ABI, Missing> {
    VERSIONS
        .into_iter()
        .find(|abi| create_ruleset(*abi, false).is_ok())
        .ok_or_else(|| Missing {
            layer: Layer::Landlock,
            reason: "the kernel offers no version of it".to_owned(),
        })
}

/// Whether a version restricts TCP ports.
pub(super) fn holds_ports(abi: ABI) -> bool {
    abi >= ABI::V4
}

/// Whether a version restricts truncating a file by its path.
pub(super) fn holds_truncation(abi: ABI) -> bool {
    abi >= ABI::V3
}

fn create_ruleset(
    abi: ABI,
    has_own_network: bool,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    // Ports came with the fourth version, scopes with the sixth.
    if holds_ports(abi) && !has_own_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if abi >= ABI::V6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    ruleset.create()
}

/// How far its TCP sockets may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FencedNetwork {
    /// Nowhere.
    None,
    /// To this port, which it may connect to.
    Port(u16),
    /// As far as its network namespace goes.
    Own,
}

/// What a command may see and change. Everything else is closed to it.
pub(super) struct Fence {
    pub(super) abi: ABI,
    /// Whether it may reach Unix sockets that it can see.
    pub(super) unix_sockets: bool,
    pub(super) network: FencedNetwork,
    /// Places to read and execute from.
    pub(super) readable: Vec<PathBuf>,
    /// Folders to change as well.
    pub(super) writable: Vec<PathBuf>,
    /// Terminals, and folders of them, that it may use.
    pub(super) terminals: Vec<PathBuf>,
    /// Further devices that it was given.
    pub(super) devices: Vec<PathBuf>,
}

/// Restricts this process and all it will start, for good.
pub(super) fn restrict(fence: &Fence) -> Result<(), Failure> {
    match try_restrict(fence) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure(Layer::Landlock, Errno::NOTSUP)),
        Err(_) => Err(Failure(Layer::Landlock, last_errno())),
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOTSUP)
}

fn try_restrict(fence: &Fence) -> Result<bool, Box<dyn std::error::Error>> {
    let abi = fence.abi;
    let all = AccessFs::from_all(abi);
    let mut see = AccessFs::from_read(abi);
    if fence.unix_sockets {
        see |= all & AccessFs::ResolveUnix;
    }
    let change = all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let device: BitFlags<AccessFs> =
        all & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev);
    // Who may write to it can map it as shared memory that no limit counts.
    let zero = device & !(AccessFs::WriteFile | AccessFs::Truncate);

    let mut ruleset = create_ruleset(abi, fence.network == FencedNetwork::Own)?;
    for place in &fence.readable {
        let rights = if place.is_dir() {
            see
        } else {
            see & AccessFs::from_file(abi)
        };
        // What this user cannot reach needs no rule to be closed.
        if let Ok(opened) = PathFd::new(place) {
            ruleset = ruleset.add_rule(PathBeneath::new(opened, rights))?;
        }
    }
    for folder in &fence.writable {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(folder)?, change))?;
    }
    for path in DEVICES {
        let rights = if path == ZERO { zero } else { device };
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, rights))?;
    }
    for path in &fence.devices {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, device))?;
    }
    for path in &fence.terminals {
        let rights = match path.is_dir() {
            true => device | AccessFs::ReadDir,
            false => device,
        };
        // A machine may have none.
        if let Ok(opened) = PathFd::new(path) {
            ruleset = ruleset.add_rule(PathBeneath::new(opened, rights))?;
        }
    }
    // Before the fourth version ports are nobody's; then the namespace alone keeps the others away.
    if let FencedNetwork::Port(port) = fence.network
        && holds_ports(abi)
    {
        ruleset = ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs)
}

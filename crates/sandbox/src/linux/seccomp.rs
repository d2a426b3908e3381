//! Which system calls a command may make.
//!
//! Two filters: an allow list (everything else answers ENOSYS, so that a libc falls back from
//! newer calls such as clone3, whose arguments a filter cannot see) and above it a list of calls
//! that answer EPERM, with conditions on arguments. A call of another architecture ends the
//! process; a call through the x32 numbers is not on the allow list.

mod calls;

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use self::calls::{ALLOWED, NAMESPACE_FLAGS, ORDINARY, REFUSED};
use super::command::Filters;
use super::metadata;
use crate::error::{Layer, Missing};

/// What the filters depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilterOptions {
    /// Whether Unix sockets may be made.
    pub(super) unix_sockets: bool,
    /// Whether TCP sockets of IPv4 may be made; where they may connect to, others decide.
    pub(super) tcp_sockets: bool,
    /// Whether files may be made that never had a name: only where their size is bounded.
    pub(super) nameless_files: bool,
    /// Whether the command has a network, memory and limits as on any machine: then sockets lead nowhere else,
    /// and shared memory is as good as any.
    pub(super) is_ordinary: bool,
    /// Whether somebody is to hear of sockets that are refused.
    pub(super) is_observed: bool,
    /// Where the command sees the host's own files and processes.
    pub(super) shared_view: Option<SharedView>,
}

/// What Landlock does not look at is refused then, as far as it concerns others.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedView {
    /// Whether Landlock looks at files that are truncated by their path.
    pub(super) truncate: bool,
}

/// The filters of a sandboxed command.
pub(super) fn compile_filters(options: FilterOptions) -> Result<Filters, Missing> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| Missing {
        layer: Layer::Platform,
        reason: format!("no seccomp filter for `{}`", std::env::consts::ARCH),
    })?;
    let refusing = |rules| -> Result<BpfProgram, seccompiler::BackendError> {
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
    };
    let compiled = || -> Result<Filters, seccompiler::BackendError> {
        let allow = SeccompFilter::new(
            allowed_calls(options),
            SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
            SeccompAction::Allow,
            arch,
        )?;
        let mut told = refused_calls(options)?;
        let mut rules = told.clone();
        if options.shared_view.is_some() {
            rules.extend(metadata::CALLS.iter().map(|call| (*call, Vec::new())));
        }
        let refuse = refusing(rules)?;
        // A refusal here would come before anyone could hear of the call.
        if options.is_observed && !options.is_ordinary {
            told.remove(&libc::SYS_socket);
        }
        let is_told = options.is_observed || options.shared_view.is_some();
        let refuse_when_observed = is_told.then(|| refusing(told)).transpose()?;
        Ok(Filters {
            allow: allow.try_into()?,
            refuse,
            refuse_when_observed,
        })
    };
    compiled().map_err(|error| Missing {
        layer: Layer::Seccomp,
        reason: error.to_string(),
    })
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// The part of a socket's second argument that says what kind it is; the rest are flags.
const SOCKET_TYPE: u64 = 0xf;

fn allowed_calls(options: FilterOptions) -> Rules {
    ALLOWED
        .iter()
        // Its flags lie in memory, where no filter sees them; programs fall back to openat.
        .filter(|call| options.nameless_files || **call != libc::SYS_openat2)
        .chain(ORDINARY.iter().filter(|_| options.is_ordinary))
        .map(|call| (*call, Vec::new()))
        .collect()
}

/// Calls that answer EPERM. Those without conditions are listed although the allow list already
/// leaves them out: their refusal should read as one.
fn refused_calls(options: FilterOptions) -> Result<Rules, seccompiler::BackendError> {
    let refused = REFUSED
        .iter()
        .filter(|call| !(options.is_ordinary && ORDINARY.contains(call)));
    let mut rules: Rules = refused.map(|call| (*call, Vec::new())).collect();
    refuse_everywhere(&mut rules)?;
    if options.is_ordinary {
        rules.insert(libc::SYS_socket, foreign_sockets(options.unix_sockets)?);
        if !options.unix_sockets {
            // Without an overlay between, one that has a name may be the host's.
            rules.insert(libc::SYS_socketpair, datagram_sockets()?);
        }
    } else {
        refuse_beside_the_ordinary(&mut rules, options)?;
    }
    if let Some(view) = options.shared_view {
        refuse_what_others_have(&mut rules, view)?;
    }
    Ok(rules)
}

/// Sockets that are neither the command's own machine's nor of its network.
fn foreign_sockets(unix_sockets: bool) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, Ne};
    let mut kept = vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    if unix_sockets {
        kept.push(libc::AF_UNIX);
    }
    let others: Result<Vec<_>, _> = kept.into_iter().map(|it| argument(0, Ne, it)).collect();
    // What interfaces and addresses there are; nothing else of the kernel.
    let netlink = vec![
        argument(0, Eq, libc::AF_NETLINK)?,
        argument(2, Ne, libc::NETLINK_ROUTE)?,
    ];
    Ok(vec![SeccompRule::new(others?)?, SeccompRule::new(netlink)?])
}

/// What a command that is the same on every machine does without, or that no limit counts.
fn refuse_beside_the_ordinary(
    rules: &mut Rules,
    options: FilterOptions,
) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    // Sockets: none, or those of the machine-local kind that a mounted one needs.
    let not_unix = argument(0, Ne, libc::AF_UNIX)?;
    let mut no_stream = vec![SeccompRule::new(vec![not_unix])?];
    no_stream.extend(datagram_sockets()?);
    rules.insert(libc::SYS_socketpair, no_stream.clone());
    let socket = match (options.unix_sockets, options.tcp_sockets) {
        (false, false) => Vec::new(),
        (true, false) => no_stream,
        (unix_sockets, true) => refused_sockets(unix_sockets)?,
    };
    rules.insert(libc::SYS_socket, socket);
    if options.tcp_sockets {
        // Whoever may connect need not be connected to.
        rules.insert(libc::SYS_listen, Vec::new());
    }

    // Every socket counts with the buffer that the kernel gives it; it must not hold more.
    let mut buffers = Vec::new();
    for option in [
        libc::SO_SNDBUF,
        libc::SO_RCVBUF,
        libc::SO_SNDBUFFORCE,
        libc::SO_RCVBUFFORCE,
    ] {
        let level = argument(1, Eq, libc::SOL_SOCKET)?;
        buffers.push(SeccompRule::new(vec![level, argument(2, Eq, option)?])?);
    }
    rules.insert(libc::SYS_setsockopt, buffers);

    // So does every pipe.
    let size = SeccompRule::new(vec![argument(1, Eq, libc::F_SETPIPE_SZ)?])?;
    rules.insert(libc::SYS_fcntl, vec![size]);

    // Shared memory without a file outlives its mapping in part or whole and is then counted
    // nowhere; huge pages never are. Files in /dev/shm serve instead, whose size is bounded.
    let mut mappings = Vec::new();
    for kind in [libc::MAP_SHARED, libc::MAP_SHARED_VALIDATE] {
        let mask = u64::from((libc::MAP_TYPE | libc::MAP_ANONYMOUS).unsigned_abs());
        let shared = argument(3, MaskedEq(mask), kind | libc::MAP_ANONYMOUS)?;
        mappings.push(SeccompRule::new(vec![shared])?);
    }
    let mask = u64::from(libc::MAP_HUGETLB.unsigned_abs());
    let huge = argument(3, MaskedEq(mask), libc::MAP_HUGETLB)?;
    mappings.push(SeccompRule::new(vec![huge])?);
    rules.insert(libc::SYS_mmap, mappings);

    if !options.nameless_files {
        // Without the bit for folders, which stands for opening one when it is alone.
        let flag = libc::O_TMPFILE & !libc::O_DIRECTORY;
        let mask = u64::from(flag.unsigned_abs());
        let at = SeccompRule::new(vec![argument(2, MaskedEq(mask), flag)?])?;
        rules.insert(libc::SYS_openat, vec![at]);
        #[cfg(target_arch = "x86_64")]
        {
            let plain = SeccompRule::new(vec![argument(1, MaskedEq(mask), flag)?])?;
            rules.insert(libc::SYS_open, vec![plain]);
        }
    }

    Ok(())
}

/// What no command may do.
fn refuse_everywhere(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    // New namespaces would give back the capabilities that were dropped.
    let mut clone = Vec::new();
    for flag in NAMESPACE_FLAGS {
        let mask = u64::from(flag.unsigned_abs());
        clone.push(SeccompRule::new(vec![argument(0, MaskedEq(mask), flag)?])?);
    }
    rules.insert(libc::SYS_clone, clone);

    // Device nodes, in whatever folder.
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        let mask = u64::from(libc::S_IFMT);
        let kind = c_int::try_from(kind).unwrap_or(0);
        let at = SeccompRule::new(vec![argument(2, MaskedEq(mask), kind)?])?;
        rules.entry(libc::SYS_mknodat).or_default().push(at);
        #[cfg(target_arch = "x86_64")]
        {
            let plain = SeccompRule::new(vec![argument(1, MaskedEq(mask), kind)?])?;
            rules.entry(libc::SYS_mknod).or_default().push(plain);
        }
    }

    // Typing into a terminal one shares with someone.
    let mut terminal = Vec::new();
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        let request = c_int::try_from(request).unwrap_or(0);
        terminal.push(SeccompRule::new(vec![argument(1, Eq, request)?])?);
    }
    rules.insert(libc::SYS_ioctl, terminal);

    // Other execution domains: old, rarely tested code. Asking (-1), the native one and "no
    // address randomization" stay.
    let mut domain = Vec::new();
    for harmless in [0, -1, libc::ADDR_NO_RANDOMIZE] {
        domain.push(argument(0, Ne, harmless)?);
    }
    rules.insert(libc::SYS_personality, vec![SeccompRule::new(domain)?]);
    Ok(())
}

/// Limits and priorities of other processes, and what is said of a file by ioctl: Landlock looks at none
/// of it. Zero is the process itself.
fn refuse_what_others_have(
    rules: &mut Rules,
    view: SharedView,
) -> Result<(), seccompiler::BackendError> {
    use SeccompCmpOp::{MaskedEq, Ne};
    let other = |index| argument(index, Ne, 0);
    // Asking for the limits of another one stays.
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, Ne, 0)?;
    rules.insert(
        libc::SYS_prlimit64,
        vec![SeccompRule::new(vec![other(0)?, sets])?],
    );
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        rules.insert(call, vec![SeccompRule::new(vec![other(0)?])?]);
    }
    // A process, not a group or all of a user.
    const IOPRIO_WHO_PROCESS: c_int = 1;
    for (call, process) in [
        (libc::SYS_setpriority, 0),
        (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
    ] {
        let group = SeccompRule::new(vec![argument(0, Ne, process)?])?;
        rules.insert(call, vec![group, SeccompRule::new(vec![other(1)?])?]);
    }
    // Attributes, versions, encryption and verity of files: those that take something.
    const TAKES: u32 = 1 << 30;
    const TYPE: u32 = 0xff00;
    let of_type = |letter: u8| {
        let value = TAKES | u32::from(letter) << 8;
        argument(1, MaskedEq(u64::from(TAKES | TYPE)), value.cast_signed())
    };
    let but = |requests: &[u32]| -> Result<Vec<_>, seccompiler::BackendError> {
        let each = requests.iter().map(|it| argument(1, Ne, it.cast_signed()));
        each.collect()
    };
    const FIEMAP: u32 = 0xc020_660b;
    const SET_ENCRYPTION_POLICY: u32 = 0x800c_6613;
    // Copying by reference takes a file that is open for writing; the rest is of Btrfs.
    const CLONE: [u32; 3] = [0x4004_9409, 0x4020_940d, 0xc018_9436];
    let ioctl = rules.entry(libc::SYS_ioctl).or_default();
    for (letter, kept) in [
        (b'f', &[FIEMAP][..]),
        (b'X', &[]),
        (b'v', &[]),
        (0x94, &CLONE),
    ] {
        let mut conditions = vec![of_type(letter)?];
        conditions.extend(but(kept)?);
        ioctl.push(SeccompRule::new(conditions)?);
    }
    let policy = argument(1, SeccompCmpOp::Eq, SET_ENCRYPTION_POLICY.cast_signed())?;
    ioctl.push(SeccompRule::new(vec![policy])?);
    if !view.truncate {
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    Ok(())
}

/// Sockets of datagrams: each can be sent from to any socket that has a name, also if it was made as one of a pair.
fn datagram_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    // Of Unix sockets the kernel takes raw ones for those of datagrams.
    [libc::SOCK_DGRAM, libc::SOCK_RAW]
        .into_iter()
        .map(|kind| {
            let kind = argument(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?;
            SeccompRule::new(vec![kind])
        })
        .collect()
}

/// Every socket but those of TCP over IPv4, and Unix ones where they are allowed.
fn refused_sockets(unix_sockets: bool) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let inet = || argument(0, Eq, libc::AF_INET);
    let mut others = vec![argument(0, Ne, libc::AF_INET)?];
    if unix_sockets {
        others.push(argument(0, Ne, libc::AF_UNIX)?);
    }
    let mut rules = vec![SeccompRule::new(others)?];
    for kind in (0..=15).filter(|kind| *kind != libc::SOCK_STREAM) {
        let kind = argument(1, MaskedEq(SOCKET_TYPE), kind)?;
        rules.push(SeccompRule::new(vec![inet()?, kind])?);
    }
    rules.extend(datagram_sockets()?);
    let protocol = [0, libc::IPPROTO_TCP].map(|known| argument(2, Ne, known));
    let [unnamed, tcp] = protocol;
    rules.push(SeccompRule::new(vec![inet()?, unnamed?, tcp?])?);
    Ok(rules)
}

fn argument(
    index: u8,
    operator: SeccompCmpOp,
    value: c_int,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    // The kernel looks at the lower half of these arguments only, so must the filter.
    let value = u64::from(u32::from_ne_bytes(value.to_ne_bytes()));
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_for_this_machine_compile() {
        for (unix_sockets, nameless_files) in [(false, true), (true, true), (true, false)] {
            let shared_view = (!nameless_files).then_some(SharedView { truncate: false });
            let options = FilterOptions {
                unix_sockets,
                tcp_sockets: nameless_files,
                nameless_files,
                is_ordinary: false,
                is_observed: unix_sockets,
                shared_view,
            };
            let filters = compile_filters(options).unwrap();
            assert!(filters.allow.len() > ALLOWED.len());
            assert!(filters.refuse.len() > REFUSED.len());
            assert_eq!(filters.refuse_when_observed.is_some(), unix_sockets);
        }
    }

    #[test]
    fn refused_calls_are_not_allowed_ones() {
        for call in REFUSED {
            assert!(
                !ALLOWED.contains(call),
                "system call {call} is in both lists"
            );
        }
    }
}

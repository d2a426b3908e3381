//! Which system calls the observer hears of, as a filter program.
//!
//! Written by hand, since the crate that compiles the other filters knows no notifications. The
//! program sees numbers only: what a path is, the observer reads from memory.

use libc::{c_long, sock_filter};

use super::metadata;

/// What the observer is to hear of beside opening and executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// Making a socket, to refuse it.
    Sockets {
        /// Whether Unix sockets are none of its business.
        but_unix: bool,
        /// Whether TCP sockets of IPv4 are none of its business either.
        but_tcp: bool,
    },
    /// Connections, which go on: nothing is refused.
    Connections,
    /// Where something is sent or connected to, beyond the command's own network. It goes on, and leads nowhere.
    Beyond,
}

const ALLOW: u32 = 0x7fff_0000;
const NOTIFY: u32 = 0x7fc0_0000;

/// Offsets in what a filter sees.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(index: u32) -> u32 {
    // The lower half; both architectures are little-endian.
    16 + 8 * index
}

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const NATIVE: u32 = 0;

/// The bits of a socket's type below its flags.
const SOCKET_TYPE: u32 = 0xf;
/// Calls whose flags, in the given argument, tell whether content can be read or written.
const OPENING: &[(c_long, u32)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Calls that are always told.
const ALWAYS: &[c_long] = &[
    libc::SYS_openat2,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_truncate,
    // The new name has the content of the old one.
    libc::SYS_linkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    // The observer leaves out the first one of a program.
    libc::SYS_getrandom,
    // Relative paths mean something else afterwards.
    libc::SYS_chdir,
    libc::SYS_fchdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
];

/// Calls that look at a name, or depend on what is there, without opening it. Where flags are given,
/// by their argument, calls with AT_EMPTY_PATH mean a descriptor and no name.
const LOOKING: &[(c_long, Option<u32>)] = &[
    (libc::SYS_newfstatat, Some(3)),
    (libc::SYS_statx, Some(2)),
    (libc::SYS_faccessat, None),
    (libc::SYS_faccessat2, Some(3)),
    (libc::SYS_readlinkat, None),
    (libc::SYS_mkdirat, None),
    // What gets other rights, times or attributes was there.
    (libc::SYS_fchmodat, None),
    (metadata::FCHMODAT2, Some(3)),
    (libc::SYS_fchownat, Some(4)),
    (libc::SYS_utimensat, None),
    (libc::SYS_setxattr, None),
    (libc::SYS_lsetxattr, None),
    (libc::SYS_getxattr, None),
    (libc::SYS_lgetxattr, None),
    (libc::SYS_listxattr, None),
    (libc::SYS_llistxattr, None),
    (libc::SYS_removexattr, None),
    (libc::SYS_lremovexattr, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_stat, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lstat, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_access, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_readlink, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_utime, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_utimes, None),
];

/// The filter that tells of changes of rights, owners and times, and of everything else if `watched` is
/// a filter of [`program`].
pub(super) fn with_metadata(watched: Option<Vec<sock_filter>>) -> Vec<sock_filter> {
    let mut code = begin();
    for call in metadata::CALLS {
        add_block(&mut code, *call, &[answer(NOTIFY)]);
    }
    match watched {
        Some(watched) => code.extend_from_slice(watched.get(begin().len()..).unwrap_or_default()),
        None => code.push(answer(ALLOW)),
    }
    code
}

/// Lets calls of another architecture pass, and loads the number of the others.
fn begin() -> Vec<sock_filter> {
    vec![
        load(ARCHITECTURE),
        // Skips the answer.
        jump_if_equal(NATIVE, 1, 0),
        answer(ALLOW),
        load(NUMBER),
    ]
}

/// The filter; `looks` says whether looking at names is reported too. Calls of another architecture are not
/// told.
pub(super) fn program(network: Network, looks: bool) -> Vec<sock_filter> {
    let mut code = begin();
    for call in ALWAYS {
        code.extend([jump_if_equal(number(*call), 0, 1), answer(NOTIFY)]);
    }
    for (call, flags) in OPENING {
        // A descriptor that only names a place gives no content.
        let block = [
            load(argument(*flags)),
            jump_if_set(libc::O_PATH.unsigned_abs(), 1, 0),
            answer(NOTIFY),
            answer(ALLOW),
        ];
        add_block(&mut code, *call, &block);
    }
    let threads = [
        load(argument(0)),
        jump_if_set(libc::CLONE_THREAD.unsigned_abs(), 0, 1),
        answer(NOTIFY),
        answer(ALLOW),
    ];
    add_block(&mut code, libc::SYS_clone, &threads);
    for (call, flags) in LOOKING.iter().filter(|_| looks) {
        match flags {
            None => add_block(&mut code, *call, &[answer(NOTIFY)]),
            Some(flags) => {
                let block = [
                    load(argument(*flags)),
                    jump_if_set(libc::AT_EMPTY_PATH.unsigned_abs(), 1, 0),
                    answer(NOTIFY),
                    answer(ALLOW),
                ];
                add_block(&mut code, *call, &block);
            }
        }
    }
    match network {
        Network::Sockets { but_unix, but_tcp } => {
            let mut block = vec![load(argument(0))];
            if but_unix {
                let unix = libc::AF_UNIX.unsigned_abs();
                block.extend([jump_if_equal(unix, 0, 1), answer(ALLOW)]);
            }
            if but_tcp {
                let inet = libc::AF_INET.unsigned_abs();
                block.extend([
                    jump_if_equal(inet, 0, 7),
                    // A stream, whatever flags are above the type.
                    load(argument(1)),
                    jump_if_set(SOCKET_TYPE & !libc::SOCK_STREAM.unsigned_abs(), 5, 0),
                    jump_if_set(libc::SOCK_STREAM.unsigned_abs(), 0, 4),
                    load(argument(2)),
                    jump_if_equal(0, 1, 0),
                    jump_if_equal(libc::IPPROTO_TCP.unsigned_abs(), 0, 1),
                    answer(ALLOW),
                ]);
            }
            block.push(answer(NOTIFY));
            add_block(&mut code, libc::SYS_socket, &block);
            if but_tcp {
                // One address can be connected to; what else was tried is worth knowing.
                add_block(&mut code, libc::SYS_connect, &[answer(NOTIFY)]);
            }
        }
        Network::Beyond => {
            add_block(&mut code, libc::SYS_connect, &[answer(NOTIFY)]);
            // With an address of its own, in a register; its lower half will do.
            let block = [
                load(argument(4)),
                jump_if_equal(0, 1, 0),
                answer(NOTIFY),
                answer(ALLOW),
            ];
            add_block(&mut code, libc::SYS_sendto, &block);
        }
        Network::Connections => {
            add_block(&mut code, libc::SYS_connect, &[answer(NOTIFY)]);
            // Its flags lie in memory. Where a sandbox refuses it, this is never reached.
            add_block(&mut code, libc::SYS_clone3, &[answer(NOTIFY)]);
        }
    }
    code.push(answer(ALLOW));
    code
}

fn add_block(code: &mut Vec<sock_filter>, call: c_long, block: &[sock_filter]) {
    let length = u8::try_from(block.len()).unwrap_or(u8::MAX);
    code.push(jump_if_equal(number(call), 0, length));
    code.extend_from_slice(block);
}

fn number(call: c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

const fn load(offset: u32) -> sock_filter {
    step(
        (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16,
        0,
        0,
        offset,
    )
}

const fn jump_if_equal(value: u32, yes: u8, no: u8) -> sock_filter {
    step(
        (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        yes,
        no,
        value,
    )
}

const fn jump_if_set(bits: u32, yes: u8, no: u8) -> sock_filter {
    step(
        (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16,
        yes,
        no,
        bits,
    )
}

const fn answer(action: u32) -> sock_filter {
    step((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, action)
}

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with a call.
    fn run(program: &[sock_filter], call: c_long, arguments: [u32; 6]) -> u32 {
        let mut accumulator = 0;
        let mut at = 0;
        loop {
            let step = program[at];
            at += 1;
            let class = u32::from(step.code & 0x07);
            if class == libc::BPF_LD {
                accumulator = match step.k {
                    NUMBER => number(call),
                    ARCHITECTURE => NATIVE,
                    offset => arguments[(offset as usize - 16) / 8],
                };
            } else if class == libc::BPF_RET {
                return step.k;
            } else {
                let is_set = u32::from(step.code & 0xf0) == libc::BPF_JSET;
                let is_true = if is_set {
                    accumulator & step.k != 0
                } else {
                    accumulator == step.k
                };
                at += usize::from(if is_true { step.jt } else { step.jf });
            }
        }
    }

    #[test]
    fn program_tells_what_gives_content_and_nothing_else() {
        let network = Network::Sockets {
            but_unix: true,
            but_tcp: false,
        };
        let program = program(network, false);
        let notifies = |call, arguments| run(&program, call, arguments) == NOTIFY;
        assert!(notifies(libc::SYS_openat, [0, 0, 0, 0, 0, 0]));
        let place = libc::O_PATH.unsigned_abs();
        assert!(!notifies(libc::SYS_openat, [0, 0, place, 0, 0, 0]));
        assert!(notifies(libc::SYS_execve, [0; 6]));
        assert!(!notifies(libc::SYS_read, [0; 6]));
        assert!(!notifies(libc::SYS_clone, [17, 0, 0, 0, 0, 0]));
        let thread = libc::CLONE_THREAD.unsigned_abs() | 0x100;
        assert!(notifies(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]));
        assert!(notifies(libc::SYS_getrandom, [0, 8, 1, 0, 0, 0]));
        assert!(notifies(libc::SYS_getrandom, [0, 8, 0, 0, 0, 0]));
        assert!(notifies(libc::SYS_getrandom, [0, 24, 1, 0, 0, 0]));
        assert!(!notifies(libc::SYS_socket, [1, 0, 0, 0, 0, 0]));
        assert!(notifies(libc::SYS_socket, [2, 0, 0, 0, 0, 0]));
        assert!(!notifies(libc::SYS_connect, [0; 6]));
        assert!(notifies(libc::SYS_linkat, [0; 6]));
        assert!(notifies(libc::SYS_renameat, [0; 6]));
        assert!(notifies(libc::SYS_renameat2, [0; 6]));
        assert!(!notifies(libc::SYS_newfstatat, [0; 6]));
    }

    #[test]
    fn program_that_tells_of_looks_leaves_out_those_at_descriptors() {
        let network = Network::Sockets {
            but_unix: false,
            but_tcp: false,
        };
        let program = program(network, true);
        let notifies = |call, arguments| run(&program, call, arguments) == NOTIFY;
        let empty = libc::AT_EMPTY_PATH.unsigned_abs();
        assert!(notifies(libc::SYS_newfstatat, [0, 0, 0, 0x100, 0, 0]));
        assert!(!notifies(libc::SYS_newfstatat, [0, 0, 0, empty, 0, 0]));
        assert!(notifies(libc::SYS_statx, [0; 6]));
        assert!(!notifies(libc::SYS_statx, [0, 0, empty, 0, 0, 0]));
        assert!(notifies(libc::SYS_readlinkat, [0; 6]));
        assert!(!notifies(libc::SYS_fstat, [0; 6]));
    }

    #[test]
    fn program_with_a_loopback_tells_of_every_socket_but_tcp_over_ipv4() {
        let flags = libc::SOCK_CLOEXEC.unsigned_abs() | libc::SOCK_NONBLOCK.unsigned_abs();
        for but_unix in [false, true] {
            let network = Network::Sockets {
                but_unix,
                but_tcp: true,
            };
            let program = program(network, false);
            let notifies = |socket: [u32; 3]| {
                let [family, kind, protocol] = socket;
                run(
                    &program,
                    libc::SYS_socket,
                    [family, kind, protocol, 0, 0, 0],
                ) == NOTIFY
            };
            assert_eq!(notifies([1, 1, 0]), !but_unix);
            assert_eq!(run(&program, libc::SYS_connect, [0; 6]), NOTIFY);
            for kind in [1, 1 | flags] {
                assert!(!notifies([2, kind, 0]) && !notifies([2, kind, 6]));
                // IPv6, SCTP, MPTCP, netlink.
                assert!(notifies([10, kind, 0]) && notifies([2, kind, 132]));
                assert!(notifies([2, kind, 262]) && notifies([16, kind, 0]));
            }
            for kind in [0, 2, 3, 4, 5, 6, 7, 9, 10, 2 | flags, 3 | flags] {
                assert!(notifies([2, kind, 0]), "{kind}");
            }
        }
    }

    #[test]
    fn program_without_a_sandbox_tells_of_connections() {
        let program = program(Network::Connections, false);
        assert_eq!(run(&program, libc::SYS_connect, [0; 6]), NOTIFY);
        assert_eq!(run(&program, libc::SYS_clone3, [0; 6]), NOTIFY);
        assert_eq!(run(&program, libc::SYS_socket, [2; 6]), ALLOW);
    }
}

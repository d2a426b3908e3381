//! Which system calls a command may make.
//!
//! Two filters: an allow list (everything else answers ENOSYS, so that a libc falls back from
//! newer calls such as clone3, whose arguments a filter cannot see) and above it a list of calls
//! that answer EPERM, with conditions on arguments. A call of another architecture ends the
//! process; a call through the x32 numbers is not on the allow list.

use std::collections::BTreeMap;

use libc::{c_int, c_long};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::command::Filters;
use crate::error::{Layer, Missing};

/// What the filters depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilterOptions {
    /// Whether Unix sockets may be made.
    pub(super) unix_sockets: bool,
    /// Whether files may be made that never had a name: only where their size is bounded.
    pub(super) nameless_files: bool,
    /// Whether somebody is to hear of sockets that are refused.
    pub(super) is_observed: bool,
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
        let mut rules = refused_calls(options)?;
        let refuse = refusing(rules.clone())?;
        let refuse_when_observed = if options.is_observed {
            // A refusal here would come before anyone could hear of the call.
            rules.remove(&libc::SYS_socket);
            Some(refusing(rules)?)
        } else {
            None
        };
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

fn allowed_calls(options: FilterOptions) -> Rules {
    ALLOWED
        .iter()
        // Its flags lie in memory, where no filter sees them; programs fall back to openat.
        .filter(|call| options.nameless_files || **call != libc::SYS_openat2)
        .map(|call| (*call, Vec::new()))
        .collect()
}

/// Calls that answer EPERM. Those without conditions are listed although the allow list already
/// leaves them out: their refusal should read as one.
fn refused_calls(options: FilterOptions) -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();

    // Sockets: none, or those of the machine-local kind that a mounted one needs.
    let not_unix = argument(0, Ne, libc::AF_UNIX)?;
    rules.insert(
        libc::SYS_socketpair,
        vec![SeccompRule::new(vec![not_unix.clone()])?],
    );
    let socket = if options.unix_sockets {
        vec![SeccompRule::new(vec![not_unix])?]
    } else {
        Vec::new()
    };
    rules.insert(libc::SYS_socket, socket);

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

const NAMESPACE_FLAGS: [c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Refused whatever their arguments.
const REFUSED: &[c_long] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes' memory and files.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_syslog,
    libc::SYS_acct,
    // Keys outlive and cross namespaces.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // A second way to make most system calls, past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The machine's clock and name.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Files by handle, past the mounts that hide them.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Memory that belongs to no process and escapes the memory limit.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_vmsplice,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    // Ports of the machine.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// The same number on every architecture; libc does not name it on all of them.
const FCHMODAT2: c_long = 452;

/// What ordinary programs (shells, compilers, interpreters) use.
const ALLOWED: &[c_long] = &[
    // Files.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_lseek,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_readlinkat,
    libc::SYS_mknodat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_flock,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_umask,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    // Memory.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_brk,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_membarrier,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_get_mempolicy,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    // Processes and threads.
    libc::SYS_clone,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_getsid,
    libc::SYS_setsid,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_setparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getattr,
    libc::SYS_sched_setattr,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_ioprio_get,
    libc::SYS_ioprio_set,
    libc::SYS_getcpu,
    libc::SYS_prctl,
    libc::SYS_personality,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_prlimit64,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_restart_syscall,
    // Who one is; changes fail for want of capabilities, as programs expect.
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capget,
    libc::SYS_capset,
    // Signals.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    // Sockets; which kinds exist is decided above.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    // The rest.
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // Older forms that only this architecture still has.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getpgrp,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_create,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_eventfd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_signalfd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_for_this_machine_compile() {
        for (unix_sockets, nameless_files) in [(false, true), (true, true), (true, false)] {
            let options = FilterOptions {
                unix_sockets,
                nameless_files,
                is_observed: unix_sockets,
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

/* Runs a program with one thing refused, as containers do: jail WHAT PROGRAM ARGUMENTS… */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define GIVE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define FAIL(error) GIVE(SECCOMP_RET_ERRNO | (error))

static int install(struct sock_filter *code, unsigned short length) {
    struct sock_fprog program = {length, code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
#define INSTALL(code) install(code, sizeof(code) / sizeof(code[0]))

/* As Docker's profile: no user namespace without CAP_SYS_ADMIN. */
static int refuse_user_namespaces(void) {
    struct sock_filter code[] = {
        LOAD(arch), IS(NATIVE, 1, 0), GIVE(SECCOMP_RET_ALLOW),
        LOAD(nr), IS(__NR_clone3, 0, 1), FAIL(ENOSYS),
        IS(__NR_unshare, 1, 0), IS(__NR_clone, 0, 2),
        LOAD(args[0]), HAS(CLONE_NEWUSER, 1, 0),
        GIVE(SECCOMP_RET_ALLOW), FAIL(EPERM),
    };
    return INSTALL(code);
}

static int hide_landlock(void) {
    struct sock_filter code[] = {
        LOAD(nr), IS(444, 3, 0), IS(445, 2, 0), IS(446, 1, 0),
        GIVE(SECCOMP_RET_ALLOW), FAIL(ENOSYS),
    };
    return INSTALL(code);
}

/* A filter that lets other filters be installed, but no listener. */
static int refuse_listeners(void) {
    struct sock_filter code[] = {
        LOAD(nr), IS(__NR_seccomp, 0, 3),
        LOAD(args[1]), HAS(SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1), FAIL(EBUSY),
        GIVE(SECCOMP_RET_ALLOW),
    };
    return INSTALL(code);
}

static int write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0) return -1;
    long written = write(file, text, strlen(text));
    close(file);
    return written < 0 ? -1 : 0;
}

/* For root: an ordinary user in a user namespace that may hold no other one. */
static int leave_no_namespace(char **program) {
    int ready[2], mapped[2], status;
    char byte = 'x', path[64];
    if (pipe(ready) || pipe(mapped)) return 2;
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWUSER) || write(ready[1], &byte, 1) != 1) _exit(2);
        if (read(mapped[0], &byte, 1) != 1) _exit(2);
        if (setresgid(0, 0, 0) || setresuid(0, 0, 0)) _exit(3);
        if (write_text("/proc/sys/user/max_user_namespaces", "0")) _exit(4);
        if (setgroups(0, NULL) || setresgid(65534, 65534, 65534)) _exit(5);
        if (setresuid(65534, 65534, 65534)) _exit(6);
        execv(program[0], program);
        _exit(7);
    }
    if (child < 0 || read(ready[0], &byte, 1) != 1) return 2;
    const char *maps[] = {"uid_map", "gid_map"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", child, maps[i]);
        if (write_text(path, "0 0 100000")) { perror(path); return 2; }
    }
    if (write(mapped[1], &byte, 1) != 1 || waitpid(child, &status, 0) < 0) return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int count, char **words) {
    if (count >= 3 && !strcmp(words[1], "no-namespace-left")) return leave_no_namespace(words + 2);
    if (count < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 2;
    int failed = 1;
    if (!strcmp(words[1], "no-user-namespaces")) failed = refuse_user_namespaces();
    if (!strcmp(words[1], "no-landlock")) failed = hide_landlock();
    if (!strcmp(words[1], "no-listener")) failed = refuse_listeners();
    if (failed) { perror("jail"); return 2; }
    execv(words[2], words + 2);
    perror(words[2]);
    return 2;
}

/* Attacks that need system calls. `attacker NAME [ARGUMENT…]` exits 0 when the attack worked, 1
 * when it was refused; it then prints the reason. Compiled and run by tests/attacks.rs, outside
 * the sandbox (where each must work) and inside (where none may). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int refused(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    return 1;
}

static int worked(void) {
    printf("worked\n");
    return 0;
}

static struct sockaddr_in loopback(const char *port) {
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_port = htons((unsigned short)atoi(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int tcp(char **a) {
    struct sockaddr_in to = loopback(a[0]);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0) return refused("socket");
    if (connect(s, (struct sockaddr *)&to, sizeof to)) return refused("connect");
    if (write(s, "tcp", 3) != 3) return refused("write");
    return worked();
}

/* Sends a datagram and waits for the answer, as a resolver does. */
static int udp(char **a) {
    struct sockaddr_in to = loopback(a[0]);
    struct timeval wait = {2, 0};
    char answer[64];
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (s < 0) return refused("socket");
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    if (sendto(s, a[1], strlen(a[1]), 0, (struct sockaddr *)&to, sizeof to) < 0)
        return refused("sendto");
    if (recv(s, answer, sizeof answer, 0) < 0) return refused("recv");
    return worked();
}

/* Connects to an address by its literal, of either version, and sends a word. */
static int reach(char **a) {
    struct sockaddr_in four = {0};
    struct sockaddr_in6 six = {0};
    struct sockaddr *to = (struct sockaddr *)&four;
    socklen_t length = sizeof four;
    int s, port = htons((unsigned short)atoi(a[1]));
    if (strchr(a[0], ':')) {
        six.sin6_family = AF_INET6;
        six.sin6_port = port;
        inet_pton(AF_INET6, a[0], &six.sin6_addr);
        to = (struct sockaddr *)&six;
        length = sizeof six;
    } else {
        four.sin_family = AF_INET;
        four.sin_port = port;
        inet_pton(AF_INET, a[0], &four.sin_addr);
    }
    s = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    if (s < 0) return refused("socket");
    if (connect(s, to, length)) return refused("connect");
    if (write(s, "reach", 5) != 5) return refused("write");
    return worked();
}

/* A socket of the internet of any type and protocol. */
static int inet_socket(char **a) {
    return socket(AF_INET, atoi(a[0]), atoi(a[1])) < 0 ? refused("socket") : worked();
}

/* Listens where the system wants, as whoever wants to be reached does. */
static int listen_anywhere(char **a) {
    struct sockaddr_in here = loopback(a[0]);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0) return refused("socket");
    if (atoi(a[0]) && bind(s, (struct sockaddr *)&here, sizeof here)) return refused("bind");
    return listen(s, 1) ? refused("listen") : worked();
}

/* Opens connections and holds them until no more can be had; says how many. */
static int connections(char **a) {
    struct sockaddr_in to = loopback(a[0]);
    int wanted = atoi(a[1]), count;
    for (count = 0; count < wanted; count++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (s < 0 || connect(s, (struct sockaddr *)&to, sizeof to)) break;
    }
    printf("%d connections\n", count);
    return 0;
}

/* The descriptors that are open beside the standard streams. */
static int descriptors(void) {
    int fd, count = 0;
    for (fd = 3; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0) count++;
    printf("%d descriptors\n", count);
    return count;
}

static int unix_socket(char **a, int is_abstract) {
    struct sockaddr_un to = {0};
    socklen_t length;
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s < 0) return refused("socket");
    to.sun_family = AF_UNIX;
    strncpy(to.sun_path + is_abstract, a[0], sizeof to.sun_path - 2);
    length = is_abstract ? offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a[0]) : sizeof to;
    if (connect(s, (struct sockaddr *)&to, length)) return refused("connect");
    return worked();
}

static int netlink(void) {
    return socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) < 0 ? refused("socket") : worked();
}

static int ptrace_child(void) {
    pid_t child = fork();
    int status;
    if (child == 0) {
        for (;;) pause();
    }
    if (ptrace(PTRACE_ATTACH, child, 0, 0)) {
        int kept = errno;
        kill(child, SIGKILL);
        errno = kept;
        return refused("ptrace");
    }
    waitpid(child, &status, 0);
    kill(child, SIGKILL);
    return worked();
}

static int ptrace_host(char **a) {
    if (ptrace(PTRACE_SEIZE, (pid_t)atoi(a[0]), 0, 0)) return refused("ptrace");
    return worked();
}

static int kill_host(char **a) {
    return kill((pid_t)atoi(a[0]), SIGKILL) ? refused("kill") : worked();
}

static int unshare_user(void) {
    return unshare(CLONE_NEWUSER) ? refused("unshare") : worked();
}

static int clone_user(void) {
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0) return refused("clone");
    if (pid == 0) _exit(0);
    return worked();
}

static int clone3_user(void) {
    struct {
        unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } how = {0};
    long pid;
    how.flags = CLONE_NEWUSER;
    how.exit_signal = SIGCHLD;
    pid = syscall(435, &how, sizeof how);
    if (pid < 0) return refused("clone3");
    if (pid == 0) _exit(0);
    return worked();
}

/* As an ordinary user would: a namespace of one's own first. */
static int mount_here(char **a) {
    if (geteuid() == 0 ? unshare(CLONE_NEWNS) : unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return refused("unshare");
    if (mount("none", a[0], "tmpfs", 0, "")) return refused("mount");
    return worked();
}

static int mount_directly(char **a) {
    return mount("none", a[0], "tmpfs", 0, "") ? refused("mount") : worked();
}

/* Rubbish instead of a module: whoever may load modules is told so, others get EPERM. */
static int load_module(void) {
    char rubbish[64] = "not a module";
    if (syscall(SYS_init_module, rubbish, sizeof rubbish, "") && errno == EPERM)
        return refused("init_module");
    return worked();
}

static int add_a_key(void) {
    long key = syscall(SYS_add_key, "user", "runseal-test", "x", 1, KEY_SPEC_PROCESS_KEYRING);
    return key < 0 ? refused("add_key") : worked();
}

static int io_uring(void) {
    char parameters[256] = {0};
    return syscall(425, 4, parameters) < 0 ? refused("io_uring_setup") : worked();
}

static int memfd(void) {
    return syscall(SYS_memfd_create, "x", 0) < 0 ? refused("memfd_create") : worked();
}

static int device(char **a) {
    return mknod(a[0], S_IFCHR | 0666, makedev(1, 3)) ? refused("mknod") : worked();
}

/* The 32-bit way into the kernel, where numbers mean other calls: 20 is getpid there. */
static int compat_call(void) {
#if defined(__x86_64__)
    long pid;
    __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : "memory");
    return pid > 0 ? worked() : refused("int 0x80");
#else
    return refused("no such way here");
#endif
}

static int identity(void) {
    if (geteuid() != 0) {
        printf("euid %d\n", (int)geteuid());
        return 1;
    }
    return worked();
}

/* Forks children that wait; works when it gets as many as asked for. */
static int fork_bomb(char **a) {
    int wanted = atoi(a[0]), count;
    pid_t group = getpid();
    setpgid(0, 0);
    for (count = 0; count < wanted; count++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            setpgid(0, group);
            sleep(30);
            _exit(0);
        }
    }
    printf("%d\n", count);
    fflush(stdout);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    return count < wanted;
}

/* Touches so many mebibytes in each of so many processes and holds them for a while. */
static int memory_bomb(char **a) {
    size_t size = (size_t)atoi(a[0]) << 20;
    int processes = atoi(a[1]), i, status, failed = 0;
    for (i = 0; i < processes; i++) {
        if (fork() == 0) {
            volatile char *memory = malloc(size);
            size_t at;
            if (!memory) _exit(1);
            for (at = 0; at < size; at += 4096) memory[at] = 1;
            usleep(400 * 1000);
            _exit(0);
        }
    }
    while (wait(&status) > 0) failed |= status != 0;
    return failed ? refused("malloc") : worked();
}

static int fill(char **a) {
    static char block[1 << 16];
    size_t total = (size_t)atoi(a[1]) << 20, done;
    int file = open(a[0], O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (file < 0) return refused("open");
    memset(block, 'x', sizeof block);
    for (done = 0; done < total; done += sizeof block)
        if (write(file, block, sizeof block) != (ssize_t)sizeof block) return refused("write");
    return worked();
}

/* Waits while it holds what it got, so that whoever watches can see it, then fails. */
static int refused_after_a_while(const char *what) {
    int kept = errno;
    usleep(600 * 1000);
    errno = kept;
    return refused(what);
}

static int works_after_a_while(void) {
    usleep(1500 * 1000);
    return worked();
}

/* Files of a mebibyte that have no name: unlinked while open, or made without one. */
static int nameless(char **a, int flags) {
    static char block[1 << 20];
    char name[4096];
    int wanted = atoi(a[1]), i;
    memset(block, 'x', sizeof block);
    for (i = 0; i < wanted; i++) {
        int file;
        snprintf(name, sizeof name, flags ? "%s" : "%s/nameless", a[0]);
        file = open(name, O_RDWR | (flags ? flags : O_CREAT | O_EXCL), 0600);
        if (file < 0) return refused("open");
        if (!flags && unlink(name)) return refused("unlink");
        if (write(file, block, sizeof block) != (ssize_t)sizeof block)
            return refused_after_a_while("write");
    }
    return works_after_a_while();
}

/* One unlinked file of so many mebibytes, all of them reserved. */
static int reserve(char **a) {
    char name[4096];
    int file;
    snprintf(name, sizeof name, "%s/reserved", a[0]);
    file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) return refused("open");
    if (unlink(name)) return refused("unlink");
    if (fallocate(file, 0, 0, (off_t)atoi(a[1]) << 20)) return refused("fallocate");
    return works_after_a_while();
}

/* Unlinked, closed and held by a mapping alone, which is smaller than the file. */
static int mapped(char **a) {
    static char block[1 << 20];
    char name[4096];
    int wanted = atoi(a[1]), i;
    memset(block, 'x', sizeof block);
    snprintf(name, sizeof name, "%s/mapped", a[0]);
    for (i = 0; i < wanted; i++) {
        int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file < 0) return refused("open");
        unlink(name);
        if (write(file, block, sizeof block) != (ssize_t)sizeof block)
            return refused_after_a_while("write");
        if (mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED) return refused("mmap");
        close(file);
    }
    return works_after_a_while();
}

static int sparse(char **a) {
    char name[4096];
    int count = atoi(a[1]), i;
    for (i = 0; i < count; i++) {
        int file;
        snprintf(name, sizeof name, "%s/sparse%d", a[0], i);
        file = open(name, O_RDWR | O_CREAT, 0600);
        if (file < 0) return refused("open");
        if (ftruncate(file, (off_t)atoi(a[2]) << 20)) return refused("ftruncate");
        close(file);
    }
    return worked();
}

/* Shared memory of 4 MiB a mapping that leaves the process's own pages at once but stays in use:
 * its pages are dropped from the page table, or all of the mapping but a page goes. */
static int shared(char **a, const char *device, int unmaps) {
    const size_t size = 4 << 20;
    int wanted = atoi(a[0]) / 4, i, file = -1, flags = MAP_SHARED | MAP_ANONYMOUS;
    if (device) {
        file = open(device, O_RDWR);
        if (file < 0) return refused("open");
        flags = MAP_SHARED;
    }
    for (i = 0; i < wanted; i++) {
        char *memory = mmap(0, size, PROT_READ | PROT_WRITE, flags, file, 0);
        if (memory == MAP_FAILED) return refused("mmap");
        memset(memory, 'x', size);
        if (unmaps ? munmap(memory + 4096, size - 4096) : madvise(memory, size, MADV_DONTNEED))
            return refused("munmap");
        if (memory[0] != 'x') return refused("pages are gone");
    }
    return works_after_a_while();
}

/* Fills the buffers of so many socket pairs, both ways, and holds them. */
static int sockets(char **a) {
    static char block[1 << 14];
    int wanted = atoi(a[0]), i, end, pair[2];
    long total = 0;
    for (i = 0; i < wanted; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair)) return refused("socketpair");
        for (end = 0; end < 2; end++) {
            ssize_t sent;
            while ((sent = write(pair[end], block, sizeof block)) > 0) total += sent;
        }
    }
    printf("%ld bytes\n", total);
    return works_after_a_while();
}

/* Sends a datagram to a socket with this path, from a socket that was made as one of a pair. */
static int datagram_of_a_pair(char **a) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int pair[2];
    strncpy(to.sun_path, a[0], sizeof to.sun_path - 1);
    if (socketpair(AF_UNIX, atoi(a[1]), 0, pair)) return refused("socketpair");
    if (sendto(pair[0], "x", 1, 0, (struct sockaddr *)&to, sizeof to) != 1) return refused("sendto");
    return worked();
}

/* A socket that may hold more than the system gives it. */
static int socket_buffer(char **a) {
    int pair[2], size = 8 << 20, before = 0, after = 0;
    socklen_t length = sizeof before;
    int option = strcmp(a[0], "send") == 0 ? SO_SNDBUF : SO_RCVBUF;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return refused("socketpair");
    getsockopt(pair[0], SOL_SOCKET, option, &before, &length);
    if (setsockopt(pair[0], SOL_SOCKET, option, &size, sizeof size)) return refused("setsockopt");
    getsockopt(pair[0], SOL_SOCKET, option, &after, &length);
    return after > before ? worked() : refused("no larger");
}

/* Fills so many pipes, as large as they may be, in each of so many processes. */
static int pipes(char **a) {
    static char block[1 << 12];
    int wanted = atoi(a[0]), processes = atoi(a[1]), i, p, status, failed = 0;
    for (p = 0; p < processes; p++) {
        if (fork() != 0) continue;
        for (i = 0; i < wanted; i++) {
            int pair[2];
            if (pipe2(pair, O_NONBLOCK)) _exit(1);
            while (write(pair[1], block, sizeof block) > 0) {
            }
        }
        usleep(800 * 1000);
        _exit(0);
    }
    while (wait(&status) > 0) failed |= status != 0;
    return failed ? refused("pipe") : worked();
}

/* Page tables of so many mebibytes for memory that is only read. */
static int page_tables(char **a) {
    size_t steps = (size_t)atoi(a[0]) * 256, step = 2 << 20, i;
    volatile char *memory = mmap(0, steps * step, PROT_READ,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return refused("mmap");
    madvise((void *)memory, steps * step, MADV_NOHUGEPAGE);
    for (i = 0; i < steps; i++) (void)memory[i * step];
    return works_after_a_while();
}

/* So many empty files. */
static int files(char **a) {
    char name[4096];
    int wanted = atoi(a[1]), i;
    for (i = 0; i < wanted; i++) {
        int file;
        snprintf(name, sizeof name, "%s/%d", a[0], i);
        file = open(name, O_CREAT | O_WRONLY, 0600);
        if (file < 0) return refused_after_a_while("open");
        close(file);
    }
    return works_after_a_while();
}

/* Puts a page of its own into a pipe, where it stays when the memory is given back. */
static int splice_memory(void) {
    char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec part = {memory, 4096};
    int pair[2];
    if (pipe(pair)) return refused("pipe");
    return vmsplice(pair[1], &part, 1, 0) == 4096 ? worked() : refused("vmsplice");
}

/* Is there for five minutes at most, to be found by the name it was given. */
static int wait_long(void) {
    alarm(300);
    for (;;) pause();
}

/* A daemon by the book: two forks, own session, no open files; it waits under the given name. */
static int daemonize(char **a) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            for (int fd = 0; fd < 64; fd++) close(fd);
            execl(a[0], a[0], "wait", a[1], (char *)0);
        }
        _exit(0);
    }
    usleep(200 * 1000);
    return worked();
}

static int read_descriptor(char **a) {
    char byte;
    return pread(atoi(a[0]), &byte, 1, 0) == 1 ? worked() : refused("pread");
}

static int write_below_proc(char **a) {
    int file = open(a[0], O_WRONLY);
    return file < 0 ? refused("open") : worked();
}

int main(int count, char **arguments) {
    char *name = count > 1 ? arguments[1] : "";
    char **rest = arguments + 2;
#define IS(text) (strcmp(name, text) == 0)
    if (IS("tcp")) return tcp(rest);
    if (IS("udp")) return udp(rest);
    if (IS("abstract")) return unix_socket(rest, 1);
    if (IS("unix")) return unix_socket(rest, 0);
    if (IS("netlink")) return netlink();
    if (IS("datagram-of-a-pair")) return datagram_of_a_pair(rest);
    if (IS("reach")) return reach(rest);
    if (IS("inet-socket")) return inet_socket(rest);
    if (IS("listen")) return listen_anywhere(rest);
    if (IS("connections")) return connections(rest);
    if (IS("descriptors")) return descriptors();
    if (IS("ptrace-child")) return ptrace_child();
    if (IS("ptrace-host")) return ptrace_host(rest);
    if (IS("kill")) return kill_host(rest);
    if (IS("unshare")) return unshare_user();
    if (IS("clone")) return clone_user();
    if (IS("clone3")) return clone3_user();
    if (IS("mount")) return mount_here(rest);
    if (IS("mount-directly")) return mount_directly(rest);
    if (IS("module")) return load_module();
    if (IS("key")) return add_a_key();
    if (IS("io-uring")) return io_uring();
    if (IS("memfd")) return memfd();
    if (IS("device")) return device(rest);
    if (IS("compat")) return compat_call();
    if (IS("identity")) return identity();
    if (IS("fork-bomb")) return fork_bomb(rest);
    if (IS("memory-bomb")) return memory_bomb(rest);
    if (IS("fill")) return fill(rest);
    if (IS("unlinked")) return nameless(rest, 0);
    if (IS("tmpfile")) return nameless(rest, O_TMPFILE);
    if (IS("reserve")) return reserve(rest);
    if (IS("mapped")) return mapped(rest);
    if (IS("sparse")) return sparse(rest);
    if (IS("shared")) return shared(rest, 0, 0);
    if (IS("shared-rest")) return shared(rest, 0, 1);
    if (IS("shared-zero")) return shared(rest, "/dev/zero", 0);
    if (IS("sockets")) return sockets(rest);
    if (IS("socket-buffer")) return socket_buffer(rest);
    if (IS("pipes")) return pipes(rest);
    if (IS("page-tables")) return page_tables(rest);
    if (IS("files")) return files(rest);
    if (IS("vmsplice")) return splice_memory();
    if (IS("wait")) return wait_long();
    if (IS("daemon")) return daemonize(rest);
    if (IS("descriptor")) return read_descriptor(rest);
    if (IS("open-for-writing")) return write_below_proc(rest);
    printf("unknown attack `%s`\n", name);
    return 2;
}

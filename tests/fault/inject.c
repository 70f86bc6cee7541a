/* Makes one allocation, or one system call that writes, of a program fail; for LD_PRELOAD.
 *
 *   FAULT_KIND=alloc|write   which calls are counted
 *   FAULT_AT=N               the N-th of them fails, from 1; 0 none
 *   FAULT_COUNT=FILE         where the number of them is written at the end
 *
 * A program may ask for it, too: while inject_armed is 1, the allocation fails that takes inject_at
 * down to 0.
 *
 * Writes go through a system call filter, because the C library's streams call no function that
 * could be replaced: the filter raises SIGSYS, and the handler fails the call or carries it out,
 * with a mark that the filter lets through. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(__x86_64__) || !defined(__GLIBC__)
#error "registers of a system call and functions within the C library: glibc on x86-64"
#endif

enum { MARK = 0x5afe5afe };

static const int written_by[] = {
  SYS_write, SYS_writev, SYS_pwrite64, SYS_close, SYS_fsync, SYS_rename, SYS_renameat,
  SYS_renameat2, SYS_linkat, SYS_mkdir, SYS_ftruncate,
};
enum { CALLS = sizeof written_by / sizeof *written_by };

int inject_armed;
long inject_at;

static atomic_long count;
static long fail_at;
static int counts_allocations;

/* ---- allocations ------------------------------------------------------------------------ */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

static int fails_as_asked(void)
{
  return inject_armed && --inject_at == 0;
}

static int fails(void)
{
  if (fails_as_asked()) {
    errno = ENOMEM;
    return 1;
  }
  if (!counts_allocations || atomic_fetch_add(&count, 1) + 1 != fail_at)
    return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t align, size_t size)
{
  return fails() ? NULL : __libc_memalign(align, size);
}

/* ---- system calls ----------------------------------------------------------------------- */

static void handle(int number, siginfo_t *info, void *context)
{
  (void)number;
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (atomic_fetch_add(&count, 1) + 1 == fail_at) {
    r[REG_RAX] = info->si_syscall == SYS_close ? -EIO : -ENOSPC;
    return;
  }
  long result = syscall(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
                        r[REG_R8], (long)MARK);
  r[REG_RAX] = result < 0 ? -errno : result;
}

static void filter_calls(void)
{
  struct sock_filter code[CALLS + 5];
  unsigned n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, args[5]));
  code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, CALLS + 1, 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < CALLS; i++)
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, written_by[i],
                                             CALLS - i, 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  struct sock_fprog program = {(unsigned short)n, code};
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigset_t calls;
  sigemptyset(&calls);
  sigaddset(&calls, SIGSYS);
  sigprocmask(SIG_UNBLOCK, &calls, NULL);
  if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    fprintf(stderr, "inject: no system call filter here\n");
    _exit(77);
  }
}

__attribute__((constructor)) static void start(void)
{
  const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
  fail_at = at ? atol(at) : 0;
  if (kind && strcmp(kind, "alloc") == 0)
    counts_allocations = 1;
  else if (kind)
    filter_calls();
}

__attribute__((destructor)) static void end(void)
{
  const char *path = getenv("FAULT_COUNT");
  char text[32];
  long n = atomic_load(&count);
  counts_allocations = 0;
  fail_at = -1;
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
  if (fd < 0)
    return;
  int length = snprintf(text, sizeof text, "%ld\n", n);
  if (write(fd, text, (size_t)length) != length)
    _exit(77);
  close(fd);
}

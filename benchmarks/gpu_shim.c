/* Notes what libraries open, ask of files and map; for gpu_sandbox.py, by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int out = -1, pid = 0;
static void note(const char *form, ...) {
    char text[4096]; int saved = errno;
    if (!getenv("SHIM_LOG")) return;
    if (pid != getpid() || fcntl(out, F_GETFD) == -1) {
        int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
        out = real(getenv("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600); pid = getpid();
    }
    va_list more; va_start(more, form); int size = vsnprintf(text, sizeof text, form, more); va_end(more);
    if (write(out, text, size) < 0) {} errno = saved;
}
#define OPENS(NAME, ARGS, CALL, PATH) \
    int NAME ARGS { int (*real)() = dlsym(RTLD_NEXT, #NAME); va_list more; va_start(more, flags); \
    int mode = va_arg(more, int); va_end(more); int got = real CALL; \
    note("open %d %d %s\n", got < 0 ? errno : 0, flags & 3, PATH); return got; }
OPENS(open, (const char *path, int flags, ...), (path, flags, mode), path)
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode), path)
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)
FILE *fopen(const char *path, const char *how) { FILE *(*real)() = dlsym(RTLD_NEXT, "fopen");
    FILE *got = real(path, how); note("open %d %d %s\n", got ? 0 : errno, *how != 'r', path); return got; }
FILE *fopen64(const char *path, const char *how) { FILE *(*real)() = dlsym(RTLD_NEXT, "fopen64");
    FILE *got = real(path, how); note("open %d %d %s\n", got ? 0 : errno, *how != 'r', path); return got; }
int ioctl(int of, unsigned long number, ...) { int (*real)() = dlsym(RTLD_NEXT, "ioctl");
    va_list more; va_start(more, number); void *given = va_arg(more, void *); va_end(more);
    int got = real(of, number, given), why = got < 0 ? errno : 0; char link[64], name[256] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", of); if (readlink(link, name, sizeof name - 1) < 0) {}
    note("ioctl %d %lx %s\n", why, number, name); errno = why ? why : errno; return got; }
static void *mapped(const char *name, void *at, size_t size, int how, int flags, int of, off_t from) {
    void *(*real)() = dlsym(RTLD_NEXT, name); void *got = real(at, size, how, flags, of, from);
    if ((flags & 0x2f) == 0x21) note("shared %d %zu anonymous\n", got == MAP_FAILED ? errno : 0, size); return got; }
void *mmap(void *at, size_t size, int how, int flags, int of, off_t from) {
    return mapped("mmap", at, size, how, flags, of, from); }
void *mmap64(void *at, size_t size, int how, int flags, int of, off_t from) {
    return mapped("mmap64", at, size, how, flags, of, from); }
int socket(int family, int kind, int protocol) { int (*real)() = dlsym(RTLD_NEXT, "socket");
    int got = real(family, kind, protocol); note("socket %d %d family\n", got < 0 ? errno : 0, family); return got; }
int memfd_create(const char *name, unsigned flags) { int (*real)() = dlsym(RTLD_NEXT, "memfd_create");
    int got = real(name, flags); note("memfd_create %d 0 %s\n", got < 0 ? errno : 0, name); return got; }

/* alloc_count.c - preloaded into a daemon: counts what asks for memory, in every thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The counts stand in the file $ALLOC_COUNT_DIR/PID, which the test maps or reads while the daemon
 * runs: eight-byte numbers, the calls of each kind, then who called last, for the test's message.
 * The C library's own names behind malloc are called; free() needs no place here.
 */
enum kind {
    KIND_MALLOC,
    KIND_CALLOC,
    KIND_REALLOC,
    KIND_ALIGNED,
    KIND_MMAP,
    KIND_BRK,
    KIND_COUNT,
};

#define CALLERS 16
#define FRAMES  6

struct counts {
    _Atomic uint64_t calls[KIND_COUNT];
    _Atomic uint64_t caller_count;
    uint64_t callers[CALLERS][FRAMES];
};

static struct counts *_Atomic shown;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);

static void *map(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}

/* Programs and libraries of ours keep frame pointers; others end the walk, by a frame not above. */
static void remember(struct counts *counts, const uintptr_t *frame)
{
    uint64_t *caller = counts->callers[atomic_fetch_add(&counts->caller_count, 1) % CALLERS];

    for (unsigned i = 0; i < FRAMES; i++)
        caller[i] = 0;
    for (unsigned i = 0; i < FRAMES; i++) {
        caller[i] = frame[1];
        const uintptr_t *next = (const uintptr_t *)frame[0];
        if (next <= frame || next > frame + (1 << 16))
            return;
        frame = next;
    }
}

#define COUNT(kind)                                                                                \
    do {                                                                                           \
        struct counts *counts = atomic_load_explicit(&shown, memory_order_acquire);                \
        if (counts) {                                                                              \
            atomic_fetch_add_explicit(&counts->calls[kind], 1, memory_order_relaxed);              \
            remember(counts, __builtin_frame_address(0));                                          \
        }                                                                                          \
    } while (0)

void *malloc(size_t size)
{
    COUNT(KIND_MALLOC);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    COUNT(KIND_CALLOC);
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    COUNT(KIND_REALLOC);
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    COUNT(KIND_ALIGNED);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    COUNT(KIND_ALIGNED);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    COUNT(KIND_ALIGNED);
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    COUNT(KIND_MMAP);
    return map(at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    COUNT(KIND_MMAP);
    return map(at, length, protection, flags, fd, offset);
}

void *__sbrk(intptr_t by);
void *sbrk(intptr_t by)
{
    COUNT(KIND_BRK);
    return __sbrk(by);
}

__attribute__((constructor)) static void begin(void)
{
    const char *folder = getenv("ALLOC_COUNT_DIR");
    char path[512];

    if (!folder)
        return;
    snprintf(path, sizeof(path), "%s/%ld", folder, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct counts)) != 0)
        abort();
    struct counts *counts =
        map(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (counts == MAP_FAILED)
        abort();
    atomic_store_explicit(&shown, counts, memory_order_release);
}

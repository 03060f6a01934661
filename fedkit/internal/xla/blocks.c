#ifdef __linux__
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#endif
#include "blocks.h"

#ifdef __GLIBC__
extern void *__libc_malloc(size_t size), *__libc_memalign(size_t alignment, size_t size), *__libc_realloc(void *at, size_t size);
extern void __libc_free(void *at);

// A block begins with a page of its own, after which its bytes are. Those that were freed wait in lists, one for each of four sizes
// between powers of two.
typedef struct block {
	struct block *next;
	size_t size; // with the page
	int empty;   // its bytes were returned to the system
} block;

static const size_t page = 4096, large = 1 << 20, room = (size_t)1 << 38;
static const size_t most = 1 << 30; // bytes of lists that are kept
static char *base, *fresh, *end; // addresses of blocks begin, are not used yet, and end; the same if there are none
static block *lists[4 * 64];
static size_t kept; // bytes of lists that were not returned to the system
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void reserve(void) {
	void *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED)
		base = fresh = at, end = base + room;
}

static block *block_of(void *at) { return (char *)at >= base && (char *)at < end ? (block *)((char *)at - page) : NULL; }

static block **list(size_t size) {
	int log = 63 - __builtin_clzl(size);
	return &lists[4 * log + (size >> (log - 2) & 3)];
}

static void empty(block *b) {
	int before = errno;
	madvise((char *)b + page, b->size - page, MADV_DONTNEED);
	errno = before;
	b->empty = 1;
	kept -= b->size;
}

// take returns a block's bytes; NULL if there is no room for them.
static void *take(size_t size) {
	size += page;
	size_t unit = (size_t)1 << (61 - __builtin_clzl(size));
	size = (size + unit - 1) & ~(unit - 1);
	pthread_mutex_lock(&lock);
	block **l = list(size), *b = *l;
	if (b) {
		*l = b->next;
		if (!b->empty)
			kept -= b->size;
	} else if (size <= (size_t)(end - fresh)) {
		b = (block *)fresh;
		fresh += size;
		b->size = size;
	}
	pthread_mutex_unlock(&lock);
	return b ? (char *)b + page : NULL;
}

void *malloc(size_t size) {
	void *at = size < large || size > most ? NULL : take(size);
	return at ? at : __libc_malloc(size);
}

int posix_memalign(void **to, size_t alignment, size_t size) {
	if (!alignment || alignment % sizeof(void *) || alignment & (alignment - 1))
		return EINVAL;
	void *at = size < large || size > most || alignment > page ? NULL : take(size);
	if (!at && !(at = __libc_memalign(alignment, size)))
		return ENOMEM;
	*to = at;
	return 0;
}

void free(void *at) {
	block *b = block_of(at);
	if (!b) {
		__libc_free(at);
		return;
	}
	pthread_mutex_lock(&lock);
	block **l = list(b->size);
	b->next = *l, b->empty = 0, *l = b;
	kept += b->size;
	if (kept > most)
		empty(b);
	pthread_mutex_unlock(&lock);
}

void *realloc(void *at, size_t size) {
	block *b = block_of(at);
	if (!b)
		return __libc_realloc(at, size);
	if (size && size <= b->size - page)
		return at;
	void *to = size ? malloc(size) : NULL;
	if (to)
		memcpy(to, at, b->size - page);
	if (to || !size)
		free(at);
	return to;
}

void empty_blocks(void) {
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (block *b = lists[i]; b; b = b->next)
			if (!b->empty)
				empty(b);
	pthread_mutex_unlock(&lock);
}
#else
void empty_blocks(void) {}
#endif

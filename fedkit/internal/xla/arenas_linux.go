package xla

/*
#include <malloc.h>
#include <stdlib.h>

__attribute__((constructor)) static void keepOneArena(void) {
#ifdef M_ARENA_MAX // in glibc
	if (getenv("MALLOC_ARENA_MAX") == NULL) {
		mallopt(M_ARENA_MAX, 1);
	}
#endif
}
*/
import "C"

// When the program is loaded, before there are threads, glibc's malloc is told to keep one pool of memory, unless the environment says how
// many. By default each thread has its own, up to eight for each processor. What the plugin allocates in one thread and frees in
// another leaves holes in all of them: a run of SCAFFOLD grew by some 15 kB in every round, though nothing was left allocated.
// Threads still have small caches of their own.

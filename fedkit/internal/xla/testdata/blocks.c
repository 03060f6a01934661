// Threads that take, move and free memory of all sizes, and see that nobody else writes to theirs.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../blocks.h"

enum { held = 16, turns = 3000 };

static void must(int holds, const char *what) {
	if (!holds) {
		fprintf(stderr, "%s\n", what);
		_Exit(1);
	}
}

static void *work(void *number) {
	unsigned seed = (uintptr_t)number;
	struct { unsigned char *at, with; size_t size; } mine[held] = {0};
	for (int turn = 0; turn < turns; turn++) {
		int i = rand_r(&seed) % held;
		size_t size = (size_t)1 << rand_r(&seed) % 24;
		size += rand_r(&seed) % size;
		unsigned char *at = mine[i].at;
		if (at) {
			must(at[0] == mine[i].with && at[mine[i].size / 2] == mine[i].with && at[mine[i].size - 1] == mine[i].with, "another wrote to it");
			if (turn % 3 == 0) {
				must((at = realloc(at, size)) != NULL, "realloc");
				must(at[0] == mine[i].with && at[(size < mine[i].size ? size : mine[i].size) - 1] == mine[i].with, "realloc lost bytes");
			} else {
				free(at);
				at = NULL;
			}
		}
		if (!at) {
			size_t alignment = (size_t)16 << rand_r(&seed) % 10;
			if (turn % 2)
				must((at = malloc(size)) != NULL, "malloc");
			else
				must(!posix_memalign((void **)&at, alignment, size) && (uintptr_t)at % alignment == 0, "posix_memalign");
		}
		mine[i].at = at, mine[i].size = size, mine[i].with = turn;
		memset(at, turn, size);
		if (turn % 500 == 0)
			empty_blocks();
	}
	for (int i = 0; i < held; i++)
		free(mine[i].at);
	return NULL;
}

int main(void) {
	void *at;
	must(posix_memalign(&at, 24, 1 << 20) != 0, "an alignment that is no power of two");
	must((at = malloc((size_t)3 << 30)) != NULL, "more than is kept");
	free(at);
	unsigned char *small = malloc(1 << 20), *next = malloc(1 << 20);
	for (size_t size = 1 << 20; size < 3 << 20; size += 1000) // up to the last byte of a block
		memset(small = realloc(small, size), 255, size);
	uintptr_t was = (uintptr_t)next;
	free(next);
	must((uintptr_t)(next = malloc(1 << 20)) == was, "a freed block is not used again");
	free(next);
	free(small);
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		must(!pthread_create(&threads[i], NULL, work, (void *)i), "thread");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

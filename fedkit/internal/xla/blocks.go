package xla

// #include "blocks.h"
import "C"

// XLA's plugin takes memory for the intermediate values of a program, often hundreds of megabytes, each time that it runs one, and
// frees it afterwards. glibc returns such blocks to the system at once, which then clears every page again for the next program: a
// quarter of a round of a transformer. So blocks.c stands in for malloc, posix_memalign, realloc and free where glibc is the C library:
// what has a megabyte or more comes from blocks that are kept, up to 1 GB of those that nobody uses; the rest is glibc's.

// EmptyBlocks returns the memory of blocks that nobody uses to the system.
func EmptyBlocks() { C.empty_blocks() }

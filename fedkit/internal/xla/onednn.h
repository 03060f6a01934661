// Convolutions by oneDNN 3, whose library is opened when it is first asked for.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { most_space = 3, rank = 2 + most_space };

// A convolution says which of its three tensors is computed, and the shapes and steps of all, in oneDNN's order of axes. It has numbers alone,
// of one size: a program carries them as an array.
typedef struct {
	int64_t kind, space, groups;           // kind: see below; number of spatial axes
	int64_t dims[3][rank], steps[3][rank]; // of src [N, C, space…], weights [O, C/groups, space…] and dst [N, O, space…], in float32 numbers
	int64_t strides[most_space], dilations[most_space], before[most_space], after[most_space]; // those of the convolution whose gradient it is
} convolution;

enum { forward, backward_data, backward_weights };
enum { src, weights, dst };

// A pool runs tasks beside the caller, as soon as it can.
typedef struct { void (*schedule)(void *with, void (*task)(void *), void *data); void *with; int threads; } pool;

// onednn_open opens the library; it returns what is wrong with it, or NULL.
const char *onednn_open(const char *path);
// onednn_version returns the library's version, 3.2.0 as 30200.
int onednn_version(void);
// onednn_has reports whether there is such a convolution, and keeps what it made for calls to come.
int onednn_has(const convolution *c);
// onednn_convolve computes data[src], data[weights] or data[dst]; it returns what went wrong, or NULL. The result has the same bytes whatever the pool.
const char *onednn_convolve(const convolution *c, void *data[3], const pool *p);

#include <string.h>

#include "kernels.h"

// What of XLA's FFI is needed, as version 0.2 has it.
typedef struct base { size_t size; int type; struct base *next; } base;
typedef struct { size_t size; base *extension; int major, minor; } ffi_version;
typedef struct { size_t size; ffi_version version; } ffi_metadata;
typedef struct { base base; ffi_metadata *metadata; } ffi_probe;
typedef struct { size_t size; base *extension; const char *message; int code; } ffi_error;
typedef struct { size_t size; base *extension; void *error; } ffi_destroy;
typedef struct { size_t size; base *extension; void *context; void (*task)(void *); void *data; } ffi_schedule;
typedef struct { size_t size; base *extension; void *context; int64_t *threads; } ffi_threads;
typedef struct {
	size_t size;
	base *extension;
	ffi_version version;
	void *internal;
	void *(*error)(ffi_error *), *others[1];
	void (*destroy)(ffi_destroy *);
	void *more[8];
	void *(*schedule)(ffi_schedule *), *(*threads)(ffi_threads *);
} ffi_api;
typedef struct { size_t size; base *extension; int64_t n; int *types; void **values; } ffi_list;
typedef struct { size_t size; base *extension; int64_t n; int *types; void **names, **values; } ffi_attributes;
typedef struct { size_t size; base *extension; int type; void *data; int64_t rank, *dims; } ffi_buffer;
typedef struct { int type; size_t n; void *data; } ffi_array;
typedef struct { size_t size; base *extension; const ffi_api *api; void *context; int stage; ffi_list arguments, results; ffi_attributes attributes; } ffi_frame;

enum { probe = 1, ffi_extension_type = 5, float32 = 11, array = 1, internal_error = 13 };

static int dropped(const ffi_api *api, void *error) {
	ffi_destroy d = {sizeof d, NULL, error};
	if (error)
		api->destroy(&d);
	return error != NULL;
}

static void schedule(void *with, void (*task)(void *), void *data) {
	ffi_frame *f = with;
	ffi_schedule s = {sizeof s, NULL, f->context, task, data};
	if (dropped(f->api, f->api->schedule(&s)))
		task(data);
}

// fits reports whether a buffer has the numbers of a tensor, and no step leads out of it.
static int fits(const convolution *c, int role, const ffi_buffer *b) {
	int64_t n = 1, has = 1, last = 0, step;
	for (int i = 0; i < 2 + c->space; i++)
		if (c->dims[role][i] < 1 || c->steps[role][i] < 0 || __builtin_mul_overflow(n, c->dims[role][i], &n) ||
			__builtin_mul_overflow(c->dims[role][i] - 1, c->steps[role][i], &step) || __builtin_add_overflow(last, step, &last))
			return 0;
	for (int64_t i = 0; i < b->rank; i++)
		has *= b->dims[i];
	return b->type == float32 && n == has && last < n;
}

static const char *convolved(ffi_frame *f) {
	// What is given and what is computed, by kind.
	static const int roles[3][3] = {{src, weights, dst}, {dst, weights, src}, {src, dst, weights}};
	convolution c;
	void *data[3];
	ffi_array *numbers = f->attributes.n == 1 && f->attributes.types[0] == array ? f->attributes.values[0] : NULL;
	if (f->arguments.n != 2 || f->results.n != 1 || !numbers || numbers->n * sizeof(int64_t) != sizeof c)
		return "a convolution has two arguments, one result and its numbers";
	memcpy(&c, numbers->data, sizeof c);
	if (c.kind < forward || c.kind > backward_weights || c.space < 1 || c.space > most_space || c.groups < 1)
		return "there is no such convolution";
	for (int i = 0; i < 3; i++) {
		ffi_buffer *b = i < 2 ? f->arguments.values[i] : f->results.values[0];
		int role = roles[c.kind][i];
		if (!fits(&c, role, b))
			return "a convolution's numbers are not those of its tensors";
		data[role] = b->data;
	}
	pool p = {schedule, f, 1};
	int64_t threads = 1;
	ffi_threads t = {sizeof t, NULL, f->context, &threads};
	if (f->api->size >= sizeof *f->api && !dropped(f->api, f->api->threads(&t)))
		p.threads = threads;
	return onednn_convolve(&c, data, &p);
}

// handle is what XLA calls: when it is registered, to ask for its version, and then from programs.
static void *handle(ffi_frame *f) {
	for (base *b = f->extension; b; b = b->next)
		if (b->type == probe) {
			ffi_version *v = &((ffi_probe *)b)->metadata->version;
			v->major = 0;
			v->minor = 2;
			return NULL;
		}
	ffi_error e = {sizeof e, NULL, convolved(f), internal_error};
	return e.message ? f->api->error(&e) : NULL;
}

const char *kernels_register(pjrt_api *api, const char *name) {
	typedef struct { size_t size; const char *name; size_t name_size; void *handler; const char *platform; size_t platform_size; uint32_t traits; } arguments;
	typedef struct { base base; void *others[2]; void *(*handler)(arguments *); } extension;
	base *b = api->extension;
	while (b && b->type != ffi_extension_type)
		b = b->next;
	if (!b || b->size < sizeof(extension))
		return "the plugin cannot call functions of others";
	arguments a = {sizeof a, name, strlen(name), (void *)handle, "Host", 4, 0};
	void *error = ((extension *)b)->handler(&a);
	pjrt_drop(api, error);
	return error ? "the plugin refuses functions of others" : NULL;
}

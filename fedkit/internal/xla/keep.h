// The parts of PJRT's C interface that keep.go uses, as version 0.81 has them. The interface grows at its end only.
#pragma once
#include <stddef.h>

typedef struct {
	size_t size;
	void *extension;
	struct { size_t size; void *extension; int major, minor; } version;
	void *functions[57]; // and more
} pjrt_api;

enum { destroy_error = 0, error_message = 1, compile = 20, destroy_executable = 40, serialize = 49, get_executable = 51, load = 56 };

typedef struct { size_t size; void *extension; char *code; size_t code_size; char *format; size_t format_size; } program;
typedef struct { size_t size; void *extension, *client; program *program; char *options; size_t options_size; void *loaded; } compile_args;
typedef struct { size_t size; void *extension, *client; char *bytes; size_t bytes_size; void *loaded; char *options; size_t options_size; } load_args;
typedef struct { size_t size; void *extension, *loaded, *executable; } executable_args;
typedef struct { size_t size; void *extension, *executable; char *bytes; size_t bytes_size; void *backing; void (*drop)(void *); } serialize_args;
typedef struct { size_t size; void *extension, *what; } destroy_args;

// opened returns the interface of a library that is open already, NULL if it has none.
pjrt_api *opened(const char *path);
// intercepted returns a copy of the interface that compiles by fedkitCompile, NULL if the interface is not the known one.
pjrt_api *intercepted(pjrt_api *api);
void *pjrt_compile(pjrt_api *api, compile_args *args);
void *pjrt_load(pjrt_api *api, compile_args *args, char *bytes, size_t n);
// pjrt_serialize returns a copy that is to be freed, NULL if the plugin cannot serialize.
char *pjrt_serialize(pjrt_api *api, void *loaded, size_t *n);
// pjrt_drop destroys an error, if it is one.
void pjrt_drop(pjrt_api *api, void *error);

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "keep.h"
#include "_cgo_export.h"

static void *call(pjrt_api *api, int function, void *args) { return ((void *(*)(void *))api->functions[function])(args); }

static void destroy(pjrt_api *api, int function, void *what) {
	destroy_args args = {sizeof args, NULL, what};
	if (what)
		call(api, function, &args);
}

pjrt_api *opened(const char *path) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	pjrt_api *(*get)(void) = library ? (pjrt_api * (*)(void)) dlsym(library, "GetPjrtApi") : NULL;
	return get ? get() : NULL;
}

pjrt_api *intercepted(pjrt_api *api) {
	pjrt_api *copy;
	if (!api || api->version.major != 0 || api->size < sizeof *api || !(copy = malloc(api->size)))
		return NULL;
	memcpy(copy, api, api->size);
	copy->functions[compile] = (void *)fedkitCompile;
	return copy;
}

void *pjrt_compile(pjrt_api *api, compile_args *args) { return call(api, compile, args); }

void *pjrt_load(pjrt_api *api, compile_args *args, char *bytes, size_t n) {
	load_args l = {sizeof l, NULL, args->client, bytes, n};
	void *error = call(api, load, &l);
	destroy(api, destroy_error, error);
	return error ? NULL : l.loaded;
}

char *pjrt_serialize(pjrt_api *api, void *loaded, size_t *n) {
	executable_args x = {sizeof x, NULL, loaded};
	serialize_args s = {sizeof s};
	char *copy = NULL;
	void *error = call(api, get_executable, &x);
	if (!error) {
		s.executable = x.executable;
		error = call(api, serialize, &s);
		if (!error && (copy = malloc(s.bytes_size))) {
			memcpy(copy, s.bytes, s.bytes_size);
			*n = s.bytes_size;
		}
		if (!error)
			s.drop(s.backing);
		destroy(api, destroy_executable, x.executable);
	}
	destroy(api, destroy_error, error);
	return copy;
}

void pjrt_drop(pjrt_api *api, void *error) { destroy(api, destroy_error, error); }

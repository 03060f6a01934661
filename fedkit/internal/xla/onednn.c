#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "onednn.h"

// --- the library -------------------------------------------------------------------------------------------------------------

typedef struct { int major, minor, patch; } version;
typedef struct { int is; void *memory; } argument;

#define FUNCTIONS(F) \
	F(const version *, version, (void)) \
	F(int, get_effective_cpu_isa, (void)) \
	F(int, engine_create, (void **, int kind, size_t index)) \
	F(int, stream_create, (void **, void *engine, unsigned flags)) \
	F(int, stream_destroy, (void *)) \
	F(int, memory_desc_create_with_strides, (void **, int, const int64_t *dims, int type, const int64_t *steps)) \
	F(int, memory_desc_create_with_tag, (void **, int, const int64_t *dims, int type, int tag)) \
	F(int, memory_desc_destroy, (void *)) \
	F(int, memory_desc_equal, (const void *, const void *)) \
	F(size_t, memory_desc_get_size, (const void *)) \
	F(int, memory_create, (void **, const void *desc, void *engine, void *data)) \
	F(int, memory_destroy, (void *)) \
	F(int, primitive_attr_create, (void **)) \
	F(int, primitive_attr_set_scratchpad_mode, (void *, int)) \
	F(int, convolution_forward_primitive_desc_create, (void **, void *, int, int, const void *, const void *, const void *, const void *, \
		const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *)) \
	F(int, convolution_backward_data_primitive_desc_create, (void **, void *, int, const void *, const void *, const void *, \
		const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *, const void *)) \
	F(int, convolution_backward_weights_primitive_desc_create, (void **, void *, int, const void *, const void *, const void *, const void *, \
		const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *, const void *)) \
	F(int, reorder_primitive_desc_create, (void **, const void *from, void *, const void *to, void *, const void *attr)) \
	F(const void *, primitive_desc_query_md, (const void *, int what, int index)) \
	F(int, primitive_desc_destroy, (void *)) \
	F(int, primitive_create, (void **, const void *desc)) \
	F(int, primitive_destroy, (void *)) \
	F(int, primitive_execute, (const void *, void *stream, int n, const argument *))

static struct functions {
#define F(result, name, parameters) result (*name) parameters;
	FUNCTIONS(F)
#undef F
} dnn;
static void (*use_threads)(int); // OpenMP's, of the calling thread
static void *engine, *attributes;

// Values of oneDNN's enumerations, with those of src, weights and dst in turn, and of their gradients.
enum { f32 = 3, any_layout = 1, training = 64, direct = 1, cpu = 1, avx2 = 7, in_order = 1, by_user = 1, from = 1, to = 17, scratch = 80, scratch_desc = 136 };
static const int tensor[2][3] = {{1, 33, 17}, {129, 161, 145}}, desc_of[2][3] = {{129, 131, 133}, {130, 132, 134}};

const char *onednn_open(const char *path) {
	struct functions its;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *threads = library ? dlsym(library, "omp_set_num_threads") : NULL;
#define F(result, name, parameters) \
	if (!library || !(its.name = (result(*) parameters)dlsym(library, "dnnl_" #name))) \
		return dlerror();
	FUNCTIONS(F)
#undef F
	if (!threads)
		return "it has no OpenMP";
	if (its.version()->major != 3)
		return "it is not oneDNN 3";
	if ((its.get_effective_cpu_isa() & avx2) != avx2)
		return "the processor has no AVX2";
	if (engine)
		return NULL;
	dnn = its;
	use_threads = (void (*)(int))threads;
	use_threads(1);
	if (dnn.engine_create(&engine, cpu, 0) || dnn.primitive_attr_create(&attributes) || dnn.primitive_attr_set_scratchpad_mode(attributes, by_user))
		return "it makes no engine";
	return NULL;
}

int onednn_version(void) { return dnn.version()->major * 10000 + dnn.version()->minor * 100 + dnn.version()->patch; }

// --- primitives, kept by their convolution --------------------------------------------------------------------------------

// A made convolution of some examples has its primitive, and the reorders between the caller's layout of a tensor and the primitive's.
typedef struct {
	void *desc, *primitive, *reorder[3], *given[3]; // given: descriptions of the caller's layouts
	const void *wanted[3], *scratch;                // descriptions that desc owns; NULL where the caller's is wanted
	size_t bytes[3], scratch_bytes;                 // of wanted
} made;

// A kept convolution is cut by examples, into pieces that do not depend on how many threads there are.
typedef struct kept {
	convolution c;
	int pieces, larger; // the first pieces, in number larger, have an example more
	made *piece[2];     // of one more and of the others
	struct kept *next;
} kept;

static int result(const convolution *c) { return c->kind == forward ? dst : c->kind == backward_data ? src : weights; }
static int is_gradient(const convolution *c, int role) { return c->kind == backward_data && role != weights || c->kind == backward_weights && role != src; }

// describe describes a tensor in the caller's layout, or in the one that oneDNN chooses.
static void *describe(const convolution *c, int role, int chosen) {
	int64_t dims[1 + rank], steps[1 + rank];
	int grouped = role == weights && c->groups > 1, n = grouped + 2 + c->space;
	void *d = NULL;
	memcpy(dims + grouped, c->dims[role], sizeof c->dims[role]);
	memcpy(steps + grouped, c->steps[role], sizeof c->steps[role]);
	if (grouped) {
		dims[0] = c->groups;
		dims[1] /= c->groups;
		steps[0] = dims[1] * steps[1];
	}
	return (chosen ? dnn.memory_desc_create_with_tag(&d, n, dims, f32, any_layout) : dnn.memory_desc_create_with_strides(&d, n, dims, f32, steps)) ? NULL : d;
}

static void *reorder(const void *from, const void *to) {
	void *desc = NULL, *p = NULL;
	if (!dnn.reorder_primitive_desc_create(&desc, from, engine, to, engine, attributes))
		dnn.primitive_create(&p, desc);
	if (desc)
		dnn.primitive_desc_destroy(desc);
	return p;
}

static void discard(made *m) {
	for (int i = 0; m && i < 3; i++) {
		if (m->reorder[i])
			dnn.primitive_destroy(m->reorder[i]);
		if (m->given[i])
			dnn.memory_desc_destroy(m->given[i]);
	}
	if (m && m->primitive)
		dnn.primitive_destroy(m->primitive);
	if (m && m->desc)
		dnn.primitive_desc_destroy(m->desc);
	free(m);
}

// describe_primitive describes the primitive for tensors of these descriptions, NULL if there is none.
static void *describe_primitive(const convolution *c, void *of[3]) {
	int64_t more[most_space]; // oneDNN counts what is left out between two numbers
	void *f = NULL, *d = NULL;
	for (int i = 0; i < c->space; i++)
		more[i] = c->dilations[i] - 1;
	if (dnn.convolution_forward_primitive_desc_create(&f, engine, training, direct, of[src], of[weights], NULL, of[dst], c->strides, more, c->before, c->after, attributes))
		return NULL;
	if (c->kind == forward)
		return f;
	int failed = c->kind == backward_data
		? dnn.convolution_backward_data_primitive_desc_create(&d, engine, direct, of[src], of[weights], of[dst], c->strides, more, c->before, c->after, f, attributes)
		: dnn.convolution_backward_weights_primitive_desc_create(&d, engine, direct, of[src], of[weights], NULL, of[dst], c->strides, more, c->before, c->after, f, attributes);
	dnn.primitive_desc_destroy(f);
	return failed ? NULL : d;
}

// make makes a convolution; NULL if oneDNN has none. Where channels are adjacent, oneDNN is fast with the caller's layout. It chooses that of
// weights, and of what is laid out otherwise.
static made *make(const convolution *c) {
	made *m = calloc(1, sizeof *m);
	void *asked[3] = {0};
	int failed = !m;
	for (int i = 0; i < 3 && !failed; i++)
		failed = !(m->given[i] = describe(c, i, 0)) || !(asked[i] = describe(c, i, i == weights || c->steps[i][1] != 1));
	failed = failed || !(m->desc = describe_primitive(c, asked)) || dnn.primitive_create(&m->primitive, m->desc);
	for (int i = 0; i < 3; i++)
		if (asked[i])
			dnn.memory_desc_destroy(asked[i]);
	for (int i = 0; i < 3 && !failed; i++) {
		const void *is = dnn.primitive_desc_query_md(m->desc, desc_of[is_gradient(c, i)][i], 0);
		if (dnn.memory_desc_equal(is, m->given[i]))
			continue;
		m->wanted[i] = is;
		m->bytes[i] = dnn.memory_desc_get_size(is);
		failed = !(m->reorder[i] = i == result(c) ? reorder(is, m->given[i]) : reorder(m->given[i], is));
	}
	if (failed) {
		discard(m);
		return NULL;
	}
	m->scratch = dnn.primitive_desc_query_md(m->desc, scratch_desc, 0);
	m->scratch_bytes = dnn.memory_desc_get_size(m->scratch);
	return m;
}

// pieces says into how many pieces a convolution is cut: of 20 million multiply-adds at least, which take some 0.4 ms. The pieces of a gradient of
// weights are added, so there are only as many as cost little beside the rest.
static int pieces(const convolution *c) {
	double work = 1, size = 1;
	for (int i = 0; i < 2 + c->space; i++) {
		work *= c->dims[dst][i] * (i == 1 ? c->dims[weights][1] : i > 1 ? c->dims[weights][i] : 1);
		size *= c->dims[weights][i];
	}
	double n = work / 20e6;
	if (c->kind == backward_weights && n > work / (500 * size))
		n = work / (500 * size);
	if (n > 8)
		n = 8;
	if (n > c->dims[src][0])
		n = c->dims[src][0];
	return n < 1 ? 1 : (int)n;
}

static kept *cut(const convolution *c) {
	kept *k = calloc(1, sizeof *k);
	convolution piece = *c;
	if (!k)
		return NULL;
	k->c = *c;
	k->pieces = pieces(c);
	k->larger = c->dims[src][0] % k->pieces;
	for (int i = 0; i < 2; i++) {
		piece.dims[src][0] = piece.dims[dst][0] = c->dims[src][0] / k->pieces + (i == 0);
		if ((i == 0 && !k->larger) || (k->piece[i] = make(&piece)))
			continue;
		discard(k->piece[0]);
		free(k);
		return NULL;
	}
	made *a = k->piece[0], *b = k->piece[1];
	if (a && (!a->wanted[weights] != !b->wanted[weights] || a->wanted[weights] && !dnn.memory_desc_equal(a->wanted[weights], b->wanted[weights]))) {
		discard(a); // they cannot share weights
		discard(b);
		k->pieces = 1, k->larger = 0, k->piece[0] = NULL;
		if (!(k->piece[1] = make(c))) {
			free(k);
			return NULL;
		}
	}
	return k;
}

static kept *find(const convolution *c) {
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static kept *table[256];
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < sizeof *c / sizeof(int64_t); i++)
		hash = (hash ^ (uint64_t)((const int64_t *)c)[i]) * 1099511628211u;
	kept **at = &table[hash >> 56], *k;
	pthread_mutex_lock(&lock);
	for (k = *at; k && memcmp(&k->c, c, sizeof *c); k = k->next)
		;
	if (!k && (k = cut(c)))
		k->next = *at, *at = k;
	pthread_mutex_unlock(&lock);
	return k;
}

int onednn_has(const convolution *c) {
	use_threads(1);
	return find(c) != NULL;
}

// --- calls -----------------------------------------------------------------------------------------------------------------

enum { shared, alone }; // a thread's memory for weights that pieces share, and for a piece
typedef struct { void *stream, *data[2]; size_t bytes[2]; } thread;

static pthread_key_t own;
static void end_thread(void *of) {
	thread *t = of;
	dnn.stream_destroy(t->stream);
	free(t->data[shared]);
	free(t->data[alone]);
	free(t);
}
static void make_own(void) { pthread_key_create(&own, end_thread); }

// per_thread returns what the calling thread keeps, with room for so many bytes of a kind; NULL if there is no memory.
static thread *per_thread(int kind, size_t bytes) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_own);
	thread *t = pthread_getspecific(own);
	if (!t) {
		use_threads(1);
		if (!(t = calloc(1, sizeof *t)) || dnn.stream_create(&t->stream, engine, in_order) || pthread_setspecific(own, t))
			return NULL;
	}
	if (t->bytes[kind] < bytes) {
		free(t->data[kind]);
		t->bytes[kind] = 0;
		if (!(t->data[kind] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)))
			return NULL;
		t->bytes[kind] = bytes;
	}
	return t;
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// execute runs a primitive on memories that are given as descriptions and data; it returns oneDNN's status.
static int execute(thread *t, void *primitive, int n, const int *is, const void **desc, void **data) {
	argument a[4];
	int made = 0, failed = 0;
	for (; made < n && !failed; made++) {
		a[made] = (argument){is[made], NULL};
		failed = dnn.memory_create(&a[made].memory, desc[made], engine, data[made]);
	}
	failed = failed || dnn.primitive_execute(primitive, t->stream, n, a);
	while (made-- > 0)
		if (a[made].memory)
			dnn.memory_destroy(a[made].memory);
	return failed;
}

static int reordered(thread *t, void *primitive, const void *desc, void *data, const void *to_desc, void *to_data) {
	return execute(t, primitive, 2, (int[]){from, to}, (const void *[]){desc, to_desc}, (void *[]){data, to_data});
}

// compute computes a piece. Weights are in the layout that it wants.
static int compute(const convolution *c, made *m, void *data[3]) {
	thread *t = per_thread(alone, aligned(m->scratch_bytes) + aligned(m->bytes[src]) + aligned(m->bytes[dst]));
	if (!t)
		return 1;
	char *at = t->data[alone];
	int is[4] = {0, 0, 0, scratch}, failed = 0;
	const void *desc[4] = {0, 0, 0, m->scratch};
	void *use[4] = {0, 0, 0, at};
	at += aligned(m->scratch_bytes);
	for (int i = 0; i < 3 && !failed; i++) {
		is[i] = tensor[is_gradient(c, i)][i];
		desc[i] = m->wanted[i] ? m->wanted[i] : m->given[i];
		use[i] = data[i];
		if (i == weights || !m->wanted[i])
			continue;
		use[i] = at;
		at += aligned(m->bytes[i]);
		if (i != result(c))
			failed = reordered(t, m->reorder[i], m->given[i], data[i], desc[i], use[i]);
	}
	failed = failed || execute(t, m->primitive, 4, is, desc, use);
	int r = result(c);
	if (!failed && r != weights && m->wanted[r])
		failed = reordered(t, m->reorder[r], desc[r], use[r], m->given[r], data[r]);
	return failed;
}

// A call is shared by the caller and the tasks that help it, the last of which frees it: a task may begin when all is done.
typedef struct {
	const kept *k;
	void *data[3];
	size_t apart; // bytes between the pieces' gradients of weights
	atomic_int next, users, failed;
	int done;
	pthread_mutex_t lock;
	pthread_cond_t all;
} call;

static void leave(call *c) {
	if (atomic_fetch_sub(&c->users, 1) > 1)
		return;
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->all);
	free(c);
}

// help computes the pieces that nobody has begun.
static void help(void *of) {
	call *c = of;
	const kept *k = c->k;
	int64_t n = k->c.dims[src][0] / k->pieces, i;
	while ((i = atomic_fetch_add(&c->next, 1)) < k->pieces) {
		int64_t first = i * n + (i < k->larger ? i : k->larger);
		void *data[3] = {(float *)c->data[src] + first * k->c.steps[src][0], (char *)c->data[weights] + i * c->apart, (float *)c->data[dst] + first * k->c.steps[dst][0]};
		use_threads(1);
		if (compute(&k->c, k->piece[i >= k->larger], data))
			atomic_store(&c->failed, 1);
		pthread_mutex_lock(&c->lock);
		if (++c->done == k->pieces)
			pthread_cond_signal(&c->all);
		pthread_mutex_unlock(&c->lock);
	}
	leave(c);
}

static atomic_int calling; // calls under way

// computed computes all pieces, with tasks of the pool if calls leave it processors.
static int computed(const kept *k, void *data[3], size_t apart, const pool *p) {
	use_threads(1);
	if (k->pieces == 1)
		return compute(&k->c, k->piece[1], data);
	call *c = calloc(1, sizeof *c);
	if (!c)
		return 1;
	c->k = k;
	memcpy(c->data, data, sizeof c->data);
	c->apart = apart;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->all, NULL);
	int helpers = p->threads - atomic_load(&calling);
	if (helpers > k->pieces - 1)
		helpers = k->pieces - 1;
	if (helpers < 0)
		helpers = 0;
	atomic_store(&c->users, helpers + 2);
	for (int i = 0; i < helpers; i++)
		p->schedule(p->with, help, c);
	help(c);
	pthread_mutex_lock(&c->lock);
	while (c->done < k->pieces)
		pthread_cond_wait(&c->all, &c->lock);
	pthread_mutex_unlock(&c->lock);
	int failed = atomic_load(&c->failed);
	leave(c);
	return failed;
}

const char *onednn_convolve(const convolution *c, void *data[3], const pool *p) {
	const kept *k = find(c);
	if (!k)
		return "oneDNN has no such convolution";
	made *m = k->piece[1];
	int sums = c->kind == backward_weights, copies = sums ? k->pieces : 1, failed = 0;
	void *use[3] = {data[src], data[weights], data[dst]};
	size_t size = m->wanted[weights] ? m->bytes[weights] : dnn.memory_desc_get_size(m->given[weights]), apart = aligned(size);
	int elsewhere = m->wanted[weights] || copies > 1;
	thread *t = per_thread(shared, elsewhere ? copies * apart : 0);
	if (!t)
		return "there is no memory for a convolution";
	if (elsewhere)
		use[weights] = t->data[shared];
	if (m->wanted[weights] && !sums)
		failed = reordered(t, m->reorder[weights], m->given[weights], data[weights], m->wanted[weights], use[weights]);
	atomic_fetch_add(&calling, 1);
	failed = failed || computed(k, use, sums ? apart : 0, p);
	atomic_fetch_sub(&calling, 1);
	float *sum = use[weights];
	for (int i = 1; i < copies && !failed; i++) {
		const float *more = (float *)((char *)sum + i * apart);
		for (size_t j = 0; j < size / sizeof(float); j++)
			sum[j] += more[j];
	}
	if (sums && !failed && m->wanted[weights])
		failed = reordered(t, m->reorder[weights], m->wanted[weights], sum, m->given[weights], data[weights]);
	else if (sums && !failed && elsewhere)
		memcpy(data[weights], sum, size);
	return failed ? "oneDNN fails at a convolution" : NULL;
}

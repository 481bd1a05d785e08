//go:build cgo

// ONNX Runtime hands out a table of functions that only ever grows at its end, so
// a place in it is a name. The places used here are held against the header that
// the bindings ship in a test.

#include "native.h"

#include <stdlib.h>
#include <string.h>

enum {
	GET_ERROR_MESSAGE = 2,
	CREATE_ENV = 3,
	CREATE_SESSION_FROM_ARRAY = 8,
	RUN = 9,
	CREATE_RUN_OPTIONS = 39,
	RUN_OPTIONS_SET_TERMINATE = 46,
	RUN_OPTIONS_UNSET_TERMINATE = 47,
	CREATE_TENSOR_AS_ORT_VALUE = 48,
	CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE = 49,
	GET_TENSOR_MUTABLE_DATA = 51,
	GET_STRING_TENSOR_DATA_LENGTH = 53,
	GET_STRING_TENSOR_CONTENT = 54,
	GET_TENSOR_ELEMENT_TYPE = 60,
	GET_DIMENSIONS_COUNT = 61,
	GET_DIMENSIONS = 62,
	GET_TENSOR_SHAPE_ELEMENT_COUNT = 64,
	GET_TENSOR_TYPE_AND_SHAPE = 65,
	GET_VALUE_TYPE = 67,
	CREATE_CPU_MEMORY_INFO = 69,
	ALLOCATOR_FREE = 76,
	GET_ALLOCATOR_WITH_DEFAULT_OPTIONS = 78,
	GET_VALUE = 80,
	GET_VALUE_COUNT = 81,
	CREATE_VALUE = 82,
	RELEASE_STATUS = 93,
	RELEASE_SESSION = 95,
	RELEASE_VALUE = 96,
	RELEASE_RUN_OPTIONS = 97,
	RELEASE_TENSOR_TYPE_AND_SHAPE_INFO = 99,
	SESSION_END_PROFILING = 110,
	ADD_FREE_DIMENSION_OVERRIDE_BY_NAME = 124,
	GET_AVAILABLE_PROVIDERS = 125,
	RELEASE_AVAILABLE_PROVIDERS = 126,
	HAS_VALUE = 192,
	ADD_EXTERNAL_INITIALIZERS = 210,
	REGISTER_CUSTOM_OPS_LIBRARY_V2 = 228,
	GET_RESIZED_STRING_TENSOR_ELEMENT_BUFFER = 252,
	SET_DETERMINISTIC_COMPUTE = 273
};

enum { KIND_TENSOR = 1, TYPE_STRING = 8, DEVICE_ALLOCATOR = 0, MEM_DEFAULT = 0, LOG_FATAL = 4 };

static void **api;
static void *env, *memory, *allocator;

// CALL makes the call at a place of the table, whose types are given since the
// table has none; every call but the releases returns a status.
#define CALL(place, types, ...) (((void *(*)types)api[place])(__VA_ARGS__))
#define RELEASE(place, what) (((void (*)(void *))api[place])(what))
#define TRY(call)                  \
	do {                           \
		void *failed = (call);     \
		if (failed) return failed; \
	} while (0)

typedef struct {
	void **(*get_api)(uint32_t);
	const char *(*get_version)(void);
} api_base;

int sgs_attach(void *get_api_base, uint32_t version) {
	api = ((const api_base *(*)(void))get_api_base)()->get_api(version);
	return api != NULL;
}

void *sgs_begin(void) {
	TRY(CALL(CREATE_ENV, (int, const char *, void **), LOG_FATAL, "sgs", &env));
	TRY(CALL(CREATE_CPU_MEMORY_INFO, (int, int, void **), DEVICE_ALLOCATOR, MEM_DEFAULT, &memory));
	return CALL(GET_ALLOCATOR_WITH_DEFAULT_OPTIONS, (void **), &allocator);
}

const char *sgs_message(void *status) { return ((const char *(*)(void *))api[GET_ERROR_MESSAGE])(status); }
void sgs_release_status(void *status) { RELEASE(RELEASE_STATUS, status); }
void sgs_release_session(void *session) { RELEASE(RELEASE_SESSION, session); }
void sgs_release_run_options(void *options) { RELEASE(RELEASE_RUN_OPTIONS, options); }
void sgs_release_value(void *value) { RELEASE(RELEASE_VALUE, value); }

void *sgs_session(const void *model, size_t n, void *options, void **session) {
	return CALL(CREATE_SESSION_FROM_ARRAY, (void *, const void *, size_t, void *, void **), env, model, n, options, session);
}

void *sgs_end_profiling(void *session, char **file) {
	return CALL(SESSION_END_PROFILING, (void *, void *, char **), session, allocator, file);
}

void sgs_free(void *text) {
	void *status = CALL(ALLOCATOR_FREE, (void *, void *), allocator, text);
	if (status) sgs_release_status(status);
}

void *sgs_providers(char ***names, int *n) { return CALL(GET_AVAILABLE_PROVIDERS, (char ***, int *), names, n); }

void sgs_release_providers(char **names, int n) {
	void *status = CALL(RELEASE_AVAILABLE_PROVIDERS, (char **, int), names, n);
	if (status) sgs_release_status(status);
}

void *sgs_set_dimension(void *options, const char *name, int64_t size) {
	return CALL(ADD_FREE_DIMENSION_OVERRIDE_BY_NAME, (void *, const char *, int64_t), options, name, size);
}

void *sgs_set_deterministic(void *options, int on) {
	return CALL(SET_DETERMINISTIC_COMPUTE, (void *, _Bool), options, on != 0);
}

void *sgs_custom_ops(void *options, const void *path) {
	return CALL(REGISTER_CUSTOM_OPS_LIBRARY_V2, (void *, const void *), options, path);
}

void *sgs_run_options(void **options) { return CALL(CREATE_RUN_OPTIONS, (void **), options); }

void *sgs_terminate(void *options, int on) {
	return CALL(on ? RUN_OPTIONS_SET_TERMINATE : RUN_OPTIONS_UNSET_TERMINATE, (void *), options);
}

// over makes a tensor over the memory of a slot.
static void *over(const sgs_slot *s, const int64_t *dims, void **value) {
	static char nothing[64]; // the address of an empty tensor
	void *data = s->data ? (void *)s->data : nothing;
	return CALL(CREATE_TENSOR_WITH_DATA_AS_ORT_VALUE, (void *, void *, size_t, const int64_t *, size_t, int, void **),
		memory, data, s->bytes, dims + s->dim, s->rank, s->type, value);
}

int sgs_packs(int32_t type) {
	char byte = 0;
	const int64_t four = 4;
	const sgs_slot slot = {.data = (uintptr_t)&byte, .bytes = 1, .rank = 1, .type = type};
	void *value = NULL, *status = over(&slot, &four, &value);
	if (status)
		sgs_release_status(status);
	else
		sgs_release_value(value);
	return !status;
}

// sgs_copy makes a tensor with memory of its own.
void *sgs_copy(const sgs_slot *s, const int64_t *dims, void **value) {
	void *to;
	TRY(CALL(CREATE_TENSOR_AS_ORT_VALUE, (void *, const int64_t *, size_t, int, void **), allocator, dims + s->dim, s->rank, s->type, value));
	TRY(CALL(GET_TENSOR_MUTABLE_DATA, (void *, void **), *value, &to));
	if (s->bytes) memcpy(to, (const void *)s->data, s->bytes);
	return NULL;
}

void *sgs_new_strings(const int64_t *dims, size_t rank, void **value) {
	return CALL(CREATE_TENSOR_AS_ORT_VALUE, (void *, const int64_t *, size_t, int, void **), allocator, dims, rank, TYPE_STRING, value);
}

void *sgs_set_string(void *value, size_t i, const char *text, size_t n) {
	char *buffer;
	TRY(CALL(GET_RESIZED_STRING_TENSOR_ELEMENT_BUFFER, (void *, size_t, size_t, char **), value, i, n, &buffer));
	if (n) memcpy(buffer, text, n);
	return NULL;
}

void *sgs_compound(void **items, size_t n, int kind, void **value) {
	return CALL(CREATE_VALUE, (void **, size_t, int, void **), items, n, kind, value);
}

// values makes those that slots stand for; of outputs only the ones with memory.
static void *values(sgs_slot *slots, size_t n, const int64_t *dims, int outputs, void **made) {
	for (size_t i = 0; i < n; i++) {
		if (slots[i].value)
			made[i] = slots[i].value;
		else if (!outputs || slots[i].data)
			TRY(over(&slots[i], dims, &made[i]));
	}
	return NULL;
}

// release gives back what values made; what the runtime made is the caller's.
static void release(sgs_slot *slots, size_t n, int outputs, void **made) {
	for (size_t i = 0; i < n; i++) {
		if (outputs && !slots[i].data)
			slots[i].value = made[i];
		else if (made[i] && made[i] != slots[i].value)
			sgs_release_value(made[i]);
	}
}

void *sgs_run(void *session, void *options, char **in_names, sgs_slot *in, size_t n_in,
	char **out_names, sgs_slot *out, size_t n_out, const int64_t *dims) {
	void **made = calloc(n_in + n_out + 1, sizeof *made), **outs = made + n_in;
	void *status = values(in, n_in, dims, 0, made);
	if (!status) status = values(out, n_out, dims, 1, outs);
	if (!status)
		status = CALL(RUN, (void *, void *, char **, void **, size_t, char **, size_t, void **),
			session, options, in_names, made, n_in, out_names, n_out, outs);
	release(in, n_in, 0, made);
	release(out, n_out, 1, outs);
	free(made);
	return status;
}

void *sgs_hand_over(void *options, char **names, sgs_slot *slots, size_t n, const int64_t *dims) {
	void **made = calloc(n + 1, sizeof *made);
	void *status = values(slots, n, dims, 0, made);
	if (!status)
		status = CALL(ADD_EXTERNAL_INITIALIZERS, (void *, char **, void **, size_t), options, names, made, n);
	release(slots, n, 0, made);
	free(made);
	return status;
}

static void *describe_tensor(void *value, sgs_info *info) {
	void *shape;
	TRY(CALL(GET_TENSOR_TYPE_AND_SHAPE, (void *, void **), value, &shape));
	void *status = CALL(GET_TENSOR_ELEMENT_TYPE, (void *, int32_t *), shape, &info->type);
	if (!status) status = CALL(GET_DIMENSIONS_COUNT, (void *, size_t *), shape, &info->rank);
	if (!status) status = CALL(GET_TENSOR_SHAPE_ELEMENT_COUNT, (void *, size_t *), shape, &info->count);
	if (!status && info->type != TYPE_STRING) status = CALL(GET_TENSOR_MUTABLE_DATA, (void *, void **), value, &info->data);
	RELEASE(RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, shape);
	return status;
}

// sgs_describe asks first whether there is a value: asking for the kind of an
// absent one faults in the runtime.
void *sgs_describe(void *value, sgs_info *info) {
	memset(info, 0, sizeof *info);
	TRY(CALL(HAS_VALUE, (void *, int32_t *), value, &info->present));
	if (!info->present) return NULL;
	TRY(CALL(GET_VALUE_TYPE, (void *, int32_t *), value, &info->kind));
	if (info->kind == KIND_TENSOR) return describe_tensor(value, info);
	return CALL(GET_VALUE_COUNT, (void *, size_t *), value, &info->count);
}

void *sgs_dims(void *value, int64_t *dims, size_t rank) {
	void *shape;
	TRY(CALL(GET_TENSOR_TYPE_AND_SHAPE, (void *, void **), value, &shape));
	void *status = CALL(GET_DIMENSIONS, (void *, int64_t *, size_t), shape, dims, rank);
	RELEASE(RELEASE_TENSOR_TYPE_AND_SHAPE_INFO, shape);
	return status;
}

void *sgs_strings_length(void *value, size_t *n) {
	return CALL(GET_STRING_TENSOR_DATA_LENGTH, (void *, size_t *), value, n);
}

void *sgs_strings(void *value, char *text, size_t n, size_t *offsets, size_t count) {
	return CALL(GET_STRING_TENSOR_CONTENT, (void *, char *, size_t, size_t *, size_t), value, text, n, offsets, count);
}

void *sgs_item(void *value, int i, void **item) {
	return CALL(GET_VALUE, (void *, int, void *, void **), value, i, allocator, item);
}

// The calls of ONNX Runtime that the bindings lack or make with a copy. The table
// of functions is the bindings' own, asked for once more; see native.c.

#ifndef SGS_NATIVE_H
#define SGS_NATIVE_H

#include <stddef.h>
#include <stdint.h>

// A slot is one input or output of a run: memory that the runtime reads or
// writes in place, or a value. Addresses of memory are integers, since they lie
// in Go's heap and are of use during the call alone.
typedef struct {
	uintptr_t data; // 0: value, or an output that the runtime makes
	size_t bytes;
	size_t dim, rank; // where the sizes lie in dims
	int32_t type;
	void *value;
} sgs_slot;

// What a value is.
typedef struct {
	int32_t present, kind, type;
	size_t rank, count; // count: of elements or items
	void *data;
} sgs_info;

// All that return void * return a status, NULL when all is well.
int sgs_attach(void *get_api_base, uint32_t version); // false: the library is older
void *sgs_begin(void);
const char *sgs_message(void *status);
void sgs_release_status(void *status);

void *sgs_session(const void *model, size_t n, void *options, void **session);
void sgs_release_session(void *session);
void *sgs_hand_over(void *options, char **names, sgs_slot *slots, size_t n, const int64_t *dims);

void *sgs_end_profiling(void *session, char **file); // sgs_free the name
void sgs_free(void *text);

void *sgs_providers(char ***names, int *n);
void sgs_release_providers(char **names, int n);
void *sgs_set_dimension(void *options, const char *name, int64_t size);
void *sgs_set_deterministic(void *options, int on);
void *sgs_custom_ops(void *options, const void *path); // in the system's characters

void *sgs_run_options(void **options);
void sgs_release_run_options(void *options);
void *sgs_terminate(void *options, int on);
void *sgs_run(void *session, void *options, char **in_names, sgs_slot *in, size_t n_in,
	char **out_names, sgs_slot *out, size_t n_out, const int64_t *dims);

void *sgs_new_strings(const int64_t *dims, size_t rank, void **value);
void *sgs_set_string(void *value, size_t i, const char *text, size_t n);
int sgs_packs(int32_t type); // four elements fit a byte
void *sgs_copy(const sgs_slot *slot, const int64_t *dims, void **value);
void *sgs_compound(void **items, size_t n, int kind, void **value);
void sgs_release_value(void *value);

void *sgs_describe(void *value, sgs_info *info);
void *sgs_dims(void *value, int64_t *dims, size_t rank);
void *sgs_strings_length(void *value, size_t *n);
void *sgs_strings(void *value, char *text, size_t n, size_t *offsets, size_t count);
void *sgs_item(void *value, int i, void **item);

#endif

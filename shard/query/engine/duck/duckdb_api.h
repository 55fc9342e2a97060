// The part of DuckDB's C interface (duckdb.h of 1.5.5) that this package calls from
// C. The header itself lies in another module, out of reach of an #include. Handles
// are opaque here; names, values and layouts are those of duckdb.h.
#ifndef CORDWOOD_DUCKDB_API_H
#define CORDWOOD_DUCKDB_API_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t idx_t;
typedef int duckdb_state; // 0: success

typedef struct duckdb_opaque *duckdb_handle;

// A string in a vector: up to 12 bytes inside, or a pointer to the bytes.
typedef union {
	struct {
		uint32_t length;
		char prefix[4];
		const char *ptr;
	} pointer;
	struct {
		uint32_t length;
		char bytes[12];
	} inlined;
} duckdb_string;

_Static_assert(sizeof(duckdb_string) == 16, "the layout of the engine's strings");

typedef void (*duckdb_delete_fn)(void *data);

duckdb_handle duckdb_create_logical_type(int type);
void duckdb_logical_type_set_alias(duckdb_handle type, const char *alias);
void duckdb_destroy_logical_type(duckdb_handle *type);

idx_t duckdb_vector_size(void);
void *duckdb_vector_get_data(duckdb_handle vector);
uint64_t *duckdb_vector_get_validity(duckdb_handle vector);
void duckdb_vector_ensure_validity_writable(duckdb_handle vector);
void duckdb_vector_reference_value(duckdb_handle vector, duckdb_handle value);
typedef struct {
	int64_t micros;
} duckdb_micros;
duckdb_handle duckdb_create_timestamp(duckdb_micros input);
typedef struct {
	int32_t days;
} duckdb_days;
duckdb_handle duckdb_create_date(duckdb_days input);
void duckdb_vector_reference_vector(duckdb_handle to, duckdb_handle from);
duckdb_handle duckdb_data_chunk_get_vector(duckdb_handle chunk, idx_t column);
idx_t duckdb_data_chunk_get_size(duckdb_handle chunk);
void duckdb_data_chunk_set_size(duckdb_handle chunk, idx_t size);

duckdb_handle duckdb_create_table_function(void);
void duckdb_destroy_table_function(duckdb_handle *function);
void duckdb_table_function_set_name(duckdb_handle function, const char *name);
void duckdb_table_function_add_parameter(duckdb_handle function, duckdb_handle type);
void duckdb_table_function_set_bind(duckdb_handle function, void (*bind)(duckdb_handle info));
void duckdb_table_function_set_init(duckdb_handle function, void (*init)(duckdb_handle info));
void duckdb_table_function_set_local_init(duckdb_handle function, void (*init)(duckdb_handle info));
void duckdb_table_function_set_function(duckdb_handle function, void (*scan)(duckdb_handle info, duckdb_handle output));
void duckdb_table_function_supports_projection_pushdown(duckdb_handle function, bool pushdown);
duckdb_state duckdb_register_table_function(duckdb_handle connection, duckdb_handle function);

duckdb_handle duckdb_bind_get_parameter(duckdb_handle info, idx_t index);
void duckdb_bind_add_result_column(duckdb_handle info, const char *name, duckdb_handle type);
void duckdb_bind_set_bind_data(duckdb_handle info, void *data, duckdb_delete_fn destroy);
void duckdb_bind_set_cardinality(duckdb_handle info, idx_t cardinality, bool is_exact);
void duckdb_bind_set_error(duckdb_handle info, const char *error);
uint64_t duckdb_get_uint64(duckdb_handle value);
void duckdb_destroy_value(duckdb_handle *value);

void *duckdb_init_get_bind_data(duckdb_handle info);
void duckdb_init_set_init_data(duckdb_handle info, void *data, duckdb_delete_fn destroy);
idx_t duckdb_init_get_column_count(duckdb_handle info);
idx_t duckdb_init_get_column_index(duckdb_handle info, idx_t column);
void duckdb_init_set_max_threads(duckdb_handle info, idx_t threads);
void duckdb_init_set_error(duckdb_handle info, const char *error);

void *duckdb_function_get_init_data(duckdb_handle info);
void *duckdb_function_get_local_init_data(duckdb_handle info);
void duckdb_function_set_error(duckdb_handle info, const char *error);

duckdb_handle duckdb_create_scalar_function_set(const char *name);
void duckdb_destroy_scalar_function_set(duckdb_handle *set);
duckdb_state duckdb_add_scalar_function_to_set(duckdb_handle set, duckdb_handle function);
duckdb_state duckdb_register_scalar_function_set(duckdb_handle connection, duckdb_handle set);
duckdb_handle duckdb_create_scalar_function(void);
void duckdb_destroy_scalar_function(duckdb_handle *function);
void duckdb_scalar_function_set_name(duckdb_handle function, const char *name);
void duckdb_scalar_function_add_parameter(duckdb_handle function, duckdb_handle type);
void duckdb_scalar_function_set_return_type(duckdb_handle function, duckdb_handle type);
void duckdb_scalar_function_set_function(duckdb_handle function,
                                         void (*call)(duckdb_handle info, duckdb_handle input, duckdb_handle output));
void duckdb_scalar_function_set_error(duckdb_handle info, const char *error);
duckdb_state duckdb_register_scalar_function(duckdb_handle connection, duckdb_handle function);

duckdb_handle duckdb_create_decimal_type(uint8_t width, uint8_t scale);
duckdb_handle duckdb_create_cast_function(void);
void duckdb_destroy_cast_function(duckdb_handle *cast);
void duckdb_cast_function_set_source_type(duckdb_handle cast, duckdb_handle type);
void duckdb_cast_function_set_target_type(duckdb_handle cast, duckdb_handle type);
void duckdb_cast_function_set_implicit_cast_cost(duckdb_handle cast, int64_t cost);
void duckdb_cast_function_set_function(duckdb_handle cast,
                                       bool (*call)(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output));
void duckdb_cast_function_set_extra_info(duckdb_handle cast, void *extra, duckdb_delete_fn destroy);
void *duckdb_cast_function_get_extra_info(duckdb_handle info);
int duckdb_cast_function_get_cast_mode(duckdb_handle info);
void duckdb_cast_function_set_error(duckdb_handle info, const char *error);
void duckdb_cast_function_set_row_error(duckdb_handle info, const char *error, idx_t row, duckdb_handle output);
duckdb_state duckdb_register_cast_function(duckdb_handle connection, duckdb_handle cast);

duckdb_state duckdb_pending_prepared_streaming(duckdb_handle statement, duckdb_handle *out);

struct ArrowSchema;
struct ArrowArray;
duckdb_handle duckdb_to_arrow_schema(duckdb_handle options, duckdb_handle *types, const char **names, idx_t columns,
                                     struct ArrowSchema *out);
struct ArrowSchema;
duckdb_handle duckdb_schema_from_arrow(duckdb_handle connection, struct ArrowSchema *schema, duckdb_handle *converted);
duckdb_handle duckdb_data_chunk_from_arrow(duckdb_handle connection, struct ArrowArray *array, duckdb_handle converted, duckdb_handle *chunk);
void duckdb_destroy_arrow_converted_schema(duckdb_handle *converted);
duckdb_handle duckdb_data_chunk_to_arrow(duckdb_handle options, duckdb_handle chunk, struct ArrowArray *out);

#endif

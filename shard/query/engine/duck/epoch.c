#include "epoch.h"

#include <string.h>

// cordwood_time_s, _ms, _us and _ns(BIGINT) are the time that lies so many units after the beginning of 1970,
// whatever the integer: the engine's own functions go by microseconds, which do not hold all seconds.
static void epoch_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	(void)info;
	duckdb_handle numbers = duckdb_data_chunk_get_vector(input, 0);
	const int64_t *in = duckdb_vector_get_data(numbers);
	const uint64_t *valid = duckdb_vector_get_validity(numbers);
	idx_t n = duckdb_data_chunk_get_size(input);
	memcpy(duckdb_vector_get_data(output), in, n * sizeof *in);
	if (valid != NULL) {
		duckdb_vector_ensure_validity_writable(output);
		memcpy(duckdb_vector_get_validity(output), valid, (n + 63) / 64 * sizeof *valid);
	}
}

duckdb_state cw_epoch_register(duckdb_handle connection) {
	static const struct {
		const char *name;
		int type;
	} functions[] = {{"cordwood_time_us", 12}, {"cordwood_time_s", 20}, {"cordwood_time_ms", 21}, {"cordwood_time_ns", 22}};
	duckdb_state state = 0;
	duckdb_handle number = duckdb_create_logical_type(5);
	for (size_t i = 0; i < sizeof functions / sizeof *functions && state == 0; i++) {
		duckdb_handle type = duckdb_create_logical_type(functions[i].type), f = duckdb_create_scalar_function();
		duckdb_scalar_function_set_name(f, functions[i].name);
		duckdb_scalar_function_add_parameter(f, number);
		duckdb_scalar_function_set_return_type(f, type);
		duckdb_scalar_function_set_function(f, epoch_call);
		state = duckdb_register_scalar_function(connection, f);
		duckdb_destroy_scalar_function(&f);
		duckdb_destroy_logical_type(&type);
	}
	duckdb_destroy_logical_type(&number);
	return state;
}

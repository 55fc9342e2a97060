#include "trunc.h"

#include <stdbool.h>
#include <string.h>

// cordwood_trunc(microseconds BIGINT, TIMESTAMP_NS) is what date_trunc is for units of one
// length, the week excepted. Times that follow each other mostly lie in one unit, so no
// division is made as long as they do; a vector of one unit is a constant, which the
// engine groups as a whole.
static void trunc_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	(void)info;
	duckdb_handle sizes = duckdb_data_chunk_get_vector(input, 0), times = duckdb_data_chunk_get_vector(input, 1);
	const int64_t *size = duckdb_vector_get_data(sizes), *in = duckdb_vector_get_data(times);
	const uint64_t *valid = duckdb_vector_get_validity(times);
	int64_t *out = duckdb_vector_get_data(output);
	idx_t n = duckdb_data_chunk_get_size(input);
	uint64_t *known = NULL;
	if (valid != NULL) {
		duckdb_vector_ensure_validity_writable(output);
		known = duckdb_vector_get_validity(output);
	}
	idx_t units = 0;
	int64_t begin = 0, end = 0; // of the unit that the time before lay in
	for (idx_t i = 0; i < n; i++) {
		if (valid != NULL && !(valid[i >> 6] >> (i & 63) & 1)) {
			known[i >> 6] &= ~(1ull << (i & 63));
			continue;
		}
		if (in[i] == INT64_MAX || in[i] == -INT64_MAX) { // infinity
			out[i] = in[i];
			units += 2;
			continue;
		}
		int64_t at = in[i] / 1000 - (in[i] % 1000 < 0);
		if (at < begin || at >= end) {
			int64_t by = size[i], unit = at / by;
			unit -= at % by < 0;
			begin = unit * by;
			end = begin + by;
			units++;
		}
		out[i] = begin;
	}
	if (units == 1 && valid == NULL && n > 1) {
		duckdb_handle value = duckdb_create_timestamp((duckdb_micros){begin});
		duckdb_vector_reference_value(output, value);
		duckdb_destroy_value(&value);
	}
}

duckdb_state cw_trunc_register(duckdb_handle connection) {
	duckdb_handle number = duckdb_create_logical_type(5), stamp = duckdb_create_logical_type(12), nanos = duckdb_create_logical_type(22);
	duckdb_handle f = duckdb_create_scalar_function();
	duckdb_scalar_function_set_name(f, "cordwood_trunc");
	duckdb_scalar_function_add_parameter(f, number);
	duckdb_scalar_function_add_parameter(f, nanos);
	duckdb_scalar_function_set_return_type(f, stamp);
	duckdb_scalar_function_set_function(f, trunc_call);
	duckdb_state state = duckdb_register_scalar_function(connection, f);
	duckdb_destroy_scalar_function(&f);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_logical_type(&stamp);
	duckdb_destroy_logical_type(&nanos);
	return state;
}

#include "quotient.h"

#include <stddef.h>

// cordwood_quotient(sum, count) is what the engine's avg makes of both: of integers the quotient of two long
// doubles, of doubles that of doubles, and null of no rows. A division in SQL would round the sum first, which
// differs in the last digit for sums beyond 2^53.

typedef struct {
	uint64_t lower;
	int64_t upper;
} hugeint;

static bool is_null(const uint64_t *valid, idx_t i) { return valid != NULL && !(valid[i >> 6] >> (i & 63) & 1); }

static long double widened(hugeint v) {
	if (v.upper == -1) {
		return -(long double)(UINT64_MAX - v.lower) - 1;
	}
	return (long double)v.lower + (long double)v.upper * 18446744073709551616.0L;
}

// quotients divides the sums, which are hugeints or doubles, by the counts.
static void quotients(duckdb_handle input, duckdb_handle output, bool huge) {
	duckdb_handle sums = duckdb_data_chunk_get_vector(input, 0), counts = duckdb_data_chunk_get_vector(input, 1);
	const void *sum = duckdb_vector_get_data(sums);
	const int64_t *count = duckdb_vector_get_data(counts);
	const uint64_t *has_sum = duckdb_vector_get_validity(sums), *has_count = duckdb_vector_get_validity(counts);
	double *out = duckdb_vector_get_data(output);
	duckdb_vector_ensure_validity_writable(output);
	uint64_t *known = duckdb_vector_get_validity(output);
	idx_t n = duckdb_data_chunk_get_size(input);
	for (idx_t i = 0; i < n; i++) {
		if (is_null(has_sum, i) || is_null(has_count, i) || count[i] == 0) {
			known[i >> 6] &= ~(1ull << (i & 63));
		} else if (huge) {
			out[i] = (double)(widened(((const hugeint *)sum)[i]) / (long double)count[i]);
		} else {
			out[i] = ((const double *)sum)[i] / (double)count[i];
		}
	}
}

static void of_integers(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	(void)info;
	quotients(input, output, true);
}

static void of_doubles(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	(void)info;
	quotients(input, output, false);
}

static duckdb_state add(duckdb_handle set, int sum_type, void (*call)(duckdb_handle, duckdb_handle, duckdb_handle)) {
	duckdb_handle sum = duckdb_create_logical_type(sum_type), count = duckdb_create_logical_type(5), quotient = duckdb_create_logical_type(11);
	duckdb_handle f = duckdb_create_scalar_function();
	duckdb_scalar_function_set_name(f, "cordwood_quotient");
	duckdb_scalar_function_add_parameter(f, sum);
	duckdb_scalar_function_add_parameter(f, count);
	duckdb_scalar_function_set_return_type(f, quotient);
	duckdb_scalar_function_set_function(f, call);
	duckdb_state state = duckdb_add_scalar_function_to_set(set, f);
	duckdb_destroy_scalar_function(&f);
	duckdb_destroy_logical_type(&sum);
	duckdb_destroy_logical_type(&count);
	duckdb_destroy_logical_type(&quotient);
	return state;
}

duckdb_state cw_quotient_register(duckdb_handle connection) {
	duckdb_handle set = duckdb_create_scalar_function_set("cordwood_quotient");
	duckdb_state state = add(set, 16, of_integers);
	if (state == 0) {
		state = add(set, 11, of_doubles);
	}
	if (state == 0) {
		state = duckdb_register_scalar_function_set(connection, set);
	}
	duckdb_destroy_scalar_function_set(&set);
	return state;
}

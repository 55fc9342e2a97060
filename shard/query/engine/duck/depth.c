#include "depth.h"

#include <stdio.h>

// depth_exceeds tells whether the text opens more than most brackets within one another. What
// is no JSON may count for more; the engine refuses that anyway.
static bool depth_exceeds(const char *s, uint32_t length, int64_t most) {
	int64_t depth = 0;
	bool quoted = false;
	for (uint32_t i = 0; i < length; i++) {
		switch (s[i]) {
		case '"':
			quoted = !quoted;
			break;
		case '\\':
			i += quoted;
			break;
		case '[':
		case '{':
			if (!quoted && ++depth > most) {
				return true;
			}
			break;
		case ']':
		case '}':
			depth -= !quoted;
			break;
		}
	}
	return false;
}

// cordwood_depth(most BIGINT, json VARCHAR) is the text itself, or an error if it is nested
// more than most levels deep.
static void depth_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	duckdb_handle bounds = duckdb_data_chunk_get_vector(input, 0), texts = duckdb_data_chunk_get_vector(input, 1);
	const int64_t *most = duckdb_vector_get_data(bounds);
	const duckdb_string *text = duckdb_vector_get_data(texts);
	const uint64_t *valid = duckdb_vector_get_validity(texts);
	idx_t n = duckdb_data_chunk_get_size(input);
	for (idx_t i = 0; i < n; i++) {
		if (valid != NULL && !(valid[i >> 6] >> (i & 63) & 1)) {
			continue;
		}
		uint32_t length = text[i].inlined.length;
		const char *bytes = length <= sizeof text[i].inlined.bytes ? text[i].inlined.bytes : text[i].pointer.ptr;
		if ((int64_t)length > most[i] && depth_exceeds(bytes, length, most[i])) {
			char error[160];
			snprintf(error, sizeof error, "a JSON text of %u bytes is nested more than %lld levels deep, which this function does not go through",
			         length, (long long)most[i]);
			duckdb_scalar_function_set_error(info, error);
			return;
		}
	}
	duckdb_vector_reference_vector(output, texts);
}

duckdb_state cw_depth_register(duckdb_handle connection) {
	duckdb_handle number = duckdb_create_logical_type(5), text = duckdb_create_logical_type(17);
	duckdb_handle f = duckdb_create_scalar_function();
	duckdb_scalar_function_set_name(f, "cordwood_depth");
	duckdb_scalar_function_add_parameter(f, number);
	duckdb_scalar_function_add_parameter(f, text);
	duckdb_scalar_function_set_return_type(f, text);
	duckdb_scalar_function_set_function(f, depth_call);
	duckdb_state state = duckdb_register_scalar_function(connection, f);
	duckdb_destroy_scalar_function(&f);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_logical_type(&text);
	return state;
}

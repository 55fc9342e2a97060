#include "cast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPE_FLOAT = 10,
	TYPE_DOUBLE = 11,
	TYPE_TIMESTAMP = 12,
	TYPE_DATE = 13,
	TYPE_TIME = 14,
	TYPE_HUGEINT = 16,
	TYPE_TIMESTAMP_S = 20,
	TYPE_TIMESTAMP_MS = 21,
	TYPE_TIMESTAMP_NS = 22,
	MAX_WIDTH = 38, // of a DECIMAL
	CAST_NORMAL = 0,
};

typedef __int128 int128;

// decimal is what a cast of DECIMAL(width, scale) is told.
typedef struct {
	uint8_t width, scale;
} decimal;

static decimal decimals[MAX_WIDTH + 1][MAX_WIDTH + 1];

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// number writes v * 10^-scale as text, for strtod.
static void number(int128 v, int scale, char text[64]) {
	char digits[48];
	int n = 0;
	bool negative = v < 0;
	unsigned __int128 u = negative ? -(unsigned __int128)v : (unsigned __int128)v;
	do {
		digits[n++] = (char)('0' + (int)(u % 10));
		u /= 10;
	} while (u > 0);
	int k = 0;
	if (negative) {
		text[k++] = '-';
	}
	while (n > 0) {
		text[k++] = digits[--n];
	}
	snprintf(text + k, (size_t)(64 - k), "e-%d", scale);
}

// to_double returns the double next to v * 10^-scale. The engine divides by the power of
// ten also if v itself is no double, and so rounds twice.
static double to_double(int128 v, int scale) {
	const int128 exact = (int128)1 << 53;
	if (scale == 0) {
		return (double)v;
	}
	if (v <= exact && v >= -exact && scale <= 22) {
		return (double)v / powers[scale];
	}
	char text[64];
	number(v, scale, text);
	return strtod(text, NULL);
}

static float to_float(int128 v, int scale) {
	const int128 exact = (int128)1 << 24;
	if (scale == 0) {
		return (float)v;
	}
	if (v <= exact && v >= -exact && scale <= 10) {
		return (float)v / (float)powers[scale];
	}
	char text[64];
	number(v, scale, text);
	return strtof(text, NULL);
}

static inline bool is_null(const uint64_t *valid, idx_t i) { return valid != NULL && !(valid[i >> 6] >> (i & 63) & 1); }

// copy_nulls gives output the nulls of input, and returns these, or NULL if there are none.
static const uint64_t *copy_nulls(duckdb_handle input, duckdb_handle output, idx_t count) {
	const uint64_t *valid = duckdb_vector_get_validity(input);
	if (valid != NULL) {
		duckdb_vector_ensure_validity_writable(output);
		memcpy(duckdb_vector_get_validity(output), valid, (count + 63) / 64 * sizeof *valid);
	}
	return valid;
}

static inline int128 decimal_at(const void *data, int width, idx_t i) {
	if (width <= 4) {
		return ((const int16_t *)data)[i];
	}
	if (width <= 9) {
		return ((const int32_t *)data)[i];
	}
	if (width <= 18) {
		return ((const int64_t *)data)[i];
	}
	int128 v;
	memcpy(&v, (const char *)data + 16 * i, sizeof v);
	return v;
}

static bool decimal_to_double(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	const decimal *type = duckdb_cast_function_get_extra_info(info);
	const void *in = duckdb_vector_get_data(input);
	double *out = duckdb_vector_get_data(output);
	const uint64_t *valid = copy_nulls(input, output, count);
	for (idx_t i = 0; i < count; i++) {
		if (!is_null(valid, i)) {
			out[i] = to_double(decimal_at(in, type->width, i), type->scale);
		}
	}
	return true;
}

static bool decimal_to_float(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	const decimal *type = duckdb_cast_function_get_extra_info(info);
	const void *in = duckdb_vector_get_data(input);
	float *out = duckdb_vector_get_data(output);
	const uint64_t *valid = copy_nulls(input, output, count);
	for (idx_t i = 0; i < count; i++) {
		if (!is_null(valid, i)) {
			out[i] = to_float(decimal_at(in, type->width, i), type->scale);
		}
	}
	return true;
}

// A time before 1970 lies in the microsecond that began before it. The engine rounds towards 1970.
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static bool is_infinite(int64_t v) { return v == INT64_MAX || v == -INT64_MAX; }

// is_one reports whether a vector has the same value in all rows. Rows that are counted by the bounds
// of their times are such a constant. The engine expands a constant before it calls a cast; if the cast
// returns a constant again, the functions around it run once for each vector.
static bool is_one(const int64_t *in, const uint64_t *valid, idx_t count) {
	if (valid != NULL || count < 2) {
		return false;
	}
	idx_t i = 1;
	while (i < count && in[i] == in[0]) {
		i++;
	}
	return i == count;
}

// set_all makes output the constant value, and destroys value.
static void set_all(duckdb_handle output, duckdb_handle value) {
	duckdb_vector_reference_value(output, value);
	duckdb_destroy_value(&value);
}

static int64_t micros_of(int64_t nanos) { return is_infinite(nanos) ? nanos : floor_div(nanos, 1000); }

static int32_t days_of(int64_t nanos) {
	if (is_infinite(nanos)) {
		return nanos > 0 ? INT32_MAX : -INT32_MAX;
	}
	return (int32_t)floor_div(nanos, 86400000000000);
}

static bool nanos_to_timestamp(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	(void)info;
	const int64_t *in = duckdb_vector_get_data(input);
	if (is_one(in, duckdb_vector_get_validity(input), count)) {
		set_all(output, duckdb_create_timestamp((duckdb_micros){micros_of(in[0])}));
		return true;
	}
	int64_t *out = duckdb_vector_get_data(output);
	copy_nulls(input, output, count);
	for (idx_t i = 0; i < count; i++) {
		out[i] = micros_of(in[i]);
	}
	return true;
}

// to_coarser makes times of a coarser unit, each of ratio units of the input.
static bool to_coarser(int64_t ratio, idx_t count, duckdb_handle input, duckdb_handle output) {
	const int64_t *in = duckdb_vector_get_data(input);
	int64_t *out = duckdb_vector_get_data(output);
	copy_nulls(input, output, count);
	for (idx_t i = 0; i < count; i++) {
		out[i] = is_infinite(in[i]) ? in[i] : floor_div(in[i], ratio);
	}
	return true;
}

static bool coarser_by_3(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	(void)info;
	return to_coarser(1000, count, input, output);
}

static bool coarser_by_6(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	(void)info;
	return to_coarser(1000000, count, input, output);
}

static bool coarser_by_9(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	(void)info;
	return to_coarser(1000000000, count, input, output);
}

// to_nanos makes nanoseconds of times whose unit has ratio of them. A time that nanoseconds do
// not hold is an error that says how to do without, and null under TRY_CAST, of which the engine's own
// cast knows nothing.
static bool to_nanos(duckdb_handle info, int64_t ratio, idx_t count, duckdb_handle input, duckdb_handle output) {
	const int64_t *in = duckdb_vector_get_data(input);
	int64_t *out = duckdb_vector_get_data(output);
	const uint64_t *valid = copy_nulls(input, output, count);
	const int64_t most = INT64_MAX / ratio;
	bool whole = true;
	for (idx_t i = 0; i < count; i++) {
		if (is_null(valid, i)) {
			continue;
		}
		if (is_infinite(in[i])) {
			out[i] = in[i];
			continue;
		}
		if (in[i] <= most && in[i] >= -most) {
			out[i] = in[i] * ratio;
			continue;
		}
		const char *error = "a time lies outside what nanoseconds hold";
		if (duckdb_cast_function_get_cast_mode(info) == CAST_NORMAL) {
			duckdb_cast_function_set_error(info, error);
			return false;
		}
		duckdb_cast_function_set_row_error(info, error, i, output);
		whole = false;
	}
	return whole;
}

static bool micros_to_nanos(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	return to_nanos(info, 1000, count, input, output);
}

static bool millis_to_nanos(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	return to_nanos(info, 1000000, count, input, output);
}

static bool seconds_to_nanos(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	return to_nanos(info, 1000000000, count, input, output);
}

static bool nanos_to_date(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	(void)info;
	const int64_t *in = duckdb_vector_get_data(input);
	if (is_one(in, duckdb_vector_get_validity(input), count)) {
		set_all(output, duckdb_create_date((duckdb_days){days_of(in[0])}));
		return true;
	}
	int32_t *out = duckdb_vector_get_data(output);
	copy_nulls(input, output, count);
	for (idx_t i = 0; i < count; i++) {
		out[i] = days_of(in[i]);
	}
	return true;
}

// nanos_to_time makes an infinite time, which has no time of day, null.
static bool nanos_to_time(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output) {
	(void)info;
	const int64_t *in = duckdb_vector_get_data(input);
	int64_t *out = duckdb_vector_get_data(output);
	copy_nulls(input, output, count);
	uint64_t *known = NULL;
	for (idx_t i = 0; i < count; i++) {
		if (is_infinite(in[i])) {
			if (known == NULL) {
				duckdb_vector_ensure_validity_writable(output);
				known = duckdb_vector_get_validity(output);
			}
			known[i >> 6] &= ~(1ull << (i & 63));
			continue;
		}
		int64_t micros = floor_div(in[i], 1000);
		out[i] = micros - floor_div(micros, 86400000000) * 86400000000;
	}
	return true;
}

typedef bool (*cast_call)(duckdb_handle info, idx_t count, duckdb_handle input, duckdb_handle output);

// What implicit casts cost, by which the engine chooses among functions: as without us.
// EXPLICIT ones are made only where the statement asks for them. Seconds and milliseconds become
// nanoseconds only if a function takes no microseconds, which hold more of them.
enum { EXPLICIT = -1, COST_DOUBLE = 104, COST_FLOAT = 110, COST_TIMESTAMP_NS = 119, COST_TIMESTAMP = 120, COST_FINER = 124 };

// add registers a cast, and destroys the two types.
static duckdb_state add(duckdb_handle connection, duckdb_handle source, duckdb_handle target, int64_t cost, cast_call call, decimal *extra) {
	duckdb_handle cast = duckdb_create_cast_function();
	duckdb_cast_function_set_source_type(cast, source);
	duckdb_cast_function_set_target_type(cast, target);
	duckdb_cast_function_set_implicit_cast_cost(cast, cost);
	duckdb_cast_function_set_function(cast, call);
	if (extra != NULL) {
		duckdb_cast_function_set_extra_info(cast, extra, NULL);
	}
	duckdb_state state = duckdb_register_cast_function(connection, cast);
	duckdb_destroy_cast_function(&cast);
	duckdb_destroy_logical_type(&source);
	duckdb_destroy_logical_type(&target);
	return state;
}

duckdb_state cw_cast_register(duckdb_handle connection) {
	duckdb_state failed = 0;
	for (int width = 1; width <= MAX_WIDTH; width++) {
		for (int scale = 0; scale <= width; scale++) {
			decimal *d = &decimals[width][scale];
			d->width = (uint8_t)width;
			d->scale = (uint8_t)scale;
			failed |= add(connection, duckdb_create_decimal_type(d->width, d->scale), duckdb_create_logical_type(TYPE_DOUBLE), COST_DOUBLE, decimal_to_double, d);
			failed |= add(connection, duckdb_create_decimal_type(d->width, d->scale), duckdb_create_logical_type(TYPE_FLOAT), COST_FLOAT, decimal_to_float, d);
		}
	}
	// The engine adds the two halves of a HUGEINT as doubles, which rounds twice as well.
	decimal *whole = &decimals[MAX_WIDTH][0];
	failed |= add(connection, duckdb_create_logical_type(TYPE_HUGEINT), duckdb_create_logical_type(TYPE_DOUBLE), COST_DOUBLE, decimal_to_double, whole);
	failed |= add(connection, duckdb_create_logical_type(TYPE_HUGEINT), duckdb_create_logical_type(TYPE_FLOAT), COST_FLOAT, decimal_to_float, whole);
	// Not here: TIMESTAMP WITH TIME ZONE, whose casts ICU has registered, and the first one holds.
	static const struct {
		int from, to;
		int64_t cost;
		cast_call call;
	} times[] = {
	    {TYPE_TIMESTAMP_NS, TYPE_TIMESTAMP, COST_TIMESTAMP, nanos_to_timestamp},
	    {TYPE_TIMESTAMP_NS, TYPE_TIMESTAMP_MS, EXPLICIT, coarser_by_6},
	    {TYPE_TIMESTAMP_NS, TYPE_TIMESTAMP_S, EXPLICIT, coarser_by_9},
	    {TYPE_TIMESTAMP, TYPE_TIMESTAMP_MS, EXPLICIT, coarser_by_3},
	    {TYPE_TIMESTAMP, TYPE_TIMESTAMP_S, EXPLICIT, coarser_by_6},
	    {TYPE_TIMESTAMP_MS, TYPE_TIMESTAMP_S, EXPLICIT, coarser_by_3},
	    {TYPE_TIMESTAMP_NS, TYPE_DATE, EXPLICIT, nanos_to_date},
	    {TYPE_TIMESTAMP_NS, TYPE_TIME, EXPLICIT, nanos_to_time},
	    {TYPE_TIMESTAMP, TYPE_TIMESTAMP_NS, COST_TIMESTAMP_NS, micros_to_nanos},
	    {TYPE_TIMESTAMP_MS, TYPE_TIMESTAMP_NS, COST_FINER, millis_to_nanos},
	    {TYPE_TIMESTAMP_S, TYPE_TIMESTAMP_NS, COST_FINER, seconds_to_nanos},
	};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		failed |= add(connection, duckdb_create_logical_type(times[i].from), duckdb_create_logical_type(times[i].to), times[i].cost, times[i].call, NULL);
	}
	return failed;
}

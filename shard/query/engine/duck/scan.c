#include "scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ENC_FIXED = 1, ENC_PLAIN = 2, ENC_DICT = 3 };

// Numbers may lie at any address.
typedef uint16_t __attribute__((aligned(1), may_alias)) u16;
typedef uint32_t __attribute__((aligned(1), may_alias)) u32;
typedef uint64_t __attribute__((aligned(1), may_alias)) u64;

// ---- Relations and their ids ----

// Published relations. A scan finds its relation by id, never by an address in the
// SQL text, so a wrong id is an error and not a read of foreign memory.
enum { REGISTRY_SIZE = 4096 };
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static cw_relation *registry[REGISTRY_SIZE];
static uint64_t registry_next = 1;

cw_relation *cw_relation_new(uint32_t columns, uint32_t batches, uint32_t morsels) {
	cw_relation *r = calloc(1, sizeof *r);
	if (r == NULL) {
		return NULL;
	}
	r->column_count = columns;
	r->batch_count = batches;
	r->morsel_count = morsels;
	r->columns = calloc(columns + 1, sizeof *r->columns);
	r->views = calloc((size_t)columns * batches + 1, sizeof *r->views);
	r->morsels = calloc((size_t)morsels + 1, sizeof *r->morsels);
	if (r->columns == NULL || r->views == NULL || r->morsels == NULL) {
		cw_relation_free(r);
		return NULL;
	}
	return r;
}

uint64_t cw_relation_publish(cw_relation *r) {
	pthread_mutex_lock(&registry_lock);
	for (int tries = 0; tries < REGISTRY_SIZE; tries++) {
		uint64_t id = registry_next++;
		if (registry[id % REGISTRY_SIZE] == NULL) {
			registry[id % REGISTRY_SIZE] = r;
			r->id = id;
			break;
		}
	}
	pthread_mutex_unlock(&registry_lock);
	return r->id;
}

static cw_relation *relation_find(uint64_t id) {
	pthread_mutex_lock(&registry_lock);
	cw_relation *r = registry[id % REGISTRY_SIZE];
	pthread_mutex_unlock(&registry_lock);
	return r != NULL && r->id == id ? r : NULL;
}

void cw_relation_free(cw_relation *r) {
	if (r == NULL) {
		return;
	}
	if (r->id != 0) {
		pthread_mutex_lock(&registry_lock);
		registry[r->id % REGISTRY_SIZE] = NULL;
		pthread_mutex_unlock(&registry_lock);
	}
	for (uint32_t c = 0; r->columns != NULL && c < r->column_count; c++) {
		free(r->columns[c].name);
	}
	free(r->columns);
	free(r->views);
	free(r->morsels);
	free(r);
}

// ---- One scan ----

// What all threads of a scan share.
typedef struct {
	const cw_relation *relation;
	atomic_uint next_morsel;
	uint32_t column_count;
	int64_t columns[]; // of output column i, the relation's column; -1: nobody reads it
} scan_global;

// The strings of a dictionary, ready to be copied into a vector, for the batch that
// the thread is in.
typedef struct {
	duckdb_string *entries;
	uint32_t capacity;
	const cw_view *owner;
} scan_dictionary;

// What one thread of a scan has of its own.
typedef struct {
	const cw_morsel *morsel;
	uint32_t row; // next row of the morsel's batch
	uint32_t column_count;
	scan_dictionary dictionaries[]; // per output column
} scan_local;

static void scan_local_free(void *data) {
	scan_local *l = data;
	for (uint32_t i = 0; i < l->column_count; i++) {
		free(l->dictionaries[i].entries);
	}
	free(l);
}

static void scan_bind(duckdb_handle info) {
	duckdb_handle value = duckdb_bind_get_parameter(info, 0);
	uint64_t id = duckdb_get_uint64(value);
	duckdb_destroy_value(&value);
	cw_relation *r = relation_find(id);
	if (r == NULL) {
		duckdb_bind_set_error(info, "cordwood_scan: no such relation");
		return;
	}
	for (uint32_t c = 0; c < r->column_count; c++) {
		duckdb_handle type = duckdb_create_logical_type(r->columns[c].type);
		if (r->columns[c].json) {
			duckdb_logical_type_set_alias(type, "JSON");
		}
		duckdb_bind_add_result_column(info, r->columns[c].name, type);
		duckdb_destroy_logical_type(&type);
	}
	duckdb_bind_set_cardinality(info, r->rows, true);
	duckdb_bind_set_bind_data(info, r, NULL);
}

static void scan_init(duckdb_handle info) {
	cw_relation *r = duckdb_init_get_bind_data(info);
	idx_t n = duckdb_init_get_column_count(info);
	scan_global *g = malloc(sizeof *g + n * sizeof g->columns[0]);
	if (g == NULL) {
		duckdb_init_set_error(info, "cordwood_scan: out of memory");
		return;
	}
	g->relation = r;
	atomic_init(&g->next_morsel, 0);
	g->column_count = (uint32_t)n;
	for (idx_t i = 0; i < n; i++) {
		// count(*) asks for no column by asking for one beyond the last.
		idx_t c = duckdb_init_get_column_index(info, i);
		g->columns[i] = c < r->column_count ? (int64_t)c : -1;
	}
	duckdb_init_set_init_data(info, g, free);
	duckdb_init_set_max_threads(info, r->morsel_count > 0 ? r->morsel_count : 1);
}

static void scan_local_init(duckdb_handle info) {
	idx_t n = duckdb_init_get_column_count(info);
	scan_local *l = calloc(1, sizeof *l + n * sizeof l->dictionaries[0]);
	if (l == NULL) {
		duckdb_init_set_error(info, "cordwood_scan: out of memory");
		return;
	}
	l->column_count = (uint32_t)n;
	duckdb_init_set_init_data(info, l, scan_local_free);
}

// ---- Values into vectors ----

// mark_null clears the validity bits of rows [at, at+n).
static void mark_all_null(uint64_t *mask, uint32_t at, uint32_t n) {
	for (uint32_t i = at; i < at + n; i++) {
		mask[i >> 6] &= ~(1ull << (i & 63));
	}
}

// copy_nulls clears the bits of the rows that the view's bitmap says are null.
static void copy_nulls(uint64_t *mask, const uint8_t *validity, uint32_t from, uint32_t at, uint32_t n) {
	uint32_t k = 0;
	while (k < n) {
		uint32_t row = from + k;
		if ((row & 7) == 0 && n - k >= 8 && validity[row >> 3] == 0xff) {
			k += 8;
			continue;
		}
		if (!(validity[row >> 3] & (1u << (row & 7)))) {
			mask[(at + k) >> 6] &= ~(1ull << ((at + k) & 63));
		}
		k++;
	}
}

#define WIDEN(to, from_type)                                                                                           \
	{                                                                                                                  \
		const from_type *src = (const from_type *)v->data + from;                                                      \
		for (uint32_t k = 0; k < n; k++) {                                                                             \
			dst[k] = (to)(base + src[k]);                                                                              \
		}                                                                                                              \
	}

// FIXED writes base + raw number for every row; unsigned arithmetic wraps as Go's does.
#define FIXED(name, to)                                                                                                \
	static void name(to *dst, const cw_view *v, uint32_t from, uint32_t n) {                                           \
		uint64_t base = (uint64_t)v->base;                                                                             \
		switch (v->width) {                                                                                            \
		case 1:                                                                                                        \
			WIDEN(to, uint8_t)                                                                                         \
			break;                                                                                                     \
		case 2:                                                                                                        \
			WIDEN(to, u16)                                                                                             \
			break;                                                                                                     \
		case 4:                                                                                                        \
			WIDEN(to, u32)                                                                                             \
			break;                                                                                                     \
		case 8:                                                                                                        \
			WIDEN(to, u64)                                                                                             \
			break;                                                                                                     \
		default:                                                                                                       \
			for (uint32_t k = 0; k < n; k++) {                                                                         \
				dst[k] = (to)base;                                                                                     \
			}                                                                                                          \
		}                                                                                                              \
	}

FIXED(fixed8, uint8_t)
FIXED(fixed16, uint16_t)
FIXED(fixed32, uint32_t)
FIXED(fixed64, uint64_t)

static void fixed_bool(uint8_t *dst, const cw_view *v, uint32_t from, uint32_t n) {
	fixed8(dst, v, from, n);
	for (uint32_t k = 0; k < n; k++) {
		dst[k] = dst[k] != 0;
	}
}

// DOUBLES makes doubles of n numbers where they lie.
#define DOUBLES(read_type, value_type)                                                                                 \
	for (uint32_t k = 0; k < n; k++) {                                                                                 \
		read_type raw;                                                                                                 \
		value_type value;                                                                                              \
		memcpy(&raw, dst + k, sizeof raw);                                                                             \
		memcpy(&value, &raw, sizeof value);                                                                            \
		double wide = (double)value;                                                                                   \
		memcpy(dst + k, &wide, sizeof wide);                                                                           \
	}

// doubles writes the doubles of a view of integers or floats.
static void doubles(uint64_t *dst, const cw_view *v, uint32_t from, uint32_t n) {
	fixed64(dst, v, from, n);
	switch (v->from) {
	case CW_FROM_SIGNED:
		DOUBLES(uint64_t, int64_t)
		break;
	case CW_FROM_UNSIGNED:
		DOUBLES(uint64_t, uint64_t)
		break;
	default: // the low half, which comes first
		DOUBLES(uint32_t, float)
	}
}

// make_string points into the batch's memory, which outlives the query.
static inline duckdb_string make_string(const uint8_t *data, uint32_t start, uint32_t end) {
	duckdb_string s;
	uint32_t length = end - start;
	s.inlined.length = length;
	if (length <= sizeof s.inlined.bytes) {
		memset(s.inlined.bytes, 0, sizeof s.inlined.bytes);
		memcpy(s.inlined.bytes, data + start, length);
	} else {
		memcpy(s.pointer.prefix, data + start, 4);
		s.pointer.ptr = (const char *)data + start;
	}
	return s;
}

static void plain(duckdb_string *dst, const cw_view *v, uint32_t from, uint32_t n) {
	const u32 *offsets = (const u32 *)v->offsets + from;
	uint32_t start = offsets[0];
	for (uint32_t k = 0; k < n; k++) {
		uint32_t end = offsets[k + 1];
		dst[k] = make_string(v->data, start, end);
		start = end;
	}
}

static bool dictionary_load(scan_dictionary *d, const cw_view *v) {
	if (d->owner == v) {
		return true;
	}
	if (d->capacity < v->dict_len) {
		duckdb_string *entries = realloc(d->entries, v->dict_len * sizeof *entries);
		if (entries == NULL) {
			return false;
		}
		d->entries = entries;
		d->capacity = v->dict_len;
	}
	plain(d->entries, v, 0, v->dict_len);
	d->owner = v;
	return true;
}

static void dict(duckdb_string *dst, const duckdb_string *entries, const cw_view *v, uint32_t from, uint32_t n) {
	switch (v->width) {
	case 1: {
		const uint8_t *codes = v->codes + from;
		for (uint32_t k = 0; k < n; k++) {
			dst[k] = entries[codes[k]];
		}
		break;
	}
	case 2: {
		const u16 *codes = (const u16 *)v->codes + from;
		for (uint32_t k = 0; k < n; k++) {
			dst[k] = entries[codes[k]];
		}
		break;
	}
	default:
		for (uint32_t k = 0; k < n; k++) {
			dst[k] = entries[0];
		}
	}
}

// The size in a vector of the types that we have; 16 is a string.
static int type_size(int type) {
	switch (type) {
	case 1: // BOOLEAN
	case 2: // TINYINT
	case 6: // UTINYINT
		return 1;
	case 3: // SMALLINT
	case 7: // USMALLINT
		return 2;
	case 4:  // INTEGER
	case 8:  // UINTEGER
	case 10: // FLOAT
		return 4;
	case 17: // VARCHAR
	case 18: // BLOB
		return 16;
	default: // BIGINT, UBIGINT, DOUBLE, TIMESTAMP, TIMESTAMP_S, _MS, _NS
		return 8;
	}
}

// fill writes rows [from, from+n) of the view to rows [at, at+n) of the vector.
static bool fill(duckdb_handle vector, const cw_column *column, const cw_view *v, scan_dictionary *d, uint32_t from,
                 uint32_t at, uint32_t n) {
	int size = type_size(column->type);
	uint8_t *dst = (uint8_t *)duckdb_vector_get_data(vector) + (size_t)at * (size_t)size;
	if (v->encoding == 0 || v->validity != NULL) {
		duckdb_vector_ensure_validity_writable(vector);
		uint64_t *mask = duckdb_vector_get_validity(vector);
		if (v->encoding == 0) {
			// Nulls hide the bytes, but strings among them must be sound all the same.
			memset(dst, 0, (size_t)n * (size_t)size);
			mark_all_null(mask, at, n);
			return true;
		}
		copy_nulls(mask, v->validity, from, at, n);
	}
	if (v->encoding == ENC_PLAIN) {
		plain((duckdb_string *)dst, v, from, n);
		return true;
	}
	if (v->encoding == ENC_DICT) {
		if (!dictionary_load(d, v)) {
			return false;
		}
		dict((duckdb_string *)dst, d->entries, v, from, n);
		return true;
	}
	switch (size) {
	case 1:
		if (column->type == 1) {
			fixed_bool(dst, v, from, n);
		} else {
			fixed8(dst, v, from, n);
		}
		break;
	case 2:
		fixed16((uint16_t *)dst, v, from, n);
		break;
	case 4:
		fixed32((uint32_t *)dst, v, from, n);
		break;
	default:
		if (v->from != CW_AS_IS) {
			doubles((uint64_t *)dst, v, from, n);
		} else if (v->width == 8 && v->base == 0) {
			memcpy(dst, v->data + 8 * (size_t)from, 8 * (size_t)n);
		} else {
			fixed64((uint64_t *)dst, v, from, n);
		}
	}
	return true;
}

// scan fills one chunk, from several morsels if they are short.
static void scan(duckdb_handle info, duckdb_handle output) {
	scan_global *g = duckdb_function_get_init_data(info);
	scan_local *l = duckdb_function_get_local_init_data(info);
	const cw_relation *r = g->relation;
	uint32_t capacity = (uint32_t)duckdb_vector_size(), n = 0;
	while (n < capacity) {
		if (l->morsel == NULL || l->row == l->morsel->to) {
			unsigned m = atomic_fetch_add_explicit(&g->next_morsel, 1, memory_order_relaxed);
			if (m >= r->morsel_count) {
				// Stay beyond the end, so that further calls cannot wrap the counter.
				atomic_store_explicit(&g->next_morsel, r->morsel_count, memory_order_relaxed);
				l->morsel = NULL;
				break;
			}
			l->morsel = &r->morsels[m];
			l->row = l->morsel->from;
		}
		uint32_t take = l->morsel->to - l->row;
		if (take > capacity - n) {
			take = capacity - n;
		}
		const cw_view *views = r->views + (size_t)l->morsel->batch * r->column_count;
		for (uint32_t i = 0; i < g->column_count; i++) {
			int64_t c = g->columns[i];
			if (c < 0) {
				continue;
			}
			if (!fill(duckdb_data_chunk_get_vector(output, i), &r->columns[c], &views[c], &l->dictionaries[i], l->row,
			          n, take)) {
				duckdb_function_set_error(info, "cordwood_scan: out of memory");
				return;
			}
		}
		n += take;
		l->row += take;
	}
	duckdb_data_chunk_set_size(output, n);
}

// ---- Registration ----

// json_call gives a text that is known to be JSON the type JSON, without parsing it.
static void json_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	(void)info;
	duckdb_vector_reference_vector(output, duckdb_data_chunk_get_vector(input, 0));
}

duckdb_state cw_register(duckdb_handle connection) {
	duckdb_handle id_type = duckdb_create_logical_type(9); // UBIGINT
	duckdb_handle f = duckdb_create_table_function();
	duckdb_table_function_set_name(f, "cordwood_scan");
	duckdb_table_function_add_parameter(f, id_type);
	duckdb_table_function_set_bind(f, scan_bind);
	duckdb_table_function_set_init(f, scan_init);
	duckdb_table_function_set_local_init(f, scan_local_init);
	duckdb_table_function_set_function(f, scan);
	duckdb_table_function_supports_projection_pushdown(f, true);
	duckdb_state state = duckdb_register_table_function(connection, f);
	duckdb_destroy_table_function(&f);
	duckdb_destroy_logical_type(&id_type);
	if (state != 0) {
		return state;
	}

	duckdb_handle text = duckdb_create_logical_type(17); // VARCHAR
	duckdb_handle json = duckdb_create_logical_type(17);
	duckdb_logical_type_set_alias(json, "JSON");
	f = duckdb_create_scalar_function();
	duckdb_scalar_function_set_name(f, "cordwood_json");
	duckdb_scalar_function_add_parameter(f, text);
	duckdb_scalar_function_set_return_type(f, json);
	duckdb_scalar_function_set_function(f, json_call);
	state = duckdb_register_scalar_function(connection, f);
	duckdb_destroy_scalar_function(&f);
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&json);
	return state;
}

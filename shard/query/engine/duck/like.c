#define _GNU_SOURCE // memmem
#include "like.h"

#include <stdio.h>
#include <string.h>

// The engine tries a pattern again at each position of the text for each %, which takes a power of
// the text's length. Here only the last % is tried again: what lies before it matched as early as it
// can, which leaves the most of the text to the rest.

enum {
	// MAX_SLOW bounds patterns that are compared anew at each position of a text, byte by byte.
	MAX_SLOW = 1000,
	// MAX_PLAIN bounds the patterns that the engine's own functions may get.
	MAX_PLAIN = 256,
};

typedef struct {
	const char *s;
	size_t n;
} slice;

typedef enum { NO, YES, TOO_LONG, ENDS_IN_ESCAPE, BAD_ESCAPE } verdict;

static slice value(const duckdb_string *s) {
	slice v = {NULL, s->inlined.length};
	v.s = v.n <= sizeof s->inlined.bytes ? s->inlined.bytes : s->pointer.ptr;
	return v;
}

static inline bool is_null(const uint64_t *valid, idx_t i) { return valid != NULL && !(valid[i >> 6] >> (i & 63) & 1); }

// plain tells whether the engine has a fast function for the pattern: a text, and % in front or behind.
static bool plain(slice p) {
	if (p.n > MAX_PLAIN || memchr(p.s, '_', p.n) != NULL) {
		return false;
	}
	while (p.n > 0 && p.s[0] == '%') {
		p.s++;
		p.n--;
	}
	while (p.n > 0 && p.s[p.n - 1] == '%') {
		p.n--;
	}
	return memchr(p.s, '%', p.n) == NULL;
}

// find_parts matches a pattern without _ and escapes: each part between two % is searched for.
static bool find_parts(slice t, slice p) {
	const char *wild = memchr(p.s, '%', p.n);
	if (wild == NULL) {
		return t.n == p.n && memcmp(t.s, p.s, t.n) == 0;
	}
	size_t head = (size_t)(wild - p.s);
	if (t.n < head || memcmp(t.s, p.s, head) != 0) {
		return false;
	}
	const char *s = t.s + head, *end = t.s + t.n, *stop = p.s + p.n;
	for (const char *part = wild + 1;; part = wild + 1) {
		wild = memchr(part, '%', (size_t)(stop - part));
		if (wild == NULL) {
			size_t tail = (size_t)(stop - part);
			return (size_t)(end - s) >= tail && memcmp(end - tail, part, tail) == 0;
		}
		size_t n = (size_t)(wild - part);
		if (n > 0) {
			if ((s = memmem(s, (size_t)(end - s), part, n)) == NULL) {
				return false;
			}
			s += n;
		}
	}
}

// like matches a pattern in which escape, unless it is -1, takes the meaning from what follows.
static verdict like(slice t, slice p, int escape) {
	bool one = memchr(p.s, '_', p.n) != NULL, escapes = escape >= 0 && memchr(p.s, escape, p.n) != NULL;
	if (!one && !escapes) {
		return find_parts(t, p) ? YES : NO;
	}
	size_t wild = 0;
	for (size_t k = 0; k < p.n; k++) {
		if (escapes && (unsigned char)p.s[k] == escape) {
			if (++k == p.n) {
				return ENDS_IN_ESCAPE;
			}
		} else {
			wild += p.s[k] == '%';
		}
	}
	if (wild > 0 && p.n > MAX_SLOW) {
		return TOO_LONG;
	}
	size_t i = 0, k = 0, again = 0, from = 0;
	bool any = false;
	for (;;) {
		if (k == p.n) {
			if (i == t.n) {
				return YES;
			}
		} else if (escapes && (unsigned char)p.s[k] == escape) {
			if (i < t.n && t.s[i] == p.s[k + 1]) {
				i++;
				k += 2;
				continue;
			}
		} else if (p.s[k] == '%') {
			if (++k == p.n) {
				return YES;
			}
			any = true;
			again = k;
			from = i;
			continue;
		} else if (i < t.n && p.s[k] == '_') {
			for (i++; i < t.n && ((unsigned char)t.s[i] & 0xc0) == 0x80; i++) {
			}
			k++;
			continue;
		} else if (i < t.n && t.s[i] == p.s[k]) {
			i++;
			k++;
			continue;
		}
		if (!any || i >= t.n) { // a later beginning leaves even less of the text
			return NO;
		}
		i = ++from;
		k = again;
	}
}

// in_class tells whether the byte is of the class that begins behind [ at *k, and moves on behind ].
// A class that does not end has no bytes.
static bool in_class(slice p, size_t *k, signed char c) {
	size_t i = *k;
	bool inverted = i < p.n && p.s[i] == '!', found = false;
	i += inverted;
	for (size_t start = i; i < p.n;) {
		signed char low = (signed char)p.s[i], high = low;
		if (low == ']' && i > start) {
			*k = i + 1;
			return found != inverted;
		}
		i++;
		if (i < p.n && p.s[i] == '-') {
			if (i + 1 >= p.n) {
				return false;
			}
			high = (signed char)p.s[i + 1];
			i += 2;
		}
		found = found || (c >= low && c <= high);
	}
	return false;
}

// glob matches a pattern of *, ?, [a-z], [!a-z] and \, by bytes as the engine does.
static verdict glob(slice t, slice p) {
	if (p.n > MAX_SLOW) {
		return TOO_LONG;
	}
	size_t i = 0, k = 0, again = 0, from = 0;
	bool any = false;
	for (;;) {
		bool met = false;
		if (k == p.n) {
			if (i == t.n) {
				return YES;
			}
		} else if (p.s[k] == '*') {
			if (++k == p.n) {
				return YES;
			}
			any = true;
			again = k;
			from = i;
			continue;
		} else if (i < t.n) {
			switch (p.s[k++]) {
			case '?':
				met = true;
				break;
			case '[':
				met = in_class(p, &k, (signed char)t.s[i]);
				break;
			case '\\':
				met = k < p.n && t.s[i] == p.s[k];
				k++;
				break;
			default:
				met = t.s[i] == p.s[k - 1];
			}
		}
		if (met) {
			i++;
			continue;
		}
		if (!any || i >= t.n) {
			return NO;
		}
		i = ++from;
		k = again;
	}
}

typedef enum { PLAIN, LIKE, ESCAPE, GLOB } kind;

static verdict decide(kind of, const slice v[3]) {
	switch (of) {
	case PLAIN:
		return plain(v[0]) ? YES : NO;
	case LIKE:
		return like(v[0], v[1], -1);
	case ESCAPE:
		if (v[2].n > 1) {
			return BAD_ESCAPE;
		}
		return like(v[0], v[1], v[2].n == 0 ? -1 : (unsigned char)v[2].s[0]);
	case GLOB:
		return glob(v[0], v[1]);
	}
	return NO;
}

static void fail(duckdb_handle info, verdict why, size_t length) {
	char error[200];
	switch (why) {
	case TOO_LONG:
		snprintf(error, sizeof error,
		         "a pattern of %zu bytes; patterns of GLOB, and those of LIKE and ILIKE that have %% and also _ or an escape, may have %d", length,
		         MAX_SLOW);
		break;
	case ENDS_IN_ESCAPE:
		snprintf(error, sizeof error, "the pattern of LIKE ends in its escape character; write that twice to look for it");
		break;
	default:
		snprintf(error, sizeof error, "the escape of LIKE must be empty or one ASCII character");
	}
	duckdb_scalar_function_set_error(info, error);
}

static void call(kind of, idx_t arity, duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	const duckdb_string *data[3];
	const uint64_t *valid[3];
	for (idx_t a = 0; a < arity; a++) {
		duckdb_handle vector = duckdb_data_chunk_get_vector(input, a);
		data[a] = duckdb_vector_get_data(vector);
		valid[a] = duckdb_vector_get_validity(vector);
	}
	bool *out = duckdb_vector_get_data(output);
	idx_t n = duckdb_data_chunk_get_size(input);
	duckdb_vector_ensure_validity_writable(output);
	uint64_t *known = duckdb_vector_get_validity(output);
	for (idx_t i = 0; i < n; i++) {
		slice v[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
		bool null = false;
		for (idx_t a = 0; a < arity; a++) {
			if (is_null(valid[a], i)) {
				null = true;
			} else {
				v[a] = value(&data[a][i]);
			}
		}
		if (null) {
			known[i >> 6] &= ~(1ull << (i & 63));
			continue;
		}
		verdict is = decide(of, v);
		if (is > YES) {
			fail(info, is, v[1].n);
			return;
		}
		out[i] = is == YES;
	}
}

static void plain_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) { call(PLAIN, 1, info, input, output); }
static void like_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) { call(LIKE, 2, info, input, output); }
static void escape_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) { call(ESCAPE, 3, info, input, output); }
static void glob_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) { call(GLOB, 2, info, input, output); }

duckdb_state cw_like_register(duckdb_handle connection) {
	static const struct {
		const char *name;
		int arity;
		void (*call)(duckdb_handle, duckdb_handle, duckdb_handle);
	} functions[] = {
	    {"cordwood_like_plain", 1, plain_call},
	    {"cordwood_like", 2, like_call},
	    {"cordwood_like_escape", 3, escape_call},
	    {"cordwood_glob", 2, glob_call},
	};
	duckdb_handle text = duckdb_create_logical_type(17), boolean = duckdb_create_logical_type(1);
	duckdb_state failed = 0;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		duckdb_handle f = duckdb_create_scalar_function();
		duckdb_scalar_function_set_name(f, functions[i].name);
		for (int a = 0; a < functions[i].arity; a++) {
			duckdb_scalar_function_add_parameter(f, text);
		}
		duckdb_scalar_function_set_return_type(f, boolean);
		duckdb_scalar_function_set_function(f, functions[i].call);
		failed |= duckdb_register_scalar_function(connection, f);
		duckdb_destroy_scalar_function(&f);
	}
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&boolean);
	return failed;
}

#include "match.h"

#include <stdlib.h>
#include <string.h>

static const uint16_t *pages;
static const uint32_t *entries;

void cw_match_init(const uint16_t *page, const uint32_t *table) {
	pages = page;
	entries = table;
}

// lookup returns what c is, with its lower case in the low bits.
static inline uint32_t lookup(uint32_t c) {
	uint32_t e = entries[((uint32_t)pages[c >> 8] << 8) | (c & 255)];
	return (e & ~CW_POINT) | ((e + c) & CW_POINT);
}

// next reads the code point at *p, which is sound UTF-8, and moves on.
static inline uint32_t next(const uint8_t **p, const uint8_t *end) {
	uint32_t c = *(*p)++;
	if (c < 0x80) {
		return c;
	}
	int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	c &= 0x3fu >> more;
	while (more-- > 0 && *p < end) {
		c = c << 6 | (*(*p)++ & 0x3f);
	}
	return c < 0x110000 ? c : 0xfffd;
}

// A literal to look for, as code points folded like those of the text.
typedef struct {
	uint32_t *points;
	uint32_t count;
	// fail[k] is the length of the longest beginning of the literal that also ends its first k + 1 points (the
	// algorithm of Knuth, Morris and Pratt).
	uint32_t *fail;
	// seen has the last points of the text, at their numbers modulo a power of two, mask + 1, that is above count.
	uint32_t *seen, mask;
	bool prefix;     // the word that it ends in may go on
	bool start[256]; // the bytes with which it may begin
} literal;

enum { MAX_OPS = 256 };

// A program is a boolean expression in postfix order: 't' tells whether literal arg
// occurs, 'p' whether a word begins with it, '&', '|', '!' combine.
typedef struct {
	char op;
	uint16_t arg;
} operation;

typedef struct {
	bool case_sensitive, chinese;
	operation ops[MAX_OPS];
	literal literals[MAX_OPS];
	uint32_t op_count, literal_count;
} program;

static void program_free(program *p) {
	for (uint32_t i = 0; i < p->literal_count; i++) {
		free(p->literals[i].points);
		free(p->literals[i].fail);
		free(p->literals[i].seen);
	}
	free(p);
}

// prepare fills what the search for a literal needs. It returns false without memory.
static bool prepare(literal *l) {
	l->mask = 1;
	while (l->mask < l->count) {
		l->mask = 2 * l->mask + 1;
	}
	l->fail = calloc(l->count, sizeof *l->fail);
	l->seen = calloc((size_t)l->mask + 1, sizeof *l->seen);
	if (l->fail == NULL || l->seen == NULL) {
		return false;
	}
	for (uint32_t i = 1, k = 0; i < l->count; i++) {
		while (k > 0 && l->points[i] != l->points[k]) {
			k = l->fail[k - 1];
		}
		k += l->points[i] == l->points[k];
		l->fail[i] = k;
	}
	return true;
}

// program_parse reads what match.go writes: a digit of flags, then the operations;
// a literal is t or p, its length in bytes, a colon and the bytes.
static program *program_parse(const uint8_t *text, uint32_t length) {
	const uint8_t *s = text, *end = text + length;
	program *p = calloc(1, sizeof *p);
	if (p == NULL || s == end) {
		free(p);
		return NULL;
	}
	p->case_sensitive = (*s - '0') & 1;
	p->chinese = (*s - '0') & 2;
	s++;
	int depth = 0;
	while (s < end && p->op_count < MAX_OPS) {
		operation *op = &p->ops[p->op_count++];
		op->op = (char)*s++;
		switch (op->op) {
		case 'p':
		case 't': {
			uint32_t n = 0;
			while (s < end && *s >= '0' && *s <= '9' && n < (1u << 24)) {
				n = 10 * n + (uint32_t)(*s++ - '0');
			}
			if (s == end || *s++ != ':' || n > (uint32_t)(end - s)) {
				goto malformed;
			}
			op->arg = (uint16_t)p->literal_count;
			literal *l = &p->literals[p->literal_count];
			l->points = malloc((n + 1) * sizeof *l->points);
			if (l->points == NULL) {
				goto malformed;
			}
			l->prefix = op->op == 'p';
			p->literal_count++;
			for (const uint8_t *stop = s + n; s < stop;) {
				uint32_t e = next(&s, stop);
				e = p->case_sensitive ? (lookup(e) & ~CW_POINT) | e : lookup(e);
				l->points[l->count++] = e;
			}
			if (l->count == 0 || !prepare(l)) {
				goto malformed;
			}
			for (uint32_t b = 0; b < 256; b++) {
				uint32_t first = l->points[0] & CW_POINT;
				// Some letters beyond ASCII have lower cases in it.
				l->start[b] = b < 0x80 ? first == (p->case_sensitive ? b : lookup(b) & CW_POINT) : first >= 0x80 || !p->case_sensitive;
			}
			depth++;
			break;
		}
		case '&':
		case '|':
			if (--depth < 1) {
				goto malformed;
			}
			break;
		case '!':
			if (depth < 1) {
				goto malformed;
			}
			break;
		default:
			goto malformed;
		}
	}
	if (s == end && depth == 1) {
		return p;
	}
malformed:
	program_free(p);
	return NULL;
}

// apart tells whether a word may end between two neighbours, one of which is word.
static inline bool apart(const program *p, uint32_t a, uint32_t b) {
	if (!(a & CW_WORD) || !(b & CW_WORD)) {
		return true;
	}
	return p->chinese && ((a & CW_HAN) || (b & CW_HAN));
}

static inline uint32_t folded(const program *p, uint32_t c) {
	uint32_t e = lookup(c);
	return p->case_sensitive ? (e & ~CW_POINT) | c : e;
}

// FEW is how many points are compared anew at each place of a text.
enum { FEW = 8 };

// bounded tells whether an occurrence of the literal that ends at at neither begins nor ends
// within a word. before is the point before it, or 0, which belongs to no word.
static bool bounded(const program *p, const literal *l, uint32_t before, const uint8_t *at, const uint8_t *end) {
	uint32_t last = l->points[l->count - 1];
	return apart(p, before, l->points[0]) && (l->prefix || at == end || apart(p, last, lookup(next(&at, end))));
}

// occurs tells whether the text has the literal, neither beginning nor ending within
// a word; a prefix may end there. It reads each point of the text at most FEW times, and once more.
static bool occurs(const program *p, literal *l, const uint8_t *text, uint32_t length) {
	const uint8_t *s = text, *end = text + length;
	uint32_t few = l->count < FEW ? l->count : FEW;
	for (;;) {
		while (s < end && !l->start[*s]) {
			s++;
		}
		if (s == end) {
			return false;
		}
		const uint8_t *at = s;
		uint32_t agree = 0;
		while (agree < few && at < end && folded(p, next(&at, end)) == l->points[agree]) {
			agree++;
		}
		if (agree < few) {
			next(&s, end);
			continue;
		}
		const uint8_t *from = s;
		while (from > text && (*--from & 0xc0) == 0x80) {
		}
		uint32_t before = s == text ? 0 : lookup(next(&from, s));
		if (l->count == few) {
			if (bounded(p, l, before, at, end)) {
				return true;
			}
			next(&s, end);
			continue;
		}
		uint32_t n = 0, k = 0; // how many points were read since, and agree with the literal
		l->seen[0] = before;
		do {
			uint32_t e = folded(p, next(&s, end));
			l->seen[++n & l->mask] = e;
			while (k > 0 && e != l->points[k]) {
				k = l->fail[k - 1];
			}
			k += e == l->points[k];
			if (k < l->count) {
				continue;
			}
			if (bounded(p, l, l->seen[(n - k) & l->mask], s, end)) {
				return true;
			}
			k = l->fail[k - 1];
		} while (k > 0 && s < end);
	}
}

static bool run(program *p, const uint8_t *text, uint32_t length) {
	bool stack[MAX_OPS];
	int depth = 0;
	for (uint32_t i = 0; i < p->op_count; i++) {
		switch (p->ops[i].op) {
		case 'p':
		case 't':
			stack[depth++] = occurs(p, &p->literals[p->ops[i].arg], text, length);
			break;
		case '&':
			depth--;
			stack[depth - 1] = stack[depth - 1] && stack[depth];
			break;
		case '|':
			depth--;
			stack[depth - 1] = stack[depth - 1] || stack[depth];
			break;
		default:
			stack[depth - 1] = !stack[depth - 1];
		}
	}
	return stack[0];
}

static const uint8_t *bytes(const duckdb_string *s) {
	return (const uint8_t *)(s->inlined.length <= sizeof s->inlined.bytes ? s->inlined.bytes : s->pointer.ptr);
}

static void match_call(duckdb_handle info, duckdb_handle input, duckdb_handle output) {
	duckdb_handle texts = duckdb_data_chunk_get_vector(input, 0), programs = duckdb_data_chunk_get_vector(input, 1);
	const duckdb_string *text = duckdb_vector_get_data(texts), *source = duckdb_vector_get_data(programs);
	const uint64_t *valid = duckdb_vector_get_validity(texts), *given = duckdb_vector_get_validity(programs);
	bool *out = duckdb_vector_get_data(output);
	idx_t n = duckdb_data_chunk_get_size(input);
	duckdb_vector_ensure_validity_writable(output);
	uint64_t *known = duckdb_vector_get_validity(output);
	program *p = NULL;
	for (idx_t i = 0; i < n; i++) {
		if ((valid != NULL && !(valid[i >> 6] >> (i & 63) & 1)) || (given != NULL && !(given[i >> 6] >> (i & 63) & 1))) {
			known[i >> 6] &= ~(1ull << (i & 63));
			continue;
		}
		if (p == NULL && (p = program_parse(bytes(&source[i]), source[i].inlined.length)) == NULL) {
			duckdb_scalar_function_set_error(info, "cordwood_matches: malformed program");
			return;
		}
		out[i] = run(p, bytes(&text[i]), text[i].inlined.length);
	}
	if (p != NULL) {
		program_free(p);
	}
}

duckdb_state cw_match_register(duckdb_handle connection) {
	duckdb_handle text = duckdb_create_logical_type(17), boolean = duckdb_create_logical_type(1);
	duckdb_handle f = duckdb_create_scalar_function();
	duckdb_scalar_function_set_name(f, "cordwood_matches");
	duckdb_scalar_function_add_parameter(f, text);
	duckdb_scalar_function_add_parameter(f, text);
	duckdb_scalar_function_set_return_type(f, boolean);
	duckdb_scalar_function_set_function(f, match_call);
	duckdb_state state = duckdb_register_scalar_function(connection, f);
	duckdb_destroy_scalar_function(&f);
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&boolean);
	return state;
}

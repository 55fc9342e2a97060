// A table function over column batches that lie in our own memory.
#ifndef CORDWOOD_SCAN_H
#define CORDWOOD_SCAN_H

#include "duckdb_api.h"

// One column of one batch, as column.View describes it. encoding 0: the batch has no
// such column, every row is null.
typedef struct {
	const uint8_t *data;
	const uint8_t *offsets;
	const uint8_t *codes;
	const uint8_t *validity; // NULL: no row is null
	int64_t base;
	uint32_t dict_len;
	uint8_t encoding;
	uint8_t width;
	// How numbers become those of the column, if they are of a narrower type: CW_AS_IS,
	// or from what doubles are made.
	uint8_t from;
} cw_view;

enum { CW_AS_IS = 0, CW_FROM_SIGNED = 1, CW_FROM_UNSIGNED = 2, CW_FROM_FLOAT = 3 };

// A column of the relation. kind says how values are written into a vector.
typedef struct {
	char *name;
	int type; // duckdb_type
	bool json;
} cw_column;

// A run of rows of one batch that one thread takes at a time.
typedef struct {
	uint32_t batch;
	uint32_t from, to;
} cw_morsel;

// The batches of one table, for one query. Immutable after cw_relation_publish.
typedef struct {
	uint64_t id;
	uint64_t rows;
	cw_column *columns;
	cw_view *views; // views[batch * column_count + column]
	cw_morsel *morsels;
	uint32_t column_count, batch_count, morsel_count;
} cw_relation;

// cw_relation_new allocates a relation of zeroes; NULL if there is no memory.
cw_relation *cw_relation_new(uint32_t columns, uint32_t batches, uint32_t morsels);
// cw_relation_publish gives the relation the id by which cordwood_scan(id) finds it.
// It returns 0 if too many are published.
uint64_t cw_relation_publish(cw_relation *relation);
// cw_relation_free withdraws and frees the relation. No query may still use it.
void cw_relation_free(cw_relation *relation);

// cw_register adds the functions of this file to the connection's database.
duckdb_state cw_register(duckdb_handle connection);

#endif

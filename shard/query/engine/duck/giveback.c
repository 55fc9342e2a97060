#include "giveback.h"

#include <stddef.h>
#include <stdint.h>

// The allocator that DuckDB brings along, and that of the C library: not everywhere.
extern int duckdb_je_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size) __attribute__((weak));
extern int malloc_trim(size_t pad) __attribute__((weak));

void cw_give_back(void) {
	if (duckdb_je_mallctl != NULL) {
		duckdb_je_mallctl("arena.4096.purge", NULL, NULL, NULL, 0); // 4096: all arenas
	}
	if (malloc_trim != NULL) {
		malloc_trim(0);
	}
}

package duck

import "cordwood/proto/errs"

/*
#include "giveback.h"
*/
import "C"

// AllocatorSettings are environment variables for a process that opens an instance. With them,
// DuckDB's allocator returns freed memory to the operating system. Without them, freed memory still
// counts as memory of the process.
const AllocatorSettings = "DUCKDB_JE_MALLOC_CONF=retain:false"

// GiveBackAfter returns unused memory to the system after a query that failed for lack of it, or
// was stopped while its memory was growing.
func GiveBackAfter(err error) {
	switch errs.CodeOf(err) {
	case errs.RuntimeResourcesExhausted, errs.QueryTimeout, errs.Cancelled:
		C.cw_give_back()
	}
}

package duck

import "cordwood/proto/errs"

/*
#include "giveback.h"
*/
import "C"

// AllocatorSettings is what the environment of a process that opens an instance should have, so
// that memory which is given back is no longer counted as the process's: DuckDB's allocator
// otherwise keeps the addresses for ever.
const AllocatorSettings = "DUCKDB_JE_MALLOC_CONF=retain:false"

// GiveBackAfter returns unused memory to the system after a query that failed for lack of it,
// or was stopped while it took ever more.
func GiveBackAfter(err error) {
	switch errs.CodeOf(err) {
	case errs.RuntimeResourcesExhausted, errs.QueryTimeout, errs.Cancelled:
		C.cw_give_back()
	}
}

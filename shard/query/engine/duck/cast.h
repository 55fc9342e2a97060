// Conversions in the place of the engine's own, where these do not give the nearest value.
#ifndef CORDWOOD_CAST_H
#define CORDWOOD_CAST_H

#include "duckdb_api.h"

// cw_cast_register replaces, in the connection's database, the casts of DECIMAL and HUGEINT
// to DOUBLE and FLOAT and those of times to coarser units, which round down, and to nanoseconds.
duckdb_state cw_cast_register(duckdb_handle connection);

#endif

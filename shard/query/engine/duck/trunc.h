// date_trunc of times in nanoseconds.
#ifndef CORDWOOD_TRUNC_H
#define CORDWOOD_TRUNC_H

#include "duckdb_api.h"

// cw_trunc_register adds cordwood_trunc to the connection's database.
duckdb_state cw_trunc_register(duckdb_handle connection);

#endif

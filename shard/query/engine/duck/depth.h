// A bound on how deeply JSON texts are nested.
#ifndef CORDWOOD_DEPTH_H
#define CORDWOOD_DEPTH_H

#include "duckdb_api.h"

// cw_depth_register adds cordwood_depth to the connection's database.
duckdb_state cw_depth_register(duckdb_handle connection);

#endif

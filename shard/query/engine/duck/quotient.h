#ifndef CORDWOOD_QUOTIENT_H
#define CORDWOOD_QUOTIENT_H

#include "duckdb_api.h"

// cw_quotient_register adds cordwood_quotient to a database.
duckdb_state cw_quotient_register(duckdb_handle connection);

#endif

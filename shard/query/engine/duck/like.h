// LIKE and GLOB in time that is bounded by the text times a short pattern.
#ifndef CORDWOOD_LIKE_H
#define CORDWOOD_LIKE_H

#include "duckdb_api.h"

// cw_like_register adds the functions that the macros of LIKE, ILIKE and GLOB call to the
// connection's database: cordwood_like_plain, cordwood_like, cordwood_like_escape and cordwood_glob.
duckdb_state cw_like_register(duckdb_handle connection);

#endif

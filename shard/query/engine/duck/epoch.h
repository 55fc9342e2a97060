// Times of integers; see epoch.c.
#ifndef CORDWOOD_EPOCH_H
#define CORDWOOD_EPOCH_H

#include "duckdb_api.h"

// cw_epoch_register adds the functions to the connection's database.
duckdb_state cw_epoch_register(duckdb_handle connection);

#endif

// Search of texts for words and phrases.
#ifndef CORDWOOD_MATCH_H
#define CORDWOOD_MATCH_H

#include "duckdb_api.h"

// What a code point is: how far its lower case is from it in the low 21 bits, modulo 2^21, and these.
#define CW_POINT 0x1fffffu
#define CW_WORD 0x80000000u // a letter or a digit
#define CW_HAN 0x40000000u

// cw_match_init sets the table of code points: page[c >> 8] is the number of a page of
// 256 entries, of which many pages are alike. Both stay for ever. To be called before cw_match_register, once.
void cw_match_init(const uint16_t *page, const uint32_t *entries);

// cw_match_register adds cordwood_matches to the connection's database.
duckdb_state cw_match_register(duckdb_handle connection);

#endif

#ifndef CORDWOOD_GIVEBACK_H
#define CORDWOOD_GIVEBACK_H

// cw_give_back returns to the system the memory that the allocators keep for later use.
void cw_give_back(void);

#endif

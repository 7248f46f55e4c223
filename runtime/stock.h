/* SPDX-License-Identifier: BSD-3-Clause
 * Stocks: blocks that all ranks of a group have made, and told each other of, for binds to come (stock.c). */
#ifndef RUNTIME_STOCK_H
#define RUNTIME_STOCK_H

#include "runtime/settled.h"

/* What binds that take blocks of one stock have in common. Without padding, because it is compared as memory. */
struct rt_alike {
	uint64_t count, params; /* as in struct contract */
	uint64_t messages; /* hash of this rank's messages */
	uint32_t schedule;
	uint8_t backend, basic, op;
	bool inplace;
};

struct rt_stock {
	struct rt_alike alike;
	bool valid;
	uint32_t made; /* number of blocks that the last exchange has made of each rank */
	uint32_t left; /* number of them that no bind has taken */
	struct rt_offer *next; /* by rank: the first block that is left */
};
#define RT_STOCKS 8u /* stocks of a group */
#define RT_STOCK_MOST 16u /* blocks of a rank in one stock */

/* Returns the stock for such binds, or NULL. */
struct rt_stock *rt_stock_find(struct be_group *g, const struct rt_alike *alike);
/* Returns how many blocks the exchange of a bind is to make for later ones; 0 for NULL. */
uint32_t rt_stock_want(const struct rt_stock *s);
/* Adds an empty stock, after a bind that others will repeat. If there are too many, another one goes. */
void rt_stock_add(struct be_group *g, const struct rt_alike *alike);
/* Fills a stock that is empty with `n` blocks of each rank, those behind the blocks of the bind under way. `first` is the offer of
 * rank 0 in that bind; the offers are `stride` bytes apart. Returns false if peers may have to map more memory for these blocks. */
bool rt_stock_fill(struct be_group *g, struct rt_stock *s, uint32_t n, const struct rt_offer *first, size_t stride);
/* Takes one block of each rank, and writes where they are to the offers. */
void rt_stock_take(struct be_group *g, struct rt_stock *s, struct rt_offer *first, size_t stride);
/* Frees `n` blocks of this rank that no bind has taken: those behind the block of that handle. */
void rt_stock_return(struct be_group *g, const struct be_handle *block, uint32_t n);
/* Frees this rank's blocks in all stocks. */
void rt_stocks_free(struct be_group *g);
/* Returns a rank that takes blocks where this one is in an exchange, and so will not come to it; or -1. */
int64_t rt_stock_ahead(const struct be_group *g);

#endif

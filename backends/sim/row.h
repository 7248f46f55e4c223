/* SPDX-License-Identifier: BSD-3-Clause
 * Rows of concrete binaries that are like the one before: only the peers of messages differ. Such a row is neither checked nor made
 * op by op, but for its peers. */
#ifndef BACKENDS_SIM_ROW_H
#define BACKENDS_SIM_ROW_H

#include "format/check.h"

/* A row that bin_check_rank has accepted. A zeroed struct is none. */
struct sim_row {
	unsigned char *bytes; /* the row, as in the file */
	uint64_t *same; /* for each op, the bits of its record that another row must have, too */
	uint64_t nbytes, bytes_cap;
	uint32_t nops, ops_cap;
};

void sim_row_fini(struct sim_row *r);
/* Keeps a row of a binary. A wide one is not kept, and no row is like it. Returns 0 or -ERR_NOMEM. */
int sim_row_keep(struct sim_row *r, const struct bin *b, const struct bin_opened *v);
/* True if a row of DIR, which has been opened, is like the one that is kept, so that bin_check_rank accepts it. */
bool sim_row_is_like(const struct sim_row *r, const struct bin *b, uint32_t dir_row, const struct bin_opened *v);

#endif

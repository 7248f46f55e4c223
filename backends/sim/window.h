/* SPDX-License-Identifier: BSD-3-Clause
 * The image of a concrete binary of which only a part is in memory: all sections but the ops of the ranks, and of these the ranks
 * around the last one that was read. */
#ifndef BACKENDS_SIM_WINDOW_H
#define BACKENDS_SIM_WINDOW_H

#include "format/read.h"
#include "util/file.h"

/* A zeroed struct is no window. */
struct sim_window {
	struct file *file; /* borrowed */
	unsigned char *image; /* addresses for the whole file */
	size_t size;
	uint64_t from, to; /* bytes of RANKS that are in memory */
};

/* Reads a regular file but for its section RANKS. Returns 0, -ERR_NOMEM, -ERR_SYS with errno set, or -ERR_STATE if this is no
 * concrete binary that is worth it; the file is then to be read as a whole. bin_open checks the image. */
int window_open(struct sim_window *w, struct file *f);
void window_close(struct sim_window *w);
/* Reads the part of RANKS of a row of DIR. What was read for other rows may be gone then. Returns 0, -ERR_SYS, -ERR_TRUNCATED
 * if the file has become shorter, or -ERR_CORRUPT if the part is not inside RANKS. */
int window_read(struct sim_window *w, const struct bin *b, uint32_t row);

#endif

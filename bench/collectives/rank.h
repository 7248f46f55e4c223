/* SPDX-License-Identifier: BSD-3-Clause
 * The loop of a rank: it carries out the driver's commands by the sides of its program, and measures. */
#ifndef BENCH_COLLECTIVES_RANK_H
#define BENCH_COLLECTIVES_RANK_H

#include "bench/collectives/board.h"

struct rank {
	struct board *board;
	struct board_group *group;
	const char *path; /* of the board */
	int rank, size;
	uint64_t barriers, iterations; /* how many there were */
	struct cell cells[SIDES_MAX]; /* the cell that each side has bound */
};

/* A way to carry out collectives. The functions return 0, or call rank_fail. All ranks call them at the same time. */
struct side {
	const char *name;
	int kind; /* for the functions, where sides share them */
	/* True if the side is for the cell; NULL: it is for all. */
	bool (*suits)(const struct side *s, const struct cell *c);
	/* Sets c->in and c->out. */
	int (*prepare)(struct rank *r, struct cell *c, const struct side *s);
	int (*release)(struct rank *r, struct cell *c, const struct side *s);
	/* A persistent request; NULL where there is none. There may be two of a cell: `which` is 0 or 1. */
	int (*init)(struct rank *r, struct cell *c, int which);
	int (*free)(struct rank *r, struct cell *c, int which);
	int (*start)(struct cell *c); /* request 0, if there are requests */
	int (*wait)(struct cell *c);
	int (*run)(struct cell *c); /* where there is no start */
	void (*progress)(void); /* what a rank that has completed has to call for its peers until they have, or NULL */
};

/* Carries out commands until the last. path and index: the board, and the group on it. Returns the exit status of the program. */
int rank_main(struct rank *r, const struct side *sides, unsigned n);
/* Maps the board, and finds the group by the arguments of main. Returns -1 after a message if that fails. */
int rank_attach(struct rank *r, int argc, char **argv);
/* A barrier of the group. `progress` is called in the meantime, if it is not NULL. */
void rank_meet(struct rank *r, void (*progress)(void));
#define rank_fail(r, ...) board_fail((r)->group, __VA_ARGS__)

#endif

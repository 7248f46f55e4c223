/* SPDX-License-Identifier: BSD-3-Clause
 * The board: memory that the driver shares with all ranks. Ranks that are started together are a group, such as those of an MPI
 * library at one setting. All groups live at the same time; one carries out a command of the driver, and the others sleep. */
#ifndef BENCH_COLLECTIVES_BOARD_H
#define BENCH_COLLECTIVES_BOARD_H

#include "bench/collectives/cell.h"
#include "util/clock.h"

#include <stdatomic.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define GROUPS_MAX 24
#define SIDES_MAX 8 /* most sides of a group: ways in which its program carries out collectives */
#define ITERATIONS_MAX 4096 /* most iterations of a command */
#define INITS 9

/* Returns the time, in units that the driver finds out. Loads that stand before it are complete. */
static inline uint64_t board_ticks(void)
{
#if defined(__x86_64__)
	unsigned core;

	return __rdtscp(&core);
#else
	return clock_now_ns();
#endif
}

static inline void board_pause(void)
{
#if defined(__x86_64__)
	_mm_pause();
#endif
}

enum command {
	BIND, /* a side allocates the buffers of a cell and binds it */
	RUN, /* it runs the cell */
	STARTS, /* it runs the cell, and the call of start is measured */
	RELEASE, /* it frees all that BIND made */
	QUIT
};

enum board_failure { BOARD_WELL, BOARD_FAILED, BOARD_UNSUITED /* the side is not for this cell */ };

struct board_line {
	_Alignas(64) _Atomic uint64_t word;
	uint64_t start; /* the common start, in ticks, in the line that releases the ranks from a barrier */
};

struct board_group {
	/* The driver writes these before it starts the group. */
	int size;
	int cores; /* rank r is on core r mod cores */
	int sharing; /* most ranks of a core; each of them is the first to begin there in one of so many iterations */

	/* The ranks write these before they join. */
	char sides[SIDES_MAX][32];
	bool starts[SIDES_MAX], persistent[SIDES_MAX]; /* the side has a start; an init, too */
	_Atomic int given; /* ranks given to processes that have no other number */
	_Atomic int joined; /* number of ranks that take commands */

	/* The command. A rank carries it out when `turn` changes, and then counts itself in `done`. */
	_Alignas(64) _Atomic uint32_t turn;
	enum command command;
	unsigned side;
	enum what what;
	size_t bytes;
	unsigned iterations; /* of RUN and STARTS */
	_Alignas(64) _Atomic uint32_t done; /* grows */
	_Atomic int failed; /* enum board_failure */
	char why[160]; /* of BOARD_FAILED, written by the rank that was the first to set it */

	/* Barriers of the ranks. */
	struct board_line arrived[RANKS_MAX], released, begun[RANKS_MAX]; /* begun: by core */

	/* Results, in ticks. */
	uint64_t start[ITERATIONS_MAX], end[RANKS_MAX][ITERATIONS_MAX];
	uint32_t started[RANKS_MAX][ITERATIONS_MAX]; /* durations of start */
	uint32_t init[RANKS_MAX][INITS]; /* durations of init; 0: the first */
};

struct board {
	int driver; /* process number */
	uint64_t lead; /* ticks between the release from a barrier and the common start */
	struct board_group groups[GROUPS_MAX];
};

/* Maps the file of a board. Returns NULL with errno set if that fails. */
struct board *board_map(const char *path, bool create);
/* Fails the group with a reason, which the driver prints. Returns -1. */
__attribute__((format(printf, 2, 3))) int board_fail(struct board_group *g, const char *fmt, ...);

#endif

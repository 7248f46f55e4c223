/* SPDX-License-Identifier: BSD-3-Clause
 * The loop of a rank, and the measured iteration. */
#include "bench/collectives/rank.h"

#include "util/futex.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM 3 /* iterations of a turn that do not count, of data that fit in caches, which have those of others */
#define FITS ((size_t)4 << 20) /* bytes of blocks that do not fit */
#define IDLE_NS 1000000000u

/* ---- barriers ---- */

static void pause_once(const struct rank *r)
{
	if (r->group->sharing > 1)
		sched_yield();
	else
		board_pause();
}

static void wait_for(const struct rank *r, struct board_line *l, uint64_t epoch, void (*progress)(void))
{
	for (unsigned spins = 1; atomic_load_explicit(&l->word, memory_order_acquire) < epoch; spins++) {
		if (progress && spins % 16 == 0)
			progress();
		pause_once(r);
	}
}

/* A barrier. Returns the common start, in ticks: `lead` after all have arrived. */
static uint64_t meet(struct rank *r, uint64_t lead, void (*progress)(void))
{
	struct board_group *g = r->group;
	const uint64_t epoch = ++r->barriers;

	if (r->rank) {
		atomic_store_explicit(&g->arrived[r->rank].word, epoch, memory_order_release);
		wait_for(r, &g->released, epoch, progress);
		return g->released.start;
	}
	for (int i = 1; i < r->size; i++)
		wait_for(r, &g->arrived[i], epoch, progress);
	g->released.start = board_ticks() + lead;
	atomic_store_explicit(&g->released.word, epoch, memory_order_release);
	return g->released.start;
}

/* Lets one of the ranks of a core begin first. Chance would choose the same ones for many iterations in a row, and how many changes of
 * ranks a collective takes may depend on who is first. */
static void line_up(const struct rank *r, unsigned slot)
{
	struct board_group *g = r->group;
	const int core = r->rank % g->cores, first = core + (int)slot % g->sharing * g->cores;

	if (r->rank == (first < r->size ? first : core))
		atomic_store_explicit(&g->begun[core].word, r->barriers, memory_order_release);
	else
		wait_for(r, &g->begun[core], r->barriers, NULL);
}

void rank_meet(struct rank *r, void (*progress)(void))
{
	meet(r, 0, progress);
}

/* ---- measuring ---- */

/* Runs the cell once. Stores the duration of start in *started, if that is not NULL: from when the program has read its handle. */
static inline int run_once(const struct side *s, struct cell *c, uint32_t *started)
{
	int (*start)(struct cell *) = s->start;
	uint64_t t;
	int rc;

	if (!start)
		return s->run(c);
	if (!started)
		return start(c) || s->wait(c);
	__asm__ volatile("" : : "r"(start), "r"(*(const char *)c->state) : "memory"); /* keeps the loads */
	t = board_ticks();
	rc = start(c);
	*started = (uint32_t)(board_ticks() - t);
	return rc || s->wait(c);
}

/* One iteration: rewrite what is sent, begin together, run, and read what was received. */
static int iterate(struct rank *r, const struct side *s, struct cell *c, unsigned slot)
{
	struct board_group *g = r->group;
	const bool starts = g->command == STARTS;
	const uint64_t k = r->iterations++;
	uint64_t start;

	cell_fill(c, k);
	start = meet(r, r->board->lead, NULL);
	line_up(r, slot);
	while (board_ticks() < start)
		;
	if (run_once(s, c, starts ? &g->started[r->rank][slot] : NULL))
		return rank_fail(r, "rank %d: the collective failed", r->rank);
	__asm__ volatile("" : : "r"(cell_read(c)) : "memory"); /* keeps the loads, and the clock is read after them */
	if (!starts) {
		g->end[r->rank][slot] = board_ticks();
		if (r->rank == 0)
			g->start[slot] = start;
	}
	rank_meet(r, s->progress);
	return cell_right(c, k) ? 0 : rank_fail(r, "rank %d: wrong result", r->rank);
}

static int run(struct rank *r, const struct side *s, struct cell *c)
{
	const unsigned n = r->group->iterations, warm = r->group->bytes < FITS ? WARM : 0;
	int rc = 0;

	for (unsigned i = 0; i < warm + n; i++)
		rc |= iterate(r, s, c, i < warm ? 0 : i - warm);
	return rc;
}

static uint32_t clip(uint64_t ticks)
{
	return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* Allocates the buffers, and makes the first request and some more, which are freed. */
static int bind_cell(struct rank *r, const struct side *s, struct cell *c)
{
	struct board_group *g = r->group;
	uint64_t t;

	*c = (struct cell){ .what = g->what, .count = g->bytes / sizeof(double), .rank = r->rank, .size = r->size };
	if (s->suits && !s->suits(s, c)) {
		atomic_store(&g->failed, BOARD_UNSUITED);
		return -1;
	}
	if (s->prepare(r, c, s))
		return -1;
	/* What nobody has written yet would be read as the page of zeros. */
	memset(c->in, 0, cell_in_bytes(c));
	memset(c->out, 0, c->what == BCAST ? 0 : cell_out_bytes(c));
	for (int i = 0; s->init && i < INITS; i++) {
		rank_meet(r, NULL);
		t = board_ticks();
		if (s->init(r, c, i > 0))
			return -1;
		g->init[r->rank][i] = clip(board_ticks() - t);
		if (i && s->free(r, c, 1))
			return -1;
	}
	return 0;
}

static int release_cell(struct rank *r, const struct side *s, struct cell *c)
{
	const int rc = s->init ? s->free(r, c, 0) : 0;

	rank_meet(r, s->progress);
	return s->release(r, c, s) | rc;
}

static void obey(struct rank *r, const struct side *sides)
{
	const struct board_group *g = r->group;
	const struct side *s = &sides[g->side];
	struct cell *c = &r->cells[g->side];

	switch (g->command) {
	case BIND:
		bind_cell(r, s, c);
		break;
	case RUN:
	case STARTS:
		run(r, s, c);
		break;
	case RELEASE:
		release_cell(r, s, c);
		break;
	case QUIT:
		break;
	}
}

int rank_main(struct rank *r, const struct side *sides, unsigned n)
{
	struct board_group *g = r->group;
	uint32_t turn = 0;

	for (unsigned i = 0; i < n && r->rank == 0; i++) {
		snprintf(g->sides[i], sizeof g->sides[i], "%s", sides[i].name);
		g->starts[i] = sides[i].start != NULL;
		g->persistent[i] = sides[i].init != NULL;
	}
	atomic_fetch_add(&g->joined, 1);
	do {
		while (atomic_load(&g->turn) == turn)
			if (futex_wait(&g->turn, turn, IDLE_NS) && errno == ETIMEDOUT && kill(r->board->driver, 0))
				return 1; /* nobody is left who gives commands */
		turn++;
		obey(r, sides);
		atomic_fetch_add(&g->done, 1);
		futex_wake(&g->done, 1);
	} while (g->command != QUIT);
	return 0;
}

int rank_attach(struct rank *r, int argc, char **argv)
{
	const long i = argc > 2 ? strtol(argv[argc - 1], NULL, 10) : -1;

	if (i < 0 || i >= GROUPS_MAX) {
		fprintf(stderr, "%s: collectives.sh starts this\n", argv[0]);
		return -1;
	}
	r->path = argv[argc - 2];
	r->board = board_map(r->path, false);
	if (!r->board) {
		fprintf(stderr, "%s: %s: %s\n", argv[0], r->path, strerror(errno));
		return -1;
	}
	r->group = &r->board->groups[i];
	return 0;
}

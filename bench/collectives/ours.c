/* SPDX-License-Identifier: BSD-3-Clause
 * ours BOARD INDEX: a rank under goalrun that carries out collectives by the schedules that the library selects, with buffers in its
 * shared heap and in private memory. */
#include "bench/bench.h"
#include "bench/collectives/rank.h"
#include "include/mpix_sched.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED, PRIVATE };

struct bound {
	MPIX_Sched_request req[2];
	MPIX_Sched schedule;
};

static MPIX_Sched_ctx ctx;
static MPIX_Sched_group group;

static int fail(struct rank *r, const char *call)
{
	char text[120] = "";

	MPIX_Sched_error_detail(ctx, text, sizeof text);
	return rank_fail(r, "%s: %s", call, text);
}

/* Allocates a buffer that begins with a page, as large ones do with malloc. */
static int allocate(int kind, size_t bytes, double **p)
{
	if (kind == SHARED)
		return MPIX_Sched_alloc(ctx, bytes, (void **)p);
	return posix_memalign((void **)p, 4096, bytes);
}

static bool suits(const struct side *s, const struct cell *c)
{
	(void)s;
	return c->what < REDUCE_SCATTER;
}

static int prepare(struct rank *r, struct cell *c, const struct side *s)
{
	char name[32];
	const struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = name, .count = c->count,
					      .basic = MPIX_SCHED_DOUBLE };
	struct bound *b = calloc(1, sizeof *b);

	if (!b)
		return rank_fail(r, "out of memory");
	c->state = b;
	snprintf(name, sizeof name, "MPI_%s", what_names[c->what]);
	name[4] = (char)toupper((unsigned char)name[4]);
	if (MPIX_Sched_select(group, &call, &b->schedule))
		return fail(r, "select");
	if (allocate(s->kind, cell_in_bytes(c), &c->in) || allocate(s->kind, cell_out_bytes(c), &c->out))
		return fail(r, "alloc");
	return 0;
}

static int release(struct rank *r, struct cell *c, const struct side *s)
{
	struct bound *b = c->state;
	int rc = MPIX_Sched_unload(&b->schedule);

	if (s->kind == SHARED) {
		rc |= MPIX_Sched_dealloc(ctx, c->in) | MPIX_Sched_dealloc(ctx, c->out);
	} else {
		free(c->in);
		free(c->out);
	}
	free(b);
	return rc ? fail(r, "release") : 0;
}

static int init(struct rank *r, struct cell *c, int which)
{
	struct bound *b = c->state;
	void *buffers[] = { c->in, c->out };
	const struct MPIX_Sched_bind bind = { .struct_size = sizeof bind,
					      .buffers = buffers,
					      .nbuffers = c->what == BARRIER ? 0 : c->what == BCAST ? 1 : 2,
					      .count = c->count,
					      .basic = MPIX_SCHED_DOUBLE,
					      .builtin = MPIX_SCHED_SUM };

	return MPIX_Sched_init(b->schedule, group, &bind, &b->req[which]) ? fail(r, "init") : 0;
}

static int free_request(struct rank *r, struct cell *c, int which)
{
	struct bound *b = c->state;

	return MPIX_Sched_free(&b->req[which]) ? fail(r, "free") : 0;
}

static int start(struct cell *c)
{
	const struct bound *b = c->state;

	return MPIX_Sched_start(b->req[0]);
}

static int wait_for_it(struct cell *c)
{
	const struct bound *b = c->state;

	return MPIX_Sched_wait(b->req[0]);
}

/* What a start cannot take less time than: a call of the library that does nothing. */
static int call(struct cell *c)
{
	(void)c;
	return MPIX_Sched_startall(0, NULL);
}

static int start_and_wait(struct cell *c)
{
	return start(c) || wait_for_it(c);
}

#define REQUESTS .suits = suits, .prepare = prepare, .release = release, .init = init, .free = free_request

int main(int argc, char **argv)
{
	static const struct side sides[] = {
		{ .name = "shared", .kind = SHARED, REQUESTS, .start = start, .wait = wait_for_it },
		{ .name = "private", .kind = PRIVATE, REQUESTS, .start = start, .wait = wait_for_it },
		{ .name = "call", .kind = SHARED, REQUESTS, .start = call, .wait = start_and_wait },
	};
	struct rank r = { 0 };
	int rc;

	if (rank_attach(&r, argc, argv))
		return 1;
	rc = MPIX_Sched_ctx_create(&ctx);
	if (!rc)
		rc = MPIX_Sched_group_world(ctx, &group);
	if (!rc)
		rc = MPIX_Sched_group_rank(group, &r.rank, &r.size);
	if (rc || r.size != r.group->size) {
		fprintf(stderr, "ours: %s\n", rc ? MPIX_Sched_error_string(rc) : "wrong number of ranks");
		return 1;
	}
	bench_pin((unsigned)r.rank);
	rc = rank_main(&r, sides, sizeof sides / sizeof *sides);
	MPIX_Sched_group_free(&group);
	MPIX_Sched_ctx_free(&ctx);
	return rc;
}

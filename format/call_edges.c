/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the edges of dependencies that have a call at an end. The last outermost ops of a call are its ops that no other
 * op of the call waits for. Its first outermost ops are the ops that wait for no other op of the call. If x waits for a
 * call, x waits for the call's last outermost ops. If a call waits for x, the call's first outermost ops wait for x. From
 * the second such dependency on, a nop stands between the outermost ops and the other ends of the dependencies, so that
 * the number of edges is linear in the number of ops.
 * Freestanding. */
#include "format/call.h"
#include "format/read.h"

static struct bin_neighbours *neighbours_of(const struct bin_call_edges *f, uint32_t op, int which)
{
	return &f->neighbours[(size_t)op * BIN_NEIGHBOURS + (size_t)which];
}

void bin_call_edges_begin(struct bin_call_edges *f)
{
	for (size_t i = 0; i < (size_t)f->nops * BIN_NEIGHBOURS; i++)
		f->neighbours[i] = (struct bin_neighbours){ 0, BIN_NOT_YET };
}

static void note_neighbour(struct bin_neighbours *n, uint32_t op, uint32_t other)
{
	if (other > op)
		n->behind = other < n->behind ? other : n->behind;
	else
		n->before = other + 1 > n->before ? other + 1 : n->before;
}

void bin_call_edges_note(struct bin_call_edges *f, uint32_t op, uint32_t on)
{
	const bool start = on & BIN_START;

	on &= ~BIN_START;
	if (op >= f->nops || on >= f->nops)
		return;
	note_neighbour(neighbours_of(f, op, BIN_WAITS), op, on);
	note_neighbour(neighbours_of(f, on, BIN_FOLLOWED), on, op);
	if (!start)
		note_neighbour(neighbours_of(f, on, BIN_NEEDED), on, op);
}

static int add_edge(struct bin_call_edges *f, uint32_t op, uint32_t on)
{
	bin_call_edges_note(f, op, on);
	return f->edge(f->arg, op, on);
}

/* Returns the first op of a call, from i on, that has no neighbour of the kind `which` within the call; the call's end if
 * there is none. */
static uint32_t next_outermost(const struct bin_call_edges *f, const struct bin_range *r, uint32_t i, int which)
{
	for (; i < r->end; i++) {
		const struct bin_neighbours *n = neighbours_of(f, i, which);

		if (n->behind >= r->end && n->before <= r->first)
			break;
	}
	return i;
}

/* Returns the number + 1 of the op that has no neighbour of the kind `which` within its call, if there is exactly one such op;
 * else 0. */
static uint32_t only_outermost(const struct bin_call_edges *f, const struct bin_range *r, int which)
{
	uint32_t i = next_outermost(f, r, r->first, which);

	return i < r->end && next_outermost(f, r, i + 1, which) == r->end ? i + 1 : 0;
}

/* Makes `op` wait for all last outermost ops of a call. */
static int wait_for(struct bin_call_edges *f, uint32_t op, const struct bin_range *r, uint32_t start)
{
	const int which = start ? BIN_FOLLOWED : BIN_NEEDED;
	int err = 0;

	for (uint32_t i = next_outermost(f, r, r->first, which); i < r->end && !err;
	     i = next_outermost(f, r, i + 1, which))
		err = add_edge(f, op, i | (start ? BIN_START : 0));
	return err;
}

/* Makes all first outermost ops of a call wait for op `on`, in which BIN_START may be set. */
static int let_wait(struct bin_call_edges *f, const struct bin_range *r, uint32_t on)
{
	int err = 0;

	for (uint32_t i = next_outermost(f, r, r->first, BIN_WAITS); i < r->end && !err;
	     i = next_outermost(f, r, i + 1, BIN_WAITS))
		err = add_edge(f, i, on);
	return err;
}

/* Makes `op` wait for a call. At the first dependency on the call, `op` waits for the outermost ops themselves. From the
 * second one on, or if there is only one outermost op, it waits for a single op: that outermost op, or a nop behind all. */
static int after_call(struct bin_call_edges *f, uint32_t op, struct bin_range *r, const struct bin_call_dep *d)
{
	uint32_t *end = &r->end_op[d->start];
	int64_t nop;
	int err;

	if (!*end)
		*end = only_outermost(f, r, d->start ? BIN_FOLLOWED : BIN_NEEDED);
	if (!*end && !r->waited[d->start]) {
		r->waited[d->start] = true;
		return wait_for(f, op, r, d->start);
	}
	if (!*end) {
		nop = f->nop(f->arg, d->line);
		err = nop < 0 ? (int)nop : wait_for(f, (uint32_t)nop, r, d->start);
		if (err)
			return err;
		*end = (uint32_t)nop + 1;
	}
	return add_edge(f, op, (*end - 1) | (d->start ? BIN_START : 0));
}

/* Makes a call wait for an op or for another call. At the first dependency on an op, the outermost ops of the call wait
 * themselves. Otherwise a single op waits: the only outermost op, or a nop that the outermost ops wait for. */
static int call_after(struct bin_call_edges *f, struct bin_range *r, const struct bin_call_dep *d)
{
	struct bin_range *on = d->on & BIN_CALL ? &f->ranges[d->on & ~BIN_CALL] : NULL;
	int64_t nop;
	int err;

	if (!r->begin_op)
		r->begin_op = only_outermost(f, r, BIN_WAITS);
	if (!r->begin_op && !on && !r->waits) {
		r->waits = true;
		return let_wait(f, r, (d->on - 1) | (d->start ? BIN_START : 0));
	}
	if (!r->begin_op) {
		nop = f->nop(f->arg, d->line);
		err = nop < 0 ? (int)nop : let_wait(f, r, (uint32_t)nop);
		if (err)
			return err;
		r->begin_op = (uint32_t)nop + 1;
	}
	if (on)
		return after_call(f, r->begin_op - 1, on, d);
	return add_edge(f, r->begin_op - 1, (d->on - 1) | (d->start ? BIN_START : 0));
}

/* True if v is a call that made no op on this rank. */
static bool is_empty_call(const struct bin_call_edges *f, uint32_t v)
{
	return (v & BIN_CALL) && f->ranges[v & ~BIN_CALL].first >= f->ranges[v & ~BIN_CALL].end;
}

int bin_call_edges_connect(struct bin_call_edges *f, const struct bin_call_dep *d)
{
	if (is_empty_call(f, d->op) || is_empty_call(f, d->on))
		return 0;
	if (d->op & BIN_CALL)
		return call_after(f, &f->ranges[d->op & ~BIN_CALL], d);
	return after_call(f, d->op - 1, &f->ranges[d->on & ~BIN_CALL], d);
}

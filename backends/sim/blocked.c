/* SPDX-License-Identifier: BSD-3-Clause
 * Explains why ranks have not finished. Each op that has not run waits for one other op that has not run, or for a send or recv that
 * does not exist. So a walk from any of them ends in a cycle, or at an op for which nobody sends or receives. */
#include "backends/sim/match.h"

struct place {
	uint32_t rank, op;
};

static bool is_same(struct place a, struct place b)
{
	return a.rank == b.rank && a.op == b.op;
}

/* Returns how far an op has come. A rank that was never made waits for its first message. */
static enum op_state state_of(const struct sim *s, struct place at)
{
	const uint32_t slot = s->slot[at.rank];

	if (slot == SLOT_NONE)
		return OP_WAITS;
	if (slot == SLOT_GONE || !s->hosts[slot - 1].block)
		return OP_DONE;
	return (enum op_state)sim_op_at(s, s->hosts[slot - 1].block + at.op)->state;
}

static int make_rank(const struct sim *s, uint32_t rank, struct sim_rank *r)
{
	return s->src->make(s->src->arg, rank, r);
}

/* Finds an op of a rank that has not started and would send to, or receive from, the op at `at`. Returns 1, 0 or -ERR_x. */
static int find_missing(const struct sim *s, uint32_t rank, struct place at, const struct sim_op *op, struct place *found)
{
	const struct sim_class *c = s->src->classes->v.at, *mine = &c[op->cls];
	struct sim_rank r;
	int err = make_rank(s, rank, &r);

	for (uint32_t i = 0; !err && i < r.nops; i++) {
		const struct sim_op *o = &r.ops[i];
		const struct sim_class *its = &c[o->cls];

		*found = (struct place){ rank, i };
		if (its->kind == mine->kind || its->kind == SIM_CALC || state_of(s, *found) != OP_WAITS)
			continue;
		if (mine->kind == SIM_RECV ? o->peer == at.rank && match_fits(mine, op->peer, its, rank) :
					     match_fits(its, o->peer, mine, at.rank))
			return 1;
	}
	return err;
}

/* Finds the op of another rank that an op waits for. */
static int find_partner(const struct sim *s, struct place at, const struct sim_op *op, struct sim_waiting *w, struct place *next)
{
	const bool any = op->peer == BIN_ANY;
	int found = 0;

	for (uint32_t rank = any ? 0 : op->peer; !found && rank < (any ? s->src->nranks : op->peer + 1); rank++)
		found = find_missing(s, rank, at, op, next);
	w->waits = !found ? SIM_FOR_NOBODY : s->src->classes->v.at[op->cls].kind == SIM_RECV ? SIM_FOR_MESSAGE : SIM_FOR_RECV;
	return found < 0 ? found : 0;
}

/* Finds what an op waits for. *next is not set if it is for a partner that does not exist. */
static int find_next(const struct sim *s, struct place at, struct sim_waiting *w, struct place *next)
{
	struct sim_rank r;
	struct sim_op op;
	int err = make_rank(s, at.rank, &r);

	*w = (struct sim_waiting){ .rank = at.rank, .op = at.op };
	if (err)
		return err;
	for (uint32_t i = 0; i < r.ndeps; i++) {
		const bool start = r.deps[i].on & BIN_START;
		const struct place on = { at.rank, r.deps[i].on & ~BIN_START };

		if (r.deps[i].op != at.op || state_of(s, on) >= (start ? OP_STARTED : OP_DONE))
			continue;
		w->waits = start ? SIM_FOR_START : SIM_FOR_OP;
		*next = on;
		return 0;
	}
	op = r.ops[at.op];
	return find_partner(s, at, &op, w, next);
}

/* Walks until the cycle closes, by the method of Brent (BIT 20, 1980): `at` is then an op of the cycle. */
static int find_cycle(const struct sim *s, struct place *at)
{
	struct place mark = *at, next;
	struct sim_waiting w;

	for (uint64_t steps = 0, limit = 1;; steps++) {
		int err = find_next(s, *at, &w, &next);

		if (err || w.waits == SIM_FOR_NOBODY || is_same(next, mark))
			return err;
		if (steps == limit) {
			mark = *at;
			limit *= 2;
			if (is_same(next, mark))
				return 0;
		}
		*at = next;
	}
}

/* Stores the ops of the cycle that leads from `first` to it. */
static int store_cycle(struct sim *s, struct place first)
{
	struct place at = first;
	struct sim_waiting w;
	int err;

	do {
		err = find_next(s, at, &w, &at);
		if (!err && VEC_PUSH(&s->result->cycle, w))
			err = -ERR_NOMEM;
	} while (!err && w.waits != SIM_FOR_NOBODY && !is_same(at, first));
	return err;
}

/* Finds an op of a rank that is not done. Returns 1, 0 if there is none, or -ERR_x. */
static int find_undone(const struct sim *s, uint32_t rank, struct place *at)
{
	const uint32_t slot = s->slot[rank];
	struct sim_rank r;
	int err;

	*at = (struct place){ .rank = rank };
	if (slot == SLOT_NONE)
		return 1;
	if (slot == SLOT_GONE || !s->hosts[slot - 1].block)
		return 0;
	err = make_rank(s, rank, &r);
	for (; !err && at->op < r.nops; at->op++)
		if (state_of(s, *at) != OP_DONE)
			return 1;
	return err;
}

int blocked_find(struct sim *s)
{
	struct place at, first = { 0 };
	int err = 0;

	for (uint32_t rank = 0; rank < s->src->nranks; rank++) {
		int found = find_undone(s, rank, &at);

		if (found < 0)
			return found;
		if (found && !s->result->blocked++)
			first = at;
	}
	if (s->result->blocked) {
		err = find_cycle(s, &first);
		err = err ? err : store_cycle(s, first);
	}
	return err;
}

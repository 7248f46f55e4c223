/* SPDX-License-Identifier: BSD-3-Clause
 * The ops that concern one rank alone, and the choice of threads that may carry out each op. */
#include "backends/shm/local_copy.h"
#include "backends/shm/sm.h"
#include "util/clock.h"

#include <time.h>

/* Starts a calc. The calcs of a rank run one after the other, each until its deadline, and do not delay messages. The calcs
 * of earlier epochs have ended. */
static int calc_issue(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;
	uint64_t now = clock_now_ns(), ns = o->len;

	if (!ns)
		return 1;
	s->sh->busy = (s->sh->busy > now ? s->sh->busy : now) + ns;
	s->deadlines[o - s->b.ops] = s->sh->busy;
	return 0;
}

static int calc_poll(struct dispatcher *e, void *what)
{
	const struct sm_bound *s = sm_of(e);

	return clock_now_ns() >= s->deadlines[(const struct bin_op *)what - s->b.ops];
}

static int reduce_poll(struct dispatcher *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;

	s->b.reduce(s->b.reduce_arg, s->b.buffers[o->buf[0]].ptr, o->off[0], s->b.buffers[o->buf[1]].ptr,
		    o->off[1], o->len, o->kind == BIN_OP_REDUCE_WITH);
	return 1;
}

static int complete_op(struct dispatcher *e, void *what)
{
	(void)e;
	(void)what;
	return 1;
}

/* The functions of each kind of op. sm_connect sets those of messages. */
BIN_LAST_OP(GETS);
static const struct dispatch_how how[BIN_OP_KINDS] = {
	[BIN_OP_CALC] = { calc_issue, calc_poll },    [BIN_OP_COPY] = { sm_copy, sm_copy },
	[BIN_OP_REDUCE] = { reduce_poll, NULL },      [BIN_OP_REDUCE_WITH] = { reduce_poll, NULL },
	[BIN_OP_NOP] = { complete_op, NULL },
};

void sm_set_how(struct sm_bound *s)
{
	uint32_t nlong = 0;

	for (uint32_t i = 0; i < s->b.nops; i++) {
		const struct bin_op *o = &s->b.ops[i];
		struct dispatch_do *todo = &s->dispatcher.todo[i];

		todo->how = how[o->kind];
		todo->what = (void *)(uintptr_t)o;
		if (s->msgs[i].now->absorbed)
			todo->how = how[BIN_OP_NOP];
		else if (sm_is_long(s, i) && o->kind == BIN_OP_COPY)
			todo->how = sm_how_long_copy(s, i);
		else if (sm_is_long(s, i))
			todo->how = (struct dispatch_how){ sm_leave_op, todo->how.issue };
		nlong += sm_is_long(s, i);
	}
	s->lone = nlong == 1;
}

/* True if a recv-reduce can read the source of a copy instead of its target. */
static bool can_absorb(const struct sm_bound *s, const struct bin_op *recv, const struct bin_op *copy)
{
	return bin_recvs(recv->kind) && bin_reduces(recv->kind) && !s->msgs[recv - s->b.ops].network &&
	       recv->buf[0] == copy->buf[1] && recv->off[0] == copy->off[1] && recv->len == copy->len &&
	       recv->exec == copy->exec && copy->exec != BIN_EARLY &&
	       (copy->buf[0] != copy->buf[1] || copy->off[0] + copy->len <= copy->off[1] ||
		copy->off[1] + copy->len <= copy->off[0]);
}

/* Returns the recv-reduce that absorbs a copy, or BIN_NONE. */
static uint32_t find_absorber(const struct sm_bound *s, uint32_t copy)
{
	const struct dispatch_op *x = &s->dispatcher.ops[copy];
	const uint32_t *succ = s->dispatcher.succ + x->done;
	uint32_t by = BIN_NONE;

	for (uint32_t i = 0; i < x->ndone && by == BIN_NONE; i++)
		if (can_absorb(s, &s->b.ops[succ[i]], &s->b.ops[copy]))
			by = succ[i];
	for (uint32_t i = 0; i < x->ndone && by != BIN_NONE; i++)
		if (succ[i] != by && !be_requires(&s->b, succ[i], by))
			by = BIN_NONE;
	return x->nstarted ? BIN_NONE : by;
}

static void absorb_copies(struct sm_bound *s)
{
	if (s->b.user || !s->b.layout->contiguous)
		return;
	for (uint32_t i = 0; i < s->b.nops; i++) {
		const uint32_t by = s->b.ops[i].kind == BIN_OP_COPY ? find_absorber(s, i) : BIN_NONE;

		if (by == BIN_NONE || s->msgs[by].now->copy)
			continue;
		s->msgs[by].now->copy = i + 1;
		s->msgs[i].now->absorbed = true;
		if (!s->dispatcher.ops[i].need)
			dispatch_leave_out(&s->dispatcher, i);
	}
}

static bool is_near_reduction(const struct sm_bound *s, uint32_t i)
{
	const struct bin_op *o = &s->b.ops[i];

	return bin_recvs(o->kind) && bin_reduces(o->kind) && !s->msgs[i].network;
}

/* True if recv-reduce b continues a: nothing waits for a but b, and b for nothing but a, and both update the same elements. */
static bool continues(const struct sm_bound *s, uint32_t b, uint32_t a)
{
	const struct bin_op *x = &s->b.ops[a], *y = &s->b.ops[b];

	return is_near_reduction(s, b) && s->dispatcher.ops[b].need == 1 && x->buf[0] == y->buf[0] && x->off[0] == y->off[0] &&
	       x->len == y->len && x->exec == y->exec;
}

/* Finds recv-reduces that may be carried out together, chunk by chunk. A helper could be in the middle of one when another begins
 * the next, so that there is none of this with helpers. */
static void link_reductions(struct sm_bound *s)
{
	if (s->b.helped || s->b.user || !s->b.layout->contiguous)
		return;
	for (uint32_t i = 0; i < s->b.nops; i++) {
		const struct dispatch_op *x = &s->dispatcher.ops[i];
		const uint32_t b = x->ndone == 1 && !x->nstarted ? s->dispatcher.succ[x->done] : BIN_NONE;

		if (b != BIN_NONE && is_near_reduction(s, i) && continues(s, b, i))
			s->msgs[i].next = b + 1;
	}
}

void sm_prepare(struct sm_bound *s)
{
	dispatch_init(&s->dispatcher, &s->b, sm_at(s, s->sh->dispatcher), s->own, &s->base);
	absorb_copies(s);
	dispatch_classify(&s->dispatcher);
	link_reductions(s);
	sm_link_twins(s);
	sm_set_how(s);
}

/* True if every process that has mapped the rank's heap can carry out the op. */
static bool runs_anywhere(const struct sm_bound *s, uint32_t i)
{
	const struct bin_op *o = &s->b.ops[i];
	const uint32_t copy = s->msgs[i].now->copy;

	for (unsigned k = 0; k < bin_nranges(o->kind) && o->len; k++)
		if (!s->b.layout->contiguous || !s->b.buffers[o->buf[k]].heap)
			return false;
	if (copy && !s->b.buffers[s->b.ops[copy - 1].buf[0]].heap)
		return false;
	return !s->msgs[i].network && (!bin_recvs(o->kind) || s->msgs[i].mode != SM_PULL || s->msgs[i].heap);
}

void sm_classify(struct sm_bound *s)
{
	struct sm_buffer *shared = sm_at(s, s->sh->buffers);

	for (uint32_t i = 0; i < s->b.nops; i++) {
		const struct bin_op *o = &s->b.ops[i];
		const bool app = o->exec == BIN_APP || (s->b.user && bin_reduces(o->kind)) ||
				 (s->calls_app && s->msgs[i].network);
		uint8_t *class = s->dispatcher.ops[i].class;

		class[1] = app ? DISPATCH_APP : runs_anywhere(s, i) ? DISPATCH_ANY : DISPATCH_OWNER;
		class[0] = o->exec == BIN_EARLY && !app ? DISPATCH_EARLY : class[1];
	}
	dispatch_classify(&s->dispatcher);
	for (uint32_t i = 0; i < s->sh->nbuffers; i++) {
		const struct be_buffer *b = &s->b.buffers[i];

		shared[i] = (struct sm_buffer){ b->elements, b->heap ? b->heap_off + 1 : 0 };
	}
	s->sh->generation++;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * shm: running schedules on one node. sm.h tells how messages travel. */
#include "backends/shm/shm.h"

#include "backends/common/sm.h"
#include "backends/common/trace.h"
#include "util/err.h"
#include "util/mem.h"

#include <stdlib.h>
#include <time.h>

static struct sm_bound *to_sm(struct be_bound *b)
{
	return (struct sm_bound *)b;
}

uint64_t sm_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- ops that concern this rank alone ---- */

/* A calc keeps the rank busy, one after the other, but not the progress of its messages. Those of epochs before are
 * over. */
static int calc_issue(struct engine *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;
	uint64_t now = sm_now_ns(), ns = o->len;

	if (!ns)
		return 1;
	s->sh->busy = (s->sh->busy > now ? s->sh->busy : now) + ns;
	s->deadlines[o - s->b.ops] = s->sh->busy;
	return 0;
}

static int calc_poll(struct engine *e, void *what)
{
	const struct sm_bound *s = sm_of(e);

	return sm_now_ns() >= s->deadlines[(const struct bin_op *)what - s->b.ops];
}

static int copy_poll(struct engine *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;
	const size_t basic = s->b.layout->basic;
	const uint32_t i = (uint32_t)(o - s->b.ops);

	return sm_copy_parts(s, s->msgs[i].now, i, NULL, s->b.buffers[o->buf[1]].ptr + o->off[1] * basic,
			     s->b.buffers[o->buf[0]].ptr + o->off[0] * basic, o->len * basic);
}

static int copy_issue(struct engine *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;

	if (s->b.layout->contiguous && sm_parts(s, o->len * s->b.layout->basic))
		return copy_poll(e, what);
	be_copy(s->b.layout, s->b.buffers[o->buf[1]].ptr, o->off[1], s->b.buffers[o->buf[0]].ptr, o->off[0], o->len);
	return 1;
}

static int reduce_issue(struct engine *e, void *what)
{
	struct sm_bound *s = sm_of(e);
	const struct bin_op *o = what;

	s->b.reduce(s->b.reduce_arg, s->b.buffers[o->buf[0]].ptr, o->off[0], s->b.buffers[o->buf[1]].ptr,
		    o->off[1], o->len, o->kind == BIN_OP_REDUCE_WITH);
	return 1;
}

static int nop_issue(struct engine *e, void *what)
{
	(void)e;
	(void)what;
	return 1;
}

/* Messages have theirs once they are connected. */
static const struct engine_how how[BIN_OP_KINDS] = {
	[BIN_OP_CALC] = { calc_issue, calc_poll },   [BIN_OP_COPY] = { copy_issue, copy_poll },
	[BIN_OP_REDUCE] = { reduce_issue, NULL },    [BIN_OP_REDUCE_WITH] = { reduce_issue, NULL },
	[BIN_OP_NOP] = { nop_issue, NULL },
};

/* ---- the operations table ---- */

void sm_unbind(struct be_bound *bound)
{
	struct sm_bound *s = to_sm(bound);

	if (!s)
		return;
	sm_disconnect(s);
	for (uint32_t i = 0; i < s->b.nops; i++)
		free(s->msgs[i].whole);
	free(s->stage);
	free(s->trace);
	free(s);
}

/* What comes piece by piece and is not just put somewhere needs room. */
static int make_room(struct sm_bound *s)
{
	const struct be_bind *b = &s->b;
	const bool cuts = SM_CHUNK % (b->whole * b->layout->basic); /* a chunk may end within an element */
	bool stage = !b->layout->contiguous;

	for (uint32_t i = 0; i < b->nops; i++) {
		const struct bin_op *o = &b->ops[i];
		const uint64_t bytes = o->len * b->layout->basic;

		if (!bin_recvs(o->kind) || !bin_reduces(o->kind) || s->msgs[i].far || bytes <= SM_EAGER_MAX)
			continue;
		stage = true;
		s->msgs[i].whole = cuts ? mem_alloc(bytes) : NULL;
		if (cuts && !s->msgs[i].whole)
			return -ERR_NOMEM;
	}
	s->stage = stage ? mem_alloc(SM_CHUNK) : NULL;
	return stage && !s->stage ? -ERR_NOMEM : 0;
}

int sm_make(const struct be_bind *b, size_t whole, bool (*far)(const struct be_bind *b, uint32_t peer),
	    struct be_bound **out, struct be_place *place)
{
	/* One block for all that lives as long as the request, but what is in the rank's block if others help. */
	const size_t nops = b->nops, size = b->size;
	struct sm_shared shared;
	const size_t room = b->helped ? 0 : sm_lay_out(b, 0, &shared);
	struct sm_bound *s = mem_calloc(1, whole + nops * sizeof *s->msgs +
						   size * (sizeof *s->peers + sizeof *s->known) +
						   engine_own_room(b->nops) + room);

	if (!s)
		return host_error(b->group, -ERR_NOMEM, "%s", err_text(-ERR_NOMEM));
	*out = &s->base;
	s->base.ops = &sm_ops;
	s->b = *b;
	s->umwaits = host_umwaits(b->group);
	s->msgs = (struct sm_msg *)(void *)((char *)s + whole);
	s->known = (uint64_t *)(void *)(s->msgs + nops);
	s->peers = (struct sm_head **)(void *)(s->known + size);
	s->own = s->peers + size;
	if (room) {
		struct sm_shared *sh = (struct sm_shared *)(void *)((char *)s->own + engine_own_room(b->nops));

		*sh = shared;
		sm_share(s, sh);
	}
	for (uint32_t i = 0; i < b->nops && far; i++)
		s->msgs[i].far = bin_is_message(b->ops[i].kind) && far(b, b->ops[i].peer);
	if (make_room(s))
		return host_error(b->group, -ERR_NOMEM, "%s", err_text(-ERR_NOMEM));
	return engine_trace_make(&s->trace, &s->b, &s->epoch) ? -ERR_NOMEM : sm_publish(s, place);
}

void sm_set_how(struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->b.nops; i++) {
		s->engine.todo[i].how = how[s->b.ops[i].kind];
		s->engine.todo[i].what = (void *)(uintptr_t)&s->b.ops[i];
	}
}

void sm_prepare(struct sm_bound *s)
{
	engine_init(&s->engine, &s->b, sm_at(s, s->sh->engine), s->own, &s->base);
	sm_set_how(s);
}

/* Whether any process that reaches the rank's heap can carry an op out. */
static bool anywhere(const struct sm_bound *s, uint32_t i)
{
	const struct bin_op *o = &s->b.ops[i];

	for (unsigned k = 0; k < bin_nranges(o->kind) && o->len; k++)
		if (!s->b.layout->contiguous || !s->b.buffers[o->buf[k]].heap)
			return false;
	return !s->msgs[i].far && (!bin_recvs(o->kind) || s->msgs[i].mode != SM_PULL || s->msgs[i].heap);
}

void sm_classify(struct sm_bound *s)
{
	struct sm_buffer *told = sm_at(s, s->sh->buffers);

	for (uint32_t i = 0; i < s->b.nops; i++) {
		const struct bin_op *o = &s->b.ops[i];
		const bool app = o->exec == BIN_APP || (s->b.user && bin_reduces(o->kind));
		uint8_t *class = s->engine.ops[i].class;

		class[1] = app ? ENGINE_APP : anywhere(s, i) ? ENGINE_ANY : ENGINE_OWNER;
		class[0] = o->exec == BIN_EARLY && !app ? ENGINE_EARLY : class[1];
	}
	engine_classify(&s->engine);
	for (uint32_t i = 0; i < s->sh->nbuffers; i++) {
		const struct be_buffer *b = &s->b.buffers[i];

		told[i] = (struct sm_buffer){ b->elements, b->heap ? b->heap_off + 1 : 0 };
	}
	s->sh->generation++;
}

void sm_trace(struct sm_bound *s)
{
	engine_trace(&s->engine, s->trace);
}

static int make(const struct be_bind *b, struct be_bound **out, struct be_place *place)
{
	return sm_make(b, sizeof(struct sm_bound), NULL, out, place);
}

static int bind(struct be_bound *bound, uint32_t views, int err)
{
	int rc = sm_connect(to_sm(bound), views, err);

	if (!rc)
		sm_trace(to_sm(bound));
	return rc;
}

static int rebind(struct be_bound *bound, const struct be_buffer *buffers)
{
	return sm_rebind(to_sm(bound), buffers);
}

/* For those that could not send without this rank's start. */
static __attribute__((noinline, cold)) void ring_senders(const struct sm_bound *s)
{
	const struct sm_entry *last = NULL;

	for (const struct sm_entry *e = s->head->entries, *end = e + s->head->nentries; e < end && !e->send; last = e++)
		if (!last || last->peer != e->peer)
			be_ring(s->msgs[e->op].bells);
}

int sm_start(struct be_bound *bound, uint64_t epoch, unsigned who)
{
	struct sm_bound *s = to_sm(bound);

	s->epoch = s->sh->epoch = epoch;
	/* What was read of the last epoch has been read before this; pairs with the load in has_credit. */
	atomic_store_explicit(&s->head->started, epoch, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst); /* as in be_ring */
	if (s->fences || atomic_load_explicit(&s->head->wanted, memory_order_relaxed) > epoch)
		ring_senders(s);
	return engine_start(&s->engine, who);
}

int sm_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct sm_bound *s = to_sm(bound);
	int rc = engine_progress(&s->engine, who);
	const uint32_t *last = spins && !rc ? engine_last(&s->engine) : NULL;
	const _Atomic uint64_t *word;

	if (!last)
		return rc;
	word = sm_watch(s, *last);
	for (; word && spins; spins--) {
		if (atomic_load_explicit(word, memory_order_relaxed) >= s->epoch)
			return engine_progress_last(&s->engine); /* looks again, in the right order */
		if (spins == 1 && s->umwaits) /* it was not there at once */
			host_umwait(word, s->epoch);
		else
			be_pause();
	}
	return 0;
}

bool sm_waits_for(const struct be_bound *bound, uint32_t rank)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;

	for (uint32_t at = 0, op; (op = engine_next_active(&s->engine, &at)) != UINT32_MAX;)
		if (bin_is_message(s->b.ops[op].kind) && s->b.ops[op].peer == rank)
			return true;
	return false;
}

uint32_t sm_open(const struct be_bound *bound)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;
	uint32_t at = 0, op;

	do
		op = engine_next_active(&s->engine, &at);
	while (op != UINT32_MAX && !bin_is_message(s->b.ops[op].kind));
	return op;
}

uint64_t sm_alarm(const struct be_bound *bound)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;
	uint64_t first = UINT64_MAX;

	for (uint32_t at = 0, op; (op = engine_next_active(&s->engine, &at)) != UINT32_MAX;)
		if (s->b.ops[op].kind == BIN_OP_CALC && s->deadlines[op] < first)
			first = s->deadlines[op];
	return first;
}

void sm_states(const struct be_bound *bound, uint8_t *state, const char **what)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;

	engine_states(&s->engine, state);
	for (uint32_t i = 0; i < s->b.nops; i++) {
		what[i] = NULL;
		if (state[i] == BE_ISSUED)
			what[i] = sm_is_near(s, i) ? sm_message_waits(s, i) : "its time to pass";
	}
}

const struct be_ops sm_ops = {
	.name = "shm",
	.make = make,
	.bind = bind,
	.adopt = sm_adopt,
	.unbind = sm_unbind,
	.start = sm_start,
	.progress = sm_progress,
	.join = sm_join,
	.rebind = rebind,
	.waits_for = sm_waits_for,
	.open = sm_open,
	.alarm = sm_alarm,
	.states = sm_states,
};

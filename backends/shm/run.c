/* SPDX-License-Identifier: BSD-3-Clause
 * The operations of struct be_ops for requests whose messages travel through shared memory. sm.h describes how messages
 * travel. */
#include "backends/shm/sm.h"

#include "backends/common/dispatch_trace.h"
#include "backends/services.h"
#include "util/env.h"
#include "util/err.h"
#include "util/mem.h"

#include <stdlib.h>

static struct sm_bound *to_sm(struct be_bound *b)
{
	return (struct sm_bound *)b;
}

void sm_memory(const struct be_bound *bound, struct be_memory *m)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;

	m->private += mem_bytes(s) + mem_bytes(s->stage) + mem_bytes(s->trace);
	for (uint32_t i = 0; i < s->b.nops; i++)
		m->private += mem_bytes(s->msgs[i].whole);
	if (s->view) /* the block is the rank's */
		return;
	m->shared += group_block_bytes(s->b.group, s->head) + group_block_bytes(s->b.group, s->rings);
	for (uint32_t i = 0; i < s->b.nops; i++)
		m->shared += group_block_bytes(s->b.group, s->msgs[i].bounce);
}

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

/* Allocates buffers for data that arrives in chunks and is not just stored: for operands of reductions, and for
 * elements with gaps. */
static int make_room(struct sm_bound *s)
{
	const struct be_bind *b = &s->b;
	/* true if a chunk may end in the middle of an element */
	const bool cuts = SM_CHUNK_MIN % (b->whole * b->layout->basic);
	bool stage = !b->layout->contiguous;

	for (uint32_t i = 0; i < b->nops; i++) {
		const struct bin_op *o = &b->ops[i];
		const uint64_t bytes = o->len * b->layout->basic;

		if (!bin_recvs(o->kind) || !bin_reduces(o->kind) || s->msgs[i].network || bytes <= SM_EAGER_MAX)
			continue;
		stage = true;
		s->msgs[i].whole = cuts ? mem_alloc(bytes) : NULL;
		if (cuts && !s->msgs[i].whole)
			return -ERR_NOMEM;
	}
	s->stage = stage ? mem_alloc(SM_CHUNK) : NULL;
	return stage && !s->stage ? -ERR_NOMEM : 0;
}

/* Marks the network messages. */
static int find_network(struct sm_bound *s)
{
	const struct be_bind *b = &s->b;
	long shm;
	int err = env_number(ENV_GOAL_SHM, &shm);

	if (err)
		return group_error(b->group, err, "the environment variable GOAL_SHM cannot be \"%s\"", env_get(ENV_GOAL_SHM));
	for (uint32_t i = 0; i < b->nops; i++) {
		const uint32_t peer = b->ops[i].peer;

		s->msgs[i].network = bin_is_message(b->ops[i].kind) && peer != b->rank && peer < b->size &&
				     (!shm || !group_same_node(b->group, peer));
	}
	return 0;
}

int sm_make(const struct be_bind *b, size_t whole, const struct be_ops *ops, bool network, struct be_bound **out,
	    struct be_handle *handle)
{
	/* One allocation holds everything that lives as long as the request. With helpers the shared state is in the
	 * rank's block instead. */
	const size_t nops = b->nops, size = b->size;
	struct sm_shared shared;
	const size_t room = b->helped ? 0 : sm_lay_out(b, 0, &shared);
	struct sm_bound *s = mem_calloc(1, whole + SM_LINE + nops * sizeof *s->msgs +
						   size * (sizeof *s->peers + sizeof *s->known + sizeof *s->standing) +
						   dispatch_own_room(b->nops) + room);

	if (!s)
		return group_error(b->group, -ERR_NOMEM, "%s", err_text(-ERR_NOMEM));
	*out = &s->base;
	s->base.ops = ops;
	sm_plan_start(s);
	s->b = *b;
	s->umwaits = group_umwaits(b->group);
	s->learn.again = UINT64_MAX;
	s->msgs = (struct sm_msg *)align_up((uintptr_t)s + whole, SM_LINE);
	s->standing = (struct be_bells *)(void *)(s->msgs + nops);
	s->known = (uint64_t *)(void *)(s->standing + size);
	s->peers = (struct sm_head **)(void *)(s->known + size);
	s->own = s->peers + size;
	if (room) {
		struct sm_shared *sh = (struct sm_shared *)(void *)((char *)s->own + dispatch_own_room(b->nops));

		*sh = shared;
		sm_share(s, sh);
	}
	if (network) {
		int err = find_network(s);

		if (err)
			return err;
	}
	if (make_room(s))
		return group_error(b->group, -ERR_NOMEM, "%s", err_text(-ERR_NOMEM));
	return dispatch_trace_make(&s->trace, &s->b, &s->epoch) ? -ERR_NOMEM : sm_publish(s, handle);
}

void sm_trace(struct sm_bound *s)
{
	dispatch_trace(&s->dispatcher, s->trace);
}

#define ROUNDS 16u /* most rounds of a call: together they move as many chunks as a ring has */

/* Issues and polls ops, in several rounds while rings have more to move. */
static int progress_rounds(struct sm_bound *s, unsigned who)
{
	int rc;
	unsigned n = ROUNDS;

	do {
		s->cut = false;
		rc = dispatch_progress(&s->dispatcher, who);
	} while (!rc && s->cut && --n);
	return rc;
}

/* As sm_progress, but for what it does ahead when an epoch is complete. */
static inline int progress(struct sm_bound *s, unsigned who, unsigned spins)
{
	const _Atomic uint64_t *word;
	uint64_t least;

	if (__builtin_expect(s->learn.on, 0))
		return sm_progress_trial(s, who);
	/* while several ops are active, there is no single word to watch */
	for (;; spins--) {
		const uint32_t *last = spins ? dispatch_last(&s->dispatcher) : NULL;
		int rc;

		word = last ? sm_watch(s, *last, &least) : NULL;
		if (word)
			break;
		rc = progress_rounds(s, who);
		if (rc || !spins)
			return rc;
		be_pause();
	}
	for (; spins; spins--) {
		if (atomic_load_explicit(word, memory_order_relaxed) >= least)
			return dispatch_progress_last(&s->dispatcher); /* polls again, with acquire order */
		if (spins == 1 && s->umwaits) /* the word did not change at once */
			be_umwait(word, least);
		else
			be_pause();
	}
	return 0;
}

int sm_progress(struct be_bound *bound, unsigned who, unsigned spins)
{
	struct sm_bound *s = to_sm(bound);
	const int rc = progress(s, who, spins);

	if (rc > 0 && s->brief)
		sm_begin_ahead(s);
	return rc;
}

bool sm_waits_for(const struct be_bound *bound, uint32_t rank)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;

	for (uint32_t at = 0, op; (op = dispatch_next_active(&s->dispatcher, &at)) != UINT32_MAX;)
		if (sm_in_memory(s, op) && s->b.ops[op].peer == rank)
			return true;
	return false;
}

bool sm_has_started(const struct be_bound *bound, uint32_t rank)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;
	const struct sm_head *peer = s->peers[rank];

	return peer && atomic_load_explicit(&peer->started, memory_order_relaxed) >= s->epoch;
}

uint32_t sm_open(const struct be_bound *bound)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;
	uint32_t at = 0, op;

	do
		op = dispatch_next_active(&s->dispatcher, &at);
	while (op != UINT32_MAX && !bin_is_message(s->b.ops[op].kind));
	return op;
}

uint64_t sm_alarm(const struct be_bound *bound)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;
	uint64_t first = UINT64_MAX;

	for (uint32_t at = 0, op; (op = dispatch_next_active(&s->dispatcher, &at)) != UINT32_MAX;) {
		if (s->b.ops[op].kind == BIN_OP_CALC && s->deadlines[op] < first)
			first = s->deadlines[op];
		else if (s->b.ops[op].kind == BIN_OP_COPY && !s->b.helped)
			return 0; /* it waits for nobody, but for its turn among the polls */
	}
	return first;
}

void sm_states(const struct be_bound *bound, uint8_t *state, const char **what)
{
	const struct sm_bound *s = (const struct sm_bound *)bound;

	dispatch_states(&s->dispatcher, state);
	for (uint32_t i = 0; i < s->b.nops; i++) {
		what[i] = NULL;
		if (state[i] == BE_ISSUED)
			what[i] = sm_in_memory(s, i)		      ? sm_message_waits(s, i) :
				  s->b.ops[i].kind == BIN_OP_CALC ? "its time to pass" :
								      "a thread that makes progress";
	}
}

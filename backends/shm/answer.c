/* SPDX-License-Identifier: BSD-3-Clause
 * Answers. A rank often sends a peer what it has made of the peer's elements by reduction, as in an allreduce by slices. It stores each
 * part of that at the peer while the nearest cache has it. The peer invites it to when it announces its own elements, and not when it
 * receives, because it receives only after these were read: what comes may take their place. tests/spin/answer.pml is the Promela
 * program. */
#include "backends/shm/answer.h"

#include "backends/services.h"
#include "backends/shm/move.h"

#include <stdlib.h>

/* Returns the only op that an op requires the end of, or BIN_NONE. */
static uint32_t only_required(const struct be_bind *b, uint32_t op)
{
	const uint32_t at = b->dep_at[op];

	return b->dep_at[op + 1] - at == 1 && !(b->deps[at] & BIN_START) ? b->deps[at] : BIN_NONE;
}

/* True if a send has what recv-reduces of its elements make, which it waits for and nothing else, and `recv` is one of them. */
static bool has_sums(const struct be_bind *b, uint32_t send, uint32_t recv)
{
	const struct bin_op *o = &b->ops[send];

	for (uint32_t i = only_required(b, send); i != BIN_NONE; i = only_required(b, i)) {
		const struct bin_op *x = &b->ops[i];

		if (!bin_recvs(x->kind) || !bin_reduces(x->kind) || x->buf[0] != o->buf[0] || x->off[0] != o->off[0] ||
		    x->len != o->len)
			return false;
		if (i == recv)
			return true;
	}
	return false;
}

/* True if an op is an answer to a message, as far as this rank knows. */
static bool follows(const struct be_bind *b, uint32_t op, uint32_t message)
{
	if (bin_sends(b->ops[op].kind))
		return has_sums(b, op, message);
	return !bin_reduces(b->ops[op].kind) && only_required(b, op) == message;
}

uint8_t sm_answers(const struct sm_bound *s, const struct sm_desc *e)
{
	struct sm_desc key = { .send = !e->send, .peer = e->peer, .tag = e->tag };
	const struct sm_desc *to;

	if (e->bytes <= SM_EAGER_MAX || s->b.helped || s->b.user || !s->b.layout->contiguous ||
	    SM_ANSWERED % (s->b.whole * s->b.layout->basic))
		return 0;
	while (key.k < UINT8_MAX && (to = bsearch(&key, s->head->descs, s->head->ndescs, sizeof key, sm_by_channel))) {
		key.k++;
		if (to->bytes == e->bytes && follows(&s->b, e->op, to->op))
			return (uint8_t)key.k;
	}
	return 0;
}

void sm_link_answer(struct sm_bound *s, const struct sm_desc *mine)
{
	struct sm_msg *m = &s->msgs[mine->op], *to;

	if (!mine->answers || mine->answers != m->other->answers || m->mode != SM_PULL)
		return;
	to = &s->msgs[only_required(&s->b, mine->op)];
	m->next = mine->send ? to->answers : 0;
	to->answers = mine->op + 1;
}

struct sm_msg *sm_answer_to(const struct sm_bound *s, const struct sm_msg *m)
{
	struct sm_msg *a = m->answers ? &s->msgs[m->answers - 1] : NULL;

	/* In place, an element arrives after the one that it replaces was read. It must not replace another one. */
	return a && (a->mine == m->mine || a->mine + a->bytes <= m->mine || m->mine + m->bytes <= a->mine) ? a : NULL;
}

bool sm_begin_answers(struct sm_bound *s, const struct sm_msg *m)
{
	bool any = false;

	for (uint32_t i = m->answers; i && !group_lost(s->b.group); i = s->msgs[i - 1].next) {
		struct sm_msg *a = &s->msgs[i - 1];
		struct sm_location at;

		if (!sm_is_invited(s, a))
			continue;
		at = sm_invitation(a->out, s->epoch)->to;
		if (!sm_find_bytes(s, a, &at) || !a->at)
			continue;
		a->ahead = s->epoch;
		any = true;
	}
	return any;
}

void sm_store_answers(const struct sm_bound *s, const struct sm_msg *m, uint64_t skip, size_t bytes)
{
	for (uint32_t i = m->answers; i; i = s->msgs[i - 1].next) {
		struct sm_msg *a = &s->msgs[i - 1];

		if (a->ahead == s->epoch)
			sm_fill_peer(s, a, skip, a->mine + skip, bytes);
	}
}

void sm_end_answers(const struct sm_bound *s, const struct sm_msg *m)
{
	for (uint32_t i = m->answers; i; i = s->msgs[i - 1].next) {
		const struct sm_msg *a = &s->msgs[i - 1];

		if (a->ahead != s->epoch)
			continue;
		atomic_store_explicit(&a->out->taken, s->epoch * a->chunks, memory_order_relaxed);
		atomic_store_explicit(&a->in->helped, atomic_load_explicit(&a->in->helped, memory_order_relaxed) + a->chunks,
				      memory_order_relaxed);
		sm_announce(a->in, &a->now->location, s->epoch);
		sm_ring_peer(s, a->bells);
	}
}
